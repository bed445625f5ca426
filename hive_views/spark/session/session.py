"""`ViewSession`: Spark SQL that speaks of views kept by a `HiveViewCatalog`, on any Spark."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from hive_views.errors import HiveViewsError, SqlError
from hive_views.spark.session import materialized_statements
from hive_views.spark.session import results as answers
from hive_views.spark.session.defining import Definer
from hive_views.spark.session.failures import Source, failure, failures, fragment_of, in_view, pointing_into
from hive_views.spark.session.guard import Guard
from hive_views.spark.session.names import Names, Target
from hive_views.spark.session.reading import Prepared, Reader
from hive_views.spark.session.rewrite import Rewritten, offset_of
from hive_views.spark.session.temporary_views import HelperSession
from hive_views.spark.session.variables import with_values
from hive_views.sql.parsing import statements as ddl
from hive_views.sql.parsing.ddl import Cursor, parse_statement
from hive_views.sql.parsing.lexer import error_at, line_and_column
from hive_views.sql.parsing.spark_lexer import spark_tokens
from hive_views.sql.parsing.statement_targets import find_targets
from hive_views.statements import execute_statement, locate_error

if TYPE_CHECKING:
    from types import TracebackType

    from pyspark.sql import DataFrame, SparkSession

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.dependencies.view_builder import Analyzer
    from hive_views.identifiers import ViewName
    from hive_views.spark.session.stored_rows import Note

_DDL = frozenset({"CREATE", "ALTER", "DROP", "SHOW", "DESCRIBE", "DESC", "REFRESH"})
_QUERIES = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "INSERT", "MERGE", "CACHE", "UPDATE", "DELETE", "("})
"""What statements begin with that have no others in them."""
_READING = _QUERIES | {"CREATE", "REPLACE", "EXPLAIN", ""}
_REMEMBERED = 64
"""Statements that are kept for `errors()`."""


class ViewSession:
    """A Spark session that knows the views of a catalog.

    Statements about these views are done by the catalog. A query that reads them is handed to Spark as it is wherever
    Spark reads them as they are meant, and otherwise with their definitions put in place (decision 0013). All else is
    Spark's, to the letter.

    Args:
        spark: Classic or Spark Connect, with Iceberg's runtime or without it. A catalog of Spark that has the name of
            `catalog` must be on the same metastore.
        catalog: Where the views are.
        helper: A second session of the same Spark, for queries whose views Spark does not read by itself; None opens
            one where that is possible (not on Spark Connect before 4.1).

    Raises:
        InvalidPropertyError: If Spark's catalog of that name is on another metastore.
    """

    def __init__(self, spark: SparkSession, catalog: HiveViewCatalog, *, helper: SparkSession | None = None) -> None:
        self.spark = spark
        self.catalog = catalog
        self._names = Names(spark, catalog)
        self._helper = HelperSession(spark, helper)
        self._reader = Reader(spark, catalog, self._names, self._helper)
        self._guard = Guard(spark, catalog, self._names, self._reader)
        self._definer = Definer(catalog, self._names, self._reader, self._helper)
        self._prepared: deque[tuple[Prepared, Rewritten]] = deque(maxlen=_REMEMBERED)

    def __enter__(self) -> ViewSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Drop what was made for queries in Spark. On Spark Connect, data frames that need it cannot be run after it.

        The Spark session and the catalog stay open.
        """
        self._helper.close()

    def sql(self, text: str, args: dict[str, Any] | list[Any] | None = None) -> DataFrame:
        """Run one statement.

        Args:
            text: Spark SQL, with the statements about views that `hive_views.sql.parsing.statements` lists.
            args: Values of the parameters in a query, as `SparkSession.sql` takes them.

        Returns:
            What Spark answers, or what it would answer if the statement were its own: SHOW and DESCRIBE have Spark's
            column names, a change has none. DROP … CASCADE answers what was dropped.

        Raises:
            SparkSqlError: If Spark refuses it; it points into `text`, or into a view's definition.
            SqlError: If it cannot be read, or asks for what cannot be done; it points into `text`.
            HiveViewsError: As the method of `HiveViewCatalog` does that the statement stands for.
        """
        typed = with_values(self.spark, text)
        try:
            return self._sql(typed, args)
        except HiveViewsError as error:
            if typed.text != text and error.line is not None and getattr(error, "view", None) is None:
                _move(error, typed)
            raise

    @property
    def notes(self) -> tuple[Note, ...]:
        """What the last statement read in place of each materialized view, and why: stored rows or the definition."""
        return tuple(self._reader.stored.notes)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn what Spark raises while rows are computed into our error: `with session.errors(): frame.collect()`.

        Raises:
            SparkSqlError: For any failure of Spark. It points into the statement, where that is one of the last ones,
                or into the definition of a view that reads what failed.
        """
        try:
            yield
        except failures() as error:
            raise failure(error, self._source_of(error)) from error

    # -- Parts --------------------------------------------------------------------------------------------------------

    def _sql(self, typed: Rewritten, args: dict[str, Any] | list[Any] | None) -> DataFrame:
        """Run a statement whose variables have their values; errors point into that text."""
        text = typed.text
        first, second = [*(word.keyword or word.text for word in islice(spark_tokens(text), 2)), "", ""][:2]
        if first == "UNCACHE" or (first == "SET" and second not in ("VAR", "VARIABLE")):
            return self._spark(Prepared.untouched(text), args)  # names and settings, and no statement in them
        if first in _DDL:
            statement = self._statement(text)
            if statement is not None and (frame := self._handled(statement)) is not None:
                return frame
            if first == "SHOW" and (frame := self._show_views(text)) is not None:
                return frame
        given = Rewritten(text, text)
        if first not in _DDL and first not in _QUERIES:
            given, args = self._guard.check(text, args)
        if first not in _READING:
            if first not in _DDL:
                self._reader.check_unread(text, f"{first} is handed to Spark as it is")
            return self._spark(Prepared(given, {}), args)
        prepared = self._reader.prepare(text)
        self._prepared.append((prepared, typed))
        if prepared.views and first in ("CREATE", "CACHE"):
            self._helper.keep(set(prepared.views))
        return self._spark(prepared, args)

    def _source_of(self, error: Exception) -> Any:
        inside = in_view(error)
        if inside is not None:
            return self._reader.definition(inside)
        fragment = fragment_of(error)
        if fragment is None:
            return None
        start, shown = fragment
        for prepared, typed in reversed(self._prepared):
            if prepared.rewritten.text[start : start + len(shown)] == shown:
                return _typed(prepared.source, typed)
        return None

    def _spark(self, prepared: Prepared, args: dict[str, Any] | list[Any] | None) -> DataFrame:
        with pointing_into(prepared.source, self._reader.definition):
            text = prepared.rewritten.text
            frame: DataFrame = self.spark.sql(text) if args is None else self.spark.sql(text, args)
            return frame

    def _handled(self, statement: ddl.Statement) -> DataFrame | None:
        """The answer to a statement about our views; None for one that is Spark's."""
        handler = _HANDLERS.get(type(statement))
        if materialized_statements.is_about_materialized(statement):
            handler = ViewSession._materialized
        if handler is None:
            return None
        try:
            return handler(self, statement)
        except HiveViewsError as error:
            # In the middle of its work it names objects, and not where the user did.
            if error.line is None and getattr(error, "view", None) is None:
                locate_error(statement, ".".join(self._names.current().namespace), error)
            raise

    def _statement(self, text: str) -> ddl.Statement | None:
        """The statement as ours; None for one that is Spark's alone."""
        head = find_targets(text, head=True)
        change = head.changes[0] if head.changes else None
        if change is not None and change.parts is None and "IDENTIFIER" in text[change.start :].upper():
            # To the reader of statements it is a name, and brackets behind it.
            raise error_at(text, change.start, "IDENTIFIER(…) may be one of our views: write its name")
        try:
            return parse_statement(text, "spark")
        except SqlError:
            if head.is_catalog_only or (change is not None and (change.parts is None or self._guard.own(change.parts))):
                raise
            return None

    def _target(self, name: ddl.ObjectName) -> Target | None:
        return self._names.resolve(name.parts, self._names.current())

    def _own(self, name: ddl.ObjectName) -> ViewName | None:
        return self._guard.own(name.parts)

    def _run(self, statement: Any, analyzer: Analyzer | None = None, *, defines: bool = False) -> Any:
        current = self._names.current()
        ours = self._names.is_ours(current.catalog) and len(current.namespace) == 1
        database = current.namespace[0] if ours else "default"
        return execute_statement(
            self.catalog,
            statement,
            database=database,
            analyzer=analyzer,
            summary=self._definer.settings() if defines else None,
        )

    def _named(self, statement: Any) -> Any:
        """The statement with its name complete; None where the name leads to another catalog."""
        target = self._target(statement.name)
        if target is None:
            return None
        return replace(statement, name=ddl.ObjectName(target.name.identifier, statement.name.start))

    # -- Statements: each answers, or leaves the statement to Spark by None ------------------------------------------

    def _define(self, statement: ddl.CreateView | ddl.AlterViewAs) -> DataFrame | None:
        if isinstance(statement, ddl.CreateView) and statement.temporary:
            return None
        named = self._named(statement)
        if named is None or (isinstance(statement, ddl.AlterViewAs) and not self._own(statement.name)):
            return None
        current = self._names.current()
        self._definer.check(statement, current)
        database = current.namespace[0] if len(current.namespace) == 1 else "default"
        self._run(named, self._definer.analyzer(statement, database), defines=True)
        return answers.nothing(self.spark)

    def _recompile(self, statement: ddl.AlterViewRecompile) -> DataFrame | None:
        named = self._named(statement)
        if named is None:
            raise self._elsewhere(statement)
        own = self._own(statement.name)
        self._run(named, self._definer.recompiler(own) if own is not None else None)
        return answers.nothing(self.spark)

    def _change(self, statement: Any) -> DataFrame | None:
        if self._own(statement.name) is None:
            return None
        return answers.answer(self.spark, self._run(self._named(statement)))

    def _partitions(self, statement: Any) -> DataFrame | None:
        named = self._named(statement)
        if named is None:
            raise self._elsewhere(statement)
        return answers.answer(self.spark, self._run(named))

    def _rename(self, statement: ddl.AlterViewRename) -> DataFrame | None:
        own = self._own(statement.name)
        if own is None:
            return None
        parts = statement.new_name.parts
        if len(parts) == 3 and not self._names.is_ours(parts[0]):
            line, column = line_and_column(statement.text, statement.new_name.start)
            reason = f"{statement.new_name} is in another catalog: a view stays in its metastore"
            raise SqlError(reason, line=line, column=column, name=str(statement.new_name))
        named = replace(statement, new_name=ddl.ObjectName(parts[-2:], statement.new_name.start))
        self._run(self._named(named))
        return answers.nothing(self.spark)

    def _drop(self, statement: ddl.Drop) -> DataFrame | None:
        own = self._own(statement.name)
        if statement.kind == "table":
            if own is not None:
                raise error_at(statement.text, statement.name.start, f"{own} is a view: DROP VIEW drops it", str(own))
            if statement.behavior is None:
                return None
            named = self._named(statement)
            return None if named is None else answers.answer(self.spark, self._run(named))
        return None if own is None else answers.answer(self.spark, self._run(self._named(statement)))

    def _show_views(self, text: str) -> DataFrame | None:
        """SHOW VIEWS IN our catalog where Spark has none of that name; Spark lists the views of its own catalogs."""
        try:
            cursor = Cursor(text, "spark")
            if not (cursor.accept("VIEWS") and (cursor.accept("IN") or cursor.accept("FROM"))):
                return None
            parts = cursor.name().parts
            if len(parts) != 2 or parts[0] != self.catalog.name or self._names.iceberg:
                return None
            pattern = None if cursor.done else (cursor.accept("LIKE") or True) and cursor.string()
            cursor.finish()
        except SqlError:
            return None
        shown = self._run(ddl.ShowViews(text, "spark", database=parts[1], pattern=pattern))
        temporary = [("", name, True) for name in self._names.temporary_views()] if pattern is None else []
        return answers.views(self.spark, [(database, name, False) for database, name in shown.rows] + temporary)

    def _show_create(self, statement: ddl.ShowCreate) -> DataFrame | None:
        if self._own(statement.name) is None:
            return None
        result = self._run(replace(self._named(statement), kind="view"))
        return answers.rows(self.spark, answers.SHOW_CREATE, result.rows)

    def _describe(self, statement: ddl.Describe) -> DataFrame | None:
        own = self._own(statement.name)
        if own is None:
            return None
        view = self.catalog.load_view(own.identifier)
        return answers.description(self.spark, view, detailed=statement.extended or statement.formatted)

    def _materialized(self, statement: Any) -> DataFrame:
        current = self._names.current()
        database = current.namespace[0] if self._names.is_ours(current.catalog) else "default"
        analyzer: Analyzer | None = None
        if isinstance(statement, (ddl.CreateMaterializedView, ddl.AlterViewAs)):
            self._definer.check(statement, current)
            analyzer = self._definer.analyzer(statement, database)
        named = self._named(statement) if hasattr(statement, "name") else statement
        if named is None:
            raise self._elsewhere(statement)
        result = materialized_statements.run(self.spark, self.catalog, named, database, analyzer)
        return answers.answer(self.spark, result)

    def _elsewhere(self, statement: Any) -> HiveViewsError:
        line, column = line_and_column(statement.text, statement.name.start)
        reason = f"{statement.name} is not on the metastore of the catalog {self.catalog.name}"
        return SqlError(reason, line=line, column=column, name=str(statement.name))


def _typed(source: Source, typed: Rewritten) -> Source:
    """For errors that are to point into what was typed, with variables."""
    return Source(typed.original, source.given, lambda at: typed.offset(source.offset(at) or 0))


def _move(error: HiveViewsError, typed: Rewritten) -> None:
    """Let an error that points into a statement with values point into what was typed, with variables."""
    assert error.line is not None
    assert error.column is not None
    shown = f"line {error.line}:{error.column} "
    at = typed.offset(offset_of(typed.text, error.line, error.column - 1))
    error.line, error.column = line_and_column(typed.original, at)
    error.args = (str(error).replace(shown, f"line {error.line}:{error.column} ", 1),)


_HANDLERS: dict[type[ddl.Statement] | None, Callable[[ViewSession, Any], DataFrame | None]] = {
    ddl.CreateView: ViewSession._define,
    ddl.AlterViewAs: ViewSession._define,
    ddl.AlterViewSetProperties: ViewSession._change,
    ddl.AlterViewUnsetProperties: ViewSession._change,
    ddl.AlterViewRename: ViewSession._rename,
    ddl.AlterViewRecompile: ViewSession._recompile,
    ddl.AlterViewAddPartitions: ViewSession._partitions,
    ddl.AlterViewDropPartitions: ViewSession._partitions,
    ddl.Drop: ViewSession._drop,
    ddl.ShowCreate: ViewSession._show_create,
    ddl.Describe: ViewSession._describe,
}
