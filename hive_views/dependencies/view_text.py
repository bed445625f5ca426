"""View texts read from the rows and metadata of a metastore, and hypothetical tables to resolve them against."""

from __future__ import annotations

from collections.abc import Mapping

from hive_views.errors import MetadataFileError, SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore.queries import load_view
from hive_views.metastore.rows.row import Row, RowKind
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.trino_encoding import is_encoded, query_of, schema_of
from hive_views.spec.metadata import ViewVersion
from hive_views.spec.session_settings import ansi_mode
from hive_views.spec.version_texts import HIVE, ORIGINAL_SQL, row_texts, sql_texts
from hive_views.sql.analysis.view_text import ViewText
from hive_views.sql.resolver.scopes import Schemas, TableSchema
from hive_views.sql.text.dialects import Dialect

READABLE = tuple(Dialect)
"""The dialects whose texts can be resolved."""


def read_view_text(store: MetastoreStore, row: Row) -> ViewText:
    """Return the texts of an Iceberg or Hive view."""
    if row.kind is RowKind.HIVE_VIEW:
        return text_of_hive_view(row)
    if row.definition_location is not None:
        return text_of_version(row.name, store.files.read(row.definition_location).current_version())
    try:
        metadata = store.files.read(row.metadata_location or "")
    except MetadataFileError:
        # A commit or drop since the row was read may have deleted the file.
        metadata = load_view(store, row.name).metadata
    return text_of_version(row.name, metadata.current_version())


def text_of_version(view: ViewName, version: ViewVersion) -> ViewText:
    """Return the texts of a version."""
    texts = sql_texts(version)
    dialect = next((item for item in texts if item not in version.generated_dialects and item in READABLE), None)
    if dialect is None:
        raise SqlError(f"{view} has no text in {', '.join(READABLE)}, but in {', '.join(texts) or 'no dialect'}")
    representation = next(item for item in version.sql_representations if item.dialect.lower() == dialect)
    namespace = representation.default_namespace or version.default_namespace
    typed = version.summary.get(ORIGINAL_SQL, representation.sql)
    expanded = row_texts(version).expanded if HIVE in texts else None
    return ViewText(
        view,
        typed,
        Dialect(dialect),
        namespace[0].lower() if len(namespace) == 1 else view.database,
        expanded if expanded != typed else None,
        tuple(representation.field_aliases) if representation.field_aliases is not None else None,
        tuple(representation.field_comments) if representation.field_comments is not None else None,
        HIVE in texts,
        ansi_mode(version.summary) != "false",
    )


def text_of_hive_view(row: Row) -> ViewText:
    """Return the expanded text of a plain Hive view, or the text of a plain Spark view; SqlError if it has none."""
    if row.is_metric_view:
        raise SqlError(f"{row.name} is a metric view of Spark, whose definition is YAML and no query")
    if is_encoded(row.texts.original):
        return _text_of_trino_view(row)
    text = row.texts.expanded or row.texts.original
    if not text:
        raise SqlError(f"{row.name} has no text")
    is_spark = any(key.startswith("spark.sql.") for key in row.parameters)
    return ViewText(row.name, text, Dialect.SPARK if is_spark else Dialect.HIVE, row.default_database, None)


def _text_of_trino_view(row: Row) -> ViewText:
    """Return the query in Trino's encoding."""
    query = query_of(row.texts)
    if query is None:
        raise SqlError(f"{row.name} is marked as a Trino view, but its text cannot be decoded")
    return ViewText(row.name, query, Dialect.TRINO, schema_of(row.texts, row.name.database), None)


class SchemaOverlay:
    """Schemas in which cached, hypothetical or preloaded tables take precedence over those of the metastore."""

    def __init__(self, schemas: Schemas, tables: Mapping[ViewName, TableSchema | None]) -> None:
        self._schemas = schemas
        self.tables = dict(tables)

    def table(self, database: str, name: str) -> TableSchema | None:
        """Return the columns of a table or view; see `hive_views.sql.resolver.scopes.Schemas`."""
        key = ViewName(database, name)
        if key not in self.tables:
            self.tables[key] = self._schemas.table(database, name)
        return self.tables[key]
