"""The texts of a view, and their resolution against tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from hive_views.config import RowTextForms
from hive_views.identifiers import ViewName
from hive_views.sql.analysis.references import FunctionReference, may_call_registered_functions, references
from hive_views.sql.analysis.row_text import row_text
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.resolver.scopes import Schemas
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.writing.expand import AuthorContext, Expansion, expand
from hive_views.sql.writing.rename import rename_tables

_HINT = ". Recompile the view to expand its text"

_CALL_WITH_DATABASE = re.compile(r"\.\s*`?\w+`?\s*\(")


@dataclass(frozen=True)
class ViewText:
    """The texts of one view."""

    view: ViewName
    """The view."""
    typed: str
    """The text as the author typed it."""
    dialect: Dialect
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
    ansi: bool = False
    """Whether Spark may read the text in ANSI mode. Views of Hive, and views that record it off, it reads without."""

    def expand_typed(self, schemas: Schemas) -> Expansion:
        """Resolve the typed text, as at creation."""
        return expand(
            self.typed,
            schemas,
            database=self.database,
            dialect=self.dialect,
            author=AuthorContext(
                column_names=self.column_names,
                view_name=self.view.name if self.column_names is not None else None,
                functions=_functions(self.typed, self.dialect),
            ),
        )

    def row_texts(self, expansion: Expansion, schemas: Schemas) -> Iterator[str | None]:
        """Yield the texts that a commit of the expansion of the typed text may write into the row, the plain one first.

        The others are rewritten (`hive-views.explicit-row-text`, `hive-views.row-text-for-trino`), whether or not Trino
        reads the result better: an earlier version of this package may have found so.
        """
        functions = _functions(self.typed, self.dialect)
        if self.dialect is Dialect.TRINO:
            # A row's text is generated only if all catalogs of the typed text are on this metastore.
            local = replace(self, typed=rename_tables(parse_query(self.typed, Dialect.TRINO), _without_catalog))
            expansion = local.expand_typed(schemas)
        for forms in (RowTextForms(*given) for given in product((False, True), repeat=2)):
            text = row_text(
                self.dialect,
                expansion,
                schemas,
                database=self.database,
                functions=functions,
                forms=forms,
                is_compared=False,
            )
            yield None if text is None else text.sql

    def expand_stored(self, schemas: Schemas) -> Expansion:
        """Resolve the text in the row, which readers of the row run."""
        if self.expanded is None:
            return self.expand_typed(schemas)
        # The row's text is generated from the author's text, so it has functions and literals of the author's dialect.
        dialect = self.dialect.of_row
        functions = _functions(self.expanded, dialect)
        return expand(
            self.expanded, schemas, database=self.database, dialect=dialect, author=AuthorContext(functions=functions)
        )

    def unexpanded_reason(self, expansion: Expansion, schemas: Schemas) -> str | None:
        """Return why the meaning of the row's text depends on its reader, given its expansion; None if it does not."""
        if self.has_hive_text is None:
            return None
        if not self.has_hive_text:
            hint = _HINT if next(self.row_texts(expansion, schemas)) is not None else ", which they cannot read"
            return f"it has no text for Hive and plain Spark: its row has the {self.dialect} text as it was typed{hint}"
        stored = self.typed if self.expanded is None else self.expanded
        named = references(expansion.resolution.query).tables
        unqualified = [table.parts[-1] for table in named if len(table.parts) == 1]
        if unqualified:
            names = ", ".join(dict.fromkeys(unqualified))
            return f"its text for Hive and plain Spark has names without a database: {names}{_HINT}"
        if expansion.stored != stored:
            return f"its text for Hive and plain Spark has a star, and they bind columns by position{_HINT}"
        return None


def _without_catalog(parts: tuple[str, ...]) -> tuple[str, ...] | None:
    return parts[-2:] if len(parts) > 2 else None


def qualified_functions(sql: str, dialect: Dialect) -> tuple[FunctionReference, ...]:
    """Return the functions that a text calls by database and name; raises SqlError if it cannot be parsed."""
    if not _CALL_WITH_DATABASE.search(sql):
        return ()
    return tuple(item for item in references(parse_query(sql, dialect)).functions if item.qualified)


def _functions(sql: str, dialect: Dialect) -> dict[str, str]:
    """Return the user-defined functions that a stored text calls; they existed when the text was stored."""
    if not (may_call_registered_functions(sql) if dialect == Dialect.HIVE else _CALL_WITH_DATABASE.search(sql)):
        return {}
    return {
        function.name.lower(): "udf"
        for function in references(parse_query(sql, dialect)).functions
        if function.registered and (dialect == Dialect.HIVE or function.qualified)
    }
