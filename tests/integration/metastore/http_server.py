"""A real Hive 4 metastore that speaks HTTP, on the loopback address only.

Hive's `main` listens on all addresses in this mode (4.0.1 and 4.2.0 have no setting for it), so this calls its
`startHttpMetastore` and sets the address of its Jetty server before it starts.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from hive_views.local_metastore.directory import MetastoreDirectory
from hive_views.local_metastore.gateway import LOOPBACK
from hive_views.local_metastore.jvm import Launch
from hive_views.local_metastore.process import is_listening
from hive_views.local_metastore.standalone import StandaloneMetastore, free_port

_PACKAGE = "org.apache.hadoop.hive.metastore"


class HttpMetastore(StandaloneMetastore):
    """A metastore of Hive 4 over HTTP; see `StandaloneMetastore`."""

    def _prepare(self) -> Launch:
        return replace(super()._prepare(), serve=_serve)

    def _site(self) -> dict[str, str]:
        return {"metastore.server.thrift.transport.mode": "http", **super()._site()}

    def _is_ready(self, port: int, timeout_s: float) -> bool:
        return is_listening(port, timeout_s)

    @property
    def uri(self) -> str:
        return f"http://{LOOPBACK}:{self.port}/metastore"


def _serve(gateway: Any, directory: MetastoreDirectory, port: int, deadline: float) -> int:
    """Start Hive's HTTP server on the loopback address; its port."""
    jvm = gateway.jvm
    port = port or free_port()
    jvm.java.lang.System.setOut(jvm.java.lang.System.err)
    configuration = getattr(jvm, f"{_PACKAGE}.conf.MetastoreConf").newMetastoreConf()
    jvm.org.apache.hadoop.security.UserGroupInformation.setConfiguration(configuration)
    find = jvm.java.lang.Class.forName
    types = gateway.new_array(jvm.java.lang.Class, 2)
    types[0], types[1] = jvm.java.lang.Integer.TYPE, find("org.apache.hadoop.conf.Configuration")
    create = find(f"{_PACKAGE}.HiveMetaStore").getDeclaredMethod("startHttpMetastore", types)
    create.setAccessible(True)
    arguments = gateway.new_array(jvm.java.lang.Object, 2)
    arguments[0], arguments[1] = port, configuration
    thrift_server = create.invoke(None, arguments)
    field = thrift_server.getClass().getDeclaredField("val$server")
    field.setAccessible(True)
    server = field.get(thrift_server)
    for connector in server.getConnectors():
        connector.setHost(LOOPBACK)
    # `startHttpMetastore` returns an object whose `start` starts this server, and waits for its end.
    server.start()
    return port


@dataclass(frozen=True)
class Verdict:
    """What a gateway thinks of a request."""

    user: str | None
    """The user whom it names to the metastore; None answers 401."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers of its response."""


Check = Callable[[str | None], Verdict]
"""Judges the header `Authorization` of a request."""


def basic(user: str, password: str) -> Check:
    """Return the check of a password."""
    expected = f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"
    return lambda authorization: Verdict("gateway" if authorization == expected else None)


class Gateway:
    """An HTTP gateway in front of a metastore: checks who sends a request, and injects faults into chosen calls.

    Args:
        target: The port of the metastore.
        check: Judges each request.
    """

    def __init__(self, target: int, check: Check) -> None:
        self.faults: dict[str, str] = {}
        """By method, the fault of its next call: `reply lost`, `refused` (status 401), `failed` (status 503 after the
        metastore answered), `cut` (half of the body), `other headers` (those of the previous response)."""
        self.calls: list[str] = []
        """The methods of the calls."""
        self.previous: Mapping[str, str] = {}
        """The headers of the previous verdict."""
        self.connections = 0
        """The number of connections that clients opened."""
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                gateway.connections += 1

            def do_POST(self) -> None:
                request = self.rfile.read(int(self.headers["Content-Length"]))
                method = request[8 : 8 + int.from_bytes(request[4:8], "big")].decode()
                gateway.calls.append(method)
                fault = gateway.faults.pop(method, None)
                verdict = check(self.headers["Authorization"])
                if verdict.user is None or fault == "refused":
                    self._answer(401, b"who are you?", verdict.headers)
                    return
                upstream = HTTPConnection(LOOPBACK, target, timeout=60)
                named = {"Content-Type": "application/x-thrift", "x-actor-username": verdict.user}
                upstream.request("POST", self.path, request, named)
                answer = upstream.getresponse()
                body = answer.read()
                upstream.close()
                if fault == "reply lost":
                    self.close_connection = True
                elif fault == "failed":
                    self._answer(503, b"busy", {})
                else:
                    headers = gateway.previous if fault == "other headers" else verdict.headers
                    self._answer(answer.status, body, headers, len(body) // 2 if fault == "cut" else None)
                gateway.previous = verdict.headers

            def _answer(self, status: int, body: bytes, headers: Mapping[str, str], keep: int | None = None) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[:keep])
                self.close_connection = keep is not None

            def log_message(self, format: str, *args: object) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.uri = f"http://localhost:{self._server.server_port}/metastore"

    def __enter__(self) -> Gateway:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)
