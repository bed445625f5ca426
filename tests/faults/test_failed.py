"""A failure that the metastore reports is no proof: the change may take effect later, so no file may be deleted."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from thrift.Thrift import TApplicationException, TException

from hive_views import HiveViewCatalog
from hive_views.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    MetastoreRefusedError,
    NamespaceAlreadyExistsError,
)
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    AlreadyExistsException,
    InvalidOperationException,
    MetaException,
    NoSuchObjectException,
)
from tests.conftest import CatalogFactory
from tests.faults.conftest import Scene
from tests.faults.observer import Observer
from tests.faults.scripted import Answer, EarlyAnswer, ScriptedServer
from tests.faults.view_changes import (
    ALTER_TABLE,
    CREATE_TABLE,
    DROP_TABLE,
    READ_ROW,
    VIEW,
    VIEW_CHANGES,
    ViewChange,
    same_file,
)
from tests.integration.catalog.samples import SCHEMA as VIEW_SCHEMA
from tests.integration.catalog.samples import version
from tests.proxy import EVERY

COMMIT_FAILED = MetaException(
    "Unable to update transaction database java.sql.SQLException: the connection was reset during COMMIT"
)
FAILURES = {
    "declared": COMMIT_FAILED,
    "no message": MetaException(None),
    "no savepoint": InvalidOperationException("No savepoint with that name"),
    # An earlier attempt of the metastore has sent the COMMIT, and the next one cannot connect to the database.
    "failed lookup": InvalidOperationException(
        "Unable to change partition or table. Database d does not exist Check metastore logs for detailed stack."
        "database hive.d: Connection refused"
    ),
    "failed lookup of 2.3": InvalidOperationException(
        "Unable to change partition or table. Database d does not exist Check metastore logs for detailed stack."
        "d: Connection refused"
    ),
    "missing database": NoSuchObjectException("database hive.d: Connection refused"),
    "not declared": TApplicationException(TApplicationException.INTERNAL_ERROR, "Internal error processing a request"),
}

UNDECLARED: dict[str, tuple[type[TException], ...]] = {
    ALTER_TABLE: (NoSuchObjectException,),
    CREATE_TABLE: (InvalidOperationException,),
    DROP_TABLE: (InvalidOperationException,),
}
"""The errors that a method cannot answer."""


@pytest.mark.parametrize("change", VIEW_CHANGES, ids=str)
def test_change_that_takes_effect_after_reported_failure(
    change: ViewChange, scene: Scene, scripted: ScriptedServer, metastore: EmbeddedMetastore
) -> None:
    """Measured with Hive 4.2.0 on PostgreSQL when the connection breaks during a COMMIT."""
    early = EarlyAnswer(COMMIT_FAILED)
    scripted.on(change.method, early)
    with pytest.raises(CommitStateUnknownError, match="during COMMIT") as caught:
        scene.run(change, uri=scripted.uri)
    assert not scene.is_applied(change)
    assert scene.locks() == []
    early.deliver(metastore.port)
    scene.check(change)  # reads the metadata file
    if change.writes_file:
        (new,) = scene.new_files()
        assert same_file(caught.value.metadata_location, new)


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("change", [VIEW_CHANGES[0], VIEW_CHANGES[1], VIEW_CHANGES[-1]], ids=str)
def test_failure_of_any_kind_is_no_proof(
    failure: TException, change: ViewChange, scene: Scene, scripted: ScriptedServer, metastore: EmbeddedMetastore
) -> None:
    if isinstance(failure, UNDECLARED.get(change.method, ())):
        pytest.skip("the method does not declare it")
    early = EarlyAnswer(failure)
    scripted.on(change.method, early)
    with pytest.raises(CommitStateUnknownError):
        scene.run(change, uri=scripted.uri)
    early.deliver(metastore.port)
    scene.check(change)


def test_failed_lookup_is_no_missing_database(
    open_catalog: CatalogFactory, database: str, scripted: ScriptedServer
) -> None:
    failure = Answer(NoSuchObjectException(f"database hive.{database}: Connection refused"))
    faulty = open_catalog({"uri": scripted.uri})
    scripted.on("get_database", failure)
    with pytest.raises(MetastoreRefusedError, match="Connection refused"):
        faulty.load_namespace_properties(database)
    scripted.on("get_database", failure)
    with pytest.raises(MetastoreRefusedError, match="Connection refused"):
        faulty.create_namespace(f"{database}_other")
    for method, change in (
        ("alter_database", lambda: faulty.update_namespace_properties(database, updates={"color": "blue"})),
        ("drop_database", lambda: faulty.drop_namespace(database)),
    ):
        scripted.on(method, failure)
        with pytest.raises(CommitStateUnknownError, match="Connection refused"):
            change()


SCHEMA = pa.schema([("id", pa.int64())])


def append(catalog: HiveViewCatalog, database: str) -> None:
    catalog.load_table((database, "t")).append(pa.table({"id": [1]}, schema=SCHEMA))


def create_materialized(catalog: HiveViewCatalog, database: str) -> None:
    catalog.materialized.create((database, "m"), "SELECT id FROM t", layout="attached")


def rows(catalog: HiveViewCatalog, database: str) -> int:
    return catalog.load_table((database, "t")).scan().to_arrow().num_rows


@pytest.mark.parametrize(
    ("method", "change", "is_applied"),
    [
        (ALTER_TABLE, append, lambda catalog, database: rows(catalog, database) == 1),
        (
            CREATE_TABLE,
            lambda catalog, database: catalog.create_table((database, "u"), SCHEMA),
            lambda catalog, database: catalog.load_table((database, "u")).scan().to_arrow().num_rows == 0,
        ),
        (
            ALTER_TABLE,
            lambda catalog, database: catalog.rename_table((database, "t"), (database, "u")),
            lambda catalog, database: catalog.table_exists((database, "u")),
        ),
        (
            DROP_TABLE,
            lambda catalog, database: catalog.purge_table((database, "t")),
            lambda catalog, database: not catalog.table_exists((database, "t")),
        ),
        (
            CREATE_TABLE,
            create_materialized,
            lambda catalog, database: len(catalog.materialized.load((database, "m")).storage.scan().to_arrow()) == 0,
        ),
    ],
    ids=["commit", "create", "rename", "purge", "attached storage"],
)
def test_table_change_that_takes_effect_after_reported_failure(
    method: str,
    change: Callable[[HiveViewCatalog, str], object],
    is_applied: Callable[[HiveViewCatalog, str], bool],
    catalog: HiveViewCatalog,
    open_catalog: CatalogFactory,
    database: str,
    scripted: ScriptedServer,
    metastore: EmbeddedMetastore,
    observer: Observer,
) -> None:
    catalog.create_table((database, "t"), SCHEMA)
    files = set(observer.files())
    early = EarlyAnswer(COMMIT_FAILED)
    scripted.on(method, early)
    with pytest.raises(CommitStateUnknownError, match="during COMMIT"):
        change(open_catalog({"uri": scripted.uri}), database)
    assert set(observer.files()) >= files
    early.deliver(metastore.port)
    assert is_applied(catalog, database)
    assert observer.locks() == []


def test_create_or_replace_of_hidden_row_ends(scene: Scene, scripted: ScriptedServer) -> None:
    """The server rejects the create because the name is taken, but does not return the row."""
    scripted.on(READ_ROW, Answer(NoSuchObjectException("hidden")), nth=EVERY)
    faulty = scene.behind(**{"uri": scripted.uri, "hive-views.settle-timeout-ms": "200"})
    with pytest.raises(CommitFailedError, match=r"neither created nor replaced in [5-9] attempts"):
        faulty.create_or_replace_view((scene.database, VIEW), VIEW_SCHEMA, version(scene.database))
    assert scripted.methods.count(CREATE_TABLE) < 10
    assert scene.view(VIEW) == scene.before.view
    assert scene.locks() == []


def test_database_change_that_takes_effect_after_reported_failure(
    catalog: HiveViewCatalog,
    open_catalog: CatalogFactory,
    database: str,
    scripted: ScriptedServer,
    metastore: EmbeddedMetastore,
) -> None:
    faulty, other = open_catalog({"uri": scripted.uri}), f"{database}_other"
    changes: dict[str, Callable[[], object]] = {
        "create_database": lambda: faulty.create_namespace(other),
        "alter_database": lambda: faulty.update_namespace_properties(other, updates={"color": "blue"}),
        "drop_database": lambda: faulty.drop_namespace(other),
    }
    for method, change in changes.items():
        early = EarlyAnswer(COMMIT_FAILED)
        scripted.on(method, early)
        with pytest.raises(CommitStateUnknownError, match="during COMMIT"):
            change()
        early.deliver(metastore.port)
        if method == "alter_database":
            assert catalog.load_namespace_properties(other)["color"] == "blue"
        assert ((other,) in catalog.list_namespaces()) is (method != "drop_database")


def test_create_database_repeated_by_server(
    catalog: HiveViewCatalog, open_catalog: CatalogFactory, database: str, scripted: ScriptedServer
) -> None:
    """The metastore lost the reply to its COMMIT, and its next attempt finds the name taken (4.2.0 on MariaDB)."""
    faulty, other = open_catalog({"uri": scripted.uri}), f"{database}_other"
    scripted.on("create_database", Answer(AlreadyExistsException("taken"), carried_out=True))
    faulty.create_namespace(other, {"color": "red"})
    # Another client has created it with other properties since it was found missing.
    scripted.on("get_database", Answer(NoSuchObjectException("missing")))
    with pytest.raises(NamespaceAlreadyExistsError):
        faulty.create_namespace(other, {"color": "blue"})
    scripted.on("get_database", Answer(NoSuchObjectException("missing")))
    scripted.on("get_database", Answer(MetaException("not now")), nth=2)
    with pytest.raises(CommitStateUnknownError, match="not now"):
        faulty.create_namespace(other, {"color": "red"})
    assert catalog.load_namespace_properties(other)["color"] == "red"
