"""Which output columns are keys for the changes of a table."""

from __future__ import annotations

import pytest

from hive_views.sql.analysis.incremental import IncrementalQuery, NotIncrementalError
from hive_views.sql.analysis.key_columns import key_columns
from hive_views.sql.analysis.with_clauses import without_with
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.text.dialects import Dialect

Keys = dict[int | tuple[int, ...], str]
NONE: Keys = {}
COLUMNS = {("db", "t"): tuple("abcm"), ("db", "u"): tuple("xyz"), ("db", "w"): ("a", "y")}


def keys(sql: str, table: str) -> Keys:
    query = IncrementalQuery(sql, "spark", "db", COLUMNS)
    leaf = next(at for at, leaf in enumerate(query.leaves) if leaf.name[1] == table)
    try:
        given = key_columns(query, leaf, len(query.tree.selects))
    except NotIncrementalError:
        return NONE
    return {at[0] if len(at) == 1 else at: key.column for at, key in given.items()}


CASES: list[tuple[str, Keys, Keys | None]] = [
    ("SELECT a, b + 1 AS c FROM t", {0: "a"}, None),
    ("SELECT t.a AS x, u.y FROM t JOIN u ON t.a = u.x", {0: "a"}, {0: "x", 1: "y"}),
    ("SELECT t.a, u.y FROM t JOIN u ON t.a = u.x AND t.b > u.z", {0: "a"}, {0: "x", 1: "y"}),
    ("SELECT t.a, u.y FROM t JOIN u ON t.a = u.x OR t.b = u.y", {0: "a"}, {1: "y"}),
    ("SELECT t.a, t.b, u.y FROM t LEFT JOIN u ON t.a = u.x", {0: "a", 1: "b"}, {0: "x"}),
    ("SELECT t.b, u.x, u.y FROM t LEFT JOIN u ON t.a = u.x", {0: "b"}, NONE),
    ("SELECT t.a, t.b FROM t LEFT SEMI JOIN u ON t.a = u.x", {0: "a", 1: "b"}, {0: "x"}),
    ("SELECT t.a, t.b FROM t LEFT ANTI JOIN u ON t.a = u.x", {0: "a", 1: "b"}, {0: "x"}),
    ("SELECT t.a, u.x, u.y FROM t RIGHT JOIN u ON t.a = u.x", {1: "a"}, {1: "x", 2: "y"}),
    ("SELECT t.a, u.y FROM t RIGHT JOIN u ON t.a = u.x", NONE, {1: "y"}),
    # A row of u that is not joined has NULL in t.a, so that neither column alone says which rows are affected.
    ("SELECT t.a, t.b, u.x FROM t FULL JOIN u ON t.a = u.x", {(0, 2): "a"}, {(0, 2): "x"}),
    ("SELECT coalesce(u.x, t.a) AS k, t.b FROM t FULL OUTER JOIN u ON t.a = u.x", {0: "a"}, {0: "x"}),
    ("SELECT t.a, t.b FROM t FULL JOIN u ON t.a = u.x", NONE, NONE),
    ("SELECT t.a, t.b FROM t FULL JOIN u ON t.a < u.x", NONE, NONE),
    (
        "SELECT coalesce(t.a, s.k) AS k, s.n FROM t FULL JOIN "
        "(SELECT x AS k, count(*) AS n FROM u GROUP BY x) AS s ON t.a = s.k",
        {0: "a"},
        {0: "x"},
    ),
    # The types of the two sides cannot be compared.
    ("SELECT coalesce(t.a, s.k) AS k FROM t FULL JOIN (SELECT x + 1 AS k FROM u) AS s ON t.a = s.k", NONE, NONE),
    (
        "SELECT coalesce(t.a, u.x) AS k, count(*) AS n FROM t FULL JOIN u ON t.a = u.x GROUP BY coalesce(t.a, u.x)",
        {0: "a"},
        {0: "x"},
    ),
    ("SELECT t.a, u.x, w.y FROM t FULL JOIN u ON t.a = u.x LEFT JOIN w ON w.a = t.a", {(0, 1): "a"}, {(0, 1): "x"}),
    ("SELECT t.a, u.y FROM t, u WHERE t.a = u.x", {0: "a"}, {0: "x", 1: "y"}),
    ("SELECT a, y FROM t JOIN u ON a = x", {0: "a"}, {0: "x", 1: "y"}),
    ("SELECT t.a, u.y FROM t JOIN u USING (a)", {0: "a"}, {1: "y"}),
    # A row of t that is not joined keeps its place with NULL in u.x: the value of u.x says nothing.
    ("SELECT u.x AS k FROM t LEFT JOIN u ON t.a = u.x", NONE, NONE),
    ("SELECT a, avg(b) AS m, count(DISTINCT c) AS d FROM t GROUP BY a HAVING avg(b) > 1", {0: "a"}, None),
    ("SELECT a, b, sum(c) AS s FROM t GROUP BY 1, 2", {0: "a", 1: "b"}, None),
    ("SELECT a, sum(c) AS s FROM t GROUP BY a, b", {0: "a"}, None),
    ("SELECT upper(a) AS a, sum(c) AS s FROM t GROUP BY upper(a)", NONE, None),
    ("SELECT sum(c) AS s FROM t", NONE, None),
    ("SELECT a, sum(c) AS s FROM t GROUP BY a WITH ROLLUP", NONE, None),
    ("SELECT t.a, stddev(u.y) AS s FROM t LEFT JOIN u ON t.a = u.x GROUP BY t.a", {0: "a"}, {0: "x"}),
    ("SELECT DISTINCT a, b FROM t", {0: "a", 1: "b"}, None),
    ("SELECT a, b, rank() OVER (PARTITION BY a ORDER BY b) AS r FROM t", {0: "a"}, None),
    ("SELECT a, b, rank() OVER (ORDER BY b) AS r FROM t", NONE, None),
    ("SELECT a, b, sum(c) OVER (PARTITION BY a, b) AS r, max(c) OVER (PARTITION BY b) AS m FROM t", {1: "b"}, None),
    ("SELECT a, b FROM t ORDER BY a", {0: "a", 1: "b"}, None),
    ("SELECT a, b FROM t ORDER BY a LIMIT 3", NONE, None),
    ("SELECT a AS k, b FROM t UNION ALL SELECT x, y FROM u", {0: "a", 1: "b"}, {0: "x", 1: "y"}),
    ("SELECT a AS k FROM t UNION SELECT x FROM u", {0: "a"}, {0: "x"}),
    ("SELECT a AS k FROM t EXCEPT SELECT x FROM u", {0: "a"}, {0: "x"}),
    ("SELECT k, n FROM (SELECT a AS k, count(*) AS n FROM t GROUP BY a) AS s WHERE n > 1", {0: "a"}, None),
    ("SELECT k, n FROM (SELECT * FROM (SELECT a, count(*) FROM t GROUP BY a) AS i (k, n)) AS s", NONE, None),
    (
        "SELECT k, n FROM (SELECT * FROM (SELECT a, count(*) AS c FROM t GROUP BY a) AS i (k, n)) AS s",
        {0: "a"},
        None,
    ),
    (
        "SELECT u.x, s.n FROM u LEFT JOIN (SELECT a, count(*) AS n FROM t GROUP BY a) AS s ON u.x = s.a",
        {0: "a"},
        {0: "x"},
    ),
    # Two comparisons may convert a value to another type and back.
    ("SELECT w.a, s.y FROM w LEFT JOIN (SELECT u.x, t.y FROM u JOIN t ON u.x = t.a) AS s ON w.a = s.x", NONE, None),
    ("SELECT w.a FROM w LEFT JOIN (SELECT a AS k FROM t UNION SELECT x FROM u) AS s ON w.a = s.k", NONE, NONE),
    ("SELECT w.a FROM w LEFT JOIN t ON w.a = t.a UNION ALL SELECT x FROM u", NONE, {0: "x"}),
    ("SELECT a AS k FROM t UNION SELECT x FROM u UNION SELECT 1", {0: "a"}, {0: "x"}),
    ("SELECT w.a, s.b FROM w LEFT JOIN (SELECT a, b FROM t WHERE b > 1) AS s ON w.a = s.a", {0: "a"}, None),
    ("SELECT t.a FROM t WHERE t.a IN (SELECT u.x FROM u)", {0: "a"}, {0: "x"}),
    ("SELECT t.a FROM t WHERE t.a NOT IN (SELECT u.x FROM u)", {0: "a"}, NONE),
    ("SELECT t.a FROM t WHERE t.b > 0 OR t.a IN (SELECT u.x FROM u)", {0: "a"}, NONE),
    ("SELECT a, b FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.x = t.a AND u.y > t.b)", {0: "a", 1: "b"}, {0: "x"}),
    ("SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE x = a)", {0: "a"}, {0: "x"}),
    ("SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.x > t.a)", {0: "a"}, NONE),
    ("SELECT a, (SELECT max(y) FROM u WHERE u.x = t.a) AS m FROM t", {0: "a"}, {0: "x"}),
    ("SELECT a, sum(b) AS s FROM t GROUP BY a HAVING sum(b) > (SELECT max(y) FROM u)", {0: "a"}, NONE),
    ("SELECT b, count(*) AS n FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.x = t.a) GROUP BY b", {0: "b"}, NONE),
    ("WITH w AS (SELECT a FROM t) SELECT a FROM w", NONE, None),
    ("SELECT a, e FROM t LATERAL VIEW explode(c) x AS e", {0: "a"}, None),
    ("SELECT t.a, e FROM t LATERAL VIEW explode(c) x AS e", {0: "a"}, None),
    ("SELECT t.a, e FROM t LATERAL VIEW OUTER explode(c) x AS e GROUP BY t.a, e", {0: "a"}, None),
    ("SELECT x.a, t.b FROM t LATERAL VIEW explode(c) x AS a", {1: "b"}, None),
    # stack returns two columns, so that a is the third.
    ("SELECT stack(1, b, c), a FROM t", NONE, None),
    ("SELECT k FROM (SELECT stack(1, b, c), a AS k FROM t) AS s", NONE, None),
    ("SELECT a AS k, count(*) AS n FROM t GROUP BY k", {0: "a"}, None),
    ("SELECT a AS b, count(*) AS n FROM t GROUP BY b", NONE, None),
    ("SELECT t.a, count(*) AS n FROM t GROUP BY a", {0: "a"}, None),
    ("SELECT a, b, count(*) AS n FROM t GROUP BY ALL", {0: "a", 1: "b"}, None),
    ("SELECT a, 1 AS b FROM t AS x (b, a, c, m)", NONE, None),
    ("SELECT a, 1 AS b FROM t AS x (b, a)", NONE, None),
    ("SELECT a, 1 AS b FROM t UNPIVOT (a FOR n IN (a, q))", NONE, None),
    ("SELECT a, 1 AS b FROM t PIVOT (sum(b) FOR c IN ('x' AS a))", NONE, None),
    ("SELECT TRANSFORM(a) USING 'wc' AS (a) FROM t", NONE, None),
    ("SELECT count(*) AS n FROM (SELECT a FROM t) AS s", NONE, None),
    ("SELECT t.a FROM t LEFT JOIN u ON t.a = u.x JOIN w AS v ON v.y = u.y", {0: "a"}, {0: "x"}),
]


@pytest.mark.parametrize(("sql", "of_t", "of_u"), CASES)
def test_key_columns(sql: str, of_t: Keys, of_u: Keys | None):
    assert keys(sql, "t") == of_t
    if of_u is not None:
        assert keys(sql, "u") == of_u


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1", "SELECT 1"),
        ("WITH s AS (SELECT a FROM t) SELECT s.a FROM s", "SELECT s.a FROM (SELECT a FROM t) AS `s`"),
        ("WITH s (k) AS (SELECT a FROM t) SELECT x.k FROM s x",
         "SELECT x.k FROM (SELECT * FROM (SELECT a FROM t) AS `s` (k)) x"),
        ("WITH s AS (SELECT 1), r AS (SELECT * FROM s) SELECT * FROM r, db.s",
         "SELECT * FROM (SELECT * FROM (SELECT 1) AS `s`) AS `r`, db.s"),
        ("WITH t AS (SELECT a FROM t) SELECT a FROM t", "SELECT a FROM (SELECT a FROM t) AS `t`"),
        ("SELECT a FROM (WITH s AS (SELECT ')' AS a) SELECT a FROM s) AS x -- s",
         "SELECT a FROM (SELECT a FROM (SELECT ')' AS a) AS `s`) AS x -- s"),
        ("WITH s AS (SELECT a FROM t) SELECT a FROM s UNION SELECT a FROM s",
         "SELECT a FROM (SELECT a FROM t) AS `s` UNION SELECT a FROM (SELECT a FROM t) AS `s`"),
        ("WITH s AS (WITH s AS (SELECT 1 AS a) SELECT a FROM s) SELECT a FROM s",
         "SELECT a FROM (SELECT a FROM (SELECT 1 AS a) AS `s`) AS `s`"),
    ],
)  # fmt: skip
def test_with_becomes_subqueries(sql: str, expected: str):
    assert without_with(parse_query(sql, Dialect.SPARK)) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE s AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM s WHERE a < 3) SELECT a FROM s",
        "WITH s AS (SELECT 1 AS a) SELECT * FROM (WITH s AS (SELECT 2 AS a) SELECT a FROM s) AS x",
        "WITH q0 AS (SELECT 1 AS a), "
        + ", ".join(f"q{at} AS (SELECT x.a FROM q{at - 1} x, q{at - 1} y)" for at in range(1, 20))
        + " SELECT a FROM q19",
    ],
)
def test_with_that_cannot_become_subqueries_is_rejected(sql: str):
    with pytest.raises(NotIncrementalError, match="WITH"):
        without_with(parse_query(sql, Dialect.SPARK))
