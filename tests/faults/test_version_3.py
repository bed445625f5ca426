"""Servers that ignore expectations, like Hive 3.1.3: only the lock protects, so it is never released early.

The real server honors expectations; a scripted server removes them from the requests, see `like_version_3`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import CommitStateUnknownError, LockError, LockTimeoutError
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ttypes import MetaException
from hive_views.metastore.capabilities import honors_cas
from tests.conftest import CatalogFactory
from tests.faults.conftest import LOCK_FREE, Behind, Scene, WithoutLock
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


def test_version_3_server_is_recognized(catalog: HiveViewCatalog, old: HiveViewCatalog) -> None:
    assert honors_cas(catalog.store.client)
    assert not honors_cas(old.store.client)


@pytest.mark.parametrize("change", VIEW_CHANGES, ids=str)
def test_operations_work_on_version_3(change: ViewChange, old: HiveViewCatalog, scene: Scene) -> None:
    change.run(old, scene.database)
    scene.check(change)
    assert scene.locks() == []


@pytest.mark.parametrize("change", KINDS, ids=str)
def test_version_3_is_rejected_without_locks(change: ViewChange, scene: Scene) -> None:
    with pytest.raises(LockError, match="lock-enabled=true"):
        scene.run(change, **LOCK_FREE)
    assert not scene.is_applied(change)
    assert scene.new_files() == []


@pytest.fixture
def older(open_catalog: CatalogFactory, metastore: EmbeddedMetastore) -> Iterator[tuple[ScriptedServer, Behind]]:
    """A server that imitates Hive 2.3.9: no catalogs, and expectations of an alter are ignored."""
    with ScriptedServer(metastore.port) as server:
        server.on(ALTER_TABLE, Rewrite(b"expected_parameter_key", b"unheard_of_parameter_k"), nth=EVERY)
        yield server, lambda **more: open_catalog({"uri": server.uri, **more})  # type: ignore[misc]


@pytest.mark.parametrize("change", KINDS, ids=str)
def test_hive_2_without_cas_is_rejected_without_locks(
    change: ViewChange, older: tuple[ScriptedServer, Behind], scene: Scene
) -> None:
    """It has the methods of 2.3.10, so its CAS support is verified, once."""
    server, opening = older
    free = opening(**LOCK_FREE)
    for _ in range(2):
        with pytest.raises(LockError, match="ignores compare-and-swap"):
            change.run(free, scene.database)
        assert not scene.is_applied(change)
    assert scene.new_files() == []
    assert server.methods.count("create_table") == 1
    change.run(opening(), scene.database)
    scene.check(change)


def test_cas_support_is_verified_once(open_catalog: CatalogFactory, scene: Scene, metastore: EmbeddedMetastore) -> None:
    with ThriftProxy(metastore.port) as proxy:
        free = open_catalog({"uri": proxy.uri, **LOCK_FREE})
        for color in ("green", "blue", "black"):
            free.load_view((scene.database, VIEW)).update().set_properties(color=color).commit()
        assert proxy.methods.count("create_table") == proxy.methods.count("drop_table") == 1
        assert "lock" not in proxy.methods
    assert scene.names() == {VIEW}
    assert scene.view(VIEW).commits == scene.before.view.commits + 3


def like_2_3_9(server: ScriptedServer) -> None:
    server.on(ALTER_TABLE, Rewrite(b"expected_parameter_key", b"unheard_of_parameter_k"), nth=EVERY)


@pytest.mark.parametrize("other", [like_2_3_9, like_version_3])
@pytest.mark.parametrize("late", [False, True])
def test_replaced_server_is_verified_again(
    late: bool,
    other: Callable[[ScriptedServer], None],
    open_catalog: CatalogFactory,
    scene: Scene,
    scripted: ScriptedServer,
) -> None:
    """Before a commit, and during one after the verification."""
    with ThriftProxy(scripted.port) as proxy:
        free = open_catalog({"uri": proxy.uri, **LOCK_FREE})
        PROPERTIES.run(free, scene.database)
        then = read_state(scene)
        connected = proxy.connections
        reading = Hold()
        if late:
            proxy.on(READ_ROW, reading, nth=2)  # the first loads the view
            running = scene.aside.submit(REPLACE.run, free, scene.database)
            reading.wait_until_held()
        other(scripted)
        proxy.disconnect()
        with pytest.raises(LockError, match="ignores compare-and-swap"):
            running.result() if late else REPLACE.run(free, scene.database)
        # A request that was not sent breaks no connection.
        assert proxy.connections == connected + 1
    assert scene.view(VIEW) == then.view
    assert new_files(scene, then) == []


def test_each_of_several_servers_is_verified(
    open_catalog: CatalogFactory, scene: Scene, metastore: EmbeddedMetastore, scripted: ScriptedServer
) -> None:
    like_2_3_9(scripted)
    with ThriftProxy(metastore.port) as proxy:
        free = open_catalog({"uri": f"{proxy.uri},{scripted.uri}", **LOCK_FREE})
        PROPERTIES.run(free, scene.database)
        then = read_state(scene)
        proxy.refuse()
        proxy.disconnect()
        with pytest.raises(LockError, match="ignores compare-and-swap"):
            REPLACE.run(free, scene.database)
    assert scene.view(VIEW) == then.view
    assert new_files(scene, then) == []


def test_lock_is_kept_if_replacing_server_ignores_cas(
    open_catalog: CatalogFactory, scene: Scene, scripted: ScriptedServer
) -> None:
    with ThriftProxy(scripted.port) as proxy:
        opened = open_catalog({"uri": proxy.uri})
        proxy.on(ALTER_TABLE, DropReply())
        PROPERTIES.run(opened, scene.database)
        assert scene.locks() == []
        like_version_3(scripted)
        proxy.disconnect()
        proxy.on(ALTER_TABLE, DropReply())
        REPLACE.run(opened, scene.database)
    assert len(scene.locks()) == 1


def test_unverifiable_server_requires_locks(
    open_catalog: CatalogFactory, scene: Scene, scripted: ScriptedServer
) -> None:
    scripted.on("create_table", Answer(MetaException("no right to create")), nth=EVERY)
    free = open_catalog({"uri": scripted.uri, **LOCK_FREE})
    with pytest.raises(LockError, match=r"could not determine whether.*lock-enabled=true.*no right"):
        PROPERTIES.run(free, scene.database)
    assert scene.view(VIEW) == scene.before.view
    assert scene.new_files() == []


@pytest.mark.parametrize("change", [REPLACE, RENAME], ids=str)
def test_late_request_cannot_overwrite_later_commits(change: ViewChange, old: HiveViewCatalog, scene: Scene) -> None:
    """Iceberg #14096: after a successful retry the lock is kept as long as the first request may arrive."""
    late = scene.proxy.on(ALTER_TABLE, Hold(close=True))
    scene.run(change)
    scene.check(change)
    assert len(scene.locks()) == 1
    if change is REPLACE:
        with pytest.raises(LockTimeoutError):
            PROPERTIES.run(old, scene.database)
    late.release()
    scene.check(change)
    scene.expire_locks()
    if change is REPLACE:
        old.load_view((scene.database, VIEW)).update().set_properties(color="black").commit()
        assert scene.view(VIEW).queries == [*scene.before.view.queries, "select 3, 'three'"]


def test_lost_reply_is_settled_on_version_3(scene: Scene) -> None:
    scene.proxy.on(ALTER_TABLE, DropReply())
    scene.run(REPLACE)
    scene.check(REPLACE)
    assert len(scene.locks()) == 1, "which of the two requests was answered, the server does not tell"


def test_unknown_outcome_keeps_the_lock(scene: Scene) -> None:
    scene.proxy.on(ALTER_TABLE, DropRequest(), nth=EVERY)
    with pytest.raises(CommitStateUnknownError):
        scene.run(REPLACE, **{"hive-views.settle-timeout-ms": "0"})
    assert len(scene.locks()) == 1
    assert len(scene.new_files()) == 1


@pytest.mark.parametrize("answered", [True, False])
def test_lock_lost_during_commit(answered: bool, without_lock: WithoutLock, scene: Scene) -> None:
    """Others may have committed in between, so a success proves nothing; nothing is sent again."""
    held, running = without_lock(REPLACE)
    if answered:
        held.release()
    else:
        scene.proxy.disconnect()
    with pytest.raises(CommitStateUnknownError, match="lock"):
        running.result()
    assert scene.proxy.methods.count(ALTER_TABLE) == 1
    assert scene.is_applied(REPLACE) is answered
    assert len(scene.new_files()) == 1
