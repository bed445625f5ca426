"""Starts Spark sessions on a metastore, with or without Iceberg's runtime.

The runtime is fetched by its Maven coordinates with the resolver in PySpark's jars (Ivy), so Maven is not needed. It is
fetched from Maven Central before Spark starts, and cached. Spark's own `spark.jars.packages` resolves from `~/.m2`
first, and fails if that contains a pom without its jar.
"""

from __future__ import annotations

import os
import signal
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hive_views.local_metastore.maven import Artifact, fetch
from hive_views.spark.gateway import start_context
from hive_views.spark.versions import check_spark_version, iceberg_release, installed_spark, scala_version, spark_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"

_JVM_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
"""Java ends with an error once its compiled code is larger than its cache: 48 MB without the third option, which an
import of 300 views fills (Spark 4.1.4, Java 17). The others start Spark faster."""
_LOGGING = Path(__file__).with_name("log4j2.properties")
"""The logging configuration; without it, Spark prints a dozen lines before it reads `spark.log.level`."""


def iceberg_coordinates() -> str:
    """Return the Maven coordinates of Iceberg's runtime for the installed Spark, `group:artifact:version`."""
    installed = installed_spark()
    release = iceberg_release(installed)
    line = spark_line(installed)
    return f"org.apache.iceberg:iceberg-spark-runtime-{line}_{scala_version(installed)}:{release}"


def fetch_runtime(cache: str | Path = ".cache") -> Path:
    """Fetch Iceberg's runtime for the installed Spark, unless it is in the cache.

    Args:
        cache: The cache directory, created if necessary.

    Returns:
        The path of the jar.

    Raises:
        MissingSparkError: If PySpark is not installed.
        UnsupportedSparkError: If the installed Spark is not supported.
        NoIcebergRuntimeError: If there is no runtime for it.
        ArtifactFetchError: If it cannot be fetched.
    """
    runtime = Artifact(*iceberg_coordinates().split(":"))
    jar = Path(cache) / runtime.file_name
    # Remove a damaged jar. One that did not exist is not removed, since another process may be fetching it.
    if jar.exists() and not zipfile.is_zipfile(jar):
        jar.unlink(missing_ok=True)
    return fetch([runtime], cache)[0]


def fetch_s3(cache: str | Path = ".cache") -> Path:
    """Fetch the AWS bundle that Iceberg needs for S3, unless it is in the cache; see `fetch_runtime`."""
    bundle = Artifact("org.apache.iceberg", "iceberg-aws-bundle", iceberg_release(installed_spark()))
    return fetch([bundle], cache)[0]


def cache_directory() -> Path:
    """Return the command line's cache for Iceberg's runtime: `hive-views` in the user's cache directory (XDG)."""
    xdg_cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(xdg_cache) if xdg_cache else Path.home() / ".cache") / "hive-views"


def iceberg_session(
    uri: str,
    warehouse: str,
    *,
    catalog: str = "prod",
    cache: str | Path = ".cache",
    conf: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start a session whose Iceberg catalog and session catalog are both on one metastore.

    A process can have only one such session; a second call returns the first one.

    Args:
        uri: The metastore, `thrift://host:port`.
        warehouse: The directory for tables of databases without a location, a URI; empty if unknown.
        catalog: The Iceberg catalog's name in Spark.
        cache: The cache directory for Iceberg's runtime (47 MB).
        conf: More of Spark's settings; they override those set here.

    Returns:
        The session, with log level ERROR and no console output; a local one listens on loopback only.

    Raises:
        MissingSparkError: If PySpark is not installed.
        UnsupportedSparkError: If the installed Spark is not supported.
        NoIcebergRuntimeError: If there is no runtime for it.
        ArtifactFetchError: If it is not in `cache` and cannot be fetched.
    """
    settings = {"spark.jars": str(fetch_runtime(cache)), **catalog_settings(uri, warehouse, catalog), **(conf or {})}
    return _session(uri, warehouse, settings)


def catalog_settings(uri: str, warehouse: str, catalog: str) -> dict[str, str]:
    """Spark's settings for an Iceberg catalog on a metastore; an empty warehouse is left out."""
    prefix = f"spark.sql.catalog.{catalog}"
    return {
        "spark.sql.extensions": EXTENSIONS,
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        f"{prefix}.type": "hive",
        f"{prefix}.uri": uri,
        # Iceberg's catalog rejects an empty warehouse ("path must not be null or empty") when it loads a view.
        **({f"{prefix}.warehouse": warehouse} if warehouse else {}),
        f"{prefix}.cache-enabled": "false",
    }


def plain_session(uri: str, warehouse: str, *, conf: Mapping[str, str] | None = None) -> SparkSession:
    """Start a session with Hive support and without Iceberg.

    Args:
        uri: The metastore, `thrift://host:port`.
        warehouse: The directory for tables of databases without a location, a URI; empty if unknown.
        conf: More of Spark's settings; they override those set here.

    Returns:
        The session, with log level ERROR and no console output; a local one listens on loopback only.

    Raises:
        MissingSparkError: If PySpark is not installed.
        UnsupportedSparkError: If the installed Spark is not supported.
    """
    return _session(uri, warehouse, conf or {})


def spark_settings(uri: str, warehouse: str, conf: Mapping[str, str]) -> dict[str, str]:
    """Spark's settings for a session on a metastore; those in `conf` take precedence."""
    # Executors on other machines have to reach the driver, at the address that Spark determines or is given.
    is_local = conf.get("spark.master", "local").startswith("local")
    return {
        "spark.hadoop.hive.metastore.uris": uri,
        **({"spark.sql.warehouse.dir": warehouse} if warehouse else {}),
        **(dict.fromkeys(("spark.driver.host", "spark.driver.bindAddress"), "127.0.0.1") if is_local else {}),
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": f"{_JVM_OPTIONS} {_logging_option()}".rstrip(),
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        **conf,
    }


def _logging_option() -> str:
    """Return the option of the JVM for this package's logging configuration; empty if this Spark has one of its own."""
    folders = (os.environ.get("SPARK_CONF_DIR"), os.environ.get("SPARK_HOME") and f"{os.environ['SPARK_HOME']}/conf")
    if any(folder and Path(folder, "log4j2.properties").is_file() for folder in folders):
        return ""
    return f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}"


def _session(uri: str, warehouse: str, conf: Mapping[str, str]) -> SparkSession:
    check_spark_version(installed_spark())
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    settings = {
        "spark.master": "local[2]",
        "spark.app.name": "hive_views",
        "spark.sql.catalogImplementation": "hive",
        **spark_settings(uri, warehouse, conf),
    }
    spark_conf = SparkConf().setAll(settings.items())
    with deferred_interrupt():
        start_context(spark_conf)
    with deferred_interrupt():  # again: the context has set its own handler
        return SparkSession.builder.config(conf=spark_conf).getOrCreate()


@contextmanager
def deferred_interrupt() -> Iterator[None]:
    """Delay a KeyboardInterrupt to the end of the body: an interrupted start of Spark would leave a JVM behind."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python delivers signals to the main thread
        return
    interrupts: list[int] = []

    def record(number: int, _: object) -> None:
        interrupts.append(number)

    previous = signal.signal(signal.SIGINT, record)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is record:  # a new SparkContext sets its own
            signal.signal(signal.SIGINT, signal.default_int_handler if previous is None else previous)
    if interrupts:
        raise KeyboardInterrupt
