"""Which numbers a type holds: literals, decimals without fractions, and arithmetic that cannot overflow."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from hive_views.sql.analysis.literals import is_date, is_timestamp
from hive_views.sql.analysis.operands import values_of_choice
from hive_views.sql.parsing.syntax_tree import unwrapped
from hive_views.sql.types.hive_types import decimal

_MOST_ROWS = 10**15
"""The most rows of a table."""
_LARGEST_RESULTS: Mapping[type[exp.Expr], int] = {
    exp.Year: 9999,
    exp.Quarter: 4,
    exp.Month: 12,
    exp.WeekOfYear: 53,
    exp.DayOfYear: 366,
    **dict.fromkeys((exp.Day, exp.DayOfMonth), 31),
    exp.DayOfWeek: 7,
    exp.Hour: 23,
    **dict.fromkeys((exp.Minute, exp.Second), 59),
    exp.DateDiff: 9999 * 366,
    exp.StrToUnix: 10**12,
    exp.Count: _MOST_ROWS,
}
"""The largest absolute results of functions, for dates up to the year 9999."""
_LARGEST_VALUES = {"tinyint": 2**7, "smallint": 2**15, "int": 2**31, "bigint": 2**63}


def cannot_overflow(arithmetic: exp.Expr, kind: str) -> bool:
    """Return whether the result of arithmetic on integers is always a value of its type."""
    largest = _largest(arithmetic)
    return largest is not None and largest < _LARGEST_VALUES.get(kind, 0)


def holds_integers(size: tuple[int, int], kind: str) -> bool:
    """Return whether each DECIMAL of a precision and scale, without its fraction, is a value of an integer type."""
    most: int = 10 ** max(size[0] - size[1], 0)
    return most < _LARGEST_VALUES.get(kind, 0)


def _largest(node: exp.Expr) -> int | None:
    """Return the largest absolute value of an expression; None if it is not known."""
    node = unwrapped(node)
    if isinstance(node, exp.Literal):
        return int(node.name) if node.name.isdecimal() and not node.is_string else None
    if isinstance(node, (exp.Neg, exp.Max, exp.Min)):
        return _largest(node.this)
    if isinstance(node, (exp.Add, exp.Sub, exp.Mul)):
        sides = [_largest(node.this), _largest(node.expression)]
        if sides[0] is None or sides[1] is None:
            return None
        return sides[0] * sides[1] if isinstance(node, exp.Mul) else sides[0] + sides[1]
    if isinstance(node, exp.Mod):
        return _largest(node.expression)
    if isinstance(node, exp.Sum):
        summand = _largest(node.this)
        return None if summand is None else summand * _MOST_ROWS
    if isinstance(node, exp.Window):
        return _largest(node.this)
    values = [_largest(item) for item in values_of_choice(node) if not isinstance(item, exp.Null)]
    if values:
        known = [value for value in values if value is not None]
        return max(known) if len(known) == len(values) else None
    return _LARGEST_RESULTS.get(type(node))


_WRITTEN = {"date": is_date, "timestamp": is_timestamp}

_LARGEST = {
    "tinyint": 2**7 - 1,
    "smallint": 2**15 - 1,
    "int": 2**31 - 1,
    "bigint": 2**63 - 1,
    "double": 2**53,
    "float": 2**24,
}
"""The largest integers that are values of a type."""


def is_value_of(literal: exp.Expr, kind: str, target: str) -> bool:
    """Return whether a literal is written as a value of a type, so that a cast to it neither fails nor changes it."""
    written = literal.name
    if literal.is_string:
        return target in _WRITTEN and _WRITTEN[target](written)
    if target in _LARGEST and written.isdecimal():
        return int(written) <= _LARGEST[target]
    size, (whole, _, fraction) = decimal(kind), written.partition(".")
    if not (whole + fraction).isdecimal():
        return False
    if size is not None:
        return len(whole.lstrip("0")) <= size[0] - size[1] and len(fraction) <= size[1]
    return (target == "double" and len(whole + fraction) <= _EXACT_DIGITS) or (target == "string" and not fraction)


_EXACT_DIGITS = 15
"""The most digits that DOUBLE has for each decimal number."""
