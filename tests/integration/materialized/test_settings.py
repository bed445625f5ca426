"""Settings of materialized views: in each layout the value that was set last is effective, however it was set."""

from __future__ import annotations

import json

import pytest

from hive_views.errors import InvalidPropertyError, SqlError
from hive_views.materialized.freshness.verdict import Verdict
from hive_views.materialized.layouts.layout import STAGED_WRITES, Layout
from hive_views.materialized.properties import MAX_STALENESS_MS, REPEATABLE, TIME_TRAVEL
from hive_views.materialized.redefine import swap_definition
from hive_views.metastore.commit.view_commit import commit
from hive_views.metastore.queries import load_view
from hive_views.spec.changes import SetProperties, apply
from hive_views.spec.staleness_policy import ALLOW_STALE_DATA, METADATA
from tests.integration.materialized.conftest import LAYOUTS, rows


@pytest.fixture
def run(catalog, market):
    return lambda text: catalog.execute(text, database=market)


def make(views, run, engine, market, layout, more="") -> tuple[str, str]:
    """A materialized view whose rows are stale."""
    run(f"CREATE MATERIALIZED VIEW mv TBLPROPERTIES ('hive-views.layout' = '{layout}'{more}) AS SELECT id FROM sales")
    views.load((market, "mv")).refresh(engine)
    engine.catalog.load_table((market, "sales")).append(rows((9, "a", 9)))
    return market, "mv"


def set_by_another(catalog, name, updates, removals=()) -> None:
    """Set properties as a program without support for materialized views does: Spark's ALTER VIEW, ALTER TABLE."""
    if catalog.materialized.load(name).layout is Layout.TABLE:
        with catalog.load_table(name).transaction() as transaction:
            transaction.set_properties(updates)
            transaction.remove_properties(*removals)
        return
    base = load_view(catalog.store, catalog.materialized.load(name).name)
    properties = {key: value for key, value in base.metadata.properties.items() if key not in removals}
    changed = base.metadata.model_copy(update={"properties": {**properties, **updates}})
    commit(catalog.store, base.row.name, base, changed)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_last_set_value_is_effective(catalog, views, run, engine, market, layout):
    name = make(views, run, engine, market, layout, f", '{ALLOW_STALE_DATA}' = 'true', 'team' = 'bi'")
    assert views.load(name).reading().from_storage
    assert run(f"ALTER MATERIALIZED VIEW mv SET TBLPROPERTIES ('{ALLOW_STALE_DATA}' = 'false')").kind == "changed"
    assert not views.load(name).reading().from_storage
    assert run(f"ALTER MATERIALIZED VIEW mv SET TBLPROPERTIES ('{ALLOW_STALE_DATA}' = 'false')").kind == "unchanged"
    set_by_another(catalog, name, {ALLOW_STALE_DATA: "true"})
    assert views.load(name).reading().from_storage
    views.load(name).set_properties({"more": "1"})
    assert views.load(name).reading().from_storage, "another commit of this package does not change it"
    set_by_another(catalog, name, {MAX_STALENESS_MS: "3600000"}, [ALLOW_STALE_DATA])
    assert views.freshness(name).verdict is Verdict.WITHIN_GRACE and not views.load(name).allow_stale_data
    run(f"ALTER MATERIALIZED VIEW mv UNSET TBLPROPERTIES ('{MAX_STALENESS_MS}')")
    assert views.freshness(name).verdict is Verdict.STALE
    with pytest.raises(SqlError, match="has no property"):
        run(f"ALTER MATERIALIZED VIEW mv UNSET TBLPROPERTIES ('{MAX_STALENESS_MS}')")
    run("CREATE OR REPLACE MATERIALIZED VIEW mv TBLPROPERTIES ('hive-views.max-staleness-ms' = '7') AS "
        "SELECT id + 1 AS id FROM sales")  # fmt: skip
    view = views.load(name)
    assert view.max_staleness_ms == 7 and view.properties["team"] == "bi" and view.properties["more"] == "1"
    views.load(name).refresh(engine)
    views.load(name).set_properties(removals=[MAX_STALENESS_MS, "never there"])
    assert views.load(name).max_staleness_ms is None and views.freshness(name).is_fresh


def test_field_of_draft_and_property_agree(catalog, views, run, engine, market):
    name = make(views, run, engine, market, "attached", f", '{ALLOW_STALE_DATA}' = 'true'")

    def field() -> object:
        return json.loads(catalog.load_view(name).metadata.properties[METADATA]).get("allow-stale-data")

    assert field() is True
    catalog.load_view(name).update().set_properties({ALLOW_STALE_DATA: "false"}).commit()
    assert field() is False
    set_by_another(catalog, name, {ALLOW_STALE_DATA: "true"})
    assert field() is False, "else this proves nothing"
    views.load(name).refresh(engine)
    assert field() is True
    document = json.loads(catalog.load_view(name).metadata.properties[METADATA])
    set_by_another(catalog, name, {METADATA: json.dumps({**document, "allow-stale-data": False})})
    assert not views.load(name).allow_stale_data, "an engine that supports the draft changed its field"
    views.load(name).to_plain_view()
    catalog.load_view(name).update().set_properties({ALLOW_STALE_DATA: "true"}).commit()
    views.from_plain_view(name)
    assert views.load(name).allow_stale_data and field() is True
    run(f"ALTER MATERIALIZED VIEW mv UNSET TBLPROPERTIES ('{ALLOW_STALE_DATA}')")
    assert not views.load(name).allow_stale_data and field() is None


def test_settings_of_table_layout_are_table_properties(catalog, views, run, engine, market):
    name = make(views, run, engine, market, "table", ", 'format-version' = '2', 'comment' = 'sold'")
    assert catalog.load_table(name).properties["comment"] == "sold"
    view = views.load(name)
    old = apply(view.metadata, [SetProperties({ALLOW_STALE_DATA: "true"})], identifier="mv", now_ms=0)
    swap_definition(catalog.store, view, old, SetProperties())
    assert views.load(name).reading().from_storage, "as an earlier release kept it"
    run(f"ALTER MATERIALIZED VIEW mv UNSET TBLPROPERTIES ('{ALLOW_STALE_DATA}')")
    assert not views.load(name).reading().from_storage
    with pytest.raises(SqlError, match="ALTER TABLE"):
        run("ALTER MATERIALIZED VIEW mv RENAME TO other")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_invalid_and_reserved_properties_are_rejected(catalog, views, run, market, layout):
    run(f"CREATE MATERIALIZED VIEW mv TBLPROPERTIES ('hive-views.layout' = '{layout}') AS SELECT id FROM sales")
    before = views.load((market, "mv")).properties
    for key, value in (
        (ALLOW_STALE_DATA, "yes"),
        (MAX_STALENESS_MS, "1 hour"),
        (MAX_STALENESS_MS, "9" * 30),
        (REPEATABLE, ""),
        (TIME_TRAVEL, "on"),
        ("hive-views.sequence-ids", "perhaps"),
        (METADATA, "{}"),
        (STAGED_WRITES, "false"),
    ):
        with pytest.raises(InvalidPropertyError):
            views.create((market, "other"), "SELECT id FROM sales", layout=layout, properties={key: value})
        with pytest.raises(InvalidPropertyError):
            views.load((market, "mv")).replace("SELECT id FROM sales", properties={key: value})
        with pytest.raises(SqlError, match=key):
            run(f"ALTER MATERIALIZED VIEW mv SET TBLPROPERTIES ('{key}' = '{value}')")
    with pytest.raises(SqlError, match=METADATA):
        run(f"ALTER MATERIALIZED VIEW mv UNSET TBLPROPERTIES IF EXISTS ('{METADATA}')")
    assert views.load((market, "mv")).properties == before
    assert [name for _, name in catalog.list_tables(market)].count("other") == 0
