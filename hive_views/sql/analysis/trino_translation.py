"""What Trino's Hive connector does with a view text, as measured on Trino 483 (docs/trino.md).

The connector translates the expanded text with Coral. Some constructs are refused, some return other rows without an
error. A construct that was not measured counts as unverified: the table of verified constructs decides, not a list of
exceptions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.parsing.lexer import Text
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.parsing.syntax_tree import comparison_key, start_offsets
from hive_views.sql.resolver.resolver import Resolution, resolve
from hive_views.sql.resolver.scopes import Schemas
from hive_views.sql.types.hive_types import INTEGERS, base, decimal


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
    located = [*_query_findings(resolution, schemas, database), *_text_findings(resolution.text)]
    for node in resolution.tree.walk():
        rule = _RULES.get(type(node))
        finding = rule(node, resolution.context.type_of) if rule is not None else None
        if rule is None and type(node) not in _VERIFIED:
            finding = TrinoFinding(Outcome.UNVERIFIED, type(node).key.replace("_", " "))
        if finding is not None:
            located.append((finding, min(start_offsets(node), default=0)))
    severity = list(Outcome).index
    located.sort(key=lambda item: (severity(item[0].outcome), item[0].construct, item[1]))
    positions = ((finding, *resolution.text.position(start)) for finding, start in located)
    return tuple(dict.fromkeys(replace(finding, line=line, column=column) for finding, line, column in positions))


_TYPED = (exp.Cast, exp.TryCast, exp.Substring, exp.Concat)
"""Functions whose type Coral derives from the query; it fails to do so where it has grouped the rows."""
_UNTYPED = (exp.AggFunc, exp.Lower, exp.Upper, exp.Hour, exp.Coalesce, exp.If, exp.Case, exp.And, exp.Or)
"""Functions that it was seen to read there."""


def _under_grouping(tree: exp.Expr) -> Iterator[exp.Func]:
    """Yield the functions of columns that are computed before rows are grouped by GROUP BY, DISTINCT or IN."""
    for select in tree.find_all(exp.Select):
        is_operand = isinstance(select.parent, exp.Subquery) and isinstance(select.parent.parent, exp.In)
        if not (select.args.get("group") or select.args.get("distinct") or is_operand):
            continue
        clauses = [*select.expressions, *(select.args.get(key) for key in ("group", "having", "order"))]
        for clause in filter(None, clauses):
            for function in clause.find_all(exp.Func):
                is_computed = function.find(exp.Column) is not None and function.find(exp.AggFunc) is None
                if is_computed and not isinstance(function, _UNTYPED):
                    yield function
        for source in select.find_all(exp.Select):
            if source is not select and source.find_ancestor(exp.Where, exp.Select) is select:
                yield from (item for item in source.find_all(*_TYPED) if item.find(exp.Column) is not None)


def _grouped(node: exp.Func) -> TrinoFinding:
    outcome = Outcome.REFUSED if isinstance(node, _TYPED) else Outcome.UNVERIFIED
    return TrinoFinding(outcome, f"{node.key.replace('_', ' ')} of a column in a block with GROUP BY, DISTINCT or IN")


_Located = tuple[TrinoFinding, int]
"""A finding and where it begins in the text, in characters."""


def _query_findings(resolution: Resolution, schemas: Schemas, database: str) -> Iterator[_Located]:
    if isinstance(resolution.tree, exp.SetOperation):
        yield _refused("a set operation at the top of the text"), 0
    for node in _under_grouping(resolution.tree):
        yield _grouped(node), min(start_offsets(node), default=0)
    for table in resolution.tree.find_all(exp.Table):
        if table.catalog:
            yield _refused("a name of a table with its catalog"), min(start_offsets(table), default=0)
        schema = schemas.table(table.db.lower() or database, table.name.lower())
        if schema is not None and any("with local time zone" in kind for _, kind in schema.columns):
            finding = _refused(f"a timestamp with time zone in {table.name}, unless legacy-translation is on")
            yield finding, min(start_offsets(table), default=0)


_ESCAPED_QUOTE = re.compile(r"\\['\"]")


def _text_findings(text: Text) -> Iterator[_Located]:
    previous = None
    for token in text.tokens:
        if token.token_type is TokenType.STRING:
            raw = text.sql[token.start : token.end + 1]
            if not raw.isascii() and any(ord(character) > 255 for character in raw):
                yield _refused("a string with characters beyond Latin-1"), token.start
            if "\\" in _ESCAPED_QUOTE.sub("", raw):
                yield TrinoFinding(Outcome.OTHER_ROWS, "a backslash in a string"), token.start
            if previous is TokenType.STRING:
                yield _refused("adjacent strings"), token.start
            if previous is TokenType.TIMESTAMP:
                yield _refused("TIMESTAMP '…'; CAST('…' AS TIMESTAMP) is read"), token.start
        previous = token.token_type


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
    return None if node.args.get("on") else _refused("a join without ON; JOIN … ON true is read")


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
    if not _is_constant(node.expression):
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


AVERAGED_DIGITS = 12
"""The most digits of a decimal whose average can be written as a quotient."""


def is_exact_average(node: exp.Expr, type_of: TypeOf) -> bool:
    """Whether a quotient is `CAST(CAST(sum(x) AS …) / count(x) AS …)`, an average of decimals.

    Trino rounds it to the digits of the average. Hive and Spark compute at least twelve more and round again, which
    is the same: a quotient is that close to the middle between two averages only if it is one of 10^12 values.
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


def _rounding(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if base(type_of(node.this) or "") != "decimal":
        return None
    if isinstance(node, exp.Round):
        return TrinoFinding(Outcome.OTHER_ROWS, "round() of a decimal: another scale")
    return TrinoFinding(Outcome.UNVERIFIED, f"{node.key}() of a decimal")


def _modulo(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    return None if _is_constant(node.expression) else TrinoFinding(Outcome.MAY_FAIL, "% by a value that may be 0")


def _arithmetic(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if _operand_bases(node, type_of).count("decimal") < 2:
        return None
    precision, _ = decimal(type_of(node) or "") or (38, 0)
    if precision < 38:
        return None
    return TrinoFinding(Outcome.OTHER_ROWS, "arithmetic of decimals beyond 38 digits: another scale")


def _sum(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    kind = type_of(node.this)
    if kind is None:
        return TrinoFinding(Outcome.UNVERIFIED, "a sum or average of a value of unknown type")
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
    if isinstance(operand, (exp.Literal, exp.Null, exp.Count)) or _is_date_part(operand, type_of):
        return None
    if is_exact_average(operand, type_of) or _is_dividend(operand, type_of):
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


def _is_date_part(node: exp.Expr, type_of: TypeOf) -> bool:
    """Whether an expression is a part of the text of a date."""
    text = node.this if isinstance(node, exp.Substring) else None
    return isinstance(text, exp.Cast) and type_of(text) == "string" and type_of(text.this) == "date"


def _date(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
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
        return _refused("a set operation whose branches name their columns differently")
    return None if len(types) == 1 else TrinoFinding(Outcome.UNVERIFIED, "a set operation of different types")


def _function(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    return TrinoFinding(Outcome.UNVERIFIED, f"the function {node.name}")


_DATE_PARTS = (exp.Year, exp.Month, exp.Day, exp.DayOfMonth, exp.DateDiff)

_RULES: dict[type, Callable[[exp.Expr, TypeOf], TrinoFinding | None]] = {
    exp.Add: _arithmetic,
    exp.Anonymous: _function,
    exp.Avg: _sum,
    exp.BitwiseAnd: _always(Outcome.REFUSED, "&"),
    exp.BitwiseNot: _always(Outcome.REFUSED, "~"),
    exp.BitwiseOr: _always(Outcome.REFUSED, "|"),
    exp.BitwiseXor: _always(Outcome.REFUSED, "^"),
    exp.Cast: _cast,
    exp.Ceil: _rounding,
    exp.Day: _always(Outcome.REFUSED, "day()"),
    exp.DayOfMonth: _always(Outcome.REFUSED, "dayofmonth()"),
    exp.Div: _division,
    exp.Except: _always(Outcome.REFUSED, "EXCEPT"),
    exp.Floor: _rounding,
    exp.Group: _group,
    exp.Initcap: _always(Outcome.REFUSED, "initcap"),
    exp.Intersect: _always(Outcome.REFUSED, "INTERSECT"),
    exp.Join: _join,
    exp.Ln: _always(Outcome.OTHER_ROWS, "ln(): the last digit differs"),
    exp.Mod: _modulo,
    exp.Month: _always(Outcome.REFUSED, "month()"),
    exp.Mul: _arithmetic,
    exp.NullSafeEQ: _always(Outcome.REFUSED, "<=>"),
    exp.Posexplode: _always(Outcome.OTHER_ROWS, "posexplode: it counts from 1"),
    exp.RegexpExtract: _always(Outcome.REFUSED, "regexp_extract"),
    exp.Round: _rounding,
    exp.StrToUnix: _always(Outcome.REFUSED, "unix_timestamp"),
    exp.Sub: _arithmetic,
    exp.Subquery: _subquery,
    exp.Sum: _sum,
    exp.TimeToStr: _always(Outcome.OTHER_ROWS, "date_format: another format"),
    exp.TryCast: _cast,
    exp.TsOrDsAdd: _date,
    exp.TsOrDsToDate: _date,
    exp.Union: _union,
    exp.Year: _always(Outcome.REFUSED, "year()"),
}
"""What a construct does, by its node; None if it is read as Hive and Spark read it."""

_VERIFIED = frozenset(
    {
        *(exp.Abs, exp.Alias, exp.And, exp.ArrayContains, exp.ArraySize, exp.Between, exp.Boolean),
        *(exp.Bracket, exp.CTE, exp.Case, exp.Chr, exp.Coalesce, exp.Column, exp.Concat),
        *(exp.ConcatWs, exp.Count, exp.CurrentDate, exp.CurrentTimestamp, exp.DPipe, exp.DataType),
        *(exp.DataTypeParam, exp.DateDiff, exp.DenseRank, exp.Distinct, exp.EQ, exp.Exists, exp.Explode),
        *(exp.From, exp.GT, exp.GTE, exp.Greatest, exp.Having, exp.Hour, exp.Identifier, exp.If),
        *(exp.In, exp.Interval, exp.Is, exp.LT, exp.LTE, exp.Lag, exp.Lateral, exp.Lead, exp.Least),
        *(exp.Length, exp.Like, exp.Limit, exp.Literal, exp.Lower, exp.Max, exp.Min, exp.NEQ, exp.Neg),
        *(exp.Not, exp.Null, exp.Nullif, exp.Or, exp.Order, exp.Ordered, exp.Pad, exp.Paren, exp.Pow),
        *(exp.Rank, exp.RegexpLike, exp.RegexpReplace, exp.RegexpSplit, exp.Reverse),
        *(exp.RowNumber, exp.Select, exp.Sqrt, exp.Star, exp.Stddev, exp.StrPosition, exp.Substring),
        *(exp.Table, exp.TableAlias, exp.Trim, exp.UnixToStr, exp.Upper, exp.Var, exp.Where, exp.Window),
        *(exp.WindowSpec, exp.With),
    }
)
"""The nodes of the measured texts that returned equal rows (tests/unit/sql/fixtures/trino_483_texts.jsonl), without
those that have a rule."""
