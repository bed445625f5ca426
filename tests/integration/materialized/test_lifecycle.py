"""Materialized views in each layout: create, refresh, convert, time travel and drop, on a real metastore."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.types import LongType

from hive_views.errors import (
    InvalidPropertyError,
    NotMaterializedError,
    SourceDroppedError,
    StaleRowsError,
    TableAlreadyExistsError,
    UnsupportedMaterializedViewError,
    ViewAlreadyExistsError,
)
from hive_views.materialized.freshness.verdict import Cause, Verdict
from hive_views.materialized.layouts.attached import AttachedStorage
from hive_views.materialized.layouts.layout import Layout
from hive_views.materialized.properties import MAX_STALENESS_MS, TIME_TRAVEL
from hive_views.materialized.state.refresh_state import REFRESH_STATE
from hive_views.spec.staleness_policy import ALLOW_STALE_DATA, METADATA
from hive_views.spec.version_texts import define
from tests.integration.catalog.samples import hive_row
from tests.integration.materialized.conftest import LAYOUTS, rows
from tests.integration.materialized.duck_engine import compact

QUERY = "SELECT id, amount FROM sales WHERE amount > 1"


@pytest.fixture(params=LAYOUTS)
def stored(request, views, market, engine) -> tuple[str, str]:
    """A materialized view with rows, in each layout."""
    name = (market, "mv")
    views.create(name, QUERY, layout=request.param)
    views.load(name).refresh(engine)
    return name


def ids(views, name) -> list[int]:
    return sorted(row["id"] for row in views.load(name).storage.scan().to_arrow().to_pylist())


def test_unaware_readers_see_plain_view_or_table(catalog, views, stored, raw):
    row = raw.get_table(*stored)
    if views.load(stored).layout is Layout.TABLE:
        assert row.parameters["table_type"].upper() == "ICEBERG"
        assert catalog.load_table(stored).scan().to_arrow().num_rows == 3
    else:
        assert (row.tableType, row.parameters["table_type"].upper()) == ("VIRTUAL_VIEW", "ICEBERG-VIEW")
        assert "sales" in row.viewExpandedText


def test_rows_and_state_share_one_snapshot(views, stored):
    view = views.load(stored)
    assert len(view.storage.metadata.snapshots) == 1
    summary = view.snapshot.summary.additional_properties
    if view.layout is Layout.REGISTERED:
        assert json.loads(summary[REFRESH_STATE])["view-version-id"] == 1
    elif view.layout is Layout.TABLE:
        assert summary["version-id"] == "1" and json.loads(summary["base-tables"])
    else:
        attached = AttachedStorage.decode(view.storage.metadata.properties[METADATA])
        assert attached.current.sequence_number == view.snapshot.sequence_number


def test_registered_link_is_in_version(catalog, views, market):
    views.create((market, "mv"), QUERY)
    version = catalog.load_view((market, "mv")).current_version()
    assert version.model_extra["storage-table"] == {"namespace": [market], "name": "mv__storage"}
    with catalog.store.files.io("file:/").new_input(catalog.load_view((market, "mv")).metadata_location).open() as file:
        assert b"storage-table" in __import__("gzip").decompress(file.read())


def test_create_rejects_taken_names(catalog, views, market, stored):
    with pytest.raises((ViewAlreadyExistsError, TableAlreadyExistsError)):
        views.create(stored, QUERY)
    views.create((market, "other"), QUERY)
    catalog.rename_view((market, "other"), (market, "else_"))
    views.create((market, "other"), QUERY)
    assert views.load((market, "other")).storage_name.name.startswith("other__storage_")
    assert views.load((market, "else_")).storage_name.name == "other__storage"
    with pytest.raises(InvalidPropertyError):
        views.create((market, "third"), QUERY, partitioned_by=("nothing",))
    with pytest.raises(InvalidPropertyError):
        views.create((market, "third"), QUERY, layout="trino")
    assert not catalog.view_exists((market, "third"))


def test_drop_removes_storage(catalog, views, market, stored):
    places = [Path(views.load(stored).storage.metadata.location.removeprefix("file:"))]
    views.load(stored).drop()
    assert catalog.list_views(market) == []
    assert catalog.list_tables(market) == [(market, "sales"), (market, "shops")]
    assert [file for place in places for file in place.rglob("*.parquet")] == []


def test_storage_of_other_view_is_not_dropped(catalog, views, market):
    views.create((market, "mv"), QUERY)
    with catalog.load_table((market, "mv__storage")).transaction() as transaction:
        transaction.set_properties({"hive-views.storage-of": "00000000-0000-4000-8000-000000000000"})
    views.load((market, "mv")).drop()
    assert catalog.table_exists((market, "mv__storage"))


def test_conversion_to_plain_view_and_back_copies_nothing(catalog, views, engine, stored):
    if views.load(stored).layout is Layout.TABLE:
        with pytest.raises(NotMaterializedError):
            views.load(stored).to_plain_view()
        return
    before = views.load(stored).storage
    views.load(stored).to_plain_view()
    with pytest.raises(NotMaterializedError):
        views.load(stored)
    assert catalog.load_view(stored).current_version().model_extra.get("storage-table") is None
    view = views.from_plain_view(stored)
    assert view.storage.metadata.table_uuid == before.metadata.table_uuid
    assert view.snapshot.snapshot_id == before.metadata.current_snapshot_id
    assert views.freshness(stored).is_fresh


def test_conversion_after_drop_of_source_is_possible(catalog, views, market):
    """The new version has the texts of the current one: it defines nothing anew."""
    views.create((market, "mv"), QUERY)
    catalog.drop_table((market, "sales"))
    views.load((market, "mv")).to_plain_view()
    assert views.from_plain_view((market, "mv")).layout is Layout.REGISTERED


@pytest.mark.parametrize("layout", LAYOUTS)
def test_definition_over_dropped_source_is_rejected(catalog, views, market, raw, layout):
    definition = catalog.author((market, "mv"), QUERY, database=market)
    catalog.drop_table((market, "sales"))
    with pytest.raises(SourceDroppedError):
        views.create((market, "mv"), definition, layout=layout)
    assert raw.get_all_tables(market) == ["shops"]


def test_any_plain_view_can_be_materialized(catalog, views, engine, market):
    catalog.execute(f"CREATE VIEW plain AS {QUERY}", database=market)
    views.from_plain_view((market, "plain"))
    views.load((market, "plain")).refresh(engine)
    assert ids(views, (market, "plain")) == [1, 2, 3]


@pytest.mark.parametrize("layout", ["attached", "table"])
def test_later_format_version_is_rejected(catalog, views, market, layout):
    views.create((market, "mv"), QUERY, layout=layout)
    document = json.dumps({"format-version": 2, "storage-table-location": "x", "associated-view-location": "x"})
    if layout == "attached":
        catalog.load_view((market, "mv")).update().set_properties({METADATA: document}).commit()
    else:
        with catalog.load_table((market, "mv")).transaction() as transaction:
            transaction.set_properties({METADATA: document})
    with pytest.raises(UnsupportedMaterializedViewError):
        views.load((market, "mv"))
    [listed] = views.listing(market)
    assert listed.freshness.verdict is Verdict.UNKNOWN


def test_freshness_of_unparsable_text_uses_recorded_state(catalog, views, engine, market):
    views.create((market, "mv"), QUERY)
    views.load((market, "mv")).refresh(engine)
    view = catalog.load_view((market, "mv"))
    version = view.current_version()
    foreign = define("FROM sales |> WHERE ???", dialect="pipes", default_namespace=(market,), summary=version.summary)
    created = foreign.model_copy(update={"__pydantic_extra__": None})
    view.update().replace_version(created, view.schema(), may_lose_dialects=True).commit()
    storage = views.load((market, "mv")).storage
    state = json.loads(storage.metadata.current_snapshot().summary.additional_properties[REFRESH_STATE])
    del state["hive-views.definition"]  # a key of this package: another engine's refresh has none
    state["view-version-id"] = catalog.load_view((market, "mv")).current_version().version_id
    storage.append(rows((1, "a", 1)).select(["id", "amount"]), snapshot_properties={REFRESH_STATE: json.dumps(state)})
    assert views.freshness((market, "mv")).is_fresh
    catalog.load_table((market, "sales")).append(rows((9, "a", 9)))
    [reason] = views.freshness((market, "mv")).reasons
    assert reason.cause is Cause.CHANGED


def test_reading_by_freshness_grace_and_permission(catalog, views, engine, stored):
    assert views.load(stored).reading().from_storage
    catalog.load_table((stored[0], "sales")).append(rows((9, "a", 9)))
    reading = views.load(stored).reading()
    assert not reading.from_storage and "a table changed" in reading.why
    assert views.load(stored).reading(allow_stale_data=True).from_storage
    grace = views.load(stored).reading(max_staleness_ms=3_600_000)
    assert grace.from_storage and grace.freshness.verdict is Verdict.WITHIN_GRACE


@pytest.mark.parametrize("layout", LAYOUTS)
def test_storage_tables_can_be_hidden_from_listings(views, open_catalog, market, layout):
    views.create((market, "mv"), QUERY, layout=layout)
    hiding = open_catalog({"hive-views.hide-storage-tables": "true"})
    hiding.create_table((market, "x__storage"), views.load((market, "mv")).storage.schema())  # not a storage table
    visible = {"sales", "shops", "x__storage", *(["mv"] if layout == "table" else [])}
    assert {name for _, name in hiding.list_tables(market)} == visible


def test_scan_reads_rows_that_may_answer_queries(catalog, views, engine, stored):
    assert sorted(views.load(stored).scan().to_arrow().column("id").to_pylist()) == [1, 2, 3]
    scan = views.load(stored).scan(row_filter="id > 1", selected_fields=("id",))
    checked = views.load(stored).reading().snapshot_id
    catalog.load_table((stored[0], "sales")).append(rows((9, "a", 9)))
    with pytest.raises(StaleRowsError, match="a table changed") as caught:
        views.load(stored).scan()
    assert caught.value.identifier == ".".join(stored)
    views.load(stored).refresh(engine)
    assert scan.snapshot_id == checked, "the snapshot that was checked is read, also after a refresh"
    assert sorted(scan.to_arrow().to_pylist(), key=str) == [{"id": 2}, {"id": 3}]
    connection = views.load(stored).scan().to_duckdb("totals")
    assert connection.sql("SELECT count(*) FROM totals").fetchall() == [(4,)]


def test_scan_refuses_rows_of_another_definition(views, stored):
    views.load(stored).replace("SELECT id FROM sales")
    with pytest.raises(StaleRowsError):
        views.load(stored).scan(allow_stale_data=True)


@pytest.mark.parametrize("layout", ["registered", "attached"])
def test_reading_uses_settings_of_view(catalog, views, engine, market, layout):
    name = (market, "mv")
    views.create(name, QUERY, layout=layout, properties={ALLOW_STALE_DATA: "true"})
    assert not views.load(name).reading().from_storage, "never refreshed: there is nothing to read"
    views.load(name).refresh(engine)
    catalog.load_table((market, "sales")).append(rows((9, "a", 9)))
    assert views.load(name).reading().from_storage
    catalog.load_view(name).update().set_properties({MAX_STALENESS_MS: "3600000"}).commit()
    assert views.freshness(name).verdict is Verdict.WITHIN_GRACE


def test_time_travel_over_refreshes(catalog, views, engine, market):
    name = (market, "mv")
    views.create(name, QUERY, layout="attached", properties={TIME_TRAVEL: "true"})
    for number in (7, 8):
        views.load(name).refresh(engine)
        catalog.load_table((market, "sales")).append(rows((number, "a", number)))
    first, second = views.load(name).refreshes()
    storage = views.load(name).storage
    assert storage.scan(snapshot_id=first.snapshot_id).to_arrow().num_rows == 3
    assert storage.scan(snapshot_id=second.snapshot_id).to_arrow().num_rows == 4
    assert len(AttachedStorage.decode(storage.metadata.properties[METADATA]).refreshes) == 2


def test_missing_storage_is_unknown(catalog, views, engine, market):
    views.create((market, "mv"), QUERY)
    views.load((market, "mv")).refresh(engine)
    catalog.drop_table((market, "mv__storage"))
    freshness = views.freshness((market, "mv"))
    assert freshness.verdict is Verdict.UNKNOWN and freshness.reasons[0].cause is Cause.STORAGE
    assert not views.load((market, "mv")).reading(allow_stale_data=True).from_storage
    views.load((market, "mv")).drop()


def test_compaction_of_the_storage_keeps_its_state(views, stored):
    compact(views.load(stored).storage)
    assert views.freshness(stored).is_fresh


def test_trino_materialized_views_are_read(catalog, views, raw, market):
    sales = catalog.load_table((market, "sales"))
    storage = catalog.create_table((market, "st_1"), sales.schema())
    storage.append(
        sales.scan().to_arrow(),
        snapshot_properties={"dependsOnTables": f"{market}.sales={sales.metadata.current_snapshot_id}"},
    )
    document = {"originalSql": "SELECT * FROM sales", "catalog": "iceberg", "schema": market, "columns": [],
                "gracePeriod": "0.00s"}  # fmt: skip
    row = hive_row(market, "trinos", "VIRTUAL_VIEW")
    text = base64.b64encode(json.dumps(document).encode()).decode()
    row.viewOriginalText = f"/* Presto Materialized View: {text} */"
    row.viewExpandedText = "/* Presto Materialized View */"
    row.parameters = {
        "presto_view": "true",
        "comment": "Presto Materialized View",
        "metadata_location": catalog.load_table((market, "st_1")).metadata_location,
    }
    raw.create_table(row)
    assert views.trino_definition((market, "trinos")).sql == "SELECT * FROM sales"
    assert views.trino_storage((market, "trinos")) == row.parameters["metadata_location"]
    assert views.freshness((market, "trinos")).is_fresh
    sales.append(rows((9, "a", 9)))
    freshness = views.freshness((market, "trinos"))
    assert freshness.verdict is Verdict.STALE and freshness.reasons[0].cause is Cause.CHANGED
    assert [(item.name.name, item.layout) for item in views.listing(market)] == [("trinos", Layout.TRINO)]


def test_readded_column_is_read_in_current_state(catalog, views, engine, market):
    views.create((market, "mv"), "SELECT id, amount FROM sales")
    views.load((market, "mv")).refresh(engine)
    with catalog.load_table((market, "sales")).update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("amount")
    with catalog.load_table((market, "sales")).update_schema() as update:
        update.add_column("amount", LongType())
    [reason] = views.freshness((market, "mv")).reasons
    assert reason.cause is Cause.SCHEMA, "no snapshot was made, and the rows are others"
    views.load((market, "mv")).refresh(engine)
    stored = views.load((market, "mv")).storage.scan().to_arrow().to_pylist()
    assert {row["amount"] for row in stored} == {None}
    # By names: the ids of `rows` are those that the columns had.
    catalog.load_table((market, "sales")).append(pa.table({"id": [9], "shop": ["a"], "amount": [9]}))
    views.load((market, "mv")).refresh(engine)
    stored = views.load((market, "mv")).storage.scan().to_arrow().to_pylist()
    assert sorted((row["id"], row["amount"]) for row in stored if row["amount"]) == [(9, 9)] and len(stored) == 4


def test_tables_that_exchange_names_are_stale(catalog, views, engine, market):
    catalog.create_table((market, "old_sales"), catalog.load_table((market, "sales")).schema()).append(
        rows((7, "z", 7))
    )
    views.create((market, "mv"), "SELECT id FROM sales UNION ALL SELECT id + 100 AS id FROM old_sales")
    views.load((market, "mv")).refresh(engine)
    assert views.freshness((market, "mv")).is_fresh
    for before, now in (("sales", "aside"), ("old_sales", "sales"), ("aside", "old_sales")):
        catalog.rename_table((market, before), (market, now))
    freshness = views.freshness((market, "mv"))
    assert [reason.cause for reason in freshness.reasons] == [Cause.REPLACED, Cause.REPLACED]
    views.load((market, "mv")).refresh(engine)
    assert ids(views, (market, "mv")) == [7, 101, 102, 103]
    assert views.freshness((market, "mv")).is_fresh


def test_cascade_keeps_definitions_of_dependents(catalog, views, market, stored):
    catalog.execute(f"CREATE VIEW over AS SELECT * FROM {stored[1]}", database=market)
    before = catalog.load_view((market, "over"))
    report = views.load(stored).drop(behavior="cascade")
    (step,) = [step for step in report.steps if step.name.name == "over"]
    assert step.metadata_location == before.metadata_location
    assert catalog.register_view((market, "over"), step.metadata_location).expanded_text == before.expanded_text
