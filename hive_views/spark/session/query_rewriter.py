"""Decides which views Spark reads correctly by itself, and replaces the others in a statement.

A view that Spark does not read according to its definition is replaced by a global temporary view of that definition.
Spark 4.1.4 with Iceberg 1.11.0 (measured): Iceberg's catalog analyzes a view's text under the settings of the reading
session. Spark's session catalog reads the row's expanded text with ANSI off and the default time zone, whatever the
session's settings. Neither reads other versions than the current one.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pyiceberg.schema import Schema

from hive_views.dependencies.table_findings import spark_findings
from hive_views.errors import (
    CyclicViewError,
    HiveViewsError,
    NotMaterializedError,
    SessionSettingsWarning,
    SparkSqlError,
    SqlError,
    UnreadableTableWarning,
    ViewDriftWarning,
)
from hive_views.identifiers import ViewName
from hive_views.legacy_import.readers.detection import read_view
from hive_views.materialized.loading import is_materialized
from hive_views.metastore.queries import RowCache
from hive_views.metastore.rows.row import Row, RowKind
from hive_views.spark.analyzer import iceberg_schema
from hive_views.spark.session.helper_session import is_own_view
from hive_views.spark.session.materialized_reads import MaterializedReader
from hive_views.spark.session.metadata_tables import (
    METADATA_TABLES,
    REFRESHES,
    STORAGE,
    metadata_table,
    refreshes_table,
)
from hive_views.spark.session.names import (
    NameContext,
    NameResolver,
    ResolvedName,
    session_setting,
)
from hive_views.spark.session.plans import AnalyzedRelation, AnalyzedStatement, PlanReader, filters_by_name
from hive_views.spark.session.settings import APPLIED_BY_ANALYSIS, applied_by_execution, not_applied_to_views
from hive_views.spark.session.source_text import RewrittenText, SourceText, ViewErrorLocation, convert_spark_errors
from hive_views.spark.session.substitution import Substitution
from hive_views.spark.session.table_reads import (
    Replacement,
    TableRead,
    TableReadError,
    blank_explain,
    called_functions,
    is_function,
    possible_table_reads,
    replace_tables,
    table_reads,
)
from hive_views.spark.session.time_travel import TimeTravelReader
from hive_views.spark.sessions import SESSION_CATALOG, captured_settings, spark_exceptions
from hive_views.spark.text_settings import TEXT_SETTINGS, USE_CURRENT
from hive_views.spark.versions import is_tested
from hive_views.spec.json_text import parse_json
from hive_views.spec.session_settings import (
    RECORDED,
    can_change_results,
    differing_settings,
    is_same_setting,
    recorded_settings,
)
from hive_views.spec.staleness_policy import METADATA
from hive_views.spec.version_texts import HIVE, sql_texts
from hive_views.sql.analysis.outcomes import Outcome
from hive_views.sql.parsing.parser_settings import find_doubled_quote, reads_doubled_quotes
from hive_views.sql.text.file_names import FILE_NAME
from hive_views.sql.text.positions import line_and_column
from hive_views.sql.text.quoting import quote_identifier, quote_name
from hive_views.sql.types.spark_types import spark_type
from hive_views.sql.types.upcasts import can_upcast

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.catalog.views import HiveView
    from hive_views.spark.session.helper_session import HelperSession
    from hive_views.spec.metadata import ViewVersion


Arguments = dict[str, Any] | list[Any] | None
"""Values of parameters, as `SparkSession.sql` takes them."""

_NO_CONTEXT = NameContext("", ())
"""The context for names that are complete."""
_CACHE_TABLE = re.compile(r"\s*CACHE\s+(LAZY\s+)?TABLE\s+[^\s(]+\s*(OPTIONS\s*\(.*\))?\s*;?\s*\Z", re.IGNORECASE)
"""CACHE TABLE without a query, which stores the plan that Spark has for a name and returns no rows."""
_FUNCTION_ADVICE = (
    "a permanent function cannot read the temporary view that replaces it. Create a temporary function, or read the "
    "view outside of the function"
)


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
class _TableReplacement:
    """What replaces a read."""

    name: str
    resolved: ResolvedName
    """The object that is replaced."""
    is_required: bool = True
    """Whether Spark would read the object incorrectly; false if it would only fail to find it by its name."""


@dataclass(frozen=True)
class _Enclosing:
    """The views whose definitions enclose a text; none for a statement."""

    views: tuple[ViewName, ...] = ()
    """Their names, the outermost first."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """The settings under which the innermost definition is analyzed; empty for those of the session."""

    def within(self, name: ViewName, settings: Mapping[str, str]) -> _Enclosing:
        """These views and a view that the innermost of them reads."""
        return _Enclosing((*self.views, name), settings)


class QueryRewriter:
    """Prepares statements that read views."""

    def __init__(
        self, spark: SparkSession, catalog: HiveViewCatalog, names: NameResolver, helper: HelperSession
    ) -> None:
        self._spark = spark
        self._catalog = catalog
        self._names = names
        self._helper = helper
        self._plans = PlanReader(spark)
        self._materialized = MaterializedReader(spark, catalog, can_read_iceberg=names.has_iceberg_catalog)
        self._time_travel = TimeTravelReader(
            spark, catalog, self._materialized, can_read_iceberg=names.has_iceberg_catalog
        )
        self.notes = self._materialized.notes
        self._substitution: Substitution | None = None
        if catalog.store.config.rewrite_queries and is_tested(spark.version):
            self._substitution = Substitution(spark, catalog, names, helper, self._materialized)

    def forget_materialized_views(self) -> None:
        """Discard the list of materialized views that may answer queries, so that it is read again."""
        if self._substitution is not None:
            self._substitution.forget()

    def prepare(self, text: str, args: Arguments = None, *, is_rewritable: bool = True) -> PreparedStatement:
        """Return a user's statement, with the views replaced that Spark does not read according to their definition.

        Spark's analyzer determines what the statement reads, before and after views are replaced. A query may read the
        stored rows of materialized views in place of tables.

        Raises:
            SqlError: If the statement reads such a view at a position where the name cannot be replaced.
            StaleRowsError: If it needs stale rows of a view whose definition must not be read instead.
        """
        self.notes.clear()
        statement = blank_explain(text)
        self._materialized.may_refresh = statement == text
        is_rewritable = is_rewritable and not is_function(text)
        analyzed = self._plans.analyzed(statement, args)
        frame = analyzed.frame if analyzed is not None and statement == text else None
        if analyzed is not None and not is_function(text) and not self._reads_replaceable(analyzed):
            self._warn_of_unreadable(analyzed.relations)
            rewritten = self._with_stored_rows(
                PreparedStatement.unchanged(text), analyzed, is_explain=statement != text
            )
            if rewritten is not None:
                return rewritten
            plan = analyzed.plan
            if statement != text:
                plan = self._plans.explaining(text, plan) if analyzed.frame is not None and args is None else None
            return PreparedStatement(RewrittenText.unchanged(text), {}, frame, plan)
        try:
            reads = table_reads(text, self._plans.parsed)
        except spark_exceptions():
            return PreparedStatement.unchanged(text)  # Spark rejects it
        relations = () if analyzed is None else analyzed.relations
        self._materialized.filters = filters_by_name(relations, self._name_of)
        with self._materialized.checked() as stale_rows:
            prepared = self._replace(text, reads, self._names.current() if reads else None, _Enclosing())
        if prepared.views and is_function(text, is_permanent=True):
            [name, *_] = prepared.views.values()
            raise SqlError(f"{name} is a view that Spark by itself would read incorrectly: {_FUNCTION_ADVICE}")
        if prepared.rewritten.text != text:
            analyzed = self._plans.analyzed(blank_explain(prepared.rewritten.text), args)
            frame = analyzed.frame if analyzed is not None and statement == text else None
        if analyzed is not None and not _CACHE_TABLE.match(text):
            self._check_relations(analyzed.relations)
            self._warn_of_unreadable(analyzed.relations)
        if analyzed is None and not self._plans.has_objects:
            # Spark will reject most of these statements. One that only EXPLAIN rejects must not read a view indirectly.
            self.check_unparsed(prepared.rewritten.text, "Spark cannot EXPLAIN it")
        self._materialized.check(stale_rows, analyzed)
        if analyzed is not None and is_rewritable:
            rewritten = self._with_stored_rows(prepared, analyzed, statement != text)
            if rewritten is not None:
                return rewritten
        plan = None if analyzed is None or statement != text or is_function(text) else analyzed.plan
        return replace(prepared, frame=frame, plan=plan)

    def _with_stored_rows(
        self, prepared: PreparedStatement, analyzed: AnalyzedStatement, is_explain: bool
    ) -> PreparedStatement | None:
        """Return a query, or its EXPLAIN, that reads stored rows in place of tables; None if it reads none."""
        if self._substitution is None or analyzed.frame is None:
            return None
        frame = self._substitution.rewritten(analyzed.plan)
        if frame is None or not is_explain:
            return None if frame is None else replace(prepared, frame=frame)
        plan = frame._jdf.queryExecution().analyzed()
        text = prepared.rewritten.original
        return replace(prepared, plan=self._plans.explaining(text, plan, is_rewritten=True))

    def run(self, plan: Any) -> DataFrame:
        """Run the plan of a prepared statement."""
        return self._plans.run(plan)

    def _reads_replaceable(self, statement: AnalyzedStatement) -> bool:
        """Return whether an analyzed statement reads a table or view that this class may replace."""
        relations = statement.relations
        if self._names.has_iceberg_catalog:
            relations = tuple(relation for relation in relations if relation.is_view or relation.may_be_iceberg)
            tables = [relation for relation in relations if not relation.is_view]
            is_current = all(self._names.loads_tables(table.parts[0]) for table in tables)
            if is_current and self._plans.lacks_property(statement, METADATA):
                relations = tuple(relation for relation in relations if relation.is_view)
        return any(self._may_be_replaced(*item) for item in self._find(relations))

    def _may_be_replaced(self, relation: AnalyzedRelation, resolved: ResolvedName, row: Row) -> bool:
        """Return whether an object in an analyzed statement is one that this class may replace."""
        if row.kind is RowKind.ICEBERG_TABLE:
            return METADATA in row.parameters
        if row.kind is not RowKind.ICEBERG_VIEW:
            return False
        view = self._catalog.load_view(resolved.name.identifier)
        return is_materialized(view.metadata) or self._is_misread(relation, resolved)

    def _check_relations(self, relations: tuple[AnalyzedRelation, ...]) -> None:
        """Reject a statement that still reads a view that Spark does not read according to its definition."""
        for relation, resolved, row in self._find(relation for relation in relations if relation.is_view):
            if row.kind is RowKind.ICEBERG_VIEW and self._is_misread(relation, resolved):
                raise SqlError(
                    f"This statement reads {resolved.name}, a view that Spark by itself would read incorrectly, "
                    "through IDENTIFIER(…), a function, or a view of another kind. Name the view in the statement "
                    "itself, or create the function or view again in a ViewSession",
                    name=str(resolved.name),
                )

    def _warn_of_unreadable(self, relations: tuple[AnalyzedRelation, ...]) -> None:
        """Warn of tables that a statement reads and of which Spark returns other rows than Hive, without an error."""
        tables = (relation for relation in relations if not relation.is_view and not relation.may_be_iceberg)
        for finding in spark_findings(row for _, _, row in self._find(tables)):
            if finding.outcome is Outcome.OTHER_ROWS:
                message = f"Spark returns other rows than Hive for this statement: {finding.construct}"
                warnings.warn(message, UnreadableTableWarning, stacklevel=4)

    def _name_of(self, parts: tuple[str, ...]) -> ViewName | None:
        """Return the name on the metastore of an object that a plan names."""
        resolved = self._names.resolve(parts, _NO_CONTEXT if len(parts) == 3 else self._names.current())
        return None if resolved is None else resolved.name

    def _find(self, relations: Iterable[AnalyzedRelation]) -> Iterator[tuple[AnalyzedRelation, ResolvedName, Row]]:
        """Yield the relations of an analyzed plan that are objects of the metastore, with their names and rows."""
        resolved_names: list[tuple[AnalyzedRelation, ResolvedName]] = []
        for relation in relations:
            context = _NO_CONTEXT if len(relation.parts) == 3 else self._names.current()
            resolved = self._names.resolve(relation.parts, context)
            if resolved is not None:
                resolved_names.append((relation, resolved))
        rows = RowCache(self._catalog.store)
        rows.load(resolved.name for _, resolved in resolved_names)
        for relation, resolved in resolved_names:
            row = rows.get(resolved.name)
            if row is not None:
                yield relation, resolved, row

    def _is_misread(self, relation: AnalyzedRelation, resolved: ResolvedName) -> bool:
        """Return whether Spark by itself does not read a view according to its definition."""
        if is_own_view(relation.reader):
            return False  # `_replace` has decided about the views in its definition
        view = self._catalog.load_view(resolved.name.identifier)
        version = view.current_version()
        try:
            text = self._spark_text(resolved.name, version)
        except TableReadError:
            return True
        return not self._is_read_natively(resolved, view, version, text, self._settings_of(relation.reader))

    def _settings_of(self, reader: tuple[str, ...]) -> Mapping[str, str]:
        """Return the settings that a plain view records; empty for a temporary view, whose settings are not known."""
        resolved = self._names.resolve(reader, _NO_CONTEXT) if len(reader) == 3 else None
        row = None if resolved is None else self._row(resolved.name)
        if row is None or row.kind is not RowKind.HIVE_VIEW:
            return {}
        return {key: value for key, value in read_view(row).settings.items() if can_change_results(key)}

    def check_unparsed(self, text: str, reason: str) -> None:
        """Reject a statement that is passed to Spark unparsed if a view in it would have to be replaced."""
        context: NameContext | None = None
        for read in possible_table_reads(text):
            position = line_and_column(text, read.start)
            if not read.parts:
                problem = "IDENTIFIER(…) may name a view that Spark would read incorrectly: write its name"
                message = f"{problem}; this statement cannot be rewritten: {reason}"
                raise SqlError(message, line=position[0], column=position[1])
            context = context or self._names.current()
            try:
                replacement = self._replacement(text, read, context, _Enclosing(), is_parsed=False)
            except TableReadError as error:
                problem = error.reason
            except HiveViewsError as error:
                error.point_at(*position)
                raise
            else:
                if replacement is None:
                    self._check_indirect_reads(f"TABLE {quote_name(read.parts)}", position)
                    continue
                problem = f"{replacement.resolved.name} is a view that Spark by itself would read incorrectly"
            raise SqlError(
                f"{problem}; and this statement cannot be rewritten: {reason}",
                line=position[0],
                column=position[1],
                name=".".join(read.parts),
            )
        for function, start in called_functions(text):
            try:
                self.check_unparsed(self._body_of(function), reason)
            except SqlError as error:
                line, column = line_and_column(text, start)
                raise SqlError(f"{function}: {error.reason}", line=line, column=column, name=error.name) from error

    def _check_indirect_reads(self, query: str, position: tuple[int, int]) -> None:
        """Reject a statement with a table or function whose query reads a view that Spark would read incorrectly."""
        analyzed = self._plans.analyzed(query)
        try:
            self._check_relations(() if analyzed is None else analyzed.relations)
        except SqlError as error:
            error.point_at(*position)
            raise

    def _body_of(self, function: str) -> str:
        """Return the body of a function that is defined in SQL; empty for any other function."""
        try:
            rows = self._spark.sql(f"DESCRIBE FUNCTION EXTENDED {function}").collect()
        except spark_exceptions():
            return ""
        described = {label: text for label, _, text in (str(row[0]).partition(":") for row in rows)}
        if "Body" in described:
            return described["Body"]
        try:
            properties = parse_json(described.get("Usage", ""))  # so far Spark (4.1) prints the function as JSON
        except ValueError:
            properties = None
        if not isinstance(properties, dict):
            return ""
        return str(properties.get("sqlFunction.expression") or properties.get("sqlFunction.query") or "")

    def prepare_definition(
        self,
        text: str,
        context: NameContext,
        typed: tuple[str, int] | None = None,
        view: str | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> PreparedStatement:
        """Return a query that will be a view's definition, prepared as by `prepare`; it cannot read temporary views.

        `typed` is the statement that contains the query, and the query's offset in it; `settings` are those under which
        it is analyzed, None for the session's.
        """
        reads = self.reads_of_definition(text, settings)
        enclosing = _Enclosing((), settings or {})
        with self._materialized.analyzing():
            return self._replace(text, reads, context, enclosing, is_definition=True, view=view, typed=typed)

    def reads_of_statement(self, text: str) -> tuple[TableRead, ...]:
        """Return the tables that a text reads, as the user's session parses it."""
        with convert_spark_errors(SourceText.unchanged(text)):
            return table_reads(text, self._plans.parsed)

    def reads_of_definition(self, text: str, settings: Mapping[str, str] | None = None) -> tuple[TableRead, ...]:
        """Return the tables that a view's text reads, as Spark parses it under the view's settings."""
        configured = self._helper.configured(None, settings or {})
        with configured as (session, _), convert_spark_errors(SourceText.unchanged(text)):
            return table_reads(text, lambda part: self._plans.parsed(part, session))

    def definition_context(self, text: str, database: str) -> NameContext:
        """Return the Spark catalog in which a definition over this metastore's tables is analyzed.

        It is the session catalog if the definition reads anything but Iceberg tables and views over Iceberg tables.
        """
        uses_session_catalog = not self._names.has_iceberg_catalog
        for read in self.reads_of_definition(text):
            parts = read.parts[-2:] if len(read.parts) > 1 else (database, *read.parts)
            name = ViewName.parse(parts)
            row = self._row(name)
            if row is not None and row.kind is RowKind.ICEBERG_VIEW:
                version = self._catalog.load_view(name.identifier).current_version()
                view_context = self.context_of(version, name, self._names.current().catalog)
                uses_session_catalog = uses_session_catalog or view_context.catalog == SESSION_CATALOG
            elif row is not None and row.kind is not RowKind.ICEBERG_TABLE:
                uses_session_catalog = True
        return NameContext(SESSION_CATALOG if uses_session_catalog else self._catalog.name, (database,))

    def find_definition(self, location: ViewErrorLocation) -> SourceText | None:
        """Return the text of the view that one of Spark's errors names, if it is in the catalog."""
        source = self._helper.source_of(location.name)
        if source is not None:
            return source
        # The name as the statement has it, or the view that reads it.
        resolved = self._names.resolve(tuple(location.name.split(".")), self._names.current())
        if resolved is None:
            return None
        row = self._row(resolved.name)
        if row is None or row.kind is not RowKind.ICEBERG_VIEW:
            return None
        texts = sql_texts(self._catalog.load_view(resolved.name.identifier).current_version())
        for text in texts.values():
            if location.is_in(text):
                return SourceText.unchanged(text, str(resolved.name))
        return None

    # -- Texts ---------------------------------------------------------------------------------------------------------

    def _replace(
        self,
        text: str,
        reads: tuple[TableRead, ...],
        context: NameContext | None,
        enclosing: _Enclosing,
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
                replacement = self._replacement(text, read, context, enclosing, is_definition=is_definition)
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

    def _replacement(
        self,
        text: str,
        read: TableRead,
        context: NameContext,
        enclosing: _Enclosing,
        *,
        is_definition: bool = False,
        is_parsed: bool = True,
    ) -> _TableReplacement | None:
        """What replaces a table or view; None if Spark reads it correctly."""
        parts = read.parts
        resolved = self._names.resolve(parts, context)
        row = None if resolved is None else self._row(resolved.name)
        if resolved is not None and row is not None:
            is_materialized_table = row.kind is RowKind.ICEBERG_TABLE and METADATA in row.parameters
            if is_materialized_table and self._names.has_iceberg_catalog and is_parsed:
                return self._replace_materialized_table(read, resolved, enclosing, is_definition=is_definition)
            if row.kind is not RowKind.ICEBERG_VIEW:
                return self._replace_other(resolved, row.kind, is_definition=is_definition)
            if not is_definition and self._is_temporary(parts):
                return None
            replacement = self._replace_view(text, read, resolved, enclosing)
            if replacement is None and is_definition and self._names.is_iceberg_catalog(resolved.catalog):
                # Iceberg resolves an unqualified view in the reading session's current catalog, not in the one that
                # was current for the definition (its ResolveViews, 1.11).
                return _TableReplacement(quote_name(resolved.parts), resolved, is_required=False)
            return replacement
        if len(parts) > 1 and parts[-1].lower() in {*METADATA_TABLES, STORAGE}:
            return self._replace_metadata_table(text, read, context, is_definition=is_definition)
        return None

    def _row(self, name: ViewName) -> Row | None:
        return self._catalog.store.get_row(name)

    def _is_temporary(self, parts: tuple[str, ...]) -> bool:
        return len(parts) == 1 and self._names.is_temporary(parts[0])

    # -- Tables --------------------------------------------------------------------------------------------------------

    def _replace_materialized_table(
        self,
        read: TableRead,
        resolved: ResolvedName,
        enclosing: _Enclosing,
        *,
        is_definition: bool,
    ) -> _TableReplacement | None:
        """Return a table with an attached view: its rows if they are usable, otherwise the view's definition."""
        if read.time_travel is not None or (not is_definition and self._is_temporary(read.parts)):
            return None
        stored = self._materialized.current_rows(resolved.name, self._helper.frame_as_view)
        if stored is not None:
            return _TableReplacement(stored, resolved)
        metadata = self._catalog.materialized.load(resolved.name.identifier).metadata
        version = metadata.current_version()
        text = self._spark_text(resolved.name, version)
        settings = recorded_settings(version.summary) or enclosing.settings
        try:
            reads = self.reads_of_definition(text, settings)
        except SqlError as error:
            raise TableReadError(f"The definition of {resolved.name} cannot be parsed: {error}") from error
        prepared = self._prepare_view(resolved, version, text, reads, enclosing.within(resolved.name, settings))
        name = self._create_temporary_view(resolved, metadata.current_schema(), version, prepared, settings)
        return _TableReplacement(name, resolved)

    def _replace_other(self, resolved: ResolvedName, kind: RowKind, *, is_definition: bool) -> _TableReplacement | None:
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
        return _TableReplacement(quote_name((SESSION_CATALOG, *resolved.name.identifier)), resolved)

    def _replace_metadata_table(
        self, text: str, read: TableRead, context: NameContext, *, is_definition: bool
    ) -> _TableReplacement | None:
        view_parts, table = read.parts[:-1], read.parts[-1].lower()
        resolved = self._names.resolve(view_parts, context)
        row = None if resolved is None else self._row(resolved.name)
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
                frame = refreshes_table(self._spark, self._catalog, materialized)
        else:
            view = self._catalog.load_view(resolved.name.identifier)
            frame = metadata_table(self._spark, self._catalog, view, table)
        return _TableReplacement(
            self._helper.frame_as_view(frame),
            ResolvedName(resolved.name.database, ViewName(resolved.name.name, table)),
        )

    # -- Views ---------------------------------------------------------------------------------------------------------

    def _spark_text(self, name: ViewName, version: ViewVersion) -> str:
        """Return the text of a version that Spark runs."""
        texts = sql_texts(version)
        text = texts.get("spark", texts.get(HIVE))
        if text is None:
            # Iceberg's Spark catalog would run the first text: quotes and functions may mean something else in it.
            raise TableReadError(
                f"View {name} has no text for Spark, only for {', '.join(texts) or 'no dialect'}. Add one with CREATE "
                "OR REPLACE VIEW"
            )
        if not reads_doubled_quotes(self._spark.version) and find_doubled_quote(text) is not None:
            raise TableReadError(
                f"View {name} has a literal with a doubled quote, such as 'it''s', which Spark {self._spark.version} "
                "reads without the quote. Replace it by \\' with CREATE OR REPLACE VIEW, or read it with Spark 4.1"
            )
        return text

    def _replace_view(
        self, text: str, read: TableRead, resolved: ResolvedName, enclosing: _Enclosing
    ) -> _TableReplacement | None:
        name = resolved.name
        if name in enclosing.views:
            raise CyclicViewError(str(name), [str(view_name) for view_name in (*enclosing.views, name)])
        view = self._catalog.load_view(name.identifier)
        time_travel = read.time_travel
        stored: str | None = None
        if time_travel is not None:
            earlier = self._time_travel.rows_as_of(text, read, view)
            stored = None if earlier is None else self._helper.frame_as_view(earlier)
        elif is_materialized(view.metadata):
            stored = self._materialized.current_rows(name, self._helper.frame_as_view)
        if stored is not None:
            return _TableReplacement(stored, resolved)
        version = (
            view.current_version() if time_travel is None else self._time_travel.version_as_of(text, time_travel, view)
        )
        definition = self._spark_text(name, version)
        is_native = time_travel is None and self._is_read_natively(
            resolved, view, version, definition, enclosing.settings
        )
        # A view without recorded settings is analyzed under those of the view or session that reads it.
        settings = recorded_settings(version.summary) or enclosing.settings
        try:
            reads = self.reads_of_definition(definition, settings)
        except SqlError as error:
            if is_native:
                return None  # only Spark can parse it
            raise TableReadError(f"The definition of {name} cannot be parsed: {error}") from error
        prepared = self._prepare_view(resolved, version, definition, reads, enclosing.within(name, settings))
        if is_native and not prepared.views:
            return None
        if _has_other_definition(view):
            warnings.warn(
                f"The row of {name} was changed by another program; its metadata file is read. See view.drift, "
                "catalog.adopt_view and catalog.repair_view",
                ViewDriftWarning,
                stacklevel=6,
            )
        schema = view.schemas()[version.schema_id]
        return _TableReplacement(self._create_temporary_view(resolved, schema, version, prepared, settings), resolved)

    def _prepare_view(
        self,
        resolved: ResolvedName,
        version: ViewVersion,
        definition: str,
        reads: tuple[TableRead, ...],
        enclosing: _Enclosing,
    ) -> PreparedStatement:
        """Return a view's definition with the views that it reads replaced."""
        return self._replace(
            definition,
            reads,
            self.context_of(version, resolved.name, resolved.catalog),
            enclosing,
            is_definition=True,
            view=str(resolved.name),
        )

    def context_of(self, version: ViewVersion, name: ViewName, catalog: str = "") -> NameContext:
        """The catalog and namespace that complete the names of a definition, which is read through a Spark catalog."""
        default_catalog = version.default_catalog or self._catalog.name
        if version.default_catalog is None and self._is_replaced_session_catalog(catalog):
            default_catalog = SESSION_CATALOG  # in Iceberg, the catalog through which the view is read
        if default_catalog == self._catalog.name and not self._names.has_iceberg_catalog:
            default_catalog = SESSION_CATALOG
        return NameContext(default_catalog, tuple(version.default_namespace) or (name.database,))

    def _is_replaced_session_catalog(self, catalog: str) -> bool:
        """Return whether a Spark catalog is the session catalog in the form of Iceberg's SparkSessionCatalog."""
        return catalog.lower() == SESSION_CATALOG and self._names.session_catalog_is_replaced

    def _is_read_natively(
        self,
        resolved: ResolvedName,
        view: HiveView,
        version: ViewVersion,
        definition: str,
        enclosing_settings: Mapping[str, str] | None = None,
    ) -> bool:
        """Return whether Spark reads the current version of a view according to its definition.

        `enclosing_settings` are the settings of the view that reads it; None or empty for the session's.
        """
        if any(mark in definition and self._is_on(key) for key, marks in TEXT_SETTINGS.items() for mark in marks):
            return False
        settings = recorded_settings(version.summary)
        if self._names.is_iceberg_catalog(resolved.catalog):
            texts = sql_texts(version)
            if definition != texts.get("spark", next(iter(texts.values()))):
                return False  # without a text for Spark, Iceberg takes the first one, whatever its dialect
            if FILE_NAME.search(definition):
                return False  # Iceberg's ResolveViews (1.11) reads the format as a database of its catalog
            if _WINDOW.search(definition):
                return False  # Iceberg's ResolveViews (1.11) leaves named windows unresolved
            return self._names.is_catalog(resolved.catalog) and self._has_settings(settings, enclosing_settings)
        # The session catalog, also Iceberg's SparkSessionCatalog (1.11), reads the row's text, with ANSI off and the
        # default time zone; names without a catalog mean the session's current one, whichever that is. It finds columns
        # by their names, which the text of another program need not have.
        is_ours = any(key.startswith(_SUMMARY_PREFIX) for key in version.summary)
        if settings or _has_other_definition(view) or not is_ours:
            return False
        context = self.context_of(version, resolved.name)
        return context.catalog == SESSION_CATALOG and self._names.current().catalog == SESSION_CATALOG

    def _has_settings(self, settings: Mapping[str, str], enclosing: Mapping[str, str] | None) -> bool:
        """Whether the reader has the recorded settings of a view, and Spark's defaults for those that it lacks."""
        if not settings:
            return True
        if enclosing:
            return not differing_settings(settings, enclosing)
        relevant = settings.keys() | captured_settings(self._spark, can_change_results).keys() - {*RECORDED}
        return all(
            key in settings and is_same_setting(key, settings[key], self._names.setting(key)) for key in relevant
        )

    def _is_on(self, key: str) -> bool:
        return self._names.setting(key).lower() == "true"

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
        context = self.context_of(version, name, resolved.catalog)
        definition = prepared.source
        self._check_settings_at_execution(name, definition.text, settings)
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

    def _check_settings_at_execution(self, name: ViewName, definition: str, settings: Mapping[str, str]) -> None:
        """Reject a view whose rows depend on settings of the session that Spark does not take from the view.

        Spark reads some settings when it computes rows, from the session that runs the query, also for its own
        views.
        """
        if not settings:
            return
        if self._is_on(USE_CURRENT):
            raise TableReadError(
                f"Spark would not apply the settings of view {name} in this session: RESET {USE_CURRENT}"
            )
        for key, changed in not_applied_to_views(self._spark).items():
            if settings.get(key, "").lower() == "true" and changed.search(definition):
                reason = f"View {name} was defined with {key}=true, which Spark {self._spark.version} does not apply"
                raise TableReadError(f"{reason} to views: read it with Spark 4, or define it with parentheses")
        by_execution = applied_by_execution(self._spark)
        not_applied = {*by_execution} | (
            {*captured_settings(self._spark, can_change_results), *settings} - APPLIED_BY_ANALYSIS
        )
        keys = not_applied - {*TEXT_SETTINGS}
        with self._helper.configured(None, settings) as (session, _):
            values = {key: session_setting(session, key) for key in keys}
        for key, value in sorted(values.items()):
            if is_same_setting(key, value, self._names.setting(key)):
                continue
            reason = f"View {name} was defined with {key}={value}, and this session has {self._names.setting(key)}"
            pattern = by_execution.get(key)
            if pattern is None:
                warnings.warn(
                    f"{reason}. Spark may apply this setting to the rows of the view",
                    SessionSettingsWarning,
                    stacklevel=7,
                )
            elif pattern.search(definition):
                remedy = f"SET {key}={value}" if value else f"RESET {key}"
                raise TableReadError(f"{reason}, which Spark would apply to the rows of the view: {remedy}")

    def _schema_of(self, temporary_view: str, source: SourceText) -> StructType:
        with convert_spark_errors(SourceText(source.text, temporary_view, lambda _: None, source.view)):
            schema: StructType = self._spark.table(temporary_view.replace("`", "")).schema
            return schema


def _has_other_definition(view: HiveView) -> bool:
    """Return whether another program changed the definition in the view's row."""
    return any(difference.is_of_definition for difference in view.drift)


_SUMMARY_PREFIX = "hive-views."
"""The beginning of the summary keys of versions that this package has written."""
_WINDOW = re.compile(r"\bwindow\b", re.IGNORECASE)
