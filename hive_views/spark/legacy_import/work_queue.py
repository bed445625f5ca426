"""The desk in the driver at which the workers of an import ask for their next view, and announce what they will write.

Spark gives a result back when a whole partition is done, and tells nothing before. An import needs more: a view comes
behind those that it reads, and what takes a row's place is in the journal, on the disk, *before* the row is swapped.
So a partition is a worker, which asks here. What that gives besides: a worker whose driver is gone can announce
nothing, so it writes nothing; a view whose worker is gone is given to another one; and one that Spark starts twice
(speculation) finds no work that is done already.

Both sides prove that they know a secret of this run (HMAC, `multiprocessing.connection`) before anything is read.
"""

from __future__ import annotations

import contextlib
import heapq
import secrets
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, answer_challenge, deliver_challenge
from types import TracebackType
from typing import Any, Protocol

from hive_views.identifiers import ViewName

Address = tuple[str, int]
"""Host and port."""

Announce = Callable[[Any], None]
"""Tells the driver something; it is on the disk there when this returns."""

Perform = Callable[[Any, Announce], Any]
"""What a worker does: a task and how to announce in, the result out. It can be pickled."""


class Job(Protocol):
    """What is done at the desk. Never two of its methods at once."""

    def task(self, name: ViewName) -> object | None:
        """What a worker gets for a view; None where there is nothing to do. Those that it needs are done."""

    def announced(self, item: Any) -> None:
        """Put on the disk what a worker announces."""

    def done(self, name: ViewName, result: Any) -> None:
        """Take in a result."""


class Desk:
    """Hands out views in order to whoever asks; a context manager."""

    def __init__(self, job: Job, needs: Mapping[ViewName, Sequence[ViewName]], host: str) -> None:
        """Open the desk."""
        self._job = job
        self._numbers = {name: number for number, name in enumerate(needs)}
        self._names = tuple(needs)
        self._waits = {name: len(set(below)) for name, below in needs.items()}
        self._above: dict[ViewName, list[ViewName]] = {name: [] for name in needs}
        for name, below in needs.items():
            for other in set(below):
                self._above[other].append(name)
        self._ready = [self._numbers[name] for name, count in self._waits.items() if not count]
        self._left = len(needs)
        self._changed = threading.Condition()
        self._connections: set[Connection] = set()
        self._threads: list[threading.Thread] = []
        self.failure: BaseException | None = None
        """What stopped the work here, e.g. a journal that cannot be written."""
        self.key = secrets.token_bytes(32)
        """The secret."""
        self._socket = socket.create_server((host, 0))
        self.address: Address = self._socket.getsockname()[:2]
        """Where it listens."""
        self._start(self._accept)

    def __enter__(self) -> Desk:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def left(self) -> int:
        """How many views are not done."""
        with self._changed:
            return self._left

    def close(self) -> None:
        """Let nobody in any more, and end when the last word of those who are here is taken in."""
        with self._changed:
            self._left = 0
            self._ready = []
            self._changed.notify_all()
            connections = list(self._connections)
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for connection in connections:
            # Wakes the thread that reads from it, which closes it.
            with contextlib.suppress(OSError), socket.socket(fileno=socket.dup(connection.fileno())) as other:
                other.shutdown(socket.SHUT_RD)
        for thread in self._threads:
            thread.join()

    def _start(self, target: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments, name="hive-views-import", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._socket.accept()
            except OSError:  # closed
                return
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(accepted.detach())
            with self._changed:
                self._connections.add(connection)
            self._start(self._serve, connection)

    def _serve(self, connection: Connection) -> None:
        name = None
        try:
            deliver_challenge(connection, self.key)
            answer_challenge(connection, self.key)
            while True:
                kind, content = connection.recv()
                with self._changed:
                    if kind == "announce":
                        self._job.announced(content)
                        connection.send(True)
                        continue
                    if name is not None:
                        self._job.done(name, content)
                        self._finish(name)
                        name = None
                    taken = self._take()
                    if taken is None:
                        connection.send(None)
                        return
                    name, task = taken
                connection.send(task)
        except (EOFError, OSError, AuthenticationError):
            pass  # it is gone; somebody else gets its view
        except BaseException as error:  # noqa: BLE001
            # The work cannot go on; who started it raises it.
            with self._changed:
                self.failure = self.failure or error
                self._left = 0
        finally:
            with self._changed:
                self._connections.discard(connection)
                if name is not None and self._left:
                    heapq.heappush(self._ready, self._numbers[name])
                self._changed.notify_all()
            connection.close()

    def _take(self) -> tuple[ViewName, object] | None:
        """The next view that there is something to do for; waits for one. None when all are done."""
        while True:
            while not self._ready and self._left:
                self._changed.wait()
            if not self._left:
                return None
            name = self._names[heapq.heappop(self._ready)]
            task = self._job.task(name)
            if task is not None:
                return name, task
            self._finish(name)

    def _finish(self, name: ViewName) -> None:
        self._left = max(self._left - 1, 0)
        for other in self._above[name]:
            self._waits[other] -= 1
            if not self._waits[other]:
                heapq.heappush(self._ready, self._numbers[other])
        self._changed.notify_all()


def attend(address: Address, key: bytes, perform: Perform, _: Iterator[int]) -> Iterator[int]:
    """What a worker does: ask, perform, tell, until there is nothing left. For `mapPartitions`."""
    count = 0
    with Client(address, authkey=key) as desk:

        def announce(item: Any) -> None:
            desk.send(("announce", item))
            desk.recv()

        result = None
        while True:
            desk.send(("next", result))
            task = desk.recv()
            if task is None:
                break
            result = perform(task, announce)
            count += 1
    yield count
