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


def conditions_on_preserved_rows(join: exp.Join) -> Iterator[str]:
    """Yield a signature if ON of a LEFT or FULL JOIN has a condition on the side of which all rows are returned.

    Hive applies what a subquery on the other side says about the key of the join to the rows of this side, too. It does
    not for a RIGHT JOIN.
    """
    side, on = join.side.upper(), join.args.get("on")
    if side not in ("LEFT", "FULL") or join.kind.upper() in ("SEMI", "ANTI") or on is None:
        return
    joined = join.this.alias_or_name.lower()
    names = {name.lower() for name in join.this.named_selects} if isinstance(join.this, exp.Subquery) else set()

    def is_of_joined(column: exp.Column) -> bool:
        return column.table.lower() == joined if column.table else column.name.lower() in names

    for condition in conjuncts(on):
        sides = {is_of_joined(column) for column in condition.find_all(exp.Column)}
        if sides == {False} or (sides == {True} and side == "FULL"):
            kept = "filtered subquery" if any(map(_is_filtered, _other_sources(join, sides))) else "table"
            yield f"condition on the rows that an outer join keeps; joined with a {kept}"


def _other_sources(join: exp.Join, sides: set[bool]) -> list[exp.Expr]:
    """Return the sources on the other side of a join than the columns of a condition."""
    select = join.parent
    if sides == {False} or not isinstance(select, exp.Select):
        return [join.this]
    joins = select.args.get("joins") or []
    return [select.args["from_"].this, *(item.this for item in joins[: joins.index(join)])]


def _is_filtered(source: exp.Expr) -> bool:
    """Return whether a source is a subquery, or the name of a CTE, with a condition in it."""
    query: exp.Expr | None = source
    if isinstance(source, exp.Table) and not source.db:
        ctes = source.root().find_all(exp.CTE)
        query = next((cte for cte in ctes if cte.alias.lower() == source.name.lower()), None)
    return query is not None and query.find(exp.Where, exp.Having) is not None


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
