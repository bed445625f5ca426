"""Many random histories of materialized views on Spark.

`python -m tests.integration.spark.random_histories FIRST COUNT` runs the seeds from FIRST.

Each seed is four histories (`test_key_histories`). Spark interprets its plans, which takes half the time of compiling
them, since each one is executed once. A seed that fails is printed with its log, and the next one runs.
"""

from __future__ import annotations

import sys
import tempfile
import traceback
from collections import Counter
from contextlib import suppress
from pathlib import Path
from time import perf_counter

from pyspark.sql import SparkSession

from hive_views import EmbeddedMetastore, HiveViewCatalog
from hive_views.errors import HiveViewsError
from hive_views.spark.runtime import iceberg_session
from tests.integration.spark.conftest import CACHE
from tests.integration.spark.test_key_histories import VIEWS, restored_settings, run_histories

INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.master": "local[1]",
}


def run(first: int, count: int) -> Counter[str]:
    """Run the seeds one after the other, and print and return the counts."""
    counts = Counter[str]()
    with (
        tempfile.TemporaryDirectory() as directory,
        EmbeddedMetastore(Path(directory, "metastore")) as metastore,
        HiveViewCatalog("prod", uri=metastore.uri, warehouse=metastore.warehouse) as catalog,
    ):
        conf = {**INTERPRETED, "spark.local.dir": directory}
        spark = iceberg_session(metastore.uri, metastore.warehouse, catalog="prod", cache=CACHE, conf=conf)
        try:
            for seed in range(first, first + count):
                database, started = f"h{seed}", perf_counter()
                catalog.create_namespace(database)
                try:
                    with restored_settings(spark):
                        spark.sql(f"USE prod.{database}")
                        counts += run_histories(spark, catalog, database, directory, range(seed, seed + 1), print)
                except Exception:  # noqa: BLE001 -- the next seeds still run
                    counts["failed seeds"] += 1
                    print(f"seed {seed} failed\n{traceback.format_exc()}")
                _remove(spark, catalog, database)
                shown = {what: count for what, count in counts.items() if ":" not in what}
                print(f"{seed}: {perf_counter() - started:.0f} s, {shown}", flush=True)
        finally:
            spark.stop()
    return counts


def _remove(spark: SparkSession, catalog: HiveViewCatalog, database: str) -> None:
    """Remove what a failed seed left, and its database."""
    for number in range(VIEWS):
        with suppress(HiveViewsError):
            catalog.materialized.load((database, f"mv{number}")).drop()
    with suppress(HiveViewsError):
        catalog.drop_view((database, "v"))
    for table in "tu":
        spark.sql(f"DROP TABLE IF EXISTS prod.{database}.{table} PURGE")
    catalog.drop_namespace(database)


if __name__ == "__main__":
    print(run(*map(int, sys.argv[1:])))
