"""Operands about which the text around them says more than their type: a divisor that is never 0, a collected array.

Each is a class of its own in the signatures of constructs (`hive_views.sql.analysis.constructs`), so that the table of
answers has what the engines returned for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from hive_views.sql.parsing.syntax_tree import conjuncts, unwrapped

LENGTHS = (exp.Length, exp.StrPosition)
"""Functions whose results are small and not negative."""

_CHOICES = (exp.Is, exp.Coalesce, exp.Case, exp.If, exp.Nullif, exp.Having, exp.Where, exp.Not)
_SETS = ("rollup", "cube", "grouping_sets", "all")
_COLLECTIONS = (exp.ArrayAgg, exp.ArrayUniqueAgg)
_WITHOUT_ORDER = (exp.ArraySort, exp.ArraySize, exp.ArrayContains)
_CHOOSING = (exp.Coalesce, exp.Case, exp.If, exp.Nullif, exp.Greatest, exp.Least)


def spelled(node: exp.Expr) -> str:
    """Return an expression in one spelling."""
    return unwrapped(node).sql("hive").lower().replace("`", "")


def is_nonzero(node: exp.Expr) -> bool:
    """Return whether an expression is a number other than 0."""
    value = number(node)
    return value is not None and value != 0


def is_quotient(node: exp.Expr) -> bool:
    """Return whether an expression divides by a value that may be 0."""
    return isinstance(node, (exp.Div, exp.Mod, exp.IntDiv)) and not is_nonzero(node.expression)


def is_null_for_zero(node: exp.Expr) -> bool:
    """Return whether a divisor is written as `nullif(x, 0)`, so that it is never 0."""
    node = unwrapped(node)
    return isinstance(node, exp.Nullif) and number(node.expression) == 0


def is_under_choice(node: exp.Expr) -> bool:
    """Return whether an expression is inside of one that distinguishes NULL, in the same SELECT."""
    around = node.find_ancestor(*_CHOICES, exp.Select)
    return around is not None and not isinstance(around, exp.Select)


def has_nonzero_divisor(quotient: exp.Expr) -> bool:
    """Return whether the divisor is never 0, and no other expression around the quotient distinguishes NULL."""
    guard = _guard(quotient)
    if guard is not None:
        return not is_under_choice(guard)
    divisor = unwrapped(quotient.expression)
    is_nonzero = is_null_for_zero(divisor) or _is_count_of_group(divisor) or _is_filtered(quotient)
    return is_nonzero and not is_under_choice(quotient)


def _is_filtered(quotient: exp.Expr) -> bool:
    """Return whether the WHERE clause, before which the quotient is not computed, excludes a divisor of 0."""
    select = quotient.find_ancestor(exp.Select, exp.Where, exp.Join, exp.Lateral)
    where = select.args.get("where") if isinstance(select, exp.Select) else None
    return where is not None and _excludes_zero(where.this, spelled(quotient.expression))


def _is_count_of_group(node: exp.Expr) -> bool:
    """Return whether an expression is `count(*)` in a query with GROUP BY, whose groups have a row."""
    select = node.find_ancestor(exp.Select)
    if not isinstance(node, exp.Count) or not isinstance(node.this, exp.Star) or select is None:
        return False
    group = select.args.get("group")
    if group is None or any(group.args.get(name) for name in _SETS):
        return False
    keys = group.expressions
    return bool(keys) and not any(isinstance(item, (exp.Rollup, exp.Cube, exp.GroupingSets)) for item in keys)


def _guard(quotient: exp.Expr) -> exp.Expr | None:
    """Return the CASE or IF around a quotient that excludes a divisor of 0; None if there is none."""
    divisor = spelled(quotient.expression)
    child, parent = quotient, quotient.parent
    while parent is not None and not isinstance(parent, exp.Query):
        if _excludes_zero_divisor(parent, child, divisor):
            return parent.parent if isinstance(parent, exp.If) and isinstance(parent.parent, exp.Case) else parent
        child, parent = parent, parent.parent
    return None


def _excludes_zero_divisor(choice: exp.Expr, branch: exp.Expr, divisor: str) -> bool:
    """Return whether a branch of CASE or IF is only computed where a divisor is not 0."""
    if isinstance(choice, exp.If):
        case = choice.parent if isinstance(choice.parent, exp.Case) else None
        if branch is choice.args.get("true"):
            is_searched = case is None or case.args.get("this") is None
            return is_searched and _excludes_zero(choice.this, divisor)
        return case is None and branch is choice.args.get("false") and _holds_for_zero(choice.this, divisor)
    if not isinstance(choice, exp.Case) or choice.args.get("this") is not None:
        return False
    is_default = branch is choice.args.get("default")
    return is_default and any(_holds_for_zero(item.this, divisor) for item in choice.args["ifs"])


def _excludes_zero(condition: exp.Expr, divisor: str) -> bool:
    """Return whether a condition holds only where a divisor is not 0."""
    for item in conjuncts(condition):
        for kind, value in comparisons(item, divisor):
            if kind in (exp.NEQ, exp.GT, exp.LT) and value == 0:
                return True
            if (kind in (exp.GT, exp.GTE) and value > 0) or (kind in (exp.LT, exp.LTE) and value < 0):
                return True
            if kind is exp.EQ and value != 0:
                return True
    return False


def _holds_for_zero(condition: exp.Expr, divisor: str) -> bool:
    """Return whether a condition holds for each divisor of 0."""
    condition = unwrapped(condition)
    if isinstance(condition, exp.Or):
        return _holds_for_zero(condition.this, divisor) or _holds_for_zero(condition.expression, divisor)
    return any(kind in (exp.EQ, exp.LTE, exp.GTE) and value == 0 for kind, value in comparisons(condition, divisor))


_TURNED: dict[type[exp.Expr], type[exp.Expr]] = {exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE}


def comparisons(condition: exp.Expr, divisor: str) -> Iterator[tuple[type[exp.Expr], float]]:
    """Yield the operator and the number with which a condition compares an expression, spelled as `spelled` does."""
    condition = unwrapped(condition)
    kind = type(condition)
    if kind not in (exp.EQ, exp.NEQ, *_TURNED):
        return
    sides = (condition.this, condition.expression)
    for (one, other), operator in ((sides, kind), (sides[::-1], _TURNED.get(kind, kind))):
        value = number(other)
        if value is not None and spelled(one) == divisor:
            yield operator, value


def number(node: exp.Expr) -> float | None:
    """Return the value of a number that is written in a text, perhaps with a sign."""
    node, sign = unwrapped(node), 1
    while isinstance(node, exp.Neg):
        node, sign = unwrapped(node.this), -sign
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    try:
        return sign * float(node.name)
    except ValueError:
        return None


_MOST_ROUNDED_DIGITS = 4
_LARGEST_FACTOR = 1000


def is_rounded(quotient: exp.Expr) -> bool:
    """Return whether only few digits of a quotient are used, as in `round(100 * a / b, 2)`."""
    node, parent = quotient, quotient.parent
    while isinstance(parent, exp.Paren) or (isinstance(parent, exp.Mul) and _is_factor(parent, node)):
        node, parent = parent, parent.parent
    if not isinstance(parent, exp.Round) or parent.this is not node:
        return False
    digits = parent.args.get("decimals")
    written = 0 if digits is None else number(digits)
    return written is not None and 0 <= written <= _MOST_ROUNDED_DIGITS


def _is_factor(product: exp.Mul, value: exp.Expr) -> bool:
    """Return whether the other operand of a product is a number such as 100."""
    factor = number(product.this if product.expression is value else product.expression)
    return factor is not None and abs(factor) <= _LARGEST_FACTOR


def rounded_quotient(product: exp.Expr) -> exp.Div | None:
    """Return the rounded quotient whose dividend is a product, or that is a factor of it; None if there is none."""
    if isinstance(product, exp.Mul):
        for factor in (unwrapped(product.this), unwrapped(product.expression)):
            if isinstance(factor, exp.Div) and is_rounded(factor):
                return factor
    node, parent = product, product.parent
    while isinstance(parent, (exp.Paren, exp.Mul)):
        node, parent = parent, parent.parent
    is_dividend = isinstance(product, exp.Mul) and isinstance(parent, exp.Div) and parent.this is node
    return parent if is_dividend and isinstance(parent, exp.Div) and is_rounded(parent) else None


def is_position(node: exp.Expr) -> bool:
    """Return whether an expression is a position in a text, as `instr(x, '@') + 1`."""
    node = unwrapped(node)
    if isinstance(node, (exp.Add, exp.Sub)) and isinstance(node.expression, exp.Literal):
        node = unwrapped(node.this)
    return isinstance(node, LENGTHS)


def is_collected_without_order(node: exp.Expr) -> bool:
    """Return whether the order of a collected array changes nothing, as in `size(collect_set(x))`."""
    parent = node.parent
    while isinstance(parent, exp.Paren):
        parent = parent.parent
    return isinstance(node, _COLLECTIONS) and isinstance(parent, _WITHOUT_ORDER)


def is_collected(node: exp.Expr) -> bool:
    """Return whether an expression is a collected array, perhaps sorted, which has no NULL."""
    node = unwrapped(node)
    if isinstance(node, exp.ArraySort):
        node = unwrapped(node.this)
    return isinstance(node, _COLLECTIONS)


def computing(literal: exp.Literal) -> exp.Expr | None:
    """Return the arithmetic or the choice of which a literal, perhaps with a sign, is a value; None if none is."""
    child: exp.Expr = literal
    parent = literal.parent
    while isinstance(parent, (exp.Neg, exp.Paren)):
        child, parent = parent, parent.parent
    if isinstance(parent, exp.If) and isinstance(parent.parent, exp.Case):
        return parent.parent if child is parent.args.get("true") else None
    is_condition = isinstance(parent, (exp.Case, exp.If)) and child is parent.args.get("this")
    is_value = isinstance(parent, (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, *_CHOOSING)) and not is_condition
    return parent if is_value else None


def values_of_choice(choice: exp.Expr) -> list[exp.Expr]:
    """Return the values of which CASE, IF, coalesce, greatest or least returns one."""
    if isinstance(choice, exp.Case):
        values = [item.args["true"] for item in choice.args["ifs"]]
        default = choice.args.get("default")
        return values if default is None else [*values, default]
    if isinstance(choice, exp.If):
        return [item for name in ("true", "false") if (item := choice.args.get(name)) is not None]
    return [choice.this, *choice.expressions] if isinstance(choice, (exp.Coalesce, exp.Greatest, exp.Least)) else []


def is_later_element(call: exp.Expr) -> bool:
    """Return whether of an array only an element after the first is used, as in `split(x, ',')[1]`."""
    parent = call.parent
    at = _index(parent) if parent is not None and parent.this is call else None
    return at is not None and at > 0


def is_existing_element(bracket: exp.Expr) -> bool:
    """Return whether an array has the element that is used: the first one of `split`, or one that is written."""
    at, values = _index(bracket), unwrapped(bracket.this)
    if at is None or at < 0:
        return False
    is_first = at == 0 and isinstance(values, (exp.Split, exp.RegexpSplit))
    return is_first or (isinstance(values, exp.Array) and at < len(values.expressions))


def _index(bracket: exp.Expr) -> float | None:
    """Return the number in the brackets behind an array; None if there is another expression."""
    is_one = isinstance(bracket, exp.Bracket) and len(bracket.expressions) == 1
    return number(bracket.expressions[0]) if is_one else None


_STARTS = ("mm", "mon", "month", "q", "quarter", "year", "yy", "yyyy")


def is_first_of_month(node: exp.Expr) -> bool:
    """Return whether a date is the first day of a month, as in `trunc(x, 'MM')`."""
    unit = node.args.get("unit") if isinstance(node, (exp.DateTrunc, exp.TimestampTrunc)) else None
    return unit is not None and unit.name.lower() in _STARTS
