"""The catalog: Iceberg views in a Hive Metastore, as a PyIceberg catalog with every view method.

No SQL is parsed here and no Thrift is spoken: it reads like a table of contents of the rooms below.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyiceberg.schema import Schema
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties

from hive_views.catalog.dependencies import DependencyMethods
from hive_views.catalog.views import HiveView
from hive_views.dependencies.drop import Behavior, DropReport, DropStep, drop_view, refuse_shared
from hive_views.dependencies.graph import refuse_cycle
from hive_views.dependencies.view_changes import commit_changes
from hive_views.errors import (
    InvalidIdentifierError,
    InvalidPropertyError,
    NoSuchViewError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from hive_views.identifiers import ViewName, parse_namespace
from hive_views.metastore.commit.view_commit import commit, rename
from hive_views.metastore.commit.view_properties import check_location, check_view_properties
from hive_views.metastore.queries import load_view, view_exists, view_names
from hive_views.spec.changes import AddVersion, Change, SetLocation, SetProperties, create
from hive_views.spec.file_codec import METADATA_PATH
from hive_views.spec.lineage_codec import ChildKind

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.view.metadata import ViewVersion

    from hive_views.dependencies.view_builder import Analyzer, Definition
    from hive_views.materialized.views import MaterializedViews
    from hive_views.statements.views import Result


class HiveViewCatalog(DependencyMethods):
    """Iceberg tables, views and namespaces of one Hive Metastore.

    Made directly, or by PyIceberg: `load_catalog("prod", **{"py-catalog-impl": "hive_views.catalog.HiveViewCatalog",
    "uri": "thrift://host:9083", "warehouse": "s3://bucket/warehouse"})`. Connects at the first call, may be shared by
    threads, and holds connections until `close()`.
    """

    def __enter__(self) -> HiveViewCatalog:
        return self

    def __repr__(self) -> str:
        return f"HiveViewCatalog({self.name!r}, {','.join(self._config.connection.uris)})"

    # -- Views: read ------------------------------------------------------------------------------------------------

    def list_views(self, namespace: str | Identifier) -> list[Identifier]:
        """The Iceberg views of a database, by the server's filter; plain Hive views are not among them.

        Args:
            namespace: The database.

        Returns:
            Sorted identifiers.

        Raises:
            NoSuchNamespaceError: If there is no such database.
        """
        return [name.identifier for name in view_names(self.store, parse_namespace(namespace, catalog=self.name))]

    def load_view(self, identifier: str | Identifier) -> HiveView:
        """Load a view.

        Args:
            identifier: `database.name`.

        Returns:
            Its current state.

        Raises:
            NoSuchViewError: If there is none, or a table has the name; NotAnIcebergViewError for a plain Hive view.
            MetadataFileError: If its metadata file is missing or broken.
        """
        return HiveView(load_view(self.store, self._name(identifier)), self.store)

    def view_exists(self, identifier: str | Identifier) -> bool:
        """Whether an Iceberg view has that name; False too for a name that no metastore could hold.

        Args:
            identifier: `database.name`.

        Returns:
            The answer; the view's file is not read.
        """
        try:
            name = self._name(identifier)
        except InvalidIdentifierError:
            return False
        return view_exists(self.store, name)

    def author(
        self,
        identifier: str | Identifier,
        sql: str,
        *,
        analyzer: Analyzer | None = None,
        database: str | None = None,
        dialect: str = "spark",
        column_names: Sequence[str] | None = None,
        column_comments: Sequence[str | None] | None = None,
    ) -> Definition:
        """Resolve and expand an author's query against the metastore's tables.

        The view itself is not written; Hive's own tables that it reads get a UUID into their rows, if they have none
        (`hive-views.mark-hive-tables`).

        Args:
            identifier: The view that the query is for: `database.name`.
            sql: The query as typed.
            analyzer: Where column types come from, e.g. `hive_views.spark.analyzer.schema_of` with a session; None
                takes them from Hive's rules and the tables' columns.
            database: The author's current database; None is the view's.
            dialect: The author's dialect: `spark`, `hive` or `trino`.
            column_names: Names in front of AS, where the author gave them.
            column_comments: Their comments.

        Returns:
            `schema` and `version`, for `create_view` or `replace_version`.

        Raises:
            SqlError: If the text cannot be read, or names something that is not there; it points at line and column.
        """
        from hive_views.dependencies.view_builder import author  # sqlglot takes 0.1 s to import

        name = self._name(identifier)
        return author(
            self.store,
            name,
            sql,
            database=(database or name.database).lower(),
            dialect=dialect,
            analyzer=analyzer,
            column_names=column_names,
            column_comments=column_comments,
        )

    # -- Views: write -----------------------------------------------------------------------------------------------

    def create_view(
        self,
        identifier: str | Identifier,
        schema: Schema | pa.Schema,
        view_version: ViewVersion,
        location: str | None = None,
        properties: Properties = EMPTY_DICT,
    ) -> HiveView:
        """Create a view.

        Args:
            identifier: `database.name`.
            schema: Its columns.
            view_version: Its texts and defaults, e.g. from `hive_views.define`; id and timestamp are given here.
            location: Its base location; None puts it below the database's.
            properties: View properties.

        Returns:
            The new view.

        Raises:
            ViewAlreadyExistsError, TableAlreadyExistsError, NotAnIcebergViewError: If the name is taken.
            NoSuchNamespaceError: If there is no such database.
            InvalidIdentifierError, InvalidPropertyError, InvalidViewError: If it cannot be stored.
            CyclicViewError: If it would read itself through views that are there.
            HiveViewsError: As `hive_views.metastore.commit.view_commit.commit` says.
        """
        name = self._name(identifier).check_writable()
        metadata = create(
            uuid=str(uuid.uuid4()),
            location=self._location(name, location),
            schema=self._schema(schema),
            version=view_version,
            properties=self._view_properties(properties),
            now_ms=int(time.time() * 1000),
            identifier=str(name),
        )
        watch = refuse_cycle(self.store, name, metadata.current_version())
        return HiveView(commit(self.store, name, None, metadata, watch=watch), self.store)

    def create_view_if_not_exists(
        self,
        identifier: str | Identifier,
        schema: Schema | pa.Schema,
        view_version: ViewVersion,
        location: str | None = None,
        properties: Properties = EMPTY_DICT,
    ) -> HiveView:
        """Create a view, or load the one that has the name; see `create_view`.

        Raises:
            NotAnIcebergViewError: If a plain Hive view has the name.
        """
        try:
            return self.load_view(identifier)
        except NoSuchViewError as error:
            if type(error) is not NoSuchViewError:
                raise
        try:
            return self.create_view(identifier, schema, view_version, location, properties)
        except ViewAlreadyExistsError:
            return self.load_view(identifier)

    def replace_view(
        self,
        identifier: str | Identifier,
        schema: Schema | pa.Schema,
        view_version: ViewVersion,
        location: str | None = None,
        properties: Properties = EMPTY_DICT,
        *,
        may_lose_dialects: bool = False,
    ) -> HiveView:
        """Give a view a new definition, whatever its current one is. Its history and its other properties stay.

        Args:
            identifier: `database.name`.
            schema: Its columns from now on.
            view_version: Its texts and defaults.
            location: A new base location; None keeps it.
            properties: View properties to add.
            may_lose_dialects: Whether it may have no text for a dialect that an author wrote one for.

        Returns:
            The view as it now is.

        Raises:
            NoSuchViewError, TableAlreadyExistsError: If there is no such view, or a table has the name.
            DialectLossError: If a dialect would lose its text.
            HiveViewsError: As `hive_views.metastore.commit.view_commit.commit` says.
        """
        name = self._name(identifier)
        try:
            loaded = load_view(self.store, name)
        except NoSuchViewError:
            self._refuse_table(name)
            raise
        overridden = self._view_properties(properties, defaults=False)
        changes: list[Change] = [
            AddVersion(self._schema(schema), view_version, may_lose_dialects),
            SetProperties(overridden),
        ]
        if location is not None:
            changes.append(SetLocation(check_location(location)))
        return HiveView(commit_changes(self.store, loaded, changes, any_version=True), self.store)

    def create_or_replace_view(
        self,
        identifier: str | Identifier,
        schema: Schema | pa.Schema,
        view_version: ViewVersion,
        location: str | None = None,
        properties: Properties = EMPTY_DICT,
        *,
        may_lose_dialects: bool = False,
    ) -> HiveView:
        """Create a view, or give the one that has the name a new definition; see `create_view` and `replace_view`."""
        while True:
            if self.view_exists(identifier):
                try:
                    return self.replace_view(
                        identifier, schema, view_version, location, properties, may_lose_dialects=may_lose_dialects
                    )
                except NoSuchViewError as error:
                    if type(error) is not NoSuchViewError:
                        raise
            else:
                try:
                    return self.create_view(identifier, schema, view_version, location, properties)
                except ViewAlreadyExistsError:
                    continue

    def register_view(self, identifier: str | Identifier, metadata_location: str) -> HiveView:
        """Put an existing metadata file into the metastore under a name. The file is read, never changed or deleted.

        Args:
            identifier: `database.name`.
            metadata_location: URI of the file.

        Returns:
            The view.

        Raises:
            ViewAlreadyExistsError, TableAlreadyExistsError, NotAnIcebergViewError: If the name is taken.
            NoSuchNamespaceError: If there is no such database.
            MetadataFileError: If the file is missing or broken.
            InvalidPropertyError: If its location, or where its files go, is neither a URI nor an absolute path.
            CyclicViewError: If it would read itself through views that are there.
        """
        name = self._name(identifier).check_writable()
        metadata = self.store.files.read(metadata_location)
        # A place that means another one to every process would make each later commit go astray.
        check_location(metadata.location)
        if METADATA_PATH in metadata.properties:
            check_location(metadata.properties[METADATA_PATH], METADATA_PATH)
        watch = refuse_cycle(self.store, name, metadata.current_version())
        made = commit(self.store, name, None, metadata, registered=metadata_location, watch=watch)
        return HiveView(made, self.store)

    def rename_view(self, from_identifier: str | Identifier, to_identifier: str | Identifier) -> HiveView:
        """Give a view another name, in the same or another database. Its files stay where they are.

        Args:
            from_identifier: Its name.
            to_identifier: Its new name.

        Returns:
            The view under its new name.

        Raises:
            NoSuchViewError: If there is no such view.
            NoSuchNamespaceError: If the new database does not exist.
            ViewAlreadyExistsError, TableAlreadyExistsError: If the new name is taken.
            CyclicViewError: If a view that it reads names the new name.
            DependentsError: If a view reads it by its name, in strict mode.
            HiveViewsError: As `hive_views.metastore.commit.view_commit.rename` says.
        """
        source, target = self._name(from_identifier), self._name(to_identifier).check_writable()
        loaded = load_view(self.store, source)
        self.store.client.get_database(target.database)
        watch = refuse_cycle(self.store, target, loaded.metadata.current_version())
        if self._config.strict:
            from hive_views.dependencies.impact import refuse_breaking  # imports sqlglot

            refuse_breaking(self.store, source, "rename", None)
        return HiveView(rename(self.store, loaded, target, watch=watch), self.store)

    def drop_view(  # type: ignore[override]  # PyIceberg's returns nothing
        self,
        identifier: str | Identifier,
        *,
        purge_files: bool = False,
        restrict: bool = False,
        cascade: bool = False,
    ) -> DropReport:
        """Drop a view. Its metadata files stay, so that `register_view` can bring it back, unless they are purged.

        Args:
            identifier: `database.name`.
            purge_files: Delete all its metadata files too, unless its property `gc.enabled` is false. Of those that go
                with it by `cascade` too, but for files that another name needs.
            restrict: Drop nothing where a view depends on it.
            cascade: Drop every view that depends on it as well, dependents first. `plan_drop` says which. With
                neither, dependents are left dangling, as Hive does; in strict mode it is `restrict`.

        Returns:
            What was dropped, in that order, with what brings each back.

        Raises:
            NoSuchViewError: If there is no such view; NotAnIcebergViewError for a plain Hive view.
            DependentsError: If `restrict` forbids it; the error names every dependent.
            InvalidViewError: If its files are to be deleted and another name in the metastore needs them; nothing was
                changed.
            HiveViewsError: As `hive_views.metastore.commit.view_commit.drop` says.
        """
        name = self._name(identifier)
        behavior = self._behavior(restrict, cascade)
        if behavior is not Behavior.NONE:
            loaded = load_view(self.store, name)
            if purge_files:
                refuse_shared(self.store, loaded)  # before its dependents are gone
        return self._drop(name, behavior, lambda: drop_view(self.store, name, purge_files=purge_files), purge_files)

    def drop_table(  # type: ignore[override]  # PyIceberg's returns nothing
        self, identifier: str | Identifier, *, restrict: bool = False, cascade: bool = False
    ) -> DropReport:
        """Drop an Iceberg table, never a view; with `restrict` and `cascade` as in `drop_view`.

        Returns:
            What was dropped, in that order; `cascade` drops views alone before it.

        Raises:
            NoSuchTableError: If there is no such table.
            DependentsError: If `restrict` forbids it; the error names every dependent.
        """
        name = self._table_name(identifier)
        self._refuse_as_table(name)

        def remove() -> DropStep:
            super(HiveViewCatalog, self).drop_table(identifier)
            return DropStep(name, ChildKind.TABLE)

        return self._drop(name, self._behavior(restrict, cascade), remove)

    def _drop_as_asked(self, name: ViewName, remove: Callable[[], None]) -> None:
        def removed() -> DropStep:
            remove()
            return DropStep(name, ChildKind.TABLE)

        self._drop(name, self._behavior(False, False), removed)

    # -- Materialized views -------------------------------------------------------------------------------------------

    @cached_property
    def materialized(self) -> MaterializedViews:
        """The catalog's materialized views: create, refresh, freshness, drop."""
        from hive_views.materialized.views import MaterializedViews  # imports sqlglot

        return MaterializedViews(self)

    # -- SQL ----------------------------------------------------------------------------------------------------------

    def execute(
        self, sql: str, *, database: str = "default", dialect: str = "spark", analyzer: Analyzer | None = None
    ) -> Result:
        """Run one SQL statement about views: CREATE, ALTER, DROP, SHOW VIEWS, SHOW CREATE VIEW, DESCRIBE.

        Args:
            sql: The statement.
            database: The current database: what names without one mean.
            dialect: `spark`, `hive` or `trino`: how the statement is read, and the dialect of a new view's text.
            analyzer: Where column types come from; see `author`.

        Returns:
            What was done, or the rows of the answer.

        Raises:
            SqlError: If it cannot be read, or asks for what cannot be done; it points at line and column.
            HiveViewsError: As the method does that the statement stands for.
        """
        from hive_views.statements.views import execute  # sqlglot takes 0.1 s to import

        return execute(self, sql, database=database, dialect=dialect, analyzer=analyzer)

    # -- Names and defaults -----------------------------------------------------------------------------------------

    def _refuse_table(self, name: ViewName) -> None:
        row = self.store.get_row(name)
        if row is not None and not row.kind.is_view:
            raise TableAlreadyExistsError(str(name))

    def _schema(self, schema: Any) -> Any:
        if schema is None or isinstance(schema, Schema):
            return schema  # None is for `create` to refuse, with the view's name
        return self._convert_schema_if_needed(schema)

    def _view_properties(self, properties: Properties, *, defaults: bool = True) -> dict[str, str]:
        merged = {
            **(self._config.view_defaults if defaults else {}),
            **properties,
            **self._config.view_overrides,
        }
        check_view_properties(merged)
        return merged

    def _location(self, name: ViewName, location: str | None) -> str:
        # Asked in any case: nothing is to be written for a database that does not exist.
        base = self.store.client.get_database(name.database).locationUri
        if location is not None:
            return check_location(location)
        if not base and self._config.warehouse:
            base = f"{self._config.warehouse}/{name.database}.db"
        if not base:
            raise InvalidPropertyError(
                "warehouse", None, f"database {name.database} has no location, so the catalog needs a warehouse"
            )
        suffix = f"-{uuid.uuid4().hex}" if self._config.unique_location else ""
        return f"{base.rstrip('/')}/{name.name}{suffix}"
