"""What `hive-views mv` returns; with `--json` the fields are the keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MaterializedStatus:
    """How one materialized view stands."""

    view: str
    """`database.name`."""
    layout: str
    """`registered`, `attached`, `table` or `trino`."""
    freshness: str
    """`fresh`, `fresh within grace`, `stale` or `unknown`."""
    reasons: tuple[str, ...]
    """Why it is not simply fresh."""
    refreshed_ms: int | None
    """When the refresh that its rows come from began."""
    storage: str | None = None
    """The storage table's name in the catalog; null where no catalog knows it, and in lists."""
    snapshot_id: int | None = None
    """The storage's current snapshot."""
    rows: int | None = None
    """How many rows it has."""
    max_staleness_ms: int | None = None
    """For how long after a refresh its rows will do; null for not at all, and in lists."""
    allow_stale_data: bool | None = None
    """Whether rows that are not fresh will do; null in lists."""


@dataclass(frozen=True)
class MaterializedList:
    """What `mv list` returns."""

    views: tuple[MaterializedStatus, ...]
    """The materialized views of the database, by name."""


@dataclass(frozen=True)
class Changed:
    """What `mv replace`, `set`, `plain` and `back` return."""

    view: str
    """`database.name`."""
    action: str
    """`replaced`, `changed`, `plain`, `materialized`, or `unchanged`."""


@dataclass(frozen=True)
class Refreshed:
    """What one refresh did."""

    view: str
    """`database.name`."""
    action: str
    """`unchanged`, `full`, `incremental` or `partitions`."""
    why: str
    """Why it was done so."""
    rows: int | None
    """How many rows are stored now."""
    written: int | None
    """How many rows were written."""
    seconds: float
    """How long it took."""


@dataclass(frozen=True)
class RefreshResult:
    """What `mv refresh` returns."""

    refreshed: tuple[Refreshed, ...]
    """The views, in the order in which they were refreshed."""


@dataclass(frozen=True)
class StoredRefresh:
    """One refresh whose rows the storage still holds."""

    snapshot_id: int
    """Its snapshot."""
    timestamp_ms: int
    """When it became current, which is what `mv rows --at` goes by."""
    time: str
    """The same in ISO 8601."""
    current: bool
    """Whether readers get it."""
    version_id: int
    """The version of the definition that it evaluated."""
    sources: dict[str, int]
    """What it read: the snapshot of each table, the version of each view."""


@dataclass(frozen=True)
class StoredRefreshes:
    """What `mv refreshes` returns."""

    view: str
    """`database.name`."""
    refreshes: tuple[StoredRefresh, ...]
    """Oldest first."""


@dataclass(frozen=True)
class StoredPage:
    """What `mv rows` returns."""

    view: str
    """`database.name`."""
    snapshot_id: int | None
    """The snapshot that was read; null where there is none yet."""
    time: str | None
    """When it was made, in ISO 8601."""
    columns: tuple[str, ...]
    """Its columns."""
    rows: tuple[tuple[Any, ...], ...]
    """Values in the order of the columns; those that JSON does not know as text."""


@dataclass(frozen=True)
class ExpiredRows:
    """What `mv expire` returns."""

    view: str
    """`database.name`."""
    snapshots: tuple[int, ...]
    """Snapshots that can no longer be read, oldest first."""
    files: int
    """How many files were deleted."""
    kept: tuple[str, ...]
    """Files that nothing needs any more and that could not be deleted, and why."""


@dataclass(frozen=True)
class OrphanList:
    """What `mv orphans` returns."""

    view: str
    """`database.name`."""
    snapshots: tuple[int, ...]
    """Snapshots of the storage that were never published."""
    rows: tuple[str, ...]
    """Rows of the metastore for the refresh of an attached storage."""
    files: tuple[str, ...]
    """Files below the storage's location that nothing names."""
    kept: tuple[str, ...]
    """What is not listed, or could not be removed, and why."""
    removed: bool
    """Whether they are gone now."""


@dataclass(frozen=True)
class DroppedMaterialized:
    """What `mv drop` returns."""

    dropped: str
    """`database.name`."""
