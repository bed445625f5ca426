"""Texts that were rewritten for Spark, and how positions in them lead back to what the user wrote."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hive_views.sql.parsing.lexer import line_and_column


@dataclass(frozen=True)
class RewrittenText:
    """A text after replacements."""

    text: str
    """The new text."""
    original: str
    """The old text."""
    pieces: tuple[tuple[int, int, bool], ...] = ()
    """Where each piece begins in the new and in the old text, and whether it was replaced; in order."""

    @classmethod
    def unchanged(cls, text: str) -> RewrittenText:
        """A text in which nothing is replaced."""
        return cls(text, text)

    def offset(self, new_offset: int) -> int:
        """The character of the old text from which a character of the new text comes."""
        if not self.pieces:
            return new_offset
        index = max(bisect_right(self.pieces, new_offset, key=lambda piece: piece[0]) - 1, 0)
        new_start, old_start, is_replaced = self.pieces[index]
        return old_start if is_replaced else old_start + new_offset - new_start


@dataclass(frozen=True)
class SourceText:
    """What the user wrote, and how a position in what Spark was given leads back to it."""

    text: str
    """A statement, or a view's definition, as it was written."""
    spark_text: str
    """The text that Spark was given."""
    offset: Callable[[int], int | None]
    """From a character of `spark_text` to one of `text`; None for a character that does not come from it."""
    view: str | None = None
    """The view whose definition `text` is."""

    def position(self, spark_offset: int | None) -> tuple[int | None, int | None]:
        """Line and column in `text` of a character of `spark_text`."""
        offset = None if spark_offset is None else self.offset(spark_offset)
        return (None, None) if offset is None else line_and_column(self.text, offset)


def apply_edits(sql: str, edits: Iterable[tuple[int, int, str]]) -> RewrittenText:
    """Replace ranges of characters, each given as start, end and the new text."""
    written: list[str] = []
    pieces: list[tuple[int, int, bool]] = []
    length = previous_end = 0
    for start, end, new in sorted(edits):
        for old_start, piece, is_replaced in ((previous_end, sql[previous_end:start], False), (start, new, True)):
            if piece:
                pieces.append((length, old_start, is_replaced))
                written.append(piece)
                length += len(piece)
        previous_end = end
    pieces.append((length, previous_end, False))
    written.append(sql[previous_end:])
    return RewrittenText("".join(written), sql, tuple(pieces))


def offset_of(sql: str, line: int, column: int) -> int:
    """The offset of the character at a line, counted from 1, and a column, counted from 0."""
    starts = [0, *(match.end() for match in re.finditer("\n", sql))]
    return min(starts[min(line, len(starts)) - 1] + column, len(sql))
