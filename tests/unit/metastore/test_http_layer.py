"""HTTP responses at the byte level: what is read, what breaks the connection, what proves a rejection."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hive_views.config import Authentication, ConnectionConfig, Secret, SecretCredentials
from hive_views.metastore.transport.failures import HttpRejection, SecurityFailure
from hive_views.metastore.transport.http_layer import HttpLayer, http_layer


def layer(path: str = "", host: str = "host", **config: object) -> HttpLayer:
    return http_layer(host, "9083", path, ConnectionConfig(("http://host:9083",), **config))  # type: ignore[arg-type]


def receiver(data: bytes, piece: int) -> Callable[[int], bytes]:
    """A socket that delivers the data in pieces, then its end."""
    position = 0

    def receive(size: int) -> bytes:
        nonlocal position
        part = data[position : position + min(size, piece)]
        position += len(part)
        if not part:
            raise EOFError("the server closed the connection")
        return part

    return receive


@pytest.mark.parametrize("piece", [1, 7, 100_000])
@pytest.mark.parametrize(
    ("response", "body", "is_reusable"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", b"abc", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"", True),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", b"abc", True),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", b"a", True),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na", b"a", False),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", b"until the end", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", b"a", False),
    ],
    ids=["length", "empty", "chunked", "continue", "closing", "no length", "old"],
)
def test_response_body_is_read_in_pieces_of_any_size(
    response: bytes, body: bytes, is_reusable: bool, piece: int
) -> None:
    http = layer()
    http.outgoing(b"x")
    assert http.incoming(receiver(response, piece), 10) == body
    assert http.is_reusable == is_reusable


@pytest.mark.parametrize(
    ("response", "problem"),
    [
        (b"", "closed connection without response"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "incomplete: 2 bytes are missing"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "incomplete"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", "incomplete"),
        (b"\x15\x03\x03\x00\x02\x02P", "Perhaps it expects TLS"),
        (b"HTTP/1.1 500 Server Error\r\nContent-Length: 4\r\n\r\nboom", r"answered 500 Server Error \(boom\)"),
        (
            b"HTTP/1.1 501 Oops\r\n\r\n<!DOCTYPE HTML>\n<html><style>a</style><h1>Error</h1><p>No POST.</p></html>",
            r"answered 501 Oops \(Error No POST\.\)",
        ),
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", "answered 503 Busy$"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n" + b"a" * 101, "longer than 100 bytes"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n" + b"a" * 101, "longer than 100 bytes"),
    ],
    ids=["nothing", "cut", "cut chunk", "no last chunk", "TLS", "500", "HTML", "503", "long", "wrong length"],
)
def test_response_without_proof_breaks_the_connection(response: bytes, problem: str) -> None:
    http = layer()
    http.max_body_bytes = 100
    with pytest.raises(ConnectionError, match=problem):
        http.incoming(receiver(response, 50), 10)
    assert not http.is_reusable


@pytest.mark.parametrize(
    ("status", "step"),
    [
        ("401 Unauthorized", "authenticate (JWT)"),
        ("403 Forbidden", "authenticate (JWT)"),
        ("404 None", None),
        ("302 Found", None),
    ],
)
def test_rejection_before_the_metastore(status: str, step: str | None) -> None:
    http = layer(credentials=SecretCredentials(Authentication.JWT, Secret("secret")))
    with pytest.raises(HttpRejection, match=f"answered {status} .no, it is not.") as raised:
        http.incoming(receiver(f"HTTP/1.1 {status}\r\nContent-Length: 14\r\n\r\nno, it\n is not".encode(), 50), 10)
    assert raised.value.step == step


@pytest.mark.parametrize(
    ("http", "lines"),
    [
        (layer(), ["POST /metastore HTTP/1.1", "Host: host:9083"]),
        (layer("/"), ["POST /metastore HTTP/1.1"]),
        (layer("/a/b", "::1", user="ann"), ["POST /a/b HTTP/1.1", "Host: [::1]:9083", "x-actor-username: ann"]),
        (layer(credentials=SecretCredentials(Authentication.JWT, Secret("a.b.c"))), ["Authorization: Bearer a.b.c"]),
        (
            layer(credentials=SecretCredentials(Authentication.PLAIN, Secret("ö:"), "ann")),
            ["Authorization: Basic YW5uOsO2Og=="],
        ),
    ],
    ids=["default path", "root", "path and user", "token", "password"],
)
def test_request_headers(http: HttpLayer, lines: list[str]) -> None:
    head, _, body = http.outgoing(b"\0\r\n\r\n\xff").partition(b"\r\n\r\n")
    assert body == b"\0\r\n\r\n\xff"
    assert set(lines) | {"Content-Length: 6"} <= set(head.decode().split("\r\n"))


@pytest.mark.parametrize("value", ["a\r\nx-actor-username: root", "a\nb", "ö", "a\0b"])
def test_value_that_would_add_headers_is_rejected(value: str) -> None:
    for config in ({"user": value}, {"credentials": SecretCredentials(Authentication.JWT, Secret(value))}):
        with pytest.raises(SecurityFailure, match="not allowed in HTTP headers"):
            layer(**config)
