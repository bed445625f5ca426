"""Garbage collection: what interrupted creations, drops and refreshes of materialized views left behind.

Two collections, with one report:

- Of a materialized view: snapshots that were never published, staging tables, and files of the storage table's
  directory that it does not name.
- Of a database: storage tables and files of materialized views that do not exist. A storage table names its view
  (`hive-views.storage-of`). It is garbage if no view in the whole metastore has that UUID, none names or reads it, and
  nothing was written to it for some days, because a running creation has a storage table before it has a view.

Both first mark everything that a row of the metastore may reference, and then sweep what is left and old enough. When
references cannot be determined, files are kept.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from hive_views.dependencies.graph import DependentFinder
from hive_views.dependencies.lineage import LineageReader
from hive_views.errors import (
    HiveViewsError,
    InvalidRefreshStateError,
    MetadataFileError,
    MetastoreRefusedError,
    RefusedLocationError,
    UnsupportedMaterializedViewError,
)
from hive_views.identifiers import ViewName
from hive_views.io.listing import list_entries
from hive_views.io.locations import base_of, path_of
from hive_views.io.table_files import METADATA_FILE_SUFFIXES, NOT_COLLECTED, all_files, is_collected
from hive_views.materialized.drop import rows_sharing_storage
from hive_views.materialized.layouts.attached import DETACHED_METADATA, AttachedView
from hive_views.materialized.layouts.layout import DETACHED, Layout
from hive_views.materialized.layouts.table import DEFINITION_OF, AssociatedView
from hive_views.materialized.loading import is_materialized
from hive_views.materialized.refresh.publish import StagedRows, discard_snapshot, published_snapshots
from hive_views.materialized.refresh.staging_table import staging_prefix
from hive_views.materialized.state.refresh_state import REFRESH_ID, summary_of
from hive_views.metastore.commit.view_properties import check_location
from hive_views.metastore.queries import read_all_rows, table_names
from hive_views.metastore.rows.row import Row, RowKind
from hive_views.metastore.shared_files import iterate_catalogs
from hive_views.spec.staleness_policy import METADATA
from hive_views.spec.storage_link import (
    STORAGE_OF,
    STORAGE_SUFFIX,
    STORAGE_TABLE_COPY,
    StorageLink,
    is_staging_name,
    link_of,
)

if TYPE_CHECKING:
    from uuid import UUID

    from hive_views.io.metadata_files import MetadataFiles
    from hive_views.materialized.loading import LoadedMaterializedView
    from hive_views.materialized.table_operations import TableOperations
    from hive_views.metastore.store import MetastoreStore

GARBAGE_OLDER_THAN_MS = 3 * 24 * 3600 * 1000
"""Default age in milliseconds: a running refresh or creation has files that nothing references yet. Iceberg's
`remove_orphan_files` has the same default."""

_STORAGE_NAME = re.compile(f"{STORAGE_SUFFIX}(_[0-9a-f]{{8}})?$")
_ATTACHED_DIRECTORY = re.compile("storage-[0-9a-f]{8}")


class KeptItem(NamedTuple):
    """Something that is not collected, or could not be removed."""

    item: str
    """A file, a table, a snapshot, or a directory."""
    why: str
    """The reason."""

    def __str__(self) -> str:
        return f"{self.item}: {self.why}"


@dataclass(frozen=True, kw_only=True)
class Garbage:
    """What a collection found, or removed."""

    snapshots: tuple[int, ...] = ()
    """Snapshots of the storage table that were never published."""
    tables: tuple[ViewName, ...] = ()
    """Storage tables of the catalog whose view does not exist."""
    rows: tuple[ViewName, ...] = ()
    """Staging tables (`…__refresh_…`)."""
    files: tuple[str, ...] = ()
    """Files that no table names, files of storage tables whose view does not exist, and empty metadata files."""
    definitions: tuple[str, ...] = ()
    """Metadata files of views that do not exist: `register_view` restores such a view."""
    doubts: tuple[str, ...] = ()
    """Views that cannot be read and may own some of it, and catalogs of the metastore that cannot be read. If there are
    any, only `rows` and empty metadata files are collected."""
    kept: tuple[KeptItem, ...] = ()
    """What is not collected, or could not be removed, and why."""

    def __and__(self, other: Garbage) -> Garbage:
        """What two searches agree on, with the doubts of both."""
        return Garbage(
            snapshots=tuple(snapshot for snapshot in self.snapshots if snapshot in other.snapshots),
            tables=tuple(name for name in self.tables if name in other.tables),
            rows=tuple(name for name in self.rows if name in other.rows),
            files=tuple(sorted({*self.files} & {*other.files})),
            definitions=tuple(sorted({*self.definitions} & {*other.definitions})),
            doubts=tuple(sorted({*self.doubts, *other.doubts})),
            kept=tuple(sorted({*self.kept, *other.kept})),
        )


# -- Of a materialized view -------------------------------------------------------------------------------------------


def find_view_garbage(
    store: MetastoreStore, tables: TableOperations, view: LoadedMaterializedView, *, older_than_ms: int
) -> Garbage:
    """Find what interrupted refreshes of a materialized view left behind."""
    if view.storage is None:
        return Garbage()
    now_ms = int(time.time() * 1000)
    published = published_snapshots(view.storage)
    snapshots = tuple(
        snapshot.snapshot_id
        for snapshot in view.storage.metadata.snapshots
        if snapshot.snapshot_id not in published
        and REFRESH_ID in summary_of(snapshot)
        and now_ms - snapshot.timestamp_ms >= older_than_ms
    )
    prefix = staging_prefix(view.name)
    staging_tables = (
        name
        for name in table_names(store, view.name.database)
        if name.name.startswith(prefix) and is_staging_name(name.name) and len(name.name) == len(prefix) + 32
    )
    rows = tuple(
        name for name in staging_tables if _staging_age_ms(store, tables, name, view.storage, now_ms) >= older_than_ms
    )
    files, kept = _unnamed_files(store, view, view.storage, now_ms - older_than_ms)
    return Garbage(snapshots=snapshots, rows=rows, files=files, kept=kept)


def remove_view_garbage(
    store: MetastoreStore, tables: TableOperations, view: LoadedMaterializedView, *, older_than_ms: int
) -> Garbage:
    """Remove what `find_view_garbage` finds, and return what was removed."""
    garbage = find_view_garbage(store, tables, view, older_than_ms=older_than_ms)
    rows, snapshots, kept = [], [], list(garbage.kept)
    for row in garbage.rows:
        with suppress(NoSuchTableError):
            tables.remove_table(row.identifier)
            rows.append(row)
    for snapshot_id in garbage.snapshots:
        storage = view.readable_storage()
        staged = storage.catalog.load_table(storage.name())
        snapshot = staged.metadata.snapshot_by_id(snapshot_id)
        if snapshot is not None and discard_snapshot(store, view, StagedRows(staged, snapshot)):
            snapshots.append(snapshot_id)
        elif snapshot is not None:
            kept.append(KeptItem(f"snapshot {snapshot_id}", "it was published, or the storage changed concurrently"))
    files, not_deleted = delete_files(store.files, garbage.files)
    return Garbage(snapshots=tuple(snapshots), rows=tuple(rows), files=files, kept=(*kept, *not_deleted))


def _staging_age_ms(store: MetastoreStore, tables: TableOperations, name: ViewName, storage: Table, now_ms: int) -> int:
    """Return the age of a staging table; negative if it is not of this storage table."""
    row = store.get_row(name)
    if row is None or row.metadata_location is None:
        return -1
    # By directory: the file may be gone if the refresh was killed between deleting it and dropping the row.
    directory = f"{path_of(storage.metadata.location).rstrip('/')}/"
    if not path_of(row.metadata_location).startswith(directory):
        try:
            if tables.load_table(name.identifier).metadata.table_uuid != storage.metadata.table_uuid:
                return -1
        except (NoSuchTableError, OSError, ValueError):
            return -1
    # The server stores seconds: the age counts from the end of the second.
    return max(now_ms - row.create_time * 1000, 0)


def _unnamed_files(
    store: MetastoreStore, view: LoadedMaterializedView, storage: Table, until_ms: int
) -> tuple[tuple[str, ...], tuple[KeptItem, ...]]:
    """Files in a storage table's directory that it does not name; none if other tables may have some there."""
    metadata = storage.metadata
    location = metadata.location.rstrip("/")
    why = None if is_collected(metadata.properties) else NOT_COLLECTED
    try:
        why = why or next((f"they may be those of {row}" for row in rows_sharing_storage(store, view)), None)
    except MetastoreRefusedError as error:
        why = f"could not determine whether other rows reference them ({error})"
    if why is not None:
        return (), (KeptItem(location, why),)
    marked = all_files(storage, store.files) | {view.row.metadata_location or ""}
    if view.layout is Layout.TABLE:
        # This package writes the definition next to the table's directory; another program may write it inside.
        marked.add(AssociatedView.of(metadata.properties).associated_view_location)
    # By file names alone, which writers make unique: a directory can be written in more than one way.
    marked_names = {_file_name(file) for file in marked}
    listed = _without_nested_tables(
        (file for part in ("data", "metadata") for file in _list_files(store.files, f"{location}/{part}")), location
    )
    # If no file in use is listed, this is not the directory of the files in use.
    if not any(_file_name(file.location) in marked_names for file in listed):
        return (), ()
    unnamed = [file for file in listed if _file_name(file.location) not in marked_names and file.changed_ms <= until_ms]
    if any(_is_of_other_table(store.files, file.location, metadata.table_uuid) for file in unnamed):
        return (), (KeptItem(location, "another table has the same directory"),)
    return tuple(sorted(file.location for file in unnamed)), ()


def _file_name(location: str) -> str:
    return path_of(location).rpartition("/")[2]


def _is_of_other_table(files: MetadataFiles, location: str, table_uuid: UUID) -> bool:
    """Return whether a file is another table's metadata; an unreadable one was left by a killed process."""
    if not location.endswith(METADATA_FILE_SUFFIXES):
        return False
    try:
        file_uuid = files.read_table(location).get("table-uuid")
    except MetadataFileError:
        return False
    return file_uuid is not None and str(file_uuid).lower() != str(table_uuid)


# -- Of a database ----------------------------------------------------------------------------------------------------


def find_database_garbage(
    store: MetastoreStore, database: str, *, older_than_ms: int, locations: Sequence[str] = ()
) -> Garbage:
    """Find what is left in a database of materialized views that do not exist."""
    base = store.client.get_database(database).locationUri
    directories = [check_location(location) for location in locations]
    if base:
        directories += _list_directories(store.files, base)
    return _Sweep(store, database, int(time.time() * 1000) - older_than_ms).run(directories)


def remove_database_garbage(
    store: MetastoreStore,
    tables: TableOperations,
    database: str,
    *,
    older_than_ms: int,
    locations: Sequence[str] = (),
    definitions: bool = False,
) -> Garbage:
    """Remove what `find_database_garbage` finds, and return what was removed; can be repeated after an interruption."""
    # Two searches: one may miss a view that is renamed or created meanwhile.
    first, second = (
        find_database_garbage(store, database, older_than_ms=older_than_ms, locations=locations) for _ in range(2)
    )
    garbage = first & second
    dropped: set[ViewName] = set()
    kept = garbage.kept
    for name in (*garbage.rows, *garbage.tables):
        try:
            tables.remove_table(name.identifier)
            dropped.add(name)
        except NoSuchTableError:
            continue
        except HiveViewsError as error:
            kept += (KeptItem(str(name), str(error)),)
    removed = replace(
        garbage,
        tables=tuple(name for name in garbage.tables if name in dropped),
        rows=tuple(name for name in garbage.rows if name in dropped),
        files=(),
        definitions=(),
    )
    if kept != garbage.kept:
        return replace(removed, kept=kept)
    deleted, not_deleted = delete_files(store.files, garbage.files)
    deleted_definitions, kept_definitions = delete_files(store.files, garbage.definitions if definitions else ())
    return replace(
        removed, files=deleted, definitions=deleted_definitions, kept=(*kept, *not_deleted, *kept_definitions)
    )


@dataclass(frozen=True)
class _StorageDirectory:
    """A directory with metadata files of a storage table that no row points to."""

    location: str
    view_uuids: frozenset[str]
    """UUIDs of the views that the metadata files name."""
    metadata_files: tuple[str, ...]
    is_exclusive: bool
    """Whether no other metadata file is in it."""
    is_collected: bool
    """Whether its files may be deleted (`gc.enabled`)."""

    @property
    def path(self) -> str:
        return path_of(self.location)


@dataclass
class _Marks:
    """What the rows of the metastore reference."""

    view_uuids: set[str] = field(default_factory=set)
    links: dict[ViewName, set[str]] = field(default_factory=dict)
    """Storage tables by name, with the UUIDs of the views that name them."""
    directories: set[str] = field(default_factory=set)
    """Paths of directories with metadata files that are in use."""
    doubts: list[str] = field(default_factory=list)

    def copy(self) -> _Marks:
        links = {name: set(uuids) for name, uuids in self.links.items()}
        return _Marks(set(self.view_uuids), links, set(self.directories), list(self.doubts))

    def add_storages(self, properties: Mapping[str, str], view_uuid: str) -> None:
        """Mark the storage tables that a view's properties name."""
        for key in (STORAGE_TABLE_COPY, DETACHED):
            self.add_link(StorageLink.decode(properties.get(key)), view_uuid)
        for key in (METADATA, DETACHED_METADATA):
            # If it cannot be read, the view's UUID protects its storage table.
            with suppress(InvalidRefreshStateError, UnsupportedMaterializedViewError):
                location = AttachedView.decode(properties.get(key, "{}")).storage_table_location
                self.directories.add(path_of(base_of(location)))

    def add_link(self, link: StorageLink | None, view_uuid: str) -> None:
        if link is not None and len(link.namespace) == 1:
            name = ViewName(link.namespace[0].lower(), link.name.lower())
            self.links.setdefault(name, set()).add(view_uuid)


class _Sweep:
    """One search of a database."""

    def __init__(self, store: MetastoreStore, database: str, until_ms: int) -> None:
        self._store = store
        self._dependents = DependentFinder(LineageReader(store))
        self._until_ms = until_ms
        self._rows: dict[ViewName, Row] = {}
        self._foreign_rows: list[Row] = []
        """Rows of other catalogs of the metastore, whose names mean nothing in this one."""
        self._row_marks = _Marks()
        """What rows reference by themselves, without metadata files: often enough to see that nothing is garbage."""
        self._read_rows()
        all_rows = [*self._rows.values(), *self._foreign_rows]
        storage_tables = [
            row
            for row in self._rows.values()
            if row.name.database == database and row.kind is RowKind.ICEBERG_TABLE and STORAGE_OF in row.parameters
        ]
        self._staging_tables = {
            row.name for row in storage_tables if is_staging_name(row.name.name) and self._is_old(row)
        }
        self._storage_tables = [
            row for row in storage_tables if _STORAGE_NAME.search(row.name.name) and METADATA not in row.parameters
        ]
        self._view_created_ms: dict[str, int] = {}
        """When the view was created whose metadata files are in a directory, by path."""
        self._empty_files: set[str] = set()
        """Empty metadata files that nothing points to: their writer was killed before it wrote."""
        self._referenced_files = {path_of(location) for row in all_rows for location in _metadata_locations(row)}
        self._mark_rows(all_rows)

    def _read_rows(self) -> None:
        """Read all rows of the metastore, in all catalogs."""

        def on_refused(name: ViewName, error: MetastoreRefusedError) -> None:
            self._row_marks.doubts.append(f"{name}: {error}")

        try:
            for catalog, store in iterate_catalogs(self._store):
                if catalog is None:
                    self._rows = {row.name: row for row in read_all_rows(store, on_refused)}
                    continue
                try:
                    self._foreign_rows += read_all_rows(store, on_refused)
                except MetastoreRefusedError as error:
                    self._row_marks.doubts.append(f"catalog {catalog}: {error}")
        except MetastoreRefusedError as error:
            if not self._rows:
                raise
            self._row_marks.doubts.append(f"other catalogs of the metastore: {error}")

    def _mark_rows(self, all_rows: Sequence[Row]) -> None:
        for row in all_rows:
            if row.kind is RowKind.ICEBERG_VIEW:
                if row.uuid is not None:
                    self._row_marks.view_uuids.add(row.uuid.lower())
                self._row_marks.add_storages(row.parameters, (row.uuid or "").lower())
                created_ms = row.create_time * 1000 + 999
                base = _base_path(row)
                self._view_created_ms[base] = max(self._view_created_ms.get(base, 0), created_ms)
            elif row.kind is RowKind.ICEBERG_TABLE and _is_table_layout(row):
                self._row_marks.view_uuids.add(row.parameters[STORAGE_OF].lower())
        candidates = self._staging_tables | {row.name for row in self._storage_tables}
        other_rows = (row for row in self._rows.values() if row.name not in candidates)
        self._row_marks.directories |= {
            directory for row in (*other_rows, *self._foreign_rows) for directory in _table_directories(row)
        }

    def run(self, directories: Iterable[str]) -> Garbage:
        """Find garbage in some directories and among the rows."""
        search = {path_of(location): location for location in (*directories, *map(_base, self._storage_tables))}
        storage_directories, definitions = self._find_storage_directories(search.values())
        garbage = Garbage(
            rows=tuple(sorted(self._staging_tables)),
            files=tuple(sorted(self._empty_files)),
            kept=tuple(
                sorted(KeptItem(item.location, NOT_COLLECTED) for item in storage_directories if not item.is_collected)
            ),
        )
        candidates = [
            row for row in self._storage_tables if row.name not in self._row_marks.links or self._has_no_view(row)
        ]
        view_uuids = {uuid for item in storage_directories for uuid in item.view_uuids} | definitions.keys()
        if not candidates and view_uuids <= self._row_marks.view_uuids:
            return garbage
        marks = self._mark_metadata_files()
        if marks.doubts:
            return replace(garbage, doubts=tuple(sorted(marks.doubts)))
        unused = {row.name for row in candidates if self._is_unused(row, marks)}
        marks.directories |= {
            directory for row in self._storage_tables if row.name not in unused for directory in _table_directories(row)
        }
        garbage_tables: dict[str, list[Row]] = {}
        for row in candidates:
            if row.name in unused and _base_path(row) not in marks.directories:
                garbage_tables.setdefault(_base_path(row), []).append(row)
        files = set(self._empty_files)
        for item in storage_directories:
            has_view = item.view_uuids & marks.view_uuids and item.path not in garbage_tables
            if item.path in marks.directories or has_view:
                continue
            garbage_files = self._garbage_files(item, marks.directories)
            if garbage_files is None:
                garbage_tables.pop(item.path, None)  # another process still writes there
            else:
                files |= garbage_files
        orphan_uuids = definitions.keys() - marks.view_uuids
        return replace(
            garbage,
            tables=tuple(sorted(row.name for rows in garbage_tables.values() for row in rows)),
            files=tuple(sorted(files)),
            definitions=tuple(sorted({location for uuid in orphan_uuids for location in definitions[uuid]})),
        )

    # -- Reading ------------------------------------------------------------------------------------------------------

    def _find_storage_directories(
        self, locations: Iterable[str]
    ) -> tuple[list[_StorageDirectory], dict[str, list[str]]]:
        """Return the directories of storage tables, and the metadata files of materialized views by UUID."""
        storage_directories: list[_StorageDirectory] = []
        definitions: dict[str, list[str]] = {}
        for base in locations:
            attached = [
                location
                for location in _list_directories(self._store.files, base)
                if _ATTACHED_DIRECTORY.fullmatch(location.rpartition("/")[2])
            ]
            for location in (base, *attached):
                # A directory in use is left to the collection of its materialized view.
                if path_of(location) not in self._row_marks.directories:
                    self._list_directory(location, storage_directories, definitions)
        return storage_directories, definitions

    def _list_directory(
        self, location: str, storage_directories: list[_StorageDirectory], definitions: dict[str, list[str]]
    ) -> None:
        listed = _list_files(self._store.files, f"{location}/metadata", recursive=False)
        metadata_files = [file for file in listed if file.location.endswith(METADATA_FILE_SUFFIXES)]
        # In the directory of an existing view, files that are older than the view belong to another one.
        until_ms = min(self._until_ms, self._view_created_ms.get(path_of(location), self._until_ms))
        owners, empty, collected = {}, set(), True
        for uri, changed_ms, size in metadata_files:
            is_referenced = path_of(uri) in self._referenced_files
            if changed_ms <= until_ms and not size and not is_referenced:
                empty.add(uri)
                continue
            document = self._read_json(uri) if changed_ms <= until_ms else {}
            properties = document.get("properties")
            properties = properties if isinstance(properties, dict) else {}
            view_uuid = properties.get(STORAGE_OF)
            if "table-uuid" in document and isinstance(view_uuid, str):
                owners[uri] = view_uuid.lower()
                collected = collected and is_collected(properties)
            elif is_referenced:
                continue
            elif "view-uuid" in document and (DEFINITION_OF in properties or self._is_materialized(uri)):
                definitions.setdefault(str(document["view-uuid"]).lower(), []).append(uri)
        self._empty_files |= empty
        if owners:
            is_exclusive = len(owners) + len(empty) == len(metadata_files)
            view_uuids = frozenset(owners.values())
            storage_directories.append(_StorageDirectory(location, view_uuids, tuple(owners), is_exclusive, collected))

    def _read_json(self, location: str) -> dict[str, Any]:
        try:
            return self._store.files.read_table(location)
        except (MetadataFileError, RefusedLocationError):
            return {}

    def _is_materialized(self, location: str) -> bool:
        try:
            return is_materialized(self._store.files.read(location))
        except (MetadataFileError, RefusedLocationError):
            return False

    def _mark_metadata_files(self) -> _Marks:
        """What all views of the metastore reference, by their metadata files."""
        marks = self._row_marks.copy()
        for row in (*self._rows.values(), *self._foreign_rows):
            try:
                if row.kind is RowKind.ICEBERG_VIEW:
                    metadata = self._store.files.read(row.metadata_location or "")
                    view_uuid = metadata.view_uuid.lower()
                    marks.view_uuids.add(view_uuid)
                    marks.add_storages(metadata.properties, view_uuid)
                    for version in metadata.versions:
                        marks.add_link(link_of(version), view_uuid)
                elif row.kind is not RowKind.ICEBERG_TABLE and row.metadata_location:
                    marks.directories.add(_base_path(row))  # the storage of a materialized view of Trino
                elif METADATA in row.parameters and STORAGE_OF not in row.parameters:
                    location = AssociatedView.of(row.parameters).associated_view_location
                    marks.view_uuids.add(self._store.files.read(location).view_uuid.lower())
            except _UNREADABLE as error:
                if row.kind is not RowKind.ICEBERG_VIEW or row.uuid is None:
                    marks.doubts.append(f"{row.name}: {error}")
        return marks

    # -- Deciding -----------------------------------------------------------------------------------------------------

    def _is_old(self, row: Row) -> bool:
        return row.create_time * 1000 <= self._until_ms

    def _has_no_view(self, row: Row) -> bool:
        """Return whether no row has the UUID of the view that a storage table names."""
        return row.parameters[STORAGE_OF].lower() not in self._row_marks.view_uuids

    def _is_unused(self, row: Row, marks: _Marks) -> bool:
        """Return whether no view has, names or reads a storage table of the catalog."""
        if row.name in marks.links or not self._is_old(row) or _base_path(row) in marks.directories:
            return False
        view_uuid, document = row.parameters[STORAGE_OF].lower(), self._read_json(row.metadata_location or "")
        if view_uuid in marks.view_uuids:
            # Created for the conversion of a plain view, which got another one. With rows, it was renamed instead.
            other_tables = [name for name, uuids in marks.links.items() if view_uuid in uuids and name in self._rows]
            if not other_tables or document.get("snapshots") != []:
                return False
        changed_ms = document.get("last-updated-ms")
        if isinstance(changed_ms, int) and changed_ms > self._until_ms:
            return False
        dependents = self._dependents.find_all(row.name)
        texts = [self._rows[item.view].texts for item in dependents.unknown if item.view in self._rows]
        texts += [view.texts for view in self._foreign_rows if view.kind.is_view]
        is_mentioned = any(row.name.name in f"{text.original} {text.expanded}".lower() for text in texts)
        return not dependents.views and not is_mentioned

    def _garbage_files(self, item: _StorageDirectory, used_directories: set[str]) -> set[str] | None:
        """Return the files of a storage table without a view; None if something was written there recently."""
        parts = (f"{item.location}/{part}" for part in ("data", "metadata"))
        listed = [file for part in parts for file in _list_files(self._store.files, part)]
        if item.is_exclusive and not any(directory.startswith(f"{item.path}/") for directory in used_directories):
            listed = _without_nested_tables(listed, item.location)
        else:
            named = self._files_named_in(item)
            listed = [file for file in listed if path_of(file.location) in named]
        if any(file.changed_ms > self._until_ms for file in listed):
            return None
        return {file.location for file in listed} if item.is_collected else set()

    def _files_named_in(self, item: _StorageDirectory) -> set[str]:
        """Paths of the files that a storage table's metadata names, for a directory that it shares."""
        locations: set[str] = set()
        for location in item.metadata_files:
            try:
                metadata = self._store.files.read_table_metadata(location)
                io = self._store.files.io(location)
                table = Table(("unnamed", "unnamed"), metadata, location, io, NoopCatalog("unnamed"))
                locations |= all_files(table, self._store.files)
            except (*_UNREADABLE, OSError, ValueError):
                return set()
        return set(map(path_of, locations))


_UNREADABLE = (
    MetadataFileError,
    RefusedLocationError,
    InvalidRefreshStateError,
    UnsupportedMaterializedViewError,
)


def _is_table_layout(row: Row) -> bool:
    """Return whether a row is a materialized view of the layout `table`; a staging table has such parameters too."""
    has_parameters = METADATA in row.parameters and STORAGE_OF in row.parameters
    return has_parameters and not is_staging_name(row.name.name)


def _metadata_locations(row: Row) -> Iterator[str]:
    """Yield the metadata files that a row names."""
    yield from filter(None, (row.metadata_location, row.previous_metadata_location))
    if METADATA in row.parameters:
        with suppress(InvalidRefreshStateError, UnsupportedMaterializedViewError):
            yield AssociatedView.of(row.parameters).associated_view_location


def _base(row: Row) -> str:
    """Return the directory of a table or view, by its metadata file."""
    return base_of(row.metadata_location or "")


def _base_path(row: Row) -> str:
    return path_of(_base(row))


def _table_directories(row: Row) -> Iterator[str]:
    """Paths where a table may have files, by its metadata file and by the row."""
    if row.kind is RowKind.ICEBERG_TABLE:
        yield _base_path(row)
    if not row.kind.is_view and row.location is not None:
        yield path_of(row.location)


# -- Files ------------------------------------------------------------------------------------------------------------


class _ListedFile(NamedTuple):
    """A file of a directory."""

    location: str
    changed_ms: int
    """Its modification time, in epoch milliseconds."""
    size: int


def delete_files(files: MetadataFiles, locations: Iterable[str]) -> tuple[tuple[str, ...], tuple[KeptItem, ...]]:
    """Delete files, and return those deleted and those not. Metadata files go last: they name the owner of the rest."""
    not_deleted = {}
    ordered = sorted(locations, key=lambda location: (location.endswith(METADATA_FILE_SUFFIXES), location))
    for location in ordered:
        why = files.remove(location)
        if why is not None:
            not_deleted[location] = why
    deleted = tuple(sorted(location for location in ordered if location not in not_deleted))
    return deleted, tuple(KeptItem(location, why) for location, why in not_deleted.items())


def _without_nested_tables(listed: Iterable[_ListedFile], location: str) -> list[_ListedFile]:
    """Files of a directory without those of tables that have a directory inside it."""
    files = list(listed)
    bases = {path_of(base_of(file.location)) for file in files if file.location.endswith(METADATA_FILE_SUFFIXES)}
    bases -= {path_of(location), path_of(f"{location}/metadata")}
    return [file for file in files if not any(f"{path_of(file.location)}/".startswith(f"{base}/") for base in bases)]


def _list_files(files: MetadataFiles, location: str, *, recursive: bool = True) -> list[_ListedFile]:
    """Return the files below a location whose modification times the storage reports, without checksum files."""
    return [
        _ListedFile(entry.location, entry.modified_ms, entry.size)
        for entry in list_entries(files, location, recursive=recursive)
        if entry.is_file and entry.modified_ms is not None and not entry.name.endswith(".crc")
    ]


def _list_directories(files: MetadataFiles, location: str) -> list[str]:
    entries = list_entries(files, location, recursive=False)
    return [entry.location.rstrip("/") for entry in entries if not entry.is_file]
