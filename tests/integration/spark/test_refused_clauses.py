"""Clauses that the installed Spark refuses for the types in them (`tests/unit/sql/types/test_clause_refusals.py`)."""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession

from tests.integration.spark.spark_versions import IS_SPARK_3
from tests.unit.sql.hive_fixtures import load_cases


@pytest.mark.extended
def test_spark_refuses_the_same_clauses(spark: SparkSession, database: str) -> None:
    for table, further in (("o", "b"), ("u", "c")):
        spark.sql(f"CREATE TABLE spark_catalog.{database}.{table} (a int, {further} string) USING parquet")
    spark.sql(f"USE spark_catalog.{database}")
    counts: Counter[str] = Counter()

    for case in load_cases("refused_clauses.jsonl"):
        try:
            spark.sql(case["sql"])
            is_refused = False
        except ParseException:
            continue
        except AnalysisException:
            is_refused = True
        counts["refused" if is_refused else "accepted"] += 1
        if not IS_SPARK_3:  # Spark 3.5 has no variants, and does not group by maps
            assert is_refused == case["refused"], case["sql"]

    assert counts["refused"] > 100
    assert counts["accepted"] > 100
