"""Views of Trino, Presto and Athena, in the encoding of `hive_views.metastore.trino_encoding`.

Athena's rows declare the view's columns, and have none of Trino's parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from hive_views.legacy_import.legacy_view import LegacyColumn, LegacyView, Problem, Reason, Writer, declared_columns
from hive_views.metastore.rows.row import Row
from hive_views.metastore.trino_encoding import FLAG, decode, is_encoded, is_materialized, schema_of
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.types.names import hive_name_of_trino

_SIZED_TEXT = re.compile(r"\b(?:varchar\s*\(|char\b)", re.IGNORECASE)
"""A text of a certain length, which Iceberg does not have."""
_STORAGE = ("storage_schema", "storage_table", "metadata_location")


def is_trino_row(row: Row) -> bool:
    """Return whether a row has Trino's encoding, or Trino's flag and no other engine's text; Athena sets no flag."""
    has_text = bool(row.texts.expanded) and not is_encoded(row.texts.expanded)
    return is_encoded(row.texts.original) or (row.parameters.get(FLAG) == "true" and not has_text)


def read(row: Row) -> LegacyView:
    """Read the row of a view in Trino's encoding."""
    text = row.texts.original or ""
    try:
        return _view(row, decode(text), is_materialized=is_materialized(text))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return LegacyView(
            name=row.name,
            writer=Writer.TRINO,
            dialect=Dialect.TRINO,
            sql="",
            database=row.name.database,
            columns=declared_columns(row),
            problem=Problem(
                Reason.UNREADABLE, f"{row.name} is marked as a Trino view, but its text cannot be decoded: {error!r}"
            ),
        )


def trino_notes(view: LegacyView, row_owner: str | None, *, in_place: bool, keeps_encoding: bool) -> tuple[str, ...]:
    """Return sentences about how, and with whose privileges, Trino reads the converted view; none for other writers."""
    if view.writer is not Writer.TRINO:
        return ()
    notes = []
    if keeps_encoding:
        notes.append(_KEPT)
    elif in_place:
        notes.append(_RELEASED)
    security = _security_note(view, row_owner, keeps_encoding=keeps_encoding)
    return (*notes, security) if security is not None else tuple(notes)


_KEPT = (
    "Trino keeps reading its own encoding. ALTER VIEW … SET TBLPROPERTIES or CREATE OR REPLACE VIEW in Iceberg's Spark "
    "catalog would break that, and every listing of Trino's catalogs, until `hive-views repair`; --trino-rows release "
    "avoids it"
)
_RELEASED = (
    "the row no longer has Trino's encoding: Trino reads the generated text through its Hive connector. Its Iceberg "
    "connector no longer has the view, so queries and views of Trino that name it there fail"
)


def _security_note(view: LegacyView, row_owner: str | None, *, keeps_encoding: bool) -> str | None:
    # Trino's getView: "use owner from table metadata if it exists", before the JSON's.
    owner = row_owner or view.owner
    if keeps_encoding:
        if view.run_as_invoker:
            return "in Trino it keeps running with its reader's rights (SECURITY INVOKER)"
        if owner is None:
            return None
        ignored = f"; Trino ignores the owner {view.owner} in its text" if view.owner not in (None, owner) else ""
        return (
            f"in Trino it keeps running with the rights of its owner {owner} (SECURITY DEFINER), which no other "
            f"engine applies{ignored}"
        )
    if owner is None:
        return None
    legacy = "reader's rights (SECURITY INVOKER)" if view.run_as_invoker else "owner's rights (SECURITY DEFINER)"
    return (
        f"Trino runs it with its {legacy}; the new view it runs with the rights of the row's owner {owner}, or with "
        "its reader's if hive.hive-views.run-as-invoker is on. No other engine applies an owner's rights"
    )


def _check_texts(document: Mapping[str, Any], keys: Iterable[str]) -> None:
    """Raise TypeError if a value of the JSON that has to be a text is another one."""
    for key in keys:
        if not isinstance(document.get(key), str | None):
            raise TypeError(f"{key} is {document[key]!r}, which is no text")


def _view(row: Row, document: Mapping[str, Any], *, is_materialized: bool) -> LegacyView:
    problem = None
    columns, notes = [], []
    _check_texts(document, ("originalSql", "catalog", "comment", "owner"))
    for column in document["columns"]:
        _check_texts(column, ("name", "type", "comment"))
        try:
            type_text = hive_name_of_trino(column["type"])
        except ValueError as error:
            type_text = column["type"]
            text = f"column {column['name']} is of Trino's type {type_text}: {error}"
            problem = problem or Problem(Reason.TYPE, text)
        columns.append(LegacyColumn(column["name"], type_text, column.get("comment") or None))
        if problem is None and _SIZED_TEXT.search(column["type"]):
            notes.append(f"column {column['name']}: {column['type']} becomes {type_text}")
    if not document["originalSql"].strip():
        problem = Problem(Reason.NO_TEXT, f"the JSON of {row.name} has an empty originalSql")
    keys = ("gracePeriod", "whenStaleBehavior")
    storage = {key: str(document[key]) for key in keys if document.get(key) is not None}
    storage |= {key: row.parameters[key] for key in _STORAGE if key in row.parameters}
    return LegacyView(
        name=row.name,
        writer=Writer.TRINO,
        dialect=Dialect.TRINO,
        sql=document["originalSql"],
        database=schema_of(row.texts, row.name.database),
        columns=tuple(columns),
        catalog=document.get("catalog"),
        comment=document.get("comment"),
        owner=document.get("owner"),
        run_as_invoker=document.get("runAsInvoker"),
        materialized=is_materialized,
        storage=storage if is_materialized else {},
        problem=problem,
        notes=tuple(notes),
    )
