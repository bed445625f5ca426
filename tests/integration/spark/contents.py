"""What queries return, many at a time: the rows of each as texts in one form, or why Spark does not take it.

Each query is analyzed by itself first, so that one that Spark refuses costs no other one anything; then many are run at
once. Spark interprets instead of compiling, since no query runs twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from hive_views.spark.sessions import spark_exceptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from hive_views.spark import ViewSession

Content = dict[str, Any]
"""`columns` (in lower case) and `rows` (sorted); or `problem`: Spark's name for what is wrong."""

SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.shuffle.partitions": "1",
}
_NULLS = "map('ignoreNullFields', 'false')"
_AT_ONCE = 40


def contents(
    session: SparkSession | ViewSession, queries: Mapping[str, str], settings: Mapping[str, str] | None = None
) -> dict[str, Content]:
    """Run queries."""
    for key, value in {**SETTINGS, **(settings or {})}.items():
        session.conf.set(key, value)
    results: dict[str, Content] = {}
    frames: dict[str, DataFrame] = {}
    for name, query in queries.items():
        try:
            frame = session.sql(query)
        except spark_exceptions() as error:
            results[name] = {"problem": _problem(error)}
            continue
        columns = frame.columns
        results[name] = {"columns": [column.lower() for column in columns]}
        named = frame.toDF(*(f"c{number}" for number in range(len(columns))))
        frames[name] = named.selectExpr(f"'{name}' AS name", f"to_json(struct(*), {_NULLS}) AS row")
    names = list(frames)
    for start in range(0, len(names), _AT_ONCE):
        _run(names[start : start + _AT_ONCE], frames, results)
    return results


def _run(names: Sequence[str], frames: Mapping[str, DataFrame], results: dict[str, Content]) -> None:
    """Run some; where that fails, its halves, down to the one that makes it fail."""
    try:
        rows = reduce(lambda one, other: one.union(other), (frames[name] for name in names)).collect()
    except spark_exceptions() as error:
        if len(names) == 1:
            results[names[0]] = {"problem": f"at run time: {_problem(error)}"}
            return
        middle = len(names) // 2
        _run(names[:middle], frames, results)
        _run(names[middle:], frames, results)
        return
    for name in names:
        results[name]["rows"] = sorted(row.row for row in rows if row.name == name)


def _problem(error: Exception) -> str:
    condition = getattr(error, "getCondition", lambda: None)()
    return str(condition or str(getattr(error, "java_exception", None) or error).splitlines()[0])
