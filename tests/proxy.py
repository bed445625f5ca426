"""A TCP proxy between a Thrift client and a real metastore that injects network faults into chosen calls.

    with ThriftProxy(metastore.port) as proxy:
        proxy.on("alter_table_with_environment_context", DropReply())   # its next call; the server executes it
        ...connect to proxy.port...
        assert proxy.methods == ["get_table_req", "alter_table_with_environment_context"]

It parses Thrift's binary protocol (strict and old headers, without frames and SASL) to find message boundaries and
method names. Faults are triggered by calls, not by time; only `Delay` waits.
"""

from __future__ import annotations

import select
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TypeVar

from typing_extensions import Self

LOOPBACK = "127.0.0.1"

EVERY = 0
"""Value of `nth`: every matching call."""

ANY = "*"
"""Value of `method`: any method."""

WAIT_S = 120.0
"""The time-out of waiting methods, in seconds."""

# -- Actions ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pass:
    """Forward the call."""


@dataclass(frozen=True)
class DropRequest:
    """Close the connection without forwarding the request; `reset` uses a TCP reset."""

    reset: bool = False


@dataclass(frozen=True)
class CutRequest:
    """Forward the first half of the request and close both connections, so that the server cannot execute it."""


@dataclass(frozen=True)
class Replace:
    """Forward the request with some of its bytes replaced by as many others."""

    old: bytes
    new: bytes


@dataclass(frozen=True)
class ReplaceReply:
    """Forward the request, and return the answer with some of its bytes replaced by as many others."""

    old: bytes
    new: bytes
    applied: threading.Event = field(default_factory=threading.Event, init=False, repr=False)


@dataclass(frozen=True)
class Duplicate:
    """Forward the request twice and return the second answer, like an internal retry of the server."""


@dataclass(frozen=True)
class DropReply:
    """Forward the request, and close the client's connection instead of returning the answer.

    `reset` uses a TCP reset; `silent` leaves the connection open, so that the client times out.
    """

    reset: bool = False
    silent: bool = False


@dataclass(frozen=True)
class CutReply:
    """Forward the request, and return the first `keep` bytes of the answer (None: half of it)."""

    keep: int | None = None


@dataclass(frozen=True)
class Delay:
    """Delay the request and the answer, in seconds."""

    request_s: float = 0.0
    reply_s: float = 0.0


@dataclass(frozen=True)
class BlackHole:
    """Keep the connection open without forwarding the request."""


@dataclass(frozen=True)
class Hold:
    """Hold the request until `release`, and deliver it then even if the client has disconnected (Iceberg #14096).

    Meanwhile the client's connection is silent, or closed immediately with `close`. One object serves one call.
    """

    close: bool = False
    arrived: threading.Event = field(default_factory=threading.Event, init=False, repr=False)
    released: threading.Event = field(default_factory=threading.Event, init=False, repr=False)
    applied: threading.Event = field(default_factory=threading.Event, init=False, repr=False)

    def wait_until_held(self, timeout_s: float = WAIT_S) -> None:
        """Wait until the request has arrived."""
        _wait(self.arrived, timeout_s, "the call to hold did not arrive")

    def release(self, timeout_s: float = WAIT_S) -> None:
        """Deliver the request and wait for the server's answer."""
        self.released.set()
        _wait(self.applied, timeout_s, "the server did not answer the held call")


class FurtherAction:
    """An action that only a subclass of the proxy applies."""


Action = (
    Pass
    | DropRequest
    | CutRequest
    | Replace
    | ReplaceReply
    | Duplicate
    | DropReply
    | CutReply
    | Delay
    | BlackHole
    | Hold
    | FurtherAction
)
SomeAction = TypeVar("SomeAction", bound=Action)
T = TypeVar("T")


@dataclass
class Call:
    """A recorded call."""

    connection: int
    """The number of the client's connection, from 1."""
    method: str
    """The Thrift method."""
    action: Action
    """The action applied to it."""
    delivered: bool = False
    """Whether the request was forwarded to the server."""
    answered: bool = False
    """Whether the server answered it."""
    returned: bool = False
    """Whether the complete answer was returned to the client."""
    request: bytes = field(default=b"", repr=False)
    """The message including its header."""


@dataclass
class _Rule:
    method: str
    action: Action
    nth: int
    onwards: bool
    after: str | None
    matched: int = 0

    def applies(self, method: str) -> bool:
        """Count a call, and return whether the rule applies to it."""
        if method == self.after:
            self.after = None
        if self.after is not None or self.method not in (ANY, method):
            return False
        self.matched += 1
        return self.matched >= self.nth if self.onwards else self.nth in (EVERY, self.matched)


# -- The proxy --------------------------------------------------------------------------------------------------------


class ProtocolError(Exception):
    """The data are not Thrift's binary protocol."""


class ThriftProxy:
    """A proxy on a free port of 127.0.0.1, as a context manager.

    Args:
        server_port: The port of the real server, at 127.0.0.1.
    """

    def __init__(self, server_port: int) -> None:
        self.server_port = server_port
        self._mutex = threading.Lock()
        self._rules: list[_Rule] = []
        self._calls: list[Call] = []
        self._connections = 0
        self._active: list[Call] = []
        self._max_concurrent = 0
        self._sockets: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._stopping = threading.Event()
        self._listener = bound_socket(0)
        self.port: int = self._listener.getsockname()[1]
        self._accepting = False
        self._failure: ProtocolError | None = None

    @property
    def uri(self) -> str:
        """The URI for clients."""
        return f"thrift://{LOOPBACK}:{self.port}"

    @property
    def calls(self) -> list[Call]:
        """The calls until now, in the order of their arrival."""
        with self._mutex:
            return [replace(call) for call in self._calls]

    @property
    def methods(self) -> list[str]:
        """The methods of `calls`."""
        return [call.method for call in self.calls]

    @property
    def connections(self) -> int:
        """The number of client connections until now."""
        with self._mutex:
            return self._connections

    @property
    def most_at_once(self) -> int:
        """The maximum number of concurrent calls; a call ends just before its answer is returned."""
        with self._mutex:
            return self._max_concurrent

    def on(
        self, method: str, action: SomeAction, *, nth: int = 1, onwards: bool = False, after: str | None = None
    ) -> SomeAction:
        """Apply an action to calls of a method from now on; of several matching rules the first wins.

        With `after`, calls are counted from the next call of that method on.
        """
        with self._mutex:
            self._rules.append(_Rule(method, action, nth, onwards, after))
        return action

    @contextmanager
    def in_flight(self, method: str, run: Callable[..., T], *arguments: object, nth: int = 1) -> Iterator[Future[T]]:
        """Call `run` in a thread, and hold its request of a method during the block. Its result is in the future."""
        held = self.on(method, Hold(), nth=nth)
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(run, *arguments)
            try:
                held.wait_until_held()
                yield running
                held.release()
            finally:
                held.released.set()

    def clear(self) -> None:
        """Remove all rules and recorded calls; connections stay."""
        with self._mutex:
            self._rules.clear()
            self._calls.clear()
            self._max_concurrent = len(self._active)

    def accept(self) -> None:
        """Accept connections (again)."""
        if not self._accepting:
            self._listener.listen(64)
            self._accepting = True
            self._run(self._accept_loop, self._listener)

    def refuse(self) -> None:
        """Refuse new connections; open ones stay, and the port stays bound."""
        if self._accepting:
            self._accepting = False
            close_socket(self._listener)
            # A bound port without a listener refuses connections.
            self._listener = bound_socket(self.port)

    def disconnect(self) -> None:
        """Close all open connections, like a restart of the server."""
        with self._mutex:
            sockets, self._sockets = self._sockets, set()
        for item in sockets:
            # Only shut down: the thread that serves it wakes up and closes it.
            _shut(item)

    def close(self) -> None:
        """Stop the proxy; held requests are lost."""
        self._stopping.set()
        close_socket(self._listener)
        self.disconnect()
        for thread in self._threads:
            thread.join(WAIT_S)
        if self._failure:
            raise self._failure

    def __enter__(self) -> Self:
        self.accept()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True, name=f"proxy-{self.port}")
        self._threads.append(thread)
        thread.start()

    def _accept_loop(self, listener: socket.socket) -> None:
        while not self._stopping.is_set():
            try:
                client, _ = listener.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._mutex:
                self._connections += 1
                number = self._connections
                self._sockets.add(client)
            self._run(self._serve, client, number)

    def _serve(self, client: socket.socket, number: int) -> None:
        try:
            server = socket.create_connection((LOOPBACK, self.server_port), timeout=WAIT_S)
        except OSError:
            self._forget(client)
            return
        server.settimeout(None)
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._mutex:
            self._sockets.add(server)
        if self._stopping.is_set():
            self._forget(client)
            self._forget(server)
            return
        requests, replies = MessageStream(client), MessageStream(server)
        try:
            # If either side or the proxy closes, the other connection is closed.
            with suppress(OSError, EOFError):
                while self._one_call(requests, replies, number):
                    pass
        except ProtocolError as error:
            self._failure = error
        finally:
            self._forget(client)
            self._forget(server)

    def _one_call(self, requests: MessageStream, replies: MessageStream, number: int) -> bool:
        """Forward one call or apply a rule to it; return False at the end of the connection."""
        client, server = requests.source, replies.source
        if not requests.pending:
            ready, _, _ = select.select([client, server], [], [])
            if server in ready:
                # Data without a request: the server has closed the connection.
                return False
        header, request = requests.read()
        call = self._admit(number, header.method, request)
        try:
            return self._apply(call, header, request, client, replies)
        finally:
            self._leave(call)

    def _apply(self, call: Call, header: Header, request: bytes, client: socket.socket, replies: MessageStream) -> bool:
        server, action = replies.source, call.action
        match action:
            case DropRequest(reset):
                close_socket(client, reset=reset)
                return False
            case CutRequest():
                server.sendall(request[: len(request) // 2])
                close_socket(client)
                return False
            case Replace(old, new):
                request = request.replace(old, new)
            case BlackHole():
                while client.recv(65536):
                    pass
                return False
            case Delay(request_s):
                self._pause(request_s)
            case Hold(close):
                if close:
                    close_socket(client)
                action.arrived.set()
                while not action.released.wait(0.05):
                    if self._stopping.is_set():
                        return False
        server.sendall(request)
        call.delivered = True
        if header.one_way:
            return True
        _, reply = replies.read()
        call.answered = True
        if isinstance(action, Duplicate):
            server.sendall(request)
            _, reply = replies.read()
        match action:
            case DropReply(reset, silent):
                while silent and client.recv(65536):
                    pass
                close_socket(client, reset=reset)
                return False
            case CutReply(keep):
                client.sendall(reply[: len(reply) // 2 if keep is None else keep])
                close_socket(client)
                return False
            case Delay(_, reply_s):
                self._pause(reply_s)
            case ReplaceReply(old, new) if old in reply:
                reply = reply.replace(old, new)
                action.applied.set()
            case Hold():
                action.applied.set()
        # Set before sending: the client may have the reply, and the test may check it, before this thread continues.
        call.returned = True
        self._leave(call)
        try:
            client.sendall(reply)
        except OSError:
            call.returned = False
            raise
        return True

    def _admit(self, number: int, method: str, request: bytes) -> Call:
        with self._mutex:
            # All rules count the call, also those that are not applied.
            actions = [rule.action for rule in self._rules if rule.applies(method)]
            call = Call(number, method, actions[0] if actions else Pass(), request=request)
            self._calls.append(call)
            self._active.append(call)
            self._max_concurrent = max(self._max_concurrent, len(self._active))
        return call

    def _leave(self, call: Call) -> None:
        with self._mutex:
            self._active = [other for other in self._active if other is not call]

    def _pause(self, seconds: float) -> None:
        if self._stopping.wait(seconds):
            raise EOFError

    def _forget(self, item: socket.socket) -> None:
        with self._mutex:
            self._sockets.discard(item)
        close_socket(item)


# -- Thrift's binary protocol -----------------------------------------------------------------------------------------

_STRICT_VERSION = 0x8001
_MAX_NAME_LENGTH = 1024
_ONE_WAY = 4
_STOP, _STRING, _STRUCT, _MAP, _SET, _LIST = 0, 11, 12, 13, 14, 15
_WIDTHS = {1: 0, 2: 1, 3: 1, 4: 8, 6: 2, 8: 4, 10: 8, 16: 16}


@dataclass(frozen=True)
class Header:
    """A message's header."""

    method: str
    """The called method."""
    kind: int
    """1 call, 2 reply, 3 exception (TApplicationException), 4 one-way call."""
    sequence: int
    """The sequence number."""
    strict: bool
    """Whether it has the protocol's version."""

    @property
    def one_way(self) -> bool:
        """Whether the call has no answer."""
        return self.kind == _ONE_WAY


class MessageStream:
    """The messages received on one connection.

    Args:
        source: A connected socket.
    """

    def __init__(self, source: socket.socket) -> None:
        self.source = source
        self._buffer = bytearray()
        self._position = 0

    @property
    def pending(self) -> bool:
        """Whether bytes of the next message were received."""
        return bool(self._buffer)

    def read(self) -> tuple[Header, bytes]:
        """Wait for the next message."""
        self._position = 0
        first = self.number("!I")
        strict = first >> 16 == _STRICT_VERSION
        if strict:
            kind = first & 0xFF
            method = self.take(self.number("!i"))
        else:
            if first > _MAX_NAME_LENGTH:
                raise ProtocolError(f"a message begins with {first:#010x}")
            method = self.take(first)
            kind = self.number("!B")
        sequence = self.number("!i")
        self.skip(_STRUCT)
        message = bytes(self._buffer[: self._position])
        del self._buffer[: self._position]
        return Header(method.decode(), kind, sequence, strict), message

    def take(self, count: int) -> bytes:
        end = self._position + count
        while len(self._buffer) < end:
            received = self.source.recv(65536)
            if not received:
                raise EOFError
            self._buffer += received
        data = bytes(self._buffer[self._position : end])
        self._position = end
        return data

    def number(self, form: str) -> int:
        (value,) = struct.unpack(form, self.take(struct.calcsize(form)))
        return int(value)

    def skip(self, kind: int) -> None:
        if kind in _WIDTHS:
            self.take(_WIDTHS[kind])
        elif kind == _STRING:
            self.take(self.number("!i"))
        elif kind == _STRUCT:
            while (inner := self.number("!B")) != _STOP:
                self.take(2)
                self.skip(inner)
        elif kind == _MAP:
            key, value = self.take(2)
            for _ in range(self.number("!i")):
                self.skip(key)
                self.skip(value)
        elif kind in (_SET, _LIST):
            inner = self.number("!B")
            for _ in range(self.number("!i")):
                self.skip(inner)
        else:
            raise ProtocolError(f"a value of type {kind}")


# -- Sockets ----------------------------------------------------------------------------------------------------------


def bound_socket(port: int) -> socket.socket:
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind((LOOPBACK, port))
    return bound


def _shut(item: socket.socket) -> None:
    """Shut a connection down and wake the threads that wait for it."""
    with suppress(OSError):
        item.shutdown(socket.SHUT_RDWR)


def close_socket(item: socket.socket, *, reset: bool = False) -> None:
    """Close a socket; closing twice does nothing."""
    if item.fileno() == -1:
        return
    if reset:
        item.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # A connection stays open as long as another thread waits in `recv`: wake it, without sending a FIN.
        with suppress(OSError):
            item.shutdown(socket.SHUT_RD)
    else:
        _shut(item)
    item.close()


def _wait(event: threading.Event, timeout_s: float, message: str) -> None:
    if not event.wait(timeout_s):
        raise TimeoutError(message)


class CuttingProxy:
    """A proxy for connections that it cannot parse (TLS, SASL): resets one after a number of bytes of one direction."""

    def __init__(self, server_port: int) -> None:
        self.server_port = server_port
        self._listener = bound_socket(0)
        self.port: int = self._listener.getsockname()[1]
        self._mutex = threading.Lock()
        self._remaining: dict[bool, int | None] = {True: None, False: None}
        self.counts: dict[bool, int] = {True: 0, False: 0}
        """The bytes of requests (True) and replies (False) until now."""
        self.cuts = 0
        """The number of connections that were reset."""
        self._sockets: set[socket.socket] = set()

    def cut_after(self, count: int, *, requests: bool) -> None:
        """Reset the connection that transfers the byte with this number, from now on and from 0; once."""
        with self._mutex:
            self._remaining = {requests: count, not requests: None}

    def __enter__(self) -> CuttingProxy:
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for item in (self._listener, *self._sockets):
            close_socket(item)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection((LOOPBACK, self.server_port))
                self._sockets |= {client, server}
                for source, target, is_request in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self._copy, args=(source, target, is_request), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket, is_request: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                kept = self._count(len(data), is_request)
                target.sendall(data[:kept])
                if kept < len(data):
                    self.cuts += 1
                    close_socket(source, reset=True)
                    break
        close_socket(target, reset=True)

    def _count(self, length: int, is_request: bool) -> int:
        """Count transferred bytes; return how many of them are forwarded."""
        with self._mutex:
            self.counts[is_request] += length
            remaining = self._remaining[is_request]
            if remaining is None:
                return length
            self._remaining[is_request] = remaining - length if remaining >= length else None
            return min(remaining, length)
