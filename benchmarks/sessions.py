"""Statements that name no view, and CREATE VIEW: `ViewSession` compared with the Spark session itself."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Result, alternate, compare
from hive_views import EmbeddedMetastore, HiveViewCatalog
from hive_views.spark import ViewSession
from hive_views.spark.runtime import iceberg_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TARGET = 1.1
DEFINITION_TARGET = 1.5
_SET_UP = (
    "CREATE DATABASE prod.bench_sessions",
    "USE prod.bench_sessions",
    "CREATE TABLE a USING iceberg AS SELECT id, id % 7 AS k FROM range(100)",
    "CREATE TABLE b USING iceberg AS SELECT id, id % 7 AS k FROM range(100)",
    "CREATE TABLE c USING iceberg AS SELECT id, id % 7 AS k FROM range(100)",
    "CREATE TABLE target (id BIGINT, k BIGINT) USING iceberg",
    "CREATE TABLE spark_catalog.bench_sessions.files USING parquet AS SELECT id, id % 7 AS k FROM range(100)",
)
STATEMENTS = {
    "query without tables": "SELECT 1 AS one",
    "query of one Iceberg table": "SELECT k, sum(id) FROM a GROUP BY k",
    "query of three Iceberg tables": "SELECT a.k, count(*) FROM a JOIN b ON a.k = b.k JOIN c ON a.k = c.k GROUP BY a.k",
    "query of a Parquet table": "SELECT k, sum(id) FROM spark_catalog.bench_sessions.files GROUP BY k",
    "INSERT": "INSERT INTO target SELECT * FROM a",
    "CREATE TABLE AS": "CREATE TABLE made_{turn} USING iceberg AS SELECT * FROM a",
    "DELETE": "DELETE FROM target WHERE id >= 0",
    "SHOW TABLES": "SHOW TABLES IN prod.bench_sessions",
    "DESCRIBE": "DESCRIBE a",
    "EXPLAIN": "EXPLAIN SELECT k, sum(id) FROM a GROUP BY k",
    "CREATE TEMPORARY VIEW": "CREATE OR REPLACE TEMPORARY VIEW temporary AS SELECT k, sum(id) AS s FROM a GROUP BY k",
    "SET": "SET spark.sql.shuffle.partitions=4",
}
DEFINITIONS = {"CREATE VIEW": "CREATE VIEW view_{turn} AS SELECT k, sum(id) AS s FROM a GROUP BY k"}
"""Statements that Iceberg's catalog in Spark runs, too; there without expanded text, lineage and checks."""


def run(directory: Path, *, times: int = 15) -> Iterator[Result]:
    """Measure each statement, with its rows, on an embedded metastore and a Spark session of its own."""
    with EmbeddedMetastore(directory / "sessions") as metastore:
        conf = {"spark.local.dir": str(directory), "spark.sql.shuffle.partitions": "4"}
        spark = iceberg_session(metastore.uri, metastore.warehouse, conf=conf)
        try:
            with (
                HiveViewCatalog("prod", uri=metastore.uri, warehouse=metastore.warehouse) as catalog,
                ViewSession(spark, catalog) as session,
            ):
                for statement in _SET_UP:
                    spark.sql(statement)
                for what, statement in STATEMENTS.items():
                    yield _compare(what, statement, session, spark, times)
                for what, statement in DEFINITIONS.items():
                    yield _compare(what, statement, session, spark, times, target=DEFINITION_TARGET)
        finally:
            spark.stop()


def _compare(
    what: str, statement: str, session: ViewSession, spark: SparkSession, times: int, *, target: float = TARGET
) -> Result:
    """Run one statement alternately in both sessions."""
    turns = count()

    def ours(_: int) -> None:
        session.sql(statement.format(turn=next(turns))).collect()

    def theirs(_: int) -> None:
        spark.sql(statement.format(turn=next(turns))).collect()

    for _ in range(3):
        ours(0)
        theirs(0)
    mine, other = alternate(ours, theirs, times)
    return compare(f"ViewSession: {what}", "the Spark session", mine, other, target)
