"""Queries that are refused without Spark are refused by the installed Spark, too."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from hive_views.sql.engines.builtin_functions import SPARK_NONDETERMINISTIC
from tests.integration.spark.spark_versions import IS_SPARK_3
from tests.unit.sql.hive_fixtures import load_cases
from tests.unit.sql.resolver.test_refused_queries import COLUMNS, reason
from tests.unit.sql.types.test_clause_refusals import refused


@pytest.mark.extended
def test_spark_refuses_what_is_refused_without_it(spark: SparkSession, database: str) -> None:
    for table, columns in COLUMNS.items():
        written = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        spark.sql(f"CREATE TABLE spark_catalog.{database}.{table} ({written}) USING parquet")
    spark.sql(f"USE spark_catalog.{database}")

    texts = [case["sql"] for case in load_cases("refused_queries.jsonl")]
    found = {sql for sql in texts if reason(sql) is not None}
    assert len(found) > 700
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


ARGUMENTS = {
    "java_method": "'java.lang.Math', 'abs', a",
    "randstr": "3",
    "reflect": "'java.lang.Math', 'abs', a",
    "shuffle": "array(a)",
    "try_reflect": "'java.lang.Math', 'abs', a",
    "uniform": "1, 2",
}
"""The arguments of nondeterministic functions that have some."""


@pytest.mark.extended
def test_spark_calls_functions_nondeterministic(spark: SparkSession) -> None:
    names = {name for name in SPARK_NONDETERMINISTIC if spark.catalog.functionExists(name)}
    assert len(names) >= len(SPARK_NONDETERMINISTIC) - 3
    for name in names:
        call = f"{name}({ARGUMENTS.get(name, '')})"
        with pytest.raises(AnalysisException, match="NONDETERMINISTIC"):
            spark.sql(f"SELECT max({call}) AS x FROM VALUES (1) AS t(a)")


def refused_by(spark: SparkSession, texts: list[str]) -> set[str]:
    """Return the texts that Spark refuses."""
    result = set()
    for sql in texts:
        try:
            spark.sql(sql)
        except (PySparkException, Py4JError):  # Spark 4.1 has no message of its own for some of them
            result.add(sql)
    return result
