"""The names that the installed Spark gives to columns without an alias, and rows that depend on them."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from tests.integration.spark.spark_versions import HAS_ICEBERG, IS_SPARK_3, LINE
from tests.unit.sql.hive_fixtures import load_cases

NOT_IN_SPARK_3 = ("::", "collate", "session_user", "parse_json")
PATH = "parse_json(x):"
"""The beginning of a path of a variant, which Spark 4.0 does not read."""
CATALOGS = ("prod", "spark_catalog") if HAS_ICEBERG else ("spark_catalog",)
TABLE = (
    "id int, Big bigint, x string, n decimal(12,3), ts timestamp, dt date, arr array<int>, "
    "s struct<F:int,g:struct<h:int>>, m map<string,int>, ss array<struct<q:int>>, ms map<string,struct<q:int>>, "
    "bin binary, b boolean"
)


@pytest.mark.extended
def test_view_of_spark_has_the_recorded_names(spark: SparkSession, database: str) -> None:
    spark.sql(f"CREATE TABLE spark_catalog.{database}.t ({TABLE}) USING parquet")
    cases = {case["item"]: case["name"] for case in load_cases("spark_names.jsonl")}
    cases = {item: name for item, name in cases.items() if not _is_missing(item)}

    assert {item: _name(spark, database, item) for item in cases} == cases


def _is_missing(text: str) -> bool:
    """Return whether the installed Spark does not have the syntax of a text."""
    return (IS_SPARK_3 and any(word in text for word in NOT_IN_SPARK_3)) or (LINE == "4.0" and PATH in text)


def _name(spark: SparkSession, database: str, item: str) -> str | None:
    """Return the name that Spark's CREATE VIEW gives the column of an element; None if it refuses to name it."""
    written = item.replace("d.t.", f"{database}.t.")
    try:
        spark.sql(
            f"CREATE OR REPLACE VIEW spark_catalog.{database}.v AS SELECT {written} FROM spark_catalog.{database}.t"
        )
    except AnalysisException as error:
        assert "CREATE_PERMANENT_VIEW_WITHOUT_ALIAS" in str(error) or "_LEGACY_ERROR_TEMP_1264" in str(error)
        return None
    (name,) = spark.table(f"spark_catalog.{database}.v").columns
    return name


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT CAST(a AS string) FROM VALUES (2), (10), (1) AS v(a) ORDER BY a LIMIT 2",
        "SELECT a::string FROM VALUES (2), (10), (1) AS v(a) ORDER BY a DESC LIMIT 1",
        "SELECT TRY_CAST(a AS int), b FROM VALUES (1.2, 'y'), (1.9, 'x') AS v(a, b) ORDER BY a, b LIMIT 1",
        "SELECT date(a), b FROM VALUES (timestamp'2020-01-01 10:00:00', 2), (timestamp'2020-01-01 09:00:00', 3) "
        "AS v(a, b) ORDER BY a, b LIMIT 1",
        "SELECT 'b', a FROM VALUES (2, 'x'), (1, 'y') AS v(a, b) ORDER BY b, a LIMIT 1",
        "SELECT * FROM (SELECT string(a) FROM VALUES (2), (10), (1) AS v(a) ORDER BY a LIMIT 2) q",
        "SELECT a FROM VALUES (2), (10), (1) AS v(a) WHERE a IN "
        "(SELECT CAST(b AS string) FROM VALUES (2), (10), (1) AS w(b) ORDER BY b LIMIT 2) ORDER BY a",
        "SELECT CAST(a AS string), sum(b) s FROM VALUES (2, 1), (10, 3), (1, 2) AS v(a, b) "
        "GROUP BY a ORDER BY a LIMIT 2",
        "SELECT CAST(a AS int), count(*) c FROM VALUES (1.2), (1.9) AS v(a) GROUP BY a HAVING a > 1.5",
        "SELECT k.a FROM (SELECT CAST(a AS bigint) FROM VALUES (1), (2) AS v(a)) k NATURAL JOIN VALUES (2) AS w(a)",
        "SELECT CAST(to_json(struct(*)) AS string) j FROM (SELECT CAST(A AS string), 'X', 1 FROM VALUES (1) AS v(a)) q",
    ],
)
def test_rows_are_those_of_the_authors_text(
    spark: SparkSession, catalog: HiveViewCatalog, database: str, sql: str
) -> None:
    if _is_missing(sql):
        pytest.skip("Spark 3.5 has no :: operator")
    expected = [tuple(row) for row in spark.sql(sql).collect()]

    view = catalog.execute(f"CREATE VIEW {database}.v AS {sql}", database=database).view

    assert view is not None
    assert [name.lower() for name in spark.sql(sql).columns] == [field.name for field in view.schema().fields]
    for catalog_name in CATALOGS:
        assert [tuple(row) for row in spark.table(f"{catalog_name}.{database}.v").collect()] == expected
