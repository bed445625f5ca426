"""Stored rows as they were: a snapshot of a materialized view's storage by its id, by a tag, or by a time.

Only what readers once had can be travelled to: a snapshot that a refresh staged and never published is nobody's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from hive_views.errors import NoSuchRefreshError, RefreshError
from hive_views.identifiers import ViewName
from hive_views.materialized.loading import MaterializedView, settings_of

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata


@dataclass(frozen=True)
class Stored:
    """Stored rows of a materialized view, at one snapshot of its storage."""

    view: ViewName
    """The materialized view."""
    storage: ViewName | None
    """The storage table's name in the catalog; None where no catalog knows it."""
    metadata_location: str
    """The storage table's metadata file."""
    snapshot_id: int | None
    """The snapshot; None where the storage has none yet, and so no rows."""
    timestamp_ms: int | None
    """When it was made, in milliseconds from the epoch."""
    settings: Mapping[str, str]
    """The engine's settings under which the rows were computed; empty where the writer did not say."""

    def __str__(self) -> str:
        if self.snapshot_id is None or self.timestamp_ms is None:
            return "it was never refreshed"
        return f"snapshot {self.snapshot_id} of {shown_time(self.timestamp_ms)}"


def shown_time(timestamp_ms: int) -> str:
    """A time for people, in UTC."""
    return datetime.fromtimestamp(timestamp_ms / 1000, timezone.utc).isoformat(timespec="milliseconds")


def stored_rows(view: MaterializedView, *, version: int | str | None = None, at_ms: int | None = None) -> Stored:
    """The stored rows of a materialized view as they are, or as they were."""
    if view.storage is None:
        raise RefreshError(str(view.name), view.problem or "its storage cannot be read")
    metadata = view.storage.metadata
    snapshot_id = metadata.current_snapshot_id
    if version is not None:
        snapshot_id = _of_version(view.name, metadata, version)
    elif at_ms is not None:
        snapshot_id = _of_time(view.name, metadata, at_ms)
    snapshot = None if snapshot_id is None else metadata.snapshot_by_id(snapshot_id)
    summary = {} if snapshot is None or snapshot.summary is None else snapshot.summary.additional_properties
    return Stored(
        view.name,
        view.storage_name,
        view.storage.metadata_location,
        snapshot_id,
        None if snapshot is None else snapshot.timestamp_ms,
        settings_of(summary),
    )


def held(metadata: TableMetadata) -> tuple[int, ...]:
    """The snapshots that readers had, and that have not expired; oldest first."""
    there = {snapshot.snapshot_id for snapshot in metadata.snapshots}
    return tuple(dict.fromkeys(entry.snapshot_id for entry in metadata.snapshot_log if entry.snapshot_id in there))


def _of_version(name: ViewName, metadata: TableMetadata, version: int | str) -> int:
    available = held(metadata)
    if isinstance(version, str):
        reference = metadata.refs.get(version)
        if reference is None:
            raise NoSuchRefreshError(str(name), f"branch or tag {version!r}", available)
        return reference.snapshot_id
    if version not in available:
        raise NoSuchRefreshError(str(name), f"snapshot {version}", available)
    return version


def _of_time(name: ViewName, metadata: TableMetadata, at_ms: int) -> int:
    # As Iceberg's SnapshotUtil.snapshotIdAsOfTime: the last entry of the log that is no later.
    available = held(metadata)
    earlier = [entry.snapshot_id for entry in metadata.snapshot_log if entry.timestamp_ms <= at_ms]
    if not earlier or earlier[-1] not in available:
        raise NoSuchRefreshError(str(name), shown_time(at_ms), available)
    return earlier[-1]
