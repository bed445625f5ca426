"""Reading rows: one view by name, names by kind, and names by the metastore's filter, without reading every row.

Filter conditions use `like` only, because `=` fails on Derby where values are CLOBs. '.' and '_' match any character in
its patterns, so a result may contain too many names but never too few.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from hive_views.errors import (
    InvalidMetadataError,
    MetadataFileNotFoundError,
    MetastoreRefusedError,
    NoSuchNamespaceError,
    NoSuchViewError,
    UnreadableRowWarning,
)
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import Table
from hive_views.metastore.rows.row import (
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
from hive_views.spec.staleness_policy import METADATA
from hive_views.spec.version_texts import RowTexts

logger = logging.getLogger(__name__)

FILTER_FIELD = "hive_filter_field_params__"
"""The prefix of a row parameter in the server's filter language (hive_metastoreConstants.HIVE_FILTER_FIELD_PARAMS)."""

_LAST_ACCESS = "hive_filter_field_last_access__"
"""A row's lastAccessTime in the server's filter language (hive_metastoreConstants.HIVE_FILTER_FIELD_LAST_ACCESS)."""

_MAX_LOAD_ATTEMPTS = 20
"""The maximum number of attempts to load a view if its file is missing because the metadata location has changed."""

MAX_ALTERNATIVES = 4
"""The number of patterns in one condition. The server's database joins the parameters once for each pattern. Four
patterns in one condition take 0.6 times the time of four conditions (PostgreSQL, Derby); sixteen did not finish within
minutes on Derby."""

_CONCURRENT_REQUESTS = 2
"""The number of concurrent requests for batches of rows. The server sends a dozen queries to its database for each row.
More than two requests were not faster (measured on two cores)."""


OnRefused = Callable[[ViewName, MetastoreRefusedError], None]
"""Called with the name of a row that the server refuses to return, and the error."""


def unreadable_row(error: MetastoreRefusedError) -> str:
    """Return the problem of an object whose row the server refuses to return."""
    return f"its row cannot be read: {error}"


def warn_of_refused(name: ViewName, error: MetastoreRefusedError) -> None:
    """Report a row that the server refuses to return; for listings that have no place for it."""
    warnings.warn(f"{name} cannot be read: {error}", UnreadableRowWarning, stacklevel=2)


# -- Iceberg views and tables -----------------------------------------------------------------------------------------


def load_view(store: MetastoreStore, name: ViewName, row: Row | None = None) -> LoadedView:
    """Read a view's row, unless it was read already, and the metadata file that it points to."""
    row = row or store.get_row(name)
    for attempt in range(1, _MAX_LOAD_ATTEMPTS + 1):
        if row is None:
            raise NoSuchViewError(str(name))
        row.require_iceberg_view()
        location = row.metadata_location or ""
        try:
            metadata = store.files.read(location)
        except MetadataFileNotFoundError:
            # The view may have been dropped and purged, or registered again, between the two reads.
            row = store.get_row(name)
            is_unchanged = row is not None and row.metadata_location == location
            if is_unchanged or attempt == _MAX_LOAD_ATTEMPTS:
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
    raise AssertionError("the last attempt returns or raises")


def view_exists(store: MetastoreStore, name: ViewName) -> bool:
    """Return whether an Iceberg view with this name exists, without reading its metadata file."""
    row = store.get_row(name)
    return row is not None and row.kind is RowKind.ICEBERG_VIEW


def view_names(store: MetastoreStore, database: str) -> list[ViewName]:
    """Return the names of the Iceberg views of a database, sorted."""
    names = _names_by_kind(store, database, ICEBERG_VIEW, RowKind.ICEBERG_VIEW, VIRTUAL_VIEW)
    # Plain Spark's CREATE VIEW may have copied Iceberg's parameters. Unlike Iceberg's catalogs it sets no access time.
    candidates = _filter_names(store, database, f"{_LAST_ACCESS} = 0") if names else None
    suspects = names if candidates is None else sorted({*names} & {*candidates})
    rows = read_rows(store, suspects, on_refused=warn_of_refused)
    copies = {row.name for row in rows if row.kind is not RowKind.ICEBERG_VIEW}
    return [name for name in names if name not in copies]


def table_names(store: MetastoreStore, database: str) -> list[ViewName]:
    """Return the names of the Iceberg tables of a database, sorted, without views."""
    return _names_by_kind(store, database, ICEBERG_TABLE, RowKind.ICEBERG_TABLE, None)


def _names_by_kind(
    store: MetastoreStore, database: str, format_type: str, kind: RowKind, table_type: str | None
) -> list[ViewName]:
    """Return names by the server's filter on `table_type`, or by reading the rows if the server cannot filter.

    The filter is case-sensitive, so it includes both spellings that catalogs write. `(?i)` (JDO's sign for a
    case-insensitive match) finds other spellings; it comes last because only Hive 2.3 is known to support it.
    """
    spellings = (format_type, format_type.lower(), f"(?i){format_type}")
    condition = " or ".join(f'{FILTER_FIELD}{TABLE_TYPE} like "{spelling}"' for spelling in spellings)
    client = store.client
    try:
        names = client.get_table_names_by_filter(database, condition)
    except MetastoreRefusedError:
        names = _names_by_rows(client, database, kind, table_type)
    if not names:
        client.get_database(database)
    return [ViewName(database, name) for name in sorted(names)]


def _names_by_rows(client: MetastoreClient, database: str, kind: RowKind, table_type: str | None) -> list[str]:
    client.get_database(database)
    candidates = client.get_table_names_by_type(database, table_type) if table_type else client.get_all_tables(database)

    tables = client.get_tables(database, candidates, _in_database(database, warn_of_refused))
    return [table.tableName for table in tables if row_kind(table) is kind]


# -- Rows of all kinds ------------------------------------------------------------------------------------------------


def database_names(store: MetastoreStore) -> list[str]:
    """Return the names of all databases, sorted."""
    return sorted(store.client.get_all_databases())


def all_view_names(store: MetastoreStore, database: str) -> list[ViewName]:
    """Return the names of all views of a database, Iceberg's and Hive's, sorted; none if the database is missing."""
    names = store.client.get_table_names_by_type(database, VIRTUAL_VIEW)
    return sorted(ViewName(database, name) for name in names)


def materialized_table_names(store: MetastoreStore, database: str) -> list[ViewName]:
    """Return the names of the tables of a database that may be materialized views; none if the database is missing.

    The result may include views and other tables; `Row.definition_location` tells which are materialized views.
    """
    names = names_with_parameter(store, database, METADATA)
    if names is not None:
        return names
    try:
        tables = table_names(store, database)
    except NoSuchNamespaceError:
        return []
    rows = read_rows(store, tables, on_refused=warn_of_refused)
    return [row.name for row in rows if row.definition_location is not None]


def names_of_views(store: MetastoreStore, databases: Sequence[str] | None) -> list[ViewName]:
    """Return the names of all views of some databases, or of all databases."""
    return [name for database in databases or database_names(store) for name in all_view_names(store, database)]


def names_with_definition(store: MetastoreStore, databases: Sequence[str] | None) -> list[ViewName]:
    """Return the names of all views, and of the tables that may be materialized views; see `Row.has_definition`."""
    names = dict.fromkeys(names_of_views(store, databases))
    for database in databases or database_names(store):
        names |= dict.fromkeys(materialized_table_names(store, database))
    return list(names)


def names_by_table_type(store: MetastoreStore, database: str, table_type: str) -> list[ViewName]:
    """Return the names of a database's rows of one tableType, sorted."""
    store.client.get_database(database)
    names = store.client.get_table_names_by_type(database, table_type)
    return sorted(ViewName(database, name) for name in names)


def names_with_parameter(store: MetastoreStore, database: str, key: str) -> list[ViewName] | None:
    """Return the tables and views of a database whose row has a parameter; None if the server cannot filter."""
    return _filter_names(store, database, f'{FILTER_FIELD}{key} like ".*"')


def read_rows(
    store: MetastoreStore,
    names: Sequence[ViewName],
    *,
    most_calls: int = _CONCURRENT_REQUESTS,
    min_batch: int = BATCH_SIZE,
    on_refused: OnRefused | None = None,
) -> Iterator[Row]:
    """Yield the rows of some names, with at most two requests at a time; missing rows are omitted.

    A smaller `min_batch` splits even a few names into two requests, for a shorter response time. `on_refused` is called
    for each row that the server refuses to return, possibly in another thread; without it the error is raised.
    """
    # Not more requests than connections in the pool: further requests would open a new connection each time.
    most_calls = min(most_calls, store.config.connection.pool_size)
    size = min(BATCH_SIZE, max(min_batch, -(-len(names) // _CONCURRENT_REQUESTS)))
    names_by_database: dict[str, list[str]] = {}
    for name in names:
        names_by_database.setdefault(name.database, []).append(name.name)
    batches = [
        (database, table_names[start : start + size])
        for database, table_names in names_by_database.items()
        for start in range(0, len(table_names), size)
    ]
    if min(len(batches), most_calls) < _CONCURRENT_REQUESTS:
        for batch in batches:
            yield from read_database_rows(store, batch[0], batch[1], on_refused)
        return
    # A new thread pool for each call: the threads of a permanent pool would not survive a fork.
    with ThreadPoolExecutor(_CONCURRENT_REQUESTS) as pool:
        for rows in pool.map(lambda batch: read_database_rows(store, batch[0], batch[1], on_refused), batches):
            yield from rows


def read_database_rows(
    store: MetastoreStore, database: str, names: Sequence[str], on_refused: OnRefused | None = None
) -> list[Row]:
    """Return the rows of some names of one database; missing rows are omitted; for `on_refused` see `read_rows`."""
    tables = store.client.get_tables(database, names, _in_database(database, on_refused))
    return [read_row(table) for table in tables]


def _in_database(database: str, on_refused: OnRefused | None) -> Callable[[str, MetastoreRefusedError], None] | None:
    if on_refused is None:
        return None
    return lambda name, error: on_refused(ViewName(database, name), error)


def read_all_rows(store: MetastoreStore, on_refused: OnRefused | None = None) -> Iterator[Row]:
    """Yield the rows of all tables and views of all databases; for `on_refused` see `read_rows`."""
    for database in database_names(store):
        names = store.client.get_all_tables(database)
        yield from read_rows(store, [ViewName(database, name) for name in names], on_refused=on_refused)


# -- Identity and lineage ---------------------------------------------------------------------------------------------


def names_by_uuid(store: MetastoreStore, uuid: str) -> list[ViewName]:
    """Return the tables and views whose row has a UUID."""
    # One query per key: the server joins only rows that have all parameters of a condition, even if combined by `or`.
    conditions = [f'{FILTER_FIELD}{key} like "{uuid}"' for key in (UUID, HIVE_UUID)]
    return [
        name
        for database in database_names(store)
        for condition in conditions
        for name in _filter_names(store, database, condition) or ()
    ]


def tables_without_uuid(store: MetastoreStore) -> Iterator[Row]:
    """Yield Iceberg tables without a UUID in the row, as written by PyIceberg; no filter finds them by UUID."""
    for database in database_names(store):
        try:
            names = table_names(store, database)
        except NoSuchNamespaceError:
            continue  # dropped since it was listed
        rows = read_rows(store, names, on_refused=warn_of_refused)
        yield from (row for row in rows if row.uuid is None)


def recorded_dependents(
    store: MetastoreStore, database: str, sources: Sequence[tuple[ViewName, str | None]]
) -> list[ViewName] | None:
    """Return the views of a database whose row lineage contains a source, by name or UUID.

    None if the server cannot filter.
    """
    patterns = [
        pattern
        for name, uuid in sources
        for pattern in (row_pattern(name=name), *([row_pattern(uuid=uuid)] if uuid is not None else []))
    ]
    conditions = [
        " or ".join(
            f'{FILTER_FIELD}{ROW_LINEAGE} like "{pattern}"' for pattern in patterns[start : start + MAX_ALTERNATIVES]
        )
        for start in range(0, len(patterns), MAX_ALTERNATIVES)
    ]
    if len(conditions) == 1:
        return _filter_names(store, database, conditions[0])
    with ThreadPoolExecutor(_CONCURRENT_REQUESTS) as pool:
        results = list(pool.map(lambda condition: _filter_names(store, database, condition), conditions))
    names: set[ViewName] = set()
    for result in results:
        if result is None:
            return None
        names.update(result)
    return sorted(names)


def read_view_texts(store: MetastoreStore, names: Sequence[ViewName]) -> dict[ViewName, RowTexts]:
    """Return the texts in the rows of some views of one database, without their other fields; needs Hive 4.

    Rows that are missing or that the server refuses to return are omitted.
    """
    database = names[0].database

    def read(batch: Sequence[ViewName]) -> list[Table]:
        return store.client.get_view_texts(database, [name.name for name in batch], lambda _, error: None)

    batches = [names[start : start + BATCH_SIZE] for start in range(0, len(names), BATCH_SIZE)]
    with ThreadPoolExecutor(_CONCURRENT_REQUESTS) as pool:
        return {
            ViewName(database, table.tableName): RowTexts(table.viewOriginalText, table.viewExpandedText)
            for tables in pool.map(read, batches)
            for table in tables
        }


def views_without_row_lineage(store: MetastoreStore, database: str, views: Iterable[ViewName]) -> list[ViewName]:
    """Return the views of a database whose row does not contain the lineage of its metadata file."""
    recorded = _filter_names(
        store,
        database,
        f'{FILTER_FIELD}{METADATA_LOCATION} like ".*-{FILE_NODE}.*" and {FILTER_FIELD}{ROW_LINEAGE} like ".*"',
    )
    return sorted(set(views) - set(recorded or ()))


def _filter_names(store: MetastoreStore, database: str, condition: str) -> list[ViewName] | None:
    try:
        return [ViewName(database, name) for name in store.client.get_table_names_by_filter(database, condition)]
    except MetastoreRefusedError as error:
        logger.info("The metastore cannot filter %s by %s: %s", database, condition, error)
        return None


class RowCache:
    """Rows of tables and views by name; create a new cache for each operation, so that it sees changes."""

    def __init__(self, store: MetastoreStore, *, min_batch: int = BATCH_SIZE) -> None:
        """Create an empty cache; for `min_batch` see `read_rows`."""
        self.store = store
        self._min_batch = min_batch
        self._rows: dict[ViewName, Row | None] = {}
        self._refused: dict[ViewName, MetastoreRefusedError] = {}
        self.requested: set[ViewName] = set()
        """The names that were requested."""

    @property
    def refused(self) -> Mapping[ViewName, MetastoreRefusedError]:
        """The rows that the server refuses to return, among those that were requested."""
        return self._refused

    def load(self, names: Iterable[ViewName]) -> None:
        """Read the rows of names that were not read yet, in batches."""
        # Not a set difference with the keys, which hashes all keys at each call: a listing would take quadratic time.
        missing = sorted(name for name in set(names) if name not in self._rows and name not in self._refused)
        if len(missing) == 1:
            self.find(missing[0])
            return
        on_refused = self._refused.__setitem__
        rows = read_rows(self.store, missing, min_batch=self._min_batch, on_refused=on_refused)
        by_name = {row.name: row for row in rows}
        self._rows.update((name, by_name.get(name)) for name in missing if name not in self._refused)

    def clear(self) -> None:
        """Forget all rows."""
        self._rows.clear()
        self._refused.clear()

    def add(self, row: Row) -> None:
        """Add a row that was read already."""
        self._rows[row.name] = row

    def get(self, name: ViewName) -> Row | None:
        """Return the row of a name, or None if there is none; raises MetastoreRefusedError if it cannot be read."""
        self.requested.add(name)
        if name in self._refused:
            raise self._refused[name]
        if name not in self._rows:
            try:
                self._rows[name] = self.store.get_row(name)
            except MetastoreRefusedError as error:
                self._refused[name] = error
                raise
        return self._rows[name]

    def find(self, name: ViewName) -> Row | None:
        """Return the row of a name, or None if there is none or it cannot be read; see `refused`."""
        try:
            return self.get(name)
        except MetastoreRefusedError:
            return None

    def shared(self) -> RowCache:
        """Return a cache with the same rows that records its own requests."""
        cache = RowCache(self.store, min_batch=self._min_batch)
        cache._rows, cache._refused = self._rows, self._refused
        return cache
