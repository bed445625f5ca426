"""Columns as the engine types them that will run a text: what a row cannot say of times with and without a zone.

A row's `timestamp` means one thing in a plain Hive table (Spark reads it as TIMESTAMP, an instant) and another in an
Iceberg one: there it is either, since Iceberg's Java catalog on Hive 2 writes `timestamp` for both of Iceberg's types
(HiveSchemaUtil.convertToTypeString). Only the metadata file knows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hive_views.errors import MetadataFileError
from hive_views.identifiers import ViewName
from hive_views.metastore.hive_types import hive_type
from hive_views.metastore.loading import load
from hive_views.metastore.row_codec import Row, RowKind
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.table_schemas import MetastoreSchemas, table_schema
from hive_views.sql.resolver.scopes import TableSchema

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
        metadata = load(store, row.name).metadata
        return metadata.raw_schema(metadata.current_schema_id) or {"fields": []}
    document = store.files.read_table(location)
    try:
        # Format version 1 may have one schema alone.
        schemas = document.get("schemas") or [document["schema"]]
        current = document.get("current-schema-id", schemas[0].get("schema-id"))
        return next(schema for schema in schemas if schema.get("schema-id") == current)
    except (KeyError, AttributeError, TypeError, IndexError, StopIteration) as error:
        raise MetadataFileError(location, f"its columns are needed, and it is not readable: {error!r}") from error
