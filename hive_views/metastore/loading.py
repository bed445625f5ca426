"""Reading views: one by name, names by kind. Listings ask the server for names, never for every object."""

from __future__ import annotations

from hive_views.errors import InvalidMetadataError, MetadataFileNotFoundError, MetastoreRefusedError, NoSuchViewError
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    InvalidOperationException,
    MetaException,
    UnknownDBException,
)
from hive_views.metastore.row_codec import ICEBERG_TABLE, ICEBERG_VIEW, TABLE_TYPE, VIRTUAL_VIEW, RowKind, row_kind
from hive_views.metastore.store import LoadedView, MetastoreStore
from hive_views.metastore.transport.client import MetastoreClient

FILTER_FIELD = "hive_filter_field_params__"
"""How the server's name filter addresses a parameter (hive_metastoreConstants.HIVE_FILTER_FIELD_PARAMS)."""


def load(store: MetastoreStore, name: ViewName) -> LoadedView:
    """Read a view's row and the file it points to."""
    row = store.get_row(name)
    while True:
        if row is None:
            raise NoSuchViewError(str(name))
        row.require_iceberg_view()
        location = row.metadata_location or ""
        try:
            metadata = store.files.read(location)
        except MetadataFileNotFoundError:
            # A view that was dropped and purged, or registered elsewhere, between the two reads.
            row = store.get_row(name)
            if row is not None and row.metadata_location == location:
                raise
        else:
            if row.uuid is not None and row.uuid.lower() != metadata.view_uuid.lower():
                raise InvalidMetadataError(
                    location,
                    "view-uuid",
                    f"it belongs to another view ({metadata.view_uuid}); the row of {name} is of view {row.uuid}. Drop "
                    "the row and register the right file",
                )
            return LoadedView(row, metadata)


def exists(store: MetastoreStore, name: ViewName) -> bool:
    """Whether an Iceberg view stands under a name; its file is not read."""
    row = store.get_row(name)
    return row is not None and row.kind is RowKind.ICEBERG_VIEW


def view_names(store: MetastoreStore, database: str) -> list[ViewName]:
    """The Iceberg views of a database, sorted."""
    return _names(store, database, ICEBERG_VIEW, RowKind.ICEBERG_VIEW, VIRTUAL_VIEW)


def table_names(store: MetastoreStore, database: str) -> list[ViewName]:
    """The Iceberg tables of a database, sorted; never a view."""
    return _names(store, database, ICEBERG_TABLE, RowKind.ICEBERG_TABLE, None)


def _names(
    store: MetastoreStore, database: str, format_type: str, kind: RowKind, table_type: str | None
) -> list[ViewName]:
    """Names by the server's filter on `table_type`; by reading the rows where a server cannot filter.

    `like` without wildcards in place of `=`: the latter fails on Derby where values are CLOBs. The filter tells upper
    from lower case, so both spellings that catalogs write are asked for. `(?i)` (JDO's sign for any case) finds the
    others; it comes last because it is proved on Hive 2.3 alone, and a server that does not know it loses nothing.
    """
    spellings = (format_type, format_type.lower(), f"(?i){format_type}")
    condition = " or ".join(f'{FILTER_FIELD}{TABLE_TYPE} like "{spelling}"' for spelling in spellings)
    client = store.client
    try:
        names = client.get_table_names_by_filter(database, condition)
    except UnknownDBException:
        names = []
    except (MetaException, InvalidOperationException, MetastoreRefusedError):
        names = _names_by_rows(client, database, kind, table_type)
    if not names:
        client.get_database(database)
    return [ViewName(database, name) for name in sorted(names)]


def _names_by_rows(client: MetastoreClient, database: str, kind: RowKind, table_type: str | None) -> list[str]:
    client.get_database(database)
    try:
        candidates = (
            client.get_table_names_by_type(database, table_type) if table_type else client.get_all_tables(database)
        )
        return [table.tableName for table in client.get_tables(database, candidates) if row_kind(table) is kind]
    except (MetaException, InvalidOperationException, UnknownDBException) as error:
        raise MetastoreRefusedError("get_tables", f"{database}: {error.message}") from error
