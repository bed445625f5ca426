"""Tables' columns from the metastore, for the resolver of `hive_views.sql`: asked for table by table, each once."""

from __future__ import annotations

from hive_views.identifiers import ViewName
from hive_views.metastore.row_codec import Row
from hive_views.metastore.store import MetastoreStore
from hive_views.sql.resolver.scopes import TableSchema


class MetastoreSchemas:
    """The schemas that one statement sees; make a new one for the next, so that it sees changes."""

    def __init__(self, store: MetastoreStore) -> None:
        self._store = store
        self._seen: dict[ViewName, TableSchema | None] = {}

    def table(self, database: str, name: str) -> TableSchema | None:
        """The columns of a table or view; see `hive_views.sql.resolver.scopes.Schemas`."""
        key = ViewName(database, name)
        if key not in self._seen:
            self._seen[key] = self._read(key)
        return self._seen[key]

    def _read(self, name: ViewName) -> TableSchema | None:
        row = self._store.get_row(name)
        return None if row is None else table_schema(row)


def table_schema(row: Row) -> TableSchema:
    """What the resolver has to know about a row."""
    descriptor = row.table.sd
    buckets = descriptor.bucketCols if descriptor is not None else None
    return TableSchema(
        columns=tuple((column.lower(), kind) for column, kind, _ in row.columns),
        kind="view" if row.kind.is_view else "materialized" if row.table_type == "MATERIALIZED_VIEW" else "table",
        bucket_columns=tuple(column.lower() for column in buckets or ()),
    )
