"""Definitions whose expanded text reads back: joins with USING and NATURAL at each position, pipes, and VALUES."""

from __future__ import annotations

from itertools import product

import pytest

from hive_views.errors import SqlError
from hive_views.sql.parsing.ddl import parse_statement
from hive_views.sql.parsing.statements import CreateView
from hive_views.sql.writing.definition import define_view
from tests.unit.sql.tables import Tables

TABLES = Tables(
    {
        "t": {"a": "int", "b": "string", "c": "int"},
        "u": {"a": "int", "d": "date"},
        "s": {"a": "int", "e": "bigint"},
    }
)
JOINS = (
    *("join u using (a)", "left join u using (a)", "right join u using (a)", "full join u using (a)"),
    *("natural join u", "natural left join u", "natural right join u", "natural full join u"),
)
QUERIES = (
    "select a from t {}",
    "select a from t {} order by a",
    "select distinct a from t {} order by a",
    "select a from t {} where a > 1 order by a limit 1",
    "select c from t {} order by a + 1",
    "select a q from t {} order by a, q",
    "select max(a) from t {} group by a order by a",
    "select row_number() over (partition by a order by a) from t {}",
)
POSITIONS = (
    "{}",
    "select 1 z from s where exists ({})",
    "select 1 z from s where e in ({})",
    "select ({}) z from s",
    "select * from ({}) w",
    "with w as ({}) select * from w",
    "({}) union all select 1",
)
TRINO_POSITIONS = ("select 1 z from s where e > all ({})",)
TAILS = (
    *("", "|> select a", "|> select *", "|> extend a+1 as z", "|> set a = 2", "|> drop b", "|> order by a"),
    *("|> aggregate count(*) n group by a", "|> aggregate max(a) n", "|> as q |> select q.a", "|> limit 1"),
    *("|> full join s using (a)", "|> natural full join s |> select a, e"),
)


def expanded(statement: str, dialect: str) -> str:
    """Return the expanded text of a CREATE VIEW statement."""
    parsed = parse_statement(statement, dialect)
    assert isinstance(parsed, CreateView)
    return define_view(parsed, TABLES, database="d").expanded


@pytest.mark.parametrize("dialect", ["spark", "trino"])
@pytest.mark.parametrize("join", JOINS)
def test_key_of_joins_at_each_position(join: str, dialect: str) -> None:
    positions = POSITIONS + (TRINO_POSITIONS if dialect == "trino" else ())
    for query, position in product(QUERIES, positions):
        assert expanded(f"create view v as {position.format(query.format(join))}", dialect)


@pytest.mark.parametrize("join", JOINS)
def test_key_of_joins_in_pipes(join: str) -> None:
    for source, tail in product(("from t", "table t", "select * from t"), TAILS):
        assert expanded(f"create view v as {source} |> {join} {tail}", "spark")


def test_ordered_key_of_a_subquery_has_its_name() -> None:
    text = expanded(
        "create view v as select e from s where e in (select a from t full join u using (a) order by a)", "spark"
    )
    assert "select coalesce(`t`.`a`, `u`.`a`) AS `a` from" in text


@pytest.mark.parametrize(
    ("query", "dialect", "text"),
    [
        ("values (1, 2)", "trino", 'SELECT "x", "y" FROM (values (1, 2)) AS "v"("x", "y")'),
        ("values (1, 2)", "spark", "SELECT `col1` AS `x`, `col2` AS `y` FROM (values (1, 2)) `v`"),
    ],
)
def test_column_list_of_values(query: str, dialect: str, text: str) -> None:
    assert expanded(f"create view v (x, y) as {query}", dialect) == text


@pytest.mark.parametrize("tail", ["order by 1", "limit 1", "union all values (3, 4)"])
@pytest.mark.parametrize("dialect", ["spark", "trino"])
def test_column_list_of_values_with_another_clause_is_rejected(tail: str, dialect: str) -> None:
    with pytest.raises(SqlError, match="VALUES with another clause cannot have a column list: write SELECT"):
        expanded(f"create view v (x, y) as values (1, 2) {tail}", dialect)
