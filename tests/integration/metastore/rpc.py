"""A raw Thrift client of a metastore, for tests below `MetastoreClient`."""

from __future__ import annotations

import time
from types import TracebackType
from typing import ClassVar

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from hive_views.config import ConnectionConfig
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import GetTableRequest, Table
from hive_views.metastore.transport.client import MetastoreClient

MAX_IDLE_S = 60


class BareClient(Client):  # type: ignore[misc]
    """The generated client with a `get_table` for every server: Hive 4 has only `get_table_req`."""

    def get_table(self, dbname: str, tbl_name: str) -> Table:
        return self.get_table_req(GetTableRequest(dbName=dbname, tblName=tbl_name)).table


class connect:  # noqa: N801 - used like a function
    """A connection of its own to the server at a port of 127.0.0.1, as a context manager.

    Not a generator with `@contextmanager`: that one sets the `__traceback__` of what passes through it, and the
    exceptions that Thrift generates refuse to be changed ("can't modify immutable instance").
    """

    def __init__(self, port: int, timeout_s: float = 30.0) -> None:
        socket = TSocket("127.0.0.1", port)
        socket.setTimeout(timeout_s * 1000)
        self._transport = TBufferedTransport(socket)

    def __enter__(self) -> BareClient:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> BareClient:
        """Return a client on this connection, which is opened unless it is open."""
        if not self._transport.isOpen():
            self._transport.open()
        return BareClient(TBinaryProtocolAccelerated(self._transport))

    def close(self) -> None:
        self._transport.close()


class shared_connection:  # noqa: N801 - used like a function
    """A connection to a metastore that fixtures of many tests share, as a context manager.

    Each new connection takes the server 15 ms of CPU time (Hive 2.3.10). After an error, or when it was idle for a
    minute, it is opened anew.
    """

    _kept: ClassVar[dict[tuple[int, int], tuple[connect, float]]] = {}

    def __init__(self, metastore: MetastoreProcess) -> None:
        self._server = metastore.port, metastore.pid

    def __enter__(self) -> BareClient:
        kept = self._kept.pop(self._server, None)
        self._connection, used = kept or (connect(self._server[0]), 0.0)
        if time.monotonic() - used > MAX_IDLE_S:
            self._connection.close()
        return self._connection.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            self._connection.close()
        self._kept[self._server] = self._connection, time.monotonic()


def client_for(*uris: str, **options: object) -> MetastoreClient:
    """Return a client of metastores with connection options."""
    return MetastoreClient(ConnectionConfig(uris=uris, **options))  # type: ignore[arg-type]
