"""`hive-views import` and `export` on a real metastore."""

from __future__ import annotations

import json

import pytest

from hive_views.identifiers import ViewName
from hive_views.metastore.rows.serialization import encode_row
from hive_views.sql.parsing.ddl import parse_statement
from hive_views.sql.parsing.statements import CreateView
from hive_views.sql.text.dialects import Dialect
from tests.integration.cli.conftest import cli
from tests.integration.legacy_import.rows import hive_view_row

__all__ = ["cli"]


@pytest.fixture
def views(add, sales) -> str:
    """Two convertible views, one of which reads the other, and one whose table is missing."""
    ids = [("id", "bigint", "it's \\ an id")]
    add(
        hive_view_row(
            sales,
            "z_base",
            "select id from orders",
            f"select `orders`.`id` from `{sales}`.`orders`",
            ids,
            comment="a 'b'",
        )
    )
    add(
        hive_view_row(
            sales, "a_top", "select * from z_base", f"select `z_base`.`id` from `{sales}`.`z_base`", ids, team="bi"
        )
    )
    add(hive_view_row(sales, "lost", "select id from x", f"select `x`.`id` from `{sales}`.`x`", ids))
    return sales


def test_plan_run_report_revert(cli, views, tmp_path, catalog):
    plan, journal = str(tmp_path / "plan.json"), str(tmp_path / "plan.json.journal")
    before = {name: encode_row(catalog.store.get_row(ViewName(views, name))) for name in ("z_base", "a_top", "lost")}
    planned = cli("--json", "import", "plan", views, "--output", plan).json
    assert planned["counts"] == {"pending": 2, "refused": 1}
    assert planned["reasons"] == {"missing-table": 1}
    assert [view["name"] for view in planned["views"]] == [f"{views}.z_base", f"{views}.a_top", f"{views}.lost"]

    assert cli("--json", "import", "run", plan, "--dry-run").json["counts"] == {"refused": 1, "would-convert": 2}
    done = cli("--json", "import", "run", plan).json
    assert (done["counts"], done["file"], done["complete"]) == ({"converted": 2, "refused": 1}, journal, True)
    assert cli("--json", "import", "report", journal).json["counts"] == done["counts"]
    (one,) = cli("--json", "import", "report", journal, "--view", f"{views}.lost").json["views"]
    assert (one["status"], one["reason"]) == ("refused", "missing-table")

    shown = cli("import", "report", journal)
    assert shown.code == 0
    assert "2 converted, 1 refused" in shown.out
    assert f"missing-table: there is no {views}.x" in shown.out

    reverted = cli("--json", "import", "revert", "--yes", "--journal", journal).json
    assert reverted["counts"] == {"reverted": 2}
    assert {name: encode_row(catalog.store.get_row(ViewName(views, name))) for name in before} == before
    assert cli("--json", "import", "report", journal).json["counts"] == {"refused": 1, "reverted": 2}


def test_run_with_changed_view_fails_and_converts_the_others(cli, views, tmp_path, raw):
    plan = str(tmp_path / "plan.json")
    cli("import", "plan", views, "--output", plan)
    raw.drop_table(views, "a_top", True)
    done = cli("--json", "import", "run", plan)
    assert done.code == 1
    assert json.loads(done.out)["counts"] == {"converted": 1, "refused": 2}


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("import", "plan"), "UsageError"),
        (("import", "plan", "DB", "--rename", "a"), "UsageError"),
        (("import", "plan", "DB", "--rename", "a:b*"), "UsageError"),
        (("import", "plan", "DB", "--mangled", "perhaps"), "UsageError"),
        (("import", "plan", "no_such_database"), "NoSuchNamespaceError"),
        (("import", "run", "/no/such/plan"), "PlanError"),
        (("import", "revert"), "UsageError"),
        (("import", "report", "/no/such/journal"), "JournalError"),
        (("export",), "UsageError"),
    ],
)
def test_wrong_usage(cli, database, words, error):
    done = cli("--json", *(database if word == "DB" else word for word in words))
    assert done.code != 0
    assert done.error["type"] == error


def view_statement(text: str) -> CreateView:
    statement = parse_statement(text, Dialect.HIVE)
    assert isinstance(statement, CreateView)
    return statement


def test_export_is_a_script_in_dependency_order(cli, views, tmp_path):
    plan, script = str(tmp_path / "plan.json"), tmp_path / "script.sql"
    cli("import", "plan", views, "--output", plan)
    cli("import", "run", plan)
    exported = cli("--json", "export", views, "--output", str(script)).json
    assert [view["name"] for view in exported["views"]] == [f"{views}.z_base", f"{views}.a_top"]
    statements = [text for text in script.read_text().split("\n;\n") if text.strip()]
    parsed = [view_statement(text) for text in statements]
    assert [statement.columns and statement.columns[0].comment for statement in parsed] == ["it's \\ an id"] * 2
    assert parsed[0].comment == "a 'b'"
    assert dict(parsed[1].properties) == {"team": "bi"}


def test_export_in_place_makes_plain_views_again(cli, views, tmp_path, raw, catalog):
    plan = str(tmp_path / "plan.json")
    before = raw.get_table(views, "a_top")
    cli("import", "plan", views, "--output", plan)
    cli("import", "run", plan)
    in_place = cli("--json", "export", views, "--in-place", "--yes").json
    assert {view["problem"] for view in in_place["views"]} == {None}
    after = raw.get_table(views, "a_top")
    for row in (before, after):
        row.parameters.pop("transient_lastDdlTime")
    assert (after.parameters, after.viewExpandedText, after.sd.cols, after.sd.location) == (
        before.parameters,
        before.viewExpandedText,
        before.sd.cols,
        before.sd.location,
    )
    assert catalog.list_views(views) == []
    location = next(view["metadata_location"] for view in in_place["views"] if view["name"].endswith("a_top"))
    raw.drop_table(views, "a_top", False)
    assert catalog.register_view(f"{views}.a_top", location).schema().fields[0].name == "id"
