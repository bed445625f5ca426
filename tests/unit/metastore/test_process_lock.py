"""The fair lock within one process."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

from hive_views.metastore.locking import process_lock


@pytest.fixture
def key() -> Iterator[object]:
    key = object()
    yield key
    assert key not in process_lock.waiting(), "the lock is still held"


def wait_for_queue(key: object, length: int) -> None:
    while process_lock.waiting()[key] < length:
        time.sleep(0.001)


def test_acquire_free_and_held_lock(key: object) -> None:
    assert process_lock.acquire(key, 0)
    assert not process_lock.acquire(key, 0.01)
    process_lock.release(key)
    assert process_lock.acquire(key, 0)
    process_lock.release(key)


def test_locks_on_different_keys_are_independent(key: object) -> None:
    other = object()
    assert process_lock.acquire(key, 0)
    assert process_lock.acquire(other, 0)
    process_lock.release(key)
    process_lock.release(other)


def test_lock_is_handed_over_in_order(key: object) -> None:
    order: list[int] = []

    def work(number: int) -> None:
        assert process_lock.acquire(key, 30)
        order.append(number)
        process_lock.release(key)

    assert process_lock.acquire(key, 0)
    threads = []
    for number in range(6):
        threads.append(threading.Thread(target=work, args=(number,)))
        threads[-1].start()
        wait_for_queue(key, number + 1)
    process_lock.release(key)
    for thread in threads:
        thread.join(30)
    assert order == list(range(6))


def test_timed_out_waiter_is_skipped(key: object) -> None:
    outcome: list[bool] = []
    assert process_lock.acquire(key, 0)
    impatient = threading.Thread(target=lambda: outcome.append(process_lock.acquire(key, 0.05)))
    impatient.start()
    impatient.join(30)
    assert outcome == [False]
    process_lock.release(key)
    assert process_lock.acquire(key, 0)
    process_lock.release(key)


def test_mutual_exclusion_for_any_timeouts(key: object) -> None:
    inside, worst, granted = 0, 0, 0
    guard = threading.Lock()

    def work(number: int) -> None:
        nonlocal inside, worst, granted
        for round_ in range(50):
            # Time-outs about as long as the lock is held, so that hand-over and time-out coincide.
            if not process_lock.acquire(key, 0.0005 * ((number + round_) % 4)):
                continue
            with guard:
                inside += 1
                worst = max(worst, inside)
                granted += 1
            time.sleep(0.0003)
            with guard:
                inside -= 1
            process_lock.release(key)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert granted > 0
    assert worst == 1


def test_lock_handed_over_at_timeout_is_acquired(key: object) -> None:
    outcome: list[bool] = []
    assert process_lock.acquire(key, 0)
    waiter = threading.Thread(target=lambda: outcome.append(process_lock.acquire(key, 0.05)))
    waiter.start()
    wait_for_queue(key, 1)
    with process_lock._mutex:
        time.sleep(0.2)  # its time-out passes, and it cannot leave the queue yet
        process_lock._queues[key].popleft().release()
    waiter.join(30)
    assert outcome == [True]
    process_lock.release(key)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_child_does_not_share_locks(key: object) -> None:
    assert process_lock.acquire(key, 0)
    child = os.fork()
    if child == 0:
        os._exit(0 if process_lock.acquire(key, 0) else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert not process_lock.acquire(key, 0)
    process_lock.release(key)
