"""The partitions of views: `catalog.partitions`.

Those of a view that is PARTITIONED ON columns (HIVE-1941) are names only, without files.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from hive_views.errors import InvalidViewError, MetadataFileError, MetastoreRefusedError
from hive_views.identifiers import ViewName, parse_namespace
from hive_views.metastore import partitions as metastore_partitions
from hive_views.metastore.locking.lock import hold_lock
from hive_views.metastore.partitions import Values, checked_values, partition_values
from hive_views.metastore.queries import all_view_names, read_rows, warn_of_refused
from hive_views.metastore.rows.row import Row
from hive_views.metastore.store import MetastoreStore

if TYPE_CHECKING:
    from pyiceberg.typedef import Identifier

    from hive_views.dependencies.partitions import MarkedPartition, PartitionDependencies

logger = logging.getLogger(__name__)

PartitionSpec = Mapping[str, str | None] | Sequence[tuple[str, str | None]]
"""Partition columns and their values, as text."""

# `dependencies.partitions` is imported by the methods that read texts: sqlglot takes 0.1 s to import.


class ViewPartitions:
    """The partitions of the views of one catalog, and those of base tables that they need. Safe for threads.

    An `identifier` is `database.name`, as text or as a tuple, optionally after the catalog's name.
    """

    def __init__(self, store: MetastoreStore, catalog_name: str) -> None:
        """Make the partitions of a catalog's views; nothing is read yet.

        Args:
            store: Metastore, files and configuration of the catalog.
            catalog_name: The catalog's name, which identifiers may have as their first part.
        """
        self._store = store
        self._catalog_name = catalog_name

    def dependencies(
        self, identifier: str | Identifier, partition: Mapping[str, str] | None = None
    ) -> PartitionDependencies:
        """Find the partitions of base tables that a partition of a view reads (HIVE-1079).

        Args:
            identifier: `database.name` of an Iceberg view or a plain Hive view.
            partition: Values of some columns of the view, usually of its PARTITIONED ON columns; None is the whole
                view.

        Returns:
            The partitions of each base table, through all views between. Where the view's text does not determine the
            partitions, a superset with the reason.

        Raises:
            InvalidViewError: If it has no such column, or a value does not have the column's type.
        """
        from hive_views.dependencies.partitions import partition_dependencies

        return partition_dependencies(self._store, self._name(identifier), dict(partition or {}))

    def marked(self, identifier: str | Identifier) -> tuple[MarkedPartition, ...]:
        """Find which partitions that were added to a view are stale: a needed partition has changed since then.

        Args:
            identifier: `database.name` of an Iceberg view or a plain Hive view, or a database: all of its views.

        Returns:
            Each added partition, by view and name, with `marked_at`, `stale` and the reason.

        Raises:
            InvalidViewError: If a view reads another state of a plain Hive table.
        """
        from hive_views.dependencies.partitions import marked_partitions

        if isinstance(identifier, str) and "." not in identifier:
            database = parse_namespace(identifier, catalog=self._catalog_name)
            self._store.client.get_database(database)
            rows = read_rows(self._store, all_view_names(self._store, database), on_refused=warn_of_refused)
            names = sorted(row.name for row in rows if row.partition_keys)
        else:
            names = [self._name(identifier)]
        return tuple(item for name in names for item in marked_partitions(self._store, name))

    def list(self, identifier: str | Identifier, partition: PartitionSpec = ()) -> tuple[str, ...]:
        """List the partitions that were added to a view.

        Args:
            identifier: `database.name` of an Iceberg view or a plain Hive view.
            partition: List only partitions with these values.

        Returns:
            Sorted names, e.g. `ds=2026-01-01/hr=7`.

        Raises:
            InvalidViewError: If it has no partition columns, or not those.
        """
        row = self._load_row(self._name(identifier))
        wanted = checked_values(row, partition, whole=False)
        partitions = partition_values(self._store.client, row)
        return tuple(name for name, values in partitions.items() if _matches(row, values, wanted))

    def add(
        self, identifier: str | Identifier, *partitions: PartitionSpec, if_not_exists: bool = False
    ) -> tuple[str, ...]:
        """Add partitions to a view that is PARTITIONED ON columns. Only their names are stored (HIVE-1941).

        If the connection breaks, some partitions may have been added: repeat the call with `if_not_exists`.

        Args:
            identifier: `database.name` of an Iceberg view.
            partitions: For each partition, a value for each partition column.
            if_not_exists: Ignore partitions that exist already.

        Returns:
            The names of those that were added.

        Raises:
            NotAnIcebergViewError: If the name belongs to a plain Hive view.
            InvalidViewError: If a value does not fit its column, or a partition exists already; none was added.
        """
        name = self._name(identifier)
        fingerprints = self._fingerprints(name, partitions)
        with self._lock(name):
            row = self._load_row(name).require_iceberg_view()
            wanted = [tuple(checked_values(row, spec).values()) for spec in partitions]
            existing = {values: partition for partition, values in partition_values(self._store.client, row).items()}
            conflicts = [existing[values] for values in wanted if values in existing]
            if conflicts and not if_not_exists:
                raise InvalidViewError(str(name), f"it has the partition {conflicts[0]} already; nothing was added")
            new = {values: fingerprints.get(values) for values in wanted if values not in existing}
            added = metastore_partitions.add_partitions(self._store.client, row, new)
            names = {values: partition for partition, values in partition_values(self._store.client, row).items()}
        return tuple(names[values] for values in added if values in names)

    def drop(
        self, identifier: str | Identifier, *partitions: PartitionSpec, if_exists: bool = False
    ) -> tuple[str, ...]:
        """Drop partitions of a view. No file and no partition of a table is changed.

        Args:
            identifier: `database.name` of an Iceberg view.
            partitions: Values of some or all partition columns: drops every partition with these values.
            if_exists: Ignore missing partitions.

        Returns:
            The names of those that were dropped.

        Raises:
            NotAnIcebergViewError: If the name belongs to a plain Hive view.
            InvalidViewError: If a value does not fit its column, or there is no such partition; none was dropped.
        """
        name = self._name(identifier)
        with self._lock(name):
            row = self._load_row(name).require_iceberg_view()
            existing = partition_values(self._store.client, row)
            dropping = _partitions_to_drop(row, existing, partitions, if_exists=if_exists)
            dropped = metastore_partitions.drop_partitions(self._store.client, row, dropping)
        return tuple(dropping[values] for values in dropped)

    def _name(self, identifier: str | Identifier) -> ViewName:
        return ViewName.parse(identifier, catalog=self._catalog_name)

    def _load_row(self, name: ViewName) -> Row:
        row = self._store.get_view_row(name)
        if not row.partition_keys:
            checked_values(row, ())  # raises: the view has no partition columns
        return row

    def _lock(self, name: ViewName) -> AbstractContextManager[object]:
        config = self._store.config.lock
        return hold_lock(self._store.client, config, name) if config.enabled else nullcontext()

    def _fingerprints(self, name: ViewName, specs: Sequence[PartitionSpec]) -> dict[Values, str]:
        """Return fingerprints of what the partitions need; none if that cannot be read."""
        from hive_views.dependencies.partitions import source_fingerprints

        row = self._load_row(name).require_iceberg_view()
        values = [checked_values(row, spec) for spec in specs]
        try:
            fingerprints = source_fingerprints(self._store, name, values)
        except (InvalidViewError, MetadataFileError, MetastoreRefusedError) as error:
            logger.info("What the new partitions of %s need is not recorded: %s", name, error)
            return {}
        return {tuple(item.values()): text for item, text in zip(values, fingerprints, strict=True)}


def _partitions_to_drop(
    row: Row, existing: Mapping[str, Values], specs: Iterable[PartitionSpec], *, if_exists: bool
) -> dict[Values, str]:
    """Return the names of the partitions that match one of the specs, by their values."""
    dropping: dict[Values, str] = {}
    for spec in specs:
        wanted = checked_values(row, spec, whole=False)
        if not wanted:
            raise InvalidViewError(str(row.name), "a partition to drop needs the value of a partition column")
        matching = {values: partition for partition, values in existing.items() if _matches(row, values, wanted)}
        if not matching and not if_exists:
            shown = ", ".join(f"{column}={value}" for column, value in wanted.items())
            raise InvalidViewError(str(row.name), f"it has no partition {shown}; nothing was dropped")
        dropping |= matching
    return dropping


def _matches(row: Row, values: Values, wanted: Mapping[str, str]) -> bool:
    by_column = dict(zip((column for column, _ in row.partition_keys), values, strict=False))
    return all(by_column.get(column) == value for column, value in wanted.items())
