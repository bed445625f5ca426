"""What operations on the materialized views of one catalog share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hive_views.materialized.checks.checker import FreshnessChecker
from hive_views.materialized.loading import LoadedMaterializedView, load_materialized

if TYPE_CHECKING:
    from hive_views.identifiers import ViewName
    from hive_views.materialized.table_operations import TableOperations
    from hive_views.metastore.queries import RowCache
    from hive_views.metastore.store import MetastoreStore


@dataclass(frozen=True)
class MaterializedServices:
    """The services of one catalog that operations on its materialized views use."""

    store: MetastoreStore
    """Metastore, files and configuration."""
    tables: TableOperations
    """Its table operations."""
    checker: FreshnessChecker
    """Checks the freshness of rows; its cache of metadata files is used by all operations."""

    def load(self, name: ViewName, rows: RowCache | None = None) -> LoadedMaterializedView:
        """Load a materialized view; the rows of `rows` are not read again."""
        rows = self.checker.rows() if rows is None else rows
        return load_materialized(self.store, self.tables, name, self.checker.metadata_cache, rows)
