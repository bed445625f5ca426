"""Spark's exceptions as errors of this package, with positions in the text that the user wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hive_views.errors import SparkSqlError
from hive_views.spark.session.source_text import SourceText, offset_of
from hive_views.spark.sessions import spark_exceptions

_POSITION = re.compile(r"[(;]\s*line (\d+),? pos (\d+)")
_NOISE = re.compile(r"(\n\n?JVM stacktrace:|\n*== SQL|;\s*line \d+,? pos \d+|\s*\(line \d+, pos \d+\)).*", re.DOTALL)
_SQL_STATE = re.compile(r"\.?\s*SQLSTATE: (\w{5})")


@dataclass(frozen=True)
class ViewErrorLocation:
    """A location in a view's text that Spark's error names, when it names none in the statement."""

    name: str
    """The view as Spark calls it: parts without quotes, joined by dots."""
    start: int
    """The offset in the view's text."""
    fragment: str
    """The text at that offset."""

    def is_in(self, text: str) -> bool:
        """Whether a text has the fragment at the offset."""
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
    from pyspark.errors import PySparkException

    message = str(getattr(error, "java_exception", None) or error).strip()
    condition = sql_state = None
    if isinstance(error, PySparkException):
        condition = error.getCondition()
        sql_state = error.getSqlState()
    reason = _SQL_STATE.sub("", _NOISE.sub("", message)).strip()
    if condition and reason.startswith(f"[{condition}]"):
        reason = reason[len(condition) + 2 :].strip()
    line, column = source.position(_error_offset(error, source.spark_text)) if source is not None else (None, None)
    view = source.view if source is not None else None
    reason = reason or f"Spark raised {type(error).__name__} without a message"
    return SparkSqlError(reason, condition=condition, sql_state=sql_state, line=line, column=column, view=view)


def view_error_location(error: Exception) -> ViewErrorLocation | None:
    """The location in a view's text that an error names; None if it names one in the statement, or none."""
    from pyspark.errors import PySparkException

    if not isinstance(error, PySparkException) or statement_fragment(error) is not None:
        return None
    for context in error.getQueryContext():
        if context.contextType().name == "SQL" and context.objectType() == "VIEW":
            return ViewErrorLocation(str(context.objectName()), int(context.startIndex()), str(context.fragment()))
    return None


def statement_fragment(error: Exception) -> tuple[int, str] | None:
    """The offset in the statement that an error names, and the text there."""
    from pyspark.errors import PySparkException

    if isinstance(error, PySparkException):
        for context in error.getQueryContext():
            if context.contextType().name == "SQL" and not context.objectName():
                return int(context.startIndex()), str(context.fragment())
    return None


def _error_offset(error: Exception, spark_text: str) -> int | None:
    """The offset in Spark's text that an error names. Spark counts code points, as Python does."""
    location = view_error_location(error)
    if location is not None:
        # The offset counts in the view's text, which this text may not be.
        return location.start if location.is_in(spark_text) else None
    fragment = statement_fragment(error)
    if fragment is not None:
        return fragment[0]
    match = _POSITION.search(str(error))
    return offset_of(spark_text, int(match.group(1)), int(match.group(2))) if match else None
