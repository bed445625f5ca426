"""Resolves names as a Spark session does, and determines which of them are in the metastore of a catalog."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hive_views.errors import InvalidIdentifierError, InvalidPropertyError
from hive_views.identifiers import ViewName
from hive_views.spark.metastore_catalogs import check_metastore_catalog
from hive_views.spark.sessions import GLOBAL_TEMP, SESSION_CATALOG, spark_exceptions, temporary_views_among
from hive_views.sql.text.quoting import quote_name, split_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hive_views.catalog.catalog import HiveViewCatalog

_ICEBERG_CATALOGS = ("org.apache.iceberg.spark.SparkCatalog", "org.apache.iceberg.spark.SparkSessionCatalog")
_HIVE_CATALOG = "org.apache.iceberg.hive.HiveCatalog"
_METASTORE_URIS = "spark.hadoop.hive.metastore.uris"
"""The metastore of Spark's session catalog, and of Iceberg's catalogs without an address of their own."""
_DEFAULT_PORT = 9083
"""The port of a metastore URI without one (Hive's `metastore.thrift.port`)."""


@dataclass(frozen=True)
class NameContext:
    """The catalog and namespace that complete an unqualified name."""

    catalog: str
    namespace: tuple[str, ...]

    @property
    def use_statement(self) -> str:
        """The statement that makes them current."""
        return f"USE {quote_name((self.catalog, *self.namespace))}"


@dataclass(frozen=True)
class ResolvedName:
    """An object of the metastore, and the Spark catalog through which it is named."""

    catalog: str
    """The Spark catalog."""
    name: ViewName

    @property
    def parts(self) -> tuple[str, str, str]:
        """Catalog, database and name."""
        return (self.catalog, self.name.database, self.name.name)


class NameResolver:
    """Resolves names as Spark does (CatalogManager, LookupCatalog).

    Args:
        spark: A session.
        catalog: The catalog of the metastore. A Spark catalog of the same name has to be on that metastore.

    Attributes:
        spark: The session.
        has_iceberg_catalog: Whether Spark has a catalog of that name.
        shares_session_catalog: Whether Spark's session catalog is on that metastore.

    Raises:
        InvalidPropertyError: If the Spark catalog of that name is on another metastore, or Spark reads another catalog
            of the metastore.
    """

    def __init__(self, spark: SparkSession, catalog: HiveViewCatalog) -> None:
        self.spark = spark
        self._catalog_name = catalog.name
        uris = set(catalog.store.config.connection.uris)
        key = f"spark.sql.catalog.{catalog.name}"
        self.has_iceberg_catalog = self._optional_setting(key) is not None
        catalog_type, catalog_uris = self._optional_setting(f"{key}.type"), self._optional_setting(f"{key}.uri")
        if self.has_iceberg_catalog and (
            not is_same_metastore(catalog_uris, uris) or catalog_type not in (None, "hive")
        ):
            raise InvalidPropertyError(
                key,
                catalog_uris or catalog_type,
                f"Spark's catalog {catalog.name} is not on the metastore of this HiveViewCatalog "
                f"({', '.join(sorted(uris))}); give them different names, or the same metastore",
            )
        self.shares_session_catalog = self._optional_setting(
            "spark.sql.catalogImplementation"
        ) == "hive" and is_same_metastore(self._optional_setting(_METASTORE_URIS), uris)
        if self.has_iceberg_catalog or self.shares_session_catalog:
            check_metastore_catalog(spark, catalog)
        self._uris = uris
        self._loading: dict[str, bool] = {}

    @property
    def session_catalog_is_replaced(self) -> bool:
        """Whether the session catalog is not Spark's own but, for example, Iceberg's SparkSessionCatalog."""
        return self._optional_setting(f"spark.sql.catalog.{SESSION_CATALOG}") is not None

    def current(self) -> NameContext:
        """Return the session's current catalog and namespace."""
        namespace = split_name(self.spark.catalog.currentDatabase())  # empty after USE of a catalog of Iceberg
        return NameContext(self.spark.catalog.currentCatalog(), namespace)

    def is_on_metastore(self, catalog: str) -> bool:
        """Return whether a Spark catalog is on the metastore."""
        is_shared = self.shares_session_catalog and catalog.lower() == SESSION_CATALOG
        return is_shared or self.is_iceberg_catalog(catalog)

    def is_iceberg_catalog(self, catalog: str) -> bool:
        """Return whether a Spark catalog is an Iceberg catalog on the metastore, whatever its name."""
        if catalog == self._catalog_name:
            return True
        key = f"spark.sql.catalog.{catalog}"
        if catalog.lower() == SESSION_CATALOG or self._optional_setting(key) not in _ICEBERG_CATALOGS:
            return False
        uris = self._optional_setting(f"{key}.uri") or self._optional_setting(_METASTORE_URIS)
        is_hive = self._optional_setting(f"{key}.type") in (None, "hive")
        is_hive = is_hive and self._optional_setting(f"{key}.catalog-impl") in (None, _HIVE_CATALOG)
        return is_hive and uris is not None and is_same_metastore(uris, self._uris)

    def loads_tables(self, catalog: str) -> bool:
        """Return whether a Spark catalog loads a table again for each statement instead of caching it."""
        if catalog not in self._loading:
            enabled = self._optional_setting(f"spark.sql.catalog.{catalog}.cache-enabled")
            self._loading[catalog] = (enabled or "").lower() == "false"
        return self._loading[catalog]

    def is_catalog(self, name: str) -> bool:
        """Return whether Spark has a catalog of that name."""
        return name.lower() == SESSION_CATALOG or self._optional_setting(f"spark.sql.catalog.{name}") is not None

    def resolve(self, parts: tuple[str, ...], context: NameContext) -> ResolvedName | None:
        """The object of the metastore that a name means, unless a temporary view has the name (see `is_temporary`)."""
        if len(parts) == 1:
            catalog, namespace = context.catalog, context.namespace
        elif len(parts) == 2:
            if parts[0].lower() == GLOBAL_TEMP or self.is_catalog(parts[0]):
                return None
            catalog, namespace = context.catalog, (parts[0],)
        elif len(parts) == 3:
            catalog, namespace = parts[0], (parts[1],)
        else:
            return None
        if len(namespace) != 1 or not self.is_on_metastore(catalog):
            return None
        try:
            return ResolvedName(catalog, ViewName.parse((namespace[0], parts[-1])))
        except InvalidIdentifierError:
            return None

    def is_temporary(self, name: str) -> bool:
        """Return whether the session has a temporary view of that name."""
        return bool(temporary_views_among(self.spark, (name,)))

    def setting(self, key: str) -> str:
        """Return a setting of the session, or its default; empty if it has none."""
        return session_setting(self.spark, key)

    def _optional_setting(self, key: str) -> str | None:
        value = self.spark.conf.get(key, None)
        return None if value is None else str(value)


def session_setting(spark: SparkSession, key: str) -> str:
    """Return a setting of a session, or its default; empty if it has none, or this Spark does not have the setting."""
    try:
        value = str(spark.conf.get(key))
    except spark_exceptions():
        return ""
    return "" if value == "<undefined>" else value


def is_same_metastore(spark_uris: str | None, uris: set[str]) -> bool:
    """Whether a setting's list of URIs is that of the metastore with the given URIs; true if the setting is unknown.

    Host names are equal if they resolve to a common address, as localhost and 127.0.0.1 do. The setting is unknown if
    it comes from hive-site.xml.
    """
    if spark_uris is None:
        return True
    normalized_spark_uris = {uri.strip().rstrip("/") for uri in spark_uris.split(",")}
    normalized_uris = {uri.strip().rstrip("/") for uri in uris}
    if normalized_spark_uris & normalized_uris:
        return True
    return not _addresses(normalized_spark_uris).isdisjoint(_addresses(normalized_uris))


def _addresses(uris: set[str]) -> set[tuple[str, int]]:
    """IP addresses and ports of URIs; the host name itself if it cannot be resolved."""
    addresses: set[tuple[str, int]] = set()
    for uri in uris:
        try:
            parts = urlsplit(uri)
            host, port = parts.hostname or "", parts.port or _DEFAULT_PORT
        except ValueError:
            continue
        if not host:
            continue
        try:
            addresses |= {(str(info[4][0]), port) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
        except (OSError, UnicodeError):
            addresses.add((host, port))
    return addresses
