"""Concurrent changes while a table is purged or a materialized view is dropped: other clients' objects are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import CommitFailedError, MetastoreRefusedError, NoSuchTableError
from hive_views.io.locations import path_of
from hive_views.metastore._thrift.hive_metastore.ttypes import MetaException
from tests.faults.scripted import EVERY, Answer, ScriptedServer
from tests.faults.view_changes import DROP_TABLE, READ_ROW
from tests.integration.materialized.conftest import SALES

QUERY = "SELECT id, amount FROM sales WHERE amount > 1"
LISTING = "get_all_databases"


@pytest.fixture
def run_during(proxy, open_catalog):
    """Return a function that runs an operation through the proxy, and another one while a call of the first is held.

    It returns what the first raised.
    """

    def run(begun: Callable[[HiveViewCatalog], object], method: str, nth: int, other: Callable[[], object], **more):
        with proxy.in_flight(method, begun, open_catalog({"uri": proxy.uri, **more}), nth=nth) as running:
            other()
        return running.exception()

    return run


@pytest.fixture
def sales(catalog, database) -> tuple[str, str]:
    """A table without rows: its metadata files show what was deleted."""
    catalog.create_table((database, "sales"), SALES)
    return database, "sales"


@pytest.fixture
def stored(catalog, database, sales):
    """Return a function that creates a materialized view without rows and returns its name."""

    def make(layout: str) -> tuple[str, str]:
        catalog.materialized.create((database, "mv"), QUERY, layout=layout)
        return database, "mv"

    return make


def files(location: str) -> set[Path]:
    return {path for path in Path(path_of(location)).rglob("*") if path.is_file() and path.suffix != ".crc"}


# -- A purge: the row is read once when the table is loaded, and once before it is dropped -----------------------------


def test_purge_does_not_drop_replaced_table(catalog, proxy, run_during, open_catalog, sales):
    """Strict mode reads the row once more, which makes the longest window. The other client takes no lock."""
    moved = (sales[0], "moved")
    seen = catalog.load_table(sales)

    def other() -> None:
        open_catalog({"iceberg.engine.hive.lock-enabled": "false"}).rename_table(sales, moved)
        catalog.create_table(sales, SALES)

    raised = run_during(
        lambda purging: purging.purge_table(sales), READ_ROW, 3, other, **{"hive-views.dependency-mode": "strict"}
    )
    assert isinstance(raised, CommitFailedError)
    assert f"{'.'.join(sales)}: " in str(raised) and "purge it again" in str(raised)
    assert DROP_TABLE not in proxy.methods
    assert catalog.load_table(sales).metadata.table_uuid != seen.metadata.table_uuid
    assert catalog.load_table(moved).metadata == seen.metadata and Path(path_of(seen.metadata_location)).exists()


def test_purge_includes_concurrent_commits(catalog, run_during, sales):
    location = catalog.load_table(sales).location()

    def other() -> None:
        with catalog.load_table(sales).transaction() as transaction:
            transaction.set_properties(color="blue")

    raised = run_during(lambda purging: purging.purge_table(sales), READ_ROW, 2, other)
    assert isinstance(raised, CommitFailedError)
    assert raised.found == catalog.load_table(sales).metadata_location != raised.expected
    assert catalog.load_table(sales).properties["color"] == "blue"
    catalog.purge_table(sales)
    assert files(location) == set()


def test_purge_of_name_taken_by_view(catalog, run_during, sales):
    def other() -> None:
        catalog.drop_table(sales)
        catalog.execute("CREATE VIEW sales AS SELECT 1 AS one", database=sales[0])

    location = catalog.load_table(sales).location()
    before = files(location)
    raised = run_during(lambda purging: purging.purge_table(sales), READ_ROW, 2, other)
    assert isinstance(raised, NoSuchTableError)
    assert catalog.view_exists(sales) and before <= files(location)


# -- A materialized view ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("layout", "purge"), [("registered", True), ("registered", False), ("attached", True)])
def test_view_registered_after_drop_plan_keeps_files(catalog, run_during, stored, database, layout, purge, caplog):
    name, duplicate = stored(layout), (database, "duplicate")
    location = catalog.load_view(name).metadata_location
    drop = lambda dropping: dropping.materialized.load(name).drop(purge=purge)  # noqa: E731
    assert run_during(drop, DROP_TABLE, 1, lambda: catalog.register_view(duplicate, location)) is None
    assert not catalog.view_exists(name)
    kept = catalog.materialized.load(duplicate).storage
    assert kept is not None and Path(path_of(kept.metadata_location)).exists()
    assert f"{database}.duplicate was registered from one of them" in caplog.text
    (step,) = catalog.materialized.load(duplicate).drop().steps
    assert catalog.list_tables(database) == [(database, "sales")]
    assert step.metadata_location is None and files(kept.metadata.location) == set()


@pytest.mark.parametrize(("layout", "nth", "listings"), [("registered", 2, 3), ("attached", 1, 2), ("table", 1, 2)])
def test_storage_registered_after_drop_plan_keeps_files(
    catalog, proxy, run_during, stored, database, layout, nth, listings, caplog
):
    """Registered at the last moment: while the request that drops the last row of the storage is in flight.

    A storage with a row of its own is searched for before and after that row is dropped.
    """
    name, duplicate = stored(layout), (database, "duplicate")
    storage = catalog.materialized.load(name).storage
    drop = lambda dropping: dropping.materialized.load(name).drop()  # noqa: E731
    assert (
        run_during(drop, DROP_TABLE, nth, lambda: catalog.register_table(duplicate, storage.metadata_location)) is None
    )
    assert proxy.methods.count(LISTING) == listings
    assert Path(path_of(storage.metadata_location)).exists()
    assert f"{database}.duplicate was registered from one of them" in caplog.text
    if layout == "table":
        assert catalog.materialized.load(duplicate).metadata.current_schema().column_names == ["id", "amount"]


# -- A server that cannot list its databases --------------------------------------------------------------------------


def test_undetermined_references_before_drop_keep_files(catalog, open_catalog, metastore, sales):
    view = (sales[0], "v")
    catalog.execute(f"CREATE VIEW v AS {QUERY}", database=sales[0])
    with ScriptedServer(metastore.port) as server:
        server.on(LISTING, Answer(MetaException("broken")), nth=EVERY)
        other = open_catalog({"uri": server.uri})
        for operation in (lambda: other.purge_table(sales), lambda: other.drop_view(view, purge_files=True)):
            with pytest.raises(MetastoreRefusedError, match="get_all_databases: broken"):
                operation()
    assert catalog.table_exists(sales) and catalog.view_exists(view)


def test_undetermined_references_after_drop_keep_files(catalog, open_catalog, metastore, stored, database, caplog):
    name = stored("registered")
    view = catalog.materialized.load(name)
    kept = files(view.storage.metadata.location) | files(view.metadata.location)
    with ScriptedServer(metastore.port) as server:
        server.on(LISTING, Answer(MetaException("broken")), nth=2)
        (step,) = open_catalog({"uri": server.uri}).materialized.load(name).drop().steps
    assert catalog.list_views(database) == [] and catalog.list_tables(database) == [(database, "sales")]
    assert files(view.storage.metadata.location) | files(view.metadata.location) == kept
    assert caplog.text.count("could not determine whether other rows reference them (get_all_databases: broken)") == 2
    assert catalog.register_view(name, step.metadata_location) is not None
