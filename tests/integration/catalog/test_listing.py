"""Listing views and tables: contents, number of requests, and servers without filters."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from thrift.Thrift import TApplicationException

from hive_views import HiveViewCatalog
from hive_views.errors import MetastoreRefusedError, NoSuchNamespaceError
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import MetaException, UnknownDBException
from tests.conftest import CatalogFactory
from tests.faults.scripted import Answer, ScriptedServer
from tests.integration.catalog.samples import SCHEMA, hive_row, version
from tests.proxy import EVERY, ThriftProxy

FILTER = "get_table_names_by_filter"


@pytest.fixture
def mixed(catalog: HiveViewCatalog, database: str, raw: Client) -> str:
    """A database with rows of every kind, some of them spelled as other catalogs spell them."""
    catalog.create_view(f"{database}.b_ours", SCHEMA, version(database))
    catalog.create_table(f"{database}.our_table", SCHEMA)
    pointer = {"metadata_location": "file:/nowhere/00000-a.metadata.json"}
    others = [
        ("a_lower", "VIRTUAL_VIEW", {"table_type": "iceberg-view", **pointer}),
        ("c_mixed", "VIRTUAL_VIEW", {"table_type": "Iceberg-View", **pointer}),
        ("d_upper", "VIRTUAL_VIEW", {"table_type": "ICEBERG-VIEW", **pointer}),
        ("hive_view", "VIRTUAL_VIEW", {}),
        ("other_view", "VIRTUAL_VIEW", {"table_type": "DELTA"}),
        ("lower_table", "EXTERNAL_TABLE", {"table_type": "iceberg", **pointer}),
        ("mixed_table", "EXTERNAL_TABLE", {"table_type": "Iceberg", **pointer}),
        ("hive_table", "MANAGED_TABLE", {}),
        ("hudi_table", "EXTERNAL_TABLE", {"table_type": "HUDI"}),
    ]
    for name, kind, parameters in others:
        raw.create_table(hive_row(database, name, kind, **parameters))
    return database


VIEWS = ["a_lower", "b_ours", "c_mixed", "d_upper"]
TABLES = ["lower_table", "mixed_table", "our_table"]


def names(listed: list[tuple[str, ...]]) -> list[str]:
    return [name for _, name in listed]


def test_lists_contain_objects_by_kind(catalog: HiveViewCatalog, mixed: str) -> None:
    assert names(catalog.list_views(mixed)) == VIEWS
    assert names(catalog.list_tables(mixed)) == TABLES
    for name in VIEWS:
        assert catalog.view_exists((mixed, name))
        assert not catalog.table_exists((mixed, name))
    for name in TABLES:
        assert catalog.table_exists((mixed, name))
        assert not catalog.view_exists((mixed, name))
    for name in ("hive_view", "other_view", "hive_table", "hudi_table"):
        assert not catalog.view_exists((mixed, name))
        assert not catalog.table_exists((mixed, name))


UNFILTERED = {
    "refused": Answer(MetaException("Filter is not supported")),
    "broken": Answer(TApplicationException(TApplicationException.INTERNAL_ERROR, "Internal error processing filter")),
    "unknown": Answer(TApplicationException(TApplicationException.UNKNOWN_METHOD, "Invalid method name")),
}


@pytest.mark.parametrize("how", UNFILTERED)
def test_server_without_filter_support(
    metastore: EmbeddedMetastore, open_catalog: CatalogFactory, mixed: str, how: str
) -> None:
    """`=` fails on Derby where parameters are CLOBs, and a server may forbid or lack the method: rows are read."""
    with ScriptedServer(metastore.port) as server:
        server.on(FILTER, UNFILTERED[how], nth=EVERY)
        catalog = open_catalog({"uri": server.uri})
        assert names(catalog.list_views(mixed)) == VIEWS
        assert names(catalog.list_tables(mixed)) == TABLES
        with pytest.raises(NoSuchNamespaceError):
            catalog.list_views("nope")
        with pytest.raises(NoSuchNamespaceError):
            catalog.list_tables("nope")
        assert FILTER in server.methods


def test_unknown_database_error_of_hive_4_raises_no_such_namespace(
    metastore: EmbeddedMetastore, open_catalog: CatalogFactory
) -> None:
    with ScriptedServer(metastore.port) as server:
        server.on(FILTER, Answer(UnknownDBException("nope")), nth=EVERY)
        catalog = open_catalog({"uri": server.uri})
        for listing in (catalog.list_views, catalog.list_tables):
            with pytest.raises(NoSuchNamespaceError, match="Namespace does not exist: nope"):
                listing("nope")


def test_server_without_list_support(metastore: EmbeddedMetastore, open_catalog: CatalogFactory, database: str) -> None:
    with ScriptedServer(metastore.port) as server:
        for method in (FILTER, "get_tables_by_type", "get_all_tables"):
            server.on(method, Answer(MetaException("the database is down")), nth=EVERY)
        catalog = open_catalog({"uri": server.uri})
        for listing in (catalog.list_views, catalog.list_tables):
            with pytest.raises(MetastoreRefusedError, match="the database is down"):
                listing(database)


def test_listing_reads_no_rows(
    proxy: ThriftProxy, open_catalog: CatalogFactory, catalog: HiveViewCatalog, database: str
) -> None:
    for number in range(12):
        catalog.create_view(f"{database}.v{number:02}", SCHEMA, version(database))
    counted = open_catalog({"uri": proxy.uri})
    # A second filter finds the views that plain Spark may have created with copied parameters.
    uses: list[tuple[Callable[[str], list[tuple[str, ...]]], int, list[str]]] = [
        (counted.list_views, 12, [FILTER, FILTER]),
        # An empty answer may also mean that there is no such database.
        (counted.list_tables, 0, [FILTER, "get_database"]),
    ]
    for listing, expected, methods in uses:
        listing(database)
        proxy.clear()
        assert len(listing(database)) == expected
        assert proxy.methods == methods


def test_existence_check_takes_one_call(
    proxy: ThriftProxy, open_catalog: CatalogFactory, catalog: HiveViewCatalog, database: str
) -> None:
    catalog.create_view(f"{database}.v", SCHEMA, version(database))
    counted = open_catalog({"uri": proxy.uri})
    counted.view_exists(f"{database}.v")
    proxy.clear()
    assert counted.view_exists(f"{database}.v")
    assert not counted.view_exists(f"{database}.w")
    counted.load_view(f"{database}.v")
    assert proxy.methods == ["get_table_req"] * 3
