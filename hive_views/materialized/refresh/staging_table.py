"""The table that an engine writes the rows of a refresh to, from its registration to its removal."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table.update import RemovePropertiesUpdate, update_table_metadata

from hive_views.errors import CommitStateUnknownError, HiveViewsError, MetastoreError
from hive_views.identifiers import ViewName
from hive_views.materialized.layouts.layout import write_table_metadata
from hive_views.materialized.redefine import schema_updates
from hive_views.spec.staleness_policy import METADATA
from hive_views.spec.storage_link import STAGING_MARK

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table

    from hive_views.io.metadata_files import MetadataFiles
    from hive_views.materialized.refresh.scope import RefreshScope
    from hive_views.materialized.table_operations import TableOperations

logger = logging.getLogger(__name__)


def staging_prefix(view: ViewName) -> str:
    """Return the beginning of the names of a view's staging tables."""
    return f"{view.name[:200]}{STAGING_MARK}"


@contextmanager
def staging_table(scope: RefreshScope, refresh_id: str, columns: Schema | None = None) -> Iterator[ViewName]:
    """A table of the catalog that an engine can write the rows of a refresh to.

    It is the storage table itself, unless that is in no catalog or gets other columns: then a temporary row is
    registered from its metadata, and what is written there becomes the view's when it is published.
    """
    view, files = scope.view, scope.store.files
    if view.storage_name is not None and columns is None:
        yield view.storage_name
        return
    storage = view.readable_storage()
    name = ViewName(view.name.database, f"{staging_prefix(view.name)}{refresh_id}")
    location = storage.metadata_location
    if columns is not None:
        location = _write_with_columns(files, storage, columns)
    try:
        scope.tables.register_table(name.identifier, location)
    except HiveViewsError as error:
        if columns is not None and not error.may_take_effect:
            files.delete(location)
        raise
    try:
        yield name
    finally:
        _remove_staging_row(files, scope.tables, storage, name)


def _write_with_columns(files: MetadataFiles, storage: Table, columns: Schema) -> str:
    """Write metadata of a storage table with other columns, and without the property of a materialized view."""
    removals = [METADATA] if METADATA in storage.metadata.properties else []
    updates = (*schema_updates(columns), RemovePropertiesUpdate(removals=removals))
    metadata = update_table_metadata(storage.metadata, updates, metadata_location=storage.metadata_location)
    return write_table_metadata(files, metadata, len(metadata.metadata_log))


def _remove_staging_row(files: MetadataFiles, tables: TableOperations, storage: Table, name: ViewName) -> None:
    """Drop a staging row and delete the metadata files that only it has. Its data files are the storage table's."""
    try:
        locations = _metadata_files(tables.load_table(name.identifier))
    except (MetastoreError, NoSuchTableError, OSError) as error:
        locations = []
        logger.info("Metadata files of the staging row %s may be left behind: %s", name, error)
    try:
        tables.remove_table(name.identifier)
    except NoSuchTableError:
        logger.info("The staging row %s was already gone", name)
        return
    except (MetastoreError, CommitStateUnknownError) as error:
        # This does not change the outcome of the refresh: garbage collection finds the row later.
        logger.warning("The staging row %s may be left behind: %s", name, error)
        return
    needed = _metadata_files(storage)
    for location in locations:
        if location not in needed:
            files.delete(location)


def _metadata_files(table: Table) -> list[str]:
    return [*(entry.metadata_file for entry in table.metadata.metadata_log), table.metadata_location]
