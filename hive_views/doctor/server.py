"""The way to the metastore, and what it says of itself."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from hive_views.config import LOCK_HEARTBEAT_INTERVAL_MS, CatalogConfig, ConnectionConfig
from hive_views.doctor.report import Finding, Level
from hive_views.errors import MetastoreError
from hive_views.metastore.capabilities import elapsed_ms, try_connection
from hive_views.metastore.transport.client import MetastoreClient
from hive_views.metastore.transport.sasl import SecurityFailure

SIGNS = (
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
"""Thrift methods that tell servers apart, or that this package can use."""

_CALL_TIMEOUT_MS = 15_000
_CALLS = 5
_DEFAULT_TRANSFORMER = "org.apache.hadoop.hive.metastore.MetastoreDefaultTransformer"
_UNITS_MS = {"": 1000.0, "us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0, "h": 3_600_000.0, "d": 86_400_000.0}
_CANNOT_SPEAK = (
    "Is it a Hive Metastore's port? Does it want TLS (hive-views.tls), or Kerberos or a password "
    "(hive-views.authentication)? HTTP is not spoken. Look into the server's log"
)


def connection(config: CatalogConfig, uri: str) -> ConnectionConfig:
    """How to reach one of the catalog's metastores alone, without waiting long for its answers."""
    timeout = min(config.connection.call_timeout_ms, _CALL_TIMEOUT_MS)
    return replace(config.connection, uris=(uri,), call_timeout_ms=timeout)


def reach(config: CatalogConfig, uri: str, *, alone: bool) -> Finding:
    """Whether one metastore can be reached, and how fast it is."""
    worse = Level.PROBLEM if alone else Level.WARNING
    limit = config.connection.connect_timeout_ms
    try:
        connecting = elapsed_ms(partial(try_connection, connection(config, uri)))
    except SecurityFailure as error:
        return Finding("reachable", worse, uri, f"connects, but not securely: {error}", _CANNOT_SPEAK)
    except OSError as error:
        reason = f"no connection within {limit} ms" if isinstance(error, TimeoutError) else str(error)
        advice = "Check the catalog property uri, the firewall, and that the metastore runs"
        return Finding("reachable", worse, uri, f"cannot connect: {reason}", advice)
    with MetastoreClient(connection(config, uri)) as client:
        try:
            client.server_version()
            call = statistics.median(elapsed_ms(client.get_all_databases) for _ in range(_CALLS))
        except MetastoreError as error:
            return Finding("reachable", worse, uri, f"connects, but does not answer: {error.reason}", _CANNOT_SPEAK)
    details = {"connect_ms": round(connecting, 1), "call_ms": round(call, 1)}
    message = f"connects in {connecting:.1f} ms, answers in {call:.1f} ms"
    return Finding("reachable", Level.OK, uri, message, None, details)


def same_data(config: CatalogConfig, uris: Iterable[str]) -> Iterator[Finding]:
    """Whether several metastores have the same databases."""
    found = {}
    for uri in uris:
        with MetastoreClient(connection(config, uri)) as client:
            found[uri] = frozenset(client.get_all_databases())
    subject = ", ".join(found)
    if len(set(found.values())) == 1:
        yield Finding("same-data", Level.OK, subject, "all of them have the same databases")
        return
    odd = sorted(frozenset.union(*found.values()) - frozenset.intersection(*found.values()))
    yield Finding(
        "same-data",
        Level.PROBLEM,
        subject,
        f"not all of them have the same databases; they differ in {', '.join(odd[:5])}{' …' if len(odd) > 5 else ''}",
        "Name only metastores on one database: calls go to any of them",
        {"databases": odd},
    )


def version(client: MetastoreClient, uri: str) -> Iterator[Finding]:
    """Which Hive a metastore is: by its methods, since 2.3 and 3.1 both call themselves 3.0."""
    called = client.server_version()
    methods = {method: client.supports(method) for method in SIGNS}
    if methods["alter_table_req"]:
        sign = "4.0" if methods["get_table"] else "4.0.1 or later"
    else:
        sign = "3" if methods["get_catalogs"] else "2.3"
    missing = [method for method in ("get_table_req", "get_table_objects_by_name_req", "lock") if not methods[method]]
    details = {"called": called, "sign": sign, "methods": methods}
    if missing:
        yield Finding(
            "version",
            Level.PROBLEM,
            uri,
            f"it calls itself {called!r} and does not know {', '.join(missing)}",
            "Use a Hive Metastore of version 2.3 or later",
            details,
        )
        return
    yield Finding("version", Level.OK, uri, f"Hive {sign} by its methods (it calls itself {called})", None, details)


def lock_expiry(client: MetastoreClient, config: CatalogConfig, uri: str) -> Iterator[Finding]:
    """Whether our heartbeats come before the server gives up a lock; nothing where the server does not say when."""
    said = client.config_value("hive.txn.timeout", "")
    expiry = _milliseconds(said)
    interval = config.lock.heartbeat_interval_ms
    details = {"hive.txn.timeout": said, "heartbeat_interval_ms": interval}
    if expiry is None:
        return
    if interval < expiry:
        message = f"an abandoned lock goes after {expiry / 1000:g} s; heartbeats are sent every {interval / 1000:g} s"
        yield Finding("lock-expiry", Level.OK, uri, message, None, details)
        return
    yield Finding(
        "lock-expiry",
        Level.PROBLEM,
        uri,
        f"locks go after {expiry / 1000:g} s (hive.txn.timeout), heartbeats are sent every {interval / 1000:g} s only",
        f"Set {LOCK_HEARTBEAT_INTERVAL_MS} to {max(1, int(expiry // 3))} or less",
        details,
    )


def transformer(client: MetastoreClient, uri: str) -> Iterator[Finding]:
    """Whether a metastore of Hive 4 has a transformer of somebody's own between its tables and its clients."""
    if not client.supports("alter_table_req"):
        return
    said = client.config_value("metastore.metadata.transformer.class", "").strip()
    details = {"metastore.metadata.transformer.class": said}
    if said in ("", _DEFAULT_TRANSFORMER):
        yield Finding("transformer", Level.OK, uri, "no transformer that touches views", None, details)
        return
    yield Finding(
        "transformer",
        Level.WARNING,
        uri,
        f"{said} may hide or change what clients read and write",
        "Compare the findings on the row below; ask whoever put it there",
        details,
    )


def _milliseconds(text: str) -> float | None:
    """A time as Hive's configuration writes it, e.g. `300s`; None if it cannot be read."""
    found = re.fullmatch(r"(\d+)\s*(us|ms|s|m|h|d)?[a-z]*", text.strip().lower())
    return float(found[1]) * _UNITS_MS[found[2] or ""] if found else None
