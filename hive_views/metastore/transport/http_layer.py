"""HTTP between Thrift and the socket: one POST per request (Hive 4, `metastore.server.thrift.transport.mode=http`).

The connection is kept between requests. The user of a request is in its headers, as Hive's client sends it: a JSON Web
Token, or only the name (`x-actor-username`); for gateways a password or a Kerberos token.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Sequence
from http.client import BadStatusLine, HTTPException, HTTPResponse, RemoteDisconnected
from typing import Protocol, cast

from hive_views.config import Authentication, ConnectionConfig, KerberosCredentials, SecretCredentials
from hive_views.metastore.transport.failures import HttpRejection, SecurityFailure
from hive_views.metastore.transport.kerberos import Negotiation
from hive_views.metastore.transport.principals import jwt_subject

DEFAULT_PATH = "/metastore"
"""The path where Hive's server has the metastore by default (metastore.server.thrift.http.path)."""

MAX_BODY_BYTES = 1024 * 1024 * 1024
"""The longest body of a response, in bytes."""

_CHUNK = 64 * 1024
_MAX_ERROR_TEXT, _MAX_PAGE = 300, 10_000


class Authorization(Protocol):
    """How the user of a request proves who it is."""

    name: str
    """The name of the authentication for messages."""
    user: str | None
    """The user whom the server sees; None if that is unknown."""

    def header(self) -> str:
        """Return the value of the header `Authorization` for one request; an empty text sends none."""

    def check(self, challenges: Sequence[str]) -> None:
        """Check the headers `WWW-Authenticate` of a response with status 200."""


class _UserName:
    """No proof: the server takes the user of the header `x-actor-username`."""

    name = "user name"

    def __init__(self, user: str | None) -> None:
        self.user = user

    def header(self) -> str:
        return ""

    def check(self, challenges: Sequence[str]) -> None:
        """Accept any response."""


class _Secret(_UserName):
    """A password or a JSON Web Token, which is read for each request, because it may be renewed."""

    def __init__(self, credentials: SecretCredentials) -> None:
        secret = credentials.secret.current()
        super().__init__(jwt_subject(secret.strip()) if credentials.kind is Authentication.JWT else credentials.user)
        self._credentials = credentials
        self.name = "JWT" if credentials.kind is Authentication.JWT else "Basic"

    def header(self) -> str:
        secret = self._credentials.secret.current()
        if self._credentials.kind is Authentication.JWT:
            return f"Bearer {_header_value(secret.strip())}"
        pair = f"{self._credentials.user}:{secret}".encode()
        return f"Basic {base64.b64encode(pair).decode()}"


class HttpLayer:
    """Wraps each request into a POST and unwraps its response; see `Layer`."""

    def __init__(self, head: str, authorization: Authorization) -> None:
        """Create a layer; `head` is the request line with the headers that all requests have."""
        self._head = head
        self.authorization = authorization
        self.is_reusable = True
        """Whether the server keeps the connection for another request."""
        self.max_body_bytes = MAX_BODY_BYTES
        """The longest body of a response that is read, in bytes."""

    def outgoing(self, data: bytes) -> bytes:
        value = self.authorization.header()
        authorization = f"Authorization: {value}\r\n" if value else ""
        return f"{self._head}{authorization}Content-Length: {len(data)}\r\n\r\n".encode("latin-1") + data

    def incoming(self, receive: Callable[[int], bytes], max_bytes: int) -> bytes:
        """Receive a whole response, since it may end after the Thrift message; see `Layer`."""
        self.is_reusable = False
        response = HTTPResponse(cast("io.BytesIO", _Received(receive)), method="POST")  # type: ignore[arg-type]
        try:
            response.begin()
            body = self._read_body(response)
        except RemoteDisconnected:
            raise
        except BadStatusLine as error:
            reason = f"its answer is not HTTP ({str(error)[:40]}). Perhaps it expects TLS (https) or uses thrift"
            raise ConnectionError(reason) from error
        except HTTPException as error:
            raise ConnectionError(f"its answer is incomplete: {error!r}") from error
        if response.status != 200:
            raise self._failure(response, body)
        self.authorization.check(response.headers.get_all("WWW-Authenticate") or ())
        self.is_reusable = not response.will_close
        return body

    def _read_body(self, response: HTTPResponse) -> bytes:
        parts: list[bytes] = []
        size = 0
        while part := response.read1(_CHUNK):
            parts.append(part)
            size += len(part)
            if size > self.max_body_bytes:
                raise ConnectionError(f"its answer is longer than {self.max_body_bytes} bytes")
        if response.length:
            raise ConnectionError(f"its answer is incomplete: {response.length} bytes are missing")
        return b"".join(parts)

    def _failure(self, response: HTTPResponse, body: bytes) -> OSError:
        """Return the error for a response with a status other than 200."""
        text = body[:_MAX_PAGE].decode("utf-8", "replace")
        if text.lstrip().lower().startswith(("<!doctype html", "<html")):
            text = re.sub(r"(?si)<(style|script|title)\b.*?</\1>|<!--.*?-->|<[^>]*>", " ", text)
        text = " ".join(text.split())[:_MAX_ERROR_TEXT]
        answer = f"{response.status} {response.reason}{f' ({text})' if text else ''}"
        if response.status in (401, 403, 407):
            schemes = {
                text.split(None, 1)[0] for text in response.headers.get_all("WWW-Authenticate") or () if text.strip()
            }
            offer = f". It expects {' or '.join(sorted(schemes))}" if schemes else ""
            return HttpRejection(f"the server answered {answer}{offer}", f"authenticate ({self.authorization.name})")
        if 300 <= response.status < 400 or response.status in (404, 405):
            return HttpRejection(
                f"the server answered {answer}. Check the path of the uri: Hive's default is {DEFAULT_PATH}", None
            )
        # Another server than the metastore may have answered, after the metastore got the request.
        return ConnectionError(f"the server answered {answer}")


class _Received(io.RawIOBase):
    """The received bytes as a file, for `HTTPResponse`."""

    def __init__(self, receive: Callable[[int], bytes]) -> None:
        super().__init__()
        self._receive = receive

    def makefile(self, mode: str) -> io.BufferedReader:
        """Return the file, as a socket does."""
        return io.BufferedReader(self, _CHUNK)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Receive at most as many bytes as fit into a buffer; 0 at the end."""
        try:
            data = self._receive(len(buffer))
        except EOFError:
            return 0
        buffer[: len(data)] = data
        return len(data)


def http_layer(host: str, port: str, path: str, config: ConnectionConfig) -> HttpLayer:
    """Create the layer for a metastore at a host (without brackets), port and path."""
    authority = f"[{host}]:{port}" if ":" in host else f"{host.encode('idna').decode()}:{port}"
    lines = [
        f"POST {path.rstrip('/') or DEFAULT_PATH} HTTP/1.1",
        f"Host: {authority}",
        "Content-Type: application/x-thrift",
        "Accept: application/x-thrift",
    ]
    authorization = _authorization(config, host)
    authorization.header()  # an invalid token is an error now
    user = authorization.user if isinstance(authorization, Negotiation) else config.user
    if user is not None:
        lines.append(f"x-actor-username: {_header_value(user)}")
    return HttpLayer("".join(f"{line}\r\n" for line in lines), authorization)


def _authorization(config: ConnectionConfig, host: str) -> Authorization:
    if isinstance(config.credentials, KerberosCredentials):
        return Negotiation(config.credentials, host)
    return _UserName(config.user) if config.credentials is None else _Secret(config.credentials)


def _header_value(value: str) -> str:
    """Return a value if it is safe in a header; reject a value that could add headers."""
    if not (value.isascii() and value.isprintable()):
        raise SecurityFailure("send the user or token", "it contains characters that are not allowed in HTTP headers")
    return value
