"""The row codec: an Iceberg view as one HMS Table object of type VIRTUAL_VIEW.

Keys and values are those of Iceberg's Java catalog (HMSTablePropertyHelper, HiveOperationsBase), so both write the same
row. Everything written by other programs is preserved: a changed row starts as a copy of the server's row. Also here:
rows of plain Hive views, and their conversion.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from typing import Any

from hive_views.config import CatalogConfig
from hive_views.errors import InvalidPropertyError
from hive_views.identifiers import ViewName
from hive_views.metastore import trino_encoding
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema, SerDeInfo, StorageDescriptor, Table
from hive_views.metastore.rows.row import (
    CHANGE_TIME,
    CURRENT_SCHEMA,
    EXTERNAL,
    ICEBERG_KEYS,
    ICEBERG_TABLE,
    ICEBERG_VIEW,
    INPUT_FORMAT,
    MAX_KEY_LENGTH,
    METADATA_LOCATION,
    OWNER_PROPERTY,
    PREVIOUS_METADATA_LOCATION,
    TABLE_TYPE,
    UUID,
    VIRTUAL_VIEW,
    Row,
    is_reserved_parameter,
    read_row,
)
from hive_views.metastore.rows.types import are_last, column_definitions, current_schema, hive_columns
from hive_views.spec.json_text import compact_json
from hive_views.spec.lineage_codec import ROW_LINEAGE, ROW_LINEAGE_OF, row_parameters
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.session_settings import ROW_PREFIX, row_settings
from hive_views.spec.version_texts import (
    LEGACY_ORIGINAL,
    ORIGINAL_SQL,
    RowTexts,
    partition_columns,
    row_texts,
    sql_texts,
)
from hive_views.spec.whole_numbers import whole_number

_LINEAGE = frozenset({ROW_LINEAGE, ROW_LINEAGE_OF})
_RESERVED = ICEBERG_KEYS | {trino_encoding.FLAG} | _LINEAGE
_RETENTION = 2147483647
_OUTPUT_FORMAT = "org.apache.hadoop.mapred.FileOutputFormat"
_PLAIN_INPUT_FORMAT = "org.apache.hadoop.mapred.SequenceFileInputFormat"
_PLAIN_OUTPUT_FORMAT = "org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat"
_SERDE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"


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
    base_columns = {str(field.get("name")).lower() for field in current_schema(base).get("fields", ())}
    if keys and not table.partitionKeys and base_columns.isdisjoint(field.name.lower() for field in keys):
        table.partitionKeys = keys  # set by another program: they were never columns of the view
    return table


def renamed_row(current: Row, name: ViewName) -> Table:
    """Return the row under another name, otherwise unchanged."""
    table = copy.copy(current.table)
    table.parameters = dict(current.parameters)
    table.dbName, table.tableName = name.database, name.name
    return table


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
        text = compact_json(current_schema(metadata), ensure_ascii=False)
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
    names = [str(field.get("name")).lower() for field in current_schema(metadata).get("fields", ())]
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
    return names if are_last(names, columns) else ()


def _descriptor(table: Table, columns: list[FieldSchema], metadata: ViewMetadata) -> StorageDescriptor:
    descriptor = copy.copy(table.sd) if table.sd is not None else StorageDescriptor(compressed=False, numBuckets=0)
    descriptor.cols = columns
    descriptor.location = metadata.location
    descriptor.inputFormat, descriptor.outputFormat = INPUT_FORMAT, _OUTPUT_FORMAT
    descriptor.serdeInfo = copy.copy(descriptor.serdeInfo) or SerDeInfo(parameters={})
    descriptor.serdeInfo.serializationLib = _SERDE
    for attribute in ("bucketCols", "sortCols"):
        if getattr(descriptor, attribute) is None:
            setattr(descriptor, attribute, [])
    if descriptor.parameters is None:
        descriptor.parameters = {}
    return descriptor


def _owner(properties: Mapping[str, str]) -> str | None:
    return next((value for key, value in properties.items() if key.lower() == OWNER_PROPERTY), None)


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


def plain_hive_row(row: Row, *, is_dropped: Callable[[str], bool]) -> Row:
    """Return a plain Hive view's row that replaces an Iceberg view's: with its texts and columns, without metadata."""
    table = copy.copy(row.table)
    table.parameters = {
        key: value for key, value in row.parameters.items() if key not in ICEBERG_KEYS and not is_dropped(key)
    }
    table.parameters[CHANGE_TIME] = _next_change_time(row.parameters.get(CHANGE_TIME))
    table.sd = copy.copy(table.sd)
    table.sd.location = None
    table.sd.inputFormat, table.sd.outputFormat = _PLAIN_INPUT_FORMAT, _PLAIN_OUTPUT_FORMAT
    return read_row(table)


def _next_change_time(previous: str | None) -> str:
    """Return the current time in seconds, or a later one if the row was changed within this second."""
    return str(max(int(time.time()), (whole_number(previous) or 0) + 1))
