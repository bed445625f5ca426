"""Time travel: earlier stored rows of a materialized view, by snapshot id, tag or time.

Only published snapshots can be read; a snapshot that a refresh staged and never published cannot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from hive_views.errors import NoSuchRefreshError
from hive_views.identifiers import ViewName
from hive_views.materialized.loading import LoadedMaterializedView, session_settings
from hive_views.materialized.state.refresh_state import summary_of

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata


@dataclass(frozen=True, kw_only=True)
class StoredSnapshot:
    """The stored rows of a materialized view at one snapshot."""

    view: ViewName
    """The materialized view."""
    storage: ViewName | None
    """The storage table's name in the catalog; None if it is in no catalog."""
    metadata_location: str
    """The storage table's metadata file."""
    snapshot_id: int | None
    """The snapshot; None if there is none yet, and so no rows."""
    timestamp_ms: int | None
    """When it was written, in epoch milliseconds."""
    settings: Mapping[str, str]
    """The engine settings under which the rows were computed; empty if not recorded."""

    def __str__(self) -> str:
        if self.snapshot_id is None or self.timestamp_ms is None:
            return "it was never refreshed"
        return f"snapshot {self.snapshot_id} of {format_time(self.timestamp_ms)}"


def format_time(timestamp_ms: int) -> str:
    """Format a time in UTC for messages."""
    return datetime.fromtimestamp(timestamp_ms / 1000, timezone.utc).isoformat(timespec="milliseconds")


def stored_rows(
    view: LoadedMaterializedView, *, version: int | str | None = None, at_ms: int | None = None
) -> StoredSnapshot:
    """Return the current stored rows of a materialized view, or those of a snapshot, a branch or tag, or a time."""
    storage = view.readable_storage()
    metadata = storage.metadata
    snapshot_id = metadata.current_snapshot_id
    if version is not None:
        snapshot_id = _snapshot_of_version(view.name, metadata, version)
    elif at_ms is not None:
        snapshot_id = _snapshot_at(view.name, metadata, at_ms)
    snapshot = None if snapshot_id is None else metadata.snapshot_by_id(snapshot_id)
    return StoredSnapshot(
        view=view.name,
        storage=view.storage_name,
        metadata_location=storage.metadata_location,
        snapshot_id=snapshot_id,
        timestamp_ms=None if snapshot is None else snapshot.timestamp_ms,
        settings=session_settings(summary_of(snapshot)),
    )


def _available_snapshots(metadata: TableMetadata) -> tuple[int, ...]:
    """Return the snapshots that were current at some time and have not expired, oldest first."""
    snapshot_ids = {snapshot.snapshot_id for snapshot in metadata.snapshots}
    log = (entry.snapshot_id for entry in metadata.snapshot_log)
    return tuple(dict.fromkeys(snapshot_id for snapshot_id in log if snapshot_id in snapshot_ids))


def _snapshot_of_version(name: ViewName, metadata: TableMetadata, version: int | str) -> int:
    available = _available_snapshots(metadata)
    if isinstance(version, str):
        reference = metadata.refs.get(version)
        if reference is None:
            raise NoSuchRefreshError(str(name), f"branch or tag {version!r}", available)
        return reference.snapshot_id
    if version not in available:
        raise NoSuchRefreshError(str(name), f"snapshot {version}", available)
    return version


def _snapshot_at(name: ViewName, metadata: TableMetadata, at_ms: int) -> int:
    # As Iceberg's SnapshotUtil.snapshotIdAsOfTime: the last entry of the log that is not later.
    available = _available_snapshots(metadata)
    earlier = [entry.snapshot_id for entry in metadata.snapshot_log if entry.timestamp_ms <= at_ms]
    if not earlier or earlier[-1] not in available:
        raise NoSuchRefreshError(str(name), format_time(at_ms), available)
    return earlier[-1]
