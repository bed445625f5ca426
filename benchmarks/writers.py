"""Eight writers on one view: commits per second, and lost commits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from benchmarks.measure import Result
from benchmarks.raw import RawMetastore
from hive_views import EmbeddedMetastore, HiveViewCatalog, define

WRITERS = 8
COMMITS, QUICK_COMMITS = 25, 8
ALWAYS_RETRY = {"commit.retry.num-retries": "10000", "commit.retry.min-wait-ms": "5", "commit.retry.max-wait-ms": "50"}


def run(directory: Path, *, quick: bool = False) -> Iterator[Result]:
    """Measure on an embedded metastore, with locks and with compare-and-swap alone."""
    with EmbeddedMetastore(directory / "writers") as metastore:
        for label, locks in (("locks and compare-and-swap", "true"), ("compare-and-swap alone", "false")):
            properties = {
                "uri": metastore.uri,
                "warehouse": metastore.warehouse,
                "iceberg.engine.hive.lock-enabled": locks,
                "iceberg.hive.lock-check-min-wait-ms": "5",
            }
            yield _measure(f"v_{locks}", label, properties, metastore.port, QUICK_COMMITS if quick else COMMITS)


def _measure(name: str, label: str, properties: dict[str, str], port: int, commits: int) -> Result:
    version = define("SELECT 1 AS a", dialect="spark", default_namespace=("default",), expanded="SELECT 1 AS a")
    schema = Schema(NestedField(1, "a", LongType()))
    with HiveViewCatalog("bench", **properties) as catalog:
        catalog.create_view(f"default.{name}", schema, version, properties=ALWAYS_RETRY)

        def work(writer: int) -> None:
            # A separate catalog, as in another process.
            with HiveViewCatalog("bench", **properties) as writer_catalog:
                view = writer_catalog.load_view(f"default.{name}")
                for number in range(commits):
                    view = view.update().set_properties({f"w{writer}_{number}": "x"}).commit()

        threads = [threading.Thread(target=work, args=(writer,)) for writer in range(WRITERS)]
        started = perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = perf_counter() - started
        applied = sum(key.startswith("w") for key in catalog.load_view(f"default.{name}").properties)
        lost = WRITERS * commits - applied
        floor = _raw_commits(port, name, commits)
    return Result(
        f"{WRITERS} writers on one view, {label}",
        f"{WRITERS * commits / seconds:.0f} commits/s",
        "one raw writer without contention",
        f"{floor:.0f} commits/s",
        f"{lost} lost of {WRITERS * commits}",
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
