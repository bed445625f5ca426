"""A query's names resolved: the entry to the resolver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.parsing.builtin_functions import HIVE_PARTITIONED_FUNCTIONS, may_call_partitioned_function
from hive_views.sql.parsing.lexer import Text
from hive_views.sql.parsing.parser import ParsedQuery
from hive_views.sql.resolver.context import State
from hive_views.sql.resolver.queries import Blocks
from hive_views.sql.resolver.scopes import Column, Schemas, Scope


@dataclass(slots=True)
class Resolution:
    """What is known about a query after its names were looked up."""

    text: Text
    tree: exp.Expr
    scope: Scope
    state: State
    resolver: Blocks

    @property
    def columns(self) -> list[tuple[str, Column]]:
        """Name and column of each column of the result."""
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
    """Look up every name of a query."""
    text, tree = query.text, query.tree
    state = State(
        text,
        schemas,
        database.lower(),
        exact=exact,
        cbo=not (exact and _without_cbo(text, tree)),
        functions=functions or {},
        conf=conf or {},
    )
    resolver = Blocks(state)
    scope = resolver.query(tree, {}, level=0)
    if not exact:
        for definition in resolver.definitions:
            resolver.cte(definition, definition.level)
        resolver.finish()
    return Resolution(text, tree, scope, state, resolver)


def _without_cbo(text: Text, tree: exp.Expr) -> bool:
    """Whether Hive plans the query without its cost based optimizer, whose rules for ORDER BY are other ones."""
    lower = text.lower
    if "tablesample" in lower and any(token.token_type is TokenType.TABLE_SAMPLE for token in text.tokens):
        return True
    if may_call_partitioned_function(lower) and any(name in lower for name in HIVE_PARTITIONED_FUNCTIONS):
        return True
    if "using" in lower and tree.find(exp.QueryTransform) is not None:
        return True
    return "outer" in lower and any(lateral.args.get("outer") for lateral in tree.find_all(exp.Lateral))
