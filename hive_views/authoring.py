"""From an author's SQL text to what `create_view` and `replace_version` take: columns, and a version with all texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.schema import Schema
from pyiceberg.types import NestedField

from hive_views.children import LINEAGE, encode
from hive_views.definition import define
from hive_views.errors import SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore.commit import Store
from hive_views.metastore.flat_model import Row, RowKind
from hive_views.metastore.identities import children
from hive_views.metastore.load import load
from hive_views.metastore.schemas import MetastoreSchemas
from hive_views.spec.metadata import ViewVersion
from hive_views.sql.expand import expand

Analyzer = Callable[[str], Schema]
"""Gives the columns that a query returns, e.g. `lambda query: schema_of(spark, query)` of `hive_views.spark.analyzer`.
The query that it is given is valid under any current database."""


@dataclass(frozen=True)
class Definition:
    """What an author's text becomes."""

    schema: Schema
    """The view's columns."""
    version: ViewVersion
    """The typed, the stored and the expanded text, and what unqualified names mean."""
    tables: tuple[ViewName, ...]
    """The tables and views that the text names."""


def author(
    store: Store,
    name: ViewName,
    sql: str,
    *,
    database: str,
    dialect: str,
    analyzer: Analyzer,
    column_names: Sequence[str] | None = None,
    column_comments: Sequence[str | None] | None = None,
    mark: bool = True,
) -> Definition:
    """Resolve and expand a query, and take its column types from an analyzer.

    Args:
        store: Metastore and properties.
        name: The view that the query is for.
        sql: The query as the author typed it.
        database: The author's current database.
        dialect: The author's dialect: `spark`, `hive` or `trino`.
        analyzer: Where column types come from.
        column_names: Names in front of AS, where the author gave them.
        column_comments: Their comments, None for a column without one.
        mark: Whether Hive's own tables that the text names get a UUID into their rows, so that the view's lineage
            survives their renames (see `hive_views.metastore.identities`).

    Returns:
        Columns and version; the version's summary holds the lineage.

    Raises:
        SqlError: If the text cannot be read, names something that is not there, mixes tables that no one catalog of
            Spark serves, or the column list does not fit.
    """
    expansion = expand(
        sql,
        MetastoreSchemas(store),
        database=database,
        dialect=dialect,
        column_names=tuple(column_names) if column_names is not None else None,
        view_name=name.name if column_names is not None else None,
    )
    tables = tuple(ViewName(*table) for table in expansion.tables)
    rows = {table: row for table in tables if (row := store.row(table)) is not None}
    lineage = children(store, rows, mark=mark)
    version = define(
        sql,
        dialect=dialect,
        default_namespace=(database,),
        default_catalog=_default_catalog(store, rows),
        stored=expansion.stored,
        expanded=expansion.expanded,
        field_aliases=column_names,
        field_comments=column_comments,
        summary={} if lineage is None else {LINEAGE: encode(lineage)},
    )
    schema = analyzer(expansion.expanded)
    if column_comments is not None:
        schema = Schema(
            *(_commented(field, comment) for field, comment in zip(schema.fields, column_comments, strict=True))
        )
    return Definition(schema, version, tables)


def _default_catalog(store: Store, rows: Mapping[ViewName, Row]) -> str | None:
    """What unqualified names mean to Spark's Iceberg catalog: itself, or the session catalog for Hive's own tables."""
    session, iceberg = [], []
    for name, row in rows.items():
        if row.kind is RowKind.ICEBERG_TABLE:
            iceberg.append(name)
        elif row.kind is not RowKind.ICEBERG_VIEW:
            session.append(name)
        elif load(store, name).metadata.current_version().default_catalog is None:
            iceberg.append(name)
    if session and iceberg and not store.config.session_catalog_serves_iceberg:
        raise SqlError(
            f"{iceberg[0]} is Iceberg's and {session[0]} is Hive's own: no one catalog of Spark reads both, unless the "
            "session catalog is Iceberg's SparkSessionCatalog (hive-views.session-catalog-serves-iceberg=true)",
            name=str(session[0]),
        )
    return store.config.session_catalog if session else None


def _commented(field: NestedField, comment: str | None) -> NestedField:
    if comment is None:
        return field
    return NestedField(field.field_id, field.name, field.field_type, required=field.required, doc=comment)
