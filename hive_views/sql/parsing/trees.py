"""Small questions about sqlglot's trees."""

from __future__ import annotations

from typing import Any

from sqlglot import exp


def expressions(value: Any) -> list[exp.Expr]:
    """The nodes in one argument of a node: itself, or those of its list."""
    if isinstance(value, exp.Expr):
        return [value]
    if isinstance(value, list):
        return [item for item in value if isinstance(item, exp.Expr)]
    return []


def starts(node: exp.Expr) -> list[int]:
    """The first characters, in the text, of all names and calls in an expression; in no order."""
    found: list[int] = []
    waiting = [node]
    while waiting:
        current = waiting.pop()
        meta = current._meta
        if meta and "start" in meta:
            found.append(meta["start"])
        for value in current.args.values():
            if isinstance(value, exp.Expr):
                waiting.append(value)
            elif isinstance(value, list):
                waiting += [item for item in value if isinstance(item, exp.Expr)]
    return found


def bare(node: exp.Expr) -> exp.Expr:
    """An expression without its alias and the parentheses around it."""
    if type(node) is exp.Alias:
        node = node.this
    while type(node) is exp.Paren:
        node = node.this
    return node


def begins_with_with(query: exp.Expr) -> bool:
    """Whether a query, in parentheses or not, begins with WITH."""
    while type(query) in (exp.Subquery, exp.Paren):
        if query.args.get("with_") is not None:
            return True
        query = query.this
    return query.args.get("with_") is not None


def is_star(item: exp.Expr) -> bool:
    """Whether an element of a SELECT list is `*` or `t.*`."""
    return type(item) is exp.Star or (type(item) is exp.Column and type(item.this) is exp.Star)
