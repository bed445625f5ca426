"""What refreshes that were killed left behind: snapshots that nobody sees, rows for staging, files of nobody."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from hive_views.errors import MetadataFileError, MetastoreRefusedError
from hive_views.identifiers import ViewName
from hive_views.io.locations import path_of
from hive_views.io.table_files import METADATA_FILE_SUFFIXES, NOT_COLLECTED, all_files, is_collected
from hive_views.materialized.drop import shared
from hive_views.materialized.layouts.layouts import METADATA, AssociatedView, Layout
from hive_views.materialized.maintenance.directories import Kept, delete_all, files_below, without_tables_of_others
from hive_views.materialized.refresh.publish import STAGING, give_up, is_staging, published
from hive_views.materialized.state.refresh_state import REFRESH_ID

if TYPE_CHECKING:
    from uuid import UUID

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.io.metadata_files import MetadataFiles
    from hive_views.materialized.loading import MaterializedView

OLDER_THAN_MS = 3 * 24 * 3600 * 1000
"""How old a file must be before it counts as an orphan: a refresh that is running has files that nothing names yet.
Iceberg's remove_orphan_files has the same default."""


@dataclass(frozen=True)
class Orphans:
    """What is left of refreshes that did not end."""

    snapshots: tuple[int, ...]
    """Snapshots of the storage that were never published."""
    rows: tuple[ViewName, ...]
    """Rows of the metastore for a refresh of an attached storage, or of one that was to get other columns."""
    files: tuple[str, ...]
    """Files below the storage's location that none of its snapshots names."""
    kept: tuple[Kept, ...] = ()
    """What is not among them, or could not be removed, and why."""


def find_orphans(catalog: HiveViewCatalog, view: MaterializedView, *, older_than_ms: int = OLDER_THAN_MS) -> Orphans:
    """List what refreshes of a materialized view left behind."""
    if view.storage is None:
        return Orphans((), (), ())
    now_ms = int(time.time() * 1000)
    metadata = view.storage.metadata
    seen = published(view.storage)
    snapshots = tuple(
        snapshot.snapshot_id
        for snapshot in metadata.snapshots
        if snapshot.snapshot_id not in seen
        and snapshot.summary is not None
        and REFRESH_ID in snapshot.summary.additional_properties
        and now_ms - snapshot.timestamp_ms >= older_than_ms
    )
    begins = f"{view.name.name[:200]}{STAGING}"
    tables = catalog.list_tables(view.name.database)
    names = (ViewName(database, name) for database, name in tables if _is_staging(name, begins))
    rows = tuple(name for name in names if _age_ms(catalog, name, view.storage, now_ms) >= older_than_ms)
    files, kept = _files(catalog, view, view.storage, now_ms - older_than_ms)
    return Orphans(snapshots, rows, files, kept)


def _files(
    catalog: HiveViewCatalog, view: MaterializedView, storage: Table, until_ms: int
) -> tuple[tuple[str, ...], tuple[Kept, ...]]:
    """Files of a storage's directory that are nobody's; none where others may have some."""
    store, metadata = catalog.store, storage.metadata
    location = metadata.location.rstrip("/")
    why = None if is_collected(metadata.properties) else NOT_COLLECTED
    try:
        why = why or next((f"they may be those of {twin}" for twin in shared(catalog, view)), None)
    except MetastoreRefusedError as error:
        why = f"nobody can tell whether they are others' ({error})"
    if why is not None:
        return (), (Kept(location, why),)
    known = all_files(storage, store.files) | {view.row.metadata_location or ""}
    if view.layout is Layout.TABLE:
        # Ours is beside the table; another program's definition may be within.
        known.add(AssociatedView.decode(metadata.properties[METADATA]).associated_view_location)
    # By the names alone, which writers give to one file each: a directory can be written in more than one way.
    named = {_file_name(file) for file in known}
    listed = without_tables_of_others(
        (item for part in ("data", "metadata") for item in files_below(store.files, f"{location}/{part}")), location
    )
    # Where not one file in use is among them, this is not the directory in which they are.
    if not any(_file_name(item.location) in named for item in listed):
        return (), ()
    found = [item for item in listed if _file_name(item.location) not in named and item.changed_ms <= until_ms]
    if any(_is_of_another(store.files, item.location, metadata.table_uuid) for item in found):
        return (), (Kept(location, "another table has the same directory"),)
    return tuple(sorted(item.location for item in found)), ()


def _file_name(location: str) -> str:
    return path_of(location).rpartition("/")[2]


def _is_of_another(files: MetadataFiles, location: str, table_uuid: UUID) -> bool:
    """Whether a file is another table's metadata; one that cannot be read is what a kill left."""
    if not location.endswith(METADATA_FILE_SUFFIXES):
        return False
    try:
        found = files.read_table(location).get("table-uuid")
    except MetadataFileError:
        return False
    return found is not None and str(found).lower() != str(table_uuid)


def remove_orphans(catalog: HiveViewCatalog, view: MaterializedView, *, older_than_ms: int = OLDER_THAN_MS) -> Orphans:
    """Remove what `find_orphans` lists."""
    found = find_orphans(catalog, view, older_than_ms=older_than_ms)
    rows, snapshots, kept = [], [], list(found.kept)
    for row in found.rows:
        try:
            catalog.remove_table(row.identifier)
            rows.append(row)
        except NoSuchTableError:
            continue
    for number in found.snapshots:
        assert view.storage is not None, "its snapshots were listed"
        staged = view.storage if view.storage_name is None else catalog.load_table(view.storage_name.identifier)
        snapshot = staged.metadata.snapshot_by_id(number)
        if snapshot is not None and give_up(catalog, view, staged, snapshot):
            snapshots.append(number)
        elif snapshot is not None:
            kept.append(Kept(f"snapshot {number}", "readers have it by now, or the storage was changed meanwhile"))
    files, refused = delete_all(catalog.store.files, found.files)
    return Orphans(tuple(snapshots), tuple(rows), files, (*kept, *refused))


def _is_staging(name: str, begins: str) -> bool:
    """Whether a name is one that a refresh gives, and none that a user may give to a table of his own."""
    return name.startswith(begins) and is_staging(name) and len(name) == len(begins) + 32


def _age_ms(catalog: HiveViewCatalog, name: ViewName, storage: Table, now_ms: int) -> int:
    """How old a row of a refresh is; negative for what is none of this storage's."""
    row = catalog.store.get_row(name)
    if row is None or row.metadata_location is None:
        return -1
    # By the place: the file may be gone, where a refresh was killed between the two.
    begins = f"{path_of(storage.metadata.location).rstrip('/')}/"
    if not path_of(row.metadata_location).startswith(begins):
        try:
            if catalog.load_table(name.identifier).metadata.table_uuid != storage.metadata.table_uuid:
                return -1
        except (NoSuchTableError, OSError, ValueError):
            return -1
    # The server keeps seconds: a row is taken for as old as the end of its second.
    return max(now_ms - row.create_time * 1000, 0)
