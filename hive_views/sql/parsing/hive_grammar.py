"""Reserved words of Hive's grammar, and tokens that sqlglot accepts in Hive's dialect but Hive rejects.

Each rule was measured on Hive 4.1.0. A view with a token of another engine would have a text that no Hive can compile.
"""
# ruff: noqa: SIM905 (long lists of words)

from __future__ import annotations

from itertools import product

from sqlglot.tokenizer_core import TokenType

from hive_views.sql.text.tokens import Text

RESERVED = frozenset(
    """
    all alter and any array as authorization between bigint binary boolean both by case cast char column commit
    conf constraint convert create cross cube current current_date current_timestamp cursor database date dec
    decimal delete describe distinct div double drop else end except exchange exists extended external extract
    false fetch float floor following for foreign from full function grant group grouping having if import in
    inner insert int integer intersect interval into is join lateral leading left less like local macro map
    merge minus more none not null numeric of on only or order out outer over partition percent preceding
    precision prepare preserve primary procedure qualify range reads real reduce references regexp revoke right
    rlike rollback rollup row rows select set smallint some start sync table tablesample then time timestamp to
    trailing transform trigger true truncate unbounded union unique uniquejoin update user using values varchar
    when where window with
    """.split()
)
"""The reserved words, in lower case: they can be names only in quotes."""

INTERVAL_UNITS = frozenset(
    f"{unit}{plural}" for unit in ("year", "month", "day", "hour", "minute", "second") for plural in ("", "s")
)
"""The units of `1 day` and `interval '1' day`."""

CAST_TARGETS = frozenset(
    {"boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "date", "timestamp"}
)
"""The types for which Hive drops the cast of a column that already has the type (CONVERSION_FUNCTION_TEXT_MAP)."""

PARSED_ELSEWHERE = frozenset(
    {"extract", "trim", "cast", "exists", "interval", "case", "any", "all", "some", "distinct"}
)
"""Words in front of a parenthesis that the grammar reads without the function registry."""

BEFORE_OPERAND = frozenset(
    {
        TokenType.SELECT,
        TokenType.COMMA,
        TokenType.L_PAREN,
        TokenType.WHERE,
        TokenType.HAVING,
        TokenType.ON,
        TokenType.AND,
        TokenType.OR,
        TokenType.NOT,
        TokenType.EQ,
        TokenType.NEQ,
        TokenType.LT,
        TokenType.LTE,
        TokenType.GT,
        TokenType.GTE,
        TokenType.NULLSAFE_EQ,
        TokenType.PLUS,
        TokenType.DASH,
        TokenType.STAR,
        TokenType.SLASH,
        TokenType.MOD,
        TokenType.DIV,
        TokenType.DPIPE,
        TokenType.PIPE,
        TokenType.AMP,
        TokenType.CARET,
        TokenType.TILDE,
        TokenType.CASE,
        TokenType.WHEN,
        TokenType.THEN,
        TokenType.ELSE,
        TokenType.BETWEEN,
        TokenType.LIKE,
        TokenType.RLIKE,
        TokenType.ORDER_BY,
        TokenType.GROUP_BY,
        TokenType.SORT_BY,
        TokenType.DISTRIBUTE_BY,
        TokenType.CLUSTER_BY,
        TokenType.PARTITION_BY,
        TokenType.DISTINCT,
        TokenType.L_BRACKET,
        TokenType.HINT,
        TokenType.QUALIFY,
        TokenType.ALL,
    }
)
"""The tokens after which an operand begins; a plus sign or a parenthesis after one of them belongs to the operand."""


_UNSUPPORTED = frozenset(
    {
        *(TokenType.L_BRACE, TokenType.PARAMETER, TokenType.ILIKE, TokenType.NATIONAL_STRING, TokenType.ESCAPE),
        *(TokenType.COLON, TokenType.GLOB, TokenType.SIMILAR_TO, TokenType.ARROW, TokenType.FARROW),
    }
)
_SIGNS = frozenset({TokenType.DASH, TokenType.PLUS, TokenType.TILDE})
UNSUPPORTED_PAIRS = frozenset(
    {
        *product(_SIGNS, _SIGNS),
        (TokenType.NOT, TokenType.NOT),
        (TokenType.GT, TokenType.GT),
        (TokenType.LT, TokenType.LT),
        (TokenType.ARRAY, TokenType.L_BRACKET),
        (TokenType.DISTINCT, TokenType.ON),
        (TokenType.ALIAS, TokenType.STRING),
    }
)
"""Pairs of tokens that Hive rejects, and operators that it accepts only between operands."""
_BEFORE_OUTER = frozenset({TokenType.LEFT, TokenType.RIGHT, TokenType.FULL})
_POSITIONAL = frozenset({TokenType.L_BRACKET, TokenType.OUTER, TokenType.DCOLON})
_SMALL_SUFFIXES = frozenset({"l", "s", "y"})
_EXTRACTED = frozenset({"year", "quarter", "month", "week", "day", "dayofweek", "hour", "minute", "second"})


def unsupported_token(text: Text) -> int | None:
    """Return the index of the first token that Hive's grammar does not allow at its position."""
    kinds, seen = text.kinds, text.kind_set
    if not _UNSUPPORTED.isdisjoint(seen):
        return next(index for index, kind in enumerate(kinds) if kind in _UNSUPPORTED)
    if TokenType.IDENTIFIER in seen and "``" in text.sql:
        for index, kind in enumerate(kinds):
            if kind is TokenType.IDENTIFIER and not text.tokens[index].text:
                return index
    lower = text.lower
    if not _POSITIONAL.isdisjoint(seen) or "substr" in lower or "position" in lower or "extract" in lower:
        return _unsupported_position(text)
    return None


def unsupported_pair(text: Text) -> int | None:
    """Return the index of the first token that Hive does not allow after the previous one: `- -`, `>>`, `array[`."""
    kinds = text.kinds
    for index in range(1, len(kinds)):
        pair = kinds[index - 1], kinds[index]
        if pair in UNSUPPORTED_PAIRS and (pair[0] not in _SIGNS or _is_prefix(text, index - 1)):
            return index
    return None


def _is_prefix(text: Text, index: int) -> bool:
    return index == 0 or text.kinds[index - 1] in BEFORE_OPERAND


def _unsupported_position(text: Text) -> int | None:
    """Return the index of the first token that Hive does not allow at its position, only at others."""
    kinds = text.kinds
    for index, kind in enumerate(kinds):
        if kind is TokenType.L_BRACKET and _is_prefix(text, index):
            return index
        if kind is TokenType.OUTER and index + 1 < len(kinds) and kinds[index + 1] is TokenType.JOIN:
            if kinds[index - 1] not in _BEFORE_OUTER:
                return index
        elif kind is TokenType.DCOLON:
            if text.sql[text.tokens[index].start : text.tokens[index].start + 2] == "::":
                return index
            if index + 1 < len(kinds) and text.tokens[index + 1].text in _SMALL_SUFFIXES:
                return index + 1  # sqlglot reads `7l` as a cast; Hive's suffixes are upper case
        elif kind is TokenType.L_PAREN and index:
            word = text.tokens[index - 1].text.lower()
            if word in ("substring", "substr", "position", "extract"):
                unsupported = _unsupported_argument(text, index, word)
                if unsupported is not None:
                    return unsupported
    return None


def _unsupported_argument(text: Text, opened: int, word: str) -> int | None:
    """Check the arguments of `substring(a FROM 1)`, `position(a IN b)` and `extract(part FROM a)`."""
    kinds = text.kinds
    if word == "extract":
        part = text.tokens[opened + 1].text.lower() if opened + 1 < len(kinds) else "year"
        is_part = opened + 2 < len(kinds) and kinds[opened + 2] is TokenType.FROM
        return opened + 1 if not is_part or part not in _EXTRACTED else None
    keyword = TokenType.IN if word == "position" else TokenType.FROM
    depth = 0
    for index in range(opened, text.match.get(opened, opened)):
        depth += (kinds[index] is TokenType.L_PAREN) - (kinds[index] is TokenType.R_PAREN)
        if depth == 1 and kinds[index] is keyword:
            return index
    return None
