"""Rejections by the server leave the row unchanged, no new file and no lock."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from thrift.Thrift import TApplicationException

from hive_views import HiveViewCatalog
from hive_views.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    HiveViewsError,
    LockError,
    LockTimeoutError,
    MetastoreError,
    MetastoreRefusedError,
    MetastoreUnavailableError,
    NoSuchNamespaceError,
    NoSuchViewError,
    ViewAlreadyExistsError,
)
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    MetaException,
)
from hive_views.metastore.commit.view_commit import commit
from hive_views.metastore.locking.lock import hold_lock
from hive_views.metastore.queries import all_view_names, load_view
from hive_views.spec.changes import SetProperties, apply
from tests.faults.conftest import LOCK_FREE, Behind, Scene
from tests.faults.scripted import Answer, ScriptedServer
from tests.faults.view_changes import (
    CREATE,
    DROP,
    KINDS,
    NEW,
    PROPERTIES,
    READ_ROW,
    RENAME,
    SWAPS,
    VIEW,
    VIEW_CHANGES,
    ViewChange,
)
from tests.integration.catalog.samples import SCHEMA, version
from tests.proxy import EVERY, DropReply, DropRequest

INTERNAL = TApplicationException(TApplicationException.INTERNAL_ERROR, "Internal error processing the request")
CAS_REJECTION = MetaException(
    "The table has been modified. The parameter value for key 'metadata_location' is different"
)


def check_untouched(scene: Scene) -> None:
    """Check that nothing was changed and no file or lock is left."""
    assert scene.names() == {VIEW}
    assert scene.view(VIEW) == scene.before.view
    assert scene.new_files() == []
    assert scene.locks() == []


# -- Nothing was sent -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", KINDS, ids=str)
def test_lock_timeout_changes_nothing(change: ViewChange, scene: Scene) -> None:
    scene.proxy.on("lock", DropRequest(), nth=EVERY)
    with pytest.raises(LockError):
        scene.run(change, **{"iceberg.hive.lock-timeout-ms": "300"})
    assert change.method not in scene.proxy.methods
    check_untouched(scene)


def test_locks_of_lost_replies_do_not_block_next_change(scene: Scene) -> None:
    """Each lock request created a lock without a reply; this process releases them later."""
    for method in ("lock", "show_locks", "unlock"):
        scene.proxy.on(method, DropReply() if method == "lock" else DropRequest(), nth=EVERY)
    for _ in range(2):
        # On a slow machine the first request may use up the time for repetitions.
        with pytest.raises(LockError):
            scene.run(PROPERTIES, **{"iceberg.hive.lock-timeout-ms": "300"})
    assert len(scene.locks()) > 1
    assert scene.view(VIEW) == scene.before.view
    scene.proxy.clear()
    scene.run(PROPERTIES)
    scene.check(PROPERTIES)
    assert scene.locks() == []


def test_unreachable_metastore_changes_nothing(scene: Scene) -> None:
    faulty = scene.behind()
    view = faulty.load_view((scene.database, VIEW))
    scene.proxy.refuse()
    scene.proxy.disconnect()
    for change in (
        lambda: view.update().set_properties(color="blue").commit(),
        lambda: faulty.create_view(
            (scene.database, NEW),
            SCHEMA,
            version(scene.database),
            location=f"{scene.before.view.metadata['location']}_new",
        ),
        lambda: faulty.rename_view((scene.database, VIEW), (scene.database, NEW)),
        lambda: faulty.drop_view((scene.database, VIEW)),
    ):
        with pytest.raises(MetastoreUnavailableError):
            change()
    check_untouched(scene)


@pytest.mark.parametrize("change", KINDS, ids=str)
def test_lock_held_by_other_client_changes_nothing(change: ViewChange, catalog: HiveViewCatalog, scene: Scene) -> None:
    name = ViewName(scene.database, NEW if change is CREATE else VIEW)
    with hold_lock(catalog.store.client, catalog.store.config.lock, name), pytest.raises(LockTimeoutError):
        scene.run(change, **{"iceberg.hive.lock-timeout-ms": "200", "ugi": "another"})
    check_untouched(scene)


@pytest.mark.parametrize(
    ("error", "raised"),
    [(MetaException("the database is down"), MetastoreRefusedError), (INTERNAL, MetastoreRefusedError)],
    ids=["declared", "not declared"],
)
@pytest.mark.parametrize("change", KINDS, ids=str)
def test_unreadable_row_changes_nothing(
    change: ViewChange, error: Exception, raised: type[HiveViewsError], scene: Scene, scripted: ScriptedServer
) -> None:
    faulty = scene.behind(uri=scripted.uri)
    scripted.on(READ_ROW, Answer(error), nth=1 if change in (CREATE, DROP) else 2)
    with pytest.raises(raised) as caught:
        change.run(faulty, scene.database)
    assert isinstance(caught.value, MetastoreError)
    assert caught.value.method == "get_table"
    assert change.method not in scripted.methods
    check_untouched(scene)


@pytest.mark.parametrize(("nth", "is_readable"), [(1, True), (EVERY, False)], ids=["once", "always"])
def test_row_dropped_during_read_is_read_again(
    nth: int, is_readable: bool, scene: Scene, scripted: ScriptedServer
) -> None:
    scripted.on(READ_ROW, Answer(MetaException("No such database row")), nth=nth)
    faulty = scene.behind(uri=scripted.uri)
    if is_readable:
        assert faulty.load_view((scene.database, VIEW)).name() == (scene.database, VIEW)
    else:
        with pytest.raises(MetastoreRefusedError, match="No such database row"):
            faulty.load_view((scene.database, VIEW))


@pytest.mark.parametrize(
    ("method", "read"),
    [
        ("get_all_databases", lambda catalog, database: catalog.list_namespaces()),
        ("get_all_tables", lambda catalog, database: catalog.store.client.get_all_tables(database)),
        ("get_table_objects_by_name_req", lambda catalog, database: catalog.store.client.get_tables(database, [VIEW])),
        ("get_tables_by_type", lambda catalog, database: all_view_names(catalog.store, database)),
        ("get_database", lambda catalog, database: catalog.load_namespace_properties(database)),
    ],
)
def test_failed_read_is_an_error_that_names_the_database(
    method: str,
    read: Callable[[HiveViewCatalog, str], object],
    database: str,
    scripted: ScriptedServer,
    behind: Behind,
) -> None:
    scripted.on(method, Answer(MetaException("the disk")))
    with pytest.raises(MetastoreRefusedError, match="the disk") as caught:
        read(behind(uri=scripted.uri), database)
    assert method == "get_all_databases" or database in str(caught.value)


@pytest.mark.parametrize("change", KINDS, ids=str)
def test_row_read_timeout_changes_nothing(change: ViewChange, scene: Scene) -> None:
    faulty = scene.behind()
    for nth in range(1 if change in (CREATE, DROP) else 2, 9):
        scene.proxy.on(READ_ROW, DropReply(), nth=nth)
    with pytest.raises(MetastoreError) as caught:
        change.run(faulty, scene.database)
    assert caught.value.method == "get_table"
    assert change.method not in scene.proxy.methods
    check_untouched(scene)


# -- The server refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", KINDS, ids=str)
@pytest.mark.parametrize("broken", [False, True], ids=["declared", "not declared"])
def test_server_failure_without_effect_reports_unknown_outcome(
    broken: bool, change: ViewChange, scene: Scene, scripted: ScriptedServer
) -> None:
    scripted.on(change.method, Answer(INTERNAL if broken else MetaException("no space left on the disk")))
    with pytest.raises(CommitStateUnknownError, match="Internal error" if broken else "no space left"):
        scene.run(change, uri=scripted.uri)
    assert not scene.is_applied(change)
    assert scene.locks() == []
    # A failure is no proof (see test_failed), so the file is kept.
    assert len(scene.new_files()) == change.writes_file


@pytest.mark.parametrize("change", VIEW_CHANGES, ids=str)
@pytest.mark.parametrize(
    "error", [CAS_REJECTION, MetaException("a listener failed"), INTERNAL], ids=["modified", "declared", "not declared"]
)
def test_applied_change_reported_as_failed_is_success(
    error: Exception, change: ViewChange, scene: Scene, scripted: ScriptedServer
) -> None:
    """A listener fails after the change, or the server's internal retry finds it applied (#17074)."""
    scripted.on(change.method, Answer(error, carried_out=True))
    scene.run(change, uri=scripted.uri)
    scene.check(change)
    assert len(scene.new_files()) == change.writes_file
    assert scene.locks() == []


@pytest.mark.hive2
def test_text_too_long_for_the_database(catalog: HiveViewCatalog, scene: Scene) -> None:
    """Derby's limit is 32,700 characters."""
    wide = version(scene.database, ("spark", f"select '{'x' * 33_000}' as data"))
    with pytest.raises(MetastoreRefusedError) as caught:
        catalog.create_view((scene.database, NEW), SCHEMA, wide)
    assert len(str(caught.value)) < 2_000
    check_untouched(scene)


@pytest.mark.hive2
def test_property_too_long_for_the_database(catalog: HiveViewCatalog, scene: Scene) -> None:
    """Derby's limit is 32,672 characters. The server does not tell why the statement failed, so the file is kept."""
    with pytest.raises(CommitStateUnknownError, match="the parameter long has 33,000 characters") as caught:
        catalog.load_view((scene.database, VIEW)).update().set_properties(long="x" * 33_000).commit()
    assert len(str(caught.value)) < 2_000
    assert scene.view(VIEW) == scene.before.view
    assert len(scene.new_files()) == 1


@pytest.mark.hive2
def test_replace_with_text_too_long_for_the_database(catalog: HiveViewCatalog, scene: Scene) -> None:
    with pytest.raises(MetastoreRefusedError):
        catalog.replace_view(
            (scene.database, VIEW), SCHEMA, version(scene.database, ("spark", f"select '{'x' * 33_000}'"))
        )
    check_untouched(scene)


# -- Concurrent changes -----------------------------------------------------------------------------------------------


def meanwhile(scene: Scene, change: ViewChange, others: Callable[[], object]) -> BaseException | None:
    """Let clients that take no locks change something just before the request of a change arrives."""
    with scene.proxy.in_flight(change.method, scene.run, change) as running:
        others()
    return running.exception()


@pytest.mark.parametrize("attempts", [0, 4])
@pytest.mark.parametrize("change", SWAPS, ids=str)
def test_commit_after_concurrent_commit_fails(
    change: ViewChange, attempts: int, open_catalog: Behind, scene: Scene
) -> None:
    """Changes of properties and location are retried on the current state; definitions are not."""
    free = open_catalog(LOCK_FREE)
    free.load_view((scene.database, VIEW)).update().set_properties({"commit.retry.num-retries": str(attempts)}).commit()

    def other() -> None:
        free.load_view((scene.database, VIEW)).update().set_properties(shape="round").commit()

    error = meanwhile(scene, change, other)
    view = scene.view(VIEW)
    assert view.properties["shape"] == "round"
    assert scene.locks() == []
    if attempts:
        assert error is None
        assert view.commits == scene.before.view.commits + 3
        assert len(scene.new_files()) == 3
    else:
        assert isinstance(error, CommitFailedError)
        assert error.found is not None
        assert view.commits == scene.before.view.commits + 2
        assert len(scene.new_files()) == 2, "the refused file was left"
        assert view.log == scene.before.view.log


def test_commit_on_stale_base_fails(catalog: HiveViewCatalog, scene: Scene) -> None:
    """Detected before any request, from the row read under the lock."""
    store, name = catalog.store, ViewName(scene.database, VIEW)
    base = load_view(store, name)
    PROPERTIES.run(catalog, scene.database)
    after = scene.view(VIEW)
    files = scene.files()
    changed = apply(base.metadata, [SetProperties({"color": "black"})], now_ms=1, identifier=str(name))
    with pytest.raises(CommitFailedError) as caught:
        commit(store, name, base, changed)
    assert (caught.value.expected, caught.value.found) == (scene.before.view.pointer, after.pointer)
    assert scene.view(VIEW) == after
    assert scene.files() == files
    assert scene.locks() == []


def test_commit_to_recreated_view_fails(catalog: HiveViewCatalog, raw: Client, scene: Scene) -> None:
    """The metadata location matches but the UUID differs: the row was copied."""
    store, name = catalog.store, ViewName(scene.database, VIEW)
    base = load_view(store, name)
    row = raw.get_table(scene.database, VIEW)
    row.parameters["uuid"] = "00000000-0000-4000-8000-000000000000"
    raw.alter_table_with_environment_context(scene.database, VIEW, row, None)
    files = scene.files()
    changed = apply(base.metadata, [SetProperties({"color": "black"})], now_ms=1, identifier=str(name))
    with pytest.raises(CommitFailedError, match="uuid"):
        commit(store, name, base, changed)
    assert scene.files() == files


def test_create_with_name_taken_meanwhile(scene: Scene, open_catalog: Behind) -> None:
    free = open_catalog(LOCK_FREE)
    error = meanwhile(scene, CREATE, lambda: CREATE.run(free, scene.database))
    assert isinstance(error, ViewAlreadyExistsError)
    scene.check(CREATE)
    assert len(scene.new_files()) == 1
    assert scene.locks() == []


@pytest.mark.parametrize("change", [*SWAPS, RENAME, DROP], ids=str)
def test_commit_to_view_dropped_meanwhile(change: ViewChange, raw: Client, scene: Scene) -> None:
    error = meanwhile(scene, change, lambda: raw.drop_table(scene.database, VIEW, False))
    assert isinstance(error, NoSuchViewError)
    assert scene.names() == set()
    assert scene.new_files() == []
    assert scene.locks() == []


def test_rename_to_name_taken_meanwhile(open_catalog: Behind, scene: Scene) -> None:
    free = open_catalog(LOCK_FREE)
    error = meanwhile(scene, RENAME, lambda: CREATE.run(free, scene.database))
    assert isinstance(error, ViewAlreadyExistsError)
    assert "Cannot rename" in str(error)
    scene.check(CREATE)


def test_rename_after_concurrent_commit_fails(open_catalog: Behind, scene: Scene) -> None:
    free = open_catalog(LOCK_FREE)
    error = meanwhile(scene, RENAME, lambda: PROPERTIES.run(free, scene.database))
    assert isinstance(error, CommitFailedError)
    scene.check(PROPERTIES)


def test_change_in_dropped_database(catalog: HiveViewCatalog, scene: Scene) -> None:
    with pytest.raises(NoSuchNamespaceError):
        catalog.rename_view((scene.database, VIEW), ("no_such_database", VIEW))
    with pytest.raises(NoSuchNamespaceError):
        catalog.create_view(("no_such_database", VIEW), SCHEMA, version(scene.database))
    check_untouched(scene)
