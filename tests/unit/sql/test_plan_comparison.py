"""The plan of an expanded text is compared with the plan of the typed text, on a real Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from hive_views.errors import SqlError
from hive_views.spark.session.plans import AnalyzedQuery, check_equal
from tests.unit.sql.random_check import spark_session

pytestmark = pytest.mark.spark

TYPED = "SELECT k, t1.v, t2.w FROM t1 LEFT JOIN t2 USING (k)"


@pytest.fixture(scope="module")
def tables() -> Iterator[SparkSession]:
    session = spark_session()
    session.createDataFrame([(1, 2)], "k int, v int").createTempView("t1")
    session.createDataFrame([(1, 3)], "k int, w int").createTempView("t2")
    session.createDataFrame([(1, 3)], "k int, w int").createTempView("t3")
    yield session
    session.stop()


@pytest.mark.parametrize(
    ("altered", "reason"),
    [
        ("SELECT t2.k, t1.v, t2.w FROM t1 LEFT JOIN t2 ON t1.k = t2.k", "column k comes from"),
        ("SELECT t1.k, t1.v, t1.v FROM t1 LEFT JOIN t2 ON t1.k = t2.k", "column w comes from"),
        ("SELECT t1.k, t1.v, t3.w FROM t1 LEFT JOIN t3 ON t1.k = t3.k", "it reads"),
        ("SELECT t1.k, t1.v, cast(t2.w AS string) FROM t1 LEFT JOIN t2 ON t1.k = t2.k", "column w is string"),
        ("SELECT t1.k, t1.v FROM t1 LEFT JOIN t2 ON t1.k = t2.k", "2 columns instead of 3"),
        ("SELECT t1.k, t1.v, (SELECT max(w) FROM t2) AS w FROM t1", "it reads|comes from"),
    ],
)
def test_wrongly_expanded_text_is_rejected(tables: SparkSession, altered: str, reason: str) -> None:
    typed = AnalyzedQuery.of(tables.sql(TYPED))
    with pytest.raises(SqlError, match=reason):
        check_equal(typed, AnalyzedQuery.of(tables.sql(altered)))


def test_right_expansion_is_accepted(tables: SparkSession) -> None:
    expanded = "SELECT `t1`.`k`, `t1`.`v`, `t2`.`w` FROM `t1` LEFT JOIN `t2` ON `t1`.`k` = `t2`.`k`"
    check_equal(AnalyzedQuery.of(tables.sql(TYPED)), AnalyzedQuery.of(tables.sql(expanded)))


def test_columns_of_a_common_table_expression_are_compared_by_position(tables: SparkSession) -> None:
    typed = AnalyzedQuery.of(tables.sql("WITH c AS (SELECT k, (SELECT 1), v FROM t1) SELECT * FROM c"))
    named = "WITH c AS (SELECT k, (SELECT 1) AS _c1, v FROM t1) SELECT {} FROM c"
    check_equal(typed, AnalyzedQuery.of(tables.sql(named.format("k, _c1, v"))))
    with pytest.raises(SqlError, match="column k comes from"):
        check_equal(typed, AnalyzedQuery.of(tables.sql(named.format("v, _c1, k"))))
