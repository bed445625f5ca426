"""A bare Thrift client of a metastore, for tests of what stands below our own client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client


@contextmanager
def connect(port: int, timeout_s: float = 30.0) -> Iterator[Client]:
    """A connection of its own to the server at a port of 127.0.0.1."""
    socket = TSocket("127.0.0.1", port)
    socket.setTimeout(timeout_s * 1000)
    transport = TBufferedTransport(socket)
    transport.open()
    try:
        yield Client(TBinaryProtocolAccelerated(transport))
    finally:
        transport.close()
