"""What differs between the supported versions of Spark, and between Spark with Iceberg and plain Spark."""

from __future__ import annotations

import os

import pyspark
import pytest

from hive_views.spark.versions import SPARK_LINES, spark_line

LINE = spark_line(pyspark.__version__)
IS_SPARK_3 = pyspark.__version__.startswith("3.")
IS_BEFORE_4_1 = IS_SPARK_3 or pyspark.__version__.startswith("4.0.")
needs_spark_4_1 = pytest.mark.skipif(IS_BEFORE_4_1, reason="needs Spark 4.1")
needs_spark_4 = pytest.mark.skipif(IS_SPARK_3, reason="needs Spark 4.0")
HAS_ICEBERG = bool(SPARK_LINES[LINE].iceberg) and os.environ.get("HIVE_VIEWS_TEST_PLAIN") != "1"
"""Whether the session of the tests has Iceberg's runtime."""
needs_iceberg = pytest.mark.skipif(not HAS_ICEBERG, reason=f"needs Iceberg's runtime, here Spark {LINE} has none")
CATALOG = "prod" if HAS_ICEBERG else "spark_catalog"
"""Spark's catalog of the tables that views read."""
TABLE_FORMAT = "iceberg" if HAS_ICEBERG else "parquet"
"""The format of these tables."""
BY_KEYS = "full" if IS_SPARK_3 else "keys"
"""How changed and deleted rows of a source are refreshed."""
