"""The part of SQL in which a Trino text means the same to Hive and to Spark.

A text of Trino's that Spark or Hive can read too may still give other rows without an error: `a / b` of integers,
`"a"` (a string to Spark), `substr(s, 0)`, NULLs in an ordering, indexes of arrays. So nothing is concluded from a text
being readable: each element of it must be on the list below, whose members Trino, Hive and Spark define alike wherever
Trino gives an answer at all. What is not on the list is not translated.
"""

from __future__ import annotations

import re

from sqlglot import exp

from hive_views.errors import SqlError
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.rewriting.dialects import requote_trino_text

_ALIKE = (
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
"""Sums and comparisons are among them, since Trino takes operands of one type only and fails where a sum overflows."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_FUNCTIONS = (exp.Func,)


def portable(sql: str) -> str:
    """A text of Trino's as Hive and Spark write it: the same but for the quotes around names."""
    tree = parse_query(sql, "trino").tree
    for node in tree.walk():
        reason = _other(node)
        if reason is not None:
            raise SqlError(f"Trino's {reason} is not known to mean the same to Hive and Spark")
    return requote_trino_text(sql)


def _other(node: exp.Expr) -> str | None:
    """What about a node may mean something else to others; None for nothing."""
    if isinstance(node, exp.Cast):
        literal = node.this
        if node.to.this is exp.DType.DATE and isinstance(literal, exp.Literal) and _DATE.fullmatch(literal.name):
            return None
        return f"CAST to {node.to.sql('trino')}"
    if isinstance(node, exp.DataType):
        return None  # judged with its CAST
    if type(node) not in _ALIKE:
        return str(node.sql_name()) if isinstance(node, _FUNCTIONS) else node.key.upper()
    if isinstance(node, exp.Like) and not isinstance(node.expression, exp.Literal):
        return "LIKE with a pattern that is no literal"
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
