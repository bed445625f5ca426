"""The partitions of an Iceberg table and when each was last written, from its metadata by PyIceberg.

Only columns that the table is partitioned by as they are (identity) have values that a view's column can be equal to.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform

from hive_views.errors import MetadataFileError, MetadataFileNotFoundError
from hive_views.io.metadata_files import MetadataFiles
from hive_views.metastore.partitions import canonical
from hive_views.metastore.row_codec import Row

if TYPE_CHECKING:
    from pyiceberg.table.snapshots import Snapshot

Values = tuple[tuple[str, str | None], ...]
"""Partition columns and their values; None for NULL, or where files were written before the column was one."""


@dataclass(frozen=True)
class IcebergPartitions:
    """What an Iceberg table's current snapshot holds."""

    keys: tuple[tuple[str, str], ...]
    """The columns that it is partitioned by as they are, and their Hive types."""
    partitions: tuple[tuple[Values, datetime | None], ...]
    """The partitions, and when the last snapshot that wrote each was committed; None where that has expired."""
    written: datetime | None
    """When the current snapshot was committed; None for a table without one."""
    reasons: tuple[str, ...]
    """What could not be told."""


def iceberg_partitions(files: MetadataFiles, row: Row) -> IcebergPartitions:
    """Read the partitions of an Iceberg table: its metadata file, and the manifests of its current snapshot."""
    location = row.metadata_location
    if location is None:
        return IcebergPartitions((), (), None, ("its row names no metadata file",))
    try:
        io = files.io(location)
        metadata = FromInputFile.table_metadata(io.new_input(location))
        table = Table(row.name.identifier, metadata, location, io, NoopCatalog("partitions"))
        snapshot = table.current_snapshot()
        written = None if snapshot is None else _time(snapshot)
        types = {column.lower(): kind for column, kind, _ in row.columns}
        schema = table.schema()
        fields = {
            field.name: name.lower()
            for field in table.spec().fields
            if isinstance(field.transform, IdentityTransform)
            and (name := schema.find_column_name(field.source_id)) is not None
            and name.lower() in types
        }
        keys = tuple((column, types[column]) for column in fields.values())
        others = [field.name for field in table.spec().fields if field.name not in fields]
        reasons = [f"partitions by {', '.join(others)} are computed, and not followed"] if others else []
        if snapshot is None or not fields:
            return IcebergPartitions(keys, (), written, tuple(reasons))
        try:
            rows = table.inspect.partitions().to_pylist()
        except ImportError as error:
            return IcebergPartitions((), (), written, (f"its partitions cannot be read without pyarrow: {error}",))
    except FileNotFoundError as error:
        raise MetadataFileNotFoundError(location) from error
    except (OSError, ValueError) as error:
        raise MetadataFileError(location, str(error)) from error
    found: dict[Values, datetime | None] = {}
    for item in rows:
        values = tuple(
            (column, canonical(item["partition"].get(field), types[column])) for field, column in fields.items()
        )
        at = item["last_updated_at"]
        at = None if at is None else at.replace(tzinfo=timezone.utc)
        before = found.get(values)
        found[values] = max((time for time in (before, at) if time is not None), default=None)
    if any(value is None for values in found for _, value in values):
        reasons.append("it has files without a value for a partition column; they are counted in")
    return IcebergPartitions(keys, tuple(found.items()), written, tuple(reasons))


def _time(snapshot: Snapshot) -> datetime:
    return datetime.fromtimestamp(snapshot.timestamp_ms / 1000, timezone.utc)
