"""The demo's step about materialized views: stale with its reason, and refreshed from what was added."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from examples.demo.checks import check
from examples.demo.flights import DATABASE
from hive_views import HiveViewCatalog
from hive_views.spark import SparkEngine, ViewSession

QUERY = (
    "SELECT carrier, month, count(*) AS flights, sum(distance) AS miles, max(dep_delay) AS worst "
    f"FROM prod.{DATABASE}.departed WHERE dep_delay IS NOT NULL GROUP BY carrier, month"
)
NAME = f"{DATABASE}.monthly"


def show_materialized(console: Console, session: ViewSession, catalog: HiveViewCatalog) -> None:
    """Materialize a query over the flights, append a month, and refresh."""
    flights = f"spark_catalog.{DATABASE}.flights"
    session.sql(f"CREATE TABLE prod.{DATABASE}.departed USING iceberg AS SELECT * FROM {flights} WHERE month < 12")
    session.sql(f"CREATE MATERIALIZED VIEW prod.{NAME} AS {QUERY}")
    engine = SparkEngine(session.spark, catalog)
    table = Table(title=f"{NAME}, a materialized view of {DATABASE}.departed")
    for column in ("after", "freshness", "rows stored", "rows by definition", ""):
        table.add_column(column)

    def add_line(after: str, *, fresh: bool) -> None:
        stored = [tuple(row.values()) for row in catalog.materialized.load(NAME).storage.scan().to_arrow().to_pylist()]
        defined = [tuple(row) for row in session.spark.sql(QUERY).collect()]
        freshness = catalog.materialized.freshness(NAME)
        equal = sorted(stored) == sorted(defined)
        check(freshness.is_fresh is equal is fresh, f"{NAME} is {freshness} after {after}; equal rows: {equal}")
        equality = "[green]equal[/]" if equal else "[yellow]different[/]"
        table.add_row(after, str(freshness), f"{len(stored):,}", f"{len(defined):,}", equality)

    add_line("CREATE MATERIALIZED VIEW", fresh=False)
    [report] = catalog.materialized.load(NAME).refresh(engine)
    add_line(f"a {report.action} refresh: {report.written} rows written", fresh=True)
    session.sql(f"INSERT INTO prod.{DATABASE}.departed SELECT * FROM {flights} WHERE month = 12")
    add_line("INSERT of December", fresh=False)
    [report] = catalog.materialized.load(NAME).refresh(engine)
    check(report.action == "incremental", f"the refresh was {report.action}")
    add_line(f"an {report.action} refresh: {report.written} rows written", fresh=True)
    console.print(table)
