"""Functions that Coral computes before it groups rows; it merges a derived table into a block that reads only it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from hive_views.sql.resolver.resolved import ResolvedQuery

TYPED = (exp.Cast, exp.TryCast, exp.Substring, exp.Concat)
"""Functions whose type Coral derives from the query, which fails after it has grouped the rows."""
_UNTYPED = (
    *(exp.AggFunc, exp.Lower, exp.Upper, exp.Trim, exp.Hour, exp.RegexpReplace),
    *(exp.Coalesce, exp.If, exp.Case, exp.And, exp.Or),
)
"""Functions that Coral can read in that position, as measured."""


def _is_grouped(select: exp.Select) -> bool:
    """Return whether a block groups its rows by GROUP BY, DISTINCT or IN."""
    is_operand = isinstance(select.parent, exp.Subquery) and isinstance(select.parent.parent, exp.In)
    return bool(select.args.get("group") or select.args.get("distinct") or is_operand)


def _clauses(select: exp.Select) -> list[exp.Expr]:
    """Return the SELECT list and the clauses of a block that are computed from its groups."""
    return [*select.expressions, *filter(None, (select.args.get(key) for key in ("group", "having", "order")))]


def functions_before_grouping(select: exp.Select) -> Iterator[exp.Func]:
    """Yield the functions of columns that a block computes before it groups its rows."""
    if not _is_grouped(select):
        return
    for clause in _clauses(select):
        for function in clause.find_all(exp.Func):
            is_computed = function.find(exp.Column) is not None and function.find(exp.AggFunc) is None
            is_days = function.find_ancestor(exp.DateDiff, exp.Select) is not function.find_ancestor(exp.Select)
            if is_computed and not is_days and not isinstance(function, _UNTYPED):
                yield function


def _merged_source(resolution: ResolvedQuery, select: exp.Select) -> exp.Select | None:
    """Return the query that is the only source of a block, which Coral merges into the block; None if there is none."""
    from_ = select.args.get("from_")
    if from_ is None or select.args.get("joins") or select.args.get("laterals"):
        return None
    source = resolution.bound.sources.get(id(from_.this))
    query = from_.this.this if source is None or source.cte is None else source.cte.this
    return query if isinstance(query, exp.Select) else None


def _column_names(nodes: Iterable[exp.Expr]) -> set[str]:
    return {column.name.lower() for node in nodes for column in node.find_all(exp.Column)}


def typed_functions_of_sources(resolution: ResolvedQuery, select: exp.Select) -> Iterator[tuple[exp.Select, exp.Func]]:
    """Yield the functions of columns in the queries that are merged into a block that groups, with their blocks."""
    names, block, source = _column_names(_clauses(select)), select, _merged_source(resolution, select)
    is_merged = _is_grouped(select)
    while is_merged and source is not None and not block.args.get("where"):
        items = [item for item in source.expressions if item.alias_or_name.lower() in names]
        for function in (function for item in items for function in item.find_all(*TYPED)):
            if function.find(exp.Column) is not None:
                yield source, function
        is_merged = not _is_grouped(source)
        names, block, source = _column_names(items), source, _merged_source(resolution, source)


def aggregates_of_aggregates(resolution: ResolvedQuery, select: exp.Select) -> Iterator[tuple[exp.Select, exp.Func]]:
    """Yield the aggregates of a merged query, with its block, that a block without GROUP BY aggregates again."""
    aggregates = [item for node in select.expressions for item in node.find_all(exp.AggFunc)]
    names = _column_names(item for item in aggregates if item.find_ancestor(exp.Window, exp.Select) is select)
    source = _merged_source(resolution, select) if names and not select.args.get("group") else None
    if source is None:
        return
    for item in source.expressions:
        aggregate = item.find(exp.AggFunc) if item.alias_or_name.lower() in names else None
        if aggregate is not None:
            yield source, aggregate
