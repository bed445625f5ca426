"""The limits of one resolution, so that no text takes unlimited time or memory.

The columns of a text can double with each common table expression and each query can be resolved twice inside the next
one, so a text of 1,500 characters can describe 2^27 columns. The work is counted where it can grow faster than the
text; the counts depend on the text and the tables only, so a text is refused on every machine or on none. The time
limit is the last resort for work that is not counted. Spark 4.1.4 has no such limits (docs/sql.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from hive_views.errors import QueryTooLargeError
from hive_views.sql.parsing.syntax_tree import start_offsets
from hive_views.sql.text.tokens import Text


@dataclass(frozen=True)
class ResolutionLimits:
    """What one resolution may take; the numbers grow with the text and its tables, so that long texts are read.

    Attributes:
        columns: The columns of all elements of FROM clauses and of all stars.
        columns_per_token: The number added for each token of the text.
        columns_per_table_column: The number added for each column of a table or view that the text names.
        queries: The queries that are resolved, each time that one is.
        queries_per_token: The number added for each token of the text.
        written: The characters that replace names and stars in the expanded and the stored text together.
        type_length: The characters of a column's type.
        seconds: The CPU time of the thread.
    """

    columns: int = 100_000
    columns_per_token: int = 4
    columns_per_table_column: int = 50
    queries: int = 1_000
    queries_per_token: int = 2
    written: int = 64_000_000
    type_length: int = 1_000_000
    seconds: float = 120.0


LIMITS = ResolutionLimits()
_CHECK_TIME_EVERY = 10_000
"""The number of columns after which the time is read again."""


class ResolutionBudget:
    """What one resolution has taken so far."""

    __slots__ = (
        "_clock",
        "_columns",
        "_end",
        "_max_columns",
        "_max_queries",
        "_next_check",
        "_queries",
        "_text",
        "_type_length",
        "_written",
    )

    def __init__(self, text: Text, *, clock: Callable[[], float] = time.thread_time) -> None:
        self._text = text
        self._clock = clock
        self._max_columns = LIMITS.columns + LIMITS.columns_per_token * len(text.tokens)
        self._max_queries = LIMITS.queries + LIMITS.queries_per_token * len(text.tokens)
        self._columns = self._queries = self._written = 0
        self._type_length: int | None = None
        self._next_check = _CHECK_TIME_EVERY
        self._end = clock() + LIMITS.seconds

    def add_table(self, columns: int) -> None:
        """Raise the limit of columns for a table or view that the text names."""
        self._max_columns += LIMITS.columns_per_table_column * columns

    def add_columns(self, count: int, node: exp.Expr | None = None) -> None:
        """Count columns of a table, a query or a star, before or while they are added to a scope.

        Args:
            count: The number of columns.
            node: The table, query or star, for the position of the error.
        """
        self._columns += count
        if self._columns > self._max_columns:
            raise self._error("columns", "columns", self._columns, self._max_columns, node)
        if self._columns >= self._next_check:
            self._next_check = self._columns + _CHECK_TIME_EVERY
            self._check_time(node)

    def add_query(self, node: exp.Expr | None = None) -> None:
        """Count a query that is resolved."""
        self._queries += 1
        if self._queries > self._max_queries:
            raise self._error("queries", "nested queries", self._queries, self._max_queries, node)
        self._check_time(node)

    def add_written(self, count: int, node: exp.Expr | None = None) -> None:
        """Count characters of replaced names and stars."""
        self._written += count
        if self._written > LIMITS.written:
            raise self._error("characters", "characters of names", self._written, LIMITS.written, node)

    def checked_type(self, type_text: str | None) -> str | None:
        """Return the type of a column; None for one that is too long: see `type_error`.

        A struct of two copies of a column doubles its type with each query around it. Types are inferred when they are
        needed, also by callers that accept unknown ones.
        """
        if type_text is None or len(type_text) <= LIMITS.type_length:
            return type_text
        self._type_length = self._type_length or len(type_text)
        return None

    def type_error(self, name: str) -> QueryTooLargeError | None:
        """Return the error about a column of unknown type if a type was too long, otherwise None."""
        if self._type_length is None:
            return None
        unit = f"characters in the type of column {name}"
        return QueryTooLargeError("type", unit, self._type_length, LIMITS.type_length, name=name)

    def _check_time(self, node: exp.Expr | None) -> None:
        if self._clock() > self._end:
            taken = self._clock() - self._end + LIMITS.seconds
            raise self._error("seconds", "seconds of CPU time", round(taken), round(LIMITS.seconds), node)

    def _error(self, quantity: str, unit: str, figure: int, limit: int, node: exp.Expr | None) -> QueryTooLargeError:
        start = min(start_offsets(node), default=None) if node is not None else None
        line, column = self._text.position(start)
        return QueryTooLargeError(quantity, unit, figure, limit, line=line, column=column)
