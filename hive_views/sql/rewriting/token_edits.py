"""Replacement of token ranges in a text: the way in which Hive expands a view (its `UnparseTranslator`).

Everything that is not replaced stays unchanged: case, comments, white space, literals.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable

from hive_views.sql.parsing.lexer import Text


class TokenEdits:
    """Replacements of token ranges in one text.

    Of overlapping ones the widest wins, of equal ranges the last: so a whole expression that Hive takes for a column
    swallows what was replaced in it. A copy replaces a range by what another range has become (GROUP BY keys).
    """

    def __init__(self, text: Text) -> None:
        self.text = text
        self._edits: dict[tuple[int, int], str] = {}
        """What each range becomes, by its first token and the last one's negative: so the outer ones sort first."""
        self._copies: list[tuple[int, int, int, int]] = []
        self._additions: dict[int, str] = {}

    def replace(self, first: int, last: int, replacement: str) -> None:
        """Replace the tokens `first` to `last`, both included."""
        self._edits[first, -last] = replacement

    def replace_all(self, replacements: list[tuple[tuple[int, int], str]]) -> None:
        """Make some replacements; each range by its first token and the negative of its last one."""
        self._edits.update(replacements)

    def copy(self, target: tuple[int, int], source: tuple[int, int]) -> None:
        """Replace the tokens of `target` by what those of `source` become."""
        if target != source:
            self._copies.append((*target, *source))

    def append(self, last: int, addition: str) -> None:
        """Write something behind a token, and behind what replaced it."""
        self._additions[last] = addition

    def apply(self, untouched: Callable[[int], str | None] | None = None) -> str:
        """The text with every replacement made."""
        tokens = self.text.tokens
        if not tokens:
            return ""
        edits = dict(self._edits) if self._copies or self._additions else self._edits
        order = sorted(edits)
        for first, last, source_first, source_last in self._copies:
            become = _render(self.text, edits, order, source_first, source_last, untouched)
            if become != _render(self.text, edits, order, first, last, untouched):
                if (first, -last) not in edits:
                    insort(order, (first, -last))
                edits[first, -last] = become
        if self._additions:
            order = self._with_additions(edits, order)
        return _render(self.text, edits, order, 0, len(tokens) - 1, untouched)

    def _with_additions(self, edits: dict[tuple[int, int], str], order: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Put the additions behind the outermost ranges that end them; returns the ranges' new order."""
        ends: dict[int, tuple[int, int]] = {}
        """The last token of each outermost range, to the range."""
        beyond = 0
        for first, negative in order:
            if first >= beyond:
                ends[-negative] = (first, negative)
                beyond = 1 - negative
        borders = sorted(ends)
        for last, addition in self._additions.items():
            at = bisect_left(borders, last)
            range_ = ends[borders[at]] if at < len(borders) else None
            if range_ is not None and range_[0] <= last:
                edits[range_] += addition
            else:
                edits[last, -last] = self.text.raw(last) + addition
        return sorted(edits)


def _render(
    text: Text,
    edits: dict[tuple[int, int], str],
    order: list[tuple[int, int]],
    first: int,
    last: int,
    untouched: Callable[[int], str | None] | None,
) -> str:
    """The tokens `first` to `last` as they become; of the ranges in `order` those that are in no other one count."""
    sql, tokens = text.sql, text.tokens
    pieces: list[str] = []
    at = tokens[first].start
    if untouched is None and first == 0 and last == len(tokens) - 1:
        behind = 0
        for range_ in order:
            start, negative = range_
            if start >= behind:
                pieces += (sql[at : tokens[start].start], edits[range_])
                at = tokens[-negative].end + 1
                behind = 1 - negative
        pieces.append(sql[at : tokens[last].end + 1])
        return "".join(pieces)
    following = first
    for index in range(bisect_left(order, (first, -last)), len(order)) if first else range(len(order)):
        start, stop = order[index]
        stop = -stop
        if start > last:
            break
        if start < following or stop > last:
            continue
        if untouched is not None:
            at = _unquoted_between(text, following, start, at, untouched, pieces)
        pieces.append(sql[at : tokens[start].start])
        pieces.append(edits[start, -stop])
        at = tokens[stop].end + 1
        following = stop + 1
    if untouched is not None:
        at = _unquoted_between(text, following, last + 1, at, untouched, pieces)
    pieces.append(sql[at : tokens[last].end + 1])
    return "".join(pieces)


def _unquoted_between(
    text: Text, first: int, behind: int, at: int, untouched: Callable[[int], str | None], pieces: list[str]
) -> int:
    """Write the tokens from `first` that `untouched` changes; returns the character up to which the text is written."""
    for index in range(first, behind):
        written = untouched(index)
        if written is not None:
            token = text.tokens[index]
            pieces.append(text.sql[at : token.start])
            pieces.append(written)
            at = token.end + 1
    return at
