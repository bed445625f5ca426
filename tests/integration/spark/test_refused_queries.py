"""Queries that are refused without Spark are refused by the installed Spark, too."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession

from tests.integration.spark.spark_versions import IS_SPARK_3
from tests.unit.sql.hive_fixtures import load_cases
from tests.unit.sql.resolver.test_refused_queries import reason
from tests.unit.sql.types.test_clause_refusals import refused


@pytest.mark.extended
def test_spark_refuses_what_is_refused_without_it(spark: SparkSession, database: str) -> None:
    spark.sql(f"CREATE TABLE spark_catalog.{database}.o (a int, b int, s string) USING parquet")
    spark.sql(f"CREATE TABLE spark_catalog.{database}.u (a int, c int) USING parquet")
    spark.sql(f"USE spark_catalog.{database}")

    texts = [case["sql"] for case in load_cases("refused_queries.jsonl")]
    found = {sql for sql in texts if reason(sql) is not None}
    assert len(found) > 75
    assert found <= refused_by(spark, texts)


@pytest.mark.extended
def test_spark_refuses_clauses_that_are_refused_without_it(spark: SparkSession, database: str) -> None:
    for table, further in (("o", "b"), ("u", "c")):
        spark.sql(f"CREATE TABLE spark_catalog.{database}.{table} (a int, {further} string) USING parquet")
    spark.sql(f"USE spark_catalog.{database}")

    texts = [case["sql"] for case in load_cases("refused_clauses.jsonl")]
    found = {sql for sql in texts if refused(sql)}
    if IS_SPARK_3:  # it partitions by maps until the rows are sorted
        found -= {sql for sql in found if "PARTITION BY" in sql}
    assert len(found) > 150
    assert found <= refused_by(spark, texts)


def refused_by(spark: SparkSession, texts: list[str]) -> set[str]:
    """Return the texts that Spark refuses."""
    result = set()
    for sql in texts:
        try:
            spark.sql(sql)
        except (AnalysisException, ParseException):
            result.add(sql)
    return result
