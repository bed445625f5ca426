"""Column lineage: the columns from which each column of a view is computed, directly or through other views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hive_views.dependencies.view_text import read_view_text
from hive_views.errors import MetadataFileError, MetastoreRefusedError, NoSuchViewError, SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore.queries import RowCache
from hive_views.metastore.rows.row import Row
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.table_schemas import MetastoreSchemas
from hive_views.sql.analysis.view_text import ViewText
from hive_views.sql.resolver import origins
from hive_views.sql.resolver.scopes import Schemas


@dataclass(frozen=True, order=True)
class ColumnName:
    """A column of a table or view."""

    table: ViewName
    """The table or view."""
    column: str
    """The column, in lower case."""

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


ColumnLineage = Mapping[str, tuple[ColumnName, ...]]
"""For each column of a view, the columns from which it is computed."""


def column_lineage(store: MetastoreStore, name: ViewName) -> dict[str, tuple[ColumnName, ...]]:
    """Return, for each column of a view, the columns of direct dependencies from which it is computed."""
    return _lineage_of_row(store, store.get_view_row(name), MetastoreSchemas(store))


def column_lineages(store: MetastoreStore, names: Iterable[ViewName], rows: RowCache) -> dict[ViewName, ColumnLineage]:
    """Return the `column_lineage` of those of the given objects that are views whose text can be resolved."""
    schemas = MetastoreSchemas(store, rows)
    lineages: dict[ViewName, ColumnLineage] = {}
    for name in names:
        row = rows.find(name)
        if row is None or not row.kind.is_view:
            continue
        try:
            lineages[name] = _lineage_of_row(store, row, schemas)
        except (MetadataFileError, MetastoreRefusedError, NoSuchViewError, SqlError):
            continue
    return lineages


def _lineage_of_row(store: MetastoreStore, row: Row, schemas: Schemas) -> dict[str, tuple[ColumnName, ...]]:
    sources = source_columns(read_view_text(store, row), schemas)
    # The view's columns may have other names than those of its query (an explicit column list of another engine).
    names = [column.lower() for column, _, _ in row.declared_columns]
    return dict(zip(names, sources.values(), strict=False)) if len(names) == len(sources) else sources


def base_columns(store: MetastoreStore, name: ViewName) -> dict[str, tuple[ColumnName, ...]]:
    """Return, for each column of a view, the columns of tables from which it is computed, through all other views."""
    lineages: dict[ViewName, ColumnLineage | None] = {}
    bases: dict[ColumnName, frozenset[ColumnName]] = {}

    def resolve(column: ColumnName, readers: frozenset[ViewName]) -> frozenset[ColumnName]:
        view = column.table
        if view in readers:
            return frozenset((column,))
        if column in bases:
            return bases[column]
        if view not in lineages:
            try:
                lineages[view] = column_lineage(store, view)
            except (NoSuchViewError, SqlError):
                lineages[view] = None
        sources = (lineages[view] or {}).get(column.column)
        if sources is None:
            bases[column] = frozenset((column,))
        else:
            bases[column] = frozenset(base for source in sources for base in resolve(source, readers | {view}))
        return bases[column]

    try:
        return {
            column: tuple(sorted({base for source in sources for base in resolve(source, frozenset({name}))}))
            for column, sources in column_lineage(store, name).items()
        }
    except RecursionError:
        raise SqlError(f"{name} reads tables through too many views", name=str(name)) from None


def source_columns(text: ViewText, schemas: Schemas) -> dict[str, tuple[ColumnName, ...]]:
    """Return, for each column of a query, the columns from which it is computed."""
    expansion = text.expand_typed(schemas)
    return {
        name: tuple(
            sorted(
                ColumnName(ViewName(database, table), source)
                for database, table, source in origins.source_columns(expansion.resolution, column)
            )
        )
        for name, (_, column) in zip(expansion.names, expansion.resolution.columns, strict=True)
    }
