"""Which engines read a view, over tables of the metastore, and definitions that a required engine does not read."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, TimestamptzType

from hive_views import HiveViewCatalog, define
from hive_views.config import ANSI_MODE, REQUIRE_ENGINES
from hive_views.errors import EngineRequirementError, InvalidPropertyError, NoSuchViewError
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import EnvironmentContext
from tests.conftest import CatalogFactory
from tests.integration.cli.conftest import invoke
from tests.integration.dependencies.conftest import MakeTable

DIVISION = ("trino", "other rows", "a quotient of integers: integer division")
QUOTIENT = (
    "hive",
    "other rows for some values",
    "a quotient, only for a divisor of 0, if another view or query compares the column with NULL: Hive's optimizer "
    "does not take it for NULL",
)
ZONED = ("trino", "refused", "a timestamp with time zone in zoned, unless legacy-translation is on")


def iceberg(table: str) -> tuple[str, str, str]:
    """The finding about an Iceberg table."""
    reason = "Hive needs Iceberg's storage handler, and the table property engine.hive.enabled=true"
    return ("hive", "refused", f"it reads {table}, an Iceberg table: {reason}")


@pytest.fixture
def tables(catalog: HiveViewCatalog, database: str, hive_table: MakeTable) -> str:
    key = NestedField(1, "id", LongType(), required=False)
    hive_table("plain", "id")
    catalog.create_table((database, "lake"), Schema(key))
    catalog.create_table((database, "zoned"), Schema(key, NestedField(2, "at", TimestamptzType(), required=False)))
    return database


def findings(catalog: HiveViewCatalog, name: str) -> list[tuple[str, str, str]]:
    return [(item.engine, item.outcome.value, item.construct) for item in catalog.dependencies.check_engines(name)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT id FROM plain", []),
        ("SELECT id / id AS half FROM plain", [QUOTIENT, DIVISION]),
        (
            "SELECT CAST(unix_micros(current_timestamp()) AS BIGINT) AS s FROM plain",
            [
                ("hive", "refused", "it has no function unix_micros"),
                ("hive", "not verified", "an operand of type bigint in Spark and ? in Hive: not compared with Spark"),
                ("trino", "not verified", "a cast of a value of unknown type"),
                ("trino", "not verified", "unix_micros()"),
            ],
        ),
    ],
)
def test_findings_of_a_view(catalog: HiveViewCatalog, tables: str, query: str, expected: list[tuple[str, str, str]]):
    catalog.execute(f"CREATE VIEW {tables}.v AS {query}", database=tables)
    assert findings(catalog, f"{tables}.v") == expected


def test_mode_of_types_found_without_spark_is_recorded(
    catalog: HiveViewCatalog, open_catalog: CatalogFactory, tables: str
):
    texts = {"on": "SELECT id + '1' AS x FROM plain", "off": "SELECT '1' + '2' AS x FROM plain"}
    for name, query in texts.items():
        catalog.execute(f"CREATE VIEW {tables}.{name} AS {query}", database=tables)
    modes = [catalog.load_view((tables, name)).current_version().summary[ANSI_MODE] for name in texts]
    assert modes == ["true", "false"]
    legacy = open_catalog({ANSI_MODE: "false"})
    legacy.execute(f"CREATE VIEW {tables}.legacy AS SELECT id + '1' AS x FROM plain", database=tables)
    version = catalog.load_view((tables, "legacy"))
    assert version.current_version().summary[ANSI_MODE] == "false"
    assert str(version.schema().fields[0].field_type) == "double"
    catalog.execute(f"CREATE VIEW {tables}.hive AS SELECT id FROM plain", database=tables, dialect="hive")
    assert ANSI_MODE not in catalog.load_view((tables, "hive")).current_version().summary


def test_recompile_keeps_the_recorded_mode(catalog: HiveViewCatalog, raw: Client, tables: str, hive_table: MakeTable):
    hive_table("grown", "id")
    query = "SELECT *, CAST(id AS STRING) + '1' AS x FROM grown"
    catalog.execute(f"CREATE VIEW {tables}.v AS {query}", database=tables)
    raw.drop_table(tables, "grown", False)
    hive_table("grown", "id", "more")
    result = catalog.recompile_view((tables, "v"))
    assert result.added == ("more",)
    assert catalog.load_view((tables, "v")).current_version().summary[ANSI_MODE] == "false"


def test_recompile_records_the_mode_that_accepts_the_new_types(
    catalog: HiveViewCatalog, raw: Client, tables: str, hive_table: MakeTable
):
    hive_table("grown", "id")
    catalog.execute(f"CREATE VIEW {tables}.v AS SELECT id + '1' AS x FROM grown", database=tables)
    assert catalog.load_view((tables, "v")).current_version().summary[ANSI_MODE] == "true"
    row = raw.get_table(tables, "grown")
    row.sd.cols[0].type = "string"
    raw.alter_table_with_environment_context(tables, "grown", row, EnvironmentContext({}))
    assert catalog.recompile_view((tables, "v")).changed
    assert catalog.load_view((tables, "v")).current_version().summary[ANSI_MODE] == "false"


def test_mode_is_recorded_only_if_types_depend_on_it(catalog: HiveViewCatalog, tables: str):
    catalog.execute(f"CREATE VIEW {tables}.v AS SELECT CAST('1' AS INT) + 1 AS x FROM plain", database=tables)
    assert ANSI_MODE not in catalog.load_view((tables, "v")).current_version().summary


def test_row_that_lost_the_mode_is_drift(catalog: HiveViewCatalog, raw: Client, tables: str):
    catalog.execute(f"CREATE VIEW {tables}.v AS SELECT id + '1' AS x FROM plain", database=tables)
    row, key = raw.get_table(tables, "v"), "view.sqlConfig.spark.sql.ansi.enabled"
    assert row.parameters.pop(key) == "true"
    raw.alter_table_with_environment_context(tables, "v", row, EnvironmentContext({}))
    assert [item.field for item in catalog.load_view((tables, "v")).drift] == ["setting spark.sql.ansi.enabled"]
    catalog.repair_view((tables, "v"))
    assert raw.get_table(tables, "v").parameters[key] == "true"


def test_row_without_the_mode_of_its_types_has_a_finding(catalog: HiveViewCatalog, tables: str):
    """Plain Spark reads such rows, which earlier versions wrote, with ANSI mode off."""
    query = f"SELECT `plain`.`id` + '1' AS `x` FROM `{tables}`.`plain`"
    version = define(query, dialect="spark", default_namespace=(tables,), expanded=query)
    catalog.create_view((tables, "v"), Schema(NestedField(1, "x", LongType(), required=False)), version)
    found = [item for item in catalog.dependencies.check_engines(f"{tables}.v") if item.engine == "spark"]
    assert [(item.outcome.value, "Spark computes double (CANNOT_UP_CAST)" in item.construct) for item in found] == [
        ("refused", True)
    ]


def test_finding_of_a_table_names_it_once_whatever_view_reads_it(catalog: HiveViewCatalog, tables: str):
    for name, query in {
        "v": "SELECT id FROM zoned",
        "w": "SELECT v.id FROM v JOIN zoned ON v.id = zoned.id JOIN lake ON v.id = lake.id",
    }.items():
        catalog.execute(f"CREATE VIEW {tables}.{name} AS {query}", database=tables)
    own, through = iceberg(f"{tables}.zoned"), ("trino", "refused", f"it reads {tables}.v: {ZONED[2]}")
    assert findings(catalog, f"{tables}.v") == [ZONED, own]
    assert findings(catalog, f"{tables}.w") == [ZONED, through, own, iceberg(f"{tables}.lake")]
    assert [item.table for item in catalog.dependencies.check_engines(f"{tables}.v")] == [None, f"{tables}.zoned"]


@pytest.mark.parametrize(
    ("dialect", "query", "expected"),
    [
        ("hive", "SELECT stddev(id) AS s FROM plain", "spark: other rows: stddev or variance"),
        ("spark", "SELECT stddev(id) AS s FROM plain", "hive: other rows: stddev or variance"),
        ("spark", "SELECT id FROM plain ORDER BY id LIMIT 3", "hive: other rows: ORDER BY with LIMIT"),
        ("hive", "SELECT id FROM plain ORDER BY id LIMIT 3", "spark: other rows: ORDER BY with LIMIT"),
        ("spark", "SELECT id FROM plain WHERE id = '1'", "hive: refused: BIGINT or DECIMAL compared with a text"),
    ],
)
def test_engine_other_than_the_authors_has_a_finding(
    catalog: HiveViewCatalog, tables: str, dialect: str, query: str, expected: str
):
    catalog.execute(f"CREATE VIEW {tables}.v AS {query}", database=tables, dialect=dialect)
    texts = [item.text for item in catalog.dependencies.check_engines(f"{tables}.v") if item.engine != "trino"]
    assert len(texts) == 1
    assert texts[0].startswith(expected)


def test_findings_of_a_source_limit_the_views_that_read_it(catalog: HiveViewCatalog, tables: str):
    catalog.execute(f"CREATE VIEW {tables}.v AS SELECT id / id AS half FROM plain", database=tables)
    catalog.execute(f"CREATE VIEW {tables}.w AS SELECT half FROM v", database=tables)
    assert findings(catalog, f"{tables}.w") == [
        (engine, outcome, f"it reads {tables}.v: {construct}") for engine, outcome, construct in (QUOTIENT, DIVISION)
    ]


EXPLICIT = "hive-views.explicit-row-text"


def test_row_text_says_where_null_is_ordered_on_request(open_catalog: CatalogFactory, tables: str):
    catalog, name = open_catalog({}), f"{tables}.v"
    query = "SELECT id, rank() OVER (ORDER BY id DESC) AS r FROM plain ORDER BY id LIMIT 3"
    statement = f"CREATE VIEW {name} TBLPROPERTIES ('{EXPLICIT}' = 'true') AS {query}"
    view = catalog.execute(statement, database=tables).view
    expected = (
        f"SELECT `plain`.`id`, rank() OVER (ORDER BY `plain`.`id` DESC NULLS LAST) AS `r` FROM `{tables}`.`plain` "
        "ORDER BY id NULLS FIRST LIMIT 3"
    )
    assert (view.expanded_text, view.original_text, view.sql_for("spark").sql) == (expected, query, query)
    assert view.current_version().summary["hive-views.row-text-rules"] == "order_of_nulls"
    assert "rewritten (order_of_nulls)" in invoke("--uri", catalog.properties["uri"], "show", name).out
    ties = [item for item in findings(catalog, name) if item[0] == "hive"]
    assert ties == [("hive", "not verified", "LIMIT, if rows are equal in the order")]
    assert catalog.dependencies.check_view(name).problems == ()
    catalog.load_view(name).update().set_properties({EXPLICIT: "false"}).commit()
    catalog.recompile_view(name)
    recompiled = catalog.load_view(name)
    assert "NULLS" not in str(recompiled.expanded_text)
    assert "hive-views.row-text-rules" not in recompiled.current_version().summary


FOR_TRINO = "hive-views.row-text-for-trino"
CROSS_JOIN = "SELECT a.id FROM plain a, plain b"


@dataclass(frozen=True)
class RowTexts:
    """The texts of `CROSS_JOIN`."""

    plain: str
    for_trino: str


@pytest.fixture
def texts(tables: str) -> RowTexts:
    return RowTexts(
        f"SELECT `a`.`id` FROM `{tables}`.`plain` `a`, `{tables}`.`plain` `b`",
        f"SELECT `a`.`id` FROM `{tables}`.`plain` `a` JOIN `{tables}`.`plain` `b` ON true",
    )


@pytest.mark.parametrize(
    ("of_catalog", "of_view", "is_rewritten"),
    [
        ({}, {}, False),
        ({FOR_TRINO: "true"}, {}, True),
        ({}, {FOR_TRINO: "true"}, True),
        ({FOR_TRINO: "true"}, {FOR_TRINO: "false"}, False),
        ({f"view-default.{FOR_TRINO}": "true"}, {}, True),
        ({f"view-override.{FOR_TRINO}": "false"}, {FOR_TRINO: "true"}, False),
    ],
)
def test_row_text_is_rewritten_for_trino_on_request(
    open_catalog: CatalogFactory,
    tables: str,
    texts: RowTexts,
    of_catalog: dict[str, str],
    of_view: dict[str, str],
    is_rewritten: bool,
):
    catalog, name = open_catalog(of_catalog), f"{tables}.v"
    expected = texts.for_trino if is_rewritten else texts.plain
    clause = "".join(f" TBLPROPERTIES ('{key}' = '{value}')" for key, value in of_view.items())
    view = catalog.execute(f"CREATE VIEW {name}{clause} AS {CROSS_JOIN}", database=tables).view
    assert (view.expanded_text, view.original_text) == (expected, CROSS_JOIN)
    assert view.current_version().summary.get("hive-views.row-text-rules") == (
        "join_conditions" if is_rewritten else None
    )
    assert [engine for engine, _, _ in findings(catalog, name)] == ([] if is_rewritten else ["trino"])
    shown = invoke("--uri", catalog.properties["uri"], "show", name).out
    assert ("rewritten (join_conditions)" in shown) == is_rewritten
    other = catalog.create_view_from_sql((tables, "other"), CROSS_JOIN, properties=of_view)
    assert other.expanded_text == expected
    # A later definition follows the view's property.
    later = expected.replace("`a`.`id`", "`b`.`id`")
    assert catalog.replace_view_from_sql(name, CROSS_JOIN.replace("a.id", "b.id")).expanded_text == later
    assert catalog.execute(f"ALTER VIEW {name} AS {CROSS_JOIN}", database=tables).view.expanded_text == expected
    assert catalog.execute(f"CREATE OR REPLACE VIEW {name} AS {CROSS_JOIN}", database=tables).kind == "unchanged"
    assert not catalog.recompile_view(name).changed


def test_finding_is_listed_once_however_many_ways_lead_to_its_cause(catalog: HiveViewCatalog, tables: str):
    levels = 14
    catalog.execute(f"CREATE VIEW {tables}.v0 AS SELECT id / id AS half FROM plain", database=tables)
    for level in range(1, levels):
        for side in ("", "b"):
            query = (
                f"SELECT x.half FROM v{level - 1} x JOIN v{level - 1}{'b' if level > 1 else ''} y ON x.half = y.half"
            )
            catalog.execute(f"CREATE VIEW {tables}.v{level}{side} AS {query}", database=tables)
    found = catalog.dependencies.check_engines(f"{tables}.v{levels - 1}")
    names = {f"{tables}.v0", *(f"{tables}.v{level}{side}" for level in range(1, levels) for side in ("", "b"))}
    causes = [(item.engine, item.construct) for item in found]
    assert len(set(causes)) == len(causes)
    assert {item.view for item in found} - {None} <= names
    assert [item.construct for item in found if item.view == f"{tables}.v0"] == [
        f"it reads {tables}.v0: {construct}" for _, _, construct in (QUOTIENT, DIVISION)
    ]
    assert all(item.construct.count("it reads") <= 1 for item in found)


def test_row_text_of_an_earlier_version_is_kept_until_it_is_recompiled(
    catalog: HiveViewCatalog, tables: str, texts: RowTexts
):
    for name, expanded in (("v", texts.for_trino), ("w", texts.plain)):
        version = define(CROSS_JOIN, dialect="spark", default_namespace=(tables,), expanded=expanded)
        catalog.create_view((tables, name), Schema(NestedField(1, "id", LongType(), required=False)), version)
        catalog.load_view((tables, name)).update().set_properties({"a": "b"}).commit()
        assert catalog.load_view((tables, name)).expanded_text == expanded
    assert [(item.problems, item.view.name) for item in catalog.dependencies.check_views(tables)] == [
        ((), "v"),
        ((), "w"),
    ]
    assert [catalog.load_view((tables, name)).drift for name in ("v", "w")] == [(), ()]
    for name in ("v", "w"):
        catalog.recompile_view((tables, name))
        assert catalog.load_view((tables, name)).expanded_text == texts.plain
    catalog.load_view((tables, "w")).update().set_properties({FOR_TRINO: "true"}).commit()
    assert catalog.recompile_view((tables, "w")).changed
    assert [catalog.load_view((tables, name)).expanded_text for name in ("v", "w")] == [texts.plain, texts.for_trino]


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
        catalog.dependencies.check_engines((database, "v"))


def test_commands_print_findings_on_request(catalog: HiveViewCatalog, tables: str, properties: dict[str, str]):
    catalog.execute(f"CREATE VIEW {tables}.v AS SELECT id / id AS half FROM plain", database=tables)
    connection = ("--uri", properties["uri"], "--warehouse", properties["warehouse"])
    shown = json.loads(invoke(*connection, "show", f"{tables}.v", "--engines", "--json").out)
    assert [(item["engine"], item["outcome"]) for item in shown["engines"]] == [QUOTIENT[:2], DIVISION[:2]]
    assert json.loads(invoke(*connection, "show", f"{tables}.v", "--json").out)["engines"] is None
    checked = json.loads(invoke(*connection, "deps", "check", tables, "--engines", "--json").out)
    assert [item["construct"] for item in checked["engines"][f"{tables}.v"]] == [QUOTIENT[2], DIVISION[2]]
    assert ": ".join(DIVISION) in invoke(*connection, "deps", "check", tables, "--engines").out
    text = invoke(*connection, "show", f"{tables}.v", "--engines").out
    assert "spark: the same rows\n" in text and "hive: the same rows, except for some values\n" in text
    assert ": ".join(QUOTIENT) in text


def test_required_engine_rejects_create_and_replace_with_reason_and_position(
    open_catalog, catalog: HiveViewCatalog, tables: str
):
    strict = open_catalog({REQUIRE_ENGINES: "spark, hive, trino"})
    strict.execute(f"CREATE VIEW {tables}.v AS SELECT id FROM plain", database=tables)
    statement = f"VIEW {tables}.v AS SELECT id,\n  id / id AS half FROM plain"
    for text in (f"CREATE {statement.replace('.v', '.w')}", f"CREATE OR REPLACE {statement}", f"ALTER {statement}"):
        with pytest.raises(EngineRequirementError, match=f"query: {': '.join(DIVISION)}") as error:
            strict.execute(text, database=tables)
        assert (error.value.line, error.value.column) == (2, 3)
    assert not catalog.view_exists(f"{tables}.w")
    assert strict.load_view(f"{tables}.v").original_text == "SELECT id FROM plain"
    catalog.execute(f"CREATE OR REPLACE {statement}", database=tables)


@pytest.mark.parametrize(
    ("engines", "query", "is_accepted"),
    [
        ("spark", "SELECT stddev(id) AS s FROM lake", True),
        ("hive", "SELECT id + 1 AS n FROM plain WHERE id > 3", True),
        ("hive", "SELECT id FROM lake", False),
        ("hive", "SELECT CAST(initcap(CAST(id AS STRING)) AS STRING) AS s FROM plain", True),
        ("hive", "SELECT CAST(hash(id) AS STRING) AS s FROM plain", False),
        ("hive", "SELECT rand() AS s FROM plain", False),
    ],
)
def test_required_engine_rejects_what_is_not_verified(
    open_catalog, tables: str, engines: str, query: str, is_accepted: bool
):
    strict = open_catalog({REQUIRE_ENGINES: engines})
    if is_accepted:
        strict.execute(f"CREATE VIEW {tables}.v AS {query}", database=tables)
    else:
        with pytest.raises(EngineRequirementError, match="hive: "):
            strict.execute(f"CREATE VIEW {tables}.v AS {query}", database=tables)


def test_required_engines_of_a_view_take_precedence(open_catalog, catalog: HiveViewCatalog, tables: str):
    catalog.execute(f"CREATE VIEW {tables}.v AS SELECT id / id AS half FROM plain", database=tables)
    view = catalog.load_view(f"{tables}.v")
    with pytest.raises(EngineRequirementError):
        view.update().set_properties({REQUIRE_ENGINES: "trino"}).commit()
    with pytest.raises(InvalidPropertyError, match="spark, hive, trino"):
        view.update().set_properties({REQUIRE_ENGINES: "presto"}).commit()
    strict = open_catalog({REQUIRE_ENGINES: "trino"})
    strict.load_view(f"{tables}.v").update().set_properties(a="b").commit()
    for engines in ("spark", ""):
        strict.execute(
            f"CREATE OR REPLACE VIEW {tables}.v TBLPROPERTIES ('{REQUIRE_ENGINES}' = '{engines}') "
            "AS SELECT id / 4 AS half FROM plain",
            database=tables,
        )
