"""Queries: each SELECT over the columns of its FROM clause, set operations and WITH.

Source of the rules: Hive 4.1's `CalcitePlanner` (`genLogicalPlan`, `genSetOpLogicalPlan`).
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from hive_views.sql.parsing.syntax_tree import child_expressions, is_star
from hive_views.sql.resolver.aliases import rename_columns
from hive_views.sql.resolver.context import (
    Environment,
    OrderedQuery,
    QueryBlock,
    ResolutionContext,
    VisibleCtes,
)
from hive_views.sql.resolver.ctes import define_ctes
from hive_views.sql.resolver.grouping import (
    check_tables_of_aggregates,
    collect_calls,
    resolve_groups,
    resolve_having,
    resolve_plain_groups,
    resolve_plain_having,
    resolve_windows,
    windows_with_names,
    with_generated_columns,
)
from hive_views.sql.resolver.names import LITERAL_FUNCTIONS, resolve
from hive_views.sql.resolver.ordering import keys_of, ordinal_of
from hive_views.sql.resolver.scopes import Scope, ScopeColumn
from hive_views.sql.resolver.sources import named_values, resolve_from, resolve_source
from hive_views.sql.resolver.stars import ORDER_CLAUSES, resolve_items
from hive_views.sql.types import hive_types

_SET_OPERATIONS = (exp.Union, exp.Except, exp.Intersect)


def resolve_query(
    context: ResolutionContext,
    node: exp.Expr,
    ctes: VisibleCtes,
    outer: Scope | None = None,
    *,
    level: int = 0,
    names_columns: bool = True,
) -> Scope:
    """Resolve a query and return the columns of its result."""
    context.budget.add_query(node)
    with_ = node.args.get("with_")
    if with_ is not None:
        ctes = define_ctes(context, with_, ctes, outer, level)
    kind = type(node)
    if isinstance(node, exp.Select):
        return _resolve_select(context, node, QueryBlock(ctes, outer, level=level), names_columns)
    if kind in _SET_OPERATIONS:
        return _resolve_set_operation(context, node, ctes, outer, level, names_columns)
    if kind is exp.Subquery:
        inner = node.this
        if isinstance(inner, exp.Table):
            return resolve_source(context, inner, QueryBlock(ctes, outer, level=level))[1]
        scope = resolve_query(context, inner, ctes, outer, level=level, names_columns=names_columns)
        if node.args.get("order") is not None or node.args.get("sort") is not None:
            context.mode.resolve_order(context, OrderedQuery(node, scope, scope, None, level))
        return scope
    if kind is exp.Values:
        return named_values(context, node, None)
    if kind is exp.Table:
        return resolve_source(context, node, QueryBlock(ctes, outer, level=level))[1]
    if kind is exp.Paren:
        return resolve_query(context, node.this, ctes, outer, level=level, names_columns=names_columns)
    raise context.fail("A view's text must be a query: SELECT, WITH, VALUES or a set operation", node)


# -- WITH --------------------------------------------------------------------------------------------------------------


# -- Set operations ----------------------------------------------------------------------------------------------------


def _resolve_set_operation(
    context: ResolutionContext,
    node: exp.Expr,
    ctes: VisibleCtes,
    outer: Scope | None,
    level: int,
    names_columns: bool,
) -> Scope:
    context.dialect.checks.check_set_operation(context, node)
    if node.args.get("kind") or node.args.get("side"):
        raise context.fail("CORRESPONDING is not supported: list the columns of both queries", node.expression)
    spine: list[exp.Expr] = []
    left: exp.Expr = node
    while type(left) in _SET_OPERATIONS and (left is node or left.args.get("order") is None):
        spine.append(left)
        left = left.this
    branch_level = 1 if level == 0 else level
    scope = resolve_query(context, left, ctes, outer, level=branch_level, names_columns=names_columns)
    result = rename_columns(context, scope, "__u", None)
    # Hive's grammar generates an alias for the result, and one for each UNION DISTINCT inside another operation.
    context.with_clauses.set_operations += 1 + sum(
        type(operation) is exp.Union and bool(operation.args.get("distinct")) for operation in spine[1:]
    )
    for operation in reversed(spine):
        if operation is not node and operation.args.get("with_") is not None:
            ctes = define_ctes(context, operation.args["with_"], ctes, outer, level)
        scope = resolve_query(context, operation.expression, ctes, outer, level=branch_level, names_columns=False)
        result = _combine(context, result, rename_columns(context, scope, "__u", None), operation)
    result = rename_columns(context, result, f"__u{context.with_clauses.set_operations + 1}", None)
    _check_positions(context, node, result)
    if node.args.get("order") is not None or node.args.get("sort") is not None:
        query = OrderedQuery(node, result, result, None, level, is_set_operation=True)
        context.mode.resolve_order(context, query)
    return result


def _combine(context: ResolutionContext, left: Scope, right: Scope, node: exp.Expr) -> Scope:
    """Return the columns of a set operation."""
    at = node.expression
    if len(left.columns) != len(right.columns):
        raise context.fail(
            "Schema of both sides of union should match: "
            f"the first has {len(left.columns)} columns, the second {len(right.columns)}",
            at,
        )
    result = Scope()
    by_name = bool(node.args.get("by_name"))
    for left_column, right_column in zip(left.columns, right.columns, strict=True):
        name = left.names[left_column][1]
        if by_name and (
            context.column_names.is_invented(left_column) or context.column_names.is_invented(right_column)
        ):
            raise context.fail(f"{node.key.upper()} BY NAME of a column without a name: give it a name with AS", at)
        if by_name:
            right_column = right.tables.get("__u", {}).get(name, left_column)
        type_source: Any = left_column.type_source
        if not context.dialect.checks_types:
            type_source = None if by_name else context.common_type_source(left_column, right_column)
        elif left_column.type is not None and right_column.type is not None:
            type_source = hive_types.common(left_column.type, right_column.type)
            if type_source is None:
                raise context.fail(
                    f"Schema of both sides of setop should match: Column {name} is of type {left_column.type} "
                    f"on first table and type {right_column.type} on second table",
                    at,
                    name,
                )
        elif right_column.type is None:
            type_source = None
        origins = (left_column,) if type(node) is exp.Except else (left_column, right_column)
        result.put("__u", name, ScopeColumn(left_column.internal, "__u", name, type_source, origins))
    result.repeated = left.repeated
    return result


# -- One SELECT --------------------------------------------------------------------------------------------------------


def _resolve_select(context: ResolutionContext, node: exp.Select, block: QueryBlock, names_columns: bool) -> Scope:
    outer_ctes = context.with_clauses.visible
    context.with_clauses.visible = block.ctes
    try:
        if not node.expressions:
            raise context.fail("The SELECT list is empty", node)
        context.dialect.checks.check_select(context, node)
        if node.args.get("match") is not None:
            raise context.fail("MATCH_RECOGNIZE is not supported, since its names are not resolved", node)
        ungrouped = resolve_from(context, node, block)
        _resolve_where(context, node, ungrouped, block)
        resolve_block = _resolve_planned_block if context.dialect.computes_groups_first else _resolve_plain_block
        output = resolve_block(context, node, ungrouped, block, names_columns)
        context.bound.blocks[id(node)] = ungrouped, output
        return output
    finally:
        context.with_clauses.visible = outer_ctes


def _resolve_where(context: ResolutionContext, node: exp.Select, ungrouped: Scope, block: QueryBlock) -> None:
    where = node.args.get("where")
    if where is None:
        return
    condition = where.this
    column = resolve(context, condition, Environment((ungrouped,), block.outer, reuses_computed=False))
    if column is not None and context.dialect.checks_types and (column.type or "").endswith(">"):
        raise context.fail(f"A column of type {column.type} is not a condition", condition, condition.name)
    if node.args.get("laterals"):
        context.mode.check_lateral_where(context, condition, node.args["laterals"])


def _resolve_planned_block(
    context: ResolutionContext, node: exp.Select, ungrouped: Scope, block: QueryBlock, names_columns: bool
) -> Scope:
    """Resolve a block as Hive plans it: groups, then window functions, then the SELECT list over their results."""
    items = node.expressions
    calls = collect_calls(context, node)
    group, having = node.args.get("group"), node.args.get("having")
    is_distinct = node.args.get("distinct") is not None
    is_grouping = is_distinct and not calls.windows and not _is_distinct_star(node)
    scope = ungrouped
    if group is not None or calls.aggregates or is_grouping:
        scope = resolve_groups(context, node, ungrouped, calls.aggregates)
    if having is not None:
        resolve_having(context, having, items, scope, ungrouped)
        context.mode.check_having(context, node)
    if group is not None and context.mode.names_all_columns:
        check_tables_of_aggregates(context, node, scope, ungrouped)
    if calls.windows:
        scope = resolve_windows(context, node, calls.windows, scope, ungrouped)
    block.has_windows = bool(calls.windows)
    block.named_windows = windows_with_names(node, calls.windows, block.level) if calls.windows else ()
    output = resolve_items(context, node, scope, ungrouped, block, names_columns=names_columns)
    _resolve_qualify(context, node, output, scope, ungrouped)
    _check_positions(context, node, output)
    if not ORDER_CLAUSES.isdisjoint(node.args):
        query = OrderedQuery(node, output, scope, ungrouped, block.level, items=items)
        query.names_output_only = bool(calls.windows) and is_distinct
        query.distinct_star_aliases = list(block.aliases) if _is_distinct_star(node) else ()
        context.mode.resolve_order(context, query)
    return output


def _resolve_plain_block(
    context: ResolutionContext, node: exp.Select, ungrouped: Scope, block: QueryBlock, names_columns: bool
) -> Scope:
    """Resolve a block of Spark or Trino, where each clause can name the columns of FROM."""
    items = node.expressions
    group, having = node.args.get("group"), node.args.get("having")
    if group is not None:
        resolve_plain_groups(context, node, group, ungrouped, block)
    if having is not None:
        resolve_plain_having(context, node, ungrouped, block)
    columns = with_generated_columns(context, node, ungrouped)
    output = resolve_items(context, node, columns, columns, block, names_columns=names_columns)
    _resolve_qualify(context, node, output, ungrouped, ungrouped)
    _check_positions(context, node, output)
    if context.dialect.has_lateral_aliases:
        _check_literal_functions(context, node, ungrouped, output)
    if not ORDER_CLAUSES.isdisjoint(node.args):
        query = OrderedQuery(node, output, columns, columns, block.level, items=items)
        query.distinct_star_aliases = list(block.aliases) if _is_distinct_star(node) else ()
        context.mode.resolve_order(context, query)
    env = Environment.of_output(ungrouped, ungrouped, outer=block.outer, reuses_computed=False)
    for definition in node.args.get("windows") or ():
        for value in definition.args.values():
            for item in child_expressions(value):
                if not isinstance(item, exp.Identifier):
                    resolve(context, item, env)
    return output


def _check_literal_functions(context: ResolutionContext, node: exp.Select, ungrouped: Scope, output: Scope) -> None:
    """Reject `user` in ORDER BY or HAVING if only FROM has this column: Spark then calls the function."""
    clauses = [node.args[name] for name in (*ORDER_CLAUSES, "having") if node.args.get(name) is not None]
    for column in (column for clause in clauses for column in clause.find_all(exp.Column)):
        name = column.name.lower()
        is_function = len(column.parts) == 1 and name in LITERAL_FUNCTIONS and output.find_any(name) is None
        if is_function and ungrouped.find_any(name) is not None:
            raise context.fail(f"'{name}' is a function here and a column of FROM: write its table in front", column)


def _check_positions(context: ResolutionContext, node: exp.Expr, output: Scope) -> None:
    """Reject a number in ORDER BY, and in Spark's SORT BY, that is not a position of the SELECT list."""
    for item in keys_of(node, "order") if context.dialect.computes_groups_first else keys_of(node, "order", "sort"):
        ordinal = ordinal_of(context, item)
        is_integer = ordinal is not None and ordinal.removeprefix("-").isdigit()
        if ordinal is not None and is_integer and not 0 < int(ordinal) <= len(output.columns):
            raise context.fail(
                f"Invalid position alias in Order By: position {ordinal} does not exist, "
                f"the Select List is indexed from 1 to {len(output.columns)}",
                item,
            )


def _is_distinct_star(node: exp.Select) -> bool:
    """Return whether a SELECT is `SELECT DISTINCT *` or `SELECT DISTINCT t.*`."""
    return node.args.get("distinct") is not None and len(node.expressions) == 1 and is_star(node.expressions[0])


def _resolve_qualify(
    context: ResolutionContext, node: exp.Select, output: Scope, scope: Scope, ungrouped: Scope
) -> None:
    qualify = node.args.get("qualify")
    if qualify is not None:
        env = Environment.of_output(output.with_inputs(scope), ungrouped)
        resolve(context, qualify.this, env)
