"""A connection pool for several metastores that serve the same data.

The metastore that answered last is used first. The others are tried in turn if it is unreachable, so that an
unreachable metastore causes a connect time-out once, not with every call.

The known capabilities of a server are kept with its connections. They are removed when one of the connections breaks
and when all are closed, because the server may then have been replaced by another version.
"""

from __future__ import annotations

import os
import threading
from time import monotonic
from weakref import WeakSet

from thrift.Thrift import TException

from hive_views.config import ConnectionConfig, KerberosCredentials
from hive_views.errors import MetastoreAuthenticationError, MetastoreUnavailableError
from hive_views.metastore.transport.connection import Connection
from hive_views.metastore.transport.delegation import DelegationTokens
from hive_views.metastore.transport.failures import SecurityFailure

MAX_IDLE_SECONDS = 45.0
"""Connections that were idle for longer are replaced: load balancers and firewalls drop connections after a minute or
more, and a request over a dropped connection is lost without an error."""


class ConnectionPool:
    """Idle connections for the next calls; thread-safe, and empty in a forked child."""

    def __init__(self, config: ConnectionConfig) -> None:
        """Create an empty pool; nothing is connected yet."""
        self._config = config
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._all: WeakSet[Connection] = WeakSet()
        self._capabilities: dict[str, dict[str, bool]] = {}
        self._preferred = 0
        self._closed = False
        credentials = None if config.is_http else config.credentials
        self.tokens = DelegationTokens(config, credentials) if isinstance(credentials, KerberosCredentials) else None
        """The delegation tokens that the Kerberos user gets; None without Kerberos, and over HTTP."""
        self._acts_for_another = isinstance(credentials, KerberosCredentials) and credentials.proxy_user is not None
        _pools.add(self)

    def take(self, method: str) -> Connection:
        """Return a connection for one call: a usable idle connection, or a new one."""
        while True:
            with self._lock:
                if self._closed:
                    raise MetastoreUnavailableError(method, "this client was closed; create a new one")
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._open(method)
            if connection.is_usable(MAX_IDLE_SECONDS):
                return connection
            if not connection.transport.is_quiet():
                self.forget(connection.uri)
            connection.close()

    def give_back(self, connection: Connection, now: float) -> None:
        """Return a connection after a successful call; it is closed if the pool is full."""
        connection.idle_since = now
        with self._lock:
            if not self._closed and len(self._idle) < self._config.pool_size:
                self._idle.append(connection)
                return
        connection.close()

    def renew(self, connection: Connection) -> None:
        """Replace a connection that got an answer, but cannot be used for further requests.

        The new connection is opened at once, so that the known capabilities of the server are kept.
        """
        try:
            fresh = self._connect(connection.uri)
        except (OSError, EOFError, TException):
            self.forget(connection.uri)
        else:
            fresh.capabilities = connection.capabilities
            with self._lock:
                self._all.add(fresh)
            self.give_back(fresh, monotonic())
        connection.close()

    def forget(self, uri: str) -> None:
        """Forget the capabilities of a server, after a connection to it broke."""
        with self._lock:
            self._capabilities.pop(uri, None)

    def distrust(self, uri: str) -> None:
        """Close the idle connections to a metastore that hangs or breaks connections, and prefer the next one."""
        with self._lock:
            self._capabilities.pop(uri, None)
            dropped = [connection for connection in self._idle if connection.uri == uri]
            self._idle = [connection for connection in self._idle if connection.uri != uri]
            if self._config.uris[self._preferred] == uri:
                self._preferred = (self._preferred + 1) % len(self._config.uris)
        for connection in dropped:
            connection.close()

    def close(self) -> None:
        """Close the idle connections, and those in use when they are given back."""
        with self._lock:
            self._closed = True
            dropped, self._idle = self._idle, []
        for connection in dropped:
            connection.close()

    def forget_after_fork(self) -> None:
        """Close inherited connections, which the parent process continues to use."""
        self._lock = threading.Lock()
        self._idle = []
        for connection in list(self._all):
            connection.close()
        self._all = WeakSet()
        self._capabilities = {}

    def _connect(self, uri: str) -> Connection:
        if self.tokens is not None and self._acts_for_another:
            return self.tokens.open(uri)
        return Connection.open(uri, self._config)

    def _open(self, method: str) -> Connection:
        config, failures = self._config, []
        rejections: list[SecurityFailure] = []
        first = self._preferred
        for offset in range(len(config.uris)):
            index = (first + offset) % len(config.uris)
            uri = config.uris[index]
            try:
                connection = self._connect(uri)
            except TimeoutError:
                self.forget(uri)
                failures.append(f"{uri}: no connection within {config.connect_timeout_ms} ms")
            except SecurityFailure as error:
                rejections.append(error)
                failures.append(f"{uri}: {error}")
            except (OSError, EOFError, TException) as error:
                self.forget(uri)
                failures.append(f"{uri}: {error}")
            else:
                self._preferred = index
                with self._lock:
                    if not any(other.is_open and other.uri == uri for other in self._all):
                        self._capabilities.pop(uri, None)
                    connection.capabilities = self._capabilities.setdefault(uri, {})
                    self._all.add(connection)
                return connection
        if len(rejections) == len(failures):
            raise MetastoreAuthenticationError(
                method,
                "; ".join(failures),
                rejections[0].step,
                uri=config.uris[first] if len(config.uris) == 1 else None,
            )
        raise MetastoreUnavailableError(
            method,
            f"cannot connect to {'any of the metastores' if len(failures) > 1 else 'the metastore'} "
            f"({'; '.join(failures)}). Check the catalog property uri, and that the metastore runs",
            uri=config.uris[first] if len(config.uris) == 1 else None,
        )


_pools: WeakSet[ConnectionPool] = WeakSet()


def _forget_all_after_fork() -> None:
    for pool in list(_pools):
        pool.forget_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all_after_fork)
