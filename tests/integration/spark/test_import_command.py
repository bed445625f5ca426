"""`hive-views import plan --spark` and `run --spark`: the commands themselves, on the Spark of this process."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from hive_views.legacy_import.plan import plan_import
from hive_views.spark.legacy_import.analyzer_findings import REFUSED, UNREADABLE, add_analyzer_findings
from hive_views.spark.legacy_import.job import SparkImport
from tests.integration.cli.conftest import Cli, Done, cli
from tests.integration.legacy_import.rows import hive_view_row, trino_view_row
from tests.proxy import ANY, EVERY, Delay

__all__ = ["cli"]


@pytest.fixture
def shell(cli: Cli, metastore) -> Cli:
    """The command line, with the catalog that has the name prod in the Spark session of this process."""
    configured = {
        "HIVE_VIEWS_URI": None,
        "HIVE_VIEWS_CATALOG": "prod",
        "PYICEBERG_CATALOG__PROD__URI": metastore.uri,
    }
    return lambda *words: cli(*words, **configured)


@pytest.fixture
def legacy(spark, raw, database) -> str:
    """Views of plain Spark's, one over the other, one of which Spark cannot read any more, and one of Trino's."""
    spark.sql(f"CREATE TABLE spark_catalog.{database}.t (id INT, s STRING) USING parquet")
    spark.sql(f"INSERT INTO spark_catalog.{database}.t VALUES (1, 'a'), (2, 'b')")
    for name, text in {"base": f"SELECT * FROM {database}.t", "top": f"SELECT id FROM {database}.base"}.items():
        spark.sql(f"CREATE VIEW spark_catalog.{database}.{name} AS {text}")
    # To Hive it is a good view; Spark's analyzer has another word for it.
    text = f"select `t`.`id` from `{database}`.`t` where `t`.`id` = array(1)"
    raw.create_table(hive_view_row(database, "of_hive", "select id from t", text, [("id", "int")]))
    raw.create_table(trino_view_row(database, "of_trino", "SELECT id FROM t", [("id", "integer")]))
    return database


def document(done: Done) -> dict[str, Any]:
    """What a command printed; Spark's own log may stand on stderr."""
    assert done.code == 0, done
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_plan_run_and_verify_report_a_differing_view(shell, spark, legacy, tmp_path):
    plan = tmp_path / "plan.json"
    planned = document(shell("--json", "import", "plan", legacy, "--spark", "local[2]", "-o", str(plan)))
    assert planned["counts"] == {"pending": 4}
    changes = {view["name"].partition(".")[2]: view["changes"] for view in planned["views"]}
    notes = {
        name: [text for text in reasons if text.startswith((REFUSED, UNREADABLE))] for name, reasons in changes.items()
    }
    (unreadable,) = notes.pop("of_hive")
    assert unreadable.startswith(f"{UNREADABLE}[DATATYPE_MISMATCH")
    assert notes == {"base": [], "top": [], "of_trino": []}

    run = ("import", "run", str(plan), "--spark", "local[2]", "--verify", "rows")
    done = document(shell("--json", *run))
    assert (done["counts"], done["complete"], done["differing"]) == ({"converted": 4}, True, [])
    row_checks = {view["name"].partition(".")[2]: view["rows"] for view in done["views"]}
    assert (row_checks["base"], row_checks["top"]) == ("the same 2 rows", "the same 2 rows")
    # The command has not stopped the Spark that it found.
    spark.sql(f"INSERT INTO spark_catalog.{legacy}.t VALUES (3, 'c')")

    again = shell(*run)
    assert again.code == 1
    assert f"2 views are not as before to Spark: {legacy}.base, {legacy}.top." in again.out
    assert f"hive-views import revert --journal {plan}.journal --view NAME" in again.out
    assert "OTHER ROWS: 2 rows before, 3 after" in " ".join(again.out.split())
    report = shell("--json", "import", "report", f"{plan}.journal").json
    assert {view["rows"] for view in report["views"]} >= {"OTHER ROWS: 2 rows before, 3 after"}
    assert shell("--json", "import", "revert", "--yes", "--journal", f"{plan}.journal").json["counts"] == {
        "reverted": 4
    }


def test_plan_contains_analyzer_findings(spark, catalog, legacy, raw):
    text = f"SELECT id FROM {legacy}.of_trino"
    raw.create_table(hive_view_row(legacy, "on_trino", text, text, [("id", "int")]))
    plan = plan_import(catalog, databases=[legacy])
    # As if the import wrote another text.
    other = {"base": f"SELECT id, nothing FROM {legacy}.t"}
    entries = (replace(entry, new_text=other.get(entry.name.name, entry.new_text)) for entry in plan.entries)
    notes = {
        entry.name.name: [text for text in entry.changes if text.startswith((REFUSED, UNREADABLE))]
        for entry in add_analyzer_findings(spark, catalog, replace(plan, entries=tuple(entries))).entries
    }
    assert notes["top"] == notes["of_trino"] == []
    assert [text[: len(REFUSED)] for text in notes["base"]] == [REFUSED]
    assert "nothing" in notes["base"][0]
    assert [text[: len(UNREADABLE)] for text in notes["on_trino"]] == [UNREADABLE]


def test_executors_stay_within_most_calls(spark, proxy, open_catalog, legacy, tmp_path):
    # This Spark has two cores: both would be at work, if they might.
    proxy.on(ANY, Delay(reply_s=0.002), nth=EVERY)
    job = SparkImport(spark, open_catalog({"uri": proxy.uri}), most_calls=1)
    plan = job.plan(databases=[legacy])
    assert len(plan.ready) == 4
    assert job.run(plan, tmp_path / "journal", verify="none").complete
    assert proxy.most_at_once == 1
