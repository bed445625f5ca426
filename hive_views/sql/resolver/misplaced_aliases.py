"""Aliases of a SELECT list in places where Spark does not read them: in aggregates, windows and subqueries.

Source of the rules: Spark 4.1's `ResolveLateralColumnAliasReference` and `ResolveReferencesInSort`, and measurements
with Spark 4.1.4 (`tests/unit/sql/fixtures/refused_queries.jsonl`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from hive_views.sql.parsing.parser import ParsedQuery
from hive_views.sql.parsing.syntax_tree import unwrapped
from hive_views.sql.resolver.context import BoundNames
from hive_views.sql.resolver.misplaced_calls import Misplaced, is_aggregate


def misplaced_aliases(query: ParsedQuery, bound: BoundNames) -> Iterator[Misplaced]:
    """Yield the names of a resolved Spark query that mean an alias where Spark does not read one."""
    aliases = {id(select): _aliases_of(select) for select in query.nodes_of(exp.Select)}
    if not any(aliases.values()):
        return
    for column in query.nodes_of(exp.Column):
        binding = bound.bindings.get(id(column))
        reason = _reason(query, bound, column, aliases) if binding is None or binding.table is None else None
        if reason is not None:
            yield column, reason


@dataclass(frozen=True)
class _Place:
    """Where a name is in a SELECT.

    Attributes:
        clause: sqlglot's name of the clause.
        around: The kind of call or query around the name in it; None if there is none.
        is_bound: Whether the resolver knows what the name means.
    """

    clause: str | None
    around: str | None
    is_bound: bool


def _aliases_of(select: exp.Select) -> Mapping[str, exp.Expr]:
    """Return the elements of a SELECT list that have an alias."""
    return {item.alias.lower(): item.this for item in select.expressions if type(item) is exp.Alias}


def _reason(
    query: ParsedQuery, bound: BoundNames, column: exp.Column, aliases: Mapping[int, Mapping[str, exp.Expr]]
) -> str | None:
    """Return why Spark does not read a name that may mean an alias; None if it is no alias, or is read."""
    binding = bound.bindings.get(id(column))
    around: str | None = None
    node: exp.Expr = column
    while (parent := node.parent) is not None and not isinstance(parent, exp.Lambda):
        if isinstance(parent, exp.Select):
            block = bound.blocks.get(id(parent))
            if block is None or binding in block[0].names:
                return None
            aliased = aliases[id(parent)].get(column.name.lower())
            if aliased is not None:
                return _reason_in(query, column.name, _Place(node.arg_key, around, binding is not None), aliased)
            around = "a subquery"
        elif isinstance(parent, exp.SetOperation) and node.arg_key not in ("this", "expression"):
            return None  # ORDER BY of a set operation names its columns
        elif isinstance(parent, exp.Window):
            around = "a window"
        elif isinstance(parent, (exp.Filter, exp.WithinGroup)) or is_aggregate(query, parent):
            around = around or "an aggregate"
        node = parent
    return None


def _reason_in(query: ParsedQuery, name: str, place: _Place, aliased: exp.Expr) -> str | None:
    """Return why Spark does not read an alias at a place; None if it reads it."""
    if place.clause == "group":
        inner = unwrapped(aliased).walk(prune=lambda node: isinstance(node, (exp.Query, exp.Window)))
        if place.around is None and any(is_aggregate(query, node) for node in inner):
            return f"{name} is computed by an aggregate, by which Spark does not group"
    elif place.is_bound and place.around is not None:
        is_read = place.clause != "expressions" and (place.clause != "order" or place.around != "an aggregate")
        return None if is_read else f"Spark does not read the alias {name} in {place.around}: use a derived table"
    return None
