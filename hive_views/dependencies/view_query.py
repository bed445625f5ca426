"""The query of a view as its author writes it, with all that decides how it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType

from hive_views.errors import SqlError
from hive_views.metastore.queries import RowCache
from hive_views.sql.text.dialects import Dialect

Analyzer = Callable[[str], Schema]
"""Returns the columns of a query, e.g. `lambda query: schema_of(spark, query)` of `hive_views.spark.analyzer`.
All names in the query are qualified."""


@runtime_checkable
class SparkKnowledge(Protocol):
    """An analyzer that also knows a Spark: its functions, and the files that it reads as tables."""

    @property
    def spark_version(self) -> str | None:
        """The version of Spark; None if it is unknown."""
        ...

    def __call__(self, query: str, /) -> Schema:
        """Return the columns of a query."""
        ...

    def file_columns(self, file_format: str, path: str) -> tuple[tuple[str, str], ...]:
        """Return name and type of the columns of files."""
        ...


@runtime_checkable
class RowAnalyzer(Protocol):
    """An analyzer that uses the rows of the metastore."""

    def __call__(self, query: str, /) -> Schema:
        """Return the columns of a query."""
        ...

    def analyze_with(self, query: str, rows: RowCache) -> Schema:
        """Return the columns of a query; `rows` are those of its sources that were read for the same definition."""
        ...


@dataclass(frozen=True)
class DeclaredColumn:
    """What an author says about a column of a view."""

    name: str | None = None
    """Its name; None is the query's."""
    comment: str | None = None
    """Its comment."""
    type: IcebergType | None = None
    """The type that it must have; None for any. The query's values are not converted."""


def declared_columns(
    names: Sequence[str] | None,
    comments: Sequence[str | None] | None = None,
    types: Sequence[IcebergType | None] | None = None,
) -> tuple[DeclaredColumn, ...] | None:
    """Return columns from their names, comments and types; None if none of these is given.

    Raises:
        SqlError: If the numbers of names, comments and types differ.
    """
    lists = {"names": names, "comments": comments, "types": types}
    given = {what: len(items) for what, items in lists.items() if items is not None}
    if not given:
        return None
    count = max(given.values())
    if len(set(given.values())) > 1:
        counted = " and ".join(f"{number} {what}" for what, number in given.items())
        raise SqlError(f"{counted} are given for the columns: give one or None for each")
    absent = (None,) * count
    return tuple(map(DeclaredColumn, names or absent, comments or absent, types or absent))


def author_dialect(name: str) -> Dialect:
    """Return the dialect of a query by its name; raises SqlError if there is none."""
    if name not in {*Dialect}:
        raise SqlError(f"Unknown dialect {name!r}: choose one of {', '.join(Dialect)}")
    return Dialect(name)


@dataclass(frozen=True, kw_only=True)
class ViewQuery:
    """A query as typed."""

    sql: str
    """The text."""
    dialect: Dialect
    """Its dialect."""
    database: str
    """The current database of unqualified names, in lower case."""
    columns: tuple[DeclaredColumn, ...] | None = None
    """What the author says about the columns; None takes those of the query. All columns have a name, or none has."""
    analyzer: Analyzer | None = None
    """Computes the column types; None derives them from the tables' columns by the rules of the dialect."""
    summary: Mapping[str, str] = field(default_factory=dict)
    """Additional entries of the version's summary, e.g. settings of the session."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """The column list before AS; None if there is none."""
        names = tuple(column.name for column in self.columns or () if column.name is not None)
        return names or None
