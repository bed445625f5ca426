"""Spark's exceptions as errors of this package, with positions in the text that a person wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hive_views.errors import SparkSqlError
from hive_views.spark.session.rewrite import offset_of
from hive_views.sql.parsing.lexer import line_and_column

_AT = re.compile(r"[(;]\s*line (\d+),? pos (\d+)")
_NOISE = re.compile(r"(\n\n?JVM stacktrace:|\n*== SQL|;\s*line \d+,? pos \d+|\s*\(line \d+, pos \d+\)).*", re.DOTALL)
_STATE = re.compile(r"\.?\s*SQLSTATE: (\w{5})")


@dataclass(frozen=True)
class Source:
    """What a person wrote, and how what Spark was given leads back to it."""

    text: str
    """What was written: a statement, or a view's definition."""
    given: str
    """What Spark was given."""
    offset: Callable[[int], int | None]
    """From a character of the latter to one of the former; None where it is not of it."""
    view: str | None = None
    """The view whose definition it is."""

    def position(self, at: int | None) -> tuple[int | None, int | None]:
        """Line and column in what was written of a character of what Spark was given."""
        found = None if at is None else self.offset(at)
        return (None, None) if found is None else line_and_column(self.text, found)


def unchanged(text: str) -> Source:
    """A text that Spark is given as it is."""
    return Source(text, text, lambda at: at)


def failures() -> tuple[type[Exception], ...]:
    """What PySpark raises: its own exceptions, and those of the JVM that it leaves as they come."""
    from pyspark.errors import PySparkException

    try:
        from py4j.protocol import Py4JJavaError
    except ModuleNotFoundError:  # a client of Spark Connect alone
        return (PySparkException,)
    return (PySparkException, Py4JJavaError)


@contextmanager
def pointing_into(source: Source, definition: Callable[[InView], Source | None] | None = None) -> Iterator[None]:
    """Turn what Spark raises into our error."""
    try:
        yield
    except failures() as error:
        inside = in_view(error)
        raise failure(error, source if inside is None or definition is None else definition(inside)) from error


def failure(error: Exception, source: Source | None) -> SparkSqlError:
    """Our error for one of Spark's."""
    from pyspark.errors import PySparkException

    message = str(getattr(error, "java_exception", None) or error).strip()
    condition = state = None
    if isinstance(error, PySparkException):
        condition = error.getCondition()
        state = error.getSqlState()
    at = place_in(error, source.given) if source is not None else None
    reason = _STATE.sub("", _NOISE.sub("", message)).strip()
    if condition and reason.startswith(f"[{condition}]"):
        reason = reason[len(condition) + 2 :].strip()
    line, column = source.position(at) if source is not None else (None, None)
    view = source.view if source is not None else None
    reason = reason or f"Spark says nothing but {type(error).__name__}"
    return SparkSqlError(reason, condition=condition, sql_state=state, line=line, column=column, view=view)


def place_in(error: Exception, given: str) -> int | None:
    """The character of the text that Spark was given at which it points; its indexes count code points, as ours."""
    inside = in_view(error)
    if inside is not None:
        # Its index is one of the view's text, which this may not be.
        return inside.start if inside.is_of(given) else None
    fragment = fragment_of(error)
    if fragment is not None:
        return fragment[0]
    found = _AT.search(str(error))
    return offset_of(given, int(found.group(1)), int(found.group(2))) if found else None


@dataclass(frozen=True)
class InView:
    """A place in a view's text at which Spark points, where it points into no other text."""

    name: str
    """The view as Spark calls it: parts without quotes, joined by dots."""
    start: int
    """The character of its text."""
    fragment: str
    """What stands there."""

    def is_of(self, text: str) -> bool:
        """Whether this stands there in a text."""
        return text[self.start : self.start + len(self.fragment)] == self.fragment


def in_view(error: Exception) -> InView | None:
    """Where in a view's text Spark points; None where it points into the statement, or nowhere."""
    from pyspark.errors import PySparkException

    if not isinstance(error, PySparkException) or fragment_of(error) is not None:
        return None
    for context in error.getQueryContext():
        if context.contextType().name == "SQL" and context.objectType() == "VIEW":
            return InView(str(context.objectName()), int(context.startIndex()), str(context.fragment()))
    return None


def fragment_of(error: Exception) -> tuple[int, str] | None:
    """Where in a text Spark points, and what it says stands there."""
    from pyspark.errors import PySparkException

    if isinstance(error, PySparkException):
        for context in error.getQueryContext():
            if context.contextType().name == "SQL" and not context.objectName():
                return int(context.startIndex()), str(context.fragment())
    return None
