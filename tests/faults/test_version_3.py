"""A server that ignores expectations, as Hive 3.1.3 does: there the lock alone protects, so it is never let go early.

The real server honors them, so a server before it makes it forget them; see `like_version_3`.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import CommitStateUnknownError, LockError, LockTimeoutError
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import UnlockRequest
from hive_views.metastore.change_request import honors_expectations
from tests.catalog.fixtures import CatalogFactory
from tests.faults.conftest import Behind
from tests.faults.observer import Observer, until
from tests.faults.operations import (
    ALTER_TABLE,
    KINDS,
    OPERATIONS,
    PROPERTIES,
    RENAME,
    REPLACE,
    VIEW,
    Operation,
    State,
    new_files,
)
from tests.faults.scripted import ScriptedServer, like_version_3
from tests.proxy import EVERY, DropReply, DropRequest, Hold, ThriftProxy

pytestmark = pytest.mark.hive2
"""The embedded metastore is made to look like version 3."""


@pytest.fixture
def proxy(scripted: ScriptedServer) -> Iterator[ThriftProxy]:
    """A proxy before a server of version 3."""
    like_version_3(scripted)
    with ThriftProxy(scripted.port) as running:
        yield running


@pytest.fixture
def old(open_catalog: CatalogFactory, scripted: ScriptedServer, proxy: ThriftProxy) -> HiveViewCatalog:
    """Somebody else's catalog on the server of version 3."""
    return open_catalog({"uri": scripted.uri, "iceberg.hive.lock-timeout-ms": "300"})


def unlock_all(raw: Client, observer: Observer) -> None:
    """What the server does by itself when nobody has sent a heartbeat for hive.txn.timeout."""
    for lock in observer.locks():
        raw.unlock(UnlockRequest(lockid=lock.lockid))


def test_it_is_told_from_one_that_honors_them(catalog: HiveViewCatalog, old: HiveViewCatalog) -> None:
    assert honors_expectations(catalog._store.client)
    assert not honors_expectations(old._store.client)


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_everything_works(
    operation: Operation, old: HiveViewCatalog, database: str, observer: Observer, before: State
) -> None:
    operation.run(old, database)
    operation.check(observer, before)
    assert observer.locks() == []


@pytest.mark.parametrize("operation", KINDS, ids=str)
def test_it_is_not_used_without_locks(
    operation: Operation, behind: Behind, database: str, observer: Observer, before: State
) -> None:
    with pytest.raises(LockError, match="lock-enabled=true"):
        operation.run(behind(**{"iceberg.engine.hive.lock-enabled": "false"}), database)
    assert not operation.is_done(observer, before)
    assert new_files(observer, before) == []


@pytest.mark.parametrize("operation", [REPLACE, RENAME], ids=str)
def test_a_late_request_cannot_undo_what_others_did(
    operation: Operation,
    old: HiveViewCatalog,
    raw: Client,
    database: str,
    proxy: ThriftProxy,
    behind: Behind,
    observer: Observer,
    before: State,
) -> None:
    """Iceberg #14096: retried, succeeded; nobody else gets the lock as long as the first request may still arrive."""
    late = Hold(close=True)
    proxy.on(ALTER_TABLE, late)
    operation.run(behind(), database)
    operation.check(observer, before)
    assert len(observer.locks()) == 1
    if operation is REPLACE:
        with pytest.raises(LockTimeoutError):
            PROPERTIES.run(old, database)
    late.release()
    operation.check(observer, before)
    unlock_all(raw, observer)
    if operation is REPLACE:
        old.load_view((database, VIEW)).update().set_properties(color="black").commit()
        assert observer.view(VIEW).queries == [*before.view.queries, "select 3, 'three'"]


def test_a_lost_reply_is_settled(
    database: str, proxy: ThriftProxy, behind: Behind, observer: Observer, before: State
) -> None:
    proxy.on(ALTER_TABLE, DropReply())
    REPLACE.run(behind(), database)
    REPLACE.check(observer, before)
    assert len(observer.locks()) == 1, "which of the two requests was answered, the server does not tell"


def test_an_unknown_outcome_keeps_the_lock(
    database: str, proxy: ThriftProxy, behind: Behind, observer: Observer, before: State
) -> None:
    proxy.on(ALTER_TABLE, DropRequest(), nth=EVERY)
    with pytest.raises(CommitStateUnknownError):
        REPLACE.run(behind(**{"hive-views.settle-timeout-ms": "0"}), database)
    assert len(observer.locks()) == 1
    assert len(new_files(observer, before)) == 1


@pytest.mark.parametrize("answered", [True, False])
def test_the_lock_is_lost_in_the_middle(
    answered: bool,
    raw: Client,
    database: str,
    proxy: ThriftProxy,
    behind: Behind,
    observer: Observer,
    before: State,
    aside: ThreadPoolExecutor,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Then others may have committed in between, and a success proves nothing; and nothing is sent again."""
    held = Hold()
    proxy.on(ALTER_TABLE, held)
    running = aside.submit(REPLACE.run, behind(**{"iceberg.hive.lock-heartbeat-interval-ms": "100"}), database)
    held.wait_until_held()
    unlock_all(raw, observer)
    until(lambda: "is lost" in caplog.text)
    if answered:
        held.release()
    else:
        proxy.disconnect()
    with pytest.raises(CommitStateUnknownError, match="lock"):
        running.result()
    assert proxy.methods.count(ALTER_TABLE) == 1
    assert REPLACE.is_done(observer, before) is answered
    assert len(new_files(observer, before)) == 1
