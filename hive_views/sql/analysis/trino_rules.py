"""What Trino's Hive connector does with each construct of a view text, as measured on Trino 483 (docs/trino.md)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from sqlglot import exp

from hive_views.sql.analysis.outcomes import Outcome
from hive_views.sql.parsing.syntax_tree import child_expressions, comparison_key
from hive_views.sql.types.hive_types import INTEGERS, NUMBERS, TIMES, base, decimal
from hive_views.sql.writing.coral.blocks import TYPED
from hive_views.sql.writing.coral.decimals import TypeOf, is_exact_average, is_exact_quotient


@dataclass(frozen=True)
class TrinoFinding:
    """A construct of a view text that Trino's Hive connector reads, or may read, differently than Hive and Spark."""

    outcome: Outcome
    """What happens."""
    construct: str
    """The construct, as shown to users."""
    line: int | None = field(default=None, compare=False)
    """Line of its first occurrence in the examined text, from 1."""
    column: int | None = field(default=None, compare=False)
    """Character in that line, from 1."""


Rule = Callable[[exp.Expr, TypeOf], TrinoFinding | None]

refused = partial(TrinoFinding, Outcome.REFUSED)
other_rows = partial(TrinoFinding, Outcome.OTHER_ROWS)
may_fail = partial(TrinoFinding, Outcome.MAY_FAIL)
unverified = partial(TrinoFinding, Outcome.UNVERIFIED)
some_values = partial(TrinoFinding, Outcome.SOME_VALUES)

WITHOUT_ON = "a join without ON; JOIN … ON true is read"
UNKNOWN_FUNCTIONS = frozenset(
    {
        *("add_months", "ascii", "bround", "corr", "cube", "date_trunc", "day", "dayofmonth", "dayofweek"),
        *("initcap", "last_day", "locate", "max_by", "md5", "minute", "month", "months_between", "ntile", "nvl2"),
        *("parse_url", "percentile", "percentile_approx", "quarter", "regexp_extract", "repeat", "rollup"),
        *("second", "sha2", "sort_array", "substring_index", "trunc", "unix_timestamp", "weekofyear", "year"),
    }
)
"""Functions that Coral does not know, or that it translates to a call that Trino rejects."""


def _join(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    kind = node.args.get("kind") or ""
    if kind in ("SEMI", "ANTI"):
        return refused(f"{kind} JOIN")
    if node.args.get("using") or node.args.get("method"):
        return refused("JOIN with USING or NATURAL")
    condition = node.args.get("on")
    if condition is None:
        return refused(WITHOUT_ON)
    return None if _is_join_condition(condition) else refused("a condition of ON that is no comparison")


def _is_join_condition(node: exp.Expr) -> bool:
    """Return whether Coral can write a condition into ON: comparisons, combined by AND and OR."""
    if isinstance(node, (exp.And, exp.Or)):
        return _is_join_condition(node.left) and _is_join_condition(node.right)
    if isinstance(node, exp.Paren):
        return _is_join_condition(node.this)
    return isinstance(node, (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.Boolean))


def _subquery(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if isinstance(node.this, exp.Table):
        return refused("a join in parentheses")
    if isinstance(node.parent, (exp.From, exp.Join, exp.In)) or node.find_ancestor(exp.Table) is not None:
        return None
    return refused("a scalar subquery")


def _group(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if any(node.args.get(key) for key in ("rollup", "cube", "grouping_sets")):
        return refused("ROLLUP, CUBE or GROUPING SETS")
    return None


def _operand_bases(node: exp.Expr, type_of: TypeOf) -> list[str | None]:
    kinds = [type_of(node.this), type_of(node.expression)]
    return [None if kind is None else base(kind) for kind in kinds]


def _division(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    bases = _operand_bases(node, type_of)
    if "decimal" in bases and not {"double", "float"} & set(bases):
        if (is_exact_quotient(node, type_of) and _has_cast(node, type_of)) or is_exact_average(node, type_of):
            return None
        return other_rows("a quotient of decimals: another scale")
    if all(kind in INTEGERS for kind in bases):
        return other_rows("a quotient of integers: integer division")
    if "double" not in bases and "float" not in bases:
        return unverified("a quotient of operands of unknown types")
    if not _is_without_zero(node):
        return other_rows("a quotient whose divisor may be 0: Infinity instead of NULL")
    return None


def _is_dividend(node: exp.Expr, type_of: TypeOf) -> bool:
    """Return whether a sum is the dividend of a quotient for which `is_exact_average` is true."""
    cast = node.parent
    return isinstance(cast, exp.Cast) and cast.parent is not None and is_exact_average(cast.parent, type_of)


def _has_cast(node: exp.Expr, type_of: TypeOf) -> bool:
    """Return whether an expression is cast to the type that it has in Hive and Spark."""
    parent = node.parent
    return isinstance(parent, exp.Cast) and type_of(parent) == type_of(node)


def _is_constant(node: exp.Expr) -> bool:
    """Return whether a divisor is a number other than 0."""
    while isinstance(node, (exp.Neg, exp.Paren, exp.Cast)):
        node = node.this
    return isinstance(node, exp.Literal) and not node.is_string and float(node.this) != 0


def _is_without_zero(node: exp.Expr) -> bool:
    """Return whether a quotient has a divisor other than 0, or is NULL in all engines where the divisor is 0."""
    divisor = node.expression.unnest()
    if _is_constant(divisor) or (isinstance(divisor, exp.Nullif) and _is_zero(divisor.expression)):
        return True
    if _is_guarded(node, divisor):
        return True
    if not isinstance(divisor, exp.Count) or isinstance(divisor.parent, exp.Filter):
        return False
    select = node.find_ancestor(exp.Select)
    group = None if select is None else select.args.get("group")
    counts_rows = isinstance(divisor.this, (exp.Star, exp.Literal))
    if counts_rows and group is not None and set(filter(group.args.get, group.args)) == {"expressions"}:
        return True
    dividend = node.this
    while isinstance(dividend, (exp.Cast, exp.Paren)):
        dividend = dividend.this
    if not isinstance(dividend, (exp.Sum, exp.Avg, exp.Min, exp.Max)):
        return False
    return group is None if counts_rows else comparison_key(dividend.this) == comparison_key(divisor.this)


def _is_guarded(node: exp.Expr, divisor: exp.Expr) -> bool:
    """Return whether a quotient is the value of `CASE WHEN divisor <> 0 THEN …` or `> 0`."""
    branch = node.find_ancestor(exp.If, exp.Select)
    if not isinstance(branch, exp.If) or all(item is not node for item in branch.args["true"].walk()):
        return False
    condition = branch.this.unnest()
    is_guard = isinstance(condition, (exp.NEQ, exp.GT)) and _is_zero(condition.expression)
    return is_guard and comparison_key(condition.this.unnest()) == comparison_key(divisor)


def _is_positive(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and float(node.this) > 0


def _is_zero(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and float(node.this) == 0


def _rounding(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if base(type_of(node.this) or "") != "decimal":
        return None
    if isinstance(node, exp.Round):
        return other_rows("round() of a decimal: another scale")
    return unverified(f"{node.key}() of a decimal")


def _modulo(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if {"float", "double"} & set(_operand_bases(node, type_of)):
        return other_rows("% of a DOUBLE or FLOAT: computed with decimals")
    return None if _is_constant(node.expression) else may_fail("% by a value that may be 0")


def _arithmetic(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    bases = _operand_bases(node, type_of)
    if "string" in bases:
        return unverified("arithmetic of a string")
    if TIMES & set(bases):
        unit = node.expression.args.get("unit") if isinstance(node.expression, exp.Interval) else None
        units = ("DAY", "MONTH", "YEAR") if bases[0] == "date" else ("DAY", "MONTH", "YEAR", "HOUR", "MINUTE", "SECOND")
        is_read = unit is not None and unit.name.upper().rstrip("S") in units
        return None if is_read else unverified("arithmetic of dates or timestamps")
    if "float" in bases:
        return other_rows("arithmetic of FLOAT: another precision")
    if set(bases) <= {"tinyint", "smallint"}:
        return may_fail("arithmetic of TINYINT and SMALLINT, which overflows")
    if bases.count("decimal") < 2:
        return None
    scales = [(decimal(type_of(item) or "") or (38, 38))[1] for item in (node.this, node.expression)]
    result = decimal(type_of(node) or "")
    if result is not None and result[1] == (sum(scales) if isinstance(node, exp.Mul) else max(scales)):
        return None
    return other_rows("arithmetic of decimals beyond 38 digits: another scale")


def _sum(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    kind = type_of(node.this)
    if kind is None:
        return unverified("a sum or average of a value of unknown type")
    if isinstance(node, exp.Avg) and base(kind) in INTEGERS:
        return other_rows("an average of integers: an integer")
    if base(kind) == "float":
        return other_rows("a sum or average of FLOAT: another precision")
    if base(kind) == "decimal" and not (
        isinstance(node, exp.Sum) and (_has_cast(node, type_of) or _is_dividend(node, type_of))
    ):
        return other_rows("a sum or average of decimals: another scale")
    return None


_VERIFIED_CASTS = frozenset(
    {("boolean", "string"), ("boolean", "int"), ("void", "int"), ("date", "string"), ("timestamp", "date")}
)
_WIDENING = ("tinyint", "smallint", "int", "bigint", "string")


def _cast(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    operand = node.this
    source = type_of(operand)
    target = type_of(node)
    is_column = isinstance(node.parent, exp.Alias) and node.parent.parent is node.root()
    if base(target or "") in ("varchar", "char") and not is_column:
        return other_rows("a cast to VARCHAR or CHAR: of any length")
    if isinstance(operand, exp.Literal):
        return _cast_of_literal(operand, target or "")
    if isinstance(operand, (exp.Null, exp.Count, exp.Unhex)) or (target == "int" and _is_digits(operand, type_of)):
        return None
    if is_exact_average(operand, type_of) or _is_dividend(operand, type_of) or _is_start_of_timestamp(node, type_of):
        return None
    if source is None or target is None:
        return unverified("a cast of a value of unknown type")
    before, after = base(source), base(target)
    if source == target or (before, after) in _VERIFIED_CASTS or before == after != "decimal":
        return None
    if before in _WIDENING and after in _WIDENING and _WIDENING.index(before) < _WIDENING.index(after):
        return None
    if before in (*INTEGERS, "decimal", "float") and after == "double":
        return None
    if after == "string":
        return other_rows(f"a cast of {before} to string: another format")
    if before in ("string", "double", "float", "decimal", *INTEGERS):
        return may_fail(f"a cast of {before} to {after}")
    return unverified(f"a cast of {before} to {after}")


_CAST_LITERALS = {
    "date": r"\d{4}-\d\d-\d\d",
    "timestamp": r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d{1,3})?)?",
    "boolean": "true|false",
    "tinyint": r"\d{1,2}",
    "smallint": r"\d{1,4}",
    "int": r"\d{1,9}",
    "bigint": r"\d{1,18}",
    "double": r"\d+(\.\d+)?",
    "decimal": r"\d+(\.\d+)?",
}
"""The literals that all engines cast to a type with the same result."""


def _is_cast_alike(literal: exp.Literal, types: Iterable[str]) -> bool:
    """Return whether all engines cast a literal to each of some types with the same result."""
    return all(
        re.fullmatch(_CAST_LITERALS.get(base(kind), ""), literal.name) and _is_valid(literal.name, kind)
        for kind in types
    )


def _is_valid(value: str, kind: str) -> bool:
    if kind in TIMES:
        try:
            return bool(datetime.fromisoformat(value[:19]))
        except ValueError:
            return False
    size = decimal(kind)
    return size is None or len(value.partition(".")[0]) <= size[0] - size[1]


def _cast_of_literal(literal: exp.Literal, target: str) -> TrinoFinding | None:
    after, value = base(target), literal.name
    if _is_cast_alike(literal, [target]):
        return None
    if after in _TEXTS and (literal.is_string or value.replace(".", "").isdigit()):
        return None
    if not literal.is_string and after in (*INTEGERS, *_TEXTS):
        return other_rows(f"a cast of {value} to {after}: another value")
    return may_fail(f"a cast of {value} to {after}")


def _is_digits(node: exp.Expr, type_of: TypeOf) -> bool:
    """Whether a string consists of digits of the text of a date or timestamp, so that its cast to INT succeeds."""
    if isinstance(node, exp.Literal):
        return node.is_string and node.this.isdigit()
    if isinstance(node, exp.Concat):
        return all(_is_digits(item, type_of) for item in node.expressions)
    if isinstance(node, exp.Cast) and type_of(node) == "string":
        return _is_digits(node.this, type_of)
    text = node.this if isinstance(node, exp.Substring) else None
    if not isinstance(text, exp.Cast) or type_of(text) != "string":
        return False
    bounds = tuple(_bound(node.args.get(key), text) for key in ("start", "length"))
    kind = base(type_of(text.this) or "")
    return (kind == "date" and bounds in _DATE_DIGITS) or (kind == "timestamp" and bounds in _TIMESTAMP_DIGITS)


_DATE_DIGITS = (("1", "length - 6"), ("-5", "2"), ("-2", ""), ("1", "4"), ("6", "2"), ("9", "2"))
"""Start and length of year, month and day in the text of a date."""
_TIMESTAMP_DIGITS = (("1", "4"), ("6", "2"), ("9", "2"), ("12", "2"), ("15", "2"), ("18", "2"))


def _bound(node: exp.Expr | None, text: exp.Expr) -> str:
    """Return an argument of substr() as text; `length` is that of the string."""
    if isinstance(node, exp.Sub) and isinstance(node.this, exp.Length):
        is_same = comparison_key(node.this.this) == comparison_key(text)
        return f"length - {node.expression.name}" if is_same else "?"
    if isinstance(node, exp.Neg):
        return f"-{node.this.name}"
    return node.name if isinstance(node, exp.Literal) else "" if node is None else "?"


def _is_start_of_timestamp(node: exp.Expr, type_of: TypeOf) -> bool:
    """Whether a substring of a timestamp is within its first 19 characters, which are the same in all engines."""
    part = node.parent
    if not isinstance(part, exp.Substring) or part.this is not node or base(type_of(node.this) or "") != "timestamp":
        return False
    bounds = [part.args.get("start"), part.args.get("length")]
    if not all(isinstance(bound, exp.Literal) and bound.this.isdigit() for bound in bounds):
        return False
    start, length = (int(bound.this) for bound in bounds if bound is not None)
    return start >= 1 and start + length <= 20


def _date(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if node.find_ancestor(exp.DateDiff, exp.Select) is not node.find_ancestor(exp.Select):
        return None
    if isinstance(node.parent, _DATE_PARTS):
        return None  # sqlglot's node around an argument of these functions
    operand = base(type_of(node.this) or "")
    is_read = operand == ("date" if isinstance(node, exp.TsOrDsAdd) else "timestamp")
    if is_read and type_of(node) == "date" and _has_cast(node, type_of):
        return None
    return refused("date_add(), date_sub() and to_date() without a cast to DATE")


def _union(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    assert isinstance(node, exp.SetOperation)
    branches = [branch for branch in (node.this, node.expression) if isinstance(branch, exp.Select)]
    names = {tuple(name.lower() for name in branch.named_selects) for branch in (node.left, node.right)}
    types = {tuple(type_of(item.unalias()) for item in branch.expressions) for branch in branches}
    if len(names) > 1:
        reason = "a set operation whose branches name their columns differently"
        has_common_names = set.intersection(*map(set, names))
        return other_rows(reason) if has_common_names else refused(reason)
    return None if len(types) == 1 else unverified("a set operation of different types")


def _size(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if isinstance(node.this, (exp.ArrayAgg, exp.ArrayUniqueAgg)):
        return None
    return other_rows("size() of NULL: NULL instead of -1")


def _is(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    return refused("IS TRUE or IS FALSE") if isinstance(node.expression, exp.Boolean) else None


def _unhex(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    is_text = isinstance(node.parent, exp.Cast) and isinstance(node.this, exp.Literal)
    return None if is_text else unverified("unhex() without a cast to STRING")


def _count(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if isinstance(node.parent, exp.Window) and isinstance(node.this, exp.Star):
        return refused("count(*) over a window; count(1) is read")
    if isinstance(node.this, (exp.Star, exp.Literal)) and isinstance(node.parent, TYPED):
        return refused("a cast of count(*)")
    values = [*(node.this.expressions if isinstance(node.this, exp.Distinct) else [node.this]), *node.expressions]
    return refused("count() of several values") if len(values) > 1 else None


def _window(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if node.args.get("alias") or not (node.args.get("partition_by") or node.args.get("order")):
        return refused("a window without PARTITION BY and ORDER BY, or with a name")
    if not isinstance(node.this, (exp.Sum, exp.Avg)):
        return None
    order = node.args.get("order")
    if order is None:
        return refused(f"{node.this.key}() over a window without ORDER BY")
    if len(order.expressions) > 1 and node.args.get("spec") is None:
        return refused(f"{node.this.key}() over a window with several keys in ORDER BY")
    return None


def _ordered(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    query = node.parent.parent if node.parent is not None else None
    if not isinstance(query, exp.Query) or isinstance(node.this, exp.Literal):
        return None
    if not isinstance(node.this, exp.Column):
        return refused("ORDER BY with an expression")
    selected = {name.lower() for item in query.selects for name in (item.alias_or_name, item.unalias().name)}
    if node.this.name.lower() in selected or any(item.is_star for item in query.selects):
        return None
    return other_rows("ORDER BY a column that is not selected: one more column")


def _comparison(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    operands = child_expressions([node.args.get(key) for key in ("this", "expression", "low", "high")])
    operands += node.expressions
    kinds = {base(type_of(operand) or "") for operand in operands}
    columns = {base(type_of(operand) or "") for operand in operands if not isinstance(operand, exp.Literal)}
    times = kinds & TIMES
    if times and any(isinstance(operand, exp.Literal) and operand.is_string for operand in operands):
        if isinstance(node, (exp.EQ, exp.In)):
            return refused("a date or timestamp that equals a string")
        if not all(_is_cast_alike(operand, times) for operand in operands if isinstance(operand, exp.Literal)):
            return may_fail("a comparison of a date or timestamp with another string")
    if _TEXTS & kinds and kinds & NUMBERS:
        if isinstance(node, exp.In):
            return refused("a string in IN of a number")
        return may_fail("a comparison of a string and a number")
    if (_TEXTS & columns and kinds & TIMES) or ("boolean" in kinds and kinds & NUMBERS):
        return unverified("a comparison of values of different types")
    if kinds & _WITH_NAN:
        return some_values("DOUBLE or FLOAT compared with a number, only for NaN, which is no number in Trino")
    return None


_WITH_NAN = frozenset({"double", "float"})


def _greatest(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if base(type_of(node.this) or "") in _WITH_NAN:
        return some_values("max() of DOUBLE or FLOAT, only with NaN")
    return None


_TEXTS = frozenset({"string", "varchar", "char"})
_FORMATTED = frozenset({"float", "double", "decimal", "timestamp", "char"})
"""Types whose values Trino formats differently as strings."""


def _string_function(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if base(type_of(node.this) or "") in _FORMATTED:
        return other_rows("a number, timestamp or CHAR as a string: another format")
    return None


def _substring(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    is_of_date = isinstance(node.this, exp.Cast) and base(type_of(node.this.this) or "") in TIMES
    if isinstance(node.args.get("start"), exp.Neg) and not is_of_date:
        return other_rows("substr() from the end of a shorter string: an empty string")
    return _string_function(node, type_of)


def _replace(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    searched = node.args.get("expression")
    if isinstance(searched, exp.Literal) and searched.name:
        return None
    return other_rows("replace() of an empty string: inserted between all characters")


def _time_function(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    operands = child_expressions([node.this, node.args.get("expression")])
    for number, operand in enumerate(operands):
        while isinstance(operand, exp.TsOrDsToDate):
            operand = operand.this
        operands[number] = operand
    if all(base(type_of(operand) or "") in TIMES for operand in operands):
        is_read = isinstance(node, exp.DateDiff) or base(type_of(operands[0]) or "") == "timestamp"
        return None if is_read else refused("hour() of a date")
    return unverified(f"{node.key}() of values that are no dates or timestamps")


def _text_value(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    """Report values that are converted to strings, or combined with values of other types."""
    operands = [node.args.get(key) for key in ("this", "expression", "true", "false", "default")]
    if isinstance(node, exp.Case):
        operands = [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]
    elif isinstance(node, exp.If):
        operands = operands[2:4]
        if isinstance(node.parent, exp.Case):
            return None
    operands += [*node.expressions]
    kinds = {base(type_of(operand) or "") for operand in operands if isinstance(operand, exp.Expr)} - {"void"}
    is_text = isinstance(node, (exp.Concat, exp.ConcatWs, exp.DPipe)) or "string" in kinds
    if is_text and kinds & _FORMATTED:
        return other_rows("a number, timestamp or CHAR as a string: another format")
    if not isinstance(node, (exp.Concat, exp.ConcatWs, exp.DPipe)) and {"string", "date"} <= kinds:
        return refused("a value that is a date or a string")
    if kinds >= TIMES:
        return other_rows("a value that is a date or a timestamp: a date")
    if isinstance(node, (exp.Greatest, exp.Least)):
        reason = "of several types" if len(kinds) > 1 else "of NULL: NULL instead of another value"
        return other_rows(f"{node.key}() {reason}")
    return None


_READ_FUNCTIONS = frozenset({"isnotnull", "isnull", "pmod"})


def _index(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    index = node.expressions[0] if len(node.expressions) == 1 else None
    if base(type_of(node.this) or "") == "map" or (isinstance(index, exp.Literal) and index.this.isdigit()):
        return None
    return other_rows("an index that may be negative: an element from the end")


def _split(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    pattern = node.args.get("expression")
    if not isinstance(pattern, exp.Literal) or not re.fullmatch(r"[^\\.\[\](){}*+?^$|]+", pattern.name):
        return other_rows("split() by a pattern: by the text of the pattern")
    return _string_function(node, type_of)


def _literal(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if node.is_string or "e" not in node.name.lower():
        return None
    return other_rows("a number with an exponent: an integer or a decimal")


def _function(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if node.name.lower() == "pmod" and not _is_positive(node.expressions[-1]):
        return other_rows("pmod() by a value that may be negative or 0")
    if node.name.lower() in _READ_FUNCTIONS | UNKNOWN_FUNCTIONS:
        return None
    return unverified(f"the function {node.name}")


_DATE_PARTS = (exp.Year, exp.Month, exp.Day, exp.DayOfMonth, exp.DateDiff)

RULES: dict[type, Rule | TrinoFinding] = {
    exp.Add: _arithmetic,
    exp.Anonymous: _function,
    **dict.fromkeys((exp.Between, exp.EQ, exp.GT, exp.GTE, exp.In, exp.LT, exp.LTE, exp.NEQ), _comparison),
    **dict.fromkeys(
        (
            *(exp.Case, exp.Coalesce, exp.Concat, exp.ConcatWs, exp.DPipe, exp.Greatest, exp.If, exp.Least),
            exp.Nullif,
        ),
        _text_value,
    ),
    **dict.fromkeys(
        (
            *(exp.Length, exp.Like, exp.Lower, exp.Pad, exp.RegexpLike, exp.RegexpReplace),
            *(exp.Reverse, exp.StrPosition, exp.Trim, exp.Upper),
        ),
        _string_function,
    ),
    **dict.fromkeys((exp.DateDiff, exp.Hour), _time_function),
    exp.ArraySize: _size,
    exp.Count: _count,
    exp.Exp: other_rows("exp(): the last digit differs"),
    exp.Is: _is,
    exp.Max: _greatest,
    exp.Log: other_rows("a logarithm of 0: -Infinity instead of NULL"),
    exp.Unhex: _unhex,
    exp.Ordered: _ordered,
    exp.Window: _window,
    exp.Avg: _sum,
    exp.BitwiseAnd: refused("&"),
    exp.BitwiseNot: refused("~"),
    exp.BitwiseOr: refused("|"),
    exp.BitwiseXor: refused("^"),
    exp.Cast: _cast,
    exp.Ceil: _rounding,
    exp.Div: _division,
    exp.Except: refused("EXCEPT"),
    exp.Floor: _rounding,
    exp.Group: _group,
    exp.Intersect: refused("INTERSECT"),
    exp.Join: _join,
    exp.Ln: other_rows("ln(): the last digit differs"),
    exp.Mod: _modulo,
    exp.Mul: _arithmetic,
    exp.NullSafeEQ: refused("<=>"),
    exp.Posexplode: other_rows("posexplode: it counts from 1"),
    exp.RegexpSplit: _split,
    exp.Replace: _replace,
    exp.Substring: _substring,
    exp.Bracket: _index,
    exp.Literal: _literal,
    exp.Round: _rounding,
    exp.Sub: _arithmetic,
    exp.Subquery: _subquery,
    exp.Sum: _sum,
    exp.TimeToStr: other_rows("date_format: another format"),
    exp.TryCast: _cast,
    exp.TsOrDsAdd: _date,
    exp.TsOrDsToDate: _date,
    exp.Union: _union,
}
"""The finding for a construct, by its node: fixed, or returned by a function; None if all engines agree."""

REPORTED_BY_NAME = frozenset(
    {
        *(exp.AddMonths, exp.ApproxQuantile, exp.ArgMax, exp.Corr, exp.Cube, exp.Day, exp.DayOfMonth, exp.DayOfWeek),
        *(exp.Initcap, exp.IntDiv, exp.LastDay, exp.MD5, exp.Minute, exp.Month, exp.MonthsBetween, exp.Ntile),
        *(exp.ParseUrl, exp.Quantile, exp.Quarter, exp.RegexpExtract, exp.Repeat, exp.Rollup, exp.SHA2, exp.Second),
        *(exp.ArraySort, exp.Nvl2, exp.StrToUnix, exp.SubstringIndex, exp.TimestampTrunc, exp.WeekOfYear, exp.Year),
    }
)
"""The nodes of `UNKNOWN_FUNCTIONS` and DIV, which are found by their names in the text."""

VERIFIED = frozenset(
    {
        *(exp.Abs, exp.Alias, exp.And, exp.Array, exp.ArrayContains, exp.Boolean, exp.CTE, exp.Chr),
        *(exp.Column, exp.CumeDist, exp.CurrentDate, exp.CurrentTimestamp, exp.DataType, exp.DataTypeParam),
        *(exp.DenseRank, exp.Distinct, exp.Exists, exp.Explode, exp.FirstValue, exp.From, exp.Having, exp.Identifier),
        *(exp.Interval, exp.Lag, exp.LastValue, exp.Lateral, exp.Lead, exp.Limit, exp.Min),
        *(exp.Neg, exp.Not, exp.Null, exp.Or, exp.Order, exp.Paren, exp.PercentRank, exp.Pow, exp.PropertyEQ),
        *(exp.Rank, exp.RowNumber, exp.Select, exp.Sign, exp.Sqrt, exp.Star, exp.Stddev, exp.StddevPop),
        *(exp.StddevSamp, exp.Struct, exp.Table, exp.TableAlias, exp.Translate, exp.UnixToStr, exp.Var, exp.VarMap),
        *(exp.Variance, exp.VariancePop, exp.Where, exp.WindowSpec, exp.With),
    }
)
"""The nodes of the measured texts that returned equal rows (tests/unit/sql/fixtures: trino_483_texts.jsonl,
analyst_texts.jsonl), without those that have a rule."""
