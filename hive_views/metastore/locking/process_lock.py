"""Turns within one process: threads that want the same lock queue here, before one of them asks the metastore.

Without it each waiting thread would hold a request of its own in the metastore and poll it; Iceberg's Java catalog
does the same (MetastoreLock, a fair lock of the JVM).
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Hashable

_mutex = threading.Lock()
_queues: dict[Hashable, deque[threading.Lock]] = {}
"""For each key whose turn is taken: those who wait for it, each with a lock that is opened for them."""


def take(key: Hashable, timeout: float) -> bool:
    """Wait for one's turn."""
    with _mutex:
        waiting = _queues.get(key)
        if waiting is None:
            _queues[key] = deque()
            return True
        gate = threading.Lock()
        gate.acquire()
        waiting.append(gate)
    try:
        opened = gate.acquire(timeout=min(max(timeout, 0), threading.TIMEOUT_MAX))
    except BaseException:
        if not _leave(waiting, gate):
            end(key)
        raise
    return opened or not _leave(waiting, gate)


def end(key: Hashable) -> None:
    """End a turn: it passes to the one who has waited longest."""
    with _mutex:
        waiting = _queues.get(key)
        if waiting:
            waiting.popleft().release()
        else:
            _queues.pop(key, None)


def _leave(waiting: deque[threading.Lock], gate: threading.Lock) -> bool:
    """Stop waiting; False if the turn was handed over at the last moment."""
    with _mutex:
        if gate not in waiting:
            return False
        waiting.remove(gate)
        return True


def _forget_after_fork() -> None:
    """The threads that held and wanted turns are the parent's."""
    global _mutex
    _mutex = threading.Lock()
    _queues.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
