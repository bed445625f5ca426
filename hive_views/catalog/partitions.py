"""The catalog's methods about partitions: HiveViewCatalog inherits them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from pyiceberg.typedef import Identifier

from hive_views.catalog.tables import TableCatalog
from hive_views.errors import InvalidViewError, NoSuchViewError
from hive_views.metastore.locking.lock import locked
from hive_views.metastore.partitions import (
    Values,
    add_partitions,
    checked_values,
    drop_partitions,
    partition_keys,
    partition_values,
)
from hive_views.metastore.row_codec import Row

if TYPE_CHECKING:
    from hive_views.dependencies.partitions import PartitionDependencies

Spec = Mapping[str, str | None] | Sequence[tuple[str, str | None]]
"""Partition columns and their values, as text."""


class PartitionMethods(TableCatalog):
    """The partitions of views, and the partitions of tables behind them."""

    def partition_dependencies(
        self, identifier: str | Identifier, partition: Mapping[str, str] | None = None
    ) -> PartitionDependencies:
        """The partitions of base tables behind a partition of a view: is it complete, and how fresh (HIVE-1079).

        Args:
            identifier: `database.name` of a view, Iceberg's or Hive's.
            partition: Values of some of the view's columns, most often of those that it is PARTITIONED ON; None asks
                about the whole view.

        Returns:
            The partitions of each table that the view reads, through all views between; more than needed where the
            text does not say which, with the reason.

        Raises:
            NoSuchViewError: If there is no such view.
            InvalidViewError: If it has no such column, or a value is not of the column's type.
            MetastoreError: If the metastore fails.
        """
        from hive_views.dependencies.partitions import partition_dependencies  # imports sqlglot

        return partition_dependencies(self.store, self._name(identifier), dict(partition or {}))

    def list_partitions(self, identifier: str | Identifier, partition: Spec = ()) -> tuple[str, ...]:
        """The partitions that were added to a view.

        Args:
            identifier: `database.name` of a view, Iceberg's or Hive's.
            partition: Only those with these values.

        Returns:
            Their names, e.g. `ds=2026-01-01/hr=7`, sorted.

        Raises:
            NoSuchViewError: If there is no such view.
            InvalidViewError: If it has no partition columns, or not those.
        """
        row = self._partitioned(identifier)
        wanted = checked_values(row, partition, whole=False)
        return tuple(
            name for name, values in partition_values(self.store.client, row).items() if _has(row, values, wanted)
        )

    def add_partitions(
        self, identifier: str | Identifier, *partitions: Spec, if_not_exists: bool = False
    ) -> tuple[str, ...]:
        """Add partitions to a view that is PARTITIONED ON columns: nothing but their names is stored (HIVE-1941).

        Where the connection breaks, some may have been added: repeat it with `if_not_exists`.

        Args:
            identifier: `database.name` of an Iceberg view.
            partitions: A value for each partition column, of each partition.
            if_not_exists: Leave those that are there as they are.

        Returns:
            The names of those that were added.

        Raises:
            NoSuchViewError: If there is no such view; NotAnIcebergViewError for a plain Hive view.
            InvalidViewError: If a value does not fit its column, or a partition is there already: none was added.
        """
        name = self._name(identifier)
        locks = self.store.config.lock
        with locked(self.store.client, locks, name) if locks.enabled else nullcontext():
            row = self._partitioned(identifier).require_iceberg_view()
            wanted = [tuple(checked_values(row, partition).values()) for partition in partitions]
            there = {values: name for name, values in partition_values(self.store.client, row).items()}
            present = [there[values] for values in wanted if values in there]
            if present and not if_not_exists:
                raise InvalidViewError(str(name), f"it has the partition {present[0]} already; nothing was added")
            new = list(dict.fromkeys(values for values in wanted if values not in there))
            added = add_partitions(self.store.client, row, new)
            names = {values: name for name, values in partition_values(self.store.client, row).items()}
        return tuple(names[values] for values in added if values in names)

    def drop_partitions(
        self, identifier: str | Identifier, *partitions: Spec, if_exists: bool = False
    ) -> tuple[str, ...]:
        """Drop partitions of a view; no file and no partition of a table is touched.

        Args:
            identifier: `database.name` of an Iceberg view.
            partitions: Values of some or all partition columns: every partition that has them is dropped.
            if_exists: Do nothing where there is none.

        Returns:
            The names of those that were dropped.

        Raises:
            NoSuchViewError: If there is no such view; NotAnIcebergViewError for a plain Hive view.
            InvalidViewError: If a value does not fit its column, or there is no such partition: none was dropped.
        """
        name = self._name(identifier)
        locks = self.store.config.lock
        with locked(self.store.client, locks, name) if locks.enabled else nullcontext():
            row = self._partitioned(identifier).require_iceberg_view()
            there = partition_values(self.store.client, row)
            doomed: dict[Values, str] = {}
            for partition in partitions:
                wanted = checked_values(row, partition, whole=False)
                if not wanted:
                    raise InvalidViewError(str(name), "a partition to drop needs the value of a partition column")
                found = {values: item for item, values in there.items() if _has(row, values, wanted)}
                if not found and not if_exists:
                    shown = ", ".join(f"{key}={value}" for key, value in wanted.items())
                    raise InvalidViewError(str(name), f"it has no partition {shown}; nothing was dropped")
                doomed |= found
            dropped = drop_partitions(self.store.client, row, doomed)
        return tuple(doomed[values] for values in dropped)

    def _partitioned(self, identifier: str | Identifier) -> Row:
        name = self._name(identifier)
        row = self.store.get_row(name)
        if row is None or not row.kind.is_view:
            raise NoSuchViewError(str(name))
        if not partition_keys(row):
            checked_values(row, ())
        return row


def _has(row: Row, values: Values, wanted: Mapping[str, str]) -> bool:
    found = dict(zip((name for name, _ in partition_keys(row)), values, strict=False))
    return all(found.get(name) == value for name, value in wanted.items())
