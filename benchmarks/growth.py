"""How the calls to the metastore and the metadata files read grow with the number of views.

Counts do not depend on the load of the machine, so that they can be extrapolated (docs/scale.md).
`HIVE_VIEWS_BENCH_SERVER=4.0.1/postgresql` counts on another server.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks.many_views import DATABASE, fill
from benchmarks.measure import Result
from hive_views import HiveViewCatalog
from hive_views.doctor import examine
from hive_views.legacy_import import plan_import
from hive_views.local_metastore.embedded import EMBEDDED_VERSION
from tests.conftest import started
from tests.metastore_calls import recorded_calls, recorded_files

SERVER = os.environ.get("HIVE_VIEWS_BENCH_SERVER", EMBEDDED_VERSION)
SIZES, QUICK_SIZES = (1_000, 5_000), (1_000, 2_000)
EXTRAPOLATED = 100_000


def run(directory: Path, *, quick: bool = False) -> Iterator[Result]:
    """Count on a metastore of this machine for two numbers of views."""
    counts: dict[int, dict[str, tuple[int, int, float]]] = {}
    for size in QUICK_SIZES if quick else SIZES:
        with (
            started(directory / f"growth-{size}", SERVER) as metastore,
            HiveViewCatalog("bench", uri=metastore.uri, warehouse=metastore.warehouse) as catalog,
            recorded_calls() as calls,
            recorded_files() as files,
        ):
            fill(catalog, directory / f"growth-files-{size}", size, plain=True)
            counts[size] = {}
            for what, operation in operations(catalog):
                calls.clear()
                files.clear()
                cpu = process_time()
                operation()
                counts[size][what] = len(calls), len(files), process_time() - cpu
    few, many = counts
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    for what, (calls_few, files_few, _) in counts[few].items():
        calls_many, files_many, seconds = counts[many][what]
        slope, file_slope = (calls_many - calls_few) / (many - few), (files_many - files_few) / (many - few)
        yield Result(
            f"{what}, {few:,} and {many:,} views",
            f"{calls_few} and {calls_many} calls",
            "metadata files read",
            f"{files_few} and {files_many}",
            f"{seconds:.2f} s of CPU",
            f"{EXTRAPOLATED:,} views: {calls_many + slope * (EXTRAPOLATED - many):,.0f} calls, "
            f"{files_many + file_slope * (EXTRAPOLATED - many):,.0f} files",
            None,
        )
    yield Result("peak memory of the process", f"{memory} MB", "", "", "", "", None)


def operations(catalog: HiveViewCatalog) -> list[tuple[str, Callable[[], Any]]]:
    """The operations in the order in which they run; half of the views are plain Hive views."""
    view, renamed, table = f"{DATABASE}.counted", f"{DATABASE}.counted_again", f"{DATABASE}.fact_7"
    return [
        ("list", lambda: catalog.list_views(DATABASE)),
        ("create", lambda: catalog.create_view_from_sql(view, f"SELECT * FROM {table}")),
        ("load", lambda: catalog.load_view(view)),
        ("replace", lambda: catalog.replace_view_from_sql(view, f"SELECT id FROM {table}")),
        ("rename", lambda: catalog.rename_view(view, renamed)),
        ("drop", lambda: catalog.drop_view(renamed)),
        ("dependents of a table", lambda: catalog.dependencies.dependents(table)),
        ("impact of a dropped column", lambda: catalog.dependencies.impact(table, [("id", "bigint")])),
        ("graph", lambda: catalog.dependencies.graph(DATABASE)),
        ("deps check", lambda: catalog.dependencies.check_views(DATABASE)),
        ("doctor of a database", lambda: examine(catalog, database=DATABASE)),
        ("import plan", lambda: plan_import(catalog, databases=[DATABASE])),
    ]
