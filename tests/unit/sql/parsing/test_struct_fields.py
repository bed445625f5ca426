"""Names of fields without AS in `struct(…)`; the types are those of Spark 4.1.4."""

from __future__ import annotations

import pytest

from hive_views.errors import SqlError
from hive_views.sql.parsing.spark_grammar import check_spark_text
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.writing.expand import expand
from tests.unit.sql.tables import Tables

TABLES = Tables({"t": {"i": "int", "s": "string", "date": "int", "day": "int", "a": "array<struct<b:int>>"}})
FIELDS = {
    "1 x": "int",
    "i x": "int",
    "t.i `x`": "int",
    "- 1 x": "int",
    "1.5 x": "decimal(2,1)",
    "1L x": "bigint",
    "'a' 'b' x": "string",
    "r'a' x": "string",
    "x'1F' x": "binary",
    "true x": "boolean",
    "null x": "void",
    "date x": "int",
    "day x": "int",
    "date '2020-01-01' x": "date",
    "timestamp '2020-01-01 00:00:00' x": "timestamp",
    "current_date x": "date",
    "interval '1' day x": "interval day",
    "interval '1-2' year to month x": "interval year to month",
    "a[0] x": "struct<b:int>",
    "a[0].b x": "int",
    "i::bigint x": "bigint",
    "s::decimal(3,2) x": "decimal(3,2)",
    "cast(i as string) x": "string",
    "count(*) x": "bigint",
    "sum(1) over () x": "bigint",
    "(select 1 a) x": "int",
    "exists(select 1) x": "boolean",
    "case when true then 1 end x": "int",
    "i = 1 x": "boolean",
    "i in (1, 2) x": "boolean",
    "i is null x": "boolean",
    "i is not null x": "boolean",
    "(i = 1) is true x": "boolean",
    "i is distinct from 1 x": "boolean",
    "s like 'a' x": "boolean",
    "s rlike 'a' x": "boolean",
    "struct(1 y) x": "struct<y:int>",
}
"""Fields called `x`, with their types."""


def column(item: str) -> tuple[str | None, str]:
    sql = f"select {item} as z from t"
    check_spark_text(sql)
    expansion = expand(sql, TABLES, database="d", dialect=Dialect.SPARK)
    return expansion.columns[0].type, expansion.expanded


@pytest.mark.parametrize("field", FIELDS)
def test_field_has_the_name_that_follows_its_value(field: str) -> None:
    assert column(f"struct({field}, 2 y)")[0] == f"struct<x:{FIELDS[field]},y:int>"
    if "struct(" not in field:
        assert column(f"struct({field}, 2 y).x")[0] == FIELDS[field]


@pytest.mark.parametrize("name", ["left", "end", "interval", "year", "date", "day", "`a b`", "Xy"])
def test_keywords_are_names_of_fields(name: str) -> None:
    """`struct(1 day)` has a field `day`, `struct(interval 1 day)` has not."""
    assert column(f"struct(i {name})")[0] == f"struct<{name}:int>"


@pytest.mark.parametrize(
    "value",
    [
        "interval 1 day",
        "interval 1 day 2 hours",
        "interval '1' day",
        "case when true then i end",
        "s collate utf8_binary",
    ],
)
def test_value_that_ends_with_a_word_has_no_name(value: str) -> None:
    kind, text = column(f"struct({value}, 1 b)")
    assert kind in (None, "struct<col1:interval day,b:int>", "struct<col1:int,b:int>")
    assert "struct(" in text


def test_columns_are_qualified_and_names_are_not() -> None:
    assert column("struct(i a, t.s b)")[1] == "select struct(`t`.`i` a, `t`.`s` b) as `z` from `d`.`t`"


@pytest.mark.parametrize(
    "call", ["array(1 a)", "sum(1 a)", "map(1 a, 2 b)", "if(true a, 1, 2)", "coalesce(1 a)", "`struct`(1 a)", "(1 a)"]
)
def test_other_calls_take_no_names(call: str) -> None:
    with pytest.raises(SqlError, match="Cannot read the text"):
        column(call)
