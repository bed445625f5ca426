"""The views of the demo, as an analyst would type them in Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from examples.demo.flights import DATABASE
from hive_views.spark.analyzer import schema_of

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyspark.sql import SparkSession

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.catalog.views import HiveView
    from hive_views.dependencies.view_builder import Analyzer


@dataclass(frozen=True)
class Typed:
    """A view as its author typed it."""

    name: str
    """Without the database."""
    sql: str
    """The query."""
    column_names: tuple[str, ...] | None = None
    """The names in front of AS."""
    comment: str = ""
    """What it is for."""


DEPARTURES = Typed(
    "departures",
    "SELECT f.*, a.name AS airline FROM flights f JOIN airlines a ON f.carrier = a.carrier",
    comment="every flight with its airline's name",
)
CARRIERS = Typed(
    "carriers",
    "SELECT airline, count(*) AS flights, round(avg(dep_delay), 2) AS mean_delay FROM departures GROUP BY airline",
    comment="a view over a view",
)
AIRPORT_DELAYS = Typed(
    "airport_delays",
    """SELECT p.name, count(*), round(avg(f.arr_delay), 2) -- minutes
FROM flights f JOIN airports p ON f.dest = p.faa
GROUP BY p.name""",
    column_names=("airport", "landings", "mean_delay"),
    comment="an explicit column list",
)
WINDY = Typed(
    "windy_hours",
    "SELECT origin, time_hour, wind_speed FROM weather WHERE wind_speed > 30",
    comment="replaced below",
)
WINDIER = Typed(
    "windy_hours",
    "SELECT origin, time_hour, wind_speed FROM weather WHERE wind_speed > 35",
)
SEATS = Typed(
    "seats",
    "SELECT manufacturer, sum(seats) AS seats FROM planes GROUP BY manufacturer",
    comment="replaced by mistake, and rolled back",
)
MISTAKE = Typed(
    "seats",
    "SELECT manufacturer, sum(engines) AS seats FROM planes GROUP BY manufacturer",
)
FLEET = Typed(
    "fleet",
    "SELECT * FROM jets",
    comment="a star over an Iceberg table",
)


def create(spark: SparkSession, catalog: HiveViewCatalog, typed: Typed) -> HiveView:
    """Create a view from what was typed."""
    name = f"{DATABASE}.{typed.name}"
    made = catalog.author(name, typed.sql, analyzer=analyzer(spark, typed), column_names=typed.column_names)
    return catalog.create_view(name, made.schema, made.version, properties={"comment": typed.comment})


def replace(spark: SparkSession, catalog: HiveViewCatalog, typed: Typed) -> HiveView:
    """Give a view the definition that was typed."""
    name = f"{DATABASE}.{typed.name}"
    made = catalog.author(name, typed.sql, analyzer=analyzer(spark, typed), column_names=typed.column_names)
    return catalog.load_view(name).update().replace_version(made.version, made.schema).commit()


def analyzer(spark: SparkSession, typed: Typed) -> Analyzer:
    """Where a view's column types come from: Spark's catalog that serves the tables it reads."""
    home = "prod" if typed is FLEET else "spark_catalog"

    def columns(query: str) -> Schema:
        spark.sql(f"USE {home}.{DATABASE}")
        return schema_of(spark, query)

    return columns
