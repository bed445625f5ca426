"""The row: an Iceberg view as one HMS Table object of type VIRTUAL_VIEW (Hive's flat model).

The one place that knows the row's layout. Keys and values are those of Iceberg's Java catalog
(HMSTablePropertyHelper, HiveOperationsBase), so both write the same row. What others put there is kept: a changed row
starts as a copy of the row that the server gave.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from hive_views.config import CatalogConfig, current_user
from hive_views.errors import (
    InvalidPropertyError,
    InvalidViewError,
    MissingPointerError,
    NoSuchViewError,
    NotAnIcebergViewError,
)
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema, SerDeInfo, StorageDescriptor, Table
from hive_views.metastore.hive_types import hive_columns
from hive_views.spec.lineage_codec import ROW_LINEAGE, ROW_LINEAGE_OF, row_parameters
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.version_texts import RowTexts, partition_columns, row_texts

VIRTUAL_VIEW = "VIRTUAL_VIEW"
"""Hive's tableType of a view."""

TABLE_TYPE = "table_type"
METADATA_LOCATION = "metadata_location"
PREVIOUS_METADATA_LOCATION = "previous_metadata_location"
UUID = "uuid"
CURRENT_SCHEMA = "current-schema"
"""Row parameters that Iceberg's catalogs write: the kind of row, the pointer, the pointer before, the identity and the
schema as JSON."""

EXTERNAL = "EXTERNAL"
"""Row parameter of Hive's. `TRUE` keeps a server from deleting the location, with all metadata files in it, when plain
Spark or Hive drops the row "with its data" (decision 0010). Iceberg's Java catalog does not write it for views."""

ICEBERG_VIEW = "ICEBERG-VIEW"
ICEBERG_TABLE = "ICEBERG"
"""Values of `table_type`; read without regard to case."""

OWNER_PROPERTY = "hive.metastore.table.owner"
"""View property that names the row's owner (Iceberg's HiveCatalog.HMS_TABLE_OWNER); it does not become a parameter."""

MAX_KEY_LENGTH = 256
"""The longest parameter key that a metastore's own database holds (TABLE_PARAMS.PARAM_KEY)."""

_LINEAGE = frozenset({ROW_LINEAGE, ROW_LINEAGE_OF})

_RESERVED = frozenset({TABLE_TYPE, METADATA_LOCATION, PREVIOUS_METADATA_LOCATION, UUID, CURRENT_SCHEMA}) | _LINEAGE
_RETENTION = 2147483647
_INPUT_FORMAT = "org.apache.hadoop.mapred.FileInputFormat"
_OUTPUT_FORMAT = "org.apache.hadoop.mapred.FileOutputFormat"
_SERDE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"


class RowKind(Enum):
    """What a row of the metastore is."""

    ICEBERG_VIEW = "Iceberg view"
    ICEBERG_TABLE = "Iceberg table"
    HIVE_VIEW = "Hive view"
    HIVE_TABLE = "Hive table"

    @property
    def is_view(self) -> bool:
        """Whether it is a view of any sort."""
        return self in (RowKind.ICEBERG_VIEW, RowKind.HIVE_VIEW)


@dataclass(frozen=True)
class Row:
    """A row as the server gave it, or as it was sent to the server."""

    name: ViewName
    """Its name."""
    kind: RowKind
    """What it is."""
    parameters: Mapping[str, str]
    """Its parameters, those of others included."""
    columns: tuple[tuple[str, str, str | None], ...]
    """Name, Hive type and comment of each column, partition columns last."""
    texts: RowTexts
    """Its two view texts."""
    owner: str | None
    """Its owner."""
    create_time: int
    """When it was created, in seconds from the epoch, as the server says."""
    table_type: str | None
    """Its tableType, e.g. VIRTUAL_VIEW."""
    table: Table
    """The Thrift object itself: not for use outside of this package's metastore layer."""

    @property
    def metadata_location(self) -> str | None:
        """The pointer to the metadata file."""
        return self.parameters.get(METADATA_LOCATION)

    @property
    def location(self) -> str | None:
        """The directory that the server has for it; views may have none."""
        return None if self.table.sd is None else self.table.sd.location or None

    @property
    def previous_metadata_location(self) -> str | None:
        """The pointer before the last commit."""
        return self.parameters.get(PREVIOUS_METADATA_LOCATION)

    @property
    def uuid(self) -> str | None:
        """The identity that Iceberg's catalogs write beside the pointer; None on rows written by hand."""
        return self.parameters.get(UUID)

    def is_same_view(self, other: Row) -> bool:
        """Whether this is the Iceberg view that `other` is, in whatever state and under whatever name."""
        if self.kind is not RowKind.ICEBERG_VIEW:
            return False
        if other.uuid is None:
            return self.uuid is None and self.metadata_location == other.metadata_location
        return self.uuid == other.uuid

    def require_iceberg_view(self) -> Row:
        """The row itself."""
        if self.kind is RowKind.ICEBERG_TABLE:
            raise NoSuchViewError(str(self.name), "an Iceberg table has that name")
        if self.kind is RowKind.ICEBERG_VIEW and not self.metadata_location:
            raise MissingPointerError(str(self.name))
        if self.kind is not RowKind.ICEBERG_VIEW:
            raise NotAnIcebergViewError(str(self.name), self.table_type, self.parameters.get(TABLE_TYPE))
        return self


def read_row(table: Table) -> Row:
    """Take a row apart."""
    descriptor = table.sd
    fields = [*(descriptor.cols or [] if descriptor is not None else []), *(table.partitionKeys or [])]
    return Row(
        name=ViewName(table.dbName, table.tableName),
        kind=row_kind(table),
        parameters=table.parameters or {},
        columns=tuple((field.name, field.type, field.comment) for field in fields),
        texts=RowTexts(original=table.viewOriginalText, expanded=table.viewExpandedText),
        owner=table.owner,
        create_time=table.createTime or 0,
        table_type=table.tableType,
        table=table,
    )


def row_kind(table: Table) -> RowKind:
    """What a row is, as Iceberg's Java catalog tells it (HiveOperationsBase.validateTableIsIcebergView)."""
    format_type = (table.parameters or {}).get(TABLE_TYPE, "").upper()
    if (table.tableType or "").upper() == VIRTUAL_VIEW:
        return RowKind.ICEBERG_VIEW if format_type == ICEBERG_VIEW else RowKind.HIVE_VIEW
    return RowKind.ICEBERG_TABLE if format_type == ICEBERG_TABLE else RowKind.HIVE_TABLE


def new_row(name: ViewName, metadata: ViewMetadata, location: str, config: CatalogConfig, *, now_s: int) -> Table:
    """The row of a view that does not exist yet."""
    table = Table(
        tableName=name.name,
        dbName=name.database,
        owner=_owner(metadata.properties) or current_user(),
        createTime=now_s,
        lastAccessTime=now_s,
        retention=_RETENTION,
        partitionKeys=[],
        parameters={},
        tableType=VIRTUAL_VIEW,
    )
    return _fill(table, name, metadata, location, config, removed=frozenset())


def changed_row(
    current: Row, base: ViewMetadata, metadata: ViewMetadata, location: str, config: CatalogConfig
) -> Table:
    """The row of a view after a commit: what stands there, with the pointer and all that follows from it changed."""
    table = copy.copy(current.table)
    table.parameters = dict(current.parameters)
    previous = current.metadata_location
    if previous is not None and previous != location:
        table.parameters[PREVIOUS_METADATA_LOCATION] = previous
    owner = _owner(metadata.properties)
    if owner and owner != _owner(base.properties):
        table.owner = owner
    keys = table.partitionKeys
    removed = frozenset(base.properties) - metadata.properties.keys()
    table = _fill(table, current.name, metadata, location, config, removed=removed)
    own = {str(field.get("name")).lower() for field in _current_schema(base).get("fields", ())}
    if keys and not table.partitionKeys and own.isdisjoint(field.name.lower() for field in keys):
        table.partitionKeys = keys  # somebody else's: they never were columns of the view
    return table


def renamed_row(current: Row, name: ViewName) -> Table:
    """The row under another name; nothing else of it changes."""
    table = copy.copy(current.table)
    table.parameters = dict(current.parameters)
    table.dbName, table.tableName = name.database, name.name
    return table


def check_columns(name: ViewName, metadata: ViewMetadata, config: CatalogConfig) -> None:
    """Refuse a view whose current columns a row cannot show, before anything is written."""
    columns = [column.lower() for column, _, _ in columns_of(name, metadata, config)]
    wanted = partition_columns(metadata.current_version())
    if wanted and not _are_last(wanted, columns):
        raise InvalidViewError(
            str(name),
            f"PARTITIONED ON names {', '.join(wanted)}, which must be its last columns, behind at least one other. "
            f"It has {', '.join(columns)}",
        )


def view_columns(name: ViewName, metadata: ViewMetadata, config: CatalogConfig) -> list[tuple[str, str]]:
    """The columns that a view's row has by its metadata."""
    return [(column, kind) for column, kind, _ in columns_of(name, metadata, config)]


def columns_of(name: ViewName, metadata: ViewMetadata, config: CatalogConfig) -> list[tuple[str, str, str | None]]:
    """A view's columns as its row has them."""
    return hive_columns(_current_schema(metadata), str(name), hive2_compatible=config.hive2_compatible)


def check_properties(properties: Mapping[str, str]) -> None:
    """Refuse view properties that a row cannot show, before anything is written."""
    for key, value in properties.items():
        if not isinstance(key, str) or not key:
            raise InvalidPropertyError(key, value, "a key must be a string that is not empty")
        if not isinstance(value, str):
            raise InvalidPropertyError(key, value, "a value must be a string")
        if len(key) > MAX_KEY_LENGTH:
            raise InvalidPropertyError(key, value, f"a metastore holds keys of at most {MAX_KEY_LENGTH} characters")
        if key in _RESERVED:
            raise InvalidPropertyError(key, value, "the catalog itself writes this key")


def _fill(
    table: Table,
    name: ViewName,
    metadata: ViewMetadata,
    location: str,
    config: CatalogConfig,
    *,
    removed: frozenset[str],
) -> Table:
    """Set all that follows from the metadata; in the order of Iceberg's HMSTablePropertyHelper."""
    parameters = table.parameters
    properties = {key: value for key, value in metadata.properties.items() if key.lower() != OWNER_PROPERTY}
    # Files of other catalogs may hold properties under the row's own keys, which must go on saying what they say.
    parameters.update({key: value for key, value in properties.items() if key not in _RESERVED})
    for key in removed - _RESERVED:
        parameters.pop(key, None)
    parameters.setdefault(EXTERNAL, "TRUE")
    parameters[UUID] = metadata.view_uuid
    parameters[TABLE_TYPE] = ICEBERG_VIEW
    parameters[METADATA_LOCATION] = location
    parameters.pop(CURRENT_SCHEMA, None)
    if config.parameter_max_size > 0:
        text = json.dumps(_current_schema(metadata), separators=(",", ":"), ensure_ascii=False)
        if len(text) <= config.parameter_max_size:
            parameters[CURRENT_SCHEMA] = text
    for key in _LINEAGE:
        parameters.pop(key, None)
    parameters.update(row_parameters(metadata.current_version(), location))
    texts = row_texts(metadata.current_version())
    if texts.expanded is not None:
        table.viewOriginalText, table.viewExpandedText = texts.original, texts.expanded
    fields = [FieldSchema(*column) for column in columns_of(name, metadata, config)]
    count = len(_partition_columns(table, metadata, [field.name.lower() for field in fields]))
    keys = fields[len(fields) - count :]
    if [(field.name, field.type) for field in keys] != [
        (field.name, field.type) for field in table.partitionKeys or ()
    ]:
        table.partitionKeys = keys
    table.sd = _descriptor(table, fields[: len(fields) - count], metadata)
    return table


def _partition_columns(table: Table, metadata: ViewMetadata, columns: list[str]) -> tuple[str, ...]:
    """The columns of PARTITIONED ON; those of the row where the version does not say, if they still are the last."""
    wanted = partition_columns(metadata.current_version())
    if wanted is None:
        wanted = tuple(field.name.lower() for field in table.partitionKeys or [])
    return wanted if _are_last(wanted, columns) else ()


def _are_last(wanted: tuple[str, ...], columns: list[str]) -> bool:
    return len(wanted) < len(columns) and columns[len(columns) - len(wanted) :] == list(wanted)


def _descriptor(table: Table, columns: list[FieldSchema], metadata: ViewMetadata) -> StorageDescriptor:
    descriptor = copy.copy(table.sd) if table.sd is not None else StorageDescriptor(compressed=False, numBuckets=0)
    descriptor.cols = columns
    descriptor.location = metadata.location
    descriptor.inputFormat, descriptor.outputFormat = _INPUT_FORMAT, _OUTPUT_FORMAT
    descriptor.serdeInfo = copy.copy(descriptor.serdeInfo) or SerDeInfo(parameters={})
    descriptor.serdeInfo.serializationLib = _SERDE
    for attribute in ("bucketCols", "sortCols"):
        if getattr(descriptor, attribute) is None:
            setattr(descriptor, attribute, [])
    if descriptor.parameters is None:
        descriptor.parameters = {}
    return descriptor


def _current_schema(metadata: ViewMetadata) -> dict[str, Any]:
    schema = metadata.raw_schema(metadata.current_schema_id)
    assert schema is not None, "every version's schema-id was checked when the metadata was made"
    return schema


def _owner(properties: Mapping[str, str]) -> str | None:
    return next((value for key, value in properties.items() if key.lower() == OWNER_PROPERTY), None)
