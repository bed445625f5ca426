"""Names that several columns of a derived table have: one column in Spark where all pass on one column of FROM.

The fixture has texts with the expansions that return the same rows on Spark; those without are refused there
(`tests/integration/spark/test_repeated_names.py`).
"""

from __future__ import annotations

import pytest

from hive_views.errors import SqlError
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.writing.expand import AuthorContext, expand
from tests.unit.sql.hive_fixtures import load_cases
from tests.unit.sql.tables import Tables

TABLES = Tables({"o": {"a": "int", "b": "string"}, "u": {"a": "int", "c": "string"}})
CASES = load_cases("repeated_names.jsonl")


@pytest.mark.parametrize("sql", [case["sql"] for case in CASES if "expanded" not in case])
def test_name_of_several_columns_is_ambiguous(sql: str) -> None:
    with pytest.raises(SqlError, match=r"Ambiguous column|Invalid table alias|twice|already exists|Duplicate"):
        expand(sql, TABLES, database="d", dialect=Dialect.SPARK)


@pytest.mark.parametrize(("sql", "expanded"), [(c["sql"], c["expanded"]) for c in CASES if "expanded" in c])
def test_name_of_one_column_can_be_written(sql: str, expanded: str) -> None:
    assert expand(sql, TABLES, database="d", dialect=Dialect.SPARK).expanded == expanded


@pytest.mark.parametrize("items", ["a, a", "*, a", "1 AS a, 2 AS a"])
def test_name_of_several_columns_is_ambiguous_in_trino(items: str) -> None:
    with pytest.raises(SqlError, match="Ambiguous column reference 'a': its table has several columns of that name"):
        expand(f"SELECT a FROM (SELECT {items} FROM o) q", TABLES, database="d", dialect=Dialect.TRINO)


@pytest.mark.parametrize(
    ("sql", "stored"),
    [
        ("SELECT o.a, u.a FROM o, u ORDER BY o.a, u.a LIMIT 2", "u.a AS _col1 FROM d.o, d.u ORDER BY o.a, u.a"),
        ("SELECT o.a, -u.a AS a FROM o, u ORDER BY u.a, c", "-u.a AS _col1 FROM d.o, d.u ORDER BY u.a, u.c"),
        ("SELECT o.a, max(b) AS a FROM o GROUP BY o.a HAVING o.a > 1", "AS _col1 FROM d.o GROUP BY o.a HAVING o.a"),
    ],
)
def test_clause_names_repeated_columns_with_their_tables(sql: str, stored: str) -> None:
    """A view with a column list returns the rows of Spark's own view (4.1.4)."""
    author = AuthorContext(column_names=("p", "q"), view_name="v")
    expansion = expand(sql, TABLES, database="d", dialect=Dialect.SPARK, author=author)
    assert stored in expansion.expanded.replace("`", "")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT o.a, u.a FROM o, u ORDER BY a",
        "SELECT DISTINCT o.a, u.a FROM o, u ORDER BY u.a",
        "SELECT a, max(b) AS a FROM o GROUP BY a HAVING a > 1",
    ],
)
def test_clause_that_may_name_a_repeated_column_is_refused(sql: str) -> None:
    author = AuthorContext(column_names=("p", "q"), view_name="v")
    with pytest.raises(SqlError, match=r"Duplicate column name: a|Ambiguous column reference"):
        expand(sql, TABLES, database="d", dialect=Dialect.SPARK, author=author)
