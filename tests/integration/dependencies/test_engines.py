"""Which constructs of a view Trino's Hive connector does not read, over tables of the metastore."""

from __future__ import annotations

import json

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, TimestamptzType

from hive_views import HiveViewCatalog
from hive_views.errors import NoSuchViewError
from tests.integration.cli.conftest import invoke


@pytest.fixture
def tables(catalog: HiveViewCatalog, database: str) -> str:
    key = NestedField(1, "id", LongType(), required=False)
    catalog.create_table((database, "plain"), Schema(key))
    catalog.create_table((database, "zoned"), Schema(key, NestedField(2, "at", TimestamptzType(), required=False)))
    return database


@pytest.mark.parametrize(
    ("query", "findings"),
    [
        ("SELECT id FROM plain", []),
        ("SELECT id / 2 AS half FROM plain", [("other rows", "a quotient of integers: integer division")]),
        (
            "SELECT id FROM zoned",
            [("refused", "a timestamp with time zone in zoned, unless legacy-translation is on")],
        ),
    ],
)
def test_findings_of_a_view(catalog: HiveViewCatalog, tables: str, query: str, findings: list[tuple[str, str]]):
    catalog.execute(f"CREATE VIEW {tables}.v AS {query}", database=tables)
    assert [(item.outcome.value, item.construct) for item in catalog.check_for_trino((tables, "v"))] == findings


def test_findings_of_a_missing_view(catalog: HiveViewCatalog, database: str):
    with pytest.raises(NoSuchViewError):
        catalog.check_for_trino((database, "v"))


def test_show_prints_findings_on_request(catalog: HiveViewCatalog, tables: str, properties: dict[str, str]):
    catalog.execute(f"CREATE VIEW {tables}.v AS SELECT id / 2 AS half FROM plain", database=tables)
    connection = ("--uri", properties["uri"], "--warehouse", properties["warehouse"])
    shown = json.loads(invoke(*connection, "show", f"{tables}.v", "--engines", "--json").out)
    assert [item["outcome"] for item in shown["trino"]] == ["other rows"]
    assert json.loads(invoke(*connection, "show", f"{tables}.v", "--json").out)["trino"] is None
