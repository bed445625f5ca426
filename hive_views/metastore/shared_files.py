"""Who else in the metastore has the files of a table or view: rows that were registered from one of its files.

Asked before files are deleted, so what cannot be told is an error or counts as yes. The server's filter finds the rows
that have the UUID, and those whose metadata file is in one of the directories; only these are read. Not found is a row
that says no UUID (PyIceberg writes none for tables) and whose later files went to another directory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from hive_views.errors import MetadataFileError, MetastoreError, MetastoreRefusedError
from hive_views.identifiers import ViewName
from hive_views.io.locations import directory_of, path_of
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    InvalidOperationException,
    MetaException,
    UnknownDBException,
)
from hive_views.metastore.queries import FILTER_FIELD, database_names, read_rows
from hive_views.metastore.row_codec import METADATA_LOCATION, UUID, Row
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.transport.client import MetastoreClient

_NAMES = 2
"""How many names of a directory the filter asks for, from its end: the rest may be written in several ways."""


@dataclass(frozen=True)
class Owner:
    """A table or view whose files may be those of others."""

    uuid: str
    """Its UUID."""
    metadata_locations: tuple[str, ...]
    """Metadata files of it: the current one, and others that are known."""
    name: ViewName | None = None
    """Its name in the catalog that is asked; None where it has none."""


@dataclass(frozen=True)
class Twin:
    """A row that needs files of an owner."""

    row: Row
    """It."""
    catalog: str | None = None
    """The metastore's catalog that it is in; None for the one that was asked."""

    def __str__(self) -> str:
        return str(self.row.name) if self.catalog is None else f"{self.catalog}.{self.row.name}"


def every_catalog(store: MetastoreStore) -> Iterator[tuple[str | None, MetastoreStore]]:
    """The catalogs of the metastore (Hive 3 and later have several), the one of a store first."""
    yield None, store
    own = store.config.connection.catalog
    for name in store.client.get_catalogs():
        if name.lower() != own:
            with MetastoreClient(replace(store.config.connection, catalog=name.lower())) as client:
                yield name, replace(store, client=client)


def twins(store: MetastoreStore, *owners: Owner) -> list[Twin]:
    """The rows that have files of some owners, in all catalogs of the metastore."""
    conditions = [
        " or ".join(sorted({f'{FILTER_FIELD}{UUID} like "{owner.uuid.lower()}"' for owner in owners})),
        " or ".join(sorted({_below(place) for owner in owners for place in owner.metadata_locations})),
    ]
    own = {owner.name for owner in owners}
    found = []
    for catalog, each in every_catalog(store):
        for database in database_names(each):
            # Two questions: the server joins rows that have all the keys of a condition, `or` or not.
            names = {name for condition in conditions for name in _filtered(each, database, condition)}
            others = sorted(names - own if catalog is None else names)
            found += [
                Twin(row, catalog) for row in read_rows(each, others) if any(_is_twin(each, row, one) for one in owners)
            ]
    return found


def kept_by_others(store: MetastoreStore, *owners: Owner) -> str | None:
    """Why the files of what was just dropped must stay: asked again before they go, because names change meanwhile."""
    try:
        found = twins(store, *(replace(owner, name=None) for owner in owners))
    except MetastoreError as error:
        return f"nobody can tell whether others have them ({error})"
    return f"{', '.join(map(str, found))} has them now" if found else None


def _is_twin(store: MetastoreStore, row: Row, owner: Owner) -> bool:
    location = row.metadata_location
    if location is not None and path_of(location) in map(path_of, owner.metadata_locations):
        return True
    if row.uuid is not None or location is None:
        return row.uuid is not None and row.uuid.lower() == owner.uuid.lower()
    directories = {path_of(directory_of(place)) for place in owner.metadata_locations}
    if path_of(directory_of(location)) not in directories:
        return False
    try:
        document = store.files.read_table(location)
    except MetadataFileError:
        return True
    return owner.uuid.lower() in (str(document.get(key)).lower() for key in ("table-uuid", "view-uuid"))


def _below(location: str) -> str:
    """A condition that a row meets whose metadata file is in the directory of another file, however that is written."""
    names = [name for name in directory_of(location).split("/") if name][-_NAMES:]
    # In the server's patterns '.' is any character: what may have another meaning there becomes one.
    pattern = "/".join(re.sub(r"[^A-Za-z0-9]", ".", name) for name in names)
    return f'{FILTER_FIELD}{METADATA_LOCATION} like ".*/{pattern}/.*"'


def _filtered(store: MetastoreStore, database: str, condition: str) -> list[ViewName]:
    try:
        return [ViewName(database, name) for name in store.client.get_table_names_by_filter(database, condition)]
    except UnknownDBException:
        return []
    except (MetaException, InvalidOperationException) as error:
        message = f"{database} cannot be searched for others that have the same files: {error.message}"
        raise MetastoreRefusedError("get_table_names_by_filter", message) from error
