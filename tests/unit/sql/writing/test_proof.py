"""The proof of a row's text accepts the text that was written and rejects each one that names something else."""

from __future__ import annotations

import pytest

from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.resolver.resolver import resolve
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.writing.expand import AuthorContext, Expansion, expand
from hive_views.sql.writing.proof import find_difference
from tests.unit.sql.tables import Tables

TABLES = Tables(
    {
        "d.t": {"a": "int", "b": "string", "c": "int"},
        "d.u": {"a": "int", "d": "date"},
        "e.t": {"a": "int", "b": "string", "c": "int"},
        "e.u": {"a": "int", "d": "date"},
    }
)


def expansion(author: str, names: tuple[str, ...] | None = None) -> Expansion:
    return expand(author, TABLES, database="d", dialect=Dialect.SPARK, author=AuthorContext(column_names=names))


def difference(written: Expansion, row: str) -> str | None:
    read = resolve(parse_query(row, Dialect.SPARK), TABLES, "elsewhere")
    return find_difference(written.resolution, written.edited, read, start=written.inner_start)


AUTHORS = (
    "select * from t",
    "select t.*, u.d from t cross join u",
    "select a n from t where c > 1",
    "select a, count(*) n from t group by 1",
    "select a + 1 x, count(*) n from t group by 1 having count(*) > 1 order by x",
    "select d from t join u using (a)",
    "select * from t full join u using (a)",
    "select b from (t join u using (a))",
    "select (select max(a) from t) x, (select min(c) from t) from u",
    "with recursive r as (select a from t) select a from r",
    "with r as (select * from t) select r.a, struct(r.*) s from r",
    "select * from t pivot (max(c) for a in (1))",
    "from t |> where c > 1 |> set a = c |> extend a + 1 as z",
    "from t |> join u using (a) |> drop b",
    "select x from t lateral view explode(array(a, c)) l as x",
    "select t.a from t union all select d.u.a from u order by a",
    "select transform(array(a), x -> x + c) y from t",
)


@pytest.mark.parametrize("author", AUTHORS)
def test_written_text_has_no_difference(author: str) -> None:
    written = expansion(author)
    assert difference(written, written.expanded) is None
    names = tuple(f"p{number}" for number in range(len(written.names)))
    wrapped = expansion(author, names)
    assert difference(wrapped, wrapped.expanded) is None


@pytest.mark.parametrize(
    ("author", "part", "other", "reason"),
    [
        ("select a n from t", "`t`.`a`", "`t`.`c`", "column n has other sources"),
        ("select a n from t", "`d`.`t`", "`e`.`t`", "column n has other sources"),
        ("select a from t where c > 1", "`t`.`c`", "`t`.`a`", "it names other columns for 'c > 1'"),
        ("select 1 x from t where a > c", "`a` > `t`.`c`", "`c` > `t`.`a`", "it names other columns for 'a > c'"),
        ("select count(*) n from t", "`d`.`t`", "`e`.`t`", "it names other columns for 't'"),
        ("select 1 x from t, u where t.a = u.a", "`d`.`u`", "`e`.`u`", "it names other columns for 'u where"),
        ("select a from t order by c", "`t`.`c`", "`t`.`b`", "it names other columns for 'c'"),
        ("select t.a from t join u on t.a = u.a", "= `u`.`a`", "= `t`.`c`", "it names other columns for 'u.a'"),
        ("select d from t full join u using (a)", "= `u`.`a`", "= `u`.`d`", "it names other columns for 'using (a)'"),
        ("select a x, count(*) n from t group by 1", "by `t`.`a`", "by `t`.`b`", "it names other columns for '1'"),
        (
            "select q.a from (select * from t) q",
            "`t`.`a`, `t`.`b`, `t`.`c`",
            "`t`.`a`, `t`.`b`, `t`.`b`",
            "it names other columns for '* from t) q'",
        ),
        (
            "select a from t where exists (select 1 from u where u.a = t.c)",
            "= `t`.`c`",
            "= `u`.`a`",
            "it names other columns for 't.c)'",
        ),
        (
            "select q.a from (select a from t where c = 1) q where q.a > 1",
            "`t`.`c` = 1",
            "`t`.`a` = 1",
            "it names other columns for 'c = 1) q",
        ),
    ],
)
def test_text_that_names_something_else_differs(author: str, part: str, other: str, reason: str) -> None:
    assert len(part) == len(other)
    for names in (None, "xyz"):
        written = expansion(author)
        if names is not None:
            written = expansion(author, tuple(names[: len(written.names)]))
        assert written.expanded.count(part) == 1
        assert str(difference(written, written.expanded.replace(part, other))).startswith(reason)


def test_other_types_and_expressions_differ() -> None:
    written = expansion("select a   +   1 n from t")
    other_type = written.expanded.replace("+   1", "+ 1.5")
    assert difference(written, other_type) == "column n is of type decimal(12,1), not int"
    written = expansion("select  d.f(1) n, d.f(2) m from t")
    assert [column.type for column in written.columns] == [None, None]
    assert difference(written, written.expanded) is None
    moved = written.expanded.replace("select  d.f(1)", "select d.f(1) ")
    assert difference(written, moved) == "column n is another expression"
