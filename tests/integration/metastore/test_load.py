"""Loading a view during concurrent changes, and from a failing metastore or storage."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from thrift.Thrift import TApplicationException

from hive_views.errors import (
    InvalidMetadataError,
    MetadataFileNotFoundError,
    MetastoreConnectionLostError,
    MetastoreRefusedError,
    NoSuchNamespaceError,
    NoSuchViewError,
    NotAnIcebergViewError,
    NotAViewError,
)
from hive_views.identifiers import ViewName
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import MetaException
from hive_views.metastore.queries import load_view, table_names, view_exists, view_names
from hive_views.metastore.store import LoadedView, MetastoreStore
from hive_views.spec.changes import SetProperties
from tests.faults.scripted import Answer, ScriptedServer
from tests.integration.catalog.samples import hive_row, path
from tests.integration.metastore.stores import changed, open_store
from tests.proxy import EVERY, DropReply, DropRequest, Hold, ThriftProxy

READ_ROW = "get_table_req"


@pytest.fixture
def behind(properties: dict[str, str], proxy: ThriftProxy) -> Iterator[MetastoreStore]:
    """A store behind the proxy."""
    with open_store(properties, uri=proxy.uri) as opened:
        yield opened


def remove_file(loaded: LoadedView) -> Path:
    file = path(loaded.row.metadata_location or "")
    file.unlink()
    return file


def test_load_reads_matching_row_and_file(
    store: MetastoreStore, created: LoadedView, proxy: ThriftProxy, behind: MetastoreStore
) -> None:
    loaded = load_view(behind, created.row.name)
    assert loaded.metadata == created.metadata
    assert loaded.row.metadata_location == created.row.metadata_location
    assert proxy.methods == [READ_ROW]


@pytest.mark.parametrize(
    ("table_type", "parameters", "error"),
    [
        ("VIRTUAL_VIEW", {}, NotAnIcebergViewError),
        ("VIRTUAL_VIEW", {"table_type": "ICEBERG-VIEW"}, NotAnIcebergViewError),
        ("MANAGED_TABLE", {}, NotAViewError),
        ("EXTERNAL_TABLE", {"table_type": "iceberg", "metadata_location": "file:/nowhere"}, NotAViewError),
    ],
)
def test_load_of_object_that_is_no_iceberg_view_fails(
    store: MetastoreStore,
    raw: Client,
    database: str,
    table_type: str,
    parameters: dict[str, str],
    error: type[Exception],
) -> None:
    raw.create_table(hive_row(database, "x", table_type, **parameters))
    with pytest.raises(NoSuchViewError) as caught:
        load_view(store, ViewName(database, "x"))
    assert isinstance(caught.value, error)


def test_load_of_missing_view(store: MetastoreStore, database: str) -> None:
    for name in (ViewName(database, "x"), ViewName("no_such_database", "x")):
        assert not view_exists(store, name)
        with pytest.raises(NoSuchViewError):
            load_view(store, name)
    for names in (view_names, table_names):
        assert names(store, database) == []
        with pytest.raises(NoSuchNamespaceError):
            names(store, "no_such_database")


# -- Concurrent changes -----------------------------------------------------------------------------------------------


@contextmanager
def changed_between_reads(
    created: LoadedView, proxy: ThriftProxy, behind: MetastoreStore
) -> Iterator[Future[LoadedView]]:
    """A load that has read the row and finds its file removed; the body runs before it reads the row again."""
    hold = proxy.on(READ_ROW, Hold(), nth=2)
    remove_file(created)
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(load_view, behind, created.row.name)
        hold.wait_until_held()
        yield reading
        hold.release()


def test_load_of_view_replaced_and_purged_between_reads(
    store: MetastoreStore, created: LoadedView, proxy: ThriftProxy, behind: MetastoreStore
) -> None:
    """The file of the first row is gone and the row has another one: that one is read."""
    with changed_between_reads(created, proxy, behind) as reading:
        newer = changed(store, created, SetProperties({"color": "blue"}))
    assert reading.result().metadata == newer.metadata


def test_load_of_view_dropped_and_purged_between_reads(
    created: LoadedView, raw: Client, proxy: ThriftProxy, behind: MetastoreStore
) -> None:
    with changed_between_reads(created, proxy, behind) as reading:
        raw.drop_table(created.row.name.database, "v", False)
    with pytest.raises(NoSuchViewError):
        reading.result()


def test_load_of_name_that_became_a_table(
    created: LoadedView, raw: Client, proxy: ThriftProxy, behind: MetastoreStore
) -> None:
    with changed_between_reads(created, proxy, behind) as reading:
        raw.drop_table(created.row.name.database, "v", False)
        raw.create_table(hive_row(created.row.name.database, "v", "MANAGED_TABLE"))
    with pytest.raises(NotAnIcebergViewError):
        reading.result()


def test_load_with_missing_metadata_file(created: LoadedView, store: MetastoreStore) -> None:
    remove_file(created)
    with pytest.raises(MetadataFileNotFoundError) as caught:
        load_view(store, created.row.name)
    assert caught.value.location == created.row.metadata_location
    assert view_exists(store, created.row.name)
    assert view_names(store, created.row.name.database) == [created.row.name]


def test_load_with_invalid_metadata_file(created: LoadedView, store: MetastoreStore) -> None:
    file = path(created.row.metadata_location or "")
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(InvalidMetadataError):
        load_view(store, created.row.name)


# -- Failing metastore ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", [DropRequest(), DropReply()], ids=["request", "reply"])
def test_load_repeats_reads(
    action: DropRequest | DropReply, created: LoadedView, proxy: ThriftProxy, behind: MetastoreStore
) -> None:
    proxy.on(READ_ROW, action)
    proxy.on(READ_ROW, action, nth=2)
    assert load_view(behind, created.row.name).metadata == created.metadata


def test_read_is_repeated_limited_times(created: LoadedView, proxy: ThriftProxy, behind: MetastoreStore) -> None:
    proxy.on(READ_ROW, DropReply(), nth=EVERY)
    for read in (load_view, view_exists):
        with pytest.raises(MetastoreConnectionLostError):
            read(behind, created.row.name)


@pytest.mark.parametrize(
    "answer",
    [MetaException("the database is down"), TApplicationException(TApplicationException.INTERNAL_ERROR, "broken")],
    ids=["declared", "broken"],
)
def test_no_thrift_error_is_raised(
    answer: Exception, created: LoadedView, metastore: EmbeddedMetastore, properties: dict[str, str]
) -> None:
    name = created.row.name
    with ScriptedServer(metastore.port) as scripted, open_store(properties, uri=scripted.uri) as store:
        for method in (READ_ROW, "get_table_names_by_filter", "get_tables_by_type", "get_all_tables"):
            scripted.on(method, Answer(answer), nth=EVERY)
        for read in (load_view, view_exists):
            with pytest.raises(MetastoreRefusedError):
                read(store, name)
        for names in (view_names, table_names):
            with pytest.raises(MetastoreRefusedError):
                names(store, name.database)


def test_server_without_filter_lists_by_rows(
    created: LoadedView, metastore: EmbeddedMetastore, properties: dict[str, str]
) -> None:
    name = created.row.name
    with ScriptedServer(metastore.port) as scripted, open_store(properties, uri=scripted.uri) as store:
        scripted.on("get_table_names_by_filter", Answer(MetaException("no")), nth=EVERY)
        assert view_names(store, name.database) == [name]
        assert table_names(store, name.database) == []
