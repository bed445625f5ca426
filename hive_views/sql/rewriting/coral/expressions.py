"""Literals, comparisons, arithmetic, dates and aggregates."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from datetime import date, datetime, timedelta

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.analysis.trino_rules import AVERAGED_DIGITS, average_types, is_exact_quotient
from hive_views.sql.analysis.trino_translation import dates_taken_for_strings
from hive_views.sql.parsing.lexer import unescape
from hive_views.sql.parsing.syntax_tree import (
    token_span,
)
from hive_views.sql.resolver.resolver import Resolution
from hive_views.sql.rewriting.coral.edits import GROUPED_TYPES, Edit, call_tokens, written_tokens
from hive_views.sql.types.hive_types import INTEGERS, TIMES, base, decimal


def timestamp_literals(resolution: Resolution) -> Iterator[Edit]:
    """`TIMESTAMP '2024-02-01 00:00:00'` becomes a CAST, unless it is more precise than milliseconds (Trino's type)."""
    text = resolution.text
    for at, kind in enumerate(text.kinds[1:]):
        if kind is TokenType.STRING and text.raw(at).lower() == "timestamp" and _is_time(text.raw(at + 1)):
            yield at, at + 1, f"CAST({text.raw(at + 1)} AS TIMESTAMP)"


def date_literals(resolution: Resolution) -> Iterator[Edit]:
    """`day = DATE '2024-02-01'` gets a CAST instead: Coral takes the literal for a string."""
    for at in dates_taken_for_strings(resolution):
        literal = resolution.text.raw(at + 1)
        if _shifted(literal[1:-1], 1, "0", "day") is not None:
            yield at, at + 1, f"CAST({literal} AS DATE)"


def _is_time(raw: str) -> bool:
    if not re.fullmatch(r".\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,3})?.", raw):
        return False
    try:
        datetime.strptime(raw[1:20], "%Y-%m-%d %H:%M:%S")
    except ValueError:
        return False
    return True


def shifted_dates(resolution: Resolution) -> Iterator[Edit]:
    """`d < DATE '1994-01-01' + INTERVAL '1' YEAR` becomes `d < DATE '1995-01-01'`, for dates and timestamps d."""
    text, type_of = resolution.text, resolution.context.type_of
    for node in resolution.tree.find_all(exp.Interval):
        comparison = None if node.parent is None else node.parent.parent
        if isinstance(comparison, (exp.Add, exp.Sub)):
            return
        value = None if comparison is None else comparison.args.get("this")
        if isinstance(value, exp.Expr) and base(type_of(value) or "") not in TIMES:
            return
    for at in range(1, len(text.kinds) - 5):
        if text.kinds[at + 3] is not TokenType.INTERVAL or text.kinds[at - 1] not in _COMPARISONS:
            continue
        kind, literal, sign, _, count, unit = (text.raw(index) for index in range(at, at + 6))
        following = text.kinds[at + 6] if at + 6 < len(text.kinds) else None
        is_literal = kind.lower() == "date" and re.fullmatch(r".\d{4}-\d\d-\d\d.", literal) is not None
        if is_literal and sign in ("+", "-") and following not in (TokenType.STAR, TokenType.SLASH, TokenType.VAR):
            shifted = _shifted(literal[1:-1], int(f"{sign}1"), count.strip("'\""), unit.lower().rstrip("s"))
            if shifted is not None:
                yield at, at + 5, f"{kind} '{shifted}'"


_COMPARISONS = frozenset(
    {
        *(TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.EQ, TokenType.NEQ),
        *(TokenType.BETWEEN, TokenType.AND),
    }
)
"""The tokens in front of a date that is compared."""


def _shifted(text: str, sign: int, count: str, unit: str) -> str | None:
    """Add an interval to a date; the day is limited to the last day of the month, as in Hive and Spark.

    None for dates before 1583, for which Hive 2 and 3 use another calendar.
    """
    try:
        day, number = date.fromisoformat(text), sign * int(count)
        if unit == "day":
            shifted = day + timedelta(days=number)
            return shifted.isoformat() if min(day, shifted).year >= 1583 else None
        if unit not in ("month", "year"):
            return None
        year, month = divmod(day.year * 12 + day.month - 1 + number * (12 if unit == "year" else 1), 12)
        if min(day.year, year) < 1583:
            return None
        return day.replace(year=year, month=month + 1, day=min(day.day, monthrange(year, month + 1)[1])).isoformat()
    except (ValueError, OverflowError):
        return None


def null_safe_comparisons(resolution: Resolution) -> Iterator[Edit]:
    """`x <=> NULL` becomes `(x IS NULL)`, `x <=> 1` becomes `(x IS NOT NULL AND x = 1)`, and so on, for a column x.

    Applies only to columns of the same type, and to literals of the column's kind: other comparisons cast one side,
    which may return NULL.
    """
    text, type_of = resolution.text, resolution.context.type_of
    for node in resolution.tree.find_all(exp.NullSafeEQ):
        span, column = written_tokens(text, node), token_span(text, node.this)
        if span is None or column is None or type(node.this) is not exp.Column:
            continue
        name = text.between(*column)
        if type(node.expression) is exp.Null:
            yield (*span, f"({name} IS NULL)")
        if type(node.expression) is exp.Column and _is_of_one_table(node):
            other = text.between(column[1] + 2, span[1])
            both = f"{name} = {other} AND {name} IS NOT NULL AND {other} IS NOT NULL"
            if type_of(node.this) == type_of(node.expression) is not None:
                yield (*span, f"(({both}) OR ({name} IS NULL AND {other} IS NULL))")
        if _literal_kinds(node.expression) & {type_of(node.this)} and _filters_rows(node):
            value = text.between(column[1] + 2, span[1])
            yield (*span, f"({name} IS NOT NULL AND {name} = {value})")


def _is_of_one_table(node: exp.Expr) -> bool:
    """Whether both columns belong to the only table of a block; other `<=>` are conditions of joins or subqueries."""
    block = node.find_ancestor(exp.Select)
    from_ = None if block is None else block.args.get("from_")
    if block is None or from_ is None or block.args.get("joins"):
        return False
    table = from_.this.alias_or_name.lower()
    return all(column.parts[0].name.lower() == table for column in (node.this, node.expression))


def _filters_rows(node: exp.Expr) -> bool:
    """Whether a condition filters rows; Hive 4.1.0 does not finish planning `x IS NOT NULL AND x = 1` as a value."""
    parent = node.parent
    while isinstance(parent, (exp.And, exp.Or, exp.Paren)):
        parent = parent.parent
    return isinstance(parent, (exp.Where, exp.Having))


def _literal_kinds(node: exp.Expr) -> frozenset[str | None]:
    """Return the column types with which a literal can be compared without a cast that may return NULL."""
    if type(node) is exp.Boolean:
        return frozenset({"boolean"})
    if type(node) is not exp.Literal:
        return frozenset()
    if node.is_string:
        return frozenset({"string"})
    return frozenset({*INTEGERS, "float", "double"}) if node.this.isdigit() else frozenset()


def integer_divisions(resolution: Resolution) -> Iterator[Edit]:
    """`a / b` of integers becomes `CAST(a AS DOUBLE) / b`, which is its meaning in Hive and Spark."""
    text, type_of = resolution.text, resolution.context.type_of
    for node in resolution.tree.find_all(exp.Div):
        if type_of(node.this) in INTEGERS and type_of(node.expression) in INTEGERS:
            span = written_tokens(text, node.this)
            if span is not None and text.raw(span[1] + 1) == "/":
                yield (*span, f"CAST({text.between(*span)} AS DOUBLE)")


def decimal_sums(resolution: Resolution) -> Iterator[Edit]:
    """`sum(x)` of decimals gets a CAST to the type that it has in Hive and Spark."""
    text, type_of = resolution.text, resolution.context.type_of
    for node in resolution.tree.find_all(exp.Sum):
        size, span = decimal(type_of(node.this) or ""), call_tokens(text, node)
        if size is None or span is None or isinstance(node.parent, (exp.Window, exp.Filter, exp.Cast)):
            continue
        yield (*span, f"CAST({text.between(*span)} AS DECIMAL({min(38, size[0] + 10)},{size[1]}))")


def integer_averages(resolution: Resolution) -> Iterator[Edit]:
    """`avg(n)` of integers becomes `avg(CAST(n AS DOUBLE))`: Coral takes the average for an integer."""
    text, type_of = resolution.text, resolution.context.type_of
    for node in resolution.tree.find_all(exp.Avg):
        call, value = call_tokens(text, node), written_tokens(text, node.this)
        if call is not None and value is not None and type_of(node.this) in INTEGERS:
            yield (*value, f"CAST({text.between(*value)} AS DOUBLE)")


def whole_partitions(resolution: Resolution) -> Iterator[Edit]:
    """`sum(n) OVER (PARTITION BY a, b)` gets `ORDER BY a`, in which all rows of a partition are peers.

    Hive before version 4 cannot order the rows of a window by a BOOLEAN.
    """
    text, type_of = resolution.text, resolution.context.type_of
    for node in resolution.tree.find_all(exp.Window):
        keys = node.args.get("partition_by") or []
        is_whole = not node.args.get("order") and not node.args.get("spec") and not node.args.get("alias")
        if not isinstance(node.this, (exp.Sum, exp.Avg)) or not keys or not is_whole or node.find(exp.Distinct):
            continue
        spans = [token_span(text, key) for key in keys]
        call = call_tokens(text, node.this)
        if call is None or None in spans or not all(type(key) is exp.Column for key in keys):
            continue
        open_ = call[1] + 2
        is_over = text.raw(call[1] + 1).lower() == "over" and text.kinds[open_] is TokenType.L_PAREN
        if is_over and all(base(type_of(key) or "") in GROUPED_TYPES for key in keys):
            ordered = [span for key, span in zip(keys, spans, strict=True) if type_of(key) != "boolean"]
            first, last = ordered[0] if ordered else None, spans[-1]
            assert last is not None
            if first is not None and last[1] == text.match[open_] - 1:
                order = text.between(*first)
                yield last[1], last[1], f"{text.raw(last[1])} ORDER BY {order}"


def decimal_averages(resolution: Resolution) -> Iterator[Edit]:
    """`avg(x)` of a decimal column becomes a quotient of sum and count, with the digits of Hive and Spark."""
    text, type_of = resolution.text, resolution.context.type_of
    for node in resolution.tree.find_all(exp.Avg):
        size, span, value = decimal(type_of(node.this) or ""), call_tokens(text, node), token_span(text, node.this)
        if size is None or span is None or value is None or isinstance(node.parent, (exp.Window, exp.Filter)):
            continue
        if type(node.this) is not exp.Column or value[0] != span[0] + 2:
            continue  # ALL, or an expression other than a column, which may change between calls
        if size[0] <= AVERAGED_DIGITS:
            total, average = ("DECIMAL({},{})".format(*kind) for kind in average_types(*size))
            argument = text.between(*value)
            yield (*span, f"CAST(CAST(sum({argument}) AS {total}) / count({argument}) AS {average})")


def decimal_quotients(resolution: Resolution) -> Iterator[Edit]:
    """`x / 3` of a decimal gets a CAST to the type that it has in Hive and Spark: Trino computes more digits."""
    text, type_of = resolution.text, resolution.context.type_of
    for node in resolution.tree.find_all(exp.Div):
        span = written_tokens(text, node)
        if span is not None and is_exact_quotient(node, type_of) and not isinstance(node.parent, exp.Cast):
            yield *span, f"CAST({text.between(*span)} AS {str(type_of(node)).upper()})"


_DATE_FUNCTIONS = frozenset({"date_add", "date_sub", "to_date"})


def dates(resolution: Resolution) -> Iterator[Edit]:
    """`date_add`, `date_sub` and `to_date` get a CAST to DATE: Coral takes them for strings."""
    text = resolution.text
    for node in resolution.tree.find_all(exp.TsOrDsAdd, exp.TsOrDsToDate):
        span = call_tokens(text, node)
        if span is None or text.raw(span[0]).lower() not in _DATE_FUNCTIONS or isinstance(node.parent, exp.Cast):
            continue
        if resolution.context.type_of(node) == "date":
            yield (*span, f"CAST({text.between(*span)} AS DATE)")


_DATE_PARTS = {
    "year": "CAST(substr({0}, 1, length({0}) - 6) AS INT)",
    "month": "CAST(substr({0}, -5, 2) AS INT)",
    "day": "CAST(substr({0}, -2) AS INT)",
    "dayofmonth": "CAST(substr({0}, -2) AS INT)",
    "quarter": "CASE WHEN substr({0}, -5, 2) <= '03' THEN 1 WHEN substr({0}, -5, 2) <= '06' THEN 2 "
    "WHEN substr({0}, -5, 2) <= '09' THEN 3 WHEN substr({0}, -5, 2) <= '12' THEN 4 END",
    "date_format yyyy": "CAST(substr({0}, 1, length({0}) - 6) AS STRING)",
    "date_format yyyy-MM": "CAST(substr({0}, 1, length({0}) - 3) AS STRING)",
    "date_format yyyy-MM-dd": "{0}",
}
"""Parts of a date as substrings of its text, whose last six characters are `-MM-DD`.

Valid for the years that Hive and Spark document, 1 to 9999.
"""


_TIME_PARTS = {"minute": "CAST(substr({0}, 15, 2) AS INT)"}
"""Parts of a timestamp as substrings of its text."""


def date_parts(resolution: Resolution) -> Iterator[Edit]:
    """`year(x)`, `date_format(x, 'dd/MM/yyyy')` and so on of a date or timestamp become substrings of its text.

    Coral passes a string to `year`, and takes the pattern of `date_format` for a pattern of Trino.
    """
    text, type_of = resolution.text, resolution.context.type_of
    for node in resolution.tree.find_all(*_DATE_FUNCTIONS_OF_COLUMNS):
        operand = node.this.this if isinstance(node.this, (exp.TsOrDsToDate, exp.TimeStrToTime)) else node.this
        span, column, kind = call_tokens(text, node), token_span(text, operand), base(type_of(operand) or "")
        if span is None or column is None or type(operand) is not exp.Column or kind not in TIMES:
            continue
        name = text.between(*column)
        day = f"CAST({name if kind == 'date' else f'CAST({name} AS DATE)'} AS STRING)"
        arguments = [text.raw(at)[1:-1] for at in range(column[1] + 2, span[1])]
        function = " ".join([text.raw(span[0]).lower(), *arguments])
        if function in _DATE_PARTS:
            yield *span, _DATE_PARTS[function].format(day)
        elif function in _TIME_PARTS and kind == "timestamp":
            yield *span, _TIME_PARTS[function].format(f"CAST({name} AS STRING)")
        elif isinstance(node, exp.TimeToStr) and len(arguments) == 1:
            formatted = _formatted(arguments[0], day, f"CAST({name} AS STRING)" if kind == "timestamp" else None)
            if formatted is not None:
                yield *span, formatted


_DATE_FUNCTIONS_OF_COLUMNS = (*(exp.Year, exp.Month, exp.Day, exp.DayOfMonth, exp.Quarter, exp.Minute, exp.TimeToStr),)
_FORMAT = "yyyy-MM-dd HH:mm:ss"
"""The format in which all engines write the first 19 characters of a timestamp, and the first 10 of a date."""
_FIELD = re.compile("yyyy(?!y)|MM(?!M)|dd(?!d)|HH(?!H)|mm(?!m)|ss(?!s)")
_PATTERN = re.compile(f"(?:{_FIELD.pattern}|[-/:., _0-9])+")


def _formatted(pattern: str, day: str, timestamp: str | None) -> str | None:
    """Return a date or timestamp in a pattern of date_format(), from its texts; None for other patterns."""
    if not _PATTERN.fullmatch(pattern):
        return None
    fields = list(_FIELD.finditer(pattern))
    has_time = any(field[0] in ("HH", "mm", "ss") for field in fields)
    source = timestamp if has_time else day
    if not fields or source is None:
        return None
    pieces, at = [], 0
    while at < len(pattern):
        ends = [field.end() for field in fields if field.end() > at]
        runs = [end for end in ends if pattern[at:end] in _FORMAT and _FIELD.match(pattern, at)]
        if runs:
            start, end = _FORMAT.index(pattern[at : runs[-1]]) + 1, runs[-1]
            pieces.append(f"substr({source}, {start}, {end - at})")
        else:
            end = min((field.start() for field in fields if field.start() > at), default=len(pattern))
            pieces.append(f"'{pattern[at:end]}'")
        at = end
    joined = pieces[0] if len(pieces) == 1 else f"concat({', '.join(pieces)})"
    return f"CAST({joined} AS STRING)"


def distinct_sizes(resolution: Resolution) -> Iterator[Edit]:
    """`size(collect_set(x))` becomes `CAST(count(DISTINCT x) AS INT)`."""
    text = resolution.text
    for node in resolution.tree.find_all(exp.ArraySize):
        span, inner = call_tokens(text, node), node.this
        argument = None if not isinstance(inner, exp.ArrayUniqueAgg) else written_tokens(text, inner.this)
        if span is None or argument is None or text.raw(span[0]).lower() != "size":
            continue
        if base(resolution.context.type_of(inner.this) or "") in GROUPED_TYPES:
            yield (*span, f"CAST(count(DISTINCT {text.between(*argument)}) AS INT)")


_VALUES = (exp.Alias, exp.EQ, exp.NEQ, exp.In, exp.Coalesce, exp.Concat, exp.If, exp.Case, exp.Select)
"""The parents under which a string is a plain value; LIKE, patterns and formats interpret backslashes differently."""


def string_escapes(resolution: Resolution) -> Iterator[Edit]:
    """Escapes in a string are replaced by the characters themselves, and a backslash by `chr(92)`."""
    text = resolution.text
    for node in resolution.tree.find_all(exp.Literal):
        at = text.token_of(node)
        if at is None or text.kinds[at] is not TokenType.STRING or not isinstance(node.parent, _VALUES):
            continue
        raw = text.raw(at)
        value = unescape(raw, text.dialect)
        is_plain = all(character in "\t\n\r" or " " <= character <= "\xff" for character in value)
        if re.sub(r"\\['\"]", "", raw).count("\\") == 0 or not is_plain or "${" in value:
            continue
        quote = raw[0]
        pieces = [f"{quote}{piece.replace(quote, chr(92) + quote)}{quote}" for piece in value.split("\\")]
        written = pieces[0] if len(pieces) == 1 else f"concat({', chr(92), '.join(pieces)})"
        yield (at, at, written)
