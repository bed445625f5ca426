"""What Hive refuses because of the types of operands: arithmetic, comparisons, casts, conditions, choices.

Measured on Hive 4.1.0 for every pair of types. Types that are not known are never refused. The checks hold in mode
`hive-exact` only, as those of `refusals` do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from hive_views.sql.resolver.context import State
from hive_views.sql.types import hive_types
from hive_views.sql.types.hive_types import INTEGERS, arithmetic

TypeOf = Callable[[exp.Expr], str | None]

_NUMBERS = frozenset({*hive_types.NUMERIC, "decimal"})
_STRINGS = frozenset(hive_types.STRINGS)
_NESTED = frozenset({"array", "map", "struct", "uniontype"})
_TIMES = frozenset({"date", "timestamp"})
_UNKNOWN = (None, "void")
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv)
_BITS = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor)
_CASTS: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double"), _NUMBERS | _STRINGS | {"boolean"}
    ),
    **dict.fromkeys(("decimal", "varchar", "char"), _NUMBERS | _STRINGS | _TIMES | {"boolean", "binary"}),
    "binary": _STRINGS | {"binary"},
    "date": _STRINGS | _TIMES,
    "timestamp": _STRINGS | _TIMES | {"boolean"},
}
"""What can be cast to each type."""


def refused_operands(kind: type, left: str | None, right: str | None) -> bool:
    """Whether an operator does not take two types."""
    if kind in (exp.And, exp.Or):
        return not {left, right}.isdisjoint({"binary", "date", "timestamp"})
    if left in _UNKNOWN or right in _UNKNOWN:
        known = left if right in _UNKNOWN else right
        base = hive_types.base(known or "")
        return None not in (left, right) and kind in _ARITHMETIC and base in {"boolean", "binary", *_TIMES, *_NESTED}
    one, other = hive_types.base(str(left)), hive_types.base(str(right))
    if kind is exp.DPipe:
        return other in _NESTED
    if kind in _BITS:
        return one not in INTEGERS or other not in INTEGERS
    if kind in _ARITHMETIC:
        spans = [name.startswith("interval") for name in (one, other)]
        if any(spans):
            partner = other if spans[0] else one
            return kind in (exp.Add, exp.Sub) and not all(spans) and partner not in _TIMES
        return arithmetic(kind.__name__, str(left), str(right)) is None
    return False


def check_operator(state: State, node: exp.Expr, type_of: TypeOf) -> None:
    """Refuse an operator whose operands are of types that it does not take."""
    right = node.args.get("expression")
    if not isinstance(right, exp.Expr):
        return
    one, other = type_of(node.this), type_of(right)
    if refused_operands(type(node), one, other):
        raise state.fail(f"Wrong arguments: {type(node).__name__} does not take {one} and {other}", right)


def check_sign(state: State, node: exp.Expr, type_of: TypeOf) -> None:
    """`-x`, `~x` and `not x`."""
    inner = type_of(node.this)
    if inner in _UNKNOWN:
        return
    base = hive_types.base(str(inner))
    if type(node) is exp.Not:
        wrong = base in ("binary", *_TIMES)
    elif type(node) is exp.BitwiseNot:
        wrong = base not in INTEGERS
    else:
        wrong = base not in _NUMBERS | _STRINGS and not base.startswith("interval")
    if wrong:
        raise state.fail(f"Wrong arguments: {type(node).__name__} does not take {inner}", node.this)


def check_cast(state: State, node: exp.Expr, target: str | None, type_of: TypeOf) -> None:
    """`cast(x as type)`."""
    taken = _CASTS.get(hive_types.base(target or ""))
    if taken is None:
        return
    inner = type_of(node.this)
    if inner not in _UNKNOWN and hive_types.base(str(inner)) not in taken:
        raise state.fail(f"Wrong arguments: a value of type {inner} cannot be cast to {target}", node.this)


def check_choice(
    state: State,
    options: Sequence[exp.Expr],
    type_of: TypeOf,
    both: Callable[[str, str], str | None] = hive_types.choice,
) -> None:
    """The results of CASE, IF, COALESCE and GREATEST must have one type."""
    result: str | None = None
    for option in options:
        found = type_of(option)
        if found is None:
            return
        if found == "void":
            continue
        shared = found if result is None and both is hive_types.choice else both(result or found, found)
        if shared is None:
            raise state.fail(
                f'Argument type mismatch: the results should all have the same type: "{result}" is expected but '
                f'"{found}" is found',
                option,
            )
        result = shared


def check_member(state: State, node: exp.In, type_of: TypeOf) -> None:
    """`x in (a, b)`."""
    wanted = type_of(node.this)
    if wanted in _UNKNOWN:
        return
    for item in node.expressions:
        found = type_of(item)
        if found not in _UNKNOWN and not _comparable(str(wanted), str(found)):
            raise state.fail(f"Wrong arguments: IN does not take {wanted} and {found}", item)


def _comparable(wanted: str, found: str) -> bool:
    one, other = hive_types.base(wanted), hive_types.base(found)
    if {one, other} & {"boolean", "binary"} or {one, other} & _NESTED:
        return one == other and (one not in _NESTED or wanted == found)
    if "timestamp" in (one, other):
        return one not in _NUMBERS and other not in _NUMBERS
    return True


def check_between(state: State, node: exp.Between, type_of: TypeOf) -> None:
    """`x between a and b`."""
    wanted = type_of(node.this)
    for side in ("low", "high"):
        found = type_of(node.args[side])
        if wanted in _UNKNOWN or found in _UNKNOWN:
            continue
        one, other = hive_types.base(str(wanted)), hive_types.base(str(found))
        if one in _NESTED or (one == "timestamp" and other in _NUMBERS):
            raise state.fail(f"Wrong arguments: BETWEEN does not take {wanted} and {found}", node.args[side])


def compares(kind: type, one: str, other: str) -> bool:
    """Whether a comparison takes two types."""
    left, right = hive_types.base(one), hive_types.base(other)
    if left in _NESTED or right in _NESTED:
        return kind in (exp.EQ, exp.NEQ, exp.NullSafeEQ) and one == other
    kinds = {left, right}
    return not (kinds & {"binary", "boolean"} and kinds & _TIMES)
