"""What statements about views answer, as data frames with the column names that Spark gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hive_views.spark.analyzer import spark_type
from hive_views.sql.rewriting.quoting import quote_identifier
from hive_views.statements import describe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from hive_views.catalog.views import HiveView
    from hive_views.statements import Result

SHOW_VIEWS = ("namespace", "viewName", "isTemporary")
SHOW_CREATE = ("createtab_stmt",)
DESCRIBE = ("col_name", "data_type", "comment")


def nothing(spark: SparkSession) -> DataFrame:
    """The answer of a statement that answers nothing: no rows, and no columns."""
    return spark.sql("SELECT 1 WHERE false").select()


def rows(spark: SparkSession, columns: Sequence[str], found: Sequence[Sequence[str | None]]) -> DataFrame:
    """Rows of text."""
    schema = ", ".join(f"{quote_identifier(column)} STRING" for column in columns)
    frame: DataFrame = spark.createDataFrame([tuple(row) for row in found], schema)
    return frame


def answer(spark: SparkSession, result: Result[Any]) -> DataFrame:
    """What a statement of the catalog answers."""
    return rows(spark, result.columns, result.rows) if result.columns else nothing(spark)


def views(spark: SparkSession, found: Sequence[tuple[str, str, bool]]) -> DataFrame:
    """The answer of SHOW VIEWS."""
    schema = "namespace STRING, viewName STRING, isTemporary BOOLEAN"
    frame: DataFrame = spark.createDataFrame(list(found), schema)
    return frame


def description(spark: SparkSession, view: HiveView, *, detailed: bool) -> DataFrame:
    """The answer of DESCRIBE."""
    fields = view.schema().fields
    found = [(field.name, spark_type(field.field_type), field.doc or "") for field in fields]
    if detailed:
        found += [
            (name, kind or "", comment or "") for name, kind, comment in describe(view, detailed=True)[len(fields) :]
        ]
    return rows(spark, DESCRIBE, found)
