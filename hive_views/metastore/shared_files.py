"""Shared files: which other rows of the metastore reference the files of a table or view, e.g. after a registration.

This is checked before files are deleted, so a failed check is an error, or the files count as shared. The server's
filter finds the rows with the same UUID, those whose metadata file is in one of the owner's directories, and those
whose metadata file has the same name; only these are read. It does not find a row without a UUID parameter (PyIceberg
writes none for tables) whose later files are in another directory.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hive_views.errors import HiveViewsError, LockError, MetadataFileError, MetastoreError
from hive_views.identifiers import ViewName
from hive_views.io.deletion import delete_view_files
from hive_views.io.locations import directory_of, path_of
from hive_views.metastore.locking.lock import hold_lock
from hive_views.metastore.queries import FILTER_FIELD, database_names, read_rows
from hive_views.metastore.rows.row import METADATA_LOCATION, UUID, Row
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.transport.client import MetastoreClient
from hive_views.spec.metadata import ViewMetadata

if TYPE_CHECKING:
    from pyiceberg.table import Table

logger = logging.getLogger(__name__)

_FILTERED_LEVELS = 2
"""The number of levels at the end of a directory that the filter compares; the rest may be written in several ways."""


@dataclass(frozen=True)
class FileOwner:
    """A table or view whose files other rows may reference."""

    uuid: str
    """Its UUID."""
    metadata_locations: tuple[str, ...]
    """Its metadata files: the current one, and earlier ones in other directories."""
    name: ViewName | None = None
    """Its name in the store's catalog; None if it has no row there, so that every row counts as another owner."""


def table_owner(table: Table, name: ViewName | None) -> FileOwner:
    """Return a table's UUID and metadata files; `name` is None if it has no row."""
    earlier = {directory_of(entry.metadata_file): entry.metadata_file for entry in table.metadata.metadata_log}
    return FileOwner(str(table.metadata.table_uuid), (table.metadata_location, *earlier.values()), name)


@dataclass(frozen=True)
class SharingRow:
    """A row that references files of an owner."""

    row: Row
    """The row."""
    catalog: str | None = None
    """The metastore's catalog that has the row; None for the store's own."""

    def __str__(self) -> str:
        return str(self.row.name) if self.catalog is None else f"{self.catalog}.{self.row.name}"


def iterate_catalogs(store: MetastoreStore) -> Iterator[tuple[str | None, MetastoreStore]]:
    """Yield a store for each catalog of the metastore (Hive 3 and later have several), the given store first."""
    yield None, store
    names = store.client.get_catalogs()
    own_catalog = store.client.own_catalog() if len(names) > 1 else None
    for name in names:
        if own_catalog is not None and name.lower() != own_catalog:
            with MetastoreClient(store.config.connection._replace(catalog=name.lower())) as client:
                yield name, replace(store, client=client)


def find_rows_sharing_files(store: MetastoreStore, *owners: FileOwner) -> list[SharingRow]:
    """Return the other rows, in all catalogs of the metastore, that reference files of the owners."""
    # Two queries: the server joins only rows that have all parameters of a condition, even if combined by `or`.
    locations = {location for owner in owners for location in owner.metadata_locations}
    conditions = [
        " or ".join(sorted({f'{FILTER_FIELD}{UUID} like "{owner.uuid.lower()}"' for owner in owners})),
        " or ".join(sorted({*map(_directory_condition, locations), *map(_file_condition, locations)})),
    ]
    owner_names = {owner.name for owner in owners}
    sharing_rows = []
    for catalog, catalog_store in iterate_catalogs(store):
        for database in database_names(catalog_store):
            names = {name for condition in conditions for name in _filter_names(catalog_store, database, condition)}
            candidates = sorted(names - owner_names if catalog is None else names)
            sharing_rows += [
                SharingRow(row, catalog)
                for row in read_rows(catalog_store, candidates)
                if any(_shares_files(catalog_store, row, owner) for owner in owners)
            ]
    return sharing_rows


def files_lock_name(uuid: str) -> ViewName:
    """Return the name of the lock on the files of a table or view; the lock needs no row of this name.

    A purge holds it exclusively while it checks and deletes; a registration holds it shared while it reads the file and
    adds the row. Otherwise a row could be registered between the check and the deletion.
    """
    return ViewName("hive_views_files", re.sub(r"[^0-9a-z]", "", uuid.lower()) or "none")


@contextmanager
def files_locked(store: MetastoreStore, owner: FileOwner) -> Iterator[Callable[[], None]]:
    """Hold the exclusive lock on the files of an owner, unless the catalog disables locks.

    Yields a function to call after a search for other rows. It raises a LockError if the lock was lost meanwhile, or if
    the metastore that answers now may lag behind.
    """
    if not store.config.lock.enabled:
        yield lambda: None
        return
    name = files_lock_name(owner.uuid)
    with hold_lock(store.client, store.config.lock, name) as lock:

        def check() -> None:
            lock.ensure_active()
            if len(store.client.uris) > 1 and not lock.is_listed():
                raise LockError(str(name), "the metastore that answers now does not list it, so it may lag behind")

        yield check


def purge_view_files(
    store: MetastoreStore, owner: FileOwner, metadata: ViewMetadata, other_files: Sequence[str] = ()
) -> tuple[str | None, list[str]]:
    """Delete the metadata files and other files of a view that has no row any more, unless other rows reference them.

    Returns the reason if the files are kept, otherwise None, and the locations that could not be deleted. Raises no
    error, because the row is already dropped.
    """
    with ExitStack() as lock:
        try:
            check_current = lock.enter_context(files_locked(store, owner))
            kept = find_reason_to_keep_files(store, owner)
            check_current()
        except HiveViewsError as error:  # from the lock
            kept = str(error)
        if kept is not None:
            logger.warning("The files of %s are kept, because %s", owner.name, kept)
            return kept, []
        remaining = [location for location in other_files if not store.files.delete(location)]
        return None, [*remaining, *delete_view_files(store.files, owner.metadata_locations, metadata)]


def find_reason_to_keep_files(store: MetastoreStore, *owners: FileOwner) -> str | None:
    """Return why the files of dropped owners must be kept: a check after the drop, since rows may have changed."""
    try:
        sharing_rows = find_rows_sharing_files(store, *(replace(owner, name=None) for owner in owners))
    except MetastoreError as error:
        return f"could not determine whether other rows reference them ({error})"
    return f"referenced by {', '.join(map(str, sharing_rows))}" if sharing_rows else None


def _shares_files(store: MetastoreStore, row: Row, owner: FileOwner) -> bool:
    location = row.metadata_location
    if row.uuid is not None and row.uuid.lower() == owner.uuid.lower():
        return True
    if location is None:
        return False
    if path_of(location) in map(path_of, owner.metadata_locations):
        return True
    # The UUID in a row may be wrong, and a link may lead to the same file by another path.
    owner_directories = {path_of(directory_of(owner_location)) for owner_location in owner.metadata_locations}
    owner_files = {_file_name(owner_location) for owner_location in owner.metadata_locations}
    if path_of(directory_of(location)) not in owner_directories and _file_name(location) not in owner_files:
        return False
    try:
        document = store.files.read_table(location)
    except MetadataFileError:
        return True
    return owner.uuid.lower() in (str(document.get(key)).lower() for key in ("table-uuid", "view-uuid"))


def _directory_condition(location: str) -> str:
    """Return a condition for rows whose metadata file is in the directory of the given file, however it is written."""
    levels = [level for level in directory_of(location).split("/") if level][-_FILTERED_LEVELS:]
    # '.' matches any character in the server's patterns; it replaces characters that may have a special meaning.
    pattern = "/".join(re.sub(r"[^A-Za-z0-9]", ".", level) for level in levels)
    return f'{FILTER_FIELD}{METADATA_LOCATION} like ".*/{pattern}/.*"'


def _file_condition(location: str) -> str:
    """Return a condition for rows whose metadata file has the name of the given one, e.g. below a symbolic link."""
    return f'{FILTER_FIELD}{METADATA_LOCATION} like ".*/{re.sub(r"[^A-Za-z0-9]", ".", _file_name(location))}"'


def _file_name(location: str) -> str:
    return location.rpartition("/")[2]


def _filter_names(store: MetastoreStore, database: str, condition: str) -> list[ViewName]:
    return [ViewName(database, name) for name in store.client.get_table_names_by_filter(database, condition)]
