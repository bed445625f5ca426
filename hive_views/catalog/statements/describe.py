"""The answers of SHOW CREATE VIEW and DESCRIBE."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from hive_views.dependencies.view_text import text_of_version
from hive_views.errors import SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore.rows.types import hive_columns
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.table_schemas import MetastoreSchemas
from hive_views.spec.version_texts import partition_columns
from hive_views.sql.analysis.references import references
from hive_views.sql.analysis.view_text import ViewText
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.text.dialects import SYNTAX
from hive_views.sql.text.quoting import quote_identifier, quote_name, string_literal
from hive_views.sql.writing.definition import escape_variables

if TYPE_CHECKING:
    from pyiceberg.schema import Schema

    from hive_views.catalog.views import HiveView
    from hive_views.spec.metadata import ViewMetadata

COMMENT = "comment"
"""The view property that holds COMMENT."""

DescribeRow = tuple[str, str | None, str | None]
"""Name, type and comment of a column; or a name and a value."""


def create_statement(
    store: MetastoreStore,
    name: ViewName,
    metadata: ViewMetadata,
    properties: Mapping[str, str],
    *,
    partitioned_by: Sequence[str] | None = None,
    sorted_by: Sequence[str] = (),
    storage_properties: Mapping[str, str] | None = None,
) -> str:
    """The statement that creates a view again from its typed text: a materialized one if `partitioned_by` is given.

    Args:
        store: The metastore.
        name: The view.
        metadata: Its metadata.
        properties: Its properties, as far as users set them.
        partitioned_by: The partitions of its storage table, as in PARTITIONED BY.
        sorted_by: The sort order of its storage table, as in SORTED BY.
        storage_properties: The properties of its storage table.
    """
    version = metadata.current_version()
    text = text_of_version(name, version)
    quote = SYNTAX[text.dialect].quote
    lines = []
    if any(len(table.parts) == 1 for table in references(parse_query(text.typed, text.dialect)).tables):
        lines.append(f"-- names without a database mean {json.dumps(text.database, ensure_ascii=False)}")
    kind = "VIEW" if partitioned_by is None else "MATERIALIZED VIEW"
    head = f"CREATE {kind} {quote_name((name.database, name.name), quote)}"
    columns = _column_list(store, metadata.current_schema(), text, quote)
    lines.append(f"{head} (\n  {columns})" if columns else head)
    partitioned_on = partition_columns(version)
    properties = dict(properties)
    comment = properties.pop(COMMENT, None)
    if comment is not None:
        lines.append(f"COMMENT {string_literal(comment, text.dialect)}")
    if partitioned_on:
        lines.append(f"PARTITIONED ON ({', '.join(quote_identifier(column, quote) for column in partitioned_on)})")
    if partitioned_by:
        lines.append(f"PARTITIONED BY ({', '.join(partitioned_by)})")
    if sorted_by:
        lines.append(f"SORTED BY ({', '.join(sorted_by)})")
    for clause, values in (("TBLPROPERTIES", properties), ("STORAGE PROPERTIES", storage_properties or {})):
        pairs = (
            f"{string_literal(key, text.dialect)} = {string_literal(value, text.dialect)}"
            for key, value in sorted(values.items())
        )
        if values:
            lines.append(f"{clause} (\n  " + ",\n  ".join(pairs) + ")")
    statement = "\n".join([*lines, f"AS {escape_variables(text.typed, text.dialect)}"])
    unsubstituted = SYNTAX[text.dialect].unsubstituted
    if "${" in statement and unsubstituted is not None:
        return f"-- all in ${{ }} is meant to the letter: first {unsubstituted}\n{statement}"
    return statement


def _column_list(store: MetastoreStore, schema: Schema, text: ViewText, quote: str) -> str:
    """Return the column list before AS: the author's, or one if the query alone would give other names or comments."""
    fields = schema.fields
    names = text.column_names
    comments = tuple(field.doc for field in fields)
    if names is None:
        names = tuple(field.name for field in fields)
        if not any(comments) and _query_columns(store, text) == [name.lower() for name in names]:
            return ""
    listed = (
        quote_identifier(name, quote)
        + (f" COMMENT {string_literal(comment, text.dialect)}" if comment is not None else "")
        for name, comment in zip(names, comments, strict=True)
    )
    return ",\n  ".join(listed)


def _query_columns(store: MetastoreStore, text: ViewText) -> list[str] | None:
    """Return the column names of the query, in lower case; None if it no longer resolves."""
    try:
        return [name.lower() for name in text.expand_typed(MetastoreSchemas(store)).names]
    except SqlError:
        return None


def describe(view: HiveView, *, detailed: bool = False) -> tuple[DescribeRow, ...]:
    """Return the rows of DESCRIBE."""
    name = ViewName(*view.name())
    document = json.loads(view.schema().model_dump_json())
    rows: list[DescribeRow] = list(hive_columns(document, str(name)))
    if not detailed:
        return tuple(rows)
    metadata = view.metadata
    properties = dict(metadata.properties)
    version = view.current_version()
    details: list[tuple[str, str | None]] = [
        ("Database", name.database),
        ("View", name.name),
        ("Comment", properties.pop(COMMENT, None)),
        ("Owner", view.owner),
        ("Created", datetime.fromtimestamp(view.create_time, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")),
        ("UUID", metadata.view_uuid),
        ("Partitioned On", ", ".join(partition_columns(version) or ()) or None),
        ("Version", str(version.version_id)),
        ("Current Catalog", version.default_catalog),
        ("Current Database", ".".join(version.default_namespace)),
        ("Location", metadata.location),
        ("Metadata", view.metadata_location),
        ("Dialects", ", ".join(view.dialects)),
        ("Original Text", view.original_text),
        ("Expanded Text", view.expanded_text),
        ("Properties", json.dumps(properties, ensure_ascii=False, sort_keys=True)),
    ]
    rows += [("", None, None), ("# Detailed View Information", None, None)]
    rows += [(key, value, None) for key, value in details if value is not None]
    return tuple(rows)
