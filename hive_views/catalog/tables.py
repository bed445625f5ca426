"""The Iceberg tables and namespaces of a metastore: PyIceberg's HiveCatalog with this package's Thrift client.

The client adds time-outs, fail-over and Hive 4. Every table method checks the kind of the row first, so that a view is
never loaded, replaced or dropped as a table.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pyiceberg import exceptions as iceberg
from pyiceberg.catalog import PropertiesUpdateSummary
from pyiceberg.catalog.hive import OWNER, HiveCatalog
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import CommitTableResponse, CreateTableTransaction, Table
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER, SortOrder
from pyiceberg.table.update import AssertTableUUID
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties

from hive_views.catalog.configuration import with_configuration
from hive_views.config import HIVE2_COMPATIBLE, CatalogConfig
from hive_views.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    InvalidIdentifierError,
    MetadataWriteError,
    MetastoreConnectionLostError,
    MetastoreError,
    MetastoreRefusedError,
    NoSuchNamespaceError,
    NoSuchTableError,
    SharedFilesError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from hive_views.identifiers import ViewName, parse_namespace
from hive_views.io.metadata_files import MetadataFiles, parse_table_metadata
from hive_views.metastore.commit.pyiceberg_adapter import PyIcebergClient, name_taken_error
from hive_views.metastore.databases import create_database, database_properties, drop_database, update_database
from hive_views.metastore.identities import KINDS
from hive_views.metastore.locking.lock import hold_lock
from hive_views.metastore.names import check_new_database, check_new_table
from hive_views.metastore.queries import read_rows, table_names, warn_of_refused
from hive_views.metastore.rows.row import METADATA_LOCATION, OWNER_PROPERTY, UUID, Row, RowKind, row_kind
from hive_views.metastore.rows.serialization import row_as_json
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.transport.client import MetastoreClient
from hive_views.spec.lineage_codec import ObjectKind
from hive_views.spec.storage_link import STORAGE_OF, STORAGE_SUFFIX, is_storage_row

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.update import TableRequirement, TableUpdate

    from hive_views.dependencies.drop import DropBehavior, DropReport, DropStep
    from hive_views.dependencies.lineage import LineageReader

logger = logging.getLogger(__name__)


class TableCatalog(HiveCatalog):
    """PyIceberg's HiveCatalog whose table methods neither read nor change views."""

    def __init__(self, name: str, **properties: str) -> None:
        """Create a catalog. It connects to the metastore at the first call; to ZooKeeper, which names it, at once.

        Without a property `uri`, the properties of the name are read from PyIceberg's configuration (`.pyiceberg.yaml`,
        `PYICEBERG_CATALOG__NAME__URI` …), and those that are given override them.

        Args:
            name: The catalog's name, which identifiers may have as their first part.
            properties: Catalog properties (docs/configuration.md). Those of PyIceberg's FileIO, e.g. `s3.endpoint`,
                are passed on to it.

        Raises:
            InvalidPropertyError: If a property does not exist, or has an invalid value.
            CatalogConfigurationError: If PyIceberg's configuration is needed and cannot be read.
            MetastoreUnavailableError: If the metastores are registered in ZooKeeper, and it cannot be reached.
        """
        properties = with_configuration(name, properties)
        self._config = CatalogConfig.from_properties(properties)
        super().__init__(name, **properties)
        # As Spark writes tables. Hive 2 accepts a new row of the other table type, but rejects every change to it.
        self.properties.setdefault(HIVE2_COMPATIBLE, str(self._config.hive2_compatible).lower())

    def _create_hive_client(self, properties: dict[str, str]) -> Any:  # type: ignore[override]  # static in PyIceberg
        client = MetastoreClient(self._config.connection)
        self.store = MetastoreStore(client, MetadataFiles(properties), self._config)
        return PyIcebergClient(client, self._config, lambda parameters: STORAGE_OF in parameters)

    def close(self) -> None:
        """Close the pooled connections. The catalog cannot be used afterwards."""
        self.store.client.close()

    def __getstate__(self) -> object:
        """Raise TypeError: a catalog cannot be pickled or copied."""
        raise TypeError(
            f"the catalog {self.name} cannot be pickled or copied, because it holds connections. "
            "Open one in each process, with the same name and properties"
        )

    # -- Namespaces ----------------------------------------------------------------------------------------------------

    def list_namespaces(self, namespace: str | Identifier = ()) -> list[Identifier]:
        """List the databases; none below a namespace. A name that contains a dot is one level, too; see PyIceberg."""
        return [] if namespace else [(name,) for name in self.store.client.get_all_databases()]

    def create_namespace(self, namespace: str | Identifier, properties: Properties = EMPTY_DICT) -> None:
        """Create a database; see PyIceberg. The properties `location` and `comment` set the fields of these names.

        Raises:
            NamespaceAlreadyExistsError: If the database exists.
            InvalidIdentifierError: If the metastore cannot store the name.
            InvalidPropertyError: If the metastore cannot store a property.
        """
        name = self._database(namespace)
        check_new_database(self.store.client, name)
        create_database(self.store.client, name, properties)

    def drop_namespace(self, namespace: str | Identifier) -> None:
        """Drop an empty database; see PyIceberg. Its directory is not deleted.

        Raises:
            NoSuchNamespaceError: If the database does not exist.
            NamespaceNotEmptyError: If the database contains a table or view of any kind.
        """
        drop_database(self.store.client, self._database(namespace))

    def namespace_exists(self, namespace: str | Identifier) -> bool:
        """Check whether a database exists; False also for an invalid name."""
        try:
            self.store.client.get_database(self._database(namespace))
        except (NoSuchNamespaceError, InvalidIdentifierError):
            return False
        return True

    def load_namespace_properties(self, namespace: str | Identifier) -> Properties:
        """Load the properties of a database, including `location` and `comment`; see PyIceberg.

        Raises:
            NoSuchNamespaceError: If the database does not exist.
        """
        return database_properties(self.store.client, self._database(namespace))

    def update_namespace_properties(
        self, namespace: str | Identifier, removals: set[str] | None = None, updates: Properties = EMPTY_DICT
    ) -> PropertiesUpdateSummary:
        """Change the properties of a database; see PyIceberg.

        Raises:
            NoSuchNamespaceError: If the database does not exist.
            InvalidPropertyError: If the metastore cannot store a property, or a key is both updated and removed.
        """
        name = self._database(namespace)
        removed, missing = update_database(self.store.client, name, set(removals or ()), updates)
        return PropertiesUpdateSummary(removed=sorted(removed), updated=sorted(updates), missing=sorted(missing))

    # -- Tables --------------------------------------------------------------------------------------------------------

    def list_tables(self, namespace: str | Identifier) -> list[Identifier]:
        """List the Iceberg tables of a database, sorted; see PyIceberg.

        Without storage tables of materialized views if `hive-views.hide-storage-tables` is set.

        Raises:
            NoSuchNamespaceError: If the database does not exist.
        """
        names = table_names(self.store, self._database(namespace))
        if self.store.config.hide_storage_tables:
            candidates = [name for name in names if STORAGE_SUFFIX in name.name]
            rows = read_rows(self.store, candidates, on_refused=warn_of_refused)
            hidden = {row.name for row in rows if is_storage_row(row.parameters)}
            names = [name for name in names if name not in hidden]
        return [name.identifier for name in names]

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
            TableAlreadyExistsError: If a table has the name.
            NoSuchNamespaceError: If the database does not exist.
            CommitStateUnknownError: If the connection broke before the metastore replied.
        """
        name = self._name_for_table(identifier, location)
        with _OutcomeGuard(name, self.store.files):
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
        """Start a transaction that creates a table; see PyIceberg.

        Raises:
            ViewAlreadyExistsError: If a view has the name.
            TableAlreadyExistsError: If a table has the name.
            NoSuchNamespaceError: If the database does not exist.
        """
        name = self._name_for_table(identifier, location)
        return super().create_table_transaction(
            name.identifier, schema, location, partition_spec, sort_order, properties
        )

    def register_table(self, identifier: str | Identifier, metadata_location: str, overwrite: bool = False) -> Table:
        """Register a table's metadata file; see PyIceberg.

        Raises:
            ViewAlreadyExistsError: If a view has the name.
            TableAlreadyExistsError: If a table has the name.
            NoSuchNamespaceError: If the database does not exist.
            RefusedLocationError: If `hive-views.metadata-schemes` does not allow the file's location.
            InvalidMetadataError: If the file is larger than 256 MiB (decompressed), or its gzip data is corrupt.
            CommitStateUnknownError: If the connection broke before the metastore replied.
        """
        name = self._name_for_table(identifier, metadata_location)
        # Checks the size and the content. PyIceberg reads the file again, without checks.
        parse_table_metadata(self.store.files.read_table_text(metadata_location), metadata_location)
        with _OutcomeGuard(name):
            return super().register_table(name.identifier, metadata_location, overwrite)

    def load_table(self, identifier: str | Identifier) -> Table:
        """Load a table; see PyIceberg.

        Raises:
            NoSuchTableError: If there is no such table, or a view has the name.
            RefusedLocationError: If `hive-views.metadata-schemes` does not allow the metadata file's location.
            InvalidMetadataError: If the file is larger than 256 MiB (decompressed), or its gzip data is corrupt.
        """
        name = self._table_name(identifier)
        try:
            return super().load_table(name.identifier)
        except NoSuchTableError:
            raise
        except iceberg.NoSuchTableError as error:
            raise NoSuchTableError(str(name)) from error

    def table_exists(self, identifier: str | Identifier) -> bool:
        """Check whether an Iceberg table exists, without reading its metadata file; False for an invalid name."""
        try:
            row = self.store.get_row(self._name(identifier))
        except InvalidIdentifierError:
            return False
        return row is not None and row.kind is RowKind.ICEBERG_TABLE

    def drop_table(  # type: ignore[override]  # PyIceberg's returns nothing
        self, identifier: str | Identifier, *, behavior: DropBehavior | str = ""
    ) -> DropReport:
        """Drop an Iceberg or Hive table, never a view (Iceberg #17278). No file is deleted, also of a managed table.

        The metadata file in the report brings an Iceberg table back (`register_table`). The row of a Hive table is the
        only place that has its columns and partitions: the report has a statement that creates it again.

        Args:
            identifier: `database.name`.
            behavior: `restrict` drops nothing if a view depends on the table, `cascade` drops every view that depends
                on it first. Without either, dependents are left dangling, as in Hive; in strict mode the default is
                `restrict`.

        Raises:
            NoSuchTableError: If there is no such table.
            UndroppableTableError: If it is a transactional table or a materialized view of Hive.
            DependentsError: If the behavior (or strict mode) forbids the drop; the error names every dependent.
            CommitStateUnknownError: If the connection broke before the metastore replied.
        """
        from hive_views.dependencies.drop import DropBehavior, DropStep, text_of_row
        from hive_views.metastore.hive_table_text import check_droppable

        name = self._table_name(identifier)

        def require_table() -> Row:
            row = self._require_table(name)
            check_droppable(row)
            return row

        chosen = self._behavior(behavior)
        if chosen is not DropBehavior.NONE:
            require_table()  # before the lock and the search for dependents

        def drop_current() -> DropStep:
            row = require_table()
            if row.kind is RowKind.HIVE_TABLE:
                # As for plain Hive views: no file keeps it, and a caller that is killed afterwards does not report it.
                logger.warning("Dropping the Hive table %s: %s", name, json.dumps(row_as_json(row)))
            self._drop_row(row)
            return DropStep(
                name=name, kind=KINDS[row.kind], metadata_location=row.metadata_location, text=text_of_row(row)
            )

        return self._drop_table(name, chosen, drop_current)

    def purge_table(self, identifier: str | Identifier) -> DropReport:  # type: ignore[override]  # as drop_table
        """Drop an Iceberg table, never a view, and delete its data and metadata files.

        Deletes the files that the table's metadata names and that are below its location or below the directories in
        its properties `write.data.path` and `write.metadata.path`. Other files are kept and logged. No file is deleted
        if the table has the property `gc.enabled=false`, as in Iceberg.

        Returns:
            The dropped table, with its metadata file if it is kept, and the files that could not be deleted.

        Raises:
            NoSuchTableError: If there is no such table.
            SharedFilesError: If the table is also registered under another name.
            MetastoreRefusedError: If the server cannot search for other names of the table.
            CommitFailedError: If the table was changed or replaced concurrently; nothing is changed.
            RefusedLocationError: If its metadata names a location that is not allowed; nothing is changed.
            MetadataFileError: If its manifests cannot be read; nothing is changed.
            DependentsError: If a view depends on it, in strict mode.
            CommitStateUnknownError: If the connection broke before the metastore replied; no file is deleted.
        """
        from hive_views.dependencies.drop import DropStep
        from hive_views.io.table_files import NOT_COLLECTED, delete_files, files_to_purge, is_collected
        from hive_views.metastore.shared_files import find_reason_to_keep_files, find_rows_sharing_files, table_owner

        name = self._table_name(identifier)
        table = self.load_table(name.identifier)
        shared = (
            find_rows_sharing_files(self.store, table_owner(table, name))
            if is_collected(table.metadata.properties)
            else []
        )
        if shared:
            raise SharedFilesError(str(name), str(shared[0]))
        # Read before the row is dropped: if a manifest is unreadable, nothing has changed yet.
        files = files_to_purge(table, self.store.files)

        def drop_if_unchanged() -> DropStep:
            # Reading manifests takes time, in which other programs may rename the table or append to it.
            row = self.store.get_row(name)
            if row is None or row.kind.is_view:
                raise NoSuchTableError(str(name), "it was dropped or renamed concurrently")
            if row.metadata_location != table.metadata_location:
                raise CommitFailedError(
                    str(name),
                    "it was changed, or another table has the name by now. It was not dropped, and no file was "
                    "deleted. Load the table, and purge it again if it is still the one to delete",
                    expected=table.metadata_location,
                    found=row.metadata_location,
                )
            self._drop_row(row)
            return DropStep(name=name, kind=ObjectKind.TABLE, metadata_location=row.metadata_location)

        report = self._drop_table(name, self._behavior(""), drop_if_unchanged)
        if files is None:
            kept: str | None = NOT_COLLECTED
        else:
            kept = find_reason_to_keep_files(self.store, table_owner(table, None))
            if kept is None:
                remaining = delete_files(name, files, self.store.files)
                location = table.metadata_location if table.metadata_location in remaining else None
                (step,) = report.steps
                return replace(report, steps=(replace(step, metadata_location=location, remaining_files=remaining),))
        logger.warning("The files of %s are not deleted, because %s", name, kept)
        return report

    def open_table(self, name: ViewName, metadata: TableMetadata, metadata_location: str) -> Table:
        """Make a table of this catalog from metadata that was read already."""
        return Table(name.identifier, metadata, metadata_location, self.store.files.io(metadata_location), self)

    def remove_table(self, identifier: str | Identifier) -> None:
        """Drop an Iceberg table without looking for dependents, whatever the catalog's properties say.

        Raises:
            NoSuchTableError: If there is no such table.
            CommitStateUnknownError: If the connection broke before the metastore replied.
        """
        name = self._table_name(identifier)
        self._drop_row(self._require_table(name))

    def rename_table(self, from_identifier: str | Identifier, to_identifier: str | Identifier) -> Table:
        """Rename a table; see PyIceberg.

        Raises:
            NoSuchTableError: If there is no such table.
            NoSuchNamespaceError: If the new database does not exist.
            ViewAlreadyExistsError, TableAlreadyExistsError: If the new name is taken.
            CommitFailedError: If another client changed the table at the same time.
            DependentsError: If a view reads the table by its name, in strict mode.
            CommitStateUnknownError: If the connection broke before the metastore replied.
        """
        source = self._table_name(from_identifier)
        loaded = self.load_table(source.identifier)  # the renamed table is returned, so its metadata must be readable
        if self._config.strict:
            from hive_views.dependencies.impact import reject_breaking_change  # imports sqlglot

            reject_breaking_change(self.store, source, "rename", None)
        target = check_new_table(self.store.client, self._name(to_identifier))
        row = self.store.get_row(target)
        if row is not None:
            raise name_taken_error(source, target, row)
        if target.database != source.database:
            self.store.client.get_database(target.database)
        with self._client as client:
            location = client.rename_row(source, target).metadata_location
        if location == loaded.metadata_location:
            return self.open_table(target, loaded.metadata, location)
        with _OutcomeGuard(source):
            return self.load_table(target.identifier)

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Commit changes to a table; see PyIceberg.

        Raises:
            ViewAlreadyExistsError: If the table is new and a view with its name was created concurrently.
            CommitFailedError: If the table was changed concurrently.
            LockError: If the lock was lost before the request was sent.
            CommitStateUnknownError: If the connection broke before the metastore replied.
        """
        name = self._table_name(table.name())
        if not any(isinstance(requirement, AssertTableUUID) for requirement in requirements):
            self._reject_view(name)  # a new table: its metadata file is not written
        try:
            with _OutcomeGuard(name, self.store.files):
                return super().commit_table(table, requirements, updates)
        except iceberg.CommitFailedException as error:
            raise CommitFailedError(str(name), str(error)) from error
        except ValueError as error:
            # PyIceberg's message after a concurrent append, also to another branch.
            if "older than last sequence number" not in str(error):
                raise
            raise CommitFailedError(str(name), str(error)) from error

    def _load_file_io(self, properties: Properties = EMPTY_DICT, location: str | None = None) -> FileIO:
        # Properties from a table's metadata file choose neither the FileIO class nor, e.g. by `s3.endpoint`, the server
        # that gets the catalog's credentials and data. Iceberg's Java catalog does not read them either.
        return load_file_io(self.store.files.properties) if location is None else self.store.files.io(location)

    @staticmethod
    def _write_metadata(metadata: TableMetadata, io: FileIO, metadata_path: str) -> None:
        try:
            HiveCatalog._write_metadata(metadata, io, metadata_path)
        except OSError as error:
            raise MetadataWriteError(metadata_path, str(error), kind="table") from error

    def _convert_hive_into_iceberg(self, table: Any) -> Table:
        kind = row_kind(table)
        if kind is not RowKind.ICEBERG_TABLE:
            raise NoSuchTableError(f"{table.dbName}.{table.tableName}", f"the name belongs to: {kind.value}")
        location = table.parameters.get(METADATA_LOCATION)
        if not location:
            return super()._convert_hive_into_iceberg(table)  # raises: the parameter is missing
        # PyIceberg reads without a size limit, and does not limit what gzip data expands to.
        metadata = parse_table_metadata(self.store.files.read_table_text(location), location)
        return Table(
            identifier=(table.dbName, table.tableName),
            metadata=metadata,
            metadata_location=location,
            io=self._load_file_io(metadata.properties, location),
            catalog=self,
        )

    def _convert_iceberg_into_hive(self, table: Table) -> Any:
        converted = super()._convert_iceberg_into_hive(table)
        # As Iceberg's Java catalog does. Lineage finds a renamed table by its UUID.
        converted.parameters.setdefault(UUID, str(table.metadata.table_uuid))
        properties = table.metadata.properties
        owner = properties.get(OWNER_PROPERTY) or properties.get(OWNER)
        converted.owner = owner or self.store.client.authenticated_user()
        return converted

    def _create_hive_table(self, open_client: Any, hive_table: Any) -> None:
        try:
            super()._create_hive_table(open_client, hive_table)
        except iceberg.TableAlreadyExistsError as error:
            name = ViewName(hive_table.dbName, hive_table.tableName)
            self._reject_view(name)
            raise TableAlreadyExistsError(str(name), "Table already exists: {}") from error

    # -- Drops ---------------------------------------------------------------------------------------------------------

    @cached_property
    def _lineages(self) -> LineageReader:
        from hive_views.dependencies.lineage import LineageReader

        return LineageReader(self.store)

    def _behavior(self, behavior: DropBehavior | str) -> DropBehavior:
        from hive_views.dependencies.drop import DropBehavior

        return DropBehavior.of(behavior, strict=self._config.strict)

    def _drop_table(self, name: ViewName, behavior: DropBehavior, remove: Callable[[], DropStep]) -> DropReport:
        from hive_views.dependencies.drop import DropBehavior, drop_object

        def remove_table(check: Callable[[], None]) -> DropStep:
            has_lock = behavior is not DropBehavior.NONE and self._config.lock.enabled
            with hold_lock(self.store.client, self._config.lock, name) if has_lock else nullcontext():
                check()
                return remove()

        return drop_object(self._lineages, name, behavior, remove_table)

    def _drop_row(self, row: Row) -> None:
        with _OutcomeGuard(row.name), self._client as client:
            client.drop_row(row.table)

    # -- Names ---------------------------------------------------------------------------------------------------------

    def _database(self, namespace: str | Sequence[str]) -> str:
        return parse_namespace(namespace, catalog=self.name)

    def _name_for_table(self, identifier: str | Sequence[str], location: str | None) -> ViewName:
        """Parse the name of a new table; raises if a row has it, or the database does not exist.

        Without a location PyIceberg reads the database before it writes a file.
        """
        name = check_new_table(self.store.client, self._name(identifier))
        row = self.store.get_row(name)
        if row is not None and row.kind.is_view:
            raise ViewAlreadyExistsError(str(name), "View with same name already exists: {}")
        if row is not None:
            raise TableAlreadyExistsError(str(name), "Table already exists: {}")
        if location:
            self.store.client.get_database(name.database)
        return name

    def _name(self, identifier: str | Sequence[str]) -> ViewName:
        return ViewName.parse(identifier, catalog=self.name)

    def _table_name(self, identifier: str | Sequence[str]) -> ViewName:
        try:
            return self._name(identifier)
        except InvalidIdentifierError as error:
            raise NoSuchTableError(f"{identifier} ({error.reason})") from error

    def _reject_view(self, name: ViewName) -> None:
        row = self.store.get_row(name)
        if row is not None and row.kind.is_view:
            raise ViewAlreadyExistsError(str(name), "View with same name already exists: {}")

    def _require_table(self, name: ViewName) -> Row:
        row = self.store.get_row(name)
        if row is None or row.kind.is_view:
            raise NoSuchTableError(str(name))
        return row


class _OutcomeGuard:
    """Raises CommitStateUnknownError if a change of a table got no reply, or the result cannot be read back.

    With `files`, the change writes a metadata file, which is deleted if the metastore certainly refused the change.

    Not a generator with `@contextmanager`: contextlib sets the traceback of a passing exception, which the generated
    Thrift exceptions do not allow.
    """

    def __init__(self, name: ViewName, files: MetadataFiles | None = None) -> None:
        self._name = name
        self._files = files

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, MetastoreRefusedError) and self._files is not None and error.rejected_location:
            self._files.delete(error.rejected_location)
        lost = isinstance(error, MetastoreConnectionLostError)
        if lost or (isinstance(error, MetastoreError) and error.method == "get_table"):
            raise CommitStateUnknownError(str(self._name), None, str(error)) from error
