"""Views of Trino, Presto and Athena: JSON, encoded in base64, inside a comment.

`viewOriginalText` is `/* Presto View: <base64> */` or `/* Presto Materialized View: <base64> */`, or the
same with Trino instead of Presto. The row has a single column `dummy` (Trino) or the view's columns (Athena). Source:
Trino's ViewReaderUtil.encodeViewData, HiveUtil and ConnectorViewDefinition.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

from hive_views.legacy_import.legacy_view import LegacyColumn, LegacyView, Problem, Reason, Writer, declared_columns
from hive_views.metastore.row_codec import Row

_ENCODED = re.compile(r"\s*/\*\s*(?:Presto|Trino)( Materialized)? View:\s*([A-Za-z0-9+/=\s]*?)\s*\*/\s*")
_FLAG = "presto_view"
_STORAGE = ("storage_schema", "storage_table", "metadata_location")

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
_TIMESTAMP = re.compile(r"timestamp(?:\s*\(\s*(\d+)\s*\))?( with time zone)?")
_SIZED = re.compile(r"(?:var)?char\s*\(\s*\d+\s*\)|char")
_DECIMAL = re.compile(r"decimal\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_MAX_FRACTION_DIGITS = 6


def is_trino_row(row: Row) -> bool:
    """Return whether a row has Trino's encoding; the text decides as well, because Athena sets no flag."""
    text = row.texts.original or ""
    return text.lstrip().startswith(("/* Presto", "/* Trino")) or row.parameters.get(_FLAG) == "true"


def read(row: Row) -> LegacyView:
    """Read the row of a view in Trino's encoding."""
    text = row.texts.original or ""
    try:
        document = decode_document(text)
        match = _ENCODED.fullmatch(text)
        return _view(row, document, is_materialized=match is not None and match[1] is not None)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return LegacyView(
            name=row.name,
            writer=Writer.TRINO,
            dialect="trino",
            sql="",
            database=row.name.database,
            columns=declared_columns(row),
            problem=Problem(
                Reason.UNREADABLE, f"{row.name} is marked as a Trino view, but its text cannot be decoded: {error!r}"
            ),
        )


def decode_document(text: str) -> dict[str, Any]:
    """Return the JSON object in a text of Trino's encoding; raises ValueError."""
    match = _ENCODED.fullmatch(text)
    if match is None:
        raise ValueError("it is not Trino's comment with base64 in it")
    document = json.loads(base64.b64decode(match[2], validate=False))
    if not isinstance(document, dict):
        raise ValueError("its base64 text does not hold a JSON object")
    return document


def security_note(view: LegacyView, row_owner: str | None, *, in_place: bool) -> str | None:
    """Return a sentence about whose rights Trino runs a view with, and how that changes; None for other writers."""
    if view.writer is not Writer.TRINO:
        return None
    # Trino's getView: "use owner from table metadata if it exists", before the JSON's.
    owner = row_owner or view.owner
    if view.run_as_invoker:
        if in_place:
            return "in Trino it keeps running with its reader's rights (SECURITY INVOKER)"
        return "Trino runs it with its reader's rights (SECURITY INVOKER); for the new view that is only recorded"
    if owner is None:
        return None
    if in_place:
        ignored = f"; Trino ignores the owner {view.owner} in its text" if view.owner not in (None, owner) else ""
        return (
            f"in Trino it keeps running with the rights of its owner {owner} (SECURITY DEFINER), which no other "
            f"engine applies{ignored}"
        )
    return (
        f"Trino runs it with the rights of its owner {owner} (SECURITY DEFINER); the new view has the same owner, but "
        "no engine applies these rights: its readers need their own"
    )


def _view(row: Row, document: Mapping[str, Any], *, is_materialized: bool) -> LegacyView:
    problem = None
    columns = []
    for column in document["columns"]:
        try:
            type_text = hive_type(column["type"])
        except ValueError as error:
            type_text = column["type"]
            text = f"column {column['name']} is of Trino's type {type_text}: {error}"
            problem = problem or Problem(Reason.TYPE, text)
        columns.append(LegacyColumn(column["name"], type_text, column.get("comment") or None))
    schema = document.get("schema")
    if not document["originalSql"].strip():
        problem = Problem(Reason.NO_TEXT, f"the JSON of {row.name} has an empty originalSql")
    keys = ("gracePeriod", "whenStaleBehavior")
    storage = {key: str(document[key]) for key in keys if document.get(key) is not None}
    storage |= {key: row.parameters[key] for key in _STORAGE if key in row.parameters}
    return LegacyView(
        name=row.name,
        writer=Writer.TRINO,
        dialect="trino",
        sql=document["originalSql"],
        database=(schema or row.name.database).lower(),
        columns=tuple(columns),
        catalog=document.get("catalog"),
        comment=document.get("comment"),
        owner=document.get("owner"),
        run_as_invoker=document.get("runAsInvoker"),
        materialized=is_materialized,
        storage=storage if is_materialized else {},
        problem=problem,
    )


def hive_type(text: str) -> str:
    """Return a Trino type as a Hive type text; raises ValueError if Hive and Iceberg do not have it."""
    type_text = text.strip().lower()
    simple = _SIMPLE_TYPES.get(type_text)
    if simple:
        return simple
    decimal = _DECIMAL.fullmatch(type_text)
    if decimal:
        return f"decimal({decimal[1]},{decimal[2]})"
    if _SIZED.fullmatch(type_text):
        return "string"
    timestamp = _TIMESTAMP.fullmatch(type_text)
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
