"""`python -m benchmarks [NAME …] [--json FILE]`: run benchmarks on their own metastore, and print a table."""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import (
    catalog_operations,
    dependents,
    import_time,
    java_catalog,
    legacy_import,
    listing,
    materialized,
    partitions,
    plain_views,
    upgrade,
    upgrade_size,
    writers,
)
from benchmarks.measure import Result

BENCHMARKS: dict[str, Callable[[Path], list[Result]]] = {
    "import": import_time.run,
    "operations": catalog_operations.run,
    "listing": listing.run,
    "java": java_catalog.run,
    "dependents": dependents.run,
    "plain-views": plain_views.run,
    "partitions": partitions.run,
    "materialized": materialized.run,
    "writers": writers.run,
    "legacy-import": legacy_import.run,
    "upgrade": upgrade.run,
    "upgrade-size": upgrade_size.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(BENCHMARKS)} (default: all)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results")
    parser.add_argument("--markdown", action="store_true", help="also print a Markdown table")
    arguments = parser.parse_args()
    arguments.names = [name.replace("_", "-") for name in arguments.names]
    unknown = set(arguments.names) - BENCHMARKS.keys()
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}; choose from {', '.join(BENCHMARKS)}")
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="hive-views-bench-") as directory:
        for name in arguments.names or BENCHMARKS:
            results += BENCHMARKS[name](Path(directory))
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
