"""Replacement of ranges in a text. That of token ranges works as in Hive's expansion of views (`UnparseTranslator`).

Everything that is not replaced stays unchanged: case, comments, white space, literals.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from hive_views.sql.text.tokens import Text


class Replaced(NamedTuple):
    """One replacement of an edited text."""

    start: int
    """Where it begins in the edited text, in characters."""
    end: int
    """Where it ends there (exclusive)."""
    first: int
    """The first token that it replaces."""
    last: int
    """The last token that it replaces."""


@dataclass(frozen=True)
class EditedText:
    """A text after its edits, and where each of its parts comes from."""

    sql: str
    replaced: Sequence[Replaced] = field(repr=False)
    """The replacements in order; none if tokens outside of them were changed, too."""


class TokenEdits:
    """Replacements of token ranges in one text.

    Of overlapping ranges the widest is applied, of equal ranges the last one. So the edit of a whole expression that
    Hive takes for a column overrides the edits inside it. A copy replaces a range by the edited text of another range
    (for GROUP BY keys).
    """

    def __init__(self, text: Text) -> None:
        self.text = text
        self._edits: dict[tuple[int, int], str] = {}
        """The new text of each range. A range is its first token and the negative of its last one, so that outer
        ranges sort first."""
        self._copies: list[tuple[int, int, int, int]] = []
        self._additions: dict[int, str] = {}

    def replace(self, first: int, last: int, replacement: str) -> None:
        """Replace the tokens `first` to `last`, both included."""
        self._edits[first, -last] = replacement

    def replace_all(self, replacements: list[tuple[tuple[int, int], str]]) -> None:
        """Replace ranges; each is given by its first token and the negative of its last one."""
        self._edits.update(replacements)

    def copy(self, target: tuple[int, int], source: tuple[int, int]) -> None:
        """Replace the tokens of `target` by the edited text of the tokens of `source`."""
        if target != source:
            self._copies.append((*target, *source))

    def append(self, last: int, addition: str) -> None:
        """Insert a text after a token and after its replacement."""
        self._additions[last] = addition

    def apply(self, unedited: Callable[[int], str | None] | None = None) -> EditedText:
        """Return the edited text; `unedited` gives the new text of a token that no edit covers, or None to keep it."""
        tokens = self.text.tokens
        if not tokens:
            return EditedText("", ())
        edits = dict(self._edits) if self._copies or self._additions else self._edits
        order = sorted(edits)
        for first, last, source_first, source_last in self._copies:
            copied = _render(self.text, edits, order, source_first, source_last, unedited)
            if copied != _render(self.text, edits, order, first, last, unedited):
                if (first, -last) not in edits:
                    insort(order, (first, -last))
                edits[first, -last] = copied
        if self._additions:
            order = self._with_additions(edits, order)
        replaced: list[Replaced] = []
        sql = _render(self.text, edits, order, 0, len(tokens) - 1, unedited, replaced if unedited is None else None)
        return EditedText(sql, replaced)

    def _with_additions(self, edits: dict[tuple[int, int], str], order: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Add the insertions to the outermost ranges that contain their tokens; return the ranges in order."""
        ends: dict[int, tuple[int, int]] = {}
        """The outermost ranges by their last tokens."""
        next_first = 0
        for first, negative_last in order:
            if first >= next_first:
                ends[-negative_last] = (first, negative_last)
                next_first = 1 - negative_last
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
    unedited: Callable[[int], str | None] | None,
    replaced: list[Replaced] | None = None,
) -> str:
    """Return the edited text of the tokens `first` to `last`; only the outermost ranges of `order` count."""
    sql, tokens = text.sql, text.tokens
    pieces: list[str] = []
    at = tokens[first].start
    length = 0
    next_first = first
    for range_ in islice(order, bisect_left(order, (first, -last)), None):
        start, stop = range_[0], -range_[1]
        if start > last:
            break
        if start < next_first or stop > last:
            continue
        if unedited is not None:
            at = _render_unedited(text, next_first, start, at, unedited, pieces)
        replacement = edits[range_]
        pieces += (sql[at : tokens[start].start], replacement)
        if replaced is not None:
            length += tokens[start].start - at
            replaced.append(Replaced(length, length + len(replacement), start, stop))
            length += len(replacement)
        at = tokens[stop].end + 1
        next_first = stop + 1
    if unedited is not None:
        at = _render_unedited(text, next_first, last + 1, at, unedited, pieces)
    pieces.append(sql[at : tokens[last].end + 1])
    return "".join(pieces)


def _render_unedited(
    text: Text, first: int, end: int, at: int, unedited: Callable[[int], str | None], pieces: list[str]
) -> int:
    """Append the tokens in [first, end) that `unedited` changes; return the position up to which text was appended."""
    for index in range(first, end):
        replacement = unedited(index)
        if replacement is not None:
            token = text.tokens[index]
            pieces.append(text.sql[at : token.start])
            pieces.append(replacement)
            at = token.end + 1
    return at


def replace_ranges(sql: str, replacements: Iterable[tuple[int, int, str]]) -> str:
    """Replace ranges of characters, each given by its start, its end (exclusive) and its new text, in order."""
    pieces: list[str] = []
    at = 0
    for start, end, text in replacements:
        pieces += (sql[at:start], text)
        at = end
    return "".join([*pieces, sql[at:]])
