"""Names that several columns of a derived table have, on the installed Spark (`tests/unit/sql/resolver`)."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from tests.integration.spark.spark_versions import IS_SPARK_3
from tests.suites import extended
from tests.unit.sql.hive_fixtures import load_cases


@pytest.mark.skipif(IS_SPARK_3, reason="Spark 3.5 has no EXCEPT after a star, no LATERAL alias of a pipe")
@pytest.mark.parametrize("step", [12, *extended(1)])
def test_spark_finds_the_same_columns(spark: SparkSession, database: str, step: int) -> None:
    for table, further in (("o", "b"), ("u", "c")):
        spark.sql(f"CREATE TABLE spark_catalog.{database}.{table} (a int, {further} string) USING parquet")
        spark.sql(f"INSERT INTO spark_catalog.{database}.{table} VALUES (0, '{further}'), (1, 'x'), (2, NULL)")
    spark.sql(f"USE spark_catalog.{database}")

    for case in load_cases("repeated_names.jsonl")[::step]:
        if "expanded" not in case:
            with pytest.raises(AnalysisException, match=r"AMBIGUOUS_REFERENCE|UNRESOLVED_COLUMN"):
                spark.sql(case["sql"])
            continue
        stored = spark.sql(case["expanded"].replace("`d`.", f"`{database}`."))
        assert sorted(map(repr, map(tuple, stored.collect()))) == sorted(
            map(repr, map(tuple, spark.sql(case["sql"]).collect()))
        ), case["sql"]
