"""Views as Hive 2.3.10 and 3.1.3 write them: each can be planned, converted, read by Spark and restored.

The answers are recorded.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.estate import old_hive, rows
from tests.estate.answers import check, shortened
from tests.estate.programs import PROGRAMS, Site
from tests.estate.rows import stable
from tests.estate.test_author_rows import outcome
from tests.estate.test_changes import changed
from tests.integration.cli.conftest import Done, invoke
from tests.integration.metastore.rpc import connect

pytestmark = pytest.mark.extended

DATABASES = ("hive_views", "hive_names")
WITHOUT_FINDING: dict[str, str] = {}
"""Views that Spark cannot read, without a finding in the plan, and why there is none."""

FIELDS = ("status", "reason", "text", "changes", "engines")


@pytest.mark.parametrize("release", old_hive.RELEASES)
def test_import_and_revert(release: str, tmp_path: Path) -> None:
    plan, journal = str(tmp_path / "plan.json"), str(tmp_path / "journal.jsonl")
    with old_hive.metastore(release, tmp_path / "metastore") as metastore, connect(metastore.port, 300) as client:
        old_hive.load(release, client, metastore.warehouse)

        def run(*words: str) -> Done:
            environment = {"HIVE_VIEWS_URI": metastore.uri, "HIVE_VIEWS_WAREHOUSE": metastore.warehouse}
            done = invoke("--json", *words, **environment, COLUMNS="200")
            assert done.code in (0, 1), (words, done)
            assert "Traceback" not in done.err, (words, done)
            return done

        before = rows.read_all(client)
        planned = json.loads(run("import", "plan", *DATABASES, "-o", plan).out)["views"]
        entries = {view["name"]: stable({field: shortened(view.get(field)) for field in FIELDS}) for view in planned}
        check(f"old_hive_{release}_plan", entries)

        done = json.loads(run("import", "run", plan, "--journal", journal).out)["views"]
        results = {view["name"]: {"status": view["status"], "reason": view["reason"]} for view in done}
        check(f"old_hive_{release}_run", results)
        converted = {name for name, result in results.items() if result["status"] == "converted"}
        checked = json.loads(run("deps", "check", DATABASES[0]).out)["views"]
        invalid = {view["view"] for view in checked if view["validity"] == "invalid"} & converted
        # The plan says that Spark cannot read them.
        assert {name for name in invalid if "Spark cannot read the view" not in str(entries[name]["changes"])} == set()

        site = Site(tmp_path / "programs", metastore.warehouse, metastore.uri, metastore.uri)
        with PROGRAMS["spark_iceberg"].start(site) as spark:  # type: ignore[attr-defined]
            read = {view["name"]: outcome(spark, view, None) for view in done if view["name"] in converted}
        # Behind `file:` are paths of this test.
        check(f"old_hive_{release}_spark", {name: {"read": text.partition("file:")[0]} for name, text in read.items()})
        unreadable = {name for name, answer in read.items() if answer.startswith("unreadable")}
        assert {name for name in unreadable if not tells_of_spark(entries[name])} == set(WITHOUT_FINDING)

        assert run("import", "revert", "--journal", journal, "--yes").code == 0
        assert changed(before, rows.read_all(client)) == set()


def tells_of_spark(entry: dict[str, Any]) -> bool:
    """Return whether a plan says that Spark cannot read a view, may not, or needs a library for it."""
    is_found = any(
        item.startswith(("spark: refused", "spark: may fail")) or item.endswith("Spark needs its library")
        for item in entry["engines"]
    )
    return is_found or "Spark cannot read the view" in str(entry["changes"])
