"""A text as tokens, and edits on it: the token replacement by which Hive expands a view (its `UnparseTranslator`).

Everything that is not replaced stays to the letter: case, comments, white space, literals.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import count
from operator import attrgetter

import sqlglot
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer

from hive_views.errors import SqlError
from hive_views.sql.parsing.spark_lexer import without_comments

QUOTES = {"hive": "`", "spark": "`", "trino": '"'}
"""What stands around an identifier in each dialect."""


@cache
def dialect_of(name: str) -> Dialect:
    """Sqlglot's dialect of one of our dialect names."""
    if name not in QUOTES:
        raise SqlError(f"Unknown SQL dialect {name!r}: choose one of {', '.join(QUOTES)}", name=name)
    return sqlglot.Dialect.get_or_raise(name)


class _Readers(threading.local):
    """sqlglot's tokenizers and parsers, one of each a thread and dialect: making them costs as much as a short text."""

    def __init__(self) -> None:
        self.tokenizers: dict[str, Tokenizer] = {}
        self.parsers: dict[str, Parser] = {}


_READERS = _Readers()


def tokenizer_of(name: str) -> Tokenizer:
    """This thread's tokenizer of a dialect."""
    found = _READERS.tokenizers.get(name)
    if found is None:
        found = _READERS.tokenizers[name] = dialect_of(name).tokenizer()
    return found


def parser_of(name: str) -> Parser:
    """This thread's parser of a dialect; it stops at the first error."""
    found = _READERS.parsers.get(name)
    if found is None:
        found = _READERS.parsers[name] = dialect_of(name).parser(error_level=ErrorLevel.IMMEDIATE)
    return found


class Text:
    """A text, its tokens, and where it stands in a bigger text.

    Args:
        sql: The text.
        dialect: `hive`, `spark` or `trino`.
        whole: The text that the user gave, where `sql` is a part of it: errors point into this one.
        offset: Where `sql` begins in `whole`, in characters.

    Raises:
        SqlError: If it cannot be split into tokens.
    """

    def __init__(self, sql: str, dialect: str, *, whole: str | None = None, offset: int = 0) -> None:
        self.sql = sql
        self.dialect = dialect
        self.quote = QUOTES.get(dialect, "`")
        self.whole = sql if whole is None else whole
        self.offset = offset
        try:
            shown = without_comments(sql) if dialect == "spark" else sql
            self.tokens: list[Token] = tokenizer_of(dialect).tokenize(shown)
        except SqlglotError as error:
            raise self.error(f"Cannot read the text: {_reason(error)}", len(sql) - 1) from error
        except (ValueError, IndexError, RecursionError, OverflowError) as error:
            raise self.error(f"Cannot read the text: {error}", 0) from error
        self.kinds: list[TokenType] = list(map(_KIND, self.tokens))
        self.kinds_seen = frozenset(self.kinds)
        """Which tokens there are: what is not among them need not be looked for."""
        self.lower = sql.lower()
        """The text in lower case, to see quickly which words cannot be in it."""
        self.starts: dict[int, int] = dict(zip(map(_START, self.tokens), count()))
        """Token index by the character where the token starts."""
        self._match: dict[int, int] | None = None

    @property
    def match(self) -> dict[int, int]:
        """The token index of each parenthesis' or bracket's partner, both ways."""
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

    def raw(self, index: int) -> str:
        """A token as it stands in the text, quotes and all."""
        token = self.tokens[index]
        return self.sql[token.start : token.end + 1]

    def between(self, first: int, last: int) -> str:
        """The text from one token to another, both included."""
        return self.sql[self.tokens[first].start : self.tokens[last].end + 1]

    def position(self, start: int | None) -> tuple[int | None, int | None]:
        """Line and column, from 1, of a character of the text in the text that the user gave."""
        if start is None:
            return None, None
        at = min(max(start + self.offset, 0), len(self.whole))
        line_start = self.whole.rfind("\n", 0, at) + 1
        return self.whole.count("\n", 0, at) + 1, at - line_start + 1

    def error(self, reason: str, start: int | None, name: str | None = None) -> SqlError:
        """An error that points at a character of the text."""
        line, column = self.position(start)
        return SqlError(reason, line=line, column=column, name=name)

    def quoted(self, name: str) -> str:
        """A name in this dialect's quotes, the quotes within doubled."""
        return quoted(name, self.quote)


@lru_cache(maxsize=16384)
def quoted(name: str, quote: str) -> str:
    """A name in some quotes, the quotes within doubled."""
    return f"{quote}{name.replace(quote, quote * 2)}{quote}"


@lru_cache(maxsize=16384)
def dotted(table: str, name: str, quote: str) -> str:
    """A column behind its table, both in some quotes."""
    return f"{quoted(table, quote)}.{quoted(name, quote)}"


_START = attrgetter("start")
_KIND = attrgetter("token_type")
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})


def _reason(error: Exception) -> str:
    """Sqlglot's message without the marked-up excerpt of the text."""
    message = str(error).split("\n", 1)[0]
    return message.replace("\033[4m", "").replace("\033[0m", "")[:300]


class Edits:
    """Replacements of token ranges in one text.

    Of overlapping ones the widest wins, of equal ranges the last: so a whole expression that Hive takes for a column
    swallows what was replaced in it. A copy replaces a range by what another range has become (GROUP BY keys).
    """

    def __init__(self, text: Text) -> None:
        self.text = text
        self._edits: dict[tuple[int, int], str] = {}
        """What each range becomes, by its first token and the last one's negative: so the outer ones sort first."""
        self._copies: list[tuple[int, int, int, int]] = []
        self._additions: dict[int, str] = {}

    def replace(self, first: int, last: int, replacement: str) -> None:
        """Replace the tokens `first` to `last`, both included."""
        self._edits[first, -last] = replacement

    def replace_all(self, replacements: list[tuple[tuple[int, int], str]]) -> None:
        """Make some replacements; each range by its first token and the negative of its last one."""
        self._edits.update(replacements)

    def copy(self, target: tuple[int, int], source: tuple[int, int]) -> None:
        """Replace the tokens of `target` by what those of `source` become."""
        if target != source:
            self._copies.append((*target, *source))

    def append(self, last: int, addition: str) -> None:
        """Write something behind a token, and behind what replaced it."""
        self._additions[last] = addition

    def apply(self, untouched: Callable[[int], str | None] | None = None) -> str:
        """The text with every replacement made."""
        tokens = self.text.tokens
        if not tokens:
            return ""
        edits = dict(self._edits) if self._copies or self._additions else self._edits
        order = sorted(edits)
        for first, last, source_first, source_last in self._copies:
            become = _render(self.text, edits, order, source_first, source_last, untouched)
            if become != _render(self.text, edits, order, first, last, untouched):
                if (first, -last) not in edits:
                    insort(order, (first, -last))
                edits[first, -last] = become
        if self._additions:
            order = self._with_additions(edits, order)
        return _render(self.text, edits, order, 0, len(tokens) - 1, untouched)

    def _with_additions(self, edits: dict[tuple[int, int], str], order: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Put the additions behind the outermost ranges that end them; returns the ranges' new order."""
        ends: dict[int, tuple[int, int]] = {}
        """The last token of each outermost range, to the range."""
        beyond = 0
        for first, negative in order:
            if first >= beyond:
                ends[-negative] = (first, negative)
                beyond = 1 - negative
        borders = sorted(ends)
        for last, addition in self._additions.items():
            at = bisect_left(borders, last)
            range_ = ends[borders[at]] if at < len(borders) else None
            if range_ is not None and range_[0] <= last:
                edits[range_] += addition
            else:
                edits[last, -last] = self.text.raw(last) + addition
        return sorted(edits)


def _render(
    text: Text,
    edits: dict[tuple[int, int], str],
    order: list[tuple[int, int]],
    first: int,
    last: int,
    untouched: Callable[[int], str | None] | None,
) -> str:
    """The tokens `first` to `last` as they become; of the ranges in `order` those that are in no other one count."""
    sql, tokens = text.sql, text.tokens
    pieces: list[str] = []
    at = tokens[first].start
    if untouched is None and first == 0 and last == len(tokens) - 1:
        behind = 0
        for range_ in order:
            start, negative = range_
            if start >= behind:
                pieces += (sql[at : tokens[start].start], edits[range_])
                at = tokens[-negative].end + 1
                behind = 1 - negative
        pieces.append(sql[at : tokens[last].end + 1])
        return "".join(pieces)
    following = first
    for index in range(bisect_left(order, (first, -last)), len(order)) if first else range(len(order)):
        start, stop = order[index]
        stop = -stop
        if start > last:
            break
        if start < following or stop > last:
            continue
        if untouched is not None:
            at = _unquoted_between(text, following, start, at, untouched, pieces)
        pieces.append(sql[at : tokens[start].start])
        pieces.append(edits[start, -stop])
        at = tokens[stop].end + 1
        following = stop + 1
    if untouched is not None:
        at = _unquoted_between(text, following, last + 1, at, untouched, pieces)
    pieces.append(sql[at : tokens[last].end + 1])
    return "".join(pieces)


def _unquoted_between(
    text: Text, first: int, behind: int, at: int, untouched: Callable[[int], str | None], pieces: list[str]
) -> int:
    """Write the tokens from `first` that `untouched` changes; returns the character up to which the text is written."""
    for index in range(first, behind):
        written = untouched(index)
        if written is not None:
            token = text.tokens[index]
            pieces.append(text.sql[at : token.start])
            pieces.append(written)
            at = token.end + 1
    return at
