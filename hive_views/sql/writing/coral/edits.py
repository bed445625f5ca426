"""Edits of an expanded text, and the token ranges of its clauses and expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.parsing.syntax_tree import (
    function_token,
)
from hive_views.sql.resolver.resolved import ResolvedQuery
from hive_views.sql.text.tokens import Text
from hive_views.sql.types.hive_types import INTEGERS

Edit = tuple[int, int, str]
"""The first and last token of a range, and the text that replaces it. Of overlapping ranges the widest is applied."""
Rule = Callable[[ResolvedQuery], Iterator[Edit]]
"""Yields edits that belong together. A rule is repeated as long as it yields any."""


_CLAUSES = frozenset(
    {
        *(TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.CLUSTER_BY),
        *(TokenType.SORT_BY, TokenType.DISTRIBUTE_BY, TokenType.LIMIT, TokenType.UNION, TokenType.INTERSECT),
        *(TokenType.EXCEPT, TokenType.WINDOW, TokenType.QUALIFY, TokenType.OFFSET, TokenType.LATERAL),
    }
)
"""The tokens that begin a clause after FROM."""
_LIST_ENDS = frozenset({TokenType.FROM, *_CLAUSES})


def clause_end(text: Text, index: int) -> int:
    """Return the last token before the next clause of a query block, from a token of the block."""
    outer = text.enclosing[index]
    end = text.match[outer] if outer >= 0 else len(text.tokens)
    for at in range(index + 1, end):
        if text.kinds[at] in _CLAUSES and text.enclosing[at] == outer:
            return at - 1
    return end - 1


def call_tokens(text: Text, node: exp.Expr) -> tuple[int, int] | None:
    """Return the tokens of a function call, from its name to its parenthesis."""
    name = function_token(text, node)
    return None if name is None or name + 1 not in text.match else (name, text.match[name + 1])


def source_tokens(text: Text, node: exp.Expr) -> tuple[int, int] | None:
    """Return the tokens of an element of FROM with its alias; None if it is not a plain table or derived table."""
    alias = node.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
        return None
    name = None if alias is None else text.token_of(alias.this)
    extra = {key for key, value in node.args.items() if value} - {"this", "db", "catalog", "alias"}
    if extra:
        return None
    if isinstance(node, exp.Table):
        parts = [text.token_of(part) for part in node.parts]
        known = [part for part in parts if part is not None]
        return (known[0], known[-1] if name is None else name) if len(known) == len(parts) else None
    if isinstance(node, exp.Subquery) and name is not None:
        close = name - 2 if text.kinds[name - 1] is TokenType.ALIAS else name - 1
        return (text.match[close], name) if text.kinds[close] is TokenType.R_PAREN else None
    return None


def unused_name(text: Text, name: str) -> str:
    """Return a name that does not occur in a text."""
    number = 0
    while name in text.lower:
        number += 1
        name = f"{name.rstrip('0123456789')}{number}"
    return name


def has_plain_joins(select: exp.Expr) -> bool:
    """Return whether a block joins tables only: engines differ in where they place lateral views between joins."""
    joins = select.args.get("joins") or []
    return not select.args.get("laterals") and not any(
        isinstance(join.this, (exp.Lateral, exp.Unnest))
        or join.this.args.get("laterals")
        or join.this.args.get("joins")
        for join in joins
    )


def given_parts(node: exp.Expr) -> Iterator[str]:
    """Yield the names of the arguments of a node that are set."""
    return (key for key, value in node.args.items() if value)


def from_token(text: Text, index: int, level: int, *, before: bool = False) -> int | None:
    """Return the next FROM inside a pair of parentheses after a token, or the last one before it; None without one."""
    positions = range(index, -1, -1) if before else range(index, len(text.tokens))
    return next((at for at in positions if text.kinds[at] is TokenType.FROM and text.enclosing[at] == level), None)


def foreign_columns(query: exp.Expr) -> Iterator[exp.Column]:
    """Yield the columns in a query that belong to outer tables; all columns of an expanded text are qualified."""
    aliases = {source.alias_or_name.lower() for source in query.find_all(exp.Table, exp.Subquery, exp.Lateral)}
    for column in query.find_all(exp.Column):
        if len(column.parts) == 1 or column.parts[0].name.lower() not in aliases:
            yield column


GROUPED_TYPES = frozenset({*INTEGERS, "string", "boolean", "date", "decimal"})
"""The types whose equal values are identical."""
