"""Which text of a view serves which engine, and which texts a view has to hold.

A view holds the *stored* text in its author's dialect, and for the readers of the metastore's row (Hive, plain Spark,
Trino's Hive connector) the *expanded* text in dialect `hive`. See the project's design notes on the row of a view.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from hive_views.errors import SqlError
from hive_views.sql.parsing.lexer import Text, unquote_identifier
from hive_views.sql.parsing.spark_lexer import portable_comments
from hive_views.sql.resolver.scopes import Schemas
from hive_views.sql.rewriting.expand import Expansion, expand
from hive_views.sql.rewriting.quoting import quote_identifier

READERS: dict[str, tuple[str, ...]] = {
    "iceberg-spark": ("spark", "hive", "trino"),
    "spark": ("hive",),
    "hive": ("hive",),
    "trino-hive": ("hive",),
    "trino-iceberg": ("trino",),
}
"""For each engine the dialects whose text it takes, the one that it prefers first.

Iceberg's Spark catalog runs the first text, whatever its dialect, where there is none of dialect `spark`; the readers
of the metastore's row all read the expanded text, which is the one of dialect `hive`.
"""


NO_SUBSTITUTION = {
    "spark": "SET spark.sql.variable.substitute=false",
    "hive": "SET hive.variable.substitute=false",
}
"""What keeps an engine from putting values in place of `${name}` before it reads a text."""
_RAW = re.compile("[rR]['\"]")
_STRINGS = (TokenType.STRING, TokenType.RAW_STRING)


@dataclass(frozen=True)
class Representation:
    """One text of a view; `generated` says that we made it from the author's."""

    dialect: str
    sql: str
    generated: bool = False


def representations(dialect: str, expansion: Expansion, hive: str | None = None) -> tuple[Representation, ...]:
    """The texts that a view holds."""
    if dialect == "hive":
        return (Representation("hive", expansion.expanded),)
    own = Representation(dialect, expansion.stored)
    return (own,) if hive is None else (own, Representation("hive", hive, generated=True))


def text_for(engine: str, texts: Mapping[str, str]) -> tuple[str, str] | None:
    """The text that an engine reads."""
    if engine not in READERS:
        raise ValueError(f"Unknown engine {engine!r}: choose one of {', '.join(READERS)}")
    return next(((dialect, texts[dialect]) for dialect in READERS[engine] if dialect in texts), None)


def hive_text(
    dialect: str,
    expansion: Expansion,
    schemas: Schemas,
    *,
    database: str,
    functions: Mapping[str, str] | None = None,
) -> str | None:
    """The expanded text for the readers of the metastore's row.

    A Spark text is one that these readers take, strings apart (see `portable_text`). A Trino text is only given to them
    if it is Hive's language too once its names are quoted with backticks: nothing is translated, since a translation
    may mean something else.
    """
    if dialect != "trino":
        return portable_text(expansion.expanded, dialect)
    try:
        quoted = portable_text(requote_trino_text(expansion.expanded), "hive")
        again = expand(quoted, schemas, database=database, dialect="hive", functions=functions)
    except SqlError:
        return None
    return again.expanded if again.names == expansion.names else None


def portable_text(sql: str, dialect: str) -> str:
    """A text of Spark's or Hive's that both read as its author's engine does; all but its strings stays to the letter.

    Measured on Spark 4.1.4 and Hive 2.3.10: a quote that is doubled inside a string is a quote to Spark; to Hive it is
    the end of the string, and another string that belongs to it. Raw strings are Spark's alone. Both read backslashes
    in front of quotes and backslashes, and strings with a space between them, alike. For `${name}` Iceberg's Spark
    catalog puts in a setting of whoever reads; with a backslash behind the dollar sign it is the same string, and
    left alone. Comments are made to end where the author's engine ends them (see `portable_comments`).
    """
    sql = portable_comments(sql, dialect)
    if "''" not in sql and '""' not in sql and "${" not in sql and not _RAW.search(sql):
        return sql
    text = Text(sql, dialect)
    pieces: list[str] = []
    at = 0
    for index, token in enumerate(text.tokens):
        raw = sql[token.start : token.end + 1]
        before = text.tokens[index - 1] if index else token
        kinds = {before.token_type, token.token_type}
        strings = kinds == {TokenType.STRING}
        # Where one of two strings is raw, their quotes would be one in a string once it is written in another way.
        apart = " " if index and _touch(before, token) and TokenType.RAW_STRING in kinds else ""
        if token.token_type is TokenType.RAW_STRING:
            pieces.append(sql[at : token.start] + apart + _cooked(raw))
            at = token.end + 1
        elif apart:
            pieces.append(sql[at : token.start] + apart)
            at = token.start
        elif strings and before.end + 1 == token.start and sql[before.end] == raw[0]:
            between = "\\" + raw[0] if dialect == "spark" else f"{raw[0]} {raw[0]}"
            pieces.append(sql[at : before.end] + between)
            at = token.start + 1
    return escape_variables("".join([*pieces, sql[at:]]), dialect)


def escape_variables(sql: str, dialect: str) -> str:
    """A text in whose strings Spark and Hive see no `${name}` to put a value for; the rest stays to the letter."""
    if dialect == "trino" or "${" not in sql:
        return sql
    pieces: list[str] = []
    at = 0
    tokens = Text(sql, dialect).tokens
    for index, token in enumerate(tokens):
        raw = sql[token.start : token.end + 1]
        if "${" not in raw or token.token_type not in _STRINGS:
            continue
        written = raw.replace("${", "$\\{")
        if token.token_type is TokenType.RAW_STRING:
            before = " " if index and _touch(tokens[index - 1], token) else ""
            behind = " " if index + 1 < len(tokens) and _touch(token, tokens[index + 1]) else ""
            written = before + _cooked(raw) + behind
        pieces += (sql[at : token.start], written)
        at = token.end + 1
    return "".join([*pieces, sql[at:]])


def string_literal(value: str, dialect: str) -> str:
    """A string literal: with Hive's and Spark's backslashes, or Trino's doubled quotes."""
    if dialect == "trino":
        return "'" + value.replace("'", "''") + "'"
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("${", "$\\{") + "'"


def _touch(one: Token, other: Token) -> bool:
    """Whether two tokens are strings with nothing between them."""
    return one.end + 1 == other.start and one.token_type in _STRINGS and other.token_type in _STRINGS


def _cooked(raw: str) -> str:
    """A raw string of Spark's as one with backslashes."""
    return raw[1] + raw[2:-1].replace("\\", "\\\\").replace("${", "$\\{") + raw[1]


def requote_trino_text(sql: str) -> str:
    """A Trino text with its quoted names in backticks; the rest stays to the letter."""
    text = Text(sql, "trino")
    pieces: list[str] = []
    at = 0
    for token in text.tokens:
        raw = sql[token.start : token.end + 1]
        if token.token_type is TokenType.STRING and ("\\" in raw or "''" in raw[1:-1]):
            raise text.error("A string with a backslash or a quote means something else in Hive", token.start)
        if token.token_type is not TokenType.STRING and raw.endswith("'"):
            raise text.error(f"Hive does not know {raw[:20]}", token.start)  # U&'…' and X'…'
        if raw.startswith('"'):
            pieces.append(sql[at : token.start])
            pieces.append(quote_identifier(unquote_identifier(raw)))
            at = token.end + 1
    pieces.append(sql[at:])
    return "".join(pieces)
