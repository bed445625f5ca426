"""GROUP BY, HAVING, aggregates and window functions.

Source of the rules: Hive 4.1's `CalcitePlanner.genGBLogicalPlan`, `genSelectForWindowing`, `SemanticAnalyzer.doPhase1`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from hive_views.errors import SqlError
from hive_views.sql.engines.builtin_functions import HIVE_AGGREGATES, HIVE_FUNCTIONS, SPARK_GENERATORS
from hive_views.sql.parsing.syntax_tree import (
    child_expressions,
    comparison_key,
    has_grouping_sets,
    is_star,
    unwrapped,
    windowed_function,
)
from hive_views.sql.resolver.context import Environment, QueryBlock, ResolutionContext
from hive_views.sql.resolver.implicit_names import implicit_name
from hive_views.sql.resolver.names import find_dotted, function_name, resolve
from hive_views.sql.resolver.ordering import keys_of, ordinal_of
from hive_views.sql.resolver.scopes import AmbiguousName, Scope, ScopeColumn
from hive_views.sql.text.quoting import unquote_identifier

GROUPING_ID = "grouping__id"
"""Hive's virtual column with the grouping set of a row, a bigint; before Hive 3 an int (Hive 2.3.10, measured)."""

# -- Calls of a block --------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class BlockCalls:
    """The aggregates and window functions of a block, by key; of equal aggregates only the last, as in Hive."""

    aggregates: dict[str, exp.Expr] = field(default_factory=dict)
    windows: dict[str, exp.Expr] = field(default_factory=dict)


def collect_calls(context: ResolutionContext, node: exp.Select) -> BlockCalls:
    """Collect the aggregates and window functions of a SELECT list, HAVING, QUALIFY and ORDER BY."""
    calls = BlockCalls()
    for item in node.expressions:
        inner = item.this if type(item) is exp.Alias else item
        if type(inner) not in _LEAVES:
            _collect_calls_in(context, inner, calls)
    if not _CLAUSES_WITH_CALLS.isdisjoint(node.args):
        for name in ("order", "having", "qualify"):
            clause = node.args.get(name)
            if clause is not None:
                _collect_calls_in(context, clause, calls)
    return calls


def _collect_calls_in(context: ResolutionContext, node: exp.Expr, calls: BlockCalls) -> None:
    stack = [(node, False)]
    aggregates: list[exp.Expr] = []
    while stack:
        current, in_window = stack.pop()
        kind = type(current)
        if kind is exp.Window:
            calls.windows.setdefault(comparison_key(current), current)
            inner = [*windowed_function(current).args.values()]
            inner += [current.args.get(name) for name in ("partition_by", "order")]
            stack += [(item, True) for value in reversed(inner) for item in child_expressions(value)]
            continue
        if kind is exp.WithinGroup:
            aggregates.append(current)
            continue
        if isinstance(current, exp.Func):
            name = function_name(context, current)
            if name is not None:
                if not in_window and name in ("lead", "lag") and context.dialect.requires_over:
                    raise context.fail(f"Missing over clause for function: {name}", current, name)
                if name in HIVE_AGGREGATES or context.settings.functions.get(name) == "udaf":
                    aggregates.append(current)
                    continue
        for value in reversed(list(current.args.values())):
            if isinstance(value, list):
                stack += [
                    (item, in_window) for item in value if isinstance(item, exp.Expr) and type(item) not in _LEAVES
                ]
            elif isinstance(value, exp.Expr) and type(value) not in _OPAQUE:
                stack.append((value, in_window))
    for item in aggregates:
        calls.aggregates[comparison_key(item)] = item


# -- GROUP BY ----------------------------------------------------------------------------------------------------------


def resolve_groups(
    context: ResolutionContext, node: exp.Select, ungrouped: Scope, aggregates: dict[str, exp.Expr]
) -> Scope:
    """Resolve GROUP BY, or DISTINCT, and the aggregates of a block; return the scope of their results."""
    scope = Scope(grouped=True)
    keys, set_members = _grouping_keys(context, node, has_aggregates=bool(aggregates))
    if set_members is not None and not set_members:
        context.mode.check_grouping_sets(context, keys)
    env = Environment((ungrouped,), None, ungrouped, reuses_computed=False, rejects_duplicates=True)
    for item in keys:
        if isinstance(item, exp.Star) or is_star(item):
            raise context.fail(
                "TOK_ALLCOLREF is not supported in current context: a star next to DISTINCT columns", item
            )
        source = resolve(context, item, env)
        type_source = source.type_source if source is not None else context.type_source(item)
        origins = (item if source is None else source,)
        column = ScopeColumn(f"_col{len(scope.columns)}", "", "", type_source, origins)
        text = comparison_key(item)
        if text in scope.keys:
            continue
        scope.put_key(text, column, item)
        _name_key(unwrapped(item), ungrouped, scope, column)
    for text, item in aggregates.items():
        _resolve_aggregate(context, item, ungrouped)
        column = ScopeColumn(f"_col{len(scope.columns)}", "", "", context.type_source(item), (item,))
        scope.put_key(text, column, item)
    if set_members is not None:
        scope.has_grouping_sets = True
        column = ScopeColumn(f"_col{len(scope.columns)}", None, GROUPING_ID, "bigint")
        scope.put(None, GROUPING_ID, column)
        env = Environment((scope,), None, ungrouped, allows_aggregates=True, keeps_parentheses=True)
        for item in set_members:
            resolve(context, item, env)
    return scope


def resolve_plain_groups(
    context: ResolutionContext, node: exp.Select, group: exp.Expr, ungrouped: Scope, block: QueryBlock
) -> None:
    """Resolve GROUP BY of Spark and Trino, which can name an alias of the SELECT list."""
    items = node.expressions
    env = Environment.of_output(ungrouped, ungrouped, outer=block.outer, reuses_computed=False)
    if context.dialect.keeps_letter_case and has_grouping_sets(group):
        env = replace(env, keeps_spelling=True)  # Spark calls the columns as the keys are written
    aliases = {_written_name(context, item, env) for item in items}
    keys, set_members = _keys_of_group(context, group, items)
    selected = {id(unwrapped(item)) for item in items}
    by_alias = {item.alias.lower(): item for item in items if type(item) is exp.Alias}
    for item in [*keys, *(set_members or ())]:
        name = item.name.lower() if type(item) is exp.Column and len(item.parts) == 1 else None
        if name is not None and name in aliases and ungrouped.find_any(name) is None:
            continue
        if id(item) not in selected:
            named = _aliases_in(context, item, by_alias, ungrouped) if context.dialect.has_lateral_aliases else None
            resolve(context, item, replace(env, scopes=(ungrouped.with_names(named),)) if named else env)


def _aliases_in(
    context: ResolutionContext, key: exp.Expr, items: Mapping[str, exp.Expr], ungrouped: Scope
) -> dict[str, ScopeColumn]:
    """Return the aliases of the SELECT list that an expression in GROUP BY names, as only Spark reads them."""
    names = dict.fromkeys(node.name.lower() for node in key.find_all(exp.Column) if len(node.parts) == 1)
    return {
        name: ScopeColumn("", None, name, context.type_source(items[name].this))
        for name in names
        if name in items and ungrouped.find_any(name) is None
    }


def with_generated_columns(context: ResolutionContext, node: exp.Select, scope: Scope) -> Scope:
    """Return a scope with the columns that Spark adds for the keys of GROUP BY."""
    group = node.args.get("group")
    if group is None or not context.dialect.has_lateral_aliases:
        return scope
    names = {
        name: column
        for name, column in _generated_columns(group).items()
        if name == GROUPING_ID or scope.find_any(name) is None
    }
    return scope.with_names(names) if names else scope


def _generated_columns(group: exp.Expr) -> dict[str, ScopeColumn]:
    """Return the columns that Spark adds for ROLLUP, CUBE, GROUPING SETS and window functions of time, by name."""
    types = {GROUPING_ID: "bigint"} if has_grouping_sets(group) else {}
    for call in group.find_all(exp.Anonymous):
        if call.name.lower() in ("window", "session_window"):
            types[call.name.lower()] = "struct<start:timestamp,end:timestamp>"
    return {name: ScopeColumn("", None, name, kind) for name, kind in types.items()}


def _grouping_keys(
    context: ResolutionContext, node: exp.Select, *, has_aggregates: bool
) -> tuple[list[exp.Expr], list[exp.Expr] | None]:
    """Return the grouping keys, and the expressions inside GROUPING SETS, or None if there are no sets."""
    group = node.args.get("group")
    if group is not None:
        return _keys_of_group(context, group, node.expressions)
    if node.args.get("distinct") is None or has_aggregates:
        return [], None
    return [item.this if type(item) is exp.Alias else item for item in node.expressions], None


def _keys_of_group(
    context: ResolutionContext, group: exp.Expr, items: list[exp.Expr]
) -> tuple[list[exp.Expr], list[exp.Expr] | None]:
    keys: list[exp.Expr] = []
    set_members: list[exp.Expr] | None = None
    has_ordinals = (
        context.dialect.groups_by_ordinals or context.settings.conf.get("hive.groupby.position.alias") == "true"
    )
    has_star = context.dialect.groups_by_ordinals and any(map(is_star, items))
    for item in group.expressions:
        inner = unwrapped(item)
        ordinal = ordinal_of(context, inner) if has_ordinals else None
        if ordinal is not None:
            if has_star:
                raise context.fail("A position in GROUP BY with a star in the SELECT list: name the column", inner)
            keys.append(_item_of_ordinal(context, inner, ordinal, items))
        elif type(inner) is exp.Literal and not inner.is_string:
            continue  # a constant
        elif isinstance(inner, (exp.Rollup, exp.Cube)):
            set_members = []
            keys += inner.expressions
        else:
            keys.append(item)
    for name in ("cube", "rollup", "grouping_sets"):
        for part in group.args.get(name) or ():
            set_members = set_members or []
            if name == "grouping_sets":
                for element in part.expressions:
                    members = element.expressions if isinstance(element, exp.Tuple) else [unwrapped(element)]
                    set_members += [unwrapped(member) for member in members]
                if not keys:
                    raise context.fail("GROUPING SETS needs the grouping columns in front of it", part)
            elif isinstance(part, exp.Expr):
                keys += [unwrapped(member) for member in part.expressions]
    return keys, set_members


def _item_of_ordinal(context: ResolutionContext, number: exp.Expr, ordinal: str, items: list[exp.Expr]) -> exp.Expr:
    """Return the element of the SELECT list at a position, and replace the position by the element in the text.

    The position of an element without a column is kept: the text of `2 AS x`, `GROUP BY 2`, would be a position again.
    So is that of a table-generating function, which Spark groups by its position only (measured with Spark 4.1.4).
    """
    if not ordinal.isdigit() or not 0 < int(ordinal) <= len(items):
        raise context.fail(
            f"Invalid position alias in Group By: position {ordinal} does not exist, "
            f"the Select List is indexed from 1 to {len(items)}",
            number,
        )
    item = unwrapped(items[int(ordinal) - 1])
    if item.find(exp.Select) is not None:
        return item
    if item.find(exp.AggFunc, exp.Window) is not None and context.dialect.groups_by_ordinals:
        raise context.fail(
            f"GROUP BY position {ordinal} is an aggregate or a window function: name a grouping column", number
        )
    call = item.this if type(item) is exp.Aliases else item
    is_generator = isinstance(call, exp.Func) and function_name(context, call) in SPARK_GENERATORS
    if context.mode.replaces_ordinals and item.find(exp.Column) is not None and not is_generator:
        at = context.text.token_of(number)
        source = context.tokens_of(items[int(ordinal) - 1].unalias())
        if at is not None and source is not None:
            context.writing.edits.copy((at, at), source)
            context.bound.generated.setdefault(at, []).append(item)
    return item


def _name_key(item: exp.Expr, ungrouped: Scope, scope: Scope, column: ScopeColumn) -> None:
    """Make a grouping key that is a plain column available with and without its table."""
    if type(item) is not exp.Column:
        return
    parts = [part.name.lower() for part in item.parts]
    if len(parts) == 1:
        source = ungrouped.find(None, parts[0])
        scope.put(source.table if source is not None else None, parts[0], column)
    elif len(parts) == 2:
        scope.put(parts[0], parts[1], column)


def _resolve_aggregate(context: ResolutionContext, node: exp.Expr, ungrouped: Scope) -> None:
    """Resolve the arguments of an aggregate under GROUP BY, and quote its name if it is a registered function."""
    env = Environment((ungrouped,), None, ungrouped, reuses_computed=False)
    values = list(node.args.values())
    if type(node) is exp.WithinGroup:
        values = [*node.this.args.values(), node.args.get("expression")]
    for value in values:
        for item in child_expressions(value):
            if type(item) is exp.Column and isinstance(item.this, exp.Star):
                raise context.fail("TOK_ALLCOLREF is not supported in current context", item)
            resolve(context, item, env)
    if type(node) is not exp.WithinGroup:
        context.dialect.checks.check_argument_count(context, node)
        context.mode.check_call(context, node)
    _quote_registered_function(context, node)


def _quote_registered_function(context: ResolutionContext, node: exp.Expr) -> None:
    index = context.query.function_token(node)
    if index is not None:
        written = unquote_identifier(context.text.raw(index))
        if written.lower() in context.settings.functions:
            context.writing.edits.replace(index, index, context.quote(written))


def resolve_having(
    context: ResolutionContext,
    having: exp.Expr,
    items: list[exp.Expr],
    scope: Scope,
    ungrouped: Scope,
) -> None:
    """Resolve HAVING of Hive, which can name the aliases of the SELECT list."""
    if not scope.grouped:
        raise context.fail("Having clause without any group-by", having)
    for item in items:
        if type(item) is exp.Alias:
            column = scope.keys.get(comparison_key(item.this))
            if column is not None:
                scope.put("", item.alias.lower(), column)
    resolve(context, having.this, Environment((scope,), None, ungrouped, allows_aggregates=True))
    if context.mode.names_all_columns:
        _check_tables_of_having(context, having, items, scope)


def _check_tables_of_having(context: ResolutionContext, having: exp.Expr, items: list[exp.Expr], scope: Scope) -> None:
    """Reject a column whose table has the name of an alias: without a plain key of the table Hive reads the alias."""
    aliases = {item.alias.lower() for item in items if type(item) is exp.Alias} - scope.tables.keys()
    for node in having.find_all(exp.Column, exp.Dot) if aliases else ():
        column = context.bound.bindings.get(id(node))
        first = node
        while type(first) is exp.Dot:
            first = first.this
        written = first.parts[0].name.lower() if type(first) is exp.Column else None
        if column is not None and column.table in aliases and written != column.table:
            raise _shadowed_table(context, node, column)


def check_tables_of_aggregates(context: ResolutionContext, node: exp.Select, scope: Scope, ungrouped: Scope) -> None:
    """Reject a column inside an expression above GROUP BY whose table has the name of a plain key.

    Hive reads the name as the key, unless the table has a plain key too, or an aggregate is the whole expression.
    """
    names = {name for columns in scope.tables.values() for name in columns} & ungrouped.tables.keys()
    names -= scope.tables.keys()
    if not names:
        return
    shadowed = {
        text: (part, column)
        for text, source in scope.key_nodes.items()
        for part in source.find_all(exp.Column, exp.Dot)
        if (column := context.bound.bindings.get(id(part))) is not None and column.table in names
    }
    having = node.args.get("having")
    for root in [*node.expressions, *([having] if having is not None else [])]:
        whole = unwrapped(root)
        for part in whole.walk():
            is_whole = part is whole or exp.Window in (type(part.parent), type(getattr(part.parent, "parent", None)))
            if not is_whole and comparison_key(part) in shadowed:
                raise _shadowed_table(context, *shadowed[comparison_key(part)])


def _shadowed_table(context: ResolutionContext, node: exp.Expr, column: ScopeColumn) -> SqlError:
    return context.fail(
        f"{column.table}.{column.name} is named above GROUP BY, where Hive reads it as a field of the column "
        f"{column.table}: give the table another alias",
        node,
        column.name,
    )


def resolve_plain_having(context: ResolutionContext, node: exp.Select, ungrouped: Scope, block: QueryBlock) -> None:
    """Resolve HAVING of Spark and Trino.

    A name inside an aggregate or a grouping key is a column of FROM. Elsewhere the alias of an element of the SELECT
    list is kept as written, since it means a column of FROM only if that column is a grouping key.
    """
    items = node.expressions
    group = node.args.get("group")
    keys = _keys_of_group(context, group, items)[0] if group is not None else []
    outputs: dict[str, ScopeColumn] = {}
    for item in items:
        name = _written_name(context, item, Environment((ungrouped,), block.outer))
        if name and not is_star(item):
            try:
                column = ungrouped.find_own(None, name)
            except AmbiguousName:
                column = None
            if column is None or not _is_column(context, item, column, Environment((ungrouped,), block.outer)):
                outputs[name] = ScopeColumn("", None, name, context.type_source(item))
    for name, column in _generated_columns(group).items() if group is not None else ():
        if name == GROUPING_ID or ungrouped.find_any(name) is None:
            outputs.setdefault(name, column)
    scope = ungrouped.hiding(outputs)
    scope.tables = {**ungrouped.tables, None: outputs}
    calls = BlockCalls()
    _collect_calls_in(context, node.args["having"], calls)
    for text in [*calls.aggregates, *(comparison_key(key) for key in keys if type(key) is not exp.Column)]:
        scope.put_key(text, ScopeColumn("", "", ""))
    resolve(context, node.args["having"].this, Environment.of_output(scope, ungrouped, outer=block.outer))


def _written_name(context: ResolutionContext, item: exp.Expr, env: Environment) -> str:
    """Return the name by which clauses of Spark or Trino can use an element of a SELECT list; empty if it has none."""
    if type(item) not in (exp.Alias, exp.Column, exp.Dot) and context.dialect.names_casts_and_literals:
        return (implicit_name(context, item, env) or "").lower()
    return item.alias_or_name.lower() if type(item) in (exp.Alias, exp.Column, exp.Dot) else ""


def _is_column(context: ResolutionContext, item: exp.Expr, column: ScopeColumn, env: Environment) -> bool:
    """Return whether an element of a SELECT list is the given column, not a field or another column of that name."""
    if not isinstance(item, exp.Column):
        return False
    match = find_dotted(context, item.parts, env)
    return match is not None and match[0] is column and match[2] == len(item.parts) - 1


# -- Window functions --------------------------------------------------------------------------------------------------


def resolve_windows(
    context: ResolutionContext, node: exp.Select, windows: dict[str, exp.Expr], scope: Scope, ungrouped: Scope
) -> Scope:
    """Resolve the window functions of a block and the windows that it defines; return the scope of their results."""
    definitions = window_definitions(node)
    resolved: set[str] = set()
    env = Environment((scope,), None, ungrouped, allows_aggregates=True)
    result = Scope(grouped=scope.grouped)
    result.add(scope)
    result.has_grouping_sets = scope.has_grouping_sets
    if context.mode.keeps_keys_under_windows:
        result.key_nodes = dict(scope.key_nodes)
    for text, window in windows.items():
        function = windowed_function(window)
        if function is not window.this and isinstance(function, (exp.Lag, exp.Lead)):
            raise context.fail("lag() and lead() do not support null treatment", window)
        name = function_name(context, function)
        if name is not None and name not in HIVE_FUNCTIONS and name not in context.settings.functions:
            raise context.fail(f"Invalid function '{name}'", function, name)
        for value in function.args.values():
            for item in child_expressions(value):
                resolve(context, item, env)
        if context.mode.resolves_all_names:
            _quote_registered_function(context, function)
        _resolve_window_definition(context, window, env)
        reference = window.args.get("alias")
        while reference is not None:
            window_name = reference.name.lower()
            definition = definitions.get(window_name)
            if definition is None:
                raise context.fail(
                    f"Window {reference.name} is not defined: it refers to an unknown source",
                    reference,
                    reference.name,
                )
            if window_name in resolved:
                break
            resolved.add(window_name)
            _resolve_window_definition(context, definition, env)
            reference = definition.args.get("alias")
        column = ScopeColumn(f"_col{len(result.columns)}", None, "", context.type_source(window), (window,))
        result.put_key(text, column, window)
    if context.mode.resolves_all_names:
        for window_name, definition in definitions.items():
            if window_name not in resolved:
                _resolve_window_definition(context, definition, env)
    return result


def window_definitions(node: exp.Select) -> dict[str, exp.Expr]:
    """Return the definitions of a WINDOW clause by name, in lower case."""
    return {item.name.lower(): item for item in node.args.get("windows") or ()}


def _resolve_window_definition(context: ResolutionContext, window: exp.Expr, env: Environment) -> None:
    frame = window.args.get("spec")
    if frame is not None:
        bounds = [frame.args.get("start"), frame.args.get("end")]
        has_foreign_bounds = any(isinstance(item, exp.Expr) and type(item) is not exp.Literal for item in bounds)
        kind = str(frame.args.get("kind")).upper()
        if has_foreign_bounds or frame.args.get("exclude") is not None or kind == "GROUPS":
            raise context.fail("Hive's window frames are ROWS or RANGE with numbers for bounds", window)
    for item in window.args.get("partition_by") or ():
        resolve(context, item, env)
    order = window.args.get("order")
    for item in order.expressions if order is not None else ():
        resolve(context, item.this if type(item) is exp.Ordered else item, env)


def windows_with_names(node: exp.Select, windows: dict[str, exp.Expr], level: int) -> list[exp.Expr]:
    """Return the window functions after which Hive names a column of the result, such as `rank_window_0`.

    Hive computes functions of equal windows together, one group after the other (`WindowingComponentizer`). Only a
    column of the last group still has its own name when the outermost SELECT list is named. No column has it if the
    query has DISTINCT, QUALIFY, a subquery in the SELECT list or an ORDER BY of an expression that is not selected.
    """
    arguments = node.args
    if level > 0 or arguments.get("distinct") is not None or arguments.get("qualify") is not None:
        return []
    items = node.expressions
    if any(item.find(exp.Select) is not None for item in items):
        return []
    selected = {comparison_key(unwrapped(item)) for item in items}
    selected |= {f"(tok_table_or_col {item.alias.lower()})" for item in items if type(item) is exp.Alias}
    selected -= {comparison_key(item.this) for item in items if type(item) is exp.Alias}
    for ordered in keys_of(node, "order", "sort"):
        if type(ordered) is not exp.Literal and (
            type(ordered) is not exp.Column or comparison_key(ordered) not in selected
        ):
            return []
    definitions = window_definitions(node)
    groups: dict[str, list[exp.Expr]] = {}
    for window in windows.values():
        groups.setdefault(_window_key(window, definitions), []).append(window)
    return list(groups.values())[-1]


def _window_key(window: exp.Expr, definitions: dict[str, exp.Expr]) -> str:
    """Return a text of PARTITION BY and ORDER BY that is equal for window functions that Hive computes together."""
    partition = [comparison_key(item) for item in window.args.get("partition_by") or ()]
    clause = window.args.get("order")
    order = [
        f"{comparison_key(item.this)} {bool(item.args.get('desc'))} {item.args.get('nulls_first')}"
        if type(item) is exp.Ordered
        else comparison_key(item)
        for item in (clause.expressions if clause is not None else ())
    ]
    reference = window.args.get("alias")
    definition = definitions.get(reference.name.lower()) if reference is not None else None
    inherited = "|" if definition is None or definition is window else _window_key(definition, definitions)
    base_partition, _, base_order = inherited.partition("|")
    return f"{','.join(partition) or base_partition}|{','.join(order) or base_order}"


_CLAUSES_WITH_CALLS = frozenset({"order", "having", "qualify"})
_LEAVES = frozenset({exp.Column, exp.Star, exp.Literal})
_OPAQUE = frozenset(
    {exp.Column, exp.Literal, exp.Subquery, exp.Select, exp.Union, exp.Except, exp.Intersect, exp.Identifier}
)
