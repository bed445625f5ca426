"""Dependents of a table among 10,000 views, a validity check of all views, with the time of its parts, and commands."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import TypeVar

from benchmarks.many_views import DATABASE, DIMENSIONS, FACTS, QUICK_VIEWS, VIEWS, fill
from benchmarks.measure import Result, alternate, compare
from hive_views import EmbeddedMetastore, HiveViewCatalog
from hive_views.dependencies.graph import DependentFinder
from hive_views.dependencies.lineage import LineageReader
from hive_views.dependencies.view_text import text_of_version
from hive_views.identifiers import ViewName
from hive_views.metastore.queries import FILTER_FIELD, RowCache, all_view_names, read_rows, recorded_dependents
from hive_views.metastore.table_schemas import MetastoreSchemas
from hive_views.sql.analysis.validity import find_problems
from hive_views.sql.analysis.view_text import ViewText

TABLE = ViewName(DATABASE, "fact_7")
TURNS = 15
T = TypeVar("T")


def run(directory: Path, *, quick: bool = False) -> Iterator[Result]:
    """Measure on an embedded metastore; with `quick`, among fewer views."""
    views = QUICK_VIEWS if quick else VIEWS
    with (
        EmbeddedMetastore(directory / "dependents") as metastore,
        HiveViewCatalog("bench", uri=metastore.uri, warehouse=metastore.warehouse) as catalog,
    ):
        fill(catalog, directory / "files", views)
        yield from measure(catalog, views)


def measure(catalog: HiveViewCatalog, views: int) -> Iterator[Result]:
    """Measure on a metastore with the views of `fill`."""
    store = catalog.store
    reader = LineageReader(store)
    table = reader.identify_name(TABLE)
    assert table is not None, "`fill` creates it"

    def check(names: object) -> None:
        if not isinstance(names, (list, tuple)) or len(names) != views // FACTS:
            raise AssertionError(f"not the {views // FACTS} dependents: {names}")

    def floor(_: int) -> object:
        condition = f'{FILTER_FIELD}no_row_has_this_key = "u"'
        return store.client.get_table_names_by_filter(DATABASE, condition)

    def by_name(_: int) -> None:
        check(recorded_dependents(store, DATABASE, [(TABLE, None)]))

    def by_name_and_uuid(_: int) -> None:
        check(recorded_dependents(store, DATABASE, [(TABLE, table.uuid)]))

    def recorded(_: int) -> None:
        check(DependentFinder(reader, databases=[DATABASE], recorded_only=True).find_direct(TABLE))

    def all_dependents(_: int) -> None:
        check(DependentFinder(reader, databases=[DATABASE]).find_direct(TABLE))

    absent = "the same filter on a key that no row has"
    for what, question in (
        (f"names of a table's dependents among {views:,} views", by_name),
        ("the same, renamed tables too", by_name_and_uuid),
        ("the same, with their rows", recorded),
        ("the same, and views of other writers", all_dependents),
    ):
        yield compare(what, absent, *alternate(question, floor, TURNS), None)
    seconds, graph = _timed(lambda: catalog.dependencies.graph(DATABASE))
    yield Result(f"graph of {views:,} views, read", f"{seconds:.1f} s", "", "", "", "", None)
    seconds, dependents = _timed(lambda: graph.dependents(TABLE))
    check(dependents)
    yield Result("the same question to that graph", f"{seconds * 1e3:.3f} ms", "", "", "", "50 ms", seconds < 0.05)
    yield from _measure_check(catalog, views)
    yield from _measure_commands(catalog, views)


def _measure_commands(catalog: HiveViewCatalog, views: int) -> Iterator[Result]:
    """Measure whole processes of the command line; `list` of a small database has a target."""
    places = ("--uri", catalog.properties["uri"], "--warehouse", catalog.properties["warehouse"])
    for what, times, limit_s, words in (
        ("`hive-views list` of a database without views", 5, 0.6, ("list", "default")),
        (f"`hive-views list` of {views:,} views", 3, None, ("list", DATABASE)),
        (f"`hive-views list --long` of {views:,} views", 1, None, ("list", "--long", DATABASE)),
        (f"`hive-views deps check` of {views:,} views", 1, None, ("deps", "check", DATABASE)),
        (f"`hive-views doctor` of {views:,} views", 1, None, ("doctor", "--database", DATABASE)),
    ):
        command = [sys.executable, "-m", "hive_views", *places, *words]
        seconds = statistics.median(
            _timed(lambda command=command: subprocess.run(command, stdout=subprocess.DEVNULL, check=False))[0]  # type: ignore[misc]
            for _ in range(times)
        )
        target = "" if limit_s is None else f"<= {limit_s} s"
        yield Result(what, f"{seconds:.2f} s", "", "", "", target, None if limit_s is None else seconds <= limit_s)


def _timed(call: Callable[[], T]) -> tuple[float, T]:
    started = perf_counter()
    result = call()
    return perf_counter() - started, result


def _measure_check(catalog: HiveViewCatalog, views: int) -> list[Result]:
    """Measure `check_views`, and its parts one after the other; only rows are read in several threads."""
    store = catalog.store
    seconds, checked = _timed(lambda: catalog.dependencies.check_views(DATABASE))
    invalid = [view for view in checked if view.problems]
    if invalid or len(checked) != views:
        raise AssertionError(f"{len(invalid)} of {len(checked)} views are not valid: {invalid[:1]}")
    parts = {}
    parts["rows from the metastore"], rows = _timed(lambda: list(read_rows(store, all_view_names(store, DATABASE))))
    cache = RowCache(store)
    for row in rows:
        cache.add(row)
    schemas = MetastoreSchemas(store, cache)
    for kind, count in (("fact", FACTS), ("dim", DIMENSIONS)):
        for number in range(count):
            schemas.table(DATABASE, f"{kind}_{number}")

    def read_texts() -> list[ViewText]:
        files = [store.files.read(row.metadata_location or "") for row in rows]
        return [text_of_version(row.name, file.current_version()) for row, file in zip(rows, files, strict=True)]

    def check_texts(texts: list[ViewText]) -> None:
        for row, text in zip(rows, texts, strict=True):
            find_problems(text, schemas, [(name, kind) for name, kind, _ in row.columns])

    parts["metadata files"], texts = _timed(read_texts)
    parts["parse, resolve, compare"], _ = _timed(lambda: check_texts(texts))
    label = f"validity of {views:,} views"
    return [
        Result(label, f"{seconds:.1f} s", "", "", "", "", None),
        *(
            Result(f"  {part}, alone", f"{time:.1f} s", label, f"{seconds:.1f} s", f"{time / seconds:.2f}x", "", None)
            for part, time in parts.items()
        ),
    ]
