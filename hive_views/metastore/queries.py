"""Questions about lineage that the metastore's own filter answers, without a row being read.

Conditions use `like` only, because `=` fails on Derby where values are CLOBs. In the pattern '.' and '_' stand for any
character, so answers may hold too much, never too little.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from hive_views.errors import (
    InvalidMetadataError,
    MetadataFileNotFoundError,
    MetastoreRefusedError,
    NoSuchNamespaceError,
    NoSuchViewError,
)
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    InvalidOperationException,
    MetaException,
    UnknownDBException,
)
from hive_views.metastore.row_codec import (
    HIVE_UUID,
    ICEBERG_TABLE,
    ICEBERG_VIEW,
    METADATA_LOCATION,
    TABLE_TYPE,
    UUID,
    VIRTUAL_VIEW,
    Row,
    RowKind,
    read_row,
    row_kind,
)
from hive_views.metastore.store import LoadedView, MetastoreStore
from hive_views.metastore.transport.client import BATCH_SIZE, MetastoreClient
from hive_views.spec.lineage_codec import FILE_NODE, ROW_LINEAGE, row_pattern

logger = logging.getLogger(__name__)

_MOST_REQUESTS = 2
"""Batches of rows that are asked for at once: a row costs the server a dozen queries of its database. More than two
at once were no faster (measured on two cores)."""


def names_by_uuid(store: MetastoreStore, uuid: str) -> list[ViewName]:
    """Tables and views whose row says that they have a UUID."""
    # One question for each key: the server joins rows that have all the keys of a condition, `or` or not.
    conditions = [f'{FILTER_FIELD}{key} like "{uuid}"' for key in (UUID, HIVE_UUID)]
    return [
        name
        for database in database_names(store)
        for condition in conditions
        for name in _filtered(store, database, condition) or ()
    ]


def tables_without_uuid(store: MetastoreStore) -> Iterator[Row]:
    """Iceberg tables whose row does not say their UUID, as PyIceberg writes them: no filter finds these."""
    for database in database_names(store):
        try:
            names = table_names(store, database)
        except NoSuchNamespaceError:
            continue  # dropped since it was listed
        yield from (row for row in read_rows(store, names) if row.uuid is None)


def recorded_dependents(
    store: MetastoreStore, database: str, name: ViewName, uuid: str | None
) -> list[ViewName] | None:
    """Views of one database whose row's lineage has a child."""
    patterns = [row_pattern(name=name), *([row_pattern(uuid=uuid)] if uuid is not None else [])]
    conditions = [f'{FILTER_FIELD}{ROW_LINEAGE} like "{item}"' for item in patterns]
    if len(conditions) == 1:
        return _filtered(store, database, conditions[0])
    # Two questions at once: for `or` the server joins the parameters twice, one after the other.
    with ThreadPoolExecutor(len(conditions)) as pool:
        found = list(pool.map(lambda condition: _filtered(store, database, condition), conditions))
    names: set[ViewName] = set()
    for answer in found:
        if answer is None:
            return None
        names.update(answer)
    return sorted(names)


def views_without_row_lineage(store: MetastoreStore, database: str) -> list[ViewName]:
    """Views of one database whose row does not hold the lineage of the metadata file that it points to."""
    recorded = _filtered(
        store,
        database,
        f'{FILTER_FIELD}{METADATA_LOCATION} like ".*-{FILE_NODE}.*" and {FILTER_FIELD}{ROW_LINEAGE} like ".*"',
    )
    return sorted(set(all_view_names(store, database)) - set(recorded or ()))


def all_view_names(store: MetastoreStore, database: str) -> list[ViewName]:
    """All views of one database, Iceberg's and Hive's, sorted."""
    try:
        names = store.client.get_table_names_by_type(database, VIRTUAL_VIEW)
    except UnknownDBException:
        return []
    except (MetaException, InvalidOperationException) as error:
        raise MetastoreRefusedError("get_tables_by_type", f"{database}: {error.message}") from error
    return sorted(ViewName(database, name) for name in names)


def read_rows(store: MetastoreStore, names: Sequence[ViewName], *, most_calls: int = _MOST_REQUESTS) -> Iterator[Row]:
    """The rows that stand under some names, asked for in batches, two at a time."""
    wanted: dict[str, list[str]] = {}
    for name in names:
        wanted.setdefault(name.database, []).append(name.name)
    batches = [
        (database, listed[start : start + BATCH_SIZE])
        for database, listed in wanted.items()
        for start in range(0, len(listed), BATCH_SIZE)
    ]
    if min(len(batches), most_calls) < _MOST_REQUESTS:
        for batch in batches:
            yield from read_database_rows(store, *batch)
        return
    with ThreadPoolExecutor(_MOST_REQUESTS) as pool:
        for found in pool.map(lambda batch: read_database_rows(store, *batch), batches):
            yield from found


def read_database_rows(store: MetastoreStore, database: str, names: Sequence[str]) -> list[Row]:
    """The rows that stand under some names of one database."""
    try:
        return [read_row(table) for table in store.client.get_tables(database, names)]
    except UnknownDBException:
        return []
    except (MetaException, InvalidOperationException) as error:
        raise MetastoreRefusedError("get_tables", f"{database}: {error.message}") from error


def read_all_rows(store: MetastoreStore) -> Iterator[Row]:
    """The rows of all tables and views of all databases."""
    for database in database_names(store):
        try:
            names = store.client.get_all_tables(database)
        except UnknownDBException:
            continue  # dropped since it was listed
        except (MetaException, InvalidOperationException) as error:
            raise MetastoreRefusedError("get_all_tables", f"{database}: {error.message}") from error
        yield from read_rows(store, [ViewName(database, name) for name in names])


def database_names(store: MetastoreStore) -> list[str]:
    """The names of all databases, sorted."""
    try:
        return sorted(store.client.get_all_databases())
    except MetaException as error:
        raise MetastoreRefusedError("get_all_databases", error.message or "") from error


def _filtered(store: MetastoreStore, database: str, condition: str) -> list[ViewName] | None:
    try:
        return [ViewName(database, name) for name in store.client.get_table_names_by_filter(database, condition)]
    except UnknownDBException:
        return []
    except (MetaException, InvalidOperationException, MetastoreRefusedError) as error:
        logger.info("The metastore cannot filter %s by %s: %s", database, condition, error)
        return None


FILTER_FIELD = "hive_filter_field_params__"
"""How the server's name filter addresses a parameter (hive_metastoreConstants.HIVE_FILTER_FIELD_PARAMS)."""


def load_view(store: MetastoreStore, name: ViewName) -> LoadedView:
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


def view_exists(store: MetastoreStore, name: ViewName) -> bool:
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


def names_by_table_type(store: MetastoreStore, database: str, table_type: str) -> list[ViewName]:
    """The views of one tableType in a database, sorted."""
    store.client.get_database(database)
    try:
        names = store.client.get_table_names_by_type(database, table_type)
    except (MetaException, UnknownDBException) as error:
        raise MetastoreRefusedError("get_tables_by_type", f"{database}: {error.message}") from error
    return sorted(ViewName(database, name) for name in names)
