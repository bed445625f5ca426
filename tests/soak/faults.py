"""Fault injection of a soak: one fault every few seconds, in random order with fixed frequencies."""

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
from tests.faults.cluster import Cluster, database_down
from tests.proxy import ANY, Action, CutReply, Delay, DropReply, DropRequest, Pass, ThriftProxy
from tests.soak.worker_processes import WorkerProcesses

LATE_S = 7.0
"""A delay longer than the timeout of clients (5 s) and shorter than the lock expiry of the server (12 s)."""

CHANGES = ("create_table", "alter_table_with_environment_context", "drop_table")
METHODS = (*CHANGES, "lock", "unlock", "get_table_req", ANY)
LATE_METHODS = ("alter_table_with_environment_context", "drop_table", "lock", "unlock", "get_table_req")
"""Without create_table: a late request restores a view that was created by a repeated request and dropped since
(docs/decisions/0011-keep-the-lock-while-a-request-may-arrive.md)."""

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

FREQUENCIES = {
    **dict.fromkeys(WIRE, 3),
    CUT: 2,
    KILLED_CLIENTS: 2,
    KILLED_METASTORE: 1,
    STOPPED_DATABASE: 1,
    READ_ONLY: 1,
}
"""Frequencies of faults in one round."""

FIRST = (KILLED_METASTORE, KILLED_CLIENTS, READ_ONLY, STOPPED_DATABASE, CUT)
"""Faults that begin a round, each followed by a wire fault, so that a short soak contains all of them."""


class Disk:
    """A directory that can be made read-only; as root only if a file system can be mounted.

    Args:
        directory: The directory.
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory
        directory.mkdir()
        self._mounted = False
        if os.geteuid() == 0:
            command = ["mount", "-t", "tmpfs", "-o", "size=512m", "tmpfs", str(directory)]
            self._mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
        self.is_supported = self._mounted or os.geteuid() != 0

    def set(self, *, writable: bool) -> bool:
        """Make the directory read-only or writable; returns False if an open file prevents it."""
        if self._mounted:
            command = ["mount", "-o", f"remount,{'rw' if writable else 'ro'}", str(self.path)]
            return subprocess.run(command, capture_output=True, check=False).returncode == 0
        for subdirectory in (self.path, *(item for item in self.path.rglob("*") if item.is_dir())):
            subdirectory.chmod(0o755 if writable else 0o555)
        return True

    def close(self) -> None:
        """Unmount the directory."""
        if self._mounted:
            subprocess.run(["umount", "-l", str(self.path)], check=True)


class Faults:
    """Injects faults.

    Args:
        cluster: Two metastores on one database.
        proxies: Proxies of the metastores, in the same order.
        workers: The worker processes; the first of them is never killed.
        processes: The number of worker processes.
        disk: The disk with the files of one view.
        seed: The seed of random choices.
    """

    def __init__(
        self,
        cluster: Cluster,
        proxies: list[ThriftProxy],
        workers: WorkerProcesses,
        processes: int,
        disk: Disk,
        seed: int,
    ) -> None:
        self._cluster = cluster
        self._proxies = proxies
        self._workers = workers
        self._processes = processes
        self._disk = disk
        self._random = random.Random(f"{seed} faults")
        self._kinds = self._shuffle_faults()
        self.counts: Counter[str] = Counter()
        """Number of faults by kind; for wire faults, the number of affected calls."""
        self.calls = 0
        """Number of calls through the proxies."""
        self._late_until = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Inject faults while the body runs, and undo them afterwards."""
        stop = threading.Event()
        with ExitStack() as stack:
            helper = stack.enter_context(ThreadPoolExecutor(1))
            pool = stack.enter_context(ThreadPoolExecutor(1))
            injection = pool.submit(self._inject_faults, stop, helper)
            try:
                yield
            finally:
                stop.set()
                injection.result()

    def wait_for_delayed_requests(self) -> int:
        """Wait until delayed requests have arrived; returns the number of lost calls."""
        lost = self.collect_calls()
        time.sleep(max(0.0, self._late_until - time.monotonic()))
        return lost

    def collect_calls(self) -> int:
        """Count and clear the calls of the proxies; returns the number of lost calls."""
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

    def _shuffle_faults(self) -> Iterator[str]:
        while True:
            kinds = [kind for kind, count in FREQUENCIES.items() for _ in range(count)]
            first = list(FIRST)
            for kind in first:
                kinds.remove(kind)
            self._random.shuffle(kinds)
            self._random.shuffle(first)
            for kind in first:
                yield kind
                yield kinds.pop()
            yield from kinds

    def _inject_faults(self, stop: threading.Event, helper: ThreadPoolExecutor) -> None:
        slow: Future[None] | None = None
        postponed: list[str] = []
        while not stop.wait(self._random.uniform(1.0, 3.0)):
            self.collect_calls()
            if slow is not None and slow.done():
                slow.result()
                slow = None
            kind = postponed.pop(0) if postponed and slow is None else next(self._kinds)
            if kind in (KILLED_METASTORE, STOPPED_DATABASE):
                # These take seconds, so they run in the helper thread; only one at a time, since a metastore does not
                # start without a database.
                if slow is not None:
                    postponed.append(kind)
                    continue
                slow = helper.submit(self._kill_metastore if kind == KILLED_METASTORE else self._stop_database)
            elif kind == KILLED_CLIENTS:
                self._workers.kill(self._random.randrange(1, self._processes))
            elif kind == READ_ONLY:
                if not self._make_read_only(stop):
                    continue
            elif kind == CUT:
                self._random.choice(self._proxies).disconnect()
            else:
                action, methods = WIRE[kind]
                method = self._random.choice(methods)
                for proxy in self._proxies:
                    proxy.on(method, action())
                continue  # counted per affected call
            self.counts[kind] += 1
        self.collect_calls()
        if slow is not None:
            slow.result()

    def _kill_metastore(self) -> None:
        metastore: StandaloneMetastore = self._random.choice([self._cluster.first, self._cluster.second])
        os.kill(metastore.pid, signal.SIGKILL)
        metastore.stop()
        metastore.start(timeout_s=240)

    def _stop_database(self) -> None:
        with database_down(self._cluster.store):
            time.sleep(self._random.uniform(0.0, 4.0))

    def _make_read_only(self, stop: threading.Event) -> bool:
        if not self._disk.is_supported:
            return False
        for _ in range(20):
            if self._disk.set(writable=False):
                stop.wait(2.0)
                assert self._disk.set(writable=True)
                return True
            time.sleep(0.02)
        return False


def _kind(action: Action) -> str:
    """The kind of a wire fault."""
    return next(kind for kind, (make, _) in WIRE.items() if make() == action)
