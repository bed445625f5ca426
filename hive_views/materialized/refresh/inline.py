"""Inlining: a definition as one SQL text over tables alone, with the views that it reads in place of their names."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from hive_views.errors import InvalidMetadataError, RefreshError, SqlError
from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.sources import Sources
from hive_views.metastore.row_codec import Row
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.trino_encoding import is_encoded
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.version_texts import HIVE, sql_texts
from hive_views.sql.analysis.incremental import IncrementalQuery, NotIncrementalError, TableLeaf
from hive_views.sql.analysis.references import references
from hive_views.sql.analysis.with_clauses import without_with
from hive_views.sql.rewriting.quoting import quote_identifier, quote_name
from hive_views.sql.types.spark_types import spark_type

_MAX_VIEWS = 500
_NARROW_INTEGERS = re.compile(
    r"tinyint|smallint|\b(byte|short)\b|xpath_short|\b\d+[ys]\b|\b(getbit|bit_get|grouping)\b|"
    r"\b(from_(avro|csv|json|protobuf|xml)|(try_)?variant_get)\b",
    re.IGNORECASE,
)
"""What of Spark may give values of the types TINYINT and SMALLINT, also in schemas that are texts (Spark 4.1)."""


@dataclass(frozen=True)
class StoredSource:
    """A materialized view among the sources whose stored rows are those of its definition."""

    view: ViewName
    table: ViewName
    """The storage table's name."""
    snapshot_id: int
    """The snapshot with the rows."""


@dataclass(frozen=True)
class ViewText:
    """A view's SQL text."""

    sql: str
    dialect: str
    """`spark` or `hive`."""
    database: str
    """The database of unqualified names."""
    columns: tuple[str, ...] | None
    """The view's columns, if the query may name them differently; else None."""
    catalog: str | None = None
    """The catalog of unqualified names; None for the view's own."""
    bound_columns: tuple[tuple[str, str], ...] = ()
    """Columns of the query, and the names that the view gives them, if it reads them by name; else empty."""
    types: tuple[str, ...] = ()
    """The declared types of the view's columns; empty if the query has exactly these."""


def text_of(name: ViewName, metadata: ViewMetadata) -> ViewText:
    """The text of a view that Spark can run: the expanded one, else Spark's own."""
    version = metadata.current_version()
    texts = sql_texts(version)
    namespace = version.default_namespace
    database = namespace[0].lower() if len(namespace) == 1 else name.database
    if HIVE in texts and (HIVE in version.generated_dialects or "spark" not in texts):
        # A generated text comes from a Spark author's, and has Spark's functions.
        dialect = "spark" if HIVE in version.generated_dialects and "spark" in texts else HIVE
        return ViewText(texts[HIVE], dialect, database, None, version.default_catalog)
    if "spark" in texts:
        try:
            columns = tuple(field.name for field in metadata.current_schema().fields)
        except InvalidMetadataError as error:
            raise RefreshError(str(name), str(error)) from error
        return ViewText(texts["spark"], "spark", database, columns, version.default_catalog)
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
        sql, dialect = _Inliner(name, sources, catalogs, storages).inline(text_of(name, metadata), (name,))
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
        return IncrementalQuery(without_with(leaves.sql, leaves.dialect), leaves.dialect, name.database, columns)
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
        self._remaining_views = _MAX_VIEWS
        others = (*sources.hive_tables.values(), *sources.hive_views.values())
        self._has_narrow_columns = any(
            _NARROW_INTEGERS.search(kind) is not None for row in others for _, kind, *_ in row.columns
        )

    def inline(self, text: ViewText, path: tuple[ViewName, ...]) -> tuple[str, str]:
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
            if view.bound_columns:
                items = (
                    f"{quote_identifier(column)} AS {quote_identifier(name)}" for column, name in view.bound_columns
                )
                return f"(SELECT {', '.join(items)} FROM ({sql}) AS `hive_views_inner`)"
            if view.types:
                return _with_types(sql, view.columns or (), view.types)
            return f"({sql})" if view.columns is None else _with_columns(sql, view.columns)

        return leaves.render(replacement), "spark" if "spark" in dialects else HIVE

    def _view_text(self, name: ViewName) -> ViewText | None:
        if name in self._sources.views:
            return self._with_declared_types(text_of(name, self._sources.views[name]), self._sources.views[name])
        if name in self._sources.hive_views:
            row = self._sources.hive_views[name]
            if is_encoded(row.texts.original):
                raise self._error(f"{name} is a view of Trino, which Spark cannot read: import it first")
            return ViewText(row.texts.expanded or "", HIVE, name.database, None, bound_columns=_bound_columns(row))
        return None

    def _with_declared_types(self, text: ViewText, metadata: ViewMetadata) -> ViewText:
        """A view's text, with the types of its columns if those of its query may be smaller integers.

        Iceberg has no TINYINT and SMALLINT: a view with such a column is declared with INT, and read so.
        """
        fields = metadata.current_schema().fields
        types = tuple(spark_type(field.field_type, quote_identifier) for field in fields)
        if not any(re.search(r"\bint\b", kind) for kind in types):
            return text
        if not self._has_narrow_columns and not _may_have_narrow_integers(text):
            return text
        return replace(text, columns=tuple(field.name for field in fields), types=types)

    def _check_catalog(self, catalog: str, view: ViewName) -> None:
        if catalog.lower() not in self._catalogs:
            raise self._error(
                f"the text of {view} reads the catalog {catalog}, which is not known to be this one: open this catalog "
                f"under that name (on the command line, configure it and add --catalog {catalog}), or define {view} "
                "without it"
            )

    def _error(self, reason: str) -> RefreshError:
        return RefreshError(str(self._name), reason)


def _may_have_narrow_integers(text: ViewText) -> bool:
    """Whether a query over INT and BIGINT columns may return a TINYINT or SMALLINT; a user's function may."""
    if _NARROW_INTEGERS.search(text.sql) is not None:
        return True
    return any(function.registered for function in references(text.sql, text.dialect).functions)


def _bound_columns(row: Row) -> tuple[tuple[str, str], ...]:
    """The columns of the query that a view of plain Spark reads by name: its text may have a star that has grown."""
    names = [row.parameters.get(f"view.query.out.col.{number}") for number in range(len(row.columns))]
    lower = [name.lower() for name in names if name is not None]
    if len(set(lower)) < len(row.columns):
        return ()  # not recorded, or ambiguous: Spark reads by position
    return tuple((str(name), column[0]) for name, column in zip(names, row.columns, strict=True))


def _with_columns(sql: str, columns: tuple[str, ...]) -> str:
    quoted = ", ".join(map(quote_identifier, columns))
    return f"(SELECT * FROM ({sql}) AS `hive_views_inner` ({quoted}))"


def _with_types(sql: str, columns: Sequence[str], types: Sequence[str]) -> str:
    """A query with some names of its columns, those with integers in them cast to their types."""
    names = [quote_identifier(column) for column in columns]
    items = (
        f"CAST({name} AS {kind}) AS {name}" if re.search(r"\bint\b", kind) else name
        for name, kind in zip(names, types, strict=True)
    )
    return f"(SELECT {', '.join(items)} FROM ({sql}) AS `hive_views_inner` ({', '.join(names)}))"


def _leaves(name: ViewName, sql: str, dialect: str, database: str) -> IncrementalQuery:
    try:
        return IncrementalQuery(sql, dialect, database)
    except NotIncrementalError as error:
        raise RefreshError(str(name), str(error)) from error
