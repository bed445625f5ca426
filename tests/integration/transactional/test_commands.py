"""Commands over a database with transactional tables and a table of a storage handler."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hive_views import HiveViewCatalog
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from tests.conftest import CatalogFactory
from tests.integration.cli.conftest import Cli
from tests.integration.legacy_import.rows import hive_view_row
from tests.integration.transactional.tables import create_tables

COLUMNS = (("id", "int"), ("name", "string"))
TABLES = ("plain", "acid", "insert_only", "insert_only_orc", "handler")


@pytest.fixture
def estate(raw: Client, database: str) -> str:
    """A database with tables of each kind and a Hive view over each."""
    create_tables(raw, database)
    for name in TABLES:
        text = f"SELECT `{name}`.`id`, `{name}`.`name` FROM `{database}`.`{name}`"
        raw.create_table(hive_view_row(database, f"v_{name}", f"select * from {name}", text, COLUMNS))
    return database


def test_graph_has_all_tables(cli: Cli, estate: str) -> None:
    graph = cli("--json", "deps", "graph", estate).json
    assert {f"{estate}.{name}" for name in TABLES} <= {node["name"] for node in graph["nodes"]}


def test_check_examines_all_views(cli: Cli, estate: str) -> None:
    views = cli("--json", "deps", "check", estate).json["views"]
    assert {view["view"]: view["validity"] for view in views} == {f"{estate}.v_{name}": "valid" for name in TABLES}


def test_status_of_all_materialized_views(cli: Cli, estate: str) -> None:
    assert cli("--json", "mv", "status", "--all").code == 0
    assert cli("--json", "mv", "list", estate).json["views"] == []


def test_long_list_has_all_tables(cli: Cli, estate: str) -> None:
    listed = cli("--json", "list", estate, "--long", "--all").json["views"]
    kinds = {item["name"]: item["kind"] for item in listed}
    assert {kinds[name] for name in TABLES} == {"hive-table"}


def test_doctor_examines_the_database(cli: Cli, estate: str) -> None:
    done = cli("--json", "doctor", "--database", estate)
    assert done.code in (0, 1)
    assert "insert-only" not in done.out + done.err


def test_tables_that_are_not_icebergs_are_not_loaded(catalog: HiveViewCatalog, estate: str) -> None:
    from hive_views.errors import NoSuchTableError

    for name in TABLES:
        with pytest.raises(NoSuchTableError, match=r"Hive table|not an Iceberg table|does not exist"):
            catalog.load_table(f"{estate}.{name}")


def test_views_of_plans_are_all_planned(cli: Cli, estate: str, tmp_path: Path) -> None:
    plan = cli("--json", "import", "plan", estate, "-o", str(tmp_path / "plan.json")).json
    assert len(plan["views"]) == len(TABLES)
    assert not [view for view in plan["views"] if "insert-only tables" in json.dumps(view)]


def test_columns_and_lineage(catalog: HiveViewCatalog, estate: str) -> None:
    for name in TABLES:
        assert catalog.columns(f"{estate}.{name}") == COLUMNS
        dependencies = catalog.dependencies.lineage(f"{estate}.v_{name}").dependencies
        assert [str(item.dependency.name) for item in dependencies] == [f"{estate}.{name}"]


def test_many_views_beside_an_insert_only_table(open_catalog: CatalogFactory, raw: Client, estate: str) -> None:
    """A server that can filter returns texts of plain views by a projection, which has capabilities as well."""
    for number in range(120):
        text = f"SELECT `insert_only`.`id` FROM `{estate}`.`insert_only`"
        raw.create_table(hive_view_row(estate, f"many_{number}", "x", text, [("id", "int")]))
    dependents = open_catalog().dependencies.dependents(f"{estate}.insert_only")
    assert len(list(dependents)) == 121
