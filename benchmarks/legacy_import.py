"""Import of legacy views: views per second, share of the swaps, growth, memory, drivers, executor cores.

The reference is the minimum cost of each view: the metastore calls that replace a legacy row by the same new row (lock,
read, alter, unlock), and two synced files. Each size and driver is measured with a new metastore and a new Python
process, so that memory is measured per size. `HIVE_VIEWS_BENCH_SIZES=500,2000` sets the numbers of views,
`HIVE_VIEWS_BENCH_DRIVERS=alone` the drivers. `HIVE_VIEWS_BENCH_SERVER=4.2.0/postgresql` measures another server than
the embedded one, without the plan on executor cores, whose Spark calls methods that newer servers no longer have.
`HIVE_VIEWS_BENCH_SEPARATE=1` runs the server and its database on the first core and the client on the others, as on two
machines. The compare-and-swap of the server reads a Derby table completely, so its time grows with the number of rows.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter

from benchmarks.measure import Result
from benchmarks.raw import RawMetastore, write_file
from hive_views import HiveViewCatalog
from hive_views.identifiers import ViewName
from hive_views.legacy_import.journal import read_journal
from hive_views.legacy_import.plan import ImportPlan, plan_import
from hive_views.legacy_import.report.report import report_run
from hive_views.legacy_import.run import RunResult, run_plan
from hive_views.local_metastore.embedded import EMBEDDED_VERSION
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.metastore._thrift.hive_metastore import ttypes
from hive_views.spark.legacy_import.job import SparkImport
from tests.conftest import started as started_server

SIZES = tuple(map(int, os.environ.get("HIVE_VIEWS_BENCH_SIZES", "1000,10000").split(",")))
"""How many views, the fewest first."""
SERVER = os.environ.get("HIVE_VIEWS_BENCH_SERVER", EMBEDDED_VERSION)
"""The metastore, `release/database`."""
SEPARATE = os.environ.get("HIVE_VIEWS_BENCH_SEPARATE") == "1"
ALONE = "alone"
DRIVERS = tuple(os.environ.get("HIVE_VIEWS_BENCH_DRIVERS", f"{ALONE};local[2];local-cluster[2,1,1024]").split(";"))
"""Where the import runs: in one process, or on the executors of a Spark with this master; separated by semicolons."""
CORES = (1, 2)
"""Executor cores."""
QUICK_SIZES, QUICK_DRIVERS = (200,), (ALONE, "local[2]")
_FLOOR = 200
"""How many views the floor is measured with."""
_THREADS = 4
_REPOSITORY = Path(__file__).parents[1]


def run(directory: Path, sizes: Sequence[int] = SIZES, drivers: Sequence[str] = DRIVERS) -> Iterator[Result]:
    """Measure on a metastore of its own for each size and driver."""
    by_size: dict[int, dict[str, float]] = {}
    for size in sizes:
        for driver in drivers:
            name = f"{size}-{drivers.index(driver)}"
            with _started(directory / f"import-{name}") as metastore:
                _fill(metastore, "legacy", size)
                # The server's compiler is as warm for the import as for the bare calls, which follow it.
                _bare_rate(metastore, directory / f"warm-{name}", "warm", min(_FLOOR, size), max(CORES))
                command = [sys.executable, "-m", "benchmarks.legacy_import", metastore.uri, metastore.warehouse]
                done = subprocess.run(
                    [*command, str(directory / f"journal-{name}"), str(size), driver],
                    cwd=_REPOSITORY,
                    stdout=subprocess.PIPE,
                    text=True,
                    check=True,
                )
                measured = json.loads(done.stdout.splitlines()[-1])
                connections = 1 if driver == ALONE else max(CORES)
                yield _rate(metastore, directory / f"rate-{name}", size, driver, connections, measured["ran"])
                if driver != ALONE:
                    continue
                by_size[size] = measured
                floor, bare = _floor(metastore, directory / f"floor-{name}", size)
                yield from _lines(size, measured, floor, bare)
                if size == sizes[0] and SERVER == EMBEDDED_VERSION:
                    yield from _cores(metastore, size)
    if len(by_size) > 1:
        yield from _growth(by_size, sizes[0], sizes[-1])


@contextmanager
def _started(directory: Path) -> Iterator[MetastoreProcess]:
    """A server, on a core of its own if so configured; what this process starts meanwhile runs on the others."""
    cores = os.sched_getaffinity(0)
    try:
        if SEPARATE:
            os.sched_setaffinity(0, {min(cores)})
        with started_server(directory, SERVER) as metastore:
            if SEPARATE:
                os.sched_setaffinity(0, cores - {min(cores)})
            yield metastore
    finally:
        os.sched_setaffinity(0, cores)


def measure(uri: str, warehouse: str, journal: str, views: str, driver: str) -> None:
    """Plan, run and report in this process, and print seconds and megabytes as JSON."""
    size, measured = int(views), {}
    with HiveViewCatalog("bench", uri=uri, warehouse=warehouse) as catalog:
        # Imports modules and opens connections, which is not part of the cost of a view.
        plan_import(catalog, names=[ViewName("legacy", "v_00000")])
        measured["start"] = _memory()
        started = perf_counter()
        plan = plan_import(catalog, databases=["legacy"])
        measured["planned"] = perf_counter() - started
        measured["plan"] = _memory()
        _check(plan, size)
        with _runner(driver, plan, catalog, Path(journal)) as run_import:
            started = perf_counter()
            if not run_import().complete:
                raise AssertionError("the import is not complete")
            measured["ran"] = perf_counter() - started
        measured["run"] = _memory()
    del plan
    started = perf_counter()
    report = report_run(read_journal(Path(journal), with_rows=False))
    measured["swapping"] = report.swapping
    measured["reported"] = perf_counter() - started
    measured["report"] = _memory()
    print(json.dumps(measured))


@contextmanager
def _runner(
    driver: str, plan: ImportPlan, catalog: HiveViewCatalog, journal: Path
) -> Iterator[Callable[[], RunResult]]:
    """Yield what runs the plan; a Spark is started before and stopped afterwards."""
    if driver == ALONE:
        yield lambda: run_plan(plan, catalog, journal)
        return
    from tests.integration.spark.cluster_import import start_cluster

    spark = start_cluster(driver, journal.parent / f"{journal.name}-spark")
    try:
        spark.sparkContext.parallelize(range(8), 8).map(lambda number: number).count()  # starts the Python workers
        job = SparkImport(spark, catalog, most_calls=max(CORES))
        yield lambda: job.run(plan, journal, verify="none")
    finally:
        spark.stop()


def _rate(
    metastore: MetastoreProcess, directory: Path, size: int, driver: str, connections: int, seconds: float
) -> Result:
    """Compare with the metastore's own rate: bare calls and files for some of the views on as many connections."""
    bare_rate = _bare_rate(metastore, directory, "bare", min(_FLOOR, size), connections)
    rate = size / seconds
    return Result(
        f"import of {size:,} views, {driver}",
        f"{rate:.1f} views/s",
        f"lock, get, alter, unlock by bare Thrift and two synced files, connections: {connections}",
        f"{bare_rate:.1f} views/s",
        f"{rate / bare_rate:.0%}",
        ">= 90 %",
        rate >= 0.9 * bare_rate,
    )


def _bare_rate(metastore: MetastoreProcess, directory: Path, database: str, views: int, connections: int) -> float:
    """Views per second, if bare calls write the rows of the import's first views into another database."""

    def convert_rows(first: int) -> int:
        raw = RawMetastore(metastore.port)
        try:
            numbers = range(first, views, connections)
            for number in numbers:
                for name in ("backup", "metadata"):
                    write_file(directory / str(number) / name, b"x" * 2048)
                raw.convert(rows[number])
            return len(numbers)
        finally:
            raw.close()

    _fill(metastore, database, views)
    raw = RawMetastore(metastore.port)
    rows = [_converted_row(raw, database, number) for number in range(views)]
    raw.close()
    with ThreadPoolExecutor(connections) as pool:
        started = perf_counter()
        return sum(pool.map(convert_rows, range(connections))) / (perf_counter() - started)


def _converted_row(raw: RawMetastore, database: str, number: int) -> ttypes.Table:
    """The row of an imported view, for another database."""
    row = raw.get("legacy", f"v_{number:05d}")
    row.dbName = database
    return row


def _lines(size: int, measured: dict[str, float], floor: float, bare: float) -> list[Result]:
    planned, ran = measured["planned"], measured["ran"]
    # Of the run's own time: the next views are worked out, and their files written, meanwhile.
    share = measured["swapping"] / ran
    return [
        _line(f"plan of {size:,} views", f"{size / planned:.0f} views/s", f"{planned:.0f} s"),
        _line(f"import of {size:,} views", f"{size / ran:.1f} views/s", f"{ran:.0f} s"),
        Result(
            f"share of the swaps' step, with all that it waits for, {size:,} views",
            f"{share:.0%}",
            "lock, get, alter, unlock by bare Thrift, as a share of the same time",
            f"{bare * size / ran:.0%}",
            "",
            ">= 90 %",
            share >= 0.9,
        ),
        Result(
            f"import of {size:,} views, each",
            f"{ran / size * 1e3:.1f} ms",
            "lock, get, alter, unlock by bare Thrift, two files written and synced",
            f"{floor * 1e3:.1f} ms",
            f"{ran / size / floor:.2f}x",
            "",
            None,
        ),
        _line(
            f"most memory of the process, {size:,} views",
            f"{measured['report']:.0f} MB",
            f"{measured['plan']:.0f} MB after plan",
        ),
    ]


def _growth(by_size: dict[int, dict[str, float]], few: int, many: int) -> list[Result]:
    ratio = by_size[many]["ran"] / many / (by_size[few]["ran"] / few)
    kilobytes = {name: (by_size[many][name] - by_size[few][name]) * 1024 / (many - few) for name in ("plan", "run")}
    return [
        Result(
            f"time of a view, {many:,} against {few:,} views",
            f"{by_size[many]['ran'] / many * 1e3:.1f} ms",
            f"{few:,} views",
            f"{by_size[few]['ran'] / few * 1e3:.1f} ms",
            f"{ratio:.2f}x",
            "<= 1.10x",
            ratio <= 1.1,
        ),
        _line(
            f"most memory, from {few:,} to {many:,} views, each",
            f"{kilobytes['run']:.1f} kB",
            f"{kilobytes['plan']:.1f} kB after plan",
        ),
    ]


def _floor(metastore: MetastoreProcess, directory: Path, size: int) -> tuple[float, float]:
    """Seconds that the calls and files of one view take on the same metastore, and the calls alone.

    Each the median of some of the views.
    """
    _fill(metastore, "floor", min(_FLOOR, size))
    raw = RawMetastore(metastore.port)
    seconds, calls = [], []
    try:
        for row in [_converted_row(raw, "floor", number) for number in range(min(_FLOOR, size))]:
            started = perf_counter()
            write_file(directory / row.tableName / "backup", b"x" * 4096)
            write_file(directory / row.tableName / "metadata", b"x" * 1024)
            called = perf_counter()
            raw.convert(row)
            ended = perf_counter()
            seconds.append(ended - started)
            calls.append(ended - called)
    finally:
        raw.close()
    return statistics.median(seconds), statistics.median(calls)


def _cores(metastore: MetastoreProcess, size: int) -> list[Result]:
    """The part that is ours, over 1 and 2 executor cores of one Spark: a plan, and of that what follows the reading."""
    from hive_views.spark.runtime import plain_session

    _fill(metastore, "cores", size)  # legacy views again
    spark = plain_session(metastore.uri, metastore.warehouse, conf={"spark.master": f"local[{max(CORES)}]"})
    whole: dict[int, float] = {}
    ours: dict[int, float] = {}
    try:
        with HiveViewCatalog("bench", uri=metastore.uri, warehouse=metastore.warehouse) as catalog:
            SparkImport(spark, catalog, most_calls=max(CORES)).plan(databases=["cores"])  # starts the workers
            for cores in CORES:
                measured: list[float] = []
                started = perf_counter()
                plan = SparkImport(spark, catalog, most_calls=cores).plan(
                    databases=["cores"],
                    progress=lambda done, total, measured=measured: measured.append(perf_counter()),  # type: ignore[misc]
                )
                whole[cores] = perf_counter() - started
                ours[cores] = measured[-1] - measured[0]
                _check(plan, size)
    finally:
        spark.stop()
    return [
        Result(
            f"{what} of {size:,} views on Spark, {CORES[1]} cores",
            f"{seconds[CORES[1]]:.1f} s",
            f"{CORES[0]} core",
            f"{seconds[CORES[0]]:.1f} s",
            f"{seconds[CORES[1]] / seconds[CORES[0]]:.2f}x",
            "",
            None,
        )
        for what, seconds in (("plan", whole), ("plan, rows once read,", ours))
    ]


def _fill(metastore: MetastoreProcess, database: str, views: int) -> None:
    """Hive's views over a hundred tables, every third over another view."""
    raw = RawMetastore(metastore.port)
    try:
        raw.client.create_database(ttypes.Database(name=database, locationUri=f"{metastore.warehouse}/{database}.db"))
    finally:
        raw.close()
    # The metastore executes several creates concurrently; their time is not measured.
    with ThreadPoolExecutor(_THREADS) as pool:
        ranges = [range(number, views, _THREADS) for number in range(_THREADS)]
        list(pool.map(partial(_fill_part, metastore, database), ranges, range(_THREADS)))


def _fill_part(metastore: MetastoreProcess, database: str, numbers: range, first_table: int) -> None:
    raw = RawMetastore(metastore.port)
    try:
        for number in range(first_table, 100, _THREADS):
            columns = [("id", "bigint"), ("name", "string"), ("total", "decimal(10,2)")]
            location = f"{metastore.warehouse}/{database}.db/t_{number}"
            raw.client.create_table(_row(database, f"t_{number}", columns, None, location))
        for number in numbers:
            columns = [("id", "bigint"), ("label", "string")]
            if number % 3 == 2:
                below = f"`{database}`.`v_{number - 1:05d}`"
                text = f"SELECT `v`.`id`, `v`.`label` FROM {below} `v` WHERE `v`.`id` > {number}"
            else:
                a, b = number % 100, (number * 7 + 1) % 100
                text = (
                    f"SELECT `a`.`id`, upper(`b`.`name`) AS `label` FROM `{database}`.`t_{a}` `a` "
                    f"JOIN `{database}`.`t_{b}` `b` ON `a`.`id` = `b`.`id` WHERE `a`.`total` > {number}"
                )
            raw.client.create_table(_row(database, f"v_{number:05d}", columns, text))
    finally:
        raw.close()


def _row(
    database: str, name: str, columns: list[tuple[str, str]], text: str | None, location: str | None = None
) -> ttypes.Table:
    return ttypes.Table(
        tableName=name,
        dbName=database,
        owner="bench",
        createTime=1_600_000_000,
        lastAccessTime=0,
        retention=0,
        sd=ttypes.StorageDescriptor(
            cols=[ttypes.FieldSchema(column, kind, None) for column, kind in columns],
            location=location,
            compressed=False,
            numBuckets=0,
            serdeInfo=ttypes.SerDeInfo(parameters={}),
            bucketCols=[],
            sortCols=[],
            parameters={},
        ),
        partitionKeys=[],
        parameters={"transient_lastDdlTime": "1600000000", **({} if text else {"EXTERNAL": "TRUE"})},
        viewOriginalText=text and text.replace("`", ""),
        viewExpandedText=text,
        tableType="VIRTUAL_VIEW" if text else "EXTERNAL_TABLE",
    )


def _check(plan: ImportPlan, size: int) -> None:
    if len(plan.ready) != size:
        raise AssertionError(f"{len(plan.ready)} of {size} views are ready: {[e.problem for e in plan.entries][:3]}")


def _memory() -> float:
    """The most that this process had, in megabytes; `getrusage` would count what its parent had when it was started."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def _line(what: str, ours: str, more: str) -> Result:
    return Result(what, ours, "", more, "", "", None)


if __name__ == "__main__":
    measure(*sys.argv[1:])
