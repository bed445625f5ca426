"""The proof that the text of a row means what its author wrote: each of its references names what the author's names.

The row's text is the author's with ranges of tokens replaced, so each place of it comes from a place of the author's
text: a token, or the first token of a range that was replaced. At each place, both texts name the same columns and
tables. What a rule wrote where the author names nothing (the columns of a star, the keys of USING, the table of a PIVOT
as a query) the rule lists in `ResolvedQuery.generated`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from hive_views.sql.resolver.origins import direct_origins, source_columns
from hive_views.sql.resolver.resolved import ResolvedQuery
from hive_views.sql.resolver.scopes import ScopeColumn
from hive_views.sql.text.edits import EditedText

_Masks = dict[int, int]
"""The columns and tables that each place of the author's text names, as bits of a number."""


def find_difference(author: ResolvedQuery, edited: EditedText, row: ResolvedQuery, *, start: int = 0) -> str | None:
    """Return how the text of a row differs from its author's text; None if both have the same meaning.

    Args:
        author: The author's text.
        edited: The author's text with the replacements that make the row's text of it.
        row: The text of the row.
        start: Where the edited text begins in it: a column list puts a query around it.
    """
    bits: dict[Any, int] = {}
    places = _Places(author, edited, start)
    ours, theirs = _References(author, bits), _References(row, bits)
    for (name, left), (_, right) in zip(author.columns, row.columns, strict=True):
        if ours.mask(left) != theirs.mask(right):
            return f"column {name} has other sources"
        if left.type != right.type:
            return f"column {name} is of type {right.type}, not {left.type}"
        if left.type is None and not start and not places.are_equal(author.start_of(left), row.start_of(right)):
            return f"column {name} is another expression"
    left_masks = ours.masks(places.of_author)
    right_masks = theirs.masks(places.of_row)
    for token, parts in author.bound.generated.items():
        place = places.of_author(author.text.tokens[token].start)
        for part in parts:
            left_masks[place] = left_masks.get(place, 0) | ours.mask(part)
    if left_masks == right_masks:
        return None
    different = (at for at in left_masks.keys() | right_masks if left_masks.get(at, 0) != right_masks.get(at, 0))
    at = min(different, default=None)
    return None if at is None else f"it names other columns for {author.text.sql[at : at + 40]!r}"


class _Places:
    """The places of an author's text, from which those of the row's text come."""

    def __init__(self, author: ResolvedQuery, edited: EditedText, start: int) -> None:
        tokens = author.text.tokens
        self._start = start
        self._begin = tokens[0].start
        self._row_starts = [item.start for item in edited.replaced]
        self._row_ends = [item.end for item in edited.replaced]
        self._firsts = [tokens[item.first].start for item in edited.replaced]
        self._ends = [tokens[item.last].end + 1 for item in edited.replaced]

    def of_author(self, start: int) -> int:
        """Return the place of a character of the author's text: itself, or where a replaced range around it begins."""
        index = bisect_right(self._firsts, start) - 1
        return self._firsts[index] if index >= 0 and start < self._ends[index] else start

    def of_row(self, start: int) -> int | None:
        """Return the place from which a character of the row's text comes; None in front of the author's query."""
        at = start - self._start
        if at < 0:
            return None
        index = bisect_right(self._row_starts, at) - 1
        if index < 0:
            return self._begin + at
        return self._firsts[index] if at < self._row_ends[index] else self._ends[index] + at - self._row_ends[index]

    def are_equal(self, left: int | None, right: int | None) -> bool:
        """Return whether a character of the author's text and one of the row's are one place, if both are known."""
        return left is None or right is None or self.of_author(left) == self.of_row(right)


class _References:
    """The columns of tables and views that the references of a query are computed from."""

    def __init__(self, query: ResolvedQuery, bits: dict[Any, int]) -> None:
        self._query = query
        self._bits = bits
        self._masks: dict[int, int] = {}
        self._is_recursive = any(with_.args.get("recursive") for with_ in query.nodes_of(exp.With))

    def masks(self, place_of: Callable[[int], int | None]) -> _Masks:
        """Return the columns and tables that each place names; places that name none are left out."""
        masks: _Masks = {}
        query, nodes_of = self._query, self._query.nodes_of
        for node in nodes_of(exp.Column, exp.Dot):
            column = query.bound.bindings.get(id(node))
            if column is not None:
                self._add(masks, place_of, node, self.mask(column))
        for star in (*nodes_of(exp.Star), *nodes_of(exp.Column)):
            for column in query.bound.star_columns.get(id(star), ()):
                self._add(masks, place_of, star, self.mask(column))
        for table in nodes_of(exp.Table):
            source = query.bound.sources.get(id(table))
            if source is not None and source.table is not None:
                self._add(masks, place_of, table, self._mask_of([source.table]))
        return masks

    def _add(self, masks: _Masks, place_of: Callable[[int], int | None], node: exp.Expr, mask: int) -> None:
        while isinstance(node, exp.Dot):
            node = node.this
        arguments = node.args
        first = arguments.get("catalog") or arguments.get("db") or arguments.get("table") or arguments.get("this")
        meta = first._meta if isinstance(first, exp.Expr) else node._meta
        place = place_of(meta["start"]) if mask and meta and "start" in meta else None
        if place is not None:
            masks[place] = masks.get(place, 0) | mask

    def mask(self, column: ScopeColumn | exp.Expr) -> int:
        """Return the columns of tables and views that a column or an expression is computed from."""
        known = self._masks.get(id(column))
        if known is not None:
            return known
        if self._is_recursive and isinstance(column, ScopeColumn):
            return self._mask_of(source_columns(self._query, column))
        masks = self._masks
        stack: list[tuple[Any, Sequence[Any] | None, int]] = [(column, None, 0)]
        opened: set[int] = set()
        while stack:
            item, parts, mask = stack.pop()
            if parts is not None:
                for part in parts:
                    mask |= masks.get(id(part), 0)
                masks[id(item)] = mask
            elif id(item) not in masks and id(item) not in opened:
                opened.add(id(item))
                tables, parts = direct_origins(self._query, item)
                stack.append((item, parts, self._mask_of(tables)))
                stack += [(part, None, 0) for part in parts]
        return masks[id(column)]

    def _mask_of(self, tables: Any) -> int:
        mask = 0
        for table in tables:
            mask |= 1 << self._bits.setdefault(table, len(self._bits))
        return mask
