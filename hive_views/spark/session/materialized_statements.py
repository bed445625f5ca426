"""Where a session's statements about materialized views go: one function, so that one room can answer for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hive_views.spark.refresh.job import SparkEngine
from hive_views.sql.parsing import statements as sql
from hive_views.statements import Result, execute_statement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.dependencies.view_builder import Analyzer

_KINDS = (sql.CreateMaterializedView, sql.RefreshMaterializedView, sql.AlterMaterializedViewRewrite)


def is_about_materialized(statement: sql.Statement) -> bool:
    """Whether a statement is about materialized views."""
    kind = getattr(statement, "kind", None)
    return isinstance(statement, _KINDS) or getattr(statement, "materialized", False) or kind == "materialized view"


def run(
    spark: SparkSession, catalog: HiveViewCatalog, statement: sql.Statement, database: str, analyzer: Analyzer | None
) -> Result[Any]:
    """Run a statement about materialized views."""
    engine = SparkEngine(spark, catalog)
    return execute_statement(catalog, statement, database=database, analyzer=analyzer, engine=engine)
