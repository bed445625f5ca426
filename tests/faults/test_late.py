"""Requests delivered after their client timed out (Iceberg #14096) must not undo later changes."""

from __future__ import annotations

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import CommitStateUnknownError, LockTimeoutError
from tests.faults.conftest import Behind
from tests.faults.observer import Observer
from tests.faults.view_changes import (
    ALTER_TABLE,
    DROP,
    DROP_TABLE,
    NEW,
    PROPERTIES,
    RENAME,
    REPLACE,
    SWAPS,
    VIEW,
    VIEW_CHANGES,
    State,
    ViewChange,
    new_files,
    same_file,
)
from tests.integration.catalog.samples import SCHEMA, version
from tests.proxy import EVERY, Hold, ThriftProxy


@pytest.mark.parametrize("change", VIEW_CHANGES, ids=str)
def test_late_request_after_repeated_request_succeeded(
    change: ViewChange, database: str, proxy: ThriftProxy, behind: Behind, observer: Observer, before: State
) -> None:
    late = Hold(close=True)
    proxy.on(change.method, late)
    change.run(behind(), database)
    change.check(observer, before)
    late.release()
    change.check(observer, before)
    assert len(new_files(observer, before)) == change.writes_file


@pytest.mark.parametrize("change", SWAPS, ids=str)
def test_late_request_after_later_commits(
    change: ViewChange,
    catalog: HiveViewCatalog,
    database: str,
    proxy: ThriftProxy,
    behind: Behind,
    observer: Observer,
    before: State,
) -> None:
    """The scenario of the issue: the retry succeeds, others commit, the first request arrives."""
    late = Hold(close=True)
    proxy.on(change.method, late)
    change.run(behind(), database)
    for color in ("green", "black"):
        catalog.load_view((database, VIEW)).update().set_properties(color=color).commit()
    after = observer.view(VIEW)
    late.release()
    assert observer.view(VIEW) == after
    assert after.properties["color"] == "black"


@pytest.mark.parametrize("change", [*SWAPS, RENAME], ids=str)
def test_late_request_after_unknown_outcome(
    change: ViewChange,
    catalog: HiveViewCatalog,
    database: str,
    proxy: ThriftProxy,
    behind: Behind,
    observer: Observer,
    before: State,
) -> None:
    """The late request is applied if the view is unchanged; its metadata file was kept for this case."""
    late = Hold(close=True)
    proxy.on(change.method, late)
    proxy.on(change.method, Hold(close=True), nth=EVERY)
    with pytest.raises(CommitStateUnknownError) as raised:
        change.run(behind(**{"hive-views.settle-timeout-ms": "0"}), database)
    assert not change.is_applied(observer, before)
    files = new_files(observer, before)
    assert len(files) == change.writes_file
    assert [raised.value.metadata_location] == (files or [None]) or same_file(raised.value.metadata_location, files[0])
    late.release()
    change.check(observer, before)


def test_late_request_after_unknown_outcome_and_other_commit(
    catalog: HiveViewCatalog, database: str, proxy: ThriftProxy, behind: Behind, observer: Observer, before: State
) -> None:
    holds = [Hold(close=True), Hold(close=True)]
    for nth, hold in enumerate(holds, 1):
        proxy.on(ALTER_TABLE, hold, nth=nth)
    with pytest.raises(CommitStateUnknownError):
        REPLACE.run(behind(**{"hive-views.settle-timeout-ms": "0"}), database)
    PROPERTIES.run(catalog, database)
    PROPERTIES.check(observer, before)
    for hold in holds:
        hold.release()
    PROPERTIES.check(observer, before)


def test_late_drop_does_not_drop_recreated_view(
    catalog: HiveViewCatalog,
    open_catalog: Behind,
    database: str,
    proxy: ThriftProxy,
    behind: Behind,
    observer: Observer,
    before: State,
) -> None:
    """A drop names no particular view, so the lock protects the name as long as a request may be pending."""
    late = Hold(close=True)
    proxy.on(DROP_TABLE, late)
    DROP.run(behind(), database)
    DROP.check(observer, before)
    impatient = open_catalog({"iceberg.hive.lock-timeout-ms": "300"})
    with pytest.raises(LockTimeoutError):
        impatient.create_view((database, VIEW), SCHEMA, version(database))
    late.release()
    (lock,) = observer.locks()
    # The server does this after its hive.txn.timeout.
    catalog.store.client.unlock(lock.lockid)
    catalog.create_view((database, VIEW), SCHEMA, version(database))
    assert observer.view(VIEW).metadata["view-uuid"] != before.view.metadata["view-uuid"]


def test_late_rename_does_not_move_new_view_of_old_name(
    catalog: HiveViewCatalog, database: str, proxy: ThriftProxy, behind: Behind, observer: Observer, before: State
) -> None:
    late = Hold(close=True)
    proxy.on(ALTER_TABLE, late)
    RENAME.run(behind(), database)
    catalog.drop_view((database, NEW))
    catalog.create_view((database, VIEW), SCHEMA, version(database))
    after = observer.view(VIEW)
    late.release()
    assert observer.names() == {VIEW}
    assert observer.view(VIEW) == after
