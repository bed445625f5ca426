"""What `hive-views mv` returns; with `--json` the fields are the keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MaterializedStatus:
    """The state of one materialized view."""

    view: str
    """`database.name`."""
    layout: str
    """`registered`, `attached`, `table` or `trino`."""
    freshness: str
    """`fresh`, `fresh within grace`, `stale` or `unknown`."""
    reasons: tuple[str, ...]
    """Why it is not fresh."""
    refreshed_ms: int | None
    """When the refresh that wrote its rows started, in epoch milliseconds."""
    storage: str | None = None
    """The storage table's name in the catalog; null if it is in no catalog, and in lists."""
    snapshot_id: int | None = None
    """The storage's current snapshot."""
    rows: int | None = None
    """Number of rows."""
    max_staleness_ms: int | None = None
    """How long after a refresh its rows may answer queries in any case; null for not at all, and in lists."""
    allow_stale_data: bool | None = None
    """Whether rows that are not fresh may answer queries; null in lists."""


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
    """`unchanged`, `full`, `incremental`, `partitions` or `keys`; of several views also `failed` or `skipped`."""
    why: str
    """The reason for the action."""
    rows: int | None
    """Number of stored rows."""
    written: int | None
    """Number of written rows."""
    seconds: float
    """Duration in seconds."""


@dataclass(frozen=True)
class RefreshResult:
    """What `mv refresh` returns."""

    refreshed: tuple[Refreshed, ...]
    """The views, in the order in which they were refreshed."""


@dataclass(frozen=True)
class StoredRefresh:
    """One refresh whose rows the storage still has."""

    snapshot_id: int
    """Its snapshot."""
    timestamp_ms: int
    """When it became current, in epoch milliseconds; `mv rows --at` compares this time."""
    time: str
    """The same in ISO 8601."""
    current: bool
    """Whether it is the current one."""
    version_id: int
    """The view version that it evaluated."""
    sources: dict[str, int]
    """The snapshot of each table and the version of each view that it read."""


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
    """The snapshot that was read; null if there is none yet."""
    time: str | None
    """When it was written, in ISO 8601."""
    columns: tuple[str, ...]
    """Its columns."""
    rows: tuple[tuple[Any, ...], ...]
    """Values in the order of the columns; types without JSON equivalent as text."""


@dataclass(frozen=True)
class ExpiredRows:
    """What `mv expire` returns."""

    view: str
    """`database.name`."""
    snapshots: tuple[int, ...]
    """Snapshots that can no longer be read, oldest first."""
    files: int
    """Number of deleted files."""
    kept: tuple[str, ...]
    """Unneeded files that could not be deleted, and why."""


@dataclass(frozen=True)
class DroppedMaterialized:
    """What `mv drop` returns."""

    dropped: str
    """`database.name`."""
