"""Rows that Trino 483 wrote through its Hive and Iceberg connectors, as the import reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hive_views.dependencies.lineage import texts_of_hive_view
from hive_views.legacy_import.legacy_view import Writer
from hive_views.legacy_import.readers import trino
from hive_views.legacy_import.storage import staleness_properties
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema, StorageDescriptor, Table
from hive_views.metastore.rows.row import Row, read_row
from hive_views.metastore.trino_encoding import encode

ROWS: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "golden/trino_483_rows.json").read_text())["rows"]


def row_of(name: str) -> Row:
    document = ROWS[name]
    database, _, table_name = name.partition(".")
    return read_row(
        Table(
            dbName=database,
            tableName=table_name,
            owner=document["owner"],
            sd=StorageDescriptor(cols=[FieldSchema(*column) for column in document["columns"]]),
            parameters=document["parameters"],
            tableType=document["tableType"],
            viewOriginalText=document["viewOriginalText"],
            viewExpandedText=document["viewExpandedText"],
        )
    )


@pytest.mark.parametrize("name", sorted(ROWS))
def test_row_written_by_trino_is_read(name):
    row, decoded = row_of(name), ROWS[name]["decoded"]
    assert trino.is_trino_row(row)
    view = trino.read(row)
    assert view.writer is Writer.TRINO
    assert view.sql == decoded["originalSql"]
    assert [column.name for column in view.columns] == [column["name"] for column in decoded["columns"]]
    assert view.comment == decoded.get("comment")
    assert (view.catalog, view.database) == (decoded.get("catalog"), decoded.get("schema", row.name.database))
    assert view.materialized is (row.parameters["comment"] == "Presto Materialized View")
    assert view.owner == decoded.get("owner")
    assert view.run_as_invoker is decoded.get("runAsInvoker")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tm.hid_grace", ({"hive-views.max-staleness-ms": "3600000"}, "its grace period of 3600 s stays")),
        (
            "tm.hid_ws",
            (
                {},
                "its grace period of 0 s stays; its WHEN STALE FAIL is not kept: "
                "from now on queries read the definition when rows are stale",
            ),
        ),
    ],
)
def test_staleness_of_materialized_view_is_reported(name: str, expected: tuple[dict[str, str], str]):
    assert staleness_properties(trino.read(row_of(name))) == expected


def test_types_that_iceberg_lacks_are_problems():
    problems = {name: view.problem.text for name in ROWS if (view := trino.read(row_of(name))).problem is not None}
    assert problems == {
        "tv.v_interval": "column i is of Trino's type interval day to second: neither Hive nor Iceberg has it",
        "tv.v_json": "column j is of Trino's type json: neither Hive nor Iceberg has it",
        "tv.v_time": "column t is of Trino's type time(0): neither Hive nor Iceberg has it",
        "tv.v_uuid": "column u is of Trino's type uuid: neither Hive nor Iceberg has it",
    }


@pytest.mark.parametrize(("schema", "database"), [("Other", "other"), (None, "db"), (7, "db")])
def test_database_of_unqualified_names(schema: object, database: str):
    texts = encode({"originalSql": "SELECT id FROM t", "columns": [], "schema": schema})
    assert texts_of_hive_view("DB", texts) == ({"trino": "SELECT id FROM t"}, database)
