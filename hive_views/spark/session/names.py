"""What names mean in a Spark session, and which of them lead to the metastore of a catalog."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hive_views.errors import InvalidIdentifierError, InvalidPropertyError
from hive_views.identifiers import ViewName
from hive_views.sql.rewriting.quoting import quote_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hive_views.catalog.catalog import HiveViewCatalog

SESSION_CATALOG = "spark_catalog"
"""Spark's own catalog, which is the Hive Metastore's where Spark has Hive support."""
GLOBAL_TEMP = "global_temp"
"""The database of global temporary views."""
_PORT = 9083
"""A metastore's where its address has none (Hive's `metastore.thrift.port`)."""


@dataclass(frozen=True)
class Context:
    """The current catalog and namespace that names without them mean."""

    catalog: str
    namespace: tuple[str, ...]

    @property
    def use(self) -> str:
        """The statement that makes them current."""
        return "USE " + quote_name((self.catalog, *self.namespace))


@dataclass(frozen=True)
class Target:
    """What a name leads to in the metastore."""

    catalog: str
    """The catalog of Spark through which it is named."""
    name: ViewName
    """The object."""

    @property
    def complete(self) -> tuple[str, str, str]:
        """Catalog, database and name."""
        return (self.catalog, self.name.database, self.name.name)


class Names:
    """Resolves names as Spark does (CatalogManager, LookupCatalog).

    Args:
        spark: A session.
        catalog: The catalog whose metastore counts. Spark's catalog of the same name has to be on that metastore.

    Attributes:
        iceberg: Whether Spark has a catalog of that name.
        hive: Whether Spark's session catalog is on a Hive Metastore.

    Raises:
        InvalidPropertyError: If Spark's catalog of that name is on something else.
    """

    def __init__(self, spark: SparkSession, catalog: HiveViewCatalog) -> None:
        self._spark = spark
        self._catalog = catalog.name
        uris = set(catalog._config.connection.uris)
        key = f"spark.sql.catalog.{catalog.name}"
        self.iceberg = self._conf(key) is not None
        kind = self._conf(f"{key}.type")
        if self.iceberg and (not _same(self._conf(f"{key}.uri"), uris) or kind not in (None, "hive")):
            raise InvalidPropertyError(
                key,
                self._conf(f"{key}.uri") or kind,
                f"Spark's catalog {catalog.name} is not on the metastore of this HiveViewCatalog "
                f"({', '.join(sorted(uris))}); give them different names, or the same metastore",
            )
        self.hive = self._conf("spark.sql.catalogImplementation") == "hive" and _same(
            self._conf("spark.hadoop.hive.metastore.uris"), uris
        )

    @property
    def is_served_by_iceberg(self) -> bool:
        """Whether Spark's session catalog is another one than Spark's own, as Iceberg's SparkSessionCatalog."""
        return self._conf(f"spark.sql.catalog.{SESSION_CATALOG}") is not None

    def current(self) -> Context:
        """What is current in the session now."""
        return Context(self._spark.catalog.currentCatalog(), tuple(self._spark.catalog.currentDatabase().split(".")))

    def is_ours(self, catalog: str) -> bool:
        """Whether names in a catalog of Spark lead to the metastore."""
        return catalog == self._catalog or (self.hive and catalog.lower() == SESSION_CATALOG)

    def is_catalog(self, name: str) -> bool:
        """Whether Spark has a catalog of that name."""
        return name.lower() == SESSION_CATALOG or self._conf(f"spark.sql.catalog.{name}") is not None

    def resolve(self, parts: tuple[str, ...], context: Context) -> Target | None:
        """What a name leads to; temporary views are not looked at (see `is_temporary`)."""
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
        if len(namespace) != 1 or not self.is_ours(catalog):
            return None
        try:
            return Target(catalog, ViewName.parse((namespace[0], parts[-1])))
        except InvalidIdentifierError:
            return None

    def is_temporary(self, name: str) -> bool:
        """Whether the session has a temporary view of that name."""
        return any(view.lower() == name.lower() for view in self.temporary_views())

    def temporary_views(self) -> tuple[str, ...]:
        """The temporary views of the session, without the global ones."""
        rows = self._spark.sql(f"SHOW VIEWS IN {GLOBAL_TEMP}").collect()
        return tuple(row.viewName for row in rows if not row.namespace)

    def setting(self, key: str) -> str:
        """A setting of the session, or its default."""
        return str(self._spark.conf.get(key))

    def _conf(self, key: str) -> str | None:
        value = self._spark.conf.get(key, None)
        return None if value is None else str(value)


def _same(uris: str | None, own: set[str]) -> bool:
    """Whether a list of addresses is of the same metastore; one that is not told (hive-site.xml) may be.

    Two names of a host are the same one if they lead to one address: localhost and 127.0.0.1.
    """
    if uris is None:
        return True
    theirs = {uri.strip().rstrip("/") for uri in uris.split(",")}
    ours = {uri.strip().rstrip("/") for uri in own}
    return bool(theirs & ours) or bool(_addresses(theirs) & _addresses(ours))


def _addresses(uris: set[str]) -> set[tuple[str, int]]:
    """IP addresses and ports that URIs lead to; the name itself of a host that cannot be found."""
    found: set[tuple[str, int]] = set()
    for uri in uris:
        try:
            parts = urlsplit(uri)
            host, port = parts.hostname or "", parts.port or _PORT
        except ValueError:
            continue
        if not host:
            continue
        try:
            found |= {(str(each[4][0]), port) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
        except (OSError, UnicodeError):
            found.add((host, port))
    return found
