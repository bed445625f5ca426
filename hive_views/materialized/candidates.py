"""Finds the materialized views whose fresh stored rows may answer queries that read tables."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hive_views.dependencies.graph import DependentFinder
from hive_views.errors import HiveViewsError
from hive_views.identifiers import ViewName
from hive_views.materialized.checks.checker import FreshnessChecker
from hive_views.materialized.checks.inline import catalog_names, inline
from hive_views.materialized.freshness.verdict import Verdict
from hive_views.materialized.loading import is_materialized, load_materialized
from hive_views.materialized.properties import may_answer_other_queries
from hive_views.materialized.state.refresh_state import row_count, summary_of
from hive_views.metastore.queries import database_names, names_with_parameter
from hive_views.metastore.rows.row import RowKind
from hive_views.spec.staleness_policy import METADATA

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hive_views.materialized.checks.sources import Sources
    from hive_views.materialized.loading import LoadedMaterializedView
    from hive_views.materialized.table_operations import TableOperations
    from hive_views.metastore.store import MetastoreStore
    from hive_views.sql.analysis.incremental import IncrementalQuery

logger = logging.getLogger(__name__)

SEARCH_INTERVAL_S = 60
"""Seconds for which the names of the materialized views over a table are not searched again."""


@dataclass(frozen=True)
class Candidate:
    """A materialized view whose stored rows are those that its definition returns now."""

    view: LoadedMaterializedView
    """The view, with the storage table whose current snapshot has the rows."""
    sources: Sources
    """Its sources in the state for which the rows are fresh."""
    query: IncrementalQuery
    """Its definition over tables alone, as a refresh computes it."""
    settings: Mapping[str, str]
    """The session settings of the refresh."""

    @property
    def size(self) -> int:
        """The number of stored rows; a large one if it is not recorded."""
        count = row_count(summary_of(self.view.snapshot))
        return 2**63 if count is None else count


class CandidateFinder:
    """Finds candidates for the rewriting of queries. Safe for threads.

    The names of materialized views are searched at most once a minute for each table. Everything else is read for each
    query: a view that was dropped, redefined or became stale is never a candidate.
    """

    def __init__(self, store: MetastoreStore, tables: TableOperations) -> None:
        self._store = store
        self._tables = tables
        self._catalogs = catalog_names(store, tables.name)
        self._checker = FreshnessChecker(store, self._catalogs)
        self._lock = threading.Lock()
        self._searched_s = float("-inf")
        self._dependents: dict[ViewName, frozenset[ViewName]] = {}
        self._materialized_tables: frozenset[ViewName] = frozenset()

    def forget(self) -> None:
        """Search the names again for the next query."""
        with self._lock:
            self._searched_s = float("-inf")

    def over(self, tables: Collection[ViewName]) -> list[Candidate]:
        """Return the fresh materialized views that read only tables that a query reads, those with few rows first."""
        candidates = []
        for name in sorted(self._names(tables)):
            try:
                candidate = self._candidate(name)
            except HiveViewsError as error:  # dropped meanwhile, a plain view, or one that cannot be read
                logger.debug("%s is not used for queries: %s", name, error)
                continue
            if candidate is not None and candidate.sources.tables.keys() <= set(tables):
                candidates.append(candidate)
        return sorted(candidates, key=lambda candidate: candidate.size)

    def _candidate(self, name: ViewName) -> Candidate | None:
        rows = self._checker.rows(name)
        view = load_materialized(self._store, self._tables, name, self._checker.metadata_cache, rows)
        if view.storage is None or view.snapshot is None or not may_answer_other_queries(view.properties):
            return None
        sources, freshness = self._checker.check(view, rows, max_staleness_ms=0)
        settings = view.last_refresh().settings
        if freshness.verdict is not Verdict.FRESH or not settings or not sources.tables:
            return None
        query = inline(view.name, view.metadata, sources, self._catalogs)
        if any(ViewName(*leaf.name) not in sources.tables for leaf in query.leaves):
            return None  # the text has the old name of a renamed table
        return Candidate(view, sources, query, settings)

    def _names(self, tables: Collection[ViewName]) -> set[ViewName]:
        """Return the names of the views that may be materialized views over some tables."""
        with self._lock:
            now = time.monotonic()
            if now - self._searched_s > SEARCH_INTERVAL_S:
                self._dependents = {}
                self._materialized_tables = frozenset(self._search_materialized_tables())
                self._searched_s = now
            missing = [table for table in tables if table not in self._dependents]
            if missing:
                finder = DependentFinder(self._checker.lineage_reader)
                for table in missing:
                    self._dependents[table] = frozenset(self._materialized(finder.find_all(table).views))
            dependents = {name for table in tables for name in self._dependents[table]}
            return dependents | self._materialized_tables

    def _materialized(self, views: Collection[ViewName]) -> Iterator[ViewName]:
        """Those of some views that are materialized."""
        rows = self._checker.rows()
        rows.load(views)
        for name in views:
            row = rows.get(name)
            if row is None or row.kind is not RowKind.ICEBERG_VIEW:
                continue
            try:
                if is_materialized(self._checker.metadata_cache.view(row.metadata_location or "")):
                    yield name
            except HiveViewsError as error:
                logger.debug("%s is not used for queries: %s", name, error)

    def _search_materialized_tables(self) -> Iterator[ViewName]:
        """Yield the materialized views of the layout `table`, which are no dependents: they have the rows of tables."""
        rows = self._checker.rows()
        for database in database_names(self._store):
            names = names_with_parameter(self._store, database, METADATA) or ()
            rows.load(names)
            for name in names:
                row = rows.get(name)
                if row is not None and row.kind is RowKind.ICEBERG_TABLE:
                    yield name
