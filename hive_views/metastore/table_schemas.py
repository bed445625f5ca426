"""Tables' columns from the metastore, for the resolver of `hive_views.sql`: asked for table by table, each once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hive_views.errors import MetadataFileError
from hive_views.identifiers import ViewName
from hive_views.metastore.queries import load_view
from hive_views.metastore.row_codec import Row, RowKind, hive_type
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


# A field's name may be `timestamp` too; a colon stands behind it.
_TIME = re.compile(r"\btimestamp( with local time zone)?(?=[,>]|$)")
ZONED, LOCAL = "timestamp with local time zone", "timestamp_ntz"
"""The texts that stand for a time with a zone, and for one without: they are told apart wherever they go."""


class EngineSchemas(MetastoreSchemas):
    """The schemas that one statement sees, for the types of its columns."""

    def __init__(self, store: MetastoreStore, dialect: str) -> None:
        """Make it for one statement."""
        super().__init__(store)
        self._zoned = dialect != "trino"

    def _read(self, name: ViewName) -> TableSchema | None:
        row = self._store.get_row(name)
        if row is None:
            return None
        schema = table_schema(row)
        if not any(_TIME.search(kind) for _, kind in schema.columns):
            return schema
        if row.kind in (RowKind.ICEBERG_TABLE, RowKind.ICEBERG_VIEW):
            own = {field["name"].lower(): field["type"] for field in _current_schema(self._store, row)["fields"]}
            kinds = {name: self._iceberg(hive_type(own[name])) for name, _ in schema.columns if name in own}
        else:
            kinds = {}
        return replace(schema, columns=tuple((column, kinds.get(column, kind)) for column, kind in schema.columns))

    def _iceberg(self, text: str) -> str:
        """An Iceberg type's text, with the names that the engine has for times."""
        zoned, local = ("timestamp", LOCAL) if self._zoned else (ZONED, "timestamp")
        return _TIME.sub(lambda found: zoned if found.group(1) else local, text)

    def text_of(self, kind: str) -> str:
        """A type text of a column that was worked out with these schemas, in which each time says what it is."""
        bare = ZONED if self._zoned else LOCAL
        return _TIME.sub(lambda found: found.group(0) if found.group(1) else bare, kind)


def _current_schema(store: MetastoreStore, row: Row) -> Mapping[str, Any]:
    """The columns of an Iceberg table or view, as the JSON object of its metadata file."""
    location = row.metadata_location or ""
    if row.kind is RowKind.ICEBERG_VIEW:
        metadata = load_view(store, row.name).metadata
        return metadata.raw_schema(metadata.current_schema_id) or {"fields": []}
    document = store.files.read_table(location)
    try:
        # Format version 1 may have one schema alone.
        schemas = document.get("schemas") or [document["schema"]]
        current = document.get("current-schema-id", schemas[0].get("schema-id"))
        return next(schema for schema in schemas if schema.get("schema-id") == current)
    except (KeyError, AttributeError, TypeError, IndexError, StopIteration) as error:
        raise MetadataFileError(location, f"its columns are needed, and it is not readable: {error!r}") from error
