"""Runs statements about plain and materialized views of the catalog: CREATE, ALTER, DROP, SHOW, DESCRIBE, REFRESH."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hive_views.catalog.statements import Result, describe, execute_statement, is_about_materialized, locate_error
from hive_views.errors import HiveViewsError, SqlError
from hive_views.spark.refresh.engine import SparkEngine
from hive_views.spark.session.definitions import DefinitionAnalyzer
from hive_views.spark.sessions import all_settings, temporary_views
from hive_views.sql.parsing import statements as ddl
from hive_views.sql.parsing.ddl import Cursor, parse_statement
from hive_views.sql.parsing.statement_targets import find_targets
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.positions import error_at
from hive_views.sql.text.quoting import quote_identifier
from hive_views.sql.types.spark_types import spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from hive_views.dependencies.view_query import Analyzer
    from hive_views.identifiers import ViewName
    from hive_views.materialized.refresh.request import Engine
    from hive_views.spark.analyzer import SparkAnalyzer
    from hive_views.spark.session.definitions import Defining
    from hive_views.spark.session.guard import StatementGuard
    from hive_views.spark.session.names import NameContext
    from hive_views.spark.session.query_rewriter import QueryRewriter
    from hive_views.spark.session.services import SessionServices

_DESCRIBE_COLUMNS = ("col_name", "data_type", "comment")


class StatementRunner:
    """Runs statements about views of the catalog; leaves all other statements to Spark."""

    def __init__(self, services: SessionServices, queries: QueryRewriter, guard: StatementGuard) -> None:
        self._spark = services.spark
        self._catalog = services.catalog
        self._names = services.names
        self._guard = guard
        self.definitions = DefinitionAnalyzer(services, queries)

    def run(self, text: str) -> DataFrame | None:
        """Run a statement, with Spark's column names for its result; None if Spark has to run it."""
        statement = self._parse(text)
        if statement is None:
            return None
        handler = _HANDLERS.get(type(statement))
        if is_about_materialized(statement):
            handler = StatementRunner._run_materialized
        if handler is None:
            return None
        try:
            return handler(self, statement)
        except HiveViewsError as error:
            # An error of the catalog names an object but has no position in the statement.
            if error.line is None and getattr(error, "view", None) is None:
                locate_error(statement, ".".join(self._names.current().namespace), error)
            raise

    def run_show_views(self, text: str) -> DataFrame | None:
        """Run SHOW VIEWS IN the view catalog if Spark has none of that name; None for any other SHOW statement."""
        try:
            cursor = Cursor(text, Dialect.SPARK)
            if not (cursor.accept("VIEWS") and (cursor.accept("IN") or cursor.accept("FROM"))):
                return None
            parts = cursor.name().parts
            if len(parts) != 2 or parts[0] != self._catalog.name or self._names.has_iceberg_catalog:
                return None
            pattern = None if cursor.done else (cursor.accept("LIKE") or True) and cursor.string()
            cursor.finish()
        except SqlError:
            return None
        result = self._execute(ddl.ShowViews(text, Dialect.SPARK, database=parts[1], pattern=pattern))
        rows = [(database, name, False) for database, name in result.rows]
        rows += [("", name, True) for name in (temporary_views(self._spark) if pattern is None else ())]
        frame: DataFrame = self._spark.createDataFrame(rows, "namespace STRING, viewName STRING, isTemporary BOOLEAN")
        return frame

    # -- Parsing -------------------------------------------------------------------------------------------------------

    def _parse(self, text: str) -> ddl.Statement | None:
        """Parse a statement; None if only Spark can."""
        targets = find_targets(text, head=True)
        change = targets.changes[0] if targets.changes else None
        if change is not None and change.parts is None and "IDENTIFIER" in text[change.start :].upper():
            # The statement parser would parse IDENTIFIER as a name.
            raise error_at(text, change.start, "IDENTIFIER(…) may mean a view of the catalog: write its name")
        try:
            return parse_statement(text, Dialect.SPARK)
        except SqlError:
            is_view = change is not None and (change.parts is None or self._guard.find_view(change.parts) is not None)
            if targets.is_catalog_only or is_view:
                raise
            return None

    def _qualified(self, statement: Any, current: NameContext | None = None) -> Any:
        """Return the statement with its name qualified; None if the name is not on the catalog's metastore."""
        resolved = self._names.resolve(statement.name.parts, current or self._names.current())
        if resolved is None:
            return None
        return replace(statement, name=ddl.ObjectName(resolved.name.identifier, statement.name.start))

    def _qualified_or_error(self, statement: Any) -> Any:
        qualified = self._qualified(statement)
        if qualified is None:
            reason = f"{statement.name} is not on the metastore of the catalog {self._catalog.name}"
            raise error_at(statement.text, statement.name.start, reason, str(statement.name))
        return qualified

    def _find_view(self, name: ddl.ObjectName) -> ViewName | None:
        return self._guard.find_view(name.parts)

    def _database(self, current: NameContext) -> str:
        """Return the database of unqualified names; `default` if the current catalog is on another metastore."""
        is_ours = self._names.is_on_metastore(current.catalog) and len(current.namespace) == 1
        return current.namespace[0] if is_ours else "default"

    def _execute(
        self,
        statement: Any,
        analyzer: Analyzer | None = None,
        *,
        current: NameContext | None = None,
        summary: Mapping[str, str] | None = None,
        engine: Engine | None = None,
    ) -> Result:
        database = self._database(current or self._names.current())
        return execute_statement(
            self._catalog, statement, database=database, analyzer=analyzer, summary=summary, engine=engine
        )

    # -- Handlers: each returns the result, or None to leave the statement to Spark ------------------------------------

    def _define(self, statement: ddl.CreateView | ddl.AlterViewAs) -> DataFrame | None:
        if isinstance(statement, ddl.CreateView) and statement.temporary:
            return None
        current = self._names.current()
        qualified = self._qualified(statement, current)
        if qualified is None or (isinstance(statement, ddl.AlterViewAs) and not self._find_view(statement.name)):
            return None
        settings = all_settings(self._spark)
        analyzer = self._analyzer(statement, current, settings)
        self._execute(qualified, analyzer, current=current, summary=self.definitions.recorded_settings(settings))
        return self._no_columns

    def _analyzer(
        self, statement: Defining, current: NameContext, settings: Mapping[str, str] | None = None
    ) -> SparkAnalyzer:
        """Return the analyzer of a statement's definition; rejects one that depends on the user's session."""
        reads = self.definitions.checked_reads(statement, current)
        return self.definitions.analyzer(statement, reads, self._database(current), settings)

    def _recompile(self, statement: ddl.AlterViewRecompile) -> DataFrame:
        qualified = self._qualified_or_error(statement)
        view = self._find_view(statement.name)
        self._execute(qualified, self.definitions.recompiler(view) if view is not None else None)
        return self._no_columns

    def _change(self, statement: Any) -> DataFrame | None:
        if self._find_view(statement.name) is None:
            return None
        return self._result_frame(self._execute(self._qualified(statement)))

    def _change_partitions(self, statement: Any) -> DataFrame:
        return self._result_frame(self._execute(self._qualified_or_error(statement)))

    def _rename(self, statement: ddl.AlterViewRename) -> DataFrame | None:
        if self._find_view(statement.name) is None:
            return None
        parts = statement.new_name.parts
        if len(parts) == 3 and not self._names.is_on_metastore(parts[0]):
            reason = f"{statement.new_name} is in another catalog: a view cannot be moved to another metastore"
            raise error_at(statement.text, statement.new_name.start, reason, str(statement.new_name))
        renamed = replace(statement, new_name=ddl.ObjectName(parts[-2:], statement.new_name.start))
        self._execute(self._qualified(renamed))
        return self._no_columns

    def _drop(self, statement: ddl.Drop) -> DataFrame | None:
        view = self._find_view(statement.name)
        if statement.kind == "table":
            if view is not None:
                raise error_at(statement.text, statement.name.start, f"{view} is a view: use DROP VIEW", str(view))
            if statement.behavior is None:
                return None
        elif view is None:
            return None
        qualified = self._qualified(statement)
        return None if qualified is None else self._result_frame(self._execute(qualified))

    def _show_create(self, statement: ddl.ShowCreate) -> DataFrame | None:
        if self._find_view(statement.name) is None:
            return None
        result = self._execute(replace(self._qualified(statement), kind="view"))
        return self._text_frame(("createtab_stmt",), result.rows)

    def _describe(self, statement: ddl.Describe) -> DataFrame | None:
        name = self._find_view(statement.name)
        if name is None:
            return None
        view = self._catalog.load_view(name.identifier)
        fields = view.schema().fields
        rows = [(field.name, spark_type(field.field_type), field.doc or "") for field in fields]
        if statement.extended or statement.formatted:
            details = describe(view, detailed=True)[len(fields) :]
            rows += [(label, value or "", comment or "") for label, value, comment in details]
        return self._text_frame(_DESCRIBE_COLUMNS, rows)

    def _run_materialized(self, statement: Any) -> DataFrame:
        is_definition = isinstance(statement, (ddl.CreateMaterializedView, ddl.AlterViewAs))
        analyzer = self._analyzer(statement, self._names.current()) if is_definition else None
        qualified = self._qualified_or_error(statement) if hasattr(statement, "name") else statement
        return self._result_frame(self._execute(qualified, analyzer, engine=SparkEngine(self._spark, self._catalog)))

    # -- Results -------------------------------------------------------------------------------------------------------

    @cached_property
    def _no_columns(self) -> DataFrame:
        """The result of a statement that returns nothing: no rows and no columns."""
        return self._spark.sql("SELECT 1 WHERE false").select()

    def _text_frame(self, columns: Sequence[str], rows: Sequence[Sequence[str | None]]) -> DataFrame:
        schema = ", ".join(f"{quote_identifier(column)} STRING" for column in columns)
        frame: DataFrame = self._spark.createDataFrame([tuple(row) for row in rows], schema)
        return frame

    def _result_frame(self, result: Result) -> DataFrame:
        return self._text_frame(result.columns, result.rows) if result.columns else self._no_columns


_HANDLERS: dict[type[ddl.Statement], Callable[[StatementRunner, Any], DataFrame | None]] = {
    ddl.CreateView: StatementRunner._define,
    ddl.AlterViewAs: StatementRunner._define,
    ddl.AlterViewSetProperties: StatementRunner._change,
    ddl.AlterViewUnsetProperties: StatementRunner._change,
    ddl.AlterViewRename: StatementRunner._rename,
    ddl.AlterViewRecompile: StatementRunner._recompile,
    ddl.AlterViewAddPartitions: StatementRunner._change_partitions,
    ddl.AlterViewDropPartitions: StatementRunner._change_partitions,
    ddl.Drop: StatementRunner._drop,
    ddl.ShowCreate: StatementRunner._show_create,
    ddl.Describe: StatementRunner._describe,
}
