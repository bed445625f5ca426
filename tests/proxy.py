"""A TCP proxy between a Thrift client and a real metastore that makes chosen calls go wrong, the way networks do.

    with ThriftProxy(metastore.port) as proxy:
        proxy.on("alter_table_with_environment_context", DropReply())   # its next call; the server carries it out
        ...connect to proxy.port...
        assert proxy.methods == ["get_table_req", "alter_table_with_environment_context"]

It reads Thrift's binary protocol (strict and old headers, without frames and without SASL), so that it knows where each
message begins and ends and which method it calls. Faults start by what passes, not by a clock; only `Delay` waits.
"""

from __future__ import annotations

import select
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import TracebackType

LOOPBACK = "127.0.0.1"

EVERY = 0
"""As `nth`: each matching call, not one of them."""

ANY = "*"
"""As method: whatever is called."""

WAIT_S = 120.0
"""How long the waiting methods wait before they raise TimeoutError."""

# -- What can be done to a call ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pass:
    """Nothing: it goes through."""


@dataclass(frozen=True)
class DropRequest:
    """The connection is closed and the server never sees the request; `reset` closes it with a TCP reset."""

    reset: bool = False


@dataclass(frozen=True)
class CutRequest:
    """The server gets the first half of the request, and both connections are closed: it cannot carry it out."""


@dataclass(frozen=True)
class Duplicate:
    """The server gets the request twice, and the client the second answer: as if the server itself had tried again."""


@dataclass(frozen=True)
class DropReply:
    """The server carries the call out; the client's connection is closed before it gets the answer.

    `reset` closes it with a TCP reset; `silent` leaves it open, so that the client runs into its time-out.
    """

    reset: bool = False
    silent: bool = False


@dataclass(frozen=True)
class CutReply:
    """The server carries the call out; the client gets the first `keep` bytes of the answer (None: half of them)."""

    keep: int | None = None


@dataclass(frozen=True)
class Delay:
    """The request waits before the server gets it, the answer before the client gets it; both in seconds."""

    request_s: float = 0.0
    reply_s: float = 0.0


@dataclass(frozen=True)
class BlackHole:
    """No answer, ever, on an open connection; the server never sees the request."""


@dataclass(frozen=True)
class Hold:
    """The request is kept until `release`, and delivered then even if the client has gone long since (Iceberg #14096).

    Meanwhile the client's connection is silent, or with `close` closed at once. One object serves one call.
    """

    close: bool = False
    arrived: threading.Event = field(default_factory=threading.Event, init=False, repr=False)
    released: threading.Event = field(default_factory=threading.Event, init=False, repr=False)
    applied: threading.Event = field(default_factory=threading.Event, init=False, repr=False)

    def wait_until_held(self, timeout_s: float = WAIT_S) -> None:
        """Wait until the request is here."""
        _wait(self.arrived, timeout_s, "the call to be held did not come")

    def release(self, timeout_s: float = WAIT_S) -> None:
        """Deliver the request, and wait until the server has answered it."""
        self.released.set()
        _wait(self.applied, timeout_s, "the server did not answer the call that was held")


Action = Pass | DropRequest | CutRequest | Duplicate | DropReply | CutReply | Delay | BlackHole | Hold


@dataclass
class Call:
    """What became of one call."""

    connection: int
    """The client's connection that it came by: 1 is the first."""
    method: str
    """The Thrift method."""
    action: Action
    """What was done to it."""
    delivered: bool = False
    """Whether the server got the request."""
    answered: bool = False
    """Whether the server answered it."""
    returned: bool = False
    """Whether the whole answer was sent on to the client."""
    request: bytes = field(default=b"", repr=False)
    """The message, header included."""


@dataclass
class _Rule:
    method: str
    action: Action
    nth: int
    onwards: bool
    seen: int = 0

    def applies(self, method: str) -> bool:
        """Whether it is this call's turn; counts it."""
        if self.method not in (ANY, method):
            return False
        self.seen += 1
        return self.seen >= self.nth if self.onwards else self.nth in (EVERY, self.seen)


# -- The proxy --------------------------------------------------------------------------------------------------------


class ProtocolError(Exception):
    """What passes is not Thrift's binary protocol."""


class ThriftProxy:
    """A proxy on a free port of 127.0.0.1, as a context manager.

    Args:
        server_port: The port of the real server, at 127.0.0.1.
    """

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._guard = threading.Lock()
        self._rules: list[_Rule] = []
        self._calls: list[Call] = []
        self._connections = 0
        self._here: list[Call] = []
        self._most_at_once = 0
        self._sockets: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._stopping = threading.Event()
        self._listener = _bound(0)
        self.port: int = self._listener.getsockname()[1]
        self._accepting = False
        self._failure: ProtocolError | None = None

    @property
    def uri(self) -> str:
        """Where clients connect to."""
        return f"thrift://{LOOPBACK}:{self.port}"

    @property
    def calls(self) -> list[Call]:
        """What passed until now, or tried to, in the order in which it came."""
        with self._guard:
            return [replace(call) for call in self._calls]

    @property
    def methods(self) -> list[str]:
        """The methods of `calls`."""
        return [call.method for call in self.calls]

    @property
    def connections(self) -> int:
        """How many connections clients have made until now."""
        with self._guard:
            return self._connections

    @property
    def most_at_once(self) -> int:
        """How many calls were here at one time, at most: each until just before its answer is sent on, so that a
        client which makes its next call then is not counted twice."""
        with self._guard:
            return self._most_at_once

    def on(self, method: str, action: Action, *, nth: int = 1, onwards: bool = False) -> Action:
        """Do something to calls of a method, from now on. The rule made first wins where several apply to a call."""
        with self._guard:
            self._rules.append(_Rule(method, action, nth, onwards))
        return action

    def clear(self) -> None:
        """Forget all rules and all recorded calls; connections stay."""
        with self._guard:
            self._rules.clear()
            self._calls.clear()
            self._most_at_once = len(self._here)

    def accept(self) -> None:
        """Let clients connect (again)."""
        if not self._accepting:
            self._listener.listen(64)
            self._accepting = True
            self._run(self._accept_loop, self._listener)

    def refuse(self) -> None:
        """Refuse new connections from now on; those that are open stay. The port stays ours."""
        if self._accepting:
            self._accepting = False
            _close(self._listener)
            # A port that is bound and not listened on refuses connections.
            self._listener = _bound(self.port)

    def disconnect(self) -> None:
        """Close all connections that are open, as a restart of the server does."""
        with self._guard:
            sockets, self._sockets = self._sockets, set()
        for each in sockets:
            # Only told: the thread that serves it wakes up and closes it.
            _shut(each)

    def close(self) -> None:
        """End it; what is held and not released is lost."""
        self._stopping.set()
        _close(self._listener)
        self.disconnect()
        for thread in self._threads:
            thread.join(WAIT_S)
        if self._failure:
            raise self._failure

    def __enter__(self) -> ThriftProxy:
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
            with self._guard:
                self._connections += 1
                number = self._connections
                self._sockets.add(client)
            self._run(self._serve, client, number)

    def _serve(self, client: socket.socket, number: int) -> None:
        try:
            server = socket.create_connection((LOOPBACK, self._server_port), timeout=WAIT_S)
        except OSError:
            self._forget(client)
            return
        server.settimeout(None)
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._guard:
            self._sockets.add(server)
        if self._stopping.is_set():
            self._forget(client)
            self._forget(server)
            return
        requests, replies = MessageStream(client), MessageStream(server)
        try:
            # Where either side goes, or this proxy closes, the other side is told by the end of its connection.
            with suppress(OSError, EOFError):
                while self._one_call(requests, replies, number):
                    pass
        except ProtocolError as error:
            self._failure = error
        finally:
            self._forget(client)
            self._forget(server)

    def _one_call(self, requests: MessageStream, replies: MessageStream, number: int) -> bool:
        """Pass one call on, or do to it what a rule says; False where the connection is at its end."""
        client, server = requests.source, replies.source
        if not requests.pending:
            ready, _, _ = select.select([client, server], [], [])
            if server in ready:
                # The server says something unasked: it has closed the connection.
                return False
        header, request = requests.read()
        call = self._admit(number, header.method, request)
        try:
            return self._carry(call, header, request, client, replies)
        finally:
            self._leave(call)

    def _carry(self, call: Call, header: Header, request: bytes, client: socket.socket, replies: MessageStream) -> bool:
        server, action = replies.source, call.action
        match action:
            case DropRequest(reset):
                _close(client, reset=reset)
                return False
            case CutRequest():
                server.sendall(request[: len(request) // 2])
                _close(client)
                return False
            case BlackHole():
                while client.recv(65536):
                    pass
                return False
            case Delay(request_s):
                self._pause(request_s)
            case Hold(close):
                if close:
                    _close(client)
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
                _close(client, reset=reset)
                return False
            case CutReply(keep):
                client.sendall(reply[: len(reply) // 2 if keep is None else keep])
                _close(client)
                return False
            case Delay(_, reply_s):
                self._pause(reply_s)
            case Hold():
                action.applied.set()
        # Said before it is sent: the client may have the reply, and the test may look, before this thread goes on.
        call.returned = True
        self._leave(call)
        try:
            client.sendall(reply)
        except OSError:
            call.returned = False
            raise
        return True

    def _admit(self, number: int, method: str, request: bytes) -> Call:
        with self._guard:
            # Every rule counts, also those that come too late to act.
            actions = [rule.action for rule in self._rules if rule.applies(method)]
            call = Call(number, method, actions[0] if actions else Pass(), request=request)
            self._calls.append(call)
            self._here.append(call)
            self._most_at_once = max(self._most_at_once, len(self._here))
        return call

    def _leave(self, call: Call) -> None:
        with self._guard:
            self._here = [other for other in self._here if other is not call]

    def _pause(self, seconds: float) -> None:
        if self._stopping.wait(seconds):
            raise EOFError

    def _forget(self, each: socket.socket) -> None:
        with self._guard:
            self._sockets.discard(each)
        _close(each)


# -- Thrift's binary protocol -----------------------------------------------------------------------------------------

_STRICT_VERSION = 0x8001
_LONGEST_NAME = 1024
_ONE_WAY = 4
_STOP, _STRING, _STRUCT, _MAP, _SET, _LIST = 0, 11, 12, 13, 14, 15
_WIDTHS = {1: 0, 2: 1, 3: 1, 4: 8, 6: 2, 8: 4, 10: 8, 16: 16}


@dataclass(frozen=True)
class Header:
    """A message's header."""

    method: str
    """The method it calls, or answers."""
    kind: int
    """1 call, 2 reply, 3 exception (TApplicationException), 4 one-way call."""
    sequence: int
    """The caller's number for it."""
    strict: bool
    """Whether it carries the protocol's version."""

    @property
    def one_way(self) -> bool:
        """Whether there will be no answer."""
        return self.kind == _ONE_WAY


class MessageStream:
    """The messages that come by one connection.

    Args:
        source: A connected socket.
    """

    def __init__(self, source: socket.socket) -> None:
        self.source = source
        self._buffer = bytearray()
        self._position = 0

    @property
    def pending(self) -> bool:
        """Whether bytes of the next message are here already."""
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
            if first > _LONGEST_NAME:
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
            got = self.source.recv(65536)
            if not got:
                raise EOFError
            self._buffer += got
        taken = bytes(self._buffer[self._position : end])
        self._position = end
        return taken

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


def _bound(port: int) -> socket.socket:
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind((LOOPBACK, port))
    return bound


def _shut(each: socket.socket) -> None:
    """End a connection and wake whoever waits on it."""
    # Not connected any more: there is nobody to tell.
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)


def _close(each: socket.socket, *, reset: bool = False) -> None:
    """Close a socket; one that is closed already is left."""
    if each.fileno() == -1:
        return
    if reset:
        each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    else:
        _shut(each)
    each.close()


def _wait(event: threading.Event, timeout_s: float, otherwise: str) -> None:
    if not event.wait(timeout_s):
        raise TimeoutError(otherwise)
