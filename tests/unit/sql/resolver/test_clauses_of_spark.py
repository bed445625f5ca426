"""Names in ORDER BY, HAVING, table generating functions and table functions of dialect `spark`.

Each expanded text was compared with the author's text in Spark 4.1.4 by `random_check` (tests/unit/sql).
"""

from __future__ import annotations

import pytest

from tests.unit.sql.resolver.test_colliding_names import check

TEXTS = [
    # ORDER BY names the columns of the result first
    ("k, v2 from t1 join t2 on true order by v2", "! Ambiguous column reference 'k'"),
    ("t1.k, v2 from t1 join t2 on true order by k", "t1.k, t2.v2 from t1 join t2 on true order by k"),
    ("t1.k, v2 from t1 join t2 on true order by k + v1", "t1.k, t2.v2 from t1 join t2 on true order by k + t1.v1"),
    ("v1 as t1 from t1 order by k", "t1.v1 as t1 from t1 order by k"),
    ("v1 as t1 from t1 sort by t1.k", "t1.v1 as t1 from t1 sort by t1.k"),
    ("distinct v1 as v1, k from t1 order by v1", "distinct t1.v1 as v1, t1.k from t1 order by v1"),
    ("* from t1 order by j", "t1.v1, t1.k, t1.j from t1 order by j"),
    # HAVING names a grouping key, then an alias
    ("max(k) k, v1 from t1 group by v1 having k > 1", "max(t1.k) k, t1.v1 from t1 group by t1.v1 having k > 1"),
    ("k, max(j) j from t1 group by k having k > j", "t1.k, max(t1.j) j from t1 group by t1.k having t1.k > j"),
    ("max(k) k from t1 having max(k) > 1", "max(t1.k) k from t1 having max(t1.k) > 1"),
    ("max(j) k from t1 group by k + 1 having k + 1 > 1", "max(t1.j) k from t1 group by t1.k + 1 having t1.k + 1 > 1"),
    (
        "t1.k from t1 join t2 on true group by t1.k having k > 1",
        "t1.k from t1 join t2 on true group by t1.k having k > 1",
    ),
    # a position of GROUP BY is written as its element, but a subquery stays a position
    (
        "k, (select max(v2) from t2) m from t1 group by 1, 2",
        "t1.k, (select max(t2.v2) from t2) m from t1 group by t1.k, 2",
    ),
    # table generating functions
    ("posexplode(arr) from region", "posexplode(region.arr) from region"),
    ("rid, posexplode(arr) from region", "region.rid, posexplode(region.arr) from region"),
    ("rid, posexplode(arr) as (p, v) from region", "region.rid, posexplode(region.arr) as (p, v) from region"),
    ("rid, explode(map('x', rid)) from region", "region.rid, explode(map('x', region.rid)) from region"),
    ("* from (select posexplode(arr) from region)", "pos, col from (select posexplode(region.arr) from region)"),
    ("col from region lateral view posexplode(arr) e", "e.col from region lateral view posexplode(region.arr) e"),
    ("explode(from_json(name, 'array<int>')) from region", "! AS (…)"),
    # table functions
    ("* from range(3)", "id from range(3)"),
    ("x from range(3) r(x)", "r.x from range(3) r(x)"),
    ("* from explode(map('a', 1))", "key, value from explode(map('a', 1))"),
    ("* from inline(array(named_struct('x', 1)))", "x from inline(array(named_struct('x', 1)))"),
    ("* from stack(2, 1, 2, 3, 4) as s(p, q)", "s.p, s.q from stack(2, 1, 2, 3, 4) as s(p, q)"),
    ("* from json_tuple('{}', 'a', 'b')", "c0, c1 from json_tuple('{}', 'a', 'b')"),
    ("* from identifier('t1')", "! table function"),
    # a key that is no column of the result, and a column with the name of its table
    ("c.* from t1 c full join (select k, j c from t1) d using (k)", "! give the table another alias"),
    ("c.k from t1 c full join (select k, j c from t1) d using (k)", "! give the table another alias"),
    # lambdas
    (
        "rid from region where exists(arr, x -> x > rid)",
        "region.rid from region where exists(region.arr, x -> x > region.rid)",
    ),
    (
        "transform(arr, x -> exists(arr, y -> y = x + rid)) e from region",
        "transform(region.arr, x -> exists(region.arr, y -> y = x + region.rid)) e from region",
    ),
    # names of columns
    ("named_struct('x', k).x from t1", "named_struct('x', t1.k).x AS _c0 from t1"),
]


@pytest.mark.parametrize(("sql", "expected"), TEXTS, ids=[case[0] for case in TEXTS])
def test_clause_is_read_as_spark_reads_it(sql: str, expected: str) -> None:
    check("spark", f"select {sql}", expected if expected.startswith("!") else f"select {expected}")


def test_from_without_select_is_written_with_select() -> None:
    check("spark", "from t2", "SELECT t2.k, t2.v2 from t2")
