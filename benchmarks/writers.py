"""Eight and fifty writers, on one view and each on a view of its own: commits per second, and lost commits.

`HIVE_VIEWS_BENCH_SERVER=4.2.0/postgresql` measures on another server than the embedded one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from benchmarks.measure import Result
from benchmarks.raw import RawMetastore
from hive_views import HiveViewCatalog, define
from hive_views.errors import LockError
from hive_views.local_metastore.embedded import EMBEDDED_VERSION
from tests.conftest import started

SERVER = os.environ.get("HIVE_VIEWS_BENCH_SERVER", EMBEDDED_VERSION)
"""The metastore, `release/database`."""

WRITERS, QUICK_WRITERS = (8, 50), (8,)
COMMITS, QUICK_COMMITS = 200, 64
"""Commits of all writers together, about."""
ALWAYS_RETRY = {"commit.retry.num-retries": "10000", "commit.retry.min-wait-ms": "5", "commit.retry.max-wait-ms": "50"}


def run(directory: Path, *, quick: bool = False) -> Iterator[Result]:
    """Measure on one metastore, with locks and with compare-and-swap alone."""
    with started(directory / "writers", SERVER) as metastore:
        for label, locks in (("locks and compare-and-swap", "true"), ("compare-and-swap alone", "false")):
            properties = {
                "uri": metastore.uri,
                "warehouse": metastore.warehouse,
                "iceberg.engine.hive.lock-enabled": locks,
                "iceberg.hive.lock-check-min-wait-ms": "5",
            }
            for writers in QUICK_WRITERS if quick else WRITERS:
                commits = -(-(QUICK_COMMITS if quick else COMMITS) // writers)
                for is_shared in (True, False):
                    names = [f"v_{locks}_{writers}_{0 if is_shared else number + 1}" for number in range(writers)]
                    yield _measure(names, label, properties, metastore.port, commits)


def _measure(names: list[str], label: str, properties: dict[str, str], port: int, commits: int) -> Result:
    """Let one writer for each name commit to that view."""
    version = define("SELECT 1 AS a", dialect="spark", default_namespace=("default",), expanded="SELECT 1 AS a")
    schema = Schema(NestedField(1, "a", LongType()))
    views, refused = set(names), list[int]()
    with HiveViewCatalog("bench", **properties) as catalog:
        for view in views:
            catalog.create_view(f"default.{view}", schema, version, properties=ALWAYS_RETRY)

        def work(writer: int) -> None:
            # A separate catalog, as in another process.
            with HiveViewCatalog("bench", **properties) as writer_catalog:
                view = writer_catalog.load_view(f"default.{names[writer]}")
                for number in range(commits):
                    try:
                        view = view.update().set_properties({f"w{writer}_{number}": "x"}).commit()
                    except LockError:
                        refused.append(writer)  # the server failed on, or did not answer, requests for locks

        threads = [threading.Thread(target=work, args=(writer,)) for writer in range(len(names))]
        started = perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = perf_counter() - started
        applied = sum(key.startswith("w") for view in views for key in catalog.load_view(f"default.{view}").properties)
        total = len(names) * commits - len(refused)
        lost = total - applied
        floor = _raw_commits(port, names[0], 25)
    where = "one view" if len(views) == 1 else "a view each"
    return Result(
        f"{len(names)} writers on {where}, {label}",
        f"{total / seconds:.0f} commits/s",
        "one raw writer without contention",
        f"{floor:.0f} commits/s",
        f"{lost} lost of {total}, {len(refused)} refused",
        "0 lost",
        lost == 0,
    )


def _raw_commits(port: int, name: str, commits: int) -> float:
    raw = RawMetastore(port)
    try:
        table = raw.get("default", name)
        location = table.parameters["metadata_location"]
        started = perf_counter()
        for number in range(commits):
            raw.swap(table, f"{location}?{number}")
        seconds = perf_counter() - started
        raw.swap(table, location)
    finally:
        raw.close()
    return commits / seconds
