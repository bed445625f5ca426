"""`hive-views import report --html`: the page shows the journal and the outcome of a comparison of rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from hive_views.cli.commands.legacy_import import print_report
from hive_views.errors import UsageError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.report.report import ImportReport, unchecked_promises, write_check_results
from hive_views.spark.legacy_import.verified_run import resolve_verify_mode
from tests.integration.cli.conftest import cli
from tests.integration.legacy_import.rows import hive_view_row

__all__ = ["cli"]


def test_report_is_written_as_html(cli, add, sales, tmp_path):
    text = f"select `orders`.`id` from `{sales}`.`orders`"
    add(hive_view_row(sales, "v", "select id from orders", text, [("id", "bigint")]))
    plan, page = tmp_path / "plan.json", tmp_path / "report.html"
    cli("import", "plan", sales, "--output", str(plan))
    assert cli("--json", "import", "report", str(plan), "--html", str(page)).json["file"] == str(page)
    assert '"status":"ready"' in page.read_text()
    assert cli("--json", "import", "run", str(plan)).json["counts"] == {"converted": 1}
    journal = Path(f"{plan}.journal")
    write_check_results(journal, {ViewName(sales, "v"): "the same 7 rows"})
    cli("import", "report", str(journal), "--html", str(page))
    assert '"status":"converted"' in page.read_text()
    assert '"rows":"the same 7 rows"' in page.read_text()
    (view,) = cli("--json", "import", "report", str(journal)).json["views"]
    assert view["rows"] == "the same 7 rows"
    assert "the same 7 rows" in cli("import", "report", str(journal)).out
    journal.with_name(f"{journal.name}.verified").write_text("[]")
    assert "does not hold the results" in cli("import", "report", str(journal)).err
    assert "does not hold the results" in cli("import", "report", str(journal), "--html", str(page)).err


def test_commands_without_spark_name_what_they_do_not_check(cli, add, sales, tmp_path):
    plan = str(tmp_path / "plan.json")
    assert "not checked" not in cli("import", "plan", sales).out
    text = f"select `orders`.`id` from `{sales}`.`orders`"
    add(hive_view_row(sales, "v", "select id from orders", text, [("id", "bigint")]))
    planned = cli("import", "plan", sales, "--output", plan).out
    columns, rows = cli("--json", "import", "plan", sales).json["unchecked"]
    assert columns.startswith("whether Spark can read each view")
    assert rows.startswith("whether each view has the same rows as before")
    run = cli("import", "run", plan).out
    for output in (planned, run):
        assert "not checked: whether Spark can read each view" in output
        assert "not checked: whether each view has the same rows" in output
    assert cli("--json", "import", "run", plan).json["unchecked"] == [columns, rows]


@pytest.mark.parametrize(
    ("has_columns", "has_rows", "subjects"),
    [(False, False, ["Spark can", "each view"]), (True, False, ["each view"]), (True, True, [])],
)
def test_checks_by_spark_leave_less_unchecked(has_columns, has_rows, subjects):
    unchecked = unchecked_promises(has_columns=has_columns, has_rows=has_rows)
    assert [" ".join(item.split()[1:3]) for item in unchecked] == subjects


def test_unknown_verify_mode_is_rejected(cli, tmp_path):
    assert "is neither columns, rows nor none" in cli("import", "run", str(tmp_path / "p"), "--verify", "all").err


@pytest.mark.parametrize(
    ("wanted", "spark", "elsewhere", "catalog", "expected"),
    [
        (None, True, False, "prod", "columns"),
        (None, False, False, "prod", "none"),
        (None, True, True, "prod", "none"),
        (None, True, False, "spark_catalog", "none"),
        ("none", True, False, "prod", "none"),
        ("rows", True, False, "prod", "rows"),
        ("columns", False, False, "prod", "columns"),
        ("columns", True, True, "prod", UsageError),
        ("rows", False, False, "spark_catalog", UsageError),
        ("all", True, False, "prod", UsageError),
    ],
)
def test_verify_mode_defaults_to_columns_on_spark(wanted, spark, elsewhere, catalog, expected):
    if expected is UsageError:
        with pytest.raises(UsageError):
            resolve_verify_mode(wanted, has_spark=spark, is_other_metastore=elsewhere, catalog_name=catalog)
    else:
        assert (
            resolve_verify_mode(wanted, has_spark=spark, is_other_metastore=elsewhere, catalog_name=catalog) == expected
        )


def test_report_names_differing_views_and_the_revert_command(capsys):
    print_report(ImportReport(entries=(), cycles=(), file="j", complete=False, differing=("a.b",)))
    output = capsys.readouterr().out
    assert "1 view is not as before to Spark: a.b." in output
    assert "hive-views import revert --journal j --view NAME" in output
