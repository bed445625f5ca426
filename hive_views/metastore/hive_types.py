"""Iceberg column types as the metastore's row shows them (Iceberg Java: HiveSchemaUtil.convertToTypeString).

Schemas are taken as the JSON objects that a metadata file holds, because a view of another catalog may have types that
PyIceberg does not know.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hive_views.errors import InvalidViewError

_NAMES = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "date": "date",
    "time": "string",
    "timestamp": "timestamp",
    "timestamptz": "timestamp with local time zone",
    "string": "string",
    "uuid": "string",
    "binary": "binary",
    "variant": "unknown",
}
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_FIXED = re.compile(r"fixed\[\s*\d+\s*\]")


def hive_type(field_type: Any, *, hive2_compatible: bool = False) -> str:
    """Hive's name of an Iceberg type."""
    if isinstance(field_type, str):
        return _primitive(field_type, hive2_compatible)
    kind = field_type["type"]
    if kind == "struct":
        inner = ",".join(
            f"{field['name']}:{hive_type(field['type'], hive2_compatible=hive2_compatible)}"
            for field in field_type["fields"]
        )
        return f"struct<{inner}>"
    if kind == "list":
        return f"array<{hive_type(field_type['element'], hive2_compatible=hive2_compatible)}>"
    if kind == "map":
        key, value = (hive_type(field_type[part], hive2_compatible=hive2_compatible) for part in ("key", "value"))
        return f"map<{key},{value}>"
    raise KeyError(kind)


def hive_columns(
    schema: Mapping[str, Any], identifier: str, *, hive2_compatible: bool = False
) -> list[tuple[str, str, str | None]]:
    """The columns of a schema as a row has them."""
    columns: list[tuple[str, str, str | None]] = []
    seen: dict[str, str] = {}
    for field in schema["fields"]:
        name = field["name"]
        if name.lower() in seen:
            raise InvalidViewError(
                identifier,
                f"columns {seen[name.lower()]!r} and {name!r}: a Hive Metastore does not tell names apart by case",
            )
        seen[name.lower()] = name
        try:
            columns.append((name, hive_type(field["type"], hive2_compatible=hive2_compatible), field.get("doc")))
        except KeyError as error:
            raise InvalidViewError(
                identifier, f"column {name!r}: Hive has no type for Iceberg's {error.args[0]}; cast it in the query"
            ) from None
    return columns


def _primitive(name: str, hive2_compatible: bool) -> str:
    if name == "timestamptz" and hive2_compatible:
        return "timestamp"
    decimal = _DECIMAL.fullmatch(name)
    if decimal:
        return f"decimal({decimal[1]},{decimal[2]})"
    if _FIXED.fullmatch(name):
        return "binary"
    return _NAMES[name]
