"""A Spark driver for a test that kills it.

Usage: `python -m tests.integration.spark.killed_driver SPARK_URI URI WAREHOUSE CACHE`. It prints `ready`, and then
refreshes each view whose name it reads from stdin, in a new thread, so that a proxy can hold several refreshes at once.
Spark reaches the metastore by the first URI, the catalog by the second.
"""

from __future__ import annotations

import sys
import threading

from hive_views import HiveViewCatalog
from hive_views.config import CALL_TIMEOUT_MS
from hive_views.spark.refresh.engine import SparkEngine
from hive_views.spark.runtime import iceberg_session


def main() -> None:
    spark_uri, uri, warehouse, cache = sys.argv[1:]
    # By default Iceberg has two connections, so that only two refreshes could be held.
    conf = {"spark.sql.catalog.prod.clients": "16"}
    spark = iceberg_session(spark_uri, warehouse, catalog="prod", cache=cache, conf=conf)
    # Held calls must not time out.
    catalog = HiveViewCatalog("prod", uri=uri, warehouse=warehouse, **{CALL_TIMEOUT_MS: "900000"})
    print("ready", flush=True)
    for line in sys.stdin:
        view = catalog.materialized.load(line.strip())
        threading.Thread(target=view.refresh, args=(SparkEngine(spark, catalog),), daemon=True).start()


if __name__ == "__main__":
    main()
