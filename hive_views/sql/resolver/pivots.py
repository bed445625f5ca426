"""PIVOT and UNPIVOT of Spark behind a table or derived table: the columns of their results.

The rules were compared with Spark 4.1.4 (tests/unit/sql/fixtures/hostile_spark.jsonl).
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from hive_views.sql.resolver.aliases import alias_columns, alias_identifier, claim_alias
from hive_views.sql.resolver.context import Environment, QueryBlock, ResolutionContext
from hive_views.sql.resolver.names import quote_alias, resolve
from hive_views.sql.resolver.scopes import Scope, ScopeColumn


def resolve_pivots(
    context: ResolutionContext, node: exp.Expr, alias: str, scope: Scope, block: QueryBlock
) -> tuple[str, Scope]:
    """Return the alias and the columns of a table or derived table behind its PIVOT and UNPIVOT clauses."""
    pivots = node.args["pivots"]
    for pivot in pivots:
        names = [scope.names[column][1] for column in scope.columns]
        if len(set(names)) < len(names):
            raise context.fail("PIVOT and UNPIVOT over columns with one name: name them with AS", node)
        context.pivots.add(id(pivot))
        del block.aliases[alias]
        identifier = alias_identifier(pivot)
        alias = identifier.name.lower() if identifier is not None else f"__pivot_{len(block.aliases)}"
        if pivot.args.get("unpivot"):
            columns = _unpivoted(context, pivot, scope)
        elif pivot is pivots[0] and _has_open_columns(context, node):
            raise context.fail(
                "PIVOT groups by all other columns of the table: list them, as in (SELECT a, b FROM t) PIVOT (…)", node
            )
        else:
            columns = _pivoted(context, pivot, scope, block)
        claim_alias(context, alias, block, identifier or node)
        quote_alias(context, identifier)
        scope = Scope()
        for name, column in columns:
            scope.put(alias, name, column.copy(f"_col{len(scope.columns)}", alias, name))
    return alias, scope


def _has_open_columns(context: ResolutionContext, node: exp.Expr) -> bool:
    """Return whether an element of FROM gets another column when a column is added to a table."""
    source = context.sources.get(id(node))
    return (source is not None and source.table is not None) or isinstance(node.this, exp.Table)


def _unpivoted(context: ResolutionContext, pivot: exp.Expr, scope: Scope) -> list[tuple[str, ScopeColumn]]:
    """Return the columns that are not listed, the column of names and the column of values."""
    (value,), (field,) = pivot.expressions, pivot.args["fields"]
    if not isinstance(value, exp.Identifier) or alias_columns(pivot):
        raise context.fail("UNPIVOT of several values at once, or with a list of column names, is not supported", pivot)
    listed = [
        _named(context, scope, item.this if isinstance(item, exp.PivotAlias) else item) for item in field.expressions
    ]
    types = {column.type for column in listed}
    rest = [(scope.names[column][1], column) for column in scope.columns if column not in listed]
    value_type = types.pop() if len(types) == 1 else None
    return [
        *rest,
        (field.this.name.lower(), ScopeColumn("", None, "", "string")),
        (value.name.lower(), ScopeColumn("", None, "", value_type, tuple(listed))),
    ]


def _pivoted(
    context: ResolutionContext, pivot: exp.Expr, scope: Scope, block: QueryBlock
) -> list[tuple[str, ScopeColumn]]:
    """Return the columns that no aggregate and no FOR names, and for each value the aggregates."""
    field, *others = pivot.args["fields"]
    if others or alias_columns(pivot):
        raise context.fail("PIVOT with several FOR or a list of column names is not supported", pivot)
    used = [_named(context, scope, field.this)]
    calls: list[tuple[str, exp.Expr]] = []
    for item in pivot.expressions:
        inner = item.this if isinstance(item, exp.Alias) else item
        resolve(context, inner, Environment((scope,), block.outer, scope, False, True))
        bound = (context.bindings.get(id(node)) for node in inner.find_all(exp.Column, exp.Dot))
        used += [column for column in bound if column is not None]
        if not item.alias and len(pivot.expressions) > 1:
            raise context.fail("PIVOT with several aggregates: name each with AS", item)
        calls.append((f"_{item.alias.lower()}" if len(pivot.expressions) > 1 else "", inner))
    columns = [(scope.names[column][1], column) for column in scope.columns if column not in used]
    for value in field.expressions:
        name = _value_name(context, value)
        columns += [
            (name + suffix, ScopeColumn("", None, "", context.type_source(call), (call,))) for suffix, call in calls
        ]
    return columns


def _named(context: ResolutionContext, scope: Scope, node: Any) -> ScopeColumn:
    """Return the column of a name without a table."""
    column = scope.find_own(None, node.name.lower()) if type(node) is exp.Column and not node.table else None
    if column is None:
        raise context.fail("PIVOT and UNPIVOT name columns without their table", node, node.name)
    return column


def _value_name(context: ResolutionContext, node: exp.Expr) -> str:
    """Return the name that Spark gives the column of a value: its alias, or the value as a string."""
    if isinstance(node, exp.PivotAlias):
        return str(node.args["alias"].name).lower()
    sign, literal = ("-", node.this) if isinstance(node, exp.Neg) else ("", node)
    if not isinstance(literal, exp.Literal) or not (literal.is_string or literal.this.isdigit()):
        raise context.fail("PIVOT: name the value with AS", node)
    return f"{sign}{literal.this}".lower()
