"""The subset of SQL in which a Trino text means the same to Hive and Spark.

A Trino text that Spark or Hive can parse may return other rows there without an error: `a / b` of integers, `"a"` (a
string to Spark), `substr(s, 0)`, NULLs in an ordering, indexes of arrays. So each element of a text must be in the list
below, whose members Trino, Hive and Spark define alike wherever Trino returns a result at all. Other texts are not
translated.
"""

from __future__ import annotations

import re

from sqlglot import exp

from hive_views.errors import SqlError
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.rewriting.dialects import requote_trino_text

_PORTABLE_NODES = (
    exp.Alias,
    exp.And,
    exp.Between,
    exp.Boolean,
    exp.Case,
    exp.Coalesce,
    exp.Column,
    exp.Count,
    exp.CTE,
    exp.Distinct,
    exp.EQ,
    exp.From,
    exp.GT,
    exp.GTE,
    exp.Group,
    exp.Having,
    exp.Identifier,
    exp.If,
    exp.In,
    exp.Is,
    exp.Join,
    exp.LT,
    exp.LTE,
    exp.Like,
    exp.Literal,
    exp.Lower,
    exp.Max,
    exp.Min,
    exp.NEQ,
    exp.Not,
    exp.Null,
    exp.Or,
    exp.Paren,
    exp.Select,
    exp.Star,
    exp.Subquery,
    exp.Sum,
    exp.Table,
    exp.TableAlias,
    exp.Union,
    exp.Upper,
    exp.Where,
    exp.With,
)
"""Includes sums and comparisons, because Trino requires operands of one type and fails if a sum overflows."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def to_portable_sql(sql: str) -> str:
    """Return a Trino text with the identifier quotes of Hive and Spark; raises SqlError if it is not portable."""
    tree = parse_query(sql, "trino").tree
    for node in tree.walk():
        construct = _unportable_construct(node)
        if construct is not None:
            raise SqlError(f"Trino's {construct} is not known to mean the same to Hive and Spark")
    return requote_trino_text(sql)


def _unportable_construct(node: exp.Expr) -> str | None:
    """Return what may mean something else to Hive or Spark; None if nothing does."""
    if isinstance(node, exp.Cast):
        literal = node.this
        if node.to.this is exp.DType.DATE and isinstance(literal, exp.Literal) and _DATE.fullmatch(literal.name):
            return None
        return f"CAST to {node.to.sql('trino')}"
    if isinstance(node, exp.DataType):
        return None  # checked with its CAST
    if type(node) not in _PORTABLE_NODES:
        return str(node.sql_name()) if isinstance(node, exp.Func) else node.key.upper()
    if isinstance(node, exp.Like) and not isinstance(node.expression, exp.Literal):
        return "LIKE with a pattern that is not a literal"
    if isinstance(node, exp.Group) and (
        any(isinstance(item, exp.Literal) for item in node.expressions)
        or any(value for key, value in node.args.items() if key != "expressions")
    ):
        return "GROUP BY with positions, sets, ALL or DISTINCT"
    if isinstance(node, exp.Join) and (node.args.get("using") or node.method):
        return "JOIN with USING or NATURAL"
    if isinstance(node, exp.Table) and any(node.args.get(key) for key in ("sample", "when", "version", "pivots")):
        return "sample or point in time"
    if isinstance(node, exp.Literal) and not node.is_string and not re.fullmatch(r"\d+(\.\d+)?", node.name):
        return f"number {node.name}"
    if isinstance(node, exp.Select) and (node.args.get("distinct") or None) is not None:
        on = node.args["distinct"].args.get("on")
        return "DISTINCT ON" if on else None
    if isinstance(node, exp.With) and node.args.get("recursive"):
        return "WITH RECURSIVE"
    return None
