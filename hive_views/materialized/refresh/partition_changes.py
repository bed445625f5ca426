"""Which partitions of a storage have to be computed anew, after rows of a table were changed or deleted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from typing import TYPE_CHECKING

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestEntryStatus
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, IcebergType, IntegerType, LongType, StringType

from hive_views.sql.analysis.incremental import IncrementalQuery, NotIncrementalError
from hive_views.sql.rewriting.quoting import quote_identifier

if TYPE_CHECKING:
    from pyiceberg.table import Table

MOST_PARTITIONS = 100
"""More partitions than these are not worth a condition: all rows are computed anew."""

_EPOCH = date(1970, 1, 1)


def changed_partitions(
    leaves: IncrementalQuery, leaf: int, storage: Table, source: TableMetadata, io: FileIO, since: int
) -> str:
    """The condition on the storage's columns for the rows that may have changed."""
    columns = [field.name for field in storage.schema().fields]
    why = "its storage is not divided by a column as it is"
    for field in storage.spec().fields:
        if not isinstance(field.transform, IdentityTransform):
            continue
        name = storage.schema().find_column_name(field.source_id) or ""
        try:
            column = leaves.passed_through(leaf, columns.index(name))
            values = sorted(set(_values(source, io, since, column)), key=repr)
        except NotIncrementalError as error:
            why = str(error)
            continue
        if len(values) > MOST_PARTITIONS:
            raise NotIncrementalError(f"more than {MOST_PARTITIONS} partitions changed")
        return _condition(name, storage.schema().find_type(name), values)
    raise NotIncrementalError(why)


def _values(source: TableMetadata, io: FileIO, since: int, column: str) -> Iterator[object]:
    """The values of a column in the partitions whose files changed since a snapshot."""
    positions = {}
    for spec in source.partition_specs:
        for position, field in enumerate(spec.fields):
            if source.schema().find_column_name(field.source_id) == column and isinstance(
                field.transform, IdentityTransform
            ):
                positions[spec.spec_id] = position
    at = source.current_snapshot_id
    while at is not None and at != since:
        snapshot = source.snapshot_by_id(at)
        if snapshot is None:
            raise NotIncrementalError("the history of the table since the last refresh has expired")
        if snapshot.summary is None or snapshot.summary.operation.value != "replace":
            for manifest in snapshot.manifests(io):
                if manifest.added_snapshot_id != at:
                    continue
                if manifest.partition_spec_id not in positions:
                    raise NotIncrementalError(f"the table that changed is not divided by {column}")
                for entry in manifest.fetch_manifest_entry(io, discard_deleted=False):
                    if entry.status is not ManifestEntryStatus.EXISTING and entry.snapshot_id in (None, at):
                        yield entry.data_file.partition[positions[manifest.partition_spec_id]]
        at = snapshot.parent_snapshot_id
    if at is None:
        raise NotIncrementalError("the table was rolled back to before the last refresh")


def _condition(name: str, kind: IcebergType, values: list[object]) -> str:
    quoted = quote_identifier(name)
    literals = [_literal(kind, value) for value in values if value is not None]
    parts = [f"{quoted} IN ({', '.join(literals)})"] if literals else []
    if None in values:
        parts.append(f"{quoted} IS NULL")
    return " OR ".join(parts) or "false"


def _literal(kind: IcebergType, value: object) -> str:
    if isinstance(kind, (IntegerType, LongType)) and isinstance(value, int):
        return str(value)
    if isinstance(kind, StringType) and isinstance(value, str) and value.isprintable() and not set(value) & {"'", "\\"}:
        # How a quote is written in a literal depends on a setting of Spark's.
        return f"'{value}'"
    if isinstance(kind, DateType) and isinstance(value, (int, date)):
        day = value if isinstance(value, date) else _EPOCH + timedelta(days=value)
        return f"DATE '{day.isoformat()}'"
    raise NotIncrementalError(f"values of type {kind} are not written into a condition")
