"""A second metastore of the uri list that lags: with Hive's cache, or on a read-only copy of the database.

The copy does not change during a test, like a replica that has stopped. (A metastore of 4.0.1 does not start on a
streaming replica of PostgreSQL 15: "cannot use serializable mode in a hot standby".)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest

from hive_views import HiveViewCatalog
from hive_views.doctor import Level, examine
from hive_views.errors import CommitStateUnknownError, HiveViewsError, LockError
from hive_views.local_metastore.standalone import Database, StandaloneMetastore
from tests.conftest import CACHE
from tests.faults.fault_matrix import FAULTS, Stage, run
from tests.faults.interruptions import change
from tests.faults.observer import until
from tests.faults.operations import OPERATIONS
from tests.faults.reporting import ALL_CASES, report
from tests.integration.catalog.samples import files_below
from tests.integration.schema_upgrade.servers import PASSWORD, postgresql
from tests.proxy import ThriftProxy

RELEASE = os.environ.get("HIVE_VIEWS_LAGGING_RELEASE", "4.2.0")
CACHED = {
    "metastore.rawstore.impl": "org.apache.hadoop.hive.metastore.cache.CachedStore",
    "metastore.cached.rawstore.impl": "org.apache.hadoop.hive.metastore.ObjectStore",
    "metastore.cached.rawstore.cache.update.frequency": "3600s",
}
MEASURED = ("lang", "lang.ref", "lang.reflect", "io", "math", "net", "nio", "security", "text", "time", "util")
MEASURED_UTIL = ("concurrent", "concurrent.atomic", "concurrent.locks", "regex", "stream")
"""The Java packages of whose objects CachedStore estimates the size."""


@dataclass(frozen=True)
class Servers:
    """The metastore whose reads are current, and those that lag."""

    current: StandaloneMetastore
    cached: StandaloneMetastore
    frozen: StandaloneMetastore

    def __getitem__(self, kind: str) -> StandaloneMetastore:
        return {"current": self.current, "cached": self.cached, "frozen": self.frozen}[kind]

    def catalog(self, *uris: str, locks: str = "true", **more: str) -> HiveViewCatalog:
        """Open a catalog on servers."""
        properties = {"iceberg.engine.hive.lock-enabled": locks, "hive-views.settle-timeout-ms": "1000", **more}
        return HiveViewCatalog("prod", uri=",".join(uris), warehouse=self.current.warehouse, **properties)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    top = tmp_path_factory.mktemp("lagging")
    packages = [*MEASURED, *(f"util.{name}" for name in MEASURED_UTIL)]
    with ExitStack() as stack:
        store = stack.enter_context(postgresql())
        store.create("metastore")

        def metastore(name: str, database: str, **properties: str) -> StandaloneMetastore:
            return StandaloneMetastore(
                top / name,
                version=RELEASE,
                database=Database(kind="postgresql", port=store.port, name=database, user="hive", password=PASSWORD),
                cache=CACHE,
                max_memory_mb=384,
                properties={
                    "metastore.warehouse.dir": (top / "current" / "warehouse").as_uri(),
                    "datanucleus.connectionPool.maxPoolSize": "5",
                    **properties,
                },
                options=tuple(f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in packages),
            )

        current = stack.enter_context(metastore("current", "metastore"))
        with HiveViewCatalog("prod", uri=current.uri, warehouse=current.warehouse) as catalog:
            catalog.create_namespace("d")
            catalog.execute("CREATE VIEW d.v AS SELECT 0 AS a")
            store.create("copy")
            store.run(store.dump("metastore"), "copy")
            store.run("ALTER DATABASE copy SET default_transaction_read_only = on")
            lagging = (metastore("cached", "metastore", **CACHED), metastore("frozen", "copy"))
            with ThreadPoolExecutor(2) as pool:
                servers = Servers(current, *pool.map(stack.enter_context, lagging))
            with servers.catalog(servers.cached.uri) as cached:

                def lags() -> bool:
                    """Return whether the cache is filled: it does not see the latest commit."""
                    view = catalog.load_view("d.v").update().set_properties(latest=os.urandom(4).hex()).commit()
                    return cached.load_view("d.v").metadata_location != view.metadata_location

                until(lags)
            catalog.execute("CREATE VIEW d.dependent AS SELECT * FROM d.v")
        yield servers


CHANGES: dict[str, Callable[[HiveViewCatalog], object]] = {
    "replace": lambda catalog: catalog.execute("CREATE OR REPLACE VIEW d.v AS SELECT 7 AS a"),
    "properties": lambda catalog: catalog.execute("ALTER VIEW d.v SET TBLPROPERTIES ('color' = 'red')"),
    "rename": lambda catalog: catalog.rename_view("d.v", "d.w"),
    "drop": lambda catalog: catalog.drop_view("d.v", purge_files=True),
}


@pytest.mark.parametrize("locks", ["true", "false"], ids=["with locks", "without locks"])
@pytest.mark.parametrize("kind", ["cached", "frozen"])
def test_changes_on_a_lagging_server_are_rejected(
    servers: Servers, kind: str, locks: str, subtests: pytest.Subtests
) -> None:
    """Otherwise they would be derived from an outdated state, and a drop would miss the dependent view."""
    with servers.catalog(servers.current.uri) as current, servers.catalog(servers[kind].uri, locks=locks) as lagging:
        before, files = current.load_view("d.v"), files_below(servers.current.warehouse)
        assert lagging.load_view("d.v").metadata_location != before.metadata_location
        for name, make in CHANGES.items():
            with subtests.test(name):
                with pytest.raises(HiveViewsError) as raised:
                    make(lagging)
                if kind == "cached":
                    assert not isinstance(raised.value, CommitStateUnknownError)
                    assert ("CachedStore" if locks == "true" else "This Store doesn't support") in str(raised.value)
                elif locks == "true":
                    assert isinstance(raised.value, LockError)
                assert current.load_view("d.v") == before
                assert sorted(current.list_views("d")) == [("d", "dependent"), ("d", "v")]
                assert files <= files_below(servers.current.warehouse)


def test_doctor_reports_a_cache(servers: Servers) -> None:
    levels = {}
    for kind in ("current", "cached"):
        with servers.catalog(servers[kind].uri) as catalog:
            levels[kind] = {finding.check: finding.level for finding in examine(catalog, write=False).findings}
    assert (levels["current"]["cache"], levels["cached"]["cache"]) == (Level.OK, Level.PROBLEM)


SAMPLE = ("replace", "rename", "drop")


class LaggingStage(Stage):
    """Clients use the current metastore by proxies, and a lagging one if that does not answer."""

    def __init__(self, servers: Servers, kind: str, locks: str, direct: HiveViewCatalog) -> None:
        super().__init__(servers.current, direct)
        self._servers = servers
        self._lagging = servers[kind].uri
        self._locks = locks

    @contextmanager
    def catalog(self, proxy: ThriftProxy, **more: str) -> Iterator[HiveViewCatalog]:
        """Open a catalog with both URIs."""
        with self._servers.catalog(proxy.uri, self._lagging, locks=self._locks, **more) as catalog:
            yield catalog


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("kind", "locks"), [("frozen", "true"), ("frozen", "false"), ("cached", "true")])
def test_each_operation_goes_on_with_a_lagging_server(
    servers: Servers, kind: str, locks: str, subtests: pytest.Subtests
) -> None:
    """The current metastore gets or answers no request from the change on; it may have carried it out."""
    faults = [fault for fault in FAULTS if fault.onwards]
    operations = [item for item in OPERATIONS if ALL_CASES or item.name in SAMPLE]
    with servers.catalog(servers.current.uri) as direct:
        stage = LaggingStage(servers, kind, locks, direct)
        results = [run(stage, change(stage, item, fault)) for item in operations for fault in faults]
    report(results, subtests)
