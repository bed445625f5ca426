"""Which partitions of a storage table have to be recomputed after rows of a source table were changed or deleted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestContent, ManifestEntryStatus
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, IcebergType, IntegerType, LongType, StringType

from hive_views.sql.analysis.incremental import NotIncrementalError
from hive_views.sql.text.quoting import quote_identifier

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

MAX_PARTITIONS = 100
"""With more changed partitions all rows are recomputed."""

_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class PartitionSelection:
    """Some partitions of a storage table, by the values of one of its columns."""

    column: str
    """The column, by which the table is partitioned without a transform."""
    values: tuple[object, ...]
    """Its values in these partitions, as the source's manifests have them."""
    condition: str
    """The condition for their rows."""
    complement: str
    """The condition for all other rows: for each row, exactly one of the conditions is true."""
    literals: tuple[str, ...] = ()
    """The values as Spark's SQL writes them, in the same order."""


def partition_columns(storage: Table) -> dict[str, dict[int, int]]:
    """Return the columns by which a table is partitioned without a transform: their positions in each of its specs."""
    columns = {}
    for field in storage.spec().fields:
        if isinstance(field.transform, IdentityTransform):
            name = storage.schema().find_column_name(field.source_id) or ""
            columns[name] = {
                spec_id: position
                for spec_id, spec in storage.specs().items()
                for position, other in enumerate(spec.fields)
                if isinstance(other.transform, IdentityTransform) and other.source_id == field.source_id
            }
    return columns


def stored_values(storage: Table, snapshot: Snapshot, column: str) -> frozenset[object] | None:
    """Return the values of a partition column in a snapshot; None if some files are not partitioned by it."""
    positions = partition_columns(storage)[column]
    values = set()
    for manifest in snapshot.manifests(storage.io):
        if manifest.content is ManifestContent.DELETES:
            continue
        if manifest.partition_spec_id not in positions:
            return None
        for entry in manifest.fetch_manifest_entry(storage.io):
            values.add(entry.data_file.partition[positions[manifest.partition_spec_id]])
    return frozenset(values)


def changed_partitions(
    storage: Table, source: TableMetadata, io: FileIO, since: int, keys: Mapping[int, str]
) -> PartitionSelection:
    """Return the partitions of the storage table whose rows may have changed.

    `keys` are columns of the changed table by the positions of the storage table's columns that are keys for it.
    """
    columns = [field.name for field in storage.schema().fields]
    why = "its storage is not partitioned by an untransformed column"
    for name in partition_columns(storage):
        column = keys.get(columns.index(name))
        if column is None:
            why = f"{name} is not a key of the changed table"
            continue
        try:
            values = sorted(set(_changed_values(source, io, since, column)), key=repr)
        except NotIncrementalError as error:
            why = str(error)
            continue
        if len(values) > MAX_PARTITIONS:
            raise NotIncrementalError(f"more than {MAX_PARTITIONS} partitions changed")
        field_type = storage.schema().find_type(name)
        condition, complement = partition_condition(name, field_type, values), _complement(name, field_type, values)
        literals = tuple("NULL" if value is None else _literal(field_type, value) for value in values)
        return PartitionSelection(name, tuple(values), condition, complement, literals)
    raise NotIncrementalError(why)


def _changed_values(source: TableMetadata, io: FileIO, since: int, column: str) -> Iterator[object]:
    """Yield the values of a column in the partitions whose files changed since a snapshot."""
    positions = {}
    for spec in source.partition_specs:
        for position, field in enumerate(spec.fields):
            name = source.schema().find_column_name(field.source_id) or ""
            if isinstance(field.transform, IdentityTransform) and name.lower() == column:
                positions[spec.spec_id] = position
    snapshot_id = source.current_snapshot_id
    while snapshot_id is not None and snapshot_id != since:
        snapshot = source.snapshot_by_id(snapshot_id)
        if snapshot is None:
            raise NotIncrementalError("the history of the table since the last refresh has expired")
        if snapshot.summary is None or snapshot.summary.operation is not Operation.REPLACE:
            for manifest in snapshot.manifests(io):
                if manifest.added_snapshot_id != snapshot_id:
                    continue
                if manifest.partition_spec_id not in positions:
                    raise NotIncrementalError(f"the table that changed is not partitioned by {column}")
                for entry in manifest.fetch_manifest_entry(io, discard_deleted=False):
                    is_changed = entry.status is not ManifestEntryStatus.EXISTING
                    if is_changed and entry.snapshot_id in (None, snapshot_id):
                        yield entry.data_file.partition[positions[manifest.partition_spec_id]]
        snapshot_id = snapshot.parent_snapshot_id
    if snapshot_id is None:
        raise NotIncrementalError("the table was rolled back to before the last refresh")


def partition_condition(name: str, field_type: IcebergType, values: list[object]) -> str:
    """Return the condition that a partition column has one of some values."""
    quoted = quote_identifier(name)
    # No IN: for a STRING partition column with NULL, Iceberg's ResidualEvaluator fails (1.11, NullPointerException).
    parts = [f"{quoted} = {_literal(field_type, value)}" for value in values if value is not None]
    if None in values:
        parts.append(f"{quoted} IS NULL")
    return " OR ".join(parts) or "false"


def _complement(name: str, field_type: IcebergType, values: list[object]) -> str:
    quoted = quote_identifier(name)
    others = " AND ".join(f"{quoted} <> {_literal(field_type, value)}" for value in values if value is not None)
    if None in values:
        return f"{quoted} IS NOT NULL AND {others}" if others else f"{quoted} IS NOT NULL"
    return f"({quoted} IS NULL OR ({others}))" if others else "true"


def _literal(field_type: IcebergType, value: object) -> str:
    if isinstance(field_type, (IntegerType, LongType)) and isinstance(value, int):
        return str(value)
    if isinstance(field_type, StringType) and isinstance(value, str) and _needs_no_escape(value):
        return f"'{value}'"
    if isinstance(field_type, DateType) and isinstance(value, (int, date)):
        try:
            day = value if isinstance(value, date) else _EPOCH + timedelta(days=value)
        except OverflowError:
            raise NotIncrementalError("dates outside of the years 1 to 9999 are not written into conditions") from None
        return f"DATE '{day.isoformat()}'"
    raise NotIncrementalError(f"values of type {field_type} cannot be written into a condition")


def _needs_no_escape(text: str) -> bool:
    # How a quote is escaped in a literal depends on a Spark setting, and so does what `${x}` means in any text.
    return text.isprintable() and not set(text) & {"'", "\\"} and "${" not in text
