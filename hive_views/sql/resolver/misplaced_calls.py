"""Calls that Spark refuses where they are: aggregates in WHERE, window functions without OVER, nested generators.

Source of the rules: Spark 4.1's `CheckAnalysis` and `ExtractWindowExpressions`, and measurements with Spark 4.1.4. Only
built-in functions are known; a call of another function is accepted everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from hive_views.sql.engines.builtin_functions import (
    SPARK_AGGREGATES,
    SPARK_FUNCTIONS,
    SPARK_GENERATORS,
    SPARK_WINDOW_FUNCTIONS,
)
from hive_views.sql.parsing.parser import ParsedQuery
from hive_views.sql.parsing.syntax_tree import window_definition
from hive_views.sql.resolver.context import BoundNames

_PLACES: dict[type[exp.Expr], str] = {
    exp.Where: "WHERE",
    exp.Having: "HAVING",
    exp.Group: "GROUP BY",
    exp.Join: "ON",
    exp.Lateral: "LATERAL VIEW",
    exp.Order: "ORDER BY",
    exp.Sort: "SORT BY",
    exp.Values: "VALUES",
}
"""The names of clauses."""

_REFUSED = {
    "aggregate": frozenset({"WHERE", "GROUP BY", "ON", "LATERAL VIEW", "VALUES"}),
    "window function": frozenset(
        {"WHERE", "HAVING", "GROUP BY", "ON", "LATERAL VIEW", "VALUES", "ORDER BY", "SORT BY"}
    ),
    "generator": frozenset({"WHERE", "HAVING", "GROUP BY", "ON", "ORDER BY", "SORT BY", "VALUES"}),
}
"""The clauses in which Spark refuses a kind of function."""

Misplaced = tuple[exp.Expr, str]
"""A call, and why Spark refuses it where it is."""


def misplaced_calls(query: ParsedQuery, bound: BoundNames) -> Iterator[Misplaced]:
    """Yield the calls of a resolved Spark query that Spark refuses where they are."""
    for node in query.nodes_of(exp.Func):
        name = query.function_name(node)
        if name is None or name not in SPARK_FUNCTIONS or isinstance(node.parent, exp.Dot):
            continue
        window = _window_of(node)
        reason = _reason_of_clauses(name, node, window)
        if reason is None and (kind := _kind_of(name, window)) is not None:
            reason = _reason_of_place(query, bound, _Call(name, kind, node, window))
        if reason is not None:
            yield node, reason


@dataclass(frozen=True)
class _Call:
    """A call of a built-in function, its kind, and its OVER."""

    name: str
    kind: str
    node: exp.Expr
    window: exp.Window | None


def _kind_of(name: str, window: exp.Window | None) -> str | None:
    """Return which kind of a function is called; None for one that computes a value of a row."""
    if window is not None:
        return "window function"
    return "aggregate" if name in SPARK_AGGREGATES else "generator" if name in SPARK_GENERATORS else None


def _window_of(node: exp.Expr) -> exp.Window | None:
    """Return the OVER of a call; None if it has none."""
    parent = node.parent
    while isinstance(parent, _BEHIND_CALL) and parent.this is node:
        node, parent = parent, parent.parent
    return parent if isinstance(parent, exp.Window) and parent.this is node else None


def _reason_of_clauses(name: str, node: exp.Expr, window: exp.Window | None) -> str | None:
    """Return why Spark refuses a function with its OVER, FILTER or LATERAL VIEW, or without OVER."""
    is_aggregate = name in SPARK_AGGREGATES and name not in _GROUPINGS
    parent = node.parent
    if isinstance(parent, exp.Filter) and parent.this is node and not is_aggregate:
        return f"{name}() is no aggregate: leave FILTER out"
    if isinstance(parent, exp.Lateral) and parent.args.get("view") and name not in SPARK_GENERATORS:
        return f"{name}() produces no rows for LATERAL VIEW"
    if window is None:
        return f"{name}() needs OVER (…)" if name in SPARK_WINDOW_FUNCTIONS else None
    if not is_aggregate and name not in SPARK_WINDOW_FUNCTIONS:
        return f"{name}() is neither a window function nor an aggregate: leave OVER out"
    if isinstance(parent, exp.Filter) and parent.this is node:
        return f"Spark has no FILTER in front of OVER: write {name}(CASE WHEN … END)"
    if isinstance(node.this, exp.Distinct):
        return f"Spark has no window function {name}() with DISTINCT"
    definition = window_definition(window)
    if definition is None:
        return f"There is no window {window.alias}: define it with WINDOW {window.alias} AS (…)"
    # A window over another one has the order of that.
    is_sorted = any(item.args.get("order") is not None for item in (window, definition))
    is_over_other = definition is not window and isinstance(definition.args.get("alias"), exp.Identifier)
    if name in SPARK_WINDOW_FUNCTIONS and not is_sorted and not is_over_other:
        return f"{name}() needs ORDER BY in OVER (…)"
    return None


def _reason_of_place(query: ParsedQuery, bound: BoundNames, call: _Call) -> str | None:
    """Return why Spark refuses a call in its clause, or inside of another call."""
    child: exp.Expr = call.window or call.node
    parent = child.parent
    while parent is not None and not isinstance(parent, (exp.Query, exp.QueryTransform, exp.Pivot)):
        place = None if isinstance(parent.parent, exp.Window) else _PLACES.get(type(parent))
        if isinstance(parent, exp.Join) and child is not parent.args.get("on"):
            return None  # a table function
        if place is not None:
            is_refused = place in _REFUSED[call.kind] and _is_of_own_block(bound, call.window or call.node)
            return f"Spark does not call {call.name}() in {place}" if is_refused else None
        if call.kind == "generator":
            if not isinstance(parent, _AROUND_GENERATOR):
                return f"Spark calls {call.name}() as a whole element of SELECT, in FROM or in LATERAL VIEW only"
        elif is_aggregate(query, parent) and call.name not in _GROUPINGS:
            return f"Spark does not call {call.name}() inside of another aggregate: use a subquery"
        child, parent = parent, parent.parent
    return None


def is_aggregate(query: ParsedQuery, node: exp.Expr) -> bool:
    """Return whether a node calls an aggregate without OVER."""
    name = query.function_name(node) if isinstance(node, exp.Func) else None
    is_built_in = not (isinstance(node.parent, exp.Dot) and node.parent.expression is node)
    return is_built_in and name in SPARK_AGGREGATES and name not in _GROUPINGS and _window_of(node) is None


def _is_of_own_block(bound: BoundNames, node: exp.Expr) -> bool:
    """Return whether a call is computed in its own query: an aggregate of outer columns belongs to the outer query."""
    select = node.find_ancestor(exp.Select)
    block = bound.blocks.get(id(select)) if select is not None else None
    if select is None or block is None:
        return False
    columns = [bound.bindings.get(id(column)) for column in node.find_all(exp.Column)]
    is_outermost = select.find_ancestor(exp.Select) is None
    return is_outermost or (bool(columns) and all(column in block[0].names for column in columns if column is not None))


_BEHIND_CALL = (exp.IgnoreNulls, exp.RespectNulls, exp.Filter, exp.WithinGroup)
_AROUND_GENERATOR = (exp.Alias, exp.Aliases, exp.Paren, exp.Lateral, exp.Table, exp.TableFromRows, exp.From)
_GROUPINGS = frozenset({"grouping", "grouping_id"})
