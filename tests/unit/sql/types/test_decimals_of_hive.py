"""Types of decimals in dialect `hive`, as Hive 4.1.0 declares them for views of these expressions.

6,168 expressions over 12 decimal types, the other numbers, strings and literals were compared with Hive (2026-11-24):
operators, choices, aggregates and set operations. These are a sample, and some of the 14 that differed.
"""

from __future__ import annotations

import pytest

from hive_views.sql.writing.expand import expand
from tests.unit.sql.tables import Tables

COLUMNS = {
    "d3820": "decimal(38,20)",
    "d3720": "decimal(37,20)",
    "d3811": "decimal(38,11)",
    "d3838": "decimal(38,38)",
    "d2010": "decimal(20,10)",
    "d102": "decimal(10,2)",
    "d55": "decimal(5,5)",
    "i": "int",
    "b": "bigint",
}
CASES = [
    ("coalesce(d3720, d3811)", "decimal(38,11)"),
    ("coalesce(d3838, i)", "decimal(38,28)"),
    ("coalesce(d102, 1)", "decimal(10,2)"),
    ("nvl(b, d102)", "decimal(21,2)"),
    ("if(i > 1, d3811, d55)", "decimal(38,11)"),
    ("case when i > 1 then d3838 else d102 end", "decimal(38,30)"),
    ("case i when 1 then d2010 when 2 then d3811 end", "decimal(38,11)"),
    ("greatest(d102, 1.10)", "decimal(10,2)"),
    ("least(d3820, b)", "decimal(38,19)"),
    ("d3820 + d3811", "decimal(38,10)"),
    ("d3838 - 1", "decimal(38,36)"),
    ("d102 * d2010", "decimal(31,12)"),
    ("d3720 * d3811", "decimal(38,6)"),
    ("d3820 / d102", "decimal(38,18)"),
    ("d102 / 1.10", "decimal(15,6)"),
    ("b % d55", "decimal(5,5)"),
    ("sum(d3720)", "decimal(38,20)"),
    ("avg(d3838)", "decimal(38,38)"),
    ("avg(d102) + 1", "decimal(15,6)"),
    ("sum(d102) / count(*)", "decimal(38,20)"),
    ("case i when 1 then d102 when 2 then 1 end", "decimal(12,2)"),
    ("case i when 1 then d55 when 2 then 100000000000 end", "decimal(24,5)"),
    ("case i when 1 then d3838 when 2 then 1 end", "decimal(38,28)"),
    ("case i when 1 then 1 when 2 then d102 end", None),
    ("case when i > 1 then d102 when i > 2 then 1 end", None),
]


@pytest.mark.parametrize(("expression", "expected"), CASES)
def test_decimal_has_the_type_that_hive_declares(expression: str, expected: str | None) -> None:
    sql = expression if expression.startswith("select") else f"select {expression} as x from t"
    expansion = expand(sql, Tables({"t": COLUMNS}), database="d", dialect="hive")
    assert expansion.columns[0].type == expected
