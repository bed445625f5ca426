"""Expressions that Spark refuses where they are: IN and EXISTS in ORDER BY, `rand()` in an aggregate.

Source of the rules: Spark 4.1's `CheckAnalysis` and measurements with Spark 3.5.9, 4.1.4 and 4.3.0: each expression in
each clause (`tests/unit/sql/fixtures/refused_queries.jsonl`). Queries in lambda functions stay: 3.5 reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from hive_views.sql.engines.builtin_functions import SPARK_GENERATORS, SPARK_NONDETERMINISTIC
from hive_views.sql.parsing.parser import ParsedQuery
from hive_views.sql.resolver.misplaced_calls import Misplaced, is_aggregate

_SORTS = (exp.Order, exp.Sort, exp.Distribute, exp.Cluster)


def misplaced_expressions(query: ParsedQuery) -> Iterator[Misplaced]:
    """Yield the expressions of a Spark query that Spark refuses where they are."""
    for node in query.nodes_of(exp.Subquery, exp.Exists):
        if isinstance(node, exp.Exists) or (isinstance(node.parent, exp.In) and node.parent.args.get("query") is node):
            place = _place(node, lambda outer: _sorting(query, outer))
            if place is not None:
                yield node, f"Spark reads IN and EXISTS with a query not in {place}"
    for call in query.nodes_of(exp.Func):
        name = query.function_name(call)
        if name in SPARK_NONDETERMINISTIC:
            place = _place(call, lambda outer: _of_several_rows(query, outer))
            if place is not None:
                yield call, f"Spark does not call {name}() in {place}, since its result is another each time"


def _place(node: exp.Expr, place_of: Callable[[exp.Expr], str | None]) -> str | None:
    """Return the first place around an expression in its own query that a function names."""
    outer = node.parent
    while outer is not None and not isinstance(outer, exp.Query):
        place = place_of(outer)
        if place is not None:
            return place
        outer = outer.parent
    return None


def _sorting(query: ParsedQuery, node: exp.Expr) -> str | None:
    if isinstance(node, _SORTS) and not isinstance(node.parent, exp.Window):
        group = node.parent.args.get("group") if node.parent is not None else None
        if group is not None and group.find(exp.Query) is not None:
            return None  # it may be a grouping key, whose result is sorted
        return "ORDER BY, SORT BY, DISTRIBUTE BY and CLUSTER BY"
    name = query.function_name(node) if isinstance(node, exp.Func) else None
    return f"{name}()" if name in SPARK_GENERATORS else None


def _of_several_rows(query: ParsedQuery, node: exp.Expr) -> str | None:
    if isinstance(node, exp.Filter) or is_aggregate(query, node):
        return "an aggregate"
    if isinstance(node, exp.Join):
        return "ON"
    return "VALUES" if isinstance(node, exp.Values) else None
