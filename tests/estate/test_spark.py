"""Commands with Spark over the estate: an import whose plan and rows Spark checks, and refreshes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.estate.answers import check, shortened
from tests.estate.build import NOISE_DATABASE
from tests.estate.conftest import Estate, databases
from tests.estate.old_calls import OldCalls
from tests.estate.rows import stable
from tests.estate.test_author_rows import authors
from tests.estate.test_changes import changed
from tests.integration.cli.conftest import Done, invoke

pytestmark = [pytest.mark.extended, pytest.mark.timeout(1800)]

Run = Callable[..., Done]

PLANNED = ("status", "reason", "text", "changes", "unchecked")
CONVERTED = ("status", "reason", "text", "rows", "unchecked")
REFRESHED = ("action", "why", "rows")


@pytest.fixture(scope="module")
def run(estate: Estate) -> Iterator[Run]:
    """Runs a command line through a proxy for the metastore's client in Spark, which is of Hive 2.3."""
    with OldCalls(estate.metastore.port) as old:

        def command(*words: str) -> Done:
            done = invoke("--json", *words, **{**estate.environment, "HIVE_VIEWS_URI": old.uri})
            assert done.code in (0, 1), (words, done)
            assert "Traceback" not in done.err, (words, done)
            return done

        yield command


def recorded(views: list[dict[str, Any]], name: str, fields: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Return some fields of the answer for each view."""
    return {
        view[name]: stable({field: shortened(view[field]) for field in fields if view.get(field)}) for view in views
    }


def _stable(compared: str) -> str:
    """Return what a comparison of rows says, without the file that Spark failed on: which one is first differs."""
    return compared.partition(" Encountered error while reading file")[0]


def test_import_with_spark_and_revert(estate: Estate, temporary: Path, run: Run) -> None:
    names = [name for name in databases() if name != NOISE_DATABASE]
    plan, journal = str(temporary / "spark.json"), str(temporary / "spark.jsonl")
    before = estate.rows()
    planned = json.loads(run("import", "plan", *names, "--spark", "local[2]", "-o", plan).out)
    check("spark_import_plan", recorded(planned["views"], "name", PLANNED))
    assert changed(before, estate.rows()) == set()

    done = json.loads(run("import", "run", plan, "--journal", journal, "--verify", "rows").out)
    samples = {name for name, author in authors().items() if author["kind"] == "view sample"}
    results = {
        name: {**result, "rows": "a random sample" if name in samples else _stable(result["rows"])}
        if "rows" in result
        else result
        for name, result in recorded(done["views"], "name", CONVERTED).items()
    }
    check("spark_import_run", results)
    converted = {name for name, result in results.items() if result["status"] == "converted"}
    assert changed(before, estate.rows()) - converted == set()
    # Each view that Spark cannot read as before is named.
    other = {name for name, result in results.items() if str(result.get("rows")).startswith(("OTHER", "UNREADABLE"))}
    assert other <= {*done["differing"]}

    reverted = run("import", "revert", "--journal", journal, "--yes")
    assert reverted.code == 0, reverted
    assert changed(before, estate.rows()) == set()


def test_refresh_of_all_materialized_views(estate: Estate, run: Run) -> None:
    before = estate.rows()
    done = json.loads(run("mv", "refresh", "--all", "--spark", "local[2]").out)
    answers = recorded(done["refreshed"], "view", REFRESHED)
    check("spark_refresh", answers)
    assert changed(before, estate.rows()) - answers.keys() == set()
