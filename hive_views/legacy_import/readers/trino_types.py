"""Trino's type texts as Hive's."""

from __future__ import annotations

import re

_SIMPLE = {
    "boolean": "boolean",
    "tinyint": "tinyint",
    "smallint": "smallint",
    "integer": "int",
    "int": "int",
    "bigint": "bigint",
    "real": "float",
    "double": "double",
    "varchar": "string",
    "varbinary": "binary",
    "date": "date",
    "json": None,
}
_TIME = re.compile(r"timestamp(?:\s*\(\s*(\d+)\s*\))?( with time zone)?")
_SIZED = re.compile(r"(?:var)?char\s*\(\s*\d+\s*\)|char")
_DECIMAL = re.compile(r"decimal\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_MOST_DIGITS = 6


def hive_type(text: str) -> str:
    """A type of Trino's as a Hive type text."""
    kind = text.strip().lower()
    if _SIMPLE.get(kind):
        return str(_SIMPLE[kind])
    decimal = _DECIMAL.fullmatch(kind)
    if decimal:
        return f"decimal({decimal[1]},{decimal[2]})"
    if _SIZED.fullmatch(kind):
        return "string"
    time = _TIME.fullmatch(kind)
    if time:
        if int(time[1] or 3) > _MOST_DIGITS:
            raise ValueError("its fractions of a second are finer than microseconds")
        return "timestamp with local time zone" if time[2] else "timestamp_ntz"
    head, inner = kind.partition("(")[0].strip(), text.strip()
    if head in ("array", "map", "row") and inner.endswith(")"):
        parts = _split(inner[inner.index("(") + 1 : -1])
        if head == "array" and len(parts) == 1:
            return f"array<{hive_type(parts[0])}>"
        if head == "map" and len(parts) == 2:
            return f"map<{hive_type(parts[0])},{hive_type(parts[1])}>"
        if head == "row":
            return f"struct<{','.join(map(_field, parts))}>"
    raise ValueError("neither Hive nor Iceberg has it")


def _field(text: str) -> str:
    found = re.fullmatch(r'\s*(?:"((?:[^"]|"")+)"|(\w+))\s+(.+)', text, flags=re.DOTALL)
    if found is None:
        raise ValueError(f"a field without a name: {text.strip()}")
    name = (found[1] or found[2]).replace('""', '"')
    if not re.fullmatch(r"\w+", name):
        raise ValueError(f"a field named {name!r}, which Hive's type texts cannot write")
    return f"{name}:{hive_type(found[3])}"


def _split(text: str) -> list[str]:
    parts, depth, quoted, start = [], 0, False, 0
    for index, char in enumerate(text):
        if char == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]]
