"""Materialized views: a refresh compared with a hand-written INSERT OVERWRITE, what grows with what, freshness."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks.measure import Result, alternate, compare
from hive_views import EmbeddedMetastore, HiveViewCatalog
from hive_views.spark.refresh.engine import SparkEngine
from hive_views.spark.runtime import iceberg_session
from tests.integration.materialized.duck_engine import DuckEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hive_views.materialized.refresh.request import Engine

DATABASE = "bench_mv"
QUERY = "SELECT id, shop, amount, amount * 2 AS twice FROM {} WHERE amount > 10"
GROUPED = "SELECT shop, count(*) AS sales, sum(amount) AS amount FROM {} GROUP BY shop"
JOINED = "SELECT s.id, s.amount, o.owner FROM {} AS s JOIN {} AS o ON s.shop = o.shop"
SHOPS = 100
DEEP = 20


def run(directory: Path) -> Iterator[Result]:
    """Measure on an embedded metastore and a Spark session of its own; freshness also on a server as it is deployed."""
    yield from _on_spark(directory)
    with (
        _all_compilers(),
        EmbeddedMetastore(directory / "compiled") as metastore,
        HiveViewCatalog("prod", uri=metastore.uri, warehouse=metastore.warehouse) as catalog,
    ):
        catalog.create_namespace(DATABASE)
        yield _freshness(catalog, DuckEngine(catalog), "a server with all of the JVM's compilers", 400)


@contextmanager
def _all_compilers() -> Iterator[None]:
    """Start JVMs with all JIT compilers; `EmbeddedMetastore` otherwise enables only the fast one (C1)."""
    before = os.environ.get("_JAVA_OPTIONS")
    os.environ["_JAVA_OPTIONS"] = f"{before or ''} -XX:TieredStopAtLevel=4".strip()
    try:
        yield
    finally:
        if before is None:
            del os.environ["_JAVA_OPTIONS"]
        else:
            os.environ["_JAVA_OPTIONS"] = before


def _on_spark(directory: Path) -> Iterator[Result]:
    with EmbeddedMetastore(directory / "materialized") as metastore:
        spark = iceberg_session(metastore.uri, metastore.warehouse, conf={"spark.local.dir": str(directory)})
        try:
            with HiveViewCatalog("prod", uri=metastore.uri, warehouse=metastore.warehouse) as catalog:
                catalog.create_namespace(DATABASE)
                owners = f"prod.{DATABASE}.owners"
                spark.sql(f"CREATE TABLE {owners} (shop STRING, owner STRING) USING iceberg")
                spark.sql(
                    f"INSERT INTO {owners} SELECT concat('shop', id), concat('owner', id % 7) FROM range({SHOPS})"
                )
                yield _overhead(spark, catalog, 2_000_000)
                yield _overhead(spark, catalog, 10_000_000)
                yield from _incremental(spark, catalog, 1_000_000)
                yield from _incremental(spark, catalog, 10_000_000)
                yield _stacked(spark, catalog, 10_000_000)
                yield _freshness(catalog, SparkEngine(spark, catalog), "the embedded server", 40)
        finally:
            spark.stop()


def _fill(spark: SparkSession, table: str, first: int, rows: int) -> None:
    spark.sql(
        f"INSERT INTO {table} SELECT id, concat('shop', id % {SHOPS}) AS shop, id % 1000 AS amount "
        f"FROM range({first}, {first + rows})"
    )


def _source(spark: SparkSession, name: str, rows: int) -> str:
    table = f"prod.{DATABASE}.{name}"
    spark.sql(f"CREATE TABLE {table} (id BIGINT, shop STRING, amount BIGINT) USING iceberg")
    _fill(spark, table, 0, rows)
    return table


def _overhead(spark: SparkSession, catalog: HiveViewCatalog, rows: int) -> Result:
    name = f"overhead_{rows}"
    source = _source(spark, name, rows)
    catalog.materialized.create((DATABASE, f"ours_{rows}"), QUERY.format(f"{DATABASE}.{name}"))
    spark.sql(f"CREATE TABLE prod.{DATABASE}.theirs_{rows} USING iceberg AS {QUERY.format(source)} LIMIT 0")
    engine = SparkEngine(spark, catalog)

    def ours(_: int) -> None:
        catalog.materialized.load((DATABASE, f"ours_{rows}")).refresh(engine, mode="full")

    def theirs(_: int) -> None:
        spark.sql(f"INSERT OVERWRITE prod.{DATABASE}.theirs_{rows} {QUERY.format(source)}")

    for warm in (ours, theirs, ours, theirs):
        warm(0)
    mine, other = alternate(ours, theirs, 7)
    what = f"full refresh, {rows // 1_000_000} million rows"
    return compare(what, "INSERT OVERWRITE of the same query", mine, other, 1.05)


def _incremental(spark: SparkSession, catalog: HiveViewCatalog, rows: int) -> Iterator[Result]:
    """Incremental refreshes of three views after an append: a filter, a sum by group, a join with a small table."""
    name = f"grows_{rows}"
    table = _source(spark, name, rows)
    engine = SparkEngine(spark, catalog)
    source = f"{DATABASE}.{name}"
    views = {"filter": QUERY.format(source), "sums": GROUPED.format(source)}
    views["join"] = JOINED.format(source, f"{DATABASE}.owners")
    full: dict[str, list[float]] = {}
    for kind, query in views.items():
        view = (DATABASE, f"{kind}_{rows}")
        catalog.materialized.create(view, query)
        catalog.materialized.load(view).refresh(engine)
        full[kind] = [_timed(catalog, view, engine, "full") for _ in range(2)]
    first = rows
    for share in (0.01, 0.1):
        added = int(rows * share)
        seconds: dict[str, list[float]] = {kind: [] for kind in views}
        for _ in range(3):
            _fill(spark, table, first, added)
            first += added
            for kind in views:
                seconds[kind].append(_timed(catalog, (DATABASE, f"{kind}_{rows}"), engine, "incremental"))
        for kind in views:
            what = f"incremental refresh, {kind}, {share:.0%} appended to {rows // 1_000_000} million rows"
            yield compare(what, "full refresh of the whole table", seconds[kind], full[kind], None)


def _stacked(spark: SparkSession, catalog: HiveViewCatalog, rows: int) -> Result:
    """A full refresh of a view over a materialized view: from the lower view's stored rows, and from the table."""
    name = f"stacked_{rows}"
    table = _source(spark, name, rows)
    engine = SparkEngine(spark, catalog)
    lower = (DATABASE, f"lower_{rows}")
    catalog.materialized.create(lower, GROUPED.format(f"{DATABASE}.{name}"))
    # Grouping sets are always computed in full.
    query = f"SELECT shop, max(sales) AS sales, sum(amount) AS amount FROM lower_{rows} GROUP BY ROLLUP (shop)"
    views = {"true": (DATABASE, f"from_rows_{rows}"), "false": (DATABASE, f"from_table_{rows}")}
    for value, view in views.items():
        catalog.materialized.create(view, query, properties={"hive-views.read-stored-rows": value})
    seconds: dict[str, list[float]] = {value: [] for value in views}
    for turn in range(7):
        _fill(spark, table, rows + turn * 100, 100)
        catalog.materialized.load(lower).refresh(engine)
        for value in sorted(views, reverse=turn % 2 == 0):
            seconds[value].append(_timed(catalog, views[value], engine, "auto"))
    what = f"a view over a materialized view of {rows // 1_000_000} million rows, from its {SHOPS} stored rows"
    return compare(what, "always from the table", seconds["true"][2:], seconds["false"][2:], None)


def _timed(catalog: HiveViewCatalog, view: tuple[str, str], engine: Engine, mode: str) -> float:
    started = perf_counter()
    catalog.materialized.load(view).refresh(engine, mode=mode)
    return perf_counter() - started


def _freshness(catalog: HiveViewCatalog, engine: Engine, server: str, warm: int) -> Result:
    from pyiceberg.schema import Schema
    from pyiceberg.types import LongType, NestedField

    leaves = [f"leaf_{number}" for number in range(DEEP)]
    for leaf in leaves:
        catalog.create_table((DATABASE, leaf), Schema(NestedField(1, "id", LongType())))
    middle = []
    for number in range(0, DEEP, 4):
        tables = [f"SELECT id FROM {leaf}" for leaf in leaves[number : number + 4]]
        catalog.execute(f"CREATE VIEW middle_{number} AS {' UNION ALL '.join(tables)}", database=DATABASE)
        middle.append(f"middle_{number}")
    view = (DATABASE, "deep")
    catalog.materialized.create(view, " UNION ALL ".join(f"SELECT id FROM {name}" for name in middle))
    catalog.materialized.load(view).refresh(engine)
    rows = ["deep", "deep__storage", *middle, *leaves]
    client = catalog.store.client

    def ours(_: int) -> None:
        if not catalog.materialized.freshness(view).is_fresh:
            raise RuntimeError(f"{view} is not fresh: nothing was measured")

    def theirs(_: int) -> None:
        client.get_tables(DATABASE, rows)

    # Until the server's compiler and its database's statements are warm.
    alternate(ours, theirs, warm)
    mine, other = alternate(ours, theirs, 60)
    median = statistics.median(mine) * 1e3
    return Result(
        f"freshness of a view over {DEEP} tables through 5 views, warm, on {server}",
        f"{median:.1f} ms",
        f"its {len(rows)} rows alone, in one request",
        f"{statistics.median(other) * 1e3:.1f} ms",
        f"{min(mine) * 1e3:.1f} ms at best",
        "< 20 ms",
        median < 20,
    )
