"""`hive-views import report --html`: the page is that of the journal, and of what a comparison of rows said."""

from __future__ import annotations

from pathlib import Path

import pytest

from hive_views.cli.commands.legacy_import import ImportReport, print_report
from hive_views.errors import UsageError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.report.report import write_check_results
from hive_views.spark.legacy_import.verified_run import verification
from tests.integration.cli.conftest import cli
from tests.integration.legacy_import.rows import hive_view_row

__all__ = ["cli"]


def test_the_report_as_a_page(cli, add, sales, tmp_path):
    text = f"select `orders`.`id` from `{sales}`.`orders`"
    add(hive_view_row(sales, "v", "select id from orders", text, [("id", "bigint")]))
    plan, page = tmp_path / "plan.json", tmp_path / "report.html"
    cli("import", "plan", sales, "--output", str(plan))
    assert cli("--json", "import", "report", str(plan), "--html", str(page)).json["file"] == str(page)
    assert '"status":"pending"' in page.read_text()
    assert cli("--json", "import", "run", str(plan)).json["counts"] == {"converted": 1}
    journal = Path(f"{plan}.journal")
    write_check_results(journal, {ViewName(sales, "v"): "the same 7 rows"})
    cli("import", "report", str(journal), "--html", str(page))
    assert '"status":"converted"' in page.read_text()
    assert '"rows":"the same 7 rows"' in page.read_text()
    (told,) = cli("--json", "import", "report", str(journal)).json["views"]
    assert told["rows"] == "the same 7 rows"
    assert "the same 7 rows" in cli("import", "report", str(journal)).out
    journal.with_name(f"{journal.name}.verified").write_text("[]")
    assert "does not hold the content" in cli("import", "report", str(journal)).err
    assert "does not hold the content" in cli("import", "report", str(journal), "--html", str(page)).err


def test_what_cannot_be_verified_is_refused(cli, tmp_path):
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
def test_on_spark_every_definition_is_checked_by_default(wanted, spark, elsewhere, catalog, expected):
    if expected is UsageError:
        with pytest.raises(UsageError):
            verification(wanted, spark=spark, elsewhere=elsewhere, catalog=catalog)
    else:
        assert verification(wanted, spark=spark, elsewhere=elsewhere, catalog=catalog) == expected


def test_views_that_spark_finds_other_are_named_with_the_way_back(capsys):
    print_report(ImportReport({"converted": 2}, {}, 0.0, 0.0, (), (), "j", False, ("a.b",)))
    told = capsys.readouterr().out
    assert "1 view is not as before to Spark: a.b." in told
    assert "hive-views import revert --journal j --view NAME" in told
