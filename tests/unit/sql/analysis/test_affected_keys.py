"""Which output columns are keys for the changes of a table."""

from __future__ import annotations

import pytest

from hive_views.sql.analysis.incremental import IncrementalQuery, NotIncrementalError, key_columns

NONE: dict[int, str] = {}


def keys(sql: str, table: str) -> dict[int, str]:
    query = IncrementalQuery(sql, "spark", "db")
    try:
        return key_columns(query, next(at for at, leaf in enumerate(query.leaves) if leaf.name[1] == table))
    except NotIncrementalError:
        return NONE


@pytest.mark.parametrize(
    ("sql", "of_t", "of_u"),
    [
        ("SELECT a, b + 1 AS c FROM t", {0: "a"}, None),
        ("SELECT t.a AS x, u.y FROM t JOIN u ON t.a = u.x", {0: "a"}, {0: "x", 1: "y"}),
        ("SELECT t.a, u.y FROM t JOIN u ON t.a = u.x AND t.b > u.z", {0: "a"}, {0: "x", 1: "y"}),
        ("SELECT t.a, u.y FROM t JOIN u ON t.a = u.x OR t.b = u.y", {0: "a"}, {1: "y"}),
        ("SELECT t.a, t.b, u.y FROM t LEFT JOIN u ON t.a = u.x", {0: "a", 1: "b"}, {0: "x"}),
        ("SELECT t.b, u.x, u.y FROM t LEFT JOIN u ON t.a = u.x", {0: "b"}, NONE),
        ("SELECT t.a, t.b FROM t LEFT SEMI JOIN u ON t.a = u.x", {0: "a", 1: "b"}, {0: "x"}),
        ("SELECT t.a, t.b FROM t LEFT ANTI JOIN u ON t.a = u.x", {0: "a", 1: "b"}, {0: "x"}),
        ("SELECT t.a, u.x FROM t RIGHT JOIN u ON t.a = u.x", NONE, NONE),
        ("SELECT t.a, u.x FROM t FULL JOIN u ON t.a = u.x", NONE, NONE),
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
        ("SELECT t.a FROM t WHERE t.a IN (SELECT u.x FROM u)", {0: "a"}, NONE),
        ("WITH w AS (SELECT a FROM t) SELECT a FROM w", NONE, None),
        ("SELECT a, e FROM t LATERAL VIEW explode(c) x AS e", NONE, None),
        ("SELECT count(*) AS n FROM (SELECT a FROM t) AS s", NONE, None),
        ("SELECT t.a FROM t LEFT JOIN u ON t.a = u.x JOIN w AS v ON v.y = u.y", {0: "a"}, {0: "x"}),
    ],
)
def test_key_columns(sql: str, of_t: dict[int, str], of_u: dict[int, str] | None):
    assert keys(sql, "t") == of_t
    if of_u is not None:
        assert keys(sql, "u") == of_u
