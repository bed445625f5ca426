"""The tables, views and functions that a query names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.parsing.builtin_functions import HIVE_FUNCTIONS, SPARK_FUNCTIONS
from hive_views.sql.parsing.hive_grammar import PARSED_ELSEWHERE, RESERVED
from hive_views.sql.parsing.lexer import unquote_identifier
from hive_views.sql.parsing.parser import ParsedQuery, parse_query
from hive_views.sql.parsing.syntax_tree import function_token, table_nodes


@dataclass(frozen=True)
class TableReference:
    """A table or view that a text names.

    Attributes:
        parts: The name as written, without quotes: `table`, `database.table` or `catalog.database.table`.
        start: Where the name begins in the text, in characters.
    """

    parts: tuple[str, ...]
    start: int = field(compare=False, default=0)

    def resolved(self, database: str) -> tuple[str, str]:
        """Return database and table in lower case, under a current database."""
        return (self.parts[-2].lower() if len(self.parts) > 1 else database.lower(), self.parts[-1].lower())

    @property
    def catalog(self) -> str | None:
        """The catalog in front of the name, if there is one."""
        return self.parts[0] if len(self.parts) > 2 else None


@dataclass(frozen=True)
class FunctionReference:
    """A function that a text calls.

    Attributes:
        name: The name as written, without quotes.
        registered: Whether it is a registered function, not one that the engine has built in.
        start: Where the name begins in the text, in characters.
    """

    name: str
    registered: bool
    start: int = field(compare=False, default=0)


@dataclass(frozen=True)
class References:
    """What a text names: each name once, in the order of first occurrence."""

    tables: tuple[TableReference, ...]
    functions: tuple[FunctionReference, ...]


def references(query: str | ParsedQuery, dialect: str = "hive") -> References:
    """Find the tables, views and functions that a query names; no schemas are needed.

    A common table expression is not reported where it is in scope.

    Args:
        query: The query's text, or the parsed query.
        dialect: `hive`, `spark` or `trino`; a parsed query has its own.

    Raises:
        SqlError: If the text cannot be read.
    """
    if isinstance(query, str):
        query = parse_query(query, dialect)
    tables: dict[tuple[str, ...], TableReference] = {}
    for table in table_nodes(query.tree):
        parts = tuple(part.name for part in table.parts)
        start = table.parts[0]._meta["start"] if table.parts[0]._meta else 0
        name = tuple(part.lower() for part in parts)
        if name not in tables or start < tables[name].start:
            tables[name] = TableReference(parts, start)
    functions: dict[str, FunctionReference] = {}
    for function in _function_calls(query):
        functions.setdefault(function.name.lower(), function)
    return References(
        tuple(sorted(tables.values(), key=lambda item: item.start)),
        tuple(sorted(functions.values(), key=lambda item: item.start)),
    )


def _function_calls(query: ParsedQuery) -> Iterator[FunctionReference]:
    """Yield the function calls of a query in order.

    The tree excludes the names of tables, aliases and types. All other calls are found by their tokens, since the
    parser turns some calls into operators, and renames functions that it knows from other engines.
    """
    text, tokens = query.text, query.text.tokens
    identifiers = {
        text.starts.get(node._meta["start"])
        for node in query.tree.find_all(exp.Identifier)
        if node._meta and not isinstance(node.parent, exp.Anonymous)
    }
    called = {function_token(text, node): isinstance(node, exp.Anonymous) for node in query.tree.find_all(exp.Func)}
    for index, token in enumerate(tokens):
        if index in identifiers:
            continue
        name = unquote_identifier(text.raw(index))
        lower = name.lower()
        is_followed = index + 1 < len(tokens) and tokens[index + 1].token_type is TokenType.L_PAREN
        is_word = token.token_type is TokenType.VAR and lower not in RESERVED
        if index not in called and not (is_followed and is_word):
            continue
        if name and (name[0].isalpha() or name[0] == "_"):
            built_in = lower in _HIVE_NAMES or (text.dialect != "hive" and lower in SPARK_FUNCTIONS)
            if text.dialect == "trino":
                built_in = built_in or not called.get(index, True)
            yield FunctionReference(name, not built_in, token.start)


_HIVE_NAMES = HIVE_FUNCTIONS | PARSED_ELSEWHERE
