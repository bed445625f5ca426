"""Texts that were rewritten for Spark, and the mapping of positions in them to what the user wrote."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hive_views.errors import SparkSqlError
from hive_views.spark.sessions import error_condition, error_contexts, spark_exceptions
from hive_views.sql.text.positions import line_and_column


@dataclass(frozen=True)
class RewrittenText:
    """A text after replacements."""

    text: str
    original: str
    pieces: tuple[tuple[int, int, bool], ...] = ()
    """The offsets at which each piece begins in the new and the old text, and whether it was replaced; in order."""

    @classmethod
    def unchanged(cls, text: str) -> RewrittenText:
        """Return a text in which nothing is replaced."""
        return cls(text, text)

    def offset(self, new_offset: int) -> int:
        """Return the offset in the old text of the character from which a character of the new text comes."""
        if not self.pieces:
            return new_offset
        index = max(bisect_right(self.pieces, new_offset, key=lambda piece: piece[0]) - 1, 0)
        new_start, old_start, is_replaced = self.pieces[index]
        return old_start if is_replaced else old_start + new_offset - new_start


@dataclass(frozen=True)
class SourceText:
    """A text that the user wrote, the text that was passed to Spark for it, and the mapping of positions."""

    text: str
    """A statement, or a view's definition, as it was written."""
    spark_text: str
    """The text that was passed to Spark."""
    offset: Callable[[int], int | None]
    """Maps an offset in `spark_text` to one in `text`; None for a character that does not come from `text`."""
    view: str | None = None
    """The view whose definition `text` is."""

    @classmethod
    def unchanged(cls, text: str, view: str | None = None) -> SourceText:
        """Return a text that is passed to Spark as it was written."""
        return cls(text, text, lambda offset: offset, view)

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
    """Return the offset of the character at a line (from 1) and a column (from 0)."""
    starts = [0, *(match.end() for match in re.finditer("\n", sql))]
    return min(starts[min(line, len(starts)) - 1] + column, len(sql))


_POSITION = re.compile(r"[(;]\s*line (\d+),? pos (\d+)")
_NOISE = re.compile(r"(\n\n?JVM stacktrace:|\n*== SQL|;\s*line \d+,? pos \d+|\s*\(line \d+, pos \d+\)).*", re.DOTALL)
_TYPE_PATH = re.compile(r"\s+The type path of the target object")
_SQL_STATE = re.compile(r"\.?\s*SQLSTATE: (\w{5})")


_REMEDIES = {
    "CANNOT_UP_CAST_DATATYPE": "A table was changed since a view over it was defined: `hive-views deps check` names "
    "the view, and ALTER VIEW … RECOMPILE adopts the new type."
}
"""What helps where Spark's message does not say it, by the condition of the error."""


@dataclass(frozen=True)
class ViewErrorLocation:
    """A location in a view's text, given by a Spark error that has no location in the statement."""

    name: str
    """The view as Spark calls it: parts without quotes, joined by dots."""
    start: int
    """The offset in the view's text."""
    fragment: str
    """The text at that offset."""

    def is_in(self, text: str) -> bool:
        """Return whether a text has the fragment at the offset."""
        return text[self.start : self.start + len(self.fragment)] == self.fragment


@contextmanager
def convert_spark_errors(
    source: SourceText, find_definition: Callable[[ViewErrorLocation], SourceText | None] | None = None
) -> Iterator[None]:
    """Raise Spark's exceptions as `SparkSqlError`, with the position in the source or in a view's definition."""
    try:
        yield
    except spark_exceptions() as error:
        location = view_error_location(error)
        if location is not None and find_definition is not None:
            raise spark_sql_error(error, find_definition(location)) from error
        raise spark_sql_error(error, source) from error


def spark_sql_error(error: Exception, source: SourceText | None) -> SparkSqlError:
    """Convert one of Spark's exceptions."""
    message = str(getattr(error, "java_exception", None) or error).strip()
    condition, sql_state = error_condition(error)
    reason = _SQL_STATE.sub("", _NOISE.sub("", message)).strip()
    if condition and reason.startswith(f"[{condition}]"):
        reason = reason[len(condition) + 2 :].strip()
    line, column = source.position(_error_offset(error, source.spark_text)) if source is not None else (None, None)
    view = source.view if source is not None else None
    reason = reason or f"Spark raised {type(error).__name__} without a message"
    if condition in _REMEDIES:
        reason = f"{_TYPE_PATH.split(reason)[0]} {_REMEDIES[condition]}"
    return SparkSqlError(reason, condition=condition, sql_state=sql_state, line=line, column=column, view=view)


def view_error_location(error: Exception) -> ViewErrorLocation | None:
    """Return the location in a view's text that an error names; None if it names one in the statement, or none."""
    contexts = error_contexts(error)
    if not all(context.view for context in contexts):
        return None
    return next((ViewErrorLocation(context.view, context.start, context.fragment) for context in contexts), None)


def statement_fragment(error: Exception) -> tuple[int, str] | None:
    """Return the offset in the statement that an error names, and the text there."""
    return next(((context.start, context.fragment) for context in error_contexts(error) if not context.view), None)


def _error_offset(error: Exception, spark_text: str) -> int | None:
    """Return the offset in Spark's text that an error names. Spark counts code points, as Python does."""
    location = view_error_location(error)
    if location is not None:
        # The offset refers to the view's text, which may not be this text.
        return location.start if location.is_in(spark_text) else None
    fragment = statement_fragment(error)
    if fragment is not None:
        return fragment[0]
    match = _POSITION.search(str(error))
    return offset_of(spark_text, int(match.group(1)), int(match.group(2))) if match else None
