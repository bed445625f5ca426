"""Materialized views over materialized views: freshness follows the definition of the source, not its stored rows."""

from __future__ import annotations

import pytest

from hive_views.errors import RefreshError
from hive_views.materialized.freshness.verdict import Cause, Verdict
from hive_views.materialized.properties import READ_STORED_ROWS
from hive_views.materialized.refresh.request import StagingRequest
from hive_views.spec.session_settings import ANSI, TIME_ZONE, encode
from tests.integration.materialized.conftest import SAMPLED_LAYOUTS, amounts, rows
from tests.integration.materialized.duck_engine import DuckEngine


@pytest.mark.parametrize("between", ["a plain view", "nothing"])
@pytest.mark.parametrize("layout", SAMPLED_LAYOUTS)
def test_view_is_stale_if_transitive_source_changes(catalog, views, engine, market, layout, between):
    child, parent, reads = (market, "child"), (market, "parent"), "child"
    views.create(child, "SELECT id, amount FROM sales WHERE amount > 5", layout=layout)
    views.load(child).refresh(engine)
    if between == "a plain view":
        catalog.execute("CREATE VIEW plain AS SELECT * FROM child", database=market)
        reads = "plain"
    views.create(parent, f"SELECT amount FROM {reads}", layout=layout)
    views.load(parent).refresh(engine)
    assert amounts(views, parent) == [10, 20] and views.freshness(parent).is_fresh
    catalog.load_table((market, "sales")).append(rows((4, "a", 40)))
    assert [views.freshness(name).verdict for name in (child, parent)] == [Verdict.STALE, Verdict.STALE]
    views.load(parent).refresh(engine)
    assert amounts(views, parent) == [10, 20, 40], "not of the child's stored rows, which are stale"
    assert views.freshness(parent).is_fresh and not views.freshness(child).is_fresh
    views.load(child).refresh(engine)
    assert views.freshness(parent).is_fresh, "stored rows of the child are none of its definition"
    views.load(child).replace("SELECT id, amount FROM sales WHERE amount > 15")
    assert [reason.cause for reason in views.freshness(parent).reasons] == [Cause.VIEW_CHANGED]
    catalog.load_table((market, "sales")).append(rows((5, "b", 50)))
    done = views.load(parent).refresh(engine, cascade=True)
    assert [(report.name.name, report.action) for report in done] == [("child", "full"), ("parent", "full")]
    assert amounts(views, child) == amounts(views, parent) == [20, 40, 50]
    assert views.freshness(child).is_fresh and views.freshness(parent).is_fresh


@pytest.mark.parametrize("layout", SAMPLED_LAYOUTS)
def test_renamed_or_missing_source(catalog, views, engine, market, layout):
    views.create((market, "child"), "SELECT id, amount FROM sales", layout=layout)
    views.create((market, "parent"), "SELECT amount FROM child")
    views.load((market, "parent")).refresh(engine)
    assert views.freshness((market, "parent")).is_fresh
    views.load((market, "child")).drop()
    assert Cause.GONE in [reason.cause for reason in views.freshness((market, "parent")).reasons]
    views.create((market, "child"), "SELECT id, amount FROM sales", layout=layout)
    assert Cause.REPLACED in [reason.cause for reason in views.freshness((market, "parent")).reasons]
    views.load((market, "parent")).refresh(engine)
    assert views.freshness((market, "parent")).is_fresh and amounts(views, (market, "parent")) == [5, 10, 20]


TOKYO = {TIME_ZONE: "Asia/Tokyo", ANSI: "true"}
UTC = {TIME_ZONE: "UTC", ANSI: "true"}


def plain_view(catalog, name: tuple[str, str], text: str, settings: dict[str, str]) -> None:
    """A plain view as a session with some settings defines it."""
    made = catalog.author(name, text, database=name[0])
    version = made.version.model_copy(update={"summary": {**made.version.summary, **encode(settings)}})
    catalog.create_view(name, made.schema, version)


@pytest.mark.parametrize("layout", SAMPLED_LAYOUTS)
def test_refresh_under_conflicting_settings_is_rejected(catalog, views, market, layout):
    name = (market, "mv")
    plain_view(catalog, (market, "low"), "SELECT id, amount FROM sales", UTC)
    catalog.execute("CREATE VIEW high AS SELECT * FROM low", database=market)
    views.create(name, "SELECT amount FROM high", layout=layout)
    message = rf"{market}\.low was defined under {TIME_ZONE}=UTC, and this refresh runs under {TIME_ZONE}=Asia/Tokyo"
    for mode in ("auto", "full"):
        with pytest.raises(RefreshError, match=message):
            views.load(name).refresh(DuckEngine(catalog, TOKYO), mode=mode)
    assert not views.load(name).reading().from_storage
    views.load(name).refresh(DuckEngine(catalog, {**UTC, ANSI: "TRUE"}))
    assert views.freshness(name).is_fresh and views.load(name).reading(allow_stale_data=True).from_storage
    catalog.load_table((market, "sales")).append(rows((4, "a", 40)))
    with pytest.raises(RefreshError, match=message):
        views.load(name).refresh(DuckEngine(catalog, TOKYO))
    assert views.load(name).refresh(DuckEngine(catalog, UTC))[-1].action == "incremental", "TRUE is true"
    assert amounts(views, name) == [5, 10, 20, 40] and views.freshness(name).is_fresh


def test_fresh_rows_of_other_settings_are_recomputed(catalog, views, market):
    """They would not answer queries in the session that runs the refresh."""
    name = (market, "mv")
    views.create(name, "SELECT id, amount FROM sales")
    views.load(name).refresh(DuckEngine(catalog, UTC))
    assert views.load(name).refresh(DuckEngine(catalog, {**UTC, ANSI: "TRUE"}))[-1].action == "unchanged"
    report = views.load(name).refresh(DuckEngine(catalog, TOKYO))[-1]
    assert report.action == "full" and f"{TIME_ZONE}=UTC" in report.why
    assert views.load(name).reading().settings[TIME_ZONE] == "Asia/Tokyo" and views.freshness(name).is_fresh


def nested(catalog, views, market, layout, *, settings=None) -> tuple[tuple[str, str], DuckEngine]:
    """A refreshed materialized view `low`, and `top` over it, which may read its stored rows."""
    views.create((market, "low"), "SELECT id, shop, amount FROM sales WHERE amount > 1", layout=layout)
    views.load((market, "low")).refresh(DuckEngine(catalog, settings))
    catalog.execute("CREATE VIEW plain AS SELECT * FROM low", database=market)
    items = "low.shop, count(*) AS n, sum(p.amount) AS amount"
    query = f"SELECT {items} FROM low JOIN plain p ON low.id = p.id GROUP BY low.shop"
    views.create((market, "top"), query, layout=layout, properties={READ_STORED_ROWS: "true"})
    return (market, "top"), DuckEngine(catalog, settings)


def tables_read(engine: DuckEngine) -> set[str]:
    return {item.table.name for item in engine.works[-1].inputs}


@pytest.mark.parametrize(("layout", "reads"), [("registered", "low__storage"), ("table", "low"), ("attached", "sales")])
def test_full_refresh_reads_fresh_stored_rows(catalog, views, market, layout, reads):
    top, engine = nested(catalog, views, market, layout)
    explained = views.load(top).explain(engine)
    report = views.load(top).refresh(engine)[-1]
    assert tables_read(engine) == {reads} and explained.plans[0].why == report.why
    assert (f"from the stored rows of {market}.low" in report.why) == (layout != "attached")
    assert amounts(views, top) == [15, 20] and views.freshness(top).is_fresh
    catalog.load_table((market, "sales")).append(rows((4, "c", 40)))
    assert views.freshness(top).verdict is Verdict.STALE, "the recorded state is that of the tables"
    views.load(top).replace("SELECT amount FROM low")
    assert views.load(top).refresh(engine)[-1].action == "full"
    assert tables_read(engine) == {"sales"} and amounts(views, top) == [5, 10, 20, 40], "the rows of low are stale"
    views.load((market, "low")).refresh(engine)
    views.load(top).replace("SELECT amount FROM low WHERE amount > 5")
    views.load(top).refresh(engine, mode="full")
    assert tables_read(engine) == {"sales"}, "FULL relies on no stored rows"


def test_stored_rows_of_other_settings_are_not_read(catalog, views, market):
    top, _ = nested(catalog, views, market, "registered", settings=UTC)
    for settings in (TOKYO, {}):
        engine = DuckEngine(catalog, settings)
        views.load(top).refresh(engine)
        assert tables_read(engine) == {"sales"}
        views.load(top).replace("SELECT amount FROM low")


class _ExpiredRows(DuckEngine):
    """The stored rows of `low` expire before they are read."""

    def stage(self, work: StagingRequest) -> int:
        if any(item.table.name == "low__storage" for item in work.inputs):
            raise RefreshError(str(work.target.table), "no such snapshot")
        return super().stage(work)


def test_tables_are_read_if_stored_rows_cannot_be(catalog, views, market):
    top, _ = nested(catalog, views, market, "registered")
    engine = _ExpiredRows(catalog)
    report = views.load(top).refresh(engine)[-1]
    assert report.action == "full" and "no such snapshot" in report.why
    assert tables_read(engine) == {"sales"} and amounts(views, top) == [15, 20] and views.freshness(top).is_fresh
