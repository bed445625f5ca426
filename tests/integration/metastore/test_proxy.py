"""The fault-injecting proxy between a real client and a real metastore."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from uuid import uuid4

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TException, TMessageType
from thrift.transport.TTransport import TMemoryBuffer, TTransportException

from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    ColumnStatistics,
    ColumnStatisticsData,
    ColumnStatisticsDesc,
    ColumnStatisticsObj,
    CreationMetadata,
    Database,
    DoubleColumnStatsData,
    FieldSchema,
    NoSuchObjectException,
    PrincipalPrivilegeSet,
    PrivilegeGrantInfo,
    StorageDescriptor,
    Table,
)
from tests.integration.metastore.rpc import connect
from tests.proxy import (
    ANY,
    EVERY,
    Action,
    BlackHole,
    CutReply,
    Delay,
    DropReply,
    DropRequest,
    Header,
    Hold,
    MessageStream,
    ProtocolError,
    ThriftProxy,
)

CREATE = "create_database"
LOST = (TTransportException, OSError, EOFError)
SHORT_S = 0.3
"""The time-out of a client that must run into it."""


@pytest.fixture
def name(metastore: EmbeddedMetastore) -> Iterator[str]:
    """The name of a missing database; dropped afterwards."""
    fresh = f"proxied_{uuid4().hex[:12]}"
    yield fresh
    with connect(metastore.port) as client:
        if fresh in client.get_all_databases():
            client.drop_database(fresh, True, True)


def exists(metastore: EmbeddedMetastore, name: str) -> bool:
    """Return whether the database exists, without the proxy."""
    with connect(metastore.port) as client:
        return name in client.get_all_databases()


def test_proxy_forwards_and_records_calls(metastore: EmbeddedMetastore, proxy: ThriftProxy, name: str) -> None:
    with connect(proxy.port) as client:
        client.create_database(Database(name=name, description="ümlaut", parameters={"k": "v" * 3000}))
        with connect(metastore.port) as direct:
            assert client.get_database(name) == direct.get_database(name)
        with pytest.raises(NoSuchObjectException):
            client.get_database("no_such_database")
    with connect(proxy.port) as client:
        assert name in client.get_all_databases()
    assert proxy.methods == [CREATE, "get_database", "get_database", "get_all_databases"]
    assert [call.connection for call in proxy.calls] == [1, 1, 1, 2]
    assert all(call.delivered and call.answered and call.returned for call in proxy.calls)
    assert proxy.connections == 2


def serialized(method: str, sequence: int, *, strict: bool) -> bytes:
    """Return a serialized call with values of every kind."""
    buffer = TMemoryBuffer()
    protocol = TBinaryProtocol(buffer, strictWrite=strict)
    protocol.writeMessageBegin(method, TMessageType.CALL, sequence)
    statistics = ColumnStatisticsData(doubleStats=DoubleColumnStatsData(lowValue=0.5, numNulls=7, numDVs=1))
    column = ColumnStatisticsObj(colName="c", colType="double", statsData=statistics)
    table = Table(
        dbName="d",
        tableName="ümlaut",
        parameters={"a": "1", "b": ""},
        sd=StorageDescriptor(cols=[FieldSchema("c", "int")], bucketCols=[], compressed=True, parameters={}),
        privileges=PrincipalPrivilegeSet(userPrivileges={"u": [PrivilegeGrantInfo(privilege="p", createTime=1)]}),
        creationMetadata=CreationMetadata(tablesUsed={"d.t"}, materializationTime=1 << 40),
        colStats=ColumnStatistics(statsObj=[column], statsDesc=ColumnStatisticsDesc(True, "d", "t")),
    )
    table.write(protocol)
    protocol.writeMessageEnd()
    return bytes(buffer.getvalue())


@pytest.mark.parametrize("strict", [True, False], ids=["strict header", "old header"])
@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_proxy_finds_message_boundaries(strict: bool, piece: int) -> None:
    messages = [serialized("create_table", 5, strict=strict), serialized("m", -1, strict=strict)]
    near, far = socket.socketpair()
    with near, far:
        stream = MessageStream(far)
        everything = b"".join(messages)

        def send() -> None:
            for start in range(0, len(everything), piece):
                near.sendall(everything[start : start + piece])

        # Many small writes fill the socket's buffer, so read concurrently.
        sending = threading.Thread(target=send)
        sending.start()
        assert stream.read() == (Header("create_table", TMessageType.CALL, 5, strict), messages[0])
        assert stream.read() == (Header("m", TMessageType.CALL, -1, strict), messages[1])
        sending.join()
        assert not stream.pending
        near.sendall(messages[0][:-1])
        near.shutdown(socket.SHUT_WR)
        with pytest.raises(EOFError):
            stream.read()


@pytest.mark.parametrize(
    ("action", "timeout_s", "carried_out"),
    [
        (DropRequest(), 30, False),
        (DropRequest(reset=True), 30, False),
        (BlackHole(), SHORT_S, False),
        (DropReply(), 30, True),
        (DropReply(reset=True), 30, True),
        (DropReply(silent=True), SHORT_S, True),
        (CutReply(), 30, True),
        (CutReply(keep=0), 30, True),
        (CutReply(keep=3), 30, True),
        (Delay(reply_s=3600), SHORT_S, True),
        (Delay(request_s=3600), SHORT_S, False),
    ],
    ids=repr,
)
def test_proxy_drops_request_or_reply(
    metastore: EmbeddedMetastore, proxy: ThriftProxy, name: str, action: Action, timeout_s: float, carried_out: bool
) -> None:
    with connect(proxy.port, timeout_s) as warm:
        warm.get_all_databases()
    proxy.on(CREATE, action)
    with connect(proxy.port, timeout_s) as client, pytest.raises(LOST):
        client.create_database(Database(name=name))
    (call,) = [each for each in proxy.calls if each.method == CREATE]
    if carried_out:
        # The client may time out before the server has finished.
        for _ in range(200):
            if exists(metastore, name):
                break
    assert exists(metastore, name) is carried_out
    assert (call.action, call.delivered, call.returned) == (action, carried_out, False)
    # Only that call: the next one passes, over a new connection.
    with connect(proxy.port) as client:
        assert (name in client.get_all_databases()) is carried_out


def test_proxy_delay_shorter_than_timeout(proxy: ThriftProxy, metastore: EmbeddedMetastore, name: str) -> None:
    proxy.on(CREATE, Delay(request_s=0.05, reply_s=0.05))
    with connect(proxy.port) as client:
        client.create_database(Database(name=name))
    assert exists(metastore, name)
    assert proxy.calls[0].returned


@pytest.mark.parametrize("close", [True, False])
def test_proxy_delivers_held_request_after_disconnect(
    metastore: EmbeddedMetastore, proxy: ThriftProxy, name: str, close: bool
) -> None:
    hold = proxy.on(CREATE, Hold(close=close))
    with connect(proxy.port, SHORT_S) as client, pytest.raises(LOST):
        client.create_database(Database(name=name))
    hold.wait_until_held()
    assert not exists(metastore, name)
    hold.release()
    assert exists(metastore, name)
    (call,) = proxy.calls
    assert call.delivered
    assert call.answered


def test_proxy_holds_request_while_client_waits(metastore: EmbeddedMetastore, proxy: ThriftProxy, name: str) -> None:
    hold = proxy.on(CREATE, Hold())
    with connect(proxy.port) as client, connect(proxy.port) as other:
        waiting = threading.Thread(target=client.create_database, args=(Database(name=name),))
        waiting.start()
        hold.wait_until_held()
        assert not exists(metastore, name)
        assert proxy.most_at_once == 1
        for _ in range(2):
            other.get_all_databases()
            assert proxy.most_at_once == 2
        hold.release()
        waiting.join(30)
        assert not waiting.is_alive()
        assert name in client.get_all_databases()


def test_unreleased_held_request_is_lost(metastore: EmbeddedMetastore, proxy: ThriftProxy, name: str) -> None:
    hold = proxy.on(CREATE, Hold(close=True))
    with connect(proxy.port) as client, pytest.raises(LOST):
        client.create_database(Database(name=name))
    hold.wait_until_held()
    assert not exists(metastore, name)
    with pytest.raises(TimeoutError):
        hold.release(timeout_s=0)


@pytest.mark.parametrize(
    ("method", "nth", "lost"),
    [
        ("get_all_databases", 1, [True, False, False, False]),
        ("get_all_databases", 3, [False, False, True, False]),
        ("get_all_databases", EVERY, [True, True, True, True]),
        (ANY, 2, [False, True, False, False]),
        ("get_database", 1, [False, False, False, False]),
    ],
)
def test_rule_selects_nth_call(proxy: ThriftProxy, method: str, nth: int, lost: list[bool]) -> None:
    proxy.on(method, DropRequest(), nth=nth)
    seen = []
    for _ in lost:
        with connect(proxy.port) as client:
            try:
                client.get_all_databases()
                seen.append(False)
            except TException:
                seen.append(True)
    assert seen == lost


def test_rules_count_from_creation_and_first_wins(proxy: ThriftProxy) -> None:
    with connect(proxy.port) as client:
        client.get_all_databases()
        first = proxy.on("get_all_databases", Delay(), nth=2)
        second = proxy.on("get_all_databases", Delay(request_s=0.001), nth=2)
        third = proxy.on("get_all_databases", Delay(reply_s=0.001), nth=3)
        for _ in range(3):
            client.get_all_databases()
        assert [call.action for call in proxy.calls][2:] == [first, third]
        assert second not in [call.action for call in proxy.calls]
        proxy.clear()
        client.get_all_databases()
        assert proxy.methods == ["get_all_databases"]


def test_proxy_refuses_new_connections(proxy: ThriftProxy) -> None:
    with connect(proxy.port) as client:
        client.get_all_databases()
        proxy.refuse()
        with pytest.raises(TTransportException), connect(proxy.port):
            pass
        client.get_all_databases()
        proxy.accept()
        with connect(proxy.port) as another:
            another.get_all_databases()


def test_proxy_disconnects_like_a_restart(proxy: ThriftProxy) -> None:
    with connect(proxy.port) as client:
        client.get_all_databases()
        proxy.disconnect()
        with pytest.raises(LOST):
            client.get_all_databases()
    with connect(proxy.port) as client:
        client.get_all_databases()


def test_proxy_closes_client_if_server_is_gone() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with ThriftProxy(unused.getsockname()[1]) as proxy, connect(proxy.port) as client, pytest.raises(LOST):
            client.get_all_databases()


@pytest.mark.parametrize(
    "sent", [b"GET / HTTP/1.1\r\n\r\n", struct.pack("!ii", -0x7FFEFFFF, 1) + b"m" + b"\0\0\0\1" + b"\x63\0\1"]
)
def test_proxy_rejects_non_thrift_data(metastore: EmbeddedMetastore, sent: bytes) -> None:
    proxy = ThriftProxy(metastore.port)
    proxy.accept()
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=30) as client:
        client.sendall(sent)
        assert client.recv(100) == b""
    with pytest.raises(ProtocolError):
        proxy.close()
