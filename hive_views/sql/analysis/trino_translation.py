"""What Trino's Hive connector does with a view text, as measured on Trino 483 (docs/trino.md).

The connector translates the expanded text with Coral. Some constructs are refused, some return other rows without an
error. A construct that was not measured counts as unverified: the table of verified constructs decides, not a list of
exceptions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.parsing.lexer import Text
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.parsing.syntax_tree import child_expressions, comparison_key, first_offsets_of, start_offsets
from hive_views.sql.resolver.resolver import Resolution, resolve
from hive_views.sql.resolver.scopes import Schemas
from hive_views.sql.types.hive_types import INTEGERS, NUMBERS, TIMES, base, decimal


class Outcome(str, Enum):
    """What happens when Trino reads a construct."""

    REFUSED = "refused"
    """The view cannot be read."""
    OTHER_ROWS = "other rows"
    """The view returns other rows than Hive and Spark, without an error."""
    MAY_FAIL = "may fail"
    """It fails on values for which Hive and Spark return NULL."""
    UNVERIFIED = "not verified"
    """It was not measured."""


_FROM_BEST_TO_WORST = (Outcome.MAY_FAIL, Outcome.REFUSED, Outcome.UNVERIFIED, Outcome.OTHER_ROWS)


def severity(findings: Collection[TrinoFinding]) -> int:
    """Rank what happens to a text: 0 without findings; an error is better than other rows."""
    outcomes = {finding.outcome for finding in findings}
    if Outcome.REFUSED in outcomes:
        return 1 + _FROM_BEST_TO_WORST.index(Outcome.REFUSED)
    return max((1 + _FROM_BEST_TO_WORST.index(outcome) for outcome in outcomes), default=0)


@dataclass(frozen=True)
class TrinoFinding:
    """A construct of a view text that Trino's Hive connector does not read as Hive and Spark do, or may not."""

    outcome: Outcome
    """What happens."""
    construct: str
    """The construct, for users."""
    line: int | None = field(default=None, compare=False)
    """Line of its first occurrence in the examined text, from 1."""
    column: int | None = field(default=None, compare=False)
    """Character in that line, from 1."""


TypeOf = Callable[[exp.Expr], str | None]


def trino_findings(
    sql: str,
    schemas: Schemas,
    *,
    database: str,
    dialect: str = "hive",
    functions: Mapping[str, str] | None = None,
) -> tuple[TrinoFinding, ...]:
    """Examine an expanded text; no findings mean that Trino returns the rows of Hive and Spark; raises SqlError."""
    resolution = resolve(parse_query(sql, dialect), schemas, database, functions=functions)
    try:
        located = _located_findings(resolution, schemas, database)
    except RecursionError:
        raise resolution.text.error("The text is nested too deeply", 0) from None
    severity = list(Outcome).index
    located.sort(key=lambda item: (severity(item[0].outcome), item[0].construct, item[1]))
    positions = ((finding, *resolution.text.position(start)) for finding, start in located)
    return tuple(dict.fromkeys(replace(finding, line=line, column=column) for finding, line, column in positions))


def _located_findings(resolution: Resolution, schemas: Schemas, database: str) -> list[_Located]:
    located = [*_query_findings(resolution, schemas, database), *_text_findings(resolution.text)]
    first_offsets = first_offsets_of(resolution.tree)
    for node in resolution.tree.walk():
        rule = _RULES.get(type(node))
        finding = rule(node, resolution.context.type_of) if rule is not None else None
        if rule is None and type(node) not in _VERIFIED:
            finding = TrinoFinding(Outcome.UNVERIFIED, type(node).key.replace("_", " "))
        if finding is not None:
            located.append((finding, first_offsets.get(id(node), 0)))
    return located


_TYPED = (exp.Cast, exp.TryCast, exp.Substring, exp.Concat)
"""Functions whose type Coral derives from the query; it fails to do so where it has grouped the rows."""
_UNTYPED = (
    *(exp.AggFunc, exp.Lower, exp.Upper, exp.Trim, exp.Hour, exp.RegexpReplace),
    *(exp.Coalesce, exp.If, exp.Case, exp.And, exp.Or),
)
"""Functions that it was seen to read there."""


def _groups(select: exp.Select) -> bool:
    """Whether a block groups its rows by GROUP BY, DISTINCT or IN."""
    is_operand = isinstance(select.parent, exp.Subquery) and isinstance(select.parent.parent, exp.In)
    return bool(select.args.get("group") or select.args.get("distinct") or is_operand)


def _clauses(select: exp.Select) -> list[exp.Expr]:
    """Return what a block computes from its groups."""
    return [*select.expressions, *filter(None, (select.args.get(key) for key in ("group", "having", "order")))]


def functions_before_grouping(select: exp.Select) -> Iterator[exp.Func]:
    """Yield the functions of columns that a block computes before it groups its rows."""
    if not _groups(select):
        return
    for clause in _clauses(select):
        for function in clause.find_all(exp.Func):
            is_computed = function.find(exp.Column) is not None and function.find(exp.AggFunc) is None
            is_days = function.find_ancestor(exp.DateDiff, exp.Select) is not function.find_ancestor(exp.Select)
            if is_computed and not is_days and not isinstance(function, _UNTYPED):
                yield function


def _merged_source(select: exp.Select) -> exp.Select | None:
    """Return the only table of a block if it is a query, which Coral merges into the block."""
    from_ = select.args.get("from_")
    if from_ is None or select.args.get("joins") or select.args.get("laterals"):
        return None
    query = from_.this.this if isinstance(from_.this, exp.Subquery) else None
    if isinstance(from_.this, exp.Table) and not from_.this.db:
        name = from_.this.name.lower()
        query = next((cte.this for cte in select.root().find_all(exp.CTE) if cte.alias.lower() == name), None)
    return query if isinstance(query, exp.Select) else None


def _column_names(nodes: Iterable[exp.Expr]) -> set[str]:
    return {column.name.lower() for node in nodes for column in node.find_all(exp.Column)}


def typed_functions_of_sources(select: exp.Select) -> Iterator[tuple[exp.Select, exp.Func]]:
    """Yield the functions of columns in the queries that are merged into a block that groups, with their blocks."""
    names, block, source = _column_names(_clauses(select)), select, _merged_source(select)
    is_merged = _groups(select)
    while is_merged and source is not None and not block.args.get("where"):
        items = [item for item in source.expressions if item.alias_or_name.lower() in names]
        for function in (function for item in items for function in item.find_all(*_TYPED)):
            if function.find(exp.Column) is not None:
                yield source, function
        is_merged = not _groups(source)
        names, block, source = _column_names(items), source, _merged_source(source)


def aggregates_of_aggregates(select: exp.Select) -> Iterator[tuple[exp.Select, exp.Func]]:
    """Yield the aggregates of aggregates that a merged query computes, with its block, unless GROUP BY is between."""
    aggregates = [item for node in select.expressions for item in node.find_all(exp.AggFunc)]
    names = _column_names(item for item in aggregates if item.find_ancestor(exp.Window, exp.Select) is select)
    source = _merged_source(select) if names and not select.args.get("group") else None
    if source is None:
        return
    for item in source.expressions:
        aggregate = item.find(exp.AggFunc) if item.alias_or_name.lower() in names else None
        if aggregate is not None:
            yield source, aggregate


def _under_grouping(tree: exp.Expr) -> Iterator[exp.Func]:
    """Yield the functions of columns that are computed before rows are grouped."""
    for select in tree.find_all(exp.Select):
        yield from functions_before_grouping(select)
        yield from (function for _, function in typed_functions_of_sources(select))


def _grouped(node: exp.Func) -> TrinoFinding:
    outcome = Outcome.REFUSED if isinstance(node, _TYPED) else Outcome.UNVERIFIED
    return TrinoFinding(outcome, f"{node.key.replace('_', ' ')} of a column in a block with GROUP BY, DISTINCT or IN")


_Located = tuple[TrinoFinding, int]
"""A finding and where it begins in the text, in characters."""


def _query_findings(resolution: Resolution, schemas: Schemas, database: str) -> Iterator[_Located]:
    if isinstance(resolution.tree, exp.SetOperation):
        yield TrinoFinding(Outcome.UNVERIFIED, "a set operation at the top of the text"), 0
    for node in _under_grouping(resolution.tree):
        yield _grouped(node), min(start_offsets(node), default=0)
    for select in resolution.tree.find_all(exp.Select):
        for _, node in aggregates_of_aggregates(select):
            yield _refused("an aggregate of an aggregate"), min(start_offsets(node), default=0)
        if select.args.get("windows"):
            yield _refused("a WINDOW clause"), min(start_offsets(select), default=0)
    for at in dates_taken_for_strings(resolution):
        yield (
            _refused("DATE '…' outside of <, > and BETWEEN; CAST('…' AS DATE) is read"),
            resolution.text.tokens[at].start,
        )
    for table in resolution.tree.find_all(exp.Table):
        around = table.find_ancestor(exp.Subquery, exp.CTE, exp.Exists, exp.In)
        if not table.db and around is not None and not isinstance(around, exp.CTE):
            finding = TrinoFinding(Outcome.UNVERIFIED, "a common table expression in a derived table or subquery")
            yield finding, min(start_offsets(table), default=0)
        if table.catalog:
            yield _refused("a name of a table with its catalog"), min(start_offsets(table), default=0)
        schema = schemas.table(table.db.lower() or database, table.name.lower())
        if schema is not None and any("with local time zone" in kind for _, kind in schema.columns):
            finding = _refused(f"a timestamp with time zone in {table.name}, unless legacy-translation is on")
            yield finding, min(start_offsets(table), default=0)


_ORDER_COMPARISONS = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NEQ, exp.Between, exp.DateDiff, exp.TsOrDsToDate)


def dates_taken_for_strings(resolution: Resolution) -> Iterator[int]:
    """Yield the token of each `DATE '…'` that is not compared by order: Coral takes it for a string."""
    text = resolution.text
    for cast in resolution.tree.find_all(exp.Cast):
        at = (text.token_of(cast.this) or 0) - 1
        is_shifted = isinstance(cast.parent, (exp.Add, exp.Sub))  # reported with its interval
        if (
            at >= 0
            and text.raw(at).lower() == "date"
            and not is_shifted
            and not isinstance(cast.parent, _ORDER_COMPARISONS)
        ):
            yield at


_ESCAPED_QUOTE = re.compile(r"\\['\"]")
_UNKNOWN_FUNCTIONS = frozenset(
    {
        *("add_months", "ascii", "bround", "corr", "cube", "date_trunc", "day", "dayofmonth", "dayofweek"),
        *("initcap", "last_day", "locate", "max_by", "md5", "minute", "month", "months_between", "ntile", "nvl2"),
        *("parse_url", "percentile", "percentile_approx", "quarter", "regexp_extract", "repeat", "rollup"),
        *("second", "sha2", "sort_array", "substring_index", "trunc", "unix_timestamp", "weekofyear", "year"),
    }
)
"""Functions that Coral does not know, or calls in Trino with arguments that Trino refuses."""


def _text_findings(text: Text) -> Iterator[_Located]:
    for at, token in enumerate(text.tokens):
        kinds, raw = text.kinds[max(at - 2, 0) : at], text.raw(at)
        previous = kinds[-1] if kinds else None
        if token.token_type is TokenType.STRING:
            if not raw.isascii() and any(ord(character) > 255 for character in raw):
                yield _refused("a string with characters beyond Latin-1"), token.start
            if "\\" in _ESCAPED_QUOTE.sub("", raw):
                yield TrinoFinding(Outcome.OTHER_ROWS, "a backslash in a string"), token.start
            if previous is TokenType.STRING:
                yield _refused("adjacent strings"), token.start
            if previous is TokenType.TIMESTAMP:
                yield _refused("TIMESTAMP '…'; CAST('…' AS TIMESTAMP) is read"), token.start
        elif (
            raw.lower() in _UNKNOWN_FUNCTIONS
            and previous is not TokenType.DOT
            and text.kinds[at + 1 : at + 2] == [TokenType.L_PAREN]
        ):
            yield _refused(f"{raw.lower()}()"), token.start
        elif token.token_type is TokenType.JOIN and not _has_condition(text, at):
            yield _refused(_WITHOUT_ON), token.start
        elif token.token_type is TokenType.NUMBER and raw[-1].isalpha() and raw[-1] not in "Ll":
            yield _refused("a number with a suffix other than L"), token.start
        elif raw.lower() == "nulls":
            yield _refused("NULLS FIRST or NULLS LAST"), token.start
        elif token.token_type is TokenType.DIV:
            yield _refused("DIV"), token.start
        elif token.token_type is TokenType.INTERVAL and kinds[:1] == [TokenType.STRING]:
            yield _refused("an interval added to a literal"), token.start
        elif token.token_type is TokenType.INTERVAL and kinds[:1] == [TokenType.R_PAREN]:
            function = text.raw(text.match[at - 2] - 1).lower()
            if function == "cast":
                yield _refused("an interval added to a CAST"), token.start


_WITHOUT_ON = "a join without ON; JOIN … ON true is read"
_AFTER_SOURCE = (TokenType.JOIN, TokenType.ON, TokenType.USING, TokenType.SELECT)


def _has_condition(text: Text, join: int) -> bool:
    """Whether ON or USING follows a JOIN before the next one: sqlglot adds `ON true` where none is written."""
    level = text.enclosing(join)
    following = (at for at in range(join + 1, len(text.kinds)) if text.kinds[at] in _AFTER_SOURCE)
    at = next((at for at in following if text.enclosing(at) == level), join)
    return text.kinds[at] in (TokenType.ON, TokenType.USING)


def _refused(construct: str) -> TrinoFinding:
    return TrinoFinding(Outcome.REFUSED, construct)


def _always(outcome: Outcome, construct: str) -> Callable[[exp.Expr, TypeOf], TrinoFinding | None]:
    return lambda node, type_of: TrinoFinding(outcome, construct)


def _join(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    kind = node.args.get("kind") or ""
    if kind in ("SEMI", "ANTI"):
        return _refused(f"{kind} JOIN")
    if node.args.get("using") or node.args.get("method"):
        return _refused("JOIN with USING or NATURAL")
    condition = node.args.get("on")
    if condition is None:
        return _refused(_WITHOUT_ON)
    return None if _is_join_condition(condition) else _refused("a condition of ON that is no comparison")


def _is_join_condition(node: exp.Expr) -> bool:
    """Whether a condition is one that Coral writes into ON: comparisons, combined by AND and OR."""
    if isinstance(node, (exp.And, exp.Or)):
        return _is_join_condition(node.left) and _is_join_condition(node.right)
    if isinstance(node, exp.Paren):
        return _is_join_condition(node.this)
    return isinstance(node, (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.Boolean))


def _subquery(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if isinstance(node.this, exp.Table):
        return _refused("a join in parentheses")
    if isinstance(node.parent, (exp.From, exp.Join, exp.In)) or node.find_ancestor(exp.Table) is not None:
        return None
    return _refused("a scalar subquery")


def _group(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if any(node.args.get(key) for key in ("rollup", "cube", "grouping_sets")):
        return _refused("ROLLUP, CUBE or GROUPING SETS")
    return None


def _operand_bases(node: exp.Expr, type_of: TypeOf) -> list[str | None]:
    kinds = [type_of(node.this), type_of(node.expression)]
    return [None if kind is None else base(kind) for kind in kinds]


def _division(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    bases = _operand_bases(node, type_of)
    if "decimal" in bases and not {"double", "float"} & set(bases):
        if (is_exact_quotient(node, type_of) and _has_cast(node, type_of)) or is_exact_average(node, type_of):
            return None
        return TrinoFinding(Outcome.OTHER_ROWS, "a quotient of decimals: another scale")
    if all(kind in INTEGERS for kind in bases):
        return TrinoFinding(Outcome.OTHER_ROWS, "a quotient of integers: integer division")
    if "double" not in bases and "float" not in bases:
        return TrinoFinding(Outcome.UNVERIFIED, "a quotient of operands of unknown types")
    if not _is_without_zero(node):
        return TrinoFinding(Outcome.OTHER_ROWS, "a quotient whose divisor may be 0: Infinity instead of NULL")
    return None


def is_exact_quotient(node: exp.Expr, type_of: TypeOf) -> bool:
    """Whether Trino's quotient of a decimal by an integer literal has the digits of Hive and Spark, and more.

    Trino takes the literal for an integer of ten digits. Rounded again, its quotient is that of Hive and Spark, since
    a quotient by a small number is not that close to the middle between two of theirs.
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
    """Whether a quotient is `CAST(CAST(sum(x) AS …) / count(x) AS …)`, an average of decimals.

    Trino rounds it to the digits of the average. Hive and Spark compute at least nine more and round again, which
    is the same: a quotient is that close to the middle between two averages only if it is one of 10^9 values.
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


def _is_dividend(node: exp.Expr, type_of: TypeOf) -> bool:
    """Whether a sum is the one of `is_exact_average`."""
    cast = node.parent
    return isinstance(cast, exp.Cast) and cast.parent is not None and is_exact_average(cast.parent, type_of)


def _has_cast(node: exp.Expr, type_of: TypeOf) -> bool:
    """Whether an expression is cast to the type that it has in Hive and Spark."""
    parent = node.parent
    return isinstance(parent, exp.Cast) and type_of(parent) == type_of(node)


def _is_constant(node: exp.Expr) -> bool:
    """Whether a divisor is a number other than 0."""
    while isinstance(node, (exp.Neg, exp.Paren, exp.Cast)):
        node = node.this
    return isinstance(node, exp.Literal) and not node.is_string and float(node.this) != 0


def _is_without_zero(node: exp.Expr) -> bool:
    """Whether a quotient has a divisor other than 0, or is NULL in all engines where the divisor is 0."""
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
    """Whether a quotient is the value of `CASE WHEN divisor <> 0 THEN …` or `> 0`."""
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
        return TrinoFinding(Outcome.OTHER_ROWS, "round() of a decimal: another scale")
    return TrinoFinding(Outcome.UNVERIFIED, f"{node.key}() of a decimal")


def _modulo(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if {"float", "double"} & set(_operand_bases(node, type_of)):
        return TrinoFinding(Outcome.OTHER_ROWS, "% of a DOUBLE or FLOAT: computed with decimals")
    return None if _is_constant(node.expression) else TrinoFinding(Outcome.MAY_FAIL, "% by a value that may be 0")


def _arithmetic(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    bases = _operand_bases(node, type_of)
    if "string" in bases:
        return TrinoFinding(Outcome.UNVERIFIED, "arithmetic of a string")
    if TIMES & set(bases):
        unit = node.expression.args.get("unit") if isinstance(node.expression, exp.Interval) else None
        units = ("DAY", "MONTH", "YEAR") if bases[0] == "date" else ("DAY", "MONTH", "YEAR", "HOUR", "MINUTE", "SECOND")
        is_read = unit is not None and unit.name.upper().rstrip("S") in units
        return None if is_read else TrinoFinding(Outcome.UNVERIFIED, "arithmetic of dates or timestamps")
    if "float" in bases:
        return TrinoFinding(Outcome.OTHER_ROWS, "arithmetic of FLOAT: another precision")
    if set(bases) <= {"tinyint", "smallint"}:
        return TrinoFinding(Outcome.MAY_FAIL, "arithmetic of TINYINT and SMALLINT, which overflows")
    if bases.count("decimal") < 2:
        return None
    scales = [(decimal(type_of(item) or "") or (38, 38))[1] for item in (node.this, node.expression)]
    result = decimal(type_of(node) or "")
    if result is not None and result[1] == (sum(scales) if isinstance(node, exp.Mul) else max(scales)):
        return None
    return TrinoFinding(Outcome.OTHER_ROWS, "arithmetic of decimals beyond 38 digits: another scale")


def _sum(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    kind = type_of(node.this)
    if kind is None:
        return TrinoFinding(Outcome.UNVERIFIED, "a sum or average of a value of unknown type")
    if isinstance(node, exp.Avg) and base(kind) in INTEGERS:
        return TrinoFinding(Outcome.OTHER_ROWS, "an average of integers: an integer")
    if base(kind) == "float":
        return TrinoFinding(Outcome.OTHER_ROWS, "a sum or average of FLOAT: another precision")
    if base(kind) == "decimal" and not (
        isinstance(node, exp.Sum) and (_has_cast(node, type_of) or _is_dividend(node, type_of))
    ):
        return TrinoFinding(Outcome.OTHER_ROWS, "a sum or average of decimals: another scale")
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
        return TrinoFinding(Outcome.OTHER_ROWS, "a cast to VARCHAR or CHAR: of any length")
    if isinstance(operand, exp.Literal):
        return _cast_of_literal(operand, target or "")
    if isinstance(operand, (exp.Null, exp.Count, exp.Unhex)) or (target == "int" and _is_digits(operand, type_of)):
        return None
    if is_exact_average(operand, type_of) or _is_dividend(operand, type_of) or _is_start_of_timestamp(node, type_of):
        return None
    if source is None or target is None:
        return TrinoFinding(Outcome.UNVERIFIED, "a cast of a value of unknown type")
    before, after = base(source), base(target)
    if source == target or (before, after) in _VERIFIED_CASTS or before == after != "decimal":
        return None
    if before in _WIDENING and after in _WIDENING and _WIDENING.index(before) < _WIDENING.index(after):
        return None
    if before in (*INTEGERS, "decimal", "float") and after == "double":
        return None
    if after == "string":
        return TrinoFinding(Outcome.OTHER_ROWS, f"a cast of {before} to string: another format")
    if before in ("string", "double", "float", "decimal", *INTEGERS):
        return TrinoFinding(Outcome.MAY_FAIL, f"a cast of {before} to {after}")
    return TrinoFinding(Outcome.UNVERIFIED, f"a cast of {before} to {after}")


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
    """Whether all engines cast a literal to each of some types with the same result."""
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
        return TrinoFinding(Outcome.OTHER_ROWS, f"a cast of {value} to {after}: another value")
    return TrinoFinding(Outcome.MAY_FAIL, f"a cast of {value} to {after}")


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
    """Whether a part of a timestamp's text is taken from its first 19 characters, which all engines write alike."""
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
    return _refused("date_add(), date_sub() and to_date() without a cast to DATE")


def _union(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    assert isinstance(node, exp.SetOperation)
    branches = [branch for branch in (node.this, node.expression) if isinstance(branch, exp.Select)]
    names = {tuple(name.lower() for name in branch.named_selects) for branch in (node.left, node.right)}
    types = {tuple(type_of(item.unalias()) for item in branch.expressions) for branch in branches}
    if len(names) > 1:
        reason = "a set operation whose branches name their columns differently"
        has_common_names = set.intersection(*map(set, names))
        return TrinoFinding(Outcome.OTHER_ROWS, reason) if has_common_names else _refused(reason)
    return None if len(types) == 1 else TrinoFinding(Outcome.UNVERIFIED, "a set operation of different types")


def _named(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    return None  # _UNKNOWN_FUNCTIONS has its name


def _size(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if isinstance(node.this, (exp.ArrayAgg, exp.ArrayUniqueAgg)):
        return None
    return TrinoFinding(Outcome.OTHER_ROWS, "size() of NULL: NULL instead of -1")


def _is(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    return _refused("IS TRUE or IS FALSE") if isinstance(node.expression, exp.Boolean) else None


def _unhex(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    is_text = isinstance(node.parent, exp.Cast) and isinstance(node.this, exp.Literal)
    return None if is_text else TrinoFinding(Outcome.UNVERIFIED, "unhex() without a cast to STRING")


def _count(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if isinstance(node.parent, exp.Window) and isinstance(node.this, exp.Star):
        return _refused("count(*) over a window; count(1) is read")
    if isinstance(node.this, (exp.Star, exp.Literal)) and isinstance(node.parent, _TYPED):
        return _refused("a cast of count(*)")
    values = [*(node.this.expressions if isinstance(node.this, exp.Distinct) else [node.this]), *node.expressions]
    return _refused("count() of several values") if len(values) > 1 else None


def _window(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if node.args.get("alias") or not (node.args.get("partition_by") or node.args.get("order")):
        return _refused("a window without PARTITION BY and ORDER BY, or with a name")
    if not isinstance(node.this, (exp.Sum, exp.Avg)):
        return None
    order = node.args.get("order")
    if order is None:
        return _refused(f"{node.this.key}() over a window without ORDER BY")
    if len(order.expressions) > 1 and node.args.get("spec") is None:
        return _refused(f"{node.this.key}() over a window with several keys in ORDER BY")
    return None


def _ordered(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    query = node.parent.parent if node.parent is not None else None
    if not isinstance(query, exp.Query) or isinstance(node.this, (exp.Column, exp.Literal)):
        return None
    return _refused("ORDER BY with an expression")


def _comparison(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    operands = child_expressions([node.args.get(key) for key in ("this", "expression", "low", "high")])
    operands += node.expressions
    kinds = {base(type_of(operand) or "") for operand in operands}
    columns = {base(type_of(operand) or "") for operand in operands if not isinstance(operand, exp.Literal)}
    times = kinds & TIMES
    if times and any(isinstance(operand, exp.Literal) and operand.is_string for operand in operands):
        if isinstance(node, (exp.EQ, exp.In)):
            return _refused("a date or timestamp that equals a string")
        if not all(_is_cast_alike(operand, times) for operand in operands if isinstance(operand, exp.Literal)):
            return TrinoFinding(Outcome.MAY_FAIL, "a comparison of a date or timestamp with another string")
    if _TEXTS & kinds and kinds & NUMBERS:
        if isinstance(node, exp.In):
            return _refused("a string in IN of a number")
        return TrinoFinding(Outcome.MAY_FAIL, "a comparison of a string and a number")
    if (_TEXTS & columns and kinds & TIMES) or ("boolean" in kinds and kinds & NUMBERS):
        return TrinoFinding(Outcome.UNVERIFIED, "a comparison of values of different types")
    return None


_TEXTS = frozenset({"string", "varchar", "char"})
_FORMATTED = frozenset({"float", "double", "decimal", "timestamp", "char"})
"""Types that Trino formats in another way when they become strings."""


def _string_function(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if base(type_of(node.this) or "") in _FORMATTED:
        return TrinoFinding(Outcome.OTHER_ROWS, "a number, timestamp or CHAR as a string: another format")
    return None


def _substring(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    is_of_date = isinstance(node.this, exp.Cast) and base(type_of(node.this.this) or "") in TIMES
    if isinstance(node.args.get("start"), exp.Neg) and not is_of_date:
        return TrinoFinding(Outcome.OTHER_ROWS, "substr() from the end of a shorter string: an empty string")
    return _string_function(node, type_of)


def _replace(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    searched = node.args.get("expression")
    if isinstance(searched, exp.Literal) and searched.name:
        return None
    return TrinoFinding(Outcome.OTHER_ROWS, "replace() of an empty string: inserted between all characters")


def _time_function(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    operands = child_expressions([node.this, node.args.get("expression")])
    for number, operand in enumerate(operands):
        while isinstance(operand, exp.TsOrDsToDate):
            operand = operand.this
        operands[number] = operand
    if all(base(type_of(operand) or "") in TIMES for operand in operands):
        is_read = isinstance(node, exp.DateDiff) or base(type_of(operands[0]) or "") == "timestamp"
        return None if is_read else _refused("hour() of a date")
    return TrinoFinding(Outcome.UNVERIFIED, f"{node.key}() of values that are no dates or timestamps")


def _text_value(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    """Report values that become strings, or are one of several types."""
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
        return TrinoFinding(Outcome.OTHER_ROWS, "a number, timestamp or CHAR as a string: another format")
    if not isinstance(node, (exp.Concat, exp.ConcatWs, exp.DPipe)) and {"string", "date"} <= kinds:
        return _refused("a value that is a date or a string")
    if kinds >= TIMES:
        return TrinoFinding(Outcome.OTHER_ROWS, "a value that is a date or a timestamp: a date")
    if isinstance(node, (exp.Greatest, exp.Least)):
        reason = "of several types" if len(kinds) > 1 else "of NULL: NULL instead of another value"
        return TrinoFinding(Outcome.OTHER_ROWS, f"{node.key}() {reason}")
    return None


_READ_FUNCTIONS = frozenset({"isnotnull", "isnull", "pmod"})


def _index(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    index = node.expressions[0] if len(node.expressions) == 1 else None
    if base(type_of(node.this) or "") == "map" or (isinstance(index, exp.Literal) and index.this.isdigit()):
        return None
    return TrinoFinding(Outcome.OTHER_ROWS, "an index that may be negative: an element from the end")


def _split(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    pattern = node.args.get("expression")
    if not isinstance(pattern, exp.Literal) or not re.fullmatch(r"[^\\.\[\](){}*+?^$|]+", pattern.name):
        return TrinoFinding(Outcome.OTHER_ROWS, "split() by a pattern: by the text of the pattern")
    return _string_function(node, type_of)


def _literal(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if node.is_string or "e" not in node.name.lower():
        return None
    return TrinoFinding(Outcome.OTHER_ROWS, "a number with an exponent: an integer or a decimal")


def _function(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if node.name.lower() == "pmod" and not _is_positive(node.expressions[-1]):
        return TrinoFinding(Outcome.OTHER_ROWS, "pmod() by a value that may be negative or 0")
    if node.name.lower() in _READ_FUNCTIONS | _UNKNOWN_FUNCTIONS:
        return None
    return TrinoFinding(Outcome.UNVERIFIED, f"the function {node.name}")


_DATE_PARTS = (exp.Year, exp.Month, exp.Day, exp.DayOfMonth, exp.DateDiff)

_RULES: dict[type, Callable[[exp.Expr, TypeOf], TrinoFinding | None]] = {
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
    exp.Exp: _always(Outcome.OTHER_ROWS, "exp(): the last digit differs"),
    exp.Is: _is,
    exp.Log: _always(Outcome.OTHER_ROWS, "a logarithm of 0: -Infinity instead of NULL"),
    exp.Unhex: _unhex,
    exp.Ordered: _ordered,
    exp.Window: _window,
    **dict.fromkeys(
        (
            *(
                exp.AddMonths,
                exp.ApproxQuantile,
                exp.ArgMax,
                exp.Corr,
                exp.Cube,
                exp.Day,
                exp.DayOfMonth,
                exp.DayOfWeek,
            ),
            *(
                exp.Initcap,
                exp.IntDiv,
                exp.LastDay,
                exp.MD5,
                exp.Minute,
                exp.Month,
                exp.MonthsBetween,
                exp.Ntile,
                exp.ParseUrl,
            ),
            *(exp.Quantile, exp.Quarter, exp.RegexpExtract, exp.Repeat, exp.Rollup, exp.SHA2, exp.Second),
            *(exp.ArraySort, exp.Nvl2, exp.StrToUnix, exp.SubstringIndex, exp.TimestampTrunc, exp.WeekOfYear, exp.Year),
        ),
        _named,
    ),
    exp.Avg: _sum,
    exp.BitwiseAnd: _always(Outcome.REFUSED, "&"),
    exp.BitwiseNot: _always(Outcome.REFUSED, "~"),
    exp.BitwiseOr: _always(Outcome.REFUSED, "|"),
    exp.BitwiseXor: _always(Outcome.REFUSED, "^"),
    exp.Cast: _cast,
    exp.Ceil: _rounding,
    exp.Div: _division,
    exp.Except: _always(Outcome.REFUSED, "EXCEPT"),
    exp.Floor: _rounding,
    exp.Group: _group,
    exp.Intersect: _always(Outcome.REFUSED, "INTERSECT"),
    exp.Join: _join,
    exp.Ln: _always(Outcome.OTHER_ROWS, "ln(): the last digit differs"),
    exp.Mod: _modulo,
    exp.Mul: _arithmetic,
    exp.NullSafeEQ: _always(Outcome.REFUSED, "<=>"),
    exp.Posexplode: _always(Outcome.OTHER_ROWS, "posexplode: it counts from 1"),
    exp.RegexpSplit: _split,
    exp.Replace: _replace,
    exp.Substring: _substring,
    exp.Bracket: _index,
    exp.Literal: _literal,
    exp.Round: _rounding,
    exp.Sub: _arithmetic,
    exp.Subquery: _subquery,
    exp.Sum: _sum,
    exp.TimeToStr: _always(Outcome.OTHER_ROWS, "date_format: another format"),
    exp.TryCast: _cast,
    exp.TsOrDsAdd: _date,
    exp.TsOrDsToDate: _date,
    exp.Union: _union,
}
"""What a construct does, by its node; None if it is read as Hive and Spark read it."""

_VERIFIED = frozenset(
    {
        *(exp.Abs, exp.Alias, exp.And, exp.Array, exp.ArrayContains, exp.Boolean, exp.CTE, exp.Chr),
        *(exp.Column, exp.CumeDist, exp.CurrentDate, exp.CurrentTimestamp, exp.DataType, exp.DataTypeParam),
        *(exp.DenseRank, exp.Distinct, exp.Exists, exp.Explode, exp.FirstValue, exp.From, exp.Having, exp.Identifier),
        *(exp.Interval, exp.Lag, exp.LastValue, exp.Lateral, exp.Lead, exp.Limit, exp.Max, exp.Min),
        *(exp.Neg, exp.Not, exp.Null, exp.Or, exp.Order, exp.Paren, exp.PercentRank, exp.Pow, exp.PropertyEQ),
        *(exp.Rank, exp.RowNumber, exp.Select, exp.Sign, exp.Sqrt, exp.Star, exp.Stddev, exp.StddevPop),
        *(exp.StddevSamp, exp.Struct, exp.Table, exp.TableAlias, exp.Translate, exp.UnixToStr, exp.Var, exp.VarMap),
        *(exp.Variance, exp.VariancePop, exp.Where, exp.WindowSpec, exp.With),
    }
)
"""The nodes of the measured texts that returned equal rows (tests/unit/sql/fixtures: trino_483_texts.jsonl,
analyst_texts.jsonl), without those that have a rule."""
