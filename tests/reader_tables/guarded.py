"""Expressions whose surroundings keep engines from differing: a rounded quotient, a filter, integers that stay small.

`100.0 * a / b` has another scale in Hive than in Spark, which `round(100.0 * a / b, 2)` does not show.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tests.reader_tables.values import TABLE

_EXACT = ("i", "l", "n", "m")
_QUOTIENTS = (
    *("{0} / {1}", "100.0 * {0} / {1}", "{0} * 100.0 / {1}", "({0} * 1.0) / {1}"),
    *("{0} / {1} * 100", "{0} / nullif({1}, 0)", "100.0 * {0} / nullif({1}, 0)", "100.00 * ({0} / {1})"),
    *("CASE WHEN {1} <> 0 THEN round(100.0 * {0} / {1}, 1) END", "{0} / 7", "{0} * 1.50 / 7"),
)
_SMALL = (
    *("year(dt) * 100 + month(dt)", "year(dt) - year(dt2)", "datediff(dt, dt2) + 1", "datediff(ts, dt2) * 24"),
    *("hour(ts) * 60 + minute(ts)", "(hour(ts) * 60 + minute(ts)) * 60 + second(ts)", "quarter(dt) + 1"),
    *("unix_timestamp(ts) - unix_timestamp(ts2)", "unix_timestamp(dt) + 3600", "unix_timestamp(ts) * 1000"),
    *("dayofweek(dt) - 1", "weekofyear(dt) + 1", "day(dt) - 1", "dayofmonth(dt) * 2", "2 * year(ts) + 1"),
    *(
        "year(dt) * 10000 + month(dt) * 100 + day(dt)",
        "CASE WHEN bo THEN 1 ELSE 0 END + CASE WHEN bo2 THEN 1 ELSE 0 END",
    ),
    *("1 + month(dt)", "coalesce(year(dt), 0) - 1900", "12 * (year(dt) - year(dt2)) + month(dt) - month(dt2)"),
)
_SMALL_AGGREGATES = (
    *("count(*) + 1", "count(*) - count(i2)", "count(*) * 100", "1000 * count(DISTINCT s2)", "count(*) - 1"),
    *("100 * sum(CASE WHEN bo2 THEN 1 ELSE 0 END)", "count(*) - sum(CASE WHEN bo2 THEN 1 ELSE 0 END)"),
    *("max(year(dt2)) - min(year(dt2))", "sum(if(bo2, 1, 0)) + sum(if(bo3, 1, 0))", "max(datediff(dt2, dt3)) + 1"),
)
_DATES = ("dt", "ts")


def scalars() -> Iterator[str]:
    """Yield expressions over a row."""
    for form, one, other, digits in product(_QUOTIENTS, _EXACT, _EXACT, (0, 2)):
        quotient = form.format(one, f"{other}2")
        yield quotient if "round" in quotient else f"round({quotient}, {digits})"
    yield from _SMALL
    yield from (f"nullif({one}, {number})" for one, number in product(("ti", "si", *_EXACT, "d", "f"), (0, 1, 10, 100)))
    yield from (f"nullif({one}, {other}2)" for one, other in product(("ti", "i", "l", "n", "m", "d"), repeat=2))
    yield from (f"bround({one}, {digits})" for one, digits in product(("n", "m", "d"), (0, 1, 2)))
    yield from (f"bround({one})" for one in ("n", "m"))
    yield from (
        f"CAST(CAST({one} AS decimal({size})) AS {kind})"
        for one, size, kind in (
            *(("ti", "5,2", "int"), ("si", "9,4", "smallint"), ("ti", "6,3", "bigint"), ("si", "7,2", "int")),
        )
    )


def aggregates() -> Iterator[str]:
    """Yield aggregates."""
    for form, one, digits in product(_QUOTIENTS, ("i", "n", "m"), (1, 3)):  # sums of BIGINT overflow
        for divisor in ("count(*)", f"count({one}3)", "sum(i3)", "sum(n3)"):
            quotient = form.format(f"sum({one}2)", divisor)
            yield quotient if "round" in quotient else f"round({quotient}, {digits})"
    counted = "sum(CASE WHEN bo2 THEN 1 ELSE 0 END)"
    for form in _QUOTIENTS:
        quotient = form.format(counted, "count(*)")
        yield quotient if "round" in quotient else f"round({quotient}, 2)"
    yield from _SMALL_AGGREGATES


def texts() -> Iterator[str]:
    """Yield queries."""
    for one, other, condition in product((*_EXACT, "d"), (*_EXACT, "d"), ("<> 0", "> 0", "!= 0 AND id > 20")):
        yield f"SELECT id, {one} / {other}2 AS r FROM {TABLE} WHERE {other}2 {condition}"
    yield from (f"SELECT id, {one} % {one}2 AS r FROM {TABLE} WHERE id > 3 AND {one}2 > 0" for one in ("i", "l", "n"))
    yield from (f"SELECT g, sum({one} / {one}2) AS r FROM {TABLE} WHERE {one}2 > 0 GROUP BY g" for one in ("n", "i"))
    for values, item in (("at", "'a'"), ("at", "s2"), ("ai", "1"), ("ai", "i2"), ("array(s, s2)", "s3")):
        contained = f"array_contains({values}, {item})"
        yield f"SELECT id FROM {TABLE} WHERE {contained}"
        yield f"SELECT id FROM {TABLE} WHERE id > 10 AND {contained}"
    for one in ("i", "s", "bo", "dt"):
        for clause in (f"{one}, g WITH ROLLUP", f"{one}, g WITH CUBE", f"{one}, g GROUPING SETS (({one}, g), (g), ())"):
            yield f"SELECT {one}, g, GROUPING__ID AS r, count(*) AS n FROM {TABLE} GROUP BY {clause}"
    placed = "OVER (PARTITION BY g ORDER BY id2 NULLS FIRST)"
    inner = f"(SELECT id AS id2, g, v, s, dt, c FROM {TABLE}) w"
    moved = ("lag(v, 1, 'none')", "lead(v, 1, '')", "lag(s, 1, 'none')", "lead(s, 2, s)", "lag(v, 1, s)")
    yield from (f"SELECT id2, {function} {placed} AS r FROM {inner}" for function in moved)
