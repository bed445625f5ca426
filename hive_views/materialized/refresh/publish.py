"""Publishing: makes a staged snapshot the current one, together with its refresh state, in one commit."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.manifest import ManifestEntryStatus
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    AssertTableUUID,
    RemoveSnapshotsUpdate,
    SetPropertiesUpdate,
    SetSnapshotRefUpdate,
)

from hive_views.errors import CommitFailedError, NoSuchViewError, RefreshConflictError
from hive_views.materialized.layouts.attached import AttachedStorage
from hive_views.materialized.layouts.layout import Layout
from hive_views.materialized.properties import TIME_TRAVEL
from hive_views.materialized.redefine import AssertStorage, schema_updates
from hive_views.spec.staleness_policy import METADATA, is_true

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table.update import TableUpdate

    from hive_views.materialized.loading import LoadedMaterializedView
    from hive_views.materialized.state.refresh_state import RefreshState
    from hive_views.metastore.store import MetastoreStore

logger = logging.getLogger(__name__)

_MAIN = "main"

REFRESH_TAG = "hive-views-refresh"
"""The tag of the last refresh. It keeps the snapshot with the refresh state if another program compacts the storage and
then expires snapshots."""


@dataclass(frozen=True)
class StagedRows:
    """The rows of a refresh, which no reader sees yet."""

    table: Table
    """The table where they were staged."""
    snapshot: Snapshot
    """The snapshot with the rows."""
    columns: Schema | None = None
    """The new columns of the storage table; the rows were then staged in a table of their own."""


def publish(
    store: MetastoreStore,
    view: LoadedMaterializedView,
    staged: StagedRows,
    state: RefreshState,
    properties: Mapping[str, str],
) -> None:
    """Make a staged snapshot the current one, if the storage table did not change since the refresh started."""
    storage, snapshot, columns = view.readable_storage(), staged.snapshot, staged.columns
    make_current = SetSnapshotRefUpdate.model_validate(
        {"ref-name": _MAIN, "type": "branch", "snapshot-id": snapshot.snapshot_id}
    )
    set_tag = SetSnapshotRefUpdate.model_validate(
        {"ref-name": REFRESH_TAG, "type": "tag", "snapshot-id": snapshot.snapshot_id}
    )
    is_unchanged = (
        AssertStorage.of(storage, schemas=columns is not None),
        AssertRefSnapshotId.model_validate({"ref": _MAIN, "snapshot-id": storage.metadata.current_snapshot_id}),
    )
    if view.layout is Layout.ATTACHED:
        refreshes = AttachedStorage.of(storage.metadata.properties)
        keep = is_true(view.properties, TIME_TRAVEL)
        refreshes = refreshes.with_refresh(state, sequence_number=snapshot.sequence_number, keep=keep)
        properties = {**properties, METADATA: refreshes.encode()}
    updates: tuple[TableUpdate, ...] = (make_current, set_tag)
    if properties:
        updates += (SetPropertiesUpdate(updates=dict(properties)),)
    target = staged.table
    if view.layout is Layout.ATTACHED or columns is not None:  # staged in a table of its own
        target = storage
        new_columns = schema_updates(columns) if columns is not None else ()
        updates = (*new_columns, AddSnapshotUpdate(snapshot=snapshot), *updates)
    try:
        target.catalog.commit_table(target, is_unchanged, updates)
    except (CommitFailedError, CommitFailedException) as error:
        if not getattr(error, "may_take_effect", False):
            discard_snapshot(store, view, staged)
        raise RefreshConflictError(
            str(view.name),
            f"its storage changed concurrently, or is locked ({error}). Refresh it again if it is stale",
        ) from error


def discard_snapshot(store: MetastoreStore, view: LoadedMaterializedView, staged: StagedRows) -> bool:
    """Remove a staged snapshot with the files that only it has; returns whether it was removed."""
    table, snapshot = staged.table, staged.snapshot
    if staged.columns is not None or view.layout is Layout.ATTACHED:
        storage = view.readable_storage()
        try:
            if storage.catalog.load_table(storage.name()).metadata.snapshot_by_id(snapshot.snapshot_id):
                return False
        except (NoSuchViewError, NoSuchTableError):
            logger.info("The view %s was dropped during its refresh", view.name)
    else:
        current = table.catalog.load_table(table.name())
        if current.metadata.table_uuid != table.metadata.table_uuid:
            return False
        if snapshot.snapshot_id in published_snapshots(current):
            return False  # a commit whose outcome was unknown had succeeded
        try:
            table.catalog.commit_table(
                table,
                (
                    AssertTableUUID(uuid=table.metadata.table_uuid),
                    AssertRefSnapshotId.model_validate(
                        {"ref": _MAIN, "snapshot-id": current.metadata.current_snapshot_id}
                    ),
                ),
                (RemoveSnapshotsUpdate.model_validate({"snapshot-ids": [snapshot.snapshot_id]}),),
            )
        except (CommitFailedError, CommitFailedException) as error:
            # Garbage collection finds the snapshot later; until then it needs its files.
            logger.warning("The unpublished snapshot %s of %s is left: %s", snapshot.snapshot_id, view.name, error)
            return False
    for location in sorted(_files_added_by(table, snapshot)):
        store.files.delete(location)
    return True


def published_snapshots(table: Table) -> set[int]:
    """Return the snapshots that readers may use: reachable from a branch or tag, or current at some time."""
    metadata = table.metadata
    snapshot_ids: set[int] = set()
    heads = [reference.snapshot_id for reference in metadata.refs.values()]
    if metadata.current_snapshot_id is not None:
        heads.append(metadata.current_snapshot_id)
    for head in heads:
        snapshot_id: int | None = head
        while snapshot_id is not None and snapshot_id not in snapshot_ids:
            snapshot_ids.add(snapshot_id)
            snapshot = metadata.snapshot_by_id(snapshot_id)
            snapshot_id = None if snapshot is None else snapshot.parent_snapshot_id
    # A snapshot that was current and then rolled back is part of the history.
    return snapshot_ids | {entry.snapshot_id for entry in metadata.snapshot_log}


def _files_added_by(table: Table, snapshot: Snapshot) -> set[str]:
    """Return the data files, manifests and manifest list that a snapshot added."""
    locations = {snapshot.manifest_list}
    for manifest in snapshot.manifests(table.io):
        if manifest.added_snapshot_id != snapshot.snapshot_id:
            continue
        locations.add(manifest.manifest_path)
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
            if entry.status is ManifestEntryStatus.ADDED and entry.snapshot_id in (None, snapshot.snapshot_id):
                locations.add(entry.data_file.file_path)
    return locations
