"""Texts that other engines read as the author's engine does.

A view holds the *stored* text in its author's dialect and, for the readers of the metastore's row (Hive, plain Spark,
Trino's Hive connector), the *expanded* text in dialect `hive`. The functions here rewrite only what these readers would
read in another way; nothing is translated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot.tokenizer_core import Token, TokenType

from hive_views.errors import SqlError
from hive_views.sql.parsing.lexer import Text, unquote_identifier
from hive_views.sql.parsing.spark_lexer import portable_comments
from hive_views.sql.resolver.scopes import Schemas
from hive_views.sql.rewriting.expand import Expansion, expand
from hive_views.sql.rewriting.quoting import quote_identifier

NO_SUBSTITUTION = {"spark": "SET spark.sql.variable.substitute=false", "hive": "SET hive.variable.substitute=false"}
"""The statements that keep Spark and Hive from replacing `${name}` before they read a text."""
_RAW_STRING = re.compile("[rR]['\"]")
_STRINGS = (TokenType.STRING, TokenType.RAW_STRING)


def hive_text(
    dialect: str,
    expansion: Expansion,
    schemas: Schemas,
    *,
    database: str,
    functions: Mapping[str, str] | None = None,
) -> str | None:
    """Return the expanded text for the readers of the metastore's row; None for a Trino text that is not Hive SQL.

    These readers take a Spark text after `portable_text`. A Trino text must be valid Hive SQL once its names are in
    backticks, since a translation may change the meaning.
    """
    if dialect != "trino":
        return portable_text(expansion.expanded, dialect)
    try:
        requoted = portable_text(requote_trino_text(expansion.expanded), "hive")
        hive_expansion = expand(requoted, schemas, database=database, dialect="hive", functions=functions)
    except SqlError:
        return None
    return hive_expansion.expanded if hive_expansion.names == expansion.names else None


def portable_text(sql: str, dialect: str) -> str:
    """Rewrite strings and comments of a Spark or Hive text so that both engines read what the author's engine reads.

    Measured on Spark 4.1.4 and Hive 2.3.10: a doubled quote inside a string is a quote to Spark; to Hive it ends one
    string and begins the next one, which is concatenated. Raw strings are Spark's alone. Both engines agree on
    backslashes in front of quotes and backslashes, and on strings separated by a space. Iceberg's Spark catalog
    replaces `${name}` by a setting of the reader's session; with a backslash after the dollar sign the string has the
    same value and is left alone. Comments end where the author's engine ends them (see `portable_comments`).
    """
    sql = portable_comments(sql, dialect)
    if "''" not in sql and '""' not in sql and "${" not in sql and not _RAW_STRING.search(sql):
        return sql
    text = Text(sql, dialect)
    pieces: list[str] = []
    at = 0
    for index, token in enumerate(text.tokens):
        raw = sql[token.start : token.end + 1]
        previous = text.tokens[index - 1] if index else token
        kinds = {previous.token_type, token.token_type}
        # Where one of two adjacent strings is raw, a space keeps their quotes apart after the rewrite.
        separator = " " if index and _are_adjacent(previous, token) and TokenType.RAW_STRING in kinds else ""
        if token.token_type is TokenType.RAW_STRING:
            pieces.append(sql[at : token.start] + separator + _escape_raw_string(raw))
            at = token.end + 1
        elif separator:
            pieces.append(sql[at : token.start] + separator)
            at = token.start
        elif kinds == {TokenType.STRING} and previous.end + 1 == token.start and sql[previous.end] == raw[0]:
            pieces.append(sql[at : previous.end] + ("\\" + raw[0] if dialect == "spark" else f"{raw[0]} {raw[0]}"))
            at = token.start + 1
    return escape_variables("".join([*pieces, sql[at:]]), dialect)


def escape_variables(sql: str, dialect: str) -> str:
    """Rewrite the strings of a text so that Spark and Hive find no `${name}` in them to substitute."""
    if dialect == "trino" or "${" not in sql:
        return sql
    pieces: list[str] = []
    at = 0
    tokens = Text(sql, dialect).tokens
    for index, token in enumerate(tokens):
        raw = sql[token.start : token.end + 1]
        if "${" not in raw or token.token_type not in _STRINGS:
            continue
        escaped = raw.replace("${", "$\\{")
        if token.token_type is TokenType.RAW_STRING:
            before = " " if index and _are_adjacent(tokens[index - 1], token) else ""
            after = " " if index + 1 < len(tokens) and _are_adjacent(token, tokens[index + 1]) else ""
            escaped = before + _escape_raw_string(raw) + after
        pieces += (sql[at : token.start], escaped)
        at = token.end + 1
    return "".join([*pieces, sql[at:]])


def _are_adjacent(first: Token, second: Token) -> bool:
    """Whether two tokens are strings with nothing between them."""
    return first.end + 1 == second.start and first.token_type in _STRINGS and second.token_type in _STRINGS


def _escape_raw_string(raw: str) -> str:
    """Write a raw string of Spark as a string with backslashes."""
    return raw[1] + raw[2:-1].replace("\\", "\\\\").replace("${", "$\\{") + raw[1]


def requote_trino_text(sql: str) -> str:
    """Put the quoted names of a Trino text into backticks; refuse strings that Hive would read in another way."""
    text = Text(sql, "trino")
    pieces: list[str] = []
    at = 0
    for token in text.tokens:
        raw = sql[token.start : token.end + 1]
        if token.token_type is TokenType.STRING and ("\\" in raw or "''" in raw[1:-1]):
            raise text.error("A string with a backslash or a quote has another value in Hive", token.start)
        if token.token_type is not TokenType.STRING and raw.endswith("'"):
            raise text.error(f"Hive cannot read {raw[:20]}", token.start)  # U&'…' and X'…'
        if raw.startswith('"'):
            pieces += (sql[at : token.start], quote_identifier(unquote_identifier(raw)))
            at = token.end + 1
    pieces.append(sql[at:])
    return "".join(pieces)
