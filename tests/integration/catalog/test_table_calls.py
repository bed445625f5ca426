"""The requests of each table operation, which docs/python.md lists with their reasons, beside those of PyIceberg's."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyiceberg.catalog.hive import HiveCatalog

from hive_views.errors import NoSuchTableError, NoSuchViewError
from tests.integration.catalog.samples import SCHEMA
from tests.proxy import ThriftProxy

pytestmark = pytest.mark.hive2

GET, ALTER = "get_table_req", "alter_table_with_environment_context"
OURS: dict[str, list[str]] = {
    "create": [GET, "get_database", "create_table", GET],
    "load": [GET],
    "append": ["lock", GET, ALTER, "unlock"],
    "rename": [GET, GET, "lock", GET, ALTER, "unlock"],
    "rename to another database": [GET, GET, "get_database", "lock", GET, ALTER, "unlock"],
    "drop": [GET, "drop_table"],
    "register": [GET, "get_database", "create_table", GET],
    "list": ["get_table_names_by_filter"],
    "exists": [GET],
    "create namespace": ["get_database", "create_database"],
    "drop namespace": ["get_database", "drop_database"],
}
THEIRS: dict[str, list[str]] = {
    "create": ["get_database", "create_table", "get_table"],
    "load": ["get_table"],
    "append": ["lock", "get_table", ALTER, "unlock"],
    "rename": ["get_table", "get_table", ALTER, "get_table"],
    "rename to another database": ["get_table", "get_table", ALTER, "get_table"],
    "drop": ["drop_table"],
    "register": ["create_table", "get_table"],
    "list": ["get_all_tables", "get_table_objects_by_name"],
    "exists": ["get_table"],
    "create namespace": ["create_database"],
    "drop namespace": ["drop_database"],
}
ONCE = "get_config_value"
"""A request of the first lock of a catalog, which asks how long the server keeps locks."""


def requests(catalog: HiveCatalog, proxy: ThriftProxy, database: str, other: str) -> dict[str, list[str]]:
    """Run each operation, and return its requests."""
    found: dict[str, list[str]] = {}

    def run(what: str, operation: Callable[[], object]) -> None:
        before = len(proxy.methods)
        operation()
        found[what] = [method for method in proxy.methods[before:] if method != ONCE]

    catalog.list_namespaces()  # connects
    run("create", lambda: catalog.create_table(f"{database}.t", SCHEMA))
    run("load", lambda: catalog.load_table(f"{database}.t"))
    table = catalog.load_table(f"{database}.t")
    run("append", lambda: table.append(table.schema().as_arrow().empty_table()))
    run("rename", lambda: catalog.rename_table(f"{database}.t", f"{database}.u"))
    run("rename to another database", lambda: catalog.rename_table(f"{database}.u", f"{other}.u"))
    location = catalog.load_table(f"{other}.u").metadata_location
    run("drop", lambda: catalog.drop_table(f"{other}.u"))
    run("register", lambda: catalog.register_table(f"{database}.t", location))
    run("list", lambda: catalog.list_tables(database))
    run("exists", lambda: catalog.table_exists(f"{database}.t"))
    catalog.drop_table(f"{database}.t")
    run("create namespace", lambda: catalog.create_namespace(f"{database}_new"))
    run("drop namespace", lambda: catalog.drop_namespace(f"{database}_new"))
    return found


def test_requests_of_table_operations(metastore, proxy, open_catalog, database, other_database):
    uri = f"thrift://127.0.0.1:{proxy.port}"
    assert requests(open_catalog({"uri": uri}), proxy, database, other_database) == OURS
    theirs = HiveCatalog("theirs", uri=uri, warehouse=metastore.warehouse)
    assert requests(theirs, proxy, database, other_database) == THEIRS


@pytest.mark.parametrize("target", ["", "a.b.c.d", "{database}.a/b", "missing.t"])
def test_missing_source_of_a_rename_is_reported_before_its_target(catalog, database, target):
    target = target.format(database=database)
    with pytest.raises(NoSuchTableError):
        catalog.rename_table(f"{database}.none", target)
    with pytest.raises(NoSuchViewError):
        catalog.rename_view(f"{database}.none", target)
