"""The page of all materialized views."""

from __future__ import annotations

from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.verdict import Cause, Freshness, StalenessReason, Verdict
from hive_views.materialized.layouts.layout import Layout
from hive_views.materialized.overview import overview_page
from hive_views.materialized.refresh.failures import FailedRefresh
from hive_views.materialized.results import ListedView, PastRefresh
from hive_views.materialized.state.refresh_state import RefreshState

LOW, MIDDLE, TOP = (ViewName("db", name) for name in ("low", "middle", "<b>top</b>"))
REFRESH = PastRefresh(
    snapshot_id=1,
    timestamp_ms=2,
    state=RefreshState(1, (), 0),
    action="keys",
    why="rows were changed",
    seconds=1.5,
    rows=3000,
    written=7,
    bytes=100,
)
STATUSES = (
    ListedView(
        name=LOW,
        layout=Layout.REGISTERED,
        freshness=Freshness(Verdict.FRESH),
        last=REFRESH,
        target_lag="1 hour",
        reads=(),
    ),
    ListedView(
        name=MIDDLE,
        layout=Layout.TABLE,
        freshness=Freshness(Verdict.STALE, (StalenessReason(Cause.CHANGED, LOW, "snapshot 1", "snapshot 2"),)),
        last=None,
        target_lag=None,
        reads=(LOW,),
    ),
    ListedView(
        name=TOP,
        layout=Layout.ATTACHED,
        freshness=Freshness(Verdict.UNKNOWN),
        reads=(LOW, MIDDLE),
        failure=FailedRefresh(9, 1.0, "disk <full>"),
    ),
)


def test_page_shows_each_view_and_what_it_reads_directly():
    page = overview_page(STATUSES)
    assert (page.count("<rect"), page.count("<line")) == (3, 2), "top reads low through middle"
    assert "<td>keys</td>" in page and ">3000</td>" in page and "from snapshot 1 to snapshot 2" in page
    assert "the last refresh failed: disk &lt;full&gt;</td>" in page
    assert "<b>top</b>" not in page and "&lt;b&gt;top&lt;/b&gt;" in page


def test_views_that_read_no_other_have_no_graph():
    assert "<svg" not in overview_page(STATUSES[:1])
    assert "<svg" not in overview_page(())


def test_json_has_the_last_refresh():
    document = STATUSES[0].to_json()
    assert (document["action"], document["seconds"], document["rows"], document["written"]) == ("keys", 1.5, 3000, 7)
    assert STATUSES[2].to_json()["reads"] == (LOW, MIDDLE)
