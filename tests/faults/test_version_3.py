"""Servers that ignore expectations, like Hive 3.1.3: only the lock protects, so it is never released early.

The real server honors expectations; a scripted server removes them from the requests, see `like_version_3`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import CommitStateUnknownError, LockError, LockTimeoutError
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import MetaException, UnlockRequest
from hive_views.metastore.capabilities import honors_cas
from tests.conftest import CatalogFactory
from tests.faults.conftest import LOCK_FREE, Behind, WithoutLock
from tests.faults.observer import Observer
from tests.faults.scripted import Answer, Rewrite, ScriptedServer, like_version_3
from tests.faults.view_changes import (
    ALTER_TABLE,
    KINDS,
    PROPERTIES,
    READ_ROW,
    RENAME,
    REPLACE,
    VIEW,
    VIEW_CHANGES,
    State,
    ViewChange,
    new_files,
    read_state,
)
from tests.proxy import EVERY, DropReply, DropRequest, Hold, ThriftProxy

pytestmark = pytest.mark.hive2
"""The embedded metastore imitates version 3."""


@pytest.fixture
def proxy(scripted: ScriptedServer) -> Iterator[ThriftProxy]:
    """A proxy for a server of version 3."""
    like_version_3(scripted)
    with ThriftProxy(scripted.port) as running:
        yield running


@pytest.fixture
def old(open_catalog: CatalogFactory, scripted: ScriptedServer, proxy: ThriftProxy) -> HiveViewCatalog:
    """The catalog of another client on the server of version 3."""
    return open_catalog({"uri": scripted.uri, "iceberg.hive.lock-timeout-ms": "300"})


def unlock_all(raw: Client, observer: Observer) -> None:
    """Release all locks, as the server does without heartbeats for hive.txn.timeout."""
    for lock in observer.locks():
        raw.unlock(UnlockRequest(lockid=lock.lockid))


def test_version_3_server_is_recognized(catalog: HiveViewCatalog, old: HiveViewCatalog) -> None:
    assert honors_cas(catalog.store.client)
    assert not honors_cas(old.store.client)


@pytest.mark.parametrize("change", VIEW_CHANGES, ids=str)
def test_operations_work_on_version_3(
    change: ViewChange, old: HiveViewCatalog, database: str, observer: Observer, before: State
) -> None:
    change.run(old, database)
    change.check(observer, before)
    assert observer.locks() == []


@pytest.mark.parametrize("change", KINDS, ids=str)
def test_version_3_is_rejected_without_locks(
    change: ViewChange, behind: Behind, database: str, observer: Observer, before: State
) -> None:
    with pytest.raises(LockError, match="lock-enabled=true"):
        change.run(behind(**LOCK_FREE), database)
    assert not change.is_applied(observer, before)
    assert new_files(observer, before) == []


@pytest.fixture
def older(open_catalog: CatalogFactory, metastore: EmbeddedMetastore) -> Iterator[tuple[ScriptedServer, Behind]]:
    """A server that imitates Hive 2.3.9: no catalogs, and expectations of an alter are ignored."""
    with ScriptedServer(metastore.port) as server:
        server.on(ALTER_TABLE, Rewrite(b"expected_parameter_key", b"unheard_of_parameter_k"), nth=EVERY)
        yield server, lambda **more: open_catalog({"uri": server.uri, **more})


@pytest.mark.parametrize("change", KINDS, ids=str)
def test_hive_2_without_cas_is_rejected_without_locks(
    change: ViewChange, older: tuple[ScriptedServer, Behind], database: str, observer: Observer, before: State
) -> None:
    """It has the methods of 2.3.10, so its CAS support is verified, once."""
    server, opening = older
    free = opening(**LOCK_FREE)
    for _ in range(2):
        with pytest.raises(LockError, match="ignores compare-and-swap"):
            change.run(free, database)
        assert not change.is_applied(observer, before)
    assert new_files(observer, before) == []
    assert server.methods.count("create_table") == 1
    change.run(opening(), database)
    change.check(observer, before)


def test_cas_support_is_verified_once(
    open_catalog: CatalogFactory, database: str, metastore: EmbeddedMetastore, observer: Observer, before: State
) -> None:
    with ThriftProxy(metastore.port) as proxy:
        free = open_catalog({"uri": proxy.uri, **LOCK_FREE})
        for color in ("green", "blue", "black"):
            free.load_view((database, VIEW)).update().set_properties(color=color).commit()
        assert proxy.methods.count("create_table") == proxy.methods.count("drop_table") == 1
        assert "lock" not in proxy.methods
    assert observer.names() == {VIEW}
    assert observer.view(VIEW).commits == before.view.commits + 3


def like_2_3_9(server: ScriptedServer) -> None:
    server.on(ALTER_TABLE, Rewrite(b"expected_parameter_key", b"unheard_of_parameter_k"), nth=EVERY)


@pytest.mark.parametrize("other", [like_2_3_9, like_version_3])
@pytest.mark.parametrize("late", [False, True])
def test_replaced_server_is_verified_again(
    late: bool,
    other: Callable[[ScriptedServer], None],
    open_catalog: CatalogFactory,
    database: str,
    scripted: ScriptedServer,
    observer: Observer,
    before: State,
    aside: ThreadPoolExecutor,
) -> None:
    """Before a commit, and during one after the verification."""
    with ThriftProxy(scripted.port) as proxy:
        free = open_catalog({"uri": proxy.uri, **LOCK_FREE})
        PROPERTIES.run(free, database)
        then = read_state(observer)
        connected = proxy.connections
        reading = Hold()
        if late:
            proxy.on(READ_ROW, reading, nth=2)  # the first loads the view
            running = aside.submit(REPLACE.run, free, database)
            reading.wait_until_held()
        other(scripted)
        proxy.disconnect()
        with pytest.raises(LockError, match="ignores compare-and-swap"):
            running.result() if late else REPLACE.run(free, database)
        # A request that was not sent breaks no connection.
        assert proxy.connections == connected + 1
    assert observer.view(VIEW) == then.view
    assert new_files(observer, then) == []


def test_each_of_several_servers_is_verified(
    open_catalog: CatalogFactory,
    database: str,
    metastore: EmbeddedMetastore,
    scripted: ScriptedServer,
    observer: Observer,
    before: State,
) -> None:
    like_2_3_9(scripted)
    with ThriftProxy(metastore.port) as proxy:
        free = open_catalog({"uri": f"{proxy.uri},{scripted.uri}", **LOCK_FREE})
        PROPERTIES.run(free, database)
        then = read_state(observer)
        proxy.refuse()
        proxy.disconnect()
        with pytest.raises(LockError, match="ignores compare-and-swap"):
            REPLACE.run(free, database)
    assert observer.view(VIEW) == then.view
    assert new_files(observer, then) == []


def test_lock_is_kept_if_replacing_server_ignores_cas(
    open_catalog: CatalogFactory, database: str, scripted: ScriptedServer, observer: Observer, before: State
) -> None:
    with ThriftProxy(scripted.port) as proxy:
        opened = open_catalog({"uri": proxy.uri})
        proxy.on(ALTER_TABLE, DropReply())
        PROPERTIES.run(opened, database)
        assert observer.locks() == []
        like_version_3(scripted)
        proxy.disconnect()
        proxy.on(ALTER_TABLE, DropReply())
        REPLACE.run(opened, database)
    assert len(observer.locks()) == 1


def test_unverifiable_server_requires_locks(
    open_catalog: CatalogFactory, database: str, scripted: ScriptedServer, observer: Observer, before: State
) -> None:
    scripted.on("create_table", Answer(MetaException("no right to create")), nth=EVERY)
    free = open_catalog({"uri": scripted.uri, **LOCK_FREE})
    with pytest.raises(LockError, match=r"could not determine whether.*lock-enabled=true.*no right"):
        PROPERTIES.run(free, database)
    assert observer.view(VIEW) == before.view
    assert new_files(observer, before) == []


@pytest.mark.parametrize("change", [REPLACE, RENAME], ids=str)
def test_late_request_cannot_overwrite_later_commits(
    change: ViewChange,
    old: HiveViewCatalog,
    raw: Client,
    database: str,
    proxy: ThriftProxy,
    behind: Behind,
    observer: Observer,
    before: State,
) -> None:
    """Iceberg #14096: after a successful retry the lock is kept as long as the first request may arrive."""
    late = Hold(close=True)
    proxy.on(ALTER_TABLE, late)
    change.run(behind(), database)
    change.check(observer, before)
    assert len(observer.locks()) == 1
    if change is REPLACE:
        with pytest.raises(LockTimeoutError):
            PROPERTIES.run(old, database)
    late.release()
    change.check(observer, before)
    unlock_all(raw, observer)
    if change is REPLACE:
        old.load_view((database, VIEW)).update().set_properties(color="black").commit()
        assert observer.view(VIEW).queries == [*before.view.queries, "select 3, 'three'"]


def test_lost_reply_is_settled_on_version_3(
    database: str, proxy: ThriftProxy, behind: Behind, observer: Observer, before: State
) -> None:
    proxy.on(ALTER_TABLE, DropReply())
    REPLACE.run(behind(), database)
    REPLACE.check(observer, before)
    assert len(observer.locks()) == 1, "which of the two requests was answered, the server does not tell"


def test_unknown_outcome_keeps_the_lock(
    database: str, proxy: ThriftProxy, behind: Behind, observer: Observer, before: State
) -> None:
    proxy.on(ALTER_TABLE, DropRequest(), nth=EVERY)
    with pytest.raises(CommitStateUnknownError):
        REPLACE.run(behind(**{"hive-views.settle-timeout-ms": "0"}), database)
    assert len(observer.locks()) == 1
    assert len(new_files(observer, before)) == 1


@pytest.mark.parametrize("answered", [True, False])
def test_lock_lost_during_commit(
    answered: bool, without_lock: WithoutLock, proxy: ThriftProxy, observer: Observer, before: State
) -> None:
    """Others may have committed in between, so a success proves nothing; nothing is sent again."""
    held, running = without_lock(REPLACE)
    if answered:
        held.release()
    else:
        proxy.disconnect()
    with pytest.raises(CommitStateUnknownError, match="lock"):
        running.result()
    assert proxy.methods.count(ALTER_TABLE) == 1
    assert REPLACE.is_applied(observer, before) is answered
    assert len(new_files(observer, before)) == 1
