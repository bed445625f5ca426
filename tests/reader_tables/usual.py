"""Calls with arguments of usual types, and combinations of constructs that have an answer of their own.

For example `sort_array(collect_list(x))`, in which the order of the rows does not count, `split(s, ',')[1]`, which is
NULL where the text is empty, and a quotient in a CASE that excludes a divisor of 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

from tests.reader_tables.forms import FUNCTIONS, columns, is_small
from tests.reader_tables.values import FIRST, SECOND, TABLE

_USUAL = ("i", "l", "d", "n", "s", "dt", "ts")
_TRIPLES = ("s, s2, s3", "s, i, i2", "s, i, s2", "s, s2, i", "i, i2, i3", "d, d2, d3", "n, n2, n3", "dt, dt2, dt3")

REGEXES = (
    *("a", "abc", "^a", "c$", "^abc$", "a.c", "a.*c", ".*b.*", "^[a-z]+$", "[A-Z]", "^[A-Z]+", "[a-zA-Z0-9]+"),
    *("[^a-z]", "[^A-Za-z0-9 ]", "[0-9]{2}", "[0-9]{2}$", "^[0-9]{4}-[0-9]{2}", "^[0-9]+$", "[0-9]+-[0-9]+", "a|b"),
    *("^(a|A)", "(b|c)+", "(a)(b)", "([A-Z]+)([a-z]+)", "([0-9]+)-([0-9]+)", "^(.*)-", "-(.*)$", "X(.*)X", ":(.*)$"),
    *("b+", "b{1,2}", "ab?c", " +", "^ ", " $", ",", ";|,", "[,;]", "x.*$", "(..)(..)", "^.{3}$", "[aeiou]", "e[0-9]"),
)
"""Regular expressions without backslashes, none of which matches an empty text."""

_SEPARATORS = ("' '", "','", "';'", "':'", "'@'", "'/'", "'_'", "'='", "'#'", "'&'", "'-'", "'X'", "', '", "'://'")
_DOCUMENTS = (
    """'{"a": {"b": [1, 2.50, "x"], "c": null}, "d": "Zoë", "e": true, "f": 1e3}'""",
    """'{"a": "b", "d": "", "e": {}, "f": []}'""",
    """'{"a":1}'""",
    """'[1, 2]'""",
    """'no json'""",
    """''""",
)
_KEYS = ("$.a", "$.d", "$.e", "$.f", "$.a.b", "$.a.c", "$.x", "$.a.x.y")
_PLACES = ("$.a.b[0]", "$.a.b[2]", "$.a.b[7]", "$.f[0]")
_FRAMES = (
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
)
_LISTS = ("('a%', '%b%')", "('%e%', '_B%', '')", "('abc')")
_FIELDS = ("yyyy", "MM", "dd", "HH", "mm", "ss", "MMM")
_PATTERNS = (
    *("yyyy/MM/dd HH:mm:ss", "MMM yyyy", "yyyy MM", "dd.MM.yyyy HH:mm", "HH:mm", "yyyyMM", "MM-dd", "dd/MM/yyyy"),
    *("yyyy-MM-dd HH", "HHmmss", "MM/yyyy", "dd MMM", "yyyy_MM_dd", "yyyy.MM", "MM.dd.yyyy", "mm:ss"),
)
_POSITIONS = ("instr(s, 'b')", "instr(s, 'b') + 1", "locate('-', s) + 1", "length(s)", "instr(s, ',') - 1")
_NUMBERS = ("i", "l", "d", "n")
_CHOICES_OF_QUOTIENT = (
    *("CASE WHEN {1} = 0 THEN NULL ELSE {0} / {1} END", "CASE WHEN {1} <> 0 THEN {0} / {1} END"),
    *("CASE WHEN {1} > 0 THEN {0} / {1} ELSE 0 END", "CASE WHEN {1} = 0 THEN 0 ELSE {0} / {1} END"),
    *("if({1} = 0, NULL, {0} / {1})", "if({1} > 0, {0} / {1}, 0)", "CASE WHEN {1} != 0 THEN {0} % {1} END"),
)


def scalars() -> Iterator[str]:
    """Yield expressions over a row."""
    for one, regex in product("sv", REGEXES):
        yield f"{one} RLIKE '{regex}'"
        yield from (f"regexp_replace({one}, '{regex}', '{by}')" for by in ("", "-", "#", "x y"))
        yield f"regexp_extract({one}, '{regex}', 0)"
    for regex in REGEXES:
        groups = regex.count("(")
        yield from (f"regexp_extract(s, '{regex}', {group})" for group in range(1, groups + 1))
        yield from (f"regexp_replace(s, '{regex}', '${group}')" for group in range(1, groups + 1))
    yield from (f"split(s, {separator})" for separator in _SEPARATORS)
    yield from (f"split(s, {separator})[{at}]" for separator, at in product(_SEPARATORS, (0, 1, 2, 5)))
    yield from (f"size(split(s, {separator}))" for separator in _SEPARATORS)
    yield from (f"concat_ws({by}, {these})" for by, these in product(_SEPARATORS, ("s, s2", "s, s2, s3", "v, s2")))
    yield from (f"substring_index(s, {by}, {at})" for by, at in product(_SEPARATORS, (1, 2, -1)))
    yield from (
        f"replace({one}, {old}, {new})" for one, old, new in product("sv", ("'a'", "' '", "'b-'"), ("''", "'x'"))
    )
    yield from (f"replace(s, {old}, s2)" for old in ("'a'", "'2024'"))
    yield from (f"get_json_object({one}, '{path}')" for one, path in product((*_DOCUMENTS, "s"), (*_KEYS, *_PLACES)))
    yield from (f"date_format({one}, '{pattern}')" for one, pattern in product(("dt", "ts"), (*_FIELDS, *_PATTERNS)))
    yield from (f"from_unixtime({one}, '{pattern}')" for one, pattern in product("il", (*_FIELDS, *_PATTERNS)))
    seconds = [f"unix_timestamp({one})" for one in ("dt", "ts")]
    yield from (f"from_unixtime({one}, '{pattern}')" for one, pattern in product(seconds, (*_FIELDS, *_PATTERNS)))
    yield from (f"from_unixtime({one})" for one in seconds)
    yield from (f"unix_timestamp({one}, 'yyyy-MM-dd')" for one in ("s", "dt", "ts"))
    yield from (f"unix_timestamp({one}, 'yyyy-MM-dd HH:mm:ss')" for one in ("s", "dt", "ts"))
    yield from (f"substr(s, {at})" for at in _POSITIONS)
    yield from (f"substr(s, {at}, {size})" for at, size in product((*_POSITIONS, "1"), (1, 3, "length(s)")))
    yield from (f"substr(s, 1, {size})" for size in _POSITIONS)
    yield from (
        f"trim({side} {text} FROM {one})"
        for side, text, one in product(("BOTH", "LEADING", "TRAILING"), ("'a'", "' '", "'ab'"), "sv")
    )
    yield from (f"{one} {sign} {days}" for one, sign, days in product(("dt",), "+-", (1, 30, "i")))
    yield from (
        f"{form.format(one, f'{other}2')}" for one, other, form in product(_NUMBERS, _NUMBERS, _CHOICES_OF_QUOTIENT)
    )
    yield from (f"{one} / nullif({other}2, 0)" for one, other in product(_NUMBERS, _NUMBERS))
    yield from (f"{one} LIKE {word} {patterns}" for one in "sv" for word in ("ANY", "ALL") for patterns in _LISTS)
    yield from (
        "coalesce(n, 0.0)",
        "nvl(n, 1.50)",
        "CASE WHEN bo THEN n ELSE 0.00 END",
        "if(bo, 0.0, m)",
        "nvl(m, 7.500)",
    )
    zeros = (
        "coalesce(d, 0.0)",
        "nvl(d, 1.50)",
        "d * 1.0",
        "d + 0.50",
        "1.0 - d",
        "d / 2.0",
        "d % 2.50",
        "nullif(d, 0.0)",
    )
    yield from (*zeros, "CASE WHEN bo THEN d ELSE 0.0 END", "if(bo, d, 1.50)", "if(bo, 0.0, d)", "d * 1.10 + 0.0")
    yield from (f"named_struct('a', {one}, 'b', {other}2)" for one, other in product(_USUAL, ("i", "s")))
    yield from (f"named_struct('a', {one}, 'b', s).a" for one in _USUAL)
    yield from (f"map('k', {one}, 'j', {one}2)['j']" for one in _USUAL)
    yield from (f"map('k', {one}, 'j', {one}2)" for one in _USUAL)
    yield from (f"map({one}, i2)[{one}]" for one in ("s", "i", "dt"))
    yield from (f"array({one}, {one}2)[{at}]" for one, at in product(_USUAL, (0, 1)))
    yield from (f"array_contains(array({one}, {one}2), {one}3)" for one in _USUAL)
    yield from (f"size(array({one}, {one}2))" for one in _USUAL)
    yield from (f"sort_array(array({one}, {one}2))" for one in _USUAL)
    yield from (f"sha2({one}, {size})" for one, size in product("sv", (224, 256, 384, 512)))
    yield from (
        f"repeat({one}, {count})" for one, count in product(("s", "'ab'", "'*'"), ("0", "2", "ti", "length(s)"))
    )
    yield from (
        f"{name}({one})"
        for name, one in product(("bigint", "int", "smallint", "double", "string", "date", "timestamp"), _USUAL)
    )
    yield from (f"decode({one}, 1, 'a', 2, 'b', 'c')" for one in ("i", "l"))
    yield from (
        f"CAST({one} AS {kind})"
        for one, kind in product(
            ("n * 1.19", "d * 2", "i * 1.5", "n / 3", "sum(i)"), ("decimal(12,2)", "decimal(20,4)", "int", "bigint")
        )
        if "sum" not in one
    )
    yield from (f"find_in_set(s, {listed})" for listed in ("'a,abc,b'", "'north,south'"))
    yield from (f"levenshtein(s, {text})" for text in ("'abc'", "'north'", "s2"))
    yield from (
        f"parse_url({one}, '{part}')"
        for one in ("s", "'http://a.de:80/b/c?x=1&y=2#z'", "'no url'")
        for part in ("HOST", "PATH", "QUERY", "PROTOCOL", "REF", "FILE")
    )
    yield from (f"parse_url('http://a.de/b?x=1&y=2', 'QUERY', '{key}')" for key in ("x", "y", "z"))


def aggregates() -> Iterator[str]:
    """Yield aggregates."""
    for one in columns(SECOND):
        for name in ("collect_list", "collect_set"):
            yield from (f"sort_array({name}({one}))", f"size({name}({one}))")
        yield f"size({'collect_set'}(DISTINCT {one}))"
    for one, other in product((*_USUAL, "v", "ti", "si", "m", "bo"), ("i", "s", "bo", "v")):
        yield f"count(DISTINCT {one}2, {other}3)"
    yield from (
        f"concat_ws({by}, sort_array(collect_list({one})))" for by, one in product(("','", "'; '"), ("s2", "v2"))
    )
    yield from (f"concat_ws(',', sort_array(collect_set({one})))" for one in ("s2", "v2"))
    yield from (f"array_contains(collect_set({one}), {item})" for one, item in (("s2", "'abc'"), ("i2", "1")))
    for one in ("i", "l", "d", "n"):
        yield from (f"sum({one}2) / count(*)", f"sum({one}2) / count({one}2)", f"sum({one}2) / nullif(sum(i3), 0)")
        yield from (
            f"CASE WHEN sum(i3) = 0 THEN NULL ELSE sum({one}2) / sum(i3) END",
            f"sum({one}2) / 7",
            f"100 * sum({one}2) / count(*)",
        )
        yield from (
            f"CASE WHEN count({one}2) > 0 THEN sum({one}2) / count({one}2) END",
            f"round(sum({one}2) / count(*), 2)",
        )


def texts() -> Iterator[str]:
    """Yield queries."""
    for one in columns(FIRST):
        grouped = f"SELECT {one} AS r, g, count(*) AS n FROM {TABLE} GROUP BY"
        yield from (f"{grouped} {one}, g WITH CUBE", f"{grouped} ROLLUP ({one}, g)", f"{grouped} CUBE ({one}, g)")
        yield f"{grouped} {one}, g GROUPING SETS (({one}, g), ({one}), ())"
        grouping = f"SELECT {one} AS r, grouping({one}) AS x, count(*) AS n FROM {TABLE}"
        yield f"{grouping} GROUP BY {one} WITH ROLLUP"
        yield f"SELECT a.id, b.id AS o FROM {TABLE} a JOIN {TABLE} b USING (id) WHERE a.{one} IS NOT NULL"
        few, of_a = f"FROM {TABLE} b WHERE", f"SELECT a.id FROM {TABLE} a WHERE"
        yield f"{of_a} a.{one} NOT IN (SELECT b.{one}2 {few} b.id < 20 AND b.{one}2 IS NOT NULL)"
        yield f"{of_a} NOT EXISTS (SELECT 1 {few} b.{one}2 = a.{one} AND b.id < 20)"
        generated = f"LATERAL VIEW inline(array(named_struct('a', {one}, 'b', s))) x AS p, q"
        yield f"SELECT p, q FROM {TABLE} {generated}"
        nested = f"(SELECT array(named_struct('a', {one}, 'b', s)) AS w FROM {TABLE}) v"
        yield f"SELECT p, q FROM {nested} LATERAL VIEW inline(w) x AS p, q"
        some = f"(SELECT {one}2 FROM {TABLE}) w GROUP BY w.{one}2"
        yield f"SELECT w.{one}2 AS r, count(*) AS n FROM {some} HAVING count(w.{one}2) > 0"
    yield from (f"SELECT id FROM {TABLE} WHERE s RLIKE '{regex}'" for regex in REGEXES)
    yield from (
        f"SELECT id, r FROM {TABLE} LATERAL VIEW explode(split(s, {by})) x AS r" for by in ("','", "' '", "'-'")
    )
    yield from (f"SELECT id, p, r FROM {TABLE} LATERAL VIEW posexplode({one}) x AS p, r" for one in ("split(s, ',')",))
    yield from (f"SELECT id, a, b FROM {TABLE} LATERAL VIEW {outer}explode(mp) x AS a, b" for outer in ("", "OUTER "))
    yield from (f"SELECT id, r FROM {TABLE} LATERAL VIEW explode(map_keys(mp)) x AS r",)
    yield from (f"SELECT id, st.{name} AS r FROM {TABLE}" for name in "ab")
    moved = ("lag({0})", "lead({0})", "lag({0}, 1)", "lead({0}, 2)", "first_value({0})", "last_value({0})")
    functions = [function.format(one) for one, function in product(("l", "d", "ts", "bo"), moved)]
    functions += [f"lag({one}, 1, 0)" for one in ("i", "l", "d", "n")] + [
        "lag(s, 1, 'x')",
        "lead(s, 1)",
        "lead(n, 1)",
        "lag(dt, 1)",
    ]
    for function in functions:
        yield f"SELECT id, {function} OVER (PARTITION BY g ORDER BY id DESC NULLS LAST) AS r FROM {TABLE}"
    framed = product(("i", "n", "d", "s"), ("sum", "avg", "count", "max", "first_value", "last_value"), _FRAMES)
    for one, function, frame in framed:
        over = f"PARTITION BY g ORDER BY {one} NULLS FIRST, id DESC NULLS LAST {frame}"
        yield f"SELECT id, {function}({one}) OVER ({over}) AS r FROM {TABLE}"
    for one in ("i", "s", "n", "d", "dt", "bo"):
        windows = "(PARTITION BY g), y AS (PARTITION BY g ORDER BY id NULLS FIRST)"
        yield f"SELECT id, sum(ti) OVER w AS x, count({one}) OVER w AS z FROM {TABLE} WINDOW w AS {windows}"
        yield f"SELECT id, {one} FROM {TABLE} SORT BY {one}"
        yield f"SELECT id, {one} FROM {TABLE} DISTRIBUTE BY {one} SORT BY id"
        yield f"SELECT id, {one} FROM {TABLE} CLUSTER BY {one}"


def calls(is_valid: Callable[[str], bool]) -> Iterator[str]:
    """Yield each call of each function with arguments of usual types that both engines accept."""
    pairs = [f"{one}, {two}2" for one, two in product(_USUAL, _USUAL)]
    for name in FUNCTIONS:
        for arguments in (*_USUAL, *pairs, *_TRIPLES):
            call = f"{name}({arguments})"
            if is_small(call) and is_valid(call):
                yield call
