"""Snapshot expiration: removes earlier snapshots of a storage table, with the files that only they have.

Spark's `expire_snapshots` does this for tables of a catalog, but cannot name an attached storage table. Always kept are
the current snapshot, those of branches and tags, and the origin of a kept compaction, which has its refresh state.
Snapshots that were never published are left to garbage collection.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update import AssertTableUUID, RemoveSnapshotsUpdate, SetPropertiesUpdate

from hive_views.errors import (
    CommitFailedError,
    InvalidPropertyError,
    RefreshConflictError,
    SharedFilesError,
)
from hive_views.io.table_files import all_files, files_to_purge
from hive_views.materialized.drop import rows_sharing_storage
from hive_views.materialized.layouts.attached import AttachedStorage
from hive_views.materialized.layouts.layout import Layout
from hive_views.materialized.maintenance.garbage_collection import KeptItem, delete_files
from hive_views.spec.staleness_policy import METADATA

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.update import TableUpdate

    from hive_views.io.metadata_files import MetadataFiles
    from hive_views.materialized.loading import LoadedMaterializedView
    from hive_views.metastore.store import MetastoreStore

EXPIRE_OLDER_THAN_MS = 5 * 24 * 3600 * 1000
"""Default age in milliseconds; Iceberg's default (`history.expire.max-snapshot-age-ms`)."""


@dataclass(frozen=True)
class Expired:
    """What was expired."""

    snapshots: tuple[int, ...]
    """Snapshots that can no longer be read, oldest first."""
    files: int
    """Number of deleted files."""
    kept: tuple[KeptItem, ...] = ()
    """Unneeded files that could not be deleted, and why."""


class AssertRefs(AssertTableUUID):
    """Requires that a table has the same branches and tags, because a new tag protects its snapshot."""

    snapshots: dict[str, int]
    """The snapshot of each branch and tag."""

    def validate(self, base_metadata: TableMetadata | None) -> None:  # type: ignore[override]  # PyIceberg's own
        """Compare with the table's current metadata."""
        super().validate(base_metadata)
        assert base_metadata is not None, "the base class rejects a missing table"
        if _refs(base_metadata) != self.snapshots:
            raise CommitFailedException("its branches or tags changed concurrently")


def expire(store: MetastoreStore, view: LoadedMaterializedView, *, older_than_ms: int, keep: int) -> Expired:
    """Expire snapshots that stopped being current at least `older_than_ms` ago, except the last `keep`."""
    if keep < 1:
        raise InvalidPropertyError("keep", str(keep), "the current rows are always kept: keep at least 1")
    storage = view.readable_storage()
    metadata = storage.metadata
    expired = _snapshots_to_expire(metadata, int(time.time() * 1000) - older_than_ms, keep)
    if not expired:
        return Expired((), 0)
    sharing = rows_sharing_storage(store, view)
    if sharing:
        raise SharedFilesError(str(view.name), str(sharing[0]), "expire rows of", "Expire them when that is gone")
    unneeded_files = _files_only_in(storage, set(expired), store.files)
    updates: list[TableUpdate] = [RemoveSnapshotsUpdate.model_validate({"snapshot-ids": list(expired)})]
    refreshes = _remaining_refreshes(metadata, set(expired)) if view.layout is Layout.ATTACHED else None
    if refreshes is not None:
        updates.append(SetPropertiesUpdate(updates={METADATA: refreshes.encode()}))
    requirement = AssertRefs(uuid=metadata.table_uuid, snapshots=_refs(metadata))
    try:
        storage.catalog.commit_table(storage, (requirement,), tuple(updates))
    except (CommitFailedError, CommitFailedException) as error:
        raise RefreshConflictError(
            str(view.name),
            f"its storage changed concurrently, or is locked ({error}). Nothing was expired; try again",
        ) from error
    deleted, kept = delete_files(store.files, unneeded_files)
    return Expired(expired, len(deleted), kept)


def _snapshots_to_expire(metadata: TableMetadata, until_ms: int, keep: int) -> tuple[int, ...]:
    snapshots = {snapshot.snapshot_id: snapshot for snapshot in metadata.snapshots}
    log = [entry for entry in metadata.snapshot_log if entry.snapshot_id in snapshots]
    last = list(dict.fromkeys(entry.snapshot_id for entry in reversed(log)))[:keep]
    kept = {*last, *_refs(metadata).values(), metadata.current_snapshot_id}
    # The age counts from when the rows were replaced: until then readers used them.
    replaced_ms = {entry.snapshot_id: following.timestamp_ms for entry, following in itertools.pairwise(log)}
    kept |= {snapshot_id for snapshot_id, timestamp_ms in replaced_ms.items() if timestamp_ms > until_ms}
    for snapshot_id in tuple(kept):
        snapshot = snapshots.get(snapshot_id) if snapshot_id is not None else None
        while snapshot is not None and snapshot.summary is not None and snapshot.summary.operation is Operation.REPLACE:
            kept.add(snapshot.parent_snapshot_id)
            snapshot = snapshots.get(snapshot.parent_snapshot_id or 0)
    return tuple(dict.fromkeys(entry.snapshot_id for entry in log if entry.snapshot_id not in kept))


def _files_only_in(storage: Table, expired: set[int], files: MetadataFiles) -> set[str]:
    """Return the storage table's own files that only expired snapshots need."""
    purgeable = files_to_purge(storage, files)
    if purgeable is None:
        return set()
    metadata = storage.metadata
    needed = {storage.metadata_location, *(entry.metadata_file for entry in metadata.metadata_log)}
    statistics = (*metadata.statistics, *metadata.partition_statistics)
    needed |= {entry.statistics_path for entry in statistics if entry.snapshot_id not in expired}
    for snapshot in metadata.snapshots:
        if snapshot.snapshot_id in expired:
            continue
        needed.add(snapshot.manifest_list)
        for manifest in snapshot.manifests(storage.io):
            if manifest.manifest_path not in needed:
                needed.add(manifest.manifest_path)
                entries = manifest.fetch_manifest_entry(storage.io, discard_deleted=True)
                needed.update(entry.data_file.file_path for entry in entries)
    expired_snapshots = [snapshot for snapshot in metadata.snapshots if snapshot.snapshot_id in expired]
    expired_metadata = metadata.model_copy(update={"snapshots": expired_snapshots})
    expired_table = Table(storage.name(), expired_metadata, storage.metadata_location, storage.io, storage.catalog)
    return (all_files(expired_table, files) & set(purgeable.own)) - needed


def _refs(metadata: TableMetadata) -> dict[str, int]:
    return {name: reference.snapshot_id for name, reference in metadata.refs.items()}


def _remaining_refreshes(metadata: TableMetadata, expired: set[int]) -> AttachedStorage | None:
    """Return an attached storage table's list without the refreshes of expired snapshots.

    None if it does not change.
    """
    listed = AttachedStorage.of(metadata.properties)
    expired_numbers = {snapshot.sequence_number for snapshot in metadata.snapshots if snapshot.snapshot_id in expired}
    remaining = tuple(
        entry
        for entry in listed.refreshes
        if entry.refresh_id == listed.current_refresh_id or entry.sequence_number not in expired_numbers
    )
    return None if remaining == listed.refreshes else replace(listed, refreshes=remaining)
