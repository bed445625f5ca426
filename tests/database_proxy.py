"""A TCP proxy between a metastore and its database that injects faults into the COMMIT of chosen transactions.

    with DatabaseProxy(server) as proxy:
        fault = proxy.on(TABLE_PARAMS, CommitFault.HELD)   # the next transaction that writes this table
        ...start a metastore with proxy.port, change a view...
        fault.release()                                    # the database commits now

It parses the client side of the protocols of PostgreSQL and of MariaDB, without TLS.
"""

from __future__ import annotations

import re
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType

from tests.integration.schema_upgrade.servers import LOOPBACK, Server
from tests.proxy import WAIT_S, bound_socket, close_socket

_UNTYPED_REQUESTS = (80877103, 80877104)
"""The requests for TLS and GSS encryption, which PostgreSQL clients send before the start-up packet."""
_COM_QUERY = 3
_WRITE = r'^\s*(INSERT\s+INTO|UPDATE|DELETE(\s+\w+)?\s+FROM)\s+["`]?({tables})["`]?\b'
_END = re.compile(r"\s*(COMMIT|ROLLBACK)\b", re.IGNORECASE)


class CommitFault(Enum):
    """What happens to a COMMIT."""

    HELD = "held, connection reset"
    """The metastore's connection is reset; the database gets the COMMIT later."""
    DELAYED = "delayed"
    """The database gets the COMMIT later, and the metastore its answer."""
    LOST = "lost, connection reset"
    """The database never gets it."""
    REPLY_LOST = "reply lost, connection reset"
    """The database commits, and the metastore gets no answer."""
    REFUSED = "refused"
    """The database answers an error and rolls the transaction back."""
    KILLED = "session killed"
    """An administrator kills the session before the database gets the COMMIT."""

    def __str__(self) -> str:
        return self.value


@dataclass
class InjectedFault:
    """A fault that is applied to the next transaction that writes one of the tables."""

    tables: re.Pattern[str]
    kind: CommitFault
    is_applied: bool = False
    arrived: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def wait_until_arrived(self, timeout_s: float = WAIT_S) -> None:
        """Wait for the COMMIT."""
        if not self.arrived.wait(timeout_s):
            raise TimeoutError("no transaction wrote the tables")

    def release(self) -> None:
        """Deliver a held COMMIT, and wait for the database's answer."""
        self.released.set()
        if self.arrived.is_set() and not self.ended.wait(WAIT_S):
            raise TimeoutError("the database did not answer the COMMIT")


class DatabaseProxy:
    """A proxy on a free port, as a context manager."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._listener = bound_socket(0)
        self.port: int = self._listener.getsockname()[1]
        self._mutex = threading.Lock()
        self._fault: InjectedFault | None = None
        self._sockets: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []

    def on(self, tables: str, kind: CommitFault) -> InjectedFault:
        """Apply a fault to the next COMMIT of a transaction that writes a table whose name matches."""
        self._fault = InjectedFault(re.compile(_WRITE.replace("{tables}", tables), re.IGNORECASE), kind)
        return self._fault

    def clear(self) -> None:
        """Inject no further faults."""
        self._fault = None

    def __enter__(self) -> DatabaseProxy:
        self._listener.listen(128)
        self._run(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        close_socket(self._listener)
        if self._fault is not None:
            self._fault.released.set()
        with self._mutex:
            sockets = list(self._sockets)
        for item in sockets:
            close_socket(item)
        for thread in self._threads:
            thread.join(WAIT_S)

    def _run(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection((LOOPBACK, self._server.port))
            except OSError:
                return
            for item in (client, server):
                item.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._mutex:
                self._sockets |= {client, server}
            session = _Session(self, self._server, client, server)
            self._run(session.forward_requests)
            self._run(session.forward_replies)

    def take_fault(self, statements: list[str]) -> InjectedFault | None:
        """Return the fault to apply to the COMMIT of a transaction, if it is the chosen one."""
        with self._mutex:
            fault = self._fault
            if fault is None or fault.is_applied or not any(fault.tables.match(text) for text in statements):
                return None
            fault.is_applied = True
            return fault


class _Session:
    """One connection of the metastore."""

    def __init__(self, proxy: DatabaseProxy, server: Server, client: socket.socket, upstream: socket.socket) -> None:
        self._proxy = proxy
        self._database = server
        self._client = client
        self._server = upstream
        self._port = upstream.getsockname()[1]
        self._statements: list[str] = []
        self._prepared: dict[bytes, str] = {}
        self._replied = threading.Event()
        self._discard_replies = False

    def forward_replies(self) -> None:
        """Copy the database's answers."""
        with suppress(OSError):
            while data := self._server.recv(65536):
                self._replied.set()
                if not self._discard_replies:
                    self._client.sendall(data)
        close_socket(self._client)
        self._replied.set()

    def forward_requests(self) -> None:
        """Forward the metastore's requests, one protocol message at a time."""
        forward = self._forward_postgresql if self._database.kind == "postgresql" else self._forward_mariadb
        with suppress(OSError, EOFError):
            forward()
        close_socket(self._server)
        close_socket(self._client)

    def _forward_postgresql(self) -> None:
        while True:  # start-up packets have no type
            head = self._receive(8)
            length, code = struct.unpack("!ii", head)
            self._server.sendall(head + self._receive(length - 8))
            if code not in _UNTYPED_REQUESTS:
                break
        while True:
            head = self._receive(5)
            body = self._receive(struct.unpack("!i", head[1:])[0] - 4)
            text = None
            if head[:1] == b"Q":
                text = body.rstrip(b"\0").decode(errors="replace")
            elif head[:1] == b"P":
                name, query = body.split(b"\0", 2)[:2]
                self._prepared[name] = query.decode(errors="replace")
            elif head[:1] == b"B":
                text = self._prepared.get(body.split(b"\0", 2)[1])
            if text is not None and _END.match(text):
                message = head + body
                while head[:1] not in (b"Q", b"S"):  # the rest of the extended protocol's request
                    head = self._receive(5)
                    message += head + self._receive(struct.unpack("!i", head[1:])[0] - 4)
                query = b"SELECT 1/0\0"
                self._end_transaction(text, message, b"Q" + struct.pack("!i", len(query) + 4) + query)
                continue
            if text is not None:
                self._statements.append(text)
            self._server.sendall(head + body)

    def _forward_mariadb(self) -> None:
        while True:
            head = self._receive(4)
            body = self._receive(int.from_bytes(head[:3], "little"))
            text = body[1:].decode(errors="replace") if head[3] == 0 and body[:1] == bytes([_COM_QUERY]) else None
            if text is not None and _END.match(text):
                query = bytes([_COM_QUERY]) + b"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'commit refused'"
                self._end_transaction(text, head + body, len(query).to_bytes(3, "little") + b"\0" + query)
                continue
            if text is not None:
                self._statements.append(text)
            self._server.sendall(head + body)

    def _end_transaction(self, text: str, message: bytes, failing: bytes) -> None:
        statements, self._statements = self._statements, []
        is_commit = text.lstrip().upper().startswith("COMMIT")
        fault = self._proxy.take_fault(statements) if is_commit else None
        if fault is None:
            self._server.sendall(message)
            return
        try:
            self._apply(fault, message, failing)
        finally:
            fault.ended.set()

    def _apply(self, fault: InjectedFault, message: bytes, failing: bytes) -> None:
        self._replied.clear()
        if fault.kind in (CommitFault.HELD, CommitFault.LOST, CommitFault.REPLY_LOST):
            self._discard_replies = True
        if fault.kind in (CommitFault.HELD, CommitFault.LOST):
            close_socket(self._client, reset=True)
        fault.arrived.set()
        if fault.kind in (CommitFault.HELD, CommitFault.DELAYED):
            fault.released.wait(WAIT_S)
        if fault.kind is CommitFault.LOST:
            close_socket(self._server, reset=True)
            raise EOFError
        if fault.kind is CommitFault.KILLED:
            self._kill_session()
        with suppress(OSError):
            self._server.sendall(failing if fault.kind is CommitFault.REFUSED else message)
        self._replied.wait(WAIT_S)
        if self._discard_replies:
            close_socket(self._client, reset=True)
            raise EOFError

    def _kill_session(self) -> None:
        if self._database.kind == "postgresql":
            self._database.run(
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE client_port = {self._port}"
            )
            return
        where = f"HOST = '{LOOPBACK}:{self._port}'"
        session_id = self._database.run(f"SELECT ID FROM information_schema.PROCESSLIST WHERE {where}").strip()
        self._database.run(f"KILL {session_id}")

    def _receive(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            received = self._client.recv(count - len(data))
            if not received:
                raise EOFError
            data += received
        return data
