"""Refreshes of a view with three million groups after few changes, compared with a hand-written MERGE.

The MERGE writes the same change into a table with the same rows: it reads the changed rows from Iceberg's changelog
(appended ones from an incremental read), computes their groups, and updates, inserts or deletes their rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks.measure import Result, compare
from hive_views import EmbeddedMetastore, HiveViewCatalog
from hive_views.spark.refresh.engine import SparkEngine
from hive_views.spark.runtime import iceberg_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DATABASE = "bench_changes"
ROWS = 3_000_000
SIZES = (100, 10_000)
TURNS = 5
VIEWS = {
    "sums": "SELECT id, count(*) AS sales, sum(amount) AS amount FROM {} GROUP BY id",
    "averages": "SELECT id, count(*) AS sales, avg(amount) AS amount FROM {} GROUP BY id",
}
"""A view that appended rows are added to, and one whose changed groups are always computed again."""
LIMIT = 1.3


def run(directory: Path, *, rows: int = ROWS, sizes: tuple[int, ...] = SIZES, turns: int = TURNS) -> Iterator[Result]:
    """Measure on an embedded metastore and a Spark session of its own."""
    with EmbeddedMetastore(directory / "changes") as metastore:
        spark = iceberg_session(metastore.uri, metastore.warehouse, conf={"spark.local.dir": str(directory)})
        try:
            with HiveViewCatalog("prod", uri=metastore.uri, warehouse=metastore.warehouse) as catalog:
                yield from _Comparison(spark, catalog, rows).run(sizes, turns)
        finally:
            spark.stop()


class _Comparison:
    """A table, its views, and the tables that the hand-written statements maintain."""

    def __init__(self, spark: SparkSession, catalog: HiveViewCatalog, rows: int) -> None:
        self.spark = spark
        self.catalog = catalog
        self.engine = SparkEngine(spark, catalog)
        self.rows = rows
        self.table = f"prod.{DATABASE}.t"
        catalog.create_namespace(DATABASE)
        spark.sql(f"CREATE TABLE {self.table} (id BIGINT, amount BIGINT) USING iceberg")
        spark.sql(f"INSERT INTO {self.table} SELECT id, id % 1000 FROM range({rows})")
        for name, query in VIEWS.items():
            catalog.materialized.create((DATABASE, name), query.format(f"{DATABASE}.t"))
            catalog.materialized.load((DATABASE, name)).refresh(self.engine)
            spark.sql(
                f"CREATE TABLE prod.{DATABASE}.hand_{name} USING iceberg TBLPROPERTIES "
                f"('write.merge.mode'='merge-on-read') AS {query.format(self.table)}"
            )

    def run(self, sizes: tuple[int, ...], turns: int) -> Iterator[Result]:
        """Compare each kind and number of changes; the first turn only warms up."""
        for size in sizes:
            for change in ("appended", "deleted", "updated"):
                ours: dict[str, list[float]] = {name: [] for name in VIEWS}
                theirs: dict[str, list[float]] = {name: [] for name in VIEWS}
                for turn in range(turns + 1):
                    before = self._snapshot()
                    self._change(change, size, turn)
                    for name in VIEWS:
                        for by_hand in (False, True) if turn % 2 else (True, False):
                            started = perf_counter()
                            if by_hand:
                                self._merge_by_hand(name, change, before)
                            else:
                                self.catalog.materialized.load((DATABASE, name)).refresh(self.engine)
                            (theirs if by_hand else ours)[name].append(perf_counter() - started)
                for name, query in VIEWS.items():
                    self._check(name, query)
                    what = f"refresh of {name} by {self.rows:,} groups, {size:,} rows {change}"
                    yield compare(what, "a hand-written MERGE of the change", ours[name][1:], theirs[name][1:], LIMIT)

    def _snapshot(self) -> int:
        snapshots = self.spark.sql(f"SELECT snapshot_id FROM {self.table}.snapshots ORDER BY committed_at DESC LIMIT 1")
        return int(snapshots.collect()[0].snapshot_id)

    def _change(self, change: str, size: int, turn: int) -> None:
        """Change rows whose ids are far apart: half of the appended ones have a new id."""
        step = self.rows // size
        statements = {
            "appended": f"INSERT INTO {self.table} SELECT id * {2 * step} + {turn}, 7 FROM range({size})",
            "deleted": f"DELETE FROM {self.table} WHERE id < {self.rows} AND id % {step} = {turn}",
            "updated": f"UPDATE {self.table} SET amount = 7 WHERE id < {self.rows} AND id % {step} = {turn + 50}",
        }
        self.spark.sql(statements[change])

    def _changed_rows(self, change: str, before: int) -> DataFrame:
        reader = self.spark.read.format("iceberg").option("start-snapshot-id", str(before))
        return reader.load(self.table if change == "appended" else f"{self.table}.changes")

    def _merge_by_hand(self, name: str, change: str, before: int) -> None:
        self._changed_rows(change, before).createOrReplaceTempView("changed")
        target = f"prod.{DATABASE}.hand_{name}"
        if name == "sums" and change == "appended":
            source = VIEWS[name].format("changed")
            update = "SET t.sales = t.sales + s.sales, t.amount = t.amount + s.amount"
            gone = ""
        else:
            changed = "(SELECT DISTINCT id FROM changed)"
            query = VIEWS[name].format(f"{self.table} LEFT SEMI JOIN {changed} AS c USING (id)")
            source = f"SELECT c.id, q.sales, q.amount FROM {changed} AS c LEFT JOIN ({query}) AS q ON c.id = q.id"
            update = "SET t.sales = s.sales, t.amount = s.amount"
            gone = "WHEN MATCHED AND s.sales IS NULL THEN DELETE"
        self.spark.sql(
            f"MERGE INTO {target} AS t USING ({source}) AS s ON t.id = s.id {gone} WHEN MATCHED THEN UPDATE {update} "
            "WHEN NOT MATCHED THEN INSERT (id, sales, amount) VALUES (s.id, s.sales, s.amount)"
        )

    def _check(self, name: str, query: str) -> None:
        """Both tables have the rows of the definition, or nothing was measured."""
        expected = self.spark.sql(query.format(self.table))
        for table in (f"{name}__storage", f"hand_{name}"):
            rows = self.spark.table(f"prod.{DATABASE}.{table}")
            if not rows.exceptAll(expected).isEmpty() or not expected.exceptAll(rows).isEmpty():
                raise AssertionError(f"{table} has other rows than its definition")
