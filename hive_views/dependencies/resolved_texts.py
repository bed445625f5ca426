"""What a view's author typed and what its readers run, and both resolved against tables as they are, or would be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from hive_views.errors import SqlError
from hive_views.identifiers import ViewName
from hive_views.metastore.row_codec import Row
from hive_views.metastore.table_schemas import table_schema
from hive_views.spec.metadata import ViewVersion
from hive_views.spec.version_texts import HIVE, ORIGINAL_SQL, row_texts, sql_texts
from hive_views.sql.analysis.references import references
from hive_views.sql.resolver.scopes import Schemas, TableSchema
from hive_views.sql.rewriting.dialects import hive_text
from hive_views.sql.rewriting.expand import Expansion, expand

READABLE = ("hive", "spark", "trino")
"""The dialects whose texts can be resolved."""


@dataclass(frozen=True)
class ViewText:
    """The texts of one view that say what it reads."""

    view: ViewName
    """The view."""
    typed: str
    """What the author typed."""
    dialect: str
    """The author's dialect, in lower case."""
    database: str
    """The database that unqualified names of the typed text mean."""
    expanded: str | None
    """The text that readers of the metastore's row run, if it is another one; its names are complete."""
    column_names: tuple[str, ...] | None = None
    """The column list in front of AS."""
    column_comments: tuple[str | None, ...] | None = None
    """Its comments."""

    def expansion(self, schemas: Schemas) -> Expansion:
        """The typed text, resolved as at creation."""
        return expand(
            self.typed,
            schemas,
            database=self.database,
            dialect=self.dialect,
            column_names=self.column_names,
            view_name=self.view.name if self.column_names is not None else None,
            functions=_functions(self.typed, self.dialect),
        )

    def written(self, expansion: Expansion, schemas: Schemas) -> str | None:
        """What readers of the metastore's row would be given for what the author's text gives now."""
        functions = _functions(self.typed, self.dialect)
        return hive_text(self.dialect, expansion, schemas, database=self.database, functions=functions)

    def reading(self, schemas: Schemas) -> Expansion:
        """The text that readers run, resolved."""
        if self.expanded is None:
            return self.expansion(schemas)
        # Generated from the author's text, so its functions and literals are those of the author's dialect.
        dialect = "spark" if self.dialect == "spark" else HIVE
        functions = _functions(self.expanded, dialect)
        return expand(self.expanded, schemas, database=self.database, dialect=dialect, functions=functions)


def text_of_version(view: ViewName, version: ViewVersion) -> ViewText:
    """The texts of a version."""
    texts = sql_texts(version)
    dialect = next((item for item in texts if item not in version.generated_dialects and item in READABLE), None)
    if dialect is None:
        raise SqlError(f"{view} has no text in {', '.join(READABLE)}, but in {', '.join(texts) or 'no dialect'}")
    own = next(item for item in version.sql_representations if item.dialect.lower() == dialect)
    namespace = own.default_namespace or version.default_namespace
    typed = version.summary.get(ORIGINAL_SQL, own.sql)
    expanded = row_texts(version).expanded if HIVE in texts else None
    return ViewText(
        view,
        typed,
        dialect,
        namespace[0].lower() if len(namespace) == 1 else view.database,
        expanded if expanded != typed else None,
        tuple(own.field_aliases) if own.field_aliases is not None else None,
        tuple(own.field_comments) if own.field_comments is not None else None,
    )


def text_of_hive_view(row: Row) -> ViewText:
    """The text of a plain Hive view: the expanded one, since nobody knows its author's current database."""
    text = row.texts.expanded or row.texts.original
    if not text:
        raise SqlError(f"{row.name} has no text")
    spark = any(key.startswith("spark.sql.") for key in row.parameters)
    return ViewText(row.name, text, "spark" if spark else HIVE, row.name.database, None)


def _functions(sql: str, dialect: str) -> dict[str, str]:
    """The functions that a stored text calls and no engine has built in: whoever stored it had them registered."""
    if dialect != HIVE and not _CALL_WITH_DATABASE.search(sql):
        return {}
    return {
        function.name.lower(): "udf"
        for function in references(sql, dialect).functions
        if function.registered and (dialect == HIVE or sql[: function.start].rstrip(" `").endswith("."))
    }


_CALL_WITH_DATABASE = re.compile(r"\.\s*`?\w+`?\s*\(")


class SchemaOverlay:
    """The metastore's schemas with some of them changed in thought, or known already."""

    def __init__(self, below: Schemas, known: Mapping[ViewName, TableSchema | None]) -> None:
        """Put schemas over others."""
        self._below = below
        self.known = dict(known)

    def table(self, database: str, name: str) -> TableSchema | None:
        """The columns of a table or view; see `hive_views.sql.resolver.scopes.Schemas`."""
        key = ViewName(database, name)
        if key in self.known:
            return self.known[key]
        found = self._below.table(database, name)
        self.known[key] = found
        return found


def schemas_of_rows(rows: Mapping[ViewName, Row | None]) -> dict[ViewName, TableSchema | None]:
    """The schemas of rows that were read already, for an `SchemaOverlay`."""
    return {name: None if row is None else table_schema(row) for name, row in rows.items()}
