"""What differs between the supported versions of Spark."""

from __future__ import annotations

import pyspark
import pytest

IS_SPARK_3 = pyspark.__version__.startswith("3.")
needs_spark_4 = pytest.mark.skipif(IS_SPARK_3, reason="needs Spark 4.0")
BY_KEYS = "full" if IS_SPARK_3 else "keys"
"""How changed and deleted rows of a source are refreshed."""
