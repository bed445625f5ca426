"""Count lost updates on real servers: `python -m tests.integration.matrix.atomicity [release/database …]`.

Eight processes commit properties to one view concurrently. Afterwards all applied commits must be present. There are
four modes: compare-and-swap without the lock, the lock without compare-and-swap (a proxy removes the expected parameter
from each request), both (the default), and plain clients that read and write the row with neither, as a control.
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
from tests.integration.matrix.page import update_table
from tests.integration.metastore.rpc import connect
from tests.proxy import EVERY
from tests.versions.combinations import SERVERS

HEADING = "Lost updates"
WRITERS = 8
COMMITS = 25
LOCK_FREE = {"iceberg.engine.hive.lock-enabled": "false"}
RETRIES = {
    "commit.retry.num-retries": "1000",
    "commit.retry.min-wait-ms": "5",
    "commit.retry.max-wait-ms": "50",
}
LOCKS = {"iceberg.hive.lock-check-max-wait-ms": "200", "iceberg.hive.lock-timeout-ms": "60000"}
VIEW = "v"


@dataclass(frozen=True)
class Task:
    """The task of a process."""

    writer: int
    database: str
    properties: dict[str, str]
    """Catalog properties; empty for a plain client."""
    port: int
    begin: float
    """The start time in seconds since the epoch."""


@dataclass(frozen=True)
class WriteResult:
    """The result of a process."""

    keys: list[str]
    """The properties of applied commits."""
    error: str = ""
    """The error that ended the process early."""


def key(writer: int, number: int) -> str:
    """The property of a commit."""
    return f"w{writer}-{number}"


def write(task: Task) -> WriteResult:
    """Perform the commits of a process."""
    time.sleep(max(0.0, task.begin - time.time()))
    return _write_with_catalog(task) if task.properties else _write_without_checks(task)


def _write_with_catalog(task: Task) -> WriteResult:
    applied: list[str] = []
    with HiveViewCatalog("prod", **task.properties) as catalog:
        while len(applied) < COMMITS:
            property_key = key(task.writer, len(applied))
            try:
                catalog.load_view((task.database, VIEW)).update().set_properties({property_key: "set"}).commit()
            except CommitFailedError:
                continue
            except HiveViewsError as error:
                return WriteResult(applied, f"{type(error).__name__}: {error}")
            applied.append(property_key)
    return WriteResult(applied)


def _write_without_checks(task: Task) -> WriteResult:
    applied: list[str] = []
    with connect(task.port) as client:
        for number in range(COMMITS):
            row = client.get_table(task.database, VIEW)
            row.parameters[key(task.writer, number)] = "set"
            try:
                client.alter_table_with_environment_context(task.database, VIEW, row, EnvironmentContext({}))
            except MetaException:
                continue  # a deadlock in the database: rejected, not lost
            except TTransportException as error:
                return WriteResult(
                    applied, f"{type(error).__name__}: {error.message}"
                )  # Derby waits longer for locks than the client
            applied.append(key(task.writer, number))
    return WriteResult(applied)


def run_writers(pool: ProcessPoolExecutor, metastore: MetastoreProcess, properties: dict[str, str]) -> tuple[str, int]:
    """Run all writers; returns the cell of the table and the number of lost updates."""
    database = f"db_{uuid4().hex[:12]}"
    local = {"uri": metastore.uri, "warehouse": metastore.warehouse}
    with connect(metastore.port) as client:
        client.create_database(Database(name=database, locationUri=f"{metastore.warehouse}/{database}.db"))
    with HiveViewCatalog("prod", **local) as catalog:
        catalog.create_view((database, VIEW), SCHEMA, version(database), properties=RETRIES)
    begin = time.time() + 1
    tasks = [Task(writer, database, properties, metastore.port, begin) for writer in range(WRITERS)]
    results = list(pool.map(write, tasks))
    seconds = time.time() - begin
    with connect(metastore.port) as client:
        parameters = client.get_table(database, VIEW).parameters
    applied = [item for result in results for item in result.keys]
    lost = sum(item not in parameters for item in applied)
    errors = [result.error for result in results if result.error]
    for error in sorted(set(errors)):
        print(f"  {error}", file=sys.stderr)
    if errors and not applied and all(error.startswith(LockError.__name__) for error in errors):
        return "refused by the catalog", 0
    stopped = f"; {len(errors)} gave up ({min(errors).partition(':')[0]})" if errors else ""
    return f"{lost} of {len(applied)} lost, {len(applied) / seconds:.0f}/s{stopped}", lost


def measure(pool: ProcessPoolExecutor, server: str) -> tuple[str, int]:
    """Measure all modes on a server; returns the row of the table and the number of updates lost despite protection."""
    with tempfile.TemporaryDirectory() as directory, started(Path(directory) / "metastore", server) as metastore:
        local = {"warehouse": metastore.warehouse, **LOCKS}
        with ScriptedServer(metastore.port) as proxy:
            proxy.on(ALTER_TABLE, Rewrite(b"expected_parameter_key", b"ignored_parameter_key_"), nth=EVERY)
            modes: list[Callable[[], dict[str, str]]] = [
                lambda: {"uri": metastore.uri, **local, **LOCK_FREE},
                lambda: {"uri": proxy.uri, **local},
                lambda: {"uri": metastore.uri, **local},
                dict,
            ]
            cells = []
            unexpected = 0
            for mode in modes:
                properties = mode()
                cell, lost = run_writers(pool, metastore, properties)
                cells.append(cell)
                unexpected += lost if properties else 0  # plain clients may lose updates
                print(f"  {server}: {cell}", file=sys.stderr, flush=True)
    return f"| {server} | {' | '.join(cells)} | {date.today()} |", unexpected


def main() -> int:
    """Measure the requested servers, or all of them; returns 1 if an update was lost despite protection."""
    failures = []
    # Fork before any threads or connections exist.
    with ProcessPoolExecutor(WRITERS, mp_context=multiprocessing.get_context("fork")) as pool:
        list(pool.map(time.sleep, [0.3] * WRITERS))
        for server in sys.argv[1:] or SERVERS:
            row, lost = measure(pool, server)
            print(row, flush=True)
            update_table(HEADING, [row])
            if lost:
                failures.append(f"{server}: {lost}")
    if failures:
        print(f"Updates were lost despite protection: {', '.join(failures)}", file=sys.stderr)
    return int(bool(failures))


if __name__ == "__main__":
    raise SystemExit(main())
