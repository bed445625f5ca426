"""Table schemas from the metastore for the resolver of `hive_views.sql`, each read once.

A row's `timestamp` means an instant in a plain Hive table (Spark reads it as TIMESTAMP). In an Iceberg table it may be
either, since Iceberg's Java catalog on Hive 2 writes `timestamp` for both of Iceberg's types
(HiveSchemaUtil.convertToTypeString), and only the metadata file has the exact types. It also has the exact names of
fields in structs, which rows do not quote. `EngineSchemas` resolves this.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from hive_views.errors import MetadataFileError, SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore.queries import RowCache, load_view
from hive_views.metastore.rows.row import Row, RowKind
from hive_views.metastore.spark_schema import recorded_names
from hive_views.metastore.store import MetastoreStore
from hive_views.sql.resolver.scopes import TableSchema
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.file_names import is_file_name
from hive_views.sql.types.names import hive_name, row_type

FileColumns = Callable[[str, str], "tuple[tuple[str, str], ...]"]
"""Returns name and type of the columns of files that Spark reads as a table, by their format and path."""


class MetastoreSchemas:
    """The schemas that one statement uses; create a new object for each statement, so that it sees changes."""

    def __init__(
        self, store: MetastoreStore, rows: RowCache | None = None, *, file_columns: FileColumns | None = None
    ) -> None:
        """Create it for one statement.

        `rows` saves requests for rows that were read already; without `file_columns`, the columns of files are unknown.
        """
        self._store = store
        self._rows = RowCache(store) if rows is None else rows
        self._file_columns = file_columns
        self._schemas: dict[ViewName, TableSchema | None] = {}

    def table(self, database: str, name: str) -> TableSchema | None:
        """Return the columns of a table or view; see `hive_views.sql.resolver.scopes.Schemas`."""
        key = ViewName(database, name)
        if key not in self._schemas:
            is_file = is_file_name(Dialect.SPARK, (database, name))
            self._schemas[key] = self._read_files(database, name) if is_file else self._read(key)
        return self._schemas[key]

    def _read_files(self, file_format: str, path: str) -> TableSchema | None:
        if self._file_columns is None:
            return None
        columns = self._file_columns(file_format, path)
        spellings = _with_capitals(name for name, _ in columns)
        return TableSchema(tuple((name.lower(), kind) for name, kind in columns), spellings=lambda: spellings)

    def _read(self, name: ViewName) -> TableSchema | None:
        row = self._rows.get(name)
        if row is None:
            return None
        if row.is_metric_view:
            reason = "is a metric view of Spark, whose columns Spark does not find under its name: no view can read it"
            raise SqlError(f"{name} {reason}", name=str(name))
        descriptor = row.table.sd
        buckets = descriptor.bucketCols if descriptor is not None else None
        return TableSchema(
            columns=tuple((column.lower(), kind) for column, kind in self.columns_of(row)),
            kind="view" if row.kind.is_view else "materialized" if row.table_type == "MATERIALIZED_VIEW" else "table",
            bucket_columns=tuple(column.lower() for column in buckets or ()),
            spellings=None if row.kind.is_view else partial(self._spellings, row),
        )

    def _spellings(self, row: Row) -> Mapping[str, str]:
        """Return the names with letters in upper case of a table's columns; the row of an Iceberg table has none."""
        if row.kind is not RowKind.ICEBERG_TABLE:
            return _with_capitals(recorded_names(row.parameters, row.declared_columns))
        try:
            schema = _schema_in_row(row) or _current_schema(self._store, row)
        except MetadataFileError:
            return {}  # no reader has its columns
        return _with_capitals(field["name"] for field in schema["fields"])

    def columns_of(self, row: Row) -> tuple[tuple[str, str], ...]:
        """Return name and type of each column of an object, from its metadata file where its row is ambiguous."""
        ambiguous = {column.lower() for column, kind, _ in row.declared_columns if self._is_ambiguous(kind)}
        exact = {}
        if ambiguous and row.kind in (RowKind.ICEBERG_TABLE, RowKind.ICEBERG_VIEW):
            fields = {field["name"].lower(): field["type"] for field in _current_schema(self._store, row)["fields"]}
            exact = {name: self._exact_type(fields[name]) for name in ambiguous if name in fields}
        texts = _columns_of_texts(row)
        return tuple(
            (column, "string" if column in texts else exact.get(column.lower()) or _with_quoted_names(kind))
            for column, kind, _ in row.declared_columns
        )

    def _is_ambiguous(self, type_text: str) -> bool:
        """Return whether the type in a row has more than one meaning."""
        return row_type(type_text) is None

    def _exact_type(self, field_type: Any) -> str:
        """Return the text of a type in a metadata file."""
        return hive_name(field_type)


_TEXT_SERDES = frozenset({"org.apache.hadoop.hive.serde2.OpenCSVSerde"})
"""SerDes whose columns are texts for Hive (4.1.0) and Spark (4.1.4), whatever types the row declares."""


def _columns_of_texts(row: Row) -> frozenset[str]:
    """Return the columns of a table that are texts because of its SerDe; the partition columns are not among them."""
    if row.kind is not RowKind.HIVE_TABLE or row.serde not in _TEXT_SERDES or _PROVIDER in row.parameters:
        return frozenset()
    keys = {name for name, _ in row.partition_keys}
    return frozenset(column for column, _, _ in row.columns if column.lower() not in keys)


_PROVIDER = "spark.sql.sources.provider"
"""Row parameter of a table that Spark reads by a data source of its own."""


def _schema_in_row(row: Row) -> Mapping[str, Any] | None:
    """Return the current schema of an Iceberg table as Iceberg's Java catalog writes it into the row, if it fits."""
    text = row.parameters.get("current-schema")
    try:
        schema = json.loads(text) if text else None
    except ValueError:
        return None
    return schema if isinstance(schema, dict) and isinstance(schema.get("fields"), list) else None


def _with_capitals(names: Iterable[str]) -> Mapping[str, str]:
    return {name.lower(): name for name in names if name != name.lower()}


def _with_quoted_names(type_text: str) -> str:
    read = row_type(type_text)
    return type_text if read is None else read.text


# A field may also be named `timestamp`; then a colon follows the name.
_TIME = re.compile(r"\btimestamp( with local time zone)?(?=[,>]|$)")
ZONED, LOCAL = "timestamp with local time zone", "timestamp_ntz"
"""Unambiguous type names for a timestamp with and without a time zone."""


class EngineSchemas(MetastoreSchemas):
    """The schemas that one statement uses, with the timestamp type names of the statement's engine."""

    def __init__(self, store: MetastoreStore, dialect: str, rows: RowCache | None = None) -> None:
        """Create it for one statement; `rows` saves requests for rows that were read already."""
        super().__init__(store, rows)
        self._is_timestamp_zoned = dialect != Dialect.TRINO

    def _is_ambiguous(self, type_text: str) -> bool:
        return _TIME.search(type_text) is not None or super()._is_ambiguous(type_text)

    def _exact_type(self, field_type: Any) -> str:
        """Return the text of a type in a metadata file, with the engine's names for timestamps."""
        zoned, local = ("timestamp", LOCAL) if self._is_timestamp_zoned else (ZONED, "timestamp")
        return _TIME.sub(lambda match: zoned if match.group(1) else local, hive_name(field_type))

    def text_of(self, kind: str) -> str:
        """Return the type of a column inferred with these schemas, with unambiguous timestamp names."""
        bare = ZONED if self._is_timestamp_zoned else LOCAL
        return _TIME.sub(lambda match: match.group(0) if match.group(1) else bare, kind)


def _current_schema(store: MetastoreStore, row: Row) -> Mapping[str, Any]:
    """Return the current schema of an Iceberg table or view, as the JSON object in its metadata file."""
    location = row.metadata_location or ""
    if row.kind is RowKind.ICEBERG_VIEW:
        metadata = load_view(store, row.name).metadata
        return metadata.raw_schema(metadata.current_schema_id) or {"fields": []}
    document = store.files.read_table(location)
    try:
        # Format version 1 may have only one schema.
        schemas = document.get("schemas") or [document["schema"]]
        current = document.get("current-schema-id", schemas[0].get("schema-id"))
        return next(schema for schema in schemas if schema.get("schema-id") == current)
    except (KeyError, AttributeError, TypeError, IndexError, StopIteration) as error:
        raise MetadataFileError(location, f"its columns cannot be read: {error!r}") from error
