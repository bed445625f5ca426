"""A server in front of the metastore that gives chosen calls another answer, or changes requests.

Internal failures of a metastore cannot be triggered at will: a listener that fails after the change, a database that
fails once, a server of another version. To a client each of them is an answer to a call.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
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
    """The client is told this, in place of what the server would say."""

    error: TException
    """An error that the method declares, or Thrift's own TApplicationException."""
    carried_out: bool = False
    """Whether the real server gets the request all the same."""


@dataclass(frozen=True)
class Rewrite:
    """Bytes of the request are replaced by others of the same length."""

    old: bytes
    new: bytes


@dataclass
class _Line:
    method: str
    action: Answer | Rewrite
    nth: int
    after: str | None = None
    seen: int = 0


class ScriptedServer:
    """Listens on a free port of 127.0.0.1, as a context manager.

    Args:
        server_port: The port of the real server, at 127.0.0.1.
    """

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._lines: list[_Line] = []
        self._guard = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server((LOOPBACK, 0))
        self.port: int = self._listener.getsockname()[1]
        self.methods: list[str] = []
        """What was called, in order."""

    @property
    def uri(self) -> str:
        """Where clients connect to."""
        return f"thrift://{LOOPBACK}:{self.port}"

    def on(self, method: str, action: Answer | Rewrite, *, nth: int = 1, after: str | None = None) -> None:
        """Do something to the nth call of a method from now on (`EVERY`: to all); lines made first come first.

        With `after`, calls are counted from the first call of that method on.
        """
        with self._guard:
            self._lines.append(_Line(method, action, nth, after))

    def __enter__(self) -> ScriptedServer:
        self._run(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for each in (self._listener, *self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(30)
        for each in (self._listener, *self._sockets):
            each.close()

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
                    client.close()  # the real one is being started again
                    continue
                for each in (client, server):
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self._sockets.append(each)
                self._run(self._serve, client, server)

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        requests, replies = MessageStream(client), MessageStream(server)
        with suppress(OSError, EOFError, ProtocolError):
            while True:
                header, request = requests.read()
                action = self._turn(header.method)
                if isinstance(action, Rewrite):
                    assert len(action.old) == len(action.new)
                    request = request.replace(action.old, action.new)
                if isinstance(action, Answer) and not action.carried_out:
                    client.sendall(_reply(header, action.error))
                    continue
                server.sendall(request)
                _, reply = replies.read()
                client.sendall(_reply(header, action.error) if isinstance(action, Answer) else reply)
        for each in (client, server):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _turn(self, method: str) -> Answer | Rewrite | None:
        with self._guard:
            self.methods.append(method)
            chosen = None
            for line in self._lines:
                if line.method == method and line.after in (None, *self.methods):
                    line.seen += 1
                    if chosen is None and line.nth in (EVERY, line.seen):
                        chosen = line.action
            return chosen


def _reply(header: Header, error: TException) -> bytes:
    buffer = TMemoryBuffer()
    protocol = TBinaryProtocol(buffer)
    broken = isinstance(error, TApplicationException)
    protocol.writeMessageBegin(header.method, TMessageType.EXCEPTION if broken else TMessageType.REPLY, header.sequence)
    if broken:
        error.write(protocol)
    else:
        _result(header.method, error).write(protocol)
    protocol.writeMessageEnd()
    return bytes(buffer.getvalue())


def _result(method: str, error: TException) -> Any:
    """The generated structure of a method's answer, with an error in the field that the method declares for it."""
    kind = getattr(ThriftHiveMetastore, f"{method}_result")
    for field in kind.thrift_spec:
        if field is not None and field[3] and not isinstance(field[3], str) and type(error) is field[3][0]:
            return kind(**{field[2]: error})
    raise AssertionError(f"{method} does not declare {type(error).__name__}")


def like_version_3(server: ScriptedServer) -> None:
    """Make it look like Hive 3.1.3 in what matters here: it has catalogs, and ignores what an alter expects."""
    server.on("get_catalogs", Answer(MetaException("not now")), nth=EVERY)
    server.on(ALTER_TABLE, Rewrite(b"expected_parameter_key", b"unheard_of_parameter_k"), nth=EVERY)
