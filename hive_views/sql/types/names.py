"""The names of types in Hive, Iceberg, Spark and Trino: one table, and the conversions of type texts.

Sources: Iceberg Java's HiveSchemaUtil.convertToTypeString, Iceberg's Spark type conversion, Spark's DataType, Trino's
TypeSignature.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any


@dataclass(frozen=True)
class TypeNames:
    """The names of one type without parameters; None where an engine does not have it, or gives it others."""

    hive: str
    iceberg: str
    """The type in which Iceberg stores it; the first row with this name is the one that is read back."""
    spark: str | None = None
    """Spark's name (DataType.simpleString)."""
    spark_json: str | None = None
    """Spark's name in a schema in JSON (DataType.typeName)."""
    trino: str | None = None


TYPES = (
    TypeNames("boolean", "boolean", "boolean", "boolean", "boolean"),
    TypeNames("int", "int", "int", "integer", "integer"),
    TypeNames("tinyint", "int", "tinyint", "byte", "tinyint"),
    TypeNames("smallint", "int", "smallint", "short", "smallint"),
    TypeNames("bigint", "long", "bigint", "long", "bigint"),
    TypeNames("float", "float", "float", "float", "real"),
    TypeNames("double", "double", "double", "double", "double"),
    TypeNames("string", "string", "string", "string", "varchar"),
    TypeNames("char", "string"),
    TypeNames("varchar", "string"),
    TypeNames("binary", "binary", "binary", "binary", "varbinary"),
    TypeNames("date", "date", "date", "date", "date"),
    TypeNames("timestamp", "timestamp", "timestamp_ntz", "timestamp_ntz"),
    TypeNames("timestamp with local time zone", "timestamptz", "timestamp", "timestamp"),
    TypeNames("string", "time", "time"),
    TypeNames("string", "uuid", "string"),
    TypeNames("unknown", "variant", "variant"),
)
"""Iceberg has no integers below 32 bits and no strings of limited length. Timestamps of Trino have a precision."""

SPARK_NAMES = {row.iceberg: row.spark for row in reversed(TYPES) if row.spark is not None}
"""Spark's name of each Iceberg type."""
ICEBERG_NAMES_OF_SPARK = {
    row.spark: row.iceberg for row in TYPES if row.spark is not None and row.spark_json is not None
}
"""The Iceberg type in which a type of Spark is stored."""
_HIVE_NAMES = {row.iceberg: row.hive for row in reversed(TYPES)}
_HIVE_NAMES_OF_TRINO = {"int": "int"} | {row.trino: row.hive for row in TYPES if row.trino is not None}
_SPARK_NAMES_OF_JSON = {row.spark_json: row.spark for row in TYPES if row.spark and row.spark_json}
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_FIXED = re.compile(r"fixed\[\s*\d+\s*\]")
_MAX_FRACTION_DIGITS = 6
_PLAIN_NAME = re.compile(r"\w+")
_QUOTED_FIELD = re.compile(r"`((?:[^`]|``)*)`:")
_INNER_TYPE = re.compile(r"[^,<>():]+(?:\([^()]*\))?")


MAX_NESTED = 100
"""The maximum number of levels of a type; PyIceberg fails at 200."""


def nesting(text: str) -> int:
    """Return how deeply the brackets in a type's text are nested."""
    deepest = depth = 0
    for character in text:
        if character in "<(":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ">)":
            depth -= 1
    return deepest


def field_text(name: str) -> str:
    """Return the name of a struct's field as type texts write it: in backticks if it has other than word characters."""
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def struct_of(fields: Iterable[tuple[str, str]]) -> str:
    """Return the text of a struct type."""
    return f"struct<{','.join(f'{field_text(name)}:{kind}' for name, kind in fields)}>"


@dataclass(frozen=True)
class RowType:
    """The type of a column as a row writes it."""

    text: str
    """The type with the names of fields quoted that need it. Hive and Iceberg do not quote names in rows; Spark's own
    schema, which a row may have, is written with quotes here."""
    field_names: tuple[str, ...]
    """The names of the fields of all structs in it, in the order of the text."""


@lru_cache(maxsize=4096)
def row_type(text: str) -> RowType | None:
    """Return a type as a row writes it; None if the text is not a type, e.g. since the name of a field has a colon."""
    if "<" not in text:
        return RowType(text, ())
    try:
        kind, end = _row_type(text, 0)
    except (ValueError, RecursionError):
        return None
    return kind if end == len(text) else None


def _row_type(text: str, start: int) -> tuple[RowType, int]:
    """Return the type at an offset, and its end; raises ValueError."""
    while text[start : start + 1].isspace():
        start += 1
    if not text.startswith(("array<", "map<", "struct<"), start):
        match = _INNER_TYPE.match(text, start)
        if match is None:
            raise ValueError(text)
        return RowType(match[0], ()), match.end()
    opened = text.index("<", start) + 1
    parts: list[str] = []
    names: list[str] = []
    at = opened
    while at == opened or text[at - 1] == ",":
        head = ""
        if text.startswith("struct<", start):
            quoted = _QUOTED_FIELD.match(text, at)
            end_of_name = quoted.end() if quoted is not None else text.index(":", at) + 1
            name = quoted[1].replace("``", "`") if quoted is not None else text[at : end_of_name - 1].strip()
            names.append(name)
            head, at = f"{field_text(name)}:", end_of_name
        kind, end = _row_type(text, at)
        if end >= len(text) or text[end] not in ",>":
            raise ValueError(text)
        parts.append(head + kind.text)
        names += kind.field_names
        at = end + 1
    return RowType(f"{text[start:opened]}{','.join(parts)}>", tuple(names)), at


def hive_name(field_type: Any, *, hive2_compatible: bool = False, field_name: Callable[[str], str] = field_text) -> str:
    """Return Hive's name of an Iceberg type (Iceberg Java: HiveSchemaUtil.convertToTypeString).

    `field_name` writes the names in structs; rows have them as they are.

    Types are JSON values from a metadata file, because a view of another catalog may have types that PyIceberg does not
    have. Raises KeyError with the name of a type that Hive does not have.
    """
    if isinstance(field_type, str):
        return _hive_name_of_primitive(field_type, hive2_compatible)
    kind = field_type["type"]

    def inner(part: Any) -> str:
        return hive_name(part, hive2_compatible=hive2_compatible, field_name=field_name)

    if kind == "struct":
        fields = (f"{field_name(field['name'])}:{inner(field['type'])}" for field in field_type["fields"])
        return f"struct<{','.join(fields)}>"
    if kind == "list":
        return f"array<{inner(field_type['element'])}>"
    if kind == "map":
        return f"map<{inner(field_type['key'])},{inner(field_type['value'])}>"
    raise KeyError(kind)


def _hive_name_of_primitive(name: str, hive2_compatible: bool) -> str:
    if name == "timestamptz" and hive2_compatible:
        return "timestamp"
    decimal = _DECIMAL.fullmatch(name)
    if decimal:
        return f"decimal({decimal[1]},{decimal[2]})"
    if _FIXED.fullmatch(name):
        return "binary"
    return _HIVE_NAMES[name]


def spark_name_of_json(value: Any) -> str:
    """Return Spark's name of a type of a schema in JSON; raises ValueError for one that a metastore does not have."""
    if isinstance(value, str):
        return _SPARK_NAMES_OF_JSON.get(value, value)
    kind = value["type"]
    if kind == "array":
        return f"array<{spark_name_of_json(value['elementType'])}>"
    if kind == "map":
        return f"map<{spark_name_of_json(value['keyType'])},{spark_name_of_json(value['valueType'])}>"
    if kind == "struct":
        return struct_of((field["name"], spark_name_of_json(field["type"])) for field in value["fields"])
    raise ValueError(f"{kind} is not a type that a metastore has")


def hive_name_of_trino(text: str) -> str:
    """Return Hive's name of a type of Trino; raises ValueError if Hive and Iceberg do not have it."""
    if nesting(text) > MAX_NESTED:
        raise ValueError(f"it is nested too deeply: more than {MAX_NESTED} levels")
    return _hive_name_of_trino(text)


def _hive_name_of_trino(text: str) -> str:
    type_text = text.strip().lower()
    simple = _HIVE_NAMES_OF_TRINO.get(type_text)
    if simple:
        return simple
    decimal = re.fullmatch(r"decimal\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)", type_text)
    if decimal:
        return f"decimal({decimal[1]},{decimal[2]})"
    if re.fullmatch(r"(?:var)?char\s*\(\s*\d+\s*\)|char", type_text):
        return "string"
    timestamp = re.fullmatch(r"timestamp(?:\s*\(\s*(\d+)\s*\))?( with time zone)?", type_text)
    if timestamp:
        if int(timestamp[1] or 3) > _MAX_FRACTION_DIGITS:
            raise ValueError("its fractions of a second are finer than microseconds")
        return "timestamp with local time zone" if timestamp[2] else "timestamp_ntz"
    head, stripped = type_text.partition("(")[0].strip(), text.strip()
    if head in ("array", "map", "row") and stripped.endswith(")"):
        parts = _split_arguments(stripped[stripped.index("(") + 1 : -1])
        if head == "array" and len(parts) == 1:
            return f"array<{_hive_name_of_trino(parts[0])}>"
        if head == "map" and len(parts) == 2:
            return f"map<{_hive_name_of_trino(parts[0])},{_hive_name_of_trino(parts[1])}>"
        if head == "row":
            return struct_of(map(_hive_field, parts))
    raise ValueError("neither Hive nor Iceberg has it")


def _hive_field(text: str) -> tuple[str, str]:
    match = re.fullmatch(r'\s*(?:"((?:[^"]|"")+)"|(\w+))\s+(.+)', text, flags=re.DOTALL)
    if match is None:
        raise ValueError(f"a field without a name: {text.strip()}")
    return (match[1] or match[2]).replace('""', '"'), _hive_name_of_trino(match[3])


def _split_arguments(text: str) -> list[str]:
    """Split the arguments of a type at the commas outside of brackets and quotes."""
    parts, depth, is_quoted, start = [], 0, False, 0
    for index, char in enumerate(text):
        if char == '"':
            is_quoted = not is_quoted
        elif is_quoted:
            continue
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]]
