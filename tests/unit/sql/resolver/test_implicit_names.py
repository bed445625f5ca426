"""The names of columns without an alias: those of Spark 4.1.4 (`spark_names.jsonl`), and those of Hive 4.1.0.

`tests/integration/spark/test_implicit_names.py` compares the fixture with the installed Spark.
"""

from __future__ import annotations

import pytest

from hive_views.errors import SqlError
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.writing.expand import AuthorContext, expand
from tests.unit.sql.hive_fixtures import load_cases
from tests.unit.sql.tables import Tables

CASES = load_cases("spark_names.jsonl")
TABLES = Tables(
    {
        "d.t": {
            "id": "int",
            "big": "bigint",
            "x": "string",
            "n": "decimal(12,3)",
            "ts": "timestamp",
            "dt": "date",
            "arr": "array<int>",
            "s": "struct<f:int,g:struct<h:int>>",
            "m": "map<string,int>",
            "ss": "array<struct<q:int>>",
            "ms": "map<string,struct<q:int>>",
            "bin": "binary",
            "b": "boolean",
        },
        "d.u": {"id": "int", "y": "string"},
    }
)


def expanded(sql: str, dialect: Dialect = Dialect.SPARK) -> str:
    return expand(sql, TABLES, database="d", dialect=dialect).expanded


@pytest.mark.parametrize("case", CASES, ids=[case["item"] for case in CASES])
def test_column_has_the_name_that_spark_gives_it(case: dict[str, str | None]) -> None:
    (name,) = expand(f"select {case['item']} from t", TABLES, database="d", dialect=Dialect.SPARK).names

    is_computed = case["name"] is not None and case.get("computed", True)
    assert name == (str(case["name"]).lower() if is_computed else "_c0")


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        (
            "select cast(a as int) from values ('10'), ('2') as v(a) order by a limit 1",
            "select cast(`v`.`a` as int) AS `a` from values ('10'), ('2') as `v`(`a`) order by a limit 1",
        ),
        ("select 'x' from t order by x limit 1", "select 'x' AS `x` from `d`.`t` order by x limit 1"),
        (
            "select q.id from (select cast(ID as string) from t) q",
            "select `q`.`id` from (select cast(`t`.`id` as string) AS `ID` from `d`.`t`) `q`",
        ),
        (
            "with c as (select id::string, 1 from t) select * from c",
            "with c as (select `t`.`id`::string AS `id`, 1 AS `1` from `d`.`t`) select `c`.`id`, `c`.`1` from c",
        ),
        (
            "select y from u where id in (select cast(n as int) from t order by n limit 1)",
            "select `u`.`y` from `d`.`u` where `u`.`id` in "
            "(select cast(`t`.`n` as int) AS `n` from `d`.`t` order by n limit 1)",
        ),
        # Nothing can name the column of these subqueries.
        (
            "select id from t where exists (select 1 from u where u.id = t.id)",
            "select `t`.`id` from `d`.`t` where exists (select 1 from `d`.`u` where `u`.`id` = `t`.`id`)",
        ),
        (
            "select cast(id as string) from t union all select y from u order by id",
            "select cast(`t`.`id` as string) AS `id` from `d`.`t` union all select `u`.`y` from `d`.`u` order by id",
        ),
        (
            "from t |> select cast(id as string) |> order by id |> limit 2",
            "from `d`.`t` |> select cast(`t`.`id` as string) AS `id` |> order by id |> limit 2",
        ),
        ("select 'z', count(*) c from t group by z", "select 'z' AS `z`, count(*) `c` from `d`.`t` group by z"),
        (
            "select id::string || 'a', x from t order by id limit 2",
            "select `t`.`id`::string || 'a' AS `_c0`, `t`.`x` from `d`.`t` order by `t`.`id` limit 2",
        ),
        (
            "select * from (select string(int(id)), x from t order by id limit 1) q",
            "select `q`.`id`, `q`.`x` from "
            "(select string(int(`t`.`id`)) AS `id`, `t`.`x` from `d`.`t` order by id limit 1) `q`",
        ),
        # A generated name is none of a column that a clause can name.
        (
            "select upper(x) from (select x, id _c0 from t) order by _c0",
            "select upper(`x`) AS `_c0_` from (select `t`.`x`, `t`.`id` `_c0` from `d`.`t`) order by `_c0`",
        ),
        # A column of FROM has the name of the function.
        (
            "select string(id) from (select id, 1 string from t) order by id",
            "select string(`id`) AS `id` from (select `t`.`id`, 1 `string` from `d`.`t`) order by id",
        ),
        (
            "select q.`1` from (select int('1')) q",
            "select `q`.`1` from (select int('1') AS `1`) `q`",
        ),
        (
            "select window(ts, '1 day'), count(*) c from t group by window(ts, '1 day')",
            "select window(`t`.`ts`, '1 day') AS `window`, count(*) `c` from `d`.`t` "
            "group by window(`t`.`ts`, '1 day')",
        ),
        ("select 1, `1` + 1 k from t", "select 1 AS `1`, `1` + 1 `k` from `d`.`t`"),
    ],
)
def test_clauses_of_spark_can_name_the_column(sql: str, text: str) -> None:
    assert expanded(sql) == text


@pytest.mark.parametrize(
    "sql",
    [
        "select cast(id as string), id from t",
        "select q.id from (select +id from t) q",
        "select * from (select cast(id as bigint) from t) a join u on a.id = u.id",
        "select q.`count(1)` from (select count(*) from t) q",
    ],
)
def test_names_that_spark_refuses_are_refused(sql: str) -> None:
    with pytest.raises(SqlError):
        expanded(sql)


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("select cast(id as string) from t", ("id",)),
        ("select cast(id as string), count(*) c from t group by id", ("_c0", "c")),
        ("select distinct cast(id as string), x from t", ("_c0", "x")),
        ("select * from (select cast(id as string), max(x) from t group by id order by id) q", ("_c0", "_c1")),
        ("select 'x', 1, true from t", ("_c0", "_c1", "_c2")),
    ],
)
def test_hive_names_columns_by_position_above_group_by(sql: str, names: tuple[str, ...]) -> None:
    for mode in ("portable", "hive-exact"):
        assert expand(sql, TABLES, database="d", dialect=Dialect.HIVE, mode=mode).names == names


@pytest.mark.parametrize(
    "sql",
    [
        "select id::string, id from t order by id limit 2",
        "select 'x', x from t order by x",
        "select id::string, id from t having id > '1'",
        "select 1 key, explode(m) from t",
        "select id a, id a, big _col1 from t",
        "from t |> select id, id::string, big |> order by big",
    ],
)
def test_a_name_twice_is_refused_where_a_clause_can_use_it(sql: str) -> None:
    count = 3 if "_col1" in sql or "explode" in sql or "|>" in sql else 2
    with pytest.raises(SqlError, match=r"Duplicate column name|the column id twice"):
        expand(
            sql,
            TABLES,
            database="d",
            dialect=Dialect.SPARK,
            author=AuthorContext(column_names=("p", "q", "r")[:count], view_name="v"),
        )


def test_a_column_list_can_name_columns_of_one_name() -> None:
    sql = "select cast(id as string), id from t"

    expansion = expand(
        sql, TABLES, database="d", dialect=Dialect.SPARK, author=AuthorContext(column_names=("a", "b"), view_name="v")
    )

    assert expansion.names == ("a", "b")
    assert expansion.expanded == (
        "SELECT `id` AS `a`, `_col1` AS `b` FROM "
        "(select cast(`t`.`id` as string) AS `id`, `t`.`id` AS `_col1` from `d`.`t`) `v`"
    )
