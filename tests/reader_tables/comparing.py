"""Comparing: what a reader answers to an expression of an author's engine, with an example of a difference."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import zip_longest

from hive_views.sql.analysis.outcomes import Outcome
from tests.reader_tables.engines import Answer
from tests.reader_tables.values import COLUMNS, COUNT, position

_TEXTS = ("string", "varchar", "char", "binary")
_COLUMN = re.compile(r"(?<![\w.'])([a-z]{1,2}[23]?)(?![\w('])")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\.0")
_BEYOND = re.compile(r"\+?\d{5}-\d\d-\d\d")
_BETWEEN_ENTRIES = re.compile(r"[{},]")
_CAST = re.compile(r"^CAST\((.*) AS (?:\w+(?:\(.*\))?)\)$")

_NOT_FINITE = "NaN and infinite numbers"
_RANGE = "integers at the ends of the range of their type"
_NUMBER_AS_TEXT = "texts of numbers with a fraction or an exponent"
_EARLY = "fractions of seconds before 1970"
LAST_DIGIT = "results of DOUBLE in their last digits"

RARE = {
    **dict.fromkeys(("'NaN'", "'Infinity'", "'-Infinity'"), _NOT_FINITE),
    **dict.fromkeys(("127", "-128", "32767", "-32768", "2147483647", "-2147483648"), _RANGE),
    **dict.fromkeys(("9223372036854775807", "-9223372036854775807"), _RANGE),
    "1e300": "numbers beyond the range of integers",
    **dict.fromkeys(("'1e3'", "'-3.5'"), _NUMBER_AS_TEXT),
    "'2024-13-41'": "texts of dates that do not exist",
    "'1969-12-31 23:59:58.5'": _EARLY,
    "'9999-12-31'": "dates of the year 9999",
    "'9999-12-31 00:00:00'": "dates of the year 9999",
}
"""What users call the values that rarely occur, without their casts."""
RARE_IN_CALLS = {("initcap", "'Zoë ß 王'"): "letters such as ß and İ, whose other case has two characters"}
"""Values that rarely occur as an argument of one function."""
_CAST_TO_INTEGER = re.compile(r"CAST\(.* AS (?:int|bigint)\)|(?:int|bigint)\(.*\)", re.IGNORECASE)
_FRAME = re.compile(r"\bROWS BETWEEN\b")
_DIGITS_OF_DOUBLE = Decimal("1e-13")
_SMALLEST = Decimal("1e-280")


@dataclass(frozen=True)
class Difference:
    """A row for which a reader returns another value than the author's engine."""

    row: int
    author: str
    reader: str


@dataclass(frozen=True)
class Verdict:
    """What a reader does with an expression."""

    outcome: Outcome | None
    """None for equal rows."""
    error: str | None = None
    """The reader's error."""
    differences: tuple[Difference, ...] = ()
    values: frozenset[str] = frozenset()
    """The values that rarely occur, for `Outcome.SOME_VALUES`."""


def compare(author: Sequence[Answer], reader: Sequence[Answer], types: Sequence[str]) -> Verdict | None:
    """Compare the answers of two engines, each in all its ways to execute a query; None if the author's refuses it.

    Args:
        author: The answers of the engine that the expression was written for.
        reader: The answers of the engine that reads it.
        types: The types of the columns.
    """
    rows, read = ([item for item in side if not isinstance(item, str)] for side in (author, reader))
    if not rows:
        return None
    found: dict[int, Difference] = {}
    for one, two in ((one, two) for one in rows for two in read if one != two):
        for difference in _differences(one, two, types):
            found.setdefault(difference.row, difference)
    if found:
        return Verdict(Outcome.OTHER_ROWS, None, tuple(found.values()))
    errors = [item[1:] for item in reader if isinstance(item, str)]
    if errors:
        return Verdict(Outcome.REFUSED if is_refusal(errors[0]) else Outcome.MAY_FAIL, errors[0])
    return Verdict(None)


def with_rare_values(verdict: Verdict, text: str, kind: str, *, has_key: bool) -> Verdict:
    """Return the result of a comparison, as a note if rows differ only where a column has a value that rarely occurs.

    Args:
        verdict: The result.
        text: The expression.
        kind: The type of its result.
        has_key: Whether the number of a row tells the values of its columns.
    """
    if verdict.outcome is not Outcome.OTHER_ROWS or "AS varchar" in text or "AS char" in text:
        return verdict  # a cast that cuts texts differs for all that are long enough
    names = [name for name in dict.fromkeys(_COLUMN.findall(text)) if name in COLUMNS] if has_key else []
    values: set[str] = set()
    function = text.partition("(")[0]
    for difference in verdict.differences:
        found = [_value(name, difference.row) for name in names]
        rare = sorted(filter(None, (RARE.get(value) or RARE_IN_CALLS.get((function, value)) for value in found)))
        if _CAST_TO_INTEGER.fullmatch(text) and _is_beyond_integers(names, difference):
            rare = [RARE["1e300"]]
        if kind in ("double", "float") and _is_last_digit(difference):
            rare = [LAST_DIGIT]
        if kind in ("double", "float") and _FRAME.search(text) and _is_not_finite(difference):
            rare = [_NOT_FINITE]  # Hive subtracts what leaves the frame
        if not rare:
            return verdict
        if not values.intersection(rare):
            values.add(rare[0])
    return Verdict(Outcome.SOME_VALUES, verdict.error, verdict.differences, frozenset(values))


def _is_beyond_integers(names: Sequence[str], difference: Difference) -> bool:
    """Return whether a cast of a number differs by NULL, which Hive returns for a number beyond the range."""
    is_exact = all(COLUMNS[name].type.startswith(("decimal", "int", "bigint")) for name in names)
    return is_exact and (difference.author == "NULL") != (difference.reader == "NULL")


def _is_not_finite(difference: Difference) -> bool:
    """Return whether one of two values is NaN or infinite."""
    values = {side.rpartition("\t")[2] for side in (difference.author, difference.reader)}
    return bool(values & {"NaN", "Infinity", "-Infinity"})


def _is_last_digit(difference: Difference) -> bool:
    try:
        one, two = (Decimal(side.rpartition("\t")[2]) for side in (difference.author, difference.reader))
    except InvalidOperation:
        return False
    if not (one.is_finite() and two.is_finite()):
        return False
    return abs(one - two) <= max(abs(one), _SMALLEST) * _DIGITS_OF_DOUBLE


def _differences(author: list[str], reader: list[str], types: Sequence[str]) -> Iterator[Difference]:
    """Yield the rows with other values; those of a query with several columns are compared in their order by value."""
    if len(types) > 1:
        author, reader = (sorted(_normal_line(line, types) for line in side) for side in (author, reader))
        types = ("string",)
    for row, (left, right) in enumerate(zip_longest(author, reader)):
        if left is None or right is None:
            yield Difference(row, left or "no row", right or "no row")
        elif left != right and normal(left, types[0]) != normal(right, types[0]) and not _is_beyond(left, right):
            yield Difference(row, left, right)


def _is_beyond(left: str, right: str) -> bool:
    """Return whether a value is a date after year 9999, for which Hive's vectorized execution returns NULL."""
    return _BEYOND.match(left) is not None or _BEYOND.match(right) is not None


def _normal_line(line: str, types: Sequence[str]) -> str:
    return "\t".join(str(normal(value, kind)) for value, kind in zip(line.split("\t"), types, strict=True))


def is_refusal(error: str) -> bool:
    """Return whether an engine refused the text itself, in place of failing on a value."""
    return " " not in error or (error.startswith("FAILED: ") and "RuntimeException" not in error)


def normal(printed: str, kind: str) -> object:
    """Return a printed value so that equal values are equal: a number without the zeros at the end of its fraction."""
    if kind.startswith(_TEXTS):
        return printed
    if printed.startswith(("[", "{")):
        return _normal_nested(printed)
    try:
        number = Decimal(printed)
    except InvalidOperation:
        return _TIME.sub(r"\1", printed).removeprefix("+")
    return printed if not number.is_finite() or (number == 0 and printed.startswith("-")) else str(number.normalize())


def _normal_nested(printed: str) -> str:
    """Return a printed array, map or struct without quotes: only Hive prints them around dates, and escapes them."""
    printed = printed.replace('\\"', '"')
    try:
        plain = _rendered(json.loads(printed, parse_float=Decimal, parse_int=Decimal, object_pairs_hook=_Pairs))
    except ValueError:  # a text in it has a quote, or Spark has printed a date
        plain = _TIME.sub(r"\1", printed.replace('"', ""))
    return ",".join(sorted(_BETWEEN_ENTRIES.split(plain))) if printed.startswith("{") else plain


class _Pairs(list[tuple[str, object]]):
    """The entries of a map or a struct."""


def _rendered(value: object) -> str:
    if isinstance(value, _Pairs):
        return f"{{{','.join(sorted(f'{name}:{_rendered(item)}' for name, item in value))}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_rendered, value))}]"
    if isinstance(value, Decimal):
        return str(value.normalize())
    return _TIME.sub(r"\1", str(value)) if isinstance(value, str) else json.dumps(value)


def example(expression: str, verdict: Verdict) -> tuple[str, str, str] | None:
    """Return an expression with the values of a row in place of its columns, and what both engines return for it."""
    names = [name for name in dict.fromkeys(_COLUMN.findall(expression)) if name in COLUMNS]
    if not verdict.differences or not names:
        return None
    best = min(verdict.differences, key=lambda item: sum(_rank(name, item.row) for name in names))
    written = _COLUMN.sub(lambda match: _value(match.group(1), best.row), expression)
    return written, best.author, best.reader


def _rank(name: str, row: int) -> int:
    at = position(name, row)
    return at + (COUNT if "NULL" in COLUMNS[name].values[at] else 0)


def _value(name: str, row: int) -> str:
    if name not in COLUMNS:
        return name
    return _CAST.sub(r"\1", COLUMNS[name].values[position(name, row)])
