"""The catalogs for new views: those on a metastore (`ImportTarget`), and REST catalogs (`RestTarget`).

Before an import, a REST catalog has none of the new views, and maybe none of the tables: Hive's tables stay in the
metastore. A name of a text therefore means the table or view of the REST catalog or, without one, that of the metastore
of the legacy views (`RestStore`).
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import (
    BadRequestError,
    NoSuchTableError,
    ServerError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from pyiceberg.table import Table

from hive_views import errors
from hive_views.catalog.catalog import HiveViewCatalog
from hive_views.identifiers import ViewName
from hive_views.io.metadata_files import MetadataFiles
from hive_views.legacy_import.convert import ConvertedView, ImportTarget
from hive_views.legacy_import.definition import LegacyDefinition
from hive_views.legacy_import.legacy_view import ConversionError, Reason
from hive_views.legacy_import.options import ImportOptions
from hive_views.legacy_import.planned_store import PlannedFiles, PlannedStore, planned_store
from hive_views.metastore.rows.codec import iceberg_table_row, new_row
from hive_views.metastore.rows.row import Row, read_row
from hive_views.metastore.store import MetastoreStore
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.version_texts import sql_texts
from hive_views.sql.analysis.references import FunctionReference, references
from hive_views.sql.engines.builtin_functions import SPARK_FUNCTIONS
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.text.dialects import Dialect
from hive_views.view_copy.catalogs import (
    CATALOG_ERRORS,
    address_of,
    errors_of,
    is_rejection,
    load_metadata,
    namespace_location,
)
from hive_views.view_copy.metadata import fingerprint

REST = "rest:"
"""The start of the address of a REST catalog in a plan."""


class RestFiles(PlannedFiles):
    """The metadata files of a metastore, and the metadata of tables that a REST server returned."""

    def __init__(self, files: MetadataFiles) -> None:
        super().__init__(files)
        self.tables: dict[str, dict[str, Any]] = {}

    def read_table(self, location: str) -> dict[str, Any]:
        """Return the metadata of a table of the REST catalog, or read a table's metadata file."""
        return self.tables.get(location) or super().read_table(location)

    def exists(self, location: str) -> bool:
        """Return whether a file exists; the server has read those of its tables."""
        return location in self.tables or super().exists(location)


@dataclass(frozen=True, kw_only=True, eq=False)
class RestStore(PlannedStore):
    """The rows that the tables and views of a REST catalog would have, on top of the rows of a metastore."""

    rest: Catalog
    """The REST catalog."""
    target_names: Collection[ViewName] = ()
    """The names of the new views, which are never those of the metastore."""
    rest_rows: dict[ViewName, Row | None] = field(default_factory=dict)
    """Rows of the REST catalog, each read once."""

    def get_row(self, name: ViewName) -> Row | None:
        """Return the row of a planned view, of a table or view of the REST catalog, or the row in the metastore."""
        row = self.planned.get(name) or self.rest_row(name)
        return row if row is not None or name in self.target_names else self.metastore_row(name)

    def metastore_row(self, name: ViewName) -> Row | None:
        """Return the row in the metastore of the legacy views."""
        if name not in self.fetched:
            self.fetched[name] = MetastoreStore.get_row(self, name)
        return self.fetched[name]

    def rest_row(self, name: ViewName) -> Row | None:
        """Return the row of a table or view of the REST catalog; None if there is none."""
        if name not in self.rest_rows:
            with errors_of(self.rest):
                self.rest_rows[name] = self._read_rest_row(name)
        return self.rest_rows[name]

    def _read_rest_row(self, name: ViewName) -> Row | None:
        assert isinstance(self.files, RestFiles)
        table = _load_table(self.rest, name)
        if table is not None:
            document = json.loads(table.metadata.model_dump_json(by_alias=True))
            self.files.tables[table.metadata_location] = document
            schema = json.loads(table.schema().model_dump_json(by_alias=True))
            return iceberg_table_row(name, schema, table.metadata_location, str(table.metadata.table_uuid))
        metadata = load_metadata(self.rest, name.identifier)
        if metadata is None:
            return None
        # PyIceberg does not return the location of a view's metadata file.
        location = f"{metadata.location}/{metadata.view_uuid}"
        self.files.put(location, metadata)
        return read_row(new_row(name, metadata, location, self.config, now_s=0))


def _load_table(catalog: Catalog, name: ViewName) -> Table | None:
    try:
        return catalog.load_table(name.identifier)
    except NoSuchTableError:
        return None


@dataclass(frozen=True)
class RestTarget(ImportTarget):
    """A REST catalog for new views. Its methods raise CatalogUnavailableError if it cannot be read."""

    is_metastore: ClassVar[bool] = False

    @property
    def _store(self) -> RestStore:
        assert isinstance(self.store, RestStore)
        return self.store

    def is_taken(self, name: ViewName) -> bool:
        """Return whether the REST catalog has a table or view of this name."""
        return self._store.rest_row(name) is not None

    def check_sources(self, definition: LegacyDefinition) -> tuple[str, ...]:
        """Return sentences about the catalogs in which readers resolve names; raises ConversionError."""
        # The sentences do not contain the catalog's name, which may differ between a plan and its run.
        version, notes = definition.definition.version, []
        in_rest = [str(name) for name in definition.reads if self._is_in_rest(name)]
        others = [str(name) for name in definition.reads if not self._is_in_rest(name)]
        if version.default_catalog is None:
            if others:
                raise ConversionError(Reason.MISSING_TABLE, f"the REST catalog has no {' or '.join(others)}")
            functions = [item.name for item in self._functions(definition)]
            if functions:
                listed = ", ".join(functions)
                raise ConversionError(Reason.UNKNOWN_FUNCTION, f"the REST catalog has no permanent functions: {listed}")
        else:
            reason = f"its names are resolved in the reader's catalog {version.default_catalog}"
            notes.append(f"{reason}, since the REST catalog has no {', '.join(others)}" if others else reason)
            if in_rest:
                raise ConversionError(
                    Reason.OTHER_CATALOG, f"{notes[0]}, but {' and '.join(in_rest)} would be read in the REST catalog"
                )
            missing = [str(name) for name in definition.reads if not self._is_in_metastore(name)]
            if missing:
                place = f"{notes[0]}; the metastore of the legacy views"
                raise ConversionError(Reason.MISSING_TABLE, f"{place} has no {' or '.join(missing)}")
        trino = sql_texts(version).get("trino")
        catalogs = (
            {table.catalog for table in references(parse_query(trino, Dialect.TRINO)).tables if table.catalog}
            if trino
            else set()
        )
        if catalogs:
            notes.append(f"its text for Trino reads the catalog {', '.join(sorted(catalogs))}, not the REST catalog")
        return tuple(notes)

    def _functions(self, definition: LegacyDefinition) -> list[FunctionReference]:
        """Return the functions of a definition that may not be built into the engines."""
        return [
            function
            for dialect, text in sql_texts(definition.definition.version).items()
            if dialect != Dialect.TRINO
            for function in references(parse_query(text, Dialect.of(dialect))).functions
            if function.qualified or (function.registered and function.name.lower() not in SPARK_FUNCTIONS)
        ]

    def _is_in_rest(self, name: ViewName) -> bool:
        return name in self._store.target_names or self._store.rest_row(name) is not None

    def _is_in_metastore(self, name: ViewName) -> bool:
        return self._store.metastore_row(name) is not None

    def _database_location(self, database: str) -> str:
        rest = self._store.rest
        check_database(rest, database)
        with errors_of(rest):
            location = namespace_location(rest, (database,))
        if location is None:
            raise errors.InvalidPropertyError(
                "location", None, f"the namespace {database} of the REST catalog has no location for new views; set it"
            )
        return location


def check_names(to: Catalog | None, options: ImportOptions) -> None:
    """Raise UsageError if views are renamed for a REST catalog.

    A new name may be that of another object in the metastore: whether another view's text means this object or the new
    view would depend on which of the two catalogs is searched first.
    """
    if to is None or isinstance(to, HiveViewCatalog):
        return
    for option, value in (("--rename", options.renames), ("--to-database", options.to_database)):
        if value:
            raise errors.UsageError(option, f"views keep their names in a REST catalog ({to.name}); leave it out")


def target_address(to: Catalog | None) -> str | None:
    """Return the address of a target as a plan records it; None for the metastore of the legacy views."""
    if to is None:
        return None
    return address_of(to) if isinstance(to, HiveViewCatalog) else f"{REST}{address_of(to)}"


def is_answer(error: errors.CatalogUnavailableError) -> bool:
    """Return whether a REST server answered that it cannot read an object, e.g. one that is not of Iceberg."""
    return isinstance(error.__cause__, (BadRequestError, ServerError))


def check_database(catalog: Catalog, database: str) -> None:
    """Raise NoSuchNamespaceError if a catalog does not have a database."""
    if isinstance(catalog, HiveViewCatalog):
        catalog.store.client.get_database(database)
        return
    with errors_of(catalog):
        if not catalog.namespace_exists((database,)):
            raise errors.NoSuchNamespaceError(f"{database} (in the REST catalog {catalog.name})")


def store_of_target(
    catalog: HiveViewCatalog,
    to: Catalog | None,
    target_names: Collection[ViewName],
    fetched: dict[ViewName, Row | None] | None = None,
) -> PlannedStore:
    """Return the store in which the names of the new views and of their sources are resolved.

    Args:
        catalog: The catalog of the legacy views.
        to: The catalog for the new views; None for `catalog`.
        target_names: The names of the new views.
        fetched: Rows of the metastore that need not be read again.
    """
    if to is None or isinstance(to, HiveViewCatalog):
        return planned_store((to or catalog).store, fetched)
    store = catalog.store
    config = store.config._replace(
        # Properties of the catalog of the legacy views, which do not apply to another one.
        session_catalog_serves_iceberg=False,
        require_engines=(),
        row_text_for_trino=False,
        explicit_row_text=False,
        view_defaults={},
        view_overrides={},
    )
    return RestStore(
        store.client,
        RestFiles(store.files),
        config,
        fetched={} if fetched is None else fetched,
        rest=to,
        target_names=target_names,
    )


def import_target(
    catalog: HiveViewCatalog,
    to: Catalog | None,
    store: PlannedStore,
    database_locations: dict[str, str] | None = None,
) -> ImportTarget:
    """Return the target of an import, on a store of `store_of_target`."""
    locations = {} if database_locations is None else database_locations
    if to is None or isinstance(to, HiveViewCatalog):
        return ImportTarget(to or catalog, store, locations)
    return RestTarget(catalog, store, locations)


def register_view(rest: Catalog, name: ViewName, converted: ConvertedView) -> None:
    """Register the metadata file of a new view in a REST catalog.

    Raises:
        ViewAlreadyExistsError: If the catalog has a table or view of this name.
        CatalogUnavailableError: If it rejected the view.
        CommitStateUnknownError: If it did not answer.
    """
    try:
        rest.register_view(name.identifier, converted.location)
    except (TableAlreadyExistsError, ViewAlreadyExistsError) as error:
        raise errors.ViewAlreadyExistsError(str(name)) from error
    except CATALOG_ERRORS as error:
        if is_rejection(error):
            raise errors.CatalogUnavailableError(rest.name, f"it rejected {name}: {error}") from error
        raise errors.CommitStateUnknownError(str(name), converted.location, str(error)) from error


def check_registered(rest: Catalog, name: ViewName, expected: ViewMetadata) -> None:
    """Read a new view back from a REST catalog.

    Raises:
        ConversionError: If the catalog has another definition.
        CatalogUnavailableError: If it cannot be read.
    """
    with errors_of(rest):
        registered = load_metadata(rest, name.identifier)
    if registered is None or fingerprint(registered) != fingerprint(expected):
        raise ConversionError(
            Reason.UNREADABLE, f"the REST catalog returns another definition of {name} than was registered"
        )
