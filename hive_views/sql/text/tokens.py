"""SQL text as tokens of sqlglot, with their positions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import cache, cached_property
from itertools import count
from operator import attrgetter
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect as SqlglotDialect
from sqlglot.errors import SqlglotError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer

from hive_views.errors import SqlError
from hive_views.sql.text.dialects import SYNTAX, Dialect
from hive_views.sql.text.positions import line_and_column
from hive_views.sql.text.quoting import unescape
from hive_views.sql.text.spark_lexer import blank_comments, unclosed_piece


@cache
def sqlglot_dialect(name: str) -> SqlglotDialect:
    """Return sqlglot's object for a dialect; raises SqlError for an unknown name."""
    return sqlglot.Dialect.get_or_raise(Dialect.of(name).value)


class _ThreadTokenizers(threading.local):
    """One tokenizer per thread and dialect: creating one takes as long as reading a short text."""

    def __init__(self) -> None:
        self.of = cache(lambda name: sqlglot_dialect(name).tokenizer())


_TOKENIZERS = _ThreadTokenizers()


def tokenizer_of(name: str) -> Tokenizer:
    """Return this thread's tokenizer of a dialect."""
    return _TOKENIZERS.of(name)


class Text:
    """A SQL text and its tokens; `whole` is the text that contains it at `offset`, into which errors point."""

    def __init__(
        self,
        sql: str,
        dialect: Dialect,
        *,
        whole: str | None = None,
        offset: int = 0,
        names: frozenset[int] = frozenset(),
    ) -> None:
        """Split a text; the tokens that begin at the offsets `names` are names, also if they are keywords elsewhere."""
        self.sql = sql
        self.dialect = Dialect.of(dialect)
        self.syntax = SYNTAX[self.dialect]
        self.quote = self.syntax.quote
        self.whole = sql if whole is None else whole
        self.offset = offset
        tokenizer = tokenizer_of(dialect)
        readable = blank_comments(sql) if self.syntax.continues_comments else sql
        try:
            self.tokens: list[Token] = tokenizer.tokenize(readable)
        except SqlglotError as error:
            start, opener = unclosed_piece(sql, self.dialect) or (len(sql) - 1, "")
            reason = f"{opener} is not closed" if opener else _reason(error)
            raise self.error(f"Cannot read the text: {reason}", start) from error
        except (ValueError, IndexError, RecursionError, OverflowError) as error:
            raise self.error(f"Cannot read the text: {error}", 0) from error
        if names:
            self.tokens = _with_names(self.tokens, names)
        self.kinds: list[TokenType] = list(map(_KIND, self.tokens))
        self.kind_set = frozenset(self.kinds)
        """The token types that occur in the text, to skip searches for other types."""
        self.lower = sql.lower()
        """The text in lower case, to skip searches for words that do not occur."""
        self.starts: dict[int, int] = dict(zip(map(_START, self.tokens), count()))
        """Token index by the character where the token starts."""
        self.pipe_stars: dict[int, Any] = {}
        """The stars that pipe operators imply (`pipes.PipeStar`), by the position of the token added for each."""
        self.pipe_keys: dict[int, int] = {}
        """The positions in GROUP BY of pipe operators, which are columns of the rows, by where their tokens start."""
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
    def has_sign(self) -> bool:
        """Whether a plus may be a sign: one that no operand is in front of."""
        if TokenType.PLUS not in self.kind_set:
            return False
        pairs = zip([TokenType.SENTINEL, *self.kinds], self.kinds, strict=False)
        return any(kind is TokenType.PLUS and before not in _OPERAND_ENDS for before, kind in pairs)

    @cached_property
    def cast_types(self) -> frozenset[str] | None:
        """The types in `CAST(… AS type)` in lower case, with single blanks; None if other forms may name types."""
        if TokenType.DCOLON in self.kind_set:
            return None
        types: set[str] = set()
        for index, kind in enumerate(self.kinds):
            if kind is TokenType.ALIAS:
                opened = self.enclosing[index]
                if opened > 0 and self.raw(opened - 1).lower() in _CASTS and opened in self.match:
                    types.add(" ".join(self.between(index + 1, self.match[opened] - 1).lower().split()))
        return frozenset(types)

    @cached_property
    def type_brackets(self) -> dict[int, int]:
        """The token index of the `>` of each `<` in `array<…>`, `map<…>` and `struct<…>`."""
        partners: dict[int, int] = {}
        opened: list[int] = []
        for index, kind in enumerate(self.kinds):
            if kind is TokenType.LT and index and self.raw(index - 1).lower() in _NESTED:
                opened.append(index)
            elif kind is TokenType.GT and opened:
                partners[opened.pop()] = index
            elif kind in _NEVER_IN_TYPES:
                opened.clear()  # a comparison
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


def _with_names(tokens: list[Token], names: frozenset[int]) -> list[Token]:
    """Return tokens with those at some offsets as names, except types, literals, `INTERVAL '1' day`, GROUP BY ALL."""
    written = list(tokens)
    kinds = [TokenType.SENTINEL, *map(_KIND, tokens), TokenType.SENTINEL]
    for index, (token, before, after) in enumerate(zip(tokens, kinds, kinds[2:], strict=False)):
        is_interval = token.token_type is TokenType.INTERVAL and after in _MEASURES
        is_clause = token.token_type is TokenType.ALL and before is TokenType.GROUP_BY
        if token.start in names and token.token_type not in _NEVER_RENAMED and not is_interval and not is_clause:
            # sqlglot reads these words as syntax whatever their type, if they are not in quotes.
            is_syntax = token.text.upper() in Parser.NO_PAREN_FUNCTION_PARSERS and after is not TokenType.L_PAREN
            kind = TokenType.IDENTIFIER if is_syntax else TokenType.VAR
            written[index] = Token(kind, token.text, token.line, token.col, token.start, token.end, token.comments)
    return written


_MEASURES = (TokenType.STRING, TokenType.NUMBER)
_NEVER_RENAMED = ((frozenset(Parser.TYPE_TOKENS) & Parser.ID_VAR_TOKENS) - {TokenType.INTERVAL}) | {
    *(TokenType.IDENTIFIER, TokenType.VAR, TokenType.NULL, TokenType.TRUE, TokenType.FALSE),
}
_START = attrgetter("start")
_KIND = attrgetter("token_type")
_NESTED = frozenset({"array", "map", "struct"})
_NEVER_IN_TYPES = frozenset(
    {
        *(TokenType.SELECT, TokenType.FROM, TokenType.WHERE, TokenType.AND, TokenType.OR, TokenType.EQ, TokenType.NEQ),
        *(TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH, TokenType.LTE, TokenType.GTE),
        *(TokenType.THEN, TokenType.R_BRACKET, TokenType.PIPE_GT),
    }
)
_CASTS = frozenset({"cast", "try_cast"})
_OPERAND_ENDS = frozenset(
    {
        *(TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING),
        *(TokenType.R_PAREN, TokenType.R_BRACKET),
    }
)
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})


def _reason(error: Exception) -> str:
    """Return sqlglot's message without the marked-up excerpt of the text."""
    message = str(error).split("\n", 1)[0]
    return message.replace("\033[4m", "").replace("\033[0m", "")[:300]
