"""Rows as Hive, Trino and Athena write them, for the tests of the import."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import EnvironmentContext, FieldSchema, Table
from tests.integration.catalog.samples import hive_row

Columns = Sequence[tuple[str | None, ...]]
"""Name, type and, where given, comment of each column."""


def table_row(database: str, name: str, columns: Columns, **parameters: str) -> Table:
    """A Hive table."""
    row = hive_row(database, name, "MANAGED_TABLE", **parameters)
    row.sd.cols = fields(columns)
    return row


def hive_view_row(
    database: str, name: str, original: str | None, expanded: str | None, columns: Columns, **parameters: str
) -> Table:
    """A view as Hive writes it: default formats and no serde library."""
    row = hive_row(database, name, "VIRTUAL_VIEW", **parameters)
    row.viewOriginalText, row.viewExpandedText = original, expanded
    row.sd.cols = fields(columns)
    return row


def trino_view_row(
    database: str,
    name: str,
    sql: str,
    columns: Columns,
    *,
    athena: bool = False,
    materialized: bool = False,
    parameters: dict[str, str] | None = None,
    **document: Any,
) -> Table:
    """A view as Trino's ViewReaderUtil.encodeViewData and HiveMetadata.createView write it, or as Athena does.

    Athena's row has the real columns and no flag of Trino's.
    """
    kind = "Materialized View" if materialized else "View"
    content = {
        "originalSql": sql,
        "catalog": "awsdatacatalog" if athena else "hive",
        "schema": database,
        "columns": [{"name": column[0], "type": column[1], **_comment(column)} for column in columns],
        "owner": "analyst",
        "runAsInvoker": False,
        **document,
    }
    encoded = base64.b64encode(json.dumps(content, separators=(",", ":")).encode()).decode("ascii")
    flags = {"comment": f"Presto {kind}"} if athena else {"presto_view": "true", "comment": f"Presto {kind}"}
    if not athena:
        flags |= {"trino_created_by": "Trino Hive connector", "trino_version": "476", "trino_query_id": "20260101_1"}
    row = hive_row(database, name, "VIRTUAL_VIEW", **{**flags, **(parameters or {})})
    row.viewOriginalText = f"/* Presto {kind}: {encoded} */"
    row.viewExpandedText = f"/* Presto {kind} */"
    real = [(column[0], "string") for column in columns]
    row.sd.cols = fields(real if athena else [("dummy", "string")])
    return row


def alter(raw: Client, row: Table) -> None:
    """Alter a row as another program does, without lock or compare-and-swap."""
    raw.alter_table_with_environment_context(row.dbName, row.tableName, row, EnvironmentContext(properties={}))


def fields(columns: Columns) -> list[FieldSchema]:
    """Columns of a row."""
    return [FieldSchema(*(*column, None)[:3]) for column in columns]


def _comment(column: Sequence[str | None]) -> dict[str, str]:
    return {"comment": column[2]} if len(column) > 2 and column[2] else {}
