"""The Iceberg views, materialized views, tables and databases of a Hive Metastore.

The catalog has PyIceberg's methods, what changes one view, and three services: `dependencies` (lineage, impact,
validity), `partitions` and `materialized`.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyiceberg.schema import Schema
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties
from tenacity import (
    RetryError,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    stop_after_delay,
    stop_all,
    wait_random_exponential,
)

from hive_views.catalog.tables import TableCatalog
from hive_views.catalog.views import HiveView
from hive_views.config import reject_misspelled_keys, row_text_forms
from hive_views.dependencies.view_changes import check_required_engines, commit_changes
from hive_views.errors import (
    CommitFailedError,
    InvalidIdentifierError,
    InvalidMetadataError,
    InvalidViewError,
    NoSuchViewError,
    NotAViewError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from hive_views.identifiers import ViewName, parse_namespace
from hive_views.metastore.commit.protocol import CommitPrecondition
from hive_views.metastore.commit.view_commit import commit, rename
from hive_views.metastore.commit.view_properties import check_location, configured_properties, new_view_location
from hive_views.metastore.names import check_new_table
from hive_views.metastore.queries import load_view, view_exists, view_names
from hive_views.spec.changes import AddVersion, Change, SetLocation, SetProperties, create
from hive_views.spec.file_codec import METADATA_PATH

if TYPE_CHECKING:
    from typing import Self

    import pyarrow as pa
    from pyiceberg.types import IcebergType
    from pyiceberg.view.metadata import ViewVersion

    from hive_views.catalog.dependencies import ViewDependencies
    from hive_views.catalog.partitions import ViewPartitions
    from hive_views.dependencies.drop import DropBehavior, DropReport
    from hive_views.dependencies.recompile import RecompileResult
    from hive_views.dependencies.view_builder import ViewDefinition
    from hive_views.dependencies.view_query import Analyzer, ViewQuery
    from hive_views.materialized.views import MaterializedViews

_MIN_CREATE_OR_REPLACE_ATTEMPTS = 5

# Methods import what only they need, e.g. modules that read SQL: sqlglot takes 0.1 s to import.


class ViewCatalog(TableCatalog):
    """A catalog of the Iceberg tables, views and materialized views in one Hive Metastore, without SQL statements.

    `HiveViewCatalog` adds `execute`.

    An `identifier` is `database.name`, as text or as a tuple, optionally after the catalog's name. All methods raise
    MetastoreError if the metastore fails or cannot be reached. Those that read or change a view raise NoSuchViewError
    if it does not exist, and NotAViewError, a NoSuchViewError, if a table has the name.
    """

    def __enter__(self) -> Self:
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {','.join(self._config.connection.uris)})"

    # -- Reading views ------------------------------------------------------------------------------------------------

    def list_views(self, namespace: str | Identifier) -> list[Identifier]:
        """List the Iceberg views of a database, sorted; plain Hive views are not included.

        Raises:
            NoSuchNamespaceError: If the database does not exist.
        """
        return [name.identifier for name in view_names(self.store, parse_namespace(namespace, catalog=self.name))]

    def load_view(self, identifier: str | Identifier) -> HiveView:
        """Load a view.

        Raises:
            NoSuchViewError: If there is no such view.
            NotAViewError: If a table has the name.
            NotAnIcebergViewError: If the name belongs to a plain Hive view.
            MetadataFileError: If its metadata file is missing or invalid.
        """
        return HiveView(load_view(self.store, self._name(identifier)), self.store)

    def view_exists(self, identifier: str | Identifier) -> bool:
        """Check whether an Iceberg view exists, without reading its metadata file; False for an invalid name."""
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
        column_types: Sequence[IcebergType | None] | None = None,
        summary: Mapping[str, str] | None = None,
        properties: Properties = EMPTY_DICT,
    ) -> ViewDefinition:
        """Resolve and expand a query into a view definition, without creating the view.

        Hive tables that the query reads get a UUID parameter if they have none, so that lineage survives a rename
        (property `hive-views.mark-hive-tables`).

        Args:
            identifier: The view that the definition is for: `database.name`.
            sql: The query as typed.
            analyzer: Computes the column types, e.g. `hive_views.spark.schema_of` with a Spark session. None
                derives them from the tables' columns by Hive's rules.
            database: The current database for unqualified names; None is the view's database.
            dialect: The query's dialect: `spark`, `hive` or `trino`.
            column_names: Column names of the view; None takes those of the query.
            column_comments: Column comments, None for a column without one.
            column_types: The types that the columns must have, None for any; they are not converted.
            summary: Additional entries of the version's summary, e.g. `engine-name`.
            properties: The properties of the view, of which `hive-views.row-text-for-trino` and
                `hive-views.explicit-row-text` change the definition.

        Returns:
            The `schema` and `version` for `create_view` or `replace_version`.

        Raises:
            SqlError: If the query cannot be parsed, or refers to a missing object or another catalog; has `line` and
                `column`.
        """
        from hive_views.dependencies.view_query import ViewQuery, author_dialect, declared_columns

        name = self._name(identifier)
        query = ViewQuery(
            sql=sql,
            dialect=author_dialect(dialect),
            database=(database or name.database).lower(),
            columns=declared_columns(column_names, column_comments, column_types),
            analyzer=analyzer,
            summary=summary or {},
        )
        return self._build(name, query, properties)

    def columns(self, identifier: str | Identifier) -> tuple[tuple[str, str], ...]:
        """Read the columns of a table or view from its metastore row.

        Returns:
            Name (lower case) and Hive type of each column, partition columns last; empty if there is no such object.
        """
        row = self.store.get_row(self._name(identifier))
        return () if row is None else tuple((column.lower(), kind) for column, kind, _ in row.declared_columns)

    # -- Creating and changing views ----------------------------------------------------------------------------------

    def create_view_from_sql(
        self,
        identifier: str | Identifier,
        sql: str,
        *,
        dialect: str = "spark",
        database: str | None = None,
        column_names: Sequence[str] | None = None,
        column_comments: Sequence[str | None] | None = None,
        column_types: Sequence[IcebergType | None] | None = None,
        location: str | None = None,
        properties: Properties = EMPTY_DICT,
        or_replace: bool = False,
        analyzer: Analyzer | None = None,
        summary: Mapping[str, str] | None = None,
    ) -> HiveView:
        """Create a view from its query: resolve the names, replace the stars, and infer the columns.

        Every reader of the metastore gets a text that it can run, whatever its current database is. `create_view`
        stores a definition without looking at its text.

        Args:
            identifier: `database.name`.
            sql: The query as typed.
            dialect: The query's dialect: `spark`, `hive` or `trino`.
            database: The current database for unqualified names; None is the view's database.
            column_names: Column names of the view; None takes those of the query.
            column_comments: Column comments, None for a column without one.
            column_types: The types that the columns must have, None for any; they are not converted.
            location: The view's base location; None is a directory below the database's location.
            properties: View properties.
            or_replace: Replace the definition of an existing view.
            analyzer: Computes the column types; see `author`.
            summary: Additional entries of the version's summary, e.g. `engine-name`.

        Raises:
            SqlError: If the query cannot be parsed, or refers to a missing object; has `line` and `column`.
            HiveViewsError: As `create_view`, or with `or_replace` as `create_or_replace_view`.
        """
        from hive_views.dependencies.view_builder import without_given_names
        from hive_views.dependencies.view_query import ViewQuery, author_dialect, declared_columns

        name = check_new_table(self.store.client, self._name(identifier))
        query = ViewQuery(
            sql=sql,
            dialect=author_dialect(dialect),
            database=(database or name.database).lower(),
            columns=declared_columns(column_names, column_comments, column_types),
            analyzer=analyzer,
            summary=summary or {},
        )
        definition = self._build(name, without_given_names(self.store, query), properties)
        create = self.create_or_replace_view if or_replace else self.create_view
        return create(identifier, definition.schema, definition.version, location, properties)

    def replace_view_from_sql(
        self,
        identifier: str | Identifier,
        sql: str,
        *,
        dialect: str | None = None,
        database: str | None = None,
        column_names: Sequence[str] | None = None,
        column_comments: Sequence[str | None] | None = None,
        column_types: Sequence[IcebergType | None] | None = None,
        properties: Properties = EMPTY_DICT,
        analyzer: Analyzer | None = None,
        summary: Mapping[str, str] | None = None,
    ) -> HiveView:
        """Give a view another query; its history is kept, and everything that is not given.

        Args:
            identifier: `database.name`.
            sql: The query as typed.
            dialect: The query's dialect; None is that of the current definition.
            database: The current database for unqualified names; None is that of the current definition.
            column_names: Column names of the view; None keeps the column list of the current definition. If it has
                none, the columns are named by the query.
            column_comments: Column comments, None for a column without one. Other columns keep theirs.
            column_types: The types that the columns must have, None for any; they are not converted.
            properties: View properties to add; other properties are kept.
            analyzer: Computes the column types; see `author`.
            summary: Additional entries of the version's summary, e.g. `engine-name`.

        Raises:
            SqlError: If the query cannot be parsed, or refers to a missing object; has `line` and `column`.
            InvalidViewError: If the view has partitions, or names of the current definition refer to another catalog.
            CommitFailedError: If the definition was changed concurrently.
            HiveViewsError: As `replace_view`.
        """
        from hive_views.dependencies.recompile import keep_spelling
        from hive_views.dependencies.view_builder import without_given_names
        from hive_views.dependencies.view_query import ViewQuery, author_dialect, declared_columns
        from hive_views.dependencies.view_text import text_of_version
        from hive_views.metastore.partitions import reject_partitions

        name = self._name(identifier)
        view = self.load_view(identifier)
        current = view.current_version()
        text = text_of_version(name, current) if dialect is None or database is None else None
        if current.default_catalog not in (None, self.name, self._config.session_catalog):
            raise InvalidViewError(
                str(name),
                f"names without a catalog refer to the catalog {current.default_catalog} in its definition, not "
                f"to {self.name}. Replace it with an engine that has that catalog, or pass a complete definition to "
                "replace_view",
            )
        reject_partitions(self.store, name)
        aliases = next((item.field_aliases for item in current.sql_representations), None)
        query = ViewQuery(
            sql=sql,
            dialect=author_dialect(dialect or (text.dialect if text is not None else "spark")),
            database=(database or (text.database if text is not None else name.database)).lower(),
            columns=declared_columns(aliases if column_names is None else column_names, column_comments, column_types),
            analyzer=analyzer,
            summary=summary or {},
        )
        query = without_given_names(self.store, query)
        definition = self._build(name, query, {**view.properties, **properties})
        schema = keep_spelling(definition.schema, view.schema())
        update = view.update().replace_version(definition.version, schema)
        return (update.set_properties(properties) if properties else update).commit()

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
            schema: The view's columns.
            view_version: Its texts and defaults, e.g. from `hive_views.define` or `author`. The version id and the
                timestamp are assigned here.
            location: Its base location; None is a directory below the database's location.
            properties: View properties.

        Raises:
            ViewAlreadyExistsError, TableAlreadyExistsError, NotAnIcebergViewError: If the name is taken.
            NoSuchNamespaceError: If the database does not exist.
            InvalidIdentifierError, InvalidPropertyError, InvalidViewError: If the metastore cannot store the view.
            CyclicViewError: If the view would read itself through other views.
            EngineRequirementError: If an engine of `hive-views.require-engines` does not read it as its author's does.
            SourceDroppedError: If something that it reads was dropped since the version was defined, or is dropped at
                the same time.
            LockError: If the lock could not be acquired.
            CommitStateUnknownError: If the metastore did not reply; the metadata file is kept.
        """
        from hive_views.dependencies.graph import reject_cycle
        from hive_views.dependencies.unreadable_tables import warn_of_unreadable

        name = check_new_table(self.store.client, self._name(identifier))
        metadata = create(
            uuid=str(uuid.uuid4()),
            location=new_view_location(self.store, name, location),
            schema=self._schema(schema),
            version=view_version,
            properties=self._checked_properties(properties),
            now_ms=int(time.time() * 1000),
            identifier=str(name),
        )
        precondition = reject_cycle(self.store, name, metadata.current_version(), is_new=True)
        check_required_engines(self.store, name, metadata)
        created = commit(self.store, name, None, metadata, precondition=precondition)
        warn_of_unreadable(created.row, precondition.sources)
        return HiveView(created, self.store)

    def create_view_if_not_exists(
        self,
        identifier: str | Identifier,
        schema: Schema | pa.Schema,
        view_version: ViewVersion,
        location: str | None = None,
        properties: Properties = EMPTY_DICT,
    ) -> HiveView:
        """Create a view, or load the existing one; arguments as in `create_view`.

        Raises:
            NotAnIcebergViewError: If the name belongs to a plain Hive view.
        """
        try:
            return self.load_view(identifier)
        except NoSuchViewError as error:
            # A table with the name is reported by the creation, as a name that is taken.
            if type(error) not in (NoSuchViewError, NotAViewError):
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
        """Replace the definition of a view, whatever its current version is. The history is kept.

        Args:
            identifier: `database.name`.
            schema: The new columns.
            view_version: The new texts and defaults.
            location: A new base location; None keeps the current one.
            properties: View properties to add; other properties are kept.
            may_lose_dialects: Allow the new version to have no text for a dialect that the current one has.

        Raises:
            NoSuchViewError, TableAlreadyExistsError: If there is no such view, or a table has the name.
            DialectLossError: If a dialect would lose its text.
            CommitFailedError: If concurrent changes outlast the retries.
            CommitStateUnknownError: If the metastore did not reply; the metadata file is kept.
        """
        name = self._name(identifier)
        try:
            loaded = load_view(self.store, name)
        except NoSuchViewError:
            self._reject_table(name)
            raise
        changes: list[Change] = [
            AddVersion(self._schema(schema), view_version, may_lose_dialects),
            SetProperties(self._checked_properties(properties, with_defaults=False)),
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
        """Create a view, or replace the definition of the existing one; see `create_view` and `replace_view`.

        Repeated for `hive-views.settle-timeout-ms` if other clients create or drop the view concurrently.

        Raises:
            CommitFailedError: If the view still could be neither created nor replaced then.
        """

        def create_or_replace() -> HiveView:
            if self.view_exists(identifier):
                return self.replace_view(
                    identifier, schema, view_version, location, properties, may_lose_dialects=may_lose_dialects
                )
            return self.create_view(identifier, schema, view_version, location, properties)

        retrying = Retrying(
            retry=retry_if_exception(lambda error: type(error) in (NoSuchViewError, ViewAlreadyExistsError)),
            stop=stop_all(
                stop_after_attempt(_MIN_CREATE_OR_REPLACE_ATTEMPTS),
                stop_after_delay(self._config.settle_timeout_ms / 1000),
            ),
            wait=wait_random_exponential(multiplier=0.05, max=2),
        )
        try:
            return retrying(create_or_replace)
        except RetryError as error:
            last = error.last_attempt.exception()
            raise CommitFailedError(
                str(self._name(identifier)),
                f"it could be neither created nor replaced in {error.last_attempt.attempt_number} attempts; the last "
                f"one failed with: {last}. Other clients create and drop it all the time, or the metastore does not "
                "return its row: check that it can be loaded, and repeat the change",
            ) from last

    def register_view(self, identifier: str | Identifier, metadata_location: str) -> HiveView:
        """Create a view from an existing metadata file. The file is neither changed nor deleted.

        Args:
            identifier: `database.name`.
            metadata_location: The file's URI.

        Raises:
            ViewAlreadyExistsError, TableAlreadyExistsError, NotAnIcebergViewError: If the name is taken.
            NoSuchNamespaceError: If the database does not exist.
            MetadataFileError: If the file is missing or invalid.
            InvalidPropertyError: If the view's location or `write.metadata.path` is neither a URI nor an absolute path.
            CyclicViewError: If the view would read itself through other views.
        """
        from hive_views.dependencies.graph import reject_cycle
        from hive_views.metastore.shared_files import files_lock_name

        name = check_new_table(self.store.client, self._name(identifier))
        metadata = self.store.files.read(metadata_location)
        # A relative location resolves differently in each process, so every later commit would write elsewhere.
        check_location(metadata.location)
        if METADATA_PATH in metadata.properties:
            check_location(metadata.properties[METADATA_PATH], METADATA_PATH)
        acyclic = reject_cycle(self.store, name, metadata.current_version())

        def check() -> None:
            acyclic.check()
            if self.store.files.read(metadata_location) != metadata:  # a purge has deleted it since
                raise InvalidMetadataError(metadata_location, "", "it was changed while it was registered")

        locked_names = (files_lock_name(metadata.view_uuid), *acyclic.locked_names)
        precondition = CommitPrecondition(locked_names, check)
        loaded = commit(
            self.store, name, None, metadata, registered_location=metadata_location, precondition=precondition
        )
        return HiveView(loaded, self.store)

    def rename_view(self, from_identifier: str | Identifier, to_identifier: str | Identifier) -> HiveView:
        """Rename a view, also to another database. Its files are not moved.

        Args:
            from_identifier: The current name.
            to_identifier: The new name.

        Raises:
            NoSuchNamespaceError: If the new database does not exist.
            ViewAlreadyExistsError, TableAlreadyExistsError: If the new name is taken.
            CyclicViewError: If the view reads, directly or through other views, an object with the new name.
            DependentsError: If a view reads it by its current name, in strict mode.
            CommitFailedError: If the view was changed concurrently.
            CommitStateUnknownError: If the metastore did not reply.
        """
        from hive_views.dependencies.graph import reject_cycle

        source = self._name(from_identifier)
        loaded = load_view(self.store, source)
        target = check_new_table(self.store.client, self._name(to_identifier))
        if target.database != source.database:
            self.store.client.get_database(target.database)
        precondition = reject_cycle(self.store, target, loaded.metadata.current_version(), renamed_from=source)
        if self._config.strict:
            from hive_views.dependencies.impact import reject_breaking_change

            reject_breaking_change(self.store, source, "rename", None)
        return HiveView(rename(self.store, loaded, target, precondition=precondition), self.store)

    def recompile_view(self, identifier: str | Identifier, *, analyzer: Analyzer | None = None) -> RecompileResult:
        """Expand the typed text of a view again, as ALTER VIEW … RECOMPILE; a new version only if something changed.

        Args:
            identifier: `database.name`.
            analyzer: Computes the column types; see `author`.

        Raises:
            SqlError: If the typed text no longer resolves; nothing is changed.
        """
        from hive_views.dependencies.recompile import recompile

        return recompile(self.store, self._name(identifier), analyzer, catalog_name=self.name)

    def repair_view(self, identifier: str | Identifier) -> HiveView:
        """Overwrite a view's row from its metadata file, discarding changes by other programs (`view.drift`)."""
        from hive_views.dependencies.recompile import repair

        return HiveView(repair(self.store, self._name(identifier)), self.store)

    def adopt_view(self, identifier: str | Identifier, *, analyzer: Analyzer | None = None) -> HiveView:
        """Make the text that another program wrote into a view's row (`view.drift`) a new version of the view.

        Properties that were changed in the row become those of the view; if plain Spark altered the row, so do the
        parameters that a user may have set.

        Args:
            identifier: `database.name`.
            analyzer: Computes the column types; see `author`.

        Raises:
            SqlError: If the row's text cannot be resolved.
        """
        from hive_views.dependencies.recompile import adopt

        return HiveView(adopt(self.store, self._name(identifier), analyzer), self.store)

    # -- Dropping views -----------------------------------------------------------------------------------------------

    def drop_view(  # type: ignore[override]  # PyIceberg's returns nothing
        self,
        identifier: str | Identifier,
        *,
        purge_files: bool = False,
        behavior: DropBehavior | str = "",
        expected_metadata_location: str | None = None,
    ) -> DropReport:
        """Drop a view. Its metadata files are kept, so that `register_view` can restore it, unless they are purged.

        Args:
            identifier: `database.name`.
            purge_files: Delete all metadata files of the view, unless its property `gc.enabled` is false. With
                `cascade`, also those of the dependents, except files that another row in the metastore needs.
            behavior: `restrict` drops nothing if a view depends on it, `cascade` drops every view that depends on it
                first; see `dependencies.plan_drop`. Without either, dependents are left dangling, as in Hive; in strict
                mode the default is `restrict`.
            expected_metadata_location: Drop the view only in this state (`HiveView.metadata_location`).

        Returns:
            The dropped objects, in order, with the metadata file or text that restores each.

        Raises:
            NotAnIcebergViewError: If the name belongs to a plain Hive view.
            DependentsError: If the behavior forbids the drop; the error names every dependent.
            CommitFailedError: If the view is in another state than the expected one.
            InvalidViewError: If the files to purge are also those of another row; nothing is changed.
            CommitStateUnknownError: If the metastore did not reply; no file is deleted.
        """
        from hive_views.dependencies.drop import DropBehavior, drop_object, drop_view, reject_shared_files

        name = self._name(identifier)
        chosen = self._behavior(behavior)
        if chosen is not DropBehavior.NONE:
            loaded = load_view(self.store, name)
            if purge_files:
                reject_shared_files(self.store, loaded)  # before its dependents are dropped
        return drop_object(
            self._lineages,
            name,
            chosen,
            lambda check: drop_view(
                self.store, name, expected=expected_metadata_location, purge_files=purge_files, check=check
            ),
            purge_files=purge_files,
        )

    # -- Services ---------------------------------------------------------------------------------------------

    @cached_property
    def dependencies(self) -> ViewDependencies:
        """What views depend on: lineage, dependents, graph, validity, the impact of changes, plans of drops."""
        from hive_views.catalog.dependencies import ViewDependencies

        return ViewDependencies(self._lineages, self.name)

    @cached_property
    def partitions(self) -> ViewPartitions:
        """The partitions of views: add, drop and list them, and find the partitions of tables that they need."""
        from hive_views.catalog.partitions import ViewPartitions

        return ViewPartitions(self.store, self.name)

    @cached_property
    def materialized(self) -> MaterializedViews:
        """The catalog's materialized views: create, refresh, check freshness, drop."""
        from hive_views.materialized.views import MaterializedViews

        return MaterializedViews(self.store, self)

    # -- Internals ----------------------------------------------------------------------------------------------------

    def _checked_properties(self, properties: Properties, *, with_defaults: bool = True) -> dict[str, str]:
        """Return the properties of a view, with the catalog's defaults and overrides."""
        from hive_views.materialized.properties import SETTINGS

        merged = configured_properties(self._config, properties, with_defaults=with_defaults)
        reject_misspelled_keys(merged, SETTINGS)
        return merged

    def _build(self, name: ViewName, query: ViewQuery, properties: Properties) -> ViewDefinition:
        from hive_views.dependencies.view_builder import Building, build_definition

        building = Building(catalog_name=self.name, forms=row_text_forms(self._config, properties))
        return build_definition(self.store, name, query, building)

    def _reject_table(self, name: ViewName) -> None:
        row = self.store.get_row(name)
        if row is not None and not row.kind.is_view:
            raise TableAlreadyExistsError(str(name))

    def _schema(self, schema: Any) -> Any:
        if schema is None or isinstance(schema, Schema):
            return schema  # `create` rejects None with an error that names the view
        return self._convert_schema_if_needed(schema)
