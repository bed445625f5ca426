"""Queries that Spark refuses for their columns: ORDER BY over DISTINCT, subqueries with too many columns.

Source of the rules: Spark 4.1's `CheckAnalysis` and `ResolveReferencesInSort`, and measurements with Spark 4.1.4.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from hive_views.sql.parsing.parser import ParsedQuery
from hive_views.sql.resolver.context import BoundNames
from hive_views.sql.resolver.repeated_names import passes_on

Refused = tuple[exp.Expr, str]
"""A part of a query, and why Spark refuses it."""

_SORTS = ("order", "sort", "cluster", "distribute")


def refused_queries(query: ParsedQuery, bound: BoundNames) -> Iterator[Refused]:
    """Yield the parts of a resolved Spark query that Spark refuses for the columns of its SELECTs."""
    for select in query.nodes_of(exp.Select):
        if select.args.get("distinct") is not None and id(select) in bound.blocks:
            yield from _unselected(bound, select)
    for subquery in query.nodes_of(exp.Subquery):
        expected = _expected_columns(bound, subquery)
        number = _number_of_columns(bound, subquery)
        if expected is not None and number is not None and number != expected:
            yield subquery, f"This query has {number} columns where {expected} can be read"


def _unselected(bound: BoundNames, select: exp.Select) -> Iterator[Refused]:
    """Yield the columns by which a SELECT DISTINCT is sorted and that it does not select."""
    source, output = bound.blocks[id(select)]
    found = source.names if source.merged is None else {source.column_of(entry) for entry in source.merged.visible}
    passed_on = (column for column in output.columns if passes_on(bound.select_items.get(column)))
    selected = {column.origins[0] for column in passed_on if column.origins}
    for name in _SORTS:
        stack = [clause] if isinstance(clause := select.args.get(name), exp.Expr) else []
        while stack:
            node = stack.pop()
            column = bound.bindings.get(id(node)) if isinstance(node, exp.Column) else None
            if column is not None and column in found and column not in selected:
                yield node, f"SELECT DISTINCT is sorted by {column.name}, which it does not select"
            stack += [child for child in node.iter_expressions() if not isinstance(child, exp.Query)]


def _expected_columns(bound: BoundNames, subquery: exp.Subquery) -> int | None:
    """Return the number of columns that a query in an expression has to have; None for other queries."""
    parent = subquery.parent
    if isinstance(parent, exp.In) and parent.args.get("query") is subquery:
        if isinstance(parent.this, exp.Tuple):
            return len(parent.this.expressions)
        column = bound.bindings.get(id(parent.this))
        # A struct stands for several columns.
        has_one = column is not None and column.type is not None and "<" not in column.type
        return 1 if has_one and id(parent.this) not in bound.fields else None
    return 1 if isinstance(parent, (exp.Binary, exp.Alias, exp.Paren, exp.Neg, exp.Not, exp.Cast)) else None


def _number_of_columns(bound: BoundNames, subquery: exp.Subquery) -> int | None:
    inner: exp.Expr = subquery.this
    while isinstance(inner, (exp.Subquery, exp.SetOperation)):
        inner = inner.this
    block = bound.blocks.get(id(inner))
    return None if block is None else len(block[1].columns)
