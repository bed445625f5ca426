"""SQL text as tokens: tokenizers and parsers of the dialects, identifier quotes, and positions in a text."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import count
from operator import attrgetter
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer

from hive_views.errors import SqlError

IDENTIFIER_QUOTES = {"hive": "`", "spark": "`", "trino": '"'}
"""The identifier quote of each dialect."""


@cache
def dialect_of(name: str) -> Dialect:
    """Return sqlglot's dialect for one of the dialect names."""
    if name not in IDENTIFIER_QUOTES:
        raise SqlError(f"Unknown SQL dialect {name!r}: choose one of {', '.join(IDENTIFIER_QUOTES)}", name=name)
    return sqlglot.Dialect.get_or_raise(name)


class _ThreadCache(threading.local):
    """One tokenizer and one parser per thread and dialect: creating them takes as long as parsing a short text."""

    def __init__(self) -> None:
        self.tokenizer_of = cache(lambda name: dialect_of(name).tokenizer())
        self.parser_of = cache(lambda name: dialect_of(name).parser(error_level=ErrorLevel.IMMEDIATE))


_THREAD_CACHE = _ThreadCache()


def tokenizer_of(name: str) -> Tokenizer:
    """Return this thread's tokenizer of a dialect."""
    return _THREAD_CACHE.tokenizer_of(name)


def parser_of(name: str) -> Parser:
    """Return this thread's parser of a dialect; it stops at the first error."""
    return _THREAD_CACHE.parser_of(name)


class Text:
    """A SQL text and its tokens; `whole` is the text that contains it at `offset`, into which errors point."""

    def __init__(self, sql: str, dialect: str, *, whole: str | None = None, offset: int = 0) -> None:
        self.sql = sql
        self.dialect = dialect
        self.quote = IDENTIFIER_QUOTES.get(dialect, "`")
        self.whole = sql if whole is None else whole
        self.offset = offset
        tokenizer = tokenizer_of(dialect)
        try:
            self.tokens: list[Token] = tokenizer.tokenize(blank_comments(sql) if dialect == "spark" else sql)
        except SqlglotError as error:
            raise self.error(f"Cannot read the text: {_reason(error)}", len(sql) - 1) from error
        except (ValueError, IndexError, RecursionError, OverflowError) as error:
            raise self.error(f"Cannot read the text: {error}", 0) from error
        self.kinds: list[TokenType] = list(map(_KIND, self.tokens))
        self.kind_set = frozenset(self.kinds)
        """The token types that occur in the text, to skip searches for other types."""
        self.lower = sql.lower()
        """The text in lower case, to skip searches for words that do not occur."""
        self.starts: dict[int, int] = dict(zip(map(_START, self.tokens), count()))
        """Token index by the character where the token starts."""
        self.pipe_stars: dict[int, Any] = {}
        """The stars that pipe operators imply (`pipes.PipeStar`), by the position of the token added for each."""
        self.pipe_markers: set[int] = set()
        """The positions of the aliases added for queries under pipe operators."""
        self.added_tokens = 0
        """The number of tokens that are not in the text."""

    @cached_property
    def match(self) -> dict[int, int]:
        """The token index of the partner of each parenthesis or bracket, in both directions."""
        partners: dict[int, int] = {}
        opened: list[int] = []
        for index, kind in enumerate(self.kinds):
            if kind in _OPENING:
                opened.append(index)
            elif kind in _CLOSING and opened:
                partner = opened.pop()
                partners[index] = partner
                partners[partner] = index
        return partners

    @cached_property
    def enclosing(self) -> list[int]:
        """The token index of the parenthesis or bracket around each token; -1 where there is none."""
        enclosing: list[int] = []
        opened = [-1]
        for position, kind in enumerate(self.kinds):
            if kind in _CLOSING and len(opened) > 1:
                opened.pop()
            enclosing.append(opened[-1])
            if kind in _OPENING:
                opened.append(position)
        return enclosing

    def elements(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the first and the last token of each element of a list; commas in parentheses do not separate them."""
        start = index = first
        while index <= last:
            if self.kinds[index] is TokenType.COMMA:
                yield start, index - 1
                start = index + 1
            index = max(self.match.get(index, index), index) + 1
        if start <= last:
            yield start, last

    def count(self, kinds: frozenset[TokenType]) -> int:
        """Return the number of tokens of some types."""
        return sum(map(self.kinds.count, self.kind_set & kinds))

    def token_of(self, node: exp.Expr) -> int | None:
        """Return the index of the first token of a name or call; None if the tree does not contain its position."""
        meta = node._meta
        return self.starts.get(meta["start"]) if meta and "start" in meta else None

    def raw(self, index: int) -> str:
        """Return a token as written, including quotes."""
        token = self.tokens[index]
        return self.sql[token.start : token.end + 1]

    def string_value(self, token: Token) -> str:
        """Return the value of a string literal."""
        return unescape(self.sql[token.start : token.end + 1], self.dialect)

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


_ESCAPES = {"0": "\0", "n": "\n", "r": "\r", "t": "\t", "b": "\b", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile(r"\\u([0-9A-Fa-f]{4})|\\([01][0-7]{2})|\\U(00(?:0[0-9A-Fa-f]|10)[0-9A-Fa-f]{4})|\\(.)", re.DOTALL)


def unescape(raw: str, dialect: str) -> str:
    """Return the value of a string literal: with backslashes in Hive and Spark, doubled quotes in Trino."""
    quote, inner = raw[0], raw[1:-1]
    if dialect == "trino":
        return inner.replace(quote * 2, quote)

    def unescaped(match: re.Match[str]) -> str:
        if match.group(1):
            return chr(int(match.group(1), 16))
        if match.group(2):
            return chr(int(match.group(2), 8))
        if match.group(3):
            return chr(int(match.group(3), 16)) if dialect == "spark" else match.group()[1:]
        return _ESCAPES.get(match.group(4), match.group(4))

    value = _ESCAPED.sub(unescaped, inner)
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _SURROGATE.search(value) else value


def unquote_identifier(raw: str) -> str:
    """Return an identifier without its quotes; doubled quotes inside become single ones."""
    if len(raw) >= 2 and raw[0] == raw[-1] and raw[0] in '`"':
        return raw[1:-1].replace(raw[0] * 2, raw[0])
    return raw


def replace_ranges(sql: str, replacements: Iterable[tuple[int, int, str]]) -> str:
    """Replace ranges of characters, each given by its start, its end (exclusive) and its new text, in order."""
    pieces: list[str] = []
    at = 0
    for start, end, text in replacements:
        pieces += (sql[at:start], text)
        at = end
    return "".join([*pieces, sql[at:]])


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


# -- Tokens of any text, as Spark's lexer splits it (`SqlBaseLexer.g4`, Spark 4.1), and comments in portable form ------
#
# sqlglot reads only texts that are valid SQL. The functions here take any text, because callers examine a text before
# they pass it to Spark.

_LINE_COMMENTS = {True: r"--(?:\\\n|[^\r\n])*", False: r"--[^\r\n]*"}
"""A comment to the end of the line, for Spark (True) and other engines (False): in Spark (SIMPLE_COMMENT) a comment
continues on the next line after a backslash at the end of the line."""
_PIECE = {
    is_spark: re.compile(
        rf"""(?P<space>[\ \t\n\f\r\v\xa0\u1680\u2000-\u200a\u2028\u202f\u205f\u3000]+)
        |(?P<comment>{comment})
        |(?P<opened>/\*(?!\+))
        |(?P<string>[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
        |(?P<quoted>`(?:[^`]|``)*`)
        |(?P<word>[^\W\d_]+://[\w/.?=&\#%-]+|\w+)
        |(?P<mark>/\*\+|\*/|.)""",
        re.DOTALL | re.VERBOSE,
    )
    for is_spark, comment in _LINE_COMMENTS.items()
}
_COMMENT_EDGE = re.compile(r"/\*(?!\+)|\*/")
_NOT_LINE_END = re.compile(r"[^\r\n]")


@dataclass(frozen=True, slots=True)
class SparkToken:
    """One token that is neither a comment nor white space."""

    kind: str
    """`word` (a keyword, a name, a number), `quoted` (a name in backticks), `string`, or `mark`."""
    text: str
    """The token as written, including quotes."""
    start: int
    """Where it begins, in characters."""

    @property
    def end(self) -> int:
        """Where it ends, in characters (exclusive)."""
        return self.start + len(self.text)

    @property
    def keyword(self) -> str:
        """The token in upper case if it may be a keyword, else an empty string."""
        return self.text.upper() if self.kind == "word" else ""


def spark_tokens(sql: str, dialect: str = "spark") -> Iterator[SparkToken]:
    """Yield the tokens of a text; the dialect determines where a line comment ends."""
    for kind, start, end in _pieces(sql, dialect):
        if kind not in ("space", "comment"):
            yield SparkToken(kind, sql[start:end], start)


def first_word(sql: str, dialect: str) -> tuple[str, int]:
    """Return the first keyword of a statement and where it begins, after spaces, comments and a byte order mark."""
    first = next((token for token in spark_tokens(sql, dialect) if token.text != "\ufeff"), None)
    return (first.keyword, first.start) if first is not None else ("", len(sql))


def blank_comments(sql: str) -> str:
    """Replace the comments of a Spark text by spaces, if one may continue on the next line."""
    if not _may_continue_comment(sql):
        return sql
    pieces = ((kind, sql[start:end]) for kind, start, end in _pieces(sql, "spark"))
    return "".join(_NOT_LINE_END.sub(" ", piece) if kind == "comment" else piece for kind, piece in pieces)


def portable_comments(sql: str, dialect: str) -> str:
    """Rewrite line comments so that in every engine they end where they end in the author's engine."""
    if not _may_continue_comment(sql):
        return sql
    pieces = []
    for kind, start, end in _pieces(sql, dialect):
        piece = sql[start:end]
        if kind == "comment" and piece.startswith("--"):
            piece = piece.replace("\\\n", " ") + (" " if piece.endswith("\\") else "")
        pieces.append(piece)
    return "".join(pieces)


def _pieces(sql: str, dialect: str) -> Iterator[tuple[str, int, int]]:
    """Yield kind, start and end of all pieces of a text, including white space and comments."""
    pattern = _PIECE[dialect == "spark"]
    unclosed = set()
    at = 0
    while at < len(sql):
        if sql[at] in unclosed:
            yield "mark", at, at + 1
            at += 1
            continue
        match = pattern.match(sql, at)
        assert match is not None
        assert match.lastgroup is not None
        kind, end = match.lastgroup, match.end()
        if kind == "opened":
            kind, end = "comment", _comment_end(sql, at)
        elif kind == "mark" and sql[at] in "'\"`":
            # An unclosed quote: every later quote of this kind is escaped, so none of them closes a string. Without
            # this set the text would be searched to its end for each of them, in quadratic time.
            unclosed.add(sql[at])
        yield kind, at, end
        at = end


def _may_continue_comment(sql: str) -> bool:
    """Return whether a line comment may continue after a backslash at the end of its line."""
    lines = sql.split("\n")[:-1]
    return any(line.endswith("\\") and "--" in line.rpartition("\r")[2] for line in lines)


def _comment_end(sql: str, start: int) -> int:
    """Return the end of a bracketed comment; such comments nest, and the end of the text closes all of them."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(sql, start):
        depth += 1 if edge.group() != "*/" else -1
        if not depth:
            return edge.end()
    return len(sql)
