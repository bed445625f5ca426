"""Column lineage: the columns of tables and views that a column of a resolved query is computed from.

The lineage follows the columns to which the resolver bound the names. It excludes columns that only filter, join, group
or order rows, but includes the columns in PARTITION BY and ORDER BY of a window.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from hive_views.sql.parsing.syntax_tree import child_expressions
from hive_views.sql.resolver.grouping import GROUPING_ID, window_definitions
from hive_views.sql.resolver.resolved import ResolvedQuery
from hive_views.sql.resolver.scopes import ScopeColumn

SourceColumn = tuple[str, str, str]
"""Database, table and column, in lower case."""


def source_columns(query: ResolvedQuery, column: ScopeColumn) -> set[SourceColumn]:
    """Return the columns of tables and views that a column is computed from."""
    sources: set[SourceColumn] = set()
    visited: set[int] = set()
    stack: list[Any] = [column]
    while stack:
        item = stack.pop()
        if id(item) not in visited:
            visited.add(id(item))
            of_tables, parts = direct_origins(query, item)
            sources.update(of_tables)
            stack += parts
    return sources


def direct_origins(query: ResolvedQuery, item: ScopeColumn | exp.Expr) -> tuple[list[SourceColumn], list[Any]]:
    """Return the columns of tables, and the columns and expressions, that an item is directly computed from."""
    if not isinstance(item, ScopeColumn):
        return [], _parts(query, item)
    of_tables = [(*origin, item.internal) for origin in item.origins if isinstance(origin, tuple)]
    return of_tables, [origin for origin in item.origins if not isinstance(origin, tuple)]


def unchanged_type(query: ResolvedQuery, column: ScopeColumn) -> str | None:
    """Return the Hive type of a column that is an unchanged column of tables; None for a computed one.

    `grouping__id` counts as unchanged, because its type is certain.
    """
    visited: set[int] = set()
    stack = [column]
    while stack:
        item = stack.pop()
        if id(item) in visited:
            continue
        visited.add(id(item))
        if item.type != column.type or not (item.origins or item.name == GROUPING_ID):
            return None
        for origin in item.origins:
            if isinstance(origin, exp.Expr):
                node = origin.unalias()
                bound = query.bound.bindings.get(id(node)) if type(node) is exp.Column else None
                if bound is None:
                    return None
                stack.append(bound)
            elif not isinstance(origin, tuple):
                stack.append(origin)
    return column.type


def _parts(query: ResolvedQuery, node: exp.Expr) -> list[Any]:
    """Return the columns and expressions that an expression is directly computed from."""
    column = query.bound.bindings.get(id(node))
    if column is not None:
        return [column]
    columns = query.bound.star_columns.get(id(node))
    if columns is not None:
        return list(columns)
    result = query.bound.subqueries.get(id(node))
    if result is not None:
        return [] if type(node.parent) is exp.Exists else list(result.columns)
    parts: list[Any] = [part for value in node.args.values() for part in child_expressions(value)]
    name = node.args.get("alias") if type(node) is exp.Window else None
    select = node.find_ancestor(exp.Select) if name is not None else None
    if name is not None and select is not None:
        parts += filter(None, [window_definitions(select).get(name.name.lower())])
    return parts
