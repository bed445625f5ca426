"""The views of the demo, and the steps that show them."""

from __future__ import annotations

from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table

from examples.demo.checks import check
from examples.demo.flights import DATABASE
from examples.demo.reader import read_in_plain_spark, rows_of
from hive_views import EmbeddedMetastore, HiveViewCatalog
from hive_views.spark import ViewSession

QUERIES = {
    "departures": "SELECT f.*, a.name AS airline FROM flights f JOIN airlines a ON f.carrier = a.carrier",
    "carriers": "SELECT airline, count(*) AS flights, round(avg(dep_delay), 2) AS delay FROM departures GROUP BY 1",
    "airport_delays": """SELECT p.name, count(*) AS landings, round(avg(f.arr_delay), 2) AS mean_delay -- minutes
FROM flights f JOIN airports p ON f.dest = p.faa
GROUP BY p.name""",
    "windy_hours": "SELECT origin, time_hour, wind_speed FROM weather WHERE wind_speed > 30",
    "seats": "SELECT manufacturer, sum(seats) AS seats FROM planes GROUP BY manufacturer",
}
"""Views over Parquet tables, which every Spark can read."""


def create_views(catalog: HiveViewCatalog) -> None:
    """Create the views, replace two of them, and roll one back."""
    for name, query in QUERIES.items():
        catalog.create_view_from_sql(f"{DATABASE}.{name}", query)
    catalog.replace_view_from_sql(f"{DATABASE}.windy_hours", QUERIES["windy_hours"].replace("> 30", "> 35"))
    mistake = catalog.replace_view_from_sql(
        f"{DATABASE}.seats", QUERIES["seats"].replace("sum(seats)", "cast(sum(engines) AS BIGINT)")
    )
    mistake.update().rollback(version_id=1).commit()


def show_text(console: Console, title: str, text: str | None) -> None:
    """Print a SQL text in a frame."""
    console.print(Panel(Syntax(text or "", "sql", word_wrap=True, background_color="default"), title=title))


def show_texts(console: Console, catalog: HiveViewCatalog) -> None:
    """Show what the author typed, and what other readers of the metastore parse."""
    view = catalog.load_view(f"{DATABASE}.departures")
    show_text(console, f"{DATABASE}.departures as typed", view.original_text)
    show_text(console, "its text for plain Spark, Hive and Trino: every name resolved, no star", view.expanded_text)


def show_history(console: Console, catalog: HiveViewCatalog) -> None:
    """Show which versions were current when."""
    table = Table(title="Histories: one view was replaced, one was rolled back")
    for column in ("view", "versions made current", "current", "its text"):
        table.add_column(column)
    for name in ("windy_hours", "seats"):
        view = catalog.load_view(f"{DATABASE}.{name}")
        versions = " -> ".join(str(entry.version_id) for entry in view.history())
        table.add_row(name, versions, str(view.current_version().version_id), view.original_text)
    console.print(table)


def compare_readers(console: Console, session: ViewSession, metastore: EmbeddedMetastore) -> None:
    """Read each view in three ways, and compare the rows."""
    columns = {name: ", ".join(session.table(f"prod.{DATABASE}.{name}").columns) for name in QUERIES}
    queries = {name: f"SELECT count(*), sum(hash({columns[name]})) FROM {{}}{DATABASE}.{name}" for name in QUERIES}
    plain = read_in_plain_spark(metastore.uri, metastore.warehouse, [query.format("") for query in queries.values()])
    table = Table(title="One view, three readers: number of rows, and the sum of their hashes")
    for column in ("view", "ViewSession", "Spark with Iceberg (Java)", "plain Spark, no Iceberg", ""):
        table.add_column(column)
    for name, query in queries.items():
        answers = (
            rows_of(session.sql(query.format("prod."))),
            rows_of(session.spark.sql(query.format("prod."))),
            plain[query.format("")],
        )
        check(answers[0] == answers[1] == answers[2], f"{name} is read as {answers}")
        table.add_row(name, *(f"{rows:,} / {hashes}" for [[rows, hashes]] in answers), "[green]equal[/]")
    console.print(table)


def add_column_first(console: Console, session: ViewSession) -> None:
    """Add a column in front of a table's columns, below a star view and below Iceberg's own star view."""
    session.sql(
        f"CREATE TABLE prod.{DATABASE}.jets USING iceberg AS "
        f"SELECT tailnum, manufacturer, model FROM spark_catalog.{DATABASE}.planes WHERE engine = 'Turbo-jet'"
    )
    query = f"SELECT * FROM prod.{DATABASE}.jets"
    session.sql(f"CREATE VIEW prod.{DATABASE}.fleet AS {query}")
    session.spark.sql(f"CREATE VIEW prod.{DATABASE}.fleet_by_iceberg AS {query}")
    before = rows_of(session.table(f"prod.{DATABASE}.fleet"))
    session.sql(f"ALTER TABLE prod.{DATABASE}.jets ADD COLUMN note string FIRST")
    check(rows_of(session.table(f"prod.{DATABASE}.fleet")) == before, "the star view changed with its table")
    table = Table(title="ALTER TABLE jets ADD COLUMN note FIRST, under two views of SELECT * FROM jets")
    for column in ("the first jet in", "tailnum", "manufacturer", "model"):
        table.add_column(column)
    jet = before[0][0]
    for name, creator in (("fleet", "hive_views"), ("fleet_by_iceberg", "Spark's CREATE VIEW")):
        rows = session.spark.sql(
            f"SELECT tailnum, manufacturer, model FROM prod.{DATABASE}.{name} WHERE '{jet}' IN (tailnum, manufacturer)"
        ).collect()
        table.add_row(f"{name} ({creator})", *(str(value) for value in rows[0]))
    console.print(table)


def let_spark_replace(console: Console, session: ViewSession, catalog: HiveViewCatalog) -> None:
    """Let Spark's Iceberg catalog replace a view, and read its version with those before it."""
    text = f"SELECT tailnum, model FROM prod.{DATABASE}.jets WHERE manufacturer = 'BOEING'"
    session.spark.sql(f"CREATE OR REPLACE VIEW prod.{DATABASE}.fleet AS {text}")
    view = catalog.load_view(f"{DATABASE}.fleet")
    check([entry.version_id for entry in view.history()] == [1, 2], "Spark's version is not in the history")
    engines = [version.summary.get("engine-name", "hive_views") for version in view.versions]
    console.print(
        f"[bold]Iceberg's catalog in Spark replaced {DATABASE}.fleet[/]: version "
        f"{view.current_version().version_id} is current; the versions are by {', '.join(engines)}"
    )


def read_old_version(console: Console, session: ViewSession) -> None:
    """Join a view with an earlier version of it."""
    rows = session.sql(
        f"SELECT s.manufacturer, s.seats, old.seats AS mistaken FROM prod.{DATABASE}.seats AS s "
        f"JOIN prod.{DATABASE}.seats VERSION AS OF 2 AS old USING (manufacturer) WHERE s.seats > 10000 ORDER BY 1"
    ).collect()
    check(len(rows) > 0 and all(row.seats > row.mistaken for row in rows), "version 2 is not the mistaken one")
    table = Table(title="Time travel: the mistaken version 2 of seats beside the current one")
    for column in ("manufacturer", "FROM seats", "FROM seats VERSION AS OF 2"):
        table.add_column(column)
    for row in rows:
        table.add_row(*(str(value) for value in row))
    console.print(table)
