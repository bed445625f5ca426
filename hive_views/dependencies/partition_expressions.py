"""Expressions of one partition column, evaluated for the column's values if all engines agree on the result.

All supported expressions return NULL for NULL. The result None means unknown: for a function or pattern that is not
listed here, and for values for which engines or settings differ, such as a text that is not an ISO date.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from datetime import date
from typing import Any

from sqlglot import exp

Value = str | int | date | bool

_ISO_DATE = re.compile(r"[1-9]\d{3}-\d\d-\d\d")
_INTEGER = re.compile(r"-?\d{1,9}")
_INTEGERS = ("int", "bigint")
_LOWEST = (-(2**7), -(2**15), -(2**31), -(2**63))
_STRICT = "strict"
_DATE_PATTERN = re.compile(rf"(?:%Y|%[md](?:{_STRICT})?|[-/_. ])+")
"""The parts of a date that every engine prints alike, for years from 1000; sqlglot writes `MM` as `%mstrict`."""

_COMPARISONS: dict[type[exp.Expr], Callable[[Any, Any], bool]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}

_DATE_PARTS: dict[type[exp.Expr], str] = {exp.Year: "year", exp.Month: "month", exp.Day: "day", exp.DayOfMonth: "day"}


def single_column(expression: exp.Expr) -> exp.Column | None:
    """Return the only column of an expression that can be evaluated for some values; None for other expressions."""
    columns = list(expression.find_all(exp.Column))
    if not columns or any(column != columns[0] for column in columns) or not columns[0].table:
        return None
    is_supported = all(_is_supported(node) for node in expression.walk(prune=lambda node: isinstance(node, exp.Column)))
    return columns[0] if is_supported else None


def with_value(expression: exp.Expr, column: exp.Expr, replacement: exp.Expr) -> exp.Expr:
    """Return an expression with its column replaced."""
    return expression.transform(lambda node: replacement.copy() if node == column else node)


_UNARY = frozenset(("this",))
_BINARY = frozenset(("this", "expression"))

_SUPPORTED: dict[type[exp.Expr], frozenset[str]] = {
    **dict.fromkeys((exp.And, exp.Or, *_COMPARISONS), _BINARY),
    **dict.fromkeys((exp.Paren, exp.Placeholder, exp.TimeStrToTime, exp.Neg, *_DATE_PARTS), _UNARY),
    exp.Column: frozenset(("this", "table")),
    exp.Literal: frozenset(("this", "is_string")),
    exp.Between: frozenset(("this", "low", "high")),
    exp.In: frozenset(("this", "expressions")),
    exp.Substring: frozenset(("this", "start", "length")),
    exp.Cast: frozenset(("this", "to")),
    exp.TryCast: frozenset(("this", "to", "safe")),
    exp.DataType: _UNARY,
    exp.TsOrDsToDate: frozenset(("this", "safe")),
    exp.TimeToStr: frozenset(("this", "format")),
}
"""The arguments of each syntax node that `evaluate` takes into account. With any other argument, such as the format of
`to_date(ds, 'yyyy-dd-MM')`, the result is unknown."""


def _is_supported(node: exp.Expr) -> bool:
    """Return whether an expression can be evaluated, and no part without the column makes it TRUE or FALSE for NULL."""
    arguments = _SUPPORTED.get(type(node))
    if arguments is None or any(value and name not in arguments for name, value in node.args.items()):
        return False
    if isinstance(node, exp.In):
        return bool(node.expressions) and _has_column(node.this)
    if isinstance(node, (exp.And, exp.Or)):
        return _has_column(node.this) and _has_column(node.expression)
    if isinstance(node, exp.Between):
        return _has_column(node.this)
    return True


def _has_column(node: exp.Expr) -> bool:
    return node.find(exp.Column) is not None


def literal_text(node: exp.Expr, kind: str) -> str | None:
    """Return a constant as a partition value of a comparable type (text, integer or date); None for other constants."""
    if isinstance(node, exp.Literal) and (node.is_string or kind in _INTEGERS):
        return node.name
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and kind in _INTEGERS:
        return f"-{node.this.name}"
    is_date = kind == "date" and isinstance(node, exp.Cast) and node.to.is_type("date")
    return node.this.name if is_date and isinstance(node.this, exp.Literal) and node.this.is_string else None


def shown_sql(expression: exp.Expr) -> str:
    """Return the SQL of an expression for messages, in Spark's dialect: others write some casts as TRY_CAST."""
    return expression.sql("spark")


def evaluate(expression: exp.Expr, value: Value) -> Value | None:
    """Return the value of an expression whose column is a placeholder; None if it is unknown."""
    node = expression
    if isinstance(node, exp.Placeholder):
        return value
    if isinstance(node, exp.Paren):
        return evaluate(node.this, value)
    if isinstance(node, exp.Literal):
        return node.name if node.is_string else int(node.name) if _INTEGER.fullmatch(node.name) else None
    if isinstance(node, exp.Neg):
        number = evaluate(node.this, value)
        # For the lowest number of a type, some engines return the number itself and others an error.
        return -number if type(number) is int and number not in _LOWEST else None
    if isinstance(node, exp.And):
        return _and(evaluate(node.this, value), evaluate(node.expression, value))
    if isinstance(node, exp.Or):
        return _or(evaluate(node.this, value), evaluate(node.expression, value))
    compare = _COMPARISONS.get(type(node))
    if compare is not None:
        return _compare(compare, evaluate(node.this, value), evaluate(node.expression, value))
    if isinstance(node, exp.Between):
        low = _compare(operator.ge, evaluate(node.this, value), evaluate(node.args["low"], value))
        return _and(low, _compare(operator.le, evaluate(node.this, value), evaluate(node.args["high"], value)))
    if isinstance(node, exp.In):
        result: Value | None = False
        for item in node.expressions:
            result = _or(result, _compare(operator.eq, evaluate(node.this, value), evaluate(item, value)))
        return result
    operand = evaluate(node.this, value)
    if isinstance(node, exp.Substring):
        start, length = (node.args.get(name) for name in ("start", "length"))
        return _substring(operand, start, length)
    if isinstance(node, exp.Cast):
        return _cast(operand, node.to)
    if isinstance(node, (exp.TsOrDsToDate, exp.TimeStrToTime)):
        return _as_date(operand)
    if isinstance(node, exp.TimeToStr):
        day, pattern = _as_date(operand), node.args["format"].name
        is_supported = day is not None and _DATE_PATTERN.fullmatch(pattern) is not None
        return day.strftime(pattern.replace(_STRICT, "")) if day is not None and is_supported else None
    part = _DATE_PARTS.get(type(node))
    day = _as_date(operand) if part is not None else None
    return getattr(day, part) if day is not None and part is not None else None


def _and(one: Value | None, other: Value | None) -> bool | None:
    if one is False or other is False:
        return False
    return True if one is True and other is True else None


def _or(one: Value | None, other: Value | None) -> bool | None:
    if one is True or other is True:
        return True
    return False if one is False and other is False else None


def _compare(compare: Callable[[Any, Any], bool], one: Value | None, other: Value | None) -> bool | None:
    if isinstance(one, date) != isinstance(other, date):
        one, other = _as_date(one), _as_date(other)  # all engines compare a date with a text as dates
    if one is None or other is None or type(one) is not type(other):
        return None
    # Engines order texts by bytes or by UTF-16 units.
    if isinstance(one, str) and not (one.isascii() and isinstance(other, str) and other.isascii()):
        return None
    return compare(one, other)


def _substring(operand: Value | None, start: exp.Expr | None, length: exp.Expr | None) -> str | None:
    operand = _as_text(operand)
    if not isinstance(operand, str) or not operand.isascii():
        return None
    numbers = [item.name if isinstance(item, exp.Literal) and item.is_int else None for item in (start, length) if item]
    if not numbers or None in numbers or int(numbers[0] or 0) < 1:
        return None
    first = int(numbers[0] or 1) - 1
    return operand[first:] if len(numbers) == 1 else operand[first : first + int(numbers[1] or 0)]


def _cast(operand: Value | None, to: exp.DataType) -> Value | None:
    if to.is_type("date"):
        return _as_date(operand)
    if to.is_type("int", "bigint"):
        if isinstance(operand, str):
            return int(operand) if _INTEGER.fullmatch(operand) else None
        # For a number out of range, engines return its lowest bits, NULL or an error.
        bound = 2**31 if to.is_type("int") else 2**63
        return operand if type(operand) is int and -bound <= operand < bound else None
    if to.is_type("text", "varchar") and not to.expressions:
        return _as_text(operand)
    return None


def _as_text(operand: Value | None) -> str | None:
    return str(operand) if isinstance(operand, (str, date)) or type(operand) is int else None


def _as_date(operand: Value | None) -> date | None:
    if isinstance(operand, date):
        return operand
    if not isinstance(operand, str) or not _ISO_DATE.fullmatch(operand):
        return None
    try:
        return date.fromisoformat(operand)
    except ValueError:
        return None


def typed_value(text: str, kind: str) -> Value | None:
    """Return a canonical partition value as a value of its Hive type; None for other types."""
    if kind == "string":
        return text
    if kind in ("tinyint", "smallint", "int", "bigint"):
        return int(text)
    return _as_date(text) if kind == "date" else None
