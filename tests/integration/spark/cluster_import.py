"""An import on a Spark cluster with two executors: `python -m tests.integration.spark.cluster_import URI WAREHOUSE …`.

The other arguments are the database, the journal and properties, `KEY=VALUE`. It prints how many views were converted.
A keytab is deleted before the run, so that executors cannot use it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.config import KEYTAB_FILE
from hive_views.legacy_import.journal import ImportStatus
from hive_views.legacy_import.plan import plan_import
from hive_views.spark.legacy_import.job import SparkImport

ROOT = Path(__file__).parents[3]


def start_cluster(master: str, home: Path) -> SparkSession:
    """Start a session whose executors import this repository; `home` is created for the files of its workers."""
    home.mkdir()
    for entry in Path(pyspark.__file__).parent.iterdir():
        (home / entry.name).symlink_to(entry)
    os.environ["SPARK_HOME"] = str(home)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master(master).config("spark.executor.memory", "600m")
    builder = builder.config("spark.executorEnv.PYTHONPATH", str(ROOT)).config("spark.ui.enabled", "false")
    return builder.config("spark.driver.host", "127.0.0.1").getOrCreate()


def main(uri: str, warehouse: str, database: str, journal: str, *more: str) -> None:
    # Workers write into Spark's home, so it is a directory of links.
    spark = start_cluster("local-cluster[2,1,600]", Path(journal).parent / "spark")
    properties = {"uri": uri, "warehouse": warehouse, "iceberg.hive.lock-heartbeat-interval-ms": "1000"}
    properties.update(text.split("=", 1) for text in more)  # type: ignore[misc]
    with HiveViewCatalog("prod", **properties) as catalog:
        plan = plan_import(catalog, databases=[database])
        if KEYTAB_FILE in properties:
            Path(properties[KEYTAB_FILE]).unlink()
        result = SparkImport(spark, catalog, most_calls=2).run(plan, Path(journal), verify="none")
    print(sum(outcome.status is ImportStatus.CONVERTED for outcome in result.outcomes), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
