"""Which engines read a view, over tables of the metastore, and definitions that a required engine does not read."""

from __future__ import annotations

import json

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, TimestamptzType

from hive_views import HiveViewCatalog, define
from hive_views.config import REQUIRE_ENGINES
from hive_views.errors import EngineRequirementError, InvalidPropertyError, NoSuchViewError
from tests.integration.cli.conftest import invoke

DIVISION = ("trino", "other rows", "a quotient of integers: integer division")
ZONED = ("trino", "refused", "a timestamp with time zone in zoned, unless legacy-translation is on")


@pytest.fixture
def tables(catalog: HiveViewCatalog, database: str) -> str:
    key = NestedField(1, "id", LongType(), required=False)
    catalog.create_table((database, "plain"), Schema(key))
    catalog.create_table((database, "zoned"), Schema(key, NestedField(2, "at", TimestamptzType(), required=False)))
    return database


def findings(catalog: HiveViewCatalog, name: str) -> list[tuple[str, str, str]]:
    return [(item.engine, item.outcome.value, item.construct) for item in catalog.check_engines(name)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT id FROM plain", []),
        ("SELECT id / id AS half FROM plain", [DIVISION]),
        ("SELECT id FROM zoned", [ZONED]),
        (
            "SELECT CAST(unix_micros(current_timestamp()) AS BIGINT) AS s FROM plain",
            [
                ("hive", "refused", "it has no function unix_micros"),
                ("trino", "not verified", "a cast of a value of unknown type"),
                ("trino", "not verified", "unixmicros"),
            ],
        ),
    ],
)
def test_findings_of_a_view(catalog: HiveViewCatalog, tables: str, query: str, expected: list[tuple[str, str, str]]):
    catalog.execute(f"CREATE VIEW {tables}.v AS {query}", database=tables)
    assert findings(catalog, f"{tables}.v") == expected


def test_findings_of_a_source_limit_the_views_that_read_it(catalog: HiveViewCatalog, tables: str):
    catalog.execute(f"CREATE VIEW {tables}.v AS SELECT id / id AS half FROM plain", database=tables)
    catalog.execute(f"CREATE VIEW {tables}.w AS SELECT half FROM v", database=tables)
    engine, outcome, construct = DIVISION
    assert findings(catalog, f"{tables}.w") == [(engine, outcome, f"it reads {tables}.v: {construct}")]


def test_row_has_a_text_that_trino_reads(catalog: HiveViewCatalog, tables: str):
    view = catalog.execute(f"CREATE VIEW {tables}.v AS SELECT a.id FROM plain a, plain b", database=tables).view
    assert view.expanded_text == f"SELECT `a`.`id` FROM `{tables}`.`plain` `a` JOIN `{tables}`.`plain` `b` ON true"
    assert view.original_text == "SELECT a.id FROM plain a, plain b"
    assert findings(catalog, f"{tables}.v") == []


def test_row_text_of_an_earlier_version_is_valid_until_it_is_recompiled(catalog: HiveViewCatalog, tables: str):
    expanded = f"SELECT `a`.`id` FROM `{tables}`.`plain` `a`, `{tables}`.`plain` `b`"
    version = define(
        "SELECT a.id FROM plain a, plain b", dialect="spark", default_namespace=(tables,), expanded=expanded
    )
    catalog.create_view((tables, "v"), Schema(NestedField(1, "id", LongType(), required=False)), version)
    assert [item.problems for item in catalog.check_views(tables)] == [()]
    catalog.recompile_view((tables, "v"))
    assert catalog.load_view((tables, "v")).expanded_text == expanded.replace(",", " JOIN") + " ON true"
    assert [item.problems for item in catalog.check_views(tables)] == [()]


def test_view_without_a_text_for_hive_is_read_by_no_engine(catalog: HiveViewCatalog, tables: str):
    view = catalog.execute(f"CREATE VIEW {tables}.v AS SELECT id FROM plain", database=tables).view
    version = view.metadata.current_version()
    spark_only = [item for item in version.representations if item.root.dialect == "spark"]
    version = version.model_copy(update={"representations": spark_only})
    catalog.create_view((tables, "w"), view.schema(), version)
    assert {finding[:2] for finding in findings(catalog, f"{tables}.w")} == {
        (engine, "refused") for engine in ("spark", "hive", "trino")
    }


def test_findings_of_a_missing_view(catalog: HiveViewCatalog, database: str):
    with pytest.raises(NoSuchViewError):
        catalog.check_engines((database, "v"))


def test_commands_print_findings_on_request(catalog: HiveViewCatalog, tables: str, properties: dict[str, str]):
    catalog.execute(f"CREATE VIEW {tables}.v AS SELECT id / id AS half FROM plain", database=tables)
    connection = ("--uri", properties["uri"], "--warehouse", properties["warehouse"])
    shown = json.loads(invoke(*connection, "show", f"{tables}.v", "--engines", "--json").out)
    assert [item["outcome"] for item in shown["engines"]] == ["other rows"]
    assert json.loads(invoke(*connection, "show", f"{tables}.v", "--json").out)["engines"] is None
    checked = json.loads(invoke(*connection, "deps", "check", tables, "--engines", "--json").out)
    assert [item["construct"] for item in checked["engines"][f"{tables}.v"]] == [DIVISION[2]]
    assert ": ".join(DIVISION) in invoke(*connection, "deps", "check", tables, "--engines").out


def test_required_engine_rejects_create_and_replace_with_reason_and_position(
    open_catalog, catalog: HiveViewCatalog, tables: str
):
    strict = open_catalog({REQUIRE_ENGINES: "spark, hive, trino"})
    strict.execute(f"CREATE VIEW {tables}.v AS SELECT id FROM plain", database=tables)
    statement = f"VIEW {tables}.v AS SELECT id,\n  id / id AS half FROM plain"
    for text in (f"CREATE {statement.replace('.v', '.w')}", f"CREATE OR REPLACE {statement}", f"ALTER {statement}"):
        with pytest.raises(EngineRequirementError, match=": ".join(DIVISION)) as error:
            strict.execute(text, database=tables)
        assert (error.value.line, error.value.column) == (2, 3)
    assert not catalog.view_exists(f"{tables}.w")
    assert strict.load_view(f"{tables}.v").original_text == "SELECT id FROM plain"
    catalog.execute(f"CREATE OR REPLACE {statement}", database=tables)


def test_required_engines_of_a_view_take_precedence(open_catalog, catalog: HiveViewCatalog, tables: str):
    catalog.execute(f"CREATE VIEW {tables}.v AS SELECT id / id AS half FROM plain", database=tables)
    view = catalog.load_view(f"{tables}.v")
    with pytest.raises(EngineRequirementError):
        view.update().set_properties(**{REQUIRE_ENGINES: "trino"}).commit()
    with pytest.raises(InvalidPropertyError, match="spark, hive, trino"):
        view.update().set_properties(**{REQUIRE_ENGINES: "presto"}).commit()
    strict = open_catalog({REQUIRE_ENGINES: "trino"})
    strict.load_view(f"{tables}.v").update().set_properties(a="b").commit()
    for engines in ("hive", ""):
        strict.execute(
            f"CREATE OR REPLACE VIEW {tables}.v TBLPROPERTIES ('{REQUIRE_ENGINES}' = '{engines}') "
            "AS SELECT id / 4 AS half FROM plain",
            database=tables,
        )
