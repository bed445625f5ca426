"""Selecting and refreshing many materialized views: order, failures, target lags, requests to the metastore."""

from __future__ import annotations

from collections import Counter

import pytest

from hive_views.errors import InvalidPropertyError, RefreshError
from hive_views.identifiers import ViewName
from hive_views.materialized.refresh.request import StagingRequest
from tests.integration.materialized.conftest import LAYOUTS, rows
from tests.integration.materialized.duck_engine import DuckEngine

HOUR = 3_600_000


class FailingEngine(DuckEngine):
    """Fails for one view."""

    def __init__(self, catalog, fails: str, error: str = "disk full") -> None:
        super().__init__(catalog)
        self.fails = fails
        self.error = error

    def stage(self, work: StagingRequest) -> int:
        if work.target.table.name.startswith(self.fails):
            raise RefreshError(str(work.target.table), self.error)
        return super().stage(work)


@pytest.fixture
def views(catalog, market):
    """low and other read sales; mid reads low; top reads mid and other, through a plain view."""
    views = catalog.materialized
    lag = {"hive-views.target-lag": "downstream"}
    views.create((market, "low"), "SELECT id, amount FROM sales", properties=lag)
    views.create((market, "other"), "SELECT id, shop FROM sales", layout="table")
    views.create((market, "mid"), "SELECT id, amount FROM low WHERE amount > 1", properties=lag, layout="attached")
    catalog.execute("CREATE VIEW plain AS SELECT id, amount FROM mid", database=market)
    top = "SELECT p.amount, o.shop FROM plain p JOIN other o ON p.id = o.id"
    views.create((market, "top"), top, properties={"hive-views.target-lag": "1 hour"})
    return views


def names(market: str, text: str) -> list[ViewName]:
    return [ViewName(market, name) for name in text.split()]


def test_selection_and_order(catalog, views, market):
    assert views.select([market]) == names(market, "low mid other top")
    assert views.select([market], pattern="*o*") == names(market, "low other top")
    assert views.select([market], pattern=f"{market}.mid") == names(market, "mid")
    assert views.select([market], pattern="mid", upstream=True) == names(market, "low mid")
    assert views.select([market], pattern="mid", downstream=True) == names(market, "mid top")
    assert set(views.select()) >= set(names(market, "low mid other top"))
    engine = DuckEngine(catalog)
    outcomes = views.refresh_many([(market, "top"), (market, "low"), (market, "mid")], engine, parallel=3)
    assert [outcome.name.name for outcome in outcomes] == ["low", "mid", "top"]
    assert views.select([market], stale=True) == names(market, "other")


def test_due_by_target_lag(catalog, views, market):
    assert views.select([market], due=True) == names(market, "low mid top"), "never refreshed"
    views.load((market, "top")).refresh(DuckEngine(catalog), cascade=True)
    refreshed_ms = views.freshness((market, "top")).refreshed_ms
    assert views.select([market], due=True, now_ms=refreshed_ms + 2 * HOUR) == [], "fresh"
    catalog.load_table((market, "sales")).append(rows((9, "a", 9)))
    assert views.select([market], due=True, now_ms=refreshed_ms + HOUR - 1) == []
    assert views.select([market], due=True, now_ms=refreshed_ms + HOUR) == names(market, "low mid top")
    with pytest.raises(InvalidPropertyError, match="10 minutes"):
        views.load((market, "top")).set_properties({"hive-views.target-lag": "soon"})


def test_failure_skips_only_dependents(catalog, views, market):
    everything = [name.identifier for name in views.select([market])]
    outcomes = views.refresh_many(everything, FailingEngine(catalog, "low"), parallel=3)
    actions = {outcome.name.name: (outcome.action, outcome.why) for outcome in outcomes}
    assert actions["other"][0] == "full" and "disk full" in actions["low"][1]
    assert actions["mid"] == actions["top"] == ("skipped", f"the refresh of {market}.low failed")
    outcomes = views.refresh_many(everything, DuckEngine(catalog), parallel=3)
    assert Counter(outcome.action for outcome in outcomes) == {"full": 3, "unchanged": 1}


def test_failed_cascade_reports_completed_refreshes(catalog, views, market):
    with pytest.raises(RefreshError, match="disk full") as caught:
        views.load((market, "top")).refresh(FailingEngine(catalog, "top"), cascade=True)
    assert sorted(caught.value.completed) == [f"{market}.{name}: full" for name in ("low", "mid", "other")]


class _DroppingEngine(DuckEngine):
    """The view is dropped while its rows are computed, which fails."""

    def __init__(self, catalog, view: tuple[str, str]) -> None:
        super().__init__(catalog)
        self._view = view

    def stage(self, work: StagingRequest) -> int:
        self.catalog.materialized.load(self._view).drop()
        raise RefreshError(str(work.target.table), "a file is gone")


class _FailingConcurrently(FailingEngine):
    """Another refresh of the same view fails while this one computes its rows."""

    def stage(self, work: StagingRequest) -> int:
        staged = DuckEngine.stage(self, work)
        with pytest.raises(RefreshError, match="out of memory"):
            failing = FailingEngine(self.catalog, "mv", "out of memory")
            self.catalog.materialized.load((work.target.table.database, "mv")).refresh(failing)
        return staged


@pytest.mark.parametrize("layout", LAYOUTS)
def test_failures_are_part_of_the_history(catalog, engine, market, layout):
    views, name = catalog.materialized, (market, "mv")
    views.create(name, "SELECT id, amount FROM sales", layout=layout, properties={"team": "bi"})
    versions = views.load(name).metadata.versions
    for _ in range(2):
        with pytest.raises(RefreshError, match="disk full"):
            views.load(name).refresh(FailingEngine(catalog, "mv"))
    [failure] = views.load(name).failed_refreshes()
    assert failure.error == "disk full" and failure.seconds >= 0
    [listed] = [item for item in views.overview([market]) if item.name.name == "mv"]
    assert listed.failure == failure and listed.to_json()["failure"] == failure
    view = views.load(name)
    assert view.metadata.versions == versions and view.properties["team"] == "bi"

    report = views.load(name).refresh(_FailingConcurrently(catalog, "mv"))[-1]
    assert report.action == "full" and views.freshness(name).is_fresh, "a failure disturbs no other refresh"
    views.load(name).refresh(engine, mode="full")
    [listed] = [item for item in views.overview([market]) if item.name.name == "mv"]
    assert listed.failure is None
    with pytest.raises(RefreshError, match="cannot be refreshed incrementally"):
        catalog.load_table((market, "sales")).delete("id = 1")
        views.load(name).refresh(engine, mode="incremental")
    assert [item.error.partition(":")[0] for item in views.load(name).failed_refreshes()] == [
        "disk full",
        "out of memory",
        "it cannot be refreshed incrementally",
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_failure_that_cannot_be_recorded_is_reported(catalog, market, layout, caplog):
    name = (market, "mv")
    catalog.materialized.create(name, "SELECT id, amount FROM sales", layout=layout)
    with pytest.raises(RefreshError, match="a file is gone"):
        catalog.materialized.load(name).refresh(_DroppingEngine(catalog, name))
    assert f"The failed refresh of {market}.mv could not be recorded" in caplog.text
    assert catalog.store.get_row(ViewName(*name)) is None


def test_listing_shares_reads(catalog, open_catalog, proxy, market):
    for number in range(30):
        catalog.materialized.create((market, f"v{number}"), "SELECT id FROM sales")
    views = open_catalog({"uri": proxy.uri}).materialized
    for _ in range(2):
        assert len(views.listing(market)) == 30
    requests = Counter(proxy.methods)
    assert not {"get_table", "get_table_req"} & requests.keys()
    assert 0 < sum(count for method, count in requests.items() if method.startswith("get_table_objects")) <= 6
