"""Which of the metastore's catalogs a Spark session reads: a view's text means the tables of one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hive_views.config import HIVE_CATALOG, METASTORE_CATALOG
from hive_views.errors import InvalidPropertyError
from hive_views.spark.jvm import is_classic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hive_views.catalog.catalog import HiveViewCatalog

_CLIENT_VERSION = "spark.sql.hive.metastore.version"
_CLIENTS_WITHOUT_CATALOGS = ("0.", "1.", "2.")
"""Releases of Hive whose clients name no catalog, so that the server takes its own default (measured with the client of
2.3.10, on 3.1.3 and 4.2.0). Later ones send `metastore.catalog.default` of their configuration, or `hive`."""


def check_metastore_catalog(spark: SparkSession, catalog: HiveViewCatalog) -> None:
    """Raise InvalidPropertyError if a session would read another catalog of the metastore than `catalog`."""
    client = catalog.store.client
    session_catalog = _session_catalog(spark)
    if session_catalog is None and catalog.store.config.connection.catalog is None:
        return  # both leave the choice to the server
    read = {"its session catalog": session_catalog or client.default_catalog()}
    if spark.conf.get(f"spark.sql.catalog.{catalog.name}", None) is not None:
        # Iceberg's catalogs use the Hive client on Spark's class path, which is 2.3.10.
        read[f"its catalog {catalog.name}"] = client.default_catalog()
    own = client.own_catalog()
    for reader, name in read.items():
        if name != own:
            raise InvalidPropertyError(
                METASTORE_CATALOG,
                own,
                f"the views are in this catalog of the metastore, and {reader} of this Spark reads the catalog {name}, "
                "in which the names of tables mean others. Spark's own client of Hive 2 reads the catalog that the "
                f"server's {METASTORE_CATALOG} names; with {_CLIENT_VERSION}=3.1.3 or later, the session catalog reads "
                f"the one that spark.hadoop.{METASTORE_CATALOG} names",
            )


def _session_catalog(spark: SparkSession) -> str | None:
    """Return the catalog that the Hive client of Spark's session catalog names; None if it names none."""
    if str(spark.conf.get(_CLIENT_VERSION, "2.3")).startswith(_CLIENTS_WITHOUT_CATALOGS):
        return None
    name = spark.conf.get(f"spark.hadoop.{METASTORE_CATALOG}", None)
    if name is None and is_classic(spark):  # hive-site.xml
        name = spark.sparkContext._jsc.hadoopConfiguration().get(METASTORE_CATALOG)
    return str(name or HIVE_CATALOG).lower()
