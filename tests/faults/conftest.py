"""What the tests of faults share: a proxy before the shared metastore, and an observer that does not use it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from hive_views import HiveViewCatalog
from hive_views.local_metastore.embedded import EmbeddedMetastore
from tests.conftest import SERVER, CatalogFactory
from tests.faults.fault_matrix import Stage
from tests.faults.observer import Observer, until
from tests.faults.scripted import ScriptedServer
from tests.faults.view_changes import State, ViewChange, new_files, prepare, read_state
from tests.proxy import Hold, ThriftProxy

Behind = Callable[..., HiveViewCatalog]
LOCK_FREE = {"iceberg.engine.hive.lock-enabled": "false"}
"""The property of catalogs that take no locks."""

WithoutLock = Callable[[ViewChange], "tuple[Hold, Future[object]]"]


@pytest.fixture
def behind(proxy: ThriftProxy, open_catalog: CatalogFactory) -> Behind:
    """Opens catalogs that reach the metastore through the proxy, with additional properties."""

    def opening(**more: str) -> HiveViewCatalog:
        return open_catalog({"uri": proxy.uri, **more})

    return opening


@pytest.fixture
def lock_free_catalog(open_catalog: CatalogFactory) -> HiveViewCatalog:
    """A client that takes no locks."""
    return open_catalog(LOCK_FREE)


@pytest.fixture
def scripted(metastore: EmbeddedMetastore) -> Iterator[ScriptedServer]:
    """A server in front of the shared metastore with scripted answers."""
    with ScriptedServer(metastore.port) as running:
        yield running  # type: ignore[misc]


@pytest.fixture(scope="module")
def stage(metastore: EmbeddedMetastore) -> Iterator[Stage]:
    """The environment of the cases of a fault matrix."""
    with HiveViewCatalog("prod", uri=metastore.uri, warehouse=metastore.warehouse) as direct:
        yield Stage(metastore, direct)


@pytest.fixture
def observer(metastore: EmbeddedMetastore, database: str) -> Observer:
    """Reads the database without a proxy."""
    return Observer(metastore, database)


@pytest.fixture
def before(open_catalog: CatalogFactory, database: str, observer: Observer) -> State:
    """The state of the database with one prepared view."""
    # Faster without locks, which Hive 3.1 needs.
    prepare(open_catalog({"iceberg.engine.hive.lock-enabled": str(SERVER.startswith("3.")).lower()}), database)
    return read_state(observer)


class Scene(Observer):
    """A database with one prepared view: read without a proxy, changed by clients behind one."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        super().__init__(request.getfixturevalue("metastore"), request.getfixturevalue("database"))
        self.before: State = request.getfixturevalue("before")
        self._request = request

    # Not all tests use the following fixtures, and a module may define its own proxy before a scripted server.

    @property
    def proxy(self) -> ThriftProxy:
        """The proxy before the metastore."""
        proxy: ThriftProxy = self._request.getfixturevalue("proxy")
        return proxy

    @property
    def behind(self) -> Behind:
        """Opens catalogs behind the proxy, with additional properties."""
        behind: Behind = self._request.getfixturevalue("behind")
        return behind

    @property
    def aside(self) -> ThreadPoolExecutor:
        """Threads for concurrent operations."""
        pool: ThreadPoolExecutor = self._request.getfixturevalue("aside")
        return pool

    def run(self, change: ViewChange, **properties: str) -> object:
        """Make a change by a client behind the proxy, whose catalog has additional properties."""
        return change.run(self.behind(**properties), self.database)

    def check(self, change: ViewChange) -> None:
        """Assert that a change was applied exactly once."""
        change.check(self, self.before)

    def is_applied(self, change: ViewChange) -> bool:
        """Return whether a change was applied; if so, check how."""
        return change.is_applied(self, self.before)

    def new_files(self) -> list[str]:
        """Return the URIs of the new files."""
        return new_files(self, self.before)


@pytest.fixture
def scene(request: pytest.FixtureRequest) -> Scene:
    """A prepared view, clients behind a proxy, and the observer of both."""
    return Scene(request)


@pytest.fixture
def aside() -> Iterator[ThreadPoolExecutor]:
    """Threads for concurrent operations."""
    with ThreadPoolExecutor(8) as pool:
        yield pool


@pytest.fixture
def without_lock(
    database: str,
    proxy: ThriftProxy,
    behind: Behind,
    observer: Observer,
    aside: ThreadPoolExecutor,
    caplog: pytest.LogCaptureFixture,
) -> WithoutLock:
    """Starts a change and holds its request until its heartbeat has noticed that the lock is lost."""

    def start(change: ViewChange) -> tuple[Hold, Future[object]]:
        held = proxy.on(change.method, Hold())
        running = aside.submit(change.run, behind(**{"iceberg.hive.lock-heartbeat-interval-ms": "500"}), database)
        held.wait_until_held()
        observer.expire_locks()
        until(lambda: "is lost" in caplog.text)
        return held, running

    return start
