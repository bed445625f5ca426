"""The row: an Iceberg view as one HMS Table object of type VIRTUAL_VIEW (Hive's flat model).

The one place that knows the row's layout. Keys and values are those of Iceberg's Java catalog
(HMSTablePropertyHelper, HiveOperationsBase), so both write the same row. What others put there is kept: a changed row
starts as a copy of the row that the server gave.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TException
from thrift.transport.TTransport import TMemoryBuffer

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
from hive_views.spec.lineage_codec import ROW_LINEAGE, ROW_LINEAGE_OF, row_parameters
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.version_texts import RowTexts, partition_columns, row_texts

VIRTUAL_VIEW = "VIRTUAL_VIEW"
"""Hive's tableType of a view."""

MATERIALIZED_VIEW = "MATERIALIZED_VIEW"
"""Hive's tableType of its own materialized views."""

TABLE_TYPE = "table_type"
METADATA_LOCATION = "metadata_location"
PREVIOUS_METADATA_LOCATION = "previous_metadata_location"
UUID = "uuid"
CURRENT_SCHEMA = "current-schema"
"""Row parameters that Iceberg's catalogs write: the kind of row, the pointer, the pointer before, the identity and the
schema as JSON."""

CHANGE_TIME = "transient_lastDdlTime"
"""Row parameter: when the row was last changed, in seconds from the epoch. The server writes it where it is missing."""

HIVE_UUID = "hive_views_uuid"
"""Row parameter of a Hive table or plain Hive view: the UUID that `hive_views.metastore.identities` assigned to it."""

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

_FINGERPRINT_EXCLUDED = frozenset({CHANGE_TIME, HIVE_UUID})
_LINEAGE = frozenset({ROW_LINEAGE, ROW_LINEAGE_OF})

_RESERVED = frozenset({TABLE_TYPE, METADATA_LOCATION, PREVIOUS_METADATA_LOCATION, UUID, CURRENT_SCHEMA}) | _LINEAGE
_RETENTION = 2147483647
_INPUT_FORMAT = "org.apache.hadoop.mapred.FileInputFormat"
_OUTPUT_FORMAT = "org.apache.hadoop.mapred.FileOutputFormat"
_PLAIN_INPUT_FORMAT = "org.apache.hadoop.mapred.SequenceFileInputFormat"
_PLAIN_OUTPUT_FORMAT = "org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat"
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


_NAMES = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "date": "date",
    "time": "string",
    "timestamp": "timestamp",
    "timestamptz": "timestamp with local time zone",
    "string": "string",
    "uuid": "string",
    "binary": "binary",
    "variant": "unknown",
}
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_FIXED = re.compile(r"fixed\[\s*\d+\s*\]")


def hive_type(field_type: Any, *, hive2_compatible: bool = False) -> str:
    """Hive's name of an Iceberg type."""
    if isinstance(field_type, str):
        return _primitive(field_type, hive2_compatible)
    kind = field_type["type"]
    if kind == "struct":
        inner = ",".join(
            f"{field['name']}:{hive_type(field['type'], hive2_compatible=hive2_compatible)}"
            for field in field_type["fields"]
        )
        return f"struct<{inner}>"
    if kind == "list":
        return f"array<{hive_type(field_type['element'], hive2_compatible=hive2_compatible)}>"
    if kind == "map":
        key, value = (hive_type(field_type[part], hive2_compatible=hive2_compatible) for part in ("key", "value"))
        return f"map<{key},{value}>"
    raise KeyError(kind)


def hive_columns(
    schema: Mapping[str, Any], identifier: str, *, hive2_compatible: bool = False
) -> list[tuple[str, str, str | None]]:
    """The columns of a schema as a row has them."""
    columns: list[tuple[str, str, str | None]] = []
    seen: dict[str, str] = {}
    for field in schema["fields"]:
        name = field["name"]
        if name.lower() in seen:
            raise InvalidViewError(
                identifier,
                f"columns {seen[name.lower()]!r} and {name!r}: a Hive Metastore does not tell names apart by case",
            )
        seen[name.lower()] = name
        try:
            columns.append((name, hive_type(field["type"], hive2_compatible=hive2_compatible), field.get("doc")))
        except KeyError as error:
            raise InvalidViewError(
                identifier, f"column {name!r}: Hive has no type for Iceberg's {error.args[0]}; cast it in the query"
            ) from None
    return columns


def _primitive(name: str, hive2_compatible: bool) -> str:
    if name == "timestamptz" and hive2_compatible:
        return "timestamp"
    decimal = _DECIMAL.fullmatch(name)
    if decimal:
        return f"decimal({decimal[1]},{decimal[2]})"
    if _FIXED.fullmatch(name):
        return "binary"
    return _NAMES[name]


def encode_row(row: Row) -> bytes:
    """A row as Thrift's binary protocol writes it, with all that the server gave, its maps sorted. See `decode`."""
    return _bytes(row.table)


def decode_row(data: bytes) -> Row:
    """Read what `encode` wrote."""
    table = Table()
    try:
        table.read(TBinaryProtocol(TMemoryBuffer(data)))
    except (TException, EOFError, UnicodeDecodeError) as error:
        raise ValueError(f"not a row: {error}") from error
    if not table.dbName or not table.tableName:
        raise ValueError("not a row: it has no name")
    return read_row(table)


def row_as_json(row: Row) -> dict[str, Any]:
    """A row as a JSON object for people: field names and values, without those that are not set."""
    found = _plain(row.table)
    assert isinstance(found, dict)
    return found


def row_fingerprint(row: Row) -> str:
    """What tells whether a row was changed: a digest of all its fields, the order of its parameters apart.

    The time of the last change and the mark that lineage gives to Hive's own tables do not count.
    """
    plain = row_as_json(row)
    parameters = plain.get("parameters", {})
    plain["parameters"] = {key: value for key, value in parameters.items() if key not in _FINGERPRINT_EXCLUDED}
    plain.pop("privileges", None)
    # Not of this row: the server puts the rows of its source tables there, as they are when it is asked.
    plain.get("creationMetadata", {}).pop("sourceTables", None)
    data = json.dumps(plain, sort_keys=True, ensure_ascii=True).encode()
    return hashlib.sha256(data).hexdigest()


def row_with_columns(row: Row, columns: tuple[tuple[str, str, str | None], ...]) -> Row:
    """A row with other columns, for those who resolve names against it; `row` is not touched."""
    table = copy.copy(row.table)
    table.sd = copy.copy(table.sd)
    table.sd.cols = [FieldSchema(name=name, type=kind, comment=comment) for name, kind, comment in columns]
    table.partitionKeys = []
    return read_row(table)


def converted_row(
    config: CatalogConfig,
    seen: Row,
    metadata: ViewMetadata,
    location: str,
    *,
    dropped: Callable[[str], bool],
    face: tuple[str | None, str | None] | None = None,
) -> Row:
    """The Iceberg view's row that takes a legacy row's place: a copy of it with what Iceberg's readers need."""
    table = changed_row(seen, metadata, metadata, location, config)
    original = seen.parameters
    # View properties never overwrite what a row of others says under the same key.
    table.parameters.update({key: value for key, value in original.items() if key != CHANGE_TIME})
    for key in [key for key in table.parameters if dropped(key)]:
        del table.parameters[key]
    if face is not None:
        table.viewOriginalText, table.viewExpandedText = face
    if seen.table.partitionKeys:
        # A server rewrites the partitions of a view whose columns change, and stumbles over those without a storage
        # descriptor (HIVE-2966): so a partitioned view keeps its columns' own types.
        table.partitionKeys, table.sd.cols = seen.table.partitionKeys, list(seen.table.sd.cols)
    # As every server stores them, so that the row can be told from one that somebody changed.
    table.sd = copy.copy(table.sd)
    table.sd.cols = [
        FieldSchema(name=item.name.lower(), type=item.type, comment=item.comment) for item in table.sd.cols
    ]
    table.parameters[CHANGE_TIME] = _later(original.get(CHANGE_TIME))
    return read_row(table)


def plain_hive_row(row: Row, *, dropped: Callable[[str], bool]) -> Row:
    """A plain Hive view's row in an Iceberg view's place: the same texts and columns, without what Iceberg reads."""
    table = copy.copy(row.table)
    own = {TABLE_TYPE, METADATA_LOCATION, PREVIOUS_METADATA_LOCATION, UUID, CURRENT_SCHEMA}
    table.parameters = {key: value for key, value in row.parameters.items() if key not in own and not dropped(key)}
    table.parameters[CHANGE_TIME] = _later(row.parameters.get(CHANGE_TIME))
    table.sd = copy.copy(table.sd)
    table.sd.location = None
    table.sd.inputFormat, table.sd.outputFormat = _PLAIN_INPUT_FORMAT, _PLAIN_OUTPUT_FORMAT
    return read_row(table)


def _later(before: str | None) -> str:
    then = int(before) if before and before.isdigit() else 0
    return str(max(int(time.time()), then + 1))


def _bytes(table: Table) -> bytes:
    buffer = TMemoryBuffer()
    # Servers give maps in an order that means nothing and changes.
    _sorted(copy.deepcopy(table)).write(TBinaryProtocol(buffer))
    return bytes(buffer.getvalue())


def _sorted(value: Any) -> Any:
    """A Thrift value whose maps are sorted by key, in place; it is of the caller's own."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(value)  # of strings alone: `CreationMetadata.tablesUsed`
    for item in getattr(value, "thrift_spec", None) or ():
        if item is not None:
            setattr(value, item[2], _sorted(getattr(value, item[2])))
    return value


def _plain(value: Any) -> Any:
    """A Thrift value as JSON values, what is not set left out."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (set, frozenset)):
        return sorted(map(_plain, value))  # Python gives a set of texts in another order in each process
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    spec = getattr(value, "thrift_spec", None)
    if spec is None:
        return value
    fields = ((item[2], getattr(value, item[2])) for item in spec if item is not None)
    return {name: _plain(item) for name, item in fields if item is not None}
