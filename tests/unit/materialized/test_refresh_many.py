"""The order of several refreshes, and what a failure skips."""

from __future__ import annotations

import threading
import time

import pytest

from hive_views.errors import RefreshError
from hive_views.identifiers import ViewName
from hive_views.materialized.refresh.actions import Action
from hive_views.materialized.refresh.many import refresh_in_order
from hive_views.materialized.refresh.refresh import RefreshReport

DIAMOND = {"a": "", "b": "a", "c": "a", "d": "abc", "e": "", "f": "e"}
"""Views and their sources: d reads b and c, which read a; f reads e."""


def name(text: str) -> ViewName:
    return ViewName("db", text)


def run(fails: str = "", parallel: int = 1, names: str = "dfbcae") -> tuple[dict[str, str], list[str], int]:
    """Actions by name, the order of the calls, and how many ran at the same time."""
    calls: list[str] = []
    active, most, lock = set(), [0], threading.Lock()

    def refresh_one(item: ViewName) -> RefreshReport:
        with lock:
            calls.append(item.name)
            active.add(item)
            most[0] = max(most[0], len(active))
        time.sleep(0.02)
        with lock:
            active.remove(item)
        if item.name in fails:
            raise RefreshError(str(item), "no")
        return RefreshReport(
            name=item, action=Action.FULL, why="", snapshot_id=None, rows=None, written=None, seconds=0.0
        )

    sources = {name(item): {name(source) for source in text} for item, text in DIAMOND.items()}
    outcomes = refresh_in_order([name(item) for item in names], sources, refresh_one, parallel)
    return {outcome.name.name: outcome.action for outcome in outcomes}, calls, most[0]


@pytest.mark.parametrize("parallel", [1, 2, 4])
def test_sources_come_first_and_each_view_once(parallel: int):
    actions, calls, most = run(parallel=parallel)
    assert set(actions.values()) == {"full"} and sorted(calls) == sorted(DIAMOND)
    assert calls.index("a") < min(calls.index("b"), calls.index("c")) and calls[-1] in "df"
    assert calls.index("d") > max(calls.index("b"), calls.index("c")) and calls.index("f") > calls.index("e")
    assert (most > 1) == (parallel > 1)


@pytest.mark.parametrize(
    ("fails", "skipped"), [("a", "bcd"), ("b", "d"), ("e", "f"), ("ae", "bcdf"), ("d", ""), ("bc", "d")]
)
@pytest.mark.parametrize("parallel", [1, 3])
def test_failure_skips_only_dependents(fails: str, skipped: str, parallel: int):
    actions, calls, _ = run(fails, parallel)
    assert {item for item, action in actions.items() if action == "failed"} == set(fails)
    assert {item for item, action in actions.items() if action == "skipped"} == set(skipped)
    assert not set(calls) & set(skipped) and len(actions) == len(DIAMOND)


def test_sources_outside_the_selection_are_ignored():
    actions, calls, _ = run("a", names="db")
    assert actions == {"b": "full", "d": "full"} and calls == ["b", "d"]
