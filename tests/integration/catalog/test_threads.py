"""One catalog object shared by concurrent threads."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from hive_views import HiveViewCatalog
from hive_views.errors import CommitFailedError, HiveViewsError
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import ShowLocksRequest
from tests.integration.catalog.samples import SCHEMA, files_below, path, texts, version

THREADS = 8


def test_concurrent_writers_of_different_views(catalog: HiveViewCatalog, database: str) -> None:
    started = threading.Barrier(THREADS)

    def live(number: int) -> list[str]:
        name = f"{database}.v{number}"
        started.wait()
        view = catalog.create_view(name, SCHEMA, version(database, ("spark", f"select {number}")))
        view.update().set_properties(number=str(number)).commit()
        catalog.rename_view(name, f"{name}_renamed")
        loaded = catalog.load_view(f"{name}_renamed")
        catalog.list_views(database)
        actual = [loaded.properties["number"], texts(loaded.current_version())[0][1]]
        catalog.drop_view(f"{name}_renamed")
        return actual

    with ThreadPoolExecutor(THREADS) as pool:
        results = list(pool.map(live, range(THREADS)))
    assert results == [[str(number), f"select {number}"] for number in range(THREADS)]
    assert catalog.list_views(database) == []


def test_concurrent_properties_of_one_view(catalog: HiveViewCatalog, database: str, raw: Client) -> None:
    """Property changes do not conflict and are retried: none is lost."""
    patient = {"commit.retry.num-retries": "100", "commit.retry.min-wait-ms": "10", "commit.retry.max-wait-ms": "50"}
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database), properties=patient)
    started = threading.Barrier(THREADS)

    def change(number: int) -> None:
        started.wait()
        for step in range(3):
            view.update().set_properties({f"k{number}.{step}": "x"}).commit()

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(change, range(THREADS)))
    now = catalog.load_view(f"{database}.v")
    assert now.properties.keys() - patient.keys() == {
        f"k{number}.{step}" for number in range(THREADS) for step in range(3)
    }
    assert path(now.metadata_location).name.startswith(f"{THREADS * 3:05}-")
    # What was overtaken left no file behind.
    assert len(files_below(view.location())) == THREADS * 3 + 1
    assert not raw.show_locks(ShowLocksRequest(dbname=database)).locks


def test_concurrent_definitions_of_one_view(catalog: HiveViewCatalog, database: str) -> None:
    """One commit succeeds; the others raise and leave no files."""
    view = catalog.create_view(f"{database}.v", SCHEMA, version(database))
    started = threading.Barrier(THREADS)

    def change(number: int) -> str | None:
        started.wait()
        try:
            view.update().replace_version(version(database, ("spark", f"select {number}"))).commit()
        except CommitFailedError:
            return None
        return f"select {number}"

    with ThreadPoolExecutor(THREADS) as pool:
        won = [text for text in pool.map(change, range(THREADS)) if text is not None]
    now = catalog.load_view(f"{database}.v")
    assert [text for _, text in texts(now.current_version())] == won
    assert [item.version_id for item in now.versions] == [1, 2]
    assert len(files_below(view.location())) == 2


def test_concurrent_creates_of_one_name(catalog: HiveViewCatalog, database: str) -> None:
    started = threading.Barrier(THREADS)

    def create(number: int) -> bool:
        started.wait()
        try:
            catalog.create_view(f"{database}.v", SCHEMA, version(database, ("spark", f"select {number}")))
        except HiveViewsError as error:
            assert "View already exists" in str(error)
            return False
        return True

    with ThreadPoolExecutor(THREADS) as pool:
        created = list(pool.map(create, range(THREADS)))
    assert created.count(True) == 1
    view = catalog.load_view(f"{database}.v")
    assert texts(view.current_version()) == [("spark", f"select {created.index(True)}")]
    assert files_below(view.location()) == {path(view.metadata_location)}


def test_concurrent_create_or_replace(catalog: HiveViewCatalog, database: str) -> None:
    """Every call is applied, in some order."""
    started = threading.Barrier(4)
    patient = {"commit.retry.num-retries": "50", "commit.retry.min-wait-ms": "10", "commit.retry.max-wait-ms": "50"}

    def change(number: int) -> None:
        definition = version(database, ("spark", f"select {number}"))
        started.wait()
        catalog.create_or_replace_view(f"{database}.v", SCHEMA, definition, properties=patient)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(change, range(4)))
    view = catalog.load_view(f"{database}.v")
    stored = {text for item in view.versions for _, text in texts(item)}
    assert stored == {f"select {number}" for number in range(4)}
    assert len(files_below(view.location())) == 4
