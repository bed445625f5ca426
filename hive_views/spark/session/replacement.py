"""Replaces the reads of a text that Spark by itself would read incorrectly.

A view that Spark does not read according to its definition is replaced by a global temporary view of that definition.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyiceberg.schema import Schema

from hive_views.errors import (
    CyclicViewError,
    HiveViewsError,
    NotMaterializedError,
    SparkSqlError,
    SqlError,
    ViewDriftWarning,
)
from hive_views.identifiers import ViewName
from hive_views.materialized.loading import is_materialized
from hive_views.metastore.rows.row import Row, RowKind
from hive_views.spark.analyzer import iceberg_schema
from hive_views.spark.session.materialized_reads import MaterializedReader
from hive_views.spark.session.metadata_tables import (
    METADATA_TABLES,
    REFRESHES,
    STORAGE,
    metadata_table,
    refreshes_table,
)
from hive_views.spark.session.names import NameContext, ResolvedName
from hive_views.spark.session.native import NativeReads, SessionSettings, has_other_definition
from hive_views.spark.session.reads import StatementReads
from hive_views.spark.session.source_text import RewrittenText, SourceText, convert_spark_errors
from hive_views.spark.session.table_reads import (
    Replacement,
    TableRead,
    TableReadError,
    replace_tables,
)
from hive_views.spark.session.time_travel import TimeTravelReader
from hive_views.spark.sessions import SESSION_CATALOG
from hive_views.spec.staleness_policy import METADATA
from hive_views.sql.text.positions import line_and_column
from hive_views.sql.text.quoting import quote_identifier, quote_name
from hive_views.sql.types.spark_types import spark_type
from hive_views.sql.types.upcasts import can_upcast

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from hive_views.metastore.queries import RowCache
    from hive_views.spark.session.services import SessionServices
    from hive_views.spec.metadata import ViewVersion


@dataclass(frozen=True)
class PreparedStatement:
    """A statement as Spark runs it."""

    rewritten: RewrittenText
    views: Mapping[str, ViewName]
    """The replaced views, by the names that replace them."""
    frame: DataFrame | None = None
    """Its result, if Spark has analyzed it already."""
    plan: Any = None
    """Its analyzed plan, which `run` runs without a second analysis."""

    @classmethod
    def unchanged(cls, text: str) -> PreparedStatement:
        """Return a statement in which nothing is replaced."""
        return cls(RewrittenText.unchanged(text), {})

    @property
    def source(self) -> SourceText:
        """The original statement, for errors."""
        return SourceText(self.rewritten.original, self.rewritten.text, self.rewritten.offset)


@dataclass(frozen=True)
class TableReplacement:
    """What replaces a read."""

    name: str
    resolved: ResolvedName
    """The object that is replaced."""
    is_required: bool = True
    """Whether Spark would read the object incorrectly; false if it would only fail to find it by its name."""


@dataclass(frozen=True)
class Enclosing:
    """The views whose definitions enclose a text, none for a statement, and what was read for that statement."""

    rows: RowCache
    """The rows of the tables and views in the texts."""
    session: SessionSettings
    """The settings of the user's session."""
    views: tuple[ViewName, ...] = ()
    """Their names, the outermost first."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """The settings under which the innermost definition is analyzed; empty for those of the session."""

    def within(self, name: ViewName, settings: Mapping[str, str]) -> Enclosing:
        """These views and a view that the innermost of them reads."""
        return Enclosing(self.rows, self.session, (*self.views, name), settings)


class Replacer:
    """Replaces tables and views in texts."""

    def __init__(
        self, services: SessionServices, materialized: MaterializedReader, reads: StatementReads, native: NativeReads
    ) -> None:
        self._spark = services.spark
        self._catalog = services.catalog
        self._names = services.names
        self._helper = services.helper
        self._materialized = materialized
        self._reads = reads
        self._native = native
        self._time_travel = TimeTravelReader(services, materialized)

    def replace(
        self,
        text: str,
        reads: tuple[TableRead, ...],
        context: NameContext | None,
        enclosing: Enclosing,
        *,
        is_definition: bool = False,
        view: str | None = None,
        typed: tuple[str, int] | None = None,
    ) -> PreparedStatement:
        """Return the text with its tables replaced where necessary; errors point into `typed`, which contains it."""
        replacements: list[Replacement] = []
        views: dict[str, ViewName] = {}
        typed_text, start = typed or (text, 0)
        for read in reads:
            assert context is not None
            line, column = line_and_column(typed_text, start + read.start)
            try:
                replacement = self.replacement(text, read, context, enclosing, is_definition=is_definition)
            except TableReadError as error:
                if view is not None:
                    reason = f"In the definition of view {view}, line {line}:{column}: {error.reason}"
                    raise SqlError(reason, name=view) from None
                raise SqlError(error.reason, line=line, column=column, name=".".join(read.parts)) from None
            except HiveViewsError as error:
                # An error about an object points to its name in the user's text, or names the view that reads it.
                if view is None and getattr(error, "view", None) is None:
                    error.point_at(line, column)
                raise
            if replacement is not None:
                replacements.append(Replacement(read, replacement.name, replacement.resolved.parts))
                if replacement.is_required:
                    views[replacement.name] = replacement.resolved.name
        if not replacements:
            return PreparedStatement.unchanged(text)
        return PreparedStatement(replace_tables(text, replacements, reads), views)

    def replacement(
        self,
        text: str,
        read: TableRead,
        context: NameContext,
        enclosing: Enclosing,
        *,
        is_definition: bool = False,
        is_parsed: bool = True,
    ) -> TableReplacement | None:
        """What replaces a table or view; None if Spark reads it correctly."""
        parts = read.parts
        resolved = self._names.resolve(parts, context)
        row = None if resolved is None else enclosing.rows.get(resolved.name)
        if resolved is not None and row is not None:
            is_materialized_table = row.kind is RowKind.ICEBERG_TABLE and METADATA in row.parameters
            if is_materialized_table and self._names.has_iceberg_catalog and is_parsed:
                return self._replace_materialized_table(read, resolved, enclosing, is_definition=is_definition)
            if row.kind is not RowKind.ICEBERG_VIEW:
                return self._replace_other(resolved, row.kind, is_definition=is_definition)
            if not is_definition and self._reads.is_temporary(parts):
                return None
            replacement = self._replace_view(text, read, resolved, row, enclosing)
            if replacement is None and is_definition and self._names.is_iceberg_catalog(resolved.catalog):
                # Iceberg resolves an unqualified view in the reading session's current catalog, not in the one that
                # was current for the definition (its ResolveViews, 1.11).
                return TableReplacement(quote_name(resolved.parts), resolved, is_required=False)
            return replacement
        if len(parts) > 1 and parts[-1].lower() in {*METADATA_TABLES, STORAGE}:
            return self._replace_metadata_table(text, read, context, is_definition=is_definition)
        return None

    def _replace_materialized_table(
        self,
        read: TableRead,
        resolved: ResolvedName,
        enclosing: Enclosing,
        *,
        is_definition: bool,
    ) -> TableReplacement | None:
        """Return a table with an attached view: its rows if they are usable, otherwise the view's definition."""
        if read.time_travel is not None or (not is_definition and self._reads.is_temporary(read.parts)):
            return None
        stored = self._materialized.current_rows(resolved.name, self._helper.frame_as_view)
        if stored is not None:
            return TableReplacement(stored, resolved)
        metadata = self._catalog.materialized.load(resolved.name.identifier).metadata
        version = metadata.current_version()
        text = self._native.spark_text(resolved.name, version)
        settings = self._native.settings_of(version, enclosing.settings)
        try:
            reads = self._reads.reads_of_definition(text, settings)
        except SqlError as error:
            raise TableReadError(f"The definition of {resolved.name} cannot be parsed: {error}") from error
        prepared = self._prepare_view(resolved, version, text, reads, enclosing.within(resolved.name, settings))
        name = self._create_temporary_view(resolved, metadata.current_schema(), version, prepared, settings)
        return TableReplacement(name, resolved)

    def _replace_other(self, resolved: ResolvedName, kind: RowKind, *, is_definition: bool) -> TableReplacement | None:
        """Return a table or a Hive view, which is replaced only if its name has a catalog that Spark does not have."""
        if self._names.has_iceberg_catalog:
            return None
        if kind is RowKind.ICEBERG_TABLE and not self._names.session_catalog_is_replaced:
            if not is_definition:
                return None
            raise TableReadError(
                f"{resolved.name} is an Iceberg table, which this Spark cannot read: it has no catalog "
                f"{self._catalog.name!r}. Start it with Iceberg's runtime (hive_views.spark.runtime)"
            )
        if resolved.catalog != self._catalog.name:
            return None
        return TableReplacement(quote_name((SESSION_CATALOG, *resolved.name.identifier)), resolved)

    def _replace_metadata_table(
        self, text: str, read: TableRead, context: NameContext, *, is_definition: bool
    ) -> TableReplacement | None:
        view_parts, table = read.parts[:-1], read.parts[-1].lower()
        resolved = self._names.resolve(view_parts, context)
        row = None if resolved is None else self._reads.row(resolved.name)
        if resolved is None or row is None:
            return None
        if not is_definition and self._names.is_temporary(view_parts[-1]) and len(view_parts) == 1:
            return None
        if row.kind is RowKind.ICEBERG_TABLE:
            # Iceberg has other metadata tables of tables, `history` among them.
            if METADATA not in row.parameters or table not in (STORAGE, REFRESHES):
                return None
        elif row.kind is not RowKind.ICEBERG_VIEW:
            return None
        if read.time_travel is not None and table != STORAGE:
            raise TableReadError(f"{'.'.join(read.parts)} has no versions: remove AS OF")
        frame: DataFrame
        if table in (STORAGE, REFRESHES):
            try:
                materialized = self._catalog.materialized.load(resolved.name.identifier)
            except NotMaterializedError:
                return None
            if table == STORAGE:
                frame = self._time_travel.storage_rows(text, read, materialized)
            else:
                frame = refreshes_table(self._spark, materialized)
        else:
            view = self._catalog.load_view(resolved.name.identifier)
            frame = metadata_table(self._spark, self._catalog, view, table)
        return TableReplacement(
            self._helper.frame_as_view(frame),
            ResolvedName(resolved.name.database, ViewName(resolved.name.name, table)),
        )

    def _replace_view(
        self, text: str, read: TableRead, resolved: ResolvedName, row: Row, enclosing: Enclosing
    ) -> TableReplacement | None:
        name = resolved.name
        if name in enclosing.views:
            raise CyclicViewError(str(name), [str(view_name) for view_name in (*enclosing.views, name)])
        view = self._reads.view(row)
        time_travel = read.time_travel
        stored: str | None = None
        if time_travel is not None:
            earlier = self._time_travel.rows_as_of(text, read, view)
            stored = None if earlier is None else self._helper.frame_as_view(earlier)
        elif is_materialized(view.metadata):
            stored = self._materialized.current_rows(name, self._helper.frame_as_view)
        if stored is not None:
            return TableReplacement(stored, resolved)
        version = (
            view.current_version() if time_travel is None else self._time_travel.version_as_of(text, time_travel, view)
        )
        definition = self._native.spark_text(name, version)
        is_native = time_travel is None and self._native.is_read_natively(
            resolved, view, version, definition, enclosing.session, enclosing.settings
        )
        settings = self._native.settings_of(version, enclosing.settings)
        try:
            reads = self._reads.reads_of_definition(definition, settings)
        except SqlError as error:
            if is_native:
                return None  # only Spark can parse it
            raise TableReadError(f"The definition of {name} cannot be parsed: {error}") from error
        prepared = self._prepare_view(resolved, version, definition, reads, enclosing.within(name, settings))
        if is_native and not prepared.views:
            return None
        if has_other_definition(view):
            warnings.warn(
                f"The row of {name} was changed by another program; its metadata file is read. See view.drift, "
                "catalog.adopt_view and catalog.repair_view",
                ViewDriftWarning,
                stacklevel=6,
            )
        schema = view.schemas()[version.schema_id]
        return TableReplacement(self._create_temporary_view(resolved, schema, version, prepared, settings), resolved)

    def _prepare_view(
        self,
        resolved: ResolvedName,
        version: ViewVersion,
        definition: str,
        reads: tuple[TableRead, ...],
        enclosing: Enclosing,
    ) -> PreparedStatement:
        """Return a view's definition with the views that it reads replaced."""
        return self.replace(
            definition,
            reads,
            self._reads.context_of(version, resolved.name, resolved.catalog),
            enclosing,
            is_definition=True,
            view=str(resolved.name),
        )

    def _create_temporary_view(
        self,
        resolved: ResolvedName,
        schema: Schema,
        version: ViewVersion,
        prepared: PreparedStatement,
        settings: Mapping[str, str],
    ) -> str:
        """Create a temporary view with the definition, the settings and the declared columns of a view."""
        name = resolved.name
        columns = tuple(field.name for field in schema.fields)
        context = self._reads.context_of(version, name, resolved.catalog)
        definition = prepared.source
        self._native.check_settings_at_execution(name, definition.text, settings)
        source = SourceText(definition.text, definition.spark_text, definition.offset, str(name))
        query = prepared.rewritten.text
        temporary_view = self._helper.view(query, columns, context, settings, source)
        try:
            actual = self._schema_of(temporary_view, source)
        except SparkSqlError:
            # The view was created before a table was changed: Spark keeps the earlier types.
            temporary_view = self._helper.view(query, columns, context, settings, source, recreate=True)
            actual = self._schema_of(temporary_view, source)
        selected = []
        returned_fields = iceberg_schema(actual).fields
        for declared_field, returned_field, column_type in zip(schema.fields, returned_fields, actual, strict=True):
            column = quote_identifier(declared_field.name)
            declared, returned = declared_field.field_type, returned_field.field_type
            # Not the name of `returned`: Spark's TINYINT and SMALLINT are INT in Iceberg, and are declared so.
            if spark_type(declared) == column_type.dataType.simpleString():
                selected.append(column)
                continue
            if not can_upcast(returned, declared):
                raise SqlError(
                    f"Column {declared_field.name} of view {name} is declared as {spark_type(declared)}, and its query "
                    f"returns {spark_type(returned)} now: a table was changed. "
                    f"ALTER VIEW {quote_name(name.identifier)} RECOMPILE adopts the new type",
                    name=str(name),
                )
            selected.append(f"CAST({column} AS {spark_type(declared, quote_identifier)}) AS {column}")
        if selected == [quote_identifier(column) for column in columns]:
            return temporary_view
        cast_query = f"SELECT {', '.join(selected)} FROM {temporary_view}"
        cast_source = SourceText(definition.text, cast_query, lambda _: None, str(name))
        return self._helper.view(cast_query, columns, context, settings, cast_source)

    def _schema_of(self, temporary_view: str, source: SourceText) -> StructType:
        with convert_spark_errors(SourceText(source.text, temporary_view, lambda _: None, source.view)):
            schema: StructType = self._spark.table(temporary_view.replace("`", "")).schema
            return schema
