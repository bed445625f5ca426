"""Metric views of Spark, whose text is no query, are named as what they are by each command."""

from __future__ import annotations

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import SqlError
from tests.integration.cli.conftest import Cli
from tests.integration.legacy_import.rows import hive_view_row, table_row

TEXT = """
version: 0.1
source: d.t
dimensions:
  - name: id
    expr: id
measures:
  - name: total
    expr: sum(x)
"""
PARAMETERS = {
    "metric_view.from.type": "ASSET",
    "spark.sql.create.version": "4.3.0",
    "view.catalogAndNamespace.numParts": "2",
    "view.catalogAndNamespace.part.0": "spark_catalog",
    "view.catalogAndNamespace.part.1": "default",
    "view.query.out.col.0": "id",
    "view.query.out.col.1": "total",
    "view.query.out.numCols": "2",
    "view.referredTempFunctionsNames": "[]",
    "view.sqlConfig.spark.sql.ansi.enabled": "true",
    "view.subType": "METRIC_VIEW",
}
"""The parameters that Spark 4.3.0 wrote, without those that other views have as well."""


@pytest.fixture
def home(catalog: HiveViewCatalog, database: str) -> str:
    """A database with a table, a metric view over it, and one over a query."""
    client = catalog.store.client
    client.create_table(table_row(database, "t", [("id", "int"), ("x", "int")]))
    columns = [("id", "int"), ("total", "bigint")]
    source = {"metric_view.from.name": f"spark_catalog.{database}.t"}
    client.create_table(hive_view_row(database, "m", TEXT, TEXT, columns, **PARAMETERS, **source))
    of_query = {**PARAMETERS, "metric_view.from.type": "SQL", "metric_view.from.sql": f"SELECT * FROM {database}.t"}
    client.create_table(hive_view_row(database, "q", TEXT, TEXT, columns, **of_query))
    return database


def test_commands_name_it(cli: Cli, home: str) -> None:
    listed = {entry["name"]: entry["kind"] for entry in cli("list", home, "--all", "--json").json["views"]}
    assert listed == {"m": "metric-view", "q": "metric-view", "t": "hive-table"}
    shown = cli("show", f"{home}.m", "--json")
    assert '"kind": "metric-view"' in shown.out
    assert "is a metric view of Spark, whose definition is YAML and no query" in shown.out
    checked = cli("deps", "check", home)
    assert checked.out.count("is a metric view of Spark, whose definition is YAML and no query") == 2
    plan = cli("import", "plan", home)
    assert "it is a metric view of Spark, whose definition is YAML and no query" in plan.out


def test_source_is_its_lineage(cli: Cli, catalog: HiveViewCatalog, home: str) -> None:
    assert [str(item.dependency.name) for item in catalog.dependencies.lineage(f"{home}.m").dependencies] == [
        f"{home}.t"
    ]
    impact = cli("deps", "impact", f"{home}.t")
    assert f"{home}.m" in impact.out
    assert f"{home}.q  hive-view  unknown: {home}.q is a metric view of Spark" in cli("deps", "graph", home).out


def test_view_over_it_is_refused(catalog: HiveViewCatalog, home: str) -> None:
    with pytest.raises(
        SqlError, match=r"m is a metric view of Spark, whose columns Spark does not find under its name"
    ):
        catalog.execute("CREATE VIEW v AS SELECT id FROM m", database=home)
