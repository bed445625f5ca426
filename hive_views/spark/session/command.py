"""Analyzes a definition of the command line in a Spark session of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hive_views.spark.refresh.command import open_session
from hive_views.spark.session.session import ViewSession

if TYPE_CHECKING:
    from pyiceberg.schema import Schema

    from hive_views.catalog.catalog import HiveViewCatalog


def analyze_in_spark(catalog: HiveViewCatalog, query: str, database: str, expanded: str) -> Schema:
    """Return the columns of a query; reject it if Spark analyzes its expanded text differently.

    Args:
        catalog: The catalog.
        query: The query as typed.
        database: The database of its unqualified names.
        expanded: The expanded query.
    """
    spark = open_session(catalog, {"spark.master": "local[1]"}, name=catalog.name)
    try:
        with ViewSession(spark, catalog) as session:
            return session.analyzer(query, database)(expanded)
    finally:
        spark.stop()
