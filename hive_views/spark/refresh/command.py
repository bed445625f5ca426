"""`hive-views mv refresh`: a Spark session for the command, on the catalog's metastore and storage."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlparse

from hive_views.errors import UsageError
from hive_views.spark.refresh.engine import SparkEngine
from hive_views.spark.runtime import cache_directory, fetch_runtime, fetch_s3, iceberg_session
from hive_views.spark.sessions import spark_exceptions
from hive_views.spec.session_settings import TIME_ZONE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.materialized.refresh.plan import Mode
    from hive_views.materialized.refresh.refresh import RefreshReport

CATALOG = "hive_views_mv"
"""What Spark calls the catalog of a refresh that the command line starts."""

_PREFIX = f"spark.sql.catalog.{CATALOG}."
_FILE_IO = "org.apache.iceberg.io.ResolvingFileIO"
"""Iceberg's storage that takes S3's for locations on S3, and Hadoop's for others."""
_S3 = ("s3", "s3a", "s3n")

_RENAMED = {
    "s3.region": "client.region",
    "client.access-key-id": "s3.access-key-id",
    "client.secret-access-key": "s3.secret-access-key",
    "client.session-token": "s3.session-token",
}
"""PyIceberg's names of properties that Iceberg's Java library calls otherwise."""


def refresh_on_spark(
    catalog: HiveViewCatalog,
    name: str,
    *,
    mode: Mode | str,
    cascade: bool,
    master: str,
    conf: Mapping[str, str],
    time_zone: str | None = None,
    cache: Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[RefreshReport]:
    """Refresh a materialized view on a Spark session that is started for it, and stopped at the end."""
    catalog.materialized.freshness(name)  # what is not there is told before Spark starts
    if progress is not None:
        progress(f"starting Spark on {master}")
    spark = _session(catalog, {"spark.master": master, **conf}, time_zone, cache)
    try:
        return catalog.materialized.refresh(
            name, SparkEngine(spark, catalog, name=CATALOG), mode=mode, cascade=cascade, progress=progress
        )
    finally:
        spark.stop()


def _session(
    catalog: HiveViewCatalog, conf: Mapping[str, str], time_zone: str | None, cache: Path | None
) -> SparkSession:
    properties = catalog.properties
    warehouse, kept = properties.get("warehouse", ""), cache or cache_directory()
    storage = storage_settings(properties)
    settings = {"spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower(), **conf}
    jars = [str(fetch_runtime(kept)), *filter(None, [conf.get("spark.jars")])]
    if storage and f"{_PREFIX}io-impl" not in conf:
        jars.append(str(fetch_s3(kept)))
    settings["spark.jars"] = ",".join(jars)
    spark = iceberg_session(properties["uri"], warehouse, catalog=CATALOG, cache=kept, conf=settings)
    # Not at the start: there they would be on the command line of the JVM, where every user of the machine sees them.
    try:
        for key, value in storage.items():
            if f"{_PREFIX}{key}" not in conf:
                spark.conf.set(f"{_PREFIX}{key}", value)
        if time_zone is not None:
            spark.conf.set(TIME_ZONE, time_zone)
    except spark_exceptions() as error:
        spark.stop()
        raise UsageError("--time-zone", f"Spark: {error}") from error
    return spark


def storage_settings(properties: Mapping[str, str]) -> dict[str, str]:
    """What Iceberg's catalog in Spark has to know to reach the storage that PyIceberg's properties describe."""
    own = {key: value for key, value in properties.items() if key.startswith(("s3.", "client."))}
    if not own and urlparse(properties.get("warehouse", "")).scheme not in _S3:
        return {}
    found = {"io-impl": _FILE_IO}
    # The same setting by its S3 name goes before.
    for key in sorted(own, key=lambda key: not key.startswith("client.")):
        found[_RENAMED.get(key, key)] = own[key]
    forced = found.pop("s3.force-virtual-addressing", "false").lower() == "true"
    if "s3.endpoint" in found and not forced:
        # As PyArrow's S3 does for an endpoint that is named.
        found.setdefault("s3.path-style-access", "true")
    return found
