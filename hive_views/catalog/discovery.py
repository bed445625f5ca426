"""Metastores that are registered in ZooKeeper, read as Hive's own client reads them (HIVE-20794)."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from contextlib import suppress

from hive_views.config import (
    CONNECT_TIMEOUT_MS,
    DISCOVERED_FROM,
    DISCOVERY_MODE,
    URI,
    ZOOKEEPER_NAMESPACE,
    ZOOKEEPER_PORT,
    value_of,
)
from hive_views.errors import InvalidPropertyError, MetastoreUnavailableError

_METHOD = "discovery"
_ZOOKEEPER = "zookeeper"


def with_discovered_uri(properties: Mapping[str, str]) -> dict[str, str]:
    """Return properties whose `uri` names the metastores that are registered now, if it names ZooKeeper's servers.

    Raises:
        InvalidPropertyError: If a property is invalid, or the package kazoo is missing.
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
    servers = registered_servers(",".join(hosts), namespace, timeout_s)
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


def registered_servers(hosts: str, namespace: str, timeout_s: float) -> list[str]:
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
    client = KazooClient(hosts, timeout=timeout_s, read_only=True, logger=logger)
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
