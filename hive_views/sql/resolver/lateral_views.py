"""Lateral views, UNNEST and the columns that table generating functions produce.

Source of the rules: Hive 4.1's `LateralViewPlan`.
"""

from __future__ import annotations

from sqlglot import exp

from hive_views.sql.resolver.aliases import alias_columns, alias_identifier, claim_alias, rename_columns, require_alias
from hive_views.sql.resolver.context import Environment, QueryBlock, ResolutionContext
from hive_views.sql.resolver.names import function_name, quote_alias, resolve
from hive_views.sql.resolver.scopes import Scope, ScopeColumn
from hive_views.sql.types import hive_types

# -- Lateral views -----------------------------------------------------------------------------------------------------


def resolve_lateral(
    context: ResolutionContext, scope: Scope, node: exp.Expr, block: QueryBlock, *, extends_scope: bool = False
) -> Scope:
    """Resolve a lateral view and return the columns of the scope and of the view over it.

    Args:
        context: The state of the resolution.
        scope: The columns under the lateral view.
        node: The lateral view, or the LATERAL subquery.
        block: The block whose FROM clause it is in.
        extends_scope: Whether its columns are added to the scope itself, instead of to a copy.
    """
    function = node.this
    identifier, columns = alias_identifier(node), alias_columns(node)
    if not node.args.get("view") and isinstance(function, exp.Subquery):
        inner = context.resolve_query(context, function, block.ctes, outer=scope)
        alias = identifier.name.lower() if identifier is not None else "__lateral"
        claim_alias(context, alias, block, node)
        quote_alias(context, identifier)
        result = Scope()
        result.add(scope)
        result.add(rename_columns(context, inner, alias, node.args.get("alias")))
        result.keep_merged(scope, alias)
        return result
    require_alias(
        context, identifier, "A lateral view needs a table alias: LATERAL VIEW f(…) alias AS column", function
    )
    alias = identifier.name.lower() if identifier is not None else f"__lateral_{len(block.aliases)}"
    if isinstance(function, exp.Unnest):
        return resolve_unnest(context, scope, node, block)[1]
    resolve_arguments(context, function, Environment((scope,), block.outer, reuses_computed=False))
    quote_alias(context, identifier)
    names: list[str] = []
    for item in columns:
        quote_alias(context, item)
        if item.name.lower() in names:
            raise context.fail(f"Column alias {item.name} already exists", item, item.name)
        names.append(item.name.lower())
    produced = produced_columns(context, function)
    if produced is None and not names:
        raise context.fail(f"The columns of {function.sql()[:60]} are not known: name them with AS", function)
    if produced is not None and names and len(produced) != len(names):
        raise context.fail(
            "The number of aliases supplied in the AS clause does not match the number of columns output by the "
            f"UDTF: expected {len(produced)} aliases but got {len(names)}",
            function,
        )
    result = scope if extends_scope else Scope()
    if not extends_scope:
        result.add(scope)
    for position, (name, type_text) in enumerate(produced or [(name, None) for name in names]):
        name = names[position] if names else name
        result.put(alias, name, ScopeColumn(f"_col{len(result.columns)}", alias, name, type_text))
    result.keep_merged(scope, alias)
    if alias not in block.aliases:
        block.aliases.append(alias)
    return result


def resolve_unnest(context: ResolutionContext, scope: Scope, node: exp.Expr, block: QueryBlock) -> tuple[str, Scope]:
    """Resolve an UNNEST and return its alias, and the columns of the scope and of the UNNEST over it."""
    unnest = node.this if isinstance(node, exp.Lateral) else node
    aliased = node if node.args.get("alias") else unnest
    identifier, columns = alias_identifier(aliased), alias_columns(aliased)
    alias = identifier.name.lower() if identifier is not None else f"__unnest_{len(block.aliases)}"
    claim_alias(context, alias, block, identifier or node)
    for item in unnest.expressions:
        resolve(context, item, Environment((scope,), block.outer, reuses_computed=False))
    quote_alias(context, identifier)
    result = Scope()
    result.add(scope)
    for item in columns:
        quote_alias(context, item)
    for name in [item.name.lower() for item in columns] or ["col"]:
        result.put(alias, name, ScopeColumn(f"_col{len(result.columns)}", alias, name))
    result.keep_merged(scope, alias)
    return alias, result


# -- Table generating functions ----------------------------------------------------------------------------------------


def resolve_arguments(context: ResolutionContext, function: exp.Expr, env: Environment) -> None:
    """Resolve the arguments of a table generating function, but not its name, which stays unquoted."""
    for item in _arguments(function):
        resolve(context, item, env)


def _arguments(function: exp.Expr) -> list[exp.Expr]:
    return [
        item
        for value in function.args.values()
        for item in (value if isinstance(value, list) else [value])
        if isinstance(item, exp.Expr)
    ]


def produced_columns(context: ResolutionContext, function: exp.Expr) -> list[tuple[str, str | None]] | None:
    """Return the names and types of the columns that a table generating function produces; None if unknown."""
    name = (function_name(context, function) or "").removesuffix("_outer")
    arguments = _arguments(function)
    if name in ("json_tuple", "parse_url_tuple"):
        return [(f"c{position}", "string") for position in range(len(arguments) - 1)]
    if name == "stack":
        return _stack(context, arguments)
    if name == "range":
        return [("id", "bigint")]
    if name not in ("explode", "posexplode", "inline") or not arguments:
        return None
    type_text = context.mode.collection_type(context, arguments[0])
    if type_text is None:
        return None
    inner = hive_types.arguments(type_text)
    kind = hive_types.base(type_text)
    if name == "inline":
        row = hive_types.fields(inner[0]) if kind == "array" and inner else None
        if row is None:
            raise context.fail(f"inline() takes an array of structs, not {type_text}", function, name)
        return list(row.items())
    position_column: list[tuple[str, str | None]] = [("pos", "int")] if name == "posexplode" else []
    if kind == "array":
        return [*position_column, (context.dialect.exploded_name if position_column else "col", inner[0])]
    if kind == "map" and (name == "explode" or context.dialect.allows_generators_beside_columns):
        return [*position_column, ("key", inner[0]), ("value", inner[1])]
    takes = "an array or a map" if name == "explode" else "an array"
    raise context.fail(f"{name}() takes {takes} as a parameter, not {type_text}", function, name)


def _stack(context: ResolutionContext, arguments: list[exp.Expr]) -> list[tuple[str, str | None]] | None:
    rows = arguments[0]
    if not isinstance(rows, exp.Literal) or rows.is_string or not rows.this.isdigit() or rows.this == "0":
        return None
    values = arguments[1:]
    width = -(-len(values) // int(rows.this))
    return [(f"col{position}", context.type_of(values[position])) for position in range(width)]
