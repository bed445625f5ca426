"""Classes of literals that decide what an engine returns, as parts of the signatures of constructs.

For example `'date'` stands for a text that is written as an existing date, and `n` for a positive integer: what holds
for some of them holds for all, so that the table of answers has one entry for the class.
"""

from __future__ import annotations

import re
from datetime import datetime

from sqlglot import exp

_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,8})")
_FRACTION = re.compile(r"-?(?:0|[1-9]\d{0,8})\.\d{0,3}[1-9]")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?")
_FIRST_YEAR = 1583
"""The first year of which both engines have the same calendar."""
_NUMBERS = frozenset({"tinyint", "smallint", "int", "bigint", "decimal", "double", "float"})
_PLAIN_TEXT = re.compile(r"[A-Za-z0-9 _.,:;#*@/+-]+")
_LARGEST_SIZE = 1000
_EXACT_FLOAT = 64
"""Numbers below 2 ** 17 that are multiples of 1 / 64 are values of FLOAT."""

# ruff: noqa: SIM905 (long lists of words)
_OF_SIZES = frozenset(
    "lpad rpad repeat space locate instr substring_index left right pmod translate split_part".split()
)
"""Functions for which all positive integers, all negative ones, and all usual texts are alike."""
_OF_DATES = frozenset(
    """
    add_months date_add date_sub datediff day dayofmonth dayofweek last_day month months_between quarter to_date
    weekofyear year
    """.split()
)
"""Functions that read a text as a date."""


def is_time(text: str) -> bool:
    """Return whether a text is written as a date, or timestamp, that both engines have."""
    try:
        return datetime.fromisoformat(text[:19]).year >= _FIRST_YEAR
    except ValueError:
        return False


def is_date(text: str) -> bool:
    """Return whether a text is written as an existing date."""
    return _DATE.fullmatch(text) is not None and is_time(text)


def is_timestamp(text: str) -> bool:
    """Return whether a text is written as an existing timestamp."""
    return _TIMESTAMP.fullmatch(text) is not None and is_time(text)


def compared_literal(literal: exp.Expr, other: str) -> str | None:
    """Return the class of a literal that is compared with a value of a type; None if only its type decides."""
    if isinstance(literal, exp.Neg):
        literal = literal.this
    if not isinstance(literal, exp.Literal):
        return None
    text = literal.name
    if not literal.is_string:
        return "number of FLOAT" if other == "float" and _is_exact(text) else None
    if other in _NUMBERS and _INTEGER.fullmatch(text):
        return "'integer'"
    if other in _NUMBERS and _FRACTION.fullmatch(text):
        return "'fraction'"
    if other in ("date", "timestamp") and is_date(text):
        return "'date'"
    if other in ("date", "timestamp") and is_timestamp(text):
        return "'timestamp'"
    return None


def _is_exact(number: str) -> bool:
    try:
        scaled = float(number) * _EXACT_FLOAT
    except ValueError:
        return False
    return scaled == int(scaled) and scaled < 2**23


_FIELDS = frozenset({"yyyy", "MM", "MMM", "dd", "HH", "mm", "ss"})
_RUNS_OF_LETTERS = re.compile(r"([A-Za-z])\1*")
_FORMAT = re.compile(r"[A-Za-z \-/.:,_]+")
_ESCAPED = r"\\[dwsDWS.*+?()|{}^$/\[\]-]"
"""An escaped character, or a class of characters that Java has for both engines."""
_ATOM = rf"""(?:[).]|[A-Za-z0-9 _@,:;#/=&%<>!~"-]|{_ESCAPED}|\[\^?(?:[A-Za-z0-9 _.,:;@/#-]|{_ESCAPED})+\])"""
_REGEX = re.compile(rf"\^?(?:[(|]|{_ATOM}(?:[*+?]|\{{\d{{1,2}}(?:,\d{{0,2}})?\}})?)+\$?")
_REPLACEMENT = re.compile(r"(?:[A-Za-z0-9 _.,:;*@/+#-]|\$\d(?!\d))*")
_KEYS = re.compile(r"\$(?:\.[A-Za-z_]\w*)+")
_PLACES = re.compile(r"\$(?:\.[A-Za-z_]\w*|\[\d{1,4}\])+")
_SEPARATOR = re.compile(r"[A-Za-z0-9 ,;:@/_=#&-]+")
_SIZES_OF_SHA2 = ("0", "224", "256", "384", "512")


def is_plain_format(text: str) -> bool:
    """Return whether a format has only fields that both engines print alike, and separators."""
    runs = (match.group() for match in _RUNS_OF_LETTERS.finditer(text))
    return _FORMAT.fullmatch(text) is not None and all(run in _FIELDS for run in runs)


def has_time(text: str) -> bool:
    """Return whether a format has a field of the time of day."""
    return any(letter in text for letter in "Hms")


_ONLY_DIGITS = re.compile(r"(?:yyyy|MM|dd|HH|mm|ss)+")
_MOST_DIGITS = {"int": 8, "bigint": 18}


def is_number_format(text: str, kind: str) -> bool:
    """Return whether a date in a format, such as yyyyMMdd, is a number that an integer type holds."""
    return _ONLY_DIGITS.fullmatch(text) is not None and len(text) <= _MOST_DIGITS.get(kind, 0)


_BACKSLASH = re.compile(r"[^\\]|\\\\(?![%_])")


def has_only_escaped_backslashes(raw: str) -> bool:
    """Return whether each backslash in a string, as it is written, is one of two that stand for one."""
    return not _BACKSLASH.sub("", raw)


def is_plain_regex(text: str) -> bool:
    """Return whether a regular expression has only usual parts, and matches no empty text."""
    if _REGEX.fullmatch(text) is None:
        return False
    try:
        return re.search(text, "") is None
    except re.error:
        return False


def argument_literals(function: str, arguments: list[exp.Expr]) -> list[str | None]:
    """Return the classes of the literals among the arguments of a function; None where only the type decides."""
    return [_argument_literal(function, arguments, number) for number in range(len(arguments))]


def _argument_literal(function: str, arguments: list[exp.Expr], number: int) -> str | None:
    literal = arguments[number]
    negative = isinstance(literal, exp.Neg)
    inner = literal.this if isinstance(literal, exp.Neg) else literal
    if not isinstance(inner, exp.Literal):
        return None
    by_function = _CLASSES.get((function, number))
    if by_function is not None and not negative:
        return by_function(inner.name, arguments)
    if inner.is_string:
        if function in _OF_DATES and is_date(inner.name):
            return "'date'"
        return "'text'" if function in _OF_SIZES and _PLAIN_TEXT.fullmatch(inner.name) else None
    if function in _OF_SIZES and inner.name.isdecimal() and 0 < int(inner.name) <= _LARGEST_SIZE:
        return "-n" if negative else "n"
    return None


def _groups(arguments: list[exp.Expr]) -> int | None:
    """Return the number of groups of the regular expression that is the second argument; None if it is not plain."""
    regex = arguments[1] if len(arguments) > 1 else None
    return re.compile(regex.name).groups if isinstance(regex, exp.Literal) and is_plain_regex(regex.name) else None


def _regex(text: str, _: list[exp.Expr]) -> str | None:
    return "'regex'" if is_plain_regex(text) else None


def _group(text: str, arguments: list[exp.Expr]) -> str | None:
    groups = _groups(arguments)
    return "group" if groups is not None and text.isdecimal() and int(text) <= groups else None


def _replacement(text: str, arguments: list[exp.Expr]) -> str | None:
    groups = _groups(arguments)
    has_groups = groups is not None and all(int(item) <= groups for item in re.findall(r"\$(\d)", text))
    return "'text'" if has_groups and _REPLACEMENT.fullmatch(text) else None


def _text(text: str, _: list[exp.Expr]) -> str | None:
    return "'text'" if _PLAIN_TEXT.fullmatch(text) else None


def _text_or_empty(text: str, _: list[exp.Expr]) -> str | None:
    return "'text'" if not text or _PLAIN_TEXT.fullmatch(text) else None


def _separator(text: str, arguments: list[exp.Expr]) -> str | None:
    return "'text'" if _SEPARATOR.fullmatch(text) else _regex(text, arguments)


def _path(text: str, _: list[exp.Expr]) -> str | None:
    return "'keys'" if _KEYS.fullmatch(text) else "'keys and places'" if _PLACES.fullmatch(text) else None


def _size(text: str, _: list[exp.Expr]) -> str | None:
    return "'size'" if text in _SIZES_OF_SHA2 else None


_CLASSES = {
    ("concat_ws", 0): _text_or_empty,
    ("get_json_object", 1): _path,
    ("parse_url", 2): _text,
    ("regexp_extract", 1): _regex,
    ("regexp_extract", 2): _group,
    ("regexp_replace", 1): _regex,
    ("regexp_replace", 2): _replacement,
    ("replace", 1): _text,
    ("replace", 2): _text_or_empty,
    ("sha2", 1): _size,
    ("split", 1): _separator,
}
"""The class of a literal by the function and the number of the argument, from 0."""
