"""Delegation tokens: SASL's mechanism DIGEST-MD5 (RFC 2831), with signed or encrypted frames.

Hadoop's servers (javax.security.sasl) encrypt with RC4 or 3DES; this has RC4, which needs no other package. A frame
that is encrypted or signed ends with its type, 1, and its number.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
import struct
from dataclasses import dataclass

from hive_views.kerberos_names import Rule, short_name
from hive_views.metastore.transport.failures import SecurityFailure
from hive_views.metastore.transport.principals import token_owner

_PROTECTIONS = ("auth-conf", "auth-int", "auth")
"""The protections of frames: encryption, a signature, none."""

_CIPHERS = {"rc4": 16, "rc4-56": 7, "rc4-40": 5}
"""The ciphers, with the number of bytes of the hash that their keys are made of."""

_MAC_BYTES, _TRAILER = 10, struct.Struct("!HI")
_DEFAULT_MAX_FRAME, _MIN_MAX_FRAME = 65_536, 1_024
_OVERHEAD_BYTES = 26
"""How much shorter than the server's longest frame the data in it are, as in Java."""


class Rc4:
    """The cipher RC4; encrypting and decrypting are the same operation, and its state lasts as long as a connection."""

    def __init__(self, key: bytes) -> None:
        self._state = state = list(range(256))
        self._i = self._j = j = 0
        for i in range(256):
            j = (j + state[i] + key[i % len(key)]) & 255
            state[i], state[j] = state[j], state[i]

    def apply(self, data: bytes) -> bytes:
        """Return the next bytes, encrypted or decrypted."""
        state, i, j = self._state, self._i, self._j
        result = bytearray(len(data))
        for index, byte in enumerate(data):
            i = (i + 1) & 255
            a = state[i]
            j = (j + a) & 255
            b = state[i] = state[j]
            state[j] = a
            result[index] = byte ^ state[(a + b) & 255]
        self._i, self._j = i, j
        return bytes(result)


class Direction:
    """The protection of the frames in one direction (RFC 2831, sections 2.3 and 2.4)."""

    def __init__(self, secret: bytes, direction: str, cipher: str | None) -> None:
        """Derive the keys from the secret of a connection; without a cipher, frames are only signed.

        `direction` is `client-to-server` or `server-to-client`.
        """
        self._key = hashlib.md5(
            secret + f"Digest session key to {direction} signing key magic constant".encode()
        ).digest()
        self._cipher = None
        if cipher is not None:
            label = f"Digest H(A1) to {direction} sealing key magic constant".encode()
            self._cipher = Rc4(hashlib.md5(secret[: _CIPHERS[cipher]] + label).digest())
        self._number = 0

    def protect(self, data: bytes) -> bytes:
        """Return the frame for data."""
        protected = self._apply(data + self._code(data)) + _TRAILER.pack(1, self._number)
        self._number += 1
        return protected

    def open(self, frame: bytes) -> bytes:
        """Return the data in a frame; raises ConnectionError if it was changed or is not the next one."""
        sealed, trailer = frame[: -_TRAILER.size], frame[-_TRAILER.size :]
        plain = self._apply(sealed)
        data, code = plain[:-_MAC_BYTES], plain[-_MAC_BYTES:]
        is_next = trailer == _TRAILER.pack(1, self._number)
        if not is_next or not hmac.compare_digest(code, self._code(data)):
            raise ConnectionError("a frame of the answer was changed in transit")
        self._number += 1
        return data

    def _apply(self, data: bytes) -> bytes:
        return data if self._cipher is None else self._cipher.apply(data)

    def _code(self, data: bytes) -> bytes:
        return hmac.digest(self._key, struct.pack("!I", self._number) + data, "md5")[:_MAC_BYTES]


@dataclass(frozen=True)
class _Protection:
    """The protection that both sides agreed on."""

    outgoing: Direction
    incoming: Direction
    max_data: int
    """The largest number of bytes of data in a frame."""


class Token:
    """A delegation token in Hadoop's URL-safe text form."""

    name = "DIGEST-MD5"
    # Hadoop's bridge builds this from a missing protocol and its default server name.
    _uri = "null/default"

    def __init__(self, token: str, rules: tuple[Rule, ...]) -> None:
        identifier, password = parse_token(token)
        owner = token_owner(identifier)
        # The realm is that of the server, which made the token from the principal of its user.
        self.user = None if owner is None else short_name(owner, rules, owner.rpartition("@")[2])
        self._user = base64.b64encode(identifier).decode()
        self._password = base64.b64encode(password).decode()
        self._expected = ""
        self._protection: _Protection | None = None

    def respond(self, challenge: bytes) -> bytes:
        fields = {
            key.lower(): quoted or bare
            for key, quoted, bare in re.findall(
                r'([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*))', challenge.decode("utf-8", "replace")
            )
        }
        if not challenge:
            return b""
        if "rspauth" in fields:
            if not secrets.compare_digest(fields["rspauth"], self._expected):
                raise SecurityFailure(
                    "check the server", "it does not know the token's secret, so it is not the metastore"
                )
            return b""
        quality, cipher = _agree(fields)
        realm, nonce = fields.get("realm", "default"), fields.get("nonce", "")
        client_nonce = secrets.token_hex(16)
        password = hashlib.md5(f"{self._user}:{realm}:{self._password}".encode()).digest()
        secret = hashlib.md5(password + f":{nonce}:{client_nonce}".encode())
        if quality != "auth":
            longest = fields.get("maxbuf", "")
            limit = max(int(longest) if longest.isdecimal() else _DEFAULT_MAX_FRAME, _MIN_MAX_FRAME) - _OVERHEAD_BYTES
            outgoing = Direction(secret.digest(), "client-to-server", cipher)
            self._protection = _Protection(outgoing, Direction(secret.digest(), "server-to-client", cipher), limit)

        def proof(prefix: str) -> str:
            suffix = "" if quality == "auth" else f":{'0' * 32}"
            second = hashlib.md5(f"{prefix}:{self._uri}{suffix}".encode()).hexdigest()
            digest = f"{secret.hexdigest()}:{nonce}:00000001:{client_nonce}:{quality}:{second}"
            return hashlib.md5(digest.encode()).hexdigest()

        self._expected = proof("")
        chosen = f',cipher="{cipher}"' if cipher else ""
        return (
            f'charset=utf-8,username="{self._user}",realm="{realm}",nonce="{nonce}",nc=00000001,cnonce="{client_nonce}",'
            f'digest-uri="{self._uri}",response={proof("AUTHENTICATE")},qop={quality}{chosen}'
        ).encode()

    def wrap(self, data: bytes) -> list[bytes]:
        protection = self._protection
        if protection is None:
            return [data]
        size = protection.max_data
        return [protection.outgoing.protect(data[start : start + size]) for start in range(0, len(data), size)]

    def unwrap(self, frame: bytes) -> bytes:
        return frame if self._protection is None else self._protection.incoming.open(frame)


def _agree(fields: dict[str, str]) -> tuple[str, str | None]:
    """Return the strongest protection and cipher that a server offers, in the fields of its challenge."""
    offered = _words(fields.get("qop", "auth"))
    ciphers = _words(fields.get("cipher", ""))
    cipher = next((name for name in _CIPHERS if name in ciphers), None)
    for quality in _PROTECTIONS:
        if quality in offered and (quality != "auth-conf" or cipher is not None):
            return quality, cipher if quality == "auth-conf" else None
    offer = ", ".join((*offered, *(f"cipher {name}" for name in ciphers)))
    raise SecurityFailure(
        "agree on protection", f"the server offers only {offer}; tokens need the cipher rc4 for auth-conf"
    )


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[\s,]+", text) if word]


def parse_token(text: str) -> tuple[bytes, bytes]:
    """Return the identifier and the password of a token in Hadoop's text form."""
    try:
        data = base64.urlsafe_b64decode(text.strip() + "=" * (-len(text.strip()) % 4))
        identifier, rest = _read_bytes(data)
        password, _ = _read_bytes(rest)
    except (binascii.Error, struct.error, ValueError) as error:
        raise SecurityFailure("read the token", "it is not a delegation token in Hadoop's text form") from error
    return identifier, password


def _read_bytes(data: bytes) -> tuple[bytes, bytes]:
    """Return bytes that follow their length (Hadoop, WritableUtils.writeVInt), and the rest of the data."""
    first = struct.unpack_from("b", data)[0]
    size, start = first, 1
    if first < -112:
        width = -112 - first
        size, start = int.from_bytes(data[1 : 1 + width], "big"), 1 + width
    if not 0 <= size <= len(data) - start:
        raise ValueError("wrong length")
    return data[start : start + size], data[start + size :]
