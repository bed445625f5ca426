"""The limits within which a text can be parsed: its length, and how deeply its parts are nested."""

from __future__ import annotations

from sqlglot.parser import Parser
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.parsing.errors import error_at
from hive_views.sql.text.tokens import Text

MAX_DEPTH = 120
"""The maximum nesting of parentheses, CASE, NOT and signs."""
MAX_TYPE_DEPTH = 40
"""The maximum nesting of `array<…>`, `map<…>` and `struct<…>`."""
MAX_BARE_JOINS = 12
"""The maximum number of joins in a row without a condition: sqlglot's time doubles with each of them."""
MAX_CALL_DEPTH = 9
"""The maximum nesting of what sqlglot reads twice: calls named like types, such as `date(…)`, `array[…]`, and
parentheses after LIMIT and OFFSET."""
MAX_TOKENS = 400_000
"""The maximum length of a text, in tokens."""


def check_depth(text: Text) -> None:
    """Reject a text that is too long or too deeply nested to be parsed safely."""
    tokens = text.tokens
    if len(tokens) > MAX_TOKENS:
        raise error_at(text, f"The text has {len(tokens)} tokens; at most {MAX_TOKENS} are read", 0)
    if (
        text.count(_DEEPER | _PREFIX) <= MAX_DEPTH
        and text.sql.count("<") <= MAX_TYPE_DEPTH
        and text.count(_READ_TWICE) <= MAX_CALL_DEPTH
        and text.lower.count("join") <= MAX_BARE_JOINS
    ):
        return  # the text is too short to exceed a limit
    depth = prefixes = types = casts = joins = indexes = 0
    calls: list[bool] = []
    for index, token in enumerate(tokens):
        kind = token.token_type
        if kind is TokenType.LT and tokens[index - 1].token_type in _NESTED_TYPES:
            types += 1
        elif kind is TokenType.GT:
            types = max(types - 1, 0)
        if types > MAX_TYPE_DEPTH:
            raise error_at(text, f"A type is nested too deeply: more than {MAX_TYPE_DEPTH} levels", token.start)
        if kind in _DEEPER:
            depth += 1
            calls.append(kind in _OPENING and index > 0 and tokens[index - 1].token_type in _READ_TWICE)
            if calls[-1]:
                casts += 1
                if casts > MAX_CALL_DEPTH:
                    reason = f"Type names, LIMIT or OFFSET are nested too deeply: more than {MAX_CALL_DEPTH}"
                    raise error_at(text, reason, token.start)
        elif kind in _SHALLOWER and calls:
            depth -= 1
            casts -= calls.pop()
        if kind is TokenType.JOIN and _may_have_condition(text, index):
            joins += 1
            if joins > MAX_BARE_JOINS:
                raise error_at(text, f"More than {MAX_BARE_JOINS} joins without ON: write CROSS JOIN", token.start)
        elif kind in (TokenType.ON, TokenType.USING):
            joins = 0
        if kind is TokenType.L_BRACKET and tokens[index - 1].token_type is TokenType.R_BRACKET:
            indexes += 1
            if indexes > MAX_DEPTH:
                raise error_at(text, f"More than {MAX_DEPTH} indexes in a row", token.start)
        elif kind is TokenType.IDENTIFIER or kind is TokenType.VAR:
            indexes = 0
        prefixes = prefixes + 1 if kind in _PREFIX else 0
        if depth + prefixes > MAX_DEPTH:
            raise error_at(text, f"The text is nested too deeply: more than {MAX_DEPTH} levels", token.start)


def _may_have_condition(text: Text, index: int) -> bool:
    """Return whether ON or USING can follow a join, for which sqlglot reads what is between them twice."""
    words = text.kinds[max(index - 3, 0) : index]  # such as NATURAL LEFT OUTER
    return words[-1:] != [TokenType.CROSS] and TokenType.NATURAL not in words


_DEEPER = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE, TokenType.L_BRACE})
_SHALLOWER = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END, TokenType.R_BRACE})
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
_READ_TWICE = frozenset(Parser.TYPE_TOKENS) | {TokenType.LIMIT, TokenType.OFFSET}
"""The tokens in front of parentheses and brackets whose inside sqlglot reads twice."""
_NESTED_TYPES = frozenset({TokenType.ARRAY, TokenType.MAP, TokenType.STRUCT})
_PREFIX = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE})
