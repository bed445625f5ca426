"""What a text says about the values of an expression: never NULL, never negative, or a time that both engines have.

A value of a column is known by the WHERE clause, the ON clauses of inner joins and the subquery that it comes from.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from hive_views.sql.analysis.operands import comparisons, number, spelled
from hive_views.sql.parsing.syntax_tree import conjuncts, has_grouping_sets, unwrapped

_NOT_NULL = (exp.Count, exp.ArrayAgg, exp.ArrayUniqueAgg, exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile)
"""Calls that return no NULL."""
_NULL_FOR_NULL_ONLY = (exp.Upper, exp.Lower, exp.Length, exp.Reverse)
"""Calls that return NULL for NULL, and for nothing else."""
_NULL_FOR_NULL = (
    *(exp.Upper, exp.Lower, exp.Length, exp.Reverse, exp.Trim, exp.Substring, exp.Cast, exp.Neg, exp.Abs, exp.Paren),
    *(exp.Year, exp.Month, exp.Day, exp.DayOfMonth, exp.Quarter, exp.TsOrDsToDate, exp.TimeStrToTime),
)
"""Expressions that return NULL if their first operand is NULL, and perhaps for other values, too."""
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.RegexpLike)


def filtering_select(node: exp.Expr) -> exp.Select | None:
    """Return the SELECT whose WHERE clause excludes rows before an expression is computed; None if none does."""
    select = node.find_ancestor(exp.Select, exp.Where, exp.Join, exp.Lateral)
    return select if isinstance(select, exp.Select) else None


def is_never_null(node: exp.Expr, select: exp.Expr | None = None, *, has_aliases: bool = False) -> bool:
    """Return whether an expression has a value in each row.

    Args:
        node: The expression.
        select: The SELECT whose rows it is computed for, after its WHERE clause.
        has_aliases: Whether it may name an alias of that SELECT.
    """
    if isinstance(node, (exp.Paren, exp.Alias)):
        return is_never_null(node.this, select, has_aliases=has_aliases)
    if isinstance(node, (exp.Literal, exp.Array, *_NOT_NULL)):
        return True
    if isinstance(node, exp.Window):
        return isinstance(node.this, _NOT_NULL)
    if isinstance(node, _NULL_FOR_NULL_ONLY):
        return is_never_null(node.this, select, has_aliases=has_aliases)
    if isinstance(node, exp.Coalesce):
        return any(is_never_null(item, select) for item in (node.this, *node.expressions))
    if isinstance(node, exp.Case):
        results = [item.args["true"] for item in node.args["ifs"]]
        default = node.args.get("default")
        return default is not None and all(is_never_null(item, select) for item in (*results, default))
    if isinstance(node, exp.Column) and isinstance(select, exp.Select):
        name = node.name.lower()
        aliased = next((item for item in select.selects if not node.table and item.alias.lower() == name), None)
        if has_aliases and isinstance(aliased, exp.Alias):
            return is_never_null(aliased.this, select)
        group = select.args.get("group")
        if group is not None and has_grouping_sets(group):
            return False  # the rows of ROLLUP have NULL for keys
        return any(_excludes_null(item, node) for item in _conditions(select)) or _is_never_null_below(node, select)
    return False


def _conditions(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the conditions that hold for each row of a SELECT: of WHERE, and of ON if all joins are inner joins."""
    where = select.args.get("where")
    if where is not None:
        yield from conjuncts(where.this)
    joins = select.args.get("joins") or []
    if all(not join.side and join.kind.upper() in ("", "INNER", "CROSS") for join in joins):
        for join in joins:
            if join.args.get("on") is not None:
                yield from conjuncts(join.args["on"])


def _excludes_null(condition: exp.Expr, column: exp.Column) -> bool:
    """Return whether a condition holds only for rows in which a column has a value."""
    condition = unwrapped(condition)
    if isinstance(condition, exp.Not):
        inner = unwrapped(condition.this)
        is_null = isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null) and inner.this == column
        return is_null or (isinstance(inner, (exp.Like, exp.RegexpLike)) and _excludes_null(inner, column))
    if isinstance(condition, _COMPARISONS):
        return any(_is_null_with(side, column) for side in (condition.this, condition.expression))
    return isinstance(condition, (exp.Between, exp.In)) and _is_null_with(condition.this, column)


def _is_null_with(node: exp.Expr, column: exp.Column) -> bool:
    """Return whether an expression is NULL where a column is."""
    while isinstance(node, _NULL_FOR_NULL):
        node = node.this
    return node == column


def _is_never_null_below(column: exp.Column, select: exp.Select) -> bool:
    """Return whether a column comes from a subquery or a CTE that returns no NULL for it."""
    joins = select.args.get("joins") or []
    if select.args.get("from_") is None or select.args.get("laterals"):
        return False
    if any(join.side.upper() in ("RIGHT", "FULL") for join in joins):
        return False
    sources = [select.args["from_"].this, *(join.this for join in joins if not join.side)]
    if column.table:
        sources = [source for source in sources if source.alias_or_name.lower() == column.table.lower()]
    elif joins:
        return False
    inner = _query_of(sources[0]) if len(sources) == 1 else None
    if not isinstance(inner, exp.Select):
        return False
    group = inner.args.get("group")
    if group is not None and has_grouping_sets(group):
        return False
    name = column.name.lower()
    selected = [item for item in inner.selects if item.alias_or_name.lower() == name]
    return len(selected) == 1 and is_never_null(selected[0], inner)


def _query_of(source: exp.Expr) -> exp.Expr | None:
    """Return the query of a derived table or of the CTE that a name refers to, unless it renames columns."""
    alias = source.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.columns:
        return None
    if isinstance(source, exp.Subquery):
        return source.unnest()
    if not isinstance(source, exp.Table) or source.db:
        return None
    named = [cte for cte in source.root().find_all(exp.CTE) if cte.alias.lower() == source.name.lower()]
    if len(named) != 1 or named[0].args["alias"].columns or source.find_ancestor(exp.CTE) is named[0]:
        return None
    owner = named[0].find_ancestor(exp.Query)
    around: exp.Expr | None = source
    while around is not None and around is not owner:
        around = around.parent
    if around is None:
        return None  # the name of a table, and of a CTE in another subquery
    query: exp.Expr = named[0].this
    return query


_NEVER_NEGATIVE = (
    *(exp.Abs, exp.Count, exp.Length),
    *(exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop),
)


def is_never_negative(node: exp.Expr, select: exp.Expr | None) -> bool:
    """Return whether a number is not below 0 in the rows of a SELECT.

    That holds for an absolute value, a square, and one that WHERE selects. A sum counts only if it is one of squares,
    which are DOUBLE: others may overflow.
    """
    node = unwrapped(node)
    if isinstance(node, (*_NEVER_NEGATIVE, exp.Literal)):
        return not isinstance(node, exp.Literal) or not node.is_string
    if isinstance(node, exp.Add):
        sides = (unwrapped(node.this), unwrapped(node.expression))
        return all(isinstance(side, (exp.Pow, exp.Add)) and is_never_negative(side, select) for side in sides)
    if isinstance(node, exp.Pow):
        exponent = number(node.expression)
        return exponent is not None and exponent % 2 == 0
    if isinstance(node, exp.Coalesce):
        return all(is_never_negative(item, select) for item in (node.this, *node.expressions))
    return any(low >= 0 for low in _lowest(node, select))


def _lowest(node: exp.Expr, select: exp.Expr | None) -> Iterator[float]:
    """Yield the numbers that an expression is not below, by the WHERE clause of a SELECT."""
    for kind, value in _compared(node, select):
        if kind in (exp.GT, exp.GTE, exp.EQ):
            yield value


def _highest(node: exp.Expr, select: exp.Expr | None) -> Iterator[float]:
    for kind, value in _compared(node, select):
        if kind in (exp.LT, exp.LTE, exp.EQ):
            yield value


def _compared(node: exp.Expr, select: exp.Expr | None) -> Iterator[tuple[type[exp.Expr], float]]:
    """Yield the operators and the numbers with which the WHERE clause of a SELECT compares an expression."""
    where = select.args.get("where") if isinstance(select, exp.Select) else None
    for condition in () if where is None else conjuncts(where.this):
        yield from comparisons(condition, spelled(node))
        inner = unwrapped(condition)
        if isinstance(inner, exp.Between) and spelled(inner.this) == spelled(node):
            bounds = (number(inner.args["low"]), number(inner.args["high"]))
            yield from (
                (kind, value) for kind, value in zip((exp.GTE, exp.LTE), bounds, strict=True) if value is not None
            )


_FIRST_SECOND, _LAST_SECOND = -(86400 * 365 * 70), 253402214400
"""The seconds from 1900 to the last day of the year 9999."""


def is_time(node: exp.Expr, select: exp.Expr | None) -> bool:
    """Return whether a number of seconds is a time of the years 1900 to 9999: of `unix_timestamp`, or by WHERE."""
    node = unwrapped(node)
    if isinstance(node, exp.StrToUnix):
        return True
    is_after = any(low >= _FIRST_SECOND for low in _lowest(node, select))
    return is_after and any(high <= _LAST_SECOND for high in _highest(node, select))


def is_filter_of_values(call: exp.Expr) -> bool:
    """Return whether WHERE compares a call with a number so that NULL and -1 fail alike, as in `size(x) > 0`."""
    condition = call.parent
    select = call.find_ancestor(exp.Select)
    where = select.args.get("where") if isinstance(select, exp.Select) else None
    if condition is None or where is None or all(item is not condition for item in conjuncts(where.this)):
        return False
    return any(
        value >= 0 and kind in (exp.GT, exp.GTE, exp.EQ) for kind, value in comparisons(condition, spelled(call))
    )


def is_from_end(arguments: list[exp.Expr], select: exp.Expr | None) -> bool:
    """Return whether a part is counted from the end of a text that WHERE selects for its length."""
    start = number(arguments[1]) if len(arguments) > 1 else None
    sizes = [number(item) for item in arguments[2:]]
    if start is None or start >= 0 or any(size is None or size <= 0 for size in sizes):
        return False
    return any(low >= -start for low in _lowest(exp.Length(this=arguments[0].copy()), select))
