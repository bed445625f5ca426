"""The catalog service: `HiveViewCatalog`, which programs create, and `load_catalog`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hive_views.catalog.configuration import configured_catalog, support_configured_class
from hive_views.catalog.view_catalog import ViewCatalog
from hive_views.config import URI
from hive_views.errors import CatalogConfigurationError

if TYPE_CHECKING:
    from hive_views.catalog.statements import Result
    from hive_views.dependencies.view_query import Analyzer


class HiveViewCatalog(ViewCatalog):
    """A PyIceberg catalog of the Iceberg tables, views and materialized views in one Hive Metastore.

    `HiveViewCatalog("prod", uri="thrift://host:9083", warehouse="s3://bucket/warehouse")`, or by name alone with
    PyIceberg's configuration: `hive_views.load_catalog("prod")`. It connects at the first call, is safe to share
    between threads, and keeps connections until `close()`.

    An `identifier` is `database.name`, as text or as a tuple, optionally after the catalog's name. All methods raise
    MetastoreError if the metastore fails or cannot be reached. Those that read or change a view raise NoSuchViewError
    if it does not exist.
    """

    def execute(
        self, sql: str, *, database: str = "default", dialect: str = "spark", analyzer: Analyzer | None = None
    ) -> Result:
        """Run one SQL statement about views, materialized views, partitions of views, or databases.

        Args:
            sql: The statement.
            database: The current database for unqualified names.
            dialect: `spark`, `hive` or `trino`: the syntax of the statement, and the dialect of a new view.
            analyzer: Computes the column types; see `author`.

        Returns:
            What was done, and the rows of the answer.

        Raises:
            SqlError: If the statement cannot be parsed or is not supported; has `line` and `column`.
            HiveViewsError: What the method that the statement stands for raises; with a position if the statement names
                the object of the error.
        """
        from hive_views.catalog.statements import execute

        return execute(self, sql, database=database, dialect=dialect, analyzer=analyzer)


def load_catalog(name: str | None = None, **properties: str) -> HiveViewCatalog:
    """Open a catalog of PyIceberg's configuration; PyIceberg's `load_catalog`, but always a `HiveViewCatalog`.

    Args:
        name: The catalog's name; None is the default catalog.
        properties: Catalog properties; they override the configured ones. With a `uri`, the configuration need not
            have the catalog.

    Raises:
        CatalogConfigurationError: If the configuration cannot be read, or does not have the catalog.
        InvalidPropertyError: If a property does not exist, or has an invalid value.
    """
    try:
        catalog_name, configured = configured_catalog(name)
    except CatalogConfigurationError as error:
        if not error.is_missing or URI not in properties:
            raise
        catalog_name, configured = name or "hive", {}
    return HiveViewCatalog(catalog_name, **{**configured, **properties})


support_configured_class(HiveViewCatalog)
