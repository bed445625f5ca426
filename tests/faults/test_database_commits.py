"""Each operation with each fault between the metastore and its database, at the COMMIT of the change.

The metastore answers its client before the database has decided: a held COMMIT may take effect after any answer. By
default every second operation meets one of the faults. All cases with `make test-faults` (HIVE_VIEWS_WHOLE_FAULTS=1),
on the servers that HIVE_VIEWS_TEST_SERVERS names.
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from hive_views import HiveViewCatalog
from hive_views.local_metastore.standalone import Database, StandaloneMetastore
from hive_views.metastore.capabilities import honors_cas
from tests.conftest import CACHE
from tests.database_proxy import CommitFault, DatabaseProxy
from tests.faults.cluster import DATABASES
from tests.faults.conftest import LOCK_FREE
from tests.faults.fault_matrix import Case, Fault, Result, Stage, Trial
from tests.faults.operations import NAMESPACE_OPERATIONS, OPERATIONS, PARTITION_OPERATIONS, SAMPLE, Operation
from tests.faults.reporting import ALL_CASES, report
from tests.integration.schema_upgrade.servers import PASSWORD, Server, missing
from tests.proxy import Pass

SERVERS = os.environ.get("HIVE_VIEWS_TEST_SERVERS", "4.2.0/postgresql").split(",")
TABLES = "TBLS|TABLE_PARAMS|PARTITIONS|DBS|DATABASE_PARAMS"
LOCK_TABLES = "HIVE_LOCKS"

REPLACE = next(operation for operation in OPERATIONS if operation.name == "replace")
ALL_OPERATIONS = (*OPERATIONS, *NAMESPACE_OPERATIONS, *PARTITION_OPERATIONS)
FAULTS = {kind: Fault(f"COMMIT {kind}", Pass) for kind in CommitFault}
TRANSACTIONS = {
    "postgresql": "SELECT count(*) FROM pg_stat_activity WHERE datname = 'metastore' AND xact_start IS NOT NULL",
    "mysql": "SELECT count(*) FROM information_schema.INNODB_TRX",
}
LOCK_WAITS = {
    "postgresql": "ALTER DATABASE metastore SET lock_timeout = '2s'",
    "mysql": "SET GLOBAL innodb_lock_wait_timeout = 2",
}
"""Limits of the time for which the metastore's next attempt waits for the row locks of one whose COMMIT is held: the
metastore then answers an error to its client while the first attempt may still be committed."""
CALL_TIMEOUT_MS = {CommitFault.DELAYED: "1500"}
"""How long the client waits for an answer: by default longer than the metastore's attempts last."""
MAX_HOLD_S = 12.0 if ALL_CASES else 6.0


class DatabaseStage(Stage):
    """A metastore behind whose back faults are injected."""

    def __init__(
        self,
        metastore: StandaloneMetastore,
        direct: HiveViewCatalog,
        database: Server,
        proxy: DatabaseProxy,
    ) -> None:
        super().__init__(metastore, direct)
        self.direct = direct
        self.database = database
        self.database_proxy = proxy

    def wait_until_idle(self) -> None:
        """Wait until the database has no transaction of the metastore, nor gets another one by an attempt of it."""
        deadline, idle_reads = time.monotonic() + 60, 0
        while idle_reads < 3:
            assert time.monotonic() < deadline, "the database still executes transactions"
            idle_reads = idle_reads + 1 if self.database.run(TRANSACTIONS[self.database.kind]).strip() == "0" else 0
            time.sleep(0.15)


@pytest.fixture(scope="module", params=SERVERS)
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DatabaseStage]:
    version, _, kind = request.param.partition("/")
    if reason := missing(kind):
        pytest.skip(f"needs {reason}")
    with DATABASES[kind]() as server, DatabaseProxy(server) as proxy:
        server.create("metastore")
        server.run(LOCK_WAITS[server.kind])
        database = Database(kind=server.kind, port=proxy.port, name="metastore", user="hive", password=PASSWORD)
        settings = {
            "datanucleus.connectionPool.maxPoolSize": "5",
            "hive.hmshandler.retry.attempts": "1",
        }
        directory = tmp_path_factory.mktemp("database_commits")
        with StandaloneMetastore(
            directory, version=version, database=database, cache=CACHE, properties=settings
        ) as metastore:
            properties = {"uri": metastore.uri, "warehouse": metastore.warehouse}
            with HiveViewCatalog("prod", **properties) as direct:
                yield DatabaseStage(metastore, direct, server, proxy)


def run(stage: DatabaseStage, operation: Operation, kind: CommitFault, tables: str, **properties: str) -> Result:
    """Run one case: an operation with a fault of its COMMIT."""
    result = Result(Case(operation, 0, "COMMIT", FAULTS[kind]))
    started = time.monotonic()
    try:
        _run(stage, operation, kind, tables, result, properties)
    except Exception:  # noqa: BLE001 -- reported together with the other cases
        result.problems.append(traceback.format_exc())
    finally:
        stage.database_proxy.clear()
    result.seconds = time.monotonic() - started
    return result


def _run(
    stage: DatabaseStage,
    operation: Operation,
    kind: CommitFault,
    tables: str,
    result: Result,
    properties: dict[str, str],
) -> None:
    with stage.world(operation) as world, stage.proxy() as proxy, ThreadPoolExecutor(1) as pool:
        trial = Trial(stage, operation, world)
        faults = []
        timeouts = {
            "hive-views.call-timeout-ms": CALL_TIMEOUT_MS.get(kind, "15000"),
            "hive-views.settle-timeout-ms": "2000",
        }
        with stage.catalog(proxy, **timeouts, **properties) as catalog:

            def begin() -> None:
                faults.append(stage.database_proxy.on(tables, kind))

            future = pool.submit(trial.execute, catalog, begin, result)
            deadline = time.monotonic() + MAX_HOLD_S
            while not future.done() and time.monotonic() < deadline:
                time.sleep(0.05)
            if faults:
                faults[0].release()
            future.result()
        if not faults or not faults[0].is_applied:
            result.problems.append("the change wrote none of the tables")
        stage.wait_until_idle()
        trial.judge(result)
        trial.check_locks(result, excused=True)
        with stage.catalog(proxy) as catalog:
            trial.continue_work(catalog, result)


def chosen(operations: Sequence[Operation], kind: CommitFault) -> Sequence[Operation]:
    """Return the operations that meet a fault; in a sample each one meets one fault or none."""
    kinds = list(CommitFault)
    return operations if ALL_CASES else operations[kinds.index(kind) :: 2 * len(kinds)]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", CommitFault, ids=str)
def test_commit_of_each_operation(stage: DatabaseStage, kind: CommitFault, subtests: pytest.Subtests) -> None:
    report([run(stage, operation, kind, TABLES) for operation in chosen(ALL_OPERATIONS, kind)], subtests)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", CommitFault, ids=str)
def test_commit_of_each_operation_without_locks(
    stage: DatabaseStage, kind: CommitFault, subtests: pytest.Subtests
) -> None:
    if not honors_cas(stage.direct.store.client):
        pytest.skip("this server requires locks")
    results = [
        run(stage, operation, kind, TABLES, **LOCK_FREE)
        for operation in chosen(OPERATIONS if ALL_CASES else SAMPLE, kind)
    ]
    report(results, subtests)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", CommitFault if ALL_CASES else (CommitFault.HELD, CommitFault.REPLY_LOST), ids=str)
def test_commit_of_the_lock(stage: DatabaseStage, kind: CommitFault, subtests: pytest.Subtests) -> None:
    operations = SAMPLE if ALL_CASES else (REPLACE,)
    report([run(stage, operation, kind, LOCK_TABLES) for operation in operations], subtests)
