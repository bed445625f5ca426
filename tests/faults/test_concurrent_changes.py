"""Lost replies with changes by clients that take no locks before the request is repeated."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import CommitStateUnknownError, ViewAlreadyExistsError
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore.commit.hive_view_commit import drop_hive_view
from tests.faults.conftest import Behind
from tests.faults.observer import Observer
from tests.faults.view_changes import (
    CREATE,
    CREATE_TABLE,
    DROP,
    DROP_TABLE,
    NEW,
    READ_ROW,
    RENAME,
    REPLACE,
    VIEW,
    State,
    ViewChange,
    new_files,
    same_file,
)
from tests.integration.catalog.samples import SCHEMA, version
from tests.proxy import DropReply, DropRequest, Duplicate, Hold, ThriftProxy


class Race:
    """Runs a change whose first reply is lost, with other changes before the second request."""

    def __init__(self, proxy: ThriftProxy, behind: Behind, database: str, aside: ThreadPoolExecutor) -> None:
        self._proxy = proxy
        self._behind = behind
        self._database = database
        self._aside = aside

    def run(self, change: ViewChange, act: Callable[[], object], *, applied: bool = True) -> BaseException | None:
        """Return how the change ended."""
        self._proxy.on(change.method, DropReply() if applied else DropRequest())
        second = Hold()
        # A drop reads the row before the repetition.
        self._proxy.on(*((READ_ROW, second) if change is DROP else (change.method, second)), nth=2)
        running = self._aside.submit(change.run, self._behind(), self._database)
        second.wait_until_held()
        act()
        second.release()
        return running.exception()


@pytest.fixture
def race(proxy: ThriftProxy, behind: Behind, database: str, aside: ThreadPoolExecutor) -> Race:
    return Race(proxy, behind, database, aside)


@pytest.mark.parametrize("change", [CREATE, RENAME], ids=str)
def test_lost_create_reply_with_later_commit(
    change: ViewChange, race: Race, lock_free_catalog: HiveViewCatalog, database: str, observer: Observer, before: State
) -> None:
    """A new view or name is recognized by the UUID, whatever its metadata location is."""

    def act() -> None:
        change.check(observer, before)
        for color in ("green", "black"):
            lock_free_catalog.load_view((database, NEW)).update().set_properties(color=color).commit()

    assert race.run(change, act) is None
    view = observer.view(NEW)
    assert view.properties["color"] == "black"
    assert view.commits == (3 if change is CREATE else before.view.commits + 2)
    assert len(new_files(observer, before)) == (3 if change is CREATE else 2)
    assert observer.locks() == []


@pytest.mark.parametrize("applied", [True, False])
def test_lost_create_reply_with_view_of_other_client(
    applied: bool,
    race: Race,
    lock_free_catalog: HiveViewCatalog,
    raw: Client,
    database: str,
    observer: Observer,
    before: State,
) -> None:
    """Another view of the name is no success, although the created view may have existed for a moment."""

    def act() -> None:
        if applied:
            raw.drop_table(database, NEW, False)
        lock_free_catalog.create_view((database, NEW), SCHEMA, version(database))

    assert isinstance(race.run(CREATE, act, applied=applied), ViewAlreadyExistsError)
    assert observer.view(NEW).queries == ["select * from ns.tbl"]
    assert len(new_files(observer, before)) == 2, "a request for it may still arrive, so its file is kept"


def test_lost_register_reply_with_other_file_of_same_view(
    lock_free_catalog: HiveViewCatalog,
    catalog: HiveViewCatalog,
    behind: Behind,
    database: str,
    before: State,
    proxy: ThriftProxy,
    aside: ThreadPoolExecutor,
) -> None:
    """The UUID alone does not prove that the row has the registered state."""
    newer = catalog.load_view((database, VIEW)).update().set_properties(color="blue").commit().metadata_location
    proxy.on(CREATE_TABLE, DropRequest())
    second = Hold()
    proxy.on(CREATE_TABLE, second, nth=2)
    running = aside.submit(behind().register_view, (database, NEW), before.view.pointer)
    second.wait_until_held()
    lock_free_catalog.register_view((database, NEW), newer)
    second.release()
    with pytest.raises(CommitStateUnknownError, match=r"metadata location is .*00001-"):
        running.result()
    assert lock_free_catalog.load_view((database, NEW)).metadata_location == newer


def test_create_retried_by_server_with_rename_in_between(
    database: str,
    lock_free_catalog: HiveViewCatalog,
    behind: Behind,
    proxy: ThriftProxy,
    observer: Observer,
    before: State,
    aside: ThreadPoolExecutor,
) -> None:
    """The server rejects its own retry; the created view was renamed, so its file is in use."""
    proxy.on(CREATE_TABLE, Duplicate())
    held_read = Hold()
    proxy.on(READ_ROW, held_read, nth=2)
    running = aside.submit(CREATE.run, behind(), database)
    held_read.wait_until_held()
    lock_free_catalog.rename_view((database, NEW), (database, "x"))
    held_read.release()
    with pytest.raises(CommitStateUnknownError, match=rf"{database}\.x has its metadata file"):
        running.result()
    assert lock_free_catalog.load_view((database, "x")).metadata.current_version_id == 1


def test_repeated_drop_does_not_drop_recreated_view(
    race: Race, lock_free_catalog: HiveViewCatalog, database: str, observer: Observer, before: State, proxy: ThriftProxy
) -> None:
    def act() -> None:
        DROP.check(observer, before)
        lock_free_catalog.create_view((database, VIEW), SCHEMA, version(database))

    assert race.run(DROP, act) is None
    assert observer.view(VIEW).metadata["view-uuid"] != before.view.metadata["view-uuid"]
    assert proxy.methods.count(DROP_TABLE) == 1
    assert observer.locks() == []


@pytest.mark.parametrize("purge", [False, True])
def test_repeated_drop_of_renamed_view_reports_unknown_outcome(
    purge: bool,
    lock_free_catalog: HiveViewCatalog,
    behind: Behind,
    database: str,
    observer: Observer,
    before: State,
    proxy: ThriftProxy,
    aside: ThreadPoolExecutor,
) -> None:
    """The name is free although nothing was dropped: the files are in use."""
    proxy.on(DROP_TABLE, DropRequest())
    held_read = Hold()
    proxy.on(READ_ROW, held_read, nth=3 if purge else 2)  # a purge loads the view before
    running = aside.submit(behind().drop_view, (database, VIEW), purge_files=purge)
    held_read.wait_until_held()
    lock_free_catalog.rename_view((database, VIEW), (database, NEW))
    held_read.release()
    with pytest.raises(CommitStateUnknownError, match=rf"{database}\.{NEW} has its UUID"):
        running.result()
    RENAME.check(observer, before)
    assert lock_free_catalog.load_view((database, NEW)).metadata.current_version_id == 2


def test_purge_keeps_files_of_view_renamed_during_drop(
    catalog: HiveViewCatalog,
    behind: Behind,
    database: str,
    observer: Observer,
    before: State,
    proxy: ThriftProxy,
    aside: ThreadPoolExecutor,
    caplog: pytest.LogCaptureFixture,
) -> None:
    held = Hold()
    proxy.on(DROP_TABLE, held)
    running = aside.submit(behind().drop_view, (database, VIEW), purge_files=True)
    held.wait_until_held()
    catalog.register_view((database, NEW), before.view.pointer)
    held.release()
    running.result()
    assert observer.names() == {NEW}
    assert observer.view(NEW).metadata == before.view.metadata
    assert f"referenced by {database}.{NEW}" in caplog.text


@pytest.mark.parametrize("renamed", [True, False])
def test_repeated_drop_of_missing_hive_view(
    renamed: bool,
    lock_free_catalog: HiveViewCatalog,
    behind: Behind,
    raw: Client,
    database: str,
    before: State,
    proxy: ThriftProxy,
    aside: ThreadPoolExecutor,
) -> None:
    """Plain Hive views have no UUID: a row with the same text and creation time counts as the same view."""
    made_a_hive_view(raw, database, VIEW)
    proxy.on(DROP_TABLE, DropRequest())
    held_read = Hold()
    proxy.on(READ_ROW, held_read, nth=2)
    row = lock_free_catalog.store.get_row(ViewName(database, VIEW))
    assert row is not None
    running = aside.submit(drop_hive_view, behind().store, row)
    held_read.wait_until_held()
    if renamed:
        table = raw.get_table(database, VIEW)
        table.tableName = NEW
        raw.alter_table_with_environment_context(database, VIEW, table, None)
    else:
        raw.drop_table(database, VIEW, False)
    held_read.release()
    error = running.exception()
    assert isinstance(error, CommitStateUnknownError) if renamed else error is None
    assert raw.get_all_tables(database) == ([NEW] if renamed else [])
    assert proxy.methods.count(DROP_TABLE) == 1


def test_lost_rename_reply_with_new_view_of_old_name(
    race: Race, lock_free_catalog: HiveViewCatalog, database: str, observer: Observer, before: State
) -> None:
    def act() -> None:
        RENAME.check(observer, before)
        lock_free_catalog.create_view((database, VIEW), SCHEMA, version(database))

    assert race.run(RENAME, act) is None
    assert observer.view(NEW).row == {**before.view.row, "tableName": NEW}
    assert observer.view(VIEW).metadata["view-uuid"] != before.view.metadata["view-uuid"]


def dropped(raw: Client, database: str, name: str) -> None:
    raw.drop_table(database, name, False)


def made_a_hive_view(raw: Client, database: str, name: str) -> None:
    """As by plain Spark's CREATE OR REPLACE VIEW."""
    row = raw.get_table(database, name)
    row.parameters = {}
    raw.alter_table_with_environment_context(database, name, row, None)


@pytest.mark.parametrize("happened", [dropped, made_a_hive_view])
@pytest.mark.parametrize("change", [REPLACE, RENAME], ids=str)
def test_lost_reply_with_view_dropped_since(
    change: ViewChange,
    happened: Callable[[Client, str, str], None],
    race: Race,
    raw: Client,
    database: str,
    observer: Observer,
    before: State,
) -> None:
    """An applied change without a trace is unknown, not failed."""

    def act() -> None:
        change.check(observer, before)
        happened(raw, database, NEW if change is RENAME else VIEW)

    error = race.run(change, act)
    assert isinstance(error, CommitStateUnknownError)
    files = new_files(observer, before)
    assert len(files) == change.writes_file
    assert not files or same_file(error.metadata_location, files[0])


def test_unreachable_server_at_repetition_reports_unknown_outcome(
    race: Race, raw: Client, database: str, observer: Observer, before: State, proxy: ThriftProxy
) -> None:
    """The view of the first request is dropped immediately: the repetition creates it again, once."""
    assert race.run(CREATE, lambda: raw.drop_table(database, NEW, False)) is None
    CREATE.check(observer, before)
    assert proxy.methods.count(CREATE_TABLE) == 2
