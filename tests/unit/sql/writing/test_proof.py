"""The proof of a row's text accepts the columns of the author's text and rejects others."""

from __future__ import annotations

import pytest

from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.resolver.resolved import ResolvedQuery
from hive_views.sql.resolver.resolver import resolve
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.writing.proof import find_difference
from tests.unit.sql.tables import Tables

TABLES = Tables({"t": {"a": "int", "b": "string", "c": "int"}, "u": {"a": "int", "d": "date"}})


def resolved(sql: str) -> ResolvedQuery:
    return resolve(parse_query(sql, Dialect.SPARK), TABLES, "d")


@pytest.mark.parametrize(
    ("author", "row"),
    [
        ("select * from t", "select t.a, t.b, t.c from d.t"),
        ("select a n from t where c > 1", "select t.a n from d.t where t.c > 1"),
        ("select a, count(*) n from t group by 1", "select t.a, count(*) n from d.t group by t.a"),
        ("select d from t join u using (a)", "select u.d from d.t join d.u on t.a = u.a"),
        ("select b from (t join u using (a))", "select t.b from (d.t join d.u on t.a = u.a)"),
        (
            "select (select max(a) from t) x, (select min(c) from t) from u",
            "select (select max(t.a) from t) x, (select min(t.c) from t) as y from u",
        ),
        (
            "with recursive r as (select a from t) select a from r",
            "with recursive r as (select t.a from d.t) select r.a from r",
        ),
        (
            "select * from t pivot (max(c) for a in (1))",
            "select t.b, `1` from (select t.a, t.b, t.c from d.t) t pivot (max(c) for a in (1))",
        ),
    ],
)
def test_text_with_the_same_columns_has_no_difference(author: str, row: str) -> None:
    assert find_difference(resolved(author), resolved(row), is_wrapped=False) is None


@pytest.mark.parametrize(
    ("author", "row", "difference"),
    [
        ("select a n from t", "select c n from d.t", "column n has other sources"),
        ("select a n from t", "select t.a n from other.t", "column n has other sources"),
        ("select a n from t", "select cast(a as string) n from d.t", "column n is of type string, not int"),
        ("select a from t where c > 1", "select a from d.t where a > 1", "the clause WHERE names other columns"),
        ("select a from t where c > 1", "select a from d.t where c > 1 and b = 'x'", "the clause WHERE names other"),
        ("select a from t order by c", "select a from d.t order by b", "the clause ORDER names other columns"),
        ("select t.a from t join u on t.a = u.a", "select t.a from t join u on t.a = t.c", "the clause ON names other"),
        (
            "select a from t where exists (select 1 from u where u.a = t.c)",
            "select a from t where exists (select 1 from u where u.a = u.a)",
            "the clause WHERE names other columns",
        ),
        (
            "select q.a from (select a from t where c = 1) q where q.a > 1",
            "select q.a from (select a from t where a = 1) q where q.a > 1",
            "the clause WHERE names other columns",
        ),
    ],
)
def test_text_with_other_columns_differs(author: str, row: str, difference: str) -> None:
    found = find_difference(resolved(author), resolved(row), is_wrapped=False)
    assert found is not None
    assert found.startswith(difference)


def test_query_of_a_column_list_is_compared_with_the_query_inside() -> None:
    author = resolved("select a, b from t where c > 1")
    assert (
        find_difference(
            author, resolved("select a as x, b as y from (select a, b from t where c > 1) v"), is_wrapped=True
        )
        is None
    )
    swapped = resolved("select b as x, a as y from (select a, b from t where c > 1) v")
    assert find_difference(author, swapped, is_wrapped=True) == "column a has other sources"
    other = resolved("select a as x, b as y from (select a, b from t where a > 1) v")
    assert find_difference(author, other, is_wrapped=True) == "the clause WHERE names other columns"
    values = "values (1, 2)"
    assert (
        find_difference(resolved(values), resolved(f"select col1 as x, col2 as y from ({values}) v"), is_wrapped=True)
        is None
    )
