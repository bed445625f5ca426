"""Names of fields without AS in `struct(1 a, 2 b)`, which Spark reads; of all calls, only this one has aliases."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot.tokenizer_core import Token, TokenType

from hive_views.sql.parsing.expression_ranges import Range
from hive_views.sql.text.tokens import Text


def has_name_without_as(text: Text, part: Range) -> bool:
    """Return whether an argument of `struct` ends with a name that follows a whole value."""
    first, last = part
    if first == last or _NAME.fullmatch(text.raw(last)) is None:
        return False
    name, before = text.raw(last).lower(), text.raw(last - 1).lower()
    is_value = _VALUE_END.search(before) is not None or last - 1 in text.type_brackets.values()
    if not is_value or before in _BEFORE_OPERANDS or (before, name) in _PAIRS:
        return False
    words = [text.raw(at).lower() for at in range(first, last) if text.enclosing[at] == text.enclosing[last]]
    if name == "end":
        return words.count("case") <= words.count("end")
    return not (name.rstrip("s") in _UNITS and _is_interval_without_unit(words))


def _is_interval_without_unit(words: list[str]) -> bool:
    """Return whether words end with an interval that lacks its last unit: `interval 1 day 2`."""
    at = len(words) - 1
    while at >= 0 and (_NUMBER.match(words[at]) or words[at].rstrip("s") in _UNITS):
        at -= 1
    return at >= 0 and words[at] == "interval" and _NUMBER.match(words[-1]) is not None


def names_with_as(text: Text, index: int) -> Iterator[tuple[int, list[Token], int]]:
    """Yield, for `struct(…)` at a token, each name without AS with an AS in front of it."""
    if text.kinds[index + 1 : index + 2] != [TokenType.L_PAREN] or text.raw(index)[0] == "`":
        return
    for part in text.elements(index + 2, text.match.get(index + 1, index + 2) - 1):
        if has_name_without_as(text, part):
            last, name = part[1], text.tokens[part[1]]
            kind = TokenType.IDENTIFIER if name.token_type is TokenType.IDENTIFIER else TokenType.VAR
            words = [
                Token(TokenType.ALIAS, "AS", name.line, name.col, name.start, name.start, []),
                Token(kind, name.text, name.line, name.col, name.start, name.end, []),
            ]
            yield last, words, last


_NAME = re.compile(r"`.*`|[^\W\d]\w*", re.DOTALL)
_VALUE_END = re.compile(r"[\w)\]'\"`]$")
_NUMBER = re.compile(r"['\"+\-.\d]")
_UNITS = frozenset({"year", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond"})
_PAIRS = frozenset({("ignore", "nulls"), ("respect", "nulls")})
_BEFORE_OPERANDS = frozenset(
    {"and", "or", "not", "is", "like", "ilike", "rlike", "regexp", "in", "div", "between", "case", "when", "then"}
    | {"else", "distinct", "from", "collate", "escape", "over", "exists", "interval", "any", "some", "all", "as", "to"}
)
"""Words behind which an operand follows, so that a name is no alias."""
