"""The Spark sessions of the command line, on the catalog's metastore and storage."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlparse

from hive_views.errors import UsageError
from hive_views.spark.refresh.engine import SparkEngine
from hive_views.spark.runtime import cache_directory, fetch_runtime, fetch_s3, iceberg_session
from hive_views.spark.session.session import ViewSession
from hive_views.spark.sessions import spark_exceptions
from hive_views.spec.session_settings import TIME_ZONE

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyspark.sql import SparkSession

    from hive_views.catalog.catalog import HiveViewCatalog

CATALOG = "hive_views_mv"
"""The name of the Iceberg catalog in the session."""

_FILE_IO = "org.apache.iceberg.io.ResolvingFileIO"
"""Iceberg's FileIO that uses S3FileIO for locations on S3, and HadoopFileIO for others."""
_S3_SCHEMES = ("s3", "s3a", "s3n")

_RENAMED = {
    "s3.region": "client.region",
    "client.access-key-id": "s3.access-key-id",
    "client.secret-access-key": "s3.secret-access-key",
    "client.session-token": "s3.session-token",
}
"""Names in Iceberg's Java library of properties that PyIceberg names differently."""


@contextmanager
def engine_on_spark(
    catalog: HiveViewCatalog,
    *,
    master: str,
    conf: Mapping[str, str],
    time_zone: str | None = None,
    cache: Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> Iterator[SparkEngine]:
    """An engine for refreshes, on a Spark session that is started and stopped for it."""
    if progress is not None:
        progress(f"starting Spark on {master}")
    spark = open_session(catalog, {"spark.master": master, **conf}, time_zone=time_zone, cache=cache)
    try:
        yield SparkEngine(spark, catalog, name=CATALOG)
    finally:
        spark.stop()


def analyze_in_spark(catalog: HiveViewCatalog, query: str, database: str, expanded: str) -> Schema:
    """Return the columns of a query; raises SqlError if Spark analyzes its expanded text differently."""
    spark = open_session(catalog, {"spark.master": "local[1]"}, name=catalog.name)
    try:
        with ViewSession(spark, catalog) as session:
            return session.analyzer(query, database)(expanded)
    finally:
        spark.stop()


def open_session(
    catalog: HiveViewCatalog,
    conf: Mapping[str, str],
    *,
    name: str = CATALOG,
    time_zone: str | None = None,
    cache: Path | None = None,
) -> SparkSession:
    """Start a Spark session with an Iceberg catalog of the given name."""
    properties, prefix = catalog.properties, f"spark.sql.catalog.{name}."
    warehouse, cache = properties.get("warehouse", ""), cache or cache_directory()
    storage = storage_settings(properties)
    settings = {"spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower(), **conf}
    jars = [str(fetch_runtime(cache)), *filter(None, [conf.get("spark.jars")])]
    if storage and f"{prefix}io-impl" not in conf:
        jars.append(str(fetch_s3(cache)))
    settings["spark.jars"] = ",".join(jars)
    try:
        spark = iceberg_session(properties["uri"], warehouse, catalog=name, cache=cache, conf=settings)
    except spark_exceptions() as error:
        raise UsageError("--spark, --conf", f"Spark does not start with these settings: {error}") from error
    # Set after the start, since the settings may contain secrets, and other users can read the JVM's command line.
    try:
        for key, value in storage.items():
            if f"{prefix}{key}" not in conf:
                spark.conf.set(f"{prefix}{key}", value)
        if time_zone is not None:
            spark.conf.set(TIME_ZONE, time_zone)
    except spark_exceptions() as error:
        spark.stop()
        raise UsageError("--time-zone", f"Spark: {error}") from error
    return spark


def storage_settings(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of Iceberg's catalog in Spark for the storage that PyIceberg's properties configure."""
    storage_properties = {key: value for key, value in properties.items() if key.startswith(("s3.", "client."))}
    if not storage_properties and urlparse(properties.get("warehouse", "")).scheme not in _S3_SCHEMES:
        return {}
    settings = {"io-impl": _FILE_IO}
    # A property with the prefix "s3." takes precedence over the same one with "client.".
    for key in sorted(storage_properties, key=lambda key: not key.startswith("client.")):
        settings[_RENAMED.get(key, key)] = storage_properties[key]
    uses_virtual_hosts = settings.pop("s3.force-virtual-addressing", "false").lower() == "true"
    if "s3.endpoint" in settings and not uses_virtual_hosts:
        # As PyArrow's S3 file system does for a custom endpoint.
        settings.setdefault("s3.path-style-access", "true")
    return settings
