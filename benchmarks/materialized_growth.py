"""How the calls to the metastore and the metadata files of operations on all materialized views grow with their number.

DuckDB refreshes them (tests/integration/materialized/duck_engine.py), so that no Spark is measured. The views read ten
tables; every fourth also reads a materialized view. `HIVE_VIEWS_BENCH_SIZES=500,1000` sets the two numbers of views.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from benchmarks.measure import Result
from hive_views import EmbeddedMetastore, HiveViewCatalog
from hive_views.identifiers import ViewName
from tests.integration.materialized.duck_engine import DuckEngine
from tests.metastore_calls import recorded_calls, recorded_files

SIZES, QUICK_SIZES = tuple(map(int, os.environ.get("HIVE_VIEWS_BENCH_SIZES", "100,500").split(","))), (20, 40)
DATABASE = "bench"
TABLES = 10


def run(directory: Path, *, quick: bool = False) -> Iterator[Result]:
    """Count and time on an embedded metastore for two numbers of materialized views."""
    counts: dict[int, dict[str, tuple[int, int, float]]] = {}
    for size in QUICK_SIZES if quick else SIZES:
        with (
            EmbeddedMetastore(directory / f"materialized-{size}") as metastore,
            HiveViewCatalog("bench", uri=metastore.uri, warehouse=metastore.warehouse) as catalog,
            recorded_calls() as calls,
            recorded_files() as files,
        ):
            names = _fill(catalog, size)
            counts[size] = {}
            for what, operation in _operations(catalog, names):
                calls.clear()
                files.clear()
                started = perf_counter()
                operation()
                counts[size][what] = len(calls), len(files), perf_counter() - started
    few, many = counts
    for what, (few_calls, few_files, few_seconds) in counts[few].items():
        many_calls, many_files, many_seconds = counts[many][what]
        yield Result(
            f"{what}, {few:,} and {many:,} materialized views",
            f"{few_calls:,} and {many_calls:,} calls",
            "metadata files of views read",
            f"{few_files:,} and {many_files:,}",
            f"{few_seconds:.1f} and {many_seconds:.1f} s",
            "",
            None,
        )


def _fill(catalog: HiveViewCatalog, size: int) -> list[ViewName]:
    catalog.create_namespace(DATABASE)
    for number in range(TABLES):
        table = catalog.create_table(
            (DATABASE, f"t_{number}"), Schema(NestedField(1, "id", LongType()), NestedField(2, "v", LongType()))
        )
        table.append(_rows())
    names = [ViewName(DATABASE, f"m_{number:05d}") for number in range(size)]
    for number, name in enumerate(names):
        source = f"m_{number - 1:05d}" if number % 4 == 3 else f"t_{number % TABLES}"
        catalog.materialized.create(name.identifier, f"SELECT id, v FROM {DATABASE}.{source} WHERE id > {number % 3}")
    return names


def _rows() -> pa.Table:
    return pa.table({"id": [1, 2, 3], "v": [4, 5, 6]})


def _operations(catalog: HiveViewCatalog, names: list[ViewName]) -> list[tuple[str, Callable[[], Any]]]:
    """The operations in the order in which they run; after the append, the views of one table of ten are stale."""
    materialized, engine = catalog.materialized, DuckEngine(catalog)

    def refresh() -> None:
        outcomes = materialized.refresh_many([name.identifier for name in names], engine)
        failed = [outcome for outcome in outcomes if outcome.report is None]
        if failed:
            raise RuntimeError(f"{len(failed)} views were not refreshed, the first: {failed[0]}")

    def refresh_stale() -> None:
        catalog.load_table((DATABASE, "t_0")).append(_rows())
        selected = materialized.select([DATABASE], stale=True)
        if not 0 < len(selected) <= len(names) // 5:
            raise RuntimeError(f"{len(selected)} of {len(names)} views are stale")
        materialized.refresh_many([name.identifier for name in selected], engine)

    return [
        ("first refresh of all", refresh),
        ("list with freshness", lambda: materialized.listing(DATABASE)),
        ("`mv status --all`", lambda: materialized.overview([DATABASE])),
        ("refresh of all, all fresh", refresh),
        ("append to one table, and refresh of what is stale", refresh_stale),
        ("`mv refresh --due`, the selection", lambda: materialized.select([DATABASE], due=True)),
    ]
