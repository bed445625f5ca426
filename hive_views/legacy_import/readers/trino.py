"""Views of Trino, Presto and Athena, in the encoding of `hive_views.metastore.trino_encoding`.

Athena's rows have the view's columns, and no parameter of Trino's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hive_views.legacy_import.legacy_view import LegacyColumn, LegacyView, Problem, Reason, Writer, declared_columns
from hive_views.metastore.row_codec import Row
from hive_views.metastore.trino_encoding import FLAG, decode, hive_type, is_encoded, is_materialized

_STORAGE = ("storage_schema", "storage_table", "metadata_location")


def is_trino_row(row: Row) -> bool:
    """Return whether a row has Trino's encoding; the text decides as well, because Athena sets no flag."""
    return is_encoded(row.texts.original) or row.parameters.get(FLAG) == "true"


def read(row: Row) -> LegacyView:
    """Read the row of a view in Trino's encoding."""
    text = row.texts.original or ""
    try:
        return _view(row, decode(text), is_materialized=is_materialized(text))
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
