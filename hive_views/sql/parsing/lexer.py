"""SQL text as tokens: tokenizers and parsers of the dialects, identifier quotes, and positions in a text."""

from __future__ import annotations

import threading
from functools import cache
from itertools import count
from operator import attrgetter

import sqlglot
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer

from hive_views.errors import SqlError
from hive_views.sql.parsing.spark_lexer import blank_comments

IDENTIFIER_QUOTES = {"hive": "`", "spark": "`", "trino": '"'}
"""The identifier quote of each dialect."""


@cache
def dialect_of(name: str) -> Dialect:
    """Return sqlglot's dialect for one of the dialect names."""
    if name not in IDENTIFIER_QUOTES:
        raise SqlError(f"Unknown SQL dialect {name!r}: choose one of {', '.join(IDENTIFIER_QUOTES)}", name=name)
    return sqlglot.Dialect.get_or_raise(name)


class _ThreadCache(threading.local):
    """One tokenizer and one parser per thread and dialect: to create them costs as much as to read a short text."""

    def __init__(self) -> None:
        self.tokenizers: dict[str, Tokenizer] = {}
        self.parsers: dict[str, Parser] = {}


_THREAD_CACHE = _ThreadCache()


def tokenizer_of(name: str) -> Tokenizer:
    """Return this thread's tokenizer of a dialect."""
    tokenizer = _THREAD_CACHE.tokenizers.get(name)
    if tokenizer is None:
        tokenizer = _THREAD_CACHE.tokenizers[name] = dialect_of(name).tokenizer()
    return tokenizer


def parser_of(name: str) -> Parser:
    """Return this thread's parser of a dialect; it stops at the first error."""
    parser = _THREAD_CACHE.parsers.get(name)
    if parser is None:
        parser = _THREAD_CACHE.parsers[name] = dialect_of(name).parser(error_level=ErrorLevel.IMMEDIATE)
    return parser


class Text:
    """A SQL text and its tokens.

    Args:
        sql: The text.
        dialect: `hive`, `spark` or `trino`.
        whole: The text that the user gave, where `sql` is a part of it: errors point into this one.
        offset: Where `sql` begins in `whole`, in characters.

    Raises:
        SqlError: If the text cannot be split into tokens.
    """

    def __init__(self, sql: str, dialect: str, *, whole: str | None = None, offset: int = 0) -> None:
        self.sql = sql
        self.dialect = dialect
        self.quote = IDENTIFIER_QUOTES.get(dialect, "`")
        self.whole = sql if whole is None else whole
        self.offset = offset
        try:
            readable = blank_comments(sql) if dialect == "spark" else sql
            self.tokens: list[Token] = tokenizer_of(dialect).tokenize(readable)
        except SqlglotError as error:
            raise self.error(f"Cannot read the text: {_reason(error)}", len(sql) - 1) from error
        except (ValueError, IndexError, RecursionError, OverflowError) as error:
            raise self.error(f"Cannot read the text: {error}", 0) from error
        self.kinds: list[TokenType] = list(map(_KIND, self.tokens))
        self.kind_set = frozenset(self.kinds)
        """The token types that occur, to skip searches for others."""
        self.lower = sql.lower()
        """The text in lower case, to skip searches for words that do not occur."""
        self.starts: dict[int, int] = dict(zip(map(_START, self.tokens), count()))
        """Token index by the character where the token starts."""
        self._match: dict[int, int] | None = None
        self._enclosing: list[int] | None = None

    @property
    def match(self) -> dict[int, int]:
        """The token index of the partner of each parenthesis or bracket, in both directions."""
        if self._match is not None:
            return self._match
        partners: dict[int, int] = {}
        opened: list[int] = []
        for index, kind in enumerate(self.kinds):
            if kind in _OPENING:
                opened.append(index)
            elif kind in _CLOSING and opened:
                partner = opened.pop()
                partners[index] = partner
                partners[partner] = index
        self._match = partners
        return partners

    def enclosing(self, index: int) -> int:
        """Return the index of the parenthesis or bracket around a token; -1 where there is none."""
        if self._enclosing is None:
            self._enclosing = [-1] * len(self.kinds)
            opened = [-1]
            for position, kind in enumerate(self.kinds):
                if kind in _CLOSING and len(opened) > 1:
                    opened.pop()
                self._enclosing[position] = opened[-1]
                if kind in _OPENING:
                    opened.append(position)
        return self._enclosing[index]

    def raw(self, index: int) -> str:
        """Return a token as written, including quotes."""
        token = self.tokens[index]
        return self.sql[token.start : token.end + 1]

    def between(self, first: int, last: int) -> str:
        """Return the text from one token to another, both included."""
        return self.sql[self.tokens[first].start : self.tokens[last].end + 1]

    def position(self, start: int | None) -> tuple[int | None, int | None]:
        """Return line and column, from 1, of a character of `sql` in the text that the user gave."""
        if start is None:
            return None, None
        return line_and_column(self.whole, min(max(start + self.offset, 0), len(self.whole)))

    def error(self, reason: str, start: int | None, name: str | None = None) -> SqlError:
        """Return an error that points at a character of the text."""
        line, column = self.position(start)
        return SqlError(reason, line=line, column=column, name=name)


def unquote_identifier(raw: str) -> str:
    """Return an identifier without its quotes; doubled quotes inside become single ones."""
    if len(raw) >= 2 and raw[0] == raw[-1] and raw[0] in '`"':
        return raw[1:-1].replace(raw[0] * 2, raw[0])
    return raw


def line_and_column(sql: str, start: int) -> tuple[int, int]:
    """Return line and column, both from 1, of a character."""
    line_start = sql.rfind("\n", 0, start) + 1
    return sql.count("\n", 0, start) + 1, start - line_start + 1


def error_at(sql: str, start: int, reason: str, name: str | None = None) -> SqlError:
    """Return an error that points at a character of a text."""
    line, column = line_and_column(sql, start)
    return SqlError(reason, line=line, column=column, name=name)


_START = attrgetter("start")
_KIND = attrgetter("token_type")
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})


def _reason(error: Exception) -> str:
    """Return sqlglot's message without the marked-up excerpt of the text."""
    message = str(error).split("\n", 1)[0]
    return message.replace("\033[4m", "").replace("\033[0m", "")[:300]
