"""The demo's step about legacy views: made by plain Spark, planned, imported, verified, shown, put back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from examples.demo.flights import DATABASE
from examples.demo.reader import rows_of
from hive_views.legacy_import.journal import read_journal
from hive_views.legacy_import.plan import plan_import
from hive_views.legacy_import.report.report import ReportEntry, report_run
from hive_views.legacy_import.revert import revert_run
from hive_views.spark.legacy_import.command import run_on_spark
from hive_views.spark.legacy_import.verified_run import ROWS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console

    from hive_views.catalog.catalog import HiveViewCatalog

LEGACY = "legacy"
VIEWS = {
    "delays": f"SELECT origin, dest, count(*) AS n, avg(dep_delay) AS delay FROM {DATABASE}.flights GROUP BY 1, 2",
    "worst": "SELECT * FROM delays WHERE delay > 30",
    "named": f"SELECT w.*, a.name FROM worst AS w JOIN {DATABASE}.airports AS a ON w.dest = a.faa",
    "lost": f"SELECT * FROM {DATABASE}.scratch",
}
"""Queries of the legacy views; the table of the last one is dropped afterwards, so that it cannot be imported."""
_STYLES = {"=": "dim", "-": "red strike", "+": "green"}


def show_import(console: Console, spark: SparkSession, catalog: HiveViewCatalog, directory: Path) -> bool:
    """Create legacy views in plain Spark, import them, read them, and revert the import."""
    spark.sql(f"CREATE DATABASE spark_catalog.{LEGACY}")
    spark.sql(f"USE spark_catalog.{LEGACY}")
    spark.sql(f"CREATE TABLE {DATABASE}.scratch (id INT) STORED AS PARQUET")
    for name, text in VIEWS.items():
        spark.sql(f"CREATE VIEW {name} AS {text}")
    spark.sql(f"DROP TABLE {DATABASE}.scratch")

    def rows(catalog_name: str) -> dict[str, list[list[object]]]:
        return {name: rows_of(spark.sql(f"SELECT * FROM {catalog_name}.{LEGACY}.{name}")) for name in list(VIEWS)[:-1]}

    before = rows("spark_catalog")
    plan = plan_import(catalog, databases=[LEGACY])
    journal = directory / "import.journal"
    # As `hive-views import run --verify rows` does.
    outcome = run_on_spark(plan, catalog, journal, most_calls=2, verify=ROWS, session=spark)
    imported = [name for _, name in catalog.list_views(LEGACY)]
    after = rows("prod")
    report = report_run(read_journal(journal))
    revert_run(catalog, journal)
    back = rows("spark_catalog")
    same = (
        outcome.as_before
        and before == after == back
        and sorted(imported) == sorted(before)
        and catalog.list_views(LEGACY) == []
    )
    table = Table(title=f"9. Legacy views of plain Spark in database {LEGACY}: planned, imported, reverted")
    for column in ("view", "plan", "import", "--verify rows, or the reason", "rows before, after, reverted"):
        table.add_column(column)
    for line in report.entries:
        name = line.entry.name.name
        counts = ", ".join(
            str(len(rows_by_view[name])) for rows_by_view in (before, after, back) if name in rows_by_view
        )
        verdict = outcome.checks.get(line.entry.name)
        result = verdict.text if verdict is not None else line.outcome.text or ""
        table.add_row(name, line.entry.status.value, line.status, result, counts)
    console.print(table)
    console.print(_difference(next(line for line in report.entries if line.entry.name.name == "named")))
    spark.sql("USE spark_catalog.default")
    return same


def _difference(line: ReportEntry) -> Text:
    """The differences between the legacy text and the imported one, in colors."""
    text = Text(f"{line.entry.name}: ")
    for kind, piece in line.diff():
        text.append(piece, style=_STYLES[kind])
    return text
