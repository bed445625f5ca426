"""Where the elements of a SELECT list end in the text."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.parsing.lexer import Text
from hive_views.sql.parsing.spans import span
from hive_views.sql.parsing.trees import starts


def item_ends(text: Text, select: exp.Select) -> list[int | None]:
    """The last token of each element of a SELECT list, as far as that can be told.

    An element whose nodes have no place in the text (`true`, `current_date`) ends where the next comma stands.
    """
    ends = [end_of(text, item) for item in select.expressions]
    for position in range(1, len(ends)):
        before = ends[position - 1]
        if ends[position] is None and before is not None:
            ends[position] = _forward(text, before + 2)
    missing = next((position for position in range(len(ends) - 1, -1, -1) if ends[position] is None), None)
    if missing is not None:
        _backward(text, select, ends, missing)
    return ends


def _forward(text: Text, index: int) -> int | None:
    """The last token of the element that begins at a token."""
    if index >= len(text.tokens):
        return None
    while index < len(text.tokens):
        if text.tokens[index].token_type in (TokenType.L_PAREN, TokenType.L_BRACKET):
            index = text.match.get(index, index)
        if index + 1 >= len(text.tokens) or text.tokens[index + 1].token_type in (*_ITEM_ENDS, TokenType.R_PAREN):
            return index
        index += 1
    return None


def _backward(text: Text, select: exp.Select, ends: list[int | None], position: int) -> None:
    """Fill in the ends of the first elements, from the place of what stands behind them."""
    index = _start_behind(text, select, position)
    while index is not None and position >= 0:
        index -= 1
        if index < 0 or text.tokens[index].token_type not in (TokenType.COMMA, TokenType.FROM):
            return
        ends[position] = index - 1
        position -= 1
        while index > 0 and (position < 0 or text.tokens[index - 1].token_type is not TokenType.COMMA):
            index -= 1
            if text.tokens[index].token_type in (TokenType.R_PAREN, TokenType.R_BRACKET):
                index = text.match.get(index, index)
            if text.tokens[index].token_type is TokenType.SELECT:
                return


def _start_behind(text: Text, select: exp.Select, position: int) -> int | None:
    """The first token of the element behind one, or of the FROM clause's table."""
    clause = select.args.get("from_")
    behind = select.expressions[position + 1] if position + 1 < len(select.expressions) else clause
    if behind is None or (behind is clause and not isinstance(clause.this, exp.Table)):
        return None
    return text.starts.get(min(starts(behind), default=-1))


def end_of(text: Text, item: exp.Expr) -> int | None:
    """The last token of an element of a SELECT list; None where nothing in it has a place.

    The tree does not tell the ends of CASE, INTERVAL and others.
    """
    indexes = [text.starts[start] for start in starts(item) if start in text.starts]
    if not indexes:
        return None
    first, index = min(indexes), max(indexes)
    known = span(text, item)
    if known is not None:
        index = max(index, known[1])
    query = _begins_with_query(item)
    while index + 1 < len(text.kinds):
        following = text.kinds[index + 1]
        if following in _ITEM_ENDS:
            return index
        if following in (TokenType.L_PAREN, TokenType.L_BRACKET):
            index = text.match.get(index + 1, index + 1)
            continue
        if following is TokenType.R_PAREN:
            opened = text.match.get(index + 1, -1)
            around = opened < first and text.tokens[opened + 1].token_type in (TokenType.SELECT, TokenType.WITH)
            if opened < 0 or (around and not (query and opened >= first - 2)):
                return index
        index += 1
    return index


def _begins_with_query(node: Any) -> bool:
    """Whether the first thing in an expression is a query in parentheses."""
    while isinstance(node, exp.Expr):
        if isinstance(node, (exp.Subquery, exp.Select)):
            return True
        node = next((value for value in node.args.values() if isinstance(value, exp.Expr)), None)
    return False


_ITEM_ENDS = frozenset(
    {
        *(TokenType.COMMA, TokenType.FROM, TokenType.ALIAS, TokenType.WHERE, TokenType.LIMIT, TokenType.ORDER_BY),
        *(TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.GROUP_BY, TokenType.HAVING),
    }
)
