"""Hive's type texts (`array<struct<sku:string,qty:int>>`): their parts, common types and arithmetic.

The rules for choices and arithmetic were measured on Hive 4.1.0 for every pair of types.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from pydantic import TypeAdapter, ValidationError
from pyiceberg.exceptions import ValidationError as IcebergValidationError
from pyiceberg.types import (
    DecimalType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
)
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from hive_views.errors import SqlError
from hive_views.sql.types.names import MAX_NESTED, TYPES, nesting

NUMERIC = ("tinyint", "smallint", "int", "bigint", "float", "double")
"""The numeric types without parameters, from narrow to wide."""
STRINGS = ("string", "varchar", "char")
"""The names of the character types."""
INTEGERS = NUMERIC[:4]
"""The integer types, from narrow to wide."""
NUMBERS = frozenset({*NUMERIC, "decimal"})
"""All numeric types."""
TIMES = frozenset({"date", "timestamp"})
"""The types of dates and times."""


def base(type_text: str) -> str:
    """Return a type's name without parameters: `decimal` for `decimal(10,2)`, `array` for `array<int>`."""
    for index, character in enumerate(type_text):
        if character in "(<":
            return type_text[:index]
    return type_text


@lru_cache(maxsize=4096)
def arguments(type_text: str) -> tuple[str, ...]:
    """Return the types inside `<…>`, split at the outermost commas; none for a simple type."""
    opened = type_text.find("<")
    if opened < 0 or not type_text.endswith(">"):
        return ()
    return tuple(_split(type_text[opened + 1 : -1]))


@lru_cache(maxsize=4096)
def fields(type_text: str) -> dict[str, str] | None:
    """Return the fields of a struct type, types by lower-case names; None for another type."""
    written = written_fields(type_text)
    return None if written is None else {name.lower(): inner for name, inner in written}


def written_fields(type_text: str) -> list[tuple[str, str]] | None:
    """Return the names, as written, and the types of the fields of a struct type; None for another type."""
    if base(type_text) != "struct":
        return None
    parts = (_FIELD.fullmatch(part) for part in arguments(type_text))
    return [(part[2] if part[1] is None else part[1].replace("``", "`"), part[3]) for part in parts if part is not None]


_FIELD = re.compile(r"\s*(?:`((?:[^`]|``)*)`|([^:]*?))\s*:\s*(.*?)\s*", re.DOTALL)


def field_of(type_text: str | None, name: str) -> str | None:
    """Return the type of a struct's field; a field of an array of structs is an array."""
    if type_text is None:
        return None
    if base(type_text) == "array":
        inner = arguments(type_text)
        element = field_of(inner[0], name) if inner else None
        return f"array<{element}>" if element is not None else None
    return (fields(type_text) or {}).get(name.lower())


def decimal(type_text: str) -> tuple[int, int] | None:
    """Return precision and scale of a decimal type; None for another type."""
    if base(type_text) != "decimal":
        return None
    if type_text == "decimal":
        return 10, 0
    numbers = type_text[len("decimal(") : -1].split(",")
    return int(numbers[0]), int(numbers[1]) if len(numbers) > 1 else 0


def _split(text: str) -> list[str]:
    parts: list[str] = []
    depth = start = 0
    is_quoted = False
    for index, character in enumerate(text):
        if character == "`":
            is_quoted = not is_quoted
        elif is_quoted:
            continue
        elif character in "<(":
            depth += 1
        elif character in ">)":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def common(left: str, right: str) -> str | None:
    """Return the type of a column of a set operation (Hive's `getCommonClassForUnionAll`); None if there is none."""
    if left == right:
        return left
    if "void" in (left, right):
        typed = right if left == "void" else left
        return typed if not typed.endswith(">") else None
    left_base, right_base = base(left), base(right)
    if left_base in STRINGS and right_base in STRINGS:
        return _common_string(left, right)
    if "decimal" in (left_base, right_base) and (left_base in INTEGERS or right_base in INTEGERS):
        return left if left_base == "decimal" else right  # the decimal is not widened for the integer
    if left_base in NUMBERS and right_base in NUMBERS:
        return _common_number(left, right)
    if {left_base, right_base} <= TIMES:
        return "timestamp"
    return None


def common_in_trino(left: str | None, right: str | None) -> str | None:
    """Return the type of a column of a set operation or of VALUES in Trino; None if unknown."""
    if left is None or right is None or left == right:
        return left if left == right else None
    if left in INTEGERS and right in INTEGERS:
        return max(left, right, key=INTEGERS.index)
    if base(left) in STRINGS and base(right) in STRINGS:
        return common(left, right)
    return {left, right}.difference({"void"}).pop() if "void" in (left, right) else None


def choice_in_trino(left: str, right: str) -> str | None:
    """Return the type of a CASE, IF, COALESCE or GREATEST in Trino; None if unknown."""
    bases = {base(left), base(right)}
    if left != right and "decimal" in bases and bases & {"bigint", "float", "double"}:
        return None
    result = _common_number(left, right) if left != right and bases <= NUMBERS else common(left, right)
    if result is not None and left != right and bases == {"decimal"}:
        scale = max(as_decimal(left)[1], as_decimal(right)[1])
        return result if as_decimal(result)[1] == scale else None  # more than 38 digits: Spark 3.5 keeps the scale
    return result


def choice(left: str, right: str) -> str | None:
    """Return the type of a CASE, IF or COALESCE in Hive; None if there is none."""
    left_base, right_base = base(left), base(right)
    if left_base in NUMBERS and right_base in NUMBERS:
        return _common_number(left, right) if left != right else left
    for type_text, own_base, other_base in ((left, left_base, right_base), (right, right_base, left_base)):
        if own_base in STRINGS and (other_base in NUMBERS or other_base == "boolean" or other_base in TIMES):
            return type_text
    if "void" in (left, right):
        return right if left == "void" else left
    return common(left, right)


def greatest(left: str, right: str) -> str | None:
    """Return the type of `greatest` and `least` in Hive; None if there is none."""
    if left == right:
        return left if not left.endswith(">") else None
    bases = {base(left), base(right)}
    if left.endswith(">") or right.endswith(">"):
        return None
    if bases <= NUMBERS:
        return _common_number(left, right)
    if bases <= {*STRINGS}:
        return _common_string(left, right)
    if bases & {*STRINGS} and bases & TIMES:
        return left if base(left) not in STRINGS else right
    if bases == TIMES:
        return "timestamp"
    if "void" in bases:
        return None
    return "string" if "date" in bases and bases & NUMBERS else "double"


def _common_string(left: str, right: str) -> str:
    if "string" in (left, right) or base(left) != base(right):
        return "string"
    length = max(int(type_text.partition("(")[2].rstrip(")") or 1) for type_text in (left, right))
    return f"{base(left)}({length})"


def _common_number(left: str, right: str) -> str:
    if "decimal" in (base(left), base(right)):
        for type_text in (left, right):
            if type_text in ("float", "double"):
                return type_text
        (p1, s1), (p2, s2) = as_decimal(left), as_decimal(right)
        whole = max(p1 - s1, p2 - s2)
        scale = min(max(s1, s2), 38 - whole)
        return f"decimal({whole + scale},{scale})"
    return max(left, right, key=NUMERIC.index)


def holding_both(left: str, right: str) -> str:
    """Return the decimal with the digits of two decimals on both sides of the point, within Hive's limits."""
    (p1, s1), (p2, s2) = as_decimal(left), as_decimal(right)
    scale = max(s1, s2)
    return bounded(max(p1 - s1, p2 - s2) + scale, scale)


def as_decimal(type_text: str) -> tuple[int, int]:
    """Return precision and scale of the decimal that can hold all numbers of a type."""
    exact = {
        "tinyint": (3, 0),
        "smallint": (5, 0),
        "int": (10, 0),
        "bigint": (19, 0),
        "float": (7, 7),
        "double": (15, 15),
    }
    return decimal(type_text) or exact.get(type_text, (38, 18))


def bounded(precision: int, scale: int) -> str:
    """Return a decimal type within Hive's limits; an excessive precision reduces the scale first."""
    if precision > 38:
        scale = max(38 - (precision - scale), min(scale, 6))
        precision = 38
    return f"decimal({precision},{scale})"


def arithmetic(operator: str, left: str, right: str) -> str | None:
    """Return the type of `left operator right`; None if Hive refuses it or the type is unknown.

    Source: Hive's `GenericUDFBaseNumeric`, `GenericUDFBaseDTI` and `UDFOPLongDivide`.
    """
    left_base, right_base = base(left), base(right)
    if operator in ("Add", "Sub") and left == "date" and right == "int":
        return "date"
    if operator == "Sub" and left in TIMES and right in TIMES:
        return "interval_day_time"
    if "void" in (left, right) and left != right:
        typed = left if right == "void" else right
        if typed in NUMERIC:
            return typed
        return "double" if base(typed) in (*NUMBERS, *STRINGS) else None
    if left_base in STRINGS or left == "void":
        left = left_base = "double"
    if right_base in STRINGS or right == "void":
        right = right_base = "double"
    if left_base not in NUMBERS or right_base not in NUMBERS:
        return None
    if operator == "IntDiv":
        return "bigint" if left in INTEGERS and right in INTEGERS else None
    floating = [kind for kind in (left, right) if kind in ("float", "double")]
    if "decimal" in (left_base, right_base) and not floating:
        return _decimal_arithmetic(operator, as_decimal(left), as_decimal(right))
    if operator == "Div":
        return "double"
    if floating:
        return "double" if "double" in floating else "float"
    return max(left, right, key=NUMERIC.index)


def _decimal_arithmetic(operator: str, left: tuple[int, int], right: tuple[int, int]) -> str | None:
    (p1, s1), (p2, s2) = left, right
    if operator in ("Add", "Sub"):
        scale = max(s1, s2)
        return bounded(max(p1 - s1, p2 - s2) + scale + 1, scale)
    if operator == "Mul":
        return bounded(p1 + p2 + 1, s1 + s2)
    if operator == "Div":
        scale = max(6, s1 + p2 + 1)
        return bounded(p1 - s1 + s2 + scale, scale)
    if operator == "Mod":
        scale = max(s1, s2)
        return bounded(min(p1 - s1, p2 - s2) + scale, scale)
    return None


_KIND = exp.DType
_MAX_SHALLOW = 100
"""The maximum number of nested types that are read without sqlglot, in quadratic time."""
_MAX_SHOWN = 1000
"""The maximum number of characters of an invalid type in an error message."""


def parse_type(text: str) -> IcebergType:
    """Return the Iceberg type of a text in Iceberg's or Hive's spelling; raises SqlError."""
    simple = _simple_type(text)
    if simple is not None:
        return simple
    if nesting(text) > MAX_NESTED:
        raise SqlError(f"A type is nested too deeply: more than {MAX_NESTED} levels", name=text[:_MAX_SHOWN])
    try:
        is_shallow = text.count("<") <= _MAX_SHALLOW
        return (_nested_type(text) if is_shallow else None) or _convert(
            parse_one(text, into=exp.DataType, dialect="hive")
        )
    except (SqlglotError, _UnknownTypeError, RecursionError, ValueError) as error:
        type_text = str(error) if isinstance(error, _UnknownTypeError) else text
        raise SqlError(
            f"{type_text[:_MAX_SHOWN]!r} is not a type that a view's column can have. Write e.g. int, bigint, string, "
            "decimal(10,2), timestamp, timestamptz, array<int>, map<string,int>, struct<a:int,b:string>",
            name=text,
        ) from None


def _nested_type(text: str) -> IcebergType | None:
    """Return the type of a nested type text as this module writes it; None for another text."""
    inner, kind = arguments(text), base(text)
    if kind == "struct":
        fields = written_fields(text) or []
        types = [read for _, field in fields if (read := _inner_type(field)) is not None]
        if not types or len(types) != len(inner):
            return None
        names = (name for name, _ in fields)
        return StructType(
            *(
                NestedField(field_id=0, name=name, field_type=field, required=False)
                for name, field in zip(names, types, strict=True)
            )
        )
    element, *values = [_inner_type(part) for part in inner] or [None]
    if kind == "array" and element is not None and not values:
        return ListType(element_id=0, element=element, element_required=False)
    if kind == "map" and element is not None and len(values) == 1 and values[0] is not None:
        return MapType(key_id=0, key_type=element, value_id=0, value_type=values[0], value_required=False)
    return None


def _inner_type(text: str) -> IcebergType | None:
    if text.endswith(">"):
        return _nested_type(text)
    try:
        return parse_type(text)
    except SqlError:
        return None


def _simple_type(text: str) -> IcebergType | None:
    """Return a simple Iceberg type; None for other types, and for decimals, whose bounds PyIceberg does not check."""
    try:
        iceberg_type = _adapter().validate_python("".join(text.lower().split()))
    except (ValidationError, IcebergValidationError, ValueError):
        return None
    return None if isinstance(iceberg_type, DecimalType) else iceberg_type


@cache
def _adapter() -> TypeAdapter[IcebergType]:
    return TypeAdapter(IcebergType)


@cache
def _simple_types() -> dict[exp.DType, IcebergType]:
    """Return the Iceberg types without parameters by sqlglot's kinds of their names."""
    types: dict[exp.DType, IcebergType] = {}
    for row in TYPES:
        iceberg_type = _simple_type(row.iceberg)
        for name in filter(None, (row.hive, row.iceberg, row.spark)):
            if iceberg_type is not None:
                types.setdefault(exp.DataType.build(name, dialect="hive").this, iceberg_type)
    return types


class _UnknownTypeError(Exception):
    """A type that Iceberg does not have; the argument is its text."""


def _convert(parsed: exp.DataType) -> IcebergType:
    kind = parsed.this
    inner = parsed.expressions
    if kind in (_KIND.ARRAY, _KIND.LIST) and len(inner) == 1 and not parsed.args.get("values"):
        return ListType(element_id=0, element=_convert(inner[0]), element_required=False)
    if kind == _KIND.MAP and len(inner) == 2:
        key, value = (_convert(item) for item in inner)
        return MapType(key_id=0, key_type=key, value_id=0, value_type=value, value_required=False)
    if kind == _KIND.STRUCT and inner:
        return _convert_struct(parsed)
    if kind == _KIND.DECIMAL:
        numbers = [int(parameter.this.this) for parameter in inner]
        precision, scale = (*numbers, 0)[:2] if numbers else (10, 0)
        if not 0 < precision <= 38 or scale > precision:
            raise _UnknownTypeError(parsed.sql("hive"))
        return DecimalType(precision, scale)
    simple = _simple_types().get(kind)
    if simple is None:
        raise _UnknownTypeError(parsed.sql("hive"))
    return simple


def _convert_struct(parsed: exp.DataType) -> IcebergType:
    fields = []
    for field in parsed.expressions:
        if not isinstance(field, exp.ColumnDef) or not isinstance(field.kind, exp.DataType):
            raise _UnknownTypeError(parsed.sql("hive"))
        comment = None
        for constraint in field.constraints:
            if not isinstance(constraint.kind, exp.CommentColumnConstraint):
                raise _UnknownTypeError(parsed.sql("hive"))
            comment = constraint.kind.this.this
        inner = _convert(field.kind)
        fields.append(NestedField(field_id=0, name=field.name, field_type=inner, required=False, doc=comment))
    return StructType(*fields)
