"""Parts that every test directory shares: one real metastore for the whole run, a fresh database a test."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from hive_views.local_metastore.embedded import EMBEDDED_VERSION, EmbeddedMetastore
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.local_metastore.standalone import Database as StoreDatabase
from hive_views.local_metastore.standalone import StandaloneMetastore
from hive_views.metastore._thrift.hive_metastore.ttypes import Database
from tests.browser import browser, chromium
from tests.integration.metastore.rpc import connect
from tests.integration.schema_upgrade.servers import PASSWORD, mariadb, postgresql
from tests.suites import mark_extended, process_of, skipped_for_want_of_packages

__all__ = ["browser", "chromium"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what runs in its background with Ctrl-C ignored, and children inherit that; some tests press it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


CACHE = Path(__file__).parent.parent / ".cache"

# An alter_table asks the file system of the row's location for its URI, and for nothing else. S3A is 500 MB of jars;
# Hadoop's small one for HTTP gives any URI back as it is.
STORES = {f"fs.{scheme}.impl": "org.apache.hadoop.fs.http.HttpFileSystem" for scheme in ("s3", "memory")}

SERVER = os.environ.get("HIVE_VIEWS_TEST_SERVER", EMBEDDED_VERSION)
"""The metastore for this run, `release/database` (`4.0.1/postgresql`, `3.1.3/mysql`); the embedded one by default."""

LOCKS_HANG = ("4.0.1", "4.1.0")
"""Releases whose locks hang on Derby as soon as several are asked for, until the server is started again."""


def asks_for_several_locks(item: pytest.Item) -> bool:
    """Whether a test belongs to those with several clients at a time."""
    return item.path.parent.name == "faults" or item.path.name in ("test_threads.py", "test_locks.py")


# A hook of pytest-xdist, not of pytest.
@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class Processes(LoadScopeScheduling):
        """One list of tests per process; tests that share a Spark session stay together."""

        def _split_scope(self, nodeid: str) -> str:
            return process_of(nodeid)

    return Processes(config, log)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Name the packages that skipped tests need, in one line."""
    reasons = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])]
    if line := skipped_for_want_of_packages(reasons):
        terminalreporter.write_line(line)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are no name for a case: what gzip makes has the time in it, and both processes must name it alike."""
    return argname if isinstance(val, bytes) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_extended(items)
    if SERVER == EMBEDDED_VERSION:
        return
    for item in items:
        if item.get_closest_marker("hive2"):
            item.add_marker(pytest.mark.skip(reason=f"it is about Hive {EMBEDDED_VERSION}, and this is {SERVER}"))
        if SERVER in LOCKS_HANG and asks_for_several_locks(item):
            item.add_marker(pytest.mark.skip(reason=f"locks of Hive {SERVER} hang on Derby: a fault of the server"))
        if item.get_closest_marker("characters") and SERVER.endswith("/mysql"):
            item.add_marker(pytest.mark.skip(reason="Hive's schema on MySQL and MariaDB is in latin1"))
        if SERVER.startswith("3.") and item.path.parent.name == "faults" and item.path.name != "test_fault_matrix.py":
            reason = f"it is about servers that honor compare-and-swap, and {SERVER} does not (see test_version_3)"
            item.add_marker(pytest.mark.skip(reason=reason))
        if item.get_closest_marker("swaps") and SERVER.startswith("3."):
            item.add_marker(pytest.mark.skip(reason=f"{SERVER} ignores compare-and-swap (HIVE-26882)"))


@contextmanager
def started(directory: Path, server: str, port: int = 0) -> Iterator[MetastoreProcess]:
    """A metastore of a release on a database."""
    version, _, kind = server.partition("/")
    if kind and version == EMBEDDED_VERSION:
        raise ValueError(f"{server}: the embedded metastore is on Derby")
    with ExitStack() as stack:
        database = None
        if kind:
            place = stack.enter_context({"postgresql": postgresql, "mysql": mariadb}[kind]())
            place.create("metastore")
            database = StoreDatabase(kind, place.port, "metastore", "hive", PASSWORD)
        if version == EMBEDDED_VERSION:
            yield stack.enter_context(EmbeddedMetastore(directory, port=port, properties=STORES))
        else:
            other = StandaloneMetastore(
                directory, version=version, database=database, port=port, properties=STORES, cache=CACHE
            )
            yield stack.enter_context(other)


@pytest.fixture(scope="session")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreProcess]:
    """One Hive Metastore, shared by all tests: keep to your own `database`."""
    with started(tmp_path_factory.mktemp("metastore"), SERVER) as running:
        yield running


@pytest.fixture
def database(metastore: EmbeddedMetastore) -> Iterator[str]:
    """The name of an empty database of the test's own, with a location; dropped with all that is in it afterwards."""
    name = f"db_{uuid4().hex[:12]}"
    with connect(metastore.port) as client:
        client.create_database(Database(name=name, locationUri=f"{metastore.warehouse}/{name}.db"))
    yield name
    with connect(metastore.port) as client:
        client.drop_database(name, True, True)


@pytest.fixture
def alone(metastore: EmbeddedMetastore) -> Iterator[None]:
    """For tests that name databases as a reader's page does: those that it makes are gone afterwards, files too."""
    with connect(metastore.port) as client:
        before = set(client.get_all_databases())
    yield
    with connect(metastore.port) as client:
        for name in set(client.get_all_databases()) - before:
            location = client.get_database(name).locationUri
            client.drop_database(name, True, True)
            shutil.rmtree(location.removeprefix("file:").replace("///", "/"), ignore_errors=True)


@pytest.fixture
def properties(metastore: EmbeddedMetastore) -> dict[str, str]:
    """The properties of a catalog on `metastore`."""
    return {"uri": metastore.uri, "warehouse": metastore.warehouse}
