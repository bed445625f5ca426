"""The names that several columns of a query have, which no clause around the query can write.

Source of the rules: Spark 4.1's `AttributeSeq.resolve`, which compares the ids of columns, and measurements with Spark
4.1.4: two columns of one name are one attribute if both only pass on one column of FROM (`SELECT *, a FROM t`). Trino's
`RelationType.resolveFields` counts columns.
"""

from __future__ import annotations

from sqlglot import exp

from hive_views.sql.parsing.syntax_tree import is_star, unwrapped
from hive_views.sql.resolver.context import ResolutionContext
from hive_views.sql.resolver.scopes import MergedKey, QualifiedName, Scope, ScopeColumn


def repeated_names(context: ResolutionContext, scope: Scope) -> frozenset[QualifiedName]:
    """Return the names that several columns of a scope have, and by which none can be found."""
    if not context.dialect.rejects_repeated_names or not scope.ambiguous:
        return frozenset()
    return frozenset(
        (table, name)
        for name, tables in scope.ambiguous.items()
        for table in tables
        if not _is_one_column(context, columns_of(scope, table, name))
    )


def columns_of(scope: Scope, table: str | None, name: str) -> list[ScopeColumn]:
    """Return the columns of a table that the author called by a name, whatever their names in the text."""
    return [column for column in scope.columns if column.table == table and column.name == name]


def _is_one_column(context: ResolutionContext, columns: list[ScopeColumn]) -> bool:
    first, *others = columns
    return context.dialect.finds_attributes and all(_is_same(context, first, other) for other in others)


def _is_same(context: ResolutionContext, first: ScopeColumn, second: ScopeColumn) -> bool:
    """Return whether two columns of one table or SELECT list are one attribute of Spark."""
    while first is not second:
        are_selected = first in context.bound.select_items and second in context.bound.select_items
        if first.table != second.table and not are_selected:
            return False
        first_below, second_below = _passed_on(context, first), _passed_on(context, second)
        if first_below is None or second_below is None:
            # An element of a SELECT list can name an alias in front of it.
            return _reaches(context, first, second) or _reaches(context, second, first)
        first, second = first_below, second_below
    return True


def _reaches(context: ResolutionContext, column: ScopeColumn | None, new: ScopeColumn) -> bool:
    """Return whether a column passes on a column that an element of a SELECT list computes."""
    while column is not None and column is not new:
        column = _passed_on(context, column)
    return column is new


def _passed_on(context: ResolutionContext, column: ScopeColumn) -> ScopeColumn | None:
    """Return the column that a column passes on as it is; None if it is a new one, as of an expression or an alias."""
    item = context.bound.select_items.get(column)
    if not passes_on(item):
        return None
    source = column.origins[0] if column.origins else None
    if not isinstance(source, ScopeColumn) or isinstance(column, MergedKey) or source.name != column.name:
        return None
    # A set operation keeps the columns of its first query, unless it casts them.
    return source if len(column.origins) == 1 or source.type == column.type is not None else None


def passes_on(item: exp.Expr | None) -> bool:
    """Return whether an element of a SELECT list is a column without an alias, or a star; None is no element of one."""
    return item is None or is_star(item) or (type(item) is not exp.Alias and type(unwrapped(item)) is exp.Column)
