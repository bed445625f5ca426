"""Kept connections to a set of metastores that serve the same data, and the choice among them.

The metastore that answered last is asked first; the others are tried in turn when it cannot be reached, so one that is
down costs a connect time-out once and not with every call.

What was found out about a server is kept with the connections to it. It is forgotten when one of them breaks and when
all are closed: another version may stand at the address by then.
"""

from __future__ import annotations

import os
import threading
from time import monotonic
from weakref import WeakSet

from thrift.Thrift import TException

from hive_views.config import ConnectionConfig
from hive_views.errors import MetastoreAuthenticationError, MetastoreUnavailableError
from hive_views.metastore.transport.connection import Connection
from hive_views.metastore.transport.sasl import SecurityFailure

MAX_IDLE_SECONDS = 45.0
"""A connection that idled longer is replaced: balancers and firewalls forget connections after a minute or more, and
a request that is sent into a forgotten one is lost without a sign."""


class ConnectionPool:
    """Connections that wait for their next call; safe for threads, and empty in a forked child."""

    def __init__(self, config: ConnectionConfig) -> None:
        """Make an empty pool; nothing is connected yet."""
        self._config = config
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._all: WeakSet[Connection] = WeakSet()
        self._known: dict[str, dict[str, bool]] = {}
        self._preferred = 0
        self._closed = False
        _pools.add(self)

    def take(self, method: str) -> Connection:
        """A connection for one call: a kept one that is quiet, or a new one."""
        while True:
            with self._lock:
                if self._closed:
                    raise MetastoreUnavailableError(method, "this client was closed; make a new one")
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._open(method)
            if connection.is_usable(MAX_IDLE_SECONDS):
                return connection
            if not connection.transport.is_quiet():
                self.forget(connection.uri)
            connection.close()

    def give_back(self, connection: Connection, now: float) -> None:
        """Keep a connection whose call has ended in order, for the next one; closed if enough are kept."""
        connection.idle_since = now
        with self._lock:
            if not self._closed and len(self._idle) < self._config.pool_size:
                self._idle.append(connection)
                return
        connection.close()

    def renew(self, connection: Connection) -> None:
        """Put a new connection in the place of one whose server has just answered, and reads nothing more from it.

        Made at once, so that what is known about the server stays.
        """
        try:
            fresh = Connection.open(connection.uri, self._config)
        except (OSError, EOFError, TException):
            self.forget(connection.uri)
        else:
            fresh.known = connection.known
            with self._lock:
                self._all.add(fresh)
            self.give_back(fresh, monotonic())
        connection.close()

    def forget(self, uri: str) -> None:
        """Forget what is known about a server, after a connection to it broke."""
        with self._lock:
            self._known.pop(uri, None)

    def distrust(self, uri: str) -> None:
        """Forget the kept connections to a metastore that hangs or breaks connections, and ask the next one first."""
        with self._lock:
            self._known.pop(uri, None)
            dropped = [connection for connection in self._idle if connection.uri == uri]
            self._idle = [connection for connection in self._idle if connection.uri != uri]
            if self._config.uris[self._preferred] == uri:
                self._preferred = (self._preferred + 1) % len(self._config.uris)
        for connection in dropped:
            connection.close()

    def close(self) -> None:
        """Close the kept connections, and those in use when they come back."""
        with self._lock:
            self._closed = True
            dropped, self._idle = self._idle, []
        for connection in dropped:
            connection.close()

    def forget_after_fork(self) -> None:
        """Give up what was inherited from the parent process, which goes on using the same connections."""
        self._lock = threading.Lock()
        self._idle = []
        for connection in list(self._all):
            connection.close()
        self._all = WeakSet()
        self._known = {}

    def _open(self, method: str) -> Connection:
        config, failures = self._config, []
        refusals: list[SecurityFailure] = []
        first = self._preferred
        for offset in range(len(config.uris)):
            index = (first + offset) % len(config.uris)
            uri = config.uris[index]
            try:
                connection = Connection.open(uri, config)
            except TimeoutError:
                self.forget(uri)
                failures.append(f"{uri}: no connection within {config.connect_timeout_ms} ms")
            except SecurityFailure as error:
                refusals.append(error)
                failures.append(f"{uri}: {error}")
            except (OSError, EOFError, TException) as error:
                self.forget(uri)
                failures.append(f"{uri}: {error}")
            else:
                self._preferred = index
                with self._lock:
                    if not any(other.is_open and other.uri == uri for other in self._all):
                        self._known.pop(uri, None)
                    connection.known = self._known.setdefault(uri, {})
                    self._all.add(connection)
                return connection
        if len(refusals) == len(failures):
            raise MetastoreAuthenticationError(
                method, "; ".join(failures), refusals[0].step, uri=config.uris[first] if len(config.uris) == 1 else None
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
