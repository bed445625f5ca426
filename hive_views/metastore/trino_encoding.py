"""Trino's encoding of a view in a row: JSON in base64, inside a comment.

The original text is `/* Presto View: <base64> */` or `/* Presto Materialized View: <base64> */` (Athena and forks may
write Trino instead of Presto). The expanded text is the same comment without data. The row has the parameter
`presto_view`, a fixed comment and, except for Athena, a single column `dummy`. Trino cannot list the views of a catalog
if a row has the parameter but a text in another form ("View data missing prefix", measured on Trino 483). Source:
Trino's ViewReaderUtil and TrinoViewUtil.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from hive_views.spec.json_text import compact_json, parse_json
from hive_views.spec.version_texts import RowTexts

FLAG = "presto_view"
"""The row parameter, `true` for every view in this encoding."""
VIEW_COMMENT, MATERIALIZED_VIEW_COMMENT = "Presto View", "Presto Materialized View"
COMMENTS = (VIEW_COMMENT, MATERIALIZED_VIEW_COMMENT)
"""Values of the row's `comment`; the view's own comment is in the JSON."""

_PREFIXES = ("/* Presto", "/* Trino")
_ENCODED = re.compile(r"\s*/\*\s*(?:Presto|Trino)( Materialized)? View:\s*([A-Za-z0-9+/=\s]*?)\s*\*/\s*")

_SIMPLE_TYPES = {
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
}
_MAX_FRACTION_DIGITS = 6


def is_encoded(text: str | None) -> bool:
    """Return whether a row's text is in Trino's encoding, even if it cannot be decoded."""
    return text is not None and text.lstrip().startswith(_PREFIXES)


def is_materialized(text: str) -> bool:
    """Return whether an encoded text is that of a materialized view."""
    match = _ENCODED.fullmatch(text)
    return match is not None and match[1] is not None


def decode(text: str | None) -> dict[str, Any]:
    """Return the JSON object in an original text; raises ValueError."""
    match = _ENCODED.fullmatch(text or "")
    if match is None:
        raise ValueError("it is not Trino's comment with base64 in it")
    document = parse_json(base64.b64decode(match[2], validate=False))
    if not isinstance(document, dict):
        raise ValueError("its base64 text does not hold a JSON object")
    return document


def encode(document: Mapping[str, Any]) -> RowTexts:
    """Return the texts of a view's row that encode a JSON object."""
    data = compact_json(document, ensure_ascii=False).encode()
    encoded = base64.b64encode(data).decode("ascii")
    return RowTexts(original=f"/* {VIEW_COMMENT}: {encoded} */", expanded=f"/* {VIEW_COMMENT} */")


def query_of(texts: RowTexts) -> str | None:
    """Return the query of a row in Trino's encoding; None if the row is not encoded or cannot be decoded."""
    if not is_encoded(texts.original):
        return None
    try:
        query = decode(texts.original).get("originalSql")
    except ValueError:
        return None
    return query if isinstance(query, str) else None


def schema_of(texts: RowTexts, database: str) -> str:
    """Return the database of unqualified names in a row's query: the recorded one, or else the row's `database`."""
    schema = decode(texts.original).get("schema")
    return (schema if schema and isinstance(schema, str) else database).lower()


def columns_of(texts: RowTexts) -> tuple[tuple[str, str, str | None], ...] | None:
    """Return name, Hive type and comment of the columns in Trino's encoding; None if it cannot be decoded.

    A type that Hive does not have is returned as Trino's type text.
    """
    if query_of(texts) is None:
        return None
    columns = []
    try:
        for column in decode(texts.original)["columns"]:
            name, type_text = column["name"], column["type"]
            try:
                columns.append((name, hive_type(type_text), column.get("comment")))
            except ValueError:
                columns.append((name, type_text, column.get("comment")))
    except (KeyError, TypeError, AttributeError):
        return None
    return tuple(columns)


def hive_type(text: str) -> str:
    """Return a Trino type as a Hive type text; raises ValueError if Hive and Iceberg do not have it."""
    type_text = text.strip().lower()
    simple = _SIMPLE_TYPES.get(type_text)
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
            return f"array<{hive_type(parts[0])}>"
        if head == "map" and len(parts) == 2:
            return f"map<{hive_type(parts[0])},{hive_type(parts[1])}>"
        if head == "row":
            return f"struct<{','.join(map(_hive_field, parts))}>"
    raise ValueError("neither Hive nor Iceberg has it")


def _hive_field(text: str) -> str:
    match = re.fullmatch(r'\s*(?:"((?:[^"]|"")+)"|(\w+))\s+(.+)', text, flags=re.DOTALL)
    if match is None:
        raise ValueError(f"a field without a name: {text.strip()}")
    name = (match[1] or match[2]).replace('""', '"')
    if not re.fullmatch(r"\w+", name):
        raise ValueError(f"a field named {name!r}, which Hive's type texts cannot write")
    return f"{name}:{hive_type(match[3])}"


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
