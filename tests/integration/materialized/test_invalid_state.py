"""Materialized views with manually changed state: errors name the cause, and no definition or row is lost."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from hive_views.errors import HiveViewsError, InvalidRefreshStateError, RefreshError
from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.verdict import Cause, Verdict
from hive_views.materialized.layouts.layout import STAGED_WRITES, Layout
from hive_views.materialized.state.refresh_state import (
    COMPARED_ROWS,
    REFRESH_STATE,
    STARTED_MS,
    TABLE_ROWS,
    VERSION_ID,
)
from hive_views.metastore.commit.view_commit import commit
from hive_views.metastore.queries import load_view
from hive_views.spec.staleness_policy import METADATA
from hive_views.spec.storage_link import STORAGE_OF
from tests.integration.catalog.samples import hive_row
from tests.integration.materialized.conftest import LAYOUTS, rows

QUERY = "SELECT id, amount FROM sales"


def put(catalog, name, text: str) -> None:
    """Write a text over the draft's JSON, past everything that would refuse it."""
    if catalog.view_exists(name):
        base = load_view(catalog.store, ViewName.parse(name))
        changed = base.metadata.model_copy(update={"properties": {**base.metadata.properties, METADATA: text}})
        commit(catalog.store, base.row.name, base, changed)
        return
    with catalog.load_table(name).transaction() as transaction:
        transaction.set_properties({METADATA: text})


@pytest.mark.parametrize("layout", ["attached", "table"])
def test_invalid_json_of_draft(catalog, views, engine, market, layout):
    name = (market, "mv")
    views.create(name, QUERY, layout=layout)
    views.load(name).refresh(engine)
    view = views.load(name)
    good = (view.storage if layout == "table" else view).metadata.properties[METADATA]
    missing_location = f"{view.storage.metadata.location}/nothing.json"
    nowhere = {
        "format-version": 1,
        "storage-table-location": missing_location,
        "associated-view-location": missing_location,
    }
    for text in ("", "{", "[]", "{}", '{"format-version":"1"}', '{"format-version":2}', '{"format-version":0}',
                 '{"format-version":1,"storage-table-location":7}', "[" * 20_000, json.dumps(nowhere)):  # fmt: skip
        put(catalog, name, text)
        [listed] = views.listing(market)
        assert (listed.name.name, listed.layout.value, listed.freshness.verdict) == ("mv", layout, Verdict.UNKNOWN)
        if layout == "attached" and text == json.dumps(nowhere):  # the definition is whole
            assert not views.load(name).reading().from_storage
            continue
        for call in (views.freshness, views.load):
            with pytest.raises(InvalidRefreshStateError, match=f"{market}.mv") as caught:
                call(name)
            assert caught.value.identifier == f"{market}.mv"
    put(catalog, name, good)
    assert views.freshness(name).is_fresh and views.load(name).version == view.version


def test_invalid_refresh_state_is_unknown(catalog, views, engine, market):
    name = (market, "mv")
    views.create(name, QUERY)
    for text in ("", "{", "[1]", "{}", '{"view-version-id":"one","source-states":[]}', "[" * 20_000):
        storage = catalog.load_table((market, "mv__storage"))
        storage.append(rows((7, "a", 7)).select(["id", "amount"]), snapshot_properties={REFRESH_STATE: text})
        freshness = views.freshness(name)
        assert freshness.verdict is Verdict.UNKNOWN and freshness.reasons[0].cause is Cause.NO_STATE
        assert not views.load(name).reading(allow_stale_data=True).from_storage
    assert views.load(name).refresh(engine)[-1].action == "full"
    assert views.freshness(name).is_fresh


@pytest.mark.parametrize("layout", ["registered", "table"])
def test_dropped_source_table(catalog, views, engine, market, layout):
    name = (market, "mv")
    views.create(name, QUERY, layout=layout)
    views.load(name).refresh(engine)
    catalog.drop_table((market, "sales"))
    assert [reason.cause for reason in views.freshness(name).reasons] == [Cause.GONE]
    with pytest.raises(RefreshError, match=rf"{market}\.mv.*{market}\.sales"):
        views.load(name).refresh(engine)
    assert views.load(name).storage.scan().to_arrow().num_rows == 3, "its rows are what they were"
    assert [item.freshness.verdict for item in views.listing(market)] == [Verdict.STALE]
    views.load(name).drop()
    assert catalog.list_tables(market) == [(market, "shops")] and catalog.list_views(market) == []


def test_foreign_table_in_place_of_storage(catalog, views, engine, market):
    """The foreign table is never written to, and is kept when the view is dropped."""
    name, storage_name = (market, "mv"), (market, "mv__storage")
    views.create(name, QUERY)
    views.load(name).refresh(engine)
    schema = views.load(name).storage.schema()
    own, other = views.load(name).metadata.view_uuid, "00000000-0000-4000-8000-000000000000"
    staged = {STAGED_WRITES: "true"}
    for properties in ({}, {STORAGE_OF: own}, staged, {**staged, STORAGE_OF: other}):
        catalog.drop_table(storage_name)
        catalog.create_table(storage_name, schema, properties=properties).append(pa.table({"id": [7], "amount": [7]}))
        assert [reason.cause for reason in views.freshness(name).reasons] == [Cause.NO_STATE]
        assert not views.load(name).reading(allow_stale_data=True).from_storage
        with pytest.raises(RefreshError, match=f"{market}.mv__storage"):
            views.load(name).refresh(engine)
        assert catalog.load_table(storage_name).scan().to_arrow().to_pylist() == [{"id": 7, "amount": 7}]
    views.load(name).drop()
    assert catalog.table_exists(storage_name) and not catalog.view_exists(name)


@pytest.mark.parametrize("layout", ["registered", "attached"])
def test_database_location_elsewhere_and_unusual_columns(catalog, views, engine, market, layout, tmp_path):
    home, name = f"{market}_home", (f"{market}_home", "mv")
    catalog.create_namespace(home, {"location": f"file:{tmp_path}/else where/ö"})
    try:
        views.create(name, f"SELECT id AS `a b`, amount AS `x.y`, shop AS `ö``` FROM {market}.sales", layout=layout,
                     partitioned_by=("`ö```", "x.y"))  # fmt: skip
        for number in (1, 2):
            views.load(name).refresh(engine)
            assert views.freshness(name).is_fresh
            stored = views.load(name).storage.scan().to_arrow()
            assert stored.column_names == ["a b", "x.y", "ö`"] and stored.num_rows == 2 + number
            catalog.load_table((market, "sales")).append(rows((9, "a", 9)))
        assert list((tmp_path / "else where" / "ö").rglob("*.parquet"))
        views.load(name).drop()
        assert not list(tmp_path.rglob("*.parquet"))
    finally:
        for _, left in catalog.list_tables(home):
            catalog.drop_table((home, left))
        catalog.drop_namespace(home)


def test_listing_among_hundreds_of_rows(catalog, views, engine, market, raw):
    """Hundreds of rows of each kind, and both readable and unreadable materialized views."""
    for number in range(120):
        raw.create_table(hive_row(market, f"n{number:03}", "VIRTUAL_VIEW"))
    for layout in LAYOUTS:
        views.create((market, f"mv_{layout}"), QUERY, layout=layout)
    views.load((market, "mv_table")).refresh(engine)
    put(catalog, (market, "mv_attached"), "{")
    listed = {item.name.name: (item.layout, item.freshness.verdict) for item in views.listing(market)}
    assert listed == {
        "mv_registered": (Layout.REGISTERED, Verdict.STALE),
        "mv_attached": (Layout.ATTACHED, Verdict.UNKNOWN),
        "mv_table": (Layout.TABLE, Verdict.FRESH),
    }
    shown = catalog.execute("SHOW MATERIALIZED VIEWS LIKE 'mv_a*'", database=market).rows
    assert len(shown) == 1 and f"{market}.mv_attached" in shown[0][4]
    with pytest.raises(HiveViewsError, match=f"{market}.mv_attached"):
        catalog.execute("DROP MATERIALIZED VIEW mv_attached", database=market)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("number", ["9" * 5_000, "9" * 400, "-1", "²", "1e3", ""])
def test_numbers_that_other_programs_write_are_not_trusted(catalog, views, engine, market, layout, number):
    """One snapshot with such a summary must not break the refreshes of this view, and those after it."""
    name = (market, "mv")
    views.create(name, QUERY, layout=layout)
    views.load(name).refresh(engine)
    keys = (STARTED_MS, TABLE_ROWS, COMPARED_ROWS, VERSION_ID, "total-position-deletes")
    views.load(name).readable_storage().append(
        rows((7, "a", 7)).select(["id", "amount"]), snapshot_properties=dict.fromkeys(keys, number)
    )
    catalog.load_table((market, "sales")).append(rows((8, "b", 8)))
    assert not views.freshness(name).is_fresh
    assert {item.name.name for item in views.listing(market)} == {"mv"}
    for mode in ("auto", "full", "auto"):
        explanation = views.load(name).explain(engine)
        action = views.load(name).refresh(engine, mode=mode)[-1].action
        assert action == (explanation.action if mode == "auto" else "full")
        assert views.freshness(name).is_fresh
    assert len(views.load(name).scan().to_arrow()) == 4
    views.load(name).refreshes()
