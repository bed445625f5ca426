"""Partition dependencies of views over 5,000 and 10,000 partitions, and the impact on a table of 1,000 columns.

`HIVE_VIEWS_BENCH_SERVER=4.0.1/postgresql` measures on another server.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from benchmarks.measure import Result
from benchmarks.plain_views import SERVER
from hive_views import HiveViewCatalog
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    FieldSchema,
    Partition,
    SerDeInfo,
    StorageDescriptor,
    Table,
)
from tests.conftest import started
from tests.metastore_calls import recorded_calls

DATABASE = "parts"
SIZES = (5_000, 10_000)
COLUMNS, READERS = 1_000, 20
_CONNECTIONS = 4


def run(directory: Path) -> Iterator[Result]:
    """Measure on a metastore of this machine."""
    with (
        started(directory / "partitions", SERVER) as metastore,
        HiveViewCatalog("bench", uri=metastore.uri, warehouse=metastore.warehouse) as catalog,
    ):
        fill(catalog, directory / "files")
        with recorded_calls() as calls:
            yield from measure(catalog, calls)


def fill(catalog: HiveViewCatalog, directory: Path) -> None:
    """Create the tables, their partitions, and the views."""
    client = catalog.store.client
    catalog.create_namespace(DATABASE, {"location": directory.as_uri()})
    for size in SIZES:
        table = _table(f"days_{size}", directory, ["id", "total"], ["ds"])
        client.create_table(table)
        values = [[(date(2000, 1, 1) + timedelta(number)).isoformat()] for number in range(size)]
        partitions = [Partition(value, DATABASE, table.tableName, 0, 0, table.sd, {}) for value in values]
        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            list(pool.map(client.add_partition, partitions))
        daily = f"CREATE VIEW daily_{size} PARTITIONED ON (ds) AS SELECT id, total, ds FROM days_{size}"
        catalog.execute(daily, database=DATABASE)
        catalog.execute(
            f"CREATE VIEW monthly_{size} PARTITIONED ON (m) AS SELECT sum(total) AS total, substr(ds, 1, 7) AS m "
            f"FROM days_{size} GROUP BY substr(ds, 1, 7)",
            database=DATABASE,
        )
    client.create_table(_table("wide", directory, [f"column_{number}" for number in range(COLUMNS)], []))
    for number in range(READERS):
        source = "wide" if number % 2 == 0 else f"reader_{number - 1}"
        catalog.execute(f"CREATE VIEW reader_{number} AS SELECT * FROM {source}", database=DATABASE)


def measure(catalog: HiveViewCatalog, calls: list[str]) -> Iterator[Result]:
    """Measure on a metastore with the objects of `fill`; `calls` has the requests."""
    results: list[Result] = []

    def ask(question: str, call: Callable[[], Any]) -> Any:
        calls.clear()
        started, cpu = perf_counter(), process_time()
        answer = call()
        seconds, cpu = perf_counter() - started, process_time() - cpu
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        cells = f"{seconds:.1f} s", "CPU time of this process; peak memory", f"{cpu:.1f} s; {memory} MB"
        results.append(Result(question, *cells, f"{len(calls)} calls", "", None))
        return answer

    days = [{"ds": (date(2000, 1, 1) + timedelta(number)).isoformat()} for number in range(500)]
    months = [{"m": f"{2000 + number // 12}-{number % 12 + 1:02}"} for number in range(120)]
    for size in SIZES:
        daily, monthly = f"{DATABASE}.daily_{size}", f"{DATABASE}.monthly_{size}"
        label = f"of {size:,} partitions"
        one = ask(f"one day {label}", lambda view=daily: catalog.partitions.dependencies(view, {"ds": "2001-02-03"}))  # type: ignore[misc]
        month = ask(f"one month {label}", lambda view=monthly: catalog.partitions.dependencies(view, {"m": "2001-02"}))  # type: ignore[misc]
        whole = ask(f"all {label}", lambda view=daily: catalog.partitions.dependencies(view))  # type: ignore[misc]
        counts = [len(answer.tables[0].partitions) for answer in (one, month, whole)]
        if counts != [1, 28, size]:
            raise AssertionError(f"not the partitions: {counts}")
        ask(f"mark 500 days {label}", lambda view=daily: catalog.partitions.add(view, *days, if_not_exists=True))  # type: ignore[misc]
        ask(f"mark 120 months {label}", lambda view=monthly: catalog.partitions.add(view, *months, if_not_exists=True))  # type: ignore[misc]
        stale = ask(f"which of 500 days are stale {label}", lambda view=daily: catalog.partitions.marked(view))  # type: ignore[misc]
        stale += ask(f"which of 120 months are stale {label}", lambda view=monthly: catalog.partitions.marked(view))  # type: ignore[misc]
        if len(stale) != 620 or any(item.stale for item in stale):
            raise AssertionError(f"{len(stale)} marks, of which {sum(item.stale is True for item in stale)} are stale")
        yield from results
        results.clear()
    kept = [(f"column_{number}", "bigint") for number in range(COLUMNS - 1)]
    affected = ask(
        f"impact of a dropped column of {COLUMNS:,} on {READERS} views",
        lambda: catalog.dependencies.impact(f"{DATABASE}.wide", kept),
    )
    if len(affected) != READERS:
        raise AssertionError(f"not the {READERS} views: {len(affected)}")
    yield from results


def _table(name: str, directory: Path, columns: list[str], keys: list[str]) -> Table:
    descriptor = StorageDescriptor(
        cols=[FieldSchema(column, "bigint", None) for column in columns],
        location=(directory / name).as_uri(),
        compressed=False,
        numBuckets=0,
        serdeInfo=SerDeInfo(parameters={}),
        bucketCols=[],
        sortCols=[],
        parameters={},
    )
    return Table(
        tableName=name,
        dbName=DATABASE,
        owner="bench",
        createTime=0,
        lastAccessTime=0,
        retention=0,
        sd=descriptor,
        partitionKeys=[FieldSchema(key, "string", None) for key in keys],
        parameters={"EXTERNAL": "TRUE"},
        tableType="EXTERNAL_TABLE",
    )
