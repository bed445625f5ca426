"""What a CREATE or DROP that was killed left behind: storage tables and files of materialized views that are not there.

Nothing leads to them, so a database is looked through: its rows, and the directories below its location. A storage says
whose it is (`hive-views.storage-of`). It is abandoned where no view of the whole metastore has that UUID, none names or
reads it, and nobody wrote to it for some days: a CREATE that is under way has a storage before it has a view.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.serializers import FromInputFile
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
from hive_views.identifiers import ViewName, parse_namespace
from hive_views.io.locations import base_of, path_of
from hive_views.io.table_files import METADATA_FILE_SUFFIXES, NOT_COLLECTED, all_files, is_collected
from hive_views.materialized.layouts.layouts import METADATA, AssociatedView, AttachedView
from hive_views.materialized.lifecycle import DEFINITION_OF, DETACHED, DETACHED_METADATA, SUFFIX
from hive_views.materialized.loading import is_materialized
from hive_views.materialized.maintenance.directories import (
    Kept,
    delete_all,
    directories_in,
    files_below,
    without_tables_of_others,
)
from hive_views.materialized.maintenance.orphans import OLDER_THAN_MS
from hive_views.materialized.refresh.publish import is_staging
from hive_views.metastore.commit.view_properties import check_location
from hive_views.metastore.queries import read_all_rows
from hive_views.metastore.row_codec import Row, RowKind
from hive_views.metastore.shared_files import iterate_catalogs
from hive_views.spec.storage_link import STORAGE_OF, STORAGE_TABLE_COPY, StorageLink, link_of

if TYPE_CHECKING:
    from pyiceberg.typedef import Identifier

    from hive_views.catalog.catalog import HiveViewCatalog

_STORAGE_NAME = re.compile(f"{SUFFIX}(_[0-9a-f]{{8}})?$")
_ATTACHED = re.compile("storage-[0-9a-f]{8}")


@dataclass(frozen=True)
class Abandoned:
    """What is left of materialized views that are gone, or never came to be."""

    tables: tuple[ViewName, ...] = ()
    """Storage tables of the catalog whose view is not there."""
    rows: tuple[ViewName, ...] = ()
    """Rows that a refresh made for itself (`…__refresh_…`), of any view."""
    files: tuple[str, ...] = ()
    """Files of these tables, and of storages that no row names; metadata files without a byte in them."""
    definitions: tuple[str, ...] = ()
    """Metadata files of the views themselves: `register_view` brings back the view of one."""
    doubts: tuple[str, ...] = ()
    """Views that may own some of it and cannot be read, and catalogs of the metastore that cannot be. Where there are
    any, only `rows` are listed besides."""
    kept: tuple[Kept, ...] = ()
    """What is not among it, or could not be removed, and why."""

    def __and__(self, other: Abandoned) -> Abandoned:
        """What two looks agree on, and the doubts of both."""
        return Abandoned(
            tuple(name for name in self.tables if name in other.tables),
            tuple(name for name in self.rows if name in other.rows),
            tuple(sorted({*self.files} & {*other.files})),
            tuple(sorted({*self.definitions} & {*other.definitions})),
            tuple(sorted({*self.doubts, *other.doubts})),
            tuple(sorted({*self.kept, *other.kept})),
        )


def find_abandoned(
    catalog: HiveViewCatalog, database: str, *, older_than_ms: int = OLDER_THAN_MS, locations: Sequence[str] = ()
) -> Abandoned:
    """List what is left in a database of materialized views that are not there."""
    store = catalog.store
    base = store.client.get_database(database).locationUri
    places = [check_location(location) for location in locations]
    if base:
        places += directories_in(store.files, base)
    return _Search(catalog, database, int(time.time() * 1000) - older_than_ms).run(places)


def remove_abandoned(
    catalog: HiveViewCatalog,
    database: str,
    *,
    older_than_ms: int = OLDER_THAN_MS,
    locations: Sequence[str] = (),
    definitions: bool = False,
) -> Abandoned:
    """Remove what `find_abandoned` lists. Where it is interrupted, the next one goes on."""
    store = catalog.store
    once, again = (
        find_abandoned(catalog, database, older_than_ms=older_than_ms, locations=locations) for _ in range(2)
    )
    # A view that is renamed while the metastore is looked through may be missed, and one may have come meanwhile.
    found = once & again
    dropped: set[ViewName] = set()
    kept = found.kept
    for name in (*found.rows, *found.tables):
        try:
            catalog.remove_table(name.identifier)
            dropped.add(name)
        except NoSuchTableError:
            continue
        except HiveViewsError as error:
            kept += (Kept(str(name), str(error)),)
    done = replace(
        found,
        tables=tuple(name for name in found.tables if name in dropped),
        rows=tuple(name for name in found.rows if name in dropped),
        files=(),
        definitions=(),
    )
    if kept != found.kept:
        return replace(done, kept=kept)
    files, refused = delete_all(store.files, found.files)
    texts, refused_texts = delete_all(store.files, found.definitions if definitions else ())
    return replace(done, files=files, definitions=texts, kept=(*kept, *refused, *refused_texts))


class AbandonedMethods:
    """The part of `catalog.materialized` that is about materialized views that are not there."""

    _catalog: HiveViewCatalog

    def abandoned(
        self, namespace: str | Identifier, *, older_than_ms: int = OLDER_THAN_MS, locations: Sequence[str] = ()
    ) -> Abandoned:
        """What a killed CREATE or DROP left in a database; see `find_abandoned`."""
        database = parse_namespace(namespace, catalog=self._catalog.name)
        return find_abandoned(self._catalog, database, older_than_ms=older_than_ms, locations=locations)

    def remove_abandoned(
        self,
        namespace: str | Identifier,
        *,
        older_than_ms: int = OLDER_THAN_MS,
        locations: Sequence[str] = (),
        definitions: bool = False,
    ) -> Abandoned:
        """Remove what a killed CREATE or DROP left in a database; see the function of that name."""
        database = parse_namespace(namespace, catalog=self._catalog.name)
        return remove_abandoned(
            self._catalog, database, older_than_ms=older_than_ms, locations=locations, definitions=definitions
        )


@dataclass(frozen=True)
class _Root:
    """A directory in which there are metadata files of a storage."""

    location: str
    owners: frozenset[str]
    """UUIDs of the views that these name."""
    documents: tuple[str, ...]
    """These files."""
    whole: bool
    """Whether no other metadata file is there."""
    collected: bool
    """Whether its files may be deleted (`gc.enabled`)."""

    @property
    def path(self) -> str:
        return path_of(self.location)


@dataclass
class _Living:
    """What the views of the metastore are, and point to."""

    uuids: set[str] = field(default_factory=set)
    links: dict[ViewName, set[str]] = field(default_factory=dict)
    """Storage tables by name, with the UUIDs of the views that name them."""
    places: set[str] = field(default_factory=set)
    """Paths of directories with metadata files of theirs."""
    doubts: list[str] = field(default_factory=list)


class _Search:
    """One look through a database."""

    def __init__(self, catalog: HiveViewCatalog, database: str, until_ms: int) -> None:
        self._store = catalog.store
        self._dependents = DependentFinder(LineageReader(self._store))
        self._until_ms = until_ms
        self._said = _Living()
        """What rows say by themselves: enough to see that all is somebody's."""
        self._rows: dict[ViewName, Row] = {}
        self._elsewhere: list[Row] = []
        """Rows of other catalogs of the metastore, whose names say nothing here."""
        self._read_rows()
        everything = [*self._rows.values(), *self._elsewhere]
        views = [row for row in everything if row.kind is RowKind.ICEBERG_VIEW]
        tables = [row for row in everything if row.kind is RowKind.ICEBERG_TABLE]
        inside = (row for row in self._rows.values() if row.name.database == database)
        own = [row for row in inside if row.kind is RowKind.ICEBERG_TABLE and STORAGE_OF in row.parameters]
        self._staging = {row.name for row in own if is_staging(row.name.name) and self._is_old(row)}
        self._storages = [row for row in own if _STORAGE_NAME.search(row.name.name) and METADATA not in row.parameters]
        self._born: dict[str, int] = {}
        """When the view was created whose metadata files are in a directory, in milliseconds."""
        self._empty: set[str] = set()
        """Metadata files without a byte, which nothing points to: who made one was killed before it wrote."""
        self._pointers = {path_of(at) for row in everything for at in _pointers(row)}
        for row in views:
            if row.uuid is not None:
                self._said.uuids.add(row.uuid.lower())
            _point(self._said, row.parameters, (row.uuid or "").lower())
            self._born[_base(row)] = max(self._born.get(_base(row), 0), row.create_time * 1000 + 999)
        self._said.uuids |= {row.parameters[STORAGE_OF].lower() for row in tables if _is_layout_table(row)}
        spoken_for = self._staging | {row.name for row in self._storages}
        here = (row for row in self._rows.values() if row.name not in spoken_for)
        self._said.places |= {place for row in (*here, *self._elsewhere) for place in _places(row)}

    def _read_rows(self) -> None:
        """All rows of the metastore, of whatever catalog."""
        try:
            for name, store in iterate_catalogs(self._store):
                if name is None:
                    self._rows = {row.name: row for row in read_all_rows(store)}
                    continue
                try:
                    self._elsewhere += read_all_rows(store)
                except MetastoreRefusedError as error:
                    self._said.doubts.append(f"catalog {name}: {error}")
        except MetastoreRefusedError as error:
            if not self._rows:
                raise
            self._said.doubts.append(f"other catalogs of the metastore: {error}")

    def run(self, places: Iterable[str]) -> Abandoned:
        """Find what is abandoned below some places, and among the rows."""
        known = Abandoned(rows=tuple(sorted(self._staging)))
        looked = {path_of(place): place for place in (*places, *map(_place, self._storages))}
        roots, definitions = self._look(looked.values())
        kept = tuple(sorted(Kept(root.location, NOT_COLLECTED) for root in roots if not root.collected))
        known = replace(known, files=tuple(sorted(self._empty)), kept=kept)
        suspects = [row for row in self._storages if row.name not in self._said.links or self._has_no_view(row)]
        owners = {uuid for root in roots for uuid in root.owners} | definitions.keys()
        if not suspects and owners <= self._said.uuids:
            return known
        living = self._living()
        if living.doubts:
            return replace(known, doubts=tuple(sorted(living.doubts)))
        left_alone = {row.name for row in suspects if self._is_abandoned(row, living)}
        living.places |= {place for row in self._storages if row.name not in left_alone for place in _places(row)}
        dead: dict[str, list[Row]] = {}
        for row in suspects:
            if row.name in left_alone and _base(row) not in living.places:
                dead.setdefault(_base(row), []).append(row)
        files = set(self._empty)
        for root in roots:
            if root.path in living.places or (root.owners & living.uuids and root.path not in dead):
                continue
            left = self._files(root, living.places)
            if left is None:
                dead.pop(root.path, None)  # somebody still writes there
            else:
                files |= left
        return replace(
            known,
            tables=tuple(sorted(row.name for found in dead.values() for row in found)),
            files=tuple(sorted(files)),
            definitions=tuple(sorted({at for uuid in definitions.keys() - living.uuids for at in definitions[uuid]})),
        )

    # -- What is there ------------------------------------------------------------------------------------------------

    def _look(self, places: Iterable[str]) -> tuple[list[_Root], dict[str, list[str]]]:
        """The storages in some directories, and the metadata files of materialized views there by UUID."""
        files = self._store.files
        roots: list[_Root] = []
        definitions: dict[str, list[str]] = {}
        for place in places:
            inside = [one for one in directories_in(files, place) if _ATTACHED.fullmatch(one.rpartition("/")[2])]
            for location in (place, *inside):
                if path_of(location) in self._said.places:
                    continue  # of a storage or table that is there: `find_orphans` tells what is left of its refreshes
                listed = files_below(files, f"{location}/metadata", deep=False)
                documents = [item for item in listed if item.location.endswith(METADATA_FILE_SUFFIXES)]
                # Where a view has its files now, what is older than it is another's.
                until_ms = min(self._until_ms, self._born.get(path_of(location), self._until_ms))
                owners, empty, collected = {}, set(), True
                for uri, changed_ms, size in documents:
                    if changed_ms <= until_ms and not size and path_of(uri) not in self._pointers:
                        empty.add(uri)
                        continue
                    document = self._document(uri) if changed_ms <= until_ms else {}
                    properties = document.get("properties")
                    properties = properties if isinstance(properties, dict) else {}
                    owner = properties.get(STORAGE_OF)
                    if "table-uuid" in document and isinstance(owner, str):
                        owners[uri] = owner.lower()
                        collected = collected and is_collected(properties)
                    elif path_of(uri) in self._pointers:
                        continue
                    elif "view-uuid" in document and (DEFINITION_OF in properties or self._is_materialized(uri)):
                        definitions.setdefault(str(document["view-uuid"]).lower(), []).append(uri)
                self._empty |= empty
                if owners:
                    whole = len(owners) + len(empty) == len(documents)
                    roots.append(_Root(location, frozenset(owners.values()), tuple(owners), whole, collected))
        return roots, definitions

    def _document(self, location: str) -> dict[str, Any]:
        try:
            return self._store.files.read_table(location)
        except (MetadataFileError, RefusedLocationError):
            return {}

    def _is_materialized(self, location: str) -> bool:
        try:
            return is_materialized(self._store.files.read(location))
        except (MetadataFileError, RefusedLocationError):
            return False

    def _has_no_view(self, row: Row) -> bool:
        """Whether the view that a storage table names is not among those that rows name."""
        return row.parameters[STORAGE_OF].lower() not in self._said.uuids

    def _living(self) -> _Living:
        """What all views of the metastore are and point to, from their metadata files."""
        said = self._said
        links = {name: set(uuids) for name, uuids in said.links.items()}
        found = _Living(set(said.uuids), links, set(said.places), list(said.doubts))
        for row in (*self._rows.values(), *self._elsewhere):
            try:
                if row.kind is RowKind.ICEBERG_VIEW:
                    metadata = self._store.files.read(row.metadata_location or "")
                    uuid = metadata.view_uuid.lower()
                    found.uuids.add(uuid)
                    _point(found, metadata.properties, uuid)
                    for version in metadata.versions:
                        _link(found, link_of(version), uuid)
                elif row.kind is not RowKind.ICEBERG_TABLE and row.metadata_location:
                    found.places.add(_base(row))  # a materialized view of Trino's
                elif METADATA in row.parameters and STORAGE_OF not in row.parameters:
                    location = AssociatedView.decode(row.parameters[METADATA]).associated_view_location
                    found.uuids.add(self._store.files.read(location).view_uuid.lower())
            except _UNREADABLE as error:
                if row.kind is not RowKind.ICEBERG_VIEW or row.uuid is None:
                    found.doubts.append(f"{row.name}: {error}")
        return found

    # -- What is abandoned --------------------------------------------------------------------------------------------

    def _is_old(self, row: Row) -> bool:
        return row.create_time * 1000 <= self._until_ms

    def _is_abandoned(self, row: Row, living: _Living) -> bool:
        """Whether a storage table of the catalog is nobody's."""
        if row.name in living.links or not self._is_old(row) or _base(row) in living.places:
            return False
        owner, document = row.parameters[STORAGE_OF].lower(), self._document(row.metadata_location or "")
        if owner in living.uuids:
            # Made for a view that was to become a materialized one. Where it has rows, somebody renamed it.
            others = [name for name, uuids in living.links.items() if owner in uuids and name in self._rows]
            if not others or document.get("snapshots") != []:
                return False
        changed_ms = document.get("last-updated-ms")
        if isinstance(changed_ms, int) and changed_ms > self._until_ms:
            return False
        impact = self._dependents.find_all(row.name)
        texts = [self._rows[item.view].texts for item in impact.unknown if item.view in self._rows]
        texts += [view.texts for view in self._elsewhere if view.kind.is_view]
        return not impact.views and not any(row.name.name in f"{one.original} {one.expanded}".lower() for one in texts)

    def _files(self, root: _Root, living: set[str]) -> set[str] | None:
        """The files of a storage that is nobody's; None where somebody wrote to it lately."""
        parts = (f"{root.location}/{part}" for part in ("data", "metadata"))
        listed = [item for part in parts for item in files_below(self._store.files, part)]
        whole = root.whole and not any(place.startswith(f"{root.path}/") for place in living)
        if whole:
            listed = without_tables_of_others(listed, root.location)
        else:
            named = self._named_by(root)
            listed = [item for item in listed if path_of(item.location) in named]
        if any(item.changed_ms > self._until_ms for item in listed):
            return None
        return {item.location for item in listed} if root.collected else set()

    def _named_by(self, root: _Root) -> set[str]:
        """Paths of what a storage's metadata files name, for a directory in which there are files of others as well."""
        found: set[str] = set()
        for location in root.documents:
            io = self._store.files.io(location)
            try:
                metadata = FromInputFile.table_metadata(io.new_input(location))
                table = Table(("nobody", "nothing"), metadata, location, io, NoopCatalog("nobody"))
                found |= all_files(table, self._store.files)
            except (*_UNREADABLE, OSError, ValueError):
                return set()
        return set(map(path_of, found))


_UNREADABLE = (
    MetadataFileError,
    RefusedLocationError,
    InvalidRefreshStateError,
    UnsupportedMaterializedViewError,
)


def _is_layout_table(row: Row) -> bool:
    """Whether a row is a materialized view of the layout `table`; that of a refresh has such properties too."""
    known = METADATA in row.parameters and STORAGE_OF in row.parameters
    return known and not is_staging(row.name.name)


def _pointers(row: Row) -> Iterator[str]:
    """The metadata files that a row names."""
    yield from filter(None, (row.metadata_location, row.previous_metadata_location))
    if METADATA in row.parameters:
        with suppress(InvalidRefreshStateError, UnsupportedMaterializedViewError):
            yield AssociatedView.decode(row.parameters[METADATA]).associated_view_location


def _place(row: Row) -> str:
    """The directory of a table or view, by its metadata file."""
    return base_of(row.metadata_location or "")


def _base(row: Row) -> str:
    return path_of(_place(row))


def _places(row: Row) -> Iterator[str]:
    """Where a table may have files, by its metadata file and by what the server says."""
    if row.kind is RowKind.ICEBERG_TABLE:
        yield _base(row)
    if not row.kind.is_view and row.location is not None:
        yield path_of(row.location)


def _point(living: _Living, properties: Mapping[str, str], uuid: str) -> None:
    """Note the storages that a view's properties name."""
    for key in (STORAGE_TABLE_COPY, DETACHED):
        _link(living, StorageLink.decode(properties.get(key)), uuid)
    for key in (METADATA, DETACHED_METADATA):
        # One that cannot be read protects its storage by the view's UUID.
        with suppress(InvalidRefreshStateError, UnsupportedMaterializedViewError):
            location = AttachedView.decode(properties.get(key, "{}")).storage_table_location
            living.places.add(path_of(base_of(location)))


def _link(living: _Living, link: StorageLink | None, uuid: str) -> None:
    if link is not None and len(link.namespace) == 1:
        living.links.setdefault(ViewName(link.namespace[0].lower(), link.name.lower()), set()).add(uuid)
