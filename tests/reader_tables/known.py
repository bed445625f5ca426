"""Expressions of whose values the text says more than their types: never NULL, never negative, the time of now.

Each form is a class of `hive_views.sql.analysis.known_values` or `literals`, over values for which the engines differ
elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tests.reader_tables.values import TABLE

_NUMBERS = ("ti", "si", "i", "l", "n", "m", "f", "d")
_ORDERED = (*_NUMBERS, "s", "v", "dt", "ts")
_ZEROS = {
    **dict.fromkeys(_NUMBERS, "0"),
    "n": "0.01",
    "m": "0.000001",
    "d": "CAST(0 AS double)",
    "f": "CAST(0 AS float)",
}
_ZEROS |= {"ti": "CAST(0 AS tinyint)", "si": "CAST(0 AS smallint)", "l": "CAST(0 AS bigint)", "s": "''", "v": "'x'"}
_ZEROS |= {"dt": "DATE '2000-01-01'", "ts": "TIMESTAMP '2000-01-01 00:00:00'"}
_FORMATS = (
    "",
    ", 'yyyy-MM-dd'",
    ", 'HH:mm'",
    ", 'yyyyMM'",
    ", 'yyyy-MM-dd HH:mm:ss'",
    ", 'MM'",
    ", 'M'",
    ", 'd'",
    ", 'yy'",
)
_ESCAPED = (
    *(
        r"\\d",
        r"\\d+",
        r"^\\d+$",
        r"[^\\d]",
        r"\\D+",
        r"\\s",
        r"\\s+",
        r"^\\s",
        r"\\S+",
        r"\\w+",
        r"\\W",
        r"\\.",
        r"\\-",
    ),
    *(r"(\\d+)", r"(\\w+)", r"(\\d{4})-(\\d{2})", r"^(\\w+)@", r"([a-z])(\\d)", r"\\d\\d", r"[\\s,;]+", r"\\|", r"\\{"),
    *(r"\\(", r"\\$", r"\\+", r"^\\w", r"\\w$", r"[\\w.]+", r"\\d{2}$", r"\\[", r"a\\s*b", r"\\/", r",\\s*", r"-\\d"),
)
"""Regular expressions with escaped characters and classes of Java; none matches an empty text."""


def scalars() -> Iterator[str]:
    """Yield expressions over a row."""
    for name, one in product(("greatest", "least"), _ORDERED):
        zero = _ZEROS[one]
        yield f"{name}(coalesce({one}, {zero}), coalesce({one}2, {zero}))"
        yield f"{name}(coalesce({one}, {zero}), {zero})"
        yield f"{name}({zero}, coalesce({one}, {zero}), coalesce({one}3, {zero}))"
    for one, other in product(_NUMBERS, _NUMBERS):
        yield f"greatest(coalesce({one}, {_ZEROS[one]}), coalesce({other}2, {_ZEROS[other]}))"
    for one, number in product(("i", "n", "m"), ("0", "1", "100", "0.5", "100.00")):
        yield from (f"{name}(coalesce({one}, {_ZEROS[one]}), {number})" for name in ("greatest", "least"))
    yield from (f"sqrt(abs({one}))" for one in _NUMBERS)
    yield from (f"sqrt(pow({one}, 2))" for one in _NUMBERS)
    yield from (f"sqrt(pow({one}, 2) + pow({one}2, 2))" for one in ("ti", "i", "n", "d"))
    yield from ("sqrt(2)", "sqrt(length(s))", "sqrt(2.5)")
    for one, of_format in product(("ts", "dt"), _FORMATS):
        yield f"from_unixtime(unix_timestamp({one}){of_format})"
    for regex in _ESCAPED:
        yield from (f"{one} RLIKE '{regex}'" for one in "sv")
        yield from (f"regexp_replace(s, '{regex}', '{by}')" for by in ("", "-", " "))
        groups = regex.count("(") - regex.count(r"\\(")
        yield from (f"regexp_extract(s, '{regex}', {group})" for group in range(groups + 1))
        yield from (f"split(s, '{regex}')", f"split(s, '{regex}')[0]", f"split(s, '{regex}')[1]")
    yield from (f"split(s, '{regex}')" for regex in ("[,;]", "a|b", "b+", "[0-9]", "X.", "(a)"))
    yield from (
        r"concat(s, '\\')",
        r"s = 'a\\b'",
        r"s LIKE '%b%' AND s <> '\\'",
        r"instr(s, '\\')",
        r"'a\\b'",
        r"nvl(s, '\\')",
    )
    yield from _now()
    yield from (f"split({one}, {by})[0]" for one, by in product("sv", ("','", "' '", "'-'", "'X'", "';'")))
    yield from (
        f"array({one}, {one}2, {one}3)[{at}]" for one, at in product(("i", "l", "s", "n", "d", "dt"), (0, 1, 2))
    )
    yield from (f"CAST(date_format({one}, '{pattern}') AS {kind})" for one, pattern, kind in _numbers_of_dates())
    for one, kind in (
        *(("n", "decimal(10,1)"), ("n", "decimal(12,1)"), ("n", "decimal(9,0)"), ("m", "decimal(18,2)")),
        *(("m", "decimal(20,4)"), ("m", "decimal(16,0)"), ("n * 1.19", "decimal(12,2)"), ("n * n2", "decimal(20,2)")),
        *(
            ("n + n2", "decimal(10,1)"),
            ("n - n2", "decimal(10,0)"),
            ("m * 2.5", "decimal(18,2)"),
            ("n * 12", "decimal(13,1)"),
        ),
    ):
        yield f"CAST({one} AS {kind})"
    for one, unit, months in product(("dt", "ts"), ("MM", "MONTH", "YEAR", "Q"), ("1", "-1", "12", "i - i", "ti")):
        yield f"add_months(trunc({one}, '{unit}'), {months})"
    yield from ("initcap(trim(s))", "initcap(lower(s))")
    yield from (
        f"initcap({text})" for text in ("'don''t stop'", "'a-b c_d'", "'ÉCOLE élan'", "'x1y 2z'", "'MÜLLER'", "v")
    )


def _numbers_of_dates() -> Iterator[tuple[str, str, str]]:
    yield from product(("dt", "ts"), ("yyyyMMdd", "yyyy", "MM", "yyyyMM", "dd"), ("int", "bigint"))
    yield ("ts", "yyyyMMddHHmmss", "bigint")


def _now() -> Iterator[str]:
    """Yield expressions with the current date and time that do not change for years."""
    for today in ("current_date", "current_date()"):
        yield from (f"{today} > dt", f"dt <= {today}", f"year({today}) > 2000", f"datediff({today}, dt) > 5000")
        yield from (f"date_format({today}, 'yyyy') > '2000'", f"date_sub({today}, 30) > dt", f"{today} IS NULL")
        yield from (f"date_add({today}, 1) < DATE '2020-01-01'", f"trunc({today}, 'MM') > '2000-01-01'")
        yield from (f"CASE WHEN dt < {today} THEN 'past' END", f"last_day({today}) > dt", f"{today} BETWEEN dt AND dt2")
        yield from (
            f"months_between({today}, dt) > 60",
            f"coalesce(dt, {today}) > dt2",
        )
    for now in ("current_timestamp", "current_timestamp()"):
        yield from (f"{now} > ts", f"ts < {now}", f"year({now}) > 2000", f"to_date({now}) > dt", f"{now} IS NULL")
        yield from (f"date_format({now}, 'yyyy') > '2000'", f"unix_timestamp({now}) > unix_timestamp(ts)")
        yield from (f"CAST({now} AS date) > dt", f"datediff({now}, ts) > 5000", f"coalesce(ts, {now}) > ts2")
    yield from ("unix_timestamp() > unix_timestamp(ts)", "unix_timestamp() - 1000 > unix_timestamp(dt)")


def aggregates() -> Iterator[str]:
    """Yield aggregates."""
    yield from (f"sqrt({name}({one}2))" for name in ("stddev_pop", "var_samp") for one in ("i", "d"))
    yield from ("sqrt(count(*))", "sum(greatest(coalesce(i2, 0), 0))", "max(split(s2, ',')[0])")


def texts() -> Iterator[str]:
    """Yield queries."""
    for name, one in product(("greatest", "least"), _ORDERED):
        both = f"{one} IS NOT NULL AND {one}2 IS NOT NULL"
        yield f"SELECT id, {name}({one}, {one}2) AS r FROM {TABLE} WHERE {both}"
        yield f"SELECT id, {name}({one}, {_ZEROS[one]}) AS r FROM {TABLE} WHERE {one} > {_ZEROS[one]}"
    for one in _NUMBERS:
        yield from (f"SELECT id, sqrt({one}) AS r FROM {TABLE} WHERE {one} {limit}" for limit in (">= 0", "> 0", "> 1"))
        yield f"SELECT id, sqrt({one}) AS r FROM {TABLE} WHERE {one} BETWEEN 0 AND 100"
    for one, of_format in product(("i", "l"), _FORMATS):
        limits = (f"{one} BETWEEN 0 AND 4294967296", f"{one} > -10 AND {one} < 2000000000")
        yield from (f"SELECT id, from_unixtime({one}{of_format}) AS r FROM {TABLE} WHERE {limit}" for limit in limits)
    for one in (*_ORDERED, "bo"):
        few = f"SELECT b.{one}2 FROM {TABLE} b WHERE b.id < 20 AND b.{one}2 IS NOT NULL"
        yield f"SELECT a.id FROM {TABLE} a WHERE a.{one} NOT IN ({few})"
        yield f"SELECT a.id FROM {TABLE} a WHERE a.id > 7 AND NOT a.{one} IN ({few})"
        yield f"SELECT a.id FROM {TABLE} a WHERE a.{one} NOT IN ({few} AND b.id < 0)"
    for regex in _ESCAPED:
        yield f"SELECT id FROM {TABLE} WHERE s RLIKE '{regex}'"
    for one in ("ai", "at", "split(s, ',')"):
        yield f"SELECT id, size({one}) AS r FROM {TABLE} WHERE {one} IS NOT NULL"
        yield from (
            f"SELECT id FROM {TABLE} WHERE size({one}) {limit}" for limit in ("> 0", ">= 2", "= 1", "> 1 AND id > 9")
        )
    for one, size in product("sv", (1, 2, 3)):
        longer = f"FROM {TABLE} WHERE length({one}) >= {size}"
        yield f"SELECT id, substr({one}, -{size}) AS r {longer}"
        yield from (f"SELECT id, substring({one}, -{size}, {part}) AS r {longer} AND id > 3" for part in (1, 2, 9))
    for name, one in product(("greatest", "least"), ("n", "m")):
        yield f"SELECT id, {name}({one}, 100.00) AS r FROM {TABLE} WHERE {one} IS NOT NULL"
    whole = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
    for function, one in product(("max", "min", "sum", "count"), ("i", "n", "m")):
        over = f"OVER (PARTITION BY g ORDER BY {one}, s DESC {whole})"
        yield f"SELECT id, {function}({one}) {over} AS r FROM {TABLE}"
    for one in ("ai", "at", "mp", "split(s, ',')", "map('a', i)", "array(i, i2)"):
        names = "(k, w)" if "m" in one else "r"
        yield from (
            f"SELECT explode({one}) AS {names} FROM {TABLE}",
            f"SELECT explode({one}) FROM {TABLE} WHERE id < 50",
        )
        if names == "r":
            yield f"SELECT posexplode({one}) AS (p, r) FROM {TABLE}"
    for today in ("current_date", "current_date()"):
        yield f"SELECT id FROM {TABLE} WHERE dt < {today}"
        yield f"SELECT id FROM {TABLE} WHERE dt >= date_sub({today}, 5000)"
