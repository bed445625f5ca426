"""SASL for metastore connections: Thrift's negotiation, and user and password; see also `kerberos` and `digest_md5`.

The negotiation is that of Thrift's TSaslTransport: one byte of status, four bytes of length, the message. Afterwards
every frame is preceded by its length, and is signed or encrypted if both sides agreed on that.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from time import monotonic
from typing import Protocol

from hive_views.config import Authentication, KerberosCredentials, SecretCredentials
from hive_views.metastore.transport.digest_md5 import Token
from hive_views.metastore.transport.failures import TLS_ALERT, SecurityFailure
from hive_views.metastore.transport.kerberos import Kerberos

START, OK, BAD, ERROR, COMPLETE = 1, 2, 3, 4, 5
"""States of the negotiation (Thrift, TSaslTransport.NegotiationStatus)."""

MAX_MESSAGE_BYTES = 1024 * 1024
"""The longest message of a negotiation, in bytes."""

MAX_FRAME_BYTES = 256 * 1024 * 1024
"""The longest frame after the negotiation, in bytes."""

_HEADER = struct.Struct("!BI")
_LENGTH = struct.Struct("!I")


class Mechanism(Protocol):
    """The client side of a SASL mechanism."""

    name: str
    """The mechanism's name, as SASL registers it."""

    @property
    def user(self) -> str | None:
        """The user whom the server sees, after the negotiation; None if that is unknown."""

    def respond(self, challenge: bytes) -> bytes:
        """Return the next message for a challenge; the first one for an empty challenge."""

    def wrap(self, data: bytes) -> list[bytes]:
        """Return the frames to send for data."""

    def unwrap(self, frame: bytes) -> bytes:
        """Return the data in a received frame."""


class Plain:
    """User and password in clear text (RFC 4616): Hive 4's LDAP, CONFIG and CUSTOM authentication."""

    name = "PLAIN"

    def __init__(self, user: str, password: str) -> None:
        self.user: str | None = user
        self._message = f"\0{user}\0{password}".encode()

    def respond(self, challenge: bytes) -> bytes:
        return self._message

    def wrap(self, data: bytes) -> list[bytes]:
        return [data]

    def unwrap(self, frame: bytes) -> bytes:
        return frame


def mechanism(credentials: SecretCredentials | KerberosCredentials, host: str) -> Mechanism:
    """Return the mechanism for the credentials of a catalog."""
    if isinstance(credentials, KerberosCredentials):
        return Kerberos(credentials, host)
    if credentials.kind is Authentication.TOKEN:
        return Token(credentials.secret.current().strip(), credentials.name_rules)
    return Plain(credentials.user, credentials.secret.current())


def negotiate(sock: socket.socket, mechanism: Mechanism, timeout: float) -> None:
    """Authenticate to the server."""
    deadline = monotonic() + timeout
    sock.settimeout(timeout)
    sock.sendall(_message(START, mechanism.name.encode()) + _message(OK, mechanism.respond(b"")))
    while True:
        status, payload = _read_message(sock, mechanism.name, deadline)
        if status == OK:
            sock.sendall(_message(OK, mechanism.respond(payload)))
        elif status == COMPLETE:
            if payload:
                mechanism.respond(payload)
            return
        else:
            reason = payload.decode("utf-8", "replace").strip() or "it gave no reason"
            if reason.startswith(_OTHER_MECHANISM):
                reason += ". It expects another hive-views.authentication; `hive-views doctor` tries them"
            raise SecurityFailure(f"authenticate ({mechanism.name})", f"the metastore refused: {reason}")


_OTHER_MECHANISM = "Unsupported mechanism type"
"""How a server refuses a mechanism that it does not offer (4.0.1, 4.2.0)."""


def offers(sock: socket.socket, name: str, timeout: float) -> bool:
    """Return whether a server offers a mechanism, by starting it without credentials; the socket cannot be used again.

    Raises SecurityFailure if the server does not speak SASL.
    """
    sock.settimeout(timeout)
    sock.sendall(_message(START, name.encode()) + _message(OK, b""))
    _, payload = _read_message(sock, name, monotonic() + timeout)
    return not payload.decode("utf-8", "replace").startswith(_OTHER_MECHANISM)


def _message(status: int, payload: bytes) -> bytes:
    return _HEADER.pack(status, len(payload)) + payload


def _read_message(sock: socket.socket, name: str, deadline: float) -> tuple[int, bytes]:
    header = _read(sock, _HEADER.size, name, deadline)
    status, size = _HEADER.unpack(header)
    if header.startswith(TLS_ALERT):
        raise SecurityFailure(f"authenticate ({name})", "the server expects TLS first: set hive-views.tls=true")
    if status not in (OK, BAD, ERROR, COMPLETE) or size > MAX_MESSAGE_BYTES:
        raise SecurityFailure(f"authenticate ({name})", "the server's answer is not SASL")
    return status, _read(sock, size, name, deadline)


def _read(sock: socket.socket, size: int, name: str, deadline: float) -> bytes:
    data = b""
    while len(data) < size:
        remaining = deadline - monotonic()
        if remaining <= 0:
            raise TimeoutError("timed out")
        sock.settimeout(remaining)
        try:
            received = sock.recv(size - len(data))
        except ConnectionError:
            received = b""
        if not received:
            raise SecurityFailure(
                f"authenticate ({name})",
                "the server closed the connection. Perhaps it uses no SASL (hive.metastore.sasl.enabled), "
                "or expects TLS first (hive-views.tls)",
            )
        data += received
    return data


class SaslLayer:
    """The layer between Thrift and the socket after the negotiation: frames, signed or encrypted."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._mechanism = mechanism
        self._partial = b""

    @property
    def is_reusable(self) -> bool:
        """Whether no incomplete frame was received."""
        return not self._partial

    def outgoing(self, data: bytes) -> bytes:
        """Return the bytes to send for a request."""
        return b"".join(_LENGTH.pack(len(frame)) + frame for frame in self._mechanism.wrap(data))

    def incoming(self, receive: Callable[[int], bytes], max_bytes: int) -> bytes:
        """Receive at least one complete frame and return its data."""
        parts: list[bytes] = []
        buffer = bytearray(self._partial)
        while not parts:
            buffer += receive(max_bytes)
            start = 0
            while len(buffer) - start >= _LENGTH.size:
                (size,) = _LENGTH.unpack_from(buffer, start)
                if size > MAX_FRAME_BYTES:
                    raise ConnectionError(f"the server announces a frame of {size} bytes: it does not speak SASL")
                end = start + _LENGTH.size + size
                if len(buffer) < end:
                    break
                data = self._mechanism.unwrap(bytes(buffer[start + _LENGTH.size : end]))
                if data:
                    parts.append(data)
                start = end
            del buffer[:start]
        self._partial = bytes(buffer)
        return b"".join(parts)
