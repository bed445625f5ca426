"""The metastore's lock with a real metastore, through a proxy that injects faults."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from hive_views.config import LockConfig
from hive_views.errors import LockError, LockTimeoutError, MetastoreRefusedError, MetastoreUnavailableError
from hive_views.identifiers import ViewName
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    DataOperationType,
    LockComponent,
    LockLevel,
    LockRequest,
    LockState,
    LockType,
    ShowLocksResponseElement,
)
from hive_views.metastore.locking import process_lock
from hive_views.metastore.locking.lock import (
    AGENT_PREFIX,
    LOCKABLE_NAME_LENGTH,
    MAX_REFUSALS,
    MetastoreLock,
    acquire_lock,
    hold_lock,
)
from hive_views.metastore.transport.client import MAX_SENDS, MetastoreClient
from tests.integration.metastore.rpc import client_for
from tests.proxy import EVERY, Action, CutReply, DropReply, DropRequest, Hold, ThriftProxy

QUICK = LockConfig(timeout_ms=30_000, check_min_wait_ms=5, check_max_wait_ms=50)
IMPATIENT = LockConfig(timeout_ms=300, check_min_wait_ms=5, check_max_wait_ms=50)


@pytest.fixture
def client(client: MetastoreClient, proxy: ThriftProxy) -> MetastoreClient:
    """A client that has already checked that its metastore does not read from a cache."""
    assert not client.reads_from_cache()
    proxy.clear()
    return client


@pytest.fixture
def observer(metastore: EmbeddedMetastore) -> Iterator[MetastoreClient]:
    """The client of another program, without faults."""
    with client_for(metastore.uri) as created:
        yield created


@pytest.fixture
def name(database: str, observer: MetastoreClient) -> Iterator[ViewName]:
    """A view's name; checks that no lock on it is left."""
    name = ViewName(database, "v")
    yield name
    assert observer.show_locks(database, None) == []
    assert not process_lock.waiting()


def locks_on(observer: MetastoreClient, name: ViewName) -> list[ShowLocksResponseElement]:
    return sorted(observer.show_locks(name.database, name.name), key=lambda lock: lock.lockid)


def eventually(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds, within the time limit of the test."""
    while not condition():
        time.sleep(0.005)


# -- Acquire and release ----------------------------------------------------------------------------------------------


def test_held_lock_is_visible_to_others(client: MetastoreClient, observer: MetastoreClient, name: ViewName) -> None:
    with hold_lock(client, QUICK, name, user="ann") as lock:
        lock.ensure_active()
        (seen,) = locks_on(observer, name)
        assert (seen.lockid, seen.state, seen.type) == (lock.lock_id, LockState.ACQUIRED, LockType.EXCLUSIVE)
        assert (seen.dbname, seen.tablename, seen.partname) == (name.database, name.name, None)
        assert (seen.user, seen.hostname) == ("ann", os.uname().nodename)
        assert seen.agentInfo.startswith(AGENT_PREFIX)
        assert not seen.txnid
    assert locks_on(observer, name) == []


def test_uncontended_lock_takes_two_calls(client: MetastoreClient, proxy: ThriftProxy, name: ViewName) -> None:
    with hold_lock(client, QUICK, name):
        pass
    assert proxy.methods == ["lock", "unlock"]


def test_exclusive_lock_granted_together_with_a_shared_lock_is_not_used(
    client: MetastoreClient, observer: MetastoreClient, proxy: ThriftProxy, name: ViewName
) -> None:
    """Hive 2.3 grants the shared lock, which is requested later, and does not compare the exclusive one with it."""

    def request(kind: int) -> LockRequest:
        level, operation = LockLevel.TABLE, DataOperationType.NO_TXN
        component = LockComponent(kind, level, name.database, name.name, operationType=operation)
        return LockRequest([component], user="dba", hostname="console")

    first = observer.lock(request(LockType.EXCLUSIVE))
    held = proxy.on("check_lock", Hold())
    acquired, released = threading.Event(), threading.Event()

    def acquire() -> None:
        with hold_lock(client, QUICK, name):
            acquired.set()
            released.wait(30)

    thread = threading.Thread(target=acquire)
    thread.start()
    held.wait_until_held()
    observer.unlock(first.lockid)
    shared = observer.lock(request(LockType.SHARED_READ))
    held.release()
    if shared.state == LockState.ACQUIRED:
        eventually(lambda: proxy.methods.count("check_lock") > 3)
        assert not acquired.is_set()
        observer.unlock(shared.lockid)
    assert acquired.wait(30)
    released.set()
    thread.join(30)
    if shared.state != LockState.ACQUIRED:
        observer.unlock(shared.lockid)


def test_lock_user_defaults_to_connection_user(
    metastore: EmbeddedMetastore, observer: MetastoreClient, name: ViewName
) -> None:
    with client_for(metastore.uri, user="carl") as client, hold_lock(client, QUICK, name):
        assert locks_on(observer, name)[0].user == "carl"


def test_lock_is_released_after_error(client: MetastoreClient, observer: MetastoreClient, name: ViewName) -> None:
    with pytest.raises(ZeroDivisionError), hold_lock(client, QUICK, name):
        assert locks_on(observer, name)
        raise ZeroDivisionError
    assert locks_on(observer, name) == []


def test_release_is_idempotent(client: MetastoreClient, proxy: ThriftProxy, name: ViewName) -> None:
    lock = acquire_lock(client, QUICK, name)
    lock.release()
    lock.release()
    assert proxy.methods == ["lock", "unlock"]
    with pytest.raises(LockError, match="it was released") as caught:
        lock.ensure_active()
    assert caught.value.lock_id == lock.lock_id
    assert caught.value.identifier == str(name)


def test_abandoned_lock_stays_in_the_metastore(
    client: MetastoreClient, observer: MetastoreClient, name: ViewName
) -> None:
    with hold_lock(client, QUICK, name) as lock:
        lock.abandon()
    assert [seen.lockid for seen in locks_on(observer, name)] == [lock.lock_id]
    with pytest.raises(LockError):
        lock.ensure_active()
    observer.unlock(lock.lock_id)


def test_locks_on_different_views_do_not_wait_for_each_other(client: MetastoreClient, name: ViewName) -> None:
    with hold_lock(client, IMPATIENT, name), hold_lock(client, IMPATIENT, ViewName(name.database, "other")):
        pass


# -- Waiting ----------------------------------------------------------------------------------------------------------


def test_waiting_lock_is_granted_after_release(
    client: MetastoreClient, observer: MetastoreClient, name: ViewName
) -> None:
    holder = acquire_lock(observer, QUICK, name)
    got: list[MetastoreLock] = []
    waiter = threading.Thread(target=lambda: got.append(acquire_lock(client, QUICK, name)))
    waiter.start()
    eventually(lambda: [lock.state for lock in locks_on(observer, name)] == [LockState.ACQUIRED, LockState.WAITING])
    assert got == []
    holder.release()
    waiter.join(30)
    (lock,) = got
    lock.ensure_active()
    assert [(seen.lockid, seen.state) for seen in locks_on(observer, name)] == [(lock.lock_id, LockState.ACQUIRED)]
    lock.release()


def test_lock_timeout_names_the_holder(client: MetastoreClient, observer: MetastoreClient, name: ViewName) -> None:
    with hold_lock(observer, QUICK, name, user="ann") as holder:
        (seen,) = locks_on(observer, name)
        with pytest.raises(LockTimeoutError) as caught:
            acquire_lock(client, IMPATIENT, name)
        since = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seen.acquiredat // 1000))
        message = str(caught.value)
        for part in (
            f"Lock on {name}: not free within 300 ms",
            f"lock {holder.lock_id} is held by user ann on host {os.uname().nodename}",
            f"agent {seen.agentInfo} since {since}",
            "hive.txn.timeout",
        ):
            assert part in message
        assert [lock.lockid for lock in locks_on(observer, name)] == [holder.lock_id], "the waiting lock was left"


def test_lock_timeout_names_holder_of_database_lock(
    client: MetastoreClient, observer: MetastoreClient, name: ViewName
) -> None:
    component = LockComponent(
        type=LockType.EXCLUSIVE, level=LockLevel.DB, dbname=name.database, operationType=DataOperationType.NO_TXN
    )
    other = observer.lock(LockRequest(component=[component], user="dba", hostname="console", agentInfo=None))
    with pytest.raises(LockTimeoutError, match=f"lock {other.lockid} is held by user dba on host console"):
        acquire_lock(client, IMPATIENT, name)
    observer.unlock(other.lockid)


def test_threads_queue_within_the_process(client: MetastoreClient, proxy: ThriftProxy, name: ViewName) -> None:
    inside, worst = 0, 0

    def work() -> None:
        nonlocal inside, worst
        for _ in range(10):
            with hold_lock(client, QUICK, name):
                inside += 1
                worst = max(worst, inside)
                time.sleep(0.001)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert worst == 1
    assert sorted(proxy.methods) == ["lock"] * 40 + ["unlock"] * 40


def test_process_lock_timeout_is_reported(client: MetastoreClient, proxy: ThriftProxy, name: ViewName) -> None:
    with hold_lock(client, QUICK, name):
        with pytest.raises(LockTimeoutError, match="another thread of this process"):
            acquire_lock(client, IMPATIENT, name)
        assert proxy.methods == ["lock"]


def test_two_processes_never_hold_the_lock_together(metastore: EmbeddedMetastore, name: ViewName) -> None:
    inside, worst = 0, 0

    def work(number: int) -> None:
        nonlocal inside, worst
        # A different list of metastores is a different key of the process lock, so these queue in the metastore.
        with client_for(metastore.uri, f"thrift://127.0.0.1:{number + 1}") as client:
            for _ in range(8):
                with hold_lock(client, QUICK, name):
                    inside += 1
                    worst = max(worst, inside)
                    time.sleep(0.001)
                    inside -= 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert worst == 1


def test_interrupted_wait_leaves_no_lock(client: MetastoreClient, observer: MetastoreClient, name: ViewName) -> None:
    with hold_lock(observer, QUICK, name) as holder:
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            with pytest.raises(KeyboardInterrupt):
                acquire_lock(client, QUICK, name)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
        assert [lock.lockid for lock in locks_on(observer, name)] == [holder.lock_id]


# -- Lost requests and replies ----------------------------------------------------------------------------------------

FAULTS = [
    pytest.param(DropRequest(), id="request dropped"),
    pytest.param(DropReply(), id="reply dropped"),
    pytest.param(DropReply(reset=True), id="reply reset"),
    pytest.param(DropReply(silent=True), id="reply never comes"),
    pytest.param(CutReply(), id="half a reply"),
]


@pytest.mark.parametrize("fault", FAULTS)
def test_lost_lock_reply_leaves_exactly_one_lock(
    proxy: ThriftProxy, observer: MetastoreClient, name: ViewName, fault: Action
) -> None:
    proxy.on("lock", fault)
    with client_for(proxy.uri, call_timeout_ms=1_500) as client:
        with hold_lock(client, QUICK, name) as lock:
            lock.ensure_active()
            assert [(seen.lockid, seen.state) for seen in locks_on(observer, name)] == [
                (lock.lock_id, LockState.ACQUIRED)
            ]
        assert locks_on(observer, name) == []
    assert proxy.methods.count("lock") == (2 if isinstance(fault, DropRequest) else 1)


def test_lost_lock_reply_is_recovered_while_waiting(
    client: MetastoreClient, proxy: ThriftProxy, observer: MetastoreClient, name: ViewName
) -> None:
    proxy.on("lock", DropReply())
    holder = acquire_lock(observer, QUICK, name)
    got: list[MetastoreLock] = []
    waiter = threading.Thread(target=lambda: got.append(acquire_lock(client, QUICK, name)))
    waiter.start()
    eventually(lambda: "check_lock" in proxy.methods)
    assert len(locks_on(observer, name)) == 2
    holder.release()
    waiter.join(30)
    assert [seen.lockid for seen in locks_on(observer, name)] == [got[0].lock_id]
    got[0].release()


def test_late_lock_request_leaves_no_second_lock(
    client: MetastoreClient, proxy: ThriftProxy, observer: MetastoreClient, name: ViewName
) -> None:
    held = proxy.on("lock", Hold(close=True))
    with hold_lock(client, QUICK, name) as lock:
        lock.ensure_active()
        held.release()
        assert len(locks_on(observer, name)) == 2, "the late request was meant to make a second lock"
    assert locks_on(observer, name) == []


def test_late_lock_request_granted_first_is_adopted(
    client: MetastoreClient, proxy: ThriftProxy, observer: MetastoreClient, name: ViewName
) -> None:
    # The late first request arrives before the second one, which would wait for it until the time-out.
    holder = acquire_lock(observer, QUICK, name)
    first, second = Hold(close=True), Hold()
    proxy.on("lock", first)
    proxy.on("lock", second, nth=2)
    got: list[MetastoreLock] = []
    waiter = threading.Thread(target=lambda: got.append(acquire_lock(client, QUICK, name)))
    waiter.start()
    second.wait_until_held()
    first.release()
    second.release()
    (_, late, _) = locks_on(observer, name)
    holder.release()
    waiter.join(30)
    assert got[0].lock_id == late.lockid
    assert [(seen.lockid, seen.state) for seen in locks_on(observer, name)] == [(late.lockid, LockState.ACQUIRED)]
    got[0].release()


def test_lost_check_lock_is_repeated(
    client: MetastoreClient, proxy: ThriftProxy, observer: MetastoreClient, name: ViewName
) -> None:
    proxy.on("check_lock", DropReply(), nth=EVERY)
    holder = acquire_lock(observer, QUICK, name)
    got: list[MetastoreLock] = []
    waiter = threading.Thread(target=lambda: got.append(acquire_lock(client, QUICK, name)))
    waiter.start()
    eventually(lambda: proxy.methods.count("check_lock") > 4)
    proxy.clear()
    holder.release()
    waiter.join(30)
    got[0].ensure_active()
    got[0].release()


def test_removed_waiting_lock_raises(
    client: MetastoreClient, proxy: ThriftProxy, observer: MetastoreClient, name: ViewName
) -> None:
    with hold_lock(observer, QUICK, name):
        problems: list[BaseException] = []

        def wait() -> None:
            try:
                acquire_lock(client, QUICK, name)
            except LockError as error:
                problems.append(error)

        waiter = threading.Thread(target=wait)
        waiter.start()
        eventually(lambda: "check_lock" in proxy.methods)
        observer.unlock(locks_on(observer, name)[1].lockid)
        waiter.join(30)
        assert "the server dropped the request while it waited" in str(problems[0])


@pytest.mark.hive2
def test_persistently_failing_lock_request_raises_with_cause(
    client: MetastoreClient, proxy: ThriftProxy, name: ViewName
) -> None:
    # Hive 2.3's table of locks stores names of 128 characters; a view's name may have 256.
    with pytest.raises(LockError, match=f"at most {LOCKABLE_NAME_LENGTH} characters") as caught:
        acquire_lock(client, QUICK, ViewName(name.database, "v" * (LOCKABLE_NAME_LENGTH + 1)))
    assert not isinstance(caught.value, LockTimeoutError)
    assert isinstance(caught.value.__cause__, MetastoreRefusedError)
    assert proxy.methods.count("lock") == MAX_REFUSALS
    acquire_lock(client, QUICK, ViewName(name.database, "v" * LOCKABLE_NAME_LENGTH)).release()


def test_unreachable_metastore_is_reported(client: MetastoreClient, proxy: ThriftProxy, name: ViewName) -> None:
    proxy.refuse()
    proxy.disconnect()
    with pytest.raises(MetastoreUnavailableError, match=proxy.uri):
        acquire_lock(client, QUICK, name)


# -- Releasing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", FAULTS[:3])
def test_lost_release_is_repeated(
    client: MetastoreClient, proxy: ThriftProxy, observer: MetastoreClient, name: ViewName, fault: Action
) -> None:
    proxy.on("unlock", fault)
    with hold_lock(client, QUICK, name):
        pass
    assert locks_on(observer, name) == []
    assert proxy.methods == ["lock", "unlock", "unlock"]


def test_failed_release_is_retried_later(
    client: MetastoreClient, proxy: ThriftProxy, observer: MetastoreClient, name: ViewName
) -> None:
    for nth in range(1, MAX_SENDS + 1):
        proxy.on("unlock", DropRequest(), nth=nth)
    with hold_lock(client, QUICK, name):
        pass
    assert locks_on(observer, name) == []
    assert proxy.methods.count("unlock") == MAX_SENDS + 1


def test_failed_release_is_logged_and_hides_no_error(
    client: MetastoreClient,
    proxy: ThriftProxy,
    observer: MetastoreClient,
    name: ViewName,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(ZeroDivisionError), hold_lock(client, QUICK, name) as lock:
        proxy.on("unlock", DropRequest(), nth=EVERY)
        raise ZeroDivisionError
    (record,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    for part in (str(name), str(lock.lock_id), "hive.txn.timeout"):
        assert part in record.getMessage()
    observer.unlock(lock.lock_id)


def test_unreleased_lock_is_removed_by_next_acquisition(
    client: MetastoreClient, proxy: ThriftProxy, observer: MetastoreClient, name: ViewName
) -> None:
    """Otherwise a program whose metastore hung would wait for its own lock until hive.txn.timeout."""
    lock = acquire_lock(client, QUICK, name)
    proxy.refuse()
    proxy.disconnect()
    lock.release()
    assert len(observer.show_locks(name.database, name.name)) == 1
    proxy.accept()
    with hold_lock(client, IMPATIENT, name) as again:
        assert [held.lockid for held in observer.show_locks(name.database, name.name)] == [again.lock_id]


def test_release_of_missing_lock_logs_no_warning(
    client: MetastoreClient, observer: MetastoreClient, name: ViewName, caplog: pytest.LogCaptureFixture
) -> None:
    with hold_lock(client, QUICK, name) as lock:
        observer.unlock(lock.lock_id)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_interrupted_release_is_completed(
    client: MetastoreClient, proxy: ThriftProxy, observer: MetastoreClient, name: ViewName
) -> None:
    lock = acquire_lock(client, QUICK, name)
    proxy.on("unlock", Hold())
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            lock.release()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    assert proxy.methods == ["lock", "unlock", "unlock"]
    assert locks_on(observer, name) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_child_does_not_own_parent_lock(
    client: MetastoreClient, observer: MetastoreClient, name: ViewName
) -> None:
    with hold_lock(client, QUICK, name) as lock:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                lock.release()
                try:
                    lock.ensure_active()
                except LockError as error:
                    code = 0 if "the process from which" in str(error) else 2
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        lock.ensure_active()
        assert [seen.lockid for seen in locks_on(observer, name)] == [lock.lock_id]
    assert locks_on(observer, name) == []
