"""Heartbeats for held locks: one daemon thread a process tells the metastores that they are still in use.

A server drops a lock whose heartbeats stop for longer than its `hive.txn.timeout` (300 s by default), so a program
that was killed blocks others no longer than that. A heartbeat that fails because the metastore cannot be reached is
tried again; the lock counts as lost when a quarter more than the interval has passed without an answer, which for the
defaults (240 s, 300 s) is when the server gives it up.
"""

from __future__ import annotations

import logging
import os
import threading
import time

from hive_views.errors import MetastoreError
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    NoSuchLockException,
    NoSuchTxnException,
    TxnAbortedException,
)
from hive_views.metastore.transport.client import MetastoreClient

logger = logging.getLogger(__name__)

GONE = (NoSuchLockException, NoSuchTxnException, TxnAbortedException)
"""What a server answers about a lock that it has dropped."""

_GRACE = 1.25
_RETRIES_PER_INTERVAL = 16
_LONGEST_RETRY_SECONDS = 10.0
_IDLE_SECONDS = 60.0


def clock() -> float:
    """Seconds that go on while the machine sleeps, where the system has such a clock: the server's do."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class Heartbeat:
    """The heartbeat of one held lock."""

    def __init__(self, client: MetastoreClient, lock_id: int, interval: float, confirmed: float) -> None:
        """Start it."""
        self._client = client
        self._lock_id = lock_id
        self._interval = interval
        self._confirmed = confirmed
        self._lost: str | None = None
        self._stopped = False
        # Half an interval: the first one shows early whether they work at all (as Iceberg's Java catalog does it).
        self.due = confirmed + interval / 2
        _heart.add(self)

    def stop(self) -> None:
        """Send no more of them."""
        self._stopped = True
        _heart.remove(self)

    def lost(self) -> str | None:
        """Why the lock is lost; None if it is held. A confirmation that is overdue is fetched now."""
        if self._lost is None and clock() - self._confirmed > self._interval:
            self.beat()
            if self._lost is None and clock() - self._confirmed > self._interval:
                return f"no heartbeat was answered for {clock() - self._confirmed:.1f} s"
        return self._lost

    def beat(self) -> None:
        """Send one, and set when the next is due."""
        started = clock()
        try:
            self._client.heartbeat(self._lock_id)
        except GONE as error:
            self._lost = f"the server has dropped it ({error.message}); its hive.txn.timeout must exceed the interval "
            self._lost += f"of heartbeats, {self._interval:g} s (iceberg.hive.lock-heartbeat-interval-ms)"
            self.due = float("inf")
        except MetastoreError as error:
            if clock() - self._confirmed > self._interval * _GRACE:
                self._lost = f"its heartbeats failed: {error}"
                self.due = float("inf")
            else:
                self.due = clock() + min(self._interval / _RETRIES_PER_INTERVAL, _LONGEST_RETRY_SECONDS)
                logger.info("Heartbeat for lock %s failed and is tried again: %s", self._lock_id, error)
        else:
            self._confirmed = started
            self.due = started + self._interval
        if self._lost is not None and not self._stopped:
            logger.warning("Lock %s is lost: %s", self._lock_id, self._lost)


class _Heart:
    """The thread, and what it beats for."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._beats: set[Heartbeat] = set()
        self._thread: threading.Thread | None = None
        self._wakes = 0.0

    def add(self, beat: Heartbeat) -> None:
        with self._condition:
            self._beats.add(beat)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="hive-views-heartbeats", daemon=True)
                self._thread.start()
            elif beat.due < self._wakes:
                self._condition.notify()

    def remove(self, beat: Heartbeat) -> None:
        with self._condition:
            self._beats.discard(beat)

    def _run(self) -> None:
        idle = False
        while True:
            with self._condition:
                now = clock()
                due = [beat for beat in self._beats if beat.due <= now]
                if not due:
                    if idle and not self._beats:
                        self._thread = None
                        return
                    # A thread that has nothing to do stays a while, so that frequent short locks need not wake it.
                    idle = not self._beats
                    self._wakes = min((beat.due for beat in self._beats), default=now + _IDLE_SECONDS)
                    self._condition.wait(min(self._wakes - now, threading.TIMEOUT_MAX))
            for beat in due:
                beat.beat()


_heart = _Heart()


def _forget_after_fork() -> None:
    """Locks are the parent's, and so is the thread."""
    global _heart
    _heart = _Heart()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
