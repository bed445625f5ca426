"""Hive's type texts (`array<struct<sku:string,qty:int>>`): their parts, common types and arithmetic."""

from __future__ import annotations

from functools import lru_cache

NUMERIC = ("tinyint", "smallint", "int", "bigint", "float", "double")
"""The numeric types without parameters, each wider than the one before."""
STRINGS = ("string", "varchar", "char")
"""The character types' names."""
_NUMBERS = frozenset({*NUMERIC, "decimal"})


def base(type_text: str) -> str:
    """The name of a type without its parameters: `decimal` of `decimal(10,2)`, `array` of `array<int>`."""
    for index, character in enumerate(type_text):
        if character in "(<":
            return type_text[:index]
    return type_text


@lru_cache(maxsize=4096)
def arguments(type_text: str) -> tuple[str, ...]:
    """The types inside `<…>`, split at the outermost commas; none for a simple type."""
    opened = type_text.find("<")
    if opened < 0 or not type_text.endswith(">"):
        return ()
    return tuple(_split(type_text[opened + 1 : -1]))


@lru_cache(maxsize=4096)
def fields(type_text: str) -> dict[str, str] | None:
    """The fields of a struct type, lower case names to types; None where it is no struct."""
    if base(type_text) != "struct":
        return None
    result = {}
    for part in arguments(type_text):
        name, _, inner = part.partition(":")
        result[name.strip().strip("`").lower()] = inner.strip()
    return result


def field_of(type_text: str | None, name: str) -> str | None:
    """The type of a struct's field; a list of structs gives a list."""
    if type_text is None:
        return None
    if base(type_text) == "array":
        inner = arguments(type_text)
        found = field_of(inner[0], name) if inner else None
        return f"array<{found}>" if found is not None else None
    return (fields(type_text) or {}).get(name.lower())


def decimal(type_text: str) -> tuple[int, int] | None:
    """Precision and scale of a decimal type; None for another type."""
    if base(type_text) != "decimal":
        return None
    if type_text == "decimal":
        return 10, 0
    numbers = type_text[len("decimal(") : -1].split(",")
    return int(numbers[0]), int(numbers[1]) if len(numbers) > 1 else 0


def _split(text: str) -> list[str]:
    parts: list[str] = []
    depth = start = 0
    for index, character in enumerate(text):
        if character in "<(":
            depth += 1
        elif character in ">)":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def common(one: str, other: str) -> str | None:
    """The type that holds both columns of a set operation (Hive's `getCommonClassForUnionAll`)."""
    if one == other:
        return one
    if "void" in (one, other):
        known = other if one == "void" else one
        return known if not known.endswith(">") else None
    left, right = base(one), base(other)
    if left in STRINGS and right in STRINGS:
        return _common_string(one, other)
    if "decimal" in (left, right) and (left in NUMERIC[:4] or right in NUMERIC[:4]):
        return one if left == "decimal" else other  # whole numbers are not given more digits
    if left in _NUMBERS and right in _NUMBERS:
        return _common_number(one, other)
    if {left, right} <= {"date", "timestamp"}:
        return "timestamp"
    return None


def choice_in_spark(one: str, other: str) -> str | None:
    """The type that holds both results of a CASE, IF, COALESCE or GREATEST in Spark."""
    kinds = {base(one), base(other)}
    if one != other and "decimal" in kinds and kinds & {"bigint", "float", "double"}:
        return None
    return _common_number(one, other) if one != other and kinds <= _NUMBERS else common(one, other)


def choice(one: str, other: str) -> str | None:
    """The type that holds both results of a CASE, IF or COALESCE; measured on Hive 4.1.0, every pair of types."""
    left, right = base(one), base(other)
    if left in _NUMBERS and right in _NUMBERS:
        return _common_number(one, other) if one != other else one
    for text, kind, else_ in ((one, left, right), (other, right, left)):
        if kind in STRINGS and (else_ in _NUMBERS or else_ in ("boolean", "date", "timestamp")):
            return text
    if "void" in (one, other):
        return other if one == "void" else one
    return common(one, other)


def greatest(one: str, other: str) -> str | None:
    """The type of `greatest` and `least` of two values; measured on Hive 4.1.0, every pair of types."""
    if one == other:
        return one if not one.endswith(">") else None
    kinds = {base(one), base(other)}
    if one.endswith(">") or other.endswith(">"):
        return None
    if kinds <= _NUMBERS:
        return _common_number(one, other)
    if kinds <= {*STRINGS}:
        return _common_string(one, other)
    if kinds & {*STRINGS} and kinds & {"date", "timestamp"}:
        return one if base(one) not in STRINGS else other
    if kinds == {"date", "timestamp"}:
        return "timestamp"
    if "void" in kinds:
        return None
    return "string" if "date" in kinds and kinds & _NUMBERS else "double"


def _common_string(one: str, other: str) -> str:
    if "string" in (one, other) or base(one) != base(other):
        return "string"
    length = max(int(text.partition("(")[2].rstrip(")") or 1) for text in (one, other))
    return f"{base(one)}({length})"


def _common_number(one: str, other: str) -> str:
    if "decimal" in (base(one), base(other)):
        for text in (one, other):
            if text in ("float", "double"):
                return text
        (p1, s1), (p2, s2) = as_decimal(one), as_decimal(other)
        scale = max(s1, s2)
        return f"decimal({min(38, max(p1 - s1, p2 - s2) + scale)},{scale})"
    return max(one, other, key=NUMERIC.index)


def as_decimal(type_text: str) -> tuple[int, int]:
    """Precision and scale of the decimal that holds a number of some type."""
    exact = {
        "tinyint": (3, 0),
        "smallint": (5, 0),
        "int": (10, 0),
        "bigint": (19, 0),
        "float": (7, 7),
        "double": (15, 15),
    }
    return decimal(type_text) or exact.get(type_text, (38, 18))


INTEGERS = ("tinyint", "smallint", "int", "bigint")
"""The types of whole numbers, each wider than the one before."""
_TIMES = ("date", "timestamp")


def bounded(precision: int, scale: int) -> str:
    """A decimal type in Hive's limits: where the precision is too much, digits after the point go first."""
    if precision > 38:
        scale = max(38 - (precision - scale), min(scale, 6))
        precision = 38
    return f"decimal({precision},{scale})"


def arithmetic(operator: str, left: str, right: str) -> str | None:
    """The type of `left operator right`; None where Hive refuses it, or the type is not known."""
    numbers = (*NUMERIC, "decimal")
    left_base, right_base = base(left), base(right)
    if operator in ("Add", "Sub") and left == "date" and right == "int":
        return "date"
    if operator == "Sub" and left in _TIMES and right in _TIMES:
        return "interval_day_time"
    if "void" in (left, right) and left != right:
        known = left if right == "void" else right
        if known in NUMERIC:
            return known
        return "double" if base(known) in (*numbers, *STRINGS) else None
    if left_base in STRINGS or left == "void":
        left = left_base = "double"
    if right_base in STRINGS or right == "void":
        right = right_base = "double"
    if left_base not in numbers or right_base not in numbers:
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
