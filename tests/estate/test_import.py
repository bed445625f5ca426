"""An import of the estate's views without Spark, and its reversal, which restores every row."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.estate.answers import check, shortened
from tests.estate.build import NOISE_DATABASE
from tests.estate.conftest import Estate, databases
from tests.estate.rows import stable
from tests.estate.test_changes import changed

FIELDS = ("status", "reason", "text", "changes", "engines")


@pytest.fixture(scope="module")
def plan(estate: Estate, temporary: Path) -> dict[str, dict[str, object]]:
    """The entries of a plan of all databases but the noise, by name."""
    names = [name for name in databases() if name != NOISE_DATABASE]
    done = estate.cli("--json", "import", "plan", *names, "-o", str(temporary / "plan.json"))
    assert done.code in (0, 1), done
    return {view["name"]: view for view in json.loads(done.out)["views"]}


def entry(view: dict[str, object]) -> dict[str, object]:
    return stable({key: shortened(view.get(key)) for key in FIELDS})


def test_plan_has_each_view_with_its_reason(plan: dict[str, dict[str, object]]) -> None:
    check("import_plan", {name: entry(view) for name, view in plan.items()})


def test_run_and_revert_restore_every_row(estate: Estate, temporary: Path, plan: dict[str, dict[str, object]]) -> None:
    before = estate.rows()
    journal = str(temporary / "journal.jsonl")
    run = estate.cli("--json", "import", "run", str(temporary / "plan.json"), "--journal", journal)
    assert run.code in (0, 1), run
    views = json.loads(run.out)["views"]
    converted = {view["name"] for view in views if view["status"] == "converted"}
    assert changed(before, estate.rows()) - converted == set()
    check("import_run", {view["name"]: stable(shortened(view)) for view in views})
    counts = Counter(view["status"] for view in views)
    report = estate.cli("--json", "import", "report", journal)
    assert report.code in (0, 1), report
    reverted = estate.cli("--json", "import", "revert", "--journal", journal, "--yes")
    assert reverted.code == 0, (counts, reverted)
    assert changed(before, estate.rows()) == set()
