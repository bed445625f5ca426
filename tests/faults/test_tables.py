"""Table changes with wrong, late or lost answers of the metastore: the reported outcome is correct."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pytest
from thrift.Thrift import TException

from hive_views import HiveViewCatalog
from hive_views.errors import CommitFailedError, CommitStateUnknownError, LockError
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    AlreadyExistsException,
    InvalidOperationException,
    MetaException,
)
from tests.conftest import CatalogFactory
from tests.faults.conftest import LOCK_FREE
from tests.faults.observer import Observer, until
from tests.faults.scripted import Answer, ScriptedServer, like_version_3
from tests.faults.test_refresh import SCHEMA
from tests.faults.test_refused import CAS_REJECTION, INTERNAL
from tests.faults.view_changes import ALTER_TABLE, CREATE_TABLE, DROP_TABLE, READ_ROW
from tests.integration.catalog.samples import files_below
from tests.proxy import EVERY, DropRequest, Hold, ThriftProxy

TABLE, NEW = "t", "u"
LISTENER = MetaException("a listener failed")


@dataclass(frozen=True)
class Change:
    """A change of a table."""

    name: str
    method: str
    run: Callable[[HiveViewCatalog, str], object]
    is_applied: Callable[[HiveViewCatalog, str], bool]
    """Whether it was applied, as read by a catalog without faults."""

    def __str__(self) -> str:
        return self.name


def set_property(catalog: HiveViewCatalog, database: str, **properties: str) -> None:
    with catalog.load_table((database, TABLE)).transaction() as transaction:
        transaction.set_properties(properties or {"color": "blue"})


def names(catalog: HiveViewCatalog, database: str) -> list[str]:
    return [name for _, name in catalog.list_tables(database)]


def register(catalog: HiveViewCatalog, database: str) -> object:
    return catalog.register_table((database, NEW), catalog.load_table((database, TABLE)).metadata_location)


COMMIT = Change(
    "commit",
    ALTER_TABLE,
    set_property,
    lambda catalog, database: catalog.load_table((database, TABLE)).properties.get("color") == "blue",
)
RENAME = Change(
    "rename",
    ALTER_TABLE,
    lambda catalog, database: catalog.rename_table((database, TABLE), (database, NEW)),
    lambda catalog, database: names(catalog, database) == [NEW],
)
DROP = Change(
    "drop",
    DROP_TABLE,
    lambda catalog, database: catalog.drop_table((database, TABLE)),
    lambda catalog, database: names(catalog, database) == [],
)
PURGE = Change("purge", DROP_TABLE, lambda catalog, database: catalog.purge_table((database, TABLE)), DROP.is_applied)
CREATE = Change(
    "create",
    CREATE_TABLE,
    lambda catalog, database: catalog.create_table((database, NEW), SCHEMA),
    lambda catalog, database: names(catalog, database) == [TABLE, NEW],
)
REGISTER = Change("register", CREATE_TABLE, register, CREATE.is_applied)
CHANGES = (COMMIT, RENAME, DROP, PURGE, CREATE, REGISTER)


class TableScene(Observer):
    """A database with one table, which has one snapshot."""

    def __init__(self, metastore: EmbeddedMetastore, database: str, open_catalog: CatalogFactory) -> None:
        super().__init__(metastore, database)
        self.open = open_catalog
        self.catalog = open_catalog()
        table = self.catalog.create_table((database, TABLE), SCHEMA)
        table.append(pa.table({"id": [1, 2, 3]}, schema=SCHEMA.as_arrow()))
        self.location = table.location()


@pytest.fixture
def scene(metastore: EmbeddedMetastore, database: str, open_catalog: CatalogFactory) -> TableScene:
    return TableScene(metastore, database, open_catalog)


@pytest.fixture
def faulty(scene: TableScene, scripted: ScriptedServer) -> HiveViewCatalog:
    return scene.open({"uri": scripted.uri})


@pytest.mark.parametrize(
    ("change", "error"),
    [*((change, INTERNAL) for change in CHANGES), (COMMIT, LISTENER), (DROP, LISTENER), (CREATE, LISTENER)],
    ids=str,
)
def test_applied_change_reported_as_failed_is_success(
    change: Change, error: TException, faulty: HiveViewCatalog, scripted: ScriptedServer, scene: TableScene
) -> None:
    scripted.on(change.method, Answer(error, carried_out=True))
    change.run(faulty, scene.database)
    assert change.is_applied(scene.catalog, scene.database)
    assert bool(files_below(scene.location)) is (change is not PURGE)
    assert scene.locks() == []


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_server_failure_without_effect_reports_unknown_outcome(
    change: Change, faulty: HiveViewCatalog, scripted: ScriptedServer, scene: TableScene
) -> None:
    scripted.on(change.method, Answer(INTERNAL))
    with pytest.raises(CommitStateUnknownError):
        change.run(faulty, scene.database)
    assert not change.is_applied(scene.catalog, scene.database)
    assert scene.catalog.load_table((scene.database, TABLE)).scan().to_arrow().num_rows == 3
    assert scene.locks() == []


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (COMMIT, INTERNAL),
        (COMMIT, CAS_REJECTION),
        (RENAME, InvalidOperationException("it is there")),
        (CREATE, AlreadyExistsException("it is there")),
        (PURGE, INTERNAL),
    ],
    ids=str,
)
def test_unreadable_row_after_failure_reports_unknown_outcome(
    change: Change, error: TException, faulty: HiveViewCatalog, scripted: ScriptedServer, scene: TableScene
) -> None:
    """The row cannot be read afterwards."""
    scripted.on(change.method, Answer(error, carried_out=True))
    scripted.on(READ_ROW, Answer(MetaException("the database is away")), nth=EVERY, after=change.method)
    with pytest.raises(CommitStateUnknownError):
        change.run(faulty, scene.database)
    assert change.is_applied(scene.catalog, scene.database)
    assert files_below(scene.location)


@pytest.mark.swaps
@pytest.mark.parametrize(("times", "error_type"), [(1, type(None)), (2, CommitStateUnknownError)])
def test_applied_commit_below_later_commits(
    times: int, error_type: type, scripted: ScriptedServer, scene: TableScene
) -> None:
    """The row has the previous metadata location, so one later commit does not hide this one."""
    free = scene.open(LOCK_FREE)
    with ThriftProxy(scripted.port) as proxy:
        faulty = scene.open({"uri": proxy.uri})
        set_property(faulty, scene.database, shape="round")
        nth = proxy.methods[: proxy.methods.index(ALTER_TABLE)].count(READ_ROW) + 1
        scripted.on(ALTER_TABLE, Answer(INTERNAL, carried_out=True))
        with proxy.in_flight(READ_ROW, set_property, faulty, scene.database, nth=nth) as running:
            assert proxy.methods.count(ALTER_TABLE) == 2
            for number in range(times):
                set_property(free, scene.database, size=str(number))
        assert isinstance(running.exception(), error_type)
    assert COMMIT.is_applied(free, scene.database)


# -- Servers of version 3, where only the lock protects ----------------------------------------------------------------


@pytest.fixture
def old(scripted: ScriptedServer) -> Iterator[ThriftProxy]:
    """A proxy for a server that ignores the expectation of an alter."""
    like_version_3(scripted)
    with ThriftProxy(scripted.port) as running:
        yield running


@pytest.mark.hive2
@pytest.mark.parametrize("method", [READ_ROW, ALTER_TABLE])
def test_lock_lost_during_commit(
    method: str, old: ThriftProxy, caplog: pytest.LogCaptureFixture, scene: TableScene
) -> None:
    """Nothing is sent without the lock; if it was lost during a change, others may have committed in between."""
    faulty = scene.open({"uri": old.uri, "iceberg.hive.lock-heartbeat-interval-ms": "500"})
    set_property(faulty, scene.database, shape="round")
    reads = old.methods[: old.methods.index("lock")].count(READ_ROW)
    nth = reads + 1 if method == READ_ROW else 1
    with old.in_flight(method, set_property, faulty, scene.database, nth=nth) as running:
        assert len(scene.locks()) == 1
        scene.expire_locks()
        until(lambda: "is lost" in caplog.text)
    with pytest.raises(LockError if method == READ_ROW else CommitStateUnknownError, match=r"(?i)lock"):
        running.result()
    assert old.methods.count(ALTER_TABLE) == (1 if method == READ_ROW else 2)
    assert COMMIT.is_applied(scene.catalog, scene.database) is (method == ALTER_TABLE)


@pytest.mark.hive2
@pytest.mark.parametrize("late", [True, False], ids=["late", "lost"])
def test_pending_request_keeps_the_lock(late: bool, old: ThriftProxy, scene: TableScene) -> None:
    """Iceberg #14096: otherwise it would undo later changes."""
    held = Hold(close=True)
    old.on(ALTER_TABLE, held if late else DropRequest())
    with pytest.raises(CommitStateUnknownError):
        set_property(scene.open({"uri": old.uri}), scene.database)
    assert len(scene.locks()) == 1
    with pytest.raises(CommitFailedError):
        set_property(scene.open({"iceberg.hive.lock-timeout-ms": "300"}), scene.database, shape="round")
    if late:
        held.release()
    scene.expire_locks()
    other = scene.open()
    set_property(other, scene.database, shape="round")
    assert COMMIT.is_applied(other, scene.database) is late


@pytest.mark.swaps
def test_pending_request_releases_the_lock_if_server_honors_cas(proxy: ThriftProxy, scene: TableScene) -> None:
    """If the server honors CAS, others need not wait."""
    held = proxy.on(ALTER_TABLE, Hold(close=True))
    with pytest.raises(CommitStateUnknownError):
        set_property(scene.open({"uri": proxy.uri}), scene.database)
    assert scene.locks() == []
    set_property(scene.catalog, scene.database, shape="round")
    held.release()
    assert scene.catalog.load_table((scene.database, TABLE)).properties.get("shape") == "round"
    assert not COMMIT.is_applied(scene.catalog, scene.database)
