"""One look at a materialized view: its sources as they are, what its storage says, and the decision over both.

Every row of the metastore is asked for in each look. What follows from metadata files alone is remembered, because a
metadata file never changes.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from hive_views.dependencies.lineage import LineageReader
from hive_views.errors import RefreshError, SqlError
from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.cache import FactReader
from hive_views.materialized.freshness.row_cache import Rows
from hive_views.materialized.freshness.sources import Sources, observe
from hive_views.materialized.freshness.verdict import Freshness, Recorded, decide
from hive_views.materialized.layouts.layouts import Layout
from hive_views.materialized.loading import MaterializedView
from hive_views.materialized.properties import REPEATABLE
from hive_views.materialized.refresh.inline import catalogs_of, inline
from hive_views.materialized.state.refresh_state import UNREPEATABLE, SourceKind
from hive_views.spec.staleness_policy import is_true
from hive_views.sql.analysis.determinism import find_nondeterminism

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog

_K = TypeVar("_K")
_T = TypeVar("_T")
_REMEMBERED = 1_000

_Definitions = tuple[ViewName, str | None, tuple[tuple[ViewName, str | None], ...]]


class Looks:
    """Looks at the materialized views of one catalog. Safe for threads."""

    def __init__(self, catalog: HiveViewCatalog) -> None:
        """Prepare; nothing is read yet."""
        self._catalog = catalog
        self._store = catalog.store
        self.lineages = LineageReader(self._store)
        self.facts = FactReader(self._store)
        self._read_before: OrderedDict[ViewName, frozenset[ViewName]] = OrderedDict()
        self._recorded: OrderedDict[tuple[str | None, str, Layout], Recorded] = OrderedDict()
        self._unrepeatable: OrderedDict[_Definitions, tuple[str, ...]] = OrderedDict()
        self._guard = threading.Lock()

    def sources(self, view: MaterializedView, rows: Rows) -> Sources:
        """What a materialized view reads, as it is now."""
        row = None if view.layout is Layout.TABLE else view.row
        found = observe(self.lineages, self.facts, rows, view.name, row, view.metadata)
        self._remember(self._read_before, view.name, frozenset(rows.used))
        return found

    def rows(self, name: ViewName) -> Rows:
        """The rows for a look at a materialized view: those that its last look read are asked for, all at once."""
        return Rows(self._store, self._read_before.get(name, ()))

    def recorded(self, view: MaterializedView) -> Recorded:
        """The refresh that the storage records; cached, since metadata files never change."""
        if view.storage is None:
            return view.recorded()
        pointer = None if view.layout is Layout.TABLE else view.row.metadata_location
        key = (pointer, view.storage.metadata_location, view.layout)
        known = self._recorded.get(key)
        if known is None:
            known = view.recorded()
            self._remember(self._recorded, key, known)
        return known

    def pin(self, view: MaterializedView) -> tuple[Sources, Freshness]:
        """A look for a refresh: at rows that are asked for now, after the view was loaded."""
        return self.look(view, self.rows(view.name))

    def look(
        self, view: MaterializedView, rows: Rows, now_ms: int | None = None, max_staleness_ms: int | None = None
    ) -> tuple[Sources, Freshness]:
        """Decide how fresh a materialized view's rows are."""
        sources = self.sources(view, rows)
        found = self._complete(view, self.recorded(view), sources)
        staleness = view.max_staleness_ms if max_staleness_ms is None else max_staleness_ms
        now = int(time.time() * 1000) if now_ms is None else now_ms
        return sources, decide(found, sources.observed, now_ms=now, max_staleness_ms=staleness)

    def _complete(self, view: MaterializedView, known: Recorded, sources: Sources) -> Recorded:
        """What is recorded, with what is found in the text where another engine's refresh did not say it."""
        snapshot = view.snapshot
        if known.state is None or snapshot is None or snapshot.summary is None:
            return known
        if is_true(view.properties, REPEATABLE):
            return replace(known, unrepeatable=())
        if UNREPEATABLE in snapshot.summary.additional_properties or known.unrepeatable:
            return known
        # By the definitions: numbers of versions that expired are given again.
        views = (item for item in sources.observed.sources if item.kind is SourceKind.VIEW)
        key = (view.name, sources.observed.definition, tuple((item.name, item.definition) for item in views))
        found = self._unrepeatable.get(key)
        if found is None:
            try:
                leaves = inline(view.name, view.metadata, sources, catalogs_of(self._catalog))
                found = find_nondeterminism(leaves.query)
            except (SqlError, RefreshError):
                # A text that this engine cannot read: L and S decide alone, as the specification has it.
                found = ()
            self._remember(self._unrepeatable, key, found)
        return replace(known, unrepeatable=found)

    def _remember(self, known: OrderedDict[_K, _T], key: _K, value: _T) -> None:
        with self._guard:
            known[key] = value
            known.move_to_end(key)
            while len(known) > _REMEMBERED:
                known.popitem(last=False)
