"""What statements about views answer, as data frames with the column names that Spark gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hive_views.describe import describe
from hive_views.spark.analyzer import spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from hive_views.execute import Result
    from hive_views.view import HiveView

SHOW_VIEWS = ("namespace", "viewName", "isTemporary")
SHOW_CREATE = ("createtab_stmt",)
DESCRIBE = ("col_name", "data_type", "comment")


def nothing(spark: SparkSession) -> DataFrame:
    """The answer of a statement that answers nothing: no rows, and no columns."""
    return spark.sql("SELECT 1 WHERE false").select()


def rows(spark: SparkSession, columns: Sequence[str], found: Sequence[Sequence[str | None]]) -> DataFrame:
    """Rows of text.

    Args:
        spark: A session.
        columns: The columns' names.
        found: The rows.

    Returns:
        The answer.
    """
    schema = ", ".join(f"`{column}` STRING" for column in columns)
    frame: DataFrame = spark.createDataFrame([tuple(row) for row in found], schema)
    return frame


def answer(spark: SparkSession, result: Result) -> DataFrame:
    """What a statement of the catalog answers.

    Args:
        spark: A session.
        result: What it did.

    Returns:
        Its rows; nothing where it has no columns.
    """
    return rows(spark, result.columns, result.rows) if result.columns else nothing(spark)


def views(spark: SparkSession, found: Sequence[tuple[str, str, bool]]) -> DataFrame:
    """The answer of SHOW VIEWS.

    Args:
        spark: A session.
        found: Database, name and whether it is temporary.

    Returns:
        The answer.
    """
    schema = "namespace STRING, viewName STRING, isTemporary BOOLEAN"
    frame: DataFrame = spark.createDataFrame(list(found), schema)
    return frame


def description(spark: SparkSession, view: HiveView, *, detailed: bool) -> DataFrame:
    """The answer of DESCRIBE.

    Args:
        spark: A session.
        view: The view.
        detailed: Whether EXTENDED or FORMATTED stands there.

    Returns:
        Columns with Spark's names of their types, and what else is known of the view.
    """
    fields = view.schema().fields
    found = [(field.name, spark_type(field.field_type), field.doc or "") for field in fields]
    if detailed:
        found += [
            (name, kind or "", comment or "") for name, kind, comment in describe(view, detailed=True)[len(fields) :]
        ]
    return rows(spark, DESCRIBE, found)
