"""Who says what types a view's columns have: Spark where a session is there, else the rules of this package."""

from __future__ import annotations

from typing import Protocol

from hive_views.errors import SqlError
from hive_views.sql.resolver.context import start_of
from hive_views.sql.rewriting.expand import Expansion, OutputColumn


class UnknownTypeError(SqlError):
    """A column whose type cannot be told; `name` is the column's."""


class Analyzer(Protocol):
    """Says the types of a view's columns."""

    def columns(self, expansion: Expansion) -> tuple[OutputColumn, ...]:
        """The columns of an expanded query, each with its Hive type."""
        ...


class RuleAnalyzer:
    """Types by Hive's rules over sqlglot's tree and the schemas of the tables: no engine is needed."""

    def columns(self, expansion: Expansion) -> tuple[OutputColumn, ...]:
        """The columns of an expanded query; see `Analyzer`."""
        columns = expansion.columns
        for number, column in enumerate(columns):
            if column.type is None:
                raise unknown_type(expansion, number, f"The type of column {column.name} is not known")
        return columns


def unknown_type(expansion: Expansion, number: int, reason: str) -> UnknownTypeError:
    """An error about a column's type that points at it."""
    found = expansion.resolution
    item = found.resolver.items_of.get(found.columns[number][1])
    line, at = found.text.position(start_of(item) if item is not None else None)
    return UnknownTypeError(
        f"{reason}: write CAST(… AS type) around it, or define the view in a Spark session",
        line=line,
        column=at,
        name=expansion.names[number],
    )
