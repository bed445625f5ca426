"""Positions in a text as users see them: line and column, both from 1."""

from __future__ import annotations

from hive_views.errors import SqlError


def line_and_column(sql: str, start: int) -> tuple[int, int]:
    """Return line and column, both from 1, of a character."""
    line_start = sql.rfind("\n", 0, start) + 1
    return sql.count("\n", 0, start) + 1, start - line_start + 1


def error_at(sql: str, start: int, reason: str, name: str | None = None) -> SqlError:
    """Return an error that points at a character of a text."""
    line, column = line_and_column(sql, start)
    return SqlError(reason, line=line, column=column, name=name)
