"""Operands that Hive rejects because of their types, in arithmetic, comparisons, casts and CASE, IF or COALESCE.

Measured on Hive 4.1.0 for every pair of types. Unknown types are never rejected. Like the rules of `refusals`, these
apply only in mode `hive-exact`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.parsing.syntax_tree import unwrapped
from hive_views.sql.resolver.context import ResolutionContext
from hive_views.sql.types import hive_types
from hive_views.sql.types.hive_types import INTEGERS, NUMBERS, TIMES, arithmetic

_STRINGS = frozenset(hive_types.STRINGS)
_NESTED = frozenset({"array", "map", "struct", "uniontype"})
_UNKNOWN = (None, "void")
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv)
_BITS = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor)
_CASTS: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double"), NUMBERS | _STRINGS | {"boolean"}
    ),
    **dict.fromkeys(("decimal", "varchar", "char"), NUMBERS | _STRINGS | TIMES | {"boolean", "binary"}),
    "binary": _STRINGS | {"binary"},
    "date": _STRINGS | TIMES,
    "timestamp": _STRINGS | TIMES | {"boolean"},
}
"""The types that can be cast to each type."""


def check_operands(context: ResolutionContext, operators: Sequence[exp.Expr]) -> None:
    """Check the operands of an operator, or of a chain of one operator such as `a + b + c`."""
    kind = type(operators[-1])
    if kind in _COMPARISONS:
        node = operators[-1]
        check_comparison(context, node.this, node.args["expression"], kind)
    elif kind in _CHECKS:
        _CHECKS[kind](context, operators[-1])
    elif len(operators) <= _LONGEST_CHECKED_CHAIN:
        for operator in operators:
            _check_operator(context, operator)


def _check_operator(context: ResolutionContext, node: exp.Expr) -> None:
    right = node.args.get("expression")
    if not isinstance(right, exp.Expr):
        return
    left_type, right_type = context.type_of(node.this), context.type_of(right)
    if _is_rejected(type(node), left_type, right_type):
        raise context.fail(f"Wrong arguments: {type(node).__name__} does not take {left_type} and {right_type}", right)


def _is_rejected(kind: type, left: str | None, right: str | None) -> bool:
    """Return whether Hive rejects an operator for two types."""
    if kind in (exp.And, exp.Or):
        return not {left, right}.isdisjoint({"binary", "date", "timestamp"})
    if left in _UNKNOWN or right in _UNKNOWN:
        base = hive_types.base((left if right in _UNKNOWN else right) or "")
        return None not in (left, right) and kind in _ARITHMETIC and base in {"boolean", "binary", *TIMES, *_NESTED}
    left_base, right_base = hive_types.base(str(left)), hive_types.base(str(right))
    if kind is exp.DPipe:
        return right_base in _NESTED
    if kind is exp.BitwiseXor:
        return False  # binds more tightly than `*` in Hive but not in the tree, so Hive may see other operands
    if kind in _BITS:
        return left_base not in INTEGERS or right_base not in INTEGERS
    if kind in _ARITHMETIC:
        intervals = [base.startswith("interval") for base in (left_base, right_base)]
        if any(intervals):
            partner = right_base if intervals[0] else left_base
            return kind in (exp.Add, exp.Sub) and not all(intervals) and partner not in TIMES
        return arithmetic(kind.__name__, str(left), str(right)) is None
    return False


def _check_sign(context: ResolutionContext, node: exp.Expr) -> None:
    """Check `-x`, `~x` and `not x`."""
    type_text = context.type_of(node.this)
    if type_text in _UNKNOWN:
        return
    base = hive_types.base(str(type_text))
    if type(node) is exp.Not:
        is_wrong = base in ("binary", *TIMES)
    elif type(node) is exp.BitwiseNot:
        is_wrong = base not in INTEGERS
    else:
        is_wrong = base not in NUMBERS | _STRINGS and not base.startswith("interval")
    if is_wrong:
        raise context.fail(f"Wrong arguments: {type(node).__name__} does not take {type_text}", node.this)


def _check_cast(context: ResolutionContext, node: exp.Expr) -> None:
    target = _written_type(context, node)
    accepted_types = _CASTS.get(hive_types.base(target or ""))
    if accepted_types is None:
        return
    type_text = context.type_of(node.this)
    if type_text not in _UNKNOWN and hive_types.base(str(type_text)) not in accepted_types:
        raise context.fail(f"Wrong arguments: a value of type {type_text} cannot be cast to {target}", node.this)


def _written_type(context: ResolutionContext, node: exp.Expr) -> str | None:
    """Return the name of the type in a cast, without its parameters; reject a type that Hive does not have."""
    text = context.text
    tokens = context.tokens_of(node)
    at = tokens[1] if tokens is not None else 0
    while at > 0 and text.tokens[at].token_type is not TokenType.ALIAS:
        at -= 1
    if not at:
        return None
    written = text.raw(at + 1).lower()
    has_parameters = text.kinds[at + 2] is not TokenType.R_PAREN
    if written == "interval" or (written in ("varchar", "char") and not has_parameters):
        raise context.fail(f"Cannot read the text: Hive has no type '{written}'", text.tokens[at + 1].start)
    return {"integer": "int", "dec": "decimal", "numeric": "decimal"}.get(written, written)


def check_choice(
    context: ResolutionContext,
    options: Sequence[exp.Expr],
    unify: Callable[[str, str], str | None] = hive_types.choice,
) -> None:
    """Check that the results of CASE, IF, COALESCE or GREATEST have one type."""
    result: str | None = None
    for option in options:
        type_text = context.type_of(option)
        if type_text is None:
            return
        if type_text == "void":
            continue
        is_first = result is None and unify is hive_types.choice
        unified = type_text if is_first else unify(result or type_text, type_text)
        if unified is None:
            raise context.fail(
                f'Argument type mismatch: the results should all have the same type: "{result}" is expected but '
                f'"{type_text}" is found',
                option,
            )
        result = unified


def _check_member(context: ResolutionContext, node: exp.Expr) -> None:
    """Check `x in (a, b)`."""
    left = context.type_of(node.this)
    if left in _UNKNOWN:
        return
    for item in node.expressions:
        right = context.type_of(item)
        if right not in _UNKNOWN and not _can_be_member(str(left), str(right)):
            raise context.fail(f"Wrong arguments: IN does not take {left} and {right}", item)


def _can_be_member(left: str, right: str) -> bool:
    bases = left_base, right_base = hive_types.base(left), hive_types.base(right)
    if not _NESTED.isdisjoint(bases) or "boolean" in bases or "binary" in bases:
        return left_base == right_base and (left_base not in _NESTED or left == right)
    if "timestamp" in bases:
        return NUMBERS.isdisjoint(bases)
    return True


def _check_between(context: ResolutionContext, node: exp.Expr) -> None:
    """Check `x between a and b`."""
    left = context.type_of(node.this)
    for side in ("low", "high"):
        right = context.type_of(node.args[side])
        if left in _UNKNOWN or right in _UNKNOWN:
            continue
        left_base, right_base = hive_types.base(str(left)), hive_types.base(str(right))
        if left_base in _NESTED or (left_base == "timestamp" and right_base in NUMBERS):
            raise context.fail(f"Wrong arguments: BETWEEN does not take {left} and {right}", node.args[side])


def check_comparison(
    context: ResolutionContext, left: exp.Expr, right: exp.Expr, kind: type[exp.Expr] = exp.EQ
) -> None:
    """Check a comparison; by default Hive rejects comparisons that lose digits (`hive.strict.checks.type.safety`)."""
    left_type, right_type = context.type_of(left), context.type_of(right)
    if left_type is None or right_type is None:
        return
    if "void" not in (left_type, right_type) and not _can_be_compared(kind, left_type, right_type):
        raise context.fail(f"Wrong arguments: {left_type} and {right_type} cannot be compared", right)
    if not isinstance(left, _SIMPLE_OPERANDS) or not isinstance(right, _SIMPLE_OPERANDS):
        return
    if _loses_digits(left_type, right_type) or _loses_digits(right_type, left_type):
        raise context.fail(
            f"Unsafe compares between different types are disabled: {left_type} and {right_type} "
            "(hive.strict.checks.type.safety). Cast one of them",
            right,
        )


def _can_be_compared(kind: type, left: str, right: str) -> bool:
    bases = {hive_types.base(left), hive_types.base(right)}
    if not _NESTED.isdisjoint(bases):
        return kind in (exp.EQ, exp.NEQ, exp.NullSafeEQ) and left == right
    return bases.isdisjoint({"binary", "boolean"}) or bases.isdisjoint(TIMES)


def _loses_digits(precise: str, other: str) -> bool:
    """Return whether digits are lost in a comparison of a precise type with another type."""
    base = hive_types.base(other)
    if precise == "timestamp":
        return base in NUMBERS
    if precise == "bigint":
        return base in _STRINGS or base == "double"
    return precise.startswith("decimal") and base in _STRINGS


def _check_index(context: ResolutionContext, node: exp.Expr) -> None:
    """Check `array[index]`: the index must be an int, or a type that can be converted to int without loss."""
    collection = element_type(context, node.this)
    if collection is not None and hive_types.base(collection) not in ("array", "map", "void"):
        raise context.fail(f"[] not valid on non-collection types: {collection}", node)
    if collection is None or hive_types.base(collection) != "array" or len(node.expressions) != 1:
        return
    index = context.type_of(node.expressions[0])
    if index not in (None, "tinyint", "smallint", "int", "void"):
        raise context.fail(f"Not proper type for index of ARRAY: only integers are supported, not {index}", node)


def element_type(context: ResolutionContext, node: exp.Expr) -> str | None:
    """Return the type of an operand; for Hive a field of an array of structs is one value there, not an array."""
    type_text = context.type_of(node)
    node = unwrapped(node)
    if type_text is None or hive_types.base(type_text) != "array" or type(node) not in (exp.Column, exp.Dot):
        return type_text
    column = context.bound.bindings.get(id(node))
    last_name = (node.parts[-1] if isinstance(node, exp.Column) else node.expression).name.lower()
    is_field_of_list = column is not None and column.name != last_name and hive_types.base(column.type or "") == "array"
    if not is_field_of_list and type(node) is exp.Dot:
        is_field_of_list = hive_types.base(context.type_of(node.this) or "") == "array"
    return hive_types.arguments(type_text)[0] if is_field_of_list else type_text


_COMPARISONS = frozenset({exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ})
_SIMPLE_OPERANDS = (exp.Column, exp.Literal, exp.Dot, exp.Cast, exp.TryCast, exp.Subquery)
_LONGEST_CHECKED_CHAIN = 30
"""The longest chain of one operator whose operands are checked."""
_CHECKS: Mapping[type[Any], Callable[[ResolutionContext, exp.Expr], None]] = {
    exp.Neg: _check_sign,
    exp.BitwiseNot: _check_sign,
    exp.Not: _check_sign,
    exp.Cast: _check_cast,
    exp.TryCast: _check_cast,
    exp.In: _check_member,
    exp.Between: _check_between,
    exp.Bracket: _check_index,
}
