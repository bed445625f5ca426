"""Spark sessions on a metastore: one with Iceberg's runtime, one without.

The runtime comes by its Maven coordinates through PySpark's own resolver, so no Maven is needed. What it fetched is
kept in a directory of its own: Maven's (`~/.m2`) can hold a pom without its jar, and the resolver then looks no
further.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from hive_views.errors import HiveViewsError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ICEBERG_VERSION = "1.11.0"
"""The release of Iceberg's runtime; it has one for each of the Spark lines below."""

SPARK_LINES = ("4.0", "4.1")
"""The lines of Spark that this release has a runtime for, all for Scala 2.13."""

EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"

_JVM_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
_IVY_SETTINGS = """<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true"/></resolvers>
</ivysettings>
"""
"""Maven Central alone: Spark's own settings look into ~/.m2 first."""


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
        warehouse: Where databases without a location keep their tables.
        catalog: The Iceberg catalog's name in Spark.
        cache: A directory that keeps Iceberg's runtime (47 MB) for the next time.
        conf: More of Spark's settings; they go before ours.

    Returns:
        The session, quiet and on loopback.

    Raises:
        UnsupportedSparkError: If there is no runtime for the installed Spark.
    """
    prefix = f"spark.sql.catalog.{catalog}"
    return _session(
        uri,
        warehouse,
        {
            **_runtime(Path(cache)),
            "spark.sql.extensions": EXTENSIONS,
            prefix: "org.apache.iceberg.spark.SparkCatalog",
            f"{prefix}.type": "hive",
            f"{prefix}.uri": uri,
            f"{prefix}.warehouse": warehouse,
            f"{prefix}.cache-enabled": "false",
            **(conf or {}),
        },
    )


def plain_session(uri: str, warehouse: str, *, conf: Mapping[str, str] | None = None) -> SparkSession:
    """A session with Hive support and no Iceberg on its class path: what a team without Iceberg has.

    Args:
        uri: The metastore, `thrift://host:port`.
        warehouse: Where databases without a location keep their tables.
        conf: More of Spark's settings; they go before ours.

    Returns:
        The session, quiet and on loopback.
    """
    return _session(uri, warehouse, conf or {})


def _session(uri: str, warehouse: str, conf: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    settings = {
        "spark.hadoop.hive.metastore.uris": uri,
        "spark.sql.warehouse.dir": warehouse,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": _JVM_OPTIONS,
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        **conf,
    }
    builder = SparkSession.builder.master("local[2]").appName("hive_views").enableHiveSupport()
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _runtime(cache: Path) -> dict[str, str]:
    """Settings that put Iceberg's runtime on the class path: the jar that is there, else its coordinates."""
    directory = (cache / "ivy").resolve()
    coordinates = iceberg_coordinates()
    group, artifact, release = coordinates.split(":")
    jar = directory / "jars" / f"{group}_{artifact}-{release}.jar"
    if jar.exists():
        return {"spark.jars": str(jar)}
    directory.mkdir(parents=True, exist_ok=True)
    settings = directory / "ivysettings.xml"
    settings.write_text(_IVY_SETTINGS)
    return {
        "spark.jars.packages": coordinates,
        "spark.jars.ivy": str(directory),
        "spark.jars.ivySettings": str(settings),
    }
