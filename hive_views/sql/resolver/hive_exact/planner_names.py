"""The column that Hive's planner reduces an expression to: `x` of `x + 0` and of `if(true, x, y)`.

Hive gives the column of the result the name of this column. Measured on Hive 4.1.0.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from sqlglot import exp

from hive_views.sql.parsing.syntax_tree import comparison_key, unwrapped

TypeOf = Callable[[exp.Expr], str | None]


def planned_column(node: exp.Expr, type_of: TypeOf) -> exp.Expr | None:
    """Return the column to which an expression is reduced; None if more than a column remains."""
    kind = type(node)
    if kind in (exp.Mul, exp.Add, exp.Sub, exp.Div):
        return _arithmetic_column(node)
    if kind is exp.Coalesce:
        options = [unwrapped(item) for item in (node.this, *node.expressions)]
        while len(options) > 1 and type(options[0]) is exp.Null:
            options = options[1:]
        return _only_one(options)
    if kind is exp.And or kind is exp.Or:
        sides = [planned_column(unwrapped(side), type_of) or unwrapped(side) for side in (node.this, node.expression)]
        return _only_one([side for side in sides if not _is_boolean(side, kind is exp.And)])
    if kind is exp.EQ or kind is exp.NEQ:
        for side, other_side in ((node.this, node.expression), (node.expression, node.this)):
            column = unwrapped(other_side)
            if _is_boolean(unwrapped(side), kind is exp.EQ) and type(column) is exp.Column:
                return column if type_of(column) == "boolean" else None
        return None
    if kind is exp.Neg and type(node.this) is exp.Paren:
        inner = unwrapped(node.this)
        return unwrapped(inner.this) if type(inner) is exp.Neg else None
    if kind is exp.Case or kind is exp.If:
        return _chosen_result(node)
    return None


def _arithmetic_column(node: exp.Expr) -> exp.Expr | None:
    """Return the operand next to a neutral number: `x` of `x * 1`, `1 * x`, `x + 0`, `0 + x`, `x - 0` and `x / 1`."""
    kind = type(node)
    left, right = unwrapped(node.this), unwrapped(node.expression)
    neutral = "1" if kind in (exp.Mul, exp.Div) else "0"
    if _is_number(right, neutral):
        return _without_casts(left)
    return _without_casts(right) if kind in (exp.Mul, exp.Add) and _is_number(left, neutral) else None


def _without_casts(node: exp.Expr) -> exp.Expr:
    while type(node) in (exp.Cast, exp.TryCast):
        node = unwrapped(node.this)
    return node


def _is_number(node: exp.Expr, written: str) -> bool:
    return type(node) is exp.Literal and not node.is_string and node.this == written


def _is_boolean(node: exp.Expr, value: bool) -> bool:
    return type(node) is exp.Boolean and node.this is value


def _only_one(nodes: list[exp.Expr]) -> exp.Expr | None:
    """Return the first of some expressions if all of them are equal."""
    return nodes[0] if len({comparison_key(node) for node in nodes}) == 1 else None


def _chosen_result(node: exp.Expr) -> exp.Expr | None:
    """Return the result of a choice whose conditions are constant, or whose results are all the same column."""
    if type(node) is exp.If:
        branches, default = [(node.this, node.args.get("true"))], node.args.get("false")
    elif node.args.get("this") is None:
        branches = [(item.this, item.args.get("true")) for item in node.args.get("ifs") or ()]
        default = node.args.get("default")
    else:
        return None
    if default is not None:
        column = _only_one([*(unwrapped(result) for _, result in branches if result is not None), unwrapped(default)])
        if type(column) is exp.Column:
            return column
    for condition, result in branches:
        value = _constant_value(unwrapped(condition))
        if value is None:
            return None
        if value:
            return unwrapped(result) if result is not None else None
    return unwrapped(default) if default is not None else None


def _constant_value(node: exp.Expr) -> bool | None:
    """Return the value of a condition that consists of literals; None for any other condition."""
    if type(node) is exp.Boolean:
        return bool(node.this)
    if type(node) not in _COMPARISONS:
        return None
    left, right = unwrapped(node.this), unwrapped(node.expression)
    if type(left) is not exp.Literal or type(right) is not exp.Literal or left.is_string or right.is_string:
        return None
    try:
        return _COMPARISONS[type(node)](float(left.this), float(right.this))
    except ValueError:
        return None


_COMPARISONS: dict[type, Callable[[float, float], bool]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}
