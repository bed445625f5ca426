"""Questions about lineage that the metastore's own filter answers, without a row being read.

Conditions use `like` only, because `=` fails on Derby where values are CLOBs. In the pattern '.' and '_' stand for any
character, so answers may hold too much, never too little.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from hive_views.errors import MetastoreRefusedError, NoSuchNamespaceError
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    InvalidOperationException,
    MetaException,
    UnknownDBException,
)
from hive_views.metastore.identities import HIVE_UUID
from hive_views.metastore.loading import FILTER_FIELD, table_names
from hive_views.metastore.row_codec import METADATA_LOCATION, UUID, VIRTUAL_VIEW, Row, read_row
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.transport.client import BATCH_SIZE
from hive_views.spec.lineage_codec import FILE_NODE, ROW_LINEAGE, row_pattern

logger = logging.getLogger(__name__)

_MOST_REQUESTS = 2
"""Batches of rows that are asked for at once: a row costs the server a dozen queries of its database. More than two
at once were no faster (measured on two cores)."""


def named_by_uuid(store: MetastoreStore, uuid: str) -> list[ViewName]:
    """Tables and views whose row says that they have a UUID."""
    # One question for each key: the server joins rows that have all the keys of a condition, `or` or not.
    conditions = [f'{FILTER_FIELD}{key} like "{uuid}"' for key in (UUID, HIVE_UUID)]
    return [
        name
        for database in databases(store)
        for condition in conditions
        for name in _filtered(store, database, condition) or ()
    ]


def tables_without_uuid(store: MetastoreStore) -> Iterator[Row]:
    """Iceberg tables whose row does not say their UUID, as PyIceberg writes them: no filter finds these."""
    for database in databases(store):
        try:
            names = table_names(store, database)
        except NoSuchNamespaceError:
            continue  # dropped since it was listed
        yield from (row for row in rows(store, names) if row.uuid is None)


def recorded_readers(store: MetastoreStore, database: str, name: ViewName, uuid: str | None) -> list[ViewName] | None:
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


def unrecorded_views(store: MetastoreStore, database: str) -> list[ViewName]:
    """Views of one database whose row does not hold the lineage of the metadata file that it points to."""
    recorded = _filtered(
        store,
        database,
        f'{FILTER_FIELD}{METADATA_LOCATION} like ".*-{FILE_NODE}.*" and {FILTER_FIELD}{ROW_LINEAGE} like ".*"',
    )
    return sorted(set(all_views(store, database)) - set(recorded or ()))


def all_views(store: MetastoreStore, database: str) -> list[ViewName]:
    """All views of one database, Iceberg's and Hive's, sorted."""
    try:
        names = store.client.get_table_names_by_type(database, VIRTUAL_VIEW)
    except UnknownDBException:
        return []
    except (MetaException, InvalidOperationException) as error:
        raise MetastoreRefusedError("get_tables_by_type", f"{database}: {error.message}") from error
    return sorted(ViewName(database, name) for name in names)


def rows(store: MetastoreStore, names: Sequence[ViewName], *, most_calls: int = _MOST_REQUESTS) -> Iterator[Row]:
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
            yield from rows_of(store, *batch)
        return
    with ThreadPoolExecutor(_MOST_REQUESTS) as pool:
        for found in pool.map(lambda batch: rows_of(store, *batch), batches):
            yield from found


def rows_of(store: MetastoreStore, database: str, names: Sequence[str]) -> list[Row]:
    """The rows that stand under some names of one database."""
    try:
        return [read_row(table) for table in store.client.get_tables(database, names)]
    except UnknownDBException:
        return []
    except (MetaException, InvalidOperationException) as error:
        raise MetastoreRefusedError("get_tables", f"{database}: {error.message}") from error


def all_rows(store: MetastoreStore) -> Iterator[Row]:
    """The rows of all tables and views of all databases."""
    for database in databases(store):
        try:
            names = store.client.get_all_tables(database)
        except UnknownDBException:
            continue  # dropped since it was listed
        except (MetaException, InvalidOperationException) as error:
            raise MetastoreRefusedError("get_all_tables", f"{database}: {error.message}") from error
        yield from rows(store, [ViewName(database, name) for name in names])


def databases(store: MetastoreStore) -> list[str]:
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
