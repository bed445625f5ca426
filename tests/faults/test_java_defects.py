"""Known defects of Iceberg's Java catalog (HiveViewOperations, HiveCatalog) that this catalog must not have.

#14096 (a late request is applied) is in `test_late` and `test_version_3`.
"""

from __future__ import annotations

import logging

import pytest
from thrift.Thrift import TApplicationException

from hive_views import HiveViewCatalog
from hive_views.errors import (
    CommitStateUnknownError,
    DialectLossError,
    HiveViewsError,
    MetastoreRefusedError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NotAnIcebergViewError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import MetaException
from tests.conftest import CatalogFactory
from tests.faults.conftest import LOCK_FREE, Scene, WithoutLock
from tests.faults.observer import Observer
from tests.faults.scripted import Answer, ScriptedServer
from tests.faults.view_changes import (
    ALTER_TABLE,
    CREATE_TABLE,
    LOCATION,
    NEW,
    PROPERTIES,
    READ_ROW,
    REPLACE,
    ROLLBACK,
    THIRD,
    VIEW,
    State,
    ViewChange,
    new_files,
)
from tests.integration.catalog.samples import OTHER_SCHEMA, SCHEMA, hive_row, path, texts, version
from tests.proxy import EVERY, DropReply, DropRequest


def test_17278_drop_table_rejects_view(catalog: HiveViewCatalog, scene: Scene) -> None:
    for drop in (catalog.drop_table, catalog.purge_table):
        with pytest.raises(NoSuchTableError):
            drop((scene.database, VIEW))
    assert scene.view(VIEW) == scene.before.view
    assert scene.new_files() == []


@pytest.mark.parametrize("covered", [0, 1, 3])
@pytest.mark.parametrize("change", [REPLACE, ROLLBACK], ids=str)
def test_17074_modified_rejection_is_verified_by_reading_the_row(
    change: ViewChange, covered: int, scene: Scene, open_catalog: CatalogFactory
) -> None:
    """The reply is lost, others commit on top before the repetition, and the repetition is rejected."""
    scene.proxy.on(ALTER_TABLE, DropReply())
    with scene.proxy.in_flight(ALTER_TABLE, scene.run, change, nth=2) as running:
        scene.check(change)
        others = open_catalog(LOCK_FREE)
        for number in range(covered):
            others.load_view((scene.database, VIEW)).update().set_properties(covered=str(number)).commit()
    running.result()
    view = scene.view(VIEW)
    assert view.commits == scene.before.view.commits + 1 + covered
    assert view.log == [*scene.before.view.log, 3 if change is REPLACE else 1]
    assert scene.locks() == []


def test_15296_replace_keeps_dialects_unless_allowed_to_drop_them(
    catalog: HiveViewCatalog, database: str, observer: Observer
) -> None:
    both = version(database, ("spark", "select 1"), ("trino", "select 1"))
    catalog.create_view((database, VIEW), SCHEMA, both)
    before = State(observer.view(VIEW), frozenset(observer.files()))
    spark = version(database, ("spark", "select 2"))
    for replace in (
        lambda: catalog.replace_view((database, VIEW), SCHEMA, spark),
        lambda: catalog.create_or_replace_view((database, VIEW), SCHEMA, spark),
        lambda: catalog.load_view((database, VIEW)).update().replace_version(spark).commit(),
    ):
        with pytest.raises(DialectLossError) as caught:
            replace()
        assert (caught.value.previous, caught.value.new) == (("spark", "trino"), ("spark",))
    assert observer.view(VIEW) == before.view
    assert new_files(observer, before) == []
    newer = version(database, ("spark", "select 2"), ("trino", "select 2"))
    replaced = catalog.replace_view((database, VIEW), SCHEMA, newer)
    assert texts(replaced.current_version()) == [("spark", "select 2"), ("trino", "select 2")]


def test_9433_purge_deletes_all_files_of_the_view_only(catalog: HiveViewCatalog, scene: Scene) -> None:
    """Also old files and that of a commit with an unknown outcome, but not those of an earlier view at the location."""
    other = catalog.create_view(
        (scene.database, NEW), SCHEMA, version(scene.database), location=str(scene.before.view.metadata["location"])
    )
    scene.proxy.on(ALTER_TABLE, DropRequest(), nth=EVERY)
    with pytest.raises(CommitStateUnknownError):
        scene.run(REPLACE, **{"hive-views.settle-timeout-ms": "0"})
    assert len(scene.files()) == 3
    catalog.drop_view((scene.database, VIEW), purge_files=True)
    assert scene.files() == {path(other.metadata_location)}
    assert scene.view(NEW).pointer == other.metadata_location


@pytest.mark.parametrize("table_type", ["VIRTUAL_VIEW", "MANAGED_TABLE"])
def test_14930_create_if_not_exists_over_other_object(
    table_type: str, catalog: HiveViewCatalog, raw: Client, database: str, observer: Observer
) -> None:
    """The error names the existing object, which stays unchanged."""
    raw.create_table(hive_row(database, VIEW, table_type))
    before = observer.row(VIEW)
    with pytest.raises(HiveViewsError) as caught:
        catalog.create_view_if_not_exists((database, VIEW), SCHEMA, version(database))
    assert isinstance(caught.value, (NotAnIcebergViewError, ViewAlreadyExistsError, TableAlreadyExistsError))
    assert f"{database}.{VIEW}" in str(caught.value)
    assert observer.row(VIEW) == before
    assert observer.files() == set()
    assert observer.locks() == []


# -- Without an issue number: found in HiveViewOperations.doCommit -----------------------------------------------------


def test_registered_file_is_never_deleted(catalog: HiveViewCatalog, scene: Scene, scripted: ScriptedServer) -> None:
    """Java deletes the registered file when the commit of registerView fails."""
    pointer = scene.before.view.pointer
    with pytest.raises(ViewAlreadyExistsError):
        catalog.register_view((scene.database, VIEW), pointer)
    with pytest.raises(NoSuchNamespaceError):
        catalog.register_view(("no_such_database", VIEW), pointer)
    broken = TApplicationException(TApplicationException.INTERNAL_ERROR, "broken")
    for answer in (MetaException("the database is down"), broken):
        scripted.on(CREATE_TABLE, Answer(answer))
        with pytest.raises(CommitStateUnknownError):
            scene.behind(uri=scripted.uri).register_view((scene.database, NEW), pointer)
    scripted.on(READ_ROW, Answer(broken))
    with pytest.raises(MetastoreRefusedError):
        scene.behind(uri=scripted.uri).register_view((scene.database, NEW), pointer)
    scene.proxy.on(CREATE_TABLE, DropRequest(), nth=EVERY)
    with pytest.raises(CommitStateUnknownError) as caught:
        scene.behind(**{"hive-views.settle-timeout-ms": "0"}).register_view((scene.database, NEW), pointer)
    assert caught.value.metadata_location == pointer
    assert scene.files() == scene.before.files
    assert scene.view(VIEW) == scene.before.view


def test_set_location_is_retried_after_conflict(catalog: HiveViewCatalog, scene: Scene) -> None:
    """Java's SetViewLocation retries with the rejected base, so every retry is rejected."""
    stale = catalog.load_view((scene.database, VIEW))
    PROPERTIES.run(catalog, scene.database)
    moved = f"{scene.before.view.metadata['location']}_moved"
    stale.update().set_location(moved).commit()
    view = scene.view(VIEW)
    assert view.metadata["location"] == view.row["sd"]["location"] == moved
    assert view.properties["color"] == "blue"
    assert view.commits == scene.before.view.commits + 2


def test_failed_lock_release_does_not_fail_commit(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    faulty = scene.behind()
    scene.proxy.on("unlock", DropRequest(), nth=EVERY)
    with caplog.at_level(logging.WARNING):
        LOCATION.run(faulty, scene.database)
    scene.check(LOCATION)
    assert "Could not release the lock" in caplog.text
    assert len(scene.locks()) == 1


def test_lock_lost_after_cas_success_is_no_unknown_outcome(
    without_lock: WithoutLock, observer: Observer, before: State
) -> None:
    """CAS protects the commit as well; Java reports CommitStateUnknownException."""
    held, running = without_lock(REPLACE)
    held.release()
    running.result()
    REPLACE.check(observer, before)


def test_rejection_without_message(scene: Scene, scripted: ScriptedServer) -> None:
    """Java reports "null"."""
    scripted.on(ALTER_TABLE, Answer(MetaException(None)))
    with pytest.raises(CommitStateUnknownError, match=r"alter_table failed \(MetaException\)"):
        scene.run(REPLACE, uri=scripted.uri)
    assert scene.view(VIEW) == scene.before.view
    assert len(scene.new_files()) == 1


@pytest.mark.parametrize("dialect", ["spark", "hive"])
def test_14831_row_texts_and_columns_follow_every_commit(
    dialect: str, catalog: HiveViewCatalog, database: str, observer: Observer
) -> None:
    name = (database, VIEW)
    catalog.create_view(name, SCHEMA, version(database, (dialect, "select 1, 'one'")))
    catalog.replace_view(name, OTHER_SCHEMA, version(database, (dialect, "select 2")))
    row = observer.view(VIEW).row
    assert (row["viewOriginalText"], row["viewExpandedText"]) == ("select 2", "select 2")
    assert [column["name"] for column in row["sd"]["cols"]] == ["some_id"]
    catalog.load_view(name).update().rollback(version_id=1).commit()
    row = observer.view(VIEW).row
    assert (row["viewOriginalText"], row["viewExpandedText"]) == ("select 1, 'one'", "select 1, 'one'")
    assert [column["name"] for column in row["sd"]["cols"]] == ["id", "data"]


def test_stale_base_is_rejected_before_any_request(open_catalog: CatalogFactory, scene: Scene) -> None:
    """A definition derived from a stale one is rejected; Java overwrites the current one on its retry."""
    stale = scene.behind().load_view((scene.database, VIEW))
    REPLACE.run(open_catalog(LOCK_FREE), scene.database)
    after = scene.view(VIEW)
    files = scene.files()
    with pytest.raises(HiveViewsError, match="changed its definition"):
        stale.update().replace_version(version(scene.database, ("spark", "select 4"))).commit()
    assert ALTER_TABLE not in scene.proxy.methods
    assert scene.view(VIEW) == after
    assert after.queries[-1] == THIRD
    assert scene.files() == files
