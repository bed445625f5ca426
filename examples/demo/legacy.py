"""The demo's step about legacy views: created by plain Spark, planned, imported, verified and reverted."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from examples.demo.checks import check
from examples.demo.flights import DATABASE
from examples.demo.reader import rows_of
from examples.demo.views import show_text
from hive_views import HiveViewCatalog
from hive_views.legacy_import import plan_import, read_journal, report_run, revert_run, run_plan
from hive_views.spark import SparkCheck, ViewSession, run_verified

LEGACY = "legacy"
VIEWS = {
    "delays": f"SELECT origin, dest, count(*) AS n, avg(dep_delay) AS delay FROM {DATABASE}.flights GROUP BY 1, 2",
    "worst": "SELECT * FROM delays WHERE delay > 30",
    "named": f"SELECT w.*, a.name FROM worst AS w JOIN {DATABASE}.airports AS a ON w.dest = a.faa",
    "lost": f"SELECT * FROM {DATABASE}.scratch",
}
"""Views that plain Spark creates; the table of the last one is dropped afterwards."""


def show_import(console: Console, session: ViewSession, catalog: HiveViewCatalog, directory: Path) -> None:
    """Let Spark create legacy views, import them, compare their rows, and revert the import."""
    spark = session.spark
    spark.sql(f"CREATE DATABASE spark_catalog.{LEGACY}")
    spark.sql(f"USE spark_catalog.{LEGACY}")
    spark.sql(f"CREATE TABLE {DATABASE}.scratch (id INT) STORED AS PARQUET")
    for name, text in VIEWS.items():
        spark.sql(f"CREATE VIEW {name} AS {text}")
    spark.sql(f"DROP TABLE {DATABASE}.scratch")
    readable = [name for name in VIEWS if name != "lost"]

    def read_rows(spark_catalog: str) -> dict[str, list[list[object]]]:
        return {name: rows_of(spark.sql(f"SELECT * FROM {spark_catalog}.{LEGACY}.{name}")) for name in readable}

    before = read_rows("spark_catalog")
    plan = plan_import(catalog, databases=[LEGACY])
    journal = directory / "import.journal"
    # As `hive-views import run --verify rows` does.
    result = run_verified(SparkCheck(spark, "rows"), plan, catalog, journal, partial(run_plan, plan, catalog, journal))
    imported = sorted(name for _, name in catalog.list_views(LEGACY))
    after = read_rows("prod")
    report = report_run(read_journal(journal))
    revert_run(catalog, journal)
    check(imported == sorted(readable) and result.as_before, f"imported: {imported}, checks: {result.checks}")
    check(before == after == read_rows("spark_catalog"), "an imported or reverted view has other rows than before")
    check(catalog.list_views(LEGACY) == [], "the import was not reverted")

    table = Table(title=f"Views of plain Spark in database {LEGACY}: planned, imported with --verify rows, reverted")
    for column in ("view", "plan", "import", "rows after the import, or the reason"):
        table.add_column(column)
    for line in report.entries:
        verified = result.checks.get(line.name)
        table.add_row(
            line.name.name, line.entry.status.value, line.status, verified.text if verified else line.outcome.text
        )
    console.print(table)
    named = next(line.entry for line in report.entries if line.name.name == "named")
    show_text(console, f"{LEGACY}.named before", named.old_text)
    show_text(console, f"{LEGACY}.named after the import", named.new_text)
