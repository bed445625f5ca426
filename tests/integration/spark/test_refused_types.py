"""The types that the installed Spark accepts as conditions are those of the unit tests."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.errors import SqlError
from tests.engine_tables.comparison import ANSI
from tests.engine_tables.enumeration import OPERAND_COLUMNS
from tests.integration.spark.spark_versions import IS_SPARK_3
from tests.unit.sql.types.conditions import CONDITIONS, OPERANDS, is_accepted


def _accepts(spark: SparkSession, sql: str) -> bool:
    try:
        spark.sql(sql)
    except AnalysisException:
        return False
    return True


@pytest.mark.extended
@pytest.mark.skipif(IS_SPARK_3, reason="Spark 3.5 has no VARIANT")
@pytest.mark.parametrize("setting", ["true", "false"])
def test_spark_accepts_the_recorded_types_as_conditions(spark: SparkSession, setting: str) -> None:
    session = spark.newSession()
    session.conf.set(ANSI, setting)
    columns = ", ".join(
        f"make_interval(1) AS {name}" if kind == "interval" else f"CAST(NULL AS {kind}) AS {name}"
        for name, kind in OPERAND_COLUMNS.items()
    )
    session.sql(f"SELECT {columns}").createOrReplaceTempView("t")

    for form, query in CONDITIONS.items():
        accepted = {operand: _accepts(session, query.format(operand)) for operand in OPERANDS}
        assert accepted == {operand: is_accepted(form, kind, setting) for operand, kind in OPERANDS.items()}, form


@pytest.mark.parametrize("condition", ["INTERVAL '1' DAY = 1", "id", "CAST(true AS DATE) IS NULL"])
def test_condition_that_spark_refuses_is_refused(
    spark: SparkSession, catalog: HiveViewCatalog, database: str, condition: str
) -> None:
    spark.sql(f"CREATE TABLE spark_catalog.{database}.t (id INT) USING parquet")
    assert not _accepts(spark, f"SELECT id FROM spark_catalog.{database}.t WHERE {condition}")

    with pytest.raises(SqlError, match="Spark"):
        catalog.execute(f"CREATE VIEW {database}.v AS SELECT id FROM t WHERE {condition}", database=database)
