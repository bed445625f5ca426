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


ONE_TABLE = "one table, read with a filter and without"


def joins_of_one_table(join: exp.Join) -> Iterator[str]:
    """Yield a signature if a LEFT or FULL JOIN adds a filtered subquery of a table that is read without a filter, too.

    MapReduce of Hive applies a filter on the files of a table to each of its readings, unless all have one. An inner
    join has one: its keys are not NULL.
    """
    select, side = join.parent, join.side.upper()
    if side not in ("LEFT", "FULL") or not isinstance(select, exp.Select):
        return
    before = select.args["joins"][: select.args["joins"].index(join)]
    if not all(item.side for item in before):
        return
    sources = (select.args["from_"].this, *(item.this for item in before))
    left = {reading for source in sources for reading in _readings(source)}
    right = set(_readings(join.this))
    if any(name == other and two > one for name, one in left for other, two in right) or (
        side == "FULL" and any(name == other and one > two for name, one in left for other, two in right)
    ):
        yield ONE_TABLE


def set_operations_of_one_table(operation: exp.SetOperation) -> Iterator[str]:
    """Yield a signature if a set operation reads a table with a filter and without, except UNION ALL at the top."""
    if type(operation) is exp.Union and not operation.args.get("distinct") and operation.parent is None:
        return
    left, right = (set(_readings(side)) for side in (operation.left, operation.right))
    if any((name, not is_filtered) in right for name, is_filtered in left):
        yield ONE_TABLE


def _readings(source: exp.Expr, *, is_filtered: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield the tables that a source or a query reads without grouping its rows, and whether WHERE filters them."""
    query: exp.Expr | None = source.unnest() if isinstance(source, exp.Subquery) else source
    if isinstance(source, exp.Table):
        ctes = () if source.db else source.root().find_all(exp.CTE)
        query = next((cte.this for cte in ctes if cte.alias.lower() == source.name.lower()), None)
        if query is None or source.find_ancestor(exp.CTE) is query.parent:
            yield source.name.lower(), is_filtered
            return
    if isinstance(query, exp.SetOperation):
        for side in (query.left, query.right):
            yield from _readings(side, is_filtered=is_filtered)
    if not isinstance(query, exp.Select) or query.args.get("group") or query.args.get("from_") is None:
        return
    filtered = is_filtered or query.args.get("where") is not None
    for inner in (query.args["from_"].this, *(item.this for item in query.args.get("joins") or ())):
        yield from _readings(inner, is_filtered=filtered)


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
