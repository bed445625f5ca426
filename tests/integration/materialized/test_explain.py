"""What a refresh is explained to do is what it does; explaining changes nothing."""

from __future__ import annotations

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import NotMaterializedError, RefreshError
from hive_views.materialized import RefreshExplanation, SourceChange
from tests.integration.materialized.conftest import LAYOUTS, rows
from tests.integration.materialized.duck_engine import DuckEngine

TOTALS = "SELECT shop, sum(amount) AS total FROM sales GROUP BY shop"


def actions(explanation: RefreshExplanation) -> list[str]:
    return [plan.action for plan in explanation.plans]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_explained_action_is_that_of_the_refresh(catalog: HiveViewCatalog, market: str, layout: str) -> None:
    views, engine, name = catalog.materialized, DuckEngine(catalog), (market, "mv")
    views.create(name, TOTALS, layout=layout)
    sales = catalog.load_table((market, "sales"))
    changes = [
        (lambda: None, ["full"], (None, None), 3),
        (lambda: None, [], (0, 0), None),
        (lambda: sales.append(rows((4, "c", 7), (5, "a", 1))), ["incremental", "full"], (2, 0), 2 + 2),
        (lambda: sales.delete("id = 1"), ["full"], (2, 3), 4),
    ]
    for change, expected, counts, read in changes:
        change()
        before = catalog.load_table((market, "sales")).metadata, views.load(name).snapshot
        explanation = views.load(name).explain(engine)
        assert (catalog.load_table((market, "sales")).metadata, views.load(name).snapshot) == before
        assert actions(explanation) == expected, str(explanation)
        (source,) = explanation.changes
        assert (source.added, source.removed) == counts, str(source)
        assert explanation.max_rows_read == read
        assert views.load(name).refresh(engine)[-1].action == explanation.action


def test_explanation_names_the_reason_for_each_plan(catalog: HiveViewCatalog, market: str) -> None:
    views, name = catalog.materialized, (market, "mv")
    views.create(name, "SELECT shop, avg(amount) AS mean FROM sales GROUP BY shop")
    views.load(name).refresh(DuckEngine(catalog))
    catalog.load_table((market, "sales")).append(rows((4, "c", 7)))
    # Without an engine one is assumed that can replace the rows with some keys.
    explanation = views.load(name).explain()
    assert actions(explanation) == ["keys", "full"]
    assert explanation.changes == (SourceChange(explanation.changes[0].name, 4, 1, 1, 0),)
    text = str(explanation)
    assert f"{market}.mv: keys refresh: its definition cannot be updated from added rows" in text
    assert "by the keys shop" in text
    assert f"{market}.sales: 1 snapshot(s) since, added 1 row(s), removed 0 row(s); 4 row(s) now" in text
    assert text.endswith("reads at most 5 row(s); 2 row(s) are stored")


def test_rows_of_rewritten_files_count_as_added_and_removed(catalog: HiveViewCatalog, market: str) -> None:
    views, name = catalog.materialized, (market, "mv")
    views.create(name, TOTALS)
    views.load(name).refresh(DuckEngine(catalog))
    with catalog.load_table((market, "sales")).transaction() as transaction:
        transaction.delete("shop = 'b'")
        transaction.append(rows((7, "d", 1)))
    (source,) = views.load(name).explain().changes
    # The two rows that stay are in a new file.
    assert (source.added, source.removed, source.rows) == (3, 3, 3)


def test_expired_history_is_unknown(catalog: HiveViewCatalog, market: str) -> None:
    views, name = catalog.materialized, (market, "mv")
    views.create(name, TOTALS)
    views.load(name).refresh(DuckEngine(catalog))
    sales = catalog.load_table((market, "sales"))
    first = sales.metadata.current_snapshot_id
    assert first is not None
    sales.append(rows((4, "c", 7)))
    sales.append(rows((5, "c", 7)))
    sales.refresh().maintenance.expire_snapshots().by_id(first).commit()
    explanation = views.load(name).explain()
    assert actions(explanation) == ["full"]
    assert "has expired" in explanation.plans[0].why
    assert str(explanation.changes[0]).startswith(
        f"{market}.sales: its state at the last refresh is not known; 5 row(s)"
    )


def test_explain_fails_with_the_error_of_a_refresh(catalog: HiveViewCatalog, market: str) -> None:
    views, name = catalog.materialized, (market, "mv")
    views.create(name, TOTALS)
    catalog.drop_table((market, "sales"))
    with pytest.raises(RefreshError, match="missing or unreadable"):
        views.load(name).explain()
    with pytest.raises(NotMaterializedError):
        views.load((market, "shops")).explain()
