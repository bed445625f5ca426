"""An import on Spark's executors: same plan, rows and journal as in one process, and recovery from kills."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.errors import JournalError, UsageError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.journal import History, ImportStatus, Journal, RevertStatus, read_journal
from hive_views.legacy_import.options import ImportOptions, RenameRule
from hive_views.legacy_import.plan import ImportPlan, plan_import, write_plan
from hive_views.legacy_import.revert import revert_run, revert_views
from hive_views.legacy_import.run import run_plan
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import Database, Table
from hive_views.metastore.queries import all_view_names
from hive_views.spark.legacy_import.job import ImportJobError, SparkImport
from tests.faults.observer import until
from tests.integration.catalog.samples import row_bytes
from tests.integration.legacy_import.conftest import short
from tests.integration.legacy_import.rows import hive_view_row, table_row, trino_view_row
from tests.integration.legacy_import.test_kill import ALTER, check_reports, check_reverted, lost_a_lock, noted, start
from tests.integration.metastore.rpc import connect
from tests.proxy import Hold, ThriftProxy

__all__ = ["short"]

_VARYING = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{13}|\b1\d{9}\b")


@pytest.fixture
def job(spark: SparkSession, catalog: HiveViewCatalog) -> SparkImport:
    return SparkImport(spark, catalog, most_calls=3)


def rows(name: str) -> Iterator[Table]:
    """Yield views of all kinds on five levels, some of which cannot be converted, and their tables."""
    yield table_row(name, "orders", [("id", "bigint"), ("cust", "int")])
    yield table_row(name, "customers", [("id", "int"), ("name", "string")])
    columns = [("id", "bigint"), ("cust", "int")]
    for number in range(6):
        text = f"SELECT `orders`.`id`, `orders`.`cust` FROM `{name}`.`orders` WHERE `orders`.`id` > {number}"
        yield hive_view_row(name, f"base_{number}", text.replace("`", ""), text, columns)
    for level in range(1, 4):
        for number in range(3):
            below = f"base_{number}" if level == 1 else f"level_{level - 1}_{number}"
            text = f"SELECT `x`.`id`, `x`.`cust` FROM `{name}`.`{below}` `x`"
            yield hive_view_row(name, f"level_{level}_{number}", text.replace("`", ""), text, columns)
    yield trino_view_row(name, "of_trino", "SELECT id, name FROM customers", [("id", "integer"), ("name", "varchar")])
    reads = {"on_trino": "of_trino", "broken": "gone", "above_broken": "broken", "ring_a": "ring_b", "ring_b": "ring_a"}
    for view, read in reads.items():
        text = f"SELECT `t`.`id` FROM `{name}`.`{read}` `t`"
        yield hive_view_row(name, view, text, text, [("id", "int")])


@pytest.fixture
def legacy(raw: Client, database: str) -> str:
    """The test's database with the rows of `rows`."""
    for row in rows(database):
        raw.create_table(row)
    return database


def journal_content(history: History) -> dict[str, Any]:
    """Return the content of a journal without UUIDs and times."""

    def plain(value: object) -> str:
        return _VARYING.sub("*", str(value))

    return {
        "plan": history.plan.to_json(),
        "prepared": {
            str(name): [(i.target, i.row, plain(i.backup), plain(i.metadata_location)) for i in items]
            for name, items in sorted(history.announcements.items())
        },
        "outcomes": {
            str(name): plain({**item.to_json(), "seconds": 0, "writing": 0, "swapping": 0})
            for name, item in sorted(history.outcomes.items())
        },
    }


def target_rows(catalog: HiveViewCatalog, plan: ImportPlan) -> dict[ViewName, str]:
    """Return the rows of a plan's targets without UUIDs and times."""
    rows_by_name = {}
    for entry in plan.entries:
        row = catalog.store.get_row(entry.target)
        content = row and (row.table.sd.cols, row.texts, sorted(row.parameters.items()))
        rows_by_name[entry.name] = _VARYING.sub("*", str(content))
    return rows_by_name


def test_spark_run_equals_run_in_one_process(job, catalog, legacy, tmp_path):
    plan_of_one_process = plan_import(catalog, databases=[legacy])
    plan = job.plan(databases=[legacy])
    assert plan.to_json() == plan_of_one_process.to_json()
    before = {entry.name: row_bytes(catalog, entry.name) for entry in plan.entries}

    assert run_plan(plan_of_one_process, catalog, tmp_path / "one").complete
    expected = journal_content(read_journal(tmp_path / "one")), target_rows(catalog, plan)
    assert {item.status for item in revert_run(catalog, tmp_path / "one")} == {RevertStatus.REVERTED}

    seen: list[tuple[int, int]] = []
    result = job.run(plan, tmp_path / "spread", progress=lambda done, total, _: seen.append((done, total)))
    assert result.complete
    assert [outcome.name for outcome in result.outcomes] == [entry.name for entry in plan.entries]
    assert sorted(seen) == [(number + 1, len(plan.entries)) for number in range(len(plan.entries))]
    assert (journal_content(read_journal(tmp_path / "spread")), target_rows(catalog, plan)) == expected
    assert {item.status for item in revert_run(catalog, tmp_path / "spread")} == {RevertStatus.REVERTED}
    assert {entry.name: row_bytes(catalog, entry.name) for entry in plan.entries} == before


def test_spark_and_local_runs_share_journals(job, catalog, legacy, tmp_path):
    options = ImportOptions(renames=(RenameRule.parse("base_*:b_*"), RenameRule.parse("level_*:l_*")))
    plan = job.plan(databases=[legacy], options=options)
    assert plan.to_json() == plan_import(catalog, databases=[legacy], options=options).to_json()
    assert job.run(plan, tmp_path / "journal").complete
    expected_rows = target_rows(catalog, plan)
    journal_bytes = (tmp_path / "journal").read_bytes()
    for result in (run_plan(plan, catalog, tmp_path / "journal"), job.run(plan, tmp_path / "journal")):
        assert result.complete
    assert target_rows(catalog, plan) == expected_rows
    assert (tmp_path / "journal").read_bytes() == journal_bytes
    assert "l_3_0" in {name for _, name in catalog.list_views(legacy)}


def test_run_with_killed_executor_is_resumed(spark: SparkSession, short: EmbeddedMetastore, tmp_path: Path) -> None:
    database, settings = shop(short)
    hold, journal = Hold(), tmp_path / "journal"
    with (
        HiveViewCatalog("prod", **settings) as catalog,
        ThriftProxy(short.port) as proxy,
        HiveViewCatalog("prod", **{**settings, "uri": proxy.uri}) as behind,
        ThreadPoolExecutor(1) as pool,
    ):
        job = SparkImport(spark, behind, most_calls=3)
        plan = job.plan(databases=[database])
        before = {entry.name: row_bytes(catalog, entry.name) for entry in plan.entries}
        # The session's own catalog is another metastore, in which its analyzer cannot find the views.
        with pytest.raises(UsageError, match=f"has no database {database}"):
            job.run(plan, journal)
        assert not journal.exists()
        proxy.on(ALTER, hold, nth=4)
        running = pool.submit(job.run, plan, journal, verify="none")
        hold.wait_until_held(120)
        killed = worker_processes()
        for process in killed:
            os.kill(process, signal.SIGKILL)
        hold.release()
        assert killed
        # Spark's local mode does not retry tasks.
        with pytest.raises(ImportJobError, match="run again"):
            running.result()
        result = job.run(plan, journal, verify="none")
        while any(lost_a_lock(outcome.text) for outcome in result.outcomes):
            result = job.run(plan, journal, verify="none")
        check_done(catalog, plan, journal)
        assert {entry.name: row_bytes(catalog, entry.name) for entry in plan.entries} == before


def executors(cluster: int) -> list[int]:
    """Return the processes of a Spark cluster's executors by the process group of the cluster."""
    processes = []
    for directory in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            is_executor = b"CoarseGrainedExecutorBackend" in (directory / "cmdline").read_bytes()
            if is_executor and os.getpgid(int(directory.name)) == cluster:
                processes.append(int(directory.name))
    return processes


@pytest.mark.timeout(1800)
def test_lost_executors_are_replaced(short: EmbeddedMetastore, tmp_path: Path) -> None:
    """The executors of a cluster are killed while one of them swaps a row; Spark repeats their tasks."""
    database, settings = shop(short)
    hold, journal = Hold(), tmp_path / "journal"
    with ThriftProxy(short.port) as proxy, HiveViewCatalog("prod", **settings) as catalog:
        before = {name: row_bytes(catalog, name) for name in all_view_names(catalog.store, database)}
        proxy.on(ALTER, hold, nth=4)
        command = [sys.executable, "-m", "tests.integration.spark.cluster_import"]
        command += [proxy.uri, short.warehouse, database, str(journal)]
        # A process group of its own, by which the executors are recognized.
        with subprocess.Popen(command, text=True, start_new_session=True, stdout=subprocess.PIPE) as driver:
            try:
                until(lambda: hold.arrived.is_set() or driver.poll() is not None, seconds=800)
                killed = executors(driver.pid)
                for process in killed:
                    os.kill(process, signal.SIGKILL)
                hold.release()
                output, _ = driver.communicate(timeout=800)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(driver.pid, signal.SIGKILL)
        assert killed
        assert driver.returncode == 0
        assert int(output.split()[-1]) > 0
        check_done(catalog, read_journal(journal).plan, journal)
        assert {name: row_bytes(catalog, name) for name in before} == before


def shop(short: EmbeddedMetastore) -> tuple[str, dict[str, str]]:
    """Create a database with views of all kinds; returns its name and the properties to reach it."""
    name = f"at_{uuid4().hex[:8]}"
    with connect(short.port) as client:
        client.create_database(Database(name=name, locationUri=f"{short.warehouse}/{name}.db"))
        for row in rows(name):
            client.create_table(row)
    return name, {"uri": short.uri, "warehouse": short.warehouse, "iceberg.hive.lock-heartbeat-interval-ms": "1000"}


def check_done(catalog: HiveViewCatalog, plan: ImportPlan, journal: Path) -> None:
    """Resume in one process, and check that each view has the reported state and can be reverted."""
    result = run_plan(plan, catalog, journal)
    while any(lost_a_lock(outcome.text) for outcome in result.outcomes):
        result = run_plan(plan, catalog, journal)
    ends = {outcome.name.name: outcome.status for outcome in result.outcomes}
    refused = {"broken": ImportStatus.REFUSED, "above_broken": ImportStatus.BLOCKED, "ring_a": ImportStatus.REFUSED}
    assert result.complete
    assert {name: end for name, end in ends.items() if end is not ImportStatus.CONVERTED} == {
        **refused,
        "ring_b": ImportStatus.REFUSED,
    }
    check_reports(catalog, plan, journal)
    check_reverted(catalog, journal)


def test_spark_run_survives_metastore_kill_and_concurrent_run(
    spark: SparkSession, short: EmbeddedMetastore, tmp_path: Path
) -> None:
    database, settings = shop(short)
    journals = tmp_path / "again_on_spark", tmp_path / "one_process"
    with (
        ThriftProxy(short.port) as proxy,
        HiveViewCatalog("prod", **settings) as catalog,
        HiveViewCatalog("prod", **{**settings, "uri": proxy.uri}) as behind,
        ThreadPoolExecutor(2) as pool,
    ):
        plan = plan_import(catalog, databases=[database])
        before = {entry.name: row_bytes(catalog, entry.name) for entry in plan.entries}
        job, hold = SparkImport(spark, behind, most_calls=2), Hold()
        proxy.on(ALTER, hold, nth=3)
        running = pool.submit(job.run, plan, tmp_path / "on_spark", verify="none")
        hold.wait_until_held(300)
        os.kill(short.pid, signal.SIGKILL)
        short.stop()
        proxy.disconnect()
        short.start()
        ends = {outcome.name: outcome for outcome in running.result().outcomes}
        for name, outcome in ends.items():
            if outcome.status is ImportStatus.CONVERTED:
                assert catalog.load_view(name.identifier).metadata_location == outcome.metadata_location
            elif outcome.status is not ImportStatus.UNKNOWN:
                assert not catalog.view_exists(name.identifier), outcome

        # Revert all, then run twice at once: on Spark, behind the proxy, and in this process.
        converted = [name for name in ends if catalog.view_exists(name.identifier)]
        assert {outcome.status for outcome in revert_views(catalog, converted)} == {RevertStatus.REVERTED}
        proxy.clear()
        hold = proxy.on(ALTER, Hold())
        running = pool.submit(job.run, plan, journals[0], verify="none")
        hold.wait_until_held(300)
        other = pool.submit(run_plan, plan, catalog, journals[1])
        until(lambda: noted(journals[1], plan))
        hold.release()
        running.result()
        other.result()
        check_reports(catalog, plan, *journals)
        check_done(catalog, plan, journals[0])
        assert {entry.name: row_bytes(catalog, entry.name) for entry in plan.entries} == before


def test_run_with_killed_driver_is_resumed(short: EmbeddedMetastore, tmp_path: Path) -> None:
    database, settings = shop(short)
    file, journal, hold = tmp_path / "plan", tmp_path / "journal", Hold()
    with HiveViewCatalog("prod", **settings) as catalog, ThriftProxy(short.port) as proxy:
        plan = plan_import(catalog, databases=[database])
        file.write_text(write_plan(plan))
        before = {entry.name: row_bytes(catalog, entry.name) for entry in plan.entries}
        proxy.on(ALTER, hold, nth=4)
        with start(settings, proxy, file, journal, "spark") as driver:
            hold.wait_until_held(120)
            driver.kill()
        assert driver.returncode == -9
        # The request of the killed process arrives and is executed.
        hold.release()
        check_done(catalog, plan, journal)
        assert {entry.name: row_bytes(catalog, entry.name) for entry in plan.entries} == before


def worker_processes() -> list[int]:
    """Return the processes of Spark's Python workers that are descendants of this one."""
    parents, names = {}, {}
    for directory in Path("/proc").iterdir():
        if directory.name.isdigit():
            try:
                stat = (directory / "stat").read_text()
                names[int(directory.name)] = (directory / "cmdline").read_bytes()
            except OSError:
                continue
            parents[int(directory.name)] = int(stat.rpartition(")")[2].split()[1])

    def is_descendant(process: int) -> bool:
        while process > 1:
            if process == os.getpid():
                return True
            process = parents.get(process, 0)
        return False

    daemons = {number for number, name in names.items() if b"pyspark.daemon" in name and is_descendant(number)}
    return [number for number in daemons if parents[number] in daemons]


def test_unwritable_journal_prevents_conversion(job, catalog, legacy, tmp_path):
    plan = job.plan(databases=[legacy])
    before = {entry.name: row_bytes(catalog, entry.name) for entry in plan.entries}
    run_plan(ImportPlan((), plan.options), catalog, tmp_path / "other")
    with pytest.raises(JournalError, match="another plan"):
        job.run(plan, tmp_path / "other")
    # As on a full disk: the file cannot grow beyond its first line.
    with Journal(tmp_path / "full", plan):
        limit = (tmp_path / "full").stat().st_size
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        with pytest.raises(JournalError, match="too large"):
            job.run(plan, tmp_path / "full")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert {entry.name: row_bytes(catalog, entry.name) for entry in plan.entries} == before


def test_spark_connect_session_is_rejected(connect_spark, catalog):
    with pytest.raises(UsageError, match="Spark Connect"):
        SparkImport(connect_spark, catalog)


def test_unreachable_metastore_ends_the_plan(spark, properties):
    gone = {**properties, "uri": "thrift://127.0.0.1:1"}
    with HiveViewCatalog("prod", **gone) as catalog, pytest.raises(ImportJobError, match=r"127\.0\.0\.1:1"):
        SparkImport(spark, catalog).plan(names=[ViewName("a", "b")])
