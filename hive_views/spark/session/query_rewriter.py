"""Prepares statements that read views: what they read, what Spark reads correctly by itself, and the replacement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hive_views.errors import HiveViewsError, SqlError
from hive_views.metastore.queries import RowCache
from hive_views.metastore.rows.row import RowKind
from hive_views.spark.session.materialized_reads import MaterializedReader
from hive_views.spark.session.names import NameContext
from hive_views.spark.session.native import NativeReads, SessionSettings
from hive_views.spark.session.plans import AnalyzedStatement, filters_by_name
from hive_views.spark.session.reads import StatementReads
from hive_views.spark.session.replacement import Enclosing, PreparedStatement, Replacer
from hive_views.spark.session.source_text import RewrittenText, SourceText, ViewErrorLocation
from hive_views.spark.session.substitution import Substitution
from hive_views.spark.session.table_reads import (
    TableRead,
    TableReadError,
    blank_explain,
    called_functions,
    is_function,
    possible_table_reads,
    table_reads,
)
from hive_views.spark.sessions import spark_exceptions
from hive_views.spark.versions import is_tested
from hive_views.spec.metadata import ViewVersion
from hive_views.spec.version_texts import sql_texts
from hive_views.sql.text.positions import line_and_column
from hive_views.sql.text.quoting import quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from hive_views.spark.session.services import SessionServices

Arguments = dict[str, Any] | list[Any] | None
"""Values of parameters, as `SparkSession.sql` takes them."""

_CACHE_TABLE = re.compile(r"\s*CACHE\s+(LAZY\s+)?TABLE\s+[^\s(]+\s*(OPTIONS\s*\(.*\))?\s*;?\s*\Z", re.IGNORECASE)
"""CACHE TABLE without a query, which stores the plan that Spark has for a name and returns no rows."""
_FUNCTION_ADVICE = (
    "a permanent function cannot read the temporary view that replaces it. Create a temporary function, or read the "
    "view outside of the function"
)


class QueryRewriter:
    """Prepares statements that read views."""

    def __init__(self, services: SessionServices) -> None:
        self._spark = services.spark
        self._catalog = services.catalog
        self._names = services.names
        self._helper = services.helper
        self._plans = services.plans
        self.reads = StatementReads(services)
        self._native = NativeReads(services, self.reads)
        self._materialized = MaterializedReader(services)
        self._replacer = Replacer(services, self._materialized, self.reads, self._native)
        self.notes = self._materialized.notes
        self._substitution: Substitution | None = None
        if services.catalog.store.config.rewrite_queries and is_tested(services.spark.version):
            self._substitution = Substitution(services, self._materialized)

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
        if analyzed is not None and not is_function(text) and not self._native.reads_replaceable(analyzed):
            self._native.warn_of_unreadable(analyzed.relations)
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
        self._materialized.filters = filters_by_name(relations, self.reads.name_of)
        with self._materialized.checked() as stale_rows:
            prepared = self._replacer.replace(text, reads, self._names.current() if reads else None, self.enclosing())
        if prepared.views and is_function(text, is_permanent=True):
            [name, *_] = prepared.views.values()
            raise SqlError(f"{name} is a view that Spark by itself would read incorrectly: {_FUNCTION_ADVICE}")
        if prepared.rewritten.text != text:
            analyzed = self._plans.analyzed(blank_explain(prepared.rewritten.text), args)
            frame = analyzed.frame if analyzed is not None and statement == text else None
        if analyzed is not None and not _CACHE_TABLE.match(text):
            self._native.check_relations(analyzed.relations)
            self._native.warn_of_unreadable(analyzed.relations)
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

    def check_unparsed(self, text: str, reason: str) -> None:
        """Reject a statement that is passed to Spark unparsed if a view in it would have to be replaced."""
        context: NameContext | None = None
        enclosing = self.enclosing()
        for read in possible_table_reads(text):
            position = line_and_column(text, read.start)
            if not read.parts:
                problem = "IDENTIFIER(…) may name a view that Spark would read incorrectly: write its name"
                message = f"{problem}; this statement cannot be rewritten: {reason}"
                raise SqlError(message, line=position[0], column=position[1])
            context = context or self._names.current()
            try:
                replacement = self._replacer.replacement(text, read, context, enclosing, is_parsed=False)
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
                self.check_unparsed(self.reads.body_of(function), reason)
            except SqlError as error:
                line, column = line_and_column(text, start)
                raise SqlError(f"{function}: {error.reason}", line=line, column=column, name=error.name) from error

    def _check_indirect_reads(self, query: str, position: tuple[int, int]) -> None:
        """Reject a statement with a table or function whose query reads a view that Spark would read incorrectly."""
        analyzed = self._plans.analyzed(query)
        try:
            self._native.check_relations(() if analyzed is None else analyzed.relations)
        except SqlError as error:
            error.point_at(*position)
            raise

    def enclosing(self, settings: Mapping[str, str] | None = None, rows: RowCache | None = None) -> Enclosing:
        """Return what encloses a statement's text, which is analyzed under some settings; None for the session's.

        `rows` are those that were read already for the statement.
        """
        session = SessionSettings(self._spark)
        return Enclosing(rows or RowCache(self._catalog.store), session, settings=settings or {})

    def prepare_definition(
        self,
        text: str,
        reads: tuple[TableRead, ...],
        context: NameContext,
        enclosing: Enclosing,
        typed: tuple[str, int] | None = None,
        view: str | None = None,
    ) -> PreparedStatement:
        """Return a query that will be a view's definition, prepared as by `prepare`; it cannot read temporary views.

        `typed` is the statement that contains the query, and the query's offset in it.
        """
        with self._materialized.analyzing():
            return self._replacer.replace(text, reads, context, enclosing, is_definition=True, view=view, typed=typed)

    def settings_of(self, version: ViewVersion) -> Mapping[str, str]:
        """Return the settings under which a version is analyzed; empty for those of the session."""
        return self._native.settings_of(version, {})

    def find_definition(self, location: ViewErrorLocation) -> SourceText | None:
        """Return the text of the view that one of Spark's errors names, if it is in the catalog."""
        source = self._helper.source_of(location.name)
        if source is not None:
            return source
        # The name as the statement has it, or the view that reads it.
        resolved = self._names.resolve(tuple(location.name.split(".")), self._names.current())
        if resolved is None:
            return None
        row = self.reads.row(resolved.name)
        if row is None or row.kind is not RowKind.ICEBERG_VIEW:
            return None
        texts = sql_texts(self._catalog.load_view(resolved.name.identifier).current_version())
        for text in texts.values():
            if location.is_in(text):
                return SourceText.unchanged(text, str(resolved.name))
        return None
