"""Lost replies with changes by clients that take no locks before the request is repeated."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import CommitStateUnknownError
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore.commit.hive_view_commit import drop_hive_view
from tests.faults.conftest import Scene
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
    ViewChange,
    same_file,
)
from tests.integration.catalog.samples import SCHEMA, version
from tests.proxy import ANY, DropReply, DropRequest, Duplicate, Hold


def run_with_lost_reply(
    scene: Scene, change: ViewChange, act: Callable[[], object], *, applied: bool = True
) -> BaseException | None:
    """Lose the reply of a change, or its request, do `act` before it is repeated, and return how the change ended."""
    scene.proxy.on(change.method, DropReply() if applied else DropRequest())
    # A drop reads the row before the repetition.
    method = READ_ROW if change is DROP else change.method
    with scene.proxy.in_flight(method, scene.run, change, nth=2) as running:
        act()
    return running.exception()


@pytest.mark.parametrize("change", [CREATE, RENAME], ids=str)
def test_lost_create_reply_with_later_commit(
    change: ViewChange, lock_free_catalog: HiveViewCatalog, scene: Scene
) -> None:
    """A new view or name is recognized by the UUID, whatever its metadata location is."""

    def act() -> None:
        scene.check(change)
        for color in ("green", "black"):
            lock_free_catalog.load_view((scene.database, NEW)).update().set_properties(color=color).commit()

    assert run_with_lost_reply(scene, change, act) is None
    view = scene.view(NEW)
    assert view.properties["color"] == "black"
    assert view.commits == (3 if change is CREATE else scene.before.view.commits + 2)
    assert len(scene.new_files()) == (3 if change is CREATE else 2)
    assert scene.locks() == []


@pytest.mark.parametrize("applied", [True, False])
def test_lost_create_reply_with_view_of_other_client(
    applied: bool, lock_free_catalog: HiveViewCatalog, raw: Client, scene: Scene
) -> None:
    """Another view of the name is no rejection: the created view may have existed, or may still be created."""

    def act() -> None:
        if applied:
            raw.drop_table(scene.database, NEW, False)
        lock_free_catalog.create_view((scene.database, NEW), SCHEMA, version(scene.database))

    assert isinstance(run_with_lost_reply(scene, CREATE, act, applied=applied), CommitStateUnknownError)
    assert scene.view(NEW).queries == ["select * from ns.tbl"]
    assert len(scene.new_files()) == 2, "a request for it may still arrive, so its file is kept"


def test_lost_register_reply_with_other_file_of_same_view(
    lock_free_catalog: HiveViewCatalog, catalog: HiveViewCatalog, scene: Scene
) -> None:
    """The UUID alone does not prove that the row has the registered state."""
    newer = catalog.load_view((scene.database, VIEW)).update().set_properties(color="blue").commit().metadata_location
    scene.proxy.on(CREATE_TABLE, DropRequest())
    new, register = (scene.database, NEW), scene.behind().register_view
    next_call = scene.proxy.on(ANY, Hold(), nth=2, after=CREATE_TABLE)
    running = scene.aside.submit(register, new, scene.before.view.pointer)
    next_call.wait_until_held()
    lock_free_catalog.register_view(new, newer)
    next_call.release()
    with pytest.raises(CommitStateUnknownError, match=r"metadata location is .*00001-"):
        running.result()
    assert lock_free_catalog.load_view(new).metadata_location == newer


def test_create_retried_by_server_with_rename_in_between(scene: Scene, lock_free_catalog: HiveViewCatalog) -> None:
    """The server rejects its own retry; the created view was renamed, so its file is in use."""
    scene.proxy.on(CREATE_TABLE, Duplicate())
    with scene.proxy.in_flight(READ_ROW, scene.run, CREATE, nth=2) as running:
        lock_free_catalog.rename_view((scene.database, NEW), (scene.database, "x"))
    with pytest.raises(CommitStateUnknownError, match=rf"{scene.database}\.x has its metadata file"):
        running.result()
    assert lock_free_catalog.load_view((scene.database, "x")).metadata.current_version_id == 1


def test_repeated_drop_does_not_drop_recreated_view(lock_free_catalog: HiveViewCatalog, scene: Scene) -> None:
    def act() -> None:
        scene.check(DROP)
        lock_free_catalog.create_view((scene.database, VIEW), SCHEMA, version(scene.database))

    assert run_with_lost_reply(scene, DROP, act) is None
    assert scene.view(VIEW).metadata["view-uuid"] != scene.before.view.metadata["view-uuid"]
    assert scene.proxy.methods.count(DROP_TABLE) == 1
    assert scene.locks() == []


@pytest.mark.parametrize("purge", [False, True])
def test_repeated_drop_of_renamed_view_reports_unknown_outcome(
    purge: bool, lock_free_catalog: HiveViewCatalog, scene: Scene
) -> None:
    """The name is free although nothing was dropped: the files are in use."""
    scene.proxy.on(DROP_TABLE, DropRequest())
    drop = partial(scene.behind().drop_view, (scene.database, VIEW), purge_files=purge)
    nth = 3 if purge else 2  # a purge loads the view before
    with scene.proxy.in_flight(READ_ROW, drop, nth=nth) as running:
        lock_free_catalog.rename_view((scene.database, VIEW), (scene.database, NEW))
    with pytest.raises(CommitStateUnknownError, match=rf"{scene.database}\.{NEW} has its UUID"):
        running.result()
    scene.check(RENAME)
    assert lock_free_catalog.load_view((scene.database, NEW)).metadata.current_version_id == 2


def test_purge_keeps_files_of_view_renamed_during_drop(
    catalog: HiveViewCatalog, scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    drop = partial(scene.behind().drop_view, (scene.database, VIEW), purge_files=True)
    with scene.proxy.in_flight(DROP_TABLE, drop) as running:
        catalog.register_view((scene.database, NEW), scene.before.view.pointer)
    running.result()
    assert scene.names() == {NEW}
    assert scene.view(NEW).metadata == scene.before.view.metadata
    assert f"referenced by {scene.database}.{NEW}" in caplog.text


@pytest.mark.parametrize("renamed", [True, False])
def test_repeated_drop_of_missing_hive_view(
    renamed: bool, lock_free_catalog: HiveViewCatalog, scene: Scene, raw: Client
) -> None:
    """Plain Hive views have no UUID: a row with the same text and creation time counts as the same view."""
    made_a_hive_view(raw, scene.database, VIEW)
    scene.proxy.on(DROP_TABLE, DropRequest())
    row = lock_free_catalog.store.get_row(ViewName(scene.database, VIEW))
    assert row is not None
    with scene.proxy.in_flight(READ_ROW, drop_hive_view, scene.behind().store, row, nth=2) as running:
        if renamed:
            table = raw.get_table(scene.database, VIEW)
            table.tableName = NEW
            raw.alter_table_with_environment_context(scene.database, VIEW, table, None)
        else:
            raw.drop_table(scene.database, VIEW, False)
    error = running.exception()
    assert isinstance(error, CommitStateUnknownError) if renamed else error is None
    assert raw.get_all_tables(scene.database) == ([NEW] if renamed else [])
    assert scene.proxy.methods.count(DROP_TABLE) == 1


def test_lost_rename_reply_with_new_view_of_old_name(lock_free_catalog: HiveViewCatalog, scene: Scene) -> None:
    def act() -> None:
        scene.check(RENAME)
        lock_free_catalog.create_view((scene.database, VIEW), SCHEMA, version(scene.database))

    assert run_with_lost_reply(scene, RENAME, act) is None
    assert scene.view(NEW).row == {**scene.before.view.row, "tableName": NEW}
    assert scene.view(VIEW).metadata["view-uuid"] != scene.before.view.metadata["view-uuid"]


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
    change: ViewChange, happened: Callable[[Client, str, str], None], raw: Client, scene: Scene
) -> None:
    """An applied change without a trace is unknown, not failed."""

    def act() -> None:
        scene.check(change)
        happened(raw, scene.database, NEW if change is RENAME else VIEW)

    error = run_with_lost_reply(scene, change, act)
    assert isinstance(error, CommitStateUnknownError)
    files = scene.new_files()
    assert len(files) == change.writes_file
    assert not files or same_file(error.metadata_location, files[0])


def test_unreachable_server_at_repetition_reports_unknown_outcome(raw: Client, scene: Scene) -> None:
    """The view of the first request is dropped immediately: the repetition creates it again, once."""
    assert run_with_lost_reply(scene, CREATE, lambda: raw.drop_table(scene.database, NEW, False)) is None
    scene.check(CREATE)
    assert scene.proxy.methods.count(CREATE_TABLE) == 2
