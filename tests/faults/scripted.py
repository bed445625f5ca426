"""A server in front of the metastore that gives chosen calls another answer, or changes requests.

Internal failures of a metastore cannot be triggered at will: a listener that fails after the change, a database that
fails once, a server of another version. To a client each of them is an answer to a call.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TApplicationException, TException, TMessageType
from thrift.transport.TTransport import TMemoryBuffer

from hive_views.metastore._thrift.hive_metastore import ThriftHiveMetastore
from hive_views.metastore._thrift.hive_metastore.ttypes import MetaException
from tests.faults.view_changes import ALTER_TABLE
from tests.proxy import EVERY, LOOPBACK, Header, MessageStream, ProtocolError


@dataclass(frozen=True)
class Answer:
    """An error to answer instead of the server's answer."""

    error: TException
    """An error that the method declares, or Thrift's own TApplicationException."""
    carried_out: bool = False
    """Whether the metastore executes the request anyway."""


@dataclass
class EarlyAnswer:
    """An error to answer at once, while the request takes effect later, when `deliver` is called.

    It imitates a database that carries out a COMMIT after the metastore has reported a failure. One object serves one
    call.
    """

    error: TException
    """An error that the method declares, or Thrift's own TApplicationException."""
    request: bytes = field(default=b"", init=False, repr=False)
    """The request, once it has arrived."""

    def deliver(self, server_port: int) -> None:
        """Send the request to the server, and wait for its answer."""
        assert self.request, "the request did not arrive"
        with socket.create_connection((LOOPBACK, server_port)) as server:
            server.sendall(self.request)
            MessageStream(server).read()


@dataclass(frozen=True)
class Rewrite:
    """A replacement of bytes in the request by others of the same length."""

    old: bytes
    new: bytes


@dataclass
class _Rule:
    method: str
    action: Answer | EarlyAnswer | Rewrite
    nth: int
    after: str | None = None
    matched: int = 0


class ScriptedServer:
    """Listens on a free port of 127.0.0.1, as a context manager.

    Args:
        server_port: The port of the real server, at 127.0.0.1.
    """

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._rules: list[_Rule] = []
        self._mutex = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server((LOOPBACK, 0))
        self.port: int = self._listener.getsockname()[1]
        self.methods: list[str] = []
        """The called methods, in order."""
        self.requests: list[bytes] = []
        """The requests, in order of arrival."""

    @property
    def uri(self) -> str:
        """The URI for clients."""
        return f"thrift://{LOOPBACK}:{self.port}"

    def on(
        self, method: str, action: Answer | EarlyAnswer | Rewrite, *, nth: int = 1, after: str | None = None
    ) -> None:
        """Apply an action to the nth call of a method from now on, or to `EVERY` one; earlier rules take precedence.

        With `after`, calls are counted from the first call of that method on.
        """
        with self._mutex:
            self._rules.append(_Rule(method, action, nth, after))

    def __enter__(self) -> ScriptedServer:
        self._run(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for item in (self._listener, *self._sockets):
            with suppress(OSError):
                item.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(30)
        for item in (self._listener, *self._sockets):
            item.close()

    def _run(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection((LOOPBACK, self._server_port))
                except ConnectionRefusedError:
                    client.close()  # the metastore is restarting
                    continue
                for item in (client, server):
                    item.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self._sockets.append(item)
                self._run(self._serve, client, server)

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        requests, replies = MessageStream(client), MessageStream(server)
        with suppress(OSError, EOFError, ProtocolError):
            while True:
                header, request = requests.read()
                self.requests.append(request)
                action = self._choose_action(header.method)
                if isinstance(action, Rewrite):
                    assert len(action.old) == len(action.new)
                    request = request.replace(action.old, action.new)
                if isinstance(action, EarlyAnswer):
                    action.request = request
                if isinstance(action, EarlyAnswer) or (isinstance(action, Answer) and not action.carried_out):
                    client.sendall(_reply(header, action.error))
                    continue
                server.sendall(request)
                _, reply = replies.read()
                client.sendall(_reply(header, action.error) if isinstance(action, Answer) else reply)
        for item in (client, server):
            with suppress(OSError):
                item.shutdown(socket.SHUT_RDWR)

    def _choose_action(self, method: str) -> Answer | EarlyAnswer | Rewrite | None:
        with self._mutex:
            self.methods.append(method)
            chosen = None
            for rule in self._rules:
                if rule.method == method and rule.after in (None, *self.methods):
                    rule.matched += 1
                    if chosen is None and rule.nth in (EVERY, rule.matched):
                        chosen = rule.action
            return chosen


def _reply(header: Header, error: TException) -> bytes:
    buffer = TMemoryBuffer()
    protocol = TBinaryProtocol(buffer)
    is_internal = isinstance(error, TApplicationException)
    protocol.writeMessageBegin(
        header.method, TMessageType.EXCEPTION if is_internal else TMessageType.REPLY, header.sequence
    )
    if is_internal:
        error.write(protocol)
    else:
        _result(header.method, error).write(protocol)
    protocol.writeMessageEnd()
    return bytes(buffer.getvalue())


def _result(method: str, error: TException) -> Any:
    """Return the result struct of a method with an error in its declared field."""
    kind = getattr(ThriftHiveMetastore, f"{method}_result")
    for spec in kind.thrift_spec:
        if spec is not None and spec[3] and not isinstance(spec[3], str) and type(error) is spec[3][0]:
            return kind(**{spec[2]: error})
    raise AssertionError(f"{method} does not declare {type(error).__name__}")


def like_version_3(server: ScriptedServer) -> None:
    """Let a server imitate Hive 3.1.3: it has catalogs and ignores the expectations of an alter."""
    server.on("get_catalogs", Answer(MetaException("not now")), nth=EVERY)
    server.on(ALTER_TABLE, Rewrite(b"expected_parameter_key", b"unheard_of_parameter_k"), nth=EVERY)
