"""The functions that a query calls."""

# ruff: noqa: E501 (one case a line)

from __future__ import annotations

import pytest

from hive_views.sql.analysis.references import references

CALLS = [
    ("hive", "select secret(a), upper(b) from t", {"secret": True, "upper": False}),
    ("spark", "select secret(a), `my f`(b) from t", {"secret": True, "my f": True}),
    ("spark", "select element_at(a, 1), mod(a, 2), shiftleft(a, 1) from t", dict.fromkeys(("element_at", "mod", "shiftleft"), False)),
    ("spark", "select arg_max(a, b), sales.f(a) from t", {"arg_max": True, "f": True}),
    ("hive", "with q (a, b) as (select 1, 2) select f(a) from q x", {"f": True}),
    ("spark", "select * from t as x(a, b) join u using (a) where a in (1) and exists (select 1)", {}),
    ("hive", "select cast(a as decimal(10,2)), extract(year from b), if(a, 1, 2) from t", {"extract": False, "if": False}),
    ("hive", "select * from t tablesample (bucket 1 out of 4 on rand())", {"rand": False}),
    ("trino", 'select "f"(a), date_trunc(\'day\', b) from t', {"f": True, "date_trunc": False}),
    ("spark", "select count(*) filter (where g(a)), transform(b, x -> h(x)) from t", {"count": False, "g": True, "transform": False, "h": True}),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "sql", "expected"), CALLS, ids=[sql for _, sql, _ in CALLS])
def test_calls_are_reported_by_written_name(dialect: str, sql: str, expected: dict[str, bool]) -> None:
    registered = {function.name: function.registered for function in references(sql, dialect).functions}
    assert {name: registered[name] for name in registered if name in expected or registered[name]} == expected
