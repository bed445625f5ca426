"""Materialized views of a catalog: `catalog.materialized`."""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hive_views.errors import (
    HiveViewsError,
    InvalidPropertyError,
    NoSuchViewError,
    NotMaterializedError,
    after_steps,
)
from hive_views.identifiers import ViewName, parse_namespace
from hive_views.materialized import trino
from hive_views.materialized.checks.checker import FreshnessChecker
from hive_views.materialized.checks.inline import catalog_names
from hive_views.materialized.copies import add_copy, readings_by_filters
from hive_views.materialized.definition import define_materialized, materialized_query
from hive_views.materialized.freshness.verdict import Cause, Freshness, StalenessReason, Verdict
from hive_views.materialized.layouts.layout import Layout
from hive_views.materialized.lifecycle import CreateRequest, create_materialized, to_materialized
from hive_views.materialized.loading import LoadedMaterializedView, layout_of_row
from hive_views.materialized.maintenance import garbage_collection
from hive_views.materialized.maintenance.garbage_collection import GARBAGE_OLDER_THAN_MS, Garbage
from hive_views.materialized.properties import (
    COPIES,
    DOWNSTREAM,
    READ_STORED_ROWS,
    TARGET_LAG,
    is_due,
)
from hive_views.materialized.readings import decide_reading
from hive_views.materialized.refresh.actions import Mode
from hive_views.materialized.refresh.failures import last_failure
from hive_views.materialized.refresh.many import RefreshOutcome, refresh_views, sources_among
from hive_views.materialized.results import ListedView, PastRefresh, Reading
from hive_views.materialized.services import MaterializedServices
from hive_views.materialized.view import MaterializedView
from hive_views.metastore.queries import RowCache, database_names
from hive_views.metastore.rows.row import RowKind
from hive_views.spec.staleness_policy import METADATA
from hive_views.sql.text.quoting import quote_name

if TYPE_CHECKING:
    from pyiceberg.typedef import Identifier

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
        checker = FreshnessChecker(store, catalog_names(store, tables.name))
        self._services = MaterializedServices(store, tables, checker)
        self._trino = trino.TrinoViews(store, tables, checker.metadata_cache)

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
            definition=define_materialized(
                self._services, name, materialized_query(name, sql, database, dialect, analyzer)
            ),
            layout=_parse_layout(layout),
            properties=dict(properties or {}),
            partitioned_by=tuple(partitioned_by),
            sorted_by=tuple(sorted_by),
            storage_properties=storage_properties,
            location=location,
        )
        create_materialized(self._services.store, self._services.tables, request)
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
            add_copy(self._services.store, view.name, name)
        return created

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
        to_materialized(self._services.store, self._services.tables, name, partitioned_by)
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
        return MaterializedView.of(self._services.load(self._name(identifier)), self._services)

    def listing(self, namespace: str | Identifier) -> list[ListedView]:
        """List the materialized views of a database with their freshness, including those of Trino.

        Args:
            namespace: The database.

        Returns:
            The views by name. One that cannot be read is listed with the verdict UNKNOWN and the reason.

        Raises:
            NoSuchNamespaceError: If there is no such database.
        """
        return self._listing(self._existing_database(namespace), self._services.checker.rows())

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
        rows = self._services.checker.rows()
        names = database_names(self._services.store) if namespaces is None else databases
        listed = [item for database in names for item in self._listing(database, rows)]
        sources = sources_among(self._services, [item.name for item in listed], rows)
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
        rows = self._services.checker.rows()
        listed = [
            item
            for database in (database_names(self._services.store) if reads_all else databases)
            for item in self._listing(database, rows)
        ]
        listed = [item for item in listed if item.layout is not Layout.TRINO]
        sources = sources_among(self._services, [item.name for item in listed], rows)
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
        rows = self._services.checker.rows(name)
        row = rows.get(name)
        if row is not None and trino.is_trino_row(row):
            return self._trino.freshness(row, now_ms)
        return self._services.checker.check(self._services.load(name, rows), rows, now_ms)[1]

    def readings(self, identifier: str | Identifier, columns: Collection[str] = ()) -> list[Reading]:
        """Decide what a query may read: the stored rows of the view or of one of its copies, or the definition.

        Args:
            identifier: `database.name`.
            columns: The columns that the query filters.

        Returns:
            The decisions, the best for these filters first. That of the view itself is among them.
        """
        view, reading = self._decide(self._name(identifier))
        catalogs = catalog_names(self._services.store, self._services.tables.name)
        return readings_by_filters(view, reading, self._decide, columns, catalogs)

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
        return refresh_views(self._services, names, engine, mode=Mode(mode), parallel=parallel, progress=progress)

    # -- Maintenance --------------------------------------------------------------------------------------------------

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
        database = parse_namespace(namespace, catalog=self._services.tables.name)
        return garbage_collection.find_database_garbage(
            self._services.store, database, older_than_ms=older_than_ms, locations=locations
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
        database = parse_namespace(namespace, catalog=self._services.tables.name)
        return garbage_collection.remove_database_garbage(
            self._services.store,
            self._services.tables,
            database,
            older_than_ms=older_than_ms,
            locations=locations,
            definitions=definitions,
        )

    # -- Internal -----------------------------------------------------------------------------------------------------

    def _decide(self, name: ViewName) -> tuple[LoadedMaterializedView, Reading]:
        rows = self._services.checker.rows(name)
        view = self._services.load(name, rows)
        return view, decide_reading(self._services, view, rows)

    def _name(self, identifier: str | Identifier) -> ViewName:
        return ViewName.parse(identifier, catalog=self._services.tables.name)

    def _existing_database(self, namespace: str | Identifier) -> str:
        database = parse_namespace(namespace, catalog=self._services.tables.name)
        self._services.store.client.get_database(database)
        return database

    def _listing(self, database: str, rows: RowCache) -> list[ListedView]:
        """Return the materialized views of a database; rows are read in batches, and shared."""
        names = [ViewName(database, table) for table in sorted(self._services.store.client.get_all_tables(database))]
        rows.load(names)
        rows.load(source for name in names for source in self._services.checker.expected_rows(rows.find(name)))
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
            view = self._services.load(name, rows)
            freshness, state = self._services.checker.check(view, rows)[1], view.last_refresh().state
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
