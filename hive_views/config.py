"""Catalog properties: keys, defaults, and a typed configuration.

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
from typing import ClassVar, NamedTuple

from hive_views.errors import InvalidPropertyError
from hive_views.kerberos_names import Rule, parse_rules

URI = "uri"
"""The metastores: `thrift://host:port`, or `http://host:port/path` (`https` with TLS) for those that use HTTP;
separated by commas and tried in order."""

WAREHOUSE = "warehouse"
"""Parent directory of the views of databases without a location: a URI such as `s3://bucket/warehouse`."""

METASTORE_CATALOG = "metastore.catalog.default"
HIVE_CATALOG = "hive"
"""The metastore's catalog (Hive 3 and later) that contains the databases; by default the one that the server's
configuration names, which is `hive` unless an administrator changed it. The key is Hive's."""

DISCOVERY_MODE = "metastore.service.discovery.mode"
"""`zookeeper`: `uri` names the servers of ZooKeeper (`host:port`, separated by commas), in which the metastores are
registered. They are read when the catalog is created. The keys are Hive's."""

ZOOKEEPER_NAMESPACE = "metastore.zookeeper.namespace"
ZOOKEEPER_NAMESPACE_DEFAULT = "hive_metastore"
"""The node of ZooKeeper below which the metastores are registered."""

ZOOKEEPER_PORT = "metastore.zookeeper.client.port"
ZOOKEEPER_PORT_DEFAULT = 2181
"""The port of ZooKeeper's servers that `uri` names without one."""

DISCOVERED_FROM = "metastore.discovered-from"
"""Set by a catalog: the servers and the node of ZooKeeper that named its `uri`."""

UGI = "ugi"
"""User, or `user:group,group`, sent to the metastore after connecting (set_ugi). Default: not sent. Over HTTP, the user
of each request (`x-actor-username`), by default the user of this process; HTTP has no groups."""

AUTHENTICATION = "hive-views.authentication"
AUTHENTICATION_DEFAULT = "none"
"""Authentication: `none`, `kerberos`, `token` (a delegation token), `plain` (user and password), `jwt` (HTTP only)."""

KERBEROS_AUTHENTICATION = "hive.kerberos-authentication"
"""PyIceberg's key: `true` is equivalent to `hive-views.authentication=kerberos`."""

KERBEROS_SERVICE_NAME = "hive.kerberos-service-name"
KERBEROS_SERVICE_NAME_DEFAULT = "hive"
"""The first part of the metastore's principal, `hive` of `hive/host@REALM`."""

SERVICE_PRINCIPAL = "hive.metastore.kerberos.principal"
"""The metastore's principal, if it is not the service name with the host of the URI; `_HOST` stands for that host. The
key is that of Hive's clients."""

KEYTAB_FILE = "hive-views.keytab-file"
KEYTAB_PRINCIPAL = "hive-views.keytab-principal"
"""A keytab, and the principal in it to connect as. Without them the tickets of `kinit` are used."""

PROXY_USER = "hive-views.proxy-user"
"""The user for whom the Kerberos user acts (Hadoop's doAs), by a delegation token; the metastore has to allow it."""

AUTH_TO_LOCAL = "hadoop.security.auth_to_local"
AUTH_TO_LOCAL_DEFAULT = "DEFAULT"
"""The metastore's rules that make a user's name from a Kerberos principal, in Hadoop's form; new rows have that owner.
`DEFAULT` takes the first part of the principals of the default realm."""

USER = "hive-views.user"
"""The user for `plain`; by default the user of this process."""

PASSWORD = "hive-views.password"
PASSWORD_FILE = "hive-views.password-file"
PASSWORD_VARIABLE = "HIVE_VIEWS_PASSWORD"
"""The password for `plain`. Prefer a file or the environment variable to the property."""

TOKEN = "hive-views.token"
TOKEN_FILE = "hive-views.token-file"
TOKEN_VARIABLE = "HIVE_VIEWS_TOKEN"
"""The delegation token for `token`, in Hadoop's text form, or the JSON Web Token for `jwt`. Prefer a file or the
environment variable."""

TLS = "hive-views.tls"
TLS_DEFAULT = False
"""Connect with TLS (hive.metastore.use.SSL). The metastore's certificate is always verified. `https` URIs imply it."""

TLS_CA_FILE = "hive-views.tls-ca-file"
"""A PEM file with the trusted certificates; by default those of the system."""

TLS_CERTIFICATE_FILE = "hive-views.tls-certificate-file"
TLS_KEY_FILE = "hive-views.tls-key-file"
"""PEM files with a client certificate and its key, for metastores that require one."""

TLS_KEY_PASSWORD = "hive-views.tls-key-password"
TLS_KEY_PASSWORD_FILE = "hive-views.tls-key-password-file"
TLS_KEY_PASSWORD_VARIABLE = "HIVE_VIEWS_TLS_KEY_PASSWORD"
"""The passphrase of that key, if it has one. Prefer a file or the environment variable to the property."""

SECRETS = (PASSWORD, TOKEN, TLS_KEY_PASSWORD)
"""Properties with secrets of the metastore, which are not handed to the storage's clients."""

TLS_HOST = "hive-views.tls-host"
"""The host name in the metastore's certificate, if it differs from the host of the URI."""

CONNECT_TIMEOUT_MS = "hive-views.connect-timeout-ms"
CONNECT_TIMEOUT_MS_DEFAULT = 10_000
"""Milliseconds to wait for a connection to one metastore."""

CALL_TIMEOUT_MS = "hive-views.call-timeout-ms"
CALL_TIMEOUT_MS_DEFAULT = 60_000
"""Milliseconds to wait for a reply. Keep it above 20 s: a server retries a failing database that long."""

POOL_SIZE = "hive-views.pool-size"
POOL_SIZE_DEFAULT = 8
"""Maximum number of pooled connections. Additional concurrent calls open connections that are closed after use."""

SETTLE_TIMEOUT_MS = "hive-views.settle-timeout-ms"
SETTLE_TIMEOUT_MS_DEFAULT = 60_000
"""Milliseconds in which a change without a reply is sent again, before its outcome is reported as unknown."""

LOCK_ENABLED = "iceberg.engine.hive.lock-enabled"
LOCK_ENABLED_DEFAULT = True
"""Acquire the metastore's lock for a commit (Iceberg: docs/configuration, Hive Metastore). Disable it only if the
server supports compare-and-swap (see `hive-views doctor`) and every writer uses it."""

LOCK_TIMEOUT_MS = "iceberg.hive.lock-timeout-ms"
LOCK_TIMEOUT_MS_DEFAULT = 180_000
"""Milliseconds to wait for another client's lock."""

LOCK_CHECK_MIN_WAIT_MS = "iceberg.hive.lock-check-min-wait-ms"
LOCK_CHECK_MIN_WAIT_MS_DEFAULT = 50
"""Milliseconds between requesting a lock and first checking whether it was granted; each later wait is 1.5 times as
long."""

LOCK_CHECK_MAX_WAIT_MS = "iceberg.hive.lock-check-max-wait-ms"
LOCK_CHECK_MAX_WAIT_MS_DEFAULT = 5_000
"""Maximum milliseconds between two checks of a requested lock."""

LOCK_HEARTBEAT_INTERVAL_MS = "iceberg.hive.lock-heartbeat-interval-ms"
LOCK_HEARTBEAT_INTERVAL_MS_DEFAULT = 240_000
"""Milliseconds between heartbeats of a lock. Must be below the server's hive.txn.timeout."""

METADATA_SCHEMES = "hive-views.metadata-schemes"
"""Allowed URI schemes of metadata files, separated by commas. By default all that PyIceberg's FileIO supports, but
`file` only if every metastore or the warehouse is on this machine: a row of a remote metastore must not make this
program open, write or delete local files."""

PARAMETER_MAX_SIZE = "iceberg.hive.table-property-max-size"
PARAMETER_MAX_SIZE_DEFAULT = 32_672
"""Maximum length of `current-schema` that is copied into the row, in characters; 0 never copies it."""

UNIQUE_LOCATION = "unique-table-location"
UNIQUE_LOCATION_DEFAULT = False
"""Give each new view a unique location (`<name>-<uuid>`), apart from the files of a dropped view of that name."""

SESSION_CATALOG = "hive-views.session-catalog"
SESSION_CATALOG_DEFAULT = "spark_catalog"
"""Spark's catalog for Hive tables; the default catalog of views over them."""

SESSION_CATALOG_SERVES_ICEBERG = "hive-views.session-catalog-serves-iceberg"
SESSION_CATALOG_SERVES_ICEBERG_DEFAULT = False
"""Whether that catalog also serves Iceberg tables (Iceberg's SparkSessionCatalog), so that a view can read both."""

DEPENDENCY_MODE = "hive-views.dependency-mode"
DEPENDENCY_MODE_DEFAULT = "lenient"
"""`lenient` allows every change and drop, as Hive does. `strict` rejects those that break a view, unless CASCADE is
given (Hive Views, Dependency Invalidation)."""

MARK_HIVE_TABLES = "hive-views.mark-hive-tables"
MARK_HIVE_TABLES_DEFAULT = True
"""Give Hive tables that a view reads a UUID (row parameter `hive_views_uuid`), so that lineage survives a rename.
Otherwise such tables are identified by name."""

HIDE_STORAGE_TABLES = "hive-views.hide-storage-tables"
HIDE_STORAGE_TABLES_DEFAULT = False
"""Omit the storage tables of materialized views when tables are listed."""

REWRITE_QUERIES = "hive-views.rewrite-queries"
REWRITE_QUERIES_DEFAULT = False
"""Let queries of a `ViewSession` on tables read the fresh stored rows of materialized views."""

REQUIRE_ENGINES = "hive-views.require-engines"
ENGINES = ("spark", "hive", "trino")
"""Engines, separated by commas, that must return the author's rows for a new definition; a definition with a finding
about one of them is rejected, also if the finding is `not verified`. A view property with this key takes precedence; an
empty value requires no engine. `spark` is plain Spark, `trino` is Trino's Hive connector."""

ROW_TEXT_FOR_TRINO = "hive-views.row-text-for-trino"
ROW_TEXT_FOR_TRINO_DEFAULT = False
"""Rewrite the text of a new definition's row where Trino's Hive connector reads the result better. The rewritten text
repeats parts of the query and is harder to read. A view property with this key takes precedence."""

HIVE2_COMPATIBLE = "hive.hive2-compatible"
HIVE2_COMPATIBLE_DEFAULT = True
"""Write `timestamptz` columns as `timestamp`, as Spark does, instead of `timestamp with local time zone`: Spark's Hive
client cannot read a view's row with the latter, and Hive 2 rejects every commit to a table with it. (PyIceberg's
property for tables; its default there is false.)"""

VIEW_DEFAULT_PREFIX = "view-default."
"""`view-default.<key>`: default of a view property for new views (Iceberg's CatalogProperties)."""

VIEW_OVERRIDE_PREFIX = "view-override."
"""`view-override.<key>`: a view property that overrides the caller's (Iceberg's CatalogProperties)."""

_PREFIX = "hive-views."

KEYS = frozenset(value for value in vars().values() if isinstance(value, str) and value.startswith(_PREFIX)) - {_PREFIX}
"""All catalog properties with the prefix `hive-views.`: the constants above."""

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

    kind: str
    """`token`, `plain` or `jwt`."""
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

    kind: ClassVar[str] = "kerberos"
    service: str = KERBEROS_SERVICE_NAME_DEFAULT
    service_principal: str | None = None
    """See `SERVICE_PRINCIPAL`."""
    keytab: Keytab | None = None
    """None takes the tickets of `kinit`."""
    name_rules: tuple[Rule, ...] = ()
    """The rules in `AUTH_TO_LOCAL`."""
    proxy_user: str | None = None
    """See `PROXY_USER`; None acts for nobody else."""


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
    connect_timeout_ms: int = CONNECT_TIMEOUT_MS_DEFAULT
    call_timeout_ms: int = CALL_TIMEOUT_MS_DEFAULT
    pool_size: int = POOL_SIZE_DEFAULT
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

    enabled: bool = LOCK_ENABLED_DEFAULT
    timeout_ms: int = LOCK_TIMEOUT_MS_DEFAULT
    check_min_wait_ms: int = LOCK_CHECK_MIN_WAIT_MS_DEFAULT
    check_max_wait_ms: int = LOCK_CHECK_MAX_WAIT_MS_DEFAULT
    heartbeat_interval_ms: int = LOCK_HEARTBEAT_INTERVAL_MS_DEFAULT


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
        scheme = split_uri(uris[0])[0]
        user, groups = _ugi(properties.get(UGI), scheme)
        minimum_wait = _integer(properties, LOCK_CHECK_MIN_WAIT_MS, LOCK_CHECK_MIN_WAIT_MS_DEFAULT, least=1)
        warehouse = properties.get(WAREHOUSE)
        if warehouse and re.match(r"[^:/]+://[^/@:\[]*:(?!\d*/)[^@]*@", warehouse):
            # The value contains a password: it is not in the message, and must not get into rows and metadata files.
            reason = "its password would be stored with each view. Use properties such as s3.access-key-id instead"
            raise InvalidPropertyError(WAREHOUSE, None, reason)
        return cls(
            connection=ConnectionConfig(
                uris=uris,
                connect_timeout_ms=_integer(properties, CONNECT_TIMEOUT_MS, CONNECT_TIMEOUT_MS_DEFAULT, least=1),
                call_timeout_ms=_integer(properties, CALL_TIMEOUT_MS, CALL_TIMEOUT_MS_DEFAULT, least=1),
                pool_size=_integer(properties, POOL_SIZE, POOL_SIZE_DEFAULT, least=1),
                user=user,
                groups=groups,
                credentials=_credentials(properties, scheme),
                tls=_tls(properties, scheme),
                catalog=_metastore_catalog(properties),
                discovered_from=properties.get(DISCOVERED_FROM),
            ),
            lock=LockConfig(
                enabled=_boolean(properties, LOCK_ENABLED, LOCK_ENABLED_DEFAULT),
                timeout_ms=_integer(properties, LOCK_TIMEOUT_MS, LOCK_TIMEOUT_MS_DEFAULT, least=1),
                check_min_wait_ms=minimum_wait,
                check_max_wait_ms=_integer(
                    properties, LOCK_CHECK_MAX_WAIT_MS, LOCK_CHECK_MAX_WAIT_MS_DEFAULT, least=minimum_wait
                ),
                heartbeat_interval_ms=_integer(
                    properties, LOCK_HEARTBEAT_INTERVAL_MS, LOCK_HEARTBEAT_INTERVAL_MS_DEFAULT, least=1
                ),
            ),
            settle_timeout_ms=_integer(properties, SETTLE_TIMEOUT_MS, SETTLE_TIMEOUT_MS_DEFAULT, least=0),
            warehouse=warehouse.rstrip("/") if warehouse else None,
            parameter_max_size=_integer(properties, PARAMETER_MAX_SIZE, PARAMETER_MAX_SIZE_DEFAULT, least=0),
            unique_location=_boolean(properties, UNIQUE_LOCATION, UNIQUE_LOCATION_DEFAULT),
            session_catalog=properties.get(SESSION_CATALOG) or SESSION_CATALOG_DEFAULT,
            session_catalog_serves_iceberg=_boolean(
                properties, SESSION_CATALOG_SERVES_ICEBERG, SESSION_CATALOG_SERVES_ICEBERG_DEFAULT
            ),
            strict=_choice(properties, DEPENDENCY_MODE, DEPENDENCY_MODE_DEFAULT, ("lenient", "strict")) == "strict",
            mark_hive_tables=_boolean(properties, MARK_HIVE_TABLES, MARK_HIVE_TABLES_DEFAULT),
            hide_storage_tables=_boolean(properties, HIDE_STORAGE_TABLES, HIDE_STORAGE_TABLES_DEFAULT),
            rewrite_queries=_boolean(properties, REWRITE_QUERIES, REWRITE_QUERIES_DEFAULT),
            hive2_compatible=_boolean(properties, HIVE2_COMPATIBLE, HIVE2_COMPATIBLE_DEFAULT),
            require_engines=required_engines(properties) or (),
            row_text_for_trino=_boolean(properties, ROW_TEXT_FOR_TRINO, ROW_TEXT_FOR_TRINO_DEFAULT),
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
        is_path = re.fullmatch(r"[\w./~%-]*", path) if scheme in ("http", "https") else not path
        if scheme not in _SCHEMES or not host or not port.isdigit() or int(port) > 65535 or not is_path:
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


_SCHEMES = ("thrift", "http", "https")


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


def _ugi(value: str | None, scheme: str) -> tuple[str | None, tuple[str, ...]]:
    if not value:
        return (None if scheme == "thrift" else current_user()), ()
    user, _, groups = value.partition(":")
    if not user:
        raise InvalidPropertyError(UGI, value, "write user, or user:group,group")
    if scheme != "thrift" and groups:
        raise InvalidPropertyError(UGI, value, "groups cannot be sent over HTTP; name only the user")
    return user, tuple(group for group in groups.split(",") if group)


_AUTHENTICATION_OVER_HTTP = ("none", "plain", "jwt")


def _credentials(properties: Mapping[str, str], scheme: str) -> SecretCredentials | KerberosCredentials | None:
    kind = _choice(properties, AUTHENTICATION, AUTHENTICATION_DEFAULT, ("none", "kerberos", "token", "plain", "jwt"))
    if kind == "none" and _boolean(properties, KERBEROS_AUTHENTICATION, False):
        kind = "kerberos"
    if scheme == "thrift" and kind == "jwt":
        raise InvalidPropertyError(AUTHENTICATION, kind, "it requires HTTP: a uri of the form https://host:port/path")
    if scheme != "thrift" and kind not in _AUTHENTICATION_OVER_HTTP:
        choices = ", ".join(_AUTHENTICATION_OVER_HTTP)
        raise InvalidPropertyError(AUTHENTICATION, kind, f"it is not supported over HTTP. Use one of {choices}")
    proxy_user = properties.get(PROXY_USER) or None
    if proxy_user is not None and kind != "kerberos":
        how = f"without authentication, {UGI} names the user" if kind == "none" else f"{kind} names the user itself"
        raise InvalidPropertyError(PROXY_USER, proxy_user, f"it requires {AUTHENTICATION}=kerberos; {how}")
    if kind == "none":
        return None
    try:
        name_rules = parse_rules(properties.get(AUTH_TO_LOCAL) or AUTH_TO_LOCAL_DEFAULT)
    except ValueError as error:
        raise InvalidPropertyError(AUTH_TO_LOCAL, properties[AUTH_TO_LOCAL], str(error)) from None
    if kind == "kerberos":
        service = properties.get(KERBEROS_SERVICE_NAME) or KERBEROS_SERVICE_NAME_DEFAULT
        principal = properties.get(SERVICE_PRINCIPAL) or None
        return KerberosCredentials(service, principal, _keytab(properties), name_rules, proxy_user)
    if kind in ("token", "jwt"):
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


def _tls(properties: Mapping[str, str], scheme: str) -> TlsConfig | None:
    is_enabled = _boolean(properties, TLS, TLS_DEFAULT)
    if scheme != "thrift":
        if TLS in properties and is_enabled != (scheme == "https"):
            raise InvalidPropertyError(TLS, properties[TLS], f"the uri says {scheme}, and https is HTTP with TLS")
        is_enabled = scheme == "https"
    if not is_enabled:
        tls_keys = [key for key in _TLS_KEYS if properties.get(key)]
        if tls_keys:
            # Ignoring a certificate would hide that the connection is not encrypted.
            raise InvalidPropertyError(tls_keys[0], None, f"it has no effect without {TLS}=true")
        return None
    return TlsConfig(
        properties.get(TLS_CA_FILE) or None,
        properties.get(TLS_CERTIFICATE_FILE) or None,
        properties.get(TLS_KEY_FILE) or None,
        properties.get(TLS_HOST) or None,
        _secret(properties, TLS_KEY_PASSWORD, TLS_KEY_PASSWORD_FILE, TLS_KEY_PASSWORD_VARIABLE),
    )


_TLS_KEYS = (TLS_CA_FILE, TLS_CERTIFICATE_FILE, TLS_KEY_FILE, TLS_HOST, TLS_KEY_PASSWORD, TLS_KEY_PASSWORD_FILE)


def positive_integer(properties: Mapping[str, str], key: str, default: int) -> int:
    """Return the value of a property that is a whole number above zero."""
    return _integer(properties, key, default, least=1)


def _integer(properties: Mapping[str, str], key: str, default: int, *, least: int) -> int:
    value = properties.get(key)
    if value is None:
        return default
    try:
        number = int(value)
    except ValueError:
        raise InvalidPropertyError(key, value, "it must be a whole number") from None
    if number < least:
        raise InvalidPropertyError(key, value, f"it must be at least {least}")
    return number


def _boolean(properties: Mapping[str, str], key: str, default: bool) -> bool:
    value = properties.get(key)
    if value is None:
        return default
    if str(value).lower() not in ("true", "false"):
        raise InvalidPropertyError(key, value, "it must be true or false")
    return str(value).lower() == "true"


def required_engines(properties: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the engines in `REQUIRE_ENGINES` of a catalog or view, None if it is not set."""
    value = properties.get(REQUIRE_ENGINES)
    if value is None:
        return None
    engines = tuple(name.strip().lower() for name in value.split(",") if name.strip())
    if not set(engines) <= set(ENGINES):
        raise InvalidPropertyError(REQUIRE_ENGINES, value, f"it must be some of {', '.join(ENGINES)}")
    return engines


def rewrites_for_trino(config: CatalogConfig, properties: Mapping[str, str]) -> bool:
    """Return `ROW_TEXT_FOR_TRINO` of a view with these properties, else that of its catalog."""
    effective = {**config.view_defaults, **properties, **config.view_overrides}
    return _boolean(effective, ROW_TEXT_FOR_TRINO, config.row_text_for_trino)


def _choice(properties: Mapping[str, str], key: str, default: str, choices: tuple[str, ...]) -> str:
    value = properties.get(key) or default
    if value.lower() not in choices:
        raise InvalidPropertyError(key, value, f"it must be one of {', '.join(choices)}")
    return value.lower()


def _with_prefix(properties: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {key.removeprefix(prefix): value for key, value in properties.items() if key.startswith(prefix)}
