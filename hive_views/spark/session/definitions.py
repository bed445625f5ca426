"""Checks the definitions in CREATE VIEW, ALTER VIEW AS and RECOMPILE, and analyzes them in Spark."""

from __future__ import annotations

import re
import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hive_views.dependencies.view_text import text_of_version
from hive_views.errors import SessionSettingsWarning, SqlError
from hive_views.spark.analyzer import SparkAnalyzer, iceberg_schema
from hive_views.spark.jvm import is_classic
from hive_views.spark.session.plans import AnalyzedQuery, check_equal
from hive_views.spark.session.settings import not_applied_to_views
from hive_views.spark.session.source_text import SourceText, convert_spark_errors
from hive_views.spark.session.table_reads import TableRead
from hive_views.spark.sessions import captured_settings, spark_exceptions, temporary_views_among
from hive_views.spark.text_settings import TEXT_SETTINGS
from hive_views.spec.session_settings import (
    ANSI,
    RECORDED,
    TIME_ZONE,
    can_change_results,
    encode,
    is_captured_by_spark,
    is_same_setting,
)
from hive_views.sql.parsing.parser_settings import find_doubled_quote, reads_doubled_quotes, setting_dependence
from hive_views.sql.text.positions import error_at, line_and_column
from hive_views.sql.text.quoting import quote_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyiceberg.schema import Schema
    from pyspark.sql.types import StructType

    from hive_views.identifiers import ViewName
    from hive_views.metastore.queries import RowCache
    from hive_views.spark.session.names import NameContext
    from hive_views.spark.session.query_rewriter import QueryRewriter
    from hive_views.spark.session.replacement import Enclosing
    from hive_views.spark.session.services import SessionServices
    from hive_views.sql.parsing.statements import AlterViewAs, CreateMaterializedView, CreateView

    Defining = CreateView | AlterViewAs | CreateMaterializedView
    """A statement that contains a definition."""


_UTC = frozenset({"UTC", "Etc/UTC", "Z", "GMT", "Etc/GMT", "+00:00", "UTC+00:00", "UCT", "Universal", "Zulu"})
"""Names of one time zone, of which the default of a Spark and the setting of its users are often two."""


_WITH = re.compile(r"\bwith\b", re.IGNORECASE)


def _level_of_caller() -> int:
    """Return the stack level of the user's code, as `warnings.warn` of the calling function counts."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("hive_views."):
        level, frame = level + 1, frame.f_back
    return level


@dataclass(frozen=True)
class _TypedQuery:
    """The query of a definition as its author typed it."""

    sql: str
    database: str
    """The database of unqualified names."""
    position: tuple[str, int]
    """The text that contains it, into which errors point, and its offset in it."""
    view: str | None = None
    """The existing view whose definition it is."""
    reads: tuple[TableRead, ...] | None = None
    """What it reads; None if that has to be determined."""


class DefinitionAnalyzer:
    """Analyzes definitions in Spark, without running them."""

    def __init__(self, services: SessionServices, queries: QueryRewriter) -> None:
        self._catalog = services.catalog
        self._names = services.names
        self._queries = queries
        self._helper = services.helper

    def recorded_settings(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Return what a version records of a session's settings, as a summary: those that Spark stores with a view."""
        captured = captured_settings(self._names.spark, is_captured_by_spark, settings)
        recorded = {key: value for key, value in captured.items() if key not in TEXT_SETTINGS}
        not_applied = sorted(key for key in recorded if can_change_results(key) and key not in RECORDED)
        if not_applied:
            values = ", ".join(f"{key}={recorded[key]}" for key in not_applied)
            warnings.warn(
                f"The view is defined with {values}: a ViewSession applies this, other readers their own settings",
                SessionSettingsWarning,
                stacklevel=6,
            )
        return encode(recorded)

    def checked_reads(self, statement: Defining, current: NameContext) -> tuple[TableRead, ...]:
        """Return what a statement's query reads.

        Raises:
            SqlError: If the meaning of the query depends on the user's session.
        """
        self._check_parser_settings(statement)
        query = statement.query
        reads = self._queries.reads.reads_of_statement(query.sql)
        # Time travel is allowed for tables; for views the catalog rejects it.
        checked = [read for read in reads if read.time_travel is None]
        temporary_views = temporary_views_among(
            self._names.spark, {read.parts[0] for read in checked if len(read.parts) == 1}
        )
        for read in checked:
            reason = self._reason_against(read, current, temporary_views)
            if reason is not None:
                raise error_at(statement.text, query.start + read.start, reason, ".".join(read.parts))
        return reads

    def analyzer(
        self,
        statement: Defining,
        reads: tuple[TableRead, ...],
        database: str,
        user_settings: Mapping[str, str] | None = None,
    ) -> SparkAnalyzer:
        """Return the analyzer of a statement's query with its checked reads; its errors point into the statement.

        `user_settings` are those of the user's session, if they were read already for the statement.
        """
        query = statement.query
        # A checked query is parsed alike under the settings of the user's session and under those of a definition.
        typed = _TypedQuery(query.sql, database, (statement.text, query.start), reads=reads)
        return self._analyzer(typed, user_settings=user_settings)

    def query_analyzer(self, query: str, database: str) -> SparkAnalyzer:
        """Return the analyzer of a query that is not part of a statement."""
        return self._analyzer(_TypedQuery(query, database, (query, 0)))

    def recompiler(self, name: ViewName) -> SparkAnalyzer:
        """Return the analyzer of an existing view's definition, under the settings recorded with it."""
        version = self._catalog.load_view(name.identifier).current_version()
        text = text_of_version(name, version)
        settings = self._queries.settings_of(version)
        typed = _TypedQuery(text.typed, text.database, (text.typed, 0), str(name))
        return self._analyzer(typed, settings=settings)

    def _warn_of_other_meanings(self, query: SourceText, context: NameContext) -> None:
        """Issue a warning if readers without the ANSI mode and time zone of this session may get other rows.

        Spark's catalog of Iceberg does not apply them. Only values that are not Spark's defaults are examined.
        """
        captured: dict[str, str] | None = None
        for key in (ANSI, TIME_ZONE):
            value, default = self._names.setting(key), self._helper.default_setting(key)
            if is_same_setting(key, value, default) or {value, default} <= _UTC:
                continue
            captured = captured or captured_settings(self._names.spark, can_change_results)
            own, other = (
                self._meaning(query.spark_text, context, {**captured, key: used}) for used in (value, default)
            )
            if own == other:
                continue
            # Two analyses of WITH or of random values differ: then the question has no answer.
            if own == self._meaning(query.spark_text, context, {**captured, key: value}):
                warnings.warn(
                    f"The rows of the view may depend on {key}={value}. A ViewSession and plain Spark apply this; "
                    f"Spark's catalog of Iceberg and other engines apply their own ({default} by default)",
                    SessionSettingsWarning,
                    stacklevel=_level_of_caller(),
                )

    def _meaning(self, text: str, context: NameContext, settings: Mapping[str, str]) -> int | None:
        """Return a hash of the plan of a query under some settings; None if Spark refuses it."""
        with self._helper.configured(context, settings) as (session, _):
            try:
                frame = session.sql(text)
                if not _WITH.search(text) or not is_classic(session):
                    return int(frame.semanticHash())
                # The optimizer replaces each WITH, whose name has another number in each analysis.
                return int(frame._jdf.queryExecution().optimizedPlan().semanticHash())
            except spark_exceptions():
                return None

    def _reason_against(self, read: TableRead, current: NameContext, temporary_views: frozenset[str]) -> str | None:
        """Why a definition cannot contain a read of a table; None if it can."""
        parts, name = read.parts, ".".join(read.parts)
        if len(parts) == 1 and parts[0] in temporary_views:
            return f"{name} is a temporary view, which ends with its session: a view cannot read it"
        if len(parts) == 2 and self._names.is_catalog(parts[0]):
            return f"{parts[0]} is a catalog: write catalog, database and name"
        if len(parts) < 3 and not self._names.is_on_metastore(current.catalog):
            return (
                f"{name} is a name in {current.catalog}, the current catalog, which is not on this metastore: "
                f"USE {self._catalog.name}, or write its catalog and database"
            )
        return None

    def _check_parser_settings(self, statement: Defining) -> None:
        query = statement.query
        dependence = setting_dependence(query.sql, lambda key: self._names.setting(key).lower() == "true")
        if dependence is not None:
            key, offset, reason = dependence
            line, column = line_and_column(statement.text, query.start + offset)
            raise SqlError(f"{key} is on, and {reason}. Write it another way, or set it off", line=line, column=column)
        for key, pattern in not_applied_to_views(self._names.spark).items():
            match = pattern.search(query.sql)
            if match is not None and self._names.setting(key).lower() == "true":
                reason = f"{key} is on, which Spark {self._names.spark.version} does not apply to views"
                raise error_at(
                    statement.text, query.start + match.start(), f"{reason}: write parentheses, and set it off"
                )
        version = self._names.spark.version
        doubled = None if reads_doubled_quotes(version) else find_doubled_quote(query.sql)
        if doubled is not None:
            reason = f"Spark {version} ignores a doubled quote, which Spark 4.1 does not: write \\'"
            raise error_at(statement.text, query.start + doubled, reason)

    def _schema_of_files(self, file_format: str, path: str) -> StructType:
        name = quote_name((file_format, path))
        with convert_spark_errors(SourceText(name, name, lambda _: None)):
            columns: StructType = self._names.spark.table(name).schema
        return columns

    def _analyzer(
        self,
        typed: _TypedQuery,
        *,
        settings: Mapping[str, str] | None = None,
        user_settings: Mapping[str, str] | None = None,
    ) -> SparkAnalyzer:
        """Return the analyzer of a query under some settings; None for those of the session."""

        def analyze(expanded: str, rows: RowCache | None) -> Schema:
            with self._helper.held(user_settings):
                return self._schema_of(typed, expanded, self._queries.enclosing(settings, rows), settings)

        return SparkAnalyzer(analyze, self._schema_of_files, self._names.spark.version)

    def _schema_of(
        self, typed: _TypedQuery, expanded: str, enclosing: Enclosing, settings: Mapping[str, str] | None
    ) -> Schema:
        """Return the columns of an expanded query; raises SqlError if Spark analyzes the typed query differently."""
        reads = self._queries.reads
        typed_reads = typed.reads
        if typed_reads is None:
            typed_reads = reads.reads_of_definition(typed.sql, settings)
        context = reads.definition_context(typed_reads, typed.database, enclosing.rows)

        def analyze_in_spark(source: SourceText) -> AnalyzedQuery:
            configured = self._helper.configured(context, settings or {})
            with configured as (session, _), convert_spark_errors(source, self._queries.find_definition):
                return AnalyzedQuery.of(session.sql(source.spark_text))

        # First the typed query, so that Spark's errors point into it; then the query with its final column names.
        (typed_text, start), view = typed.position, typed.view
        prepared = self._queries.prepare_definition(
            typed.sql, typed_reads, context, enclosing, typed.position, view
        ).source
        typed_query = analyze_in_spark(
            SourceText(typed_text, prepared.spark_text, lambda offset: start + (prepared.offset(offset) or 0), view)
        )
        final = SourceText.unchanged(expanded)
        # The expanded query names what the typed one names: if there is nothing to replace, it need not be parsed.
        if prepared.spark_text != typed.sql:
            final_reads = reads.reads_of_definition(expanded, settings)
            final = self._queries.prepare_definition(expanded, final_reads, context, enclosing).source
        final_query = analyze_in_spark(SourceText(expanded, final.spark_text, lambda _: None, view))
        check_equal(typed_query, final_query)
        if settings is None:
            self._warn_of_other_meanings(final, context)
        return iceberg_schema(final_query.columns)
