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
from hive_views.sql.types.names import hive_name_of_trino

FLAG = "presto_view"
"""The row parameter, `true` for every view in this encoding."""
VIEW_COMMENT, MATERIALIZED_VIEW_COMMENT = "Presto View", "Presto Materialized View"
COMMENTS = (VIEW_COMMENT, MATERIALIZED_VIEW_COMMENT)
"""Values of the row's `comment`; the view's own comment is in the JSON."""

_PREFIXES = ("/* Presto", "/* Trino")
_ENCODED = re.compile(r"\s*/\*\s*(?:Presto|Trino)( Materialized)? View:\s*([A-Za-z0-9+/=\s]*?)\s*\*/\s*")


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
                columns.append((name, hive_name_of_trino(type_text), column.get("comment")))
            except ValueError:
                columns.append((name, type_text, column.get("comment")))
    except (KeyError, TypeError, AttributeError):
        return None
    return tuple(columns)
