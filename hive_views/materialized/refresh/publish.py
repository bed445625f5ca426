"""Making a staged snapshot the one that readers get: rows and state in one swap, or not at all."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.manifest import ManifestEntryStatus
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    AssertTableUUID,
    RemovePropertiesUpdate,
    RemoveSnapshotsUpdate,
    SetPropertiesUpdate,
    SetSnapshotRefUpdate,
    update_table_metadata,
)

from hive_views.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    MetastoreError,
    NoSuchViewError,
    RefreshConflictError,
)
from hive_views.identifiers import ViewName
from hive_views.materialized.layouts.layouts import METADATA, AttachedStorage, Layout
from hive_views.materialized.layouts.storage_tables import write_metadata
from hive_views.materialized.redefine import AssertStorage, schema_updates

if TYPE_CHECKING:
    from pyiceberg.schema import Schema

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.materialized.loading import MaterializedView
    from hive_views.materialized.state.refresh_state import RefreshState

logger = logging.getLogger(__name__)

STAGING = "__refresh_"
"""Stands in the names of rows that exist only while an attached storage is refreshed."""

_STAGING_NAME = re.compile(f"{STAGING}[0-9a-f]{{32}}$")

_MAIN = "main"


def is_staging(name: str) -> bool:
    """Whether a name is one that a refresh gives to a row of its own, and none that a user may give to a table."""
    return _STAGING_NAME.search(name) is not None


@contextmanager
def target(
    catalog: HiveViewCatalog, view: MaterializedView, refresh_id: str, columns: Schema | None = None
) -> Iterator[ViewName]:
    """The storage table under a name that an engine can write to.

    An attached storage gets a row of its own for the time of the refresh, and so does one that gets other columns; what
    is written there is not the view's until it is published.
    """
    if view.storage_name is not None and columns is None:
        yield view.storage_name
        return
    assert view.storage is not None, "a refresh begins with a storage that can be read"
    name = ViewName(view.name.database, f"{view.name.name[:200]}{STAGING}{refresh_id}")
    location = view.storage.metadata_location
    if columns is not None:
        location = _with_columns(catalog, view.storage, columns)
    try:
        catalog.register_table(name.identifier, location)
    except CommitStateUnknownError:
        raise  # the row may be there
    except BaseException:
        if columns is not None:
            catalog.store.files.delete(location)
        raise
    try:
        yield name
    finally:
        _remove_row(catalog, view.storage, name)


def _with_columns(catalog: HiveViewCatalog, storage: Table, columns: Schema) -> str:
    """Write a metadata file of a storage as it will be; without what says that it is a materialized view's."""
    known = [METADATA] if METADATA in storage.metadata.properties else []
    updates = (*schema_updates(columns), RemovePropertiesUpdate(removals=known))
    metadata = update_table_metadata(storage.metadata, updates, metadata_location=storage.metadata_location)
    return write_metadata(catalog.store.files, metadata, len(metadata.metadata_log))


def _remove_row(catalog: HiveViewCatalog, storage: Table, name: ViewName) -> None:
    """Drop the row of a refresh, then the metadata files that it alone has. Never its data: those are the storage's."""
    try:
        files = _metadata_files(catalog.load_table(name.identifier))
    except (MetastoreError, NoSuchTableError, OSError) as error:
        files = []
        logger.info("Metadata files of the row %s of a refresh may have stayed: %s", name, error)
    try:
        catalog.remove_table(name.identifier)
    except NoSuchTableError:
        logger.info("The row %s of a refresh was gone already", name)
        return
    except (MetastoreError, CommitStateUnknownError) as error:
        # Not what became of the refresh: the row stays as an orphan, which is listed and removed later.
        logger.warning("The row %s of a refresh may have stayed: %s", name, error)
        return
    kept = _metadata_files(storage)
    for location in files:
        if location not in kept:
            catalog.store.files.delete(location)


def _metadata_files(table: Table) -> list[str]:
    return [*(entry.metadata_file for entry in table.metadata.metadata_log), table.metadata_location]


def publish(
    catalog: HiveViewCatalog,
    view: MaterializedView,
    staged: Table,
    snapshot: Snapshot,
    state: RefreshState,
    keep: bool,
    properties: Mapping[str, str],
    columns: Schema | None = None,
) -> None:
    """Make a staged snapshot the current one, if the storage is where the refresh found it."""
    storage = view.storage
    assert storage is not None, "a refresh begins with a storage that can be read"
    base = storage.metadata.current_snapshot_id
    make_current = SetSnapshotRefUpdate.model_validate(
        {"ref-name": _MAIN, "type": "branch", "snapshot-id": snapshot.snapshot_id}
    )
    unchanged = (
        AssertStorage.of(storage, schemas=columns is not None),
        AssertRefSnapshotId.model_validate({"ref": _MAIN, "snapshot-id": base}),
    )
    changed = (SetPropertiesUpdate(updates=dict(properties)),) if properties else ()
    brought = (*(schema_updates(columns) if columns is not None else ()), AddSnapshotUpdate(snapshot=snapshot))
    try:
        if view.layout is Layout.ATTACHED:
            known = AttachedStorage.decode(storage.metadata.properties.get(METADATA, _NONE))
            made = known.with_refresh(state, sequence_number=snapshot.sequence_number, keep=keep)
            more = SetPropertiesUpdate(updates={**properties, METADATA: made.encode()})
            storage.catalog.commit_table(storage, unchanged, (*brought, make_current, more))
        elif columns is not None:
            catalog.commit_table(storage, unchanged, (*brought, make_current, *changed))
        else:
            catalog.commit_table(staged, unchanged, (make_current, *changed))
    except (CommitFailedError, CommitFailedException) as error:
        give_up(catalog, view, staged, snapshot, apart=columns is not None)
        raise RefreshConflictError(
            str(view.name), f"its storage changed meanwhile, or is locked ({error}). Refresh it again if it is stale"
        ) from error


_NONE = '{"format-version":1,"refreshes":[]}'


def give_up(
    catalog: HiveViewCatalog, view: MaterializedView, staged: Table, snapshot: Snapshot, *, apart: bool = False
) -> bool:
    """Take a staged snapshot away, with the files that it alone has."""
    if apart or view.layout is Layout.ATTACHED:
        assert view.storage is not None, "it was read before the refresh"
        try:
            if view.storage.catalog.load_table(view.storage.name()).metadata.snapshot_by_id(snapshot.snapshot_id):
                return False
        except (NoSuchViewError, NoSuchTableError):
            logger.info("The view %s was dropped while it was refreshed", view.name)
    else:
        now = catalog.load_table(staged.name())
        if now.metadata.table_uuid != staged.metadata.table_uuid or snapshot.snapshot_id in published(now):
            # Readers have it: a commit of which it was not known how it ended, ended well.
            return False
        current = now.metadata.current_snapshot_id
        try:
            catalog.commit_table(
                staged,
                (
                    AssertTableUUID(uuid=staged.metadata.table_uuid),
                    AssertRefSnapshotId.model_validate({"ref": _MAIN, "snapshot-id": current}),
                ),
                (RemoveSnapshotsUpdate.model_validate({"snapshot-ids": [snapshot.snapshot_id]}),),
            )
        except (CommitFailedError, CommitFailedException) as error:
            # It stays as an orphan, which is listed and removed later: its files must then stay as well.
            logger.warning("Snapshot %s of %s was not published and stays: %s", snapshot.snapshot_id, view.name, error)
            return False
    for location in sorted(files_of(staged, snapshot)):
        catalog.store.files.delete(location)
    return True


def published(table: Table) -> set[int]:
    """The snapshots that readers may have: those that a branch or tag reaches, and those that were current once."""
    metadata = table.metadata
    found: set[int] = set()
    heads = [reference.snapshot_id for reference in metadata.refs.values()]
    if metadata.current_snapshot_id is not None:
        heads.append(metadata.current_snapshot_id)
    for head in heads:
        at: int | None = head
        while at is not None and at not in found:
            found.add(at)
            snapshot = metadata.snapshot_by_id(at)
            at = None if snapshot is None else snapshot.parent_snapshot_id
    # A snapshot that was current once, and was rolled back, is history and no orphan.
    return found | {entry.snapshot_id for entry in metadata.snapshot_log}


def files_of(table: Table, snapshot: Snapshot) -> set[str]:
    """The files that a snapshot added: data, manifests and its manifest list."""
    found = {snapshot.manifest_list}
    for manifest in snapshot.manifests(table.io):
        if manifest.added_snapshot_id != snapshot.snapshot_id:
            continue
        found.add(manifest.manifest_path)
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
            if entry.status is ManifestEntryStatus.ADDED and entry.snapshot_id in (None, snapshot.snapshot_id):
                found.add(entry.data_file.file_path)
    return found
