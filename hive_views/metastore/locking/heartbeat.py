"""Heartbeats of held locks, sent by one daemon thread per process.

A server drops a lock that has had no heartbeat for `hive.txn.timeout` (300 s by default), so the lock of a killed
program expires after that time. A heartbeat that fails because the metastore is unreachable is retried; the lock counts
as lost after 1.25 intervals without an answer, which for the defaults (240 s, 300 s) is when the server drops it.
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
"""The errors that a server returns for a lock that it has dropped."""

_GRACE_FACTOR = 1.25
_RETRIES_PER_INTERVAL = 16
_MAX_RETRY_SECONDS = 10.0
_IDLE_SECONDS = 60.0


def clock() -> float:
    """Return the time of a clock that, like the server's, counts while the machine sleeps, if there is such a clock."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class Heartbeat:
    """The heartbeat of one held lock."""

    def __init__(self, client: MetastoreClient, lock_id: int, interval: float, confirmed_at: float) -> None:
        """Start the heartbeat; `interval` in seconds, `confirmed_at` by `clock`."""
        self._client = client
        self._lock_id = lock_id
        self._interval = interval
        self._confirmed_at = confirmed_at
        self._loss: str | None = None
        self._is_stopped = False
        # The first heartbeat after half an interval, as in Iceberg's Java catalog, shows early whether heartbeats work.
        self.due = confirmed_at + interval / 2
        _thread.add(self)

    def stop(self) -> None:
        """Stop the heartbeat."""
        self._is_stopped = True
        _thread.remove(self)

    def why_lost(self) -> str | None:
        """Return why the lock is lost, or None if it is held; sends an overdue heartbeat first."""
        if self._loss is None and clock() - self._confirmed_at > self._interval:
            self.send()
            if self._loss is None and clock() - self._confirmed_at > self._interval:
                return f"no heartbeat was answered for {clock() - self._confirmed_at:.1f} s"
        return self._loss

    def send(self) -> None:
        """Send one heartbeat and schedule the next."""
        started = clock()
        try:
            self._client.heartbeat(self._lock_id)
        except GONE as error:
            self._loss = f"the server has dropped it ({error.message}); its hive.txn.timeout must exceed the interval "
            self._loss += f"of heartbeats, {self._interval:g} s (iceberg.hive.lock-heartbeat-interval-ms)"
            self.due = float("inf")
        except MetastoreError as error:
            if clock() - self._confirmed_at > self._interval * _GRACE_FACTOR:
                self._loss = f"its heartbeats failed: {error}"
                self.due = float("inf")
            else:
                self.due = clock() + min(self._interval / _RETRIES_PER_INTERVAL, _MAX_RETRY_SECONDS)
                logger.info("Heartbeat for lock %s failed and is retried: %s", self._lock_id, error)
        else:
            self._confirmed_at = started
            self.due = started + self._interval
        if self._loss is not None and not self._is_stopped:
            logger.warning("Lock %s is lost: %s", self._lock_id, self._loss)


class _HeartbeatThread:
    """The thread that sends the heartbeats of all held locks."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._heartbeats: set[Heartbeat] = set()
        self._thread: threading.Thread | None = None
        self._wakes_at = 0.0

    def add(self, heartbeat: Heartbeat) -> None:
        with self._condition:
            self._heartbeats.add(heartbeat)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="hive-views-heartbeats", daemon=True)
                self._thread.start()
            elif heartbeat.due < self._wakes_at:
                self._condition.notify()

    def remove(self, heartbeat: Heartbeat) -> None:
        with self._condition:
            self._heartbeats.discard(heartbeat)

    def _run(self) -> None:
        is_idle = False
        while True:
            with self._condition:
                now = clock()
                due = [heartbeat for heartbeat in self._heartbeats if heartbeat.due <= now]
                if not due:
                    if is_idle and not self._heartbeats:
                        self._thread = None
                        return
                    # An idle thread is kept for a while, so that frequent short locks do not each start a thread.
                    is_idle = not self._heartbeats
                    self._wakes_at = min((heartbeat.due for heartbeat in self._heartbeats), default=now + _IDLE_SECONDS)
                    self._condition.wait(min(self._wakes_at - now, threading.TIMEOUT_MAX))
            for heartbeat in due:
                heartbeat.send()


_thread = _HeartbeatThread()


def _reset_after_fork() -> None:
    """Forget the parent process's locks and thread."""
    global _thread
    _thread = _HeartbeatThread()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
