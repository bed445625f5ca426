"""Result types of calls: the formulas that the engines' tables of signatures name, on types as texts.

A signature names a formula after `=` (`=element 0`), or has a type as its result (`string`). The formulas take the
arguments of the call; the numbers are positions of arguments. `tests/engine_tables` verifies them against the engines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from hive_views.sql.engines.tables import EngineTable
from hive_views.sql.types import hive_types
from hive_views.sql.types.hive_types import bounded
from hive_views.sql.types.names import struct_of

_CODES = {
    "void": "v",
    "boolean": "b",
    "tinyint": "1",
    "smallint": "2",
    "int": "4",
    "bigint": "8",
    "float": "f",
    "double": "d",
    "decimal": "p",
    "string": "s",
    "varchar": "h",
    "char": "c",
    "binary": "x",
    "date": "t",
    "timestamp": "T",
    "timestamp_ntz": "N",
    "timestamp with local time zone": "L",
    "interval": "I",
    "interval_year_month": "Y",
    "interval_day_time": "Z",
    "variant": "V",
    "map": "m",
    "struct": "r",
}
"""The codes of types in the tables; the code of an array is `a` and the code of its elements."""


_INTERVAL_UNITS = ("year", "month", "day", "hour", "minute", "second")


def _wider_interval(left: str, right: str) -> str | None:
    """Return the interval with the units of two."""
    units = [_INTERVAL_UNITS.index(unit) for kind in (left, right) for unit in kind[len("interval ") :].split(" to ")]
    first, last = min(units), max(units)
    if first < 2 <= last:
        return None
    return f"interval {_INTERVAL_UNITS[first]}" + (f" to {_INTERVAL_UNITS[last]}" if last > first else "")


_PARAMETERS = ("Y", "Z", "D", "h", "c")
"""The codes of types with lengths or fields."""


def _length(type_text: str) -> int:
    """Return the length of a CHAR or VARCHAR."""
    return int(type_text.partition("(")[2].rstrip(")") or 1)


@lru_cache(maxsize=4096)
def kind_of(type_text: str) -> str:
    """Return the code of a type; `?` for a type without a code."""
    base = hive_types.base(type_text)
    if base == "array":
        inner = hive_types.arguments(type_text)
        return "a" + kind_of(inner[0])[0] if inner else "?"
    code = _CODES.get(base)
    if base == "interval day":
        return "D"
    if code is None and base.startswith("interval "):
        return "Y" if "year" in base or "month" in base else "Z"
    return code or "?"


TYPES = {code: name for name, code in _CODES.items()}
"""The types by their codes."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call.

    Attributes:
        type: Its type.
        literal: The value of a literal: a number with its sign, or the text of a string.
        name: The name that a struct's field gets from it.
        is_number: Whether it is an integer literal, which has only the digits that it is written with.
    """

    type: str
    literal: str | None = None
    name: str | None = None
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Merging:
    """An engine's common types of two types: the code of the result by the codes of the two.

    Attributes:
        rows: The results by the code of the first type, then of the second; `p` stands for `wider_decimal`.
        digits: Precision and scale of the decimals that hold the integers, by their codes.
        prefers_integral: Whether a decimal with too many digits loses digits of its fraction first.
        strings_first: Whether strings are merged before the other types.
        is_limited: Whether a decimal with too many digits has no type, since versions of the engine disagree about it.
    """

    rows: Mapping[str, Mapping[str, str]]
    digits: Mapping[str, tuple[int, int]]
    prefers_integral: bool = True
    strings_first: bool = False
    is_limited: bool = False

    def of(self, types: Sequence[str]) -> str | None:
        """Return the common type of several types; None if there is none."""
        distinct = list(dict.fromkeys(types))
        if len(distinct) == 1:
            return distinct[0]
        if self.strings_first:
            distinct.sort(key=lambda kind: "string" not in kind)
        result = distinct[0]
        for kind in distinct[1:]:
            merged = self.pair(result, kind)
            if merged is None:
                return None
            result = merged
        return result

    def has_common(self, types: Sequence[str]) -> bool:
        """Return whether several simple types have a common one, also if its digits are not known."""
        codes = [kind_of(kind) for kind in types]
        if self.strings_first:
            codes.sort(key=lambda code: code != kind_of("string"))
        result: str | None = codes[0]
        for code in codes[1:]:
            result = result if result == code else self.rows.get(result or "", {}).get(code)
        return result is not None

    def pair(self, left: str, right: str) -> str | None:
        """Return the common type of two types; None if there is none."""
        if left == right:
            return left
        if "void" in (left, right):
            return right if left == "void" else left
        first, second = hive_types.base(left), hive_types.base(right)
        if left.endswith(">") or right.endswith(">"):
            return self._nested(left, right) if first == second else None
        if left.startswith("interval ") and right.startswith("interval "):
            return _wider_interval(left, right)
        code = self.rows.get(kind_of(left), {}).get(kind_of(right))
        if code == "p":
            return self.wider_decimal(left, right)
        if code in _PARAMETERS:
            typed = [kind for kind in (left, right) if kind_of(kind) == code]
            return max(typed, key=_length) if typed and code in ("h", "c") else None
        return TYPES.get(code or "")

    def _nested(self, left: str, right: str) -> str | None:
        first, second = hive_types.base(left), hive_types.base(right)
        if first == "struct":
            return self._struct(left, right)
        pairs = zip(hive_types.arguments(left), hive_types.arguments(right), strict=True)
        inner = [self.pair(*pair) for pair in pairs]
        if None in inner or first != second:
            return None
        return f"{first}<{','.join(map(str, inner))}>"

    def _struct(self, left: str, right: str) -> str | None:
        first, second = hive_types.written_fields(left) or [], hive_types.written_fields(right) or []
        if [name.lower() for name, _ in first] != [name.lower() for name, _ in second]:
            return None
        merged = [(name, self.pair(kind, other)) for (name, kind), (_, other) in zip(first, second, strict=True)]
        if any(kind is None for _, kind in merged):
            return None
        return struct_of([(name, str(kind)) for name, kind in merged])

    def digits_of(self, type_text: str) -> tuple[int, int] | None:
        """Return precision and scale of a decimal, or of the decimal that holds every value of a number's type."""
        return hive_types.decimal(type_text) or self.digits.get(kind_of(type_text))

    def wider_decimal(self, left: str, right: str) -> str | None:
        """Return the decimal that holds the values of two types."""
        first, second = self.digits_of(left), self.digits_of(right)
        if first is None or second is None:
            return None
        (p1, s1), (p2, s2) = first, second
        scale, whole = max(s1, s2), max(p1 - s1, p2 - s2)
        if whole + scale > 38 and self.is_limited:
            return None
        if whole + scale > 38 and self.prefers_integral:
            scale = max(38 - whole, 0)
        return f"decimal({min(whole + scale, 38)},{min(scale, 38)})"


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of a call, and the engine's rules for common types.

    `wide` converts to strings where it must, `strict` does not, `tight` is for the elements of arrays.
    """

    arguments: Sequence[Argument]
    wide: Merging
    strict: Merging
    tight: Merging

    def type(self, position: int) -> str:
        """Return the type of an argument."""
        return self.arguments[position].type

    def types(self, first: int, step: int = 1) -> list[str]:
        """Return the types of the arguments from a position on."""
        return [argument.type for argument in self.arguments[first::step]]

    def inner(self, position: int, base: str, index: int) -> str | None:
        """Return one of the types inside an argument's type, which must be of a base."""
        kind = self.type(position)
        parts = hive_types.arguments(kind)
        return parts[index] if hive_types.base(kind) == base and index < len(parts) else None


def _argument(call: Call, position: int) -> str | None:
    return call.type(position)


def _element(call: Call, position: int) -> str | None:
    return call.inner(position, "array", 0)


def _key(call: Call, position: int) -> str | None:
    return call.inner(position, "map", 0)


def _value(call: Call, position: int) -> str | None:
    return call.inner(position, "map", 1)


def _array(kind: str | None) -> str | None:
    return f"array<{kind}>" if kind is not None else None


def _map(key: str | None, value: str | None) -> str | None:
    return f"map<{key},{value}>" if key is not None and value is not None else None


def _decimal(rule: Callable[[int, int], tuple[int, int]]) -> Callable[[Call, int], str | None]:
    def formula(call: Call, position: int) -> str | None:
        size = hive_types.decimal(call.type(position))
        if size is None:
            return None
        precision, scale = rule(*size)
        return f"decimal({min(precision, 38)},{min(scale, 38)})"

    return formula


def _bounded_average(precision: int, scale: int) -> tuple[int, int]:
    """Keep the digits in front of the point, as Hive does."""
    whole = precision - scale
    scale = min(scale + 4, 38 - whole)
    return whole + scale, scale


def _operands(call: Call, first: int, second: int) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return the sizes of two operands, of which one is a decimal; an integer literal has its own digits."""
    types = call.type(first), call.type(second)
    if not any(hive_types.base(kind) == "decimal" for kind in types):
        return None
    sizes = []
    for position in (first, second):
        argument = call.arguments[position]
        if argument.type == "void":
            sizes.append(hive_types.decimal(call.type(second if position == first else first)) or (0, 0))
            continue
        if argument.is_number and argument.literal is not None:
            sizes.append((len(argument.literal.lstrip("-").lstrip("0")) or 1, 0))
            continue
        size = call.wide.digits_of(argument.type)
        if size is None or argument.type in ("float", "double"):
            return None
        sizes.append(size)
    return sizes[0], sizes[1]


def _operation(rule: Callable[[int, int, int, int], tuple[int, int]]) -> Callable[[Call, int, int], str | None]:
    def formula(call: Call, first: int, second: int) -> str | None:
        sizes = _operands(call, first, second)
        return bounded(*rule(*sizes[0], *sizes[1])) if sizes is not None else None

    return formula


def _sum_of(p1: int, s1: int, p2: int, s2: int) -> tuple[int, int]:
    scale = max(s1, s2)
    return max(p1 - s1, p2 - s2) + scale + 1, scale


def _quotient(p1: int, s1: int, p2: int, s2: int) -> tuple[int, int]:
    scale = max(6, s1 + p2 + 1)
    return p1 - s1 + s2 + scale, scale


def _remainder(p1: int, s1: int, p2: int, s2: int) -> tuple[int, int]:
    scale = max(s1, s2)
    return min(p1 - s1, p2 - s2) + scale, scale


def _merged(call: Call, first: int) -> str | None:
    return call.wide.of(call.types(first))


def _merged_strictly(call: Call, first: int) -> str | None:
    return call.strict.of(call.types(first))


def _digits(call: Call, position: int) -> int | None:
    """Return the number of digits that a literal names; zero if the call does not have the argument."""
    if position >= len(call.arguments):
        return 0
    literal = call.arguments[position].literal
    try:
        return int(literal) if literal is not None else None
    except ValueError:
        return None


def _rounded(call: Call, position: int) -> str | None:
    """Round a decimal to a number of digits (Spark's `RoundBase`)."""
    size, digits = hive_types.decimal(call.type(position)), _digits(call, position + 1)
    return _rounded_size(size, digits) if size is not None and digits is not None else None


def _rounded_size(size: tuple[int, int], digits: int) -> str:
    precision, scale = size
    whole = precision - scale + 1
    if digits < 0:
        return f"decimal({min(max(whole, 1 - digits), 38)},0)"
    scale = min(scale, digits)
    return f"decimal({min(whole + scale, 38)},{scale})"


_SIZES = {"float": (14, 7), "double": (30, 15), "string": (38, 18), "void": (38, 18)}
"""Precision and scale of the decimals to which Spark converts other types."""


def _rounded_up(call: Call, position: int) -> str | None:
    """Round a number up or down to a number of digits (Spark's `RoundCeil`), as a decimal."""
    size = _SIZES.get(call.type(position)) or call.wide.digits_of(call.type(position))
    digits = _digits(call, position + 1)
    return _rounded_size(size, digits) if size is not None and digits is not None else None


def _number_format(call: Call, position: int) -> str | None:
    """Return the decimal of a literal format such as `999.99` (Spark's `ToNumber`)."""
    written = call.arguments[position].literal
    if written is None or call.type(position) != "string":
        return None
    whole, _, fraction = written.upper().replace("D", ".").partition(".")
    scale = sum(character in "09" for character in fraction)
    precision = sum(character in "09" for character in whole) + scale
    return f"decimal({precision},{scale})" if 0 < precision <= 38 else None


FORMULAS: dict[str, Callable[..., str | None]] = {
    "argument": _argument,
    "element": _element,
    "key": _key,
    "value": _value,
    "array": lambda call, position: _array(call.type(position)),
    "array_of_element": lambda call, position: _array(_element(call, position)),
    "keys": lambda call, position: _array(_key(call, position)),
    "values": lambda call, position: _array(_value(call, position)),
    "entries": lambda call, position: _array(
        f"struct<key:{_key(call, position)},value:{_value(call, position)}>" if _key(call, position) else None
    ),
    "merged": _merged,
    "merged_strictly": _merged_strictly,
    "merged_pair": lambda call, first, second: call.wide.pair(call.type(first), call.type(second)),
    "merged_pair_strictly": lambda call, first, second: call.strict.pair(call.type(first), call.type(second)),
    "arrays_merged": lambda call, first, second: call.tight.pair(call.type(first), call.type(second)),
    "merged_with_int": lambda call, position: call.wide.pair(call.type(position), "int"),
    "array_merged": lambda call, first: _array(_merged(call, first)),
    "appended": lambda call, first, second: _appended(call, first, second),
    "flattened": lambda call, position: _flattened(call, position),
    "map_of_pairs": lambda call: _map(call.wide.of(call.types(0, 2)), call.wide.of(call.types(1, 2))),
    "map_of_arrays": lambda call, first, second: _map(_element_or_void(call, first), _element_or_void(call, second)),
    "map_of_entries": lambda call, position: _map_of_entries(call, position),
    "choices": lambda call: call.wide.of(_choices(call)),
    "decimal_sum": _decimal(lambda precision, scale: (precision + 10, scale)),
    "decimal_average": _decimal(lambda precision, scale: (precision + 4, scale + 4)),
    "decimal_average_bounded": _decimal(_bounded_average),
    "decimal_whole": _decimal(lambda precision, scale: (max(precision - scale, 1), 0)),
    "decimal_ceiling": _decimal(lambda precision, scale: (precision - scale + (scale > 0), 0)),
    "decimal_ceiling_carry": _decimal(lambda precision, scale: (precision - scale + 1, 0)),
    "decimal_added": _operation(_sum_of),
    "decimal_multiplied": _operation(lambda p1, s1, p2, s2: (p1 + p2 + 1, s1 + s2)),
    "decimal_divided": _operation(_quotient),
    "decimal_remainder": _operation(_remainder),
    "decimal_bound": lambda call, first, second: _bound(call, first, second),
    "decimal_rounded": _rounded,
    "rounded_up": _rounded_up,
    "number_format": _number_format,
    "histogram": lambda call, position: f"array<struct<x:{call.type(position)},y:double>>",
    "top_state": lambda call, position: (
        f"struct<sketch:binary,maxItemsTracked:int,itemDataType:{call.type(position)},itemDataTypeDDL:string>"
    ),
    "top_items": lambda call, position: f"array<struct<item:{call.type(position)},count:bigint>>",
}
"""The formulas by name. They return None for arguments that they do not fit."""


def _appended(call: Call, first: int, second: int) -> str | None:
    element = _element(call, first)
    return _array(call.tight.pair(element, call.type(second))) if element is not None else None


def _element_or_void(call: Call, position: int) -> str | None:
    return "void" if call.type(position) == "void" else _element(call, position)


def _flattened(call: Call, position: int) -> str | None:
    element = _element(call, position)
    return element if element is not None and hive_types.base(element) == "array" else None


def _map_of_entries(call: Call, position: int) -> str | None:
    fields = hive_types.written_fields(_element(call, position) or "") or []
    return _map(fields[0][1], fields[1][1]) if len(fields) == 2 else None


def _bound(call: Call, first: int, second: int) -> str | None:
    """Return the type of a random number between two decimals: the first one if it holds the second (Spark 4.1.4)."""
    (p1, s1), (p2, s2) = (hive_types.decimal(call.type(position)) or (0, 0) for position in (first, second))
    if not p1 or not p2:
        return None
    return call.type(first if s1 >= s2 and p1 - s1 >= p2 - s2 else second)


def _choices(call: Call) -> list[str]:
    """Return the types of the results of `decode(value, search, result, …, default)`; a missing default is a string."""
    types = call.types(0)
    return [*types[2::2], types[-1] if len(types) % 2 == 0 else "string"]


def evaluate(term: str, call: Call) -> str | None:
    """Return the type that a signature's result stands for; None if the arguments do not fit it."""
    if not term.startswith("="):
        return term
    formula, positions = _formula(term)
    return formula(call, *positions)


@cache
def _formula(term: str) -> tuple[Callable[..., str | None], tuple[int, ...]]:
    name, *positions = term[1:].split()
    return FORMULAS[name], tuple(map(int, positions))


class CallRules:
    """An engine's result types of calls, with one setting of ANSI.

    Args:
        table: The engine's answers.
        is_limited: See `Merging`.
    """

    def __init__(self, table: EngineTable, *, is_limited: bool = False) -> None:
        self.table = table
        self.wide, self.strict, self.tight = (
            _merging(table.common[rule], is_limited=is_limited) for rule in ("wide", "strict", "tight")
        )

    def result(self, name: str, arguments: Sequence[Argument]) -> str | None:
        """Return the type of a call; None if the table does not have it."""
        kinds = [kind_of(argument.type) for argument in arguments]
        call = Call(arguments, self.wide, self.strict, self.tight)
        for signature in self.table.signatures(name, len(arguments)):
            if signature.fits(kinds):
                result = evaluate(signature.result, call)
                if result is not None:
                    return self._of_intervals(name, result, arguments)
        return None

    def _of_intervals(self, name: str, result: str, arguments: Sequence[Argument]) -> str:
        """Return a result with the units of its interval, of which the table has only the kind."""
        given = [argument.type for argument in arguments if argument.type.startswith("interval ")]
        if name in _ALL_UNITS:
            return _INTERVAL.sub(_with_all_units, result)
        if len(given) != 2 or len(arguments) != 2 or not result.startswith("interval "):
            return result
        return given[0] if name in _UNITS_OF_FIRST else self.wide.pair(*given) or result


def _with_all_units(interval: re.Match[str]) -> str:
    """Return the widest interval of the kind of an interval."""
    return "interval year to month" if interval[1] in ("year", "month") else "interval day to second"


_INTERVAL = re.compile(r"\binterval (\w+)(?: to \w+)?")
_ALL_UNITS = frozenset({"*", "/", "try_multiply", "try_divide", "percentile"})
"""The functions whose result has all units, whichever the argument has (Spark 4.1.4)."""
_UNITS_OF_FIRST = frozenset({"max_by", "min_by", "nullif"})
"""The functions of two intervals whose result has the units of the first (Spark 4.1.4)."""


def _merging(document: Mapping[str, Any], *, is_limited: bool) -> Merging:
    digits = {code: (size[0], size[1]) for code, size in document["digits"].items()}
    return Merging(document["rows"], digits, document["prefers_integral"], document["strings_first"], is_limited)
