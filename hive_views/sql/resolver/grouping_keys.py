"""The keys of a GROUP BY, and the expressions of its block that may be equal to one.

Source of the rules: Spark 4.1's `Expression.canonicalized`, which takes `a + 1` for `1 + a`, `a > 1` for `NOT a <= 1`
and `nvl(a, b)` for `coalesce(a, b)`, and measurements with Spark 4.1.4. Two expressions may be equal unless they have
other columns, or consist of operators and differ in those or in their values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from hive_views.sql.parsing.syntax_tree import unwrapped
from hive_views.sql.resolver.context import BoundNames
from hive_views.sql.resolver.scopes import ScopeColumn

_OPERATORS: Mapping[type[exp.Expr], str] = {
    **{kind: kind.__name__ for kind in (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg)},
    **{kind: kind.__name__ for kind in (exp.And, exp.Or, exp.In, exp.Like, exp.Is, exp.Null, exp.Boolean)},
    **dict.fromkeys((exp.GT, exp.LT, exp.GTE, exp.LTE), "compare"),
    **dict.fromkeys((exp.EQ, exp.NEQ), "equal"),
    **dict.fromkeys((exp.Cast, exp.TryCast), "cast"),
}
"""The operators whose operands decide whether they are equal; those that Spark changes to each other have one name."""
_WITHOUT_MEANING = (exp.Paren, exp.Not)
_LISTS = (exp.Rollup, exp.Cube, exp.GroupingSets)

Columns = frozenset[ScopeColumn]


@dataclass(frozen=True)
class _Shape:
    """What is compared of an expression.

    Attributes:
        columns: Its columns.
        operators: A sum over its operators and values, in any order; None if it has calls and the like.
    """

    columns: Columns
    operators: int | None

    def may_equal(self, other: _Shape) -> bool:
        """Return whether Spark may take two expressions for the same."""
        is_other = None not in (self.operators, other.operators) and self.operators != other.operators
        return self.columns == other.columns and not is_other


_OTHER = _Shape(frozenset(), None)
"""The shape of a query, and of the parameter of a lambda function."""


@dataclass(frozen=True)
class GroupingKeys:
    """The keys of a block: columns, and the shapes of expressions."""

    columns: Columns
    _shapes: tuple[_Shape, ...] = field(default=())

    @classmethod
    def of(cls, keys: Iterable[exp.Expr], bound: BoundNames) -> GroupingKeys:
        """Return the keys that some expressions are, which call no aggregates and no window functions."""
        columns, shapes = set[ScopeColumn](), list[_Shape]()
        for key in keys:
            column = _plain_column(key, bound)
            shape = _shapes_in(key, bound, lambda _: False).get(id(key))
            if column is not None:
                columns.add(column)
            elif shape is not None and shape.columns:
                shapes.append(shape)
        return cls(frozenset(columns), tuple(shapes))

    def equal_parts(self, part: exp.Expr, bound: BoundNames, is_computed: Callable[[exp.Expr], bool]) -> frozenset[int]:
        """Return the ids of the nodes of a part of the block that may be equal to a key that is no column.

        Args:
            part: An element of the SELECT list without its alias, a condition, or what is sorted by.
            bound: What names refer to.
            is_computed: Tells whether a node is computed after the rows are grouped, so that no key contains it.
        """
        if not self._shapes:
            return frozenset()
        widest = max(len(shape.columns) for shape in self._shapes)
        shapes = _shapes_in(part, bound, is_computed, widest)
        return frozenset(node for node, shape in shapes.items() if any(shape.may_equal(key) for key in self._shapes))


def written_keys(group: exp.Group) -> Iterator[exp.Expr]:
    """Yield the keys of a GROUP BY and of its grouping sets."""
    stack = [*group.expressions]
    for name in ("rollup", "cube", "grouping_sets"):
        stack += [part for part in group.args.get(name) or () if isinstance(part, exp.Expr)]
    while stack:
        key = stack.pop()
        if isinstance(key, _LISTS):
            for member in key.expressions:
                stack += member.expressions if isinstance(member, exp.Tuple) else [member]
        else:
            yield unwrapped(key)


def _plain_column(node: exp.Expr, bound: BoundNames) -> ScopeColumn | None:
    """Return the column that an expression is; None if it computes something, or is a field of a struct."""
    is_plain = isinstance(node, exp.Column) and id(node) not in bound.fields
    return bound.bindings.get(id(node)) if is_plain else None


def _shapes_in(
    root: exp.Expr, bound: BoundNames, is_computed: Callable[[exp.Expr], bool], widest: int | None = None
) -> dict[int, _Shape]:
    """Return the shapes of the expressions in a part, by the ids of their nodes, of at most a number of columns."""
    shapes = dict[int, _Shape]()
    nodes = list(root.dfs(prune=lambda node: isinstance(node, (exp.Column, exp.Query))))
    for node in reversed(nodes):
        shape = None if is_computed(node) else _shape_of(node, bound, shapes)
        if shape is not None and (widest is None or len(shape.columns) <= widest):
            shapes[id(node)] = shape
    for node in nodes:
        if _plain_column(unwrapped(node), bound) is not None:
            shapes.pop(id(node), None)
    return shapes


def _shape_of(node: exp.Expr, bound: BoundNames, shapes: Mapping[int, _Shape]) -> _Shape | None:
    """Return the shape of a node whose children have theirs; None if one has none."""
    if isinstance(node, exp.Column):
        column = bound.bindings.get(id(node))
        fields = tuple(bound.fields.get(id(node), ()))
        return _OTHER if column is None else _Shape(frozenset({column}), hash((id(column), fields)))
    if isinstance(node, exp.Query):
        return _OTHER
    if isinstance(node, (exp.DataType, exp.Identifier)):
        return _Shape(frozenset(), hash(str(node.this)))
    inner = [shapes.get(id(child)) for child in node.iter_expressions()]
    columns: Columns = frozenset()
    operators: int | None = 0 if isinstance(node, _WITHOUT_MEANING) else _number_of(node)
    for shape in inner:
        if shape is None:
            return None
        columns |= shape.columns
        operators = None if operators is None or shape.operators is None else operators + shape.operators
    return _Shape(columns, operators)


def _number_of(node: exp.Expr) -> int | None:
    """Return a number for an operator or a value; None for other nodes."""
    if isinstance(node, exp.Literal):
        return hash((True, node.name)) if node.is_string else _number_of_digits(node.name)
    if isinstance(node, exp.Boolean):
        return hash(bool(node.this))
    name = _OPERATORS.get(type(node))
    return None if name is None else hash(name)


def _number_of_digits(text: str) -> int | None:
    """Return a number for digits as Spark reads them, `.5` as `0.5`; None for other numbers, such as `1e3`."""
    return hash((False, text.lstrip("0"))) if text.replace(".", "", 1).isdigit() else None
