"""Which views of a metastore are legacy views, and whose layout each has."""

from __future__ import annotations

from collections.abc import Sequence

from hive_views.identifiers import ViewName
from hive_views.legacy_import.model import LegacyView
from hive_views.legacy_import.readers import hive, spark, trino
from hive_views.metastore.queries import names_by_table_type
from hive_views.metastore.row_codec import MATERIALIZED_VIEW, VIRTUAL_VIEW, Row, RowKind
from hive_views.metastore.store import MetastoreStore


def read_view(row: Row) -> LegacyView:
    """Read a legacy view from its row; no other row is looked at."""
    if trino.wrote(row):
        return trino.read(row)
    if spark.wrote(row.parameters) and row.table_type != MATERIALIZED_VIEW:
        return spark.read(row)
    return hive.read(row)


def is_legacy(row: Row) -> bool:
    """Whether a row is a view, or a materialized view, that is not Iceberg's."""
    return row.kind is RowKind.HIVE_VIEW or (row.table_type or "").upper() == MATERIALIZED_VIEW


def names_in(store: MetastoreStore, databases: Sequence[str]) -> list[ViewName]:
    """All views and materialized views of some databases, Iceberg's views among them."""
    found = {
        name
        for database in databases
        for table_type in (VIRTUAL_VIEW, MATERIALIZED_VIEW)
        for name in names_by_table_type(store, database, table_type)
    }
    return sorted(found)
