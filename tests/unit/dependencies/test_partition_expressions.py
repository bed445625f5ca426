"""Values of expressions of a partition column."""

from __future__ import annotations

import pytest
from sqlglot import exp

from hive_views.dependencies.partition_expressions import evaluate
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.text.dialects import Dialect

VALUES = [
    ("date_format(ds, 'yyyy')", "2026"),
    ("date_format(ds, 'yyyy-MM')", "2026-03"),
    ("date_format(ds, 'yyyyMMdd')", "20260309"),
    ("date_format(ds, 'dd.MM.yyyy')", "09.03.2026"),
    ("date_format(ds, 'yyyy-M')", None),
    ("date_format(ds, 'mm')", None),
    ("date_format(ds, 'MMM')", None),
    ("date_format(ds, 'yyyy MM strict')", None),
    ("substr(ds, 1, 7)", "2026-03"),
    ("month(to_date(ds))", 3),
]


@pytest.mark.parametrize("dialect", [Dialect.HIVE, Dialect.SPARK])
@pytest.mark.parametrize(("sql", "expected"), VALUES)
def test_expression_is_evaluated_on_a_partition_value(dialect: Dialect, sql: str, expected: str | int | None) -> None:
    expression = parse_query(f"select {sql}", dialect).tree.expressions[0]
    expression = expression.transform(lambda node: exp.Placeholder() if isinstance(node, exp.Column) else node)
    assert evaluate(expression, "2026-03-09") == expected


CASTS = [
    ("cast(k as int)", 7, 7),
    ("cast(k as int)", 2**31, None),  # engines take the lowest 32 bits, NULL or an error
    ("cast(k as int)", -(2**31) - 1, None),
    ("cast(k as bigint)", 2**31, 2**31),
    ("cast(k as int) = 1", 2**32 + 1, None),
    ("-k < 1", 5, True),
    *(("-k < 1", -(2**bits), None) for bits in (7, 15, 31, 63)),
]


@pytest.mark.parametrize("dialect", [Dialect.HIVE, Dialect.SPARK])
@pytest.mark.parametrize(("sql", "value", "expected"), CASTS)
def test_number_out_of_range_is_unknown(dialect: Dialect, sql: str, value: int, expected: int | None) -> None:
    expression = parse_query(f"select {sql}", dialect).tree.expressions[0]
    expression = expression.transform(lambda node: exp.Placeholder() if isinstance(node, exp.Column) else node)
    assert evaluate(expression, value) == expected
