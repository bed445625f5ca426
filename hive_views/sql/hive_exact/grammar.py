"""What sqlglot reads and Hive's own grammar does not, by pairs of tokens.

Each case was tried on a real Hive 4.1.0. The words of other engines that sqlglot reads in Hive's dialect would give a
text that no Hive can compile again.
"""

from __future__ import annotations

from itertools import product

from sqlglot.tokenizer_core import TokenType

from hive_views.sql.parsing.hive_keywords import BEFORE_OPERAND
from hive_views.sql.parsing.lexer import Text

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
    kinds, seen = text.kinds, text.kinds_seen
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
