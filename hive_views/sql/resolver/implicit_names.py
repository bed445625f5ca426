"""The names that Spark gives to elements of a SELECT list without an alias.

Source of the rules: Spark's `AliasResolution.assignAliases` and `toPrettySQL`, compared with Spark in
`tests/integration/spark/test_implicit_names.py`. Spark names a cast of a column after the column, a literal after its
value, and a field or an element of a column after its path. The name of any other expression is the expression's text,
which is not computed here; Spark refuses a view with such a column.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.parsing.syntax_tree import unwrapped
from hive_views.sql.parsing.variant_paths import path_at_end, variant_key
from hive_views.sql.resolver.context import Environment, ResolutionContext
from hive_views.sql.resolver.names import find_dotted
from hive_views.sql.resolver.scopes import AmbiguousName
from hive_views.sql.text.quoting import unquote_identifier
from hive_views.sql.text.tokens import Text
from hive_views.sql.types import hive_types

_FUNCTIONS_WITHOUT_PARENTHESES = {
    "current_date": "current_date()",
    "current_timestamp": "current_timestamp()",
    "current_user": "current_user()",
    "user": "current_user()",
    "session_user": "current_user()",
}
_CASTS = frozenset({"cast", "try_cast"})
_CAST_FUNCTIONS = frozenset(
    "bigint binary boolean date decimal double float int smallint string timestamp tinyint".split()  # noqa: SIM905
)
"""The functions of Spark that cast their argument to the type of their name."""
_WINDOWS = frozenset({"session_window", "window"})
_LITERALS = frozenset({TokenType.STRING, TokenType.RAW_STRING, TokenType.NUMBER})
_WORDS = {"true": "true", "false": "false", "null": "NULL"}
_NUMBER = re.compile(
    r"(?P<sign>-?)\s*(?P<digits>\d+(?:\.\d*)?|\.\d+)(?P<exponent>e[+-]?\d+)?(?P<suffix>bd|[lsydf])?", re.IGNORECASE
)
_RAW_STRING = re.compile(r"r(['\"])(.*)\1", re.IGNORECASE | re.DOTALL)
_DATE = re.compile(r"date\s*(?P<quote>['\"])(\d{4}-\d\d-\d\d)(?P=quote)", re.IGNORECASE)
_BINARY = re.compile(r"x\s*(?P<quote>['\"])([0-9a-f]*)(?P=quote)", re.IGNORECASE)
_MAX_DIGITS = 28
"""Digits in front of the point that Python's decimals have without loss."""
_FLOAT_DIGITS = 6
"""Decimal digits that a FLOAT always keeps."""


@dataclass(frozen=True, kw_only=True)
class _Value:
    """A column, its field or its element, as Spark writes it."""

    text: str
    """The whole path: `s.f`, `c[0].f`."""
    name: str
    """The name of a column with this value: the last field of a dotted name, else the path."""
    type: str | None = None
    """The type of a whole column; None for a field or an element."""
    is_column: bool = False
    """Whether it is a whole column."""
    is_outer: bool = False
    """Whether it is a column of the query around a subquery, around which Spark writes outer(…) in a path."""


def implicit_name(
    context: ResolutionContext, item: exp.Expr, env: Environment, *, is_of_view: bool = False
) -> str | None:
    """Return the name of an element without alias, as Spark writes it; None if Spark names it after its text.

    Plain columns and fields (`t.c`, `t.c.f`) are not named here. Spark refuses some names for columns of a view
    (`is_of_view`) that it accepts in a subquery.
    """
    tokens = context.tokens_of(item)
    if tokens is None or has_unary_plus(context, item):
        return None
    text = context.text
    first, last = _without_parentheses(text, *tokens)
    bare = unwrapped(item)
    name = variant_key(bare)
    if name is None:
        name = literal_name(text, first, last)
    if name is None and text.match.get(first + 1) == last and text.kinds[first + 1] is TokenType.L_PAREN:
        name = _call_name(context, first, last, env, is_of_view=is_of_view)
    elif name is None and type(bare) in (exp.Cast, exp.TryCast):
        end = next((index for index in range(last, first, -1) if text.raw(index) == "::"), first)
        value = _value(context, first, end - 1, env) if end > first else None
        name = value.name if value is not None and value.is_column else None
    elif name is None:
        value = _value(context, first, last, env)
        is_function = value is None and first == last
        name = _FUNCTIONS_WITHOUT_PARENTHESES.get(text.raw(first).lower()) if is_function else None
        name = value.name if value is not None and not value.is_column else name
    return name or None


def has_unary_plus(context: ResolutionContext, item: exp.Expr) -> bool:
    """Return whether an element is `+x`, of which the tree contains only `x`."""
    node: exp.Expr | None = item if context.text.has_sign else None
    while node is not None:
        tokens = context.tokens_of(node)
        if tokens is not None and tokens[0] > 0 and context.text.kinds[tokens[0] - 1] is TokenType.PLUS:
            return True
        node = node.this if type(node) is exp.Paren else None
    return False


def _without_parentheses(text: Text, first: int, last: int) -> tuple[int, int]:
    """Return the tokens inside the parentheses around an expression."""
    while text.kinds[first] is TokenType.L_PAREN and text.match.get(first) == last:
        first, last = first + 1, last - 1
    return first, last


# -- Literals ----------------------------------------------------------------------------------------------------------


def literal_name(text: Text, first: int, last: int) -> str | None:
    """Return the name of a literal; None for other expressions, and for literals whose name is not computed."""
    written = text.between(first, last)
    if text.kinds[first] in (TokenType.STRING, TokenType.RAW_STRING):
        return _string_name(text, first, last)
    for pattern, form in ((_DATE, "DATE '{}'"), (_BINARY, "X'{}'")):
        match = pattern.fullmatch(written)
        if match is not None:
            value = match[2].upper()
            return form.format(value if pattern is _DATE or len(value) % 2 == 0 else f"0{value}")
    number = _NUMBER.fullmatch(written)
    return _number_name(number) if number is not None else _WORDS.get(written.lower())


def _string_name(text: Text, first: int, last: int) -> str | None:
    """Return the value of strings one after the other, which Spark joins.

    The value of `'a''b'` depends on the version: Spark 4.1 reads a quote, and earlier ones two strings.
    """
    parts: list[str] = []
    end = -1
    for token in text.tokens[first : last + 1]:
        if token.token_type not in (TokenType.STRING, TokenType.RAW_STRING):
            return None
        if token.start == end + 1 > 0 and text.sql[token.start] == text.sql[end]:
            return None
        end = token.end
        raw = _RAW_STRING.fullmatch(text.sql[token.start : token.end + 1])
        parts.append(raw[2] if raw is not None else text.string_value(token))
    return "".join(parts)


def _number_name(match: re.Match[str]) -> str | None:
    sign, digits, exponent, suffix = (match[group] or "" for group in ("sign", "digits", "exponent", "suffix"))
    suffix = suffix.lower()
    if not exponent and suffix in ("", "l", "s", "y") and digits.isdigit():
        return str(int(sign + digits))
    value = Decimal(sign + digits + exponent)
    if suffix == "d" or (exponent and not suffix):
        return _java_double(float(value))
    if suffix == "f":
        is_exact = len(value.as_tuple().digits) <= _FLOAT_DIGITS and abs(value.adjusted()) <= _FLOAT_DIGITS
        return _java_double(float(value)) if is_exact else None
    if suffix in ("", "bd"):
        # Spark gives an exponent's zeros to the digits, since a decimal has no negative scale.
        if value.adjusted() >= _MAX_DIGITS:
            return None
        value = value.quantize(Decimal(1)) if int(value.as_tuple().exponent) > 0 else value
        return str(-value if value.is_zero() and value.is_signed() else value)
    return None


def _java_double(value: float) -> str | None:
    """Return `Double.toString`; None for values of which Java and Python may print other digits."""
    if value == 0:
        return "0.0" if str(value)[0] != "-" else None
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    if len(digits) > 15 or not isinstance(exponent, int) or abs(value) < sys.float_info.min:
        return None
    text = "".join(map(str, digits))
    point = len(digits) + exponent  # the digits in front of the point
    if -3 < point <= 7:
        padded = text.ljust(point, "0") if point > 0 else "0" * (1 - point) + text
        front = max(point, 1)
        written = f"{padded[:front]}.{padded[front:] or '0'}"
    else:
        written = f"{text[0]}.{text[1:] or '0'}E{point - 1}"
    return f"-{written}" if sign else written


# -- Columns, their casts, fields and elements -----------------------------------------------------------------------


def _call_name(context: ResolutionContext, first: int, last: int, env: Environment, *, is_of_view: bool) -> str | None:
    """Return the name of `CAST(c AS t)`, `TRY_CAST(c AS t)`, `t(c)` and `window(…)`."""
    text = context.text
    if last == first + 2:
        return None
    word = text.raw(first).lower()
    if word in _CASTS:
        end = next((index for index in range(last - 1, first, -1) if text.raw(index).lower() == "as"), first)
        value = _value(context, first + 2, end - 1, env) if end > first + 2 else None
        return value.name if value is not None and value.is_column else None
    function = unquote_identifier(word)
    if function in _WINDOWS:
        return function
    if function not in _CAST_FUNCTIONS:
        return None
    if not is_of_view:
        return _operand_name(context, first + 2, last - 1, env)
    value = _value(context, first + 2, last - 1, env)
    return value.name if value is not None and value.is_column else None


def _operand_name(context: ResolutionContext, first: int, last: int, env: Environment) -> str | None:
    """Return the text of the operand of `t(…)`, after which Spark names the cast.

    Spark refuses a view with such a column unless the operand is a column. Subqueries can have it.
    """
    text = context.text
    first, last = _without_parentheses(text, first, last)
    name = literal_name(text, first, last)
    if name is not None:
        return name
    if first < last and text.kinds[first + 1] is TokenType.L_PAREN:
        is_cast = unquote_identifier(text.raw(first).lower()) in _CAST_FUNCTIONS and text.match.get(first + 1) == last
        return _operand_name(context, first + 2, last - 1, env) if is_cast and last > first + 2 else None
    value = _value(context, first, last, env)
    return value.text if value is not None else None


def _value(context: ResolutionContext, first: int, last: int, env: Environment) -> _Value | None:
    """Return the column, field or element that a range of tokens consists of; None for other expressions."""
    text = context.text
    first, last = _without_parentheses(text, first, last)
    if first > last:
        return None
    path = path_at_end(text, first, last)
    if path is not None:
        return _Value(text=path.key, name=path.key, is_column=True)
    if text.kinds[last] is TokenType.R_BRACKET:
        return _element(context, first, last, env)
    names = _dotted_names(text, first, last)
    if names is not None:
        return _column(context, names, env)
    if last - 2 >= first and text.kinds[last - 1] is TokenType.DOT and text.kinds[last] not in _LITERALS:
        base = _value(context, first, last - 2, env)
        field = unquote_identifier(text.raw(last))
        is_map = base is not None and base.type is not None and hive_types.base(base.type) == "map"
        if base is None or base.is_outer or is_map:
            return None
        written = f"{base.text}.{field}"
        return _Value(text=written, name=written if "[" in base.text else field)
    return None


def _element(context: ResolutionContext, first: int, last: int, env: Environment) -> _Value | None:
    """Return `c[0]`, `c['k']` or `c.f[0]`; None if the index is an expression."""
    text = context.text
    opened = text.match.get(last, first)
    base = _value(context, first, opened - 1, env) if opened > first else None
    if base is None or base.is_outer:
        return None
    inner = _without_parentheses(text, opened + 1, last - 1)
    index = literal_name(text, *inner)
    if index is None:
        value = _value(context, *inner, env)
        index = value.text if value is not None else None
    if index is None:
        return None
    is_string = text.kinds[inner[0]] in (TokenType.STRING, TokenType.RAW_STRING)
    if is_string and base.type is None:
        return None  # a field of a struct, or a key of a map
    is_field = is_string and hive_types.base(base.type or "") == "struct"
    written = f"{base.text}.{index}" if is_field else f"{base.text}[{index}]"
    return _Value(text=written, name=written)


def _dotted_names(text: Text, first: int, last: int) -> list[str] | None:
    """Return the parts of a name such as `t.c.f`; None for other tokens."""
    indices = range(first, last + 1)
    if (last - first) % 2 or any(text.kinds[index] is not TokenType.DOT for index in indices[1::2]):
        return None
    if any(text.kinds[index] in _LITERALS for index in indices[::2]):
        return None
    return [unquote_identifier(text.raw(index)) for index in indices[::2]]


def _column(context: ResolutionContext, names: list[str], env: Environment) -> _Value | None:
    try:
        match = find_dotted(context, [exp.to_identifier(name) for name in names], env)
    except AmbiguousName:
        return None
    if match is None:
        return None
    column, scope, used = match
    path = names[used:]
    is_outer = not any(scope is own for own in env.scopes)
    if len(path) == 1:
        return _Value(text=path[0], name=path[0], type=column.type, is_column=True, is_outer=is_outer)
    if is_outer:
        return None
    if column.type is None or hive_types.base(column.type) == "map":
        return None  # Spark writes a key of a map in brackets
    return _Value(text=".".join(path), name=path[-1])
