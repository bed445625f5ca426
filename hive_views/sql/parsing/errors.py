"""The error of a text that cannot be parsed."""

from __future__ import annotations

from hive_views.errors import SqlError
from hive_views.sql.text.tokens import Text


class ParseTextError(SqlError):
    """A text that is not SQL, or not a query."""


def error_at(text: Text, reason: str, start: int) -> ParseTextError:
    """Return the error at an offset of a text."""
    line, column = text.position(start)
    return ParseTextError(reason, line=line, column=column)
