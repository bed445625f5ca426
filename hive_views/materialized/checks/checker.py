"""The freshness check: reads the sources' state and the recorded refresh, and decides over both.

Every check reads the metastore's rows anew. What depends on metadata files alone is cached, because they never change.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from hive_views.dependencies.lineage import LineageReader
from hive_views.errors import HiveViewsError, RefreshError, SqlError
from hive_views.identifiers import ViewName
from hive_views.materialized.checks.inline import inline
from hive_views.materialized.checks.sources import Sources, observe_sources
from hive_views.materialized.freshness.cache import BoundedCache, MetadataCache
from hive_views.materialized.freshness.verdict import Freshness, RecordedRefresh, decide
from hive_views.materialized.layouts.layout import Layout
from hive_views.materialized.properties import REPEATABLE
from hive_views.materialized.state.refresh_state import UNREPEATABLE, summary_of
from hive_views.metastore.queries import RowCache
from hive_views.spec.staleness_policy import METADATA, is_true
from hive_views.spec.storage_link import STORAGE_TABLE_COPY
from hive_views.sql.analysis.references import find_nondeterminism
from hive_views.sql.parsing.parser import parse_query

if TYPE_CHECKING:
    from hive_views.materialized.loading import LoadedMaterializedView
    from hive_views.metastore.rows.row import Row
    from hive_views.metastore.store import MetastoreStore

_MIN_BATCH = 4
"""Rows that justify a further request. A row costs the server about a dozen sequential database queries."""


class FreshnessChecker:
    """Checks the freshness of the materialized views of one catalog. Safe for threads."""

    def __init__(self, store: MetastoreStore, catalogs: frozenset[str]) -> None:
        """Make a checker; `catalogs` are the names in SQL texts that mean this catalog."""
        self._store = store
        self._catalogs = catalogs
        self.lineage_reader = LineageReader(store)
        self.metadata_cache = MetadataCache(store)
        self._last_requested = BoundedCache(1_000)

    def rows(self, name: ViewName | None = None) -> RowCache:
        """Rows for one check, with those that the view's last check needed. None are reused between checks."""
        rows = RowCache(self._store, min_batch=_MIN_BATCH)
        rows.load(self._last_requested.get(name, ()))
        return rows

    def expected_rows(self, row: Row | None) -> Collection[ViewName]:
        """Return the names whose rows a check of a materialized view probably needs; none for other rows."""
        if row is None:
            return ()
        requested: Collection[ViewName] = self._last_requested.get(row.name, ())
        if requested or not (STORAGE_TABLE_COPY in row.parameters or METADATA in row.parameters):
            return requested
        try:
            return self.lineage_reader.read_names(row)
        except HiveViewsError:
            return ()  # the check reports what is wrong

    def sources(self, view: LoadedMaterializedView, rows: RowCache) -> Sources:
        """Return the current state of a materialized view's sources."""
        row = None if view.layout is Layout.TABLE else view.row
        sources = observe_sources(self.lineage_reader, self.metadata_cache, rows, view.name, row, view.metadata)
        self._last_requested.put(view.name, frozenset(rows.requested))
        return sources

    def check(
        self,
        view: LoadedMaterializedView,
        rows: RowCache | None = None,
        now_ms: int | None = None,
        max_staleness_ms: int | None = None,
    ) -> tuple[Sources, Freshness]:
        """Decide how fresh a materialized view's rows are, and return the sources that the decision is based on."""
        sources = self.sources(view, rows or self.rows(view.name))
        refresh = self._with_functions(view, view.last_refresh(), sources)
        staleness = view.max_staleness_ms if max_staleness_ms is None else max_staleness_ms
        now = int(time.time() * 1000) if now_ms is None else now_ms
        return sources, decide(refresh, sources.observed, now_ms=now, max_staleness_ms=staleness)

    def _with_functions(
        self, view: LoadedMaterializedView, refresh: RecordedRefresh, sources: Sources
    ) -> RecordedRefresh:
        """A recorded refresh with the nondeterministic functions of the definition, if its writer recorded none."""
        if refresh.state is None:
            return refresh
        if is_true(view.properties, REPEATABLE):
            return replace(refresh, unrepeatable=())
        if UNREPEATABLE in summary_of(view.snapshot) or refresh.unrepeatable:
            return refresh
        try:
            leaves = inline(view.name, view.metadata, sources, self._catalogs)
            return replace(refresh, unrepeatable=find_nondeterminism(parse_query(leaves.sql, leaves.dialect)))
        except (SqlError, RefreshError):
            # This package cannot read the text: lineage and state alone decide, as the specification says.
            return replace(refresh, unrepeatable=())
