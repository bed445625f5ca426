"""The constructs that docs/sql.md lists as refused: each is refused with a position."""

from __future__ import annotations

import pytest

from hive_views.errors import SqlError
from hive_views.sql.writing.expand import expand
from tests.unit.sql.tables import Tables

TABLES = {
    "d.t": {"k": "int", "v": "int", "st": "struct<a:int,f:int>", "js": "string"},
    "d.u": {"k": "int", "t": "struct<k:int>", "w": "int"},
    "d.region": {"rid": "int", "name": "string"},
    "d.cust": {"cid": "int", "region": "string"},
    "s.s": {"s": "struct<a:int>", "k": "int", "a": "int"},
    "d.files": {},
    "d.days": {"current_date": "date", "k": "int"},
}
CASES = [
    ("select grouping(k) from t group by k", "need GROUP BY with ROLLUP, CUBE or GROUPING SETS"),
    ("select cast(k as text) from t", "Spark has no type text"),
    ("select cast(k as array<struct<a:int64>>) from t", "Spark has no type int64"),
    ("select cast(k as decimal(39,2)) from t", r"Spark has no type decimal\(39,2\)"),
    ("select * from files", "are not in the metastore, only in its files"),
    ("select u.*, f.* from u, files f", "are not in the metastore, only in its files"),
    ("select u.w from u natural join files", "are not in the metastore, only in its files"),
    ("select t.k from t right join u using (k)", "is a key of USING"),
    ("select * from identifier('t')", "write the name"),
    ("select explode(from_json(js, schema_of_json(js))) from t", "not known"),
    ("select e.x from t lateral view explode(from_json(js, schema_of_json(js))) e", "not known|no such column"),
    ("select current_date from days", "is a function and a column"),
    ("select * from t pivot (max(v) for k in (1L))", "Give this value of PIVOT a name"),
    ("select * from t pivot (max(v) for k in ('a\\\\b'))", "Give this value of PIVOT a name"),
    ("select * from t pivot (max(v), max(v + 1) for k in (1))", "Give each of several aggregates"),
    ("select * from t pivot (max(v) for k in (1)) p", "no alias behind PIVOT"),
    ("select * from t pivot (max(v) for k in (1 as x, 2 as X))", "a column name twice"),
    ("select * from t pivot (max((select max(w) from u)) for k in (1))", "A query or a star in PIVOT"),
    ("select * from t pivot (count(struct(*)) for k in (1))", "A query or a star in PIVOT"),
    ("select * from t pivot (max(v) for (k, v) in (1))", "has 2 columns in FOR"),
    ("select * from t tablesample (5 rows) x pivot (max(v) for k in (1))", "put the table into a subquery"),
    ("select * from t version as of 1 x pivot (max(v) for k in (1))", "put the table into a subquery"),
    ("select * from t with ('k' = 'v') pivot (max(v) for k in (1))", "put the table into a subquery"),
    ("select * from (select k, k, v from t) pivot (max(v) for k in (1))", "need different column names"),
    ("select * from t unpivot (x for n in (st.a, k))", "takes columns, not fields"),
    ("select * from t unpivot ((x, y) for n in ((k, v), k))", "has 2 value columns"),
    ("select u.x from t unpivot (x for js in (k, v)) u", "a column name twice"),
    ("select t.k from t join u on true pivot (max(v) for w in (1))", "after a join"),
    ("select u.w from u, t unpivot (x for n in (k, v))", "in a join"),
    ("select `count(1)` from (select count(*) from t) x", "that Spark generates"),
    ("select x.`(k + 1)` from (select k + 1 from t) x", "that Spark generates"),
    (
        "with q as (select max(k) from t) select 1 as a where exists (select `max(k)` from q)",
        "that Spark generates",
    ),
    ("select k from t order by `k + 1`", "Invalid"),
    ("select k from t join u using (k, k)", "names column 'k' twice"),
    ("select k from t x(k, k, a, b)", "column reference 'k'"),
    ("select k from t order by 2", "Invalid position"),
    ("select t.*, count(*) as n from t group by 1", "with a star"),
    ("select k, count(*) as n from t group by 1, 2", "is an aggregate"),
    ("select name from region where exists (select 1 from cust where cid = region.rid)", "another column inside|rid"),
    ("select * except (st.a, st.f) from t", "leaves no field"),
    ("select * except (nothing) from t", "EXCEPT"),
    ("select * except (k) from t, u", "Ambiguous"),
    ("select x.a from values (1, 2), (3) as x(a, b)", "different numbers of columns"),
    ("select q from (values ((select max(k) from u))) as x(q)", "VALUES contains a query"),
    ("select q from values (1, (select max(k) from missing)) as x(p, q)", "VALUES contains a query"),
    ("select k from t limit (select max(k) from u)", "names u"),
    ("select k from t offset (select max(k) from u)", "names u"),
    ("select k from t tablesample ((select max(k) from u) rows)", "names u"),
    ("select k from t timestamp as of (select max(k) from u)", "names u"),
    ("select to_json(struct(*)) as j from (select k + 1, v from t)", "without a name"),
    ("with q as (select k, -k from t) select struct(q.*) as j from q", "without a name"),
    ("select struct(*) as j from (select t.k, u.k from t, u) x", "without a name"),
    ("select (k, v) as j from t full join u using (k)", "would not be called k"),
    ("select arrays_zip(k) as j from t full join u using (k)", "would not be called k"),
    ("select x.k from (select k, max(v) from t group by k) x natural join u", "NATURAL JOIN"),
    ("select k, -k from t union by name select -k, k from t", "UNION BY NAME"),
    ("select k from (select k, v as user from t) x order by user", "is a function here"),
    ("select count(*) as n from (select k, v as user from t) x group by k having user > 1", "is a function here"),
    ("select 1 as 0x1F", "cannot be a name"),
    ("select k from t union corresponding select k from u", "CORRESPONDING"),
    ("select k from t full join u using k", "in parentheses"),
    ("select -- k from t", "SELECT list is empty"),
    ("select s.s.s.a from s.s", "can begin with a catalog"),
    ("select s.s.s.* from s.s", "can begin with a catalog"),
    ("select struct(k, v).* from t", "star of an expression"),
    ("select k as (x, y) from t", "several names"),
    ("select x.k from (t join u using (k)) x", "write a query"),
    ("select x.w from (t cross join u) x", "write a query"),
    ("select x.k from t x, u x", "one FROM clause has it twice"),
    ("select k from t |> where k > 1 union all select k from u", "write |> in front of UNION"),
    ("from t |> set t.k = 1", "SET takes a column without its table"),
    ("from t |> set nothing = 1", "have no column nothing"),
    ("from t |> drop st.a", "DROP takes columns"),
    ("from t |> drop nothing", "have no column nothing"),
    ("from t |> join u on true |> drop k", "more than one column k"),
    ("from t |> extend 1 as v, 2 as v |> where k > 1", "have the column v twice"),
    ("from t |> extend 1 as k |> select k", "Ambiguous"),
    ("from t |> aggregate max(v) as m group by 9", "GROUP BY position 9"),
    ("from t |> aggregate max(v) as m group by rollup(k)", "is not supported: write columns"),
    ("from t |> aggregate max(v) as m group by rollup (k)", "is not supported: write columns"),
    ("from t |> describe", "the pipe operator DESCRIBE is not supported"),
    ("from t |> as x |> select t.k", "Invalid"),
    ("from t |> drop k, v, st, js", "DROP leaves no column"),
    ("from t |> where k > 1 |>", "nothing follows"),
    ("from t" + " |> where k > 1" * 101, "More than 100 pipe operators"),
]
CASES_OF_TRINO = [
    ("select k from t |> where k > 1", "only Spark reads the pipe operator"),
    ("select * from t pivot (max(v) for k in (1, 2))", "PIVOT"),
    ("select * from (values (1, 2)) as x", "have no names"),
    ("with q as (values (1, 2)) select * from q", "have no names"),
    ("select x.a from (values (1, 2)) as x(a)", "has 2 columns"),
    ("select * from t cross join unnest(array[1]) as x", "have no names"),
    ("select k from t match_recognize (order by k pattern (a) define a as a.k > 1)", "MATCH_RECOGNIZE"),
    ("select k from t union all corresponding select k from u", "CORRESPONDING"),
]


CASES_OF_HIVE = [
    ("select k from t |> where k > 1", "only Spark reads the pipe operator"),
    ("with a as (select k from u), u as (select k from t) select a.k from a", "WITH defines u later"),
    ("with a as (select k from (select k from u) x), u as (select k from t) select a.k from a", "WITH defines u later"),
    ("select v + 1 as t, max(k) as m from t group by v + 1 having max(k) > 1", "Hive reads it as a field"),
    ("select v + 1 as t, max(k) as m from t group by v + 1 having max(st.a) > 1", "Hive reads it as a field"),
    ("select t.k, max(k.w) + 1 as m from t join u k on t.k = k.k group by t.k", "Hive reads it as a field"),
    (
        "select t.k from t join (select w from u) k on t.k = w group by t.k having max(w) > 1",
        "Hive reads it as a field",
    ),
    ("select max(k) as m, v as t from t group by v order by max(k) + 1", "Hive reads it as a field"),
    ("select max(k) as m, st.a as t from t group by st.a order by st.a", "Hive reads it as a field"),
    ("select distinct max(k) as m, st.a from t x group by st.a order by st.a", "Invalid table alias"),
    ("select k from (select distinct k from t order by v) x", "possible column names are: k"),
    ("select distinct v + 1 as x, k from t cluster by v", "possible column names are: x, k"),
    ("select sum(k) over (partition by (select max(w) from u)) as s from t", "not allowed in window functions"),
    ("select x.k from (t cross join region) x", "cannot have an alias"),
]


@pytest.mark.parametrize(
    ("dialect", "sql", "reason"),
    [
        *(("spark", *case) for case in CASES),
        *(("trino", *case) for case in CASES_OF_TRINO),
        *(("hive", *case) for case in CASES_OF_HIVE),
    ],
)
def test_construct_is_refused_with_a_position(dialect: str, sql: str, reason: str) -> None:
    with pytest.raises(SqlError, match=reason) as error:
        expand(sql, Tables(TABLES), database="d", dialect=dialect)
    assert error.value.line == 1
    assert error.value.column is not None
