"""Quotients and averages of decimals that Trino computes with the digits of Hive and Spark, or more."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from hive_views.sql.parsing.syntax_tree import comparison_key
from hive_views.sql.types.hive_types import decimal

TypeOf = Callable[[exp.Expr], str | None]


def is_exact_quotient(node: exp.Expr, type_of: TypeOf) -> bool:
    """Return whether Trino's quotient of a decimal by an integer literal has the digits of Hive and Spark, and more.

    Trino takes the literal for an integer of ten digits. Rounding its quotient to the digits of Hive and Spark gives
    their result, since a quotient by a small divisor is never so close to the middle between two rounded values that
    rounding twice matters.
    """
    dividend, quotient = decimal(type_of(node.this) or ""), decimal(type_of(node) or "")
    divisor = node.expression
    if dividend is None or quotient is None or not isinstance(divisor, exp.Literal) or not divisor.this.isdigit():
        return False
    digits = max(6, dividend[1] + 11)
    is_close = 10 ** (digits - dividend[1] - quotient[1]) <= int(divisor.this)
    return dividend[0] - dividend[1] + digits <= 38 and int(divisor.this) > 0 and not is_close


AVERAGED_DIGITS = 15
"""The most digits of a decimal whose average can be written as a quotient."""


def is_exact_average(node: exp.Expr, type_of: TypeOf) -> bool:
    """Return whether a quotient is `CAST(CAST(sum(x) AS …) / count(x) AS …)`, an average of decimals.

    Trino rounds the quotient to the digits of the average. Hive and Spark compute at least nine more digits and round
    again. The results are equal: a quotient that is so close to the middle between two averages that rounding twice
    matters would need 10^9 values.
    """
    cast, dividend, divisor = node.parent, node.args.get("this"), node.args.get("expression")
    if not isinstance(node, exp.Div) or not isinstance(dividend, exp.Cast) or not isinstance(divisor, exp.Count):
        return False
    sum_ = dividend.this
    size = decimal(type_of(sum_.this) or "") if isinstance(sum_, exp.Sum) else None
    if size is None or size[0] > AVERAGED_DIGITS or comparison_key(sum_.this) != comparison_key(divisor.this):
        return False
    types = [decimal(type_of(item) or "") for item in (dividend, cast) if isinstance(item, exp.Cast)]
    return types == list(average_types(*size))


def average_types(precision: int, scale: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the types to which the sum and the quotient of an average of decimals are cast."""
    return (precision + 14, scale + 4), (precision + 4, scale + 4)
