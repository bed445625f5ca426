"""Drops during other changes: what a drop reports and deletes is what was dropped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from hive_views import HiveViewCatalog
from hive_views.cli.commands.writing import drop_view
from hive_views.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    MetadataFileNotFoundError,
    MetastoreError,
    MetastoreRefusedError,
    NoSuchViewError,
    SharedFilesError,
)
from hive_views.identifiers import ViewName
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    EnvironmentContext,
    MetaException,
    ShowLocksRequest,
    UnlockRequest,
)
from hive_views.metastore.capabilities import is_cas_verified
from tests.conftest import CatalogFactory
from tests.faults.conftest import LOCK_FREE, Behind, Scene
from tests.faults.observer import Observer, until
from tests.faults.scripted import Answer, EarlyAnswer, ScriptedServer
from tests.faults.view_changes import ALTER_TABLE, CREATE_TABLE, DROP_TABLE, NEW, PROPERTIES, VIEW, State, same_file
from tests.integration.catalog.samples import SCHEMA, path, version
from tests.integration.legacy_import.rows import hive_view_row
from tests.integration.materialized.conftest import SALES
from tests.proxy import ANY, DropRequest, Hold, ThriftProxy


def test_reported_file_is_that_of_the_dropped_state(catalog: HiveViewCatalog, scene: Scene) -> None:
    """Another client commits while the drop waits for its lock."""
    with scene.proxy.in_flight("lock", drop_view, scene.behind(), f"{scene.database}.{VIEW}") as dropping:
        PROPERTIES.run(catalog, scene.database)
        after = scene.view(VIEW)
    assert same_file(dropping.result().metadata_location, after.pointer)
    assert after.pointer != scene.before.view.pointer


def lock_free(scene: Scene, **more: str) -> HiveViewCatalog:
    """Open a catalog without locks that has verified compare-and-swap, which creates and drops a temporary row."""
    catalog = scene.behind(**LOCK_FREE, **more)
    assert is_cas_verified(catalog.store.client, scene.database)
    return catalog


def test_lock_free_commit_during_drop_without_lock(catalog: HiveViewCatalog, scene: Scene) -> None:
    """The commit is between the drop's read and its first request: the drop is rejected."""
    with scene.proxy.in_flight(ALTER_TABLE, lock_free(scene).drop_view, (scene.database, VIEW)) as dropping:
        PROPERTIES.run(catalog, scene.database)
    assert isinstance(dropping.exception(), CommitFailedError)
    scene.check(PROPERTIES)


def test_lock_free_commit_before_request_of_drop(catalog: HiveViewCatalog, scene: Scene) -> None:
    """The last request of the drop names a view that no other client knows."""
    client = lock_free(scene)  # dropped a temporary row
    with scene.proxy.in_flight(DROP_TABLE, client.drop_view, (scene.database, VIEW)) as dropping:
        with pytest.raises(NoSuchViewError):
            PROPERTIES.run(catalog, scene.database)
        catalog.create_view((scene.database, VIEW), SCHEMA, version(scene.database))
    (step,) = dropping.result().steps
    assert step.name == ViewName(scene.database, VIEW)
    assert same_file(step.metadata_location, scene.before.view.pointer)
    assert scene.names() == {VIEW}


def test_rejected_drop_without_lock_renames_back(scene: Scene, scripted: ScriptedServer) -> None:
    client = lock_free(scene, uri=scripted.uri)
    scripted.on(DROP_TABLE, Answer(MetaException("Permission denied: user [me] does not have [DROP] privilege")))
    with pytest.raises(MetastoreRefusedError, match="Permission denied"):
        client.drop_view((scene.database, VIEW))
    assert scene.view(VIEW) == scene.before.view
    assert scene.names() == {VIEW}


def test_unknown_drop_without_lock_names_the_new_name(
    catalog: HiveViewCatalog, metastore: EmbeddedMetastore, scene: Scene, scripted: ScriptedServer
) -> None:
    client, early = (
        lock_free(scene, uri=scripted.uri),
        EarlyAnswer(MetaException("during COMMIT")),
    )
    scripted.on(ALTER_TABLE, early)
    with pytest.raises(CommitStateUnknownError) as caught:
        client.drop_view((scene.database, VIEW))
    early.deliver(metastore.port)
    (hidden,) = scene.names()
    assert hidden != VIEW
    assert f"look for {scene.database}.{hidden}, too" in str(caught.value)
    catalog.rename_view((scene.database, hidden), (scene.database, VIEW))
    assert scene.view(VIEW).metadata == scene.before.view.metadata


def test_interrupted_drop_without_lock_names_the_new_name(
    catalog: HiveViewCatalog, scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """Ctrl-C after the view was renamed, before it is dropped."""
    client, held = lock_free(scene), Hold()
    scene.proxy.on(DROP_TABLE, held)

    def interrupt() -> None:
        held.wait_until_held()
        os.kill(os.getpid(), signal.SIGINT)

    with ThreadPoolExecutor(1) as pool:
        interrupting = pool.submit(interrupt)
        with pytest.raises(KeyboardInterrupt):
            client.drop_view((scene.database, VIEW))
        interrupting.result()
    (hidden,) = scene.names()
    assert f"look for the view under the name {scene.database}.{hidden}, too" in caplog.text
    catalog.rename_view((scene.database, hidden), (scene.database, VIEW))
    assert scene.view(VIEW).metadata == scene.before.view.metadata


@pytest.mark.parametrize("attempt", range(3))
def test_reported_file_has_all_acknowledged_lock_free_commits(
    attempt: int, open_catalog: CatalogFactory, database: str, before: State
) -> None:
    """Clients commit as fast as they can until the view is gone.

    A commit that a server's failure interrupts, and that then finds no view, may be the last one that was applied.
    """
    acknowledged: list[str] = []
    unknown: list[str | None] = []

    def commit() -> None:
        with suppress(NoSuchViewError), open_catalog(LOCK_FREE) as mine:
            for number in range(1000):
                try:
                    view = mine.load_view((database, VIEW)).update().set_properties(number=str(number)).commit()
                    acknowledged.append(view.metadata_location)
                except CommitStateUnknownError as error:
                    unknown.append(error.metadata_location)
                except (CommitFailedError, MetastoreError):
                    continue

    def drop() -> str | None:
        catalog = open_catalog(LOCK_FREE)
        while True:
            with suppress(CommitFailedError):
                return catalog.drop_view((database, VIEW)).steps[-1].metadata_location

    with ThreadPoolExecutor(3) as pool:
        clients = [pool.submit(commit) for _ in range(2)]
        until(lambda: len(acknowledged) > 2)
        location = pool.submit(drop).result()
        for client in clients:
            client.result()
    last = max(acknowledged, key=lambda item: int(item.rpartition("/")[2].partition("-")[0]))
    assert location in {last, *unknown}


@pytest.mark.parametrize("layout", ["registered", "attached"])
def test_late_creation_after_rejection_finds_its_storage(
    layout: str, catalog: HiveViewCatalog, database: str, proxy: ThriftProxy, behind: Behind
) -> None:
    """The first request gets no reply, the second one finds another view, and then the first one arrives."""
    catalog.create_table((database, "sales"), SALES)
    creating = behind()
    creating.load_table((database, "sales"))
    # The storage table of the layout `registered` is created before the view.
    first = 2 if layout == "registered" else 1
    held, again = Hold(close=True), Hold()
    proxy.on(CREATE_TABLE, held, nth=first)
    proxy.on(CREATE_TABLE, again, nth=first + 1)
    with ThreadPoolExecutor(1) as pool:
        created = pool.submit(
            lambda: creating.materialized.create((database, "mv"), "SELECT id, amount FROM sales", layout=layout)
        )
        again.wait_until_held()
        with HiveViewCatalog("prod", **{**catalog.properties, **LOCK_FREE}) as lock_free:
            lock_free.create_view((database, "mv"), SCHEMA, version(database))
        again.release()
        raised = created.exception()
    assert isinstance(raised, CommitStateUnknownError)
    for lock in catalog.store.client.show_locks(database, "mv"):
        catalog.store.client.unlock(lock.lockid)
    catalog.drop_view((database, "mv"))
    held.release()
    storage = catalog.materialized.load((database, "mv")).storage
    assert storage is not None and storage.scan().to_arrow().num_rows == 0


# -- Purges -----------------------------------------------------------------------------------------------------------


def test_registration_during_purge_keeps_files(catalog: HiveViewCatalog, scene: Scene) -> None:
    """The registration holds the lock on the file that it read; the purge waits before it searches for other rows."""
    new, register = (scene.database, NEW), scene.behind().register_view
    with scene.proxy.in_flight(CREATE_TABLE, register, new, scene.before.view.pointer) as registering:
        purging = scene.aside.submit(catalog.drop_view, (scene.database, VIEW), purge_files=True)
        until(lambda: scene.row(VIEW) is None)
    registering.result()
    (step,) = purging.result().steps
    assert same_file(step.metadata_location, scene.before.view.pointer)
    assert scene.view(NEW).metadata == scene.before.view.metadata


def test_registration_after_purge_is_rejected(catalog: HiveViewCatalog, scene: Scene) -> None:
    """The registration has read the file before the purge deletes it, and has no lock yet."""
    new, register = (scene.database, NEW), scene.behind().register_view
    with scene.proxy.in_flight("lock", register, new, scene.before.view.pointer) as registering:
        catalog.drop_view((scene.database, VIEW), purge_files=True)
    assert isinstance(registering.exception(), MetadataFileNotFoundError)
    assert scene.names() == set()
    assert scene.locks() == []


def test_purge_keeps_files_if_its_lock_is_lost(
    catalog: HiveViewCatalog, scene: Scene, raw: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """The process was paused during its last search for other rows, and one was registered meanwhile."""
    client, locking, held = scene.behind(**{"iceberg.hive.lock-heartbeat-interval-ms": "500"}), Hold(), Hold()
    scene.proxy.on("lock", locking, nth=2)
    purging = scene.aside.submit(client.drop_view, (scene.database, VIEW), purge_files=True)
    locking.wait_until_held()
    scene.proxy.on("get_table_names_by_filter", held)
    locking.release()
    held.wait_until_held()
    for lock in raw.show_locks(ShowLocksRequest(dbname="hive_views_files")).locks:
        raw.unlock(UnlockRequest(lockid=lock.lockid))
    until(lambda: "is lost" in caplog.text)
    catalog.register_view((scene.database, NEW), scene.before.view.pointer)
    held.release()
    (step,) = purging.result().steps
    assert same_file(step.metadata_location, scene.before.view.pointer)
    assert scene.view(NEW).metadata == scene.before.view.metadata


@pytest.mark.extended
def test_purge_keeps_files_if_a_lagging_metastore_answers(
    catalog: HiveViewCatalog, metastore: EmbeddedMetastore, scene: Scene, tmp_path: Path
) -> None:
    """The first metastore dies once the purge has its lock; the second one has none of the rows."""
    with EmbeddedMetastore(tmp_path / "lagging") as lagging:
        client = scene.behind(uri=f"{scene.proxy.uri},{lagging.uri}", warehouse=metastore.warehouse)
        drop = partial(client.drop_view, (scene.database, VIEW), purge_files=True)
        with scene.proxy.in_flight("lock", drop, nth=2) as purging:
            catalog.register_view((scene.database, NEW), scene.before.view.pointer)
            scene.proxy.on(ANY, DropRequest(), onwards=True)
        (step,) = purging.result().steps
    assert same_file(step.metadata_location, scene.before.view.pointer)
    assert scene.view(NEW).metadata == scene.before.view.metadata


@pytest.mark.parametrize("uuid", [None, "00000000-0000-4000-8000-000000000000"], ids=["no UUID", "other UUID"])
def test_purge_finds_row_that_names_file_by_link(
    catalog: HiveViewCatalog, database: str, tmp_path: Path, raw: Client, uuid: str | None
) -> None:
    """What the row says of its UUID does not count."""
    table = catalog.create_table((database, "t"), SCHEMA)
    (tmp_path / "link").symlink_to(path(table.metadata_location).parent)
    location = (tmp_path / "link" / path(table.metadata_location).name).as_uri()
    catalog.register_table((database, "second"), location)
    row = raw.get_table(database, "second")
    row.parameters.pop("uuid", None)
    if uuid is not None:
        row.parameters["uuid"] = uuid
    raw.alter_table_with_environment_context(database, "second", row, EnvironmentContext({}))
    with pytest.raises(SharedFilesError):
        catalog.purge_table((database, "t"))
    assert catalog.load_table((database, "second")).metadata == table.metadata


def test_purge_without_release_of_its_lock_reports_deleted_files(scene: Scene) -> None:
    """The lock on the files is left to its time-out; the files are gone."""
    client = scene.behind()
    scene.proxy.on("unlock", DropRequest(), nth=2, onwards=True)  # the first one releases the lock on the view
    (step,) = client.drop_view((scene.database, VIEW), purge_files=True).steps
    assert (step.metadata_location, step.remaining_files) == (None, ())
    assert not scene.files()


def test_definition_of_hive_view_is_printed_before_it_is_dropped(
    catalog: HiveViewCatalog, database: str, proxy: ThriftProxy, raw: Client, observer: Observer, tmp_path: Path
) -> None:
    """The process is killed after the first drop of a cascade: no file keeps the definition of a plain Hive view."""
    catalog.create_view_from_sql(f"{database}.base", "SELECT 1 AS id")
    text = f"select `base`.`id` from `{database}`.`base`"
    view = hive_view_row(database, "reader", "select id from base", text, [("id", "int", "the number")], team="bi")
    raw.create_table(view)
    second = proxy.on(DROP_TABLE, Hold(), nth=2)
    command = [sys.executable, "-m", "hive_views", "--uri", proxy.uri, "drop", f"{database}.base", "--cascade", "--yes"]
    with (tmp_path / "stderr").open("w") as stderr, subprocess.Popen(command, stderr=stderr) as process:
        second.wait_until_held()
        process.kill()
    second.release()
    assert "reader" not in observer.names()
    printed = (tmp_path / "stderr").read_text()
    row = json.loads(printed[printed.index("{") : printed.rindex("}") + 1])
    assert (row["viewExpandedText"], row["viewOriginalText"]) == (text, "select id from base")
    assert row["sd"]["cols"][0]["comment"] == "the number" and row["parameters"]["team"] == "bi"
