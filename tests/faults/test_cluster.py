"""Two metastores of the newest release on one database: outages of a metastore and of the database, expired locks.

Also faults of the client's machine: full and read-only disks, and clocks that jump.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from hive_views import HiveViewCatalog
from hive_views.config import ConnectionConfig, LockConfig
from hive_views.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    HiveViewsError,
    LockError,
    MetadataWriteError,
    MetastoreError,
    MetastoreRefusedError,
)
from hive_views.identifiers import ViewName
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    Database,
    DataOperationType,
    LockComponent,
    LockLevel,
    LockRequest,
    LockType,
)
from hive_views.metastore.locking.lock import MAX_REFUSALS, acquire_lock
from hive_views.metastore.transport.client import MetastoreClient
from tests.faults import disks
from tests.faults.cluster import Cluster, database_down, database_paused, kill_database, two_metastores
from tests.faults.fault_matrix import FAULTS, Stage, run
from tests.faults.interruptions import DATABASE_RESTARTED, ONE_OF_TWO_KILLED, change, interrupted
from tests.faults.observer import Observer, until
from tests.faults.operations import OPERATIONS, SAMPLE
from tests.faults.reporting import ALL_CASES, report
from tests.faults.view_changes import ALTER_TABLE
from tests.integration.catalog.samples import SCHEMA, version
from tests.integration.metastore.rpc import connect
from tests.integration.schema_upgrade.servers import Server
from tests.proxy import Hold, ThriftProxy

DAY_S = 86_400
KEEP_ALL = {"version.history.num-entries": "100000", "commit.retry.num-retries": "50"}


WHICH = OPERATIONS if ALL_CASES else SAMPLE


@pytest.fixture(scope="module", params=["mysql", "postgresql"] if ALL_CASES else ["mysql"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with two_metastores(tmp_path_factory.mktemp("cluster"), request.param) as running:
        yield running


@pytest.fixture
def view_database(cluster: Cluster) -> Iterator[str]:
    """A database for this test."""
    name = f"db_{os.urandom(6).hex()}"
    with connect(cluster.second.port) as client:
        client.create_database(Database(name=name, locationUri=f"{cluster.first.warehouse}/{name}.db"))
    yield name


@contextmanager
def writing(cluster: Cluster, database: str, writers: int = 3) -> Iterator[dict[str, str]]:
    """Clients that replace one view continuously and record which commits were acknowledged."""
    outcomes: dict[str, str] = {}
    ended = threading.Event()

    def write(writer: int) -> None:
        number = 0
        with HiveViewCatalog("prod", **cluster.properties) as mine:
            while not ended.is_set():
                number += 1
                text = f"select {writer}, {number}"
                try:
                    mine.replace_view((database, "v"), SCHEMA, version(database, ("spark", text)))
                    outcomes[text] = "done"
                except CommitStateUnknownError:
                    outcomes[text] = "unknown"
                except (CommitFailedError, LockError, MetastoreError):
                    outcomes[text] = "failed"

    def successes() -> int:
        return list(outcomes.values()).count("done")

    with HiveViewCatalog("prod", **cluster.properties) as catalog:
        catalog.create_view((database, "v"), SCHEMA, version(database, ("spark", "select 0")), properties=KEEP_ALL)
    with ThreadPoolExecutor(writers) as pool:
        running = [pool.submit(write, writer) for writer in range(writers)]
        try:
            until(lambda: successes() >= writers)
            yield outcomes
            before = successes()
            until(lambda: successes() >= before + writers)  # it goes on afterwards
        finally:
            ended.set()
        for future in running:
            future.result()


def check_outcomes(observer: Observer, outcomes: dict[str, str], *, other_commits: int = 0) -> None:
    """Check that the reported outcomes are correct and no commit was lost; other commits may not have been made."""
    view = observer.view("v")
    assert view.log == view.version_ids == list(range(1, len(view.queries) + 1))
    assert len(set(view.queries)) == len(view.queries) and 0 <= view.commits - len(view.queries) <= other_commits
    wrong = {
        text: outcome
        for text, outcome in outcomes.items()
        if outcome != "unknown" and (text in view.queries) is not (outcome == "done")
    }
    assert not wrong


def test_commits_continue_when_one_of_two_metastores_is_killed(cluster: Cluster, view_database: str) -> None:
    with writing(cluster, view_database) as outcomes:
        os.kill(cluster.first.pid, signal.SIGKILL)
        cluster.first.stop()
        before = len(outcomes)
        until(lambda: len(outcomes) > before + 3)  # by the other one
        cluster.first.start()
    check_outcomes(Observer(cluster.second, view_database), outcomes)


def test_commits_survive_power_loss_of_the_database(cluster: Cluster, view_database: str) -> None:
    with writing(cluster, view_database) as outcomes:
        kill_database(cluster.store)
    check_outcomes(Observer(cluster.second, view_database), outcomes)


def test_commits_survive_database_outage(cluster: Cluster, view_database: str) -> None:
    """The outage exceeds the call time-out: operations raise an error or succeed later."""
    with HiveViewCatalog("prod", **{**cluster.properties, "hive-views.settle-timeout-ms": "1000"}) as catalog:
        catalog.create_view((view_database, "v"), SCHEMA, version(view_database, ("spark", "select 0")))
        with database_down(cluster.store), pytest.raises(HiveViewsError) as raised:
            catalog.replace_view((view_database, "v"), SCHEMA, version(view_database, ("spark", "select 1")))
        assert isinstance(raised.value, (MetastoreError, CommitStateUnknownError, LockError)), raised.value
        until(lambda: _answers(catalog, view_database))
        catalog.replace_view((view_database, "v"), SCHEMA, version(view_database, ("spark", "select 2")))
    view = Observer(cluster.second, view_database).view("v")
    assert view.queries[0] == "select 0"
    assert view.queries[-1] == "select 2"


@pytest.mark.parametrize("outage", [database_paused, database_down], ids=["paused", "killed"])
def test_clients_and_commands_during_database_outage(
    outage: Callable[[Server], AbstractContextManager[None]], cluster: Cluster, view_database: str
) -> None:
    """Outcomes that are reported to clients are true, and commands end without a traceback."""
    view = f"{view_database}.v"
    waits = ["--property", "hive-views.call-timeout-ms=2000", "--property", "hive-views.settle-timeout-ms=500"]
    command = [sys.executable, "-m", "hive_views", "--uri", cluster.properties["uri"], *waits]
    with writing(cluster, view_database) as outcomes, outage(cluster.store), ThreadPoolExecutor(4) as pool:
        ended = list(
            pool.map(
                lambda arguments: subprocess.run([*command, *arguments], capture_output=True, text=True),
                (["list", view_database], ["show", view], ["set", view, "color=red"], ["doctor"]),
            )
        )
    check_outcomes(Observer(cluster.second, view_database), outcomes, other_commits=1)
    for process in ended:
        assert "Traceback" not in process.stderr and process.returncode in (0, 1, 4, 5, 6), process


def test_commits_survive_temporary_lock_failures(cluster: Cluster, view_database: str) -> None:
    """The server rejects lock requests and cannot list locks, as during a database outage."""
    name, config = ViewName(view_database, "v"), LockConfig(check_min_wait_ms=50)
    with (
        ThriftProxy(cluster.first.port) as proxy,
        MetastoreClient(ConnectionConfig(uris=(proxy.uri,))) as before,
        MetastoreClient(ConnectionConfig(uris=(proxy.uri,))) as new,
        ThreadPoolExecutor(1) as pool,
    ):
        acquire_lock(before, config, name).release()
        with without_table(cluster.store, "HIVE_LOCKS"):
            with pytest.raises(LockError, match="this metastore cannot lock"):
                acquire_lock(new, config, name)
            assert proxy.methods.count("lock") == 1 + MAX_REFUSALS
        for client in (before, new):
            with without_table(cluster.store, "HIVE_LOCKS"):
                proxy.clear()
                waiting = pool.submit(acquire_lock, client, config, name)
                until(lambda: proxy.methods.count("show_locks") > 1)
            waiting.result().release()


def test_failed_read_of_a_name_is_no_missing_row(cluster: Cluster) -> None:
    """MariaDB with Hive's schema cannot compare names beyond Latin-1: no row has one. Other failures are errors."""
    # These servers repeat a failed call for five seconds.
    with HiveViewCatalog("prod", **{**cluster.properties, "hive-views.call-timeout-ms": "60000"}) as catalog:
        assert not catalog.view_exists(("default", "\u8868"))
        with without_table(cluster.store, "TBLS"), pytest.raises(MetastoreRefusedError):
            catalog.view_exists(("default", "\u8868"))


@contextmanager
def without_table(store: Server, table: str) -> Iterator[None]:
    """Rename a table of the metastore's database, so that the server fails."""
    quote = '"' if store.kind == "postgresql" else "`"
    rename = f"ALTER TABLE {quote}{{}}{quote} RENAME TO {quote}{{}}{quote}"
    store.run(rename.format(table, "AWAY"), "metastore")
    try:
        yield
    finally:
        store.run(rename.format("AWAY", table), "metastore")


def _answers(catalog: HiveViewCatalog, database: str) -> bool:
    try:
        catalog.load_view((database, "v"))
    except HiveViewsError:
        return False
    return True


@pytest.fixture
def stage(cluster: Cluster) -> Iterator[Stage]:
    """Clients use the first metastore by proxies, and the second one if the first does not answer."""
    alive = {"iceberg.hive.lock-heartbeat-interval-ms": "1000"}
    with HiveViewCatalog("prod", **{**cluster.properties, "uri": cluster.second.uri}) as direct:
        yield Stage(cluster.second, direct, cluster.first, alive)


def test_each_operation_while_one_of_two_metastores_is_killed(
    cluster: Cluster, stage: Stage, subtests: pytest.Subtests
) -> None:
    def interrupt(proxies: list[ThriftProxy]) -> None:
        os.kill(cluster.first.pid, signal.SIGKILL)
        cluster.first.stop()
        for proxy in proxies:
            proxy.disconnect()

    try:
        report(
            interrupted(stage, [change(stage, operation, ONE_OF_TWO_KILLED) for operation in WHICH], interrupt),
            subtests,
        )
    finally:
        cluster.first.start()


def test_each_operation_while_the_database_loses_power(
    cluster: Cluster, stage: Stage, subtests: pytest.Subtests
) -> None:
    """The database is killed while the server executes the request that changes the row."""
    cases = [change(stage, operation, DATABASE_RESTARTED) for operation in WHICH]
    report(interrupted(stage, cases, lambda _: kill_database(cluster.store), release=True), subtests)


def test_each_operation_while_one_of_two_metastores_lags(stage: Stage, subtests: pytest.Subtests) -> None:
    """The first metastore carries a request out, or answers it, after the client went on with the second one."""
    delays = [fault for fault in FAULTS if "delayed" in fault.name]
    report([run(stage, change(stage, operation, fault)) for operation in WHICH for fault in delays], subtests)


def test_commit_with_many_expired_locks(cluster: Cluster, view_database: str) -> None:
    """Killed clients left hundreds of locks, one of them on the view: the commit waits until that one expires."""
    with HiveViewCatalog("prod", **cluster.properties) as catalog:
        catalog.create_view((view_database, "v"), SCHEMA, version(view_database, ("spark", "select 0")))
        with connect(cluster.second.port) as client:
            for number in range(200):
                component = LockComponent(
                    type=LockType.EXCLUSIVE,
                    level=LockLevel.TABLE,
                    dbname=view_database,
                    tablename="v" if number == 100 else f"t_{number}",
                    operationType=DataOperationType.NO_TXN,
                )
                client.lock(LockRequest(component=[component], user="dead", hostname="gone", agentInfo="dead"))
        catalog.replace_view((view_database, "v"), SCHEMA, version(view_database, ("spark", "select 1")))
        assert catalog.load_view((view_database, "v")).expanded_text == "select 1"


# -- The client's machine ------------------------------------------------------------------------------------------


def test_read_only_disk_reports_error_and_keeps_state(
    catalog: HiveViewCatalog, database: str, observer: Observer, tmp_path: Path
) -> None:
    with disks.small_disk(tmp_path / "disk", "128k") as disk:
        before = catalog.create_view((database, "v"), SCHEMA, version(database), location=disk.as_uri())
        row = observer.row("v")
        disks.remount(disk, "ro")
        with pytest.raises(MetadataWriteError, match="Read-only"):
            catalog.replace_view((database, "v"), SCHEMA, version(database, ("spark", "select 1")))
        assert observer.row("v") == row
        assert catalog.load_view((database, "v")) == before
        (step,) = catalog.drop_view((database, "v"), purge_files=True).steps
    assert (step.metadata_location, step.remaining_files) == (before.metadata_location, (before.metadata_location,))
    assert observer.names() == set()


CHANGES_TWICE = """
import sys, time
from pathlib import Path
right, clock = time.time, Path(sys.argv.pop())
time.time = lambda: right() + float(clock.read_text())
from hive_views import HiveViewCatalog
from tests.integration.catalog.samples import SCHEMA, version
uri, warehouse, database = sys.argv[1:]
with HiveViewCatalog("prod", uri=uri, warehouse=warehouse) as catalog:
    for number in map(int, sys.stdin):
        catalog.replace_view((database, "v"), SCHEMA, version(database, ("spark", f"select {number}")))
        print(time.time(), flush=True)
"""
"""The program's clock is shifted by the number in a file. (With libfaketime its threads hang when the clock jumps.)"""


@pytest.mark.parametrize("jump", [f"-{400 * DAY_S}", f"{400 * DAY_S}"], ids=["back", "on"])
def test_commits_of_client_whose_clock_jumps(
    catalog: HiveViewCatalog,
    database: str,
    observer: Observer,
    properties: dict[str, str],
    jump: str,
    metastore: MetastoreProcess,
    tmp_path: Path,
) -> None:
    """The clock jumps a year ahead while a commit waits for its lock, and back during the next commit."""
    catalog.create_view((database, "v"), SCHEMA, version(database, ("spark", "select 0")))
    clock = tmp_path / "clock"
    clock.write_text("0")
    clock_offsets = []
    with ThriftProxy(metastore.port) as proxy:
        with subprocess.Popen(
            [sys.executable, "-c", CHANGES_TWICE, proxy.uri, properties["warehouse"], database, str(clock)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        ) as client:
            assert client.stdin is not None and client.stdout is not None
            for number, method, offset in ((1, "lock", jump), (2, ALTER_TABLE, "0")):
                held = proxy.on(method, Hold())
                print(number, file=client.stdin, flush=True)
                held.wait_until_held(120)
                clock.write_text(offset)
                held.release()
                clock_offsets.append(float(client.stdout.readline()) - time.time())
            client.stdin.close()
        assert client.returncode == 0
    assert abs(clock_offsets[0]) > 300 * DAY_S > DAY_S > abs(clock_offsets[1]), "the clock must have jumped"
    catalog.replace_view((database, "v"), SCHEMA, version(database, ("spark", "select 3")))
    view = observer.view("v")
    assert (view.log, view.queries) == ([1, 2, 3, 4], ["select 0", "select 1", "select 2", "select 3"])
    times = [entry["timestamp-ms"] for entry in view.metadata["version-log"]]
    assert times == sorted(times)
    assert catalog.load_view((database, "v")).version_at(times[-1]).version_id == 4
    assert observer.locks() == []
