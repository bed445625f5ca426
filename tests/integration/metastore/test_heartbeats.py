"""Heartbeats with a metastore that drops a lock after two seconds, and a metastore without lock tables."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hive_views.config import ConnectionConfig, LockConfig
from hive_views.errors import LockError
from hive_views.identifiers import ViewName
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.local_metastore.jvm import find_jars, find_java
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    DataOperationType,
    LockComponent,
    LockLevel,
    LockRequest,
    LockState,
    LockType,
)
from hive_views.metastore.locking.heartbeat import Heartbeat, clock
from hive_views.metastore.locking.lock import MAX_REFUSALS, acquire_lock, hold_lock
from hive_views.metastore.transport.client import MAX_SENDS, MetastoreClient
from tests.proxy import DropReply, DropRequest, ThriftProxy

TXN_TIMEOUT_S = 2.0
LIVELY = LockConfig(timeout_ms=30_000, check_min_wait_ms=5, check_max_wait_ms=100, heartbeat_interval_ms=200)
SILENT = LockConfig(timeout_ms=30_000, check_min_wait_ms=5, check_max_wait_ms=100, heartbeat_interval_ms=240_000)
NAME = ViewName("default", "v")


@pytest.fixture(scope="module")
def forgetful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedMetastore]:
    """A metastore that drops a lock without heartbeats after two seconds."""
    with EmbeddedMetastore(tmp_path_factory.mktemp("forgetful"), txn_timeout_s=TXN_TIMEOUT_S) as running:
        yield running


@pytest.fixture
def proxy(forgetful: EmbeddedMetastore) -> Iterator[ThriftProxy]:
    with ThriftProxy(forgetful.port) as running:
        yield running


@pytest.fixture
def client(proxy: ThriftProxy) -> Iterator[MetastoreClient]:
    with MetastoreClient(ConnectionConfig(uris=(proxy.uri,))) as created:
        yield created


@pytest.fixture
def observer(forgetful: EmbeddedMetastore) -> Iterator[MetastoreClient]:
    with MetastoreClient(ConnectionConfig(uris=(forgetful.uri,))) as created:
        yield created
        assert created.show_locks(NAME.database, None) == []


def silent_lock(observer: MetastoreClient, table: str) -> int:
    """Take a lock without heartbeats."""
    component = LockComponent(
        type=LockType.EXCLUSIVE,
        level=LockLevel.TABLE,
        dbname=NAME.database,
        tablename=table,
        operationType=DataOperationType.NO_TXN,
    )
    request = LockRequest(component=[component], user="nobody", hostname="nowhere", agentInfo="silent")
    return int(observer.lock(request).lockid)


def until_a_silent_lock_is_dropped(observer: MetastoreClient) -> None:
    """Wait until the server drops a lock without heartbeats: older ones are dropped by then, too."""
    silent_lock(observer, "silent")
    eventually(lambda: not observer.show_locks(NAME.database, "silent"))


def eventually(condition: Callable[[], bool]) -> None:
    while not condition():
        threading.Event().wait(0.01)


def is_lost(lock: object) -> str:
    try:
        lock.ensure_active()  # type: ignore[attr-defined]
    except LockError as error:
        return str(error)
    return ""


def test_heartbeats_keep_locks_alive_and_one_thread_sends_them(
    client: MetastoreClient, proxy: ThriftProxy, observer: MetastoreClient
) -> None:
    with (
        hold_lock(
            client, SILENT, ViewName("default", "slow")
        ),  # the thread sleeps for two minutes; other locks wake it
        hold_lock(client, LIVELY, NAME) as first,
        hold_lock(client, LIVELY, ViewName("default", "w")) as second,
    ):
        until_a_silent_lock_is_dropped(observer)
        first.ensure_active()
        second.ensure_active()
        held = {lock.lockid for lock in observer.show_locks(NAME.database, None) if lock.state == LockState.ACQUIRED}
        assert {first.lock_id, second.lock_id} <= held
        assert [thread.name for thread in threading.enumerate()].count("hive-views-heartbeats") == 1
    sent = proxy.methods.count("heartbeat")
    assert sent >= 8
    until_a_silent_lock_is_dropped(observer)
    assert proxy.methods.count("heartbeat") == sent, "heartbeats must end with the lock"


def test_lock_dropped_by_server_is_not_active(client: MetastoreClient, observer: MetastoreClient) -> None:
    with hold_lock(client, LIVELY, NAME) as lock:
        lock.ensure_active()
        observer.unlock(lock.lock_id)
        eventually(lambda: is_lost(lock) != "")
        with pytest.raises(LockError, match="the server has dropped it") as caught:
            lock.ensure_active()
        assert caught.value.lock_id == lock.lock_id


def test_failed_heartbeat_is_retried(metastore: EmbeddedMetastore) -> None:
    with ThriftProxy(metastore.port) as proxy, MetastoreClient(ConnectionConfig(uris=(proxy.uri,))) as client:
        held = acquire_lock(client, SILENT, NAME)
        beat = Heartbeat(client, held.lock_id, 240.0, clock())
        assert clock() + 100 < beat.due <= clock() + 120
        for nth in range(1, MAX_SENDS + 1):
            proxy.on("heartbeat", DropReply() if nth % 2 else DropRequest(), nth=nth)
        beat.send()
        assert proxy.methods.count("heartbeat") == MAX_SENDS
        assert beat.why_lost() is None
        assert beat.due <= clock() + 10
        beat.send()
        assert beat.why_lost() is None
        assert beat.due > clock() + 200
        beat.stop()
        held.release()


def test_lock_is_lost_after_failing_heartbeats(client: MetastoreClient, proxy: ThriftProxy) -> None:
    with hold_lock(client, LIVELY, NAME) as lock:
        proxy.refuse()
        proxy.disconnect()
        eventually(lambda: "no heartbeat was answered" in is_lost(lock) or "its heartbeats failed" in is_lost(lock))
        eventually(lambda: "its heartbeats failed" in is_lost(lock))
        proxy.accept()
        assert "its heartbeats failed" in is_lost(lock), "a lock that was lost stays lost"


def test_overdue_heartbeat_is_sent_by_ensure_active(client: MetastoreClient) -> None:
    # As after a suspend of the machine: the last confirmation is old.
    held = acquire_lock(client, SILENT, NAME)
    late = Heartbeat(client, held.lock_id, 240.0, clock() - 241.0)
    late.due = float("inf")
    assert late.why_lost() is None
    held.release()
    late = Heartbeat(client, held.lock_id, 240.0, clock() - 241.0)
    late.due = float("inf")
    assert "the server has dropped it" in str(late.why_lost())
    late.stop()


def test_abandoned_lock_expires(client: MetastoreClient, observer: MetastoreClient) -> None:
    lock = acquire_lock(client, LIVELY, NAME)
    lock.abandon()
    assert [seen.lockid for seen in observer.show_locks(NAME.database, NAME.name)] == [lock.lock_id]
    with hold_lock(client, LIVELY, NAME) as next_one:
        next_one.ensure_active()


def test_waiting_for_a_lock_sends_heartbeats(client: MetastoreClient, observer: MetastoreClient) -> None:
    holder = acquire_lock(observer, LIVELY, NAME)
    got: list[object] = []

    def wait() -> None:
        with hold_lock(client, LIVELY, NAME) as lock:
            got.append(lock.lock_id)

    waiter = threading.Thread(target=wait)
    waiter.start()
    eventually(lambda: len(observer.show_locks(NAME.database, NAME.name)) == 2)
    waiting = max(lock.lockid for lock in observer.show_locks(NAME.database, NAME.name))
    until_a_silent_lock_is_dropped(observer)
    holder.release()
    waiter.join(30)
    assert got == [waiting]


def test_missing_lock_tables_are_reported_after_a_few_requests(tmp_path: Path) -> None:
    # Only the first table of the transaction schema exists, which keeps the embedded metastore from creating the
    # others, as with a schema created by DataNucleus.
    url = f"jdbc:derby:;databaseName={tmp_path}/database;create=true"
    jars = find_jars(str(tmp_path))
    subprocess.run(
        [find_java(str(tmp_path)), "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*", "org.apache.derby.tools.ij"],
        input=f"connect '{url}'; create table TXNS (TXN_ID bigint); exit;",
        text=True,
        check=True,
        capture_output=True,
        cwd=tmp_path,
    )
    properties = {"javax.jdo.option.ConnectionURL": url}
    with (
        EmbeddedMetastore(tmp_path / "metastore", properties=properties) as bare,
        ThriftProxy(bare.port) as proxy,
        MetastoreClient(ConnectionConfig(uris=(proxy.uri,))) as client,
    ):
        with pytest.raises(LockError, match="transaction tables") as caught:
            acquire_lock(client, LIVELY, NAME)
        assert "iceberg.engine.hive.lock-enabled=false" in str(caught.value)
        assert proxy.methods == ["lock", "show_locks"] * MAX_REFUSALS
