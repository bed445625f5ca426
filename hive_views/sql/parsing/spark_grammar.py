"""Texts as Spark's own grammar reads them (`SqlBaseLexer.g4`, and the table of `SqlBaseParser`)."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise, product

from sqlglot.tokenizer_core import TokenType

from hive_views.sql.engines.grammar import Recognition, spark_grammar
from hive_views.sql.text.positions import error_at
from hive_views.sql.text.spark_lexer import pieces
from hive_views.sql.text.tokens import Text

_NUMBER = r"""(?:\d+\.\d*|\.\d+)(?:E[+-]?\d+)?(?:BD|[DF])?(?!\w)|\d+(?:E[+-]?\d+(?:BD|[DF])?|BD|[DFLSY])?(?!\w)"""
_WORD = r"""[A-Z]+://[A-Z0-9_/.?=&\#%-]+|[A-Z0-9_]+"""
_NUMBER_SUFFIXES = {
    "L": "BIGINT_LITERAL",
    "S": "SMALLINT_LITERAL",
    "Y": "TINYINT_LITERAL",
    "F": "FLOAT_LITERAL",
    "BD": "BIGDECIMAL_LITERAL",
    "D": "DOUBLE_LITERAL",
}
_UPPER = {ord(letter): letter.upper() for letter in string.ascii_lowercase}
_QUOTED = {"`": "BACKQUOTED_IDENTIFIER", '"': "DOUBLEQUOTED_STRING"}
_OPERANDS = ("IDENTIFIER", "BACKQUOTED_IDENTIFIER", "STRING_LITERAL", "INTEGER_VALUE")
"""Types of tokens that no literal follows: `x LIKE 'a'` has none of the type `LIKE`."""
_MAX_TRIED = 20
"""The maximum number of words in front of strings that are examined one by one; each takes a part of a reading."""
_TYPE_WORDS = frozenset({"ARRAY", "MAP", "STRUCT"})
_TYPE_ENDS = frozenset({">", "<>"})


MAX_TOKENS = 100_000
"""The maximum length of a text whose names are determined, in tokens: that needs 4 KB of memory for each."""


@dataclass(frozen=True)
class _Reading:
    """A text as Spark's grammar reads it."""

    sql: str
    types: Sequence[int]
    starts: Sequence[int]
    """The offsets of the tokens."""
    recognition: Recognition

    @property
    def unreadable(self) -> int | None:
        """The offset of the first token that Spark cannot read; None if it reads the text."""
        if self.recognition.is_allowed:
            return None
        position = self.recognition.position
        return self.starts[position] if position < len(self.starts) else len(self.sql.rstrip())


def _read(sql: str, *, with_names: bool = False) -> _Reading:
    """Read a text; one that is too long has no names."""
    types, starts = _tokens(sql)
    if with_names and len(types) > MAX_TOKENS:
        return _Reading(sql, types, starts, Recognition(len(types), True))
    return _Reading(sql, types, starts, spark_grammar().recognize(types, with_names=with_names))


def check_spark_text(sql: str, *, whole: str | None = None, offset: int = 0) -> None:
    """Raise SqlError if no supported version of Spark can read a query, at `offset` of `whole`."""
    reading = _read(sql)
    start, reason = reading.unreadable, ""
    if start is not None:
        written = sql[start:].split(maxsplit=1)
        what = f"does not read '{written[0][:40]}' here" if written else "expects more at the end of the text"
        reason = f"Cannot read the text: Spark {what}"
    elif (foreign := _foreign_literal(reading)) is not None:
        start, word = foreign
        reason = f"Spark has no literals of the type {word}: write CAST('…' AS type)"
    if start is not None:
        raise error_at(sql if whole is None else whole, start + offset, reason)


def _foreign_literal(reading: _Reading) -> tuple[int, str] | None:
    """Return the offset and the type of the first literal such as `n'a'`, whose type has no literals in Spark."""
    grammar, sql, starts, types = spark_grammar(), reading.sql, reading.starts, reading.types
    strings = {grammar.types["STRING_LITERAL"], grammar.types["DOUBLEQUOTED_STRING"]}
    after_operand = {grammar.types[name] for name in _OPERANDS} | {grammar.words[")"]}
    candidates: dict[int, str] = {}
    for index, (kind, after) in enumerate(pairwise(types)):
        if after in strings and grammar.is_name(kind) and not (index and types[index - 1] in after_operand):
            word = sql[starts[index] : starts[index + 1]].split(maxsplit=1)[0]
            if word.lower() not in grammar.literal_types:
                candidates[index] = word
    if len(candidates) <= _MAX_TRIED:
        candidates = {index: word for index, word in candidates.items() if _may_be_name(types, index)}
    if not candidates:
        return None
    names = _read(sql, with_names=True).recognition.names
    return next(((starts[index], word) for index, word in candidates.items() if index in names), None)


def _may_be_name(types: Sequence[int], index: int) -> bool:
    """Return whether the grammar allows a name in place of a token."""
    name = spark_grammar().types["IDENTIFIER"]
    return spark_grammar().recognize([*types[:index], name, *types[index + 1 :]]).is_allowed


def unreadable_position(sql: str) -> int | None:
    """Return the offset of the first token that Spark cannot read; None if it reads the text."""
    return _read(sql).unreadable


def name_offsets(sql: str) -> frozenset[int]:
    """Return the offsets of the tokens that Spark reads as names, keywords included; none if it cannot read a text."""
    reading = _read(sql, with_names=True)
    return frozenset(reading.starts[index] for index in reading.recognition.names)


def may_have_keyword_names(text: Text) -> bool:
    """Return whether a keyword may be a name: one that needs an operand is in front of what cannot begin one."""
    if text.kinds[-1:] and text.kinds[-1] in _BEFORE_OPERANDS:
        return True
    if TokenType.UNPIVOT in text.kind_set:
        return True  # `UNPIVOT (…) LEFT JOIN c` is an inner join: LEFT is the alias
    pairs = pairwise(text.kinds)
    return any(pair[0] in _BEFORE_OPERANDS and pair[1] in _AFTER_OPERANDS and pair not in _USUAL for pair in pairs)


_BEFORE_OPERANDS = frozenset(
    {
        *(TokenType.SELECT, TokenType.DISTINCT, TokenType.FROM, TokenType.JOIN, TokenType.ON, TokenType.USING),
        *(TokenType.WHERE, TokenType.HAVING, TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.IN),
        *(TokenType.LIKE, TokenType.ILIKE, TokenType.RLIKE, TokenType.DIV, TokenType.IS, TokenType.BETWEEN),
        *(TokenType.CASE, TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.ALIAS, TokenType.INTERVAL),
        *(TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.INTO, TokenType.LATERAL),
        *(TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH, TokenType.VALUES, TokenType.WITH, TokenType.WINDOW),
        *(TokenType.OVER, TokenType.EXISTS, TokenType.ANY, TokenType.ALL, TokenType.CROSS, TokenType.INNER),
        *(TokenType.QUALIFY, TokenType.COLLATE),
    }
)
_USUAL = frozenset(
    {
        (TokenType.CASE, TokenType.WHEN),
        *((TokenType.NOT, kind) for kind in (TokenType.IN, TokenType.LIKE, TokenType.ILIKE, TokenType.RLIKE)),
        (TokenType.NOT, TokenType.BETWEEN),
        *product(_BEFORE_OPERANDS - {TokenType.INTERVAL}, (TokenType.PLUS, TokenType.DASH)),
    }
)
_AFTER_OPERANDS = frozenset(
    {
        *(TokenType.COMMA, TokenType.R_PAREN, TokenType.DOT, TokenType.ALIAS, TokenType.FROM, TokenType.WHERE),
        *(TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.HAVING, TokenType.UNION, TokenType.EXCEPT),
        *(TokenType.INTERSECT, TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.GT, TokenType.LTE, TokenType.GTE),
        *(TokenType.NULLSAFE_EQ, TokenType.SLASH, TokenType.MOD, TokenType.DIV, TokenType.DPIPE, TokenType.AMP),
        *(TokenType.PIPE, TokenType.PIPE_GT, TokenType.CARET, TokenType.ARROW, TokenType.IN, TokenType.IS),
        *(TokenType.PLUS, TokenType.DASH, TokenType.AND, TokenType.OR, TokenType.BETWEEN, TokenType.LIKE),
        *(TokenType.RLIKE, TokenType.ILIKE, TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.END),
    }
)


def _tokens(sql: str) -> tuple[list[int], list[int]]:
    """Return the types and the offsets of a text's tokens, without semicolons at its end."""
    lexer = _Lexer(sql)
    begin = end = 0
    for kind, start, stop in pieces(sql):
        if kind == "string" or kind == "quoted":
            lexer.read_run(begin, end)
            lexer.add(spark_grammar().types[_QUOTED.get(sql[start], "STRING_LITERAL")], start)
            begin = end = stop
        elif kind != "space" and kind != "comment":
            if start != end:
                lexer.read_run(begin, end)
                begin = start
            end = stop
    lexer.read_run(begin, end)
    while lexer.starts and sql[lexer.starts[-1]] == ";":
        lexer.types.pop()
        lexer.starts.pop()
    return lexer.types, lexer.starts


class _Lexer:
    """Reads the words, numbers and operators of a text, run by run: each sequence with nothing between them."""

    def __init__(self, sql: str) -> None:
        self.types: list[int] = []
        self.starts: list[int] = []
        self._sql = sql
        self._open_types = 0

    def add(self, kind: int, start: int) -> None:
        """Add a token."""
        self.types.append(kind)
        self.starts.append(start)

    def read_run(self, start: int, end: int) -> None:
        """Add the tokens of a run."""
        if start == end:
            return
        run = self._sql[start:end]
        known = None if self._open_types else _tokens_of_run(run)
        if known is None:
            self._read_with_types(run, start)
        else:
            for kind, at in known:
                self.types.append(kind)
                self.starts.append(start + at)

    def _read_with_types(self, run: str, start: int) -> None:
        """Read `>>` as two brackets in a type; Spark's lexer counts the words that begin one."""
        at, text, pattern = 0, run.translate(_UPPER), _pattern()
        while at < len(text):
            match = pattern.match(text, at)
            written = match.group() if match is not None else text[at]
            if self._open_types and written[:2] == ">>":
                written = ">"
            if written in _TYPE_WORDS:
                self._open_types += 1
            elif self._open_types and written in _TYPE_ENDS:
                self._open_types -= 1
            self.add(_type_of(written, match), start + at)
            at += len(written)


@lru_cache(maxsize=16_384)
def _tokens_of_run(run: str) -> tuple[tuple[int, int], ...] | None:
    """Return the type and the offset of each token of a run outside types; None if a type may begin in it."""
    text, pattern, at = run.translate(_UPPER), _pattern(), 0
    tokens: list[tuple[int, int]] = []
    while at < len(text):
        match = pattern.match(text, at)
        written = match.group() if match is not None else text[at]
        if written in _TYPE_WORDS:
            return None
        tokens.append((_type_of(written, match), at))
        at += len(written)
    return tuple(tokens)


@cache
def _pattern() -> re.Pattern[str]:
    """Return the pattern of a number, a word or an operator, in upper case."""
    operators = sorted((word for word in spark_grammar().words if not word[0].isalpha()), key=len, reverse=True)
    listed = "|".join(map(re.escape, operators))
    return re.compile(f"(?P<number>{_NUMBER})|(?P<word>{_WORD})|(?P<operator>{listed})", re.ASCII)


def _type_of(written: str, match: re.Match[str] | None) -> int:
    """Return the type of a token outside quotes, in upper case."""
    grammar = spark_grammar()
    if match is None:
        return grammar.types["UNRECOGNIZED"]
    if match.lastgroup == "number":
        return grammar.types[_number_type(written)]
    return grammar.words.get(written, grammar.types["IDENTIFIER"])


def _number_type(written: str) -> str:
    for suffix, name in _NUMBER_SUFFIXES.items():
        if written.endswith(suffix):
            return name
    if "E" in written:
        return "EXPONENT_VALUE"
    return "DECIMAL_VALUE" if "." in written else "INTEGER_VALUE"
