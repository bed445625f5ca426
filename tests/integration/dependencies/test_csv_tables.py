"""Views over tables of OpenCSVSerde, whose columns are texts whatever types their rows declare."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hive_views import HiveViewCatalog
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema
from tests.integration.cli.conftest import Cli, cli
from tests.integration.legacy_import.rows import hive_view_row
from tests.integration.transactional.tables import TEXT, table

__all__ = ["cli"]

CSV = (*TEXT[:2], "org.apache.hadoop.hive.serde2.OpenCSVSerde")


@pytest.fixture
def home(raw: Client, database: str) -> str:
    """Tables with `id int` and `p int`, a partition column, and Hive's views over the one that is a CSV table."""
    for name, formats, parameters in (
        ("csv", CSV, {}),
        ("of_spark", CSV, {"spark.sql.sources.provider": "csv"}),
        ("text", TEXT, {}),
    ):
        row = table(database, name, formats, parameters)
        row.partitionKeys = [FieldSchema("p", "int", None)]
        raw.create_table(row)
    for name, text, columns in (
        ("plain", "SELECT `csv`.`id`, `csv`.`p` FROM `{0}`.`csv`", [("id", "string"), ("p", "int")]),
        ("number", "SELECT CAST(`csv`.`id` AS INT) AS `id` FROM `{0}`.`csv`", [("id", "int")]),
    ):
        text = text.format(database)
        raw.create_table(hive_view_row(database, name, text, text, columns))
    return database


def validities(cli: Cli, database: str) -> dict[str, str]:
    views = json.loads(cli("--json", "deps", "check", database).out)["views"]
    return {view["view"].partition(".")[2]: view["validity"] for view in views}


def test_views_are_valid_before_and_after_an_import(cli: Cli, raw: Client, home: str, tmp_path: Path) -> None:
    expected = {"plain": "valid", "number": "valid"}
    assert validities(cli, home) == expected
    plan = str(tmp_path / "plan.json")
    assert cli("import", "plan", home, "-o", plan).code == 0
    assert cli("import", "run", plan).code == 0
    assert validities(cli, home) == expected
    assert "CAST(`csv`.`id` AS INT)" in raw.get_table(home, "number").viewExpandedText


def test_new_view_has_the_types_that_engines_read(catalog: HiveViewCatalog, home: str) -> None:
    for name, kinds in {"csv": "string", "of_spark": "int", "text": "int"}.items():
        catalog.execute(f"CREATE VIEW {home}.v_{name} AS SELECT id, p FROM {home}.{name}")
        schema = catalog.load_view(f"{home}.v_{name}").schema()
        assert [str(field.field_type) for field in schema.fields] == [kinds, "int"]
