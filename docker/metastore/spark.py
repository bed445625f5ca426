"""Entry point of a Spark container: writes settings for the metastore at HIVE_VIEWS_URI, then runs the given program.

`spark-sql`, `pyspark` and `spark-submit` find them in SPARK_CONF_DIR: the Iceberg catalog `prod`, and Hive's tables as
the session catalog. The command line `hive-views` reads HIVE_VIEWS_URI itself.
"""

import os
import sys
from pathlib import Path

from hive_views.spark.runtime import EXTENSIONS, fetch_runtime

CATALOG = "prod"
"""Iceberg's catalog in Spark."""


def settings(uri: str, warehouse: str, cache: str) -> dict[str, str]:
    """Spark's settings.

    Args:
        uri: The metastore.
        warehouse: Where databases without a location keep their files.
        cache: The directory with Iceberg's runtime.
    """
    catalog = f"spark.sql.catalog.{CATALOG}"
    return {
        "spark.master": "local[2]",
        "spark.jars": str(fetch_runtime(cache)),
        "spark.sql.extensions": EXTENSIONS,
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "hive",
        f"{catalog}.uri": uri,
        f"{catalog}.warehouse": warehouse,
        f"{catalog}.cache-enabled": "false",
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.hive.metastore.uris": uri,
        "spark.sql.warehouse.dir": warehouse,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }


def main() -> None:
    """Write the settings, and become the program."""
    found = settings(
        os.environ.get("HIVE_VIEWS_URI", "thrift://metastore:9083"),
        os.environ.get("HIVE_VIEWS_WAREHOUSE", "file:///warehouse"),
        os.environ.get("HIVE_VIEWS_CACHE", "/opt/hive-views/cache"),
    )
    place = Path(os.environ["SPARK_CONF_DIR"]) / "spark-defaults.conf"
    draft = place.with_suffix(".new")
    draft.write_text("".join(f"{key} {value}\n" for key, value in found.items()), encoding="utf-8")
    draft.replace(place)
    command = sys.argv[1:] or ["sleep", "infinity"]
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
