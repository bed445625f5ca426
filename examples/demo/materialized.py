"""The demo's step about materialized views: refreshed, stale with its reason, refreshed from what was added."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from examples.demo.flights import DATABASE
from hive_views.materialized.freshness.verdict import Verdict
from hive_views.spark.refresh.engine import SparkEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console

    from hive_views.catalog.catalog import HiveViewCatalog

QUERY = (
    "SELECT carrier, month, count(*) AS flights, sum(distance) AS miles, max(dep_delay) AS worst "
    "FROM departed WHERE dep_delay IS NOT NULL GROUP BY carrier, month"
)
NAME = f"{DATABASE}.monthly"


def show_materialized(console: Console, spark: SparkSession, catalog: HiveViewCatalog) -> bool:
    """Materialize a query over the real flights, let a month be added, and refresh from it."""
    flights = f"spark_catalog.{DATABASE}.flights"
    spark.sql(f"CREATE TABLE prod.{DATABASE}.departed USING iceberg AS SELECT * FROM {flights} WHERE month < 12")
    catalog.materialized.create(NAME, QUERY)
    engine = SparkEngine(spark, catalog)
    table = Table(title=f"8. {NAME}: a materialized view of {DATABASE}.departed")
    for column in ("what", "freshness", "rows stored", "rows by definition", ""):
        table.add_column(column)
    same, verdicts = [], []

    def line(what: str) -> None:
        storage = catalog.materialized.load(NAME).storage
        stored = [] if storage is None else [tuple(row.values()) for row in storage.scan().to_arrow().to_pylist()]
        spark.sql(f"USE prod.{DATABASE}")
        defined = [tuple(row) for row in spark.sql(QUERY).collect()]
        freshness = catalog.materialized.freshness(NAME)
        equal = sorted(stored) == sorted(defined)
        same.append(equal or not freshness.is_fresh)
        verdicts.append(freshness.verdict)
        shown = "[green]equal[/]" if equal else "[yellow]different[/]"
        table.add_row(what, str(freshness), f"{len(stored):,}", f"{len(defined):,}", shown)

    line("created")
    [report] = catalog.materialized.refresh(NAME, engine)
    line(f"refreshed: {report.action}, {report.written} rows written")
    spark.sql(f"INSERT INTO prod.{DATABASE}.departed SELECT * FROM {flights} WHERE month = 12")
    line("December was appended")
    [report] = catalog.materialized.refresh(NAME, engine)
    line(f"refreshed: {report.action}, {report.written} rows written")
    console.print(table)
    spark.sql("USE spark_catalog.default")
    expected = [Verdict.STALE, Verdict.FRESH, Verdict.STALE, Verdict.FRESH]
    return all(same) and report.action == "incremental" and verdicts == expected
