"""The row codec: an Iceberg view as one HMS Table object of type VIRTUAL_VIEW.

The only module that knows the row layout. Keys and values are those of Iceberg's Java catalog (HMSTablePropertyHelper,
HiveOperationsBase), so both write the same row. Everything written by other programs is preserved: a changed row starts
as a copy of the server's row. Also here: rows of plain Hive views, their conversion, serialization and fingerprint.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TException
from thrift.transport.TTransport import TMemoryBuffer

from hive_views.config import CatalogConfig
from hive_views.errors import (
    InvalidPropertyError,
    InvalidViewError,
    MissingPointerError,
    NoSuchViewError,
    NotAnIcebergViewError,
)
from hive_views.identifiers import ViewName
from hive_views.metastore import spark_schema, trino_encoding
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema, SerDeInfo, StorageDescriptor, Table
from hive_views.spec.json_text import compact_json
from hive_views.spec.lineage_codec import ROW_LINEAGE, ROW_LINEAGE_OF, row_parameters
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.session_settings import ROW_PREFIX, row_settings
from hive_views.spec.storage_link import definition_location, is_staging_name
from hive_views.spec.version_texts import (
    LEGACY_ORIGINAL,
    ORIGINAL_SQL,
    RowTexts,
    partition_columns,
    row_texts,
    sql_texts,
)
from hive_views.spec.whole_numbers import whole_number
from hive_views.sql.types.names import hive_name

VIRTUAL_VIEW = "VIRTUAL_VIEW"
"""Hive's tableType of a view."""

MATERIALIZED_VIEW = "MATERIALIZED_VIEW"
"""Hive's tableType of its own materialized views."""

TABLE_TYPE = "table_type"
METADATA_LOCATION = "metadata_location"
PREVIOUS_METADATA_LOCATION = "previous_metadata_location"
UUID = "uuid"
CURRENT_SCHEMA = "current-schema"
"""Row parameters of Iceberg's catalogs: the kind of row, the current and the previous metadata file, the UUID, and the
schema as JSON."""

CHANGE_TIME = "transient_lastDdlTime"
"""Row parameter: when the row was last changed, in seconds since the epoch. The server adds it if it is missing."""

HIVE_UUID = "hive_views_uuid"
"""Row parameter of a Hive table or plain Hive view: the UUID that `hive_views.metastore.identities` assigned to it."""

EXTERNAL = "EXTERNAL"
"""Row parameter of Hive. `TRUE` prevents the server from deleting the location, with all metadata files in it, when
plain Spark or Hive drops the row with its data. Iceberg's Java catalog does not write it for views."""

ICEBERG_VIEW = "ICEBERG-VIEW"
ICEBERG_TABLE = "ICEBERG"
"""Values of `table_type`, compared case-insensitively."""

OWNER_PROPERTY = "hive.metastore.table.owner"
"""View property with the row's owner (Iceberg's HiveCatalog.HMS_TABLE_OWNER); it is not written as a parameter."""

MAX_KEY_LENGTH = 256
MAX_COMMENT_LENGTH = 256
"""The longest parameter key that a metastore's database can store (TABLE_PARAMS.PARAM_KEY)."""

_FINGERPRINT_EXCLUDED = frozenset({CHANGE_TIME, HIVE_UUID})
_LINEAGE = frozenset({ROW_LINEAGE, ROW_LINEAGE_OF})

_ICEBERG_KEYS = frozenset({TABLE_TYPE, METADATA_LOCATION, PREVIOUS_METADATA_LOCATION, UUID, CURRENT_SCHEMA})
SPARK_DATABASE = "view.catalogAndNamespace.part.1"
_OLD_SPARK_DATABASE = "view.default.database"
"""Row parameters of plain Spark (before 3.0: the old one): the current database when a view was defined."""

_SUBTYPE, _METRIC_VIEW = "view.subType", "METRIC_VIEW"
_METRIC_SOURCE = "metric_view.from.name"
_RESERVED = _ICEBERG_KEYS | {trino_encoding.FLAG} | _LINEAGE
_SPARK_VERSION = "spark.sql.create.version"
_RETENTION = 2147483647
_INPUT_FORMAT = "org.apache.hadoop.mapred.FileInputFormat"
_OUTPUT_FORMAT = "org.apache.hadoop.mapred.FileOutputFormat"
_PLAIN_INPUT_FORMAT = "org.apache.hadoop.mapred.SequenceFileInputFormat"
_PLAIN_OUTPUT_FORMAT = "org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat"
_SERDE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"


TRINO_PARAMETERS = frozenset(
    {
        trino_encoding.FLAG,
        "presto_version",
        "presto_query_id",
        "trino_created_by",
        "trino_version",
        "trino_query_id",
    }
)
"""Row parameters that Trino and Presto write for their views."""
_NOT_PROPERTIES = TRINO_PARAMETERS | frozenset(
    {
        CHANGE_TIME,
        HIVE_UUID,
        "EXTERNAL",
        "COLUMN_STATS_ACCURATE",
        "DO_NOT_UPDATE_STATS",
        "STATS_GENERATED",
        "STATS_GENERATED_VIA_STATS_TASK",
        "bucketing_version",
        "last_modified_by",
        "last_modified_time",
        "numFiles",
        "numFilesErasureCoded",
        "numPartitions",
        "numRows",
        "rawDataSize",
        "totalSize",
    }
)
"""Row parameters that are not view properties."""
_SPARK_PREFIXES = ("spark.sql.", "view.")
"""Prefixes of the row parameters that plain Spark writes for its views."""


class RowKind(Enum):
    """The kind of object that a row of the metastore is."""

    ICEBERG_VIEW = "Iceberg view"
    ICEBERG_TABLE = "Iceberg table"
    HIVE_VIEW = "Hive view"
    HIVE_TABLE = "Hive table"

    @property
    def is_view(self) -> bool:
        """Whether it is a view, of Iceberg or Hive."""
        return self in (RowKind.ICEBERG_VIEW, RowKind.HIVE_VIEW)


class Row(NamedTuple):
    """A row of the metastore, as received from or sent to the server."""

    name: ViewName
    """The name of the table or view."""
    kind: RowKind
    """The kind of object."""
    parameters: Mapping[str, str]
    """All row parameters, including those of other programs."""
    columns: tuple[tuple[str, str, str | None], ...]
    """Name, Hive type and comment of each column, partition columns last."""
    texts: RowTexts
    """The two view texts."""
    owner: str | None
    """The owner."""
    create_time: int
    """The creation time, in seconds since the epoch, by the server's clock."""
    table_type: str | None
    """The tableType, e.g. VIRTUAL_VIEW."""
    table: Table
    """The Thrift object, for use in `hive_views.metastore` only."""

    @property
    def declared_columns(self) -> tuple[tuple[str, str, str | None], ...]:
        """The columns of the object; where its row has only a placeholder, those that Trino or Spark recorded.

        Empty for a table whose columns are only in its files.
        """
        of_trino = trino_encoding.columns_of(self.texts)
        if of_trino:
            return of_trino
        of_spark = spark_schema.columns_of(self.parameters, self.columns)
        return self.columns if of_spark is None else of_spark

    @property
    def input_format(self) -> str:
        """The class that reads the files of a Hive table; empty for a table of a storage handler."""
        descriptor = self.table.sd
        return "" if descriptor is None else descriptor.inputFormat or ""

    @property
    def serde(self) -> str:
        """The class that reads the rows of a Hive table's files; empty if the row has none."""
        descriptor = self.table.sd
        serde = None if descriptor is None else descriptor.serdeInfo
        return "" if serde is None else serde.serializationLib or ""

    @property
    def is_metric_view(self) -> bool:
        """Whether Spark 4.2 or later created it WITH METRICS: its text is YAML and no query."""
        return self.kind is RowKind.HIVE_VIEW and self.parameters.get(_SUBTYPE) == _METRIC_VIEW

    @property
    def metric_source(self) -> str | None:
        """The table or view that a metric view measures, as Spark records it; None if it measures a query."""
        return self.parameters.get(_METRIC_SOURCE) if self.is_metric_view else None

    @property
    def default_database(self) -> str:
        """The database of unqualified names in the text: plain Spark records the author's current database."""
        recorded = self.parameters.get(SPARK_DATABASE) or self.parameters.get(_OLD_SPARK_DATABASE)
        return (recorded or self.name.database).lower()

    @property
    def metadata_location(self) -> str | None:
        """The location of the current metadata file."""
        return self.parameters.get(METADATA_LOCATION)

    @property
    def definition_location(self) -> str | None:
        """The metadata file of the definition, for a table that is a materialized view; None for all other rows.

        Also None for the staging table of a refresh, although it has the same properties.
        """
        is_table = self.kind is RowKind.ICEBERG_TABLE and not is_staging_name(self.name.name)
        return definition_location(self.parameters) if is_table else None

    @property
    def has_definition(self) -> bool:
        """Whether the object reads other objects: it is a view, or a table that is a materialized view."""
        return self.kind.is_view or self.definition_location is not None

    @property
    def location(self) -> str | None:
        """The directory of the table or view; views may have none."""
        return None if self.table.sd is None else self.table.sd.location or None

    @property
    def previous_metadata_location(self) -> str | None:
        """The location of the metadata file before the last commit."""
        return self.parameters.get(PREVIOUS_METADATA_LOCATION)

    @property
    def uuid(self) -> str | None:
        """The UUID that Iceberg's catalogs write; None in rows of other programs."""
        return self.parameters.get(UUID)

    @property
    def partition_keys(self) -> tuple[tuple[str, str], ...]:
        """Name and type of each partition column, in lower case."""
        return tuple((field.name.lower(), field.type.lower()) for field in self.table.partitionKeys or ())

    @property
    def has_creation_metadata(self) -> bool:
        """Whether the row has the creation metadata of Hive's materialized views."""
        return self.table.creationMetadata is not None

    @property
    def is_rewrite_enabled(self) -> bool:
        """Whether Hive may use this materialized view to rewrite queries."""
        return bool(self.table.rewriteEnabled)

    def with_parameters(self, parameters: Mapping[str, str]) -> Row:
        """Return a copy of the row with other parameters."""
        table = copy.copy(self.table)
        table.parameters = dict(parameters)
        return read_row(table)

    def is_same_view(self, other: Row) -> bool:
        """Return whether both rows are of the same Iceberg view, in any state and under any name."""
        if self.kind is not RowKind.ICEBERG_VIEW:
            return False
        if other.uuid is None:
            return self.uuid is None and self.metadata_location == other.metadata_location
        return self.uuid == other.uuid

    def require_iceberg_view(self) -> Row:
        """Return the row, or raise an error if it is not an Iceberg view with a metadata location."""
        if self.kind is RowKind.ICEBERG_TABLE:
            raise NoSuchViewError(str(self.name), "an Iceberg table has that name")
        if self.kind is RowKind.ICEBERG_VIEW and not self.metadata_location:
            raise MissingPointerError(str(self.name))
        if self.kind is not RowKind.ICEBERG_VIEW:
            is_copy = self.kind is RowKind.HIVE_VIEW and _is_written_by_create_view(self.table)
            format_type = None if is_copy else self.parameters.get(TABLE_TYPE)
            raise NotAnIcebergViewError(str(self.name), self.table_type, format_type)
        return self


def read_row(table: Table) -> Row:
    """Convert a Thrift object to a row."""
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
    """Return the kind of a row by Iceberg's parameters, if an Iceberg catalog can have written them.

    Unlike in Iceberg's Java catalog (HiveOperationsBase.validateTableIsIcebergView), a view from CREATE VIEW of plain
    Spark is always a Hive view: its TBLPROPERTIES may be copied from SHOW CREATE TABLE of an Iceberg view.
    """
    format_type = (table.parameters or {}).get(TABLE_TYPE, "").upper()
    if (table.tableType or "").upper() == VIRTUAL_VIEW:
        is_iceberg = format_type == ICEBERG_VIEW and not _is_written_by_create_view(table)
        return RowKind.ICEBERG_VIEW if is_iceberg else RowKind.HIVE_VIEW
    return RowKind.ICEBERG_TABLE if format_type == ICEBERG_TABLE else RowKind.HIVE_TABLE


def _is_written_by_create_view(table: Table) -> bool:
    """Return whether plain Spark's CREATE VIEW wrote a row: it has Spark's parameter, no location and Hive's formats.

    Spark's ALTER VIEW adds the parameter too, but keeps location and formats. Rows written by hand lack the parameter.
    """
    descriptor = table.sd
    return (
        _SPARK_VERSION in (table.parameters or {})
        and descriptor is not None
        and not descriptor.location
        and bool(descriptor.inputFormat)
        and descriptor.inputFormat != _INPUT_FORMAT
    )


def new_row(
    name: ViewName,
    metadata: ViewMetadata,
    location: str,
    config: CatalogConfig,
    *,
    now_s: int,
    owner: str | None = None,
) -> Table:
    """Return the row of a new view; the property `OWNER_PROPERTY` overrides `owner`."""
    table = Table(
        tableName=name.name,
        dbName=name.database,
        owner=_owner(metadata.properties) or owner,
        createTime=now_s,
        lastAccessTime=now_s,
        retention=_RETENTION,
        partitionKeys=[],
        parameters={},
        tableType=VIRTUAL_VIEW,
    )
    return _fill(table, name, metadata, location, config, removed=frozenset())


def iceberg_table_row(name: ViewName, schema: Mapping[str, Any], location: str, table_uuid: str) -> Row:
    """Return the row that an Iceberg table of another catalog would have, with what readers of its columns need."""
    table = Table(
        tableName=name.name,
        dbName=name.database,
        parameters={TABLE_TYPE: ICEBERG_TABLE, METADATA_LOCATION: location, UUID: table_uuid},
        tableType="EXTERNAL_TABLE",
        sd=StorageDescriptor(cols=[FieldSchema(*column) for column in hive_columns(schema, str(name))]),
    )
    return read_row(table)


def changed_row(
    current: Row, base: ViewMetadata, metadata: ViewMetadata, location: str, config: CatalogConfig
) -> Table:
    """Return the row of a view after a commit: the current one with a new metadata location and all derived fields."""
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
    comment = metadata.properties.get("comment")
    if comment != base.properties.get("comment") and trino_encoding.is_encoded(table.viewOriginalText):
        texts = trino_encoding.encode({**trino_encoding.decode(table.viewOriginalText), "comment": comment})
        table.viewOriginalText, table.viewExpandedText = texts.original, texts.expanded
    base_columns = {str(field.get("name")).lower() for field in _current_schema(base).get("fields", ())}
    if keys and not table.partitionKeys and base_columns.isdisjoint(field.name.lower() for field in keys):
        table.partitionKeys = keys  # set by another program: they were never columns of the view
    return table


def renamed_row(current: Row, name: ViewName) -> Table:
    """Return the row under another name, otherwise unchanged."""
    table = copy.copy(current.table)
    table.parameters = dict(current.parameters)
    table.dbName, table.tableName = name.database, name.name
    return table


def check_columns(name: ViewName, metadata: ViewMetadata, config: CatalogConfig) -> None:
    """Reject a view whose current columns a row cannot represent, before anything is written."""
    columns = [column.lower() for column, _, _ in column_definitions(name, metadata, config)]
    partition_names = partition_columns(metadata.current_version())
    if partition_names and not _are_last(partition_names, columns):
        raise InvalidViewError(
            str(name),
            f"PARTITIONED ON names {', '.join(partition_names)}, which must be its last columns, behind at least one "
            f"other. It has {', '.join(columns)}",
        )


def view_columns(name: ViewName, metadata: ViewMetadata, config: CatalogConfig) -> list[tuple[str, str]]:
    """Return name and Hive type of a view's columns, as in its row."""
    return [(column, kind) for column, kind, _ in column_definitions(name, metadata, config)]


def column_definitions(
    name: ViewName, metadata: ViewMetadata, config: CatalogConfig
) -> list[tuple[str, str, str | None]]:
    """Return name, Hive type and comment of a view's columns, as in its row."""
    columns = hive_columns(_current_schema(metadata), str(name), hive2_compatible=config.hive2_compatible)
    return [(column, kind, row_comment(comment)) for column, kind, comment in columns]


def row_comment(comment: str | None) -> str | None:
    """Return a column's comment as a row has it: cut to what each metastore stores; the metadata file keeps all.

    Hive 4.1.0 and 4.2.0 refuse longer ones, and 3.1.3 on MariaDB cuts them without an error. Java's databases count
    characters beyond U+FFFF twice.
    """
    if comment is None or len(encoded := comment.encode("utf-16-le", "surrogatepass")) <= 2 * MAX_COMMENT_LENGTH:
        return comment
    return encoded[: 2 * (MAX_COMMENT_LENGTH - 3)].decode("utf-16-le", "ignore") + "..."


def check_properties(properties: Mapping[str, str]) -> None:
    """Reject view properties that a row cannot represent, before anything is written."""
    for key, value in properties.items():
        if not isinstance(key, str) or not key:
            raise InvalidPropertyError(key, value, "a key must be a string that is not empty")
        if not isinstance(value, str):
            raise InvalidPropertyError(key, value, "a value must be a string")
        if len(key) > MAX_KEY_LENGTH:
            raise InvalidPropertyError(key, value, f"a metastore holds keys of at most {MAX_KEY_LENGTH} characters")
        if key in _RESERVED or key.startswith(ROW_PREFIX):
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
    """Set all fields derived from the metadata, in the order of Iceberg's HMSTablePropertyHelper."""
    parameters = table.parameters
    parameters.update(row_properties(metadata))
    for key in removed - _RESERVED:
        parameters.pop(key, None)
    parameters.setdefault(EXTERNAL, "TRUE")
    parameters[UUID] = metadata.view_uuid
    parameters[TABLE_TYPE] = ICEBERG_VIEW
    parameters[METADATA_LOCATION] = location
    parameters.pop(CURRENT_SCHEMA, None)
    if config.parameter_max_size > 0:
        text = compact_json(_current_schema(metadata), ensure_ascii=False)
        if len(text) <= config.parameter_max_size:
            parameters[CURRENT_SCHEMA] = text
    for key in _LINEAGE:
        parameters.pop(key, None)
    parameters.update(row_parameters(metadata.current_version(), location))
    for key in [key for key in parameters if key.startswith(ROW_PREFIX)]:
        del parameters[key]  # of another version
    parameters.update(row_settings(metadata.current_version().summary))
    _fill_texts(table, metadata)
    fields = [FieldSchema(*column) for column in column_definitions(name, metadata, config)]
    key_count = len(_partition_columns(table, metadata, [field.name.lower() for field in fields]))
    keys = fields[len(fields) - key_count :]
    if [(field.name, field.type) for field in keys] != [
        (field.name, field.type) for field in table.partitionKeys or ()
    ]:
        table.partitionKeys = keys
    table.sd = _descriptor(table, fields[: len(fields) - key_count], metadata)
    return table


def row_properties(metadata: ViewMetadata) -> dict[str, str]:
    """Return the view properties to write as row parameters.

    Metadata files of other catalogs may have properties with reserved keys, which must not overwrite row parameters.
    """
    return {
        key: value
        for key, value in metadata.properties.items()
        if key.lower() != OWNER_PROPERTY and key not in _RESERVED and not key.startswith(ROW_PREFIX)
    }


def is_written_by_spark(row: Row) -> bool:
    """Return whether plain Spark created or altered a row."""
    return _SPARK_VERSION in row.parameters


def is_trino_encoding_of(texts: RowTexts, metadata: ViewMetadata) -> bool:
    """Return whether a row's texts are Trino's encoding of a view's current version, which commits preserve."""
    query, columns = trino_encoding.query_of(texts), trino_encoding.columns_of(texts)
    version = metadata.current_version()
    recorded = (
        version.summary.get(ORIGINAL_SQL),
        version.summary.get(LEGACY_ORIGINAL),
        sql_texts(version).get("trino"),
    )
    if query is None or columns is None or query not in recorded:
        return False
    names = [str(field.get("name")).lower() for field in _current_schema(metadata).get("fields", ())]
    return names == [name.lower() for name, _, _ in columns]


def _fill_texts(table: Table, metadata: ViewMetadata) -> None:
    """Set the texts and the matching parameters of Trino, which lists no views at all if a row is inconsistent."""
    texts = row_texts(metadata.current_version())
    row = RowTexts(original=table.viewOriginalText, expanded=table.viewExpandedText)
    comment = metadata.properties.get("comment")
    if is_trino_encoding_of(row, metadata):
        table.parameters["comment"] = trino_encoding.VIEW_COMMENT
        return
    if texts.expanded is not None:
        table.viewOriginalText, table.viewExpandedText = texts.original, texts.expanded
    if not trino_encoding.is_encoded(table.viewOriginalText):
        table.parameters.pop(trino_encoding.FLAG, None)
        if comment is None and table.parameters.get("comment") in trino_encoding.COMMENTS:
            del table.parameters["comment"]


def _partition_columns(table: Table, metadata: ViewMetadata, columns: list[str]) -> tuple[str, ...]:
    """Return the PARTITIONED ON columns, or else the row's partition columns if they are still the last columns."""
    names = partition_columns(metadata.current_version())
    if names is None:
        names = tuple(field.name.lower() for field in table.partitionKeys or [])
    return names if _are_last(names, columns) else ()


def _are_last(names: tuple[str, ...], columns: list[str]) -> bool:
    return len(names) < len(columns) and columns[len(columns) - len(names) :] == list(names)


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
    assert schema is not None, "every version's schema-id was checked when the metadata was created"
    return schema


def _owner(properties: Mapping[str, str]) -> str | None:
    return next((value for key, value in properties.items() if key.lower() == OWNER_PROPERTY), None)


# -- Column types -----------------------------------------------------------------------------------------------------


def hive_columns(
    schema: Mapping[str, Any], identifier: str, *, hive2_compatible: bool = False
) -> list[tuple[str, str, str | None]]:
    """Return name, Hive type and comment of each column of a schema."""
    columns: list[tuple[str, str, str | None]] = []
    names: dict[str, str] = {}
    for field in schema["fields"]:
        name = field["name"]
        if name.lower() in names:
            raise InvalidViewError(
                identifier,
                f"columns {names[name.lower()]!r} and {name!r}: names in a Hive Metastore are case-insensitive",
            )
        names[name.lower()] = name
        try:
            kind = hive_name(field["type"], hive2_compatible=hive2_compatible, field_name=str)
            columns.append((name, kind, field.get("doc")))
        except KeyError as error:
            raise InvalidViewError(
                identifier, f"column {name!r}: Hive has no type for Iceberg's {error.args[0]}; cast it in the query"
            ) from None
    return columns


# -- Serialized rows --------------------------------------------------------------------------------------------------


def encode_row(row: Row) -> bytes:
    """Serialize a row with all fields in Thrift's binary protocol."""
    buffer = TMemoryBuffer()
    # The order of maps in a server's answer is arbitrary.
    _sorted(copy.deepcopy(row.table)).write(TBinaryProtocol(buffer))
    return bytes(buffer.getvalue())


def decode_row(data: bytes) -> Row:
    """Deserialize a row; raises ValueError if the data are not a row."""
    table = Table()
    try:
        table.read(TBinaryProtocol(TMemoryBuffer(data)))
    except (TException, EOFError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not a row: {error}") from error
    if not table.dbName or not table.tableName:
        raise ValueError("not a row: it has no name")
    return read_row(table)


def row_as_json(row: Row) -> dict[str, Any]:
    """Return a row as a JSON object with all fields that are set."""
    document = _as_json(row.table)
    assert isinstance(document, dict)
    return document


def row_fingerprint(row: Row) -> str:
    """Return a digest of a row, to detect changes.

    The digest excludes the order of parameters, the time of the last change, the UUID assigned to Hive's tables, and
    the parts of the location's spelling that a server changes in alter_table.
    """
    document = row_as_json(row)
    if row.location is not None:
        document["sd"]["location"] = _normalized_location(row.location)
    parameters = document.get("parameters", {})
    document["parameters"] = {key: value for key, value in parameters.items() if key not in _FINGERPRINT_EXCLUDED}
    document.pop("privileges", None)
    # The server inserts the current rows of the source tables here.
    document.get("creationMetadata", {}).pop("sourceTables", None)
    data = json.dumps(document, sort_keys=True, ensure_ascii=True).encode()
    return hashlib.sha256(data).hexdigest()


def _normalized_location(location: str) -> str:
    """Return a location as alter_table of a server stores it: `file:/x` for `file:///x/` (Hadoop's Path.toString)."""
    scheme, separator, path = location.partition("://" if not location.startswith("file:/") else ":")
    if not separator:
        return location
    return f"{scheme}{separator}{re.sub('/{2,}', '/', path).rstrip('/')}"


# -- Conversion of legacy rows ----------------------------------------------------------------------------------------


def row_with_columns(row: Row, columns: tuple[tuple[str, str, str | None], ...]) -> Row:
    """Return a copy of a row with other columns, given by name, type and comment, for name resolution."""
    table = copy.copy(row.table)
    table.sd = copy.copy(table.sd)
    table.sd.cols = [FieldSchema(name=name, type=kind, comment=comment) for name, kind, comment in columns]
    table.partitionKeys = []
    return read_row(table)


def row_as_plain_view(row: Row, parameters: Mapping[str, str], texts: RowTexts) -> Row:
    """Return the row of a materialized view converted to the row of a view, with other parameters and texts."""
    table = copy.copy(row.table)
    table.tableType = VIRTUAL_VIEW
    table.parameters = dict(parameters)
    table.viewOriginalText, table.viewExpandedText = texts.original, texts.expanded
    # The server stores this field separately, and returns it for materialized views only.
    table.creationMetadata = None
    if table.rewriteEnabled is not None:
        table.rewriteEnabled = False
    return read_row(table)


def converted_row(
    config: CatalogConfig,
    legacy: Row,
    metadata: ViewMetadata,
    location: str,
    *,
    is_dropped: Callable[[str], bool],
    view_texts: tuple[str | None, str | None] | None = None,
) -> Row:
    """Return the row of an Iceberg view that replaces a legacy row: a copy with everything that Iceberg's readers need.

    `is_dropped` selects the parameters to remove; `view_texts` overrides the original and the expanded text.
    """
    original = legacy.parameters
    # Reserved parameters are taken from the new view only: the TBLPROPERTIES of a legacy view can contain any key, for
    # example if they were copied from plain Spark's SHOW CREATE TABLE of an Iceberg view.
    others = {
        key: value
        for key, value in original.items()
        if not is_reserved_parameter(key) and not key.startswith(ROW_PREFIX)
    }
    table = changed_row(legacy.with_parameters(others), metadata, metadata, location, config)
    # As after any other commit, the view's properties have precedence, such as a repaired comment or a `view-override`
    # of the catalog. Trino's comment is part of its encoding.
    changed = row_properties(metadata).keys() - (
        {"comment"} if trino_encoding.is_encoded(legacy.texts.original) else ()
    )
    table.parameters.update({key: value for key, value in others.items() if key != CHANGE_TIME and key not in changed})
    for key in [key for key in table.parameters if is_dropped(key)]:
        del table.parameters[key]
    if view_texts is not None:
        table.viewOriginalText, table.viewExpandedText = view_texts
    if legacy.table.partitionKeys:
        # If the columns of a view change, a server rewrites its partitions, and fails on those without a storage
        # descriptor (HIVE-2966): so a partitioned view keeps its column types.
        table.partitionKeys, table.sd.cols = legacy.table.partitionKeys, list(legacy.table.sd.cols)
    # Servers store names in lower case; the same is done here, so that the fingerprint detects only later changes.
    table.sd = copy.copy(table.sd)
    table.sd.cols = [
        FieldSchema(name=field.name.lower(), type=field.type, comment=field.comment) for field in table.sd.cols
    ]
    table.parameters[CHANGE_TIME] = _next_change_time(original.get(CHANGE_TIME))
    return read_row(table)


def is_user_parameter(key: str) -> bool:
    """Return whether a user may have set a row parameter (TBLPROPERTIES), as opposed to a program."""
    return (
        key not in _NOT_PROPERTIES
        and not key.startswith(_SPARK_PREFIXES)
        and not is_reserved_parameter(key)
        and 0 < len(key) <= MAX_KEY_LENGTH
    )


def is_reserved_parameter(key: str) -> bool:
    """Return whether a parameter has a meaning only in the row of an Iceberg view, or belongs to this package."""
    return key in _ICEBERG_KEYS or (key.startswith(("hive-views.", "hive_views_")) and key != HIVE_UUID)


def plain_hive_row(row: Row, *, is_dropped: Callable[[str], bool]) -> Row:
    """Return a plain Hive view's row that replaces an Iceberg view's: with its texts and columns, without metadata."""
    table = copy.copy(row.table)
    table.parameters = {
        key: value for key, value in row.parameters.items() if key not in _ICEBERG_KEYS and not is_dropped(key)
    }
    table.parameters[CHANGE_TIME] = _next_change_time(row.parameters.get(CHANGE_TIME))
    table.sd = copy.copy(table.sd)
    table.sd.location = None
    table.sd.inputFormat, table.sd.outputFormat = _PLAIN_INPUT_FORMAT, _PLAIN_OUTPUT_FORMAT
    return read_row(table)


def _next_change_time(previous: str | None) -> str:
    """Return the current time in seconds, or a later one if the row was changed within this second."""
    return str(max(int(time.time()), (whole_number(previous) or 0) + 1))


def _sorted(value: Any) -> Any:
    """Sort the maps of a Thrift value by key, in place, and return it."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(value)  # only `CreationMetadata.tablesUsed`, of strings
    for field in getattr(value, "thrift_spec", None) or ():
        if field is not None:
            setattr(value, field[2], _sorted(getattr(value, field[2])))
    return value


def _as_json(value: Any) -> Any:
    """Convert a Thrift value to JSON values, without fields that are not set."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (set, frozenset)):
        return sorted(map(_as_json, value))  # the iteration order of a set of strings differs between processes
    if isinstance(value, (list, tuple)):
        return [_as_json(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _as_json(item) for key, item in value.items()}
    spec = getattr(value, "thrift_spec", None)
    if spec is None:
        return value
    fields = ((item[2], getattr(value, item[2])) for item in spec if item is not None)
    return {name: _as_json(item) for name, item in fields if item is not None}
