"""Partitions in the metastore: their names and values, and the partitions that a view is given (HIVE-1941).

A view's partitions are rows of the metastore and nothing else: promises of its owner that so much of it can be read.
Hive stores them without a descriptor. The server takes that only for a row without a location (measured on 2.3.10), so
those of an Iceberg view have one, whose location is the view's own: no directory is made.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal, InvalidOperation
from urllib.parse import unquote

from hive_views.errors import InvalidViewError, MetastoreRefusedError
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    AlreadyExistsException,
    InvalidObjectException,
    MetaException,
    NoSuchObjectException,
    Partition,
    Table,
)
from hive_views.metastore.row_codec import Row
from hive_views.metastore.transport.client import MetastoreClient

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""How Hive writes a partition value that is NULL."""

_CHANGED = "transient_lastDdlTime"

Values = tuple[str, ...]
"""The values of one partition, in the order of the partition columns."""


@dataclass(frozen=True)
class StoredPartition:
    """A partition as the metastore has it."""

    name: str
    """Its name, e.g. `ds=2026-01-01`."""
    values: Values
    """Its values."""
    written: datetime | None
    """When Hive or Spark last wrote its row; None where they left no time."""
    from_creation: bool
    """Whether that time is only the one of its creation."""


def partition_keys(row: Row) -> tuple[tuple[str, str], ...]:
    """The partition columns of a row."""
    return tuple((field.name.lower(), field.type.lower()) for field in row.table.partitionKeys or ())


def partition_values(client: MetastoreClient, row: Row) -> dict[str, Values]:
    """The partitions of a Hive table or a view, by one call and without their rows."""
    try:
        names = client.get_partition_names(row.name.database, row.name.name)
    except (MetaException, NoSuchObjectException) as error:
        raise MetastoreRefusedError("get_partition_names", f"{row.name}: {error.message}") from error
    return {name: values_of(name) for name in sorted(names)}


def values_of(name: str) -> Values:
    """The values in a partition's name."""
    return tuple(unquote(part.partition("=")[2]) for part in name.split("/"))


def stored_partitions(client: MetastoreClient, row: Row, names: Sequence[str]) -> tuple[StoredPartition, ...]:
    """Partitions with the times of their last change."""
    keys = [name for name, _ in partition_keys(row)]
    by_values = {values_of(name): name for name in names}
    found = []
    try:
        partitions = client.get_partitions(row.name.database, row.name.name, names)
    except (MetaException, NoSuchObjectException) as error:
        raise MetastoreRefusedError("get_partitions_by_names", f"{row.name}: {error.message}") from error
    for partition in partitions:
        values = tuple(partition.values)
        name = by_values.get(values, "/".join(f"{key}={value}" for key, value in zip(keys, values, strict=False)))
        changed = (partition.parameters or {}).get(_CHANGED)
        seconds = int(changed) if changed and changed.isdigit() else partition.createTime or 0
        written = datetime.fromtimestamp(seconds, timezone.utc) if seconds > 0 else None
        found.append(StoredPartition(name, values, written, not changed))
    return tuple(sorted(found, key=lambda item: item.name))


def row_changed(row: Row) -> tuple[datetime | None, bool]:
    """When a table's row was last written."""
    changed = row.parameters.get(_CHANGED, "")
    seconds = int(changed) if changed.isdigit() else row.create_time
    return (datetime.fromtimestamp(seconds, timezone.utc) if seconds > 0 else None), not changed


# -- Partitions of views ----------------------------------------------------------------------------------------------


def check_partition_keys_unchanged(client: MetastoreClient, current: Row, table: Table) -> None:
    """Refuse a change of the partition columns of a view that has partitions.

    The server takes it, and then can neither list nor drop the view's partitions, nor drop the view (measured on
    2.3.10). Hive refuses it too (error 10217).
    """
    before = partition_keys(current)
    after = tuple((field.name.lower(), field.type.lower()) for field in table.partitionKeys or ())
    if not before or before == after:
        return
    names = list(partition_values(client, current))
    if names:
        shown = ", ".join(f"{name} {kind}" for name, kind in after) or "none"
        raise InvalidViewError(
            str(current.name),
            f"it has {len(names)} partitions ({', '.join(names[:3])}{', …' if len(names) > 3 else ''}) by "
            f"{', '.join(f'{name} {kind}' for name, kind in before)}, and would have other partition columns "
            f"({shown}). Drop the partitions first, by ALTER VIEW … DROP PARTITION",
        )


def add_partitions(client: MetastoreClient, row: Row, partitions: Iterable[Values]) -> list[Values]:
    """Add partitions to a view; those that are there stay as they are."""
    added = []
    for values in partitions:
        partition = Partition(
            values=list(values),
            dbName=row.name.database,
            tableName=row.name.name,
            createTime=0,
            lastAccessTime=0,
            parameters={},
        )
        if row.table.sd is not None and row.table.sd.location:
            partition.sd = copy.copy(row.table.sd)
        try:
            client.add_partition(partition)
        except AlreadyExistsException:
            continue
        except (MetaException, InvalidObjectException, NoSuchObjectException) as error:
            raise MetastoreRefusedError("add_partition", f"{row.name}: {error.message}") from error
        added.append(values)
    return added


def drop_partitions(client: MetastoreClient, row: Row, partitions: Iterable[Values]) -> list[Values]:
    """Drop partitions of a view."""
    dropped = []
    for values in partitions:
        try:
            client.drop_partition(row.name.database, row.name.name, values)
        except NoSuchObjectException:
            continue
        except MetaException as error:
            raise MetastoreRefusedError("drop_partition", f"{row.name}: {error.message}") from error
        dropped.append(values)
    return dropped


# -- Values -----------------------------------------------------------------------------------------------------------


def checked_values(
    row: Row, spec: Mapping[str, str | None] | Sequence[tuple[str, str | None]], *, whole: bool = True
) -> dict[str, str]:
    """Check the values of a partition against the partition columns, as Hive does (hive.typecheck.on.insert)."""
    keys = dict(partition_keys(row))
    pairs = list(spec.items()) if isinstance(spec, Mapping) else list(spec)
    names = [name.lower() for name, _ in pairs]
    shown = ", ".join(keys)
    if not keys:
        raise InvalidViewError(str(row.name), "it has no partition columns; CREATE VIEW … PARTITIONED ON makes them")
    for name in names:
        if name not in keys:
            raise InvalidViewError(str(row.name), f"{name} is none of its partition columns: {shown}")
        if names.count(name) > 1:
            raise InvalidViewError(str(row.name), f"the partition column {name} is given twice")
    missing = [name for name in keys if name not in names]
    if missing and whole:
        raise InvalidViewError(
            str(row.name), f"a partition needs a value for each of {shown}; there is none for {', '.join(missing)}"
        )
    found = {}
    for name, value in zip(names, (value for _, value in pairs), strict=True):
        stored = None if value is None else canonical(value, keys[name])
        if stored is None or stored == "" or stored == DEFAULT_PARTITION:
            raise InvalidViewError(str(row.name), f"{value!r} is no value for the partition column {name} {keys[name]}")
        found[name] = stored
    return {name: found[name] for name in keys if name in found}


def canonical(value: object, kind: str) -> str | None:
    """A partition value as text, the same for all ways to write it."""
    if value is None:
        return None
    text = str(value).lower() if isinstance(value, bool) else str(value)
    kind = kind.lower()
    try:
        if kind in ("tinyint", "smallint", "int", "bigint"):
            return str(int(text))
        if kind == "date":
            return date.fromisoformat(text).isoformat()
        if kind.startswith("timestamp"):
            return re.sub(r"(\.\d*?)0+$", r"\1", str(datetime.fromisoformat(text))).removesuffix(".")
        if kind.startswith("decimal"):
            number = Decimal(text)
            return None if not number.is_finite() else f"{number.normalize():f}"
        if kind in ("float", "double"):
            return str(float(text))
        if kind == "boolean":
            return text.lower() if text.lower() in ("true", "false") else None
    except (ValueError, InvalidOperation):
        return None
    return text
