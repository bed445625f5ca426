"""From an author's SQL text to what `create_view` and `replace_version` take: columns, and a version with all texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.types import NestedField

from hive_views.errors import NoSuchViewError, SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore.identities import identify_dependencies
from hive_views.metastore.queries import load_view
from hive_views.metastore.row_codec import Row, RowKind
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.table_schemas import EngineSchemas, MetastoreSchemas
from hive_views.spec.lineage_codec import LINEAGE, ObjectKind, encode, lineage_of_version
from hive_views.spec.metadata import ViewVersion
from hive_views.spec.version_texts import define
from hive_views.sql.analysis.references import references
from hive_views.sql.parsing.builtin_functions import SPARK_FUNCTIONS
from hive_views.sql.parsing.lexer import line_and_column
from hive_views.sql.parsing.statements import AlterViewAs, ColumnSpec, CreateView, ObjectName, Query
from hive_views.sql.rewriting.definition import define_view
from hive_views.sql.rewriting.dialects import hive_text
from hive_views.sql.rewriting.expand import Expansion, typed_columns, unknown_type_error
from hive_views.sql.types.iceberg_types import parse_type

Analyzer = Callable[[str], Schema]
"""Gives the columns that a query returns, e.g. `lambda query: schema_of(spark, query)` of `hive_views.spark.analyzer`.
The query that it is given is valid under any current database."""


@dataclass(frozen=True)
class ViewDefinition:
    """What an author's text becomes."""

    schema: Schema
    """The view's columns."""
    version: ViewVersion
    """The typed, the stored and the expanded text, and what unqualified names mean."""
    tables: tuple[ViewName, ...]
    """The tables and views that the text names."""


def build_definition(
    store: MetastoreStore,
    name: ViewName,
    sql: str,
    *,
    database: str,
    dialect: str,
    analyzer: Analyzer | None = None,
    column_names: Sequence[str] | None = None,
    column_comments: Sequence[str | None] | None = None,
    mark: bool = True,
) -> ViewDefinition:
    """Resolve and expand a query, and find its column types.

    Args:
        store: Metastore and properties.
        name: The view that the query is for.
        sql: The query as the author typed it.
        database: The author's current database.
        dialect: The author's dialect: `spark`, `hive` or `trino`.
        analyzer: Where column types come from; None takes them from Hive's rules and the tables' columns.
        column_names: Names in front of AS, where the author gave them.
        column_comments: Their comments, None for a column without one; only with names.
        mark: Whether Hive's own tables that the text names get a UUID into their rows, so that the view's lineage
            survives their renames (see `hive_views.metastore.identities`).

    Returns:
        Columns and version; the version's summary holds the lineage.

    Raises:
        SqlError: If the text cannot be read, names something that is not there, mixes tables that no one catalog of
            Spark serves, or the column list does not fit; UnknownTypeError if a column's type cannot be told.
    """
    listed = None
    if column_names is not None:
        comments = column_comments if column_comments is not None else [None] * len(column_names)
        listed = tuple(ColumnSpec(*pair) for pair in zip(column_names, comments, strict=True))
    query = Query(sql)
    statement = CreateView(text=sql, dialect=dialect, name=ObjectName(name.identifier), query=query, columns=listed)
    made = build_definition_of_statement(store, name, statement, database=database, analyzer=analyzer, mark=mark)
    if column_names is None and column_comments is not None:
        fields = zip(made.schema.fields, column_comments, strict=True)
        return replace(made, schema=Schema(*(_commented(field, comment) for field, comment in fields)))
    return made


def build_definition_of_statement(
    store: MetastoreStore,
    name: ViewName,
    statement: CreateView | AlterViewAs,
    *,
    database: str,
    analyzer: Analyzer | None = None,
    mark: bool = True,
    summary: Mapping[str, str] | None = None,
) -> ViewDefinition:
    """The same for a whole statement, into which errors then point.

    Args:
        store: Metastore and properties.
        name: The view that it defines.
        statement: CREATE VIEW or ALTER VIEW AS.
        database: The author's current database.
        analyzer: See `author`.
        mark: See `author`.
        summary: More entries for the version's summary, e.g. the settings of the session that the statement is of.

    Returns:
        Columns and version; the version's summary holds the lineage.

    Raises:
        SqlError: As `author` does.
    """
    engine = EngineSchemas(store, statement.dialect)
    schemas = engine if analyzer is None else MetastoreSchemas(store)
    functions = _functions_of_databases(statement)
    found = define_view(statement, schemas, database=database, functions=functions)
    expansion = found.expansion
    tables = tuple(ViewName(*table) for table in found.tables)
    rows = {table: row for table in tables if (row := store.get_row(table)) is not None}
    schema = _schema_by_rules(expansion, engine) if analyzer is None else analyzer(found.expanded)
    listed = statement.columns if isinstance(statement, CreateView) else None
    if listed is not None:
        schema = Schema(*(_commented(field, spec.comment) for field, spec in zip(schema.fields, listed, strict=True)))
    partitioned_on = _partitioned_on(store, name, statement, expansion)
    # Last, because Hive's own tables are marked here: nothing is written for a text that is refused.
    default_catalog = _default_catalog(store, rows)
    lineage = identify_dependencies(store, rows, mark=mark)
    version = define(
        statement.query.sql,
        dialect=statement.dialect,
        default_namespace=(database,),
        default_catalog=default_catalog,
        stored=found.stored,
        expanded=hive_text(statement.dialect, expansion, schemas, database=database, functions=functions),
        field_aliases=None if listed is None else [spec.name for spec in listed],
        field_comments=None if listed is None else [spec.comment for spec in listed],
        partitioned_on=partitioned_on,
        summary={**(summary or {}), **({} if lineage is None else {LINEAGE: encode(lineage)})},
    )
    return ViewDefinition(schema, version, tables)


def _partitioned_on(
    store: MetastoreStore, name: ViewName, statement: CreateView | AlterViewAs, expansion: Expansion
) -> tuple[str, ...] | None:
    """The columns of PARTITIONED ON; a definition that cannot name any, as ALTER VIEW AS, keeps those of the view."""
    if isinstance(statement, CreateView) and statement.partitioned_on:
        return statement.partitioned_on
    row = store.get_row(name)
    keys = tuple(key for key, _ in row.partition_keys) if row is not None and row.kind.is_view else ()
    if not keys:
        return None
    if isinstance(statement, CreateView) and statement.or_replace:
        return ()  # a replace without the clause takes them away, as Hive's does
    last = tuple(column.lower() for column in expansion.names[-len(keys) :])
    if last == keys and len(expansion.names) > len(keys):
        return keys
    line, column = line_and_column(statement.text, statement.query.start)
    raise SqlError(
        f"{name} is PARTITIONED ON ({', '.join(keys)}), which must be the last columns of its query, behind at least "
        f"one other; this one ends with {', '.join(last)}. CREATE OR REPLACE VIEW can name others",
        line=line,
        column=column,
        name=str(name),
    )


def _functions_of_databases(statement: CreateView | AlterViewAs) -> dict[str, str]:
    """The functions that the text names with their database; any other that is not built in is refused.

    It is a temporary function, which a view cannot outlive, or one of the author's current database, which readers do
    not have. Trino has no temporary functions, and its own are not listed here.
    """
    query, dialect = statement.query, statement.dialect
    found: dict[str, str] = {}
    for function in references(statement.parsed_query).functions:
        if not function.registered:
            continue
        if query.sql[: function.start].rstrip(" `").endswith("."):
            found[function.name.lower()] = "udf"
        elif dialect == "hive" or (dialect == "spark" and function.name.lower() not in SPARK_FUNCTIONS):
            line, column = line_and_column(statement.text, query.start + function.start)
            raise SqlError(
                f"{function.name} is no function that {dialect.capitalize()} has built in. A view cannot call a "
                "temporary function; name a permanent one with its database",
                line=line,
                column=column,
                name=function.name,
            )
    return found


def _schema_by_rules(expansion: Expansion, schemas: EngineSchemas) -> Schema:
    """The columns by Hive's rules. Spark's TIMESTAMP has a time zone, and readers compare the declared types."""
    fields = []
    for number, column in enumerate(typed_columns(expansion)):
        try:
            kind = parse_type(schemas.text_of(column.type or ""))
        except SqlError:
            reason = f"Column {column.name} is of type {column.type}, which Iceberg does not have"
            raise unknown_type_error(expansion, number, reason) from None
        fields.append(NestedField(number + 1, column.name, kind, required=False))
    return assign_fresh_schema_ids(Schema(*fields))


def _default_catalog(store: MetastoreStore, rows: Mapping[ViewName, Row]) -> str | None:
    """What unqualified names mean to Spark's Iceberg catalog: itself, or the session catalog for Hive's own tables."""
    session = [name for name, row in rows.items() if row.kind in (RowKind.HIVE_TABLE, RowKind.HIVE_VIEW)]
    if not session:
        return None
    iceberg = [
        name
        for name, row in rows.items()
        if row.kind is RowKind.ICEBERG_TABLE or (row.kind is RowKind.ICEBERG_VIEW and _needs_iceberg(store, name))
    ]
    if iceberg and not store.config.session_catalog_serves_iceberg:
        raise SqlError(
            f"{iceberg[0]} is Iceberg's and {session[0]} is Hive's own: no one catalog of Spark reads both, unless the "
            "session catalog is Iceberg's SparkSessionCatalog (hive-views.session-catalog-serves-iceberg=true)",
            name=str(session[0]),
        )
    return store.config.session_catalog


def _needs_iceberg(store: MetastoreStore, name: ViewName) -> bool:
    """Whether a view of ours reads Iceberg's tables, itself or through views: the session catalog cannot follow it."""
    try:
        version = load_view(store, name).metadata.current_version()
    except NoSuchViewError:
        return True
    if version.default_catalog is not None:
        return False
    below = lineage_of_version(version)
    if below is None:
        return True
    return any(
        child.kind is ObjectKind.TABLE or (child.kind is ObjectKind.VIEW and _needs_iceberg(store, child.name))
        for child in below
    )


def _commented(field: NestedField, comment: str | None) -> NestedField:
    if comment is None:
        return field
    return NestedField(field.field_id, field.name, field.field_type, required=field.required, doc=comment)
