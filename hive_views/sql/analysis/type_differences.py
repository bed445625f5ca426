"""Where a text that two engines read has operands of different types, or other operators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from hive_views.sql.analysis.constructs import UNKNOWN
from hive_views.sql.parsing.syntax_tree import child_expressions, first_offsets_of, without_additions
from hive_views.sql.resolver.resolved import ResolvedQuery
from hive_views.sql.types.hive_types import base


@dataclass(frozen=True)
class TypeDifference:
    """An operand that has another type in another engine, or an operator that it reads otherwise."""

    types: tuple[str, str] | None
    """The type in either engine; None if the trees differ."""
    start: int
    """Where the operand begins in the text, in characters."""


def type_differences(resolution: ResolvedQuery, other: ResolvedQuery) -> Iterator[TypeDifference]:
    """Yield where a text, resolved by the rules of two engines, has operands of different types."""
    starts = first_offsets_of(resolution.tree)
    stack = [(resolution.tree, other.tree)]
    while stack:
        one, two = map(without_additions, stack.pop())
        start = starts.get(id(one), 0)
        is_renamed = {type(one), type(two)} in _ONE_FUNCTION
        if type(one) is not type(two) and not is_renamed:
            yield TypeDifference(None, start)
            continue
        types = (base(resolution.type_of(one) or UNKNOWN), base(other.type_of(two) or UNKNOWN))
        is_same = types[0] == types[1] or (isinstance(one, _OF_ONE_TYPE) and UNKNOWN in types)
        if _is_operand(one) and not is_same:
            yield TypeDifference(types, start)
        for name in ("this",) if is_renamed else {**one.args, **two.args}:
            parts = [child_expressions(node.args.get(name)) for node in (one, two)]
            if len(parts[0]) != len(parts[1]):
                yield TypeDifference(None, start)
            stack += zip(*parts, strict=False)


_OF_ONE_TYPE = (exp.Cast, exp.Count, exp.DateDiff, exp.Substring, exp.TsOrDsDiff)
"""Expressions that have the same type in both engines where it is not determined."""

_ONE_FUNCTION = (
    {exp.String, exp.Cast},
    {exp.Date, exp.Cast},
    {exp.Date, exp.TryCast},
    {exp.TimestampTrunc, exp.DateTrunc},
)
"""The classes that sqlglot gives to one function in different dialects: `string(x)`, `date(x)` and `trunc(x, 'MM')`."""


def _is_operand(node: exp.Expr) -> bool:
    """Return whether a node is a value whose type decides about another value: no column of a result, and no key."""
    if not isinstance(node, exp.Condition) or isinstance(node, (exp.DataType, exp.Star)):
        return False
    parent = node.parent
    if isinstance(node, exp.If) and isinstance(parent, exp.Case):
        return False  # WHEN … THEN …, whose parts are operands
    if isinstance(parent, exp.Alias):
        parent = parent.parent
    if isinstance(parent, exp.Select):
        around = parent.parent
        while isinstance(around, (exp.Subquery, exp.Paren)):
            around = around.parent
        return isinstance(around, (exp.SetOperation, exp.In))
    return not isinstance(parent, (exp.Paren, exp.Group, exp.Ordered, exp.Interval, exp.DataType))
