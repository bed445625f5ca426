"""HiveViewCatalog compared with Iceberg's HiveCatalog (Java), both with locks, alternating on one metastore."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from time import perf_counter

from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from benchmarks.measure import Result, compare
from hive_views import HiveViewCatalog, define
from hive_views.local_metastore.distributions import find_release, unpack
from hive_views.local_metastore.jvm import find_jars, find_java
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.spark.runtime import fetch_runtime
from tests.conftest import started

SERVERS = ("2.3.10", "3.1.3", "4.0.1", "4.1.0", "4.2.0")
CLIENT_OF_HIVE_4 = "4.0.1"
"""The newest Hive client for Java 17; the classes of 4.2.0 need Java 21."""
PROGRAM = Path(__file__).with_name("JavaCatalog.java")
COLUMNS = 20
TURNS, QUICK_TURNS = 60, 25
WARM_UP = 40
LISTED = (200, 2_000)
LISTINGS = 8
DATABASE = "bench"
HALF, FIFTIETH = 0.5, 0.02


class JavaCatalog:
    """A running Java program."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, *words: str) -> float:
        """Run an operation; returns its duration in seconds, measured in Java."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(" ".join(words) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        if not answer.isdigit():
            raise RuntimeError(f"Java failed at {words[0]}: {answer}")
        return int(answer) / 1e9


@contextmanager
def java_catalog(
    metastore: MetastoreProcess, version: str, database: str = DATABASE, columns: int = COLUMNS
) -> Iterator[JavaCatalog]:
    """Start the Java program on a metastore with the Hive client for a version of Hive."""
    jars = find_jars(metastore.directory)
    path = [str(fetch_runtime())]
    if version.startswith("4."):
        # Hive 4 removed calls that the client in Spark's jars makes.
        path += unpack(find_release(CLIENT_OF_HIVE_4, metastore.directory), jars, ".cache").class_path
    path.append(f"{jars}/*")
    arguments = [metastore.uri, metastore.warehouse, database, str(columns)]
    process = subprocess.Popen(
        [find_java(metastore.directory, None), "-Xmx512m", "-cp", os.pathsep.join(path), str(PROGRAM), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        if process.stdout.readline().strip() != "ready":
            raise RuntimeError("the Java program does not start; it needs a JDK, not only a runtime")
        yield JavaCatalog(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(60)


def run(directory: Path, *, quick: bool = False) -> Iterator[Result]:
    """Measure on each of SERVERS on Derby; with `quick`, or `HIVE_VIEWS_BENCH_SERVER`, on one."""
    server = os.environ.get("HIVE_VIEWS_BENCH_SERVER") or (SERVERS[0] if quick else None)
    for version in (server,) if server else SERVERS:
        with ExitStack() as stack:
            metastore = stack.enter_context(started(directory / f"java-{version.replace('/', '-')}", version))
            catalog = stack.enter_context(HiveViewCatalog("bench", uri=metastore.uri, warehouse=metastore.warehouse))
            catalog.create_namespace(DATABASE)
            java = stack.enter_context(java_catalog(metastore, version))
            list(_measure(catalog, java, WARM_UP, "w"))
            for line in chain(
                _measure(catalog, java, QUICK_TURNS if quick else TURNS, "m"),
                _listings(catalog, java, LISTED[:1] if quick else LISTED),
            ):
                yield replace(line, what=f"{version}: {line.what}")


def _measure(catalog: HiveViewCatalog, java: JavaCatalog, turns: int, prefix: str) -> Iterator[Result]:
    schema = Schema(*(NestedField(index, f"column_{index}", LongType()) for index in range(1, COLUMNS + 1)))
    names = ", ".join(f"column_{index}" for index in range(1, COLUMNS + 1))

    def text(turn: int) -> str:
        return f"SELECT {names} FROM t WHERE column_1 > {turn}"

    def definition(turn: int):
        return define(text(turn), dialect="spark", default_namespace=(DATABASE,), expanded=text(turn))

    steps = {
        "create": (
            lambda turn: catalog.create_view(f"{DATABASE}.{prefix}_{turn}", schema, definition(turn)),
            lambda turn: java.run("create", f"{prefix}_java_{turn}", text(turn)),
            HALF,
        ),
        "load": (
            lambda turn: catalog.load_view(f"{DATABASE}.{prefix}_{turn}"),
            lambda turn: java.run("load", f"{prefix}_java_{turn}"),
            None,
        ),
        "replace": (
            lambda turn: catalog.replace_view(f"{DATABASE}.{prefix}_{turn}", schema, definition(turn + 1)),
            lambda turn: java.run("replace", f"{prefix}_java_{turn}", text(turn + 1)),
            HALF,
        ),
        "rename": (
            lambda turn: catalog.rename_view(f"{DATABASE}.{prefix}_{turn}", f"{DATABASE}.{prefix}_new_{turn}"),
            lambda turn: java.run("rename", f"{prefix}_java_{turn}", f"{prefix}_java_new_{turn}"),
            None,
        ),
        "drop": (
            lambda turn: catalog.drop_view(f"{DATABASE}.{prefix}_new_{turn}"),
            lambda turn: java.run("drop", f"{prefix}_java_new_{turn}"),
            None,
        ),
    }
    for what, (ours, theirs, most) in steps.items():
        our_times, java_times = [], []
        for turn in range(turns):
            if turn % 2:
                java_times.append(theirs(turn))
            started = perf_counter()
            ours(turn)
            our_times.append(perf_counter() - started)
            if not turn % 2:
                java_times.append(theirs(turn))
        yield compare(what, "Iceberg HiveCatalog (Java)", our_times, java_times, most)


def _listings(catalog: HiveViewCatalog, java: JavaCatalog, sizes: tuple[int, ...]) -> Iterator[Result]:
    schema = Schema(NestedField(1, "column_1", LongType()))
    created = 0
    for number in sizes:
        while created < number:
            definition = define("SELECT 1", dialect="spark", default_namespace=(DATABASE,), expanded="SELECT 1")
            catalog.create_view(f"{DATABASE}.l_{created}", schema, definition)
            created += 1
        our_times, java_times = [], []
        for _ in range(LISTINGS):
            started = perf_counter()
            count = len(catalog.list_views(DATABASE))
            our_times.append(perf_counter() - started)
            if count != number:
                raise AssertionError(f"{count} views listed")
            java_times.append(java.run("list", str(number)))
        target = FIFTIETH if number == LISTED[-1] else None
        yield compare(f"list {number:,} views", "Iceberg HiveCatalog (Java)", our_times, java_times, target)
