"""Checks of the connection to a metastore, its version and its configuration."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from functools import partial

from hive_views.config import LOCK_HEARTBEAT_INTERVAL_MS, CatalogConfig, ConnectionConfig
from hive_views.doctor.report import Finding, Level
from hive_views.errors import MetastoreError, MetastoreTimeoutError
from hive_views.metastore.capabilities import elapsed_ms, try_connection
from hive_views.metastore.hive_times import milliseconds
from hive_views.metastore.transport.client import MetastoreClient
from hive_views.metastore.transport.endpoint import examine_endpoint
from hive_views.metastore.transport.failures import SecurityFailure

PROBED_METHODS = (
    "get_table",
    "get_table_req",
    "get_table_objects_by_name_req",
    "get_tables_by_type",
    "get_table_meta",
    "get_table_names_by_filter",
    "alter_table_req",
    "drop_table_req",
    "get_catalogs",
    "lock",
    "show_locks",
    "get_current_notificationEventId",
)
"""Thrift methods that distinguish versions, or that this package can use."""

_CALL_TIMEOUT_MS = 15_000
_CALLS = 5
_DEFAULT_TRANSFORMER = "org.apache.hadoop.hive.metastore.MetastoreDefaultTransformer"
_CONNECTION_ADVICE = (
    "Is it a Hive Metastore's port? Does it want TLS (hive-views.tls), or Kerberos or a password "
    "(hive-views.authentication)? Does it use HTTP (http://host:port/metastore)? See the server's log"
)


def connection_to(config: CatalogConfig, uri: str) -> ConnectionConfig:
    """Return the configuration of a connection to one metastore, with a short call timeout."""
    timeout = min(config.connection.call_timeout_ms, _CALL_TIMEOUT_MS)
    return config.connection._replace(uris=(uri,), call_timeout_ms=timeout)


def check_reachable(config: CatalogConfig, uri: str, *, alone: bool) -> Finding:
    """Check whether a metastore can be reached, and how fast it responds."""
    severity = Level.PROBLEM if alone else Level.WARNING
    limit = config.connection.connect_timeout_ms
    try:
        connecting = elapsed_ms(partial(try_connection, connection_to(config, uri)))
    except SecurityFailure as error:
        advice = _endpoint_advice(config, uri)
        return Finding("reachable", severity, uri, f"connects, but not securely: {error}", advice)
    except OSError as error:
        reason = f"no connection within {limit} ms" if isinstance(error, TimeoutError) else str(error)
        advice = "Check the catalog property uri, the firewall, and that the metastore runs"
        return Finding("reachable", severity, uri, f"cannot connect: {reason}", advice)
    with MetastoreClient(connection_to(config, uri)) as client:
        try:
            client.server_version()
            call = statistics.median(elapsed_ms(client.get_all_databases) for _ in range(_CALLS))
        except MetastoreError as error:
            # A server that hangs would let each attempt wait, too.
            hangs = isinstance(error, MetastoreTimeoutError)
            advice = _CONNECTION_ADVICE if hangs else _endpoint_advice(config, uri)
            return Finding("reachable", severity, uri, f"connects, but does not answer: {error.reason}", advice)
    details = {"connect_ms": round(connecting, 1), "call_ms": round(call, 1)}
    message = f"connects in {connecting:.1f} ms, answers in {call:.1f} ms"
    return Finding("reachable", Level.OK, uri, message, None, details)


def _endpoint_advice(config: CatalogConfig, uri: str) -> str:
    """Return what to change in the properties, as far as the server shows it."""
    connection = connection_to(config, uri)
    found = None if connection.is_http else examine_endpoint(uri, connection).advice(connection)
    return found or _CONNECTION_ADVICE


def check_same_data(config: CatalogConfig, uris: Iterable[str]) -> Iterator[Finding]:
    """Check that several metastores have the same databases."""
    databases = {}
    for uri in uris:
        with MetastoreClient(connection_to(config, uri)) as client:
            databases[uri] = frozenset(client.get_all_databases())
    subject = ", ".join(databases)
    if len(set(databases.values())) == 1:
        yield Finding("same-data", Level.OK, subject, "all of them have the same databases")
        return
    differing = sorted(frozenset.union(*databases.values()) - frozenset.intersection(*databases.values()))
    yield Finding(
        "same-data",
        Level.PROBLEM,
        subject,
        f"not all of them have the same databases; they differ in {', '.join(differing[:5])}"
        f"{' …' if len(differing) > 5 else ''}",
        "Name only metastores that share one database: calls go to any of them",
        {"databases": differing},
    )


def check_version(client: MetastoreClient, uri: str) -> Iterator[Finding]:
    """Determine the Hive version by its methods, since 2.3 and 3.1 both report 3.0."""
    reported = client.server_version()
    methods = {method: client.supports(method) for method in PROBED_METHODS}
    if methods["alter_table_req"]:
        sign = "4.0" if methods["get_table"] else "4.0.1 or later"
    else:
        sign = "3" if methods["get_catalogs"] else "2.3"
    missing = [method for method in ("get_table_req", "get_table_objects_by_name_req", "lock") if not methods[method]]
    details = {"called": reported, "sign": sign, "methods": methods}
    if missing:
        yield Finding(
            "version",
            Level.PROBLEM,
            uri,
            f"it reports {reported!r} and lacks {', '.join(missing)}",
            "Use a Hive Metastore of version 2.3 or later",
            details,
        )
        return
    yield Finding("version", Level.OK, uri, f"Hive {sign} by its methods (it reports {reported})", None, details)


def check_lock_expiry(client: MetastoreClient, config: CatalogConfig, uri: str) -> Iterator[Finding]:
    """Check that heartbeats are sent before the server expires a lock, if the server reports the expiry."""
    configured = client.config_value("hive.txn.timeout", "")
    expiry = milliseconds(configured)
    interval = config.lock.heartbeat_interval_ms
    details = {"hive.txn.timeout": configured, "heartbeat_interval_ms": interval}
    if expiry is None:
        return
    if interval < expiry:
        message = (
            f"an abandoned lock expires after {expiry / 1000:g} s; heartbeats are sent every {interval / 1000:g} s"
        )
        yield Finding("lock-expiry", Level.OK, uri, message, None, details)
        return
    yield Finding(
        "lock-expiry",
        Level.PROBLEM,
        uri,
        f"locks expire after {expiry / 1000:g} s (hive.txn.timeout), but heartbeats are sent every "
        f"{interval / 1000:g} s",
        f"Set {LOCK_HEARTBEAT_INTERVAL_MS} to {max(1, int(expiry // 3))} or less",
        details,
    )


def check_transformer(client: MetastoreClient, uri: str) -> Iterator[Finding]:
    """Check whether a Hive 4 metastore has a custom metadata transformer."""
    if not client.supports("alter_table_req"):
        return
    configured = client.config_value("metastore.metadata.transformer.class", "").strip()
    details = {"metastore.metadata.transformer.class": configured}
    if configured in ("", _DEFAULT_TRANSFORMER):
        yield Finding("transformer", Level.OK, uri, "no transformer changes views", None, details)
        return
    yield Finding(
        "transformer",
        Level.WARNING,
        uri,
        f"{configured} may hide or change what clients read and write",
        "See the findings about the temporary row; ask the server's administrator",
        details,
    )


def check_cache(client: MetastoreClient, uri: str) -> Iterator[Finding]:
    """Check that the metastore reads from its database, not from a cache that lags."""
    if not client.reads_from_cache():
        yield Finding("cache", Level.OK, uri, "reads are answered from the database")
        return
    yield Finding(
        "cache",
        Level.PROBLEM,
        uri,
        "reads are answered from a cache that lags (metastore.rawstore.impl is CachedStore)",
        "Read only what may be outdated from it, and use a metastore without this cache for changes: it rejects them",
    )
