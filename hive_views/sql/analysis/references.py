"""What a query reads: tables, views, columns and functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.parsing.builtin_functions import HIVE_FUNCTIONS, SPARK_FUNCTIONS
from hive_views.sql.parsing.hive_grammar import PARSED_ELSEWHERE, RESERVED
from hive_views.sql.parsing.lexer import Text, unquote_identifier
from hive_views.sql.parsing.parser import ParsedQuery, parse_query
from hive_views.sql.parsing.syntax_tree import function_token, table_nodes


@dataclass(frozen=True)
class TableReference:
    """A table or view that a text names.

    Attributes:
        parts: The name as it is written, without quotes: `table`, `database.table` or `catalog.database.table`.
        start: Where it stands in the text, in characters.
    """

    parts: tuple[str, ...]
    start: int = field(compare=False, default=0)

    def resolved(self, database: str) -> tuple[str, str]:
        """Database and table in lower case, under a current database."""
        return (self.parts[-2].lower() if len(self.parts) > 1 else database.lower(), self.parts[-1].lower())

    @property
    def catalog(self) -> str | None:
        """The catalog that is written in front, if there is one."""
        return self.parts[0] if len(self.parts) > 2 else None


@dataclass(frozen=True)
class FunctionReference:
    """A function that a text calls: its name as it is written, and whether it is not one of the engine's own."""

    name: str
    registered: bool
    start: int = field(compare=False, default=0)


@dataclass(frozen=True)
class References:
    """What a text reads, each name once, in the order of its first place."""

    tables: tuple[TableReference, ...]
    functions: tuple[FunctionReference, ...]


def references(query: str | ParsedQuery, dialect: str = "hive") -> References:
    """The tables, views and functions that a query names; no schema is needed.

    Names of common table expressions are no tables where they are in scope.
    """
    if isinstance(query, str):
        query = parse_query(query, dialect)
    text, tree = query.text, query.tree
    tables: dict[tuple[str, ...], TableReference] = {}
    for table in table_nodes(tree):
        parts = tuple(part.name for part in table.parts)
        start = table.parts[0]._meta["start"] if table.parts[0]._meta else 0
        name = tuple(part.lower() for part in parts)
        if name not in tables or start < tables[name].start:
            tables[name] = TableReference(parts, start)
    calls: dict[str, FunctionReference] = {}
    for found in _functions(text, tree):
        calls.setdefault(found.name.lower(), found)
    return References(
        tuple(sorted(tables.values(), key=lambda item: item.start)),
        tuple(sorted(calls.values(), key=lambda item: item.start)),
    )


def _functions(text: Text, tree: exp.Expr) -> Iterator[FunctionReference]:
    """The calls of a text, in their order.

    The tree tells which names are none (of tables, aliases and types); the tokens tell all others, since the parser
    reads some calls as operators, and functions of other engines under other names.
    """
    tokens = text.tokens
    named = {
        text.starts.get(node._meta["start"])
        for node in tree.find_all(exp.Identifier)
        if node._meta and not isinstance(node.parent, exp.Anonymous)
    }
    called = {function_token(text, node): isinstance(node, exp.Anonymous) for node in tree.find_all(exp.Func)}
    for index, token in enumerate(tokens):
        if index in named:
            continue
        written = unquote_identifier(text.raw(index))
        lower = written.lower()
        followed = index + 1 < len(tokens) and tokens[index + 1].token_type is TokenType.L_PAREN
        word = token.token_type is TokenType.VAR and lower not in RESERVED
        if index not in called and not (followed and word):
            continue
        if written and (written[0].isalpha() or written[0] == "_"):
            own = lower in _BUILT_IN or (text.dialect != "hive" and lower in SPARK_FUNCTIONS)
            if text.dialect == "trino":
                own = own or not called.get(index, True)
            yield FunctionReference(written, not own, token.start)


_BUILT_IN = HIVE_FUNCTIONS | PARSED_ELSEWHERE
