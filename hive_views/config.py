"""Catalog properties: keys, a table of them, and a typed configuration.

Keys of Iceberg and Hive are used if they exist; others have the prefix `hive-views.`. Property values are strings. An
invalid value is rejected when the catalog is created.
"""

from __future__ import annotations

import difflib
import getpass
import os
import re
import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from hive_views.errors import InvalidPropertyError
from hive_views.kerberos_names import Rule, parse_rules
from hive_views.property_table import Property, choice, text_or, truth, whole
from hive_views.text_enum import TextEnum

URI = "uri"
WAREHOUSE = "warehouse"
METASTORE_CATALOG = "metastore.catalog.default"
HIVE_CATALOG = "hive"
"""The metastore's default catalog, unless an administrator changed it."""

DISCOVERY_MODE = "metastore.service.discovery.mode"
ZOOKEEPER_NAMESPACE = "metastore.zookeeper.namespace"
ZOOKEEPER_PORT = "metastore.zookeeper.client.port"
ZOOKEEPER_TLS = "hive-views.zookeeper-tls"
DISCOVERED_FROM = "metastore.discovered-from"
"""Set by a catalog: the servers and the node of ZooKeeper that named its `uri`."""

UGI = "ugi"
AUTHENTICATION = "hive-views.authentication"
KERBEROS_AUTHENTICATION = "hive.kerberos-authentication"
KERBEROS_SERVICE_NAME = "hive.kerberos-service-name"
_HTTP_SERVICE_NAME = "HTTP"
"""The default of `KERBEROS_SERVICE_NAME` over HTTP (RFC 4559)."""

SERVICE_PRINCIPAL = "hive.metastore.kerberos.principal"
KEYTAB_FILE = "hive-views.keytab-file"
KEYTAB_PRINCIPAL = "hive-views.keytab-principal"
PROXY_USER = "hive-views.proxy-user"
AUTH_TO_LOCAL = "hadoop.security.auth_to_local"
USER = "hive-views.user"
PASSWORD = "hive-views.password"
PASSWORD_FILE = "hive-views.password-file"
PASSWORD_VARIABLE = "HIVE_VIEWS_PASSWORD"
TOKEN = "hive-views.token"
TOKEN_FILE = "hive-views.token-file"
TOKEN_VARIABLE = "HIVE_VIEWS_TOKEN"
TLS = "hive-views.tls"
TLS_CA_FILE = "hive-views.tls-ca-file"
TLS_CERTIFICATE_FILE = "hive-views.tls-certificate-file"
TLS_KEY_FILE = "hive-views.tls-key-file"
TLS_KEY_PASSWORD = "hive-views.tls-key-password"
TLS_KEY_PASSWORD_FILE = "hive-views.tls-key-password-file"
TLS_KEY_PASSWORD_VARIABLE = "HIVE_VIEWS_TLS_KEY_PASSWORD"
SECRETS = (PASSWORD, TOKEN, TLS_KEY_PASSWORD)
"""Properties with secrets of the metastore, which are not handed to the storage's clients."""

TLS_HOST = "hive-views.tls-host"
CONNECT_TIMEOUT_MS = "hive-views.connect-timeout-ms"
CALL_TIMEOUT_MS = "hive-views.call-timeout-ms"
POOL_SIZE = "hive-views.pool-size"
SETTLE_TIMEOUT_MS = "hive-views.settle-timeout-ms"
LOCK_ENABLED = "iceberg.engine.hive.lock-enabled"
LOCK_TIMEOUT_MS = "iceberg.hive.lock-timeout-ms"
LOCK_CHECK_MIN_WAIT_MS = "iceberg.hive.lock-check-min-wait-ms"
LOCK_CHECK_MAX_WAIT_MS = "iceberg.hive.lock-check-max-wait-ms"
LOCK_HEARTBEAT_INTERVAL_MS = "iceberg.hive.lock-heartbeat-interval-ms"
METADATA_SCHEMES = "hive-views.metadata-schemes"
PARAMETER_MAX_SIZE = "iceberg.hive.table-property-max-size"
UNIQUE_LOCATION = "unique-table-location"
SESSION_CATALOG = "hive-views.session-catalog"
SESSION_CATALOG_SERVES_ICEBERG = "hive-views.session-catalog-serves-iceberg"
DEPENDENCY_MODE = "hive-views.dependency-mode"
MARK_HIVE_TABLES = "hive-views.mark-hive-tables"
HIDE_STORAGE_TABLES = "hive-views.hide-storage-tables"
REWRITE_QUERIES = "hive-views.rewrite-queries"
REQUIRE_ENGINES = "hive-views.require-engines"
ENGINES = ("spark", "hive", "trino")
"""The engines that `REQUIRE_ENGINES` can name: `spark` is plain Spark, `trino` is Trino's Hive connector."""

ROW_TEXT_FOR_TRINO = "hive-views.row-text-for-trino"
EXPLICIT_ROW_TEXT = "hive-views.explicit-row-text"
ANSI_MODE = "hive-views.ansi-mode"
HIVE2_COMPATIBLE = "hive.hive2-compatible"
VIEW_DEFAULT_PREFIX = "view-default."
"""`view-default.<key>`: default of a view property for new views (Iceberg's CatalogProperties)."""

VIEW_OVERRIDE_PREFIX = "view-override."
"""`view-override.<key>`: a view property that overrides the caller's (Iceberg's CatalogProperties)."""

_PREFIX = "hive-views."


class Authentication(TextEnum):
    """A value of `AUTHENTICATION`."""

    NONE = "none"
    KERBEROS = "kerberos"
    TOKEN = "token"
    PLAIN = "plain"
    JWT = "jwt"


class DependencyMode(TextEnum):
    """A value of `DEPENDENCY_MODE`."""

    LENIENT = "lenient"
    STRICT = "strict"


class Scheme(TextEnum):
    """The scheme of a metastore's URI."""

    THRIFT = "thrift"
    HTTP = "http"
    HTTPS = "https"


CATALOG_PROPERTIES = (
    Property(
        keys=(URI,),
        meaning=(
            "the metastores: `thrift://host:port`, or `http://host:port/metastore` and `https://…` for metastores"
            " that use HTTP; several are separated by commas and tried in order"
        ),
    ),
    Property(
        keys=(WAREHOUSE,),
        meaning="parent directory of the views of databases without a location",
    ),
    Property(
        keys=(METASTORE_CATALOG,),
        shown_default="the server's",
        meaning=(
            "the catalog of the metastore that contains the databases (Hive 3 and later); [which one requests and"
            " Spark read](how-to/metastore-catalogs.md)"
        ),
    ),
    Property(
        keys=(DISCOVERY_MODE,),
        meaning=(
            "`zookeeper`: `uri` names ZooKeeper's servers, in which the metastores are registered; see "
            "[below](#metastores-in-zookeeper)"
        ),
    ),
    Property(
        keys=(ZOOKEEPER_NAMESPACE,),
        parse=text_or("hive_metastore"),
        default="hive_metastore",
        meaning="the node of ZooKeeper below which they are registered",
    ),
    Property(
        keys=(ZOOKEEPER_PORT,),
        parse=whole(1),
        default=2_181,
        meaning="the port of ZooKeeper's servers that `uri` names without one",
    ),
    Property(
        keys=(ZOOKEEPER_TLS,),
        parse=truth,
        default=False,
        meaning=(
            "connect to ZooKeeper with TLS, with the certificates in `hive-views.tls-ca-file`, "
            "`hive-views.tls-certificate-file` and `hive-views.tls-key-file`; its host name is verified"
        ),
    ),
    Property(
        keys=(UGI,),
        meaning=(
            "user, or `user:group,group`, sent to the metastore after connecting (set_ugi); over HTTP the user of"
            " each request, by default yours"
        ),
    ),
    Property(
        keys=(AUTHENTICATION,),
        parse=choice(*Authentication),
        default="none",
        meaning=(
            "`none`, `kerberos`, `token` (a delegation token), `plain` (user and password: Hive 4's LDAP, CONFIG,"
            " CUSTOM), or `jwt` (a JSON Web Token, over HTTP only); see below"
        ),
    ),
    Property(
        keys=(KERBEROS_AUTHENTICATION,),
        parse=truth,
        default=False,
        meaning="PyIceberg's name for `hive-views.authentication=kerberos`",
    ),
    Property(
        keys=(KERBEROS_SERVICE_NAME,),
        parse=text_or("hive"),
        default="hive",
        shown_default="hive; over HTTP `HTTP`",
        meaning="the first part of the metastore's principal; the second is the host of the URI",
    ),
    Property(
        keys=(SERVICE_PRINCIPAL,),
        meaning=(
            "the metastore's whole principal, such as `hive/_HOST@REALM`, as for Hive's clients; `_HOST` stands "
            "for the host of the URI. Set it if the URI has an address or an alias"
        ),
    ),
    Property(
        keys=(
            KEYTAB_FILE,
            KEYTAB_PRINCIPAL,
        ),
        meaning="a keytab, and the principal in it to connect as, in place of the tickets of `kinit`",
    ),
    Property(
        keys=(PROXY_USER,),
        meaning="the user for whom the Kerberos user acts ([below](#acting-for-others))",
    ),
    Property(
        keys=(AUTH_TO_LOCAL,),
        parse=text_or("DEFAULT"),
        default="DEFAULT",
        meaning=(
            "the metastore's rules that make a user's name from a Kerberos principal, if it has others than the "
            "default: new rows have that owner ([owners](#owners))"
        ),
    ),
    Property(
        keys=(USER,),
        shown_default="this user",
        meaning="the user for `plain`",
    ),
    Property(
        keys=(
            PASSWORD_FILE,
            TOKEN_FILE,
        ),
        hidden_keys=(PASSWORD, TOKEN),
        meaning=(
            "files with the secret, without the last line break; or set the environment variables "
            "`HIVE_VIEWS_PASSWORD`, `HIVE_VIEWS_TOKEN`. The properties `hive-views.password`, `hive-views.token` "
            "are less secure; they are not passed on to the FileIO"
        ),
    ),
    Property(
        keys=(TLS,),
        parse=truth,
        default=False,
        meaning="connect with TLS (`https` implies it); the metastore's certificate and host name are always verified",
    ),
    Property(
        keys=(TLS_CA_FILE,),
        shown_default="the system's",
        meaning="PEM file with the trusted certificates",
    ),
    Property(
        keys=(
            TLS_CERTIFICATE_FILE,
            TLS_KEY_FILE,
        ),
        meaning="client certificate and key, if the metastore requires one",
    ),
    Property(
        keys=(TLS_KEY_PASSWORD_FILE,),
        hidden_keys=(TLS_KEY_PASSWORD,),
        meaning=(
            "file with the passphrase of that key, without the last line break; or set "
            "`HIVE_VIEWS_TLS_KEY_PASSWORD`, or the property `hive-views.tls-key-password`"
        ),
    ),
    Property(
        keys=(TLS_HOST,),
        shown_default="host of the URI",
        meaning="the host name in the metastore's certificate",
    ),
    Property(
        keys=(CONNECT_TIMEOUT_MS,),
        parse=whole(1),
        default=10_000,
        meaning="milliseconds to wait for a connection to one metastore",
    ),
    Property(
        keys=(CALL_TIMEOUT_MS,),
        parse=whole(1),
        default=60_000,
        meaning=(
            "milliseconds to wait for a reply; keep it above 20 s, since a server retries a failing database for "
            "that time"
        ),
    ),
    Property(
        keys=(POOL_SIZE,),
        parse=whole(1),
        default=8,
        meaning="maximum number of pooled connections",
    ),
    Property(
        keys=(SETTLE_TIMEOUT_MS,),
        parse=whole(0),
        default=60_000,
        meaning=(
            "milliseconds in which a change without a reply is sent again (a create only with locks) before its "
            "outcome is reported as unknown"
        ),
    ),
    Property(
        keys=(LOCK_ENABLED,),
        parse=truth,
        default=True,
        meaning=(
            "acquire the metastore's lock for a commit; cannot be disabled on servers that ignore compare-and-swap"
        ),
    ),
    Property(
        keys=(LOCK_TIMEOUT_MS,),
        parse=whole(1),
        default=180_000,
        meaning="milliseconds to wait for another client's lock, as in Iceberg's Java catalog, and then "
        "`LockTimeoutError`; PyIceberg's HiveCatalog checks four times only, so its test `test_hive_locking` takes "
        "180 s with this default",
    ),
    Property(
        keys=(LOCK_CHECK_MIN_WAIT_MS,),
        parse=whole(1),
        default=50,
        meaning="milliseconds before the first check of a lock that is waited for; grows by half each time",
    ),
    Property(
        keys=(LOCK_CHECK_MAX_WAIT_MS,),
        parse=whole(None),
        default=5_000,
        meaning="maximum milliseconds between two checks",
    ),
    Property(
        keys=(LOCK_HEARTBEAT_INTERVAL_MS,),
        parse=whole(1),
        default=240_000,
        meaning="milliseconds between heartbeats of a lock; keep it below the server's `hive.txn.timeout`",
    ),
    Property(
        keys=(PARAMETER_MAX_SIZE,),
        parse=whole(0),
        default=32_672,
        meaning="maximum length of `current-schema` that is copied into the row, in characters; 0 never copies it",
    ),
    Property(
        keys=(METADATA_SCHEMES,),
        meaning=(
            "allowed URI schemes of metadata files, e.g. `s3,hdfs`; default: all that PyIceberg supports, but "
            "`file` only if every metastore or the warehouse is on this machine. Set it if other users write "
            "rows: a row can name a location with any of these schemes. Google's client gives up after 15 s"
        ),
    ),
    Property(
        keys=(UNIQUE_LOCATION,),
        parse=truth,
        default=False,
        meaning="give each new view a unique location",
    ),
    Property(
        keys=(SESSION_CATALOG,),
        parse=text_or("spark_catalog"),
        default="spark_catalog",
        meaning="Spark's catalog for Hive tables; the default catalog of views over them",
    ),
    Property(
        keys=(SESSION_CATALOG_SERVES_ICEBERG,),
        parse=truth,
        default=False,
        meaning="whether that catalog also serves Iceberg tables, so that a view can read both",
    ),
    Property(
        keys=(DEPENDENCY_MODE,),
        parse=choice(*DependencyMode),
        default="lenient",
        meaning="`strict` rejects a drop, rename or replace that would break a view, unless CASCADE is given",
    ),
    Property(
        keys=(MARK_HIVE_TABLES,),
        parse=truth,
        default=True,
        meaning=(
            "give Hive tables that a view reads a UUID (row parameter `hive_views_uuid`), so that lineage "
            "survives renames"
        ),
    ),
    Property(
        keys=(HIDE_STORAGE_TABLES,),
        parse=truth,
        default=False,
        meaning="leave the storage tables of materialized views out of `list_tables` and `hive-views list --all`",
    ),
    Property(
        keys=(REWRITE_QUERIES,),
        parse=truth,
        default=False,
        meaning=(
            "let queries of a `ViewSession` on tables read the fresh stored rows of materialized views ([query "
            "rewriting](how-to/rewrite-queries.md))"
        ),
    ),
    Property(
        keys=(REQUIRE_ENGINES,),
        meaning=(
            "engines that have to return the author's rows, e.g. `spark,hive,trino`: create, replace and import "
            "reject a definition with any finding about one of them, `not verified` included, notes not ([which "
            "engines read a view](trino.md#which-engines-read-a-view)). The author's own engine has none, unless it "
            "cannot read the row or a table. Also a view property, which takes precedence; empty, it requires none"
        ),
    ),
    Property(
        keys=(ROW_TEXT_FOR_TRINO,),
        parse=truth,
        default=False,
        meaning=(
            "rewrite the text of a new definition's row where Trino's Hive connector reads the result better "
            "([which texts it reads](trino.md#which-texts-it-reads)). Also a view property, which takes "
            "precedence"
        ),
    ),
    Property(
        keys=(EXPLICIT_ROW_TEXT,),
        parse=truth,
        default=False,
        meaning=(
            "write out in the text of a new definition's row what Hive 4 and Spark take for granted differently: the "
            "order of NULL, and the kind of deviations ([explicit texts](hive.md#explicit-texts)). Also a view "
            "property, which takes precedence"
        ),
    ),
    Property(
        keys=(ANSI_MODE,),
        parse=truth,
        default=True,
        meaning=(
            "the ANSI mode of definitions in Spark's dialect that are made without a Spark session. If types depend on "
            "it, the version records it, and plain Spark and a `ViewSession` apply it ([column "
            "types](sql.md#column-types)). Set it to false if your Spark runs without ANSI mode, as Spark 3.5 does by "
            "default"
        ),
    ),
    Property(
        keys=(HIVE2_COMPATIBLE,),
        parse=truth,
        default=True,
        meaning=(
            "write `timestamptz` columns of views and tables as `timestamp`, as Spark does: Spark's Hive client "
            "cannot read a row with `timestamp with local time zone`, and a Hive 2 server rejects commits to a "
            "table with it (PyIceberg's default is false)"
        ),
    ),
    Property(
        keys=(f"{VIEW_DEFAULT_PREFIX}KEY",),
        meaning="default of a view property for new views",
    ),
    Property(
        keys=(f"{VIEW_OVERRIDE_PREFIX}KEY",),
        meaning="a view property that overrides the caller's",
    ),
)
"""The properties of a catalog, in the order of docs/configuration.md, which has this table."""

_BY_KEY = {key: item for item in CATALOG_PROPERTIES for key in (*item.keys, *item.hidden_keys)}


def value_of(properties: Mapping[str, str], key: str) -> Any:
    """Return the value of a catalog property, or its default; raises InvalidPropertyError."""
    return _BY_KEY[key].of(properties, key)


def default_of(key: str) -> Any:
    """Return the default of a catalog property."""
    return _BY_KEY[key].default


KEYS = frozenset(key for key in _BY_KEY if key.startswith(_PREFIX))
"""All catalog properties with the prefix `hive-views.`."""

_OWN_PREFIX = re.compile(r"hive[-_. ]?views?[-_. ]", re.IGNORECASE)
"""The prefix of this package's properties, and its likely misspellings."""


def reject_misspelled_keys(properties: Mapping[str, object], keys: Collection[str]) -> None:
    """Reject misspelled properties of this package; other unknown properties may belong to a later release."""
    for key in properties:
        similar = similar_key(key, keys, cutoff=0.8) if _OWN_PREFIX.match(key) and key not in keys else None
        if similar is not None:
            raise InvalidPropertyError(key, None, f"there is no such property; did you mean {similar}?")


def reject_unknown_keys(properties: Mapping[str, object], keys: Collection[str]) -> None:
    """Reject properties of this package that do not exist: ignoring `hive-views.tsl` would connect without TLS."""
    for key in properties:
        if _OWN_PREFIX.match(key) and key not in keys:
            similar = similar_key(key, keys)
            hint = f"did you mean {similar}?" if similar else f"these exist: {', '.join(sorted(keys))}"
            raise InvalidPropertyError(key, None, f"there is no such property; {hint}")


def similar_key(key: str, keys: Collection[str], *, cutoff: float = 0.6) -> str | None:
    """Return the key most similar to a misspelled one; None if the similarity (difflib) of all is below `cutoff`."""
    names = {known_key.removeprefix(_PREFIX): known_key for known_key in sorted(keys)}
    name = _OWN_PREFIX.sub("", key, count=1).lower().replace("_", "-")
    similar = difflib.get_close_matches(name, names, n=1, cutoff=cutoff)
    return names[similar[0]] if similar else None


@dataclass(frozen=True)
class Secret:
    """A password or token."""

    text: str = field(repr=False)
    file: Path | None = None
    """The file that it was read from."""

    def current(self) -> str:
        """Return the secret; its file is read again, because other programs renew tokens there."""
        if self.file is None:
            return self.text
        try:
            return _read_secret(self.file)
        except (OSError, UnicodeDecodeError):
            return self.text  # for example while the file is replaced


@dataclass(frozen=True)
class SecretCredentials:
    """Authentication by a password or token."""

    kind: Authentication
    """TOKEN, PLAIN or JWT."""
    secret: Secret
    user: str = ""
    """The user for `plain`."""
    name_rules: tuple[Rule, ...] = ()
    """The rules in `AUTH_TO_LOCAL`, for `token`."""


@dataclass(frozen=True)
class Keytab:
    """The key of a principal in a file."""

    file: str
    principal: str


@dataclass(frozen=True)
class KerberosCredentials:
    """Authentication by Kerberos."""

    kind: ClassVar[Authentication] = Authentication.KERBEROS
    service: str = default_of(KERBEROS_SERVICE_NAME)
    service_principal: str | None = None
    """See `SERVICE_PRINCIPAL`."""
    keytab: Keytab | None = None
    """None takes the tickets of `kinit`."""
    name_rules: tuple[Rule, ...] = ()
    """The rules in `AUTH_TO_LOCAL`."""
    proxy_user: str | None = None
    """See `PROXY_USER`; None if the client acts only for its own user."""


@dataclass(frozen=True)
class TlsConfig:
    """The certificates of a TLS connection."""

    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    host: str | None = None
    key_password: Secret | None = None
    """The passphrase of the key; None if it has none."""


class ConnectionConfig(NamedTuple):
    """How to reach the metastore; see the properties of the same names."""

    uris: tuple[str, ...]
    """`thrift://host:port` or `http://host:port/path`, in the order of attempts; all with the same scheme."""
    connect_timeout_ms: int = default_of(CONNECT_TIMEOUT_MS)
    call_timeout_ms: int = default_of(CALL_TIMEOUT_MS)
    pool_size: int = default_of(POOL_SIZE)
    user: str | None = None
    """The user for set_ugi; None does not call it. Over HTTP, the user of each request."""
    groups: tuple[str, ...] = ()
    """The groups for set_ugi."""
    credentials: SecretCredentials | KerberosCredentials | None = None
    """See `AUTHENTICATION`; None does not authenticate."""
    tls: TlsConfig | None = None
    """See `TLS`; None connects without."""
    catalog: str | None = None
    """See `METASTORE_CATALOG`; in lower case. None for the server's default."""
    discovered_from: str | None = None
    """See `DISCOVERED_FROM`."""

    @property
    def address(self) -> str:
        """What identifies the metastores, whatever their order and however many of them are registered."""
        return self.discovered_from or ",".join(sorted(self.uris))

    @property
    def is_http(self) -> bool:
        """Whether the requests are sent over HTTP."""
        return not self.uris[0].startswith("thrift:")


class LockConfig(NamedTuple):
    """How to acquire and keep the metastore's lock."""

    enabled: bool = default_of(LOCK_ENABLED)
    timeout_ms: int = default_of(LOCK_TIMEOUT_MS)
    check_min_wait_ms: int = default_of(LOCK_CHECK_MIN_WAIT_MS)
    check_max_wait_ms: int = default_of(LOCK_CHECK_MAX_WAIT_MS)
    heartbeat_interval_ms: int = default_of(LOCK_HEARTBEAT_INTERVAL_MS)


class CatalogConfig(NamedTuple):
    """The catalog properties of this package, typed and validated."""

    connection: ConnectionConfig
    """How to reach the metastore."""
    lock: LockConfig
    """How commits are locked."""
    settle_timeout_ms: int
    warehouse: str | None
    """See `WAREHOUSE`; without a trailing slash."""
    parameter_max_size: int
    unique_location: bool
    session_catalog: str
    session_catalog_serves_iceberg: bool
    strict: bool
    """Whether `DEPENDENCY_MODE` is `strict`."""
    mark_hive_tables: bool
    hide_storage_tables: bool
    rewrite_queries: bool
    hive2_compatible: bool
    require_engines: tuple[str, ...]
    row_text_for_trino: bool
    explicit_row_text: bool
    ansi_mode: bool
    view_defaults: Mapping[str, str]
    """The `view-default.` properties, without the prefix."""
    view_overrides: Mapping[str, str]
    """The `view-override.` properties, without the prefix."""

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> CatalogConfig:
        """Parse and validate catalog properties; those of PyIceberg and of its FileIO are ignored."""
        reject_unknown_keys(properties, KEYS)
        metadata_schemes(properties)  # used by MetadataFiles; validated here
        uris = parse_uris(properties.get(URI))
        scheme = Scheme(split_uri(uris[0])[0])
        user, groups = _ugi(properties.get(UGI), scheme)
        minimum_wait, maximum_wait = (
            value_of(properties, key) for key in (LOCK_CHECK_MIN_WAIT_MS, LOCK_CHECK_MAX_WAIT_MS)
        )
        if LOCK_CHECK_MAX_WAIT_MS in properties and maximum_wait < minimum_wait:
            reason = f"it must be at least {minimum_wait}"
            raise InvalidPropertyError(LOCK_CHECK_MAX_WAIT_MS, properties[LOCK_CHECK_MAX_WAIT_MS], reason)
        warehouse = properties.get(WAREHOUSE)
        if warehouse and re.match(r"[^:/]+://[^/@:\[]*:(?!\d*/)[^@]*@", warehouse):
            # The value contains a password: it is not in the message, and must not get into rows and metadata files.
            reason = "its password would be stored with each view. Use properties such as s3.access-key-id instead"
            raise InvalidPropertyError(WAREHOUSE, None, reason)
        return cls(
            connection=ConnectionConfig(
                uris=uris,
                connect_timeout_ms=value_of(properties, CONNECT_TIMEOUT_MS),
                call_timeout_ms=value_of(properties, CALL_TIMEOUT_MS),
                pool_size=value_of(properties, POOL_SIZE),
                user=user,
                groups=groups,
                credentials=_credentials(properties, scheme),
                tls=_tls(properties, scheme),
                catalog=_metastore_catalog(properties),
                discovered_from=properties.get(DISCOVERED_FROM),
            ),
            lock=LockConfig(
                enabled=value_of(properties, LOCK_ENABLED),
                timeout_ms=value_of(properties, LOCK_TIMEOUT_MS),
                check_min_wait_ms=minimum_wait,
                check_max_wait_ms=maximum_wait,
                heartbeat_interval_ms=value_of(properties, LOCK_HEARTBEAT_INTERVAL_MS),
            ),
            settle_timeout_ms=value_of(properties, SETTLE_TIMEOUT_MS),
            warehouse=warehouse.rstrip("/") if warehouse else None,
            parameter_max_size=value_of(properties, PARAMETER_MAX_SIZE),
            unique_location=value_of(properties, UNIQUE_LOCATION),
            session_catalog=value_of(properties, SESSION_CATALOG),
            session_catalog_serves_iceberg=value_of(properties, SESSION_CATALOG_SERVES_ICEBERG),
            strict=value_of(properties, DEPENDENCY_MODE) == DependencyMode.STRICT,
            mark_hive_tables=value_of(properties, MARK_HIVE_TABLES),
            hide_storage_tables=value_of(properties, HIDE_STORAGE_TABLES),
            rewrite_queries=value_of(properties, REWRITE_QUERIES),
            hive2_compatible=value_of(properties, HIVE2_COMPATIBLE),
            require_engines=required_engines(properties) or (),
            row_text_for_trino=value_of(properties, ROW_TEXT_FOR_TRINO),
            explicit_row_text=value_of(properties, EXPLICIT_ROW_TEXT),
            ansi_mode=value_of(properties, ANSI_MODE),
            view_defaults=_with_prefix(properties, VIEW_DEFAULT_PREFIX),
            view_overrides=_with_prefix(properties, VIEW_OVERRIDE_PREFIX),
        )


def _metastore_catalog(properties: Mapping[str, str]) -> str | None:
    value = properties.get(METASTORE_CATALOG)
    if value is None:
        return None
    name = value.lower()
    if not re.fullmatch(r"[a-z0-9_]+", name):
        raise InvalidPropertyError(METASTORE_CATALOG, name, "it must consist of letters, digits and '_'")
    return name


def metadata_schemes(properties: Mapping[str, str]) -> frozenset[str] | None:
    """Return the schemes of `hive-views.metadata-schemes` in lower case, `file` for plain paths.

    None if it is not set.
    """
    value = properties.get(METADATA_SCHEMES)
    if value is None:
        return None
    schemes = frozenset(part.strip().lower() for part in value.split(",") if part.strip())
    for scheme in schemes:
        if not re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme):
            raise InvalidPropertyError(METADATA_SCHEMES, value, "write schemes separated by commas: s3, hdfs, file")
    return schemes


def is_local(properties: Mapping[str, str]) -> bool:
    """Whether the warehouse or every metastore is on this machine, so that a `file:` URI names the same file there."""
    warehouse = properties.get(WAREHOUSE, "")
    if warehouse.startswith(("/", "file:")):
        return True
    hosts = [split_uri(uri.strip())[1] for uri in properties.get(URI, "").split(",")]
    local_hosts = ("", "localhost", "::1", socket.gethostname())
    return all(host.strip() in local_hosts or host.strip().startswith("127.") for host in hosts)


def parse_uris(value: str | None) -> tuple[str, ...]:
    """Split and validate the `uri` property: `thrift://host:port` or `http://host:port/path`, separated by commas."""
    uris = tuple(part.strip() for part in (value or "").split(",") if part.strip())
    if not uris:
        raise InvalidPropertyError(URI, value, "name at least one metastore: thrift://host:9083")
    if any("@" in uri for uri in uris):
        # The value may contain a password, so it is not in the message.
        raise InvalidPropertyError(URI, None, f"a metastore's URI has no user. Use {AUTHENTICATION} and {UGI} instead")
    for uri in uris:
        scheme, host, port, path = split_uri(uri)
        is_path = not path if scheme == Scheme.THRIFT else re.fullmatch(r"[\w./~%-]*", path)
        if scheme not in {*Scheme} or not host or not port.isdigit() or int(port) > 65535 or not is_path:
            # Other characters may belong to a password, so the value is not in the message.
            shown = value if all(re.fullmatch(r"([a-z]+://)?[\w.-]+(:\d+)?/?", part) for part in uris) else None
            subject = f"{uri!r} is" if shown else "one of them is"
            raise InvalidPropertyError(
                URI,
                shown,
                f"{subject} not of the form thrift://host:port, http://host:port/path or https://host:port/path. For "
                f"servers of ZooKeeper, set {DISCOVERY_MODE}=zookeeper",
            )
        try:
            host.encode("idna")
        except UnicodeError as error:
            raise InvalidPropertyError(URI, uri, f"{host!r} is not a host name: {error}") from error
    if len({split_uri(uri)[0] for uri in uris}) > 1:
        raise InvalidPropertyError(URI, value, "all metastores must have the same scheme: thrift, http or https")
    return uris


def split_uri(uri: str) -> tuple[str, str, str, str]:
    """Split a metastore's URI into scheme, host (without brackets), port and path; not validated."""
    scheme, _, rest = uri.partition("://")
    authority, slash, path = rest.partition("/")
    host, _, port = authority.rpartition(":")
    return scheme, host.strip("[]"), port, slash + path


@cache
def current_user() -> str:
    """Return the user of this process, or `unknown` if it has no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def _ugi(value: str | None, scheme: Scheme) -> tuple[str | None, tuple[str, ...]]:
    if not value:
        return (None if scheme is Scheme.THRIFT else current_user()), ()
    user, _, groups = value.partition(":")
    if not user:
        raise InvalidPropertyError(UGI, value, "write user, or user:group,group")
    if scheme is not Scheme.THRIFT and groups:
        raise InvalidPropertyError(UGI, value, "groups cannot be sent over HTTP; name only the user")
    return user, tuple(group for group in groups.split(",") if group)


_AUTHENTICATION_OVER_HTTP = (
    Authentication.NONE,
    Authentication.KERBEROS,
    Authentication.PLAIN,
    Authentication.JWT,
)


def _credentials(properties: Mapping[str, str], scheme: Scheme) -> SecretCredentials | KerberosCredentials | None:
    kind = Authentication(value_of(properties, AUTHENTICATION))
    if kind is Authentication.NONE and value_of(properties, KERBEROS_AUTHENTICATION):
        kind = Authentication.KERBEROS
    if scheme is Scheme.THRIFT and kind is Authentication.JWT:
        raise InvalidPropertyError(AUTHENTICATION, kind, "it requires HTTP: a uri of the form https://host:port/path")
    if scheme is not Scheme.THRIFT and kind not in _AUTHENTICATION_OVER_HTTP:
        choices = ", ".join(_AUTHENTICATION_OVER_HTTP)
        raise InvalidPropertyError(AUTHENTICATION, kind, f"it is not supported over HTTP. Use one of {choices}")
    proxy_user = properties.get(PROXY_USER) or None
    if proxy_user is not None and kind is not Authentication.KERBEROS:
        how = (
            f"without authentication, {UGI} names the user"
            if kind is Authentication.NONE
            else f"{kind} names the user itself"
        )
        raise InvalidPropertyError(PROXY_USER, proxy_user, f"it requires {AUTHENTICATION}=kerberos; {how}")
    if kind is Authentication.NONE:
        return None
    try:
        name_rules = parse_rules(value_of(properties, AUTH_TO_LOCAL))
    except ValueError as error:
        raise InvalidPropertyError(AUTH_TO_LOCAL, properties[AUTH_TO_LOCAL], str(error)) from None
    if kind is Authentication.KERBEROS:
        if proxy_user is not None and scheme is not Scheme.THRIFT:
            raise InvalidPropertyError(PROXY_USER, proxy_user, "it requires a uri of the form thrift://host:port")
        is_http = scheme is not Scheme.THRIFT and not properties.get(KERBEROS_SERVICE_NAME)
        service = _HTTP_SERVICE_NAME if is_http else value_of(properties, KERBEROS_SERVICE_NAME)
        principal = properties.get(SERVICE_PRINCIPAL) or None
        return KerberosCredentials(service, principal, _keytab(properties), name_rules, proxy_user)
    if kind in (Authentication.TOKEN, Authentication.JWT):
        secret = _required_secret(properties, TOKEN, TOKEN_FILE, TOKEN_VARIABLE)
        return SecretCredentials(kind, secret, name_rules=name_rules)
    secret = _required_secret(properties, PASSWORD, PASSWORD_FILE, PASSWORD_VARIABLE)
    return SecretCredentials(kind, secret, properties.get(USER) or current_user())


_OF_KERBEROS = frozenset(
    {KERBEROS_AUTHENTICATION, KERBEROS_SERVICE_NAME, SERVICE_PRINCIPAL, KEYTAB_FILE, KEYTAB_PRINCIPAL, PROXY_USER}
)


def with_token(properties: Mapping[str, str], uri: str, token: str) -> dict[str, str]:
    """Return properties that connect to a metastore by a delegation token in place of Kerberos."""
    kept = {key: value for key, value in properties.items() if key not in _OF_KERBEROS}
    return {**kept, URI: uri, AUTHENTICATION: "token", TOKEN: token}


def _keytab(properties: Mapping[str, str]) -> Keytab | None:
    file, principal = properties.get(KEYTAB_FILE), properties.get(KEYTAB_PRINCIPAL)
    if not file and not principal:
        return None
    if not file or not principal:
        missing, given = (KEYTAB_PRINCIPAL, KEYTAB_FILE) if file else (KEYTAB_FILE, KEYTAB_PRINCIPAL)
        raise InvalidPropertyError(missing, None, f"{given} needs it")
    path = Path(file).expanduser()
    try:
        path.open("rb").close()
    except OSError as error:
        raise InvalidPropertyError(KEYTAB_FILE, file, f"the file cannot be read: {error}") from None
    return Keytab(str(path), principal)


def _read_secret(path: Path) -> str:
    return path.read_text(encoding="utf-8").removesuffix("\n")


def _required_secret(properties: Mapping[str, str], key: str, file_key: str, variable: str) -> Secret:
    secret = _secret(properties, key, file_key, variable)
    if secret is None:
        raise InvalidPropertyError(file_key, None, f"name a file with the secret, or set {variable} or {key}")
    return secret


def _secret(properties: Mapping[str, str], key: str, file_key: str, variable: str) -> Secret | None:
    """Return a secret from the properties, a file without its last line break, or the environment.

    Errors contain neither the secret nor the file's name, which may be the secret given to the wrong property.
    """
    if properties.get(key):
        return Secret(properties[key])
    path = properties.get(file_key)
    if path:
        try:
            file = Path(path).expanduser()
            return Secret(_read_secret(file), file)
        except (OSError, RuntimeError, ValueError) as error:
            cause = getattr(error, "strerror", None) or "it is not text in UTF-8"
            reason = f"the file that it names cannot be read ({cause}). The secret itself belongs into {key}"
            raise InvalidPropertyError(file_key, None, reason) from None
    return Secret(os.environ[variable]) if os.environ.get(variable) else None


def _tls(properties: Mapping[str, str], scheme: Scheme) -> TlsConfig | None:
    is_enabled = value_of(properties, TLS)
    if scheme is not Scheme.THRIFT:
        if TLS in properties and is_enabled != (scheme is Scheme.HTTPS):
            raise InvalidPropertyError(TLS, properties[TLS], f"the uri says {scheme}, and https is HTTP with TLS")
        is_enabled = scheme is Scheme.HTTPS
    if not is_enabled:
        tls_keys = [key for key in _TLS_KEYS if properties.get(key)]
        if tls_keys and not value_of(properties, ZOOKEEPER_TLS):
            # Ignoring a certificate would hide that the connection is not encrypted.
            raise InvalidPropertyError(tls_keys[0], None, f"it has no effect without {TLS}=true")
        return None
    return tls_files(properties)


def tls_files(properties: Mapping[str, str]) -> TlsConfig:
    """Return the certificates that properties name."""
    return TlsConfig(
        properties.get(TLS_CA_FILE) or None,
        properties.get(TLS_CERTIFICATE_FILE) or None,
        properties.get(TLS_KEY_FILE) or None,
        properties.get(TLS_HOST) or None,
        _secret(properties, TLS_KEY_PASSWORD, TLS_KEY_PASSWORD_FILE, TLS_KEY_PASSWORD_VARIABLE),
    )


_TLS_KEYS = (TLS_CA_FILE, TLS_CERTIFICATE_FILE, TLS_KEY_FILE, TLS_HOST, TLS_KEY_PASSWORD, TLS_KEY_PASSWORD_FILE)


def required_engines(properties: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the engines in `REQUIRE_ENGINES` of a catalog or view, None if it is not set."""
    value = properties.get(REQUIRE_ENGINES)
    if value is None:
        return None
    engines = tuple(name.strip().lower() for name in value.split(",") if name.strip())
    if not set(engines) <= set(ENGINES):
        raise InvalidPropertyError(REQUIRE_ENGINES, value, f"it must be some of {', '.join(ENGINES)}")
    return engines


class RowTextForms(NamedTuple):
    """How the text of a view's row may be rewritten."""

    explicit: bool = False
    """Whether it says what Hive and Spark take for granted differently (see `hive_views.sql.writing.explicit`)."""
    for_trino: bool = False
    """Whether Trino's Hive connector shall read it, if possible (see `hive_views.sql.writing.coral`)."""


PLAIN_ROW_TEXT = RowTextForms()
"""The author's text with complete names."""


def row_text_forms(config: CatalogConfig, properties: Mapping[str, str]) -> RowTextForms:
    """Return `EXPLICIT_ROW_TEXT` and `ROW_TEXT_FOR_TRINO` of a view with these properties, else of its catalog."""
    effective = {**config.view_defaults, **properties, **config.view_overrides}
    of_catalog = {EXPLICIT_ROW_TEXT: config.explicit_row_text, ROW_TEXT_FOR_TRINO: config.row_text_for_trino}
    return RowTextForms(
        *(bool(value_of(effective, key)) if key in effective else default for key, default in of_catalog.items())
    )


def _with_prefix(properties: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {key.removeprefix(prefix): value for key, value in properties.items() if key.startswith(prefix)}
