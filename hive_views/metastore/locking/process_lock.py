"""A fair lock within one process: threads that need the same metastore lock queue here before one requests it.

Otherwise each waiting thread would have a request in the metastore, and poll its state. Iceberg's Java catalog does the
same (MetastoreLock, a fair lock of the JVM).
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Hashable

_mutex = threading.Lock()
_queues: dict[Hashable, deque[threading.Lock]] = {}
"""For each locked key the queue of waiting threads, each as a lock that is released to wake the thread."""


def acquire(key: Hashable, timeout: float) -> bool:
    """Acquire the lock on a key; return False if it is not free within `timeout` seconds."""
    with _mutex:
        queue = _queues.get(key)
        if queue is None:
            _queues[key] = deque()
            return True
        gate = threading.Lock()
        gate.acquire()
        queue.append(gate)
    try:
        is_acquired = gate.acquire(timeout=min(max(timeout, 0), threading.TIMEOUT_MAX))
    except BaseException:
        if not _leave_queue(queue, gate):
            release(key)
        raise
    return is_acquired or not _leave_queue(queue, gate)


def release(key: Hashable) -> None:
    """Release the lock on a key to the thread that has waited longest."""
    with _mutex:
        queue = _queues.get(key)
        if queue:
            queue.popleft().release()
        else:
            _queues.pop(key, None)


def waiting() -> dict[Hashable, int]:
    """Return the number of waiting threads for each locked key."""
    with _mutex:
        return {key: len(queue) for key, queue in _queues.items()}


def _leave_queue(queue: deque[threading.Lock], gate: threading.Lock) -> bool:
    """Stop waiting; return False if the lock was handed over in the meantime."""
    with _mutex:
        if gate not in queue:
            return False
        queue.remove(gate)
        return True


def _reset_after_fork() -> None:
    """Forget the threads that held and awaited locks: they belong to the parent process."""
    global _mutex
    _mutex = threading.Lock()
    _queues.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
