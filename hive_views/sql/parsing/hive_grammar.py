"""Reserved words and token rules of Hive's grammar, measured on Hive 4.1.0."""
# ruff: noqa: SIM905 (long lists of words)

from __future__ import annotations

from itertools import product

from sqlglot.tokenizer_core import TokenType

from hive_views.sql.parsing.lexer import Text

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
"""The words that are not read as a name unless they are quoted, in lower case."""

INTERVAL_UNITS = frozenset(
    f"{unit}{plural}" for unit in ("year", "month", "day", "hour", "minute", "second") for plural in ("", "s")
)
"""The units of `1 day` and `interval '1' day`."""

CAST_TARGETS = frozenset(
    {"boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "date", "timestamp"}
)
"""The types for which a cast of a column that has it already is no cast (Hive's CONVERSION_FUNCTION_TEXT_MAP)."""

PARSED_ELSEWHERE = frozenset(
    {"extract", "trim", "cast", "exists", "interval", "case", "any", "all", "some", "distinct"}
)
"""Words in front of a parenthesis that are no functions of the registry."""

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
"""The tokens behind which an operand begins: there a plus sign and a parenthesis belong to the operand."""


_FOREIGN = frozenset(
    {
        *(TokenType.L_BRACE, TokenType.PARAMETER, TokenType.ILIKE, TokenType.NATIONAL_STRING, TokenType.ESCAPE),
        *(TokenType.COLON, TokenType.GLOB, TokenType.SIMILAR_TO, TokenType.ARROW, TokenType.FARROW),
    }
)
_SIGNS = frozenset({TokenType.DASH, TokenType.PLUS, TokenType.TILDE})
FOREIGN_PAIRS = frozenset(
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
"""Pairs of tokens that Hive does not read, or signs that it reads only between operands."""
_BEFORE_OUTER = frozenset({TokenType.LEFT, TokenType.RIGHT, TokenType.FULL})
_SUSPICIOUS = frozenset({TokenType.L_BRACKET, TokenType.OUTER, TokenType.DCOLON})
_SMALL_SUFFIXES = frozenset({"l", "s", "y"})
_EXTRACTED = frozenset({"year", "quarter", "month", "week", "day", "dayofweek", "hour", "minute", "second"})


def foreign(text: Text) -> int | None:
    """The first token that Hive's grammar does not read where it stands."""
    kinds, seen = text.kinds, text.kind_set
    if not _FOREIGN.isdisjoint(seen):
        return next(index for index, kind in enumerate(kinds) if kind in _FOREIGN)
    if TokenType.IDENTIFIER in seen and "``" in text.sql:
        for index, kind in enumerate(kinds):
            if kind is TokenType.IDENTIFIER and not text.tokens[index].text:
                return index
    lower = text.lower
    if not _SUSPICIOUS.isdisjoint(seen) or "substr" in lower or "position" in lower or "extract" in lower:
        return _suspicious(text)
    return None


def foreign_pair(text: Text) -> int | None:
    """The first token that Hive's grammar does not read behind the one before it: `- -`, `>>`, `array[`."""
    kinds = text.kinds
    for index in range(1, len(kinds)):
        pair = kinds[index - 1], kinds[index]
        if pair in FOREIGN_PAIRS and (pair[0] not in _SIGNS or _is_prefix(text, index - 1)):
            return index
    return None


def _is_prefix(text: Text, index: int) -> bool:
    return index == 0 or text.kinds[index - 1] in BEFORE_OPERAND


def _suspicious(text: Text) -> int | None:
    """Tokens that are Hive's in some places only."""
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
                return index + 1  # sqlglot's own cast of `7l`: Hive's suffixes are capitals
        elif kind is TokenType.L_PAREN and index:
            word = text.tokens[index - 1].text.lower()
            if word in ("substring", "substr", "position", "extract"):
                found = _inside(text, index, word)
                if found is not None:
                    return found
    return None


def _inside(text: Text, opened: int, word: str) -> int | None:
    """`substring(a FROM 1)`, `position(a IN b)` and parts of a time that EXTRACT does not know."""
    kinds = text.kinds
    if word == "extract":
        part = text.tokens[opened + 1].text.lower() if opened + 1 < len(kinds) else "year"
        is_part = opened + 2 < len(kinds) and kinds[opened + 2] is TokenType.FROM
        return opened + 1 if not is_part or part not in _EXTRACTED else None
    wanted = TokenType.IN if word == "position" else TokenType.FROM
    depth = 0
    for index in range(opened, text.match.get(opened, opened)):
        depth += (kinds[index] is TokenType.L_PAREN) - (kinds[index] is TokenType.R_PAREN)
        if depth == 1 and kinds[index] is wanted:
            return index
    return None
