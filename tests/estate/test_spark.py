"""An import of the estate's views with Spark: its analyzer checks the plan, and compares rows before and after."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.estate.answers import check, shortened
from tests.estate.build import NOISE_DATABASE
from tests.estate.conftest import Estate, databases
from tests.estate.old_calls import OldCalls
from tests.estate.rows import stable
from tests.estate.test_changes import changed
from tests.integration.cli.conftest import Done, invoke

pytestmark = pytest.mark.extended


def test_import_with_spark(estate: Estate, temporary: Path) -> None:
    with OldCalls(estate.metastore.port) as old:

        def run(*words: str) -> Done:
            done = invoke(*words, **{**estate.environment, "HIVE_VIEWS_URI": old.uri})
            assert done.code in (0, 1), done
            return done

        _check_import(estate, temporary, run)


def _check_import(estate: Estate, temporary: Path, run: Callable[..., Done]) -> None:
    names = [name for name in databases() if name != NOISE_DATABASE]
    plan, journal = str(temporary / "spark.json"), str(temporary / "spark.jsonl")
    before = estate.rows()
    planned = json.loads(run("--json", "import", "plan", *names, "--spark", "local[2]", "-o", plan).out)
    fields = ("status", "reason", "text", "changes")
    entries = {view["name"]: {key: shortened(view[key]) for key in fields} for view in planned["views"]}
    check("spark_import_plan", {name: {"requests": 0, **stable(entry)} for name, entry in entries.items()})
    assert changed(before, estate.rows()) == set()

    done = json.loads(run("--json", "import", "run", plan, "--journal", journal, "--verify", "rows").out)
    results = {
        view["name"]: {key: shortened(view[key]) for key in ("status", "text", "rows")} for view in done["views"]
    }
    check("spark_import_run", {name: {"requests": 0, **stable(result)} for name, result in results.items()})
    converted = {name for name, result in results.items() if result["status"] == "converted"}
    assert changed(before, estate.rows()) - converted == set()
    # Each view that Spark cannot read as before is named.
    other = {name for name, result in results.items() if str(result["rows"]).startswith(("OTHER", "UNREADABLE"))}
    assert other <= {*done["differing"]}

    reverted = run("--json", "import", "revert", "--journal", journal, "--yes")
    assert reverted.code == 0, reverted
    assert changed(before, estate.rows()) == set()
