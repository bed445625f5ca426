"""Forms of Spark's grammar that sqlglot does not read, and names that Spark finds in more places.

The fixture has texts with the expansions that return the same rows on Spark 4.1.4
(`tests/integration/spark/test_spark_forms.py`).
"""

from __future__ import annotations

import pytest

from hive_views.errors import SqlError
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.types.spark_inference import ANSI
from hive_views.sql.writing.expand import AuthorContext, expand
from tests.unit.sql.hive_fixtures import load_cases
from tests.unit.sql.tables import Tables

TABLES = Tables(
    {
        "t": {"id": "int", "a": "array<int>", "name": "string", "k": "int"},
        "c": {"id": "int", "x": "int"},
    }
)
TEXTS = {case["sql"]: case["expanded"] for case in load_cases("spark_forms.jsonl")}


@pytest.mark.parametrize("sql", TEXTS)
def test_expanded_text(sql: str) -> None:
    expansion = expand(sql, TABLES, database="d", dialect=Dialect.SPARK, author=AuthorContext(conf={ANSI: "true"}))
    assert expansion.expanded == TEXTS[sql]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("select (*) from c", "A star in parentheses"),
        ("select ((c.*)) from c", "A star in parentheses"),
        ("select x 'z' as c", "Cannot read the text"),
        ("from t |> extend a as x |> extend k as X |> drop id", "the column x twice"),
        ("from t |> extend k + 1 as k |> drop id", "the column k twice"),
        ("with w as (select t.id) select (select max(id) from w) from t", "Invalid table alias"),
        *(
            (f"from t m {join} |> {operator} |> select {star}.*", "has a key of USING or NATURAL JOIN in front of")
            for join, star in (
                *(("join c n using (id)", "n"), ("left join c n using (id)", "n"), ("natural join c n", "n")),
                *(("right join c n using (id)", "m"), ("full join c n using (id)", "m")),
                *(("full join c n using (id)", "n"), ("|> join c n using (id)", "n")),
            )
            for operator in ("limit 3", "extend 1 as e", "order by x |> limit 2")
        ),
    ],
)
def test_refused_text(sql: str, reason: str) -> None:
    with pytest.raises(SqlError, match=reason):
        expand(sql, TABLES, database="d", dialect=Dialect.SPARK)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("decode(1, 1, 2)", "bigint"),
        ("decode(1, 1, 2, 2, 2.5)", "double"),
        ("decode(1, 1, 2, 2, 2.5, 'x')", "double"),
        ("decode(1, 1, cast(2 as smallint), 2, 3L, cast(1 as tinyint))", "bigint"),
        ("decode(2, 1, 'a', 2, 'b', 3, 'c', 4, 'd', 'none')", "string"),
        ("decode('a', 'b', 1, 'c', 2, 3.5)", "decimal(11,1)"),
        ("decode(1, 1, date'2020-01-01', 2, timestamp'2020-01-01 00:00:00')", "timestamp"),
        ("decode(X'41', 'utf-8')", "string"),
        ("uniform(1, cast(2 as decimal(7,4)))", "decimal(7,4)"),
        ("uniform(cast(1 as decimal(5,1)), 2.5F)", "float"),
        ("uniform(1y, 2s)", "smallint"),
        ("uniform(cast(1 as decimal(5,1)), cast(2 as decimal(7,4)))", "decimal(7,4)"),
        ("uniform(cast(1 as decimal(7,4)), cast(2 as decimal(5,1)))", "decimal(5,1)"),
        ("uniform(cast(1 as decimal(7,4)), cast(2 as decimal(5,3)))", "decimal(7,4)"),
    ],
)
def test_types_of_calls(call: str, kind: str | None) -> None:
    expansion = expand(
        f"select {call} as x", TABLES, database="d", dialect=Dialect.SPARK, author=AuthorContext(conf={ANSI: "true"})
    )
    assert [column.type for column in expansion.columns] == [kind]


def test_null_of_stack_has_the_type_of_other_rows() -> None:
    sql = "select stack(2, 1, 1.1, null, 2, null, 'b')"
    columns = expand(sql, TABLES, database="d", dialect=Dialect.SPARK).columns
    assert [column.type for column in columns] == ["int", "decimal(2,1)", "string"]


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("CHAR(10)", "string"),
        ("VARCHAR(10)", "string"),
        ("array<char(3)>", "array<string>"),
        ("struct<x: varchar(3), n: long>", "struct<x:string,n:bigint>"),
        ("decimal(5, 2)", "decimal(5,2)"),
        ("TIMESTAMP_NTZ", "timestamp_ntz"),
        ("tinyint", "tinyint"),
    ],
)
def test_types_of_transform(declared: str, kind: str) -> None:
    sql = f"select transform (id, x) using 'cat' as (a {declared}, b int) from c"
    expansion = expand(sql, TABLES, database="d", dialect=Dialect.SPARK)
    assert [column.type for column in expansion.columns] == [kind, "int"]
