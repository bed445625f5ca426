"""Names in ORDER BY, HAVING, table-generating functions and table functions of dialect `spark`.

Each expanded text was compared with the author's text in Spark 4.1.4 by `random_check` (tests/unit/sql).
"""

from __future__ import annotations

import pytest

from tests.unit.sql.resolver.test_colliding_names import check, expanded

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
    *(
        (f"{item} n, count(*) m from t1 group by 1", f"{written} n, count(*) m from t1 group by {written}")
        for item, written in (
            ("k::date", "t1.k::date"),
            ("-k::int", "-t1.k::int"),
            ("(k::int)", "(t1.k::int)"),
            ("k is unknown", "t1.k is unknown"),
            ("k collate UTF8_LCASE", "t1.k collate UTF8_LCASE"),
            ("k like any ('a', 'b')", "t1.k like any ('a', 'b')"),
            ("k + interval '1' day", "t1.k + interval '1' day"),
            ("interval '1' day * k", "interval '1' day * t1.k"),
        )
    ),
    (
        "distinct 1, k::int, 2 from t1 group by 2",
        "distinct 1 AS 1, t1.k::int AS k, 2 AS 2 from t1 group by t1.k::int",
    ),
    # table-generating functions
    ("posexplode(arr) from region", "posexplode(region.arr) from region"),
    ("rid, posexplode(arr) from region", "region.rid, posexplode(region.arr) from region"),
    ("rid, posexplode(arr) as (p, v) from region", "region.rid, posexplode(region.arr) as (p, v) from region"),
    ("rid, explode(map('x', rid)) from region", "region.rid, explode(map('x', region.rid)) from region"),
    ("* from (select posexplode(arr) from region)", "pos, col from (select posexplode(region.arr) from region)"),
    ("col from region lateral view posexplode(arr) e", "e.col from region lateral view posexplode(region.arr) e"),
    ("explode(from_json(name, schema_of_json(name))) from region", "! AS (…)"),
    # table functions
    ("* from range(3)", "id from range(3)"),
    ("x from range(3) r(x)", "r.x from range(3) r(x)"),
    ("* from explode(map('a', 1))", "key, value from explode(map('a', 1))"),
    ("* from inline(array(named_struct('x', 1)))", "x from inline(array(named_struct('x', 1)))"),
    ("* from stack(2, 1, 2, 3, 4) as s(p, q)", "s.p, s.q from stack(2, 1, 2, 3, 4) as s(p, q)"),
    ("* from json_tuple('{}', 'a', 'b')", "c0, c1 from json_tuple('{}', 'a', 'b')"),
    ("* from identifier('t1')", "! write the name"),
    # a key that is no column of the result, and a column with the name of its table
    ("c.* from t1 c full join (select k, j c from t1) d using (k)", "! give the table another alias"),
    ("c.k from t1 c full join (select k, j c from t1) d using (k)", "! give the table another alias"),
    # ON of a lateral subquery
    (
        "v1 from t1 left join lateral (select v2 from t2 where t2.k = t1.k) l on v2 = (select max(v4) from t4)",
        "t1.v1 from t1 left join lateral (select t2.v2 from t2 where t2.k = t1.k) l"
        " on l.v2 = (select max(t4.v4) from t4)",
    ),
    ("v1 from t1 join lateral (select k from t2) l using (k)", "! JOIN LATERAL"),
    # lambdas
    (
        "rid from region where exists(arr, x -> x > rid)",
        "region.rid from region where exists(region.arr, x -> x > region.rid)",
    ),
    (
        "transform(arr, x -> exists(arr, y -> y = x + rid)) e from region",
        "transform(region.arr, x -> exists(region.arr, y -> y = x + region.rid)) e from region",
    ),
    (
        "v1 from t1 join region on exists(arr, x -> x = k)",
        "t1.v1 from t1 join region on exists(region.arr, x -> x = t1.k)",
    ),
    ("t1.v1 from t1 join t2 on exists(array(1), x -> x = k)", "! Ambiguous column reference 'k'"),
    (
        "transform(arr, region -> region + rid) e from region",
        "transform(region.arr, region -> region + rid) e from region",
    ),
    ("transform(arr, region -> region.rid) e from region", "transform(region.arr, region -> region.rid) e from region"),
    (
        "rid from region where exists (select 1 from t1 where exists(arr, region -> region = rid))",
        "region.rid from region where exists (select 1 from t1 where exists(region.arr, region -> region = rid))",
    ),
    # joins in parentheses
    ("* from (t2 cross join city) x", "x.k, x.v2, x.name, x.id from (t2 cross join city) x"),
    ("k, x.id from (t2 cross join city) x, t2 y where x.k = y.k", "! Ambiguous column reference 'k'"),
    ("x.k from (t2) as x", "x.k from (t2) as x"),
    ("t2.k from (t2) as x", "! Invalid table alias"),
    ("x.k, t2.v2 from (t2 cross join city) x, t2", "x.k, t2.v2 from (t2 cross join city) x, t2"),
    ("b, x.d from (t2 cross join city) as x(a, b, c, d)", "x.b, x.d from (t2 cross join city) as x(a, b, c, d)"),
    ("x.v1 from (t1 cross join t2) x", "! a column name twice"),
    ("x.k from (t1 join t2 using (k)) x", "! USING"),
    ("x.k from ((select k from t1) x cross join city)", "x.k from ((select t1.k from t1) x cross join city)"),
    # the alias of a semi join's table ends with the join
    (
        "t1.v1, x.v2 from t1 left semi join t4 x on t1.k = x.k join t2 x on t1.k = x.k",
        "t1.v1, x.v2 from t1 left semi join t4 x on t1.k = x.k join t2 x on t1.k = x.k",
    ),
    # the field of a struct keeps the name of a key
    (
        "struct(v1, k) s from t1 full join t2 using (k)",
        "struct(t1.v1, coalesce(t1.k, t2.k) AS k) s from t1 full join t2 on t1.k = t2.k",
    ),
    # functions that are called without parentheses come before lateral aliases and outer columns
    ("k as user, upper(user) u, user from t1", "t1.k as user, upper(user) u, user AS current_user() from t1"),
    ("user from (select k user from t1) x", "x.user from (select t1.k user from t1) x"),
    (
        "user u from (select k user from t1) x where exists (select 1 from t2 where user = 'a' and v2 = x.user)",
        "x.user u from (select t1.k user from t1) x where exists"
        " (select 1 from t2 where user = 'a' and t2.v2 = x.user)",
    ),
    ("transform(arr, y -> user) e from region", "transform(region.arr, y -> user) e from region"),
    # names of columns
    ("k + 1 as _cost, _cost + 1 from t1", "t1.k + 1 as _cost, _cost + 1 AS _c1 from t1"),
    (
        "* from (select k + 1, j as _c0 from t1) x",
        "x._c0_, x._c0 from (select t1.k + 1 AS _c0_, t1.j as _c0 from t1) x",
    ),
    ("named_struct('x', k).x from t1", "named_struct('x', t1.k).x AS _c0 from t1"),
]


@pytest.mark.parametrize(("sql", "expected"), TEXTS, ids=[case[0] for case in TEXTS])
def test_clause_is_read_as_spark_reads_it(sql: str, expected: str) -> None:
    check("spark", f"select {sql}", expected if expected.startswith("!") else f"select {expected}")


WITHOUT_SELECT = [
    ("from t2", "SELECT t2.k, t2.v2 from t2"),
    ("table t2", "SELECT t2.k, t2.v2 FROM t2"),
    ("table t2 union all table t2", "SELECT t2.k, t2.v2 FROM t2 union all SELECT t2.k, t2.v2 FROM t2"),
    ("from t2 union distinct from t2", "SELECT t2.k, t2.v2 from t2 union distinct SELECT t2.k, t2.v2 from t2"),
    ("select * from (table t2) x", "select x.k, x.v2 from (SELECT t2.k, t2.v2 FROM t2) x"),
    ("select * from (from t2) x", "select x.k, x.v2 from (SELECT t2.k, t2.v2 from t2) x"),
    ("with q as (table t2) from q", "with q as (SELECT t2.k, t2.v2 FROM t2) SELECT q.k, q.v2 from q"),
    ("select v2 from t2 where (k, v2) in (table t2)", "in (SELECT t2.k, t2.v2 FROM t2)"),
    ("from t2 select k", "from t2 select t2.k"),
    ("from t2 |> where k > 1", "from t2 |> where t2.k > 1 |> SELECT t2.k, t2.v2"),
    ("select k from t2 |> union all (select k from t2)", "select t2.k from t2 |> union all (select t2.k from t2)"),
    ("from t2 |> union all (table t2)", "from t2 |> SELECT t2.k, t2.v2 |> union all (SELECT t2.k, t2.v2 FROM t2)"),
    (
        "select v2 from (from t2 |> where k > 1) x",
        "select x.v2 from (from t2 |> where t2.k > 1 |> SELECT t2.k, t2.v2) x",
    ),
    (
        "with q as (from t2 |> where k > 1) select k from q",
        "with q as (from t2 |> where t2.k > 1 |> SELECT t2.k, t2.v2) select q.k from q",
    ),
    ("with q(a) as (values 1) select a from q", "with q(a) as (values 1) select q.a from q"),
    ("from t2 |> where k in (values 1)", "from t2 |> where t2.k in (values 1) |> SELECT t2.k, t2.v2"),
    ("values (1) union all select k from t2", "values (1) union all select t2.k from t2"),
    ("select k is distinct from v2 as x from t2", "select t2.k is distinct from t2.v2 as x from t2"),
    (
        "select k from t2 with ('split-size'='5') where k > 1",
        "select t2.k from t2 with ('split-size'='5') where t2.k > 1",
    ),
]


@pytest.mark.parametrize(("sql", "expected"), WITHOUT_SELECT, ids=[case[0] for case in WITHOUT_SELECT])
def test_query_without_select_or_with_table_options(sql: str, expected: str) -> None:
    text = expanded("spark", sql)
    assert text.endswith(expected) if expected.startswith("in ") else text == expected
