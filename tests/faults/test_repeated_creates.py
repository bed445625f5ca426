"""Creates whose reply is lost: at most one row per UUID, and a true outcome, whatever other clients do meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import CommitStateUnknownError, HiveViewsError
from hive_views.metastore.capabilities import is_cas_verified
from tests.conftest import CatalogFactory
from tests.faults.conftest import LOCK_FREE, Scene
from tests.faults.observer import until
from tests.faults.view_changes import CREATE_TABLE, NEW, THIRD, VIEW, same_file
from tests.integration.catalog.samples import SCHEMA, version
from tests.integration.materialized.conftest import SALES
from tests.proxy import ANY, EVERY, DropReply, DropRequest, Hold
from tests.suites import extended

MOVED = "moved"
"""The name to which another client renames the new row."""

AT_ONCE = {"hive-views.settle-timeout-ms": "0"}
"""Properties to stop after the second request."""


@dataclass(frozen=True)
class Creation:
    """An operation that adds a row with the name `NEW`."""

    name: str
    run: Callable[[HiveViewCatalog, str], object]
    is_table: bool = False
    """Whether the row is one of a table."""
    prepare: Callable[[HiveViewCatalog, str], object] = lambda catalog, database: None
    """Creates what the operation needs."""

    def __str__(self) -> str:
        return self.name


def _create(catalog: HiveViewCatalog, database: str) -> object:
    return catalog.create_view((database, NEW), SCHEMA, version(database, ("spark", THIRD)))


def _make_source(catalog: HiveViewCatalog, database: str) -> object:
    return catalog.create_table((database, "sales"), SALES)


def _materialized(layout: str) -> Callable[[HiveViewCatalog, str], object]:
    def run(catalog: HiveViewCatalog, database: str) -> object:
        return catalog.materialized.create((database, NEW), "SELECT id, amount FROM sales", layout=layout)

    return run


CREATIONS = (
    Creation("create", _create),
    Creation(
        "create or replace",
        lambda catalog, database: catalog.create_or_replace_view(
            (database, NEW), SCHEMA, version(database, ("spark", THIRD))
        ),
    ),
    Creation("materialized, attached", _materialized("attached"), prepare=_make_source),
    Creation("materialized, table", _materialized("table"), is_table=True, prepare=_make_source),
    Creation("table", lambda catalog, database: catalog.create_table((database, NEW), SCHEMA), is_table=True),
)


def _rename(catalog: HiveViewCatalog, database: str) -> None:
    row = catalog.store.client.get_table(database, NEW)
    assert row is not None
    rename = catalog.rename_view if row.tableType == "VIRTUAL_VIEW" else catalog.rename_table
    rename((database, NEW), (database, MOVED))


def _drop(catalog: HiveViewCatalog, database: str, name: str = NEW) -> None:
    catalog.store.client.drop_table(database, name)


def _rename_then_commit_twice(catalog: HiveViewCatalog, database: str) -> None:
    _rename(catalog, database)
    for color in ("green", "black"):
        with suppress(HiveViewsError):  # tables have no such update
            catalog.load_view((database, MOVED)).update().set_properties(color=color).commit()


def _rename_then_drop(catalog: HiveViewCatalog, database: str) -> None:
    _rename(catalog, database)
    _drop(catalog, database, MOVED)


def _rename_then_create(catalog: HiveViewCatalog, database: str) -> None:
    _rename(catalog, database)
    _create(catalog, database)


def _drop_then_create(catalog: HiveViewCatalog, database: str) -> None:
    _drop(catalog, database)
    _create(catalog, database)


MEANWHILE = {
    "nothing": lambda catalog, database: None,
    "rename": _rename,
    "rename, then commit twice": _rename_then_commit_twice,
    "rename, then drop": _rename_then_drop,
    "rename, then create": _rename_then_create,
    "drop": _drop,
    "drop, then create": _drop_then_create,
}
"""What a client without locks does between the loss of the reply and the next call of the creating client."""


def creating(scene: Scene, has_locks: bool, **more: str) -> HiveViewCatalog:
    """Open the catalog that creates."""
    catalog = scene.behind(**({} if has_locks else LOCK_FREE), **more)
    if not has_locks:
        assert is_cas_verified(catalog.store.client, scene.database)
    return catalog


def run_between(scene: Scene, run: Callable[[], object], meanwhile: Callable[[], object]) -> Future[object]:
    """Run an operation, and do something else when it makes its next call after the first create."""
    next_call = scene.proxy.on(ANY, Hold(), nth=2, after=CREATE_TABLE)
    running = scene.aside.submit(run)
    next_call.wait_until_held()
    meanwhile()
    next_call.released.set()
    running.exception()
    return running


def check_at_most_one_row_per_uuid(scene: Scene) -> None:
    """Check that no two rows are the same view or table."""
    rows = [scene.row(name) for name in sorted(scene.names())]
    uuids = Counter(row["parameters"].get("uuid") for row in rows if row is not None)
    assert max(uuids.values(), default=0) <= 1, uuids


@pytest.mark.parametrize("has_locks", [True, False], ids=["locks", "no locks"])
@pytest.mark.parametrize("meanwhile", MEANWHILE)
@pytest.mark.parametrize("creation", [CREATIONS[0], *extended(*CREATIONS[1:])], ids=str)
def test_reply_of_create_lost(
    creation: Creation, meanwhile: str, has_locks: bool, scene: Scene, open_catalog: CatalogFactory
) -> None:
    free = open_catalog(LOCK_FREE)
    creation.prepare(free, scene.database)
    catalog = creating(scene, has_locks)
    scene.proxy.on(CREATE_TABLE, DropReply())
    running = run_between(
        scene,
        lambda: creation.run(catalog, scene.database),
        lambda: MEANWHILE[meanwhile](free, scene.database),
    )
    check_at_most_one_row_per_uuid(scene)
    error = running.exception()
    if error is None:
        # With locks only a client without locks can drop the row, and the second request restores it.
        assert meanwhile == "nothing" or (has_locks and not creation.is_table and "drop" in meanwhile)
        assert NEW in scene.names()
    else:
        assert isinstance(error, CommitStateUnknownError), error
        assert meanwhile != "nothing"
    if meanwhile.startswith("rename") and not meanwhile.endswith("drop") and not creation.is_table:
        assert f"{scene.database}.{MOVED} has its" in str(error)
    # Each row has its file.
    for name in scene.names():
        assert scene.view(name).metadata


@pytest.mark.parametrize("has_locks", [True, False], ids=["locks", "no locks"])
@pytest.mark.parametrize(
    "meanwhile", ["nothing", "rename", *extended("rename, then create", "drop", "drop, then create")]
)
def test_reply_of_registration_lost(
    meanwhile: str, has_locks: bool, scene: Scene, open_catalog: CatalogFactory
) -> None:
    free, location = open_catalog(LOCK_FREE), scene.before.view.pointer
    _drop(free, scene.database, VIEW)
    catalog = creating(scene, has_locks)
    scene.proxy.on(CREATE_TABLE, DropReply())
    running = run_between(
        scene,
        lambda: catalog.register_view((scene.database, NEW), location),
        lambda: MEANWHILE[meanwhile](free, scene.database),
    )
    check_at_most_one_row_per_uuid(scene)
    error = running.exception()
    if meanwhile == "nothing" or (has_locks and meanwhile == "drop"):
        assert error is None
        assert same_file(scene.view(NEW).pointer, location)
    else:
        assert isinstance(error, CommitStateUnknownError)


@pytest.mark.parametrize("creation", [CREATIONS[0], *extended(*CREATIONS[1:])], ids=str)
def test_request_of_create_lost_without_locks(creation: Creation, scene: Scene, open_catalog: CatalogFactory) -> None:
    """Without a lock the request is not sent again, because it may still arrive."""
    creation.prepare(open_catalog(LOCK_FREE), scene.database)
    catalog = creating(scene, has_locks=False)
    names = scene.names()
    scene.proxy.on(CREATE_TABLE, DropRequest())
    with pytest.raises(CommitStateUnknownError):
        creation.run(catalog, scene.database)
    assert scene.names() == names
    creation.run(catalog, scene.database)
    assert NEW in scene.names()


@pytest.mark.parametrize("meanwhile", ["nothing", "rename", "drop"])
@pytest.mark.parametrize("creation", [CREATIONS[0], *extended(*CREATIONS[1:])], ids=str)
def test_request_of_create_arrives_late_without_locks(
    creation: Creation, meanwhile: str, scene: Scene, open_catalog: CatalogFactory
) -> None:
    """The request arrives after its outcome was reported, and after the user repeated the operation."""
    free = open_catalog(LOCK_FREE)
    creation.prepare(free, scene.database)
    catalog = creating(scene, has_locks=False)
    late = scene.proxy.on(CREATE_TABLE, Hold(close=True))
    with pytest.raises(CommitStateUnknownError):
        creation.run(catalog, scene.database)
    creation.run(catalog, scene.database)
    MEANWHILE[meanwhile](free, scene.database)
    late.release()
    check_at_most_one_row_per_uuid(scene)
    for name in scene.names():
        assert scene.view(name).metadata


@pytest.mark.parametrize("has_locks", [True, False], ids=["locks", "no locks"])
def test_name_taken_after_request_of_create_without_reply(
    has_locks: bool, scene: Scene, open_catalog: CatalogFactory
) -> None:
    """The first request may still arrive, and is applied if the other view is dropped before."""
    free = open_catalog(LOCK_FREE)
    catalog = creating(scene, has_locks)
    late = scene.proxy.on(CREATE_TABLE, Hold(close=True))
    running = run_between(scene, lambda: _create(catalog, scene.database), lambda: _create(free, scene.database))
    assert isinstance(running.exception(), CommitStateUnknownError)
    assert "another view" in str(running.exception())
    _drop(free, scene.database)
    late.release()
    assert scene.view(NEW).queries == [THIRD]


def test_lock_lost_before_create_is_sent_again(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    """The lock keeps the row of the first request from being renamed or dropped."""
    catalog = creating(scene, has_locks=True, **{"iceberg.hive.lock-heartbeat-interval-ms": "500"})
    scene.proxy.on(CREATE_TABLE, DropRequest())
    # The first call of the search for other names.
    with scene.proxy.in_flight("get_all_databases", _create, catalog, scene.database) as running:
        scene.expire_locks()
        until(lambda: "is lost" in caplog.text)
    assert isinstance(running.exception(), CommitStateUnknownError)
    assert scene.proxy.methods.count(CREATE_TABLE) == 1
    assert scene.names() == {VIEW}


@pytest.mark.parametrize("first", [DropReply, DropRequest], ids=["reply", "request"])
def test_other_names_cannot_be_searched_before_create_is_sent_again(
    first: type[DropReply | DropRequest], scene: Scene
) -> None:
    catalog = creating(scene, has_locks=True, **AT_ONCE)
    scene.proxy.on(CREATE_TABLE, first())
    scene.proxy.on("get_table_names_by_filter", DropRequest(), nth=EVERY)
    with pytest.raises(CommitStateUnknownError):
        _create(catalog, scene.database)
    assert scene.proxy.methods.count(CREATE_TABLE) == 1
    assert (NEW in scene.names()) is (first is DropReply)
