"""What each step of a refresh works on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hive_views.materialized.checks.checker import FreshnessChecker
    from hive_views.materialized.loading import LoadedMaterializedView
    from hive_views.materialized.refresh.request import Engine
    from hive_views.materialized.table_operations import TableOperations
    from hive_views.metastore.store import MetastoreStore


@dataclass(frozen=True)
class RefreshScope:
    """One materialized view, and the services with which it is refreshed."""

    store: MetastoreStore
    """Metastore, files and configuration of the catalog."""
    tables: TableOperations
    """Its table operations."""
    view: LoadedMaterializedView
    """The view as it was loaded for the refresh."""
    checker: FreshnessChecker
    """Checks the freshness of its rows."""
    engine: Engine | None = None
    """Computes and writes the rows; None plans without one, with the settings of the last refresh."""
