"""The expressions that both engines run: operators, casts, choices and calls for combinations of types."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product

from hive_views.sql.engines.builtin_functions import (
    HIVE_AGGREGATES,
    HIVE_FUNCTIONS,
    HIVE_TABLE_FUNCTIONS,
    SPARK_FUNCTIONS,
)
from tests.reader_tables.values import FIRST, KINDS, SECOND, THIRD

# ruff: noqa: SIM905 (long lists of words)
_NOT_CALLED = frozenset(
    """
    aes_encrypt and array array_compact assert_true between bigint binary boolean case char coalesce concat
    current_catalog current_database current_date current_schema current_timestamp current_user cume_dist date
    decimal dense_rank div double explode first_value float grouping if in inline int java_method json_tuple
    lag last_value lead like map named_struct not ntile nullif nvl or percent_rank posexplode rand rank
    reflect regexp rlike row_number smallint st_asbinary st_geomfromwkb st_setsrid st_srid stack string struct
    timestamp tinyint typeof uuid version when
    """.split()
)
"""Functions with other forms below, and those whose results change from one execution to the next."""
FUNCTIONS = sorted((HIVE_FUNCTIONS & SPARK_FUNCTIONS) - HIVE_AGGREGATES - HIVE_TABLE_FUNCTIONS - _NOT_CALLED)
AGGREGATES = sorted((HIVE_AGGREGATES & SPARK_FUNCTIONS) - _NOT_CALLED)

_ARITHMETIC = ("+", "-", "*", "/", "%", "DIV", "&", "|", "^")
_COMPARISONS = ("=", "<", "<=>")
_TEXTS = ("LIKE", "RLIKE", "||")
_CAST_TARGETS = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(10,2)", "decimal(20,6)"),
    *("decimal(5,0)", "string", "varchar(3)", "char(3)", "date", "timestamp", "binary"),
)
_LITERALS = (
    *("0", "1", "2", "-1", "10", "0.5", "1.25", "'a'", "'abc'", "''", "','", "'12'", "'2024-02-29'"),
    *("DATE '2024-02-29'", "TIMESTAMP '2024-02-29 12:00:00'", "true", "NULL"),
)
_INTERVALS = tuple(f"INTERVAL '{count}' {unit}" for unit in ("DAY", "HOUR", "MONTH", "YEAR") for count in (1, -3))
_FIELDS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
_PATTERNS = ("'a%'", "'%b%'", "'_b_'", "'%'", "'abc'")
_REGEXES = ("'^a'", "'b'", "'[0-9]+'", "'^[A-Za-z]+$'", "'a|b'", "'a.*c'", "'(a)(b)'")
_FORMATS = (
    *(
        "yyyy",
        "yy",
        "MM",
        "M",
        "dd",
        "d",
        "HH",
        "mm",
        "ss",
        "yyyy-MM",
        "yyyyMM",
        "yyyyMMdd",
        "yyyy-MM-dd",
        "dd/MM/yyyy",
    ),
    *("MM/dd/yyyy", "yyyy-MM-dd HH:mm", "yyyy-MM-dd HH:mm:ss", "yyyyMMddHHmmss", "HH:mm", "HH:mm:ss", "EEEE", "E"),
    *("MMM", "MMMM", "dd MMM yyyy", "a", "hh", "D", "yyyy-'Q'", "SSS", "yyyy/MM/dd", "dd.MM.yyyy", "u", "Q", "w", "Y"),
)
_UNITS = ("year", "YEAR", "yyyy", "yy", "quarter", "Q", "month", "MONTH", "MM", "mon", "week", "day", "DD", "hour")
_SEPARATORS = ("','", "' '", "'-'", "';'", "'\\\\.'", "'[,;]'", "'X'", "':'", "'_'", "'/'", "'\\\\|'")


def columns(suffix: str) -> list[str]:
    """Return a column of each type."""
    return [f"{kind.prefix}{suffix}" for kind in KINDS]


def operators() -> Iterator[str]:
    """Yield operators on columns of each pair of types, and on a column and a literal."""
    ones, others = columns(FIRST), columns(SECOND)
    for operator in (*_ARITHMETIC, *_COMPARISONS, *_TEXTS):
        yield from (f"{one} {operator} {other}" for one, other in product(ones, others))
        yield from (f"{one} {operator} {literal}" for one, literal in product(ones, _LITERALS))
        yield from (f"{literal} {operator} {one}" for one, literal in product(ones, _LITERALS[:8]))
    for one, interval, operator in product(("dt", "ts", "s"), _INTERVALS, "+-"):
        yield f"{one} {operator} {interval}"
    yield from (f"{interval} + {one}" for one, interval in product(("dt", "ts"), _INTERVALS))
    for one in ones:
        yield from (f"-{one}", f"~{one}", f"NOT {one}", f"{one} IS NULL", f"{one} IS NOT NULL", f"{one} IS TRUE")
        yield from (f"{one}[0]", f"{one}['a']", f"{one}.a", f"{one} IN (1, 2)", f"{one} IN ('a', 'abc')")
        yield from (f"{one} IN ({one}2, NULL)", f"{one} IN ({one}2, {one}3)", f"{one} BETWEEN {one}2 AND {one}3")
        yield from (f"{one} BETWEEN 0 AND 10", f"{one} BETWEEN '2024-01-01' AND '2024-12-31'")
    yield from (f"{one} IN ({other}2)" for one, other in product(ones, ones))
    yield from (f"{one} LIKE {pattern}" for one, pattern in product(("s", "v", "c"), _PATTERNS))
    yield from (f"{one} RLIKE {pattern}" for one, pattern in product(("s", "v", "c"), _REGEXES))


def casts() -> Iterator[str]:
    """Yield casts of columns and literals to each type."""
    yield from (f"CAST({item} AS {kind})" for item, kind in product((*columns(FIRST), *_LITERALS), _CAST_TARGETS))


def classes() -> Iterator[str]:
    """Yield comparisons and calls with literals of the classes of `hive_views.sql.analysis.literals`."""
    literals = {
        "dt": ("'2024-02-29'", "'2023-12-31'"),
        "ts": ("'2024-02-29'", "'2024-02-29 12:34:56'", "'2023-12-31 23:59:59.999'"),
        **dict.fromkeys(("i", "l", "n", "d"), ("'10'", "'-7'", "'2.5'")),
        "f": ("0.5", "2", "-2.5"),
    }
    for one, listed in literals.items():
        yield from (f"{one} {operator} {literal}" for operator in ("=", "<", ">", "<=>") for literal in listed)
        yield from (f"{literal} < {one}" for literal in listed)
        yield f"{one} IN ({', '.join(listed)})"
        yield f"{one} BETWEEN {listed[0]} AND {listed[1]}"
    yield from (f"{name}('2024-02-29', {one})" for name, one in product(("datediff", "months_between"), ("dt", "ts")))
    yield from (f"{name}({one}, '2024-02-29')" for name, one in product(("datediff", "months_between"), ("dt", "ts")))
    yield from (f"months_between({one}, {other}2)" for one, other in product(("dt", "ts"), repeat=2))
    yield from (f"pmod({one}, {divisor})" for one, divisor in product(("ti", "si", "i", "l", "n", "d"), (2, 7, 100)))
    yield from (f"locate({text}, {one})" for text, one in product(("'a'", "'b'"), ("s", "v")))
    yield from (f"repeat('*', {one})" for one in ("ti",))
    yield from (f"CAST({one} AS decimal({size}))" for one, size in product("nm", ("12,1", "9,4", "30,8", "22,2")))


def choices() -> Iterator[str]:
    """Yield choices between values of each pair of types, and of a column and a literal."""
    pairs = [*product(columns(FIRST), columns(SECOND)), *product(columns(FIRST), _LITERALS)]
    forms = ["CASE WHEN bo THEN {0} ELSE {1} END", "coalesce({0}, {1})", "if(bo, {0}, {1})", "nvl({0}, {1})"]
    forms += ("nullif({0}, {1})", "greatest({0}, {1})", "least({0}, {1})", "CASE {0} WHEN {1} THEN 1 END")
    forms += ("concat({0}, {1})", "array({0}, {1})", "concat_ws('-', {0}, {1})")
    yield from (form.format(*pair) for form in forms for pair in pairs)
    yield from (f"CASE WHEN bo THEN {one} END" for one in columns(FIRST))
    yield from (f"CASE WHEN {one} THEN 1 ELSE 0 END" for one in ("bo", "bo2"))


def formats() -> Iterator[str]:
    """Yield calls with literals that decide about their results."""
    for one, pattern in product(("dt", "ts", "s"), _FORMATS):
        written = pattern.replace("'", "''") if "'" in pattern else pattern
        yield f"date_format({one}, '{written}')"
    yield from (f"from_unixtime({one}, '{pattern}')" for one, pattern in product(("i", "l"), _FORMATS[:20]))
    yield from (f"trunc({one}, '{unit}')" for one, unit in product(("dt", "ts", "s"), _UNITS))
    yield from (f"extract({field} FROM {one})" for one, field in product(("dt", "ts"), _FIELDS))
    yield from (f"split({one}, {separator})" for one, separator in product(("s", "v"), _SEPARATORS))
    yield from (f"split({one}, {separator})[0]" for one, separator in product(("s",), _SEPARATORS))
    yield from (f"substring_index({one}, {by}, {at})" for one, by, at in product(("s",), _SEPARATORS, (1, 2, -1, -2)))
    yield from (f"substr({one}, {at}, {size})" for one, at, size in product("sv", (0, 1, 2, 5), (0, 1, 2, 10)))
    yield from (f"substr({one}, {at})" for one, at in product("sv", (0, 1, 3, 20)))
    yield from (
        f"{side}pad({one}, {size}, {by})"
        for side, one, size, by in product("lr", ("s", "v", "i"), (1, 5, 20), ("'0'", "' '", "'x-'"))
    )
    yield from (f"regexp_extract({one}, {regex}, {group})" for one, regex, group in product("sv", _REGEXES, (0, 1)))
    yield from (
        f"regexp_replace({one}, {regex}, {by})" for one, regex, by in product("sv", _REGEXES, ("''", "'-'", "' '"))
    )
    yield from (f"translate({one}, {old}, {new})" for one, old, new in product("sv", ("'abc'", "'a'"), ("'xyz'", "''")))
    yield from (f"date_add({one}, {days})" for one, days in product(("dt", "ts", "s"), (0, 1, -1, 30)))
    yield from (f"next_day({one}, '{day}')" for one, day in product(("dt", "ts", "s"), ("MON", "Friday", "SU")))
    yield from (f"round({one}, {digits})" for one, digits in product(columns(FIRST), (0, 1, 2, 3, -1)))
    yield from (
        f"{name}({one}, {zone})"
        for name in ("from_utc_timestamp", "to_utc_timestamp")
        for one, zone in product(("ts", "dt", "s"), ("'UTC'", "'Asia/Tokyo'", "'America/New_York'", "'+02:00'"))
    )
    yield from (f"format_number({one}, {digits})" for one, digits in product(("i", "l", "d", "n", "m"), (0, 2)))
    yield from (f"conv({one}, {old}, {new})" for one, old, new in product(("s", "i", "l"), (10, 16), (2, 16, 10)))
    yield from (f"get_json_object({one}, {path})" for one, path in product("sv", ("'$.a'", "'$.b[0]'", "'$'")))
    yield from (f"sha2({one}, {size})" for one, size in product(("s", "bi"), (0, 224, 256, 512)))
    yield from (
        f"{name}({one}, {key})"
        for name, one in product(("decode", "encode"), ("s", "bi"))
        for key in ("'UTF-8'", "'US-ASCII'", "'UTF-16'")
    )
    yield from (f"str_to_map({one}, ',', '=')" for one in "sv")
    yield from (f"elt({at}, s, s2)" for at in (1, 2, 3))
    yield from (f"named_struct('x', {one})" for one in columns(FIRST))
    yield from (f"size({one})" for one in ("ai", "at", "mp"))
    yield from (f"map('k', {one})" for one in columns(FIRST))


_SIZES = {"space": 0, "repeat": 1, "lpad": 1, "rpad": 1, "format_number": 1, "array_repeat": 1}
"""Functions whose results are as long as one of their arguments says."""
_SMALL = ("ti", "bo", "s", "v", "c")
"""Types without values that stand for a long result."""


def is_small(expression: str) -> bool:
    """Return whether a call has a result of usual size; an engine ends without memory for others."""
    name, _, rest = expression.partition("(")
    if name not in _SIZES:
        return True
    arguments = rest.removesuffix(")").split(", ")
    size = arguments[_SIZES[name]].rstrip("23") if len(arguments) > _SIZES[name] else ""
    return size in _SMALL or size not in {kind.prefix for kind in KINDS}


def calls(is_valid: Callable[[str], bool], most: int, seed: int = 42) -> Iterator[str]:
    """Yield calls of every function that both engines have.

    Args:
        is_valid: Whether a call is valid in both engines.
        most: The calls of one function with a number of arguments.
        seed: Of the random choices.
    """
    for name in FUNCTIONS:
        chosen = random.Random(f"{seed} {name}")
        yield from filter(is_valid, [f"{name}()"])
        yield from _some((f"{name}({one})" for one in (*columns(FIRST), *_LITERALS)), is_valid, most, chosen)
        pairs = [*product(columns(FIRST), columns(SECOND)), *product(columns(FIRST), _LITERALS)]
        yield from _some((f"{name}({one}, {two})" for one, two in pairs), is_valid, most, chosen)
        seconds, thirds = (*columns(SECOND), *_LITERALS), (*columns(THIRD), *_LITERALS)
        triples = [
            (chosen.choice(columns(FIRST)), chosen.choice(seconds), chosen.choice(thirds)) for _ in range(300)
        ] + [(f"{prefix}", f"{prefix}2", f"{prefix}3") for prefix in columns(FIRST)]
        yield from _some((f"{name}({', '.join(triple)})" for triple in triples), is_valid, most // 2, chosen)


def aggregates(is_valid: Callable[[str], bool]) -> Iterator[str]:
    """Yield calls of every aggregate function that both engines have."""
    for name, one in product(AGGREGATES, columns(SECOND)):
        listed = (f"{name}({one})", f"{name}(DISTINCT {one})", f"{name}({one}, 0.5)", f"{name}({one}, {one})")
        yield from filter(is_valid, listed)
    for name in ("collect_list", "collect_set"):
        yield from filter(is_valid, (f"sort_array({name}({one}))" for one in columns(SECOND)))
    for name, two in product(AGGREGATES, ("i", "d", "n")):
        yield from filter(is_valid, (f"{name}({one}2, {two}3)" for one in ("i", "d", "n", "l")))
    yield from ("count(*)", "count(1)", "sum(1)", "count(DISTINCT i2, s2)", "sum(CASE WHEN bo2 THEN 1 ELSE 0 END)")


def texts() -> Iterator[str]:
    """Yield queries: windows, set operations, groupings and joins for each type."""
    orders = ("ORDER BY id2", "ORDER BY {0} NULLS FIRST, id2", "ORDER BY {0} DESC NULLS LAST, id2", "ORDER BY {0}, id2")
    functions = ["row_number()", "rank()", "dense_rank()", "lag({0})", "lead({0})", "first_value({0})"]
    functions += ("last_value({0})", "percent_rank()", "cume_dist()", "ntile(3)", "lag({0}, 2)", "sum({0})", "max({0})")
    functions += ("avg({0})", "count({0})", "min({0})")
    placed = ("ORDER BY {0} NULLS FIRST, id2 NULLS FIRST", "ORDER BY {0} DESC NULLS LAST, id2 NULLS LAST")
    inner = f"(SELECT id AS id2, g, {', '.join(columns(FIRST))} FROM k.t) w"
    frames = ["", " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING"]
    frames += (" ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",)
    for one, function in product(("i", "s", "n", "d", "dt", "bo"), functions):
        for order in orders:
            over = f"PARTITION BY g {order}".format(one)
            yield f"SELECT id2, {function.format(one)} OVER ({over}) AS r FROM {inner}"
        if function[:3] in ("sum", "max", "avg", "cou", "min", "fir", "las"):
            over = f"PARTITION BY g {orders[1]}".format(one)
            yield from (
                f"SELECT id2, {function.format(one)} OVER ({over}{frame}) AS r FROM {inner}" for frame in frames[1:]
            )
    for order, kinds in zip(placed, (("i", "s", "n", "dt"), ("i",)), strict=True):
        for one, function in product(kinds, (*functions, "lag({0}, 1, {0})", "lead({0}, 1)")):
            over = f"PARTITION BY g {order}".format(one)
            yield f"SELECT id2, {function.format(one)} OVER ({over}) AS r FROM {inner}"
    for one, two in product(columns(FIRST), columns(FIRST)):
        for operation in ("UNION ALL", "UNION", "INTERSECT", "EXCEPT"):
            yield f"SELECT {one} AS r FROM k.t WHERE id < 60 {operation} SELECT {two} FROM k.t WHERE id > 100"
    for one in columns(FIRST):
        yield f"SELECT {one} AS r, count(*) AS n FROM k.t GROUP BY {one}"
        yield f"SELECT DISTINCT {one} AS r FROM k.t"
        yield f"SELECT {one} AS r, g, count(*) AS n FROM k.t GROUP BY {one}, g WITH ROLLUP"
        yield f"SELECT {one} AS r, g, count(*) AS n FROM k.t GROUP BY {one}, g GROUPING SETS (({one}), (g))"
        yield f"SELECT a.id, b.id AS o FROM k.t a JOIN k.t b ON a.{one} = b.{one}2 AND a.id < 40 AND b.id < 40"
        yield f"SELECT id FROM k.t WHERE {one} IN (SELECT {one}2 FROM k.t WHERE id < 20)"
        yield f"SELECT max({one}) AS r FROM k.t HAVING count(*) > 1"
        yield f"SELECT id FROM k.t a WHERE EXISTS (SELECT 1 FROM k.t b WHERE b.{one}2 = a.{one} AND b.id < 20)"
        yield f"SELECT a.id, b.id AS o FROM k.t a LEFT JOIN k.t b ON a.{one} = b.{one}2 AND b.id < 5 WHERE a.id < 40"
    yield from (
        f"SELECT r FROM k.t LATERAL VIEW {outer}explode({one}) x AS r"
        for one in ("ai", "at")
        for outer in ("", "OUTER ")
    )
    yield from (f"SELECT p, r FROM k.t LATERAL VIEW posexplode({one}) x AS p, r" for one in ("ai", "at"))
    yield "SELECT a, b FROM k.t LATERAL VIEW explode(mp) x AS a, b"
    yield "SELECT a, b FROM k.t LATERAL VIEW json_tuple(s, 'a', 'b') x AS a, b"
    yield "SELECT a, b FROM k.t LATERAL VIEW stack(2, 'x', i, 'y', i2) x AS a, b"
    yield "SELECT a.id FROM k.t a LEFT SEMI JOIN k.t b ON a.i = b.i2"
    for kind in ("INNER", "LEFT OUTER", "RIGHT OUTER", "FULL OUTER", "CROSS"):
        condition = "" if kind == "CROSS" else " ON a.id = b.id + 10"
        some = "(SELECT id FROM k.t WHERE id < 20)"
        yield f"SELECT a.id, b.id AS o FROM {some} a {kind} JOIN {some} b{condition}"


def _some(
    candidates: Iterable[str], is_valid: Callable[[str], bool], most: int, chosen: random.Random
) -> Sequence[str]:
    valid = [item for item in candidates if is_small(item) and is_valid(item)]
    return sorted(chosen.sample(valid, min(most, len(valid))))
