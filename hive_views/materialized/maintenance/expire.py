"""Expiring stored rows as they were: snapshots that nobody needs any more, with the files that they alone have.

Spark's `expire_snapshots` does this for tables of a catalog; an attached storage has no name that it could be given.
What is kept whatever its age: the current rows, those of branches and tags, and a snapshot that a kept compaction took
its rows from, because that one says what they were computed from. Snapshots that were never published are left to
`orphans`.
"""

from __future__ import annotations

import itertools
import logging
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
    RefreshError,
    SharedFilesError,
)
from hive_views.io.table_files import all_files, files_to_purge
from hive_views.materialized.drop import shared
from hive_views.materialized.layouts.layouts import METADATA, AttachedStorage, Layout
from hive_views.materialized.maintenance.directories import Kept, delete_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.update import TableUpdate

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.io.metadata_files import MetadataFiles
    from hive_views.materialized.loading import MaterializedView

logger = logging.getLogger(__name__)

OLDER_THAN_MS = 5 * 24 * 3600 * 1000
"""How old rows must be before they expire; Iceberg's default (`history.expire.max-snapshot-age-ms`)."""


@dataclass(frozen=True)
class Expired:
    """What was expired."""

    snapshots: tuple[int, ...]
    """Snapshots that can no longer be travelled to, oldest first."""
    files: int
    """How many files were deleted."""
    kept: tuple[Kept, ...] = ()
    """Files that nothing needs any more and that could not be deleted, and why."""


class AssertRefs(AssertTableUUID):
    """A storage has the branches and tags that it had: a tag that was made since protects its snapshot."""

    snapshots: dict[str, int]
    """The snapshot of each branch and tag."""

    def validate(self, base_metadata: TableMetadata | None) -> None:  # type: ignore[override]  # PyIceberg's own
        """Compare."""
        super().validate(base_metadata)
        assert base_metadata is not None, "without a table there is no UUID"
        if _refs(base_metadata) != self.snapshots:
            raise CommitFailedException("its branches or tags changed meanwhile")


def expire(
    catalog: HiveViewCatalog, view: MaterializedView, *, older_than_ms: int = OLDER_THAN_MS, keep: int = 1
) -> Expired:
    """Expire stored rows as they were; those that readers get stay."""
    if keep < 1:
        raise InvalidPropertyError("keep", str(keep), "the rows that readers get always stay: keep at least 1")
    storage = view.storage
    if storage is None:
        raise RefreshError(str(view.name), view.problem or "its storage cannot be read")
    metadata = storage.metadata
    old = _old(metadata, int(time.time() * 1000) - older_than_ms, keep)
    if not old:
        return Expired((), 0)
    others = shared(catalog, view)
    if others:
        raise SharedFilesError(str(view.name), str(others[0]), "expire rows of", "Expire them when that is gone")
    going = _files_that_go(storage, set(old), catalog.store.files)
    updates: list[TableUpdate] = [RemoveSnapshotsUpdate.model_validate({"snapshot-ids": list(old)})]
    listed = _listed_refreshes(metadata, set(old)) if view.layout is Layout.ATTACHED else None
    if listed is not None:
        updates.append(SetPropertiesUpdate(updates={METADATA: listed.encode()}))
    expected = AssertRefs(uuid=metadata.table_uuid, snapshots=_refs(metadata))
    commit = storage.catalog if view.layout is Layout.ATTACHED else catalog
    try:
        commit.commit_table(storage, (expected,), tuple(updates))
    except (CommitFailedError, CommitFailedException) as error:
        raise RefreshConflictError(
            str(view.name), f"its storage changed meanwhile, or is locked ({error}). Nothing was expired; try again"
        ) from error
    gone, kept = delete_all(catalog.store.files, going)
    return Expired(old, len(gone), kept)


def _old(metadata: TableMetadata, until_ms: int, keep: int) -> tuple[int, ...]:
    """The snapshots that go."""
    there = {snapshot.snapshot_id: snapshot for snapshot in metadata.snapshots}
    log = [entry for entry in metadata.snapshot_log if entry.snapshot_id in there]
    last = list(dict.fromkeys(entry.snapshot_id for entry in reversed(log)))[:keep]
    kept = {*last, *_refs(metadata).values(), metadata.current_snapshot_id}
    # When rows were replaced, not when they were made: until then readers got them.
    replaced = {one.snapshot_id: other.timestamp_ms for one, other in itertools.pairwise(log)}
    kept |= {number for number, when in replaced.items() if when > until_ms}
    for number in tuple(kept):
        snapshot = there.get(number) if number is not None else None
        while snapshot is not None and snapshot.summary is not None and snapshot.summary.operation is Operation.REPLACE:
            kept.add(snapshot.parent_snapshot_id)
            snapshot = there.get(snapshot.parent_snapshot_id or 0)
    return tuple(dict.fromkeys(entry.snapshot_id for entry in log if entry.snapshot_id not in kept))


def _files_that_go(storage: Table, old: set[int], files: MetadataFiles) -> set[str]:
    """The storage's own files that are of the snapshots that go and of no other."""
    own = files_to_purge(storage, files)
    if own is None:
        return set()
    metadata = storage.metadata
    needed = {storage.metadata_location, *(entry.metadata_file for entry in metadata.metadata_log)}
    statistics = (*metadata.statistics, *metadata.partition_statistics)
    needed |= {one.statistics_path for one in statistics if one.snapshot_id not in old}
    for snapshot in metadata.snapshots:
        if snapshot.snapshot_id in old:
            continue
        needed.add(snapshot.manifest_list)
        for manifest in snapshot.manifests(storage.io):
            if manifest.manifest_path not in needed:
                needed.add(manifest.manifest_path)
                entries = manifest.fetch_manifest_entry(storage.io, discard_deleted=True)
                needed.update(entry.data_file.file_path for entry in entries)
    going = [one for one in metadata.snapshots if one.snapshot_id in old]
    alone = metadata.model_copy(update={"snapshots": going})
    theirs = all_files(Table(storage.name(), alone, storage.metadata_location, storage.io, storage.catalog), files)
    return (theirs & set(own.own)) - needed


def _refs(metadata: TableMetadata) -> dict[str, int]:
    return {name: reference.snapshot_id for name, reference in metadata.refs.items()}


def _listed_refreshes(metadata: TableMetadata, old: set[int]) -> AttachedStorage | None:
    """An attached storage's list without the refreshes whose rows go; None where it stays as it is."""
    properties: Mapping[str, str] = metadata.properties
    if METADATA not in properties:
        return None
    known = AttachedStorage.decode(properties[METADATA])
    gone = {one.sequence_number for one in metadata.snapshots if one.snapshot_id in old}
    left = tuple(
        item
        for item in known.refreshes
        if item.refresh_id == known.current_refresh_id or item.sequence_number not in gone
    )
    return None if left == known.refreshes else replace(known, refreshes=left)
