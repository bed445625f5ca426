"""A client of Spark Connect in a process without Py4J, as PySpark's client alone (`pyspark-client`) is: no JVM at all.

Its arguments: SERVER URI WAREHOUSE. Statements come as a JSON list; out goes what a `ViewSession` tells of each.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from types import ModuleType

_GONE = ("py4j", "pyspark.core")
"""What `pyspark-client` does not bring; the latter is how PySpark tells that it is alone."""


class _Blocker:
    """Refuses to import them, as if they were not installed."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        """Refuse these, and leave the others to the others."""
        if any(name == gone or name.startswith(f"{gone}.") for gone in _GONE):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def main(server: str, uri: str, warehouse: str) -> None:
    """Run the statements of standard input."""
    from pyspark.sql.connect.session import SparkSession

    from hive_views import HiveViewCatalog
    from hive_views.spark import ViewSession
    from hive_views.spark.sessions import end_session
    from tests.integration.spark.session_kinds import run_statement

    spark = SparkSession.builder.remote(server).create()
    with HiveViewCatalog("prod", uri=uri, warehouse=warehouse) as catalog, ViewSession(spark, catalog) as views:
        answers = [run_statement(views, text) for text in json.load(sys.stdin)]
    end_session(spark)
    there = sorted(name for name in sys.modules if name.partition(".")[0] == "py4j")
    json.dump({"answers": answers, "py4j": there}, sys.stdout)


if __name__ == "__main__":
    sys.meta_path.insert(0, _Blocker())  # type: ignore[arg-type]
    main(*sys.argv[1:])
