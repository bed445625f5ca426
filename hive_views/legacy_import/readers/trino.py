"""Views of Trino, Presto and Athena: JSON in base64 inside a comment.

`viewOriginalText` is `/* Presto View: <base64> */` or `/* Presto Materialized View: <base64> */`, also with Trino in
place of Presto; the row's columns are one `dummy` (Trino) or the real ones (Athena). Source: Trino's
ViewReaderUtil.encodeViewData, HiveUtil and ConnectorViewDefinition.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import Any

from hive_views.legacy_import.model import LegacyColumn, LegacyView, Reason, Refusal, Writer
from hive_views.legacy_import.readers.hive import columns_of
from hive_views.legacy_import.readers.trino_types import hive_type
from hive_views.metastore.row_codec import Row

_ENCODED = re.compile(r"\s*/\*\s*(?:Presto|Trino)( Materialized)? View:\s*([A-Za-z0-9+/=\s]*?)\s*\*/\s*")
_FLAG = "presto_view"
_STORAGE = ("storage_schema", "storage_table", "metadata_location")


def wrote(row: Row) -> bool:
    """Whether the row is a view of Trino's encoding; what it is told by is its text, since Athena sets no flag."""
    text = row.texts.original or ""
    return text.lstrip().startswith(("/* Presto", "/* Trino")) or row.parameters.get(_FLAG) == "true"


def read(row: Row) -> LegacyView:
    """Read the row of a view of Trino's encoding."""
    found = _ENCODED.fullmatch(row.texts.original or "")
    if found is None:
        return _broken(row, "its text is not Trino's comment with base64 in it")
    try:
        document = json.loads(base64.b64decode(found[2], validate=False))
        return _view(row, document, materialized=found[1] is not None)
    except (ValueError, binascii.Error, KeyError, TypeError, AttributeError) as error:
        return _broken(row, f"its base64 text holds no view of Trino's: {error!r}")


def rights(view: LegacyView, row_owner: str | None, *, in_place: bool) -> str | None:
    """Say with whose rights Trino runs a view, and what becomes of that."""
    if view.writer is not Writer.TRINO:
        return None
    # Trino's getView: "use owner from table metadata if it exists", and not the JSON's.
    owner = row_owner or view.owner
    if view.run_as_invoker:
        if in_place:
            return "in Trino it goes on running with its reader's rights (SECURITY INVOKER)"
        return "Trino runs it with its reader's rights (SECURITY INVOKER); of the new view that is recorded, no more"
    if owner is None:
        return None
    if in_place:
        also = f"; Trino passes over {view.owner}, whom its own text names" if view.owner not in (None, owner) else ""
        return (
            f"in Trino it goes on running with the rights of its owner {owner} (SECURITY DEFINER), which no other "
            f"engine heeds{also}"
        )
    return (
        f"Trino runs it with the rights of its owner {owner} (SECURITY DEFINER); the new view is {owner}'s as well, "
        "and no engine reads it with that one's rights: its readers need their own"
    )


def document_of(text: str) -> dict[str, Any]:
    """The JSON in a text of Trino's encoding that `read` could read."""
    found = _ENCODED.fullmatch(text)
    if found is None:
        raise ValueError("it is not Trino's comment with base64 in it")
    document = json.loads(base64.b64decode(found[2], validate=False))
    if not isinstance(document, dict):
        raise ValueError("its base64 text holds no JSON object")
    return document


def _view(row: Row, document: Mapping[str, Any], *, materialized: bool) -> LegacyView:
    problem = None
    columns = []
    for column in document["columns"]:
        try:
            kind = hive_type(column["type"])
        except ValueError as error:
            kind = column["type"]
            problem = problem or Refusal(Reason.TYPE, f"column {column['name']} is of Trino's type {kind}: {error}")
        columns.append(LegacyColumn(column["name"], kind, column.get("comment") or None))
    schema = document.get("schema")
    if not document["originalSql"].strip():
        problem = Refusal(Reason.NO_TEXT, f"the JSON of {row.name} has an empty originalSql")
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
        materialized=materialized,
        storage=storage if materialized else {},
        problem=problem,
    )


def _broken(row: Row, reason: str) -> LegacyView:
    return LegacyView(
        name=row.name,
        writer=Writer.TRINO,
        dialect="trino",
        sql="",
        database=row.name.database,
        columns=columns_of(row),
        problem=Refusal(Reason.UNREADABLE, f"{row.name} is marked as a view of Trino's, but {reason}"),
    )
