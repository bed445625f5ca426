"""Inlining: a definition as one SQL text over tables alone, with the views that it reads in place of their names."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from hive_views.errors import InvalidMetadataError, InvalidViewError, RefreshError, SqlError
from hive_views.identifiers import ViewName
from hive_views.materialized.checks.sources import Sources
from hive_views.metastore.rows.row import Row
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.trino_encoding import is_encoded
from hive_views.spec.metadata import ViewMetadata, ViewVersion
from hive_views.spec.version_texts import HIVE, sql_texts
from hive_views.sql.analysis.incremental import IncrementalQuery, NotIncrementalError, TableLeaf
from hive_views.sql.analysis.with_clauses import without_with
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.resolver.origins import unchanged_type
from hive_views.sql.resolver.resolver import resolve
from hive_views.sql.resolver.scopes import TableSchema
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.text.quoting import quote_identifier, quote_name
from hive_views.sql.types.hive_types import parse_type
from hive_views.sql.types.spark_types import spark_type
from hive_views.sql.types.upcasts import can_upcast

logger = logging.getLogger(__name__)

_MAX_VIEWS = 500
_NOT_IN_SPARK = re.compile(r"void|uniontype|interval|zone")
"""Parts of the names of Hive's types that Spark cannot cast to."""
_CHARACTERS = re.compile(r"(var)?char\(\d+\)")


@dataclass(frozen=True)
class StoredSource:
    """A materialized view among the sources whose stored rows are those of its definition."""

    view: ViewName
    table: ViewName
    """The storage table's name."""
    snapshot_id: int
    """The snapshot with the rows."""


@dataclass(frozen=True, kw_only=True)
class ViewText:
    """A view's SQL text."""

    sql: str
    dialect: Dialect
    """Spark's or Hive's."""
    database: str
    """The database of unqualified names."""
    catalog: str | None = None
    """The catalog of unqualified names; None for the view's own."""
    bound_columns: tuple[tuple[str, str], ...] = ()
    """Columns of the query, and the names that the view gives them, if it reads them by name; else empty."""
    names: tuple[str, ...] = ()
    """The declared names of the view's columns."""
    types: tuple[str, ...] = ()
    """Their declared types in Spark, to which readers of the view cast the columns of the query."""
    upcast_only: bool = False
    """Whether readers reject a query whose columns the casts could change, as readers through Iceberg do."""


def check_definition(name: ViewName, version: ViewVersion) -> None:
    """Reject a text that no refresh can run, because changes of what it reads cannot be detected."""
    text = text_of(name, version)
    try:
        IncrementalQuery(text.sql, text.dialect, text.database)
    except NotIncrementalError as error:
        raise InvalidViewError(str(name), f"no refresh can run its query: {error}") from None


def text_of(name: ViewName, version: ViewVersion) -> ViewText:
    """Return the text of a view that Spark can run: the expanded one, else Spark's own."""
    texts = sql_texts(version)
    namespace = version.default_namespace
    database = namespace[0].lower() if len(namespace) == 1 else name.database
    if HIVE in texts and (HIVE in version.generated_dialects or Dialect.SPARK not in texts):
        # A generated text comes from a Spark author's, and has Spark's functions.
        is_spark = HIVE in version.generated_dialects and Dialect.SPARK in texts
        dialect = Dialect.SPARK if is_spark else Dialect.HIVE
        return ViewText(sql=texts[HIVE], dialect=dialect, database=database, catalog=version.default_catalog)
    if Dialect.SPARK in texts:
        return ViewText(
            sql=texts[Dialect.SPARK], dialect=Dialect.SPARK, database=database, catalog=version.default_catalog
        )
    dialects = ", ".join(texts) or "no dialect"
    raise RefreshError(str(name), f"{name} has SQL texts for {dialects}, but none that Spark can read")


def catalog_names(store: MetastoreStore, catalog: str) -> frozenset[str]:
    """Return the names by which SQL texts refer to a catalog: its own, and that of Spark's session catalog."""
    return frozenset({catalog.lower(), store.config.session_catalog.lower()})


def inline(
    name: ViewName,
    metadata: ViewMetadata,
    sources: Sources,
    catalogs: frozenset[str],
    storages: Collection[StoredSource] = (),
) -> IncrementalQuery:
    """Replace the views in a definition by their queries, down to tables; those in `storages` by their stored rows."""
    try:
        sql, dialect = _Inliner(name, sources, catalogs, storages).inline(
            text_of(name, metadata.current_version()), (name,)
        )
    except RecursionError:
        raise RefreshError(str(name), "its definition reads a chain of too many views") from None
    return _leaves(name, sql, dialect, name.database)


def for_maintenance(leaves: IncrementalQuery, name: ViewName, sources: Sources) -> IncrementalQuery:
    """The definition for rules that need the tables' columns and have none for WITH. It must be deterministic."""
    columns = {
        (table.database, table.name): tuple(column.name for column in state.columns[state.schema_id])
        for table, state in sources.tables.items()
    }
    try:
        return IncrementalQuery(
            without_with(parse_query(leaves.sql, leaves.dialect)), leaves.dialect, name.database, columns
        )
    except (NotIncrementalError, SqlError):
        return IncrementalQuery(leaves.sql, leaves.dialect, name.database, columns)  # the rules refuse WITH


class _Inliner:
    def __init__(
        self, name: ViewName, sources: Sources, catalogs: frozenset[str], storages: Collection[StoredSource]
    ) -> None:
        self._name = name
        self._sources = sources
        self._catalogs = catalogs
        self._storages = {storage.view: storage.table for storage in storages}
        self._schemas = _SourceSchemas(sources)
        self._remaining_views = _MAX_VIEWS

    def inline(self, text: ViewText, path: tuple[ViewName, ...]) -> tuple[str, Dialect]:
        """SQL and dialect of a text over tables alone; `path` are the views that led to it."""
        self._remaining_views -= 1
        if self._remaining_views < 0:
            raise self._error(f"its definition reads views more than {_MAX_VIEWS} times")
        leaves = _leaves(path[-1], text.sql, text.dialect, text.database)
        if text.catalog is not None and leaves.leaves:
            self._check_catalog(text.catalog, path[-1])
        dialects = {text.dialect}

        def replacement(_: int, leaf: TableLeaf) -> str:
            source = ViewName(*leaf.name)
            if leaf.catalog is not None:
                self._check_catalog(leaf.catalog, path[-1])
            if source in path:
                raise self._error(f"{source} reads itself")
            if source in self._storages:
                return quote_name(self._storages[source].identifier)
            view = self._view_text(source)
            if view is None:
                return quote_name(leaf.name)
            sql, dialect = self.inline(view, (*path, source))
            dialects.add(dialect)
            return f"({self._as_declared(view, sql)})"

        return leaves.render(replacement), Dialect.SPARK if Dialect.SPARK in dialects else Dialect.HIVE

    def _view_text(self, name: ViewName) -> ViewText | None:
        if name in self._sources.views:
            metadata = self._sources.views[name]
            try:
                fields = metadata.current_schema().fields
            except InvalidMetadataError as error:
                raise self._error(str(error)) from error
            types = tuple(spark_type(field.field_type, quote_identifier) for field in fields)
            return replace(
                text_of(name, metadata.current_version()),
                names=tuple(field.name for field in fields),
                types=types,
                upcast_only=True,
            )
        if name in self._sources.hive_views:
            row = self._sources.hive_views[name]
            if is_encoded(row.texts.original):
                raise self._error(f"{name} is a view of Trino, which Spark cannot read: import it first")
            names = tuple(column for column, *_ in row.columns)
            types = tuple(_spark_name(kind) for _, kind, *_ in row.columns)
            if row.parameters.get("view.schemaMode", "").endswith("EVOLUTION"):
                types = ("",) * len(names)  # readers adopt the types of the query
            text, bound_columns = row.texts.expanded or "", _bound_columns(row)
            return ViewText(
                sql=text,
                dialect=Dialect.HIVE,
                database=name.database,
                catalog=None,
                bound_columns=bound_columns,
                names=names,
                types=types,
            )
        return None

    def _as_declared(self, view: ViewText, sql: str) -> str:
        """Return a view's query over tables, with the names and the types of the view's columns.

        Readers cast each column to its declared type. The casts that have no effect are omitted, because the rules that
        update the rows of a materialized view do not look into them.
        """
        columns: list[tuple[str, str | None]] | None = None
        try:
            resolution = resolve(parse_query(view.sql, view.dialect), self._schemas, view.database)
            columns = [(name, unchanged_type(resolution, column)) for name, column in resolution.columns]
        except SqlError:
            logger.debug("The types of the columns of a view are unknown: %s", view.sql, exc_info=True)
        found = [(name, None) for name in view.names] if columns is None else columns
        if view.bound_columns:
            kinds = {name.lower(): kind for name, kind in found}
            read = [(column, kinds.get(column.lower())) for column, _ in view.bound_columns]
            aliases = ""
        else:
            # Readers through Iceberg ignore the columns that a star has in addition since the view was created.
            added = (f"hive_views_added_{number}" for number in range(len(view.names), len(found)))
            read = [(name, kind) for name, (_, kind) in zip(view.names, found, strict=False)]
            aliases = f" ({', '.join(map(quote_identifier, (*view.names, *added)))})"
        items = []
        for (column, kind), name, declared in zip(read, view.names, view.types, strict=False):
            is_cast = kind != declared and declared != "" and _NOT_IN_SPARK.search(declared) is None
            if is_cast and kind is not None and view.upcast_only and not _can_upcast(kind, declared):
                raise self._error(
                    f"the column {name} of a view that it reads is declared as {declared}, and that view's query "
                    f"returns {kind} now: replace the view by the same query, which declares the new type"
                )
            value = quote_identifier(column)
            value = f"CAST({value} AS {declared})" if is_cast else value
            items.append(value if value == quote_identifier(name) else f"{value} AS {quote_identifier(name)}")
        has_names = columns is not None and [name.lower() for name, _ in columns] == [*map(str.lower, view.names)]
        if has_names and items == [*map(quote_identifier, view.names)]:
            return sql
        return f"SELECT {', '.join(items)} FROM ({sql}) AS `hive_views_inner`{aliases}"

    def _check_catalog(self, catalog: str, view: ViewName) -> None:
        if catalog.lower() not in self._catalogs:
            raise self._error(
                f"the text of {view} reads the catalog {catalog}, which is not known to be this one: open this catalog "
                f"under that name (on the command line, configure it and add --catalog {catalog}), or define {view} "
                "without it"
            )

    def _error(self, reason: str) -> RefreshError:
        return RefreshError(str(self._name), reason)


class _SourceSchemas:
    """The columns of a definition's sources, with Spark's types."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def table(self, database: str, name: str) -> TableSchema | None:
        """Return the columns of a table or view; see `hive_views.sql.resolver.scopes.Schemas`."""
        source, sources = ViewName(database, name), self._sources
        row = sources.hive_tables.get(source) or sources.hive_views.get(source)
        if row is not None:
            return TableSchema(tuple((column.lower(), _spark_name(kind)) for column, kind, *_ in row.columns))
        if source in sources.views:
            fields = sources.views[source].current_schema().fields
        elif source in sources.tables:
            state = sources.tables[source]
            fields = state.columns[state.schema_id]
        else:
            return None
        return TableSchema(
            tuple((field.name.lower(), spark_type(field.field_type, quote_identifier)) for field in fields)
        )


def _can_upcast(kind: str, declared: str) -> bool:
    """Return whether Spark casts a type to a declared one without loss; true for types that are not compared here."""
    if "timestamp" in kind + declared:
        return True
    try:
        return can_upcast(parse_type(kind), parse_type(declared))
    except SqlError:
        return True


def _spark_name(kind: str) -> str:
    """Spark's name of a type of a row: Spark reads CHAR and VARCHAR as STRING."""
    return _CHARACTERS.sub("string", kind)


def _bound_columns(row: Row) -> tuple[tuple[str, str], ...]:
    """The columns of the query that a view of plain Spark reads by name: its text may have a star that has grown."""
    names = [row.parameters.get(f"view.query.out.col.{number}") for number in range(len(row.columns))]
    lower = [name.lower() for name in names if name is not None]
    if len(set(lower)) < len(row.columns):
        return ()  # not recorded, or ambiguous: Spark reads by position
    return tuple((str(name), column[0]) for name, column in zip(names, row.columns, strict=True))


def _leaves(name: ViewName, sql: str, dialect: Dialect, database: str) -> IncrementalQuery:
    try:
        return IncrementalQuery(sql, dialect, database)
    except NotIncrementalError as error:
        raise RefreshError(str(name), str(error)) from error
