"""Column lineage: the columns of tables that each column of a query is computed from."""

from __future__ import annotations

import pytest

from hive_views.sql.resolver.origins import source_columns, unchanged_type
from hive_views.sql.writing.expand import expand
from tests.unit.sql.tables import Tables

STRUCT = "struct<f:int,k:int>"
TABLES = {
    "t": {"k": "int", "v": "int", "st": STRUCT, "arr": "array<int>", "m": "map<string,int>"},
    "u": {"k": "int", "w": "int", "v": "int"},
    "r": {"a": "int", "b": "int", "c": "int"},
}


CASES = [
    "spark | select v, k + 1 as x from t where st.f > 1 order by arr[0] | v=t.v x=t.k",
    "spark | select st.f, st.k as y, t.st.f as z from t | f=t.st y=t.st z=t.st",
    "spark | select st.* from t | f=t.st k=t.st",
    "spark | select k.f from (select st as k, v from t) x | f=t.st",
    "spark | select x.v, y.w from t x, lateral (select w, x.k from u where u.k = x.k) y | v=t.v w=u.w",
    "spark | select y.z from t x, lateral (select x.k + w as z from u) y | z=t.k,u.w",
    "spark | select struct(*) as s from u | s=u.k,u.v,u.w",
    "spark | select array(*) as s from u | s=u.k,u.v,u.w",
    "spark | select concat(u.*) as s from u join t on u.k = t.k | s=u.k,u.v,u.w",
    "spark | select struct(* except (v)) as s from u | s=u.k,u.w",
    "spark | select struct(* except (s.v)) as r from (select struct(k, v) as s, v from u) | r=u.k,u.v",
    "spark | select struct(* except (q.s)) as r from (select struct(k) as s, v from u) q | r=u.v",
    "spark | select struct(* except (s.k)) as r from (select struct(w, k) as s, k from u) | r=u.k,u.w",
    "spark | select count(*) as n, count(v) as c from u | n= c=u.v",
    "spark | select (select t.v) as x from t | x=t.v",
    "spark | select (select max(w) from u where u.k = t.k) as x from t | x=u.w",
    "spark | select k in (select w from u) as x, exists (select w from u) as y from t | x=t.k,u.w y=",
    "spark | select v1, k from u as x(v1, k, z) | v1=u.k k=u.w",
    "spark | select v1 from (select k, w from u) as x(v1, y) | v1=u.k",
    "spark | with x(p, q) as (select w, v from u) select q, p from x | q=u.v p=u.w",
    "spark | select k as st, st.f as x from t | st=t.k x=t.st",
    "spark | select sum(v) over w as s from t window w as (partition by k order by st.f) | s=t.k,t.st,t.v",
    "hive | select sum(v) over w as s from t window w as (partition by k) | s=t.k,t.v",
    "hive | select sum(w) over (partition by k) as s, rank() over (order by v) as r from u | s=u.k,u.w r=u.v",
    "spark | select k + 1 as x, count(*) as n from t group by x | x=t.k n=",
    "spark | select k + 1 as x, x * v as y from t | x=t.k y=t.k,t.v",
    "spark | select max(v) as m, k from t group by k having m > 1 | m=t.v k=t.k",
    "hive | select max(v) as m, k from t group by k having m > 1 | m=t.v k=t.k",
    "hive | select k + 1 as x, sum(v) + max(k) as y from t group by k + 1 | x=t.k y=t.k,t.v",
    "hive | select t.k, sum(k) over (order by k) as s from t group by t.k | k=t.k s=t.k",
    "hive | select distinct k, v + 1 as y from t | k=t.k y=t.v",
    "spark | select explode(m) from t | key=t.m value=t.m",
    "spark | select explode(m) as (a, b), v from t | a=t.m b=t.m v=t.v",
    "hive | select e.a, e.b from t lateral view explode(m) e as a, b | a=t.m b=t.m",
    "hive | select p, x from t lateral view posexplode(arr) e as p, x | p=t.arr x=t.arr",
    "spark | select stack(2, k, v, 3, st.f) as (a, b) from t | a=t.k b=t.st,t.v",
    "hive | select e.a, e.b from t lateral view stack(2, k, v, v, 1) e as a, b | a=t.k,t.v b=t.v",
    "spark | select col1, v from t, values (1, 2), (3, 4) | col1= v=t.v",
    "spark | select a, t.v from t cross join (values (1), (2)) as x(a) | a= v=t.v",
    "spark | select id, id + v as y from range(3), u | id= y=u.v",
    "spark | select k, w from t join u using (k) | k=t.k w=u.w",
    "spark | select k from t right join u using (k) | k=u.k",
    "spark | select k from t full join u using (k) | k=t.k,u.k",
    "spark | select * from t left semi join u on t.k = u.k | k=t.k v=t.v st=t.st arr=t.arr m=t.m",
    "spark | select k from t union all select w from u | k=t.k,u.w",
    "spark | select k, v from t except select w, v from u | k=t.k v=t.v",
    "spark | select k, v from t union all by name select v, k from u | k=t.k,u.k v=t.v,u.v",
    "spark | select transform(arr, x -> x + k) as y from t | y=t.arr,t.k",
    "spark | select case when k > 1 then v else st.f end as y from t | y=t.k,t.st,t.v",
    "spark | with recursive x(a, b, c) as (select a, b, c from r union all select b, c, 1 from x) select a, b from x"
    " | a=r.a,r.b,r.c b=r.b,r.c",
    "spark | select x.* from (select k, v from t where v > (select max(w) from u)) x | k=t.k v=t.v",
    "spark | select * from u pivot (max(w) for k in (1 as a, 2 as b)) | v=u.v a=u.k,u.w b=u.k,u.w",
    "spark | select * from u unpivot (n for c in (v, w)) | k=u.k c= n=u.v,u.w",
    "spark | from u |> set v = w + 1 |> drop k |> extend v * w as y | w=u.w v=u.w y=u.w",
    "spark | from t |> join u using (k) |> aggregate max(w) as m group by t.v + 1 as g | g=t.v m=u.w",
    "trino | select x.e, t.v from t cross join unnest(arr) as x(e) | e=t.arr v=t.v",
    "trino | select k, u.w from t join u using (k) | k=t.k w=u.w",
]


@pytest.mark.parametrize("case", CASES)
def test_columns_come_from_the_columns_that_names_refer_to(case: str) -> None:
    dialect, sql, expected = case.split(" | ")
    expansion = expand(sql, Tables(TABLES), database="d", dialect=dialect)
    lineage = {
        name: ",".join(sorted(f"{table}.{source}" for _, table, source in source_columns(expansion.resolution, column)))
        for name, (_, column) in zip(expansion.names, expansion.resolution.columns, strict=True)
    }
    assert " ".join(f"{name}={sources}" for name, sources in lineage.items()) == expected


@pytest.mark.parametrize(
    ("sql", "types"),
    [
        ("select k, v + 1 as x from t", ["int", None]),
        ("select y.w from (select w from u) y", ["int"]),
        ("select k, grouping__id as g, count(*) as n from t group by k with rollup", ["int", "bigint", None]),
        ("select x.g from (select grouping__id as g from t group by k with rollup) x", ["bigint"]),
    ],
)
def test_types_of_unchanged_columns(sql: str, types: list[str | None]) -> None:
    resolution = expand(sql, Tables(TABLES), database="d").resolution
    assert [unchanged_type(resolution, column) for _, column in resolution.columns] == types
