"""Which rows are legacy views, and which reader reads each."""

from __future__ import annotations

from collections.abc import Sequence

from hive_views.identifiers import ViewName
from hive_views.legacy_import.legacy_view import LegacyView
from hive_views.legacy_import.readers import hive, spark, trino
from hive_views.metastore.queries import names_by_table_type
from hive_views.metastore.row_codec import MATERIALIZED_VIEW, VIRTUAL_VIEW, Row, RowKind
from hive_views.metastore.store import MetastoreStore


def read_view(row: Row) -> LegacyView:
    """Read a legacy view from its row alone."""
    if trino.is_trino_row(row):
        return trino.read(row)
    if spark.is_spark_row(row) and row.table_type != MATERIALIZED_VIEW:
        return spark.read(row)
    return hive.read(row)


def is_legacy(row: Row) -> bool:
    """Return whether a row is a view or a materialized view, and not an Iceberg view."""
    return row.kind is RowKind.HIVE_VIEW or (row.table_type or "").upper() == MATERIALIZED_VIEW


def list_view_names(store: MetastoreStore, databases: Sequence[str]) -> list[ViewName]:
    """List all views and materialized views of some databases, including Iceberg views."""
    names = {
        name
        for database in databases
        for table_type in (VIRTUAL_VIEW, MATERIALIZED_VIEW)
        for name in names_by_table_type(store, database, table_type)
    }
    return sorted(names)
