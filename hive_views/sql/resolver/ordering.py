"""ORDER BY, SORT BY, DISTRIBUTE BY and CLUSTER BY of portable texts; `hive_exact.mode` has Hive's own rules."""

from __future__ import annotations

from collections.abc import Set

from sqlglot import exp

from hive_views.errors import SqlError
from hive_views.sql.parsing.syntax_tree import comparison_key, unwrapped
from hive_views.sql.resolver.context import Environment, OrderedQuery, ResolutionContext
from hive_views.sql.resolver.names import resolve
from hive_views.sql.resolver.scopes import AmbiguousName, Scope


def resolve_order(context: ResolutionContext, query: OrderedQuery) -> None:
    """Resolve the clauses: a name of the result is kept as written, any other name is qualified."""
    ungrouped = query.ungrouped
    for clauses, names_inputs in ((("order",), context.dialect.computes_groups_first), (_WITHIN_REDUCERS, False)):
        order_keys = keys_of(query.node, *clauses)
        below = _order_scope(query, ungrouped, names_inputs) if ungrouped is not None and order_keys else None
        is_ungrouped_hive = context.dialect.computes_groups_first and query.node.args.get("group") is None
        shadowed: Set[str | None] = frozenset()
        if ungrouped is not None and order_keys and (query.scope.grouped or is_ungrouped_hive):
            shadowed = query.output.only_names().tables.get(None, {}).keys() & ungrouped.tables.keys()
            if is_ungrouped_hive:
                shadowed = shadowed - _named_tables(context, query)
        for item in order_keys:
            if query.names_output_only and not isinstance(item, exp.Literal):
                resolve(context, item, Environment.of_output(query.output, ungrouped, reuses_computed=False))
            elif ungrouped is None or below is None:
                resolve(context, item, Environment.of_output(query.output.only_names(), None, reuses_computed=False))
            else:
                if query.scope.grouped and _is_plain_distinct(query.node):
                    names = query.output.with_inputs(query.scope) if names_inputs else query.output.only_names()
                    resolve(context, item, Environment.of_output(names, ungrouped, reuses_computed=names_inputs))
                _resolve_key(context, item, query, ungrouped, below)
                if query.scope.grouped:
                    _check_expression(context, item, query, ungrouped, shadowed)
                if is_ungrouped_hive:
                    _check_tables(context, item, query, shadowed)


def _check_expression(
    context: ResolutionContext, item: exp.Expr, query: OrderedQuery, ungrouped: Scope, shadowed: Set[str | None]
) -> None:
    """Reject an expression, other than a plain column, that Hive interprets differently after GROUP BY.

    Hive reads the name of a table as a column of the result, and with DISTINCT it knows only columns of the result.
    """
    if type(item) in (exp.Column, exp.Literal) and id(item) not in context.bound.fields:
        return
    if query.node.args.get("distinct") is not None and query.node.args.get("group") is not None:
        resolve(context, item, Environment.of_output(query.output.only_names(), ungrouped, reuses_computed=False))
    _check_tables(context, item, query, shadowed)


def _named_tables(context: ResolutionContext, query: OrderedQuery) -> set[str | None]:
    """Return the tables of which a column is selected without an alias; ORDER BY of Hive can name these tables."""
    columns = (context.bound.bindings.get(id(item)) for item in query.items if type(item) is exp.Column)
    return {column.table for column in columns if column is not None}


def _check_tables(context: ResolutionContext, item: exp.Expr, query: OrderedQuery, shadowed: Set[str | None]) -> None:
    """Reject a column whose table has the name of a column of the result: Hive reads it as a field of that column."""
    for part in item.walk() if shadowed else ():
        source = query.scope.key_nodes.get(comparison_key(part))
        for node in (part, *(source.find_all(exp.Column, exp.Dot) if source is not None else ())):
            column = context.bound.bindings.get(id(node))
            if column is not None and column.table in shadowed:
                raise context.fail(
                    f"{column.table}.{column.name} is named in ORDER BY, where Hive reads it as a field of the column "
                    f"{column.table}: give the table another alias",
                    item,
                    column.name,
                )


def _is_plain_distinct(node: exp.Expr) -> bool:
    """Return whether the clauses can name only selected columns.

    Hive ignores ORDER BY of other names in a derived table.
    """
    return node.args.get("distinct") is not None and node.args.get("group") is None


_WITHIN_REDUCERS = ("sort", "distribute", "cluster")


def keys_of(node: exp.Expr, *clauses: str) -> list[exp.Expr]:
    """Return the expressions of some clauses, without direction and parentheses."""
    return [
        unwrapped(item.this if type(item) is exp.Ordered else item)
        for name in clauses
        if node.args.get(name) is not None
        for item in node.args[name].expressions
    ]


def ordinal_of(context: ResolutionContext, item: exp.Expr) -> str | None:
    """Return the number in GROUP BY or ORDER BY that is a position of the SELECT list; None for other expressions.

    In Spark `-1` is a position that does not exist. `+1` is an expression, but the tree contains only its literal.
    """
    is_negative = type(item) is exp.Neg and context.dialect.has_lateral_aliases
    literal = item.this if is_negative else item
    if type(literal) is not exp.Literal or literal.is_string:
        return None
    at = context.text.token_of(literal)
    if at is not None and at > 0 and context.text.raw(at - 1) == "+" and context.dialect.groups_by_ordinals:
        return None
    number = str(literal.this)
    if not number.isdigit():
        return None if context.dialect.groups_by_ordinals else number
    return f"-{number}" if is_negative else number


def is_resolved(context: ResolutionContext, item: exp.Expr, env: Environment) -> bool:
    """Try to resolve an expression; return whether that succeeded."""
    try:
        resolve(context, item, env)
    except SqlError:
        return False
    return True


def _resolve_key(
    context: ResolutionContext, item: exp.Expr, query: OrderedQuery, ungrouped: Scope, below: Scope
) -> None:
    of_names = Environment.of_output(below, ungrouped, reuses_computed=False)
    of_groups = Environment.of_output(query.scope, ungrouped)
    has_aggregate = context.dialect.computes_groups_first and any(
        comparison_key(node) in query.scope.keys for node in item.find_all(exp.AggFunc)
    )
    # The argument of an aggregate is a column of FROM, even if the result has a column of the same name.
    for env in (of_groups, of_names) if has_aggregate else (of_names, of_groups):
        if is_resolved(context, item, env):
            return
    outputs = query.output.only_names()
    names = outputs.with_inputs(query.scope.hiding(outputs.tables.get(None, {})))
    resolve(context, item, Environment.of_output(names, ungrouped))


def _order_scope(query: OrderedQuery, ungrouped: Scope, names_inputs: bool) -> Scope:
    """Return the scope of a clause: the names of the result, then the columns of FROM.

    In ORDER BY of Hive a name means a column of FROM rather than one of the result, unless the column of the result has
    an alias or the column of FROM cannot be named after GROUP BY.
    """
    names = query.output.only_names()
    outputs = names.tables.get(None, {})
    if not names_inputs:
        return names.with_inputs(ungrouped.hiding(outputs))
    hidden = {item.alias.lower() for item in query.items if type(item) is exp.Alias and not _repeats_name(item)}
    if query.scope.grouped:
        hidden |= {name for name in outputs if not _is_key(name, ungrouped, query.scope)}
    return names.with_inputs(ungrouped.hiding(hidden)) if hidden else ungrouped


def _is_key(name: str, ungrouped: Scope, grouped: Scope) -> bool:
    """Return whether a name without a table is a column of FROM that is a grouping key."""
    try:
        column = ungrouped.find(None, name)
        return column is not None and grouped.find_own(column.table, name) is not None
    except AmbiguousName:
        return True


def _repeats_name(item: exp.Expr) -> bool:
    """Return whether an alias repeats the name of its column."""
    inner = unwrapped(item.this)
    return type(inner) is exp.Column and inner.name.lower() == item.alias.lower() and len(inner.parts) <= 2
