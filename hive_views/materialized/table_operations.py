"""The table operations that materialized views need from a catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.table import CommitTableResponse, Table
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.sorting import SortOrder
    from pyiceberg.table.update import TableRequirement, TableUpdate

    from hive_views.identifiers import ViewName


class TableOperations(Protocol):
    """Creates, loads, commits to and drops the Iceberg tables of one catalog; `hive_views.catalog.tables` has it."""

    name: str
    """The catalog's name."""

    def load_table(self, identifier: tuple[str, ...]) -> Table:
        """Load a table; `NoSuchTableError` if there is none."""
        ...

    def open_table(self, name: ViewName, metadata: TableMetadata, metadata_location: str) -> Table:
        """Make a table of this catalog from metadata that was read already."""
        ...

    def create_table(
        self,
        identifier: tuple[str, ...],
        schema: Schema,
        *,
        partition_spec: PartitionSpec,
        sort_order: SortOrder,
        properties: dict[str, Any],
    ) -> Table:
        """Create a table without rows."""
        ...

    def register_table(self, identifier: tuple[str, ...], metadata_location: str) -> Any:
        """Register a metadata file as a table."""
        ...

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Commit changes to a table."""
        ...

    def remove_table(self, identifier: tuple[str, ...]) -> None:
        """Drop a table whatever depends on it, and delete no file; `NoSuchTableError` if there is none."""
        ...
