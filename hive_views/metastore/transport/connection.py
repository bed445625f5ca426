"""A connection to a metastore: a socket with Thrift's binary protocol and the generated client.

A connection is used by one thread at a time. Two properties decide whether a request may be repeated: whether any byte
of the request was sent (`request_left`), and whether an idle connection has no unread data (`is_quiet`). An end of file
means that the server closed the connection; unread bytes may be the answer to an earlier request.
"""

from __future__ import annotations

import logging
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from struct import Struct
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.protocol.TProtocol import TProtocolException
from thrift.transport.TTransport import CReadableTransport

from hive_views.config import ConnectionConfig, split_uri
from hive_views.metastore.transport.failures import TLS_ALERT, SecurityFailure
from hive_views.metastore.transport.sasl import Mechanism, SaslLayer, mechanism, negotiate

if TYPE_CHECKING:
    from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client


connections_logger = logging.getLogger("hive_views.connections")
"""Logs each new connection to a metastore, at the level DEBUG."""

MAX_STRING_LENGTH = 256 * 1024 * 1024
"""The longest string read from a metastore, in bytes. Thrift's own default, 16,384,000, cuts off long view texts."""

MAX_CONTAINER_LENGTH = 16 * 1024 * 1024
"""The maximum number of elements read in one list, set or map."""

_CHUNK = 64 * 1024
_LARGE_CHUNK = 1024 * 1024

_KEEPALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
"""Keep-alive settings: a dead peer is detected after a minute, and firewalls do not consider the connection idle."""

_VERSION_AND_CALL = 0x80010001
_VERSION = b"\x80\x01\x00"
_HEADER = Struct("!II")
_INT32 = Struct("!I")


class Layer(Protocol):
    """The layer between Thrift's binary protocol and the socket."""

    @property
    def is_reusable(self) -> bool:
        """Whether the connection can carry another request."""

    def outgoing(self, data: bytes) -> bytes:
        """Return the bytes to send for a request."""

    def incoming(self, receive: Callable[[int], bytes], max_bytes: int) -> bytes:
        """Receive bytes, at most `max_bytes` at once, and return the data that they contain."""


class SocketTransport(CReadableTransport):  # type: ignore[misc]
    """Thrift's buffered transport on a socket, with a time limit for the whole answer and without quadratic copying."""

    def __init__(self, sock: socket.socket, timeout: float) -> None:
        """Take ownership of a connected socket; `timeout` in seconds."""
        sock.settimeout(timeout)
        self._socket = sock
        self._timeout = timeout
        self._timeout_changed = False
        self._deadline = 0.0
        self._first_read = True
        self._out: list[bytes] = []
        self._in = BytesIO()
        self.request_left = False
        self.silence_hint = ""
        """What may be wrong if the server closes the connection before its first answer, for the error."""
        self._layer: Layer | None = None

    def use_http(self, layer: Layer) -> None:
        """Send all following requests over HTTP."""
        self._layer = layer

    def authenticate(self, mechanism: Mechanism, timeout: float) -> None:
        """Authenticate by SASL; afterwards all data pass through the negotiated security layer."""
        negotiate(self._socket, mechanism, timeout)
        self._timeout_changed = True
        self._layer = SaslLayer(mechanism)

    def set_timeout(self, timeout: float) -> None:
        """Set the time limit, in seconds, for the following requests."""
        self._timeout = timeout
        self._timeout_changed = True

    def close(self) -> None:
        """Close the socket without a shutdown: after a fork another process may use the same connection."""
        self._socket.close()

    @property
    def is_open(self) -> bool:
        """Whether `close` was not called."""
        return self._socket.fileno() != -1

    def is_quiet(self) -> bool:
        """Return whether nothing can be read: no end of file, no error, no bytes."""
        if self._in.tell() != len(self._in.getbuffer()) or (self._layer and not self._layer.is_reusable):
            return False
        pending = getattr(self._socket, "pending", None)  # TLS: the number of decrypted bytes
        if not self.is_open or (pending is not None and pending()):
            return False
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)

    def write(self, data: bytes) -> None:
        """Buffer a piece of the request until `flush`."""
        self._out.append(data)

    def flush(self) -> None:
        """Send the request; `request_left` becomes true as soon as the operating system accepted a byte of it."""
        request = b"".join(self._out)
        data = memoryview(self._layer.outgoing(request) if self._layer else request)
        self._out = []
        if self._timeout_changed:
            self._socket.settimeout(self._timeout)
            self._timeout_changed = False
        self.request_left = False
        sent = self._socket.send(data)
        self.request_left = True
        if sent < len(data):
            self._socket.sendall(data[sent:])
        self._deadline = monotonic() + self._timeout
        self._first_read = True

    def readAll(self, size: int) -> bytes:  # noqa: N802 (Thrift's name)
        """Read exactly `size` bytes."""
        data = self._in.read(size)
        if len(data) < size:
            data = self.cstringio_refill(data, size).read(size)
        return data

    read = readAll

    @property
    def cstringio_buf(self) -> BytesIO:
        """Received data that have not been read yet; Thrift's C extension reads them directly."""
        return self._in

    def cstringio_refill(self, partial: bytes, wanted: int) -> BytesIO:
        """Return `wanted` bytes that begin with `partial`, receiving the rest; for Thrift's C extension."""
        if wanted <= _CHUNK:
            data = partial + self._receive(_CHUNK)
            while len(data) < wanted:
                data += self._receive(_CHUNK)
            self._in = BytesIO(data)
        else:
            # The buffer grows with the received data, because the announced length may be wrong.
            buffer = bytearray(partial)
            while len(buffer) < wanted:
                buffer += self._receive(min(_LARGE_CHUNK, wanted - len(buffer)))
            self._in = BytesIO(buffer)
        return self._in

    def _receive(self, max_bytes: int) -> bytes:
        return self._layer.incoming(self._receive_some, max_bytes) if self._layer else self._receive_some(max_bytes)

    def _receive_some(self, max_bytes: int) -> bytes:
        if self._first_read:
            self._first_read = False
        else:
            remaining = self._deadline - monotonic()
            if remaining <= 0:
                raise TimeoutError("timed out")
            self._socket.settimeout(remaining)
            self._timeout_changed = True
        try:
            data = self._socket.recv(max_bytes)
        except ConnectionResetError:
            if not self.silence_hint:
                raise
            data = b""
        if not data:
            raise EOFError(f"the server closed the connection{self.silence_hint}")
        self.silence_hint = ""
        return data


_FIRST_NUMBER = int.from_bytes(b"\r\n\r\n", "big")
"""The sequence number of the first request. For an HTTP server its bytes end a request line, so that the server answers
at once; otherwise Python's http.server waits for the end of the line until the call times out."""


_NO_THRIFT = {
    b"HTTP/": "an HTTP server answers there, no metastore. Check the port of the uri (a metastore's is usually 9083). "
    "The uri of a metastore that uses HTTP is of the form http://host:port/path",
    TLS_ALERT: "the server expects TLS: set hive-views.tls=true, and hive-views.tls-ca-file if its certificate is not "
    "among the system's",
}
"""The beginnings of answers of other servers, with explanations."""
_NO_THRIFT[b"<!DOC"] = _NO_THRIFT[b"<html"] = _NO_THRIFT[b"HTTP/"]


def _silence_hint(config: ConnectionConfig) -> str:
    """Return what may be wrong if a server closes the connection in place of its first answer.

    Metastores with SASL do so (PLAIN: measured on 4.0.1 and 4.2.0, Kerberos: 4.0.1).
    """
    tls = "" if config.tls else "TLS (hive-views.tls), or "
    return (
        f". Perhaps it expects {tls}Kerberos, a token or a password (hive-views.authentication); `hive-views doctor` "
        "tries them"
    )


class NoThriftAnswerError(TProtocolException):  # type: ignore[misc]
    """The server speaks something else, and no request had an effect."""

    def __init__(self, explanation: str) -> None:
        super().__init__(TProtocolException.BAD_VERSION, "")
        self._explanation = explanation

    def __str__(self) -> str:
        return self._explanation


class NumberedProtocol(TBinaryProtocolAccelerated):  # type: ignore[misc]
    """Thrift's binary protocol, with the C extension if available, that matches answers to requests.

    Generated Python clients send the sequence number 0 and ignore the number in the answer, so a late answer is taken
    for the answer to the next call. This class numbers the requests and checks the number and the method name of each
    answer.
    """

    def __init__(self, transport: SocketTransport) -> None:
        super().__init__(transport, string_length_limit=MAX_STRING_LENGTH, container_length_limit=MAX_CONTAINER_LENGTH)
        self._number = _FIRST_NUMBER - 1
        self._label = b""

    def writeMessageBegin(self, name: str, type: int, seqid: int) -> None:  # noqa: N802
        """Begin a request."""
        self._number = (self._number + 1) & 0x7FFFFFFF
        encoded = name.encode()
        self._label = encoded + _INT32.pack(self._number)
        self.trans.write(_HEADER.pack(_VERSION_AND_CALL, len(encoded)) + self._label)

    def readMessageBegin(self) -> tuple[str, int, int]:  # noqa: N802
        """Begin an answer."""
        start = self.trans.readAll(len(TLS_ALERT))  # an alert is shorter than an answer, and its server closes
        if start != TLS_ALERT:
            start += self.trans.readAll(8 - len(start))
        label = self._label
        explanation = next((text for first, text in _NO_THRIFT.items() if start.startswith(first)), None)
        if explanation is not None:
            raise NoThriftAnswerError(explanation)
        if start[:3] != _VERSION or int.from_bytes(start[4:], "big") != len(label) - 4:
            raise TProtocolException(TProtocolException.BAD_VERSION, "no answer to this request, or no Thrift at all")
        if self.trans.readAll(len(label)) != label:
            raise TProtocolException(TProtocolException.INVALID_DATA, "the answer belongs to another request")
        return (label[:-4].decode(), start[3], self._number)


class Connection:
    """A connected metastore: its `uri` and the generated `client`."""

    def __init__(self, uri: str, transport: SocketTransport) -> None:
        # Imported with the first connection: Thrift's generated client takes 10 ms.
        from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client

        self.uri = uri
        self.client: Client = Client(NumberedProtocol(transport))
        self.transport = transport
        self.user: str | None = None
        """The user whom the server sees; None if the client sends none."""
        self.idle_since: float | None = None
        """When the connection was last returned to the pool (monotonic seconds); None before that."""
        self.capabilities: dict[str, bool] = {}
        """Whether the server knows a method, by name. Shared by the connections to it; see `ConnectionPool`."""

    @classmethod
    def open(cls, uri: str, config: ConnectionConfig) -> Connection:
        """Connect and authenticate."""
        timeout = config.connect_timeout_ms / 1000
        deadline = monotonic() + timeout
        _, host, port, path = split_uri(uri)
        sock = connect(host, int(port), timeout)
        try:
            if config.tls is not None:
                # Imported for TLS only: `ssl` takes 10 ms.
                from hive_views.metastore.transport.tls import secure

                with _handshake_errors("agree on TLS", "Perhaps it speaks no TLS at this port", config):
                    sock = secure(sock, config.tls, host, max(deadline - monotonic(), 0.001))
            connection = cls(uri, SocketTransport(sock, timeout))
            if config.is_http:
                # Imported for HTTP only: http.client takes 3 ms.
                from hive_views.metastore.transport.http_layer import http_layer

                layer = http_layer(host, port, path, config)
                connection.transport.use_http(layer)
                connection.user = layer.authorization.user
            elif config.credentials is not None:
                sasl_mechanism = mechanism(config.credentials, host)
                with _handshake_errors(f"authenticate ({sasl_mechanism.name})", _AUTHENTICATION_HINT, config):
                    connection.transport.authenticate(sasl_mechanism, max(deadline - monotonic(), 0.001))
                connection.user = sasl_mechanism.user
            else:
                connection.user = config.user
                connection.transport.silence_hint = _silence_hint(config)
            if config.user is not None and not config.is_http:
                connection.client.set_ugi(config.user, list(config.groups))
        except BaseException:
            sock.close()
            raise
        connection.transport.set_timeout(config.call_timeout_ms / 1000)
        connections_logger.debug("connected to %s", uri)
        return connection

    def is_usable(self, max_idle: float) -> bool:
        """Return whether a request may be sent on this idle connection: not idle for too long, and no unread data."""
        return self.idle_since is not None and monotonic() - self.idle_since <= max_idle and self.transport.is_quiet()

    @property
    def is_open(self) -> bool:
        """Whether `close` was not called."""
        return self.transport.is_open

    def close(self) -> None:
        """Close the connection; closing twice does nothing."""
        self.transport.close()


_AUTHENTICATION_HINT = "Perhaps it waits for its directory (LDAP) or KDC; see its log"


@contextmanager
def _handshake_errors(step: str, hint: str, config: ConnectionConfig) -> Iterator[None]:
    """Convert a time-out in the handshake to an error that names the step."""
    try:
        yield
    except TimeoutError as error:
        raise SecurityFailure(
            step, f"the metastore can be reached, and did not answer within {config.connect_timeout_ms} ms. {hint}"
        ) from error


def connect(host: str, port: int, timeout: float) -> socket.socket:
    """Connect to one of a host's addresses within `timeout` seconds."""
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    deadline = monotonic() + timeout
    last_error: OSError = OSError(f"{host} has no address")
    for index, (family, kind, protocol, _, address) in enumerate(addresses):
        sock = socket.socket(family, kind, protocol)
        try:
            # An address that drops packets must not use up the time for the other addresses.
            sock.settimeout(max((deadline - monotonic()) / (len(addresses) - index), 0.001))
            sock.connect(address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in _KEEPALIVE:
                if hasattr(socket, option):
                    sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
        except OSError as error:
            sock.close()
            last_error = error
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise last_error
