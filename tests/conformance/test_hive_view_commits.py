"""Iceberg's TestHiveViewCommits, whose faults are real ones here: a proxy before the metastore makes them.

Each test is named after the one in Java; see docs/conformance.md. Java's `persistTable` is the alter of the row.
"""

from __future__ import annotations

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hive_views import HiveView, HiveViewCatalog
from hive_views.errors import CommitFailedError, CommitStateUnknownError, InvalidIdentifierError
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    MetaException,
    ShowLocksRequest,
    UnlockRequest,
)
from tests.conftest import CatalogFactory
from tests.faults.scripted import Answer, ScriptedServer
from tests.integration.catalog.samples import QUERY, SCHEMA, files_below, path, version
from tests.proxy import EVERY, DropReply, DropRequest, Hold, ThriftProxy

PERSIST = "alter_table_with_environment_context"
CHECK = "get_table_req"
SOON = {"hive-views.settle-timeout-ms": "300"}
"""How long a commit without an answer is pursued, where a test makes sure that none will come."""
WITHOUT_LOCK = {"iceberg.engine.hive.lock-enabled": "false"}


@pytest.fixture
def view(catalog: HiveViewCatalog, database: str) -> HiveView:
    """The view that Java's tests begin with, after their first commit: one property, two files."""
    created = catalog.create_view((database, "view"), SCHEMA, version(database, ("hive", QUERY)))
    return created.update().set_properties(k1="v1").commit()


@pytest.fixture
def faulty(open_catalog: CatalogFactory, proxy: ThriftProxy, view: HiveView) -> HiveView:
    """The same view, loaded through the proxy."""
    return through(open_catalog, proxy, view)


def through(
    open_catalog: CatalogFactory, proxy: ThriftProxy, view: HiveView, more: dict[str, str] | None = None
) -> HiveView:
    loaded = open_catalog({"uri": proxy.uri, **SOON, **(more or {})}).load_view(view.name())
    proxy.clear()
    return loaded


def files(view: HiveView) -> set[Path]:
    return files_below(view.location())


def test_view_query_is_updated_on_commit(view: HiveView, raw: Client) -> None:
    row = raw.get_table(*view.name())
    assert (row.viewOriginalText, row.viewExpandedText) == (QUERY, QUERY)
    changed = view.update().replace_version(version("ns", ("hive", "select * from ns.tbl2"))).commit()
    row = raw.get_table(*view.name())
    assert (row.viewOriginalText, row.viewExpandedText) == ("select * from ns.tbl2", "select * from ns.tbl2")
    assert (changed.original_text, changed.expanded_text) == ("select * from ns.tbl2", "select * from ns.tbl2")


def test_suppress_unlock_exceptions(catalog: HiveViewCatalog, faulty: HiveView, proxy: ThriftProxy) -> None:
    proxy.on("unlock", DropRequest(), nth=EVERY)
    changed = faulty.update().remove_properties("k1").commit()
    assert "unlock" in proxy.methods
    assert changed.properties == {}
    assert catalog.load_view(faulty.name()) == changed


def test_thrift_exception_unknown_state_if_not_in_history_failure_on_commit(
    catalog: HiveViewCatalog, view: HiveView, faulty: HiveView, proxy: ThriftProxy
) -> None:
    proxy.on(PERSIST, DropRequest(), nth=EVERY)
    before = files(view)
    with pytest.raises(CommitStateUnknownError) as caught:
        faulty.update().remove_properties("k1").commit()
    assert catalog.load_view(view.name()) == view
    assert path(view.metadata_location) in before
    assert files(view) - before == {path(str(caught.value.metadata_location))}


def test_thrift_exception_success_on_commit(
    catalog: HiveViewCatalog, view: HiveView, faulty: HiveView, proxy: ThriftProxy
) -> None:
    proxy.on(PERSIST, DropReply())
    changed = faulty.update().remove_properties("k1").commit()
    assert [call.answered for call in proxy.calls if call.method == PERSIST] == [True, True]
    assert catalog.load_view(view.name()) == changed
    assert changed.properties == {}
    assert path(changed.metadata_location) in files(view)


def test_thrift_exception_unknown_failed_commit(
    catalog: HiveViewCatalog, view: HiveView, faulty: HiveView, proxy: ThriftProxy
) -> None:
    hidden(proxy, DropRequest())
    with pytest.raises(CommitStateUnknownError, match="the connection broke") as caught:
        faulty.update().remove_properties("k1").commit()
    assert catalog.load_view(view.name()) == view
    assert {path(view.metadata_location), path(str(caught.value.metadata_location))} <= files(view)


def test_thrift_exceptions_unknown_success_commit(
    catalog: HiveViewCatalog, view: HiveView, faulty: HiveView, proxy: ThriftProxy
) -> None:
    hidden(proxy, DropReply())
    with pytest.raises(CommitStateUnknownError) as caught:
        faulty.update().remove_properties("k1").commit()
    now = catalog.load_view(view.name())
    assert now.properties == {}
    assert now.metadata_location == caught.value.metadata_location
    assert {path(view.metadata_location), path(now.metadata_location)} <= files(view)


def hidden(proxy: ThriftProxy, first: DropRequest | DropReply) -> None:
    """Lose the alter, all that is sent after it, and every look at what became of it."""
    proxy.on(PERSIST, first)
    proxy.on(PERSIST, DropRequest(), nth=EVERY)
    for nth in range(2, 50):
        # The first read is the one before the alter.
        proxy.on(CHECK, DropRequest(), nth=nth)


@pytest.mark.swaps
def test_thrift_exception_concurrent_commit(
    open_catalog: CatalogFactory, view: HiveView, faulty: HiveView, proxy: ThriftProxy, raw: Client
) -> None:
    """Java cannot tell, because the row no longer shows its commit. Ours sees it in the pointer before."""
    proxy.on(PERSIST, DropReply())
    with proxy.in_flight(PERSIST, faulty.update().remove_properties("k1").commit, nth=2) as committing:
        release_locks(raw, view)
        others = open_catalog(WITHOUT_LOCK).load_view(view.name())
        assert others.properties == {}
        others = others.update().set_properties(k1="v1", k2="v2").commit()
    ours = committing.result()
    now = open_catalog().load_view(view.name())
    assert now == others
    assert now.properties == {"k1": "v1", "k2": "v2"}
    assert now.previous_metadata_location == ours.metadata_location
    assert {path(ours.metadata_location), path(now.metadata_location)} <= files(view)


def release_locks(raw: Client, view: HiveView) -> None:
    """What the metastore's house-keeper does with locks without heartbeats."""
    database, name = view.name()
    for lock in raw.show_locks(ShowLocksRequest(dbname=database, tablename=name)).locks:
        raw.unlock(UnlockRequest(lockid=lock.lockid))


def test_invalid_object_exception(catalog: HiveViewCatalog, database: str) -> None:
    # Java asks the server, which rejects it. Ours rejects it before any request.
    with pytest.raises(InvalidIdentifierError, match="`test_iceberg_view`") as caught:
        catalog.create_view(f"{database}.`test_iceberg_view`", SCHEMA, version(database, ("hive", QUERY)))
    assert caught.value.identifier == f"{database}.`test_iceberg_view`"


@pytest.mark.swaps
def test_no_lock_thrift_exception_concurrent_commit(
    open_catalog: CatalogFactory, catalog: HiveViewCatalog, view: HiveView, proxy: ThriftProxy
) -> None:
    faulty = through(open_catalog, proxy, view, WITHOUT_LOCK)
    commit = faulty.update().replace_version(version("ns", ("hive", "select 1"))).commit
    with proxy.in_flight(PERSIST, commit) as committing:
        others = view.update().replace_version(version("ns", ("hive", "select 2"))).commit()
        before = files(view)
    with pytest.raises(CommitFailedError, match="Cannot commit"):
        committing.result()
    assert "lock" not in proxy.methods
    assert catalog.load_view(view.name()) == others
    assert len(before - files(view)) == 1, "the refused commit's file is deleted"
    assert path(others.metadata_location) in files(view)


@pytest.mark.swaps
def test_lock_exception_unknown_success_commit(
    open_catalog: CatalogFactory, catalog: HiveViewCatalog, view: HiveView, proxy: ThriftProxy, raw: Client
) -> None:
    """Java cannot tell whether another commit came between; ours knows from the server's compare-and-swap."""
    faulty = through(open_catalog, proxy, view, {"iceberg.hive.lock-heartbeat-interval-ms": "1000"})
    with proxy.in_flight(PERSIST, faulty.update().remove_properties("k1").commit) as committing:
        beat = proxy.on("heartbeat", Hold())
        beat.wait_until_held()
        release_locks(raw, view)
        beat.release()
    changed = committing.result()
    assert catalog.load_view(view.name()) == changed
    assert changed.properties == {}
    assert path(changed.metadata_location) in files(view)


def test_success_commit_when_check_commit_status_oom(
    catalog: HiveViewCatalog, view: HiveView, faulty: HiveView, proxy: ThriftProxy
) -> None:
    """Whatever ends the program while it waits for an answer: the new file stays, because the row may name it."""
    proxy.on(PERSIST, DropReply())
    again = proxy.on(PERSIST, Hold(), nth=2)
    main = threading.main_thread().ident
    assert main == threading.get_ident()

    def interrupt() -> None:
        again.wait_until_held()
        signal.pthread_kill(main, signal.SIGINT)

    with ThreadPoolExecutor(1) as pool:
        interrupting = pool.submit(interrupt)
        with pytest.raises(KeyboardInterrupt):
            faulty.update().remove_properties("k1").commit()
        interrupting.result()
    now = catalog.load_view(view.name())
    assert now.properties == {}
    assert path(now.metadata_location) in files(view)


def test_commit_exception_without_message(
    open_catalog: CatalogFactory, catalog: HiveViewCatalog, metastore: EmbeddedMetastore, view: HiveView
) -> None:
    with ScriptedServer(metastore.port) as server:
        faulty = open_catalog({"uri": server.uri, **SOON}).load_view(view.name())
        # The server applied the change, fails afterwards without a reason, and does not answer the check.
        server.on(PERSIST, Answer(MetaException(None), carried_out=True))
        for nth in range(2, 200):
            server.on(CHECK, Answer(MetaException(None)), nth=nth)
        with pytest.raises(CommitStateUnknownError) as caught:
            faulty.update().remove_properties("k1").commit()
    assert "None" not in str(caught.value)
    assert "MetaException" in caught.value.reason
    now = catalog.load_view(view.name())
    assert now.properties == {}
    assert now.metadata_location == caught.value.metadata_location
