"""Fixtures of all tests: one real metastore per run, a new database per test."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings

from hive_views import HiveViewCatalog
from hive_views.local_metastore.embedded import EMBEDDED_VERSION, EmbeddedMetastore
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.local_metastore.standalone import Database as StoreDatabase
from hive_views.local_metastore.standalone import StandaloneMetastore
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import Database
from tests.browser import browser, chromium
from tests.integration.metastore.rpc import connect, shared_connection
from tests.integration.schema_upgrade.servers import PASSWORD, mariadb, postgresql
from tests.proxy import ThriftProxy
from tests.suites import mark_each_spark, mark_extended, missing_packages_summary, scope_of, sort_longest_first

__all__ = ["browser", "chromium"]

CatalogFactory = Callable[..., HiveViewCatalog]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Shells ignore SIGINT in background processes, which children inherit; some tests send it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Every run tries the same generated examples, here and in CI; HIVE_VIEWS_NEW_EXAMPLES=1 tries others. On a busy
# machine any example may be slow, so there is no deadline.
settings.register_profile(
    "hive_views",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=os.environ.get("HIVE_VIEWS_NEW_EXAMPLES") != "1",
    database=None,
    print_blob=True,
)
settings.load_profile("hive_views")

CACHE = Path(__file__).parent.parent / ".cache"

# alter_table only asks the file system of the location for its URI. Hadoop's HTTP file system returns any URI, and S3A
# would need 500 MB of jars.
STORES = {
    **{f"fs.{scheme}.impl": "org.apache.hadoop.fs.http.HttpFileSystem" for scheme in ("s3", "memory")},
    # The directory of `s3a://views/path` is made at the local `/path`; S3 has none.
    "fs.s3a.impl": "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme",
    "fs.viewfs.mounttable.views.linkFallback": "file:///",
}

SERVER = os.environ.get("HIVE_VIEWS_TEST_SERVER", EMBEDDED_VERSION)
"""The metastore of this run as `release/database`, e.g. `4.0.1/postgresql`; the default is the embedded metastore."""

TESTS_END = float(os.environ.get("HIVE_VIEWS_TESTS_END", "inf"))
"""When tests stop to start, in seconds since 1970."""
TURN = int(os.environ.get("HIVE_VIEWS_TESTS_TURN", "0"))
"""Which modules start first."""
TIME_IS_OVER = "the time of this run is over"

LOCKS_HANG = ("4.0.1", "4.1.0")
"""Releases whose locks on Derby hang after concurrent requests until the server is restarted."""


def uses_concurrent_locks(item: pytest.Item) -> bool:
    """Whether a test has concurrent clients."""
    return item.path.parent.name == "faults" or item.path.name in ("test_threads.py", "test_locks.py")


# A hook of pytest-xdist, not of pytest.
@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class Processes(LoadScopeScheduling):
        """Distributes tests to processes in their order; tests that share a Spark session run in one process."""

        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid)

    config.option.loadscopereorder = False
    return Processes(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Skip what has not started at the end of the time that CI has."""
    if time.time() > TESTS_END:
        pytest.skip(TIME_IS_OVER)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the system packages that skipped tests need, and how many had no time."""
    reasons = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])]
    if line := missing_packages_summary(reasons):
        terminalreporter.write_line(line)
    if late := sum(TIME_IS_OVER in reason for reason in reasons):
        terminalreporter.write_line(f"{late} tests skipped: {TIME_IS_OVER}")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name cases with bytes by argument: gzip output contains a time, and IDs must be equal in all processes."""
    return argname if isinstance(val, bytes) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_extended(items)
    mark_each_spark(items)
    sort_longest_first(items, TURN)
    if SERVER == EMBEDDED_VERSION:
        return
    for item in items:
        if item.get_closest_marker("hive2"):
            item.add_marker(pytest.mark.skip(reason=f"tests Hive {EMBEDDED_VERSION}, and the server is {SERVER}"))
        if SERVER in LOCKS_HANG and uses_concurrent_locks(item):
            item.add_marker(pytest.mark.skip(reason=f"locks of Hive {SERVER} hang on Derby (server defect)"))
        if item.get_closest_marker("characters") and SERVER.endswith("/mysql"):
            item.add_marker(pytest.mark.skip(reason="Hive's schema on MySQL and MariaDB is in latin1"))
        if SERVER.startswith("3.") and item.path.parent.name == "faults" and item.path.name != "test_fault_matrix.py":
            reason = f"tests servers that support compare-and-swap, and {SERVER} does not (see test_version_3)"
            item.add_marker(pytest.mark.skip(reason=reason))
        if item.get_closest_marker("swaps") and SERVER.startswith("3."):
            item.add_marker(pytest.mark.skip(reason=f"{SERVER} ignores compare-and-swap (HIVE-26882)"))


@contextmanager
def started(
    directory: Path, server: str, port: int = 0, properties: Mapping[str, str] | None = None
) -> Iterator[MetastoreProcess]:
    """A metastore of a release on a database, with more properties where given."""
    settings = {**STORES, **(properties or {})}
    version, _, kind = server.partition("/")
    if kind and version == EMBEDDED_VERSION:
        raise ValueError(f"{server}: the embedded metastore uses Derby")
    with ExitStack() as stack:
        database = None
        if kind:
            store = stack.enter_context({"postgresql": postgresql, "mysql": mariadb}[kind]())
            store.create("metastore")
            database = StoreDatabase(kind=kind, port=store.port, name="metastore", user="hive", password=PASSWORD)
        if version == EMBEDDED_VERSION:
            yield stack.enter_context(EmbeddedMetastore(directory, port=port, properties=settings))
        else:
            standalone = StandaloneMetastore(
                directory, version=version, database=database, port=port, properties=settings, cache=CACHE
            )
            yield stack.enter_context(standalone)


@pytest.fixture(scope="session")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreProcess]:
    """The Hive Metastore that all tests share; tests use only their own `database`."""
    with started(tmp_path_factory.mktemp("metastore"), SERVER) as running:
        yield running


@contextmanager
def empty_database(metastore: MetastoreProcess, prefix: str) -> Iterator[str]:
    """The name of an empty database with a location; it is dropped with its contents afterwards."""
    name = f"{prefix}_{uuid4().hex[:12]}"
    with shared_connection(metastore) as client:
        client.create_database(Database(name=name, locationUri=f"{metastore.warehouse}/{name}.db"))
    yield name
    with shared_connection(metastore) as client:
        client.drop_database(name, True, True)


@pytest.fixture
def database(metastore: MetastoreProcess) -> Iterator[str]:
    """The name of an empty database of the test."""
    with empty_database(metastore, "db") as name:
        yield name


@pytest.fixture
def other_database(metastore: MetastoreProcess) -> Iterator[str]:
    """The name of another empty database of the test."""
    with empty_database(metastore, "other") as name:
        yield name


@pytest.fixture
def alone(metastore: EmbeddedMetastore) -> Iterator[None]:
    """Drops the databases that a test creates under fixed names, such as those of documentation pages."""
    with connect(metastore.port) as client:
        before = set(client.get_all_databases())
    yield
    with connect(metastore.port) as client:
        for name in set(client.get_all_databases()) - before:
            location = client.get_database(name).locationUri
            client.drop_database(name, True, True)
            shutil.rmtree(location.removeprefix("file:").replace("///", "/"), ignore_errors=True)


@pytest.fixture
def proxy(metastore: EmbeddedMetastore) -> Iterator[ThriftProxy]:
    """A proxy in front of the shared metastore."""
    with ThriftProxy(metastore.port) as running:
        yield running


@pytest.fixture
def properties(metastore: EmbeddedMetastore) -> dict[str, str]:
    """The properties of a catalog on `metastore`."""
    return {"uri": metastore.uri, "warehouse": metastore.warehouse}


@pytest.fixture
def open_catalog(properties: dict[str, str]) -> Iterator[CatalogFactory]:
    """Opens catalogs named `prod` on the shared metastore, with more properties where given; closed afterwards."""
    with ExitStack() as stack:

        def opening(more: dict[str, str] | None = None, /, name: str = "prod") -> HiveViewCatalog:
            return stack.enter_context(HiveViewCatalog(name, **{**properties, **(more or {})}))

        yield opening


@pytest.fixture
def catalog(open_catalog: CatalogFactory) -> HiveViewCatalog:
    """A catalog on the shared metastore."""
    return open_catalog()


@pytest.fixture
def raw(metastore: EmbeddedMetastore) -> Iterator[Client]:
    """A Thrift client: what other programs read and write."""
    with connect(metastore.port) as client:
        yield client


@pytest.fixture
def own_directory(tmp_path: Path) -> str:
    """The `file:` URI of an empty directory of the test."""
    return f"file:{tmp_path}"
