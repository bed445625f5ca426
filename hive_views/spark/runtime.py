"""Spark sessions on a metastore: one with Iceberg's runtime, one without.

The runtime comes by its Maven coordinates through the resolver in PySpark's jars (Ivy), so no Maven is needed. It is
fetched before Spark starts, from Maven Central alone, and kept: Spark's own `spark.jars.packages` looks into `~/.m2`
first, which can hold a pom without its jar, and then looks no further.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from hive_views.errors import HiveViewsError
from hive_views.local_metastore.maven import Artifact, fetch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ICEBERG_VERSION = "1.11.0"
"""The release of Iceberg's runtime; it has one for each of the Spark lines below."""

SPARK_LINES = ("4.0", "4.1")
"""The lines of Spark that this release has a runtime for, all for Scala 2.13."""

EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"

_JVM_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"


class UnsupportedSparkError(HiveViewsError):
    """The installed Spark has no Iceberg runtime; `spark_version` is what is installed."""

    def __init__(self, spark_version: str) -> None:
        super().__init__(
            f"Iceberg {ICEBERG_VERSION} has no runtime for Spark {spark_version}; install pyspark "
            f"{' or '.join(SPARK_LINES)}: pip install 'hive_views[spark]'"
        )
        self.spark_version = spark_version


def iceberg_coordinates() -> str:
    """Maven coordinates of Iceberg's runtime for the installed Spark.

    Returns:
        `group:artifact:version`.

    Raises:
        UnsupportedSparkError: If the installed Spark has none.
    """
    installed = version("pyspark")
    line = ".".join(re.split(r"[.]", installed)[:2])
    if line not in SPARK_LINES:
        raise UnsupportedSparkError(installed)
    return f"org.apache.iceberg:iceberg-spark-runtime-{line}_2.13:{ICEBERG_VERSION}"


def fetch_runtime(cache: str | Path = ".cache") -> Path:
    """Fetch Iceberg's runtime for the installed Spark, unless it is there.

    Args:
        cache: The directory that keeps it; made if it is not there.

    Returns:
        The jar.

    Raises:
        UnsupportedSparkError: If there is none for the installed Spark.
        ArtifactFetchError: If it cannot be fetched.
    """
    runtime = Artifact(*iceberg_coordinates().split(":"))
    kept = Path(cache) / runtime.file_name
    # Only one that is there: another process may put a whole one there after a look that found none.
    if kept.exists() and not zipfile.is_zipfile(kept):
        kept.unlink(missing_ok=True)
    return fetch([runtime], cache)[0]


def fetch_s3(cache: str | Path = ".cache") -> Path:
    """Fetch what Iceberg's S3 storage needs besides the runtime (Amazon's library), unless it is there.

    Args:
        cache: The directory that keeps it; made if it is not there.

    Returns:
        The jar.

    Raises:
        ArtifactFetchError: If it cannot be fetched.
    """
    bundle = Artifact("org.apache.iceberg", "iceberg-aws-bundle", ICEBERG_VERSION)
    return fetch([bundle], cache)[0]


def cache_directory() -> Path:
    """Where the command line keeps Iceberg's runtime: `hive-views` in the user's cache directory (XDG)."""
    found = os.environ.get("XDG_CACHE_HOME")
    return (Path(found) if found else Path.home() / ".cache") / "hive-views"


def iceberg_session(
    uri: str,
    warehouse: str,
    *,
    catalog: str = "prod",
    cache: str | Path = ".cache",
    conf: Mapping[str, str] | None = None,
) -> SparkSession:
    """A session whose Iceberg catalog and session catalog are both on one metastore.

    A process can have one such session only: a second call gives the first one.

    Args:
        uri: The metastore, `thrift://host:port`.
        warehouse: Where databases without a location keep their tables; empty where that is not known.
        catalog: The Iceberg catalog's name in Spark.
        cache: A directory that keeps Iceberg's runtime (47 MB) for the next time.
        conf: More of Spark's settings; they go before ours.

    Returns:
        The session, quiet; a local one is on loopback.

    Raises:
        UnsupportedSparkError: If there is no runtime for the installed Spark.
        ArtifactFetchError: If it is not in `cache` and cannot be fetched.
    """
    settings = {"spark.jars": str(fetch_runtime(cache)), **catalog_settings(uri, warehouse, catalog), **(conf or {})}
    return _session(uri, warehouse, settings)


def catalog_settings(uri: str, warehouse: str, catalog: str) -> dict[str, str]:
    """Spark's settings for an Iceberg catalog on a metastore.

    Args:
        uri: The metastore.
        warehouse: Its warehouse; empty where that is not known.
        catalog: The catalog's name in Spark.
    """
    prefix = f"spark.sql.catalog.{catalog}"
    return {
        "spark.sql.extensions": EXTENSIONS,
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        f"{prefix}.type": "hive",
        f"{prefix}.uri": uri,
        # Iceberg's catalog refuses an empty one ("path must not be null or empty") as soon as it is asked for a view.
        **({f"{prefix}.warehouse": warehouse} if warehouse else {}),
        f"{prefix}.cache-enabled": "false",
    }


def plain_session(uri: str, warehouse: str, *, conf: Mapping[str, str] | None = None) -> SparkSession:
    """A session with Hive support and no Iceberg on its class path: what a team without Iceberg has.

    Args:
        uri: The metastore, `thrift://host:port`.
        warehouse: Where databases without a location keep their tables; empty where that is not known.
        conf: More of Spark's settings; they go before ours.

    Returns:
        The session, quiet; a local one is on loopback.
    """
    return _session(uri, warehouse, conf or {})


def spark_settings(uri: str, warehouse: str, conf: Mapping[str, str]) -> dict[str, str]:
    """Spark's settings for either session.

    Args:
        uri: The metastore.
        warehouse: Its warehouse; empty where that is not known.
        conf: More settings; they go before ours.
    """
    # Executors elsewhere have to reach the driver: at the address that Spark finds for this machine, or is given.
    local = conf.get("spark.master", "local").startswith("local")
    return {
        "spark.hadoop.hive.metastore.uris": uri,
        **({"spark.sql.warehouse.dir": warehouse} if warehouse else {}),
        **(dict.fromkeys(("spark.driver.host", "spark.driver.bindAddress"), "127.0.0.1") if local else {}),
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": _JVM_OPTIONS,
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        **conf,
    }


def _session(uri: str, warehouse: str, conf: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    settings = spark_settings(uri, warehouse, conf)
    builder = SparkSession.builder.master("local[2]").appName("hive_views").enableHiveSupport()
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
