"""Fields of structs and columns of inner queries are called as the author of a Spark text wrote them.

The fixture has texts with the expansions that return the same rows and types on Spark 4.1.4
(`tests/integration/spark/test_letter_case.py`).
"""

from __future__ import annotations

import pytest

from hive_views.errors import SqlError
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.writing.expand import expand
from tests.unit.sql.hive_fixtures import load_cases
from tests.unit.sql.tables import Tables

TABLES = Tables(
    {
        "t": {"id": "int", "x": "string", "s": "struct<a:int>"},
        "u": {"id": "int", "y": "string"},
        "m": {"Id": "int", "userName": "string", "S": "struct<Aa:int,bB:string>"},
    },
)


def test_expanded_texts_keep_the_spelling() -> None:
    cases = {case["sql"]: case["expanded"] for case in load_cases("letter_case.jsonl")}
    assert {sql: expand(sql, TABLES, database="d", dialect=Dialect.SPARK).expanded for sql in cases} == cases


@pytest.mark.parametrize(
    ("sql", "expanded"),
    [
        ("select Id, X from t where ID = 1", "select `t`.`id`, `t`.`x` from `d`.`t` where `t`.`id` = 1"),
        ("select Id from t union select Y from u", "select `t`.`id` from `d`.`t` union select `u`.`y` from `d`.`u`"),
    ],
)
def test_columns_of_the_view_are_in_lower_case(sql: str, expanded: str) -> None:
    assert expand(sql, TABLES, database="d", dialect=Dialect.SPARK).expanded == expanded


@pytest.mark.parametrize(
    "sql",
    [
        "select * from (select Id from t) q natural join (select ID from u) r",
        "select x from t natural join (select ID from u) r",
        "select x from t natural join m",
    ],
)
def test_natural_join_of_names_in_other_case_is_rejected(sql: str) -> None:
    with pytest.raises(SqlError, match="which Spark takes for two names: write USING"):
        expand(sql, TABLES, database="d", dialect=Dialect.SPARK)


def test_hive_has_lower_case_names() -> None:
    text = "select q.a from (select struct(Id, X) A from t) q"
    expected = "select `q`.`a` from (select struct(`t`.`id`, `t`.`x`) `A` from `d`.`t`) `q`"
    assert expand(text, TABLES, database="d", dialect=Dialect.HIVE).expanded == expected
