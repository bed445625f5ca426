"""Literals, comparisons, arithmetic, dates and aggregates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.resolver.resolved import ResolvedQuery
from hive_views.sql.text.quoting import unescape
from hive_views.sql.types.hive_types import INTEGERS, TIMES, base, decimal
from hive_views.sql.writing.coral.decimals import AVERAGED_DIGITS, average_types, is_exact_quotient
from hive_views.sql.writing.coral.edits import GROUPED_TYPES, Edit, call_tokens


def timestamp_literals(resolution: ResolvedQuery) -> Iterator[Edit]:
    """`TIMESTAMP '2024-02-01 00:00:00'` becomes a CAST, unless it is more precise than milliseconds (Trino's type)."""
    text = resolution.text
    for at, kind in enumerate(text.kinds[1:]):
        if kind is TokenType.STRING and text.raw(at).lower() == "timestamp" and _is_time(text.raw(at + 1)):
            yield at, at + 1, f"CAST({text.raw(at + 1)} AS TIMESTAMP)"


def _is_time(raw: str) -> bool:
    if not re.fullmatch(r".\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,3})?.", raw):
        return False
    try:
        datetime.strptime(raw[1:20], "%Y-%m-%d %H:%M:%S")
    except ValueError:
        return False
    return True


def null_safe_comparisons(resolution: ResolvedQuery) -> Iterator[Edit]:
    """`x <=> NULL` becomes `(x IS NULL)`, `x <=> 1` becomes `(x IS NOT NULL AND x = 1)`, and so on, for a column x.

    Applies only to columns of the same type, and to literals of the column's kind: other comparisons cast one side,
    which may return NULL.
    """
    text, type_of = resolution.text, resolution.type_of
    for node in resolution.tree.find_all(exp.NullSafeEQ):
        span, column = resolution.tokens_of(node), resolution.tokens_of(node.this)
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
    """Return whether both columns belong to the only table of a block.

    Other `<=>` are conditions of joins or subqueries.
    """
    block = node.find_ancestor(exp.Select)
    from_ = None if block is None else block.args.get("from_")
    if block is None or from_ is None or block.args.get("joins"):
        return False
    table = from_.this.alias_or_name.lower()
    return all(column.parts[0].name.lower() == table for column in (node.this, node.expression))


def _filters_rows(node: exp.Expr) -> bool:
    """Return whether a condition filters rows.

    Hive 4.1.0 does not finish planning `x IS NOT NULL AND x = 1` as a value.
    """
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


def integer_divisions(resolution: ResolvedQuery) -> Iterator[Edit]:
    """`a / b` of integers becomes `CAST(a AS DOUBLE) / b`, which is its meaning in Hive and Spark."""
    text, type_of = resolution.text, resolution.type_of
    for node in resolution.tree.find_all(exp.Div):
        if type_of(node.this) in INTEGERS and type_of(node.expression) in INTEGERS:
            span = resolution.tokens_of(node.this)
            if span is not None and text.raw(span[1] + 1) == "/":
                yield (*span, f"CAST({text.between(*span)} AS DOUBLE)")


def decimal_sums(resolution: ResolvedQuery) -> Iterator[Edit]:
    """`sum(x)` of decimals gets a CAST to the type that it has in Hive and Spark."""
    text, type_of = resolution.text, resolution.type_of
    for node in resolution.tree.find_all(exp.Sum):
        size, span = decimal(type_of(node.this) or ""), call_tokens(text, node)
        if size is None or span is None or isinstance(node.parent, (exp.Window, exp.Filter, exp.Cast)):
            continue
        yield (*span, f"CAST({text.between(*span)} AS DECIMAL({min(38, size[0] + 10)},{size[1]}))")


def decimal_averages(resolution: ResolvedQuery) -> Iterator[Edit]:
    """`avg(x)` of a decimal column becomes a quotient of sum and count, with the digits of Hive and Spark."""
    text, type_of = resolution.text, resolution.type_of
    for node in resolution.tree.find_all(exp.Avg):
        size, span, value = decimal(type_of(node.this) or ""), call_tokens(text, node), resolution.tokens_of(node.this)
        if size is None or span is None or value is None or isinstance(node.parent, (exp.Window, exp.Filter)):
            continue
        if type(node.this) is not exp.Column or value[0] != span[0] + 2:
            continue  # ALL, or an expression other than a column, which may change between calls
        if size[0] <= AVERAGED_DIGITS:
            total, average = ("DECIMAL({},{})".format(*kind) for kind in average_types(*size))
            argument = text.between(*value)
            yield (*span, f"CAST(CAST(sum({argument}) AS {total}) / count({argument}) AS {average})")


def decimal_quotients(resolution: ResolvedQuery) -> Iterator[Edit]:
    """`x / 3` of a decimal gets a CAST to the type that it has in Hive and Spark: Trino computes more digits."""
    text, type_of = resolution.text, resolution.type_of
    for node in resolution.tree.find_all(exp.Div):
        span = resolution.tokens_of(node)
        if span is not None and is_exact_quotient(node, type_of) and not isinstance(node.parent, exp.Cast):
            yield *span, f"CAST({text.between(*span)} AS {str(type_of(node)).upper()})"


_DATE_FUNCTIONS = frozenset({"date_add", "date_sub", "to_date"})


def dates(resolution: ResolvedQuery) -> Iterator[Edit]:
    """`date_add`, `date_sub` and `to_date` get a CAST to DATE: Coral takes them for strings."""
    text = resolution.text
    for node in resolution.tree.find_all(exp.TsOrDsAdd, exp.TsOrDsToDate):
        span = call_tokens(text, node)
        if span is None or text.raw(span[0]).lower() not in _DATE_FUNCTIONS or isinstance(node.parent, exp.Cast):
            continue
        if resolution.type_of(node) == "date":
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


def date_parts(resolution: ResolvedQuery) -> Iterator[Edit]:
    """`year(x)`, `date_format(x, 'dd/MM/yyyy')` and so on of a date or timestamp become substrings of its text.

    Coral passes a string to `year`, and takes the pattern of `date_format` for a pattern of Trino.
    """
    text, type_of = resolution.text, resolution.type_of
    for node in resolution.tree.find_all(*_DATE_FUNCTIONS_OF_COLUMNS):
        operand = node.this.this if isinstance(node.this, (exp.TsOrDsToDate, exp.TimeStrToTime)) else node.this
        span, column, kind = call_tokens(text, node), resolution.tokens_of(operand), base(type_of(operand) or "")
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


def distinct_sizes(resolution: ResolvedQuery) -> Iterator[Edit]:
    """`size(collect_set(x))` becomes `CAST(count(DISTINCT x) AS INT)`."""
    text = resolution.text
    for node in resolution.tree.find_all(exp.ArraySize):
        span, inner = call_tokens(text, node), node.this
        argument = None if not isinstance(inner, exp.ArrayUniqueAgg) else resolution.tokens_of(inner.this)
        if span is None or argument is None or text.raw(span[0]).lower() != "size":
            continue
        if base(resolution.type_of(inner.this) or "") in GROUPED_TYPES:
            yield (*span, f"CAST(count(DISTINCT {text.between(*argument)}) AS INT)")


_VALUES = (exp.Alias, exp.EQ, exp.NEQ, exp.In, exp.Coalesce, exp.Concat, exp.If, exp.Case, exp.Select)
"""The parents under which a string is a plain value; LIKE, patterns and formats interpret backslashes differently."""


def string_escapes(resolution: ResolvedQuery) -> Iterator[Edit]:
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
