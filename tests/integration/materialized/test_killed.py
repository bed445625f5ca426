"""SIGKILL at any point of a refresh leaves the old or the new rows, and the next refresh succeeds.

`HIVE_VIEWS_EVERY_KILL=1` tries every point (some minutes); otherwise one in `STEP`.
"""

from __future__ import annotations

import os

import pytest

from hive_views import HiveViewCatalog
from tests.integration.materialized.conftest import LAYOUTS, rows
from tests.integration.materialized.duck_engine import DuckEngine

STEP = 1 if os.environ.get("HIVE_VIEWS_EVERY_KILL") else 13
FIRST = {"registered": 0, "attached": 4, "table": 11}
"""The first point of each layout: the layouts are killed at different points."""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.timeout(1200)
def test_refresh_killed_at_any_point(open_catalog, market, killer, layout):
    catalog: HiveViewCatalog = open_catalog({"iceberg.engine.hive.lock-enabled": "false"})
    views, engine, name = catalog.materialized, DuckEngine(catalog), (market, "mv")
    views.create(name, "SELECT id, amount FROM sales WHERE amount > 1", layout=layout)
    views.load(name).refresh(engine)

    def ids() -> list[int]:
        return sorted(row["id"] for row in views.load(name).storage.scan().to_arrow().to_pylist())

    known, point, moments, orphans = [1, 2, 3], FIRST[layout], [], 0
    while True:
        number = 10 + point
        catalog.load_table((market, "sales")).append(rows((number, "a", 9)))
        if (printed := killer(name, point, "refresh")) == "done":
            break
        assert printed == "killed"
        fresh = views.freshness(name).is_fresh
        assert ids() == ([*known, number] if fresh else known), point
        moments.append(fresh)
        left = views.load(name).orphans(older_than_ms=0)
        orphans += len(left.snapshots) + len(left.rows) + len(left.files)
        known.append(number)
        views.load(name).refresh(engine)
        assert ids() == known and views.freshness(name).is_fresh, point
        views.load(name).remove_orphans(older_than_ms=0)
        left = views.load(name).orphans(older_than_ms=0)
        assert (left.snapshots, left.rows, left.files) == ((), (), ()), point
        assert ids() == known and views.freshness(name).is_fresh, point
        point += STEP
    assert len(moments) > 3 and not moments[0] and orphans, "else this proves nothing"
    views.load(name).drop()
    assert catalog.list_tables(market) == [(market, "sales"), (market, "shops")]
