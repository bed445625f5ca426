"""SASL as Hive's metastores speak it: Thrift's negotiation, Kerberos, delegation tokens, user and password.

The negotiation is Thrift's own (TSaslTransport): one byte of status, four of length, the message. After it every piece
is sent with its length before it, and signed or sealed where the two sides agreed on that.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import secrets
import socket
import struct
from collections.abc import Callable
from time import monotonic
from typing import Any, Protocol

from hive_views.config import Credentials

START, OK, BAD, ERROR, COMPLETE = 1, 2, 3, 4, 5
"""States of the negotiation (Thrift, TSaslTransport.NegotiationStatus)."""

MAX_MESSAGE_BYTES = 1024 * 1024
"""The longest message of a negotiation that is read."""

MAX_FRAME_BYTES = 256 * 1024 * 1024
"""The longest piece that is read after it."""

_HEADER = struct.Struct("!BI")
_LENGTH = struct.Struct("!I")

_AUTH, _INTEGRITY, _PRIVACY = 1, 2, 4
"""What protects the pieces: nothing, a signature, a seal (RFC 4752, section 3.3)."""


class SecurityFailure(OSError):  # noqa: N818 (it becomes an error of ours once the metastore's name is known)
    """The two sides could not agree on who they are; `step` says where it ended."""

    def __init__(self, step: str, reason: str) -> None:
        super().__init__(f"{step}: {reason}")
        self.step = step
        self.reason = reason


class Mechanism(Protocol):
    """One side of one way to say who we are."""

    name: str
    """The mechanism's name, as SASL registers it."""

    def respond(self, challenge: bytes) -> bytes:
        """The next message, for the server's; the first one for an empty challenge."""

    def wrap(self, data: bytes) -> list[bytes]:
        """Pieces to send in place of data."""

    def unwrap(self, piece: bytes) -> bytes:
        """The data in a piece that was received."""


class Plain:
    """User and password in clear text (RFC 4616): Hive 4's LDAP, CONFIG and CUSTOM authentication."""

    name = "PLAIN"

    def __init__(self, user: str, password: str) -> None:
        self._message = f"\0{user}\0{password}".encode()

    def respond(self, challenge: bytes) -> bytes:
        """See `Mechanism`."""
        return self._message

    def wrap(self, data: bytes) -> list[bytes]:
        """See `Mechanism`."""
        return [data]

    def unwrap(self, piece: bytes) -> bytes:
        """See `Mechanism`."""
        return piece


class Token(Plain):
    """A delegation token (DIGEST-MD5, RFC 2831, without protection of what follows), as Hadoop uses it.

    Args:
        token: The token as a metastore gives it: Hadoop's URL-safe text.

    Raises:
        SecurityFailure: If it is no such text.
    """

    name = "DIGEST-MD5"
    # What Hadoop's bridge builds from a missing protocol and its default server name.
    _uri = "null/default"

    def __init__(self, token: str) -> None:
        identifier, password = parse_token(token)
        self._user = base64.b64encode(identifier).decode()
        self._password = base64.b64encode(password).decode()
        self._expected = ""

    def respond(self, challenge: bytes) -> bytes:
        """See `Mechanism`."""
        said = {
            key.lower(): quoted or bare
            for key, quoted, bare in re.findall(
                r'([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*))', challenge.decode("utf-8", "replace")
            )
        }
        if not challenge:
            return b""
        if "rspauth" in said:
            if not secrets.compare_digest(said["rspauth"], self._expected):
                raise SecurityFailure(
                    "check the server", "it does not know the token's secret: it is not the metastore"
                )
            return b""
        if "auth" not in re.split(r"[\s,]+", said.get("qop", "auth")):
            raise SecurityFailure(
                "agree on protection", f"the server wants {said['qop']}, and with a token only `auth` can be had"
            )
        realm, nonce = said.get("realm", "default"), said.get("nonce", "")
        own = secrets.token_hex(16)
        secret = hashlib.md5(f"{self._user}:{realm}:{self._password}".encode()).digest()
        first = hashlib.md5(secret + f":{nonce}:{own}".encode()).hexdigest()

        def proof(prefix: str) -> str:
            second = hashlib.md5(f"{prefix}:{self._uri}".encode()).hexdigest()
            return hashlib.md5(f"{first}:{nonce}:00000001:{own}:auth:{second}".encode()).hexdigest()

        self._expected = proof("")
        return (
            f'charset=utf-8,username="{self._user}",realm="{realm}",nonce="{nonce}",nc=00000001,cnonce="{own}",'
            f'digest-uri="{self._uri}",response={proof("AUTHENTICATE")},qop=auth'
        ).encode()


class Kerberos:
    """Kerberos tickets (GSSAPI, RFC 4752), by MIT's library through the package `gssapi`.

    Args:
        service: The first part of the metastore's principal.
        host: Its second part: the metastore's host, as it is in the URI.

    Raises:
        SecurityFailure: If the package is missing, or the service's name cannot be used.
    """

    name = "GSSAPI"

    def __init__(self, service: str, host: str) -> None:
        try:
            import gssapi
        except ImportError as error:
            raise SecurityFailure(
                "load Kerberos", f"the package gssapi cannot be used ({error}): pip install 'hive_views[kerberos]'"
            ) from error
        library: Any = gssapi
        self._gssapi = library
        self._service = f"{service}/{host}"
        self._limit = 0
        self._level = _AUTH
        self._agreed = False
        target = library.Name(f"{service}@{host}", library.NameType.hostbased_service)
        flags = library.RequirementFlag
        self._context = library.SecurityContext(
            name=target,
            usage="initiate",
            mech=library.MechType.kerberos,
            flags=[
                flags.mutual_authentication,
                flags.integrity,
                flags.confidentiality,
                flags.out_of_sequence_detection,
            ],
        )

    def respond(self, challenge: bytes) -> bytes:
        """See `Mechanism`."""
        try:
            if not self._context.complete:
                step = f"get a ticket for {self._service}" if not challenge else f"check {self._service}"
                token: bytes | None = self._context.step(challenge or None)
                return token or b""
            step = "agree on protection"
            return b"" if self._agreed else self._agree(self._context.unwrap(challenge).message)
        except self._gssapi.exceptions.GSSError as error:
            said = " ".join(str(error).split())
            raise SecurityFailure(step, f"{said}. `klist` shows your tickets, `kinit` gets one") from error

    def _agree(self, offer: bytes) -> bytes:
        """Take the strongest protection that the server offers (RFC 4752, section 3.1)."""
        if len(offer) != 4:
            raise SecurityFailure("agree on protection", "the server's offer has not the form that it must have")
        self._level = next((each for each in (_PRIVACY, _INTEGRITY, _AUTH) if offer[0] & each), 0)
        if not self._level:
            raise SecurityFailure("agree on protection", f"the server offers none that is known ({offer[0]})")
        self._limit = self._context.get_wrap_size_limit(
            int.from_bytes(offer[1:], "big") or 65536, self._level == _PRIVACY
        )
        self._agreed = True
        size = 0 if self._level == _AUTH else 0xFFFFFF
        chosen: bytes = self._context.wrap(bytes([self._level]) + size.to_bytes(3, "big"), False).message
        return chosen

    def wrap(self, data: bytes) -> list[bytes]:
        """See `Mechanism`."""
        if self._level == _AUTH:
            return [data]
        pieces = (data[start : start + self._limit] for start in range(0, len(data), self._limit))
        try:
            return [self._context.wrap(piece, self._level == _PRIVACY).message for piece in pieces]
        except self._gssapi.exceptions.GSSError as error:
            # The ticket has expired, as a rule: a new connection says so, or has another one.
            raise ConnectionError(f"the request cannot be sealed: {error}") from error

    def unwrap(self, piece: bytes) -> bytes:
        """See `Mechanism`."""
        if self._level == _AUTH:
            return piece
        try:
            opened = self._context.unwrap(piece)
        except self._gssapi.exceptions.GSSError as error:
            raise ConnectionError(f"a piece of the answer was changed on its way: {error}") from error
        if self._level == _PRIVACY and not opened.encrypted:
            raise ConnectionError("a piece of the answer came unsealed, although sealing was agreed on")
        data: bytes = opened.message
        return data


def mechanism(credentials: Credentials, host: str) -> Mechanism:
    """The mechanism for the credentials of a catalog."""
    if credentials.kind == "kerberos":
        return Kerberos(credentials.service, host)
    if credentials.kind == "token":
        return Token(credentials.secret)
    return Plain(credentials.user, credentials.secret)


def parse_token(text: str) -> tuple[bytes, bytes]:
    """Take Hadoop's text form of a token apart."""
    try:
        data = base64.urlsafe_b64decode(text.strip() + "=" * (-len(text.strip()) % 4))
        identifier, rest = _counted(data)
        password, _ = _counted(rest)
    except (binascii.Error, ValueError, IndexError) as error:
        raise SecurityFailure("read the token", "it is not a delegation token in Hadoop's text form") from error
    return identifier, password


def _counted(data: bytes) -> tuple[bytes, bytes]:
    """One piece with its length before it (Hadoop, WritableUtils.writeVInt), and what follows it."""
    first = struct.unpack_from("b", data)[0] if data else _fail()
    size, start = first, 1
    if first < -112:
        width = -112 - first
        size, start = int.from_bytes(data[1 : 1 + width], "big"), 1 + width
    if not 0 <= size <= len(data) - start:
        _fail()
    return data[start : start + size], data[start + size :]


def _fail() -> Any:
    raise ValueError("no counted piece")


def negotiate(sock: socket.socket, ours: Mechanism, timeout: float) -> None:
    """Tell the server who we are."""
    deadline = monotonic() + timeout
    sock.settimeout(timeout)
    sock.sendall(_message(START, ours.name.encode()) + _message(OK, ours.respond(b"")))
    while True:
        status, said = _read_message(sock, ours.name, deadline)
        if status == OK:
            sock.sendall(_message(OK, ours.respond(said)))
        elif status == COMPLETE:
            if said:
                ours.respond(said)
            return
        else:
            reason = said.decode("utf-8", "replace").strip() or "it gave no reason"
            raise SecurityFailure(f"authenticate ({ours.name})", f"the metastore refused: {reason}")


def _message(status: int, payload: bytes) -> bytes:
    return _HEADER.pack(status, len(payload)) + payload


def _read_message(sock: socket.socket, name: str, deadline: float) -> tuple[int, bytes]:
    status, size = _HEADER.unpack(_read(sock, _HEADER.size, name, deadline))
    if status not in (OK, BAD, ERROR, COMPLETE) or size > MAX_MESSAGE_BYTES:
        raise SecurityFailure(f"authenticate ({name})", "the server answers with something else than SASL")
    return status, _read(sock, size, name, deadline)


def _read(sock: socket.socket, size: int, name: str, deadline: float) -> bytes:
    data = b""
    while len(data) < size:
        remaining = deadline - monotonic()
        if remaining <= 0:
            raise TimeoutError("timed out")
        sock.settimeout(remaining)
        try:
            piece = sock.recv(size - len(data))
        except ConnectionError:
            piece = b""
        if not piece:
            raise SecurityFailure(
                f"authenticate ({name})",
                "the server closed the connection. Perhaps it wants no SASL (hive.metastore.sasl.enabled), "
                "or wants TLS first (hive-views.tls)",
            )
        data += piece
    return data


class SaslLayer:
    """What stands between Thrift and the socket after the negotiation: lengths, and signatures or seals."""

    def __init__(self, ours: Mechanism) -> None:
        self._ours = ours
        self._partial = b""

    @property
    def is_empty(self) -> bool:
        """Whether no part of a piece waits for its rest."""
        return not self._partial

    def outgoing(self, data: bytes) -> bytes:
        """What to send for a request."""
        return b"".join(_LENGTH.pack(len(piece)) + piece for piece in self._ours.wrap(data))

    def incoming(self, receive: Callable[[int], bytes], most: int) -> bytes:
        """Receive at least one whole piece."""
        parts: list[bytes] = []
        buffer = bytearray(self._partial)
        while not parts:
            buffer += receive(most)
            start = 0
            while len(buffer) - start >= _LENGTH.size:
                (size,) = _LENGTH.unpack_from(buffer, start)
                if size > MAX_FRAME_BYTES:
                    raise ConnectionError(f"a piece of {size} bytes is announced: this is no SASL")
                end = start + _LENGTH.size + size
                if len(buffer) < end:
                    break
                opened = self._ours.unwrap(bytes(buffer[start + _LENGTH.size : end]))
                if opened:
                    parts.append(opened)
                start = end
            del buffer[:start]
        self._partial = bytes(buffer)
        return b"".join(parts)
