"""Materialized views of a catalog: `catalog.materialized`. Reads like a table of contents of this room."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from pyiceberg.table.snapshots import Operation

from hive_views.errors import (
    HiveViewsError,
    InvalidPropertyError,
    InvalidRefreshStateError,
    NoSuchViewError,
    NotMaterializedError,
)
from hive_views.identifiers import ViewName, parse_namespace
from hive_views.materialized import trino
from hive_views.materialized.drop import drop_materialized
from hive_views.materialized.freshness.checker import Looks
from hive_views.materialized.freshness.row_cache import Rows
from hive_views.materialized.freshness.sources import Sources
from hive_views.materialized.freshness.verdict import Cause, Freshness, Reason, Verdict
from hive_views.materialized.layouts.layouts import METADATA, Layout
from hive_views.materialized.lifecycle import (
    Request,
    create_materialized,
    to_materialized,
    to_plain_view,
)
from hive_views.materialized.loading import MaterializedView, is_materialized, load_materialized, recorded
from hive_views.materialized.maintenance.abandoned import AbandonedMethods
from hive_views.materialized.maintenance.expire import OLDER_THAN_MS as EXPIRED_MS
from hive_views.materialized.maintenance.expire import Expired, expire
from hive_views.materialized.maintenance.orphans import OLDER_THAN_MS, Orphans, find_orphans, remove_orphans
from hive_views.materialized.redefine import redefine, set_properties
from hive_views.materialized.refresh.refresh import Mode, RefreshReport, refresh
from hive_views.materialized.results import Listed as Listed
from hive_views.materialized.results import PastRefresh as PastRefresh
from hive_views.materialized.results import Reading as Reading
from hive_views.materialized.time_travel import Stored, stored_rows
from hive_views.materialized.trino_catalog import TrinoRows
from hive_views.metastore.row_codec import Row, RowKind
from hive_views.spec.changes import SetProperties

if TYPE_CHECKING:
    from pyiceberg.typedef import Identifier

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.dependencies.drop import DropReport
    from hive_views.dependencies.view_builder import Analyzer, ViewDefinition
    from hive_views.materialized.refresh.stage import Engine


_LISTED_AT_ONCE = 100
"""Rows of a database that are asked for together when it is listed."""


class MaterializedViews(AbandonedMethods):
    """The materialized views of one catalog. Safe for threads."""

    def __init__(self, catalog: HiveViewCatalog) -> None:
        """Prepare; nothing is read yet.

        Args:
            catalog: The catalog.
        """
        self._catalog = catalog
        self._store = catalog.store
        self._looks = Looks(catalog)
        self._facts = self._looks.facts
        self._trino = TrinoRows(catalog, self._facts)

    # -- Create and drop ----------------------------------------------------------------------------------------------

    def create(
        self,
        identifier: str | Identifier,
        sql: str | ViewDefinition,
        *,
        layout: Layout | str = Layout.REGISTERED,
        partitioned_by: Sequence[str] = (),
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
            sql: The query as typed, or what `catalog.author` made of it.
            layout: `registered`, `attached` or `table`.
            partitioned_by: Columns, or `day(c)`, `bucket(16, c)` and so on, that divide the stored rows.
            properties: View properties, e.g. `hive-views.max-staleness-ms`.
            storage_properties: Properties of the storage table.
            location: Its base location; None puts it below the database's.
            database: The author's current database; None is the view's.
            dialect: The author's dialect.
            analyzer: Where column types come from; see `catalog.author`.

        Returns:
            The materialized view.

        Raises:
            ViewAlreadyExistsError, TableAlreadyExistsError: If the name is taken.
            InvalidPropertyError: If the layout, a property or a partition cannot be used.
            SqlError: If the query cannot be read.
        """
        name = self._name(identifier)
        if isinstance(sql, str):
            made = self._catalog.author(name.identifier, sql, analyzer=analyzer, database=database, dialect=dialect)
        else:
            made = sql
        request = Request(
            name, made, _layout(layout), dict(properties or {}), tuple(partitioned_by), storage_properties, location
        )
        create_materialized(self._catalog, request)
        return self.load(identifier)

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
        """Give it another definition; its stored rows answer no query until the next refresh, which is a full one.

        The storage gets the new columns by that refresh, together with the rows.

        Args:
            identifier: `database.name`.
            sql: The query as typed, or what `catalog.author` made of it.
            properties: View properties to set in the same commit; others stay.
            database: The author's current database; None is the view's.
            dialect: The author's dialect.
            analyzer: Where column types come from; see `catalog.author`.

        Returns:
            Whether anything was changed.

        Raises:
            NoSuchViewError: If there is none; NotMaterializedError if something else has the name.
            InvalidPropertyError: If its rows are divided by a column that the new definition does not have.
            SqlError: If the query cannot be read.
        """
        view = self.load(identifier)
        if isinstance(sql, str):
            made = self._catalog.author(
                view.name.identifier, sql, analyzer=analyzer, database=database, dialect=dialect
            )
        else:
            made = sql
        return redefine(self._catalog, view, made, dict(properties or {}))

    def set_properties(
        self,
        identifier: str | Identifier,
        updates: Mapping[str, str] | None = None,
        *,
        removals: Collection[str] = (),
    ) -> bool:
        """Set and remove properties, its settings among them; in the layout `table` they are the table's.

        Args:
            identifier: `database.name`.
            updates: Properties to set; others stay.
            removals: Keys to remove; one that is not there is no error.

        Returns:
            Whether anything was changed.

        Raises:
            NoSuchViewError: If there is none; NotMaterializedError if something else has the name.
            InvalidPropertyError: If a setting has a value that means nothing, or a property is not the user's.
        """
        view = self.load(identifier)
        return set_properties(self._catalog, view, SetProperties(updates or {}, frozenset(removals)))

    def drop(
        self, identifier: str | Identifier, *, restrict: bool = False, cascade: bool = False, purge: bool = True
    ) -> DropReport:
        """Drop a materialized view and its storage, but for what another name in the metastore has too.

        Args:
            identifier: `database.name`.
            restrict: Drop nothing where a view depends on it, or on its storage table.
            cascade: Drop every view that depends on them as well.
            purge: Whether the files of both go too. What is left, and why, is logged.

        Returns:
            What was dropped, in that order; its storage is not named.

        Raises:
            NoSuchViewError: If there is none; NotMaterializedError if something else has the name.
            DependentsError: If `restrict` forbids it; nothing was changed.
            CommitFailedError: If another view has the name by now, or it was changed meanwhile.
        """
        view = self.load(identifier)
        return drop_materialized(self._catalog, view, restrict=restrict, cascade=cascade, purge=purge)

    def to_plain_view(self, identifier: str | Identifier) -> None:
        """Make it a plain view; the stored rows stay for the way back.

        Args:
            identifier: `database.name`.

        Raises:
            NotMaterializedError: If it is none, or is a table.
        """
        to_plain_view(self._catalog, self.load(identifier))

    def from_plain_view(self, identifier: str | Identifier, *, partitioned_by: Sequence[str] = ()) -> MaterializedView:
        """Make a plain view a materialized one: with the rows that it had stored, else with a new storage.

        Args:
            identifier: `database.name`.
            partitioned_by: For a new storage: how its rows are divided.

        Returns:
            The materialized view.

        Raises:
            NoSuchViewError: If there is no such view; InvalidViewError if it is a materialized one already.
        """
        to_materialized(self._catalog, self._name(identifier), partitioned_by)
        return self.load(identifier)

    # -- Look ---------------------------------------------------------------------------------------------------------

    def load(self, identifier: str | Identifier) -> MaterializedView:
        """A materialized view of one of our layouts.

        Args:
            identifier: `database.name`.

        Returns:
            ViewDefinition and storage.

        Raises:
            NoSuchViewError: If there is none; NotMaterializedError if something else has the name.
            UnsupportedMaterializedViewError: If it is of a later format.
        """
        return load_materialized(self._catalog, self._name(identifier), self._facts)

    def listing(self, namespace: str | Identifier) -> list[Listed]:
        """The materialized views of a database with their freshness, those of Trino among them.

        Args:
            namespace: The database.

        Returns:
            By name. One that cannot be read is listed as unknown, with the reason.

        Raises:
            NoSuchNamespaceError: If there is no such database.
        """
        database = parse_namespace(namespace, catalog=self._catalog.name)
        self._store.client.get_database(database)
        found = []
        names = [ViewName(database, table) for table in sorted(self._store.client.get_all_tables(database))]
        for start in range(0, len(names), _LISTED_AT_ONCE):
            part = names[start : start + _LISTED_AT_ONCE]
            rows = Rows(self._store, part)
            found += [listed for name in part if (listed := self._listed(name, rows.shared())) is not None]
        return found

    def freshness(self, identifier: str | Identifier, *, now_ms: int | None = None) -> Freshness:
        """How fresh the stored rows are, and why.

        Args:
            identifier: `database.name` of a materialized view, ours or Trino's.
            now_ms: The time; None is now.

        Returns:
            The verdict with its reasons.

        Raises:
            NoSuchViewError: If there is none; NotMaterializedError if something else has the name.
        """
        name = self._name(identifier)
        rows = self._looks.rows(name)
        row = rows.one(name)
        if row is not None and row.kind is RowKind.HIVE_VIEW and trino.is_materialized_view(row.parameters):
            return self._trino.freshness(row, now_ms)
        return self._looks.look(load_materialized(self._catalog, name, self._facts, rows), rows, now_ms)[1]

    def reading(
        self,
        identifier: str | Identifier,
        *,
        allow_stale_data: bool | None = None,
        max_staleness_ms: int | None = None,
        now_ms: int | None = None,
    ) -> Reading:
        """What a query should read: the stored rows or the definition.

        Args:
            identifier: `database.name`.
            allow_stale_data: Whether rows that are not fresh will do; None takes the view's own setting.
            max_staleness_ms: For how long after a refresh they will; None takes the view's own setting.
            now_ms: The time; None is now.

        Returns:
            The decision. Rows of an earlier definition never answer, nor does a storage that was never refreshed or
            cannot be read.

        Raises:
            NoSuchViewError: If there is none; NotMaterializedError if something else has the name.
        """
        name = self._name(identifier)
        rows = self._looks.rows(name)
        view = load_materialized(self._catalog, name, self._facts, rows)
        freshness = self._looks.look(view, rows, now_ms, max_staleness_ms)[1]
        allowed = view.allow_stale_data if allow_stale_data is None else allow_stale_data
        snapshot = view.snapshot
        if snapshot is None or view.storage is None:
            return Reading(False, f"definition: {freshness}", freshness)
        other_rows = any(reason.cause in _OTHER_ROWS for reason in freshness.reasons)
        if freshness.usable or (allowed and not other_rows):
            why = f"storage: {freshness}" + ("" if freshness.usable else " (stale rows are allowed)")
            location = view.storage.metadata_location
            settings = self._looks.recorded(view).settings
            return Reading(True, why, freshness, view.storage_name, location, snapshot.snapshot_id, settings)
        return Reading(False, f"definition: {freshness}", freshness)

    def refreshes(self, identifier: str | Identifier) -> list[PastRefresh]:
        """The refreshes whose rows the storage still holds, oldest first: where one can travel to.

        Args:
            identifier: `database.name`.

        Returns:
            Snapshots with what each refresh read; in the attached layout those that its list still has. A compaction
            of the storage is none: its rows are those of the refresh before it.

        Raises:
            NoSuchViewError: If there is none; NotMaterializedError if something else has the name.
        """
        view = self.load(identifier)
        if view.storage is None:
            return []
        metadata = view.storage.metadata
        current = {entry.snapshot_id for entry in metadata.snapshot_log}
        found = []
        for snapshot in sorted(metadata.snapshots, key=lambda item: item.timestamp_ms):
            compacted = snapshot.summary is not None and snapshot.summary.operation is Operation.REPLACE
            if snapshot.snapshot_id not in current or compacted:
                continue
            state = recorded(view, snapshot).state
            if state is not None:
                found.append(PastRefresh(snapshot.snapshot_id, snapshot.timestamp_ms, state))
        return found

    def stored(
        self, identifier: str | Identifier, *, version: int | str | None = None, at_ms: int | None = None
    ) -> Stored:
        """Its stored rows, current or at an earlier time; see `hive_views.materialized.time_travel.stored_rows`.

        Args:
            identifier: `database.name`.
            version: A snapshot's id, or the name of a branch or tag of the storage; None is the current snapshot.
            at_ms: A time in milliseconds from the epoch, instead of a version.

        Returns:
            Where they are.

        Raises:
            NoSuchViewError: If there is none; NotMaterializedError if something else has the name.
            NoSuchRefreshError: If the storage does not hold such rows; RefreshError if it cannot be read.
        """
        return stored_rows(self.load(identifier), version=version, at_ms=at_ms)

    def trino_definition(self, identifier: str | Identifier) -> trino.TrinoDefinition:
        """The definition of a materialized view that Trino made.

        Args:
            identifier: `database.name`.

        Returns:
            Its query, columns and grace period.

        Raises:
            NoSuchViewError: If nothing has the name; NotMaterializedError if it is none of Trino's.
            InvalidRefreshStateError: If its row cannot be read.
        """
        row = self._trino.row(self._name(identifier))
        try:
            return trino.definition(row.texts.original)
        except InvalidRefreshStateError as error:
            raise error.of(str(row.name)) from error.__cause__

    def trino_storage(self, identifier: str | Identifier) -> str:
        """The metadata file of the storage of a materialized view that Trino made.

        Args:
            identifier: `database.name`.

        Returns:
            Its URI.

        Raises:
            NoSuchViewError: If nothing has the name; NotMaterializedError if it is none of Trino's.
            NoSuchTableError: If its storage table is gone.
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
        tell: Callable[[str], None] | None = None,
    ) -> list[RefreshReport]:
        """Bring the stored rows up to date.

        Args:
            identifier: `database.name`.
            engine: What runs the query and writes the rows: `hive_views.spark.refresh.engine.SparkEngine`.
            mode: `auto`, `full` or `incremental`.
            cascade: Refresh the materialized views that it reads first, each once, in the order of their dependencies.
            tell: Is told what is being done.

        Returns:
            What was done, the view itself last.

        Raises:
            NoSuchViewError: If there is none; NotMaterializedError if something else has the name.
            RefreshError: If it cannot be refreshed; RefreshConflictError if another refresh was faster.
        """
        name = self._name(identifier)
        order = [*(self.below(name) if cascade else ()), name]
        reports = []
        for number, item in enumerate(order, start=1):
            telling = tell if tell is None or len(order) == 1 else _numbered(tell, number, len(order))
            view = self.load(item.identifier)
            reports.append(refresh(self._catalog, view, self._looks.pin, engine, Mode(mode), telling))
        return reports

    def below(self, name: ViewName) -> list[ViewName]:
        """The materialized views that one reads, however deep, each before those that read it.

        Args:
            name: The materialized view.

        Returns:
            Their names, without its own.
        """
        ordered: list[ViewName] = []
        self._visit(name, ordered, set())
        return [item for item in ordered if item != name]

    def orphans(self, identifier: str | Identifier, *, older_than_ms: int = OLDER_THAN_MS) -> Orphans:
        """What refreshes that were killed left behind; see `hive_views.materialized.maintenance.orphans`."""
        return find_orphans(self._catalog, self.load(identifier), older_than_ms=older_than_ms)

    def remove_orphans(self, identifier: str | Identifier, *, older_than_ms: int = OLDER_THAN_MS) -> Orphans:
        """Remove what refreshes that were killed left behind; see `hive_views.materialized.maintenance.orphans`."""
        return remove_orphans(self._catalog, self.load(identifier), older_than_ms=older_than_ms)

    def expire(self, identifier: str | Identifier, *, older_than_ms: int = EXPIRED_MS, keep: int = 1) -> Expired:
        """Expire stored rows as they were, with their files; see `hive_views.materialized.maintenance.expire`."""
        return expire(self._catalog, self.load(identifier), older_than_ms=older_than_ms, keep=keep)

    # -- Steps --------------------------------------------------------------------------------------------------------

    def _name(self, identifier: str | Identifier) -> ViewName:
        return ViewName.parse(identifier, catalog=self._catalog.name)

    def sources(self, view: MaterializedView) -> Sources:
        """What a materialized view reads, as it is now.

        Args:
            view: The view.

        Returns:
            Its deep children, each in its state.
        """
        return self._looks.sources(view, Rows(self._store))

    def _visit(self, name: ViewName, ordered: list[ViewName], seen: set[ViewName]) -> None:
        if name in seen:
            return
        seen.add(name)
        row = self._store.get_row(name)
        if row is None:
            return
        children: list[ViewName] = []
        materialized = False
        if row.kind is RowKind.ICEBERG_TABLE:
            if METADATA in row.parameters:
                view = load_materialized(self._catalog, name, self._facts)
                materialized = True
                children = [item.name for item in self.sources(view).observed.sources]
        elif row.kind.is_view:
            children = [child.name for child in self._looks.lineages.read(row).dependencies]
            if row.kind is RowKind.ICEBERG_VIEW:
                metadata = self._facts.view(row.metadata_location or "")
                materialized = is_materialized(metadata)
        for child in children:
            self._visit(child, ordered, seen)
        if materialized:
            ordered.append(name)

    def _listed(self, name: ViewName, rows: Rows) -> Listed | None:
        row = None
        try:
            row = rows.one(name)
            if row is None:
                return None
            if row.kind is RowKind.HIVE_VIEW and trino.is_materialized_view(row.parameters):
                return Listed(name, Layout.TRINO, self._trino.freshness(row, None))
            if row.kind is RowKind.HIVE_VIEW or row.kind is RowKind.HIVE_TABLE:
                return None
            if row.kind is RowKind.ICEBERG_TABLE and METADATA not in row.parameters:
                return None
            view = load_materialized(self._catalog, name, self._facts, rows)
            return Listed(name, view.layout, self._looks.look(view, rows)[1])
        except NotMaterializedError:
            return None
        except NoSuchViewError:
            return None  # dropped meanwhile
        except HiveViewsError as error:
            unknown = Freshness(Verdict.UNKNOWN, (Reason(Cause.STORAGE, detail=str(error)),))
            return Listed(name, _layout_of(row), unknown)


def _layout_of(row: Row | None) -> Layout:
    """The layout that the row of a materialized view speaks for, whatever is wrong with it."""
    if row is None or METADATA not in row.parameters:
        of_trino = row is not None and trino.is_materialized_view(row.parameters)
        return Layout.TRINO if of_trino else Layout.REGISTERED
    return Layout.TABLE if row.kind is RowKind.ICEBERG_TABLE else Layout.ATTACHED


def _layout(layout: Layout | str) -> Layout:
    try:
        return Layout(layout)
    except ValueError:
        raise InvalidPropertyError("layout", str(layout), "it is registered, attached or table") from None


def _numbered(tell: Callable[[str], None], number: int, of: int) -> Callable[[str], None]:
    return lambda line: tell(f"[{number}/{of}] {line}")


_OTHER_ROWS = frozenset(
    {
        Cause.NEVER_REFRESHED,
        Cause.DEFINITION,
        Cause.OTHER_VIEW,
        Cause.STORAGE,
        Cause.NO_STATE,
        Cause.SETTINGS,
    }
)
"""Causes for which stored rows are not even stale rows of the view."""
