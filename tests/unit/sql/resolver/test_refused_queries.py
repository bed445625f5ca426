"""Queries that Spark refuses for where their columns and calls are: not grouped, not selected, in a wrong clause.

The fixture has queries, and whether Spark 4.1.4 refuses them (`tests/integration/spark/test_refused_queries.py`).
"""

from __future__ import annotations

import pytest

from hive_views.errors import SqlError
from hive_views.sql.resolver.ungrouped_columns import HAVING_AS_WHERE
from hive_views.sql.types.spark_inference import ANSI
from hive_views.sql.writing.expand import AuthorContext, expand
from tests.unit.sql.hive_fixtures import load_cases
from tests.unit.sql.tables import Tables

COLUMNS = {
    "o": {"a": "int", "b": "int", "s": "string"},
    "u": {"a": "int", "c": "int"},
    "w": {
        "a": "int",
        "m": "map<string,int>",
        "st": "struct<x:int,y:string>",
        "arr": "array<int>",
        "d": "date",
        "t": "timestamp",
        "n": "decimal(10,2)",
        "f": "double",
    },
}
CASES = load_cases("refused_queries.jsonl")
MOST_MISSED = 92
"""Aggregates of inner and outer columns, ORDER BY above HAVING, calls that may be equal to a key, queries in lambdas
(which 3.5 reads), and others."""


def reason(sql: str, **conf: str) -> str | None:
    author = AuthorContext(conf={ANSI: "true", **conf})
    try:
        expansion = expand(sql, Tables(COLUMNS), database="d", dialect="spark", author=author)
    except SqlError as error:
        return str(error)
    refusal = expansion.resolution.refusal()
    return str(refusal) if refusal is not None else None


def test_queries_are_refused_as_by_spark() -> None:
    found = {case["sql"] for case in CASES if reason(case["sql"]) is not None}
    expected = {case["sql"] for case in CASES if case["refused"]}
    assert found - expected == set()
    assert len(expected - found) <= MOST_MISSED


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT a, b FROM o GROUP BY a", "line 1:11 o.b is neither in GROUP BY nor in an aggregate function"),
        ("SELECT * FROM o GROUP BY a", "line 1:8 o.b is neither in GROUP BY nor in an aggregate function"),
        ("SELECT DISTINCT a FROM o ORDER BY b", "line 1:35 SELECT DISTINCT is sorted by b, which it does not select"),
        ("SELECT a FROM o WHERE max(b) > 1", "line 1:23 Spark does not call max() in WHERE"),
        ("SELECT max(min(b)) AS m FROM o", "line 1:12 Spark does not call min() inside of another aggregate"),
        ("SELECT rank() AS r FROM o", "line 1:8 rank() needs OVER (…)"),
        ("SELECT rank() OVER () AS r FROM o", "line 1:8 rank() needs ORDER BY in OVER (…)"),
        ("SELECT rank() OVER w AS r FROM o", "line 1:8 There is no window w: define it with WINDOW w AS (…)"),
        ("SELECT abs(a) OVER () AS r FROM o", "line 1:8 abs() is neither a window function nor an aggregate"),
        ("SELECT 1 + explode(array(a)) AS r FROM o", "line 1:12 Spark calls explode() as a whole element of SELECT"),
        ("SELECT a FROM o LATERAL VIEW abs(a) x AS y", "line 1:30 abs() produces no rows for LATERAL VIEW"),
        ("SELECT (SELECT a, b FROM o) AS z", "This query has 2 columns where 1 can be read"),
        ("SELECT a, count(*) AS c FROM o GROUP BY a + 1", "line 1:8 o.a is neither in GROUP BY nor in an aggregate"),
        ("SELECT a + 2 AS x FROM o GROUP BY a + 1", "line 1:8 o.a is neither in GROUP BY nor in an aggregate"),
        ("SELECT s AS x FROM o GROUP BY (s, a)", "line 1:8 o.s is neither in GROUP BY nor in an aggregate"),
        (
            "SELECT max(b) AS x FROM o GROUP BY x",
            "line 1:36 x is computed by an aggregate, by which Spark does not group",
        ),
        ("SELECT a + 1 AS x, sum(x) OVER () AS y FROM o", "line 1:24 Spark does not read the alias x in a window"),
        ("SELECT a AS x, max(x) AS y FROM o GROUP BY a", "line 1:20 Spark does not read the alias x in an aggregate"),
        ("SELECT a AS x, (SELECT max(c) FROM u WHERE u.a = x) AS y FROM o", "does not read the alias x in a subquery"),
        ("SELECT max(rand()) AS x FROM o", "line 1:12 Spark does not call rand() in an aggregate"),
        ("SELECT a FROM o ORDER BY a IN (SELECT a FROM u)", "Spark reads IN and EXISTS with a query not in ORDER BY"),
        ("SELECT lag(a) OVER (ORDER BY a ROWS 1 PRECEDING) AS x FROM o", "line 1:8 lag() has no frame"),
        ("SELECT rank() OVER (ORDER BY a ROWS 1 PRECEDING) AS x FROM o", "line 1:8 rank() has no such frame"),
        ("SELECT sum(a) OVER (ORDER BY a ROWS b PRECEDING) AS x FROM o", "Spark needs constant bounds of a frame"),
        ("SELECT sum(a) OVER (ORDER BY s RANGE 1 PRECEDING) AS x FROM o", "Spark has no RANGE of INT over STRING"),
    ],
)
def test_message_says_where_and_why(sql: str, message: str) -> None:
    assert message in (reason(sql) or "")


def test_having_without_group_by_can_be_a_filter() -> None:
    assert reason("SELECT a FROM o HAVING a > 1") is not None
    assert reason("SELECT a FROM o HAVING a > 1", **{HAVING_AS_WHERE: "true"}) is None


def test_functions_that_are_not_built_in_may_be_aggregates() -> None:
    assert reason("SELECT a, my_sum(b) AS s FROM o GROUP BY a") is None
    assert reason("SELECT a, d.my_sum(b) AS s FROM o GROUP BY a") is None
    assert reason("SELECT d.max(a) AS m, b FROM o") is None
    assert reason("SELECT s, d.max(max(a)) AS m FROM o GROUP BY s") is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT max((SELECT a FROM u UNION ALL SELECT c FROM u ORDER BY a LIMIT 1)) AS a FROM o",
        "SELECT a AS x, (SELECT max(x) FROM (SELECT c AS x FROM u)) AS y FROM o",
        "SELECT a AS x, transform(array(1), x -> x) AS y FROM o",
        "SELECT max(b) AS x FROM (SELECT b, a AS x FROM o) GROUP BY x",
        "SELECT a FROM o GROUP BY a IN (SELECT a FROM u), a ORDER BY a IN (SELECT a FROM u)",
        "SELECT transform(array(1), z -> (SELECT 1)) AS x FROM o",  # Spark 3.5 reads it
    ],
)
def test_names_and_queries_that_mean_something_else(sql: str) -> None:
    assert reason(sql) is None


@pytest.mark.parametrize(
    ("item", "key"),
    [
        ("coalesce(my_function(a), b)", "coalesce(my_function(a), b)"),
        ("b + my_function(a)", "b + my_function(a)"),
        ("a * .5", "a * 0.5"),
        ("a + 07", "a + 7"),
        ("a * 1E1", "a * 1e1"),
        ("a >= 1 AND a <= 2", "a BETWEEN 1 AND 2"),  # the same in Spark 3.5
        ("1 + a", "a + 1"),
        ("NOT a <= 1", "a > 1"),
        ("nvl(a, b)", "coalesce(a, b)"),
    ],
)
def test_expression_that_may_be_equal_to_a_key_is_accepted(item: str, key: str) -> None:
    assert reason(f"SELECT {item} AS x, count(*) AS c FROM o GROUP BY {key}") is None
