"""Sequence numbers on a real metastore: written, read back, and freshness decided from them, in each layout."""

from __future__ import annotations

import json

import pytest

from hive_views import HiveViewCatalog
from hive_views.materialized.freshness.verdict import Cause, Verdict
from hive_views.materialized.layouts.layout import Layout
from hive_views.materialized.state.refresh_state import REFRESH_STATE
from hive_views.materialized.state.sequence_numbers import SEQUENCE_IDS, SEQUENCE_STATE
from hive_views.spec.lineage_codec import SEQUENCE_LINEAGE
from hive_views.spec.staleness_policy import METADATA
from tests.integration.materialized.conftest import LAYOUTS, rows
from tests.integration.materialized.duck_engine import bag, query

QUERY = "SELECT b.id, h.city FROM big b JOIN shops h ON b.shop = h.shop"


@pytest.fixture(params=LAYOUTS)
def numbered(request, catalog: HiveViewCatalog, engine, market: str) -> tuple[str, str]:
    """A materialized view over a view and two tables, whose refresh state is by sequence numbers alone."""
    catalog.execute("CREATE VIEW big AS SELECT id, shop FROM sales WHERE amount > 1", database=market)
    name = (market, "mv")
    catalog.materialized.create(name, QUERY, layout=request.param, properties={SEQUENCE_IDS: "only"})
    catalog.materialized.load(name).refresh(engine)
    return name


def summary(catalog: HiveViewCatalog, name: tuple[str, str]) -> dict[str, str]:
    return catalog.materialized.load(name).snapshot.summary.additional_properties


def causes(catalog: HiveViewCatalog, name: tuple[str, str]) -> list[Cause]:
    return [reason.cause for reason in catalog.materialized.freshness(name).reasons]


def test_numbers_only_state_decides_freshness(catalog, engine, numbered):
    views, database = catalog.materialized, numbered[0]
    view = views.load(numbered)
    assert view.lineage_numbers() == {f"{database}.big": 1, f"{database}.sales": 2, f"{database}.shops": 3}
    tables = [catalog.load_table((database, name)).metadata for name in ("sales", "shops")]
    assert json.loads(summary(catalog, numbered)[SEQUENCE_STATE]) == {
        "1": 1,
        "2": tables[0].current_snapshot_id,
        "3": tables[1].current_snapshot_id,
    }
    recorded = json.dumps([summary(catalog, numbered), view.storage.metadata.properties.get(METADATA)])
    assert REFRESH_STATE not in summary(catalog, numbered)
    assert not any(str(table.table_uuid) in recorded for table in tables)
    assert views.freshness(numbered).is_fresh
    catalog.load_table((database, "sales")).append(rows((9, "a", 9)))
    assert causes(catalog, numbered) == [Cause.CHANGED]
    assert views.load(numbered).refresh(engine)[-1].action == "incremental"
    assert views.freshness(numbered).is_fresh
    stored = [tuple(row.values()) for row in views.load(numbered).storage.scan().to_arrow().to_pylist()]
    text = QUERY.replace("big", "(SELECT id, shop FROM sales WHERE amount > 1)")
    assert bag(stored) == query(catalog, text, {name: f"{database}.{name}" for name in ("sales", "shops")})


def test_changed_source_view_gets_its_sources_numbered(catalog, engine, numbered):
    views, database = catalog.materialized, numbered[0]
    catalog.create_table((database, "aside"), catalog.load_table((database, "sales")).schema())
    catalog.execute("CREATE OR REPLACE VIEW big AS SELECT id, shop FROM aside", database=database)
    assert set(causes(catalog, numbered)) == {Cause.VIEW_CHANGED, Cause.ADDED, Cause.REMOVED}
    views.load(numbered).refresh(engine)
    assert views.freshness(numbered).is_fresh
    numbers = views.load(numbered).lineage_numbers()
    assert numbers == {f"{database}.big": 1, f"{database}.sales": 2, f"{database}.shops": 3, f"{database}.aside": 4}
    assert sorted(json.loads(summary(catalog, numbered)[SEQUENCE_STATE])) == ["1", "3", "4"]


def test_replaced_view_with_same_name_and_version(catalog, numbered):
    database = numbered[0]
    catalog.drop_view((database, "big"))
    catalog.execute("CREATE VIEW big AS SELECT id, shop FROM sales WHERE amount > 7", database=database)
    assert catalog.load_view((database, "big")).current_version().version_id == 1, "else this proves nothing"
    assert causes(catalog, numbered) == [Cause.VIEW_CHANGED]


def test_lost_lineage_does_not_reuse_numbers(catalog, engine, numbered):
    views = catalog.materialized
    if views.load(numbered).layout is Layout.TABLE:
        with catalog.load_table(numbered).transaction() as transaction:
            transaction.remove_properties(SEQUENCE_LINEAGE)
    else:
        catalog.load_view(numbered).update().remove_properties(SEQUENCE_LINEAGE).commit()
    freshness = views.freshness(numbered)
    assert freshness.verdict is Verdict.UNKNOWN and causes(catalog, numbered) == [Cause.NO_STATE]
    views.load(numbered).refresh(engine)
    assert views.freshness(numbered).is_fresh
    assert sorted(views.load(numbered).lineage_numbers().values()) == [4, 5, 6], (
        "the state of an older snapshot stays unreadable"
    )


def test_numbers_with_uuids(catalog, engine, market):
    name = (market, "mv")
    catalog.materialized.create(name, "SELECT id FROM sales", properties={SEQUENCE_IDS: "true"})
    catalog.materialized.load(name).refresh(engine)
    state_summary = summary(catalog, name)
    [(number, entry)] = json.loads(state_summary[SEQUENCE_STATE]).items()
    [source] = json.loads(state_summary[REFRESH_STATE])["source-states"]
    assert (number, entry) == ("1", {"type": "table", "id": source["snapshot-id"], "uuid": source["uuid"]})
    assert catalog.materialized.load(name).lineage_numbers() == {f"{market}.sales": 1}
    catalog.rename_table((market, "sales"), (market, "renamed"))
    assert catalog.materialized.freshness(name).is_fresh, "UUIDs decide"
