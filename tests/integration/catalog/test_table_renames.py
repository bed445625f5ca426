"""Renames of tables that other clients make impossible after the catalog looked: the error has the true reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from uuid import uuid4

import pytest

from hive_views import HiveViewCatalog
from hive_views.errors import (
    CommitFailedError,
    HiveViewsError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from hive_views.local_metastore.embedded import EMBEDDED_VERSION, EmbeddedMetastore
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.local_metastore.standalone import StandaloneMetastore
from hive_views.metastore.capabilities import honors_cas
from tests.conftest import CACHE
from tests.faults.conftest import LOCK_FREE
from tests.faults.observer import until
from tests.faults.view_changes import ALTER_TABLE
from tests.integration.catalog.samples import SCHEMA
from tests.proxy import Hold, ThriftProxy
from tests.suites import extended


@pytest.fixture(scope="module", params=[EMBEDDED_VERSION, *extended("3.1.3", "4.0.1", "4.2.0")])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreProcess]:
    directory = tmp_path_factory.mktemp("renames")
    running: MetastoreProcess = (
        EmbeddedMetastore(directory)
        if request.param == EMBEDDED_VERSION
        else StandaloneMetastore(directory, version=request.param, cache=CACHE)
    )
    with running:
        yield running


@dataclass(frozen=True)
class Place:
    """Two databases; the first has the table `t`, which is renamed to `target`."""

    catalog: HiveViewCatalog
    source: str
    other: str

    @property
    def table(self) -> tuple[str, str]:
        return self.source, "t"


@pytest.fixture
def place(server: MetastoreProcess) -> Iterator[Place]:
    names = [f"{kind}_{uuid4().hex[:8]}" for kind in ("source", "other")]
    with HiveViewCatalog("direct", uri=server.uri, warehouse=server.warehouse) as catalog:
        for name in names:
            catalog.create_namespace(name)
        place = Place(catalog, *names)
        catalog.create_table(place.table, SCHEMA)
        yield place


@dataclass(frozen=True)
class Case:
    """What another client does between the last read of a rename and its request."""

    name: str
    run: Callable[[Place], object]
    error: type[HiveViewsError]
    message: str
    is_source_left: bool = True

    def __str__(self) -> str:
        return self.name


CASES = (
    Case(
        "a table gets the name",
        lambda place: place.catalog.create_table((place.other, "u"), SCHEMA),
        TableAlreadyExistsError,
        r"^Cannot rename source_\w+\.t to other_\w+\.u\. Table already exists",
    ),
    Case(
        "a view gets the name",
        lambda place: place.catalog.execute(f"CREATE VIEW {place.other}.u AS SELECT 1 AS a"),
        ViewAlreadyExistsError,
        r"^Cannot rename source_\w+\.t to other_\w+\.u\. View already exists",
    ),
    Case(
        "the table is dropped",
        lambda place: place.catalog.store.client.drop_table(*place.table),
        NoSuchTableError,
        r"source_\w+\.t \(it was dropped or renamed concurrently\)",
        is_source_left=False,
    ),
    Case(
        "the new database is dropped",
        lambda place: place.catalog.drop_namespace(place.other),
        NoSuchNamespaceError,
        r"^Namespace does not exist: other_",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_refused_rename_has_the_reason(case: Case, place: Place, server: MetastoreProcess) -> None:
    before = place.catalog.load_table(place.table)
    with ThriftProxy(server.port) as proxy:
        error = rename_while(lambda: case.run(place), place, proxy)
    assert isinstance(error, case.error)
    assert re.search(case.message, str(error))
    if case.is_source_left:
        assert place.catalog.load_table(place.table) == before
    assert place.catalog.store.client.show_locks(*place.table) == []


def rename_while(
    change: Callable[[], object], place: Place, proxy: ThriftProxy, **properties: str
) -> BaseException | None:
    """Rename the table, while another client makes a change before the request arrives; return the error."""
    with (
        HiveViewCatalog("renaming", uri=proxy.uri, warehouse="file:/none", **properties) as catalog,
        ThreadPoolExecutor(1) as pool,
    ):
        held = proxy.on(ALTER_TABLE, Hold())
        renaming = pool.submit(catalog.rename_table, place.table, (place.other, "u"))
        held.wait_until_held()
        try:
            change()
        finally:
            held.released.set()
        return renaming.exception()


def commit(place: Place) -> None:
    with place.catalog.load_table(place.table).transaction() as transaction:
        transaction.set_properties(color="blue")


def test_commit_without_lock_is_not_lost(place: Place, server: MetastoreProcess) -> None:
    """The rename has the whole row: without compare-and-swap it would set the metadata location back."""
    if not honors_cas(place.catalog.store.client):
        pytest.skip("Hive 3.1 ignores compare-and-swap: all writers need the lock")
    lock_free = HiveViewCatalog("lock_free", uri=server.uri, warehouse=server.warehouse, **LOCK_FREE)
    with ThriftProxy(server.port) as proxy, lock_free:
        error = rename_while(lambda: commit(Place(lock_free, place.source, place.other)), place, proxy)
    assert isinstance(error, CommitFailedError)
    assert place.catalog.load_table(place.table).properties["color"] == "blue"
    place.catalog.rename_table(place.table, (place.other, "u"))
    assert place.catalog.load_table((place.other, "u")).properties["color"] == "blue"


def test_commit_with_lock_waits_for_rename(place: Place, server: MetastoreProcess) -> None:
    """On 3.1.3 only the lock keeps the commit from being overwritten."""
    with ThreadPoolExecutor(1) as pool, ThriftProxy(server.port) as proxy:
        table = place.catalog.load_table(place.table)

        def set_property() -> None:
            with table.transaction() as transaction:
                transaction.set_properties(color="blue")

        committing = []

        def start() -> None:
            committing.append(pool.submit(set_property))
            wait_for_lock_request(place)

        assert rename_while(start, place, proxy) is None
        assert committing[0].exception() is not None
    assert "color" not in place.catalog.load_table((place.other, "u")).properties
    assert not place.catalog.table_exists(place.table)


def wait_for_lock_request(place: Place) -> None:
    until(lambda: len(place.catalog.store.client.show_locks(*place.table)) == 2)


def test_source_that_became_a_view_is_not_renamed(place: Place, server: MetastoreProcess) -> None:
    """Another client drops the table and creates a view under its name, before the row is read under the lock."""
    with (
        ThriftProxy(server.port) as proxy,
        HiveViewCatalog("renaming", uri=proxy.uri, warehouse="file:/none") as catalog,
        ThreadPoolExecutor(1) as pool,
    ):
        held = proxy.on("lock", Hold())
        renaming = pool.submit(catalog.rename_table, place.table, (place.other, "u"))
        held.wait_until_held()
        place.catalog.store.client.drop_table(*place.table)
        place.catalog.execute(f"CREATE VIEW {place.source}.t AS SELECT 1 AS a")
        held.released.set()
        assert isinstance(renaming.exception(), NoSuchTableError)
    assert place.catalog.view_exists(place.table)
