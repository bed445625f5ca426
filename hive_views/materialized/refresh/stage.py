"""What a refresh asks of an engine: rows of pinned sources through a query into a snapshot that nobody sees yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from hive_views.identifiers import ViewName
from hive_views.sql.analysis.incremental import RowSelection

if TYPE_CHECKING:
    from pyiceberg.schema import Schema


class Action(Enum):
    """What becomes of the rows that are stored."""

    OVERWRITE = "overwrite"
    """They are replaced by the query's."""
    APPEND = "append"
    """The query's are added."""
    PARTITIONS = "partitions"
    """Those of some partitions are replaced."""


@dataclass(frozen=True)
class Input:
    """Rows of one table, under the name by which the queries read them."""

    alias: str
    """That name."""
    table: ViewName
    """The table, as the catalog names it."""
    part: RowSelection
    """Which rows."""
    snapshot_id: int
    """The snapshot that is read up to; `NO_SNAPSHOT` for a table without rows."""
    since: int | None = None
    """For ADDED: the snapshot behind which it begins."""
    iceberg: bool = True
    """Whether it is Iceberg's; a table of Hive's own is read as it is."""
    live: bool = False
    """Whether it must be read as it is now, without naming the snapshot: a snapshot is read with the columns that it
    was written with, and the table has others now. That it did not change meanwhile is checked afterwards."""


@dataclass(frozen=True)
class Work:
    """One refresh, for an engine."""

    target: ViewName
    """The storage table, as the catalog names it."""
    action: Action
    """What becomes of its rows."""
    queries: tuple[str, ...]
    """Queries over the inputs; the rows of all of them are written."""
    inputs: tuple[Input, ...]
    """What the queries read."""
    columns: tuple[str, ...]
    """The storage's columns, in the order in which the queries give them."""
    summary: Mapping[str, str]
    """What the snapshot's summary is to hold."""
    refresh_id: str
    """What tells this attempt from others."""
    schema: Schema
    """The target's columns, as the refresh found them."""
    where: str | None = None
    """For PARTITIONS: the condition on the storage's columns that says which."""


class Engine(Protocol):
    """Runs queries and writes Iceberg tables: `hive_views.spark.refresh.engine.SparkEngine`."""

    def settings(self) -> Mapping[str, str]:
        """What the rows of a query depend on besides its tables: the session's time zone, for one."""
        ...

    def stage(self, work: Work) -> int | None:
        """Write the rows, as a snapshot on top of the target's current one, without making it the current one."""
        ...
