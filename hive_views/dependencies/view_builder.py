"""Builds view definitions from SQL text: the columns and the version that `create_view` and `replace_version` take."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType

from hive_views.config import ANSI_MODE, PLAIN_ROW_TEXT, RowTextForms
from hive_views.dependencies.registered_functions import RegisteredFunctions, missing_function
from hive_views.dependencies.view_query import Analyzer, RowAnalyzer, SparkKnowledge, ViewQuery
from hive_views.errors import NoSuchViewError, SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore.identities import identify_dependencies
from hive_views.metastore.queries import RowCache, load_view
from hive_views.metastore.rows.row import Row, RowKind
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.table_schemas import EngineSchemas, MetastoreSchemas
from hive_views.spec.lineage_codec import LINEAGE, ObjectKind, encode, lineage_of_version
from hive_views.spec.metadata import ViewVersion
from hive_views.spec.session_settings import ANSI, ansi_mode, typed_mode
from hive_views.spec.version_texts import ROW_TEXT_RULES, define, partition_summary, with_column_list
from hive_views.sql.analysis.references import FunctionReference, References, references
from hive_views.sql.analysis.row_text import row_text
from hive_views.sql.engines.builtin_functions import SPARK_FUNCTIONS
from hive_views.sql.engines.tables import added_functions
from hive_views.sql.parsing.statements import AlterViewAs, ColumnSpec, CreateView, ObjectName, Query
from hive_views.sql.resolver.context import UnknownNameError
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.positions import line_and_column
from hive_views.sql.types.hive_types import parse_type
from hive_views.sql.writing.declared_types import declared_columns
from hive_views.sql.writing.definition import ExpandedDefinition, define_view, escape_variables
from hive_views.sql.writing.expand import AuthorContext, Expansion, OutputColumn, expand, unknown_type_error


def analyzed_schemas(
    store: MetastoreStore, analyzer: Analyzer | None, rows: RowCache | None = None
) -> MetastoreSchemas:
    """Return the schemas of the metastore, and of the files that an analyzer knows."""
    return MetastoreSchemas(
        store, rows, file_columns=analyzer.file_columns if isinstance(analyzer, SparkKnowledge) else None
    )


@dataclass(frozen=True)
class ViewDefinition:
    """The definition of a view, built from its text."""

    schema: Schema
    """The view's columns."""
    version: ViewVersion
    """The typed, the stored and the expanded text, and the namespace of unqualified names."""
    tables: tuple[ViewName, ...]
    """The tables and views in the text."""


@dataclass(frozen=True, kw_only=True)
class Building:
    """How a definition is built, whatever its query is."""

    mark: bool = True
    """Whether to write UUIDs into the rows of plain Hive tables, so that the view's lineage survives their renames
    (see `hive_views.metastore.identities`)."""
    catalog_name: str | None = None
    """The name of this catalog in texts; if None, the catalogs of names are not checked."""
    forms: RowTextForms = PLAIN_ROW_TEXT
    """How the row's text may be rewritten."""
    is_new: bool = False
    """Whether the definition is for a new view, so that there are no PARTITIONED ON columns to keep."""


def build_definition(
    store: MetastoreStore, name: ViewName, query: ViewQuery, building: Building | None = None
) -> ViewDefinition:
    """Resolve and expand a query and determine its column types.

    Args:
        store: Metastore and properties.
        name: The view's name.
        query: The query, and what its author says about the columns.
        building: Options.

    Raises:
        SqlError: If the text cannot be parsed or resolved, or names another catalog, the column list or types do not
            match, or no Spark catalog serves all tables. UnknownTypeError if a column's type cannot be determined.
    """
    columns = query.columns or ()
    specs = None if query.names is None else tuple(ColumnSpec(item.name or "", item.comment) for item in columns)
    statement = CreateView(
        text=query.sql,
        dialect=query.dialect,
        name=ObjectName(name.identifier),
        query=Query(query.sql),
        columns=specs,
    )
    definition = build_definition_of_statement(
        store,
        name,
        statement,
        database=query.database,
        analyzer=query.analyzer,
        summary=query.summary,
        building=building or Building(),
    )
    if query.columns is None:
        return definition
    _check_types(definition, [item.type for item in columns])
    if specs is not None:
        return definition
    fields = zip(definition.schema.fields, columns, strict=True)
    schema = Schema(*(with_comment(field, item.comment) if item.comment else field for field, item in fields))
    return replace(definition, schema=schema)


def without_given_names(store: MetastoreStore, query: ViewQuery) -> ViewQuery:
    """Return a query without the names of a column list that it gives anyway: a list wraps it in another query."""
    if query.names is None or query.columns is None:
        return query
    statement = CreateView(text=query.sql, dialect=query.dialect, name=ObjectName(("", "")), query=Query(query.sql))
    try:
        called = references(statement.parsed_query).functions
        functions = _user_functions(store, statement, called, added_functions())
        expansion = expand(
            statement.parsed_query,
            MetastoreSchemas(store),
            database=query.database,
            author=AuthorContext(functions=functions),
        )
    except SqlError:
        return query  # `build_definition` reports it
    if tuple(expansion.names) != tuple(name.lower() for name in query.names):
        return query
    return replace(query, columns=tuple(replace(column, name=None) for column in query.columns))


def build_definition_of_statement(
    store: MetastoreStore,
    name: ViewName,
    statement: CreateView | AlterViewAs,
    *,
    database: str,
    analyzer: Analyzer | None,
    summary: Mapping[str, str],
    building: Building,
) -> ViewDefinition:
    """Build the definition of a CREATE VIEW or ALTER VIEW AS statement; errors contain positions in the statement.

    See `build_definition` and `ViewQuery`.
    """
    named = references(statement.parsed_query)
    if building.catalog_name is not None:
        _reject_other_catalogs(store, statement, named, building.catalog_name)
    # Columns and lineage are taken from the same rows, even if a source is replaced meanwhile.
    source_rows = RowCache(store)
    engine = EngineSchemas(store, statement.dialect, source_rows)
    schemas = engine if analyzer is None else analyzed_schemas(store, analyzer, source_rows)
    functions = _user_functions(store, statement, named.functions, _added_functions(analyzer))
    typed = _define(
        statement,
        schemas,
        database=database,
        functions=functions,
        modes=_modes(store, statement.dialect, analyzer, summary),
    )
    query_definition, expansion = typed.definition, typed.definition.expansion
    tables = tuple(ViewName(*table) for table in query_definition.tables)
    rows = {table: row for table in tables if (row := source_rows.get(table)) is not None}
    if analyzer is None:
        schema = _schema_by_rules(expansion, typed.columns, engine)
    elif isinstance(analyzer, RowAnalyzer):
        schema = analyzer.analyze_with(query_definition.expanded, source_rows.shared())
    else:
        schema = analyzer(query_definition.expanded)
    columns = statement.columns if isinstance(statement, CreateView) else None
    if columns is not None:
        pairs = zip(schema.fields, columns, strict=True)
        schema = Schema(*(with_comment(field, spec.comment) for field, spec in pairs))
    partitioned_on = _partitioned_on(store, name, statement, expansion, is_new=building.is_new)
    default_catalog = _default_catalog(store, rows)
    summary = {key: value for key, value in summary.items() if key != ANSI_MODE}
    if typed.mode is not None and ansi_mode(summary) is None:
        summary[ANSI_MODE] = typed.mode
    rewritten = row_text(
        statement.dialect, expansion, schemas, database=database, functions=functions, forms=building.forms
    )
    if rewritten is not None and rewritten.rules:
        summary[ROW_TEXT_RULES] = ",".join(rewritten.rules)
    # Done last, because it writes UUIDs into the rows of Hive tables: nothing is written for a rejected text.
    # If a text does not name all of its sources, its lineage is unknown.
    is_known = not (named.opaque or named.files)
    lineage = identify_dependencies(store, rows, mark=building.mark) if is_known else None
    version = define(
        statement.query.sql,
        dialect=statement.dialect.value,
        default_namespace=(database,),
        default_catalog=default_catalog,
        # Iceberg's Spark catalog substitutes variables in a view's text.
        stored=escape_variables(query_definition.stored, statement.dialect),
        expanded=None if rewritten is None else rewritten.sql,
        summary={
            **summary,
            **({} if lineage is None else {LINEAGE: encode(lineage)}),
            **({} if partitioned_on is None else partition_summary(partitioned_on)),
        },
    )
    if columns is not None:
        version = with_column_list(version, [spec.name for spec in columns], [spec.comment for spec in columns])
    return ViewDefinition(schema, version, tables)


@dataclass(frozen=True, kw_only=True)
class _TypedDefinition:
    """The texts of a definition, and what was found without Spark."""

    definition: ExpandedDefinition
    columns: tuple[OutputColumn, ...] = ()
    """The columns with their declared types; empty if an engine determines them."""
    mode: str | None = None
    """The ANSI mode of Spark in which the view has these types; None if that does not depend on it, or is not known."""


def _define(
    statement: CreateView | AlterViewAs,
    schemas: MetastoreSchemas,
    *,
    database: str,
    functions: Mapping[str, str],
    modes: Sequence[str] | None,
) -> _TypedDefinition:
    """Expand a definition and determine the types of its columns by the rules of the dialect.

    Types and calls depend on Spark's ANSI mode: the first of `modes` that makes the text readable is taken. If none
    does, each expression has the types of the mode that accepts it. The mode is recorded if the other mode refuses the
    text or gives its columns other types; otherwise it is the reader's. With None, an engine determines the types.
    """

    def attempt(mode: str | None) -> _TypedDefinition:
        conf = None if mode is None else {ANSI: mode}
        definition = define_view(statement, schemas, database=database, functions=functions, conf=conf)
        columns = declared_columns(definition.expansion, schemas, database=database, functions=functions)
        return _TypedDefinition(definition=definition, columns=columns, mode=mode)

    if modes is None:
        return _TypedDefinition(definition=define_view(statement, schemas, database=database, functions=functions))
    for mode in modes:
        try:
            typed = attempt(mode)
        except UnknownNameError:
            raise  # in any mode
        except SqlError:
            continue
        return typed if typed.definition.depends_on_mode else replace(typed, mode=None)
    return attempt(None)


def _modes(
    store: MetastoreStore, dialect: Dialect, analyzer: Analyzer | None, summary: Mapping[str, str]
) -> tuple[str, ...] | None:
    """Return the ANSI modes to try: the author's own, else the preferred and the other one; None with an engine."""
    if analyzer is not None:
        return None
    if dialect is not Dialect.SPARK:
        return ()
    preferred = ansi_mode(summary) or str(store.config.ansi_mode).lower()
    if typed_mode(summary) is None and ansi_mode(summary) is not None:
        return (preferred,)
    return (preferred, "false" if preferred == "true" else "true")


def _reject_other_catalogs(
    store: MetastoreStore, statement: CreateView | AlterViewAs, named: References, catalog_name: str
) -> None:
    """Reject tables of other catalogs, which would be resolved as tables of this metastore."""
    query = statement.query
    for table in named.tables:
        if table.catalog is not None and table.catalog not in (catalog_name, store.config.session_catalog):
            line, column = line_and_column(statement.text, query.start + table.start)
            shown = ".".join(table.parts)
            reason = f"{shown} is in another catalog: a view of {catalog_name} reads this metastore's tables"
            raise SqlError(reason, line=line, column=column, name=shown)


def type_shape(kind: IcebergType) -> object:
    """Return a type without the ids, spelling and comments of its fields."""
    if isinstance(kind, StructType):
        return "struct", tuple((field.name.lower(), type_shape(field.field_type)) for field in kind.fields)
    if isinstance(kind, ListType):
        return "list", type_shape(kind.element_type)
    if isinstance(kind, MapType):
        return "map", type_shape(kind.key_type), type_shape(kind.value_type)
    return str(kind)


def _check_types(definition: ViewDefinition, types: Sequence[IcebergType | None]) -> None:
    """Reject columns that do not have the types that the caller expects."""
    fields = definition.schema.fields
    if len(types) != len(fields):
        raise SqlError(f"The query has {len(fields)} columns, and {len(types)} are declared: give one for each")
    for declared, kind in zip(fields, types, strict=True):
        if kind is not None and type_shape(kind) != type_shape(declared.field_type):
            raise SqlError(
                f"Column {declared.name} is of type {declared.field_type} in the query, not {kind}: write "
                "CAST(… AS type) in the query, or do not give a type",
                name=declared.name,
            )


def _partitioned_on(
    store: MetastoreStore, name: ViewName, statement: CreateView | AlterViewAs, expansion: Expansion, *, is_new: bool
) -> tuple[str, ...] | None:
    """Return the PARTITIONED ON columns; without the clause the view's are kept, except by CREATE OR REPLACE."""
    if isinstance(statement, CreateView) and statement.partitioned_on:
        return statement.partitioned_on
    if is_new:
        return None
    row = store.get_row(name)
    keys = tuple(key for key, _ in row.partition_keys) if row is not None and row.kind.is_view else ()
    if not keys:
        return None
    if isinstance(statement, CreateView) and statement.or_replace:
        return ()  # CREATE OR REPLACE without the clause removes them, as in Hive
    last = tuple(column.lower() for column in expansion.names[-len(keys) :])
    if last == keys and len(expansion.names) > len(keys):
        return keys
    line, column = line_and_column(statement.text, statement.query.start)
    raise SqlError(
        f"{name} is PARTITIONED ON ({', '.join(keys)}), which must be the last columns of its query, after at least "
        f"one other; this one ends with {', '.join(last)}. CREATE OR REPLACE VIEW can name others",
        line=line,
        column=column,
        name=str(name),
    )


def _added_functions(analyzer: Analyzer | None) -> Collection[str]:
    """Return the built-in functions of newer versions of Spark, as far as an analyzer may have found them."""
    if analyzer is None:
        return ()
    return added_functions(analyzer.spark_version if isinstance(analyzer, SparkKnowledge) else None)


def _user_functions(
    store: MetastoreStore,
    statement: CreateView | AlterViewAs,
    called: Sequence[FunctionReference],
    added: Collection[str],
) -> dict[str, str]:
    """Return the functions that are qualified with a database; reject missing, and unqualified ones not built in.

    `added` are built in, too.

    An unqualified function is temporary, or belongs to the author's current database, which readers do not have. Texts
    of Trino are not checked: Trino has no temporary functions, and its built-in functions are not listed here.
    """
    query, dialect = statement.query, statement.dialect

    def error(function: FunctionReference, reason: str) -> SqlError:
        line, column = line_and_column(statement.text, query.start + function.start)
        return SqlError(reason, line=line, column=column, name=function.name)

    functions: dict[str, str] = {}
    for function in called:
        if not function.registered:
            continue
        if function.qualified:
            functions[function.name.lower()] = "udf"
        elif dialect == Dialect.HIVE or (
            dialect == Dialect.SPARK
            and function.name.lower() not in SPARK_FUNCTIONS
            and function.name.lower() not in added
        ):
            since = added_functions().get(function.name.lower()) if dialect == Dialect.SPARK else None
            if since is not None:
                reason = f"{function.name} is a function of Spark {since} and later, whose type is known there only"
                raise error(function, f"{reason}: create the view in a ViewSession on that version")
            raise error(
                function,
                f"{function.name} is not a built-in function of {dialect.capitalize()}. A view cannot call a "
                "temporary function; name a permanent one with its database",
            )
    for function in RegisteredFunctions(store).missing(called, dialect):
        raise error(function, f"There is {missing_function(function)}: create it first")
    return functions


def _schema_by_rules(expansion: Expansion, columns: Sequence[OutputColumn], schemas: EngineSchemas) -> Schema:
    """Return the columns with their declared types, and Spark's TIMESTAMP as a type with time zone."""
    fields = []
    for number, column in enumerate(columns):
        try:
            kind = parse_type(schemas.text_of(column.type or ""))
        except SqlError:
            reason = f"Column {column.name} is of type {column.type}, which Iceberg does not have"
            raise unknown_type_error(expansion, number, reason) from None
        fields.append(NestedField(number + 1, column.name, kind, required=False))
    return assign_fresh_schema_ids(Schema(*fields))


def _default_catalog(store: MetastoreStore, rows: Mapping[ViewName, Row]) -> str | None:
    """Return the default catalog for Spark: None (the view's own) or, over Hive tables, the session catalog."""
    hive = [name for name, row in rows.items() if row.kind in (RowKind.HIVE_TABLE, RowKind.HIVE_VIEW)]
    if not hive:
        return None
    needs_iceberg: dict[ViewName, bool] = {}
    iceberg = [
        name
        for name, row in rows.items()
        if row.kind is RowKind.ICEBERG_TABLE
        or (row.kind is RowKind.ICEBERG_VIEW and _needs_iceberg(store, name, needs_iceberg))
    ]
    if iceberg and not store.config.session_catalog_serves_iceberg:
        raise SqlError(
            f"{iceberg[0]} is Iceberg's and {hive[0]} is Hive's own: no one catalog of Spark reads both, unless the "
            "session catalog is Iceberg's SparkSessionCatalog (hive-views.session-catalog-serves-iceberg=true)",
            name=str(hive[0]),
        )
    return store.config.session_catalog


def _needs_iceberg(store: MetastoreStore, name: ViewName, results: dict[ViewName, bool]) -> bool:
    """Return whether a view reads Iceberg tables, directly or through views.

    The session catalog does not serve those.
    """
    if name not in results:
        results[name] = False  # while its sources are visited: another program may have written a cycle
        try:
            results[name] = _reads_iceberg(store, name, results)
        except RecursionError:
            raise SqlError(f"{name} reads tables through too many views", name=str(name)) from None
    return results[name]


def _reads_iceberg(store: MetastoreStore, name: ViewName, results: dict[ViewName, bool]) -> bool:
    try:
        version = load_view(store, name).metadata.current_version()
    except NoSuchViewError:
        return True
    if version.default_catalog is not None:
        return False
    lineage = lineage_of_version(version)
    if lineage is None:
        return True
    return any(
        source.kind is ObjectKind.TABLE
        or (source.kind is ObjectKind.VIEW and _needs_iceberg(store, source.name, results))
        for source in lineage
    )


def with_comment(field: NestedField, comment: str | None) -> NestedField:
    """Return a column with a comment, or unchanged if there is none."""
    if comment is None:
        return field
    return NestedField(field.field_id, field.name, field.field_type, required=field.required, doc=comment)
