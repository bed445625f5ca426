"""Proves that a statement needs no row of stale partitions, for views whose definition must not be read instead.

In the plan, the stale rows are replaced by the values of their partition column, joined with rows that are opaque to
Spark. If Spark's optimizer removes these, then the stale rows cannot change the result, whatever they contain. Only
Spark evaluates the filters of the statement, with their types, NULL and time zones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hive_views.errors import StaleRowsError
from hive_views.spark.jvm import scala_list
from hive_views.spark.sessions import run_plan, spark_exceptions
from hive_views.sql.text.quoting import quote_identifier

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from hive_views.identifiers import ViewName
    from hive_views.materialized.refresh.partition_changes import PartitionSelection
    from hive_views.spark.session.plans import AnalyzedStatement

_LOGICAL_RDD = "LogicalRDD"
_COMMAND = "org.apache.spark.sql.catalyst.plans.logical.Command"


@dataclass(frozen=True)
class StaleRows:
    """Stale rows of a materialized view in the plan of a statement."""

    view: ViewName
    condition: str
    """The condition for its stale partitions."""
    freshness: str
    rdd_id: int
    """The id of the RDD that stands for them in plans."""

    def error(self) -> StaleRowsError:
        """Return the error for a statement that needs them."""
        return StaleRowsError(str(self.view), self.freshness, self.condition)

    def is_needed(self, spark: SparkSession, statement: AnalyzedStatement | None) -> bool:
        """Return whether the result of a statement may depend on them; true if that cannot be determined."""
        if statement is None or statement.plan is None:
            return True
        from py4j.java_gateway import is_instance_of

        try:
            if statement.frame is not None:
                return self._is_leaf_of(statement.frame._jdf.queryExecution().optimizedPlan())
            plan = statement.plan
            if not is_instance_of(spark.sparkContext._gateway, plan, _COMMAND):
                return self._is_leaf_of(_optimized(spark, plan))
            queries = [*scala_list(plan.children()), *scala_list(plan.innerChildren())]
            read = [query for query in queries if self._is_leaf_of(query)]
            in_conditions = any(map(self._is_leaf_of, scala_list(plan.subqueries())))
            return in_conditions or not read or any(self._is_leaf_of(_optimized(spark, query)) for query in read)
        except spark_exceptions():
            return True  # the optimizer evaluates constants, which may fail

    def _is_leaf_of(self, plan: Any) -> bool:
        plans = [plan, *scala_list(plan.subqueriesAll())]
        leaves = (leaf for part in plans for leaf in scala_list(part.collectLeaves()))
        return any(leaf.nodeName() == _LOGICAL_RDD and leaf.rdd().id() == self.rdd_id for leaf in leaves)


def stale_rows(
    stored: DataFrame, name: ViewName, selection: PartitionSelection, freshness: str
) -> tuple[StaleRows, DataFrame]:
    """Create a data frame that stands for the rows of stale partitions in a plan, and fails if it is computed.

    Args:
        stored: All stored rows.
        name: The materialized view.
        selection: The stale partitions.
        freshness: The verdict of the freshness check on the view.

    Returns:
        The object that finds these rows in plans, and the data frame, which has the columns of the stored rows.
    """
    from pyspark.sql.types import IntegerType, StructField, StructType

    spark = stored.sparkSession
    message = str(StaleRowsError(str(name), freshness, selection.condition))

    def fail(_: object) -> Any:
        raise RuntimeError(message)

    others = [
        StructField(field.name, field.dataType, True) for field in stored.schema if field.name != selection.column
    ]
    # A data frame without columns has no rows, so it gets a column whose name no stored column can have.
    schema = StructType(others or [StructField("", IntegerType(), True)])
    unknown = spark.createDataFrame(spark.sparkContext.range(1, numSlices=1).map(fail), schema, verifySchema=False)
    rdd_id = next(leaf.rdd().id() for leaf in scala_list(unknown._jdf.queryExecution().analyzed().collectLeaves()))
    column = quote_identifier(selection.column)
    kind = stored.schema[selection.column].dataType.simpleString()
    rows = ", ".join(f"(CAST({literal} AS {kind}))" for literal in selection.literals)
    values = spark.sql(f"SELECT * FROM VALUES {rows} AS stale_partitions({column})")
    frame = values.crossJoin(unknown).select(*map(quote_identifier, stored.columns))
    return StaleRows(name, selection.condition, freshness, rdd_id), frame


def _optimized(spark: SparkSession, query: Any) -> Any:
    return run_plan(spark, query)._jdf.queryExecution().optimizedPlan()
