"""Expansion and its proof make calls in proportion to the length of the text, in every clause."""

from __future__ import annotations

import cProfile
from collections.abc import Callable, Iterator

import pytest

from hive_views.sql.writing.expand import expand
from hive_views.sql.writing.proof import find_difference
from tests.unit.sql.tables import Tables

TABLES = Tables({"t": {f"c{position}": "int" for position in range(5000)}, "u": {"k": "int", "v": "string"}})


def _repeat(element: str, separator: str = ", ") -> Callable[[int], str]:
    return lambda count: separator.join(element.replace("#", str(number)) for number in range(count))


SIDES = ("left", "full")


def _texts() -> Iterator[tuple[str, str, Callable[[int], str]]]:
    """Dialects, names and texts of a number of elements; `{}` in a template stands for the elements."""
    shapes = {
        "aliases": ("select {} from u", "k + # as a#"),
        "columns": ("select {} from t", "c#"),
        "nameless": ("select {} from u", "k + #"),
        "qualified": ("select {} from (select * from u) x", "x.k a#"),
        "group by columns": ("select count(*) n from t group by {}", "c#"),
        "group by selected columns": ("select {} from t group by {}", "c#"),
        "group by expressions": ("select count(*) n from u group by {}", "k + #"),
        "aggregates": ("select {} from u", "sum(k + #) as a#"),
        "arguments": ("select array({}) z from u", "#"),
        "casts": ("select {} from u", "cast(k + # as string)"),
        "intervals": ("select {} from u", "date '2020-01-01' + interval '#' day as a#"),
        "windows": ("select {} from u", "sum(k + #) over (partition by v) as a#"),
        "values of in": ("select k from u where k in ({})", "#"),
        "order by columns": ("select k from t, u order by {}", "c#"),
        "common table expressions": ("with {} select k from x0", "x# as (select k from u)"),
    }
    joined = {
        "conditions": ("select k from u where {}", "k <> #", " and "),
        "conditions of having": ("select k from u group by k having {}", "max(v) > '#'", " and "),
        "case": ("select case {} end z from u", "when k = # then '#'", " "),
        "branches": ("{}", "select k from u where k = #", " union all "),
        "word of a literal": ("select '{}' z from u", 20 * "é", ""),
        "spaces of a literal": ("select 'now{}!' z from u", 20 * " ", ""),
        "joins": ("select x.k from u x {}", "join u x# on x#.k = x.k", " "),
        "lateral views": ("select x.k from u x {}", "lateral view explode(array(k)) y# as z#", " "),
    }
    for dialect in ("spark", "hive"):
        for name, (template, element) in shapes.items():
            elements = _repeat(element)
            yield dialect, name, lambda count, t=template, e=elements: t.replace("{}", e(count))  # type: ignore[misc]
        for name, (template, element, separator) in joined.items():
            elements = _repeat(element, separator)
            yield dialect, name, lambda count, t=template, e=elements: t.replace("{}", e(count))  # type: ignore[misc]
        columns, tables = _repeat("k#"), _repeat("(select k as k# from u) x#")
        yield (
            dialect,
            "columns without a table",
            lambda count, c=columns, t=tables: f"select {c(count)} from {t(count)}",  # type: ignore[misc]
        )
        aliases, names = _repeat("k + # as a#"), _repeat("a#")
        yield (
            dialect,
            "order by aliases",
            lambda count, a=aliases, n=names: f"select {a(count)} from u order by {n(count)}",  # type: ignore[misc]
        )
    yield (
        "spark",
        "stars of tables",
        lambda count: f"select {_repeat('x#.*')(count)} from {_repeat('(select k as k# from u) x#')(count)}",
    )
    for using in ("join u x# using (k)", *(f"{side} join (select k, 1 as v# from u) x# using (k)" for side in SIDES)):
        joins = _repeat(using, " ")
        yield "spark", using, lambda count, j=joins: f"select k from (select k from u) x {j(count)}"  # type: ignore[misc]
    yield (
        "spark",
        "group by positions",
        lambda count: (
            f"select {_repeat('k + # as a#')(count)} from u group by "
            + ", ".join(str(number + 1) for number in range(count))
        ),
    )
    yield (
        "spark",
        "values of pivot",
        lambda count: f"select * from u pivot (max(v) for k in ({_repeat('#')(count)}))",
    )
    yield (
        "spark",
        "columns of pipe operators",
        lambda count: f"from u |> extend {_repeat('k + # as a#')(count)} |> select k, {_repeat('a#')(count)}",
    )
    yield (
        "spark",
        "lateral aliases",
        lambda count: "select 1 as a0, " + ", ".join(f"a{n} + 1 as a{n + 1}" for n in range(count)) + " from u",
    )


SHAPES = list(_texts())


def _calls(sql: str, dialect: str) -> int:
    """Return the number of calls of functions, Python's and C's, that an expansion makes."""
    profile = cProfile.Profile()
    profile.enable()
    result = expand(sql, TABLES, database="d", dialect=dialect)
    assert result.resolution.query.ranges
    read = expand(result.expanded, TABLES, database="d", dialect=dialect)
    assert find_difference(result.resolution, result.edited, read.resolution) is None
    profile.disable()
    assert result.columns
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize(("dialect", "name", "text"), SHAPES, ids=[f"{dialect} {name}" for dialect, name, _ in SHAPES])
def test_number_of_calls_grows_with_the_length(dialect: str, name: str, text: Callable[[int], str]) -> None:
    _calls(text(10), dialect)
    short, long = _calls(text(200), dialect), _calls(text(800), dialect)
    assert long < 6 * short  # four times the length: 4 if linear, 16 if quadratic
