"""What goes wrong in a soak: one thing every few seconds, by a shuffled deck, so that each kind has its turn."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from hive_views.local_metastore.standalone import StandaloneMetastore
from tests.faults.cluster import Cluster, control
from tests.proxy import ANY, Action, CutReply, Delay, DropReply, DropRequest, Pass, ThriftProxy
from tests.soak.crews import Crews

LATE_S = 7.0
"""Longer than a client waits for an answer (5 s), and shorter than a lock lives without a heartbeat (12 s)."""

CHANGES = ("create_table", "alter_table_with_environment_context", "drop_table")
METHODS = (*CHANGES, "lock", "unlock", "get_table_req", ANY)
LATE_METHODS = ("alter_table_with_environment_context", "drop_table", "lock", "unlock", "get_table_req")
"""Not create_table: a create that arrives after the client has created the view by a second request, and after somebody
dropped it, brings it back, which decision 0011 leaves as it is."""

WIRE: dict[str, tuple[Callable[[], Action], tuple[str, ...]]] = {
    "request lost": (DropRequest, METHODS),
    "reply lost": (DropReply, METHODS),
    "reply lost by a reset": (lambda: DropReply(reset=True), METHODS),
    "reply cut in the middle": (CutReply, METHODS),
    "request later than the time-out": (lambda: Delay(request_s=LATE_S), LATE_METHODS),
    "reply later than the time-out": (lambda: Delay(reply_s=LATE_S), METHODS),
}
CUT = "all connections to a metastore cut"
KILLED_CLIENTS = "process with 4 clients killed"
KILLED_METASTORE = "metastore killed and started again"
STOPPED_DATABASE = "database stopped at once and started again"
READ_ONLY = "metadata directory read-only"

DECK = {
    **dict.fromkeys(WIRE, 3),
    CUT: 2,
    KILLED_CLIENTS: 2,
    KILLED_METASTORE: 1,
    STOPPED_DATABASE: 1,
    READ_ONLY: 1,
}
"""How often each kind is in one deck."""

FIRST = (KILLED_METASTORE, KILLED_CLIENTS, READ_ONLY, STOPPED_DATABASE, CUT)
"""What a deck begins with, so that a short soak has it all: a wire fault stands behind each."""


class Disk:
    """A directory that can be made read-only, for root too where it may mount a file system of its own.

    Args:
        place: The directory.
    """

    def __init__(self, place: Path) -> None:
        self.path = place
        place.mkdir()
        self._mounted = False
        if os.geteuid() == 0:
            command = ["mount", "-t", "tmpfs", "-o", "size=512m", "tmpfs", str(place)]
            self._mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
        self.works = self._mounted or os.geteuid() != 0

    def set(self, *, writable: bool) -> bool:
        """Make it read-only or writable; False where a file that is being written does not let it."""
        if self._mounted:
            command = ["mount", "-o", f"remount,{'rw' if writable else 'ro'}", str(self.path)]
            return subprocess.run(command, capture_output=True, check=False).returncode == 0
        for each in (self.path, *(found for found in self.path.rglob("*") if found.is_dir())):
            each.chmod(0o755 if writable else 0o555)
        return True

    def close(self) -> None:
        """Give it back."""
        if self._mounted:
            subprocess.run(["umount", "-l", str(self.path)], check=True)


class Faults:
    """Lets things go wrong.

    Args:
        cluster: Two metastores on one database.
        proxies: Before the metastores, in the same order.
        crews: The clients' processes; the first of them is never killed.
        processes: How many processes there are.
        disk: Where the files of one view are.
        seed: Of the choices.
    """

    def __init__(
        self, cluster: Cluster, proxies: list[ThriftProxy], crews: Crews, processes: int, disk: Disk, seed: int
    ) -> None:
        self._cluster = cluster
        self._proxies = proxies
        self._crews = crews
        self._processes = processes
        self._disk = disk
        self._chance = random.Random(f"{seed} faults")
        self._deck = self._shuffled()
        self.counts: Counter[str] = Counter()
        """How often each kind was there; of faults of the wire, how many calls met one."""
        self.calls = 0
        """How many calls passed the proxies."""
        self._late_until = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let things go wrong while the body runs; afterwards all is well again."""
        ended = threading.Event()
        with ExitStack() as stack:
            helper = stack.enter_context(ThreadPoolExecutor(1))
            pool = stack.enter_context(ThreadPoolExecutor(1))
            going = pool.submit(self._go_on, ended, helper)
            try:
                yield
            finally:
                ended.set()
                going.result()

    def settle(self) -> int:
        """Wait until no request is on its way any more that was held up; see `harvest`."""
        lost = self.harvest()
        time.sleep(max(0.0, self._late_until - time.monotonic()))
        return lost

    def harvest(self) -> int:
        """Count what the proxies did, and forget it: a proxy keeps all that passed."""
        lost = 0
        for proxy in self._proxies:
            calls = proxy.calls
            proxy.clear()
            self.calls += len(calls)
            for call in calls:
                lost += not call.returned
                if not isinstance(call.action, Pass):
                    self.counts[_kind(call.action)] += 1
                if isinstance(call.action, Delay) and not call.delivered:
                    self._late_until = time.monotonic() + call.action.request_s
        return lost

    def _shuffled(self) -> Iterator[str]:
        while True:
            cards = [kind for kind, count in DECK.items() for _ in range(count)]
            first = list(FIRST)
            for kind in first:
                cards.remove(kind)
            self._chance.shuffle(cards)
            self._chance.shuffle(first)
            for kind in first:
                yield kind
                yield cards.pop()
            yield from cards

    def _go_on(self, ended: threading.Event, helper: ThreadPoolExecutor) -> None:
        slow: Future[None] | None = None
        put_off: list[str] = []
        while not ended.wait(self._chance.uniform(1.0, 3.0)):
            self.harvest()
            if slow is not None and slow.done():
                slow.result()
                slow = None
            kind = put_off.pop(0) if put_off and slow is None else next(self._deck)
            if kind in (KILLED_METASTORE, STOPPED_DATABASE):
                # It takes seconds, in which other things go on going wrong; but no metastore starts without a database.
                if slow is not None:
                    put_off.append(kind)
                    continue
                slow = helper.submit(self._kill_metastore if kind == KILLED_METASTORE else self._stop_database)
            elif kind == KILLED_CLIENTS:
                self._crews.kill(self._chance.randrange(1, self._processes))
            elif kind == READ_ONLY:
                if not self._make_read_only(ended):
                    continue
            elif kind == CUT:
                self._chance.choice(self._proxies).disconnect()
            else:
                action, methods = WIRE[kind]
                method = self._chance.choice(methods)
                for proxy in self._proxies:
                    proxy.on(method, action())
                continue  # counted when a call meets it
            self.counts[kind] += 1
        self.harvest()
        if slow is not None:
            slow.result()

    def _kill_metastore(self) -> None:
        metastore: StandaloneMetastore = self._chance.choice([self._cluster.first, self._cluster.second])
        os.kill(metastore.pid, signal.SIGKILL)
        metastore.stop()
        metastore.start(timeout_s=240)

    def _stop_database(self) -> None:
        control(self._cluster.store, "stop")
        time.sleep(self._chance.uniform(0.0, 4.0))
        control(self._cluster.store, "restart")

    def _make_read_only(self, ended: threading.Event) -> bool:
        if not self._disk.works:
            return False
        for _ in range(20):
            if self._disk.set(writable=False):
                ended.wait(2.0)
                assert self._disk.set(writable=True)
                return True
            time.sleep(0.02)
        return False


def _kind(action: Action) -> str:
    """The kind of a fault of the wire."""
    return next(kind for kind, (make, _) in WIRE.items() if make() == action)
