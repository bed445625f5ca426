"""Legacy views imported: views a second, the share of writes, growth, executor cores, memory.

The peer is the floor of what each view has to cost: the metastore's own calls that put a row in place of another
(lock, read, alter, unlock) and a synced file or two, which the run itself measures as its `writing`.
"""

from __future__ import annotations

import os
import resource
import statistics
from pathlib import Path
from time import perf_counter

from benchmarks.measure import Result
from benchmarks.raw import RawMetastore, write_file
from hive_views import EmbeddedMetastore, HiveViewCatalog
from hive_views.legacy.journal import read_journal
from hive_views.legacy.plan import Plan
from hive_views.legacy.planning import plan_import
from hive_views.legacy.report import report_of
from hive_views.legacy.run import run_plan
from hive_views.metastore._thrift.hive_metastore import ttypes

SIZES = (1_000, 10_000)
"""How many views."""
CORES = (1, 2)
"""Executor cores."""
_FLOOR = 200
"""How many views the floor is measured with."""
MOST = int(os.environ.get("HIVE_VIEWS_BENCH_VIEWS", SIZES[-1]))
"""Sizes above it are left out."""


def run(directory: Path) -> list[Result]:
    """Measure on an embedded metastore of its own for each size."""
    results: list[Result] = []
    rates: dict[int, float] = {}
    for size in (size for size in SIZES if size <= MOST):
        with (
            EmbeddedMetastore(directory / f"import-{size}") as metastore,
            HiveViewCatalog("bench", uri=metastore.uri, warehouse=metastore.warehouse) as catalog,
        ):
            _fill(metastore, size)
            started = perf_counter()
            plan = plan_import(catalog, databases=["legacy"])
            planned = perf_counter() - started
            _check(plan, size)
            before = _memory()
            started = perf_counter()
            if not run_plan(plan, catalog, directory / f"journal-{size}").complete:
                raise AssertionError("the import is not complete")
            ran = perf_counter() - started
            grown = _memory() - before
            report = report_of(read_journal(directory / f"journal-{size}"))
            rates[size] = size / ran
            # Of the run's own time: the next views are worked out, and their files written, meanwhile.
            share = report.swapping / ran
            floor = _floor(metastore, directory / f"floor-{size}")
            results += [
                _line(f"plan of {size:,} views", f"{size / planned:.0f} views/s", f"{planned:.0f} s"),
                _line(f"import of {size:,} views", f"{size / ran:.0f} views/s", f"{ran:.0f} s"),
                Result(
                    f"share of the metastore's writes, {size:,} views",
                    f"{share:.0%}",
                    "lock, read, alter, unlock",
                    f"{report.swapping:.0f} s",
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
                _line(f"process' most memory, {size:,} views", f"{before} MB", f"+{grown} MB in the run"),
            ]
            if size == SIZES[0]:
                results += _cores(directory, metastore, catalog)
    if len(rates) == len(SIZES):
        ratio = rates[SIZES[0]] / rates[SIZES[1]]
        results.append(
            Result(
                "10,000 against 1,000 views",
                f"{rates[SIZES[1]]:.0f}/s",
                "1,000 views",
                f"{rates[SIZES[0]]:.0f}/s",
                f"{ratio:.2f}x",
                "<= 1.25x",
                ratio <= 1.25,
            )
        )
    return results


def _floor(metastore: EmbeddedMetastore, directory: Path) -> float:
    """Seconds that the calls and files of one view take on the same metastore, median of some of the views."""
    raw = RawMetastore(metastore.port)
    seconds = []
    try:
        for number in range(_FLOOR):
            table = raw.get("legacy", f"v_{number:05d}")
            location = table.parameters["metadata_location"]
            started = perf_counter()
            write_file(directory / str(number) / "backup", b"x" * 4096)
            write_file(directory / str(number) / "metadata", b"x" * 1024)
            raw.swap(table, location)
            seconds.append(perf_counter() - started)
    finally:
        raw.close()
    return statistics.median(seconds)


def _cores(directory: Path, metastore: EmbeddedMetastore, catalog: HiveViewCatalog) -> list[Result]:
    """The part that is ours (reading, parsing, expanding, planning), over 1 and 2 executor cores of one Spark."""
    from hive_views.legacy.export import export_rows
    from hive_views.spark.import_job import SparkImport
    from hive_views.spark.runtime import plain_session

    export_rows(catalog, ["legacy"])  # legacy views again
    spark = plain_session(metastore.uri, metastore.warehouse, conf={"spark.master": f"local[{max(CORES)}]"})
    try:
        seconds = {}
        SparkImport(spark, catalog, most_calls=max(CORES)).plan(databases=["legacy"])  # starts the workers
        for cores in CORES:
            started = perf_counter()
            plan = SparkImport(spark, catalog, most_calls=cores).plan(databases=["legacy"])
            seconds[cores] = perf_counter() - started
            _check(plan, SIZES[0])
    finally:
        spark.stop()
    one, two = (seconds[cores] for cores in CORES)
    return [
        Result(
            f"plan of {SIZES[0]:,} views on Spark, 2 cores",
            f"{two:.1f} s",
            "1 core",
            f"{one:.1f} s",
            f"{two / one:.2f}x",
            "",
            None,
        )
    ]


def _fill(metastore: EmbeddedMetastore, views: int) -> None:
    """Hive's views over a hundred tables, every third over another view."""
    raw = RawMetastore(metastore.port)
    try:
        raw.client.create_database(ttypes.Database(name="legacy", locationUri=f"{metastore.warehouse}/legacy.db"))
        for number in range(100):
            columns = [("id", "bigint"), ("name", "string"), ("total", "decimal(10,2)")]
            raw.client.create_table(_row(f"t_{number}", columns, None, f"{metastore.warehouse}/t_{number}"))
        for number in range(views):
            columns = [("id", "bigint"), ("label", "string")]
            if number % 3 == 2:
                text = f"SELECT `v`.`id`, `v`.`label` FROM `legacy`.`v_{number - 1:05d}` `v` WHERE `v`.`id` > {number}"
            else:
                a, b = number % 100, (number * 7 + 1) % 100
                text = (
                    f"SELECT `a`.`id`, upper(`b`.`name`) AS `label` FROM `legacy`.`t_{a}` `a` "
                    f"JOIN `legacy`.`t_{b}` `b` ON `a`.`id` = `b`.`id` WHERE `a`.`total` > {number}"
                )
            raw.client.create_table(_row(f"v_{number:05d}", columns, text))
    finally:
        raw.close()


def _row(name: str, columns: list[tuple[str, str]], text: str | None, location: str | None = None) -> ttypes.Table:
    return ttypes.Table(
        tableName=name,
        dbName="legacy",
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


def _check(plan: Plan, size: int) -> None:
    if len(plan.ready) != size:
        raise AssertionError(f"{len(plan.ready)} of {size} views are ready: {[e.refusal for e in plan.entries][:3]}")


def _memory() -> int:
    """The most that this process had, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _line(what: str, ours: str, more: str) -> Result:
    return Result(what, ours, "", more, "", "", None)
