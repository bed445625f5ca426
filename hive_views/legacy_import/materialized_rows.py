"""The row of a materialized view without what it says of its storage: what the row of the new view is built from.

Trino takes a row for a materialized view by its text and comment, and then needs a `metadata_location` that is a
table's. The new row's is a view's, so to Trino it becomes a view (`Presto View`) of the same text and columns: it goes
on answering, from the definition.
"""

from __future__ import annotations

import base64
import copy
import json

from hive_views.legacy_import.model import LegacyView, Writer
from hive_views.legacy_import.readers.trino import document_of
from hive_views.metastore.row_codec import (
    CURRENT_SCHEMA,
    METADATA_LOCATION,
    PREVIOUS_METADATA_LOCATION,
    TABLE_TYPE,
    UUID,
    VIRTUAL_VIEW,
    Row,
    read_row,
)

_STORAGE = frozenset(
    {
        TABLE_TYPE,
        METADATA_LOCATION,
        PREVIOUS_METADATA_LOCATION,
        UUID,
        CURRENT_SCHEMA,
        "storage_schema",
        "storage_table",
        "storage_handler",
        "snapshot-count",
        "default-partition-spec",
        "default-sort-order",
        "format-version",
        "gc.enabled",
        # Of a view it would be the directory with the metadata files that goes.
        "external.table.purge",
    }
)
_PREFIXES = ("write.", "read.", "commit.", "history.", "engine.hive.", "iceberg.", "current-snapshot-", "storage.")
"""Row parameters that are an Iceberg table's: its catalogs copy the table's properties into its row."""


def detached(row: Row, view: LegacyView) -> Row:
    """A row that is a plain view's, for the new row to be built from; `row` is not touched."""
    if not view.materialized:
        return row
    table = copy.copy(row.table)
    table.tableType = VIRTUAL_VIEW
    table.parameters = {
        key: value for key, value in row.parameters.items() if key not in _STORAGE and not key.startswith(_PREFIXES)
    }
    # The server keeps it beside the row, and gives it with rows of materialized views only.
    table.creationMetadata = None
    if table.rewriteEnabled is not None:
        table.rewriteEnabled = False
    if view.writer is Writer.TRINO:
        document = {**document_of(row.texts.original or ""), "owner": row.owner, "runAsInvoker": False}
        for key in ("gracePeriod", "whenStaleBehavior"):
            document.pop(key, None)
        data = json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
        table.viewOriginalText = f"/* Presto View: {base64.b64encode(data).decode('ascii')} */"
        table.viewExpandedText = "/* Presto View */"
        table.parameters["comment"] = "Presto View"
    return read_row(table)
