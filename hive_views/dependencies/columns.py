"""Column-level lineage: which columns of tables each column of a view is computed from.

From the view's expanded text by sqlglot's lineage: our resolver makes every name complete first, so that no schema has
to be guessed. Columns that only filter, join or group are not part of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.lineage import lineage
from sqlglot.optimizer import build_scope
from sqlglot.optimizer.qualify import qualify

from hive_views.dependencies.resolved_texts import ViewText, text_of_hive_view, text_of_version
from hive_views.errors import NoSuchViewError, SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore.queries import load_view
from hive_views.metastore.row_codec import Row, RowKind
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.table_schemas import MetastoreSchemas
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


def read_view_text(store: MetastoreStore, row: Row) -> ViewText:
    """The texts of a view."""
    if row.kind is RowKind.HIVE_VIEW:
        return text_of_hive_view(row)
    loaded = load_view(store, row.name)
    return text_of_version(row.name, loaded.metadata.current_version())


def column_lineage(store: MetastoreStore, name: ViewName) -> dict[str, tuple[ColumnName, ...]]:
    """What each column of a view is computed from, in what the view reads directly."""
    row = store.get_row(name)
    if row is None or not row.kind.is_view:
        raise NoSuchViewError(str(name))
    found = sources(read_view_text(store, row), MetastoreSchemas(store))
    # A view's columns may have other names than its query's (an explicit column list of another engine).
    names = [column.lower() for column, _, _ in row.columns]
    return dict(zip(names, found.values(), strict=False)) if len(names) == len(found) else found


def base_columns(store: MetastoreStore, name: ViewName) -> dict[str, tuple[ColumnName, ...]]:
    """What each column of a view is computed from, in tables, through all views between."""
    known: dict[ViewName, Mapping[str, tuple[ColumnName, ...]] | None] = {}
    return {
        column: tuple(sorted({base for item in found for base in _bases(store, item, known, frozenset({name}))}))
        for column, found in column_lineage(store, name).items()
    }


def _bases(
    store: MetastoreStore,
    column: ColumnName,
    known: dict[ViewName, Mapping[str, tuple[ColumnName, ...]] | None],
    above: frozenset[ViewName],
) -> tuple[ColumnName, ...]:
    view = column.table
    if view in above:
        return (column,)
    if view not in known:
        try:
            known[view] = column_lineage(store, view)
        except (NoSuchViewError, SqlError):
            known[view] = None
    below = known[view]
    if below is None or column.column not in below:
        return (column,)
    return tuple(base for item in below[column.column] for base in _bases(store, item, known, above | {view}))


def sources(text: ViewText, schemas: Schemas) -> dict[str, tuple[ColumnName, ...]]:
    """What each column of a query is computed from."""
    expansion = text.expansion(schemas)
    try:
        tree = sqlglot.parse_one(expansion.expanded, dialect=text.dialect)
        tree = qualify(tree, dialect=text.dialect, validate_qualify_columns=False, identify=False)
        if not isinstance(tree, exp.Query):
            raise ValueError("it is no query")
        scope = build_scope(tree)
        found = {}
        for position, name in enumerate(expansion.names):
            outer = tree.selects[position].alias_or_name
            node = lineage(outer, tree, {}, scope=scope, dialect=text.dialect)
            leaves = ((item.name, item.source) for item in node.walk() if not item.downstream)
            columns = {_column(leaf, table) for leaf, table in leaves if isinstance(table, exp.Table)}
            found[name] = tuple(sorted(columns))
    except (SqlglotError, ValueError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise SqlError(f"cannot follow the columns of {text.view}: {error}", name=str(text.view)) from error
    return found


def _column(name: str, table: exp.Table) -> ColumnName:
    return ColumnName(ViewName(table.db.lower(), table.name.lower()), exp.to_column(name).name.lower())
