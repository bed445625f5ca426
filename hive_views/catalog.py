"""The catalog: Iceberg views in a Hive Metastore, as a PyIceberg catalog with every view method.

No SQL is parsed here and no Thrift is spoken: it reads like a table of contents of the rooms below.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.catalog.hive import HiveCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.exceptions import TableAlreadyExistsError as IcebergTableAlreadyExistsError
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import CommitTableResponse, CreateTableTransaction, Table
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER, SortOrder
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties

from hive_views.authoring import Analyzer, Definition, author
from hive_views.config import CatalogConfig
from hive_views.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    InvalidIdentifierError,
    InvalidPropertyError,
    MetastoreConnectionLostError,
    NoSuchTableError,
    NoSuchViewError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from hive_views.identifiers import ViewName, check_writable, parse_namespace
from hive_views.metadata_files import MetadataFiles
from hive_views.metastore.client import MetastoreClient
from hive_views.metastore.commit import Store, commit, drop, rename
from hive_views.metastore.flat_model import RowKind, row_kind
from hive_views.metastore.load import exists, load, table_names, view_names
from hive_views.metastore.pyiceberg_client import PyIcebergClient
from hive_views.purge import purge
from hive_views.spec.changes import AddVersion, Change, SetLocation, SetProperties, create
from hive_views.view import HiveView, change, check_view_properties

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.table.update import TableRequirement, TableUpdate
    from pyiceberg.view.metadata import ViewVersion

GC_ENABLED = "gc.enabled"
"""View property (Iceberg's TableProperties): `false` keeps every file of a view that is dropped with `purge`."""


class HiveViewCatalog(HiveCatalog):
    """Iceberg tables, views and namespaces of one Hive Metastore.

    Made directly, or by PyIceberg: `load_catalog("prod", **{"py-catalog-impl": "hive_views.catalog.HiveViewCatalog",
    "uri": "thrift://host:9083", "warehouse": "s3://bucket/warehouse"})`. Connects at the first call, may be shared by
    threads, and holds connections until `close()`.
    """

    def __init__(self, name: str, **properties: str) -> None:
        """Check the properties; nothing is connected yet.

        Args:
            name: The catalog's name, which users may write in front of a view's.
            properties: See `hive_views.config`; those of PyIceberg's FileIO (`s3.endpoint` …) are passed on.

        Raises:
            InvalidPropertyError: If one is wrong.
        """
        self._config = CatalogConfig.from_properties(properties)
        super().__init__(name, **properties)

    def _create_hive_client(self, properties: dict[str, str]) -> Any:  # type: ignore[override]  # static in PyIceberg
        client = MetastoreClient(self._config.connection)
        self._store = Store(client, MetadataFiles(properties), self._config)
        return PyIcebergClient(client, self._config.lock)

    def __enter__(self) -> HiveViewCatalog:
        return self

    def __repr__(self) -> str:
        return f"HiveViewCatalog({self.name!r}, {','.join(self._config.connection.uris)})"

    def close(self) -> None:
        """Close the kept connections. The catalog may be used again; it then connects anew."""
        self._store.client.close()

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
        return [name.identifier for name in view_names(self._store, parse_namespace(namespace, catalog=self.name))]

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
        return HiveView(load(self._store, self._name(identifier)), self._store)

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
        return exists(self._store, name)

    def author(
        self,
        identifier: str | Identifier,
        sql: str,
        *,
        analyzer: Analyzer,
        database: str | None = None,
        dialect: str = "spark",
        column_names: Sequence[str] | None = None,
        column_comments: Sequence[str | None] | None = None,
    ) -> Definition:
        """Resolve and expand an author's query against the metastore's tables; nothing is written.

        Args:
            identifier: The view that the query is for: `database.name`.
            sql: The query as typed.
            analyzer: Where column types come from, e.g. `hive_views.spark.analyzer.schema_of` with a session.
            database: The author's current database; None is the view's.
            dialect: The author's dialect: `spark`, `hive` or `trino`.
            column_names: Names in front of AS, where the author gave them.
            column_comments: Their comments.

        Returns:
            `schema` and `version`, for `create_view` or `replace_version`.

        Raises:
            SqlError: If the text cannot be read, or names something that is not there; it points at line and column.
        """
        name = self._name(identifier)
        return author(
            self._store,
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
            HiveViewsError: As `hive_views.metastore.commit.commit` says.
        """
        name = self._name(identifier).check_writable()
        metadata = create(
            uuid=str(uuid.uuid4()),
            location=location.rstrip("/") if location else self._default_location(name),
            schema=self._schema(schema),
            version=view_version,
            properties=self._view_properties(properties),
            now_ms=int(time.time() * 1000),
            identifier=str(name),
        )
        return HiveView(commit(self._store, name, None, metadata), self._store)

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
    ) -> HiveView:
        """Give a view a new definition, whatever its current one is. Its history and its other properties stay.

        Args:
            identifier: `database.name`.
            schema: Its columns from now on.
            view_version: Its texts and defaults.
            location: A new base location; None keeps it.
            properties: View properties to add.

        Returns:
            The view as it now is.

        Raises:
            NoSuchViewError, TableAlreadyExistsError: If there is no such view, or a table has the name.
            DialectLossError: If a dialect would lose its text (`replace.drop-dialect.allowed`).
            HiveViewsError: As `hive_views.metastore.commit.commit` says.
        """
        name = self._name(identifier)
        try:
            loaded = load(self._store, name)
        except NoSuchViewError:
            self._refuse_table(name)
            raise
        overridden = self._view_properties(properties, defaults=False)
        changes: list[Change] = [AddVersion(self._schema(schema), view_version), SetProperties(overridden)]
        if location:
            changes.append(SetLocation(location.rstrip("/")))
        return HiveView(change(self._store, loaded, changes, any_version=True), self._store)

    def create_or_replace_view(
        self,
        identifier: str | Identifier,
        schema: Schema | pa.Schema,
        view_version: ViewVersion,
        location: str | None = None,
        properties: Properties = EMPTY_DICT,
    ) -> HiveView:
        """Create a view, or give the one that has the name a new definition; see `create_view` and `replace_view`."""
        while True:
            if self.view_exists(identifier):
                try:
                    return self.replace_view(identifier, schema, view_version, location, properties)
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
        """
        name = self._name(identifier).check_writable()
        metadata = self._store.files.read(metadata_location)
        return HiveView(commit(self._store, name, None, metadata, registered=metadata_location), self._store)

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
            HiveViewsError: As `hive_views.metastore.commit.rename` says.
        """
        source, target = self._name(from_identifier), self._name(to_identifier).check_writable()
        loaded = load(self._store, source)
        self._store.client.get_database(target.database)
        return HiveView(rename(self._store, loaded, target), self._store)

    def drop_view(self, identifier: str | Identifier, *, purge_files: bool = False) -> None:
        """Drop a view. Its metadata files stay, so that `register_view` can bring it back, unless they are purged.

        Args:
            identifier: `database.name`.
            purge_files: Delete all its metadata files too, unless its property `gc.enabled` is false.

        Raises:
            NoSuchViewError: If there is no such view; NotAnIcebergViewError for a plain Hive view.
            HiveViewsError: As `hive_views.metastore.commit.drop` says.
        """
        name = self._name(identifier)
        if not purge_files:
            drop(self._store, name)
            return
        loaded = load(self._store, name)
        row = drop(self._store, name, loaded.row.metadata_location)
        if loaded.metadata.properties.get(GC_ENABLED, "true").lower() != "false":
            purge(self._store.files, (row.metadata_location, row.previous_metadata_location), loaded.metadata)

    # -- Tables: PyIceberg's, which never take a view for a table ---------------------------------------------------

    def list_tables(self, namespace: str | Identifier) -> list[Identifier]:
        """The Iceberg tables of a database, by the server's filter.

        Args:
            namespace: The database.

        Returns:
            Sorted identifiers.

        Raises:
            NoSuchNamespaceError: If there is no such database.
        """
        return [name.identifier for name in table_names(self._store, parse_namespace(namespace, catalog=self.name))]

    def create_table(
        self,
        identifier: str | Identifier,
        schema: Schema | pa.Schema,
        location: str | None = None,
        partition_spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC,
        sort_order: SortOrder = UNSORTED_SORT_ORDER,
        properties: Properties = EMPTY_DICT,
    ) -> Table:
        """Create a table; see PyIceberg.

        Raises:
            ViewAlreadyExistsError: If a view has the name.
            TableAlreadyExistsError: If a table has it.
        """
        self._refuse_view(self._name(identifier))
        return super().create_table(identifier, schema, location, partition_spec, sort_order, properties)

    def create_table_transaction(
        self,
        identifier: str | Identifier,
        schema: Schema | pa.Schema,
        location: str | None = None,
        partition_spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC,
        sort_order: SortOrder = UNSORTED_SORT_ORDER,
        properties: Properties = EMPTY_DICT,
    ) -> CreateTableTransaction:
        """Begin the creation of a table; see PyIceberg.

        Raises:
            ViewAlreadyExistsError: If a view has the name.
        """
        self._refuse_view(self._name(identifier))
        return super().create_table_transaction(identifier, schema, location, partition_spec, sort_order, properties)

    def register_table(self, identifier: str | Identifier, metadata_location: str, overwrite: bool = False) -> Table:
        """Register a table's metadata file; see PyIceberg.

        Raises:
            ViewAlreadyExistsError: If a view has the name.
        """
        self._refuse_view(self._name(identifier))
        return super().register_table(identifier, metadata_location, overwrite)

    def load_table(self, identifier: str | Identifier) -> Table:
        """Load a table; see PyIceberg.

        Raises:
            NoSuchTableError: If there is none, or a view has the name.
        """
        return super().load_table(self._table_name(identifier).identifier)

    def table_exists(self, identifier: str | Identifier) -> bool:
        """Whether an Iceberg table has that name; its metadata is not read.

        Args:
            identifier: `database.name`.

        Returns:
            False too where a view or a Hive table has the name.
        """
        try:
            row = self._store.row(self._name(identifier))
        except InvalidIdentifierError:
            return False
        return row is not None and row.kind is RowKind.ICEBERG_TABLE

    def drop_table(self, identifier: str | Identifier) -> None:
        """Drop a table, never a view (Iceberg #17278); see PyIceberg.

        Raises:
            NoSuchTableError: If there is no such table.
        """
        name = self._table_name(identifier)
        self._refuse_as_table(name)
        super().drop_table(name.identifier)

    def purge_table(self, identifier: str | Identifier) -> None:
        """Drop a table, never a view, and delete its data and metadata files; see PyIceberg.

        Raises:
            NoSuchTableError: If there is no such table.
        """
        # PyIceberg purges tables of its other metastores; its HiveCatalog says "not yet implemented".
        MetastoreCatalog.purge_table(self, self._table_name(identifier).identifier)

    def rename_table(self, from_identifier: str | Identifier, to_identifier: str | Identifier) -> Table:
        """Rename a table; see PyIceberg.

        Raises:
            NoSuchTableError: If there is no such table.
            NoSuchNamespaceError: If the new database does not exist.
            ViewAlreadyExistsError, TableAlreadyExistsError: If the new name is taken.
        """
        source, target = self._table_name(from_identifier), self._name(to_identifier).check_writable()
        self._refuse_as_table(source)
        row = self._store.row(target)
        if row is not None:
            kind = "View" if row.kind.is_view else "Table"
            message = f"Cannot rename {source} to {target}. {kind} already exists"
            raise (ViewAlreadyExistsError if row.kind.is_view else TableAlreadyExistsError)(str(target), message)
        self._store.client.get_database(target.database)
        return super().rename_table(source.identifier, target.identifier)

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Commit changes to a table; see PyIceberg.

        Raises:
            ViewAlreadyExistsError: If the table is new and a view took its name meanwhile.
            CommitFailedError: If somebody else changed the table meanwhile.
            CommitStateUnknownError: If the connection broke before the metastore answered.
        """
        name = self._table_name(table.name())
        self._refuse_view(name)
        try:
            return super().commit_table(table, requirements, updates)
        except MetastoreConnectionLostError as error:
            raise CommitStateUnknownError(str(name), None, str(error)) from error
        except CommitFailedException as error:
            raise CommitFailedError(str(name), str(error)) from error

    def _convert_hive_into_iceberg(self, table: Any) -> Table:
        kind = row_kind(table)
        if kind is not RowKind.ICEBERG_TABLE:
            raise NoSuchTableError(f"{table.dbName}.{table.tableName}", f"the name belongs to: {kind.value}")
        return super()._convert_hive_into_iceberg(table)

    def _create_hive_table(self, open_client: Any, hive_table: Any) -> None:
        try:
            super()._create_hive_table(open_client, hive_table)
        except IcebergTableAlreadyExistsError as error:
            name = ViewName(hive_table.dbName, hive_table.tableName)
            self._refuse_view(name)
            raise TableAlreadyExistsError(str(name), "Table already exists: {}") from error

    # -- Names and defaults -----------------------------------------------------------------------------------------

    def _name(self, identifier: str | Sequence[str]) -> ViewName:
        return ViewName.parse(identifier, catalog=self.name)

    def _table_name(self, identifier: str | Sequence[str]) -> ViewName:
        try:
            return self._name(identifier)
        except InvalidIdentifierError as error:
            raise NoSuchTableError(f"{identifier} ({error.reason})") from error

    def _refuse_view(self, name: ViewName) -> None:
        row = self._store.row(name)
        if row is not None and row.kind.is_view:
            raise ViewAlreadyExistsError(str(name), "View with same name already exists: {}")

    def _refuse_table(self, name: ViewName) -> None:
        row = self._store.row(name)
        if row is not None and not row.kind.is_view:
            raise TableAlreadyExistsError(str(name))

    def _refuse_as_table(self, name: ViewName) -> None:
        row = self._store.row(name)
        if row is None or row.kind.is_view:
            raise NoSuchTableError(str(name))

    def _schema(self, schema: Any) -> Any:
        if schema is None or isinstance(schema, Schema):
            return schema  # None is for `create` to refuse, with the view's name
        return self._convert_schema_if_needed(schema)

    def _view_properties(self, properties: Properties, *, defaults: bool = True) -> dict[str, str]:
        check_view_properties(properties)
        return {
            **(self._config.view_defaults if defaults else {}),
            **properties,
            **self._config.view_overrides,
        }

    def _default_location(self, name: ViewName) -> str:
        check_writable(name.database, str(name))
        base = self._store.client.get_database(name.database).locationUri
        if not base and self._config.warehouse:
            base = f"{self._config.warehouse}/{name.database}.db"
        if not base:
            raise InvalidPropertyError(
                "warehouse", None, f"database {name.database} has no location, so the catalog needs a warehouse"
            )
        suffix = f"-{uuid.uuid4().hex}" if self._config.unique_location else ""
        return f"{base.rstrip('/')}/{name.name}{suffix}"
