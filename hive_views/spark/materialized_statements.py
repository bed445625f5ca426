"""Where a session's statements about materialized views go: one function, so that one room can answer for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hive_views.execute import Result, execute_statement
from hive_views.spark.refresh_job import SparkEngine
from hive_views.sql import statements as sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hive_views.authoring import Analyzer
    from hive_views.catalog import HiveViewCatalog

_KINDS = (sql.CreateMaterializedView, sql.RefreshMaterializedView, sql.AlterMaterializedViewRewrite)


def is_about_materialized(statement: sql.Statement) -> bool:
    """Whether a statement is about materialized views.

    Args:
        statement: Any statement.
    """
    kind = getattr(statement, "kind", None)
    return isinstance(statement, _KINDS) or getattr(statement, "materialized", False) or kind == "materialized view"


def run(
    spark: SparkSession, catalog: HiveViewCatalog, statement: sql.Statement, database: str, analyzer: Analyzer | None
) -> Result:
    """Run a statement about materialized views.

    Args:
        spark: The session whose Spark computes what is stored.
        catalog: Where they are.
        statement: The statement; its names have at most two parts.
        database: The current database.
        analyzer: Where column types come from; None for a statement that defines nothing.

    Returns:
        What was done.

    Raises:
        SqlError: For what the catalog does not do.
        HiveViewsError: As `catalog.materialized` does.
    """
    engine = SparkEngine(spark, catalog)
    return execute_statement(catalog, statement, database=database, analyzer=analyzer, engine=engine)
