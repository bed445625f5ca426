"""Connections at the byte level, with scripted peers on loopback."""

from __future__ import annotations

import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from thrift.protocol.TProtocol import TProtocolException

from hive_views.config import (
    Authentication,
    ConnectionConfig,
    KerberosCredentials,
    Secret,
    SecretCredentials,
    TlsConfig,
)
from hive_views.errors import (
    MetastoreAuthenticationError,
    MetastoreConnectionLostError,
    MetastoreRefusedError,
    MetastoreTimeoutError,
    MetastoreUnavailableError,
)
from hive_views.metastore.transport import connection as module
from hive_views.metastore.transport.client import MAX_SENDS, MetastoreClient
from hive_views.metastore.transport.connection import Connection
from hive_views.metastore.transport.kerberos import Kerberos

Peer = Callable[[socket.socket], None]


@contextmanager
def listening(peer: Peer, host: str = "127.0.0.1") -> Iterator[tuple[str, list[socket.socket]]]:
    """Run a listener that passes each connection to `peer`; yields its URI and the accepted connections."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    accepted: list[socket.socket] = []
    with socket.create_server((host, 0), family=family) as server:

        def serve() -> None:
            while True:
                try:
                    sock, _ = server.accept()
                except OSError:
                    return
                accepted.append(sock)
                threading.Thread(target=run, args=(sock,), daemon=True).start()

        def run(sock: socket.socket) -> None:
            with suppress(OSError):  # many cases expect the client to disconnect
                peer(sock)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        shown = f"[{host}]" if ":" in host else host
        try:
            yield f"thrift://{shown}:{server.getsockname()[1]}", accepted
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join(10)
            for sock in accepted:
                sock.close()


def request(sock: socket.socket) -> tuple[bytes, bytes]:
    """Return name and sequence number of the next request without arguments."""
    head = receive(sock, 8)
    name = receive(sock, int.from_bytes(head[4:], "big"))
    number = receive(sock, 4)
    assert receive(sock, 1) == b"\0"
    return name, number


def receive(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = sock.recv(size - len(data))
        if not piece:
            raise ConnectionError("the client hung up")
        data += piece
    return data


def string_answer(name: bytes, number: bytes, value: bytes, length: int | None = None) -> bytes:
    size = len(value) if length is None else length
    return (
        b"\x80\x01\x00\x02" + len(name).to_bytes(4, "big") + name + number
        + b"\x0b\x00\x00" + (size & 0xFFFFFFFF).to_bytes(4, "big") + value + b"\0"
    )  # fmt: skip


def honest(sock: socket.socket) -> None:
    while True:
        name, number = request(sock)
        sock.sendall(string_answer(name, number, b"honest"))


def client(*uris: str, connect_timeout_ms: int = 5_000, call_timeout_ms: int = 5_000) -> MetastoreClient:
    return MetastoreClient(
        ConnectionConfig(uris=uris, connect_timeout_ms=connect_timeout_ms, call_timeout_ms=call_timeout_ms)
    )


def open_connection(uri: str) -> Connection:
    return Connection.open(uri, ConnectionConfig((uri,), connect_timeout_ms=5_000, call_timeout_ms=5_000))


def test_answer_arriving_byte_by_byte_is_read() -> None:
    def dribble(sock: socket.socket) -> None:
        answer = string_answer(*request(sock), b"3.0")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for index in range(len(answer)):
            sock.sendall(answer[index : index + 1])

    with listening(dribble) as (uri, _), client(uri) as metastore:
        assert metastore.server_version() == "3.0"


def test_slow_answer_hits_the_time_limit() -> None:
    def dribble_for_ever(sock: socket.socket) -> None:
        name, number = request(sock)
        sock.sendall(string_answer(name, number, b"x", length=1_000_000)[:-1])
        while True:
            sock.sendall(b"x")
            time.sleep(0.02)

    with (
        listening(dribble_for_ever) as (uri, _),
        client(uri, call_timeout_ms=200) as metastore,
        pytest.raises(MetastoreTimeoutError, match="no answer within 200 ms"),
    ):
        metastore.server_version()


@pytest.mark.parametrize(
    ("length", "problem"),
    [
        pytest.param(-2, "its answer cannot be read", id="negative"),
        pytest.param(module.MAX_STRING_LENGTH + 1, "its answer cannot be read", id="longer than the limit"),
    ],
)
def test_impossible_length_is_rejected_before_its_data_arrive(length: int, problem: str) -> None:
    def lie(sock: socket.socket) -> None:
        name, number = request(sock)
        sock.sendall(string_answer(name, number, b"x", length=length))

    with listening(lie) as (uri, accepted), client(uri) as metastore:
        with pytest.raises(MetastoreRefusedError, match=problem):
            metastore.server_version()
        assert len(accepted) == 1, "an answer that cannot be read is no reason to ask again"


def test_announced_length_allocates_no_memory() -> None:
    def promise(sock: socket.socket) -> None:
        name, number = request(sock)
        sock.sendall(string_answer(name, number, b"only this", length=module.MAX_STRING_LENGTH)[:-1])
        sock.close()

    with listening(promise) as (uri, accepted), client(uri) as metastore:
        tracemalloc.start()
        try:
            with pytest.raises(MetastoreConnectionLostError, match="the server closed the connection"):
                metastore.server_version()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < module.MAX_STRING_LENGTH // 10
        assert len(accepted) == MAX_SENDS


@pytest.mark.parametrize("rest", [b"", b"\0" * 20])
def test_tls_alert_is_named(rest: bytes) -> None:
    def speak(sock: socket.socket) -> None:
        request(sock)
        sock.sendall(b"\x15\x03\x03\x00\x02\x02\x0a" + rest)
        sock.close()

    named = pytest.raises(MetastoreUnavailableError, match=r"the server expects TLS: set hive-views\.tls=true")
    with listening(speak) as (uri, _), client(uri) as metastore, named:
        metastore.server_version()


@pytest.mark.parametrize(
    "junk",
    [
        pytest.param(b"\x17\x03\x03\x00\x02\x02\x28" + b"\0" * 20, id="data of TLS"),
        pytest.param(string_answer(b"getVersion", b"\xff\xff\xff\xff", b"late"), id="another request's number"),
        pytest.param(string_answer(b"getVertigo", b"\0\0\0\1", b"late"), id="another method"),
    ],
)
def test_non_thrift_answer_is_rejected(junk: bytes) -> None:
    def speak(sock: socket.socket) -> None:
        request(sock)
        sock.sendall(junk)
        sock.recv(1)

    with listening(speak) as (uri, _), client(uri) as metastore:
        with pytest.raises(MetastoreRefusedError, match="its answer cannot be read") as caught:
            metastore.server_version()
        assert caught.value.method == "getVersion"
        assert caught.value.uri == uri


def test_unreadable_answer_to_write_raises_connection_lost() -> None:
    def speak(sock: socket.socket) -> None:
        sock.recv(1000)
        sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        sock.recv(1)

    with (
        listening(speak) as (uri, _),
        client(uri) as metastore,
        pytest.raises(MetastoreConnectionLostError, match="its answer cannot be read"),
    ):
        metastore.drop_table("d", "t")


def test_idle_connection_with_unread_data_is_not_used() -> None:
    twice = threading.Event()

    def repeat(sock: socket.socket) -> None:
        name, number = request(sock)
        answer = string_answer(name, number, b"twice")
        sock.sendall(answer + (b"" if twice.is_set() else answer))
        twice.set()
        sock.recv(1)

    with listening(repeat) as (uri, accepted), client(uri) as metastore:
        assert metastore.server_version() == "twice"
        assert metastore.server_version() == "twice"
        assert len(accepted) == 2


def test_idle_connection_closed_by_server_is_not_used() -> None:
    def once(sock: socket.socket) -> None:
        sock.sendall(string_answer(*request(sock), b"once"))
        sock.close()

    with listening(once) as (uri, _):
        connection = open_connection(uri)
        assert connection.client.getVersion() == "once"
        connection.idle_since = time.monotonic()
        while connection.is_usable(60):
            time.sleep(0.001)
        connection.close()


def test_connection_idle_for_too_long_is_not_used() -> None:
    with listening(honest) as (uri, _):
        connection = open_connection(uri)
        assert connection.client.getVersion() == "honest"
        connection.idle_since = time.monotonic()
        assert connection.is_usable(60)
        connection.idle_since -= 61
        assert not connection.is_usable(60)
        connection.close()


def test_answers_in_wrong_order_are_detected() -> None:
    def late(sock: socket.socket) -> None:
        first, second = request(sock), request(sock)
        sock.sendall(string_answer(*first, b"first") + string_answer(*second, b"second"))
        sock.recv(1)

    with listening(late) as (uri, _):
        connection = open_connection(uri)
        connection.client.send_getVersion()
        connection.client.send_getVersion()
        with pytest.raises(TProtocolException, match="belongs to another request"):
            connection.client.recv_getVersion()
        connection.close()


def test_ipv6_hosts() -> None:
    try:
        with listening(honest, "::1") as (uri, _), client(uri) as metastore:
            assert uri.startswith("thrift://[::1]:")
            assert metastore.server_version() == "honest"
    except OSError as error:
        pytest.skip(f"no IPv6 here: {error}")


def test_all_addresses_of_a_host_are_tried() -> None:
    with listening(honest) as (uri, _):
        port = uri.rpartition(":")[2]
        with client(f"thrift://localhost:{port}") as metastore:
            assert metastore.server_version() == "honest"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_unreachable_metastores_are_listed_with_reasons() -> None:
    first, second = f"thrift://127.0.0.1:{free_port()}", "thrift://no-such-host.invalid:9083"
    with client(first, second) as metastore, pytest.raises(MetastoreUnavailableError) as caught:
        metastore.drop_table("d", "t")
    message = str(caught.value)
    assert f"{first}: " in message
    assert "refused" in message
    assert f"{second}: " in message
    assert caught.value.method == "drop_table"


def test_unreachable_metastore_is_not_tried_with_every_call() -> None:
    dead = socket.socket()
    dead.bind(("127.0.0.1", 0))  # bound but not listening: refuses connections
    with dead, listening(honest) as (alive, accepted):
        with client(f"thrift://127.0.0.1:{dead.getsockname()[1]}", alive) as metastore:
            assert metastore.server_version() == "honest"
            dead.listen()
            accepted[0].shutdown(socket.SHUT_RDWR)  # a new connection must be made
            assert metastore.server_version() == "honest"
        assert len(accepted) == 2
        dead.setblocking(False)
        with pytest.raises(BlockingIOError):
            dead.accept()


def test_metastore_that_does_not_accept_times_out() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, listening(honest) as (alive, _):
        hanging = f"thrift://127.0.0.1:{full.getsockname()[1]}"
        fillers = [socket.socket() for _ in range(8)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        with (
            client(hanging, connect_timeout_ms=150) as metastore,
            pytest.raises(MetastoreUnavailableError, match="no connection within 150 ms"),
        ):
            metastore.server_version()
        with client(hanging, alive, connect_timeout_ms=150) as metastore:
            assert metastore.server_version() == "honest"
        for filler in fillers:
            filler.close()


@pytest.mark.parametrize(
    ("more", "step"),
    [
        ({"tls": TlsConfig()}, "agree on TLS"),
        ({"credentials": SecretCredentials(Authentication.PLAIN, Secret("s3cret"), "ann")}, "authenticate (PLAIN)"),
    ],
    ids=["TLS", "SASL"],
)
def test_metastore_silent_during_authentication(more: dict[str, Any], step: str) -> None:
    def hang(sock: socket.socket) -> None:
        while sock.recv(1000):
            pass

    with (
        listening(hang) as (hanging, _),
        MetastoreClient(ConnectionConfig((hanging,), 300, **more)) as metastore,
        pytest.raises(MetastoreAuthenticationError, match="did not answer within 300 ms") as caught,
    ):
        metastore.server_version()
    assert caught.value.step == step
    assert step in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_hanging_metastore_is_skipped() -> None:
    def hang(sock: socket.socket) -> None:
        while sock.recv(1000):
            pass

    with (
        listening(hang) as (hanging, calls),
        listening(honest) as (alive, _),
        client(hanging, alive, call_timeout_ms=200) as metastore,
    ):
        with pytest.raises(MetastoreTimeoutError):
            metastore.server_version()
        assert metastore.server_version() == "honest"
        assert len(calls) == 1


def test_metastore_breaking_connections_is_skipped() -> None:
    with (
        listening(socket.socket.close) as (broken, calls),
        listening(honest) as (alive, _),
        client(broken, alive) as metastore,
    ):
        assert metastore.server_version() == "honest"
        assert metastore.server_version() == "honest"
        assert len(calls) == 1


def test_closed_client_raises_unavailable() -> None:
    with listening(honest) as (uri, accepted):
        metastore = client(uri)
        assert metastore.server_version() == "honest"
        metastore.close()
        with pytest.raises(MetastoreUnavailableError, match="this client was closed"):
            metastore.server_version()
        assert len(accepted) == 1


def test_close_lets_running_call_finish() -> None:
    request_received, closed, hung_up = threading.Event(), threading.Event(), threading.Event()

    def slow(sock: socket.socket) -> None:
        name, number = request(sock)
        request_received.set()
        assert closed.wait(30)
        sock.sendall(string_answer(name, number, b"slow"))
        if sock.recv(1) == b"":
            hung_up.set()

    with listening(slow) as (uri, _):
        metastore = client(uri, call_timeout_ms=30_000)
        answers: list[str] = []
        caller = threading.Thread(target=lambda: answers.append(metastore.server_version()))
        caller.start()
        assert request_received.wait(30)
        metastore.close()
        closed.set()
        caller.join(30)
        assert answers == ["slow"]
        assert hung_up.wait(30)


def test_unserializable_argument_sends_nothing() -> None:
    sent = threading.Event()

    def watch(sock: socket.socket) -> None:
        if sock.recv(1):
            sent.set()

    with listening(watch) as (uri, _), client(uri) as metastore:
        with pytest.raises(TypeError):
            metastore.drop_table("d", 5)  # type: ignore[arg-type]
        assert not sent.is_set()


def test_repr_shows_uris_without_secrets() -> None:
    config = ConnectionConfig(uris=("thrift://a:1", "thrift://b:2"), user="ann", groups=("staff",))
    assert repr(MetastoreClient(config)) == "MetastoreClient(thrift://a:1, thrift://b:2)"


def test_expired_kerberos_ticket_breaks_the_connection() -> None:
    """As with an expired ticket: the next connection reports the reason. Here the context is never established."""
    pytest.importorskip("gssapi")
    ours = Kerberos(KerberosCredentials(), "localhost")
    ours._level, ours._limit = 4, 100
    with pytest.raises(ConnectionError, match="cannot be encrypted"):
        ours.wrap(b"request")


def test_http_server_is_recognized_at_once(tmp_path: Path) -> None:
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with (
            client(f"thrift://127.0.0.1:{server.server_port}", call_timeout_ms=60_000) as metastore,
            pytest.raises(MetastoreUnavailableError, match="an HTTP server answers there, no metastore"),
        ):
            metastore.get_all_databases()
        server.shutdown()


@pytest.mark.parametrize(
    ("call", "consequence"),
    [
        (lambda metastore: metastore.get_all_databases(), "is down or overloaded$"),
        (lambda metastore: metastore.drop_database("d"), "the request may still be executed"),
    ],
)
def test_timeout_message_states_the_possible_outcome(
    call: Callable[[MetastoreClient], object], consequence: str
) -> None:
    def stay_silent(sock: socket.socket) -> None:
        receive(sock, 8)
        time.sleep(1)

    with (
        listening(stay_silent) as (uri, _),
        client(uri, call_timeout_ms=100) as metastore,
        pytest.raises(MetastoreTimeoutError, match=consequence),
    ):
        call(metastore)
