"""The types that Hive gives arithmetic: `GenericUDFBaseNumeric`, `GenericUDFBaseDTI`, `UDFOPLongDivide`.

Every pair of types was measured on Hive 4.1.0.
"""

from __future__ import annotations

from hive_views.sql.types import hive_types as typetext

INTEGERS = ("tinyint", "smallint", "int", "bigint")
"""The types of whole numbers, each wider than the one before."""
_TIMES = ("date", "timestamp")


def bounded(precision: int, scale: int) -> str:
    """A decimal type in Hive's limits: where the precision is too much, digits after the point go first."""
    if precision > 38:
        scale = max(38 - (precision - scale), min(scale, 6))
        precision = 38
    return f"decimal({precision},{scale})"


def arithmetic(operator: str, left: str, right: str) -> str | None:
    """The type of `left operator right`; None where Hive refuses it, or the type is not known."""
    numbers = (*typetext.NUMERIC, "decimal")
    left_base, right_base = typetext.base(left), typetext.base(right)
    if operator in ("Add", "Sub") and left == "date" and right == "int":
        return "date"
    if operator == "Sub" and left in _TIMES and right in _TIMES:
        return "interval_day_time"
    if "void" in (left, right) and left != right:
        known = left if right == "void" else right
        if known in typetext.NUMERIC:
            return known
        return "double" if typetext.base(known) in (*numbers, *typetext.STRINGS) else None
    if left_base in typetext.STRINGS or left == "void":
        left = left_base = "double"
    if right_base in typetext.STRINGS or right == "void":
        right = right_base = "double"
    if left_base not in numbers or right_base not in numbers:
        return None
    if operator == "IntDiv":
        return "bigint" if left in INTEGERS and right in INTEGERS else None
    floating = [kind for kind in (left, right) if kind in ("float", "double")]
    if "decimal" in (left_base, right_base) and not floating:
        return _decimal_arithmetic(operator, typetext.as_decimal(left), typetext.as_decimal(right))
    if operator == "Div":
        return "double"
    if floating:
        return "double" if "double" in floating else "float"
    return max(left, right, key=typetext.NUMERIC.index)


def _decimal_arithmetic(operator: str, left: tuple[int, int], right: tuple[int, int]) -> str | None:
    (p1, s1), (p2, s2) = left, right
    if operator in ("Add", "Sub"):
        scale = max(s1, s2)
        return bounded(max(p1 - s1, p2 - s2) + scale + 1, scale)
    if operator == "Mul":
        return bounded(p1 + p2 + 1, s1 + s2)
    if operator == "Div":
        scale = max(6, s1 + p2 + 1)
        return bounded(p1 - s1 + s2 + scale, scale)
    if operator == "Mod":
        scale = max(s1, s2)
        return bounded(min(p1 - s1, p2 - s2) + scale, scale)
    return None
