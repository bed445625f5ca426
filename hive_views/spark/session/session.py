"""`ViewSession`: a Spark session with the views of a `HiveViewCatalog`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hive_views.errors import HiveViewsError, SqlError, UsageError
from hive_views.spark.jvm import is_classic
from hive_views.spark.session.dispatch import first_word, handling_of
from hive_views.spark.session.guard import StatementGuard
from hive_views.spark.session.helper_session import HelperSession
from hive_views.spark.session.names import NameResolver
from hive_views.spark.session.plans import PlanReader
from hive_views.spark.session.query_rewriter import QueryRewriter
from hive_views.spark.session.replacement import PreparedStatement
from hive_views.spark.session.services import SessionServices
from hive_views.spark.session.settings import substitute_variables
from hive_views.spark.session.source_text import (
    RewrittenText,
    SourceText,
    convert_spark_errors,
    offset_of,
    spark_sql_error,
    statement_fragment,
    view_error_location,
)
from hive_views.spark.session.statements import StatementRunner
from hive_views.spark.sessions import errors_not_logged, spark_exceptions
from hive_views.spark.versions import check_session_version
from hive_views.sql.text.positions import line_and_column
from hive_views.sql.text.spark_lexer import spark_tokens

if TYPE_CHECKING:
    from types import TracebackType

    from pyiceberg.schema import Schema
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.streaming import DataStreamReader

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.metastore.queries import RowCache
    from hive_views.spark.analyzer import SparkAnalyzer
    from hive_views.spark.session.materialized_reads import Note

_READER_SETTERS = frozenset({"format", "option", "options", "schema"})
"""The methods of Spark's reader that return the reader."""
_HISTORY_LENGTH = 64
"""The number of recent statements in which `errors()` can locate an error."""


class ViewSession:
    """A Spark session with the views of a catalog.

    The catalog runs statements about these views. Queries on them are passed to Spark unchanged if Spark reads the
    views according to their definitions; otherwise the views are replaced by their definitions (decision 0013). All
    other statements are passed to Spark unchanged.

    Other attributes (`createDataFrame`, `conf`, `catalog`, `udf`, …) are those of the Spark session, so that a
    `ViewSession` can be used where one is expected; `view_catalog` is the catalog of the views. Spark's own catalog API
    and file readers bypass the `ViewSession`.

    Args:
        spark: A classic or Spark Connect session, with or without Iceberg's runtime. A Spark catalog with the name of
            `catalog` has to be on the same metastore.
        catalog: The catalog of the views.
        helper: A second session of the same Spark, for queries on views that Spark does not read correctly by itself.
            None opens one, which Spark Connect before 4.1 may not allow.

    Raises:
        InvalidPropertyError: If Spark's catalog of that name is on another metastore, or Spark reads another catalog of
            the metastore (docs/configuration.md).
        UnsupportedSparkError: If this release does not run on that version of Spark.
    """

    def __init__(self, spark: SparkSession, catalog: HiveViewCatalog, *, helper: SparkSession | None = None) -> None:
        check_session_version(spark)
        self.spark = spark
        self.view_catalog = catalog
        services = SessionServices(
            spark=spark,
            catalog=catalog,
            names=NameResolver(spark, catalog),
            helper=HelperSession(spark, helper),
            plans=PlanReader(spark),
        )
        self._plans = services.plans if services.names.has_iceberg_catalog else None
        self._helper = services.helper
        self._queries = QueryRewriter(services)
        self._guard = StatementGuard(services, self._queries)
        self._statements = StatementRunner(services, self._queries, self._guard)
        self._frames: list[str] = []
        """Temporary views of data frames, which `close` drops."""
        self._recent: deque[tuple[PreparedStatement, RewrittenText]] = deque(maxlen=_HISTORY_LENGTH)

    def __enter__(self) -> ViewSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Drop the temporary views that queries read. The Spark session and the catalog stay open.

        On Spark Connect, data frames that read these views cannot be evaluated afterwards.
        """
        while self._frames:
            self.spark.catalog.dropTempView(self._frames.pop())
        self._helper.close()

    def sql(self, text: str, args: dict[str, Any] | list[Any] | None = None, **values: Any) -> DataFrame:
        """Run one statement.

        Args:
            text: Spark SQL, with the statements about views that `hive_views.sql.parsing.statements` lists.
            args: Values of the parameters in a query, as `SparkSession.sql` takes them.
            values: Values and data frames for `{name}` in the text, as `SparkSession.sql` takes them.

        Returns:
            Spark's result, or for a statement about views of the catalog what Spark would return: SHOW and DESCRIBE
            have Spark's column names, changes have no columns. DROP … CASCADE returns what was dropped.

        Raises:
            SparkSqlError: If Spark rejects the statement; points into `text`, or into a view's definition.
            SqlError: If the statement is invalid or not supported; points into `text`.
            HiveViewsError: As raised by the `HiveViewCatalog` method that runs the statement.
        """
        if values:
            with self._formatted(text, values) as formatted_text:
                return self.sql(formatted_text, args)
        substituted = substitute_variables(self.spark, text)
        try:
            with errors_not_logged():
                return self._run(substituted, args)
        except HiveViewsError as error:
            if substituted.text != text and error.line is not None and getattr(error, "view", None) is None:
                _point_into_original(error, substituted)
            raise

    def analyzer(self, query: str, database: str) -> SparkAnalyzer:
        """Return an analyzer of a query for the catalog's methods, such as `create_view_from_sql`.

        It rejects a query whose typed and expanded texts Spark analyzes differently, as CREATE VIEW does here.

        Args:
            query: The query as typed, in Spark SQL.
            database: The database of its unqualified names.
        """
        analyzer = self._statements.definitions.query_analyzer(query, database)

        def analyze_quietly(expanded: str, rows: RowCache | None) -> Schema:
            with errors_not_logged():
                return analyzer.analyze(expanded, rows)

        return replace(analyzer, analyze=analyze_quietly)

    def table(self, name: str) -> DataFrame:
        """Return the rows of a table or view, as `SELECT * FROM` its name.

        Args:
            name: The name as in Spark SQL: `view`, `db.view` or `catalog.db.view`, with backticks where needed.

        Raises:
            SqlError: If `name` is not a name, or as raised by `sql`.
        """
        return self.sql(f"SELECT * FROM {_checked_name(name)}")

    def create_view(self, name: str, query: str, *, replace: bool = False) -> None:
        """Create a view, as CREATE [OR REPLACE] VIEW.

        Args:
            name: The name as in Spark SQL.
            query: The text of the definition. A DataFrame has no SQL text and cannot be stored as a view.
            replace: Whether to replace an existing view.

        Raises:
            SqlError: If the name or the query is invalid, or as raised by `sql`.
        """
        if not isinstance(query, str):
            raise UsageError("query", "a view is defined by a SQL text, which a DataFrame does not have: pass the text")
        self.sql(f"CREATE {'OR REPLACE ' if replace else ''}VIEW {_checked_name(name)} AS {query}")

    @property
    def read(self) -> _Reader:
        """Spark's reader, whose `table` reads views as `ViewSession.table` does."""
        return _Reader(self, self.spark.read)

    @property
    def readStream(self) -> _Reader:  # noqa: N802
        """Spark's reader of streams, whose `table` reads views as `ViewSession.table` does."""
        return _Reader(self, self.spark.readStream)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "spark":  # private, or not set yet
            raise AttributeError(name)
        return getattr(self.spark, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in dir(self.spark) if not name.startswith("_"))})

    @property
    def notes(self) -> tuple[Note, ...]:
        """How the last statement read each materialized view, and why: its stored rows or its definition."""
        return tuple(self._queries.notes)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Convert what Spark raises while it computes rows: `with session.errors(): frame.collect()`.

        Raises:
            SparkSqlError: For any of Spark's errors. It points into the statement, if that is one of the last 64, or
                into the definition of the view in which the error occurred.
        """
        try:
            yield
        except spark_exceptions() as error:
            raise spark_sql_error(error, self._source_of(error)) from error

    @contextmanager
    def _formatted(self, text: str, values: dict[str, Any]) -> Iterator[str]:
        """A text with the values inserted; within the context, data frames are available as temporary views."""
        if is_classic(self.spark):
            from pyspark.sql.sql_formatter import SQLStringFormatter

            formatter = SQLStringFormatter(self.spark)
            try:
                yield formatter.format(text, **values)
            finally:
                formatter.clear()
            return
        from pyspark.sql.connect.sql_formatter import SQLStringFormatter as ConnectFormatter

        connect_formatter = ConnectFormatter(self.spark)
        formatted_text = connect_formatter.format(text, **values)
        for frame, name in connect_formatter._temp_views:
            # Spark Connect analyzes a query when it is run.
            frame.createOrReplaceTempView(name)
            self._frames.append(name)
        yield formatted_text

    def _run(self, substituted: RewrittenText, args: dict[str, Any] | list[Any] | None) -> DataFrame:
        """Run a statement whose variables are substituted; errors point into that text."""
        text = substituted.text
        handling = handling_of(text)
        if handling.is_passed:
            return self._run_on_spark(PreparedStatement.unchanged(text), args)
        statement = RewrittenText.unchanged(text)
        if handling.changes_tables:
            self._guard.check_tables(text, args)
        table = self._plans.describes_table(text) if self._plans and handling.describes_tables else None
        if table is not None:
            return self._queries.run(table)
        if handling.is_about_views:
            frame = self._statements.run(text)
            if frame is not None:
                self._queries.forget_materialized_views()
            if frame is None and handling.lists_views:
                frame = self._statements.run_show_views(text)
            if frame is not None:
                return frame
        if handling.may_contain_statements:
            statement, args = self._guard.check(text, args)
        if not handling.is_rewritten:
            if handling.names_are_checked:
                self._queries.check_unparsed(text, f"{first_word(text)} is passed to Spark unchanged")
            return self._run_on_spark(PreparedStatement(statement, {}), args)
        prepared = self._queries.prepare(text, args)
        self._recent.append((prepared, substituted))
        if prepared.views and handling.keeps_views:
            self._helper.retain(set(prepared.views))
        return self._run_on_spark(prepared, args)

    def _run_on_spark(self, prepared: PreparedStatement, args: dict[str, Any] | list[Any] | None) -> DataFrame:
        if prepared.frame is not None:
            return prepared.frame
        text = prepared.rewritten.text
        with convert_spark_errors(prepared.source, self._queries.find_definition):
            if prepared.plan is not None:
                return self._queries.run(prepared.plan)
            frame: DataFrame = self.spark.sql(text) if args is None else self.spark.sql(text, args)
            return frame

    def _source_of(self, error: Exception) -> SourceText | None:
        """Return the recent statement, or the view's definition, in which an error occurred."""
        location = view_error_location(error)
        if location is not None:
            return self._queries.find_definition(location)
        fragment = statement_fragment(error)
        if fragment is None:
            return None
        start, fragment_text = fragment
        for prepared, substituted in reversed(self._recent):
            if prepared.rewritten.text[start : start + len(fragment_text)] == fragment_text:
                return _in_original(prepared.source, substituted)
        return None


class _Reader:
    """A reader that reads tables and views through a `ViewSession`, and everything else through Spark."""

    def __init__(self, session: ViewSession, reader: DataFrameReader | DataStreamReader) -> None:
        self._session = session
        self._reader = reader

    def table(self, name: str) -> DataFrame:
        """Return the rows of a view; Spark reads tables, with the reader's options."""
        prepared = self._session._queries.prepare(f"SELECT * FROM {_checked_name(name)}", is_rewritable=False)
        if prepared.views:
            return self._session.table(name)
        return self._reader.table(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._reader, name)
        if name not in _READER_SETTERS:
            return value

        def set_and_return(*args: Any, **options: Any) -> _Reader:
            value(*args, **options)
            return self

        return set_and_return


def _checked_name(name: str) -> str:
    """Return the name, if it consists of identifiers joined by dots."""
    tokens = list(spark_tokens(name))
    is_name = len(tokens) % 2 == 1 and all(
        token.text == "." if index % 2 else token.kind in ("word", "quoted") for index, token in enumerate(tokens)
    )
    if not is_name:
        raise SqlError(f"{name!r} is not the name of a table or view: write db.name, with backticks where needed")
    return name


def _in_original(source: SourceText, substituted: RewrittenText) -> SourceText:
    """Return the source for errors that point into what was typed, with its variables."""
    return SourceText(
        substituted.original, source.spark_text, lambda offset: substituted.offset(source.offset(offset) or 0)
    )


def _point_into_original(error: HiveViewsError, substituted: RewrittenText) -> None:
    """Change an error that points into a statement with values so that it points into what was typed."""
    assert error.line is not None
    assert error.column is not None
    position = f"line {error.line}:{error.column} "
    offset = substituted.offset(offset_of(substituted.text, error.line, error.column - 1))
    error.line, error.column = line_and_column(substituted.original, offset)
    error.args = (str(error).replace(position, f"line {error.line}:{error.column} ", 1),)
