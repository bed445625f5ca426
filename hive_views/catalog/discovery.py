"""Metastores that are registered in ZooKeeper, read as Hive's own client reads them (HIVE-20794)."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from hive_views.config import (
    CONNECT_TIMEOUT_MS,
    DISCOVERED_FROM,
    DISCOVERY_MODE,
    URI,
    ZOOKEEPER_NAMESPACE,
    ZOOKEEPER_PORT,
    ZOOKEEPER_TLS,
    TlsConfig,
    tls_files,
    value_of,
)
from hive_views.errors import InvalidPropertyError, MetastoreAuthenticationError, MetastoreUnavailableError

_METHOD = "discovery"
_ZOOKEEPER = "zookeeper"


def with_discovered_uri(properties: Mapping[str, str]) -> dict[str, str]:
    """Return properties whose `uri` names the metastores that are registered now, if it names ZooKeeper's servers.

    Raises:
        InvalidPropertyError: If a property is invalid, or the package kazoo is missing.
        MetastoreAuthenticationError: If none of ZooKeeper's servers accepts TLS, or has a trusted certificate.
        MetastoreUnavailableError: If ZooKeeper cannot be reached, or no metastore is registered.
    """
    mode, quorum = properties.get(DISCOVERY_MODE, "").strip().lower(), properties.get(URI, "")
    if not mode or DISCOVERED_FROM in properties:
        return dict(properties)
    if mode != _ZOOKEEPER:
        raise InvalidPropertyError(DISCOVERY_MODE, mode, f"it must be {_ZOOKEEPER}")
    port = value_of(properties, ZOOKEEPER_PORT)
    timeout_s = value_of(properties, CONNECT_TIMEOUT_MS) / 1000
    namespace = value_of(properties, ZOOKEEPER_NAMESPACE).strip("/")
    hosts = _hosts(quorum, port)
    tls = tls_files(properties) if value_of(properties, ZOOKEEPER_TLS) else None
    servers = registered_servers(",".join(hosts), namespace, timeout_s, tls)
    uris = ",".join(f"thrift://{server}" for server in servers)
    return {**properties, URI: uris, DISCOVERED_FROM: f"zookeeper://{','.join(sorted(hosts))}/{namespace}"}


def _hosts(quorum: str, port: int) -> list[str]:
    """Return ZooKeeper's servers with their ports."""
    hosts = [host.strip() for host in quorum.split(",") if host.strip()]
    if not hosts or not all(re.fullmatch(r"[\w.-]+(:\d+)?", host) for host in hosts):
        # Other characters may belong to a password, so the value is not in the message.
        raise InvalidPropertyError(
            URI, None, f"with {DISCOVERY_MODE}={_ZOOKEEPER}, name the servers of ZooKeeper: host:{port},host:{port}"
        )
    return [host if ":" in host else f"{host}:{port}" for host in hosts]


def registered_servers(hosts: str, namespace: str, timeout_s: float, tls: TlsConfig | None = None) -> list[str]:
    """Return `host:port` of the metastores below a node, sorted; any of ZooKeeper's servers may answer."""
    try:
        from kazoo.client import KazooClient
        from kazoo.exceptions import KazooException, NoNodeError
        from kazoo.handlers.threading import KazooTimeoutError
    except ImportError as error:
        reason = f"the package kazoo cannot be used ({error}): pip install 'hive_views[zookeeper]'"
        raise InvalidPropertyError(DISCOVERY_MODE, _ZOOKEEPER, reason) from error
    # Kazoo logs each failed attempt as a warning; the error below names them all.
    logger = logging.getLogger(f"{__name__}.kazoo")
    logger.setLevel(logging.CRITICAL)
    secured = {} if tls is None else _secured(hosts, timeout_s, tls)
    client = KazooClient(hosts, timeout=timeout_s, read_only=True, logger=logger, **secured)
    node = f"/{namespace}"
    servers: set[str] = set()
    try:
        client.start(timeout_s)
        with suppress(NoNodeError):
            for name in client.get_children(node):
                with suppress(NoNodeError):  # a server that left in the meantime
                    servers.add(client.get(f"{node}/{name}")[0].decode())
    except (KazooException, KazooTimeoutError, OSError) as error:
        reason = f"ZooKeeper ({hosts}) does not answer within {timeout_s:g} s: {str(error) or type(error).__name__}"
        if tls is None:
            reason += f". If it expects TLS, set {ZOOKEEPER_TLS}=true"
        raise MetastoreUnavailableError(_METHOD, reason) from error
    finally:
        client.stop()
        client.close()
    if not servers:
        raise MetastoreUnavailableError(
            _METHOD,
            f"no metastore is registered below {node} in ZooKeeper ({hosts}). {ZOOKEEPER_NAMESPACE} names the node",
        )
    return sorted(servers)


def _secured(hosts: str, timeout_s: float, tls: TlsConfig) -> dict[str, Any]:
    """Return Kazoo's arguments for TLS, after a connection to one of the servers: Kazoo does not say what is wrong."""
    from hive_views.metastore.transport.connection import connect
    from hive_views.metastore.transport.failures import SecurityFailure
    from hive_views.metastore.transport.tls import secure

    failure: SecurityFailure | None = None
    for server in hosts.split(","):
        host, _, port = server.rpartition(":")
        try:
            with connect(host, int(port), timeout_s) as plain, secure(plain, tls, host, timeout_s):
                failure = None
                break
        except SecurityFailure as error:
            failure = error
        except OSError:
            continue  # Kazoo tries the others, too
    if failure is not None:
        text = str(failure).replace("metastore's", "server's").replace("the metastore", "the server")
        raise MetastoreAuthenticationError(_METHOD, f"ZooKeeper ({hosts}): {text}", failure.step)
    return {
        "use_ssl": True,
        "ca": tls.ca_file,
        "certfile": tls.certificate_file,
        "keyfile": tls.key_file or tls.certificate_file,
        "keyfile_password": None if tls.key_password is None else tls.key_password.current(),
        "verify_certs": True,
        "check_hostname": True,
    }
