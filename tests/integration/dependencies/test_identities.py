"""UUID marks in rows of Hive tables: written once, also concurrently, and optional."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from hive_views.errors import UnidentifiedError
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import EnvironmentContext
from hive_views.metastore.identities import identify
from hive_views.metastore.locking.lock import hold_lock
from hive_views.metastore.rows.row import HIVE_UUID
from hive_views.spec.lineage_codec import ObjectKind
from tests.integration.catalog.samples import hive_row
from tests.proxy import EVERY, DropReply, DropRequest


def child(catalog, name, **given):
    return identify(catalog.store, catalog.store.get_row(name), **given)


def test_concurrent_marks_of_table_agree(open_catalog, raw, database, hive_table):
    hive_table("orders")
    catalogs = [open_catalog() for _ in range(6)]
    rows = [catalog.store.get_row(ViewName(database, "orders")) for catalog in catalogs]
    with ThreadPoolExecutor(6) as pool:
        identified = list(pool.map(lambda pair: identify(pair[0].store, pair[1]), zip(catalogs, rows, strict=True)))
    assert {(item.uuid, item.by_name) for item in identified} == {
        (raw.get_table(database, "orders").parameters[HIVE_UUID], False)
    }


def test_locked_table_is_not_marked(catalog, open_catalog, raw, database, hive_table):
    hive_table("orders")
    name = ViewName(database, "orders")
    hurried = open_catalog({"iceberg.hive.lock-timeout-ms": "300"})
    with hold_lock(catalog.store.client, catalog.store.config.lock, name):
        identified = child(hurried, name)
    assert identified.by_name
    assert HIVE_UUID not in raw.get_table(database, "orders").parameters
    # A later mark is the same UUID.
    assert child(catalog, name).uuid == identified.uuid


def test_mark_keeps_concurrent_change(catalog, raw, database, hive_table):
    hive_table("orders")
    name = ViewName(database, "orders")
    seen = catalog.store.get_row(name)
    changed = raw.get_table(database, "orders")
    changed.parameters["note"] = "theirs"
    raw.alter_table_with_environment_context(database, "orders", changed, EnvironmentContext({}))
    identify(catalog.store, seen)
    after = raw.get_table(database, "orders").parameters
    assert (after["note"], HIVE_UUID in after) == ("theirs", True)


@pytest.mark.parametrize(("fault", "marked"), [(DropRequest(), False), (DropReply(), True)])
def test_broken_connection_gives_same_derived_uuid(open_catalog, raw, proxy, database, hive_table, fault, marked):
    hive_table("orders")
    name = ViewName(database, "orders")
    proxy.on("alter_table_with_environment_context", fault, nth=EVERY)
    identified = child(open_catalog({"uri": proxy.uri}), name)
    assert identified.by_name
    assert (HIVE_UUID in raw.get_table(database, "orders").parameters) is marked
    assert child(open_catalog(), name).uuid == identified.uuid


def test_recreated_table_gets_other_uuid(catalog, raw, database, hive_table):
    """The UUID is derived from the creation time in seconds."""
    hive_table("orders")
    name = ViewName(database, "orders")
    first = child(catalog, name)
    created = raw.get_table(database, "orders").createTime
    raw.drop_table(database, "orders", False)
    while int(time.time()) <= created:
        time.sleep(0.05)
    hive_table("orders")
    assert child(catalog, name).uuid != first.uuid


def test_identify_returns_kind_of_row(catalog, raw, database, hive_table, hive_view):
    hive_table("orders")
    hive_view("old", f"select `id` from `{database}`.`orders`")
    raw.create_table(hive_row(database, "cube", "MATERIALIZED_VIEW"))
    kinds = {name: child(catalog, ViewName(database, name)).kind for name in ("orders", "old", "cube")}
    assert kinds == {"orders": ObjectKind.HIVE_TABLE, "old": ObjectKind.HIVE_VIEW, "cube": ObjectKind.HIVE_TABLE}


def test_iceberg_table_without_metadata_file_is_unidentified(catalog, raw, database, view):
    raw.create_table(
        hive_row(database, "lost", "EXTERNAL_TABLE", table_type="ICEBERG", metadata_location="file:/nowhere/1.json")
    )
    with pytest.raises(UnidentifiedError, match="nowhere"):
        child(catalog, ViewName(database, "lost"))
    # A view over it gets no lineage instead of a wrong one; it is rebuilt from the text on request.
    created = view("top", "SELECT one FROM lost")
    assert created.current_version().summary.keys() & {"hive-views.lineage"} == set()
