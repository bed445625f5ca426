"""Materialized views of a catalog: `catalog.materialized`."""

from __future__ import annotations

import fnmatch
import itertools
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pyiceberg.expressions import AlwaysTrue
from pyiceberg.table.snapshots import Operation

from hive_views.dependencies.unreadable_tables import reject_unreadable_tables
from hive_views.dependencies.view_builder import Building, build_definition
from hive_views.dependencies.view_query import ViewQuery, author_dialect
from hive_views.errors import (
    HiveViewsError,
    InvalidPropertyError,
    NoSuchViewError,
    NotMaterializedError,
    RefreshConflictError,
    RefreshError,
    SqlError,
    StaleRowsError,
    after_steps,
)
from hive_views.identifiers import ViewName, parse_namespace
from hive_views.materialized import trino
from hive_views.materialized.checks.checker import FreshnessChecker
from hive_views.materialized.checks.inline import catalog_names, check_definition
from hive_views.materialized.copies import add_copy, readings_by_filters
from hive_views.materialized.drop import drop_materialized
from hive_views.materialized.freshness.verdict import Cause, Freshness, StalenessReason, Verdict
from hive_views.materialized.layouts.layout import Layout
from hive_views.materialized.lifecycle import CreateRequest, create_materialized, to_materialized, to_plain_view
from hive_views.materialized.loading import MaterializedView, layout_of_row, load_materialized, recorded_refresh
from hive_views.materialized.maintenance import garbage_collection
from hive_views.materialized.maintenance.expire import EXPIRE_OLDER_THAN_MS, Expired, expire
from hive_views.materialized.maintenance.garbage_collection import GARBAGE_OLDER_THAN_MS, Garbage
from hive_views.materialized.partial_reads import (
    PartialReading,
    StalePartitions,
    may_have_fresh_partitions,
    partial_reading,
    stale_partitions,
)
from hive_views.materialized.properties import (
    COPIES,
    DOWNSTREAM,
    READ_STORED_ROWS,
    TARGET_LAG,
    is_due,
    when_stale,
)
from hive_views.materialized.redefine import redefine, set_properties
from hive_views.materialized.refresh.actions import Action, Mode
from hive_views.materialized.refresh.explain import RefreshExplanation, explain
from hive_views.materialized.refresh.failures import FailedRefresh, failed_refreshes, last_failure, record_failure
from hive_views.materialized.refresh.many import RefreshOutcome, SourceGraph, refresh_in_order
from hive_views.materialized.refresh.refresh import RefreshReport, refresh
from hive_views.materialized.refresh.scope import RefreshScope
from hive_views.materialized.results import ListedView, PastRefresh, Reading
from hive_views.materialized.time_travel import StoredSnapshot, stored_rows
from hive_views.metastore.queries import RowCache, database_names
from hive_views.metastore.rows.row import RowKind
from hive_views.spec.changes import SetProperties
from hive_views.spec.staleness_policy import METADATA
from hive_views.sql.text.quoting import quote_name

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.table import DataScan
    from pyiceberg.typedef import Identifier

    from hive_views.dependencies.drop import DropBehavior, DropReport
    from hive_views.dependencies.view_builder import ViewDefinition
    from hive_views.dependencies.view_query import Analyzer
    from hive_views.materialized.refresh.request import Engine
    from hive_views.materialized.table_operations import TableOperations
    from hive_views.metastore.store import MetastoreStore


class MaterializedViews:
    """The materialized views of one catalog. Safe for threads.

    An `identifier` is `database.name`, as text or as a tuple, optionally after the catalog's name. Methods that read or
    change a view raise NoSuchViewError if it does not exist, and NotMaterializedError if the name belongs to something
    else.
    """

    def __init__(self, store: MetastoreStore, tables: TableOperations) -> None:
        """Make the materialized views of a catalog; nothing is read yet.

        Args:
            store: Metastore, files and configuration of the catalog.
            tables: Its table operations.
        """
        self._store = store
        self._tables = tables
        self._checker = FreshnessChecker(store, catalog_names(store, tables.name))
        self._cache = self._checker.metadata_cache
        self._trino = trino.TrinoViews(store, tables, self._cache)

    # -- Create, change and drop --------------------------------------------------------------------------------------

    def create(
        self,
        identifier: str | Identifier,
        sql: str | ViewDefinition,
        *,
        layout: Layout | str = Layout.REGISTERED,
        partitioned_by: Sequence[str] = (),
        sorted_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        storage_properties: Mapping[str, str] | None = None,
        location: str | None = None,
        database: str | None = None,
        dialect: str = "spark",
        analyzer: Analyzer | None = None,
    ) -> MaterializedView:
        """Create a materialized view; it has no rows until it is refreshed.

        Args:
            identifier: `database.name`.
            sql: The query as typed, or the result of `catalog.author`.
            layout: `registered`, `attached` or `table`.
            partitioned_by: Columns or transforms (`day(c)`, `bucket(16, c)` …) that partition the stored rows.
            sorted_by: Columns or transforms by which writers sort the rows of each file, such as `c DESC NULLS LAST`.
            properties: View properties, e.g. `hive-views.max-staleness-ms`.
            storage_properties: Properties of the storage table.
            location: Its base location; None puts it below the database's.
            database: The author's current database; None is the view's.
            dialect: The author's dialect: `spark`, `hive` or `trino`.
            analyzer: Computes the column types; see `catalog.author`.

        Returns:
            The materialized view.

        Raises:
            ViewAlreadyExistsError, TableAlreadyExistsError: If the name is taken.
            InvalidPropertyError: If the layout, a property, or a term that partitions or sorts is invalid.
            SqlError: If the query cannot be resolved.
            InvalidViewError: If no refresh can run the query, e.g. because it reads a table by time travel.
        """
        name = self._name(identifier)
        request = CreateRequest(
            name=name,
            definition=self._define(name, sql, database, dialect, analyzer),
            layout=_parse_layout(layout),
            properties=dict(properties or {}),
            partitioned_by=tuple(partitioned_by),
            sorted_by=tuple(sorted_by),
            storage_properties=storage_properties,
            location=location,
        )
        create_materialized(self._store, self._tables, request)
        with after_steps(f"the materialized view {name} was created"):
            return self.load(identifier)

    def create_copy(
        self,
        identifier: str | Identifier,
        copy: str | Identifier,
        *,
        partitioned_by: Sequence[str] = (),
        sorted_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        storage_properties: Mapping[str, str] | None = None,
    ) -> MaterializedView:
        """Give a materialized view another storage, from which a session reads if it suits the filters of a query.

        The copy is a materialized view `SELECT * FROM` the view, which is added to the view's `hive-views.copies`. Its
        refresh reads the stored rows of the view if they are fresh, unless `properties` say otherwise.

        Args:
            identifier: `database.name` of the view.
            copy: `database.name` of the copy, or a name in the view's database.
            partitioned_by: As in `create`.
            sorted_by: As in `create`.
            properties: As in `create`; they are the copy's.
            storage_properties: As in `create`.

        Returns:
            The copy; it has no rows until it is refreshed.

        Raises:
            NoSuchViewError: If there is no such view.
            NotMaterializedError: If the name belongs to something else, or to a view of the layout `table`.
            ViewAlreadyExistsError, TableAlreadyExistsError: If the name of the copy is taken.
            InvalidPropertyError: If a property or a term is invalid.
        """
        view = self.load(identifier)
        if view.layout is Layout.TABLE:
            raise NotMaterializedError(str(view.name), "it is a table with a view attached, which has no copies")
        parts = (view.name.database, copy) if isinstance(copy, str) and "." not in copy else copy
        name = self._name(parts)
        created = self.create(
            name.identifier,
            f"SELECT * FROM {quote_name(view.name.identifier)}",
            partitioned_by=partitioned_by,
            sorted_by=sorted_by,
            properties={READ_STORED_ROWS: "true", **(properties or {})},
            storage_properties=storage_properties,
        )
        with after_steps(f"the materialized view {name} was created; what remains is to add it to {COPIES}"):
            add_copy(self._store, view.name, name)
        return created

    def replace(
        self,
        identifier: str | Identifier,
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
            identifier: `database.name`.
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
        view = self.load(identifier)
        definition = self._define(view.name, sql, database, dialect, analyzer)
        return redefine(self._store, view, definition, dict(properties or {}))

    def set_properties(
        self,
        identifier: str | Identifier,
        updates: Mapping[str, str] | None = None,
        *,
        removals: Collection[str] = (),
    ) -> bool:
        """Set and remove properties, including settings; in the layout `table` they are the table's.

        Args:
            identifier: `database.name`.
            updates: Properties to set; others stay.
            removals: Keys to remove; missing keys are ignored.

        Returns:
            Whether anything changed.

        Raises:
            InvalidPropertyError: If a setting is invalid, or a property cannot be set by users.
        """
        change = SetProperties(updates or {}, frozenset(removals))
        return set_properties(self._store, self.load(identifier), change)

    def drop(
        self, identifier: str | Identifier, *, behavior: DropBehavior | str = "", purge: bool = True
    ) -> DropReport:
        """Drop a materialized view and its storage table, except files that another row in the metastore references.

        Args:
            identifier: `database.name`.
            behavior: `restrict` drops nothing if a view depends on it or on its storage table, `cascade` drops every
                view that depends on them first.
            purge: Whether to delete the files of both. What is kept is logged with the reason.

        Returns:
            The dropped objects, in order, without the storage table.

        Raises:
            DependentsError: If the behavior forbids the drop; nothing was changed.
            CommitFailedError: If it was changed concurrently, or another view has the name now.
        """
        view = self.load(identifier)
        return drop_materialized(self._store, self._tables, view, behavior=behavior, purge=purge)

    def to_plain_view(self, identifier: str | Identifier) -> None:
        """Make it a plain view; the stored rows are kept for `from_plain_view`.

        Raises:
            NotMaterializedError: If it is not a materialized view, or is one of the layout `table`.
        """
        to_plain_view(self._store, self.load(identifier))

    def from_plain_view(self, identifier: str | Identifier, *, partitioned_by: Sequence[str] = ()) -> MaterializedView:
        """Make a plain view a materialized one, with the stored rows that it had, else with a new storage table.

        Args:
            identifier: `database.name`.
            partitioned_by: For a new storage table: how its rows are partitioned.

        Returns:
            The materialized view.

        Raises:
            InvalidViewError: If it is a materialized view already.
        """
        name = self._name(identifier)
        to_materialized(self._store, self._tables, name, partitioned_by)
        with after_steps(f"{name} was made a materialized view"):
            return self.load(identifier)

    # -- Read ---------------------------------------------------------------------------------------------------------

    def load(self, identifier: str | Identifier) -> MaterializedView:
        """Load a materialized view of one of this package's layouts.

        Returns:
            Definition and storage table.

        Raises:
            UnsupportedMaterializedViewError: If it is of a later format.
        """
        return self._load(self._name(identifier), self._checker.rows())

    def listing(self, namespace: str | Identifier) -> list[ListedView]:
        """List the materialized views of a database with their freshness, including those of Trino.

        Args:
            namespace: The database.

        Returns:
            The views by name. One that cannot be read is listed with the verdict UNKNOWN and the reason.

        Raises:
            NoSuchNamespaceError: If there is no such database.
        """
        return self._listing(self._existing_database(namespace), self._checker.rows())

    def overview(self, namespaces: Sequence[str | Identifier] | None = None) -> list[ListedView]:
        """Describe all materialized views: freshness, last refresh, target lag, and what they read.

        Args:
            namespaces: The databases; None describes those of all databases.

        Returns:
            The views by name. `overview_page` makes an HTML page of them.

        Raises:
            NoSuchNamespaceError: If a database does not exist.
        """
        databases = [self._existing_database(item) for item in namespaces or ()]
        rows = self._checker.rows()
        names = database_names(self._store) if namespaces is None else databases
        listed = [item for database in names for item in self._listing(database, rows)]
        sources = self._sources_among([item.name for item in listed], rows)
        return [replace(item, reads=tuple(sorted(sources.get(item.name, ())))) for item in listed]

    def select(
        self,
        namespaces: Sequence[str | Identifier] | None = None,
        *,
        pattern: str = "*",
        stale: bool = False,
        due: bool = False,
        upstream: bool = False,
        downstream: bool = False,
        now_ms: int | None = None,
    ) -> list[ViewName]:
        """Select materialized views of this package, e.g. for `refresh_many`.

        Args:
            namespaces: The databases; None selects from all.
            pattern: A glob on `database.name`, or on the name alone if it has no dot.
            stale: Only those whose rows are neither fresh nor within grace.
            due: Only those whose rows are not fresh and whose last refresh started longer ago than their
                `hive-views.target-lag`; with the lag `downstream`, if a view that reads them is due.
            upstream: Also the materialized views that the selected ones read.
            downstream: Also the materialized views that read the selected ones.
            now_ms: The current time in epoch milliseconds; None reads the clock.

        Returns:
            Their names, each after those of the views that it reads.

        Raises:
            NoSuchNamespaceError: If a database does not exist.
        """
        databases = [self._existing_database(item) for item in namespaces or ()]
        # What depends on a view may be in any database.
        reads_all = namespaces is None or due or downstream
        rows = self._checker.rows()
        listed = [
            item
            for database in (database_names(self._store) if reads_all else databases)
            for item in self._listing(database, rows)
        ]
        listed = [item for item in listed if item.layout is not Layout.TRINO]
        sources = self._sources_among([item.name for item in listed], rows)
        now = int(time.time() * 1000) if now_ms is None else now_ms
        lags = {item.name: item.target_lag_ms for item in listed} if due else {}
        due_names = {item.name for item in listed if is_due(item.freshness, lags.get(item.name), now)}
        needed_by_due = {source for name in due_names for source in sources[name]}
        due_names |= {
            item.name
            for item in listed
            if lags.get(item.name) == DOWNSTREAM and item.name in needed_by_due and not item.freshness.is_fresh
        }
        selected = {
            item.name
            for item in listed
            if (namespaces is None or item.name.database in databases)
            and fnmatch.fnmatchcase(str(item.name) if "." in pattern else item.name.name, pattern.lower())
            and not (stale and item.freshness.usable)
            and not (due and item.name not in due_names)
        }
        chosen = set(selected)
        if upstream:
            chosen |= {source for name in selected for source in sources[name]}
        if downstream:
            chosen |= {name for name, names in sources.items() if selected & names}
        return [name for name in sources if name in chosen]

    def freshness(self, identifier: str | Identifier, *, now_ms: int | None = None) -> Freshness:
        """Check how fresh the stored rows are.

        Args:
            identifier: `database.name` of a materialized view of this package or of Trino.
            now_ms: The current time in epoch milliseconds; None reads the clock.

        Returns:
            The verdict with its reasons.
        """
        name = self._name(identifier)
        rows = self._checker.rows(name)
        row = rows.get(name)
        if row is not None and trino.is_trino_row(row):
            return self._trino.freshness(row, now_ms)
        return self._checker.check(self._load(name, rows), rows, now_ms)[1]

    def reading(
        self,
        identifier: str | Identifier,
        *,
        allow_stale_data: bool | None = None,
        max_staleness_ms: int | None = None,
        now_ms: int | None = None,
    ) -> Reading:
        """Decide whether a query should read the stored rows or the definition.

        Args:
            identifier: `database.name`.
            allow_stale_data: Whether rows that are not fresh are accepted; None takes the view's setting.
            max_staleness_ms: How long after a refresh its rows are accepted in any case, in milliseconds; None takes
                the view's setting.
            now_ms: The current time in epoch milliseconds; None reads the clock.

        Returns:
            The decision. Rows of an earlier definition are never read, nor is a storage table that was never refreshed
            or cannot be read.
        """
        return self._decide(identifier, allow_stale_data, max_staleness_ms, now_ms)[1]

    def readings(self, identifier: str | Identifier, columns: Collection[str] = ()) -> list[Reading]:
        """Decide what a query may read: the stored rows of the view or of one of its copies, or the definition.

        Args:
            identifier: `database.name`.
            columns: The columns that the query filters.

        Returns:
            The decisions, the best for these filters first. That of the view itself is among them.
        """
        view, reading = self._decide(identifier)
        catalogs = catalog_names(self._store, self._tables.name)
        return readings_by_filters(view, reading, lambda name: self._decide(name.identifier), columns, catalogs)

    def stale_partitions(self, identifier: str | Identifier) -> StalePartitions | None:
        """Determine which partitions of the stored rows are stale, if a refresh would recompute only those.

        Returns:
            The stale partitions: all other stored rows are those of the definition, under the settings of the last
            refresh. None if the rows are fresh, or if a change of a source may have changed any row.
        """
        return stale_partitions(self._scope(self.load(identifier)))

    def partial_reading(self, identifier: str | Identifier, engine: Engine) -> PartialReading | None:
        """Decide how a query reads the stored rows of the fresh partitions, and the definition for the others.

        Args:
            identifier: `database.name`.
            engine: The engine of the query.

        Returns:
            What to read; None if the rows are fresh, or if a change of a source may have changed any row.
        """
        return partial_reading(self._scope(self.load(identifier), engine))

    def scan(
        self,
        identifier: str | Identifier,
        *,
        allow_stale_data: bool | None = None,
        max_staleness_ms: int | None = None,
        row_filter: str | BooleanExpression | None = None,
        selected_fields: Sequence[str] = ("*",),
        limit: int | None = None,
    ) -> DataScan:
        """Read the stored rows with PyIceberg, without Spark, if a query may read them.

        Args:
            identifier: `database.name`.
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
        view, reading = self._decide(identifier, allow_stale_data, max_staleness_ms, None)
        if view.storage is None or not reading.from_storage:
            raise StaleRowsError(str(view.name), str(reading.freshness))
        return view.storage.scan(
            row_filter=AlwaysTrue() if row_filter is None else row_filter,
            selected_fields=tuple(selected_fields),
            snapshot_id=reading.snapshot_id,
            limit=limit,
        )

    def refreshes(self, identifier: str | Identifier) -> list[PastRefresh]:
        """List the refreshes whose rows the storage table still has, for time travel.

        Returns:
            Snapshots with their refresh states, oldest first; in the layout `attached` those that its list still has.
            A compaction is not a refresh: its rows are those of the refresh before it.
        """
        view = self.load(identifier)
        if view.storage is None:
            return []
        metadata = view.storage.metadata
        published = {entry.snapshot_id for entry in metadata.snapshot_log}
        refreshes = []
        for snapshot in sorted(metadata.snapshots, key=lambda item: item.timestamp_ms):
            is_compaction = snapshot.summary is not None and snapshot.summary.operation is Operation.REPLACE
            if snapshot.snapshot_id not in published or is_compaction:
                continue
            state = recorded_refresh(view, snapshot).state
            if state is not None:
                refreshes.append(PastRefresh.of(snapshot, state))
        return refreshes

    def failed_refreshes(self, identifier: str | Identifier) -> list[FailedRefresh]:
        """List the last failed refreshes; a failure that repeats the one before it is not recorded.

        Returns:
            At most 5 failures, oldest first. A conflict with a concurrent refresh is not one.
        """
        return list(failed_refreshes(self.load(identifier).properties))

    def stored(
        self, identifier: str | Identifier, *, version: int | str | None = None, at_ms: int | None = None
    ) -> StoredSnapshot:
        """Find the current stored rows, or earlier ones.

        Args:
            identifier: `database.name`.
            version: A snapshot id, or the name of a branch or tag of the storage table; None is the current snapshot.
            at_ms: A time in epoch milliseconds, instead of a version.

        Returns:
            The storage table and its snapshot.

        Raises:
            NoSuchRefreshError: If the storage table does not have such rows.
            RefreshError: If the storage table cannot be read.
        """
        return stored_rows(self.load(identifier), version=version, at_ms=at_ms)

    def trino_definition(self, identifier: str | Identifier) -> trino.TrinoDefinition:
        """Read the definition of a materialized view that Trino created.

        Returns:
            Its query, columns and grace period.

        Raises:
            NotMaterializedError: If the name does not belong to a materialized view of Trino.
            InvalidRefreshStateError: If its row cannot be read.
        """
        return self._trino.definition(self._name(identifier))

    def trino_storage(self, identifier: str | Identifier) -> str:
        """Find the metadata file of the storage table of a materialized view that Trino created.

        Returns:
            Its URI.

        Raises:
            NotMaterializedError: If the name does not belong to a materialized view of Trino.
            NoSuchTableError: If its storage table does not exist.
        """
        return self._trino.storage(self._trino.row(self._name(identifier)))

    # -- Refresh ------------------------------------------------------------------------------------------------------

    def refresh(
        self,
        identifier: str | Identifier,
        engine: Engine,
        *,
        mode: Mode | str = Mode.AUTO,
        cascade: bool = False,
        progress: Callable[[str], None] | None = None,
    ) -> list[RefreshReport]:
        """Bring the stored rows up to date.

        Args:
            identifier: `database.name`.
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
        name = self._name(identifier)
        order = [*(self.materialized_sources(name) if cascade else ()), name]
        outcomes = self.refresh_many([item.identifier for item in order], engine, mode=mode, progress=progress)
        reports = [outcome.report for outcome in outcomes if outcome.report is not None]
        for outcome in outcomes:
            if outcome.error is not None:
                if isinstance(outcome.error, (RefreshError, RefreshConflictError)):
                    outcome.error.completed = tuple(f"{report.name}: {report.action}" for report in reports)
                outcome.error.add_completed_steps(
                    *(f"{report.name} was refreshed" for report in reports if report.action is not Action.UNCHANGED)
                )
                raise outcome.error
        return reports

    def explain(self, identifier: str | Identifier, engine: Engine | None = None) -> RefreshExplanation:
        """Explain how a refresh would compute the rows, without computing or writing any.

        Args:
            identifier: `database.name`.
            engine: The engine of the refresh; None assumes the settings of the last one.

        Returns:
            The plans in the order of preference with their reasons, and the changes of the tables that it reads.

        Raises:
            RefreshError: If it cannot be refreshed.
            SqlError: If its text cannot be read.
        """
        return explain(self._scope(self.load(identifier), engine))

    def refresh_many(
        self,
        identifiers: Sequence[str | Identifier],
        engine: Engine,
        *,
        mode: Mode | str = Mode.AUTO,
        parallel: int = 1,
        progress: Callable[[str], None] | None = None,
    ) -> list[RefreshOutcome]:
        """Refresh several materialized views, each once and after those among them that it reads.

        A failure skips only the views that depend on it. A view whose rows are fresh is left unchanged, so that the
        same call again continues after an interruption.

        Args:
            identifiers: The views, in any order, e.g. from `select`.
            engine: Runs the queries and writes the rows, e.g. `hive_views.spark.SparkEngine`.
            mode: `auto`, `full` or `incremental`.
            parallel: How many independent views to refresh at the same time, in threads.
            progress: Called with a line of text at each step.

        Returns:
            One outcome for each view, in the order in which they ended.

        Raises:
            InvalidIdentifierError: If a name is invalid.
        """
        names = list(dict.fromkeys(self._name(identifier) for identifier in identifiers))
        sources = self._sources_among(names, self._checker.rows()) if len(names) > 1 else {}
        numbers = itertools.count(1)

        def refresh_one(name: ViewName) -> RefreshReport:
            item_progress = progress
            if progress is not None and len(names) > 1:
                item_progress = _with_prefix(progress, f"[{next(numbers)}/{len(names)}] ")
            view, started_ms, started = self.load(name.identifier), int(time.time() * 1000), time.monotonic()
            try:
                return refresh(self._scope(view, engine), Mode(mode), item_progress)
            except (RefreshError, SqlError) as error:
                seconds = time.monotonic() - started
                record_failure(self._store, view, started_ms, seconds, error.reason)
                raise

        return refresh_in_order([*filter(names.__contains__, sources)] or names, sources, refresh_one, parallel)

    def materialized_sources(self, name: ViewName) -> list[ViewName]:
        """List the materialized views among the direct and transitive sources of one.

        Args:
            name: The materialized view.

        Returns:
            Their names, each before those of the views that read it.
        """
        graph = SourceGraph(self._checker, self._checker.rows(), self._load)
        needed = graph.materialized_sources(name)
        return [item for item in graph.ordered if item in needed]

    # -- Maintenance --------------------------------------------------------------------------------------------------

    def expire(
        self, identifier: str | Identifier, *, older_than_ms: int = EXPIRE_OLDER_THAN_MS, keep: int = 1
    ) -> Expired:
        """Expire earlier snapshots of the storage table and delete their files.

        The current snapshot and those of branches and tags are always kept.

        Args:
            identifier: `database.name`.
            older_than_ms: How long ago the rows must have been replaced, in milliseconds. Queries that still read them
                fail.
            keep: How many of the last snapshots to keep in any case; at least 1.

        Returns:
            What was expired.

        Raises:
            RefreshConflictError: If the storage table was changed concurrently; nothing was expired.
            SharedFilesError: If another row in the metastore references the storage table's files.
        """
        return expire(self._store, self.load(identifier), older_than_ms=older_than_ms, keep=keep)

    def orphans(self, identifier: str | Identifier, *, older_than_ms: int = GARBAGE_OLDER_THAN_MS) -> Garbage:
        """Find what interrupted refreshes of a materialized view left behind.

        Args:
            identifier: `database.name`.
            older_than_ms: Minimum age in milliseconds: a running refresh has such files, too.

        Returns:
            Unpublished snapshots, staging tables and unreferenced files.
        """
        view = self.load(identifier)
        return garbage_collection.find_view_garbage(self._store, self._tables, view, older_than_ms=older_than_ms)

    def remove_orphans(self, identifier: str | Identifier, *, older_than_ms: int = GARBAGE_OLDER_THAN_MS) -> Garbage:
        """Remove what `orphans` finds, and return what was removed; the arguments are the same."""
        view = self.load(identifier)
        return garbage_collection.remove_view_garbage(self._store, self._tables, view, older_than_ms=older_than_ms)

    def abandoned(
        self,
        namespace: str | Identifier,
        *,
        older_than_ms: int = GARBAGE_OLDER_THAN_MS,
        locations: Sequence[str] = (),
    ) -> Garbage:
        """Find storage tables and files in a database whose materialized view does not exist.

        Args:
            namespace: The database.
            older_than_ms: Minimum age in milliseconds: a running creation has no view yet.
            locations: Base locations outside of the database's own to search as well.

        Returns:
            Storage tables, staging tables, files and definitions.

        Raises:
            NoSuchNamespaceError: If there is no such database.
        """
        database = parse_namespace(namespace, catalog=self._tables.name)
        return garbage_collection.find_database_garbage(
            self._store, database, older_than_ms=older_than_ms, locations=locations
        )

    def remove_abandoned(
        self,
        namespace: str | Identifier,
        *,
        older_than_ms: int = GARBAGE_OLDER_THAN_MS,
        locations: Sequence[str] = (),
        definitions: bool = False,
    ) -> Garbage:
        """Remove what `abandoned` finds, and return what was removed.

        Args:
            namespace: The database.
            older_than_ms: As in `abandoned`.
            locations: As in `abandoned`.
            definitions: Whether to remove definitions, too. They cannot be restored.
        """
        database = parse_namespace(namespace, catalog=self._tables.name)
        return garbage_collection.remove_database_garbage(
            self._store,
            self._tables,
            database,
            older_than_ms=older_than_ms,
            locations=locations,
            definitions=definitions,
        )

    # -- Internal -----------------------------------------------------------------------------------------------------

    def _decide(
        self,
        identifier: str | Identifier,
        allow_stale_data: bool | None = None,
        max_staleness_ms: int | None = None,
        now_ms: int | None = None,
    ) -> tuple[MaterializedView, Reading]:
        name = self._name(identifier)
        rows = self._checker.rows(name)
        view = self._load(name, rows)
        freshness = self._checker.check(view, rows, now_ms, max_staleness_ms)[1]
        allow_stale = view.allow_stale_data if allow_stale_data is None else allow_stale_data
        snapshot = view.snapshot
        is_allowed = freshness.usable or (allow_stale and not freshness.has_other_rows)
        if snapshot is None or view.storage is None or not is_allowed:
            why, policy = f"definition: {freshness}", when_stale(view.properties)
            has_partitions = not freshness.has_other_rows and may_have_fresh_partitions(view, freshness)
            return view, Reading(
                from_storage=False,
                why=why,
                freshness=freshness,
                when_stale=policy,
                may_have_fresh_partitions=has_partitions,
            )
        why = f"storage: {freshness}" + ("" if freshness.usable else " (stale rows are allowed)")
        reading = Reading(
            from_storage=True,
            why=why,
            freshness=freshness,
            storage=view.storage_name,
            metadata_location=view.storage.metadata_location,
            snapshot_id=snapshot.snapshot_id,
            settings=view.last_refresh().settings,
            when_stale=when_stale(view.properties),
        )
        return view, reading

    def _name(self, identifier: str | Identifier) -> ViewName:
        return ViewName.parse(identifier, catalog=self._tables.name)

    def _existing_database(self, namespace: str | Identifier) -> str:
        database = parse_namespace(namespace, catalog=self._tables.name)
        self._store.client.get_database(database)
        return database

    def _load(self, name: ViewName, rows: RowCache) -> MaterializedView:
        return load_materialized(self._store, self._tables, name, self._cache, rows)

    def _scope(self, view: MaterializedView, engine: Engine | None = None) -> RefreshScope:
        return RefreshScope(self._store, self._tables, view, self._checker, engine)

    def _define(
        self,
        name: ViewName,
        sql: str | ViewDefinition,
        database: str | None,
        dialect: str,
        analyzer: Analyzer | None,
    ) -> ViewDefinition:
        definition = sql
        if isinstance(definition, str):
            query = ViewQuery(
                sql=definition,
                dialect=author_dialect(dialect),
                database=(database or name.database).lower(),
                analyzer=analyzer,
            )
            # The text of the row is not rewritten for Trino: refreshes analyze it, and Trino reads the storage.
            definition = build_definition(self._store, name, query, Building(catalog_name=self._tables.name))
        check_definition(name, definition.version)
        reject_unreadable_tables(self._store, name, definition.tables)
        return definition

    def _sources_among(self, names: Sequence[ViewName], rows: RowCache) -> dict[ViewName, set[ViewName]]:
        """The direct and transitive sources of views that are materialized, in the order of their dependencies."""
        graph = SourceGraph(self._checker, rows, self._load)
        sources = {name: graph.materialized_sources(name) for name in names}
        ordered = [*(name for name in graph.ordered if name in sources), *names]  # names that are gone come last
        return {name: sources[name] for name in ordered}

    def _listing(self, database: str, rows: RowCache) -> list[ListedView]:
        """Return the materialized views of a database; rows are read in batches, and shared."""
        names = [ViewName(database, table) for table in sorted(self._store.client.get_all_tables(database))]
        rows.load(names)
        rows.load(source for name in names for source in self._checker.expected_rows(rows.find(name)))
        return [item for name in names if (item := self._list_one(name, rows.shared())) is not None]

    def _list_one(self, name: ViewName, rows: RowCache) -> ListedView | None:
        row = None
        try:
            row = rows.get(name)
            if row is None:
                return None
            if trino.is_trino_row(row):
                return ListedView(name=name, layout=Layout.TRINO, freshness=self._trino.freshness(row, None))
            if row.kind is RowKind.HIVE_VIEW or row.kind is RowKind.HIVE_TABLE:
                return None
            if row.kind is RowKind.ICEBERG_TABLE and METADATA not in row.parameters:
                return None
            view = self._load(name, rows)
            freshness, state = self._checker.check(view, rows)[1], view.last_refresh().state
            last = None if view.snapshot is None or state is None else PastRefresh.of(view.snapshot, state)
            failure = last_failure(view, freshness.refreshed_ms)
            return ListedView(
                name=name,
                layout=view.layout,
                freshness=freshness,
                last=last,
                target_lag=view.properties.get(TARGET_LAG),
                failure=failure,
            )
        except NoSuchViewError:  # dropped meanwhile, or (NotMaterializedError) a plain view
            return None
        except HiveViewsError as error:
            unknown = Freshness(Verdict.UNKNOWN, (StalenessReason(Cause.STORAGE, detail=str(error)),))
            layout = Layout.REGISTERED if row is None else layout_of_row(row)
            return None if layout is None else ListedView(name=name, layout=layout, freshness=unknown)


def _parse_layout(layout: Layout | str) -> Layout:
    try:
        return Layout(layout)
    except ValueError:
        raise InvalidPropertyError("layout", str(layout), "it must be registered, attached or table") from None


def _with_prefix(progress: Callable[[str], None], prefix: str) -> Callable[[str], None]:
    return lambda line: progress(f"{prefix}{line}")
