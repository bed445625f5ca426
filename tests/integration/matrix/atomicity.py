"""Count lost updates on real servers: `python -m tests.integration.matrix.atomicity [release/database …]`.

Eight processes commit to one view as fast as they can, each commit a property of its own. Afterwards each commit that
was acknowledged must be there. Four ways: the catalog with the server's lock and compare-and-swap, as it is by default;
with compare-and-swap alone; with the lock alone (something before the server takes the expectation out of each alter);
and bare clients that read a row and write it back, with neither: they show that a loss would be seen.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from uuid import uuid4

from thrift.transport.TTransport import TTransportException

from hive_views import HiveViewCatalog
from hive_views.errors import CommitFailedError, HiveViewsError, LockError
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.metastore._thrift.hive_metastore.ttypes import Database, EnvironmentContext, MetaException
from tests.conftest import started
from tests.faults.scripted import Rewrite, ScriptedServer
from tests.faults.view_changes import ALTER_TABLE
from tests.integration.catalog.samples import SCHEMA, version
from tests.integration.matrix.__main__ import SERVERS
from tests.integration.matrix.page import put
from tests.integration.metastore.rpc import connect
from tests.proxy import EVERY

HEADING = "Lost updates"
WRITERS = 8
COMMITS = 25
LOCK_FREE = {"iceberg.engine.hive.lock-enabled": "false"}
PATIENCE = {
    "commit.retry.num-retries": "1000",
    "commit.retry.min-wait-ms": "5",
    "commit.retry.max-wait-ms": "50",
}
LOCKS = {"iceberg.hive.lock-check-max-wait-ms": "200", "iceberg.hive.lock-timeout-ms": "60000"}
VIEW = "v"


@dataclass(frozen=True)
class Task:
    """What one process does."""

    writer: int
    database: str
    properties: dict[str, str]
    """The catalog's; none for a bare client."""
    port: int
    begin: float
    """When, in seconds from the epoch."""


@dataclass(frozen=True)
class Written:
    """What one process did."""

    keys: list[str]
    """The properties whose commits were acknowledged."""
    stopped: str = ""
    """The error that it gave up with."""


def key(writer: int, number: int) -> str:
    """The property of one commit."""
    return f"w{writer}-{number}"


def write(task: Task) -> Written:
    """Make the commits of one process."""
    time.sleep(max(0.0, task.begin - time.time()))
    return _by_catalog(task) if task.properties else _bare(task)


def _by_catalog(task: Task) -> Written:
    done: list[str] = []
    with HiveViewCatalog("prod", **task.properties) as catalog:
        while len(done) < COMMITS:
            mine = key(task.writer, len(done))
            try:
                catalog.load_view((task.database, VIEW)).update().set_properties({mine: "set"}).commit()
            except CommitFailedError:
                continue
            except HiveViewsError as error:
                return Written(done, f"{type(error).__name__}: {error}")
            done.append(mine)
    return Written(done)


def _bare(task: Task) -> Written:
    done: list[str] = []
    with connect(task.port) as client:
        for number in range(COMMITS):
            row = client.get_table(task.database, VIEW)
            row.parameters[key(task.writer, number)] = "set"
            try:
                client.alter_table_with_environment_context(task.database, VIEW, row, EnvironmentContext({}))
            except MetaException:
                continue  # a deadlock in its database: refused, not lost
            except TTransportException as error:
                return Written(done, f"{type(error).__name__}: {error.message}")  # Derby waits longer for its locks
            done.append(key(task.writer, number))
    return Written(done)


def contest(pool: ProcessPoolExecutor, metastore: MetastoreProcess, properties: dict[str, str]) -> tuple[str, int]:
    """Let all processes write; the cell of the table, and how many updates were lost."""
    database = f"db_{uuid4().hex[:12]}"
    local = {"uri": metastore.uri, "warehouse": metastore.warehouse}
    with connect(metastore.port) as client:
        client.create_database(Database(name=database, locationUri=f"{metastore.warehouse}/{database}.db"))
    with HiveViewCatalog("prod", **local) as catalog:
        catalog.create_view((database, VIEW), SCHEMA, version(database), properties=PATIENCE)
    begin = time.time() + 1
    tasks = [Task(writer, database, properties, metastore.port, begin) for writer in range(WRITERS)]
    written = list(pool.map(write, tasks))
    seconds = time.time() - begin
    with connect(metastore.port) as client:
        there = client.get_table(database, VIEW).parameters
    done = [each for one in written for each in one.keys]
    lost = sum(each not in there for each in done)
    stopped = sorted({one.stopped for one in written if one.stopped})
    for reason in stopped:
        print(f"  {reason}", file=sys.stderr)
    if stopped and not done and all(reason.startswith(LockError.__name__) for reason in stopped):
        return "refused by the catalog", 0
    ended = f"; {sum(bool(one.stopped) for one in written)} gave up ({stopped[0].partition(':')[0]})" if stopped else ""
    return f"{lost} of {len(done)} lost, {len(done) / seconds:.0f}/s{ended}", lost


def measure(pool: ProcessPoolExecutor, server: str) -> tuple[str, int]:
    """All ways on one server; its row of the table, and how many updates were lost where none may be."""
    with tempfile.TemporaryDirectory() as directory, started(Path(directory) / "metastore", server) as metastore:
        local = {"warehouse": metastore.warehouse, **LOCKS}
        with ScriptedServer(metastore.port) as blind:
            blind.on(ALTER_TABLE, Rewrite(b"expected_parameter_key", b"unheard_of_parameter_k"), nth=EVERY)
            ways: list[Callable[[], dict[str, str]]] = [
                lambda: {"uri": metastore.uri, **local, **LOCK_FREE},
                lambda: {"uri": blind.uri, **local},
                lambda: {"uri": metastore.uri, **local},
                dict,
            ]
            cells = []
            broken = 0
            for way in ways:
                properties = way()
                cell, lost = contest(pool, metastore, properties)
                cells.append(cell)
                broken += lost if properties else 0  # the bare clients promise nothing
                print(f"  {server}: {cell}", file=sys.stderr, flush=True)
    return f"| {server} | {' | '.join(cells)} | {date.today()} |", broken


def main() -> int:
    """Measure the servers that are named, or all, and write the page; 1 where an update was lost that may not be."""
    broken = []
    # Forked before there is any thread or connection.
    with ProcessPoolExecutor(WRITERS, mp_context=multiprocessing.get_context("fork")) as pool:
        list(pool.map(time.sleep, [0.3] * WRITERS))
        for server in sys.argv[1:] or SERVERS:
            row, lost = measure(pool, server)
            print(row, flush=True)
            put(HEADING, [row])
            if lost:
                broken.append(f"{server}: {lost}")
    if broken:
        print(f"Updates were lost where none may be: {', '.join(broken)}", file=sys.stderr)
    return int(bool(broken))


if __name__ == "__main__":
    raise SystemExit(main())
