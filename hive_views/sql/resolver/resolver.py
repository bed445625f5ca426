"""The entry to the resolver: resolves every name of a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from hive_views.sql.hive_exact.mode import HIVE_EXACT
from hive_views.sql.parsing.lexer import Text
from hive_views.sql.parsing.parser import ParsedQuery
from hive_views.sql.resolver import expressions, names
from hive_views.sql.resolver.context import ResolutionContext
from hive_views.sql.resolver.dialects import DIALECTS
from hive_views.sql.resolver.portable import PORTABLE
from hive_views.sql.resolver.queries import resolve_query
from hive_views.sql.resolver.scopes import Schemas, Scope, ScopeColumn
from hive_views.sql.resolver.sources import resolve_cte
from hive_views.sql.resolver.stars import write_expanded_stars

_HANDLERS = {**names.HANDLERS, **expressions.HANDLERS}


@dataclass(slots=True)
class Resolution:
    """A query whose names are resolved."""

    text: Text
    tree: exp.Expr
    scope: Scope
    context: ResolutionContext

    @property
    def columns(self) -> list[tuple[str, ScopeColumn]]:
        """The name and the column of each column of the result."""
        return [(self.scope.names[column][1], column) for column in self.scope.columns]


def resolve(
    query: ParsedQuery,
    schemas: Schemas,
    database: str,
    *,
    exact: bool = False,
    functions: Mapping[str, str] | None = None,
    conf: Mapping[str, str] | None = None,
) -> Resolution:
    """Resolve every name of a query.

    Args:
        query: The query.
        schemas: The tables and views, which are looked up lazily.
        database: The current database.
        exact: Whether names are resolved and written exactly as Hive 4.1 does it, its faults included.
        functions: The kind (`udf`, `udaf`, `udtf` or `macro`) of each registered function, by name in lower case.
        conf: Hive's settings.

    Raises:
        SqlError: A name cannot be resolved.
    """
    text, tree = query.text, query.tree
    context = ResolutionContext(
        text,
        tree,
        schemas,
        database.lower(),
        dialect=DIALECTS[text.dialect],
        mode=HIVE_EXACT if exact else PORTABLE,
        handlers=_HANDLERS,
        resolve_query=resolve_query,
        functions=functions or {},
        conf=conf or {},
    )
    scope = resolve_query(context, tree, {})
    if context.mode.resolves_all_names:
        for definition in context.cte_definitions:
            resolve_cte(context, definition, definition.level)
    write_expanded_stars(context)
    return Resolution(text, tree, scope, context)
