"""Execution of SQL statements about views and databases by the catalog, without Spark or Hive.

A statement either runs completely or raises an error, with its position in the statement where that is known. Clauses
that are not supported are never ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hive_views.catalog.statements import views
from hive_views.catalog.statements.context import Result, StatementContext
from hive_views.catalog.statements.databases import execute_database_statement, parse_database_statement
from hive_views.errors import HiveViewsError, MetadataFileError, SqlError
from hive_views.identifiers import parse_namespace
from hive_views.sql.analysis.references import references
from hive_views.sql.parsing import statements as sql
from hive_views.sql.parsing.ddl import parse_statement
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.positions import line_and_column

if TYPE_CHECKING:
    from hive_views.catalog.view_catalog import ViewCatalog
    from hive_views.dependencies.view_query import Analyzer
    from hive_views.materialized.refresh.request import Engine


def execute(
    catalog: ViewCatalog,
    text: str,
    *,
    database: str = "default",
    dialect: str = "spark",
    analyzer: Analyzer | None = None,
) -> Result:
    """Parse and run one statement."""
    author = Dialect.of(dialect)
    about_database = parse_database_statement(text, author)
    if about_database is not None:
        return execute_database_statement(catalog, about_database, dialect)
    return execute_statement(catalog, parse_statement(text, author), database=database, analyzer=analyzer)


def execute_statement(
    catalog: ViewCatalog,
    statement: sql.Statement,
    *,
    database: str = "default",
    analyzer: Analyzer | None = None,
    summary: Mapping[str, str] | None = None,
    engine: Engine | None = None,
) -> Result:
    """Run a parsed statement."""
    current = parse_namespace(database, catalog=catalog.name)
    context = StatementContext(
        catalog=catalog, statement=statement, database=current, analyzer=analyzer, summary=summary or {}, engine=engine
    )
    try:
        return _dispatch(context)
    except HiveViewsError as error:
        if error.line is None:
            locate_error(statement, current, error)
        raise


def _dispatch(context: StatementContext) -> Result:
    kind = type(context.statement)
    if is_about_materialized(context.statement):
        from hive_views.catalog.statements import materialized_views  # imports all of hive_views.materialized

        if kind in materialized_views.HANDLERS:
            return materialized_views.HANDLERS[kind](context)
        materialized_views.require_view_layout(context)
    return views.HANDLERS[kind](context)


def is_about_materialized(statement: sql.Statement) -> bool:
    """Return whether a statement is about materialized views."""
    is_marked = getattr(statement, "materialized", False) or getattr(statement, "kind", None) == "materialized view"
    return is_marked or type(statement) not in views.HANDLERS


def locate_error(statement: sql.Statement, database: str, error: HiveViewsError) -> None:
    """Set the position of an error to the name in the statement that it is about, if there is one."""
    identifier, namespace = getattr(error, "identifier", None), getattr(error, "namespace", None)
    written = [getattr(statement, part, None) for part in ("name", "new_name")]
    names = [(name.parts, name.start) for name in written if isinstance(name, sql.ObjectName)]
    if isinstance(statement, sql.DefiningStatement):
        try:
            tables = references(statement.parsed_query).tables
        except SqlError:  # the parser reports this error itself
            tables = ()
        names += [(table.parts, statement.query.start + table.start) for table in tables]
    for parts, start in names:
        name_database = (parts[-2] if len(parts) > 1 else database).lower()
        is_only_name = isinstance(error, MetadataFileError) and len(names) == 1
        if is_only_name or namespace == name_database or identifier == f"{name_database}.{parts[-1].lower()}":
            error.point_at(*line_and_column(statement.text, start))
            return
