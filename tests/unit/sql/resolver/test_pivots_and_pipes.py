"""PIVOT, UNPIVOT and pipe operators of dialect `spark`: columns, expanded texts, and what tables that grow change.

Each text was compared with the author's text in Spark 4.1.4 by `random_check`; `hostile_spark.jsonl` has more of them.
"""

from __future__ import annotations

import pytest

from hive_views.sql.writing.expand import expand
from tests.unit.sql.tables import Tables

TABLES = {"t": {"k": "int", "v": "int", "s": "string"}, "u": {"k": "int", "w": "int"}}
NOW = Tables(TABLES)
GROWN = Tables({name: {**columns, "z": "int"} for name, columns in TABLES.items()})
"""The tables with a column more."""


def expanded(sql: str, *, grown: bool = False) -> str:
    return expand(sql, GROWN if grown else NOW, database="d", dialect="spark").expanded.replace("`", "")


INPUT = "(SELECT t.k, t.v, t.s FROM d.t) t"
TEXTS = [
    ("select * from t pivot (max(v) for k in (1, 2))", f"select t.s, 1, 2 from {INPUT} pivot (max(v) for k in (1, 2))"),
    (
        "select s, x_m from t q pivot (max(v) m, min(v) for k in (1 as x))",
        "select q.s, x_m from (SELECT t.k, t.v, t.s FROM d.t) q pivot (max(v) m, min(v) for k in (1 as x))",
    ),
    (
        "select * from (select k, v from t) pivot (max(v) for k in (-1, 1.50, null, true))",
        "select -1, 1.50, null, true from (select t.k, t.v from d.t) pivot (max(v) for k in (-1, 1.50, null, true))",
    ),
    (
        "select * from t pivot (count(*) for (k, s) in ((1, 'x'), (2, 'y') as y))",
        f"select t.v, {{1, x}}, y from {INPUT} pivot (count(*) for (k, s) in ((1, 'x'), (2, 'y') as y))",
    ),
    (
        "select * from t pivot (count(*) for (k, v) in (struct(1, 2), named_struct('k', -1, 'v', 2), (3, 4) as y))",
        f"select t.s, {{1, 2}}, {{-1, 2}}, y from {INPUT} "
        "pivot (count(*) for (k, v) in (struct(1, 2), named_struct('k', -1, 'v', 2), (3, 4) as y))",
    ),
    (
        "select * from t unpivot (n for c in (K, v as Vee))",
        f"select t.s, c, n from {INPUT} unpivot (n for c in (K, v as Vee))",
    ),
    (
        "select * from t unpivot include nulls ((a, b) for c in ((k, v), (v, k))) as p",
        f"select p.s, p.c, p.a, p.b from {INPUT} unpivot include nulls ((a, b) for c in ((k, v), (v, k))) as p",
    ),
    (
        "select k, v, w from t unpivot (n for c in (v)) pivot (max(n) for c in ('v')) join u using (k)",
        "select t.k, v, u.w from (SELECT t.k, t.v, t.s FROM d.t) t unpivot (n for c in (v)) "
        "pivot (max(n) for c in ('v')) join d.u using (k)",
    ),
    ("from t |> set v = k + 1", "from d.t |> SELECT t.k,  t.k + 1 AS v, t.s"),
    ("from t |> set k=v,v=k", "from d.t |> SELECT t.v AS k, t.v, t.s |> SELECT k, k AS v, t.s"),
    ("from t |> drop K, s |> where v > 1", "from d.t |> SELECT t.v |> where t.v > 1"),
    ("from t |> extend k + 1 as z |> select z", "from d.t |> SELECT t.k, t.v, t.s, t.k + 1 as z |> select z"),
    ("from t |> extend k + 1", "from d.t |> SELECT t.k, t.v, t.s, t.k + 1 AS _c1"),
    ("from t |> as x |> select x.k", "from d.t |> SELECT t.k, t.v, t.s |> as x |> select x.k"),
    ("from t |> where t.k > 1 |> where v > 1", "from d.t |> where t.k > 1 |> SELECT t.k, t.v, t.s |> where t.v > 1"),
    ("from t |> join u using (k) |> select u.k", "from d.t |> join d.u using (k) |> select u.k"),
    (
        "from t |> full join u using (k) |> select k",
        "from d.t |> full join d.u on t.k = u.k |> select coalesce(t.k, u.k) AS k",
    ),
    (
        "from t, u |> join t x on w = x.k |> select u.k",
        "from d.t, d.u |> SELECT t.k, t.v, t.s, u.k, u.w |> join d.t x on u.w = x.k |> select u.k",
    ),
    (
        "from t |> aggregate max(v) as m group by k + 1 as p, s |> order by p |> limit 1",
        "from d.t |> aggregate max(t.v) as m group by t.k + 1 as p, t.s |> order by p |> limit 1",
    ),
    ("from t |> aggregate sum(v) group by 1, (3)", "from d.t |> aggregate sum(t.v) AS _c2 group by t.k, (t.s)"),
    ("from t |> aggregate group by 1 as one, 2", "from d.t |> aggregate group by 1 as one, t.v"),
    (
        "from t |> select s, k + v as z |> aggregate count(*) as n group by 2",
        "from d.t |> select t.s, t.k + t.v as z |> aggregate count(*) as n group by z",
    ),
    (
        "from t |> full join u using (k) |> aggregate count(*) as n group by 1",
        "from d.t |> full join d.u on t.k = u.k |> aggregate count(*) as n group by coalesce(t.k, u.k) AS k",
    ),
    (
        "select left.v from t unpivot (n for c in (k)) left join u on true",
        f"select left.v from {INPUT} unpivot (n for c in (k)) left join d.u on true",
    ),
    (
        "from t |> select k |> union all select k from u |> where k > 1",
        "from d.t |> select t.k |> union all select u.k from d.u |> where k > 1",
    ),
    (
        "from t |> pivot (max(v) for k in (1 as x)) |> set x = x + 1",
        "from d.t |> SELECT t.k, t.v, t.s |> pivot (max(v) for k in (1 as x)) |> SELECT t.s,  x + 1 AS x",
    ),
    (
        "select k from t where exists (from u |> where u.k = t.k)",
        "select t.k from d.t where exists (from d.u |> where u.k = t.k |> SELECT u.k, u.w)",
    ),
    ("values (1, 2) |> set col1 = col2", "values (1, 2) |> SELECT col2 AS col1, col2"),
    ("select * from inline(array(struct(1, 2 as b)))", "select col1, b from inline(array(struct(1, 2 as b)))"),
    ("select col from explode(sequence(1, 3))", "select col from explode(sequence(1, 3))"),
]


@pytest.mark.parametrize(("sql", "expected"), TEXTS, ids=[case[0] for case in TEXTS])
def test_expanded_text_lists_the_columns(sql: str, expected: str) -> None:
    text = expanded(sql)
    assert text.replace("  ", " ") == expected.replace("  ", " ")
    stored = expand(sql, NOW, database="d", dialect="spark").expanded
    assert expanded(stored) == text


@pytest.mark.parametrize("sql", [case[0] for case in TEXTS if not case[0].startswith("values")])
def test_columns_and_text_stay_when_tables_get_columns(sql: str) -> None:
    expansion = expand(sql, NOW, database="d", dialect="spark")
    for text, database in ((expansion.expanded, "elsewhere"), (expansion.stored, "d")):
        grown = expand(text, GROWN, database=database, dialect="spark")
        assert grown.names == expansion.names
        assert grown.expanded == expansion.expanded


@pytest.mark.parametrize("dialect", ["hive", "trino"])
def test_other_dialects_refuse_pivots(dialect: str) -> None:
    with pytest.raises(ValueError, match="PIVOT"):
        expand("select * from t pivot (max(v) for k in (1))", NOW, database="d", dialect=dialect)
