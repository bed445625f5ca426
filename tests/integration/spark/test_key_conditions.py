"""Conditions by constants select all rows with one of the keys, and few others."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from hive_views.spark.refresh.key_conditions import key_conditions
from tests.suites import extended

KEYS = {
    "TINYINT": "-128Y, 0Y, 127Y",
    "SMALLINT": "-32768S, 0S, 32767S",
    "INT": "-2147483648, 0, 2147483647",
    "BIGINT": "-9223372036854775808L, 0L, 9223372036854775807L",
    "BOOLEAN": "true, false",
    "DATE": "DATE '0001-01-01', DATE '1582-10-04', DATE '9999-12-31'",
    "TIMESTAMP": "TIMESTAMP '0001-01-01 00:00:00', TIMESTAMP '2026-10-25 02:30:00.000001', TIMESTAMP '1969-12-31'",
    "TIMESTAMP_NTZ": "TIMESTAMP_NTZ '0001-01-01 00:00:00', TIMESTAMP_NTZ '2026-03-29 02:30:00.123456'",
    "STRING": r"'', 'it''s', '\\', '名 é 😀', 'a\nb', CAST(X'FF00FE' AS STRING), X'' || 'z'",
    "BINARY": "X'', X'00', X'FFFE'",
    "DECIMAL(38, 10)": "-1.5, 0, 9999999999999999999999999999.9999999999",
    "DOUBLE": "double('NaN'), -0.0D, 1.5D, double('Infinity')",
    "FLOAT": "float('NaN'), 0.0F, 1.5F",
    "ARRAY<INT>": "array(), array(1, NULL), array(2)",
    "STRUCT<a: INT, b: STRING>": "named_struct('a', 1, 'b', 'x'), named_struct('a', NULL, 'b', 'y')",
}
"""Keys by type."""


def keys_of(spark: SparkSession, kind: str, has_null: bool) -> DataFrame:
    values = f"array({KEYS[kind]}{', NULL' if has_null else ''})"
    return spark.sql(f"SELECT CAST(v AS {kind}) AS `key of` FROM (SELECT explode({values}) AS v)")


@pytest.mark.parametrize("has_null", [True, *extended(False)])
@pytest.mark.parametrize("kind", KEYS)
def test_all_keys_are_selected(spark: SparkSession, kind: str, has_null: bool) -> None:
    keys = keys_of(spark, kind, has_null)
    count, [condition] = key_conditions(keys)
    assert count == keys.count()
    assert keys.where(condition.on("`key of`")).count() == count
    assert keys.selectExpr("coalesce(NULL, `key of`) AS k").where(condition.on("k")).count() == count
    if not has_null:
        null = spark.sql(f"SELECT CAST(NULL AS {kind}) AS k").where(condition.on("k")).count()
        assert null == 0 or condition.on("k") == "true" or condition.smallest is None


@pytest.mark.parametrize(
    "value", ["INT(id)", "id", "date_from_unix_date(INT(id))", "timestamp_micros(id)", "concat('k', id)", "id / 10BD"]
)
def test_most_other_values_are_not_selected(spark: SparkSession, value: str) -> None:
    rows = spark.range(100_000).selectExpr(f"{value} AS k")
    count, [condition] = key_conditions(rows.where("pmod(xxhash64(k), 1000) = 7"))
    selected = rows.where(condition.on("k")).count()
    assert 20 < count <= selected <= count + 500


def test_bounds_alone_if_there_are_many_keys(spark: SparkSession) -> None:
    most = 1 << 19  # half of the slots
    _, [few] = key_conditions(spark.range(10, most + 10).toDF("k"))
    assert (few.smallest, few.largest, len(few.slots)) == ("10L", f"{most + 9}L", 2 * most)
    count, [many] = key_conditions(spark.range(10, most + 11).toDF("k"))
    assert (count, many.slots, many.on("k")) == (most + 1, b"", f"k >= 10L AND k <= {most + 10}L")
    assert spark.range(most + 100).toDF("k").where(many.on("k")).count() == most + 1


def test_no_keys(spark: SparkSession) -> None:
    count, [condition] = key_conditions(spark.range(0).toDF("k"))
    assert (count, condition.on("k")) == (0, "true")
