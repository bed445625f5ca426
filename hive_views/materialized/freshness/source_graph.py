"""The materialized views among the sources of others: the order in which they are refreshed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hive_views.errors import HiveViewsError
from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.cache import RowReader
from hive_views.materialized.layouts.loading import is_materialized
from hive_views.metastore.row_codec import RowKind
from hive_views.spec.staleness_policy import METADATA

if TYPE_CHECKING:
    from collections.abc import Callable

    from hive_views.materialized.freshness.checker import FreshnessChecker
    from hive_views.materialized.layouts.loading import MaterializedView


class SourceGraph:
    """Follows the sources of views down to tables; each row is read once.

    Attributes:
        ordered: The materialized views that were visited, each after those that it reads.
    """

    def __init__(
        self, checker: FreshnessChecker, rows: RowReader, load: Callable[[ViewName, RowReader], MaterializedView]
    ) -> None:
        self._checker = checker
        self._rows = rows
        self._load = load
        self._visited: dict[ViewName, set[ViewName]] = {}
        self.ordered: list[ViewName] = []

    def materialized_sources(self, name: ViewName) -> set[ViewName]:
        """The materialized views among the direct and transitive sources of a view, without itself."""
        return self._visit(name) - {name}

    def _visit(self, name: ViewName) -> set[ViewName]:
        """The materialized views among a name and its sources."""
        if name in self._visited:
            return self._visited[name]
        self._visited[name] = set()  # ends a cycle
        try:
            sources, has_stored_rows = self._direct_sources(name)
        except HiveViewsError:
            return self._visited[name]  # a refresh of it reports what is wrong
        result = {item for source in sources for item in self._visit(source)}
        if has_stored_rows:
            result.add(name)
            self.ordered.append(name)
        self._visited[name] = result
        return result

    def _direct_sources(self, name: ViewName) -> tuple[list[ViewName], bool]:
        """The sources of an object, and whether it is a materialized view."""
        row = self._rows.get(name)
        if row is None:
            return [], False
        if row.kind is RowKind.ICEBERG_TABLE:
            if METADATA not in row.parameters:
                return [], False
            rows = self._rows.shared()
            observed = self._checker.sources(self._load(name, rows), rows).observed
            return [source.name for source in observed.sources], True
        if not row.kind.is_view:
            return [], False
        is_stored = row.kind is RowKind.ICEBERG_VIEW and is_materialized(
            self._checker.metadata_cache.view(row.metadata_location or "")
        )
        return [item.name for item in self._checker.lineage_reader.read(row, self._rows.get).dependencies], is_stored
