"""Conditions and operators whose surroundings decide what an engine returns: precedence, and correlation."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from hive_views.sql.parsing.syntax_tree import conjuncts

_SUMS = (exp.Add, exp.Sub, exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor)
_COMPARISONS = (
    *(
        exp.EQ,
        exp.NEQ,
        exp.NullSafeEQ,
        exp.NullSafeNEQ,
        exp.LT,
        exp.LTE,
        exp.GT,
        exp.GTE,
        exp.Like,
        exp.ILike,
        exp.RegexpLike,
    ),
    *(exp.In, exp.Between, exp.Is),
)


def bare_operands(node: exp.Expr) -> Iterator[str]:
    """Yield a signature for operators without parentheses to which the engines give different precedence."""
    kind = type(node)
    if kind is not exp.DPipe and kind not in _SUMS and kind not in _COMPARISONS:
        return
    names = ("this", "expression", "low", "high")
    operands = [operand for name in names if isinstance(operand := node.args.get(name), exp.Expr)]
    if kind in _COMPARISONS:
        if any(isinstance(operand, (*_COMPARISONS, exp.Not)) for operand in operands):
            yield "comparison of a comparison without parentheses"
    elif any(isinstance(item, _SUMS if kind is exp.DPipe else exp.DPipe) for item in operands):
        yield "|| with a sum without parentheses"


def conditions_over_lateral_views(where: exp.Expr) -> Iterator[str]:
    """Yield a signature if a condition has columns of a LATERAL VIEW and of what is in front of it."""
    laterals = [] if where.parent is None else where.parent.args.get("laterals") or []
    aliases = {lateral.alias_or_name.lower() for lateral in laterals}
    columns = {column.lower() for lateral in laterals for column in lateral.alias_column_names}

    def is_generated(column: exp.Column) -> bool:
        return column.table.lower() in aliases if column.table else column.name.lower() in columns

    for condition in conjuncts(where.this) if laterals else ():
        if {is_generated(column) for column in condition.find_all(exp.Column)} == {True, False}:
            yield "condition over both sides of a lateral view"


def inequalities(query: exp.Expr) -> Iterator[str]:
    """Yield a signature if a subquery uses a column of the query around it elsewhere than on one side of `=`."""
    if not isinstance(query, exp.Select):
        return
    own = {source.alias_or_name.lower() for source in query.find_all(exp.Table, exp.Subquery, exp.Lateral)}

    def outer(node: exp.Expr) -> set[bool]:
        return {bool(column.table) and column.table.lower() not in own for column in node.find_all(exp.Column)}

    compared: set[int] = set()
    where = query.args.get("where")
    for condition in () if where is None else conjuncts(where.this):
        columns = list(condition.find_all(exp.Column))
        is_equality = type(condition) is exp.EQ
        if (
            is_equality
            and {True} in (sides := [outer(condition.this), outer(condition.expression)])
            and {False} in sides
        ):
            compared.update(map(id, columns))
        elif (
            not is_equality
            and len({column.sql() for column in columns}) > 1
            and not all(column.table for column in columns)
        ):
            yield _INEQUALITY  # one of them may be a column of the query around it
    if any(True in outer(column) and id(column) not in compared for column in query.find_all(exp.Column)):
        yield _INEQUALITY


_INEQUALITY = "subquery with a condition on the query around it that is no equality"
