"""Questions about dependencies among 10,000 views, half of them plain Hive views: seconds, calls and memory.

The quick form has 2,000 views, for which there are no targets.
Each question is followed by its floor: the batches of rows that it read, sent again with the generated client alone.
`HIVE_VIEWS_BENCH_SERVER=4.0.1/postgresql` measures on another server.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from benchmarks.many_views import DATABASE, FACTS, QUICK_VIEWS, VIEWS, fill
from benchmarks.measure import Result
from benchmarks.raw import RawMetastore
from hive_views import HiveViewCatalog
from hive_views.dependencies.render import html
from hive_views.errors import DependentsError
from hive_views.local_metastore.embedded import EMBEDDED_VERSION
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore.transport.client import BATCH_SIZE
from tests.conftest import started
from tests.metastore_calls import recorded_calls

SERVER = os.environ.get("HIVE_VIEWS_BENCH_SERVER", EMBEDDED_VERSION)
TABLE = f"{DATABASE}.fact_7"
MAX_SECONDS = 3.0
MAX_CALLS = VIEWS // BATCH_SIZE + 20
_CONNECTIONS = 2
_BATCHES = ("get_table_objects_by_name", "get_table_objects_by_name_req")


def run(directory: Path, *, quick: bool = False) -> Iterator[Result]:
    """Measure on a metastore of this machine; with `quick`, among fewer views."""
    views = QUICK_VIEWS if quick else VIEWS
    with (
        started(directory / "plain", SERVER) as metastore,
        HiveViewCatalog("bench", uri=metastore.uri, warehouse=metastore.warehouse) as catalog,
    ):
        fill(catalog, directory / "files", views, plain=True)
        with recorded_calls() as calls:
            yield from measure(catalog, metastore.port, views, calls)


def measure(catalog: HiveViewCatalog, port: int, views: int, calls: list[str]) -> Iterator[Result]:
    """Measure on a metastore with the views of `fill`, half of them plain Hive views; `calls` has the requests."""
    batches = record_batches()
    columns = [("id", "bigint"), ("name", "string"), ("placed", "bigint")]  # without `total`
    for number in range(4):
        source = TABLE if number == 0 else f"{DATABASE}.extra_{number - 1}"
        catalog.create_view_from_sql(f"{DATABASE}.extra_{number}", f"SELECT * FROM {source}", or_replace=True)

    def check(names: Any) -> None:
        if len(names) < views // FACTS:
            raise AssertionError(f"not the dependents: {names}")

    def rejected() -> None:
        try:
            catalog.drop_table(TABLE, behavior="restrict")
        except DependentsError as error:
            check(error.dependents)
        else:
            raise AssertionError("fact_7 has dependents")

    strict = HiveViewCatalog("strict", **{**catalog.properties, "hive-views.dependency-mode": "strict"})
    questions: list[tuple[str, Callable[[], Any]]] = [
        ("dependents of a table", lambda: check(catalog.dependencies.dependents(TABLE).views)),
        (
            "impact of a dropped column",
            lambda: check(catalog.dependencies.impact(TABLE, columns)),
        ),
        ("plan of a CASCADE", lambda: check(catalog.dependencies.plan_drop(TABLE, behavior="cascade").dependents)),
        ("RESTRICT, rejected", rejected),
        ("RESTRICT, dropped", lambda: catalog.drop_view(f"{DATABASE}.extra_3", behavior="restrict")),
        ("CASCADE of 3 views", lambda: catalog.drop_view(f"{DATABASE}.extra_0", behavior="cascade")),
        (
            "replace in strict mode",
            lambda: strict.replace_view_from_sql(f"{DATABASE}.v_00000", f"SELECT * FROM {TABLE}"),
        ),
        ("graph", lambda: catalog.dependencies.graph(DATABASE)),
        ("deps check", lambda: catalog.dependencies.check_views(DATABASE)),
        ("page", lambda: html(catalog.dependencies.picture(DATABASE, with_columns=True))),
    ]
    connections = [RawMetastore(port) for _ in range(_CONNECTIONS)]

    def timed(what: str, ask: Callable[[], Any]) -> Result:
        calls.clear()
        server, started_at, cpu = server_seconds(), perf_counter(), process_time()
        ask()
        seconds, cpu = perf_counter() - started_at, process_time() - cpu
        server = server_seconds() - server
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        is_bounded = views == VIEWS and not what.endswith(("graph", "deps check", "page", "floor"))
        return Result(
            what,
            f"{seconds:.1f} s",
            "CPU time of this process, of the server; peak memory",
            f"{cpu:.1f} s, {server:.1f} s; {memory} MB",
            f"{len(calls)} calls",
            f"{MAX_SECONDS} s, {MAX_CALLS} calls" if is_bounded else "",
            seconds <= MAX_SECONDS and len(calls) <= MAX_CALLS if is_bounded else None,
        )

    def floor(requests: list[tuple[str, Any]]) -> None:
        def read(number: int) -> None:
            for method, arguments in requests[number::_CONNECTIONS]:
                getattr(connections[number].client, method)(*arguments)
                calls.append(method)

        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            list(pool.map(read, range(_CONNECTIONS)))

    for question, ask in questions:
        batches.clear()
        yield timed(question, ask)
        yield timed(f"{question}: floor", lambda requests=list(batches): floor(requests))  # type: ignore[misc]
    strict.close()


def record_batches() -> list[tuple[str, Any]]:
    """Return a list to which each request for rows adds its method and arguments."""
    batches: list[tuple[str, Any]] = []

    def recording(method: str) -> Callable[..., Any]:
        call = getattr(Client, method)

        def recorded(client: Client, *arguments: Any) -> Any:
            batches.append((method, arguments))
            return call(client, *arguments)

        return recorded

    for method in _BATCHES:
        setattr(Client, method, recording(method))
    return batches


def server_seconds() -> float:
    """Return the CPU seconds of all processes below this one, e.g. a metastore and its database."""
    times: dict[int, tuple[int, float]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        times[int(path.parent.name)] = int(fields[1]), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    below, level = 0.0, {os.getpid()}
    while level:
        level = {number for number, (parent, _) in times.items() if parent in level}
        below += sum(times[number][1] for number in level)
    return below
