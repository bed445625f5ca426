"""A raw Thrift client of a metastore, for tests below `MetastoreClient`."""

from __future__ import annotations

from types import TracebackType

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from hive_views.config import ConnectionConfig
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import GetTableRequest, Table
from hive_views.metastore.transport.client import MetastoreClient


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
        self._transport.open()
        return BareClient(TBinaryProtocolAccelerated(self._transport))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._transport.close()


def client_for(*uris: str, **options: object) -> MetastoreClient:
    """Return a client of metastores with connection options."""
    return MetastoreClient(ConnectionConfig(uris=uris, **options))  # type: ignore[arg-type]
