"""The typed and the expanded text of a view, and their resolution against current or hypothetical tables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hive_views.errors import MetadataFileError, SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore.queries import load_view
from hive_views.metastore.row_codec import Row, RowKind
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.trino_encoding import decode, is_encoded, query_of
from hive_views.spec.metadata import ViewVersion
from hive_views.spec.version_texts import HIVE, ORIGINAL_SQL, row_texts, sql_texts
from hive_views.sql.analysis.references import references
from hive_views.sql.resolver.scopes import Schemas, TableSchema
from hive_views.sql.rewriting.dialects import hive_text
from hive_views.sql.rewriting.expand import Expansion, expand
from hive_views.sql.rewriting.rename import rename_tables

READABLE = ("hive", "spark", "trino")
"""The dialects whose texts can be resolved."""

_HINT = ". Recompile the view to expand its text"

_CALL_WITH_DATABASE = re.compile(r"\.\s*`?\w+`?\s*\(")


@dataclass(frozen=True)
class ViewText:
    """The texts of one view."""

    view: ViewName
    """The view."""
    typed: str
    """The text as the author typed it."""
    dialect: str
    """The author's dialect, in lower case."""
    database: str
    """The database of unqualified names in the typed text."""
    expanded: str | None
    """The text in the metastore's row, with qualified names; None if it equals the typed text."""
    column_names: tuple[str, ...] | None = None
    """The column list before AS."""
    column_comments: tuple[str | None, ...] | None = None
    """The comments in the column list."""
    has_hive_text: bool | None = None
    """Whether the version has a text for Hive and plain Spark; None for a plain Hive view."""

    def expand_typed(self, schemas: Schemas) -> Expansion:
        """Resolve the typed text, as at creation."""
        return expand(
            self.typed,
            schemas,
            database=self.database,
            dialect=self.dialect,
            column_names=self.column_names,
            view_name=self.view.name if self.column_names is not None else None,
            functions=_functions(self.typed, self.dialect),
        )

    def row_text(self, expansion: Expansion, schemas: Schemas) -> str | None:
        """Return the text that a commit of the expansion of the typed text would write into the row."""
        functions = _functions(self.typed, self.dialect)
        if self.dialect == "trino":
            # A row's text is generated only if all catalogs of the typed text are on this metastore.
            local = replace(self, typed=rename_tables(self.typed, "trino", _without_catalog))
            expansion = local.expand_typed(schemas)
        return hive_text(self.dialect, expansion, schemas, database=self.database, functions=functions)

    def expand_stored(self, schemas: Schemas) -> Expansion:
        """Resolve the text in the row, which readers of the row run."""
        if self.expanded is None:
            return self.expand_typed(schemas)
        # Generated from the author's text, so its functions and literals are those of the author's dialect.
        dialect = "spark" if self.dialect == "spark" else HIVE
        functions = _functions(self.expanded, dialect)
        return expand(self.expanded, schemas, database=self.database, dialect=dialect, functions=functions)

    def unexpanded_reason(self, expansion: Expansion, schemas: Schemas) -> str | None:
        """Return why the row's text, whose expansion is given, depends on its reader; None if it does not."""
        if self.has_hive_text is None:
            return None
        if not self.has_hive_text:
            hint = _HINT if self.row_text(expansion, schemas) is not None else ", which they cannot read"
            return f"it has no text for Hive and plain Spark: its row has the {self.dialect} text as it was typed{hint}"
        row_text = self.typed if self.expanded is None else self.expanded
        dialect = "spark" if self.dialect == "spark" else HIVE
        unqualified = [table.parts[-1] for table in references(row_text, dialect).tables if len(table.parts) == 1]
        if unqualified:
            names = ", ".join(dict.fromkeys(unqualified))
            return f"its text for Hive and plain Spark has names without a database: {names}{_HINT}"
        if expansion.stored != row_text:
            return f"its text for Hive and plain Spark has a star, and they bind columns by position{_HINT}"
        return None


def read_view_text(store: MetastoreStore, row: Row) -> ViewText:
    """Return the texts of an Iceberg or Hive view."""
    if row.kind is RowKind.HIVE_VIEW:
        return text_of_hive_view(row)
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
        dialect,
        namespace[0].lower() if len(namespace) == 1 else view.database,
        expanded if expanded != typed else None,
        tuple(representation.field_aliases) if representation.field_aliases is not None else None,
        tuple(representation.field_comments) if representation.field_comments is not None else None,
        HIVE in texts,
    )


def text_of_hive_view(row: Row) -> ViewText:
    """Return the expanded text of a plain Hive view; the row does not record its author's current database."""
    if is_encoded(row.texts.original):
        return _text_of_trino_view(row)
    text = row.texts.expanded or row.texts.original
    if not text:
        raise SqlError(f"{row.name} has no text")
    is_spark = any(key.startswith("spark.sql.") for key in row.parameters)
    return ViewText(row.name, text, "spark" if is_spark else HIVE, row.name.database, None)


def _text_of_trino_view(row: Row) -> ViewText:
    """Return the query in Trino's encoding. Trino's text records its author's schema only if it needs one."""
    query = query_of(row.texts)
    if query is None:
        raise SqlError(f"{row.name} is marked as a Trino view, but its text cannot be decoded")
    schema = decode(row.texts.original).get("schema")
    return ViewText(row.name, query, "trino", (schema or row.name.database).lower(), None)


def _without_catalog(parts: tuple[str, ...]) -> tuple[str, ...] | None:
    return parts[-2:] if len(parts) > 2 else None


def _functions(sql: str, dialect: str) -> dict[str, str]:
    """Return the user-defined functions that a stored text calls; they existed when the text was stored."""
    if dialect != HIVE and not _CALL_WITH_DATABASE.search(sql):
        return {}
    return {
        function.name.lower(): "udf"
        for function in references(sql, dialect).functions
        if function.registered and (dialect == HIVE or sql[: function.start].rstrip(" `").endswith("."))
    }


class SchemaOverlay:
    """Schemas with cached, hypothetical or preloaded tables in front of them."""

    def __init__(self, schemas: Schemas, tables: Mapping[ViewName, TableSchema | None]) -> None:
        self._schemas = schemas
        self.tables = dict(tables)

    def table(self, database: str, name: str) -> TableSchema | None:
        """Return the columns of a table or view; see `hive_views.sql.resolver.scopes.Schemas`."""
        key = ViewName(database, name)
        if key not in self.tables:
            self.tables[key] = self._schemas.table(database, name)
        return self.tables[key]
