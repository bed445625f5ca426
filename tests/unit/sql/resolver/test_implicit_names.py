"""The names of columns without an alias: those of Spark 4.1.4 (`spark_names.jsonl`), and those of Hive 4.1.0.

`tests/integration/spark/test_implicit_names.py` compares the fixture with the installed Spark.
"""

from __future__ import annotations

import pytest

from hive_views.errors import SqlError
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.writing.expand import AuthorContext, expand
from tests.unit.sql.hive_fixtures import load_cases
from tests.unit.sql.text_cases import TextCase, each_case, read_tables

CASES = load_cases("spark_names.jsonl")
TABLES = read_tables("implicit_names.txt")


def expanded(sql: str, dialect: Dialect = Dialect.SPARK) -> str:
    return expand(sql, TABLES, database="d", dialect=dialect).expanded


@pytest.mark.parametrize("case", CASES, ids=[case["item"] for case in CASES])
def test_column_has_the_name_that_spark_gives_it(case: dict[str, str | None]) -> None:
    (name,) = expand(f"select {case['item']} from t", TABLES, database="d", dialect=Dialect.SPARK).names

    is_computed = case["name"] is not None and case.get("computed", True)
    assert name == (str(case["name"]).lower() if is_computed else "_c0")


@each_case("implicit_names.txt")
def test_clauses_of_spark_can_name_the_column(case: TextCase) -> None:
    if case.error is None:
        assert expanded(case.sql) == case.expanded
    else:
        with pytest.raises(SqlError) as error:
            expanded(case.sql)
        assert case.error in str(error.value)


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
