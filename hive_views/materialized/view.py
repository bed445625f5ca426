"""One materialized view of a catalog: its state, and what can be done with it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from pyiceberg.expressions import AlwaysTrue
from pyiceberg.table.snapshots import Operation

from hive_views.dependencies.view_changes import check_same
from hive_views.errors import StaleRowsError
from hive_views.materialized.definition import define_materialized, materialized_query
from hive_views.materialized.drop import drop_materialized
from hive_views.materialized.lifecycle import to_plain_view
from hive_views.materialized.loading import LoadedMaterializedView, recorded_refresh
from hive_views.materialized.maintenance import garbage_collection
from hive_views.materialized.maintenance.expire import EXPIRE_OLDER_THAN_MS, Expired, expire
from hive_views.materialized.maintenance.garbage_collection import GARBAGE_OLDER_THAN_MS, Garbage
from hive_views.materialized.partial_reads import PartialReading, StalePartitions, partial_reading, stale_partitions
from hive_views.materialized.readings import StalenessLimits, decide_reading
from hive_views.materialized.redefine import redefine, set_properties
from hive_views.materialized.refresh.actions import Mode
from hive_views.materialized.refresh.explain import RefreshExplanation, explain
from hive_views.materialized.refresh.failures import FailedRefresh, failed_refreshes
from hive_views.materialized.refresh.many import completed_reports, materialized_sources, refresh_views
from hive_views.materialized.refresh.refresh import RefreshReport
from hive_views.materialized.refresh.scope import RefreshScope
from hive_views.materialized.results import PastRefresh, Reading
from hive_views.materialized.services import MaterializedServices
from hive_views.materialized.time_travel import StoredSnapshot, stored_rows
from hive_views.metastore.store import LoadedView
from hive_views.spec.changes import SetProperties

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.table import DataScan

    from hive_views.dependencies.drop import DropBehavior, DropReport
    from hive_views.dependencies.view_builder import ViewDefinition
    from hive_views.dependencies.view_query import Analyzer
    from hive_views.materialized.refresh.request import Engine


@dataclass(frozen=True, kw_only=True)
class MaterializedView(LoadedMaterializedView):
    """A materialized view of a catalog, as `catalog.materialized.load` returns it.

    Its attributes are its state at that moment. Methods that read its rows, refresh it, drop it or collect garbage use
    its current state. The others use the loaded state: load it again after a change.

    If another program has dropped it since, its methods raise NoSuchViewError. If another view has its name now,
    those that read rows, change or drop it raise CommitFailedError, and so does `replace` if it was redefined;
    `refresh` refreshes the view that has the name.
    """

    services: MaterializedServices = field(repr=False, compare=False)
    """The services of its catalog."""

    @classmethod
    def of(cls, loaded: LoadedMaterializedView, services: MaterializedServices) -> MaterializedView:
        """Return a loaded view with the services of its catalog."""
        return cls(**{item.name: getattr(loaded, item.name) for item in fields(loaded)}, services=services)

    # -- Change and drop ----------------------------------------------------------------------------------------------

    def replace(
        self,
        sql: str | ViewDefinition,
        *,
        properties: Mapping[str, str] | None = None,
        database: str | None = None,
        dialect: str = "spark",
        analyzer: Analyzer | None = None,
    ) -> bool:
        """Replace the definition.

        The stored rows answer no query until the next refresh, which is a full one, unless the new definition is the
        same query, written differently.

        That refresh also gives the new columns to the storage table, in the same commit as the rows.

        Args:
            sql: The query as typed, or the result of `catalog.author`.
            properties: View properties to set in the same commit; others stay.
            database: The author's current database; None is the view's.
            dialect: The author's dialect: `spark`, `hive` or `trino`.
            analyzer: Computes the column types; see `catalog.author`.

        Returns:
            Whether anything changed.

        Raises:
            InvalidPropertyError: If its rows are partitioned by a column that the new definition does not have.
            SqlError: If the query cannot be resolved.
            InvalidViewError: If no refresh can run the query, e.g. because it reads a table by time travel.
        """
        query = materialized_query(self.name, sql, database, dialect, analyzer)
        definition = define_materialized(self.services, self.name, query)
        return redefine(self.services.store, self, definition, dict(properties or {}))

    def set_properties(
        self,
        updates: Mapping[str, str] | None = None,
        *,
        removals: Collection[str] = (),
    ) -> bool:
        """Set and remove properties, including settings; in the layout `table` they are the table's.

        Args:
            updates: Properties to set; others stay.
            removals: Keys to remove; missing keys are ignored.

        Returns:
            Whether anything changed.

        Raises:
            InvalidPropertyError: If a setting is invalid, or a property cannot be set by users.
        """
        change = SetProperties(updates or {}, frozenset(removals))
        return set_properties(self.services.store, self, change)

    def drop(self, *, behavior: DropBehavior | str = "", purge: bool = True) -> DropReport:
        """Drop a materialized view and its storage table, except files that another row in the metastore references.

        Args:
            behavior: `restrict` drops nothing if a view depends on it or on its storage table, `cascade` drops every
                view that depends on them first.
            purge: Whether to delete the files of both. What is kept is logged with the reason.

        Returns:
            The dropped objects, in order, without the storage table.

        Raises:
            DependentsError: If the behavior forbids the drop; nothing was changed.
            CommitFailedError: If it was changed concurrently, or another view has the name now.
        """
        services = self.services
        return drop_materialized(services.store, services.tables, self._current(), behavior=behavior, purge=purge)

    def to_plain_view(self) -> None:
        """Make it a plain view; the stored rows are kept for `from_plain_view`.

        Raises:
            NotMaterializedError: If it is not a materialized view, or is one of the layout `table`.
        """
        to_plain_view(self.services.store, self)

    # -- Read ---------------------------------------------------------------------------------------------------------

    def reading(
        self,
        *,
        allow_stale_data: bool | None = None,
        max_staleness_ms: int | None = None,
        now_ms: int | None = None,
    ) -> Reading:
        """Decide whether a query should read the stored rows or the definition.

        Args:
            allow_stale_data: Whether rows that are not fresh are accepted; None takes the view's setting.
            max_staleness_ms: How long after a refresh its rows are accepted in any case, in milliseconds; None takes
                the view's setting.
            now_ms: The current time in epoch milliseconds; None reads the clock.

        Returns:
            The decision. Rows of an earlier definition are never read, nor is a storage table that was never refreshed
            or cannot be read.
        """
        limits = StalenessLimits(allow_stale_data, max_staleness_ms, now_ms)
        return decide_reading(self.services, self._unless_changed(), limits=limits)

    def scan(
        self,
        *,
        allow_stale_data: bool | None = None,
        max_staleness_ms: int | None = None,
        row_filter: str | BooleanExpression | None = None,
        selected_fields: Sequence[str] = ("*",),
        limit: int | None = None,
    ) -> DataScan:
        """Read the stored rows with PyIceberg, without Spark, if a query may read them.

        Args:
            allow_stale_data: As in `reading`.
            max_staleness_ms: As in `reading`.
            row_filter: PyIceberg's expression, or its text; None reads all rows.
            selected_fields: Names of columns.
            limit: The maximum number of rows.

        Returns:
            PyIceberg's scan of the snapshot whose freshness was checked: `to_arrow()`, `to_duckdb(table_name)`,
            `to_pandas()`.

        Raises:
            StaleRowsError: If `reading` decides for the definition, which only an engine can compute.
        """
        view = self._current()
        reading = decide_reading(
            self.services, view, limits=StalenessLimits(allow_stale_data, max_staleness_ms, now_ms=None)
        )
        if view.storage is None or not reading.from_storage:
            raise StaleRowsError(str(self.name), str(reading.freshness))
        return view.storage.scan(
            row_filter=AlwaysTrue() if row_filter is None else row_filter,
            selected_fields=tuple(selected_fields),
            snapshot_id=reading.snapshot_id,
            limit=limit,
        )

    def stale_partitions(self) -> StalePartitions | None:
        """Determine which partitions of the stored rows are stale, if a refresh would recompute only those.

        Returns:
            The stale partitions: all other stored rows are those of the definition, under the settings of the last
            refresh. None if the rows are fresh, or if a change of a source may have changed any row.
        """
        return stale_partitions(self._scope())

    def partial_reading(self, engine: Engine) -> PartialReading | None:
        """Decide how a query reads the stored rows of the fresh partitions, and the definition for the others.

        Args:
            engine: The engine of the query.

        Returns:
            What to read; None if the rows are fresh, or if a change of a source may have changed any row.
        """
        return partial_reading(self._scope(engine))

    def refreshes(self) -> list[PastRefresh]:
        """List the refreshes whose rows the storage table still has, for time travel.

        Returns:
            Snapshots with their refresh states, oldest first; in the layout `attached` those that its list still has.
            A compaction is not a refresh: its rows are those of the refresh before it.
        """
        if self.storage is None:
            return []
        metadata = self.storage.metadata
        published = {entry.snapshot_id for entry in metadata.snapshot_log}
        refreshes = []
        for snapshot in sorted(metadata.snapshots, key=lambda item: item.timestamp_ms):
            is_compaction = snapshot.summary is not None and snapshot.summary.operation is Operation.REPLACE
            if snapshot.snapshot_id not in published or is_compaction:
                continue
            state = recorded_refresh(self, snapshot).state
            if state is not None:
                refreshes.append(PastRefresh.of(snapshot, state))
        return refreshes

    def failed_refreshes(self) -> list[FailedRefresh]:
        """List the last failed refreshes; a failure that repeats the one before it is not recorded.

        Returns:
            At most 5 failures, oldest first. A conflict with a concurrent refresh is not one.
        """
        return list(failed_refreshes(self.properties))

    def stored(self, *, version: int | str | None = None, at_ms: int | None = None) -> StoredSnapshot:
        """Find the current stored rows, or earlier ones.

        Args:
            version: A snapshot id, or the name of a branch or tag of the storage table; None is the current snapshot.
            at_ms: A time in epoch milliseconds, instead of a version.

        Returns:
            The storage table and its snapshot.

        Raises:
            NoSuchRefreshError: If the storage table does not have such rows.
            RefreshError: If the storage table cannot be read.
        """
        return stored_rows(self, version=version, at_ms=at_ms)

    # -- Refresh and maintenance --------------------------------------------------------------------------------------

    def refresh(
        self,
        engine: Engine,
        *,
        mode: Mode | str = Mode.AUTO,
        cascade: bool = False,
        progress: Callable[[str], None] | None = None,
    ) -> list[RefreshReport]:
        """Bring the stored rows up to date.

        Args:
            engine: Runs the query and writes the rows, e.g. `hive_views.spark.SparkEngine`.
            mode: `auto`, `full` or `incremental`.
            cascade: First refresh the materialized views among its sources, each once, in the order of their
                dependencies.
            progress: Called with a line of text at each step.

        Returns:
            What was done, the view itself last.

        Raises:
            RefreshError: If it cannot be refreshed; `completed` names what was refreshed before.
            RefreshConflictError: If another refresh finished first; likewise.
        """
        names = [*(materialized_sources(self.services, self.name) if cascade else ()), self.name]
        return completed_reports(refresh_views(self.services, names, engine, mode=Mode(mode), progress=progress))

    def explain(self, engine: Engine | None = None) -> RefreshExplanation:
        """Explain how a refresh would compute the rows, without computing or writing any.

        Args:
            engine: The engine of the refresh; None assumes the settings of the last one.

        Returns:
            The plans in the order of preference with their reasons, and the changes of the tables that it reads.

        Raises:
            RefreshError: If it cannot be refreshed.
            SqlError: If its text cannot be read.
        """
        return explain(self._scope(engine))

    def expire(self, *, older_than_ms: int = EXPIRE_OLDER_THAN_MS, keep: int = 1) -> Expired:
        """Expire earlier snapshots of the storage table and delete their files.

        The current snapshot and those of branches and tags are always kept.

        Args:
            older_than_ms: How long ago the rows must have been replaced, in milliseconds. Queries that still read them
                fail.
            keep: How many of the last snapshots to keep in any case; at least 1.

        Returns:
            What was expired.

        Raises:
            RefreshConflictError: If the storage table was changed concurrently; nothing was expired.
            SharedFilesError: If another row in the metastore references the storage table's files.
        """
        return expire(self.services.store, self._current(), older_than_ms=older_than_ms, keep=keep)

    def orphans(self, *, older_than_ms: int = GARBAGE_OLDER_THAN_MS) -> Garbage:
        """Find what interrupted refreshes of a materialized view left behind.

        Args:
            older_than_ms: Minimum age in milliseconds: a running refresh has such files, too.

        Returns:
            Unpublished snapshots, staging tables and unreferenced files.
        """
        services = self.services
        return garbage_collection.find_view_garbage(
            services.store, services.tables, self._current(), older_than_ms=older_than_ms
        )

    def remove_orphans(self, *, older_than_ms: int = GARBAGE_OLDER_THAN_MS) -> Garbage:
        """Remove what `orphans` finds, and return what was removed; the arguments are the same."""
        services = self.services
        return garbage_collection.remove_view_garbage(
            services.store, services.tables, self._current(), older_than_ms=older_than_ms
        )

    def _current(self) -> LoadedMaterializedView:
        """Load it again; raises NoSuchViewError, NotMaterializedError, or DefinitionChangedError if it is another."""
        current = self.services.load(self.name)
        check_same(LoadedView(self.row, self.metadata), LoadedView(current.row, current.metadata), definition=False)
        return current

    def _unless_changed(self) -> LoadedMaterializedView:
        """Return it, or load it again if its row has changed, with one request."""
        row = self.services.store.get_row(self.name)
        is_same = row is not None and row.metadata_location == self.row.metadata_location
        return self if is_same else self._current()

    def _scope(self, engine: Engine | None = None) -> RefreshScope:
        services = self.services
        return RefreshScope(services.store, services.tables, self, services.checker, engine)
