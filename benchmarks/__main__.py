"""`python -m benchmarks [NAME …] [--quick] [--json FILE]`: run benchmarks on their own metastore, and print a table.

Each result is printed as soon as it is available, and all of them as a table at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.table import Table

from benchmarks import (
    catalog_operations,
    dependents,
    growth,
    import_time,
    java_catalog,
    legacy_import,
    listing,
    materialized,
    materialized_changes,
    materialized_growth,
    partitions,
    plain_views,
    sessions,
    upgrade,
    upgrade_size,
    writers,
)
from benchmarks.measure import Result


@dataclass(frozen=True)
class Benchmark:
    """A benchmark and its approximate duration on two idle cores."""

    run: Callable[[Path], Iterator[Result]]
    minutes: float
    quick: Callable[[Path], Iterator[Result]] | None = None
    """The short form of `--quick`; None if there is none."""
    quick_minutes: float = 0.5


BENCHMARKS = {
    "import": Benchmark(import_time.run, 0.5, partial(import_time.run, quick=True)),
    "operations": Benchmark(catalog_operations.run, 1.5, partial(catalog_operations.run, quick=True)),
    "listing": Benchmark(listing.run, 1.5, partial(listing.run, quick=True)),
    "java": Benchmark(java_catalog.run, 8, partial(java_catalog.run, quick=True), 1),
    "growth": Benchmark(growth.run, 3, partial(growth.run, quick=True), 1.5),
    "dependents": Benchmark(dependents.run, 5, partial(dependents.run, quick=True), 1.5),
    "plain-views": Benchmark(plain_views.run, 8, partial(plain_views.run, quick=True), 1.5),
    "partitions": Benchmark(partitions.run, 5),
    "materialized": Benchmark(materialized.run, 6),
    "materialized-changes": Benchmark(
        materialized_changes.run, 8, partial(materialized_changes.run, rows=300_000, sizes=(100,), turns=2)
    ),
    "materialized-growth": Benchmark(materialized_growth.run, 6, partial(materialized_growth.run, quick=True)),
    "sessions": Benchmark(sessions.run, 1.5, partial(sessions.run, times=5)),
    "writers": Benchmark(writers.run, 15, partial(writers.run, quick=True)),
    "legacy-import": Benchmark(
        legacy_import.run,
        30,
        partial(legacy_import.run, sizes=legacy_import.QUICK_SIZES, drivers=legacy_import.QUICK_DRIVERS),
        1.5,
    ),
    "upgrade": Benchmark(upgrade.run, 6),
    "upgrade-size": Benchmark(upgrade_size.run, 6),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(BENCHMARKS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="fewer, smaller measurements; each less than 5 minutes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results")
    parser.add_argument("--markdown", action="store_true", help="also print a Markdown table")
    arguments = parser.parse_args()
    names = [name.replace("_", "-") for name in arguments.names] or list(BENCHMARKS)
    if unknown := set(names) - BENCHMARKS.keys():
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}; choose from {', '.join(BENCHMARKS)}")
    if arguments.quick:
        left_out = [name for name in names if BENCHMARKS[name].quick is None]
        names = [name for name in names if name not in left_out]
        print(f"without a quick form: {', '.join(left_out) or 'none'}")
    minutes = {name: BENCHMARKS[name].quick_minutes if arguments.quick else BENCHMARKS[name].minutes for name in names}
    print(f"{', '.join(names)}: about {sum(minutes.values()):g} minutes on two idle cores", flush=True)
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="hive-views-bench-") as directory:
        for name in names:
            print(f"({name}: about {minutes[name]:g} minutes)", flush=True)
            benchmark, started = BENCHMARKS[name], perf_counter()
            run = (benchmark.quick or benchmark.run) if arguments.quick else benchmark.run
            for result in run(Path(directory)):
                results.append(result)
                cells = (result.ours, f"{result.peer} {result.theirs}".strip(), result.ratio, result.target)
                print(f"{result.what}: {' | '.join(cell for cell in cells if cell)}", flush=True)
            print(f"({name}: {perf_counter() - started:.0f} s)", flush=True)
    show(results)
    if arguments.markdown:
        print(markdown(results))
    if arguments.json:
        arguments.json.write_text(json.dumps([vars(result) for result in results], indent=1) + "\n")


def show(results: list[Result]) -> None:
    table = Table(title="hive_views compared with its peers, one run", caption=_machine())
    for column in ("what", "ours", "peer", "peer's", "ratio", "target"):
        table.add_column(column, justify="left" if column in ("what", "peer") else "right", no_wrap=True)
    for result in results:
        style = "" if result.met is None else "green" if result.met else "red"
        table.add_row(result.what, result.ours, result.peer, result.theirs, result.ratio, result.target, style=style)
    Console(width=180).print(table)


def markdown(results: list[Result]) -> str:
    """The results as a Markdown table."""
    lines = ["| what | ours | peer | peer's | ratio | target |", "|---|---|---|---|---|---|"]
    for result in results:
        cells = (result.what, result.ours, result.peer, result.theirs, result.ratio, result.target)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join((*lines, "", _machine()))


def _machine() -> str:
    server = os.environ.get("HIVE_VIEWS_BENCH_SERVER", "2.3.10")
    server = server if "/" in server else f"{server} on Derby"
    packages = ", ".join(f"{name} {version(name)}" for name in ("pyiceberg", "thrift", "pyspark"))
    return f"Python {platform.python_version()}, {packages}, Hive Metastore {server}, {platform.machine()}"


if __name__ == "__main__":
    main()
