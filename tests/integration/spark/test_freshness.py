"""What makes stored rows differ from a definition without a new snapshot: settings, the clock, name mappings."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hive_views.materialized.freshness.verdict import Cause
from hive_views.spark import SparkEngine, ViewSession
from tests.integration.materialized.conftest import LAYOUTS
from tests.integration.spark.spark_versions import IS_SPARK_3


@pytest.fixture
def market(spark: SparkSession, session: ViewSession, database: str) -> str:
    spark.sql(f"CREATE TABLE prod.{database}.t (id BIGINT, s STRING, x DOUBLE, d DATE) USING iceberg")
    spark.sql(f"INSERT INTO prod.{database}.t VALUES (1, '2020-1-1', 1.5, DATE '2021-01-01'), (2, 'today', NULL, NULL)")
    return database


@pytest.mark.parametrize(
    ("key", "value", "query"),
    [
        ("spark.sql.legacy.timeParserPolicy", "LEGACY", "SELECT id, try_to_timestamp(s, 'yyyy-MM-dd') AS v FROM t"),
        (
            "spark.sql.legacy.castComplexTypesToString.enabled",
            "true",
            "SELECT CAST(map(id, NULL) AS STRING) AS v FROM t",
        ),
        ("spark.sql.legacy.statisticalAggregate", "true", "SELECT id, stddev(x) AS v FROM t GROUP BY id"),
        ("spark.sql.legacy.negativeIndexInArrayInsert", "true", "SELECT array_insert(array(id), -1, 9L) AS v FROM t"),
        ("spark.sql.legacy.sizeOfNull", "false", "SELECT size(IF(id > 5, array(1), NULL)) AS v FROM t"),
        ("spark.sql.ansi.enabled", "false", "SELECT try_cast(s AS INT) AS v FROM t"),
    ],
)
def test_rows_of_other_settings_are_not_read(spark, session, catalog, market, key: str, value: str, query: str):
    if IS_SPARK_3 and "timeParserPolicy" in key:
        pytest.skip("try_to_timestamp of Spark 3.5 raises an error")
    session.sql(f"CREATE MATERIALIZED VIEW mv AS {query}")
    before = spark.conf.get(key)
    try:
        for refreshed, other in ((value, before), (before, value)):
            spark.conf.set(key, refreshed)
            report = catalog.materialized.load((market, "mv")).refresh(SparkEngine(spark, catalog))[-1]
            assert report.action == "full"
            assert (
                catalog.materialized.load((market, "mv")).refresh(SparkEngine(spark, catalog))[-1].action == "unchanged"
            )
            session.sql("SELECT * FROM mv").collect()
            assert session.notes[0].from_storage
            spark.conf.set(key, other)
            rows = sorted(map(str, session.sql("SELECT * FROM mv").collect()))
            assert not session.notes[0].from_storage and key in session.notes[0].why
            assert rows == sorted(map(str, spark.sql(query).collect()))
    finally:
        spark.conf.set(key, before)
        if not IS_SPARK_3:  # there it would not restore the value that the session began with
            spark.conf.unset(key)


def test_text_settings_do_not_change_a_definition(spark, session, catalog, market):
    session.sql(r"CREATE MATERIALIZED VIEW mv AS SELECT id, 'a\\b' AS v, '$' || '{spark.app.name}' AS w FROM t")
    session.sql(r"CREATE MATERIALIZED VIEW plain AS SELECT id, 'a\\b' AS v FROM t")
    try:
        spark.conf.set("spark.sql.parser.escapedStringLiterals", "true")
        catalog.materialized.load((market, "plain")).refresh(SparkEngine(spark, catalog))
    finally:
        spark.conf.unset("spark.sql.parser.escapedStringLiterals")
    assert [row.v for row in session.sql("SELECT v FROM plain").collect()] == [r"a\b"] * 2
    assert session.notes[0].from_storage


@pytest.mark.parametrize(
    ("query", "is_fresh"),
    [
        ("SELECT id, CAST('to' || 'day' AS DATE) AS v FROM t", False),
        ("SELECT id, to_date(replace('toXday', 'X', '')) AS v FROM t", False),
        ("SELECT id, DATE 'today' AS v FROM t", False),
        ("SELECT id FROM t WHERE d <= concat('to', 'day')", False),
        ("SELECT id FROM t WHERE id IN (SELECT id FROM t WHERE d <= 'today')", False),
        ("SELECT id FROM t WHERE s = 'today'", True),
        ("SELECT id, 'a' || chr(10) AS v FROM t WHERE s = concat('to', 'day')", True),
    ],
)
def test_words_count_where_spark_casts_them(spark, session, catalog, market, query: str, is_fresh: bool):
    session.sql(f"CREATE MATERIALIZED VIEW mv AS {query}")
    catalog.materialized.load((market, "mv")).refresh(SparkEngine(spark, catalog))
    freshness = catalog.materialized.freshness((market, "mv"))
    assert freshness.is_fresh is is_fresh
    assert [reason.cause for reason in freshness.reasons] == ([] if is_fresh else [Cause.UNREPEATABLE])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_changed_name_mapping_of_added_files(spark, session, catalog, market, tmp_path: Path, layout: str):
    spark.range(3).selectExpr("id", "id * 10 AS other").write.parquet(f"file:{tmp_path}/files")
    spark.sql("CREATE TABLE added (id BIGINT, v BIGINT) USING iceberg")
    spark.sql(f"CALL prod.system.add_files(table => '{market}.added', source_table => '`parquet`.`{tmp_path}/files`')")
    session.sql(
        f"CREATE MATERIALIZED VIEW mv TBLPROPERTIES ('hive-views.layout' = '{layout}') AS SELECT id, v FROM added"
    )
    catalog.materialized.load((market, "mv")).refresh(SparkEngine(spark, catalog))
    assert catalog.materialized.freshness((market, "mv")).is_fresh
    mapping = '[{"field-id": 1, "names": ["id"]}, {"field-id": 2, "names": ["v", "other"]}]'
    spark.sql(f"ALTER TABLE added SET TBLPROPERTIES ('schema.name-mapping.default' = '{mapping}')")
    [reason] = catalog.materialized.freshness((market, "mv")).reasons
    assert reason.cause is Cause.SCHEMA and "name mapping" in str(reason)
    assert catalog.materialized.load((market, "mv")).refresh(SparkEngine(spark, catalog))[-1].action == "full"
    session.sql("SELECT * FROM mv").collect()
    assert session.notes[0].from_storage
    assert sorted(row.v for row in session.sql("SELECT v FROM mv").collect()) == [0, 10, 20]
