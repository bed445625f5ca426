"""PyIceberg's tables and namespaces on our client: time-outs, fail-over, Hive 4, and no view ever taken for a table."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pyiceberg import exceptions as iceberg
from pyiceberg.catalog import PropertiesUpdateSummary
from pyiceberg.catalog.hive import HiveCatalog
from pyiceberg.io import PY_IO_IMPL, FileIO
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import CommitTableResponse, CreateTableTransaction, Table
from pyiceberg.table.metadata import TableMetadataUtil
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER, SortOrder
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties

from hive_views.config import HIVE2_COMPATIBLE, CatalogConfig
from hive_views.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    InvalidIdentifierError,
    MetastoreConnectionLostError,
    MetastoreError,
    NoSuchNamespaceError,
    NoSuchTableError,
    SharedFilesError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from hive_views.identifiers import ViewName, check_writable, parse_namespace
from hive_views.io.locations import directory_of
from hive_views.io.metadata_files import MetadataFiles
from hive_views.io.table_files import delete_files, files_to_purge, is_collected
from hive_views.metastore.commit.pyiceberg_adapter import PyIcebergClient
from hive_views.metastore.databases import create_database, database_properties, drop_database, update_database
from hive_views.metastore.queries import table_names
from hive_views.metastore.row_codec import METADATA_LOCATION, UUID, RowKind, row_kind
from hive_views.metastore.shared_files import Owner, kept_by_others, twins
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.transport.client import MetastoreClient

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.table.update import TableRequirement, TableUpdate

logger = logging.getLogger(__name__)


class TableCatalog(HiveCatalog):
    """PyIceberg's HiveCatalog with table methods that are safe beside views: `HiveViewCatalog` without its views."""

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
        # As Spark writes tables. A server of Hive 2 takes a row with the other type, and refuses every change of it.
        self.properties.setdefault(HIVE2_COMPATIBLE, str(self._config.hive2_compatible).lower())

    def _create_hive_client(self, properties: dict[str, str]) -> Any:  # type: ignore[override]  # static in PyIceberg
        client = MetastoreClient(self._config.connection)
        self.store = MetastoreStore(client, MetadataFiles(properties), self._config)
        return PyIcebergClient(client, self._config.lock)

    def close(self) -> None:
        """Close the kept connections. The catalog cannot be used afterwards."""
        self.store.client.close()

    def __getstate__(self) -> object:
        """Refuse to be pickled, or copied."""
        raise TypeError(
            f"the catalog {self.name} cannot be pickled or copied, because it holds connections. "
            "Open one in each process, with the same name and properties"
        )

    # -- Namespaces ----------------------------------------------------------------------------------------------------

    def create_namespace(self, namespace: str | Identifier, properties: Properties = EMPTY_DICT) -> None:
        """Create a database.

        Args:
            namespace: Its name.
            properties: Its properties; `location` and `comment` are those of the database.

        Raises:
            NamespaceAlreadyExistsError: If it exists.
            InvalidIdentifierError, InvalidPropertyError: If its name or a property cannot be stored.
        """
        name = self._database(namespace)
        check_writable(name, name)
        create_database(self.store.client, name, properties)

    def drop_namespace(self, namespace: str | Identifier) -> None:
        """Drop an empty database; its directory stays.

        Args:
            namespace: Its name.

        Raises:
            NoSuchNamespaceError: If it does not exist.
            NamespaceNotEmptyError: If it holds a table or view of any kind.
        """
        drop_database(self.store.client, self._database(namespace))

    def namespace_exists(self, namespace: str | Identifier) -> bool:
        """Whether a database exists; False too for a name that no metastore could hold.

        Args:
            namespace: Its name.
        """
        try:
            self.store.client.get_database(self._database(namespace))
        except (NoSuchNamespaceError, InvalidIdentifierError):
            return False
        return True

    def load_namespace_properties(self, namespace: str | Identifier) -> Properties:
        """The properties of a database, with its `location` and `comment`.

        Args:
            namespace: Its name.

        Raises:
            NoSuchNamespaceError: If it does not exist.
        """
        return database_properties(self.store.client, self._database(namespace))

    def update_namespace_properties(
        self, namespace: str | Identifier, removals: set[str] | None = None, updates: Properties = EMPTY_DICT
    ) -> PropertiesUpdateSummary:
        """Change the properties of a database.

        Args:
            namespace: Its name.
            removals: Keys to remove.
            updates: Properties to set.

        Returns:
            Which keys were removed, set, and not there to be removed.

        Raises:
            NoSuchNamespaceError: If it does not exist.
            InvalidPropertyError: If one cannot be stored, or is both set and removed.
        """
        name = self._database(namespace)
        removed, missing = update_database(self.store.client, name, set(removals or ()), updates)
        return PropertiesUpdateSummary(removed=sorted(removed), updated=sorted(updates), missing=sorted(missing))

    # -- Tables --------------------------------------------------------------------------------------------------------

    def list_tables(self, namespace: str | Identifier) -> list[Identifier]:
        """The Iceberg tables of a database, by the server's filter.

        Args:
            namespace: The database.

        Returns:
            Sorted identifiers.

        Raises:
            NoSuchNamespaceError: If there is no such database.
        """
        return [name.identifier for name in table_names(self.store, self._database(namespace))]

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
            NoSuchNamespaceError: If there is no such database.
            CommitStateUnknownError: If the connection broke before the metastore answered.
        """
        name = self._name_for_table(identifier)
        with _unknown(name):
            return super().create_table(name.identifier, schema, location, partition_spec, sort_order, properties)

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
            TableAlreadyExistsError: If a table has it.
            NoSuchNamespaceError: If there is no such database.
        """
        name = self._name_for_table(identifier)
        return super().create_table_transaction(
            name.identifier, schema, location, partition_spec, sort_order, properties
        )

    def register_table(self, identifier: str | Identifier, metadata_location: str, overwrite: bool = False) -> Table:
        """Register a table's metadata file; see PyIceberg.

        Raises:
            ViewAlreadyExistsError: If a view has the name.
            TableAlreadyExistsError: If a table has it.
            NoSuchNamespaceError: If there is no such database.
            RefusedLocationError: If the file is at a place that is not trusted.
            InvalidMetadataError: If it is longer than `spec.files.MAX_TABLE_BYTES`, or its gzip is damaged.
            CommitStateUnknownError: If the connection broke before the metastore answered.
        """
        name = self._name_for_table(identifier)
        # PyIceberg reads it again, however long it is.
        self.store.files.read_table_text(metadata_location)
        with _unknown(name):
            return super().register_table(name.identifier, metadata_location, overwrite)

    def load_table(self, identifier: str | Identifier) -> Table:
        """Load a table; see PyIceberg.

        Raises:
            NoSuchTableError: If there is none, or a view has the name.
            RefusedLocationError: If its metadata file is at a place that is not trusted.
            InvalidMetadataError: If that is longer than `spec.files.MAX_TABLE_BYTES`, or its gzip is damaged.
        """
        name = self._table_name(identifier)
        try:
            return super().load_table(name.identifier)
        except NoSuchTableError:
            raise
        except iceberg.NoSuchTableError as error:
            raise NoSuchTableError(str(name)) from error

    def table_exists(self, identifier: str | Identifier) -> bool:
        """Whether an Iceberg table has that name; its metadata is not read.

        Args:
            identifier: `database.name`.

        Returns:
            False too where a view or a Hive table has the name.
        """
        try:
            row = self.store.get_row(self._name(identifier))
        except InvalidIdentifierError:
            return False
        return row is not None and row.kind is RowKind.ICEBERG_TABLE

    def drop_table(self, identifier: str | Identifier) -> None:
        """Drop a table, never a view (Iceberg #17278); see PyIceberg.

        Raises:
            NoSuchTableError: If there is no such table.
            CommitStateUnknownError: If the connection broke before the metastore answered.
        """
        name = self._table_name(identifier)
        self._refuse_as_table(name)
        self._drop_row(name)

    def purge_table(self, identifier: str | Identifier) -> None:
        """Drop a table, never a view, and delete its data and metadata files.

        Deleted is what its metadata names below its location and the directories that its properties name
        (`write.data.path`, `write.metadata.path`); the rest is others', is left, and is logged. With the property
        `gc.enabled=false` all files stay, as Iceberg has it for tables that share files.

        Args:
            identifier: `database.name`.

        Raises:
            NoSuchTableError: If there is no such table.
            SharedFilesError: If it is registered under another name as well; MetastoreRefusedError if that cannot be
                told.
            CommitFailedError: If somebody changed the table meanwhile, or another one has the name; nothing is changed
                then.
            RefusedLocationError: If its metadata leads to a place that is not trusted; nothing is changed then.
            MetadataFileError: If its manifests cannot be read; nothing is changed then.
            CommitStateUnknownError: If the connection broke before the metastore answered; all files are there then.
        """
        name = self._table_name(identifier)
        table = self.load_table(name.identifier)
        shared = twins(self.store, table_owner(table, name)) if is_collected(table.metadata.properties) else []
        if shared:
            raise SharedFilesError(str(name), str(shared[0]))
        # Read before the table is gone: what cannot be read is refused, and nothing has happened.
        found = files_to_purge(table, self.store.files)

        def remove() -> None:
            # Reading manifests takes its time, and others rename and append meanwhile.
            row = self.store.get_row(name)
            if row is None or row.kind.is_view:
                raise NoSuchTableError(str(name), "dropped meanwhile")
            if row.metadata_location != table.metadata_location:
                reason = "it was changed, or another table has the name by now. It was not dropped, and no file was "
                reason += "deleted: look at what the name is now, and purge it again"
                expected = table.metadata_location
                raise CommitFailedError(str(name), reason, expected=expected, found=row.metadata_location)
            self._drop_row(name)

        self._drop_as_asked(name, remove)
        kept = None if found is None else kept_by_others(self.store, table_owner(table, None))
        if kept is None:
            delete_files(name, found, self.store.files)
        else:
            logger.warning("The files of %s are left, because %s", name, kept)

    def rename_table(self, from_identifier: str | Identifier, to_identifier: str | Identifier) -> Table:
        """Rename a table; see PyIceberg.

        Raises:
            NoSuchTableError: If there is no such table.
            NoSuchNamespaceError: If the new database does not exist.
            ViewAlreadyExistsError, TableAlreadyExistsError: If the new name is taken.
            CommitStateUnknownError: If the connection broke before the metastore answered.
        """
        source, target = self._table_name(from_identifier), self._name(to_identifier).check_writable()
        self._refuse_as_table(source)
        row = self.store.get_row(target)
        if row is not None:
            kind = "View" if row.kind.is_view else "Table"
            message = f"Cannot rename {source} to {target}. {kind} already exists"
            raise (ViewAlreadyExistsError if row.kind.is_view else TableAlreadyExistsError)(str(target), message)
        self.store.client.get_database(target.database)
        with _unknown(source):
            return super().rename_table(source.identifier, target.identifier)

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Commit changes to a table; see PyIceberg.

        Raises:
            ViewAlreadyExistsError: If the table is new and a view took its name meanwhile.
            CommitFailedError: If somebody else changed the table meanwhile.
            LockError: If the lock was lost before anything was sent.
            CommitStateUnknownError: If the connection broke before the metastore answered.
        """
        name = self._table_name(table.name())
        self._refuse_view(name)
        try:
            with _unknown(name):
                return super().commit_table(table, requirements, updates)
        except iceberg.CommitFailedException as error:
            raise CommitFailedError(str(name), str(error)) from error
        except ValueError as error:
            # What PyIceberg says where somebody else added a snapshot meanwhile, be it to another branch.
            if "older than last sequence number" not in str(error):
                raise
            raise CommitFailedError(str(name), str(error)) from error

    def _load_file_io(self, properties: Properties = EMPTY_DICT, location: str | None = None) -> FileIO:
        # Where PyIceberg opens each metadata file of a table, to read or to write it.
        if location is not None:
            self.store.files.check(location)
        # A table's own properties come out of a file of others, which does not choose what runs here.
        return super()._load_file_io({key: value for key, value in properties.items() if key != PY_IO_IMPL}, location)

    def _convert_hive_into_iceberg(self, table: Any) -> Table:
        kind = row_kind(table)
        if kind is not RowKind.ICEBERG_TABLE:
            raise NoSuchTableError(f"{table.dbName}.{table.tableName}", f"the name belongs to: {kind.value}")
        location = table.parameters.get(METADATA_LOCATION)
        if not location:
            return super()._convert_hive_into_iceberg(table)  # which says what is missing
        # PyIceberg reads a file of any length, and gzip that becomes one.
        metadata = TableMetadataUtil.parse_raw(self.store.files.read_table_text(location))
        return Table(
            identifier=(table.dbName, table.tableName),
            metadata=metadata,
            metadata_location=location,
            io=self._load_file_io(metadata.properties, location),
            catalog=self,
        )

    def _convert_iceberg_into_hive(self, table: Table) -> Any:
        converted = super()._convert_iceberg_into_hive(table)
        # As Iceberg's Java catalog writes it: a table that was renamed is found again by it.
        converted.parameters.setdefault(UUID, str(table.metadata.table_uuid))
        return converted

    def _create_hive_table(self, open_client: Any, hive_table: Any) -> None:
        try:
            super()._create_hive_table(open_client, hive_table)
        except iceberg.TableAlreadyExistsError as error:
            name = ViewName(hive_table.dbName, hive_table.tableName)
            self._refuse_view(name)
            raise TableAlreadyExistsError(str(name), "Table already exists: {}") from error

    def _drop_as_asked(self, name: ViewName, remove: Callable[[], None]) -> None:
        """Drop a table by `remove`, unless the catalog's properties forbid it."""
        remove()

    def _drop_row(self, name: ViewName) -> None:
        try:
            with _unknown(name):
                super().drop_table(name.identifier)
        except iceberg.NoSuchTableError as error:
            raise NoSuchTableError(str(name), "dropped meanwhile") from error

    # -- Names ---------------------------------------------------------------------------------------------------------

    def _database(self, namespace: str | Sequence[str]) -> str:
        return parse_namespace(namespace, catalog=self.name)

    def _name_for_table(self, identifier: str | Sequence[str]) -> ViewName:
        """The name of a table to be, which no row may have yet."""
        name = self._name(identifier).check_writable()
        row = self.store.get_row(name)
        if row is not None and row.kind.is_view:
            raise ViewAlreadyExistsError(str(name), "View with same name already exists: {}")
        if row is not None:
            raise TableAlreadyExistsError(str(name), "Table already exists: {}")
        self.store.client.get_database(name.database)
        return name

    def _name(self, identifier: str | Sequence[str]) -> ViewName:
        return ViewName.parse(identifier, catalog=self.name)

    def _table_name(self, identifier: str | Sequence[str]) -> ViewName:
        try:
            return self._name(identifier)
        except InvalidIdentifierError as error:
            raise NoSuchTableError(f"{identifier} ({error.reason})") from error

    def _refuse_view(self, name: ViewName) -> None:
        row = self.store.get_row(name)
        if row is not None and row.kind.is_view:
            raise ViewAlreadyExistsError(str(name), "View with same name already exists: {}")

    def _refuse_as_table(self, name: ViewName) -> None:
        row = self.store.get_row(name)
        if row is None or row.kind.is_view:
            raise NoSuchTableError(str(name))


def table_owner(table: Table, name: ViewName | None) -> Owner:
    """A table as one whose files others may have.

    Args:
        table: It.
        name: Its name in the catalog; None where it has none.

    Returns:
        Its UUID, with the metadata files that it knows.
    """
    earlier = {directory_of(entry.metadata_file): entry.metadata_file for entry in table.metadata.metadata_log}
    return Owner(str(table.metadata.table_uuid), (table.metadata_location, *earlier.values()), name)


class _unknown:  # noqa: N801 -- used like a function
    """Says so where a change of a table was not answered, or was made and cannot be read back.

    Not a generator with `@contextmanager`: that one sets the traceback of what passes through it, and the exceptions
    that Thrift generates refuse to be changed.
    """

    def __init__(self, name: ViewName) -> None:
        self._name = name

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        lost = isinstance(error, MetastoreConnectionLostError)
        if lost or (isinstance(error, MetastoreError) and error.method == "get_table"):
            raise CommitStateUnknownError(str(self._name), None, str(error)) from error
