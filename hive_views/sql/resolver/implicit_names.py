"""The names that Spark gives to elements of a SELECT list without an alias.

Source of the rules: Spark's `AliasResolution.assignAliases` and `toPrettySQL`, compared with Spark in
`tests/integration/spark/test_implicit_names.py`. Spark names a cast of a column after the column, a literal after its
value, and a field or an element of a column after its path. The name of any other expression is the expression's text,
which is not computed here; Spark refuses a view with such a column.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.resolver.context import Environment, ResolutionContext
from hive_views.sql.resolver.names import find_dotted
from hive_views.sql.resolver.scopes import AmbiguousName, ScopeColumn
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
"""The functions that cast their argument to the type of their name."""
_WINDOWS = frozenset({"session_window", "window"})
_NAMED_CALLS = _CASTS | _CAST_FUNCTIONS | _WINDOWS
_LITERALS = frozenset({TokenType.STRING, TokenType.RAW_STRING, TokenType.NUMBER})
_WORDS = {"true": "true", "false": "false", "null": "NULL"}
_NUMBER = re.compile(
    r"(?P<sign>-?)\s*(?P<digits>\d+(?:\.\d*)?|\.\d+)(?P<exponent>e[+-]?\d+)?(?P<suffix>bd|[lsydf])?", re.IGNORECASE
)
_RAW_STRING = re.compile(r"r(['\"])(.*)\1", re.IGNORECASE | re.DOTALL)
_DATE = re.compile(r"date\s*(?P<quote>['\"])(\d{4}-\d\d-\d\d)(?P=quote)", re.IGNORECASE)
_BINARY = re.compile(r"x(?P<quote>['\"])([0-9a-f]*)(?P=quote)", re.IGNORECASE)
_MAX_DIGITS = 28
"""Digits in front of the point that Python's decimals have without loss."""
_FLOAT_DIGITS = 6
"""Decimal digits that a FLOAT always keeps."""


@dataclass(frozen=True, kw_only=True)
class _Path:
    """A column with the fields that a dotted name selects, and its last token with the parentheses around it."""

    column: ScopeColumn
    names: tuple[str, ...]
    """The column's name and those of the fields, as written."""
    last: int


def implicit_name(context: ResolutionContext, item: exp.Expr, env: Environment) -> str | None:
    """Return the name of an element without alias, as Spark writes it; None if Spark names it after its text.

    Plain columns and fields (`t.c`, `t.c.f`) are not named here.
    """
    tokens = context.tokens_of(item)
    if tokens is None or has_unary_plus(context, item):
        return None
    first, last = _without_parentheses(context.text, *tokens)
    name = literal_name(context.text, first, last)
    if name is None:
        is_call = first < last and context.text.kinds[first + 1] is TokenType.L_PAREN
        path = None if is_call else _column_path(context, first, last, env)
        if path is None or path.last == last:
            name = _call_name(context, first, last, env) if path is None else None
        elif context.text.raw(path.last + 1) == "::":
            is_cast_once = all(context.text.raw(index) != "::" for index in range(path.last + 2, last + 1))
            name = path.names[0] if len(path.names) == 1 and is_cast_once else None
        else:
            name = _extraction_name(context, path, last, env)
    return name or None


def has_unary_plus(context: ResolutionContext, item: exp.Expr) -> bool:
    """Return whether an element is `+x`, of which the tree contains only `x`."""
    node: exp.Expr | None = item
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
        if token.token_type not in (TokenType.STRING, TokenType.RAW_STRING) or token.start == end + 1 > 0:
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
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    if len(digits) > 15 or not isinstance(exponent, int):
        return None
    text = "".join(map(str, digits)).rstrip("0") or "0"
    point = len(digits) + exponent  # the digits in front of the point
    if -3 < point <= 7:
        padded = text.ljust(point, "0") if point > 0 else "0" * (1 - point) + text
        front = max(point, 1)
        written = f"{padded[:front]}.{padded[front:] or '0'}"
    else:
        written = f"{text[0]}.{text[1:] or '0'}E{point - 1}"
    return f"-{written}" if sign else written


# -- Columns, their casts, fields and elements -----------------------------------------------------------------------


def _column_path(context: ResolutionContext, first: int, last: int, env: Environment) -> _Path | None:
    """Return the dotted name of a column that a range of tokens begins with."""
    text = context.text
    start, opened = first, 0
    while start < last and text.kinds[start] is TokenType.L_PAREN:
        start, opened = start + 1, opened + 1
    if text.kinds[start] in _LITERALS:
        return None
    parts = [start]
    while parts[-1] + 2 <= last and text.kinds[parts[-1] + 1] is TokenType.DOT:
        parts.append(parts[-1] + 2)
    end = parts[-1]
    for level in range(opened):
        end += 1
        if text.match.get(end) != start - 1 - level:
            return None
    names = [exp.to_identifier(unquote_identifier(text.raw(index))) for index in parts]
    match = _find_column(context, names, env)
    if match is None:
        return None
    column, used = match
    return _Path(column=column, names=tuple(name.name for name in names[used:]), last=end)


def _find_column(
    context: ResolutionContext, names: Sequence[exp.Identifier], env: Environment
) -> tuple[ScopeColumn, int] | None:
    try:
        match = find_dotted(context, names, env)
    except AmbiguousName:
        return None
    return (match[0], match[2]) if match is not None else None


def _call_name(context: ResolutionContext, first: int, last: int, env: Environment) -> str | None:
    """Return the name of `CAST(c AS t)`, `TRY_CAST(c AS t)`, `t(c)`, and of a function without parentheses."""
    text = context.text
    word = text.raw(first).lower()
    if first == last:
        return _FUNCTIONS_WITHOUT_PARENTHESES.get(word)
    if text.match.get(first + 1) != last or word not in _NAMED_CALLS:
        return None
    if word in _WINDOWS:
        return word
    if word in _CAST_FUNCTIONS:
        literal = literal_name(text, first + 2, last - 1) if last > first + 2 else None
        if literal is not None:
            return literal  # in Spark only in a subquery: it refuses a view with such a column
    path = _column_path(context, first + 2, last - 1, env)
    if path is None or len(path.names) > 1:
        return None
    is_whole = text.raw(path.last + 1).lower() == ("as" if word in _CASTS else ")")
    return path.names[0] if is_whole else None


def _extraction_name(context: ResolutionContext, path: _Path, last: int, env: Environment) -> str | None:
    """Return the name of `c[0]`, `c['k']`, `c[0].f` and `(c).f`; None if an index is an expression."""
    text = context.text
    name, has_element = ".".join(path.names), False
    index = path.last + 1
    while index <= last:
        kind = text.kinds[index]
        if kind is TokenType.L_BRACKET:
            closing = text.match.get(index, last)
            element = _element_name(context, index + 1, closing - 1, env)
            if element is None:
                return None
            is_string = text.kinds[index + 1] is TokenType.STRING
            type_ = path.column.type if len(path.names) == 1 and not has_element else None
            if is_string and type_ is None:
                return None  # a field of a struct, or a key of a map
            is_field = is_string and hive_types.base(type_ or "") == "struct"
            name, index, has_element = f"{name}.{element}" if is_field else f"{name}[{element}]", closing + 1, True
        elif kind is TokenType.DOT and index < last:
            field = unquote_identifier(text.raw(index + 1))
            name, index = f"{name}.{field}" if has_element else field, index + 2
        else:
            return None
    return name


def _element_name(context: ResolutionContext, first: int, last: int, env: Environment) -> str | None:
    """Return the name of an index or a key: of a literal, or of a column or its field."""
    name = literal_name(context.text, first, last)
    if name is None:
        path = _column_path(context, first, last, env)
        name = ".".join(path.names) if path is not None and path.last == last else None
    return name
