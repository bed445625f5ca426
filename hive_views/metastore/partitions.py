"""Partitions in the metastore: names and values, and the partitions of views (HIVE-1941).

A view's partitions are only metastore objects, with which its owner declares which parts of it can be read. Hive stores
them without a storage descriptor, which the server accepts only for a row without a location (measured on 2.3.10). So
partitions of an Iceberg view have a descriptor with the view's own location: no directory is created.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timezone
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import NamedTuple
from urllib.parse import unquote

from hive_views.errors import InvalidViewError, MetastoreRefusedError, after_steps
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    AlreadyExistsException,
    InvalidObjectException,
    MetaException,
    NoSuchObjectException,
    Partition,
    Table,
)
from hive_views.metastore.invalid_requests import invalid_create_in
from hive_views.metastore.rejections import rejection_error
from hive_views.metastore.rows.row import CHANGE_TIME, Row
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.transport.client import MetastoreClient
from hive_views.spec.whole_numbers import whole_number

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""Hive's text for a partition value that is NULL."""

SOURCES = "hive_views_sources"
"""Parameter of a view's partition: a fingerprint of its dependencies when it was added."""

Values = tuple[str, ...]
"""The values of one partition, in the order of the partition columns."""


class StoredPartition(NamedTuple):
    """A partition in the metastore."""

    name: str
    """Its name, e.g. `ds=2026-01-01`."""
    values: Values
    """Its values."""
    written: datetime | None
    """When Hive or Spark last wrote it; None if they recorded no time."""
    from_creation: bool
    """Whether `written` is only the creation time."""
    fingerprint: str | None = None
    """For a view's partition: the fingerprint of its dependencies when it was added; None if it was not recorded."""


def partition_values(client: MetastoreClient, row: Row) -> dict[str, Values]:
    """Return the values of all partitions of a Hive table or a view by name, with one call."""
    try:
        names = client.get_partition_names(row.name.database, row.name.name)
    except NoSuchObjectException as error:
        raise MetastoreRefusedError("get_partition_names", f"{row.name}: {error.message}") from error
    return {name: values_of(name) for name in sorted(names)}


def values_of(name: str) -> Values:
    """Return the values in a partition's name."""
    return tuple(unquote(part.partition("=")[2]) for part in name.split("/"))


def stored_partitions(client: MetastoreClient, row: Row, names: Sequence[str]) -> tuple[StoredPartition, ...]:
    """Return partitions with the times of their last change."""
    keys = [name for name, _ in row.partition_keys]
    by_values = {values_of(name): name for name in names}
    stored = []
    try:
        partitions = client.get_partitions(row.name.database, row.name.name, names)
    except NoSuchObjectException as error:
        raise MetastoreRefusedError("get_partitions_by_names", f"{row.name}: {error.message}") from error
    for partition in partitions:
        values = tuple(partition.values)
        name = by_values.get(values, "/".join(f"{key}={value}" for key, value in zip(keys, values, strict=False)))
        parameters = partition.parameters or {}
        changed = _time(whole_number(parameters.get(CHANGE_TIME)))
        written = _time(partition.createTime) if changed is None else changed
        stored.append(StoredPartition(name, values, written, changed is None, parameters.get(SOURCES)))
    return tuple(sorted(stored, key=lambda partition: partition.name))


class PartitionFiles(NamedTuple):
    """Where the files of a partition are, and of what format."""

    input_format: str | None
    location: str | None


def partition_files(client: MetastoreClient, row: Row, names: Sequence[str]) -> tuple[PartitionFiles, ...]:
    """Return where the files of some partitions of a Hive table are."""
    try:
        partitions = client.get_partitions(row.name.database, row.name.name, names)
    except NoSuchObjectException as error:
        raise MetastoreRefusedError("get_partitions_by_names", f"{row.name}: {error.message}") from error
    return tuple(PartitionFiles(item.sd.inputFormat, item.sd.location) for item in partitions if item.sd is not None)


def row_changed(row: Row) -> tuple[datetime | None, bool]:
    """Return when a table's row was last written, and whether that is only its creation time."""
    changed = _time(whole_number(row.parameters.get(CHANGE_TIME)))
    return (_time(row.create_time) if changed is None else changed), changed is None


_LAST_SECOND = 253_402_300_799
"""The end of the year 9999. Some programs write milliseconds."""


def _time(seconds: int | None) -> datetime | None:
    """Return the time of a number of seconds that the metastore has; None for none, and for no time of a calendar."""
    return datetime.fromtimestamp(seconds, timezone.utc) if seconds and 0 < seconds <= _LAST_SECOND else None


# -- Partitions of views ----------------------------------------------------------------------------------------------


def check_partition_keys_unchanged(client: MetastoreClient, current: Row, table: Table) -> None:
    """Reject a change of the partition columns of a view that has partitions.

    The server would accept the change, but could then neither list nor drop the partitions, nor drop the view (measured
    on 2.3.10). Hive rejects it too (error 10217).
    """
    before = current.partition_keys
    after = tuple((field.name.lower(), field.type.lower()) for field in table.partitionKeys or ())
    if not before or before == after:
        return
    names = list(partition_values(client, current))
    if names:
        columns = ", ".join(f"{name} {kind}" for name, kind in after) or "none"
        raise InvalidViewError(
            str(current.name),
            f"it has {len(names)} partitions ({', '.join(names[:3])}{', …' if len(names) > 3 else ''}) by "
            f"{', '.join(f'{name} {kind}' for name, kind in before)}, and would have other partition columns "
            f"({columns}). Drop the partitions first, by ALTER VIEW … DROP PARTITION",
        )


def reject_partitions(store: MetastoreStore, name: ViewName) -> None:
    """Reject a new query for a view whose partitions were added for the old one."""
    row = store.get_row(name)
    if row is not None and row.partition_keys and partition_values(store.client, row):
        raise InvalidViewError(
            str(name),
            f"{name} has partitions that were added for the old definition. Drop them with ALTER VIEW … DROP "
            "PARTITION, or keep them with CREATE OR REPLACE VIEW … PARTITIONED ON",
        )


def add_partitions(client: MetastoreClient, row: Row, partitions: Mapping[Values, str | None]) -> list[Values]:
    """Add partitions, with their fingerprints, to a view and return those that did not exist before."""
    added: list[Values] = []
    for values, fingerprint in partitions.items():
        partition = Partition(
            values=list(values),
            dbName=row.name.database,
            tableName=row.name.name,
            createTime=0,
            lastAccessTime=0,
            parameters={} if fingerprint is None else {SOURCES: fingerprint},
        )
        if row.table.sd is not None and row.table.sd.location:
            partition.sd = copy.copy(row.table.sd)
        with after_steps(*(f"the partition {'/'.join(item)} was added" for item in added)):
            try:
                client.add_partition(partition)
            except AlreadyExistsException:
                continue
            except (MetaException, InvalidObjectException, NoSuchObjectException, MetastoreRefusedError) as error:
                is_missing = partial(_is_missing, client, row, values)
                invalid = invalid_create_in(client, row.name.database)
                raise rejection_error(client, "add_partition", str(row.name), error, is_missing, invalid) from error
        added.append(values)
    return added


def drop_partitions(client: MetastoreClient, row: Row, partitions: Iterable[Values]) -> list[Values]:
    """Drop partitions of a view and return those that existed."""
    dropped: list[Values] = []
    for values in partitions:
        with after_steps(*(f"the partition {'/'.join(item)} was dropped" for item in dropped)):
            try:
                client.drop_partition(row.name.database, row.name.name, values)
            except NoSuchObjectException:
                continue
            except (MetaException, MetastoreRefusedError) as error:
                is_stored = partial(_is_stored, client, row, values)
                invalid = invalid_create_in(client, row.name.database)
                raise rejection_error(client, "drop_partition", str(row.name), error, is_stored, invalid) from error
        dropped.append(values)
    return dropped


def _is_stored(client: MetastoreClient, row: Row, values: Values) -> bool:
    return values in partition_values(client, row).values()


def _is_missing(client: MetastoreClient, row: Row, values: Values) -> bool:
    return not _is_stored(client, row, values)


# -- Values -----------------------------------------------------------------------------------------------------------


def checked_values(
    row: Row, spec: Mapping[str, str | None] | Sequence[tuple[str, str | None]], *, whole: bool = True
) -> dict[str, str]:
    """Check partition values against the partition columns, as Hive does (hive.typecheck.on.insert).

    `whole` requires a value for each column. Returns the canonical values in the order of the columns.
    """
    keys = dict(row.partition_keys)
    pairs = list(spec.items()) if isinstance(spec, Mapping) else list(spec)
    if not all(map(_is_pair, pairs)):
        example = dict.fromkeys(keys or ("column",), "value")
        raise InvalidViewError(str(row.name), f"{spec!r} is no partition: name values by column, such as {example}")
    names = [name.lower() for name, _ in pairs]
    columns = ", ".join(keys)
    if not keys:
        raise InvalidViewError(str(row.name), "it has no partition columns; CREATE VIEW … PARTITIONED ON defines them")
    for name in names:
        if name not in keys:
            raise InvalidViewError(str(row.name), f"{name} is none of its partition columns: {columns}")
        if names.count(name) > 1:
            raise InvalidViewError(str(row.name), f"the partition column {name} is given twice")
    missing = [name for name in keys if name not in names]
    if missing and whole:
        raise InvalidViewError(
            str(row.name), f"a partition needs a value for each of {columns}; there is none for {', '.join(missing)}"
        )
    checked = {}
    for name, value in zip(names, (value for _, value in pairs), strict=True):
        stored = None if value is None else canonical(value, keys[name])
        if stored is None or stored == "" or stored == DEFAULT_PARTITION:
            raise InvalidViewError(str(row.name), f"{value!r} is no value for the partition column {name} {keys[name]}")
        checked[name] = stored
    return {name: checked[name] for name in keys if name in checked}


def _is_pair(item: object) -> bool:
    return isinstance(item, Sequence) and not isinstance(item, str) and len(item) == 2


def canonical(value: object, kind: str) -> str | None:
    """Return the canonical text of a partition value, however it is written; None if it is not a value of the type."""
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
