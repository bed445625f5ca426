"""The partitions of Hive and Iceberg tables: their values, and when each was last written."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from enum import Enum
from typing import TYPE_CHECKING, Any

from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform, TimeTransform

from hive_views.errors import MetadataFileError, MetadataFileNotFoundError
from hive_views.io.metadata_files import MetadataFiles
from hive_views.metastore.partitions import (
    DEFAULT_PARTITION,
    canonical,
    partition_values,
    row_changed,
    stored_partitions,
)
from hive_views.metastore.rows.row import Row, RowKind
from hive_views.metastore.store import MetastoreStore

if TYPE_CHECKING:
    from pyiceberg.table.snapshots import Snapshot

_FILE_FORMATS = ("hive", "parquet", "orc", "avro", "csv", "json", "text")
"""The table formats for which Hive and Spark update the row or partition when they write."""


class Trust(Enum):
    """How reliable the time of the last change is."""

    SNAPSHOT = "snapshot"
    """The commit time of an Iceberg snapshot; every change of the data creates a snapshot."""
    ROW = "row"
    """The metastore's `transient_lastDdlTime`. Hive and Spark update it when they write a partition by name, but also
    when only the row changes. Copying files into the directory does not update it."""
    CREATION = "creation"
    """Only the creation time of the partition or table."""
    NONE = "none"
    """No time is known."""


Spec = tuple[tuple[str, str], ...]
"""Partition columns and their values."""


@dataclass(frozen=True)
class BasePartition:
    """A partition of a table, or an unpartitioned table."""

    spec: Spec
    """The partition columns and values; empty for an unpartitioned table. For an Iceberg table, columns are missing by
    which the files are not partitioned, such as files of an older partition spec."""
    written: datetime | None
    """When it was last written, in UTC."""
    trust: Trust
    """How reliable that time is."""
    content: str = ""
    """For an Iceberg partition, the counts of rows and files and the last snapshot: removing a file changes no time."""

    @property
    def name(self) -> str:
        """The name as Hive writes it, not escaped: `ds=2026-01-01/hr=7`."""
        return "/".join(f"{column}={value}" for column, value in self.spec)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of `deps partitions`."""
        return {"name": self.name, "written": self.written, "trust": self.trust}


@dataclass(frozen=True, kw_only=True)
class TablePartitions:
    """The partitions of one table."""

    keys: tuple[tuple[str, str], ...]
    """Partition columns and their Hive types."""
    values: Mapping[str, Mapping[str, str | None]]
    """For each partition name, the values by partition column."""
    read: Callable[[Sequence[str]], Mapping[str, BasePartition]]
    """Returns partitions, with their times, by name; an unpartitioned table has the name ''."""
    reasons: tuple[str, ...] = ()
    """The reasons why the partitions, or their times, are not known exactly."""
    is_determined: bool = True
    """Whether these are the partitions of the requested version."""
    not_followed: tuple[str, ...] = ()
    """Further partition fields that are not analyzed, such as hours of a time."""


def read_partitions(store: MetastoreStore, row: Row, version: str | None) -> TablePartitions:
    """List the partitions of a table; `version` names a snapshot, branch or tag of an Iceberg table."""
    if row.kind is RowKind.ICEBERG_TABLE:
        return _iceberg_partitions(store.files, row, version)
    other_format = _other_format(row)
    reasons = () if other_format is None else (f"only {other_format} knows its partitions and when they were written",)
    keys = row.partition_keys
    if not keys:
        written, is_creation = row_changed(row)
        table = BasePartition((), written, _trust(written, is_creation))
        return TablePartitions(
            keys=(), values={}, read=lambda names: {"": table}, reasons=reasons, is_determined=not reasons
        )
    columns = [column for column, _ in keys]
    values: dict[str, dict[str, str | None]] = {}
    for name, stored in partition_values(store.client, row).items():
        # NULL equals no value; a text that is not a value of its type cannot be compared (None).
        values[name] = {
            column: value if value == DEFAULT_PARTITION else canonical(value, kind)
            for (column, kind), value in zip(keys, stored, strict=False)
        }

    def read(names: Sequence[str]) -> dict[str, BasePartition]:
        return {
            item.name: BasePartition(
                tuple(zip(columns, item.values, strict=False)), item.written, _trust(item.written, item.from_creation)
            )
            for item in stored_partitions(store.client, row, names)
        }

    return TablePartitions(keys=keys, values=values, read=read, reasons=reasons, is_determined=not reasons)


def _other_format(row: Row) -> str | None:
    """Return the format of a table whose data the metastore's partitions do not describe, e.g. `delta`."""
    provider = row.parameters.get("spark.sql.sources.provider", "hive").lower()
    return row.parameters.get("storage_handler") or (None if provider in _FILE_FORMATS else provider)


def _iceberg_partitions(files: MetadataFiles, row: Row, version: str | None) -> TablePartitions:
    """Read the identity partitions of an Iceberg table from its metadata file and a snapshot's manifests.

    A partition's time is that of the last snapshot that added a file to it, or None if that snapshot has expired.
    """

    def unpartitioned(snapshot: Snapshot | None, *reasons: str, is_determined: bool = True) -> TablePartitions:
        written = _time(snapshot)
        content = "" if snapshot is None else str(snapshot.snapshot_id)
        partition = BasePartition((), written, _trust(written, False, Trust.SNAPSHOT), content)
        return TablePartitions(
            keys=(), values={}, read=lambda names: {"": partition}, reasons=reasons, is_determined=is_determined
        )

    location = row.metadata_location
    if location is None:
        return unpartitioned(None, "its row names no metadata file", is_determined=False)
    try:
        io = files.io(location)
        metadata = files.read_table_metadata(location)
        table = Table(row.name.identifier, metadata, location, io, NoopCatalog("partitions"))
        snapshot = table.current_snapshot() if version is None else _named_snapshot(table, version)
        if version is not None and snapshot is None:
            is_ambiguous = version in table.refs()
            reason = f"{version} may be the id of a snapshot, or the branch or tag of that name"
            missing = f"no snapshot, branch or tag is called {version}"
            return unpartitioned(None, reason if is_ambiguous else missing, is_determined=False)
        types = {column.lower(): kind for column, kind, _ in row.columns}
        schema = table.schema()
        # Engines read a snapshot with the column names of the schema at that time.
        old_schema = (
            table.schemas().get(snapshot.schema_id or 0, schema) if version is not None and snapshot else schema
        )
        columns_by_field = {
            item.name: column.lower()
            for item in table.spec().fields
            if isinstance(item.transform, IdentityTransform)
            and (column := schema.find_column_name(item.source_id)) is not None
            and column == old_schema.find_column_name(item.source_id)
            and column.lower() in types
        }
        others = [item.name for item in table.spec().fields if item.name not in columns_by_field]
        reasons = [f"partitions by {', '.join(others)} are computed or renamed, and not followed"] if others else []
        not_followed = tuple(
            item.name
            for item in table.spec().fields
            if item.name in others and isinstance(item.transform, (IdentityTransform, TimeTransform))
        )
        if not columns_by_field:
            return replace(unpartitioned(snapshot, *reasons), not_followed=not_followed)
        if repeated := _repeated_field_name(table):
            # PyIceberg lists the values of fields by name.
            reason = f"several of its partition fields have the name {repeated}, and are not followed"
            return unpartitioned(snapshot, reason, is_determined=False)
        snapshot_id = None if snapshot is None else snapshot.snapshot_id
        try:
            entries = [] if snapshot_id is None else table.inspect.partitions(snapshot_id).to_pylist()
        except ImportError as error:
            reason = f"its partitions cannot be read without pyarrow: {error}"
            return unpartitioned(snapshot, reason, is_determined=False)
    except FileNotFoundError as error:
        raise MetadataFileNotFoundError(location) from error
    except (OSError, ValueError) as error:
        raise MetadataFileError(location, str(error)) from error
    by_values: dict[tuple[tuple[str, str | None], ...], list[dict[str, Any]]] = {}
    for entry in entries:
        values = tuple(
            (column, _entry_value(table, entry, name, types[column])) for name, column in columns_by_field.items()
        )
        if entry["file_count"] or any(value is None for _, value in values):  # otherwise it has delete files only
            by_values.setdefault(values, []).append(entry)
    unknown = [
        column for column in columns_by_field.values() if any(dict(values)[column] is None for values in by_values)
    ]
    if unknown:
        reasons.append(f"it has files that are not partitioned by {', '.join(unknown)}; they are counted in")
    partitions: dict[str, BasePartition] = {}
    values_by_name: dict[str, dict[str, str | None]] = {}
    for values, of_partition in by_values.items():
        times = [entry["last_updated_at"] for entry in of_partition if entry["last_updated_at"] is not None]
        written = max(times).replace(tzinfo=timezone.utc) if times else None
        spec = tuple((column, value) for column, value in values if value is not None)
        content = json.dumps([{**entry, "partition": None} for entry in of_partition], default=str, sort_keys=True)
        name = json.dumps(values)
        partitions[name] = BasePartition(spec, written, _trust(written, False, Trust.SNAPSHOT), content)
        values_by_name[name] = dict(values)
    keys = tuple((column, types[column]) for column in columns_by_field.values())
    return TablePartitions(
        keys=keys,
        values=values_by_name,
        read=lambda names: {name: partitions[name] for name in names},
        reasons=tuple(reasons),
        not_followed=not_followed,
    )


def _repeated_field_name(table: Table) -> str | None:
    """Return a name that different partition fields of the table's specs share; None if there is none."""
    names = {field.field_id: field.name for spec in table.specs().values() for field in spec.fields}
    return next((name for name, count in Counter(names.values()).items() if count > 1), None)


def _entry_value(table: Table, entry: Mapping[str, Any], name: str, kind: str) -> str | None:
    """Return the value of an identity partition field in a row of PyIceberg's `inspect.partitions`; None if unknown.

    Files of a partition spec without the field may contain any value. In tables of format version 1 a removed field
    remains as a void field with the same name, whose NULL PyIceberg combines with the NULL of other specs.
    """
    specs = table.specs()
    fields = [field for spec in specs.values() for field in spec.fields if field.name == name]
    # The rows have no spec if no file has a partition.
    of_file = specs[entry["spec_id"]].fields if "spec_id" in entry else ()
    is_identity = all(isinstance(field.transform, IdentityTransform) for field in fields)
    if not is_identity or all(field.name != name for field in of_file):
        return None
    value = entry["partition"].get(name)
    text = DEFAULT_PARTITION if value is None else canonical(value, kind)
    return None if value == DEFAULT_PARTITION else text


def _named_snapshot(table: Table, version: str) -> Snapshot | None:
    """Return the snapshot that Spark and Trino read for `VERSION AS OF`; None if there is none or they may differ.

    Source: Iceberg's `SparkCatalog.loadTable`: a number is the id of a snapshot, another text a branch or tag.
    """
    reference = table.refs().get(version)
    by_id = table.snapshot_by_id(int(version)) if re.fullmatch(r"\d{1,19}", version) else None
    if reference is None:
        return by_id
    return table.snapshot_by_id(reference.snapshot_id) if not version.isdigit() else None


def _time(snapshot: Snapshot | None) -> datetime | None:
    return None if snapshot is None else datetime.fromtimestamp(snapshot.timestamp_ms / 1000, timezone.utc)


def _trust(written: datetime | None, is_creation: bool, otherwise: Trust = Trust.ROW) -> Trust:
    if written is None:
        return Trust.NONE
    return Trust.CREATION if is_creation else otherwise
