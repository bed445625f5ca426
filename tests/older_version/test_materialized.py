"""Materialized views with refresh states of the older version: their freshness, and refreshes by both versions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.older_version.estate import LAYOUTS, MATERIALIZED, MATERIALIZED_DATABASE, STATES, materialized
from tests.older_version.versions import Worker

LARGE = "SELECT * FROM sales WHERE namount > {}"


@pytest.fixture(scope="module", autouse=True)
def estate(old: Worker) -> None:
    """Materialized views of each layout in each state, which the older version makes and refreshes."""
    for call in materialized():
        old.call(**call)


def names(state: str) -> list[str]:
    database = f"{MATERIALIZED_DATABASE}_{state}"
    return [f"{database}.{name}_{layout}" for layout in LAYOUTS for name in STATES[state]]


def expected_rows(worker: Worker, name: str, sql: str) -> list[list[Any]]:
    """Return the rows of a definition over the tables as they are now."""
    database = name.partition(".")[0]
    threshold = 9 if database.endswith("redefined") else 8
    sql = sql.replace("FROM large", f"FROM ({LARGE.format(threshold)}) AS large")
    return worker.call("query", sql=sql, tables={table: f"{database}.{table}" for table in ("sales", "shops")})


def definition_of(name: str) -> str:
    """Return the query of a materialized view."""
    kind = name.partition(".")[2].rpartition("_")[0]
    redefined = [
        call for call in materialized() if call["operation"] == "replace_materialized" and call["name"] == name
    ]
    return redefined[-1]["sql"] if redefined else MATERIALIZED[kind][0]


VERDICTS = {
    "fresh": {"fresh"},
    "appended": {"stale"},
    "redefined": {"stale"},
    "never": {"stale"},
}


@pytest.mark.parametrize("state", STATES)
def test_both_versions_find_the_same_freshness_and_rows(old: Worker, new: Worker, state: str) -> None:
    verdicts = set()
    for name in names(state):
        freshness = old.call("freshness", name=name)
        assert new.call("freshness", name=name) == freshness
        assert new.call("stored", name=name) == old.call("stored", name=name)
        verdicts.add(freshness[0])
    assert verdicts == VERDICTS[state]


@pytest.mark.parametrize("state", STATES)
def test_this_version_refreshes_and_the_older_one_reads(old: Worker, new: Worker, state: str) -> None:
    for name in names(state):
        verdict, actions = old.call("freshness", name=name)
        action = new.call("refresh", name=name)
        assert (action == "unchanged") == (verdict == "fresh")
        rows = expected_rows(new, name, definition_of(name))
        assert new.call("stored", name=name) == rows
        # The older version accepts the new refresh state as fresh, and lists the refreshes.
        now, listed = old.call("freshness", name=name)
        assert (now, new.call("freshness", name=name)) == ("fresh", ["fresh", listed])
        assert listed[-1] == (actions[-1] if action == "unchanged" else action)
        assert old.call("stored", name=name) == rows
        assert old.call("refresh", name=name) == "unchanged"


@pytest.mark.parametrize("state", ["fresh", "appended"])
def test_older_version_refreshes_what_this_one_refreshed(old: Worker, new: Worker, state: str) -> None:
    database = f"{MATERIALIZED_DATABASE}_{state}"
    for name in names(state):
        new.call("refresh", name=name)
    new.call("append", name=f"{database}.sales", rows=[[7, "a", 70], [8, "z", 2]])
    for name in names(state):
        assert old.call("freshness", name=name)[0] == "stale"
        assert old.call("refresh", name=name) != "unchanged"
        assert new.call("freshness", name=name)[0] == "fresh"
        assert new.call("stored", name=name) == expected_rows(old, name, definition_of(name))
    new.call("replace", name=f"{database}.large", sql=LARGE.format(8) + " AND nid > 0")
    for layout in LAYOUTS:
        name = f"{database}.over_view_{layout}"
        assert old.call("freshness", name=name)[0] == new.call("freshness", name=name)[0] == "stale"
        assert old.call("refresh", name=name) == "full"
        assert new.call("refresh", name=name) == "unchanged"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_older_version_changes_and_drops_what_this_one_made(old: Worker, new: Worker, layout: str) -> None:
    database = f"{MATERIALIZED_DATABASE}_fresh"
    name = f"{database}.by_new_{layout}"
    sql = "SELECT shop, max(namount) AS most FROM sales GROUP BY shop"
    new.call("create_materialized", name=name, sql=sql, layout=layout, properties={"hive-views.target-lag": "1 hour"})
    new.call("refresh", name=name)
    assert old.call("freshness", name=name) == new.call("freshness", name=name)
    sql = sql.replace("max", "min")
    old.call("replace_materialized", name=name, sql=sql)
    assert new.call("freshness", name=name)[0] == "stale"
    assert new.call("refresh", name=name) == "full"
    assert old.call("stored", name=name) == expected_rows(new, name, sql)
    old.call("drop_materialized", name=name)
    assert name not in new.call("list", database=database)
