"""The partitions of views that are PARTITIONED ON columns (HIVE-1941): names only, no files."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from hive_views.errors import InvalidViewError, MetadataFileError, MetastoreRefusedError
from hive_views.identifiers import ViewName
from hive_views.metastore import partitions as metastore_partitions
from hive_views.metastore.locking.lock import hold_lock
from hive_views.metastore.partitions import Values, checked_values, partition_values
from hive_views.metastore.rows.row import Row
from hive_views.metastore.store import MetastoreStore

logger = logging.getLogger(__name__)

PartitionSpec = Mapping[str, str | None] | Sequence[tuple[str, str | None]]
"""Partition columns and their values, as text."""


def list_partitions(store: MetastoreStore, name: ViewName, spec: PartitionSpec) -> tuple[str, ...]:
    """Return the names of a view's partitions that have the given values, sorted."""
    row = _load_row(store, name)
    wanted = checked_values(row, spec, whole=False)
    partitions = partition_values(store.client, row)
    return tuple(partition for partition, values in partitions.items() if _matches(row, values, wanted))


def add_partitions(
    store: MetastoreStore, name: ViewName, specs: Sequence[PartitionSpec], *, if_not_exists: bool
) -> tuple[str, ...]:
    """Add partitions to a view; the names of those added."""
    fingerprints = _fingerprints(store, name, specs)
    with _locked(store, name):
        row = _load_row(store, name).require_iceberg_view()
        wanted = [tuple(checked_values(row, spec).values()) for spec in specs]
        existing = {values: partition for partition, values in partition_values(store.client, row).items()}
        conflicts = [existing[values] for values in wanted if values in existing]
        if conflicts and not if_not_exists:
            raise InvalidViewError(str(name), f"it has the partition {conflicts[0]} already; nothing was added")
        new = {values: fingerprints.get(values) for values in wanted if values not in existing}
        added = metastore_partitions.add_partitions(store.client, row, new)
        names = {values: partition for partition, values in partition_values(store.client, row).items()}
    return tuple(names[values] for values in added if values in names)


def drop_partitions(
    store: MetastoreStore, name: ViewName, specs: Iterable[PartitionSpec], *, if_exists: bool
) -> tuple[str, ...]:
    """Drop every partition of a view that matches one of the specs; the names of those dropped."""
    with _locked(store, name):
        row = _load_row(store, name).require_iceberg_view()
        existing = partition_values(store.client, row)
        dropping: dict[Values, str] = {}
        for spec in specs:
            wanted = checked_values(row, spec, whole=False)
            if not wanted:
                raise InvalidViewError(str(name), "a partition to drop needs the value of a partition column")
            matching = {values: partition for partition, values in existing.items() if _matches(row, values, wanted)}
            if not matching and not if_exists:
                shown = ", ".join(f"{column}={value}" for column, value in wanted.items())
                raise InvalidViewError(str(name), f"it has no partition {shown}; nothing was dropped")
            dropping |= matching
        dropped = metastore_partitions.drop_partitions(store.client, row, dropping)
    return tuple(dropping[values] for values in dropped)


def _fingerprints(store: MetastoreStore, name: ViewName, specs: Sequence[PartitionSpec]) -> dict[Values, str]:
    """Return fingerprints of what the partitions need; none if that cannot be read."""
    from hive_views.dependencies.partitions import source_fingerprints  # imports sqlglot

    row = _load_row(store, name).require_iceberg_view()
    values = [checked_values(row, spec) for spec in specs]
    try:
        fingerprints = source_fingerprints(store, name, values)
    except (InvalidViewError, MetadataFileError, MetastoreRefusedError) as error:
        logger.info("What the new partitions of %s need is not recorded: %s", name, error)
        return {}
    return {tuple(item.values()): text for item, text in zip(values, fingerprints, strict=True)}


def _locked(store: MetastoreStore, name: ViewName) -> AbstractContextManager[object]:
    config = store.config.lock
    return hold_lock(store.client, config, name) if config.enabled else nullcontext()


def _load_row(store: MetastoreStore, name: ViewName) -> Row:
    row = store.get_view_row(name)
    if not row.partition_keys:
        checked_values(row, ())  # raises: the view has no partition columns
    return row


def _matches(row: Row, values: Values, wanted: Mapping[str, str]) -> bool:
    by_column = dict(zip((column for column, _ in row.partition_keys), values, strict=False))
    return all(by_column.get(column) == value for column, value in wanted.items())
