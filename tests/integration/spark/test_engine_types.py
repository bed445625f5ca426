"""The table of types beside the installed Spark, in a sample; `python -m tests.engine_tables compare` compares all.

HIVE_VIEWS_ENGINE_TYPES is the compared part of the functions and expressions, 1 for all, and its seed after a comma.
"""

from __future__ import annotations

import os

import pytest
from pyspark.sql import SparkSession

from hive_views.spark.versions import spark_line
from hive_views.sql.engines.tables import engine_table, spark_versions
from tests.engine_tables.comparison import Comparison, compare
from tests.engine_tables.enumeration import COLUMNS, SEED
from tests.engine_tables.spark_engine import SparkEngine
from tests.integration.spark.spark_versions import LINE

PART, _, CHOSEN = os.environ.get("HIVE_VIEWS_ENGINE_TYPES", f"0.04,{SEED}").partition(",")
TABLE_LINE = spark_line(engine_table("spark", "ansi").version)
DIFFERENCES = spark_versions().get(LINE, {})
"""What differs in this version from the version of the table."""

pytestmark = pytest.mark.skipif(
    LINE != TABLE_LINE and not DIFFERENCES, reason="run `python -m tests.engine_tables versions` with this Spark"
)


@pytest.fixture(scope="module")
def comparison(spark: SparkSession) -> Comparison:
    return compare(SparkEngine(spark.newSession(), COLUMNS), float(PART), int(CHOSEN or SEED))


def test_types_differ_from_the_installed_spark_only_where_the_table_says(comparison: Comparison) -> None:
    different = {
        name: found for name, found in comparison.different.items() if name not in DIFFERENCES.get("different", {})
    }

    assert different == {}
    for counts in comparison.counts.values():
        assert counts["equal"] > 100
        assert counts["unknown"] <= 0.04 * (counts["unknown"] + counts["equal"]) or LINE != TABLE_LINE


def test_table_has_the_functions_of_the_installed_spark(comparison: Comparison) -> None:
    assert comparison.absent == DIFFERENCES.get("absent", [])
    assert comparison.added == DIFFERENCES.get("added", [])
    assert comparison.counts_of.items() <= DIFFERENCES.get("counts", {}).items()
