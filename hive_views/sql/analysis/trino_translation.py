"""What Trino's Hive connector does with a view text, as measured on Trino 483 (docs/trino.md).

The connector translates the expanded text with Coral. Some constructs are refused, some return other rows without an
error. A construct that was not measured counts as unverified: the table of verified constructs decides, not a list of
exceptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hive_views.sql.parsing.lexer import Text
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.resolver.resolver import Resolution, resolve
from hive_views.sql.resolver.scopes import Schemas
from hive_views.sql.types.hive_types import INTEGERS, base


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


@dataclass(frozen=True)
class TrinoFinding:
    """A construct of a view text that Trino's Hive connector does not read as Hive and Spark do, or may not."""

    outcome: Outcome
    """What happens."""
    construct: str
    """The construct, for users."""


TypeOf = Callable[[exp.Expr], str | None]


def trino_findings(sql: str, schemas: Schemas, *, database: str) -> tuple[TrinoFinding, ...]:
    """Examine an expanded text; no findings mean that Trino returns the rows of Hive and Spark.

    Args:
        sql: The text in the row, in the dialect `hive`.
        schemas: The tables and views, with the types that Trino sees.
        database: The current database of unqualified names.

    Raises:
        SqlError: If the text cannot be parsed or resolved.
    """
    resolution = resolve(parse_query(sql, "hive"), schemas, database)
    findings = [*_query_findings(resolution, schemas, database), *_text_findings(resolution.text)]
    for node in resolution.tree.walk():
        rule = _RULES.get(type(node))
        finding = rule(node, resolution.context.type_of) if rule is not None else None
        if finding is not None:
            findings.append(finding)
        elif rule is None and type(node) not in _VERIFIED:
            findings.append(TrinoFinding(Outcome.UNVERIFIED, type(node).key.replace("_", " ")))
    return tuple(
        sorted(dict.fromkeys(findings), key=lambda finding: (list(Outcome).index(finding.outcome), finding.construct))
    )


def _query_findings(resolution: Resolution, schemas: Schemas, database: str) -> Iterator[TrinoFinding]:
    if isinstance(resolution.tree, exp.SetOperation):
        yield _refused("a set operation at the top of the text")
    for table in resolution.tree.find_all(exp.Table):
        schema = schemas.table(table.db.lower() or database, table.name.lower())
        if schema is not None and any("with local time zone" in kind for _, kind in schema.columns):
            yield _refused(f"a timestamp with time zone in {table.name}, unless legacy-translation is on")


def _text_findings(text: Text) -> Iterator[TrinoFinding]:
    previous = None
    for token in text.tokens:
        if token.token_type is TokenType.STRING:
            raw = text.sql[token.start : token.end + 1]
            if not raw.isascii() and any(ord(character) > 255 for character in raw):
                yield _refused("a string with characters beyond Latin-1")
            if "\\" in raw:
                yield TrinoFinding(Outcome.OTHER_ROWS, "a backslash in a string")
            if previous is TokenType.STRING:
                yield _refused("adjacent strings")
            if previous is TokenType.TIMESTAMP:
                yield _refused("TIMESTAMP '…'; CAST('…' AS TIMESTAMP) is read")
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
    if "double" in bases or "float" in bases:
        return None
    if "decimal" in bases:
        return TrinoFinding(Outcome.OTHER_ROWS, "a quotient of decimals: another scale")
    if all(kind in INTEGERS for kind in bases):
        return TrinoFinding(Outcome.OTHER_ROWS, "a quotient of integers: integer division")
    return TrinoFinding(Outcome.UNVERIFIED, "a quotient of operands of unknown types")


def _arithmetic(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    if _operand_bases(node, type_of).count("decimal") == 2:
        return TrinoFinding(Outcome.OTHER_ROWS, "arithmetic of decimals: another scale")
    return None


def _sum(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    kind = type_of(node.this)
    if kind is None:
        return TrinoFinding(Outcome.UNVERIFIED, "a sum or average of a value of unknown type")
    if base(kind) == "decimal":
        return TrinoFinding(Outcome.OTHER_ROWS, "a sum or average of decimals: another scale")
    return None


_VERIFIED_CASTS = frozenset({("boolean", "string"), ("boolean", "int"), ("date", "date"), ("void", "int")})
_WIDENING = ("tinyint", "smallint", "int", "bigint", "string")


def _cast(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    operand = node.this
    source = type_of(operand)
    target = type_of(node)
    if isinstance(operand, (exp.Literal, exp.Null)) or source is None or target is None:
        return None if isinstance(operand, (exp.Literal, exp.Null)) else _unknown_cast()
    before, after = base(source), base(target)
    if (before, after) in _VERIFIED_CASTS or before == after != "decimal":
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


def _unknown_cast() -> TrinoFinding:
    return TrinoFinding(Outcome.UNVERIFIED, "a cast of a value of unknown type")


def _function(node: exp.Expr, type_of: TypeOf) -> TrinoFinding | None:
    return TrinoFinding(Outcome.UNVERIFIED, f"the function {node.name}")


_RULES: dict[type, Callable[[exp.Expr, TypeOf], TrinoFinding | None]] = {
    exp.Add: _arithmetic,
    exp.Anonymous: _function,
    exp.Avg: _sum,
    exp.BitwiseAnd: _always(Outcome.REFUSED, "bitwise operators"),
    exp.BitwiseNot: _always(Outcome.REFUSED, "bitwise operators"),
    exp.BitwiseOr: _always(Outcome.REFUSED, "bitwise operators"),
    exp.BitwiseXor: _always(Outcome.REFUSED, "bitwise operators"),
    exp.Cast: _cast,
    exp.Day: _always(Outcome.REFUSED, "a part of a date"),
    exp.DayOfMonth: _always(Outcome.REFUSED, "a part of a date"),
    exp.Div: _division,
    exp.Except: _always(Outcome.REFUSED, "EXCEPT"),
    exp.Group: _group,
    exp.Initcap: _always(Outcome.REFUSED, "initcap"),
    exp.Intersect: _always(Outcome.REFUSED, "INTERSECT"),
    exp.Join: _join,
    exp.Month: _always(Outcome.REFUSED, "a part of a date"),
    exp.Mul: _arithmetic,
    exp.NullSafeEQ: _always(Outcome.REFUSED, "<=>"),
    exp.Posexplode: _always(Outcome.OTHER_ROWS, "posexplode: it counts from 1"),
    exp.RegexpExtract: _always(Outcome.REFUSED, "regexp_extract"),
    exp.RegexpReplace: _always(Outcome.REFUSED, "regexp_replace"),
    exp.StrToUnix: _always(Outcome.REFUSED, "unix_timestamp"),
    exp.Sub: _arithmetic,
    exp.Subquery: _subquery,
    exp.Sum: _sum,
    exp.TimeToStr: _always(Outcome.OTHER_ROWS, "date_format: another format"),
    exp.TryCast: _cast,
    exp.TsOrDsAdd: _always(Outcome.REFUSED, "date_add and date_sub"),
    exp.TsOrDsToDate: _always(Outcome.REFUSED, "to_date and parts of a date"),
    exp.Year: _always(Outcome.REFUSED, "a part of a date"),
}
"""What a construct does, by its node; None if it is read as Hive and Spark read it."""

_VERIFIED = frozenset(
    {
        *(exp.Abs, exp.Alias, exp.And, exp.ArrayContains, exp.ArraySize, exp.Between, exp.Boolean, exp.Bracket),
        *(exp.CTE, exp.Case, exp.Ceil, exp.Coalesce, exp.Column, exp.Concat, exp.ConcatWs, exp.Count),
        *(exp.CurrentDate, exp.CurrentTimestamp, exp.DPipe, exp.DataType, exp.DataTypeParam, exp.DenseRank),
        *(exp.Distinct, exp.Dot, exp.EQ, exp.Exists, exp.Explode, exp.Floor, exp.From, exp.GT, exp.GTE),
        *(exp.Greatest, exp.Having, exp.Identifier, exp.If, exp.In, exp.Interval, exp.Is, exp.LT, exp.LTE, exp.Lag),
        *(exp.Lateral, exp.Lead, exp.Least, exp.Length, exp.Like, exp.Limit, exp.Literal, exp.Ln, exp.Lower, exp.Max),
        *(exp.Min, exp.Mod, exp.NEQ, exp.Neg, exp.Not, exp.Null, exp.Nullif, exp.Or, exp.Order, exp.Ordered),
        *(exp.Paren, exp.Pow, exp.Rank, exp.RegexpLike, exp.RegexpSplit, exp.Round, exp.RowNumber, exp.Select),
        *(exp.Sqrt, exp.Star, exp.Stddev, exp.Substring, exp.Table, exp.TableAlias, exp.Trim, exp.Union),
        *(exp.UnixToStr, exp.Upper, exp.Var, exp.Where, exp.Window, exp.WindowSpec, exp.With),
    }
)
"""The other nodes of the texts that returned equal rows."""
