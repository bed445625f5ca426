"""A row of the metastore as a value, and the parameters that it may have."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from hive_views.errors import MissingPointerError, NotAnIcebergViewError, NotAViewError
from hive_views.identifiers import ViewName
from hive_views.metastore import spark_schema, trino_encoding
from hive_views.metastore._thrift.hive_metastore.ttypes import Table
from hive_views.spec.storage_link import definition_location, is_staging_name
from hive_views.spec.version_texts import RowTexts

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
"""The longest parameter key that a metastore's database can store (TABLE_PARAMS.PARAM_KEY)."""

ICEBERG_KEYS = frozenset({TABLE_TYPE, METADATA_LOCATION, PREVIOUS_METADATA_LOCATION, UUID, CURRENT_SCHEMA})
"""The row parameters that Iceberg's catalogs write."""

SPARK_DATABASE = "view.catalogAndNamespace.part.1"
_OLD_SPARK_DATABASE = "view.default.database"
"""Row parameters of plain Spark (before 3.0: the old one): the current database when a view was defined."""

_SUBTYPE, _METRIC_VIEW = "view.subType", "METRIC_VIEW"
_METRIC_SOURCE = "metric_view.from.name"
SPARK_VERSION = "spark.sql.create.version"
"""Row parameter of plain Spark: the version that created or altered a view."""

INPUT_FORMAT = "org.apache.hadoop.mapred.FileInputFormat"
"""The input format in the rows of Iceberg's views."""

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

    def require_view(self) -> Row:
        """Return the row, or raise an error if it is a table."""
        if self.kind.is_view:
            return self
        # A materialized view of Hive is not a table to its users, and can be imported.
        is_table = (self.table_type or "").upper() != MATERIALIZED_VIEW
        error = NotAViewError if is_table else NotAnIcebergViewError
        raise error(str(self.name), self.table_type, self.parameters.get(TABLE_TYPE))

    def require_iceberg_view(self) -> Row:
        """Return the row, or raise an error if it is not an Iceberg view with a metadata location."""
        self.require_view()
        if self.kind is RowKind.ICEBERG_VIEW and not self.metadata_location:
            raise MissingPointerError(str(self.name))
        if self.kind is not RowKind.ICEBERG_VIEW:
            format_type = None if _is_written_by_create_view(self.table) else self.parameters.get(TABLE_TYPE)
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
        SPARK_VERSION in (table.parameters or {})
        and descriptor is not None
        and not descriptor.location
        and bool(descriptor.inputFormat)
        and descriptor.inputFormat != INPUT_FORMAT
    )


def is_written_by_spark(row: Row) -> bool:
    """Return whether plain Spark created or altered a row."""
    return SPARK_VERSION in row.parameters


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
    return key in ICEBERG_KEYS or (key.startswith(("hive-views.", "hive_views_")) and key != HIVE_UUID)
