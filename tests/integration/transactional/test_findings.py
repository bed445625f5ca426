"""What Spark does with transactional tables and those of storage handlers, wherever a view over them is defined."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import UnreadableTableError, UnreadableTableWarning
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from tests.integration.cli.conftest import Cli
from tests.integration.legacy_import.rows import hive_view_row
from tests.integration.transactional.tables import ACID, ORC, table
from tests.integration.transactional.test_commands import COLUMNS, TABLES, estate

__all__ = ["estate"]

OUTCOMES = {
    "acid": "other rows",
    "insert_only": "refused",
    "insert_only_orc": "other rows",
    "handler": "refused",
}
"""What Spark does with each table."""


def spark_findings(findings: list[dict[str, Any]], table: str) -> list[str]:
    """The outcomes of the findings about Spark that a table causes."""
    return [item["outcome"] for item in findings if item["engine"] == "spark" and item["table"] == table]


def test_new_views_are_created_with_a_warning(catalog: HiveViewCatalog, estate: str) -> None:
    for name, outcome in OUTCOMES.items():
        with pytest.warns(
            UnreadableTableWarning, match=rf"{estate}\.{name}_w: spark: {outcome}: it reads {estate}\.{name},"
        ):
            catalog.execute(f"CREATE VIEW {estate}.{name}_w AS SELECT * FROM {estate}.{name}")
        with pytest.warns(UnreadableTableWarning, match=rf"it reads {estate}\.{name},") as warned:
            catalog.execute(f"CREATE VIEW {estate}.{name}_ww AS SELECT id FROM {estate}.{name}_w")
        assert len(warned) == 1


@pytest.mark.filterwarnings("error")
def test_other_views_are_created_without_a_warning(catalog: HiveViewCatalog, estate: str) -> None:
    catalog.execute(f"CREATE VIEW {estate}.fine AS SELECT * FROM {estate}.plain")


def test_command_line_prints_the_warning(cli: Cli, estate: str) -> None:
    done = cli("sql", f"CREATE VIEW {estate}.w AS SELECT * FROM {estate}.acid")
    assert done.code == 0
    assert f"Warning: {estate}.w: spark: other rows: it reads {estate}.acid, a transactional (full ACID)" in done.err
    document = cli("--json", "sql", f"CREATE OR REPLACE VIEW {estate}.w AS SELECT id FROM {estate}.acid").err
    assert json.loads(document.splitlines()[0])["type"] == "UnreadableTableWarning"


@pytest.mark.filterwarnings("ignore::hive_views.errors.UnreadableTableWarning")
def test_engines_of_views_have_the_finding_once(catalog: HiveViewCatalog, cli: Cli, estate: str) -> None:
    for name in TABLES:
        catalog.execute(f"CREATE VIEW {estate}.{name}_a AS SELECT * FROM {estate}.{name}")
        query = f"SELECT a.id FROM {estate}.{name}_a a JOIN {estate}.{name} b ON a.id = b.id"
        catalog.execute(f"CREATE VIEW {estate}.{name}_b AS {query}")
        for view in (f"{name}_a", f"{name}_b"):
            findings = cli("--json", "show", f"{estate}.{view}", "--engines").json["engines"]
            expected = [OUTCOMES[name]] if name in OUTCOMES else []
            assert spark_findings(findings, f"{estate}.{name}") == expected, view
            text = cli("show", f"{estate}.{view}", "--engines").out
            assert (f"it reads {estate}.{name}," in text) == bool(expected)


def test_materialized_views_over_them_are_refused(catalog: HiveViewCatalog, cli: Cli, estate: str) -> None:
    for name in OUTCOMES:
        with pytest.raises(UnreadableTableError, match=rf"it reads {estate}\.{name},"):
            catalog.materialized.create(f"{estate}.m", f"SELECT * FROM {estate}.{name}")
        with pytest.raises(UnreadableTableError, match=rf"it reads {estate}\.{name},"):
            catalog.materialized.create(f"{estate}.m", f"SELECT * FROM {estate}.v_{name}", dialect="hive")
    done = cli("mv", "create", f"{estate}.m", "--sql", f"SELECT * FROM {estate}.acid")
    assert done.code == 2
    assert "a refresh would store wrong rows" in done.err
    assert not catalog.view_exists(f"{estate}.m")


def plan(cli: Cli, estate: str, *options: str) -> dict[str, dict[str, Any]]:
    """The views of a plan of the whole database, by their short names."""
    views = cli("--json", "import", "plan", estate, *options).json["views"]
    return {view["name"].removeprefix(f"{estate}."): view for view in views}


def test_imports_refuse_views_over_them(cli: Cli, raw: Client, estate: str) -> None:
    text = f"SELECT `v_acid`.`id` FROM `{estate}`.`v_acid`"
    raw.create_table(hive_view_row(estate, "over", "x", text, [("id", "int")]))
    views = plan(cli, estate)
    for name in OUTCOMES:
        view = views[f"v_{name}"]
        assert (view["status"], view["reason"]) == ("refused", "unreadable-table")
        assert f"it reads {estate}.{name}," in view["text"]
        assert "--accept-unreadable" in view["text"]
    assert (views["over"]["status"], views["over"]["reason"]) == ("blocked", "blocked")
    assert views["v_plain"]["status"] == "pending"


def test_accepted_tables_and_views_are_imported(
    cli: Cli, catalog: HiveViewCatalog, raw: Client, estate: str, tmp_path: Path
) -> None:
    text = f"SELECT `v_acid`.`id` FROM `{estate}`.`v_acid`"
    raw.create_table(hive_view_row(estate, "over", "x", text, [("id", "int")]))
    accept = ("--accept-unreadable", f"{estate}.acid", "--accept-unreadable", f"{estate}.v_insert_only")
    file = str(tmp_path / "plan.json")
    views = plan(cli, estate, *accept, "-o", file)
    statuses = {name: view["status"] for name, view in views.items()}
    assert statuses == {
        "v_plain": "pending",
        "v_acid": "pending",
        "over": "pending",
        "v_insert_only": "pending",
        "v_insert_only_orc": "refused",
        "v_handler": "refused",
    }
    for name in ("v_acid", "over"):
        assert [
            item
            for item in views[name]["changes"]
            if item.startswith(f"accepted: spark: other rows: it reads {estate}.acid,")
        ]
        assert sum(f"it reads {estate}.acid," in item for item in views[name]["engines"]) == 1
    assert json.loads(Path(file).read_text())["options"]["accept_unreadable"] == [
        f"{estate}.acid",
        f"{estate}.v_insert_only",
    ]
    assert cli("import", "run", file).code == 0
    report = {view["name"]: view for view in cli("--json", "import", "report", f"{file}.journal").json["views"]}
    assert report[f"{estate}.over"]["status"] == "converted"
    assert any(item.startswith("accepted: ") for item in report[f"{estate}.v_acid"]["changes"])
    assert catalog.view_exists(f"{estate}.v_acid")
    assert not catalog.view_exists(f"{estate}.v_handler")


def test_accepted_name_has_to_exist(cli: Cli, estate: str) -> None:
    done = cli("import", "plan", estate, "--accept-unreadable", f"{estate}.typo")
    assert done.code == 2
    assert f"--accept-unreadable: there is no table or view {estate}.typo: check its name" in done.err


def test_a_table_that_became_transactional_since_the_plan(
    cli: Cli, catalog: HiveViewCatalog, raw: Client, estate: str, tmp_path: Path
) -> None:
    file = str(tmp_path / "plan.json")
    assert plan(cli, estate, "-o", file)["v_plain"]["status"] == "pending"
    raw.drop_table(estate, "plain", False)
    raw.create_table(table(estate, "plain", ORC, ACID))
    cli("import", "run", file)
    report = {view["name"]: view for view in cli("--json", "import", "report", f"{file}.journal").json["views"]}
    view = report[f"{estate}.v_plain"]
    assert (view["status"], view["reason"]) == ("refused", "changed")
    assert view["text"].endswith(", and plan again")
    assert not catalog.view_exists(f"{estate}.v_plain")


def test_materialized_view_of_hive_over_a_transactional_table(cli: Cli, raw: Client, estate: str) -> None:
    row = hive_view_row(estate, "mv", "select id from acid", f"SELECT `acid`.`id` FROM `{estate}`.`acid`", COLUMNS[:1])
    row.tableType = "MATERIALIZED_VIEW"
    raw.create_table(row)
    assert (plan(cli, estate)["mv"]["status"], plan(cli, estate)["mv"]["reason"]) == ("refused", "unreadable-table")
    assert plan(cli, estate, "--accept-unreadable", f"{estate}.mv")["mv"]["status"] == "pending"
