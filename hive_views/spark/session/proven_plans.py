"""The operators and expressions of Spark's plans for which the rewriting of queries is proven to keep the rows.

A query or a definition with any other one is not used. These are deliberately absent, since the rows above or below
them change when stored rows are read in place of tables:

- nondeterministic functions, and those of the file or the row's position (`rand`, `uuid`, `input_file_name`,
  `monotonically_increasing_id`, Iceberg's `_file` and `_pos`): an equal call has other values;
- functions of the time, the user or the session: a stored value is that of the refresh;
- `session_window`: Spark merges the rows of a session below the aggregate, so that a group is not a function of a row;
- `window`, generators, GROUPING SETS: a row belongs to several groups;
- `first`, `collect_list`, `mode`, `percentile`, `max_by`, `row_number`, `lag` and so on: they depend on the order of
  the rows, or cannot be computed from groups;
- TABLESAMPLE and OFFSET, user-defined functions, lambda functions, and functions that only raise errors.

The class names are those of Spark 4.1.4; a test calls its built-in functions in each position of a query. A class that
another version names differently is not used.
"""

from __future__ import annotations

from typing import Any

from hive_views.spark.jvm import scala_list

RELATION = "DataSourceV2Relation"
"""The class of the leaves that read Iceberg tables."""

OPERATORS_OF_DEFINITIONS = frozenset(
    {RELATION, "Project", "Filter", "Join", "Aggregate", "Window", "Union", "Intersect", "Except"}
    | {"LocalRelation", "OneRowRelation"}
)
"""The operators of definitions; their rows do not depend on the order of their input."""

_OPERATORS_OF_QUERIES = OPERATORS_OF_DEFINITIONS | {
    *("Sort", "GlobalLimit", "LocalLimit", "Distinct", "SubqueryAlias", "View"),
    *("ResolvedHint", "Repartition", "RepartitionByExpression", "RebalancePartitions"),
    *("WithCTE", "CTERelationDef", "CTERelationRef"),
}
"""The operators of queries. A limit without a total order returns any rows, with stored rows as without."""

_STRUCTURE = (
    "Alias AttributeReference Exists InSubquery KnownNotNull ListQuery Literal OuterReference ScalarSubquery SortOrder"
)
_WINDOWS = (
    "CumeDist CurrentRow$ DenseRank PercentRank Rank SpecifiedWindowFrame UnboundedFollowing$ UnboundedPreceding$ "
    "UnspecifiedFrame$ WindowExpression WindowSpecDefinition"
)
"""Functions whose values are equal for rows that are equal in the order of the window."""
_AGGREGATES = (
    "AggregateExpression Average BitAndAgg BitOrAgg BitXorAgg BoolAnd BoolOr Count CountIf HyperLogLogPlusPlus Max Min "
    "StddevPop StddevSamp Sum VariancePop VarianceSamp"
)
"""Aggregates of a set of rows; which of them can be computed from stored aggregates is decided in `plan_blocks`."""
_SCALARS = """
Abs Acos Acosh Add AddMonths And ArrayAppend ArrayCompact ArrayContains ArrayDistinct ArrayExcept ArrayInsert
ArrayIntersect ArrayJoin ArrayMax ArrayMin ArrayPosition ArrayPrepend ArrayRemove ArrayRepeat ArraySize
ArrayUnion ArraysOverlap ArraysZip Ascii Asin Asinh Atan Atan2 Atanh BRound Base64 Between Bin BitLength
BitwiseAnd BitwiseCount BitwiseGet BitwiseNot BitwiseOr BitwiseXor CaseWhen Cast Cbrt Ceil CheckOverflow Chr
Coalesce Collate Collation Concat ConcatWs Contains Conv ConvertTimezone Cos Cosh Cot Crc32 CreateArray
CreateMap CreateNamedStruct Csc DateAdd DateAddInterval DateAddYMInterval DateDiff DateFormatClass
DateFromUnixDate DatePart DateSub DatetimeSub DayName DayOfMonth DayOfWeek DayOfYear DecimalAddNoOverflowCheck
Decode Divide ElementAt Elt Encode EndsWith EqualNull EqualNullSafe EqualTo EulerNumber Exp Expm1 Extract
Factorial FindInSet Flatten Floor FormatNumber FormatString FromUTCTimestamp FromUnixTime Get GetArrayItem
GetArrayStructFields GetMapValue GetStructField GetTimestamp GreaterThan GreaterThanOrEqual Greatest Hex Hour
Hypot ILike If In InSet InitCap IntegralDivide IsNaN IsNotNull IsNull IsValidUTF8 LastDay Least Left Length
LessThan LessThanOrEqual Levenshtein Like LikeAll LikeAny Log Log10 Log1p Log2 Logarithm Lower Luhncheck
MakeDTInterval MakeDate MakeInterval MakeTime MakeTimestamp MakeTimestampLTZ MakeTimestampNTZ MakeValidUTF8
MakeYMInterval MapConcat MapContainsKey MapEntries MapFromArrays MapFromEntries MapKeys MapValues Mask Md5
MicrosToTimestamp MillisToTimestamp Minute Month MonthName MonthsBetween Multiply Murmur3Hash NaNvl NextDay Not
NotLikeAll NotLikeAny NullIf NullIfZero Nvl Nvl2 OctetLength Or Overlay ParseToDate ParseToTimestamp ParseUrl Pi
Pmod Pow PromotePrecision Quarter Quote RLike RegExpCount RegExpExtract RegExpExtractAll RegExpInStr
RegExpReplace RegExpSubStr Remainder Reverse Right Rint Round RoundCeil RoundFloor Sec Second SecondWithFraction
SecondsToTimestamp Sentences Sequence Sha1 Sha2 ShiftLeft ShiftRight ShiftRightUnsigned Signum Sin Sinh Size
Slice SortArray SoundEx SplitPart Sqrt StartsWith StringInstr StringLPad StringLocate StringRPad StringRepeat
StringReplace StringSpace StringSplit StringToMap StringTranslate StringTrim StringTrimBoth StringTrimLeft
StringTrimRight Substring SubstringIndex Subtract SubtractDates SubtractTimestamps Tan Tanh TimeDiff TimeTrunc
TimestampAdd TimestampAddInterval TimestampAddYMInterval TimestampDiff ToBinary ToCharacter ToDegrees ToNumber
ToRadians ToTime ToUTCTimestamp ToUnixTimestamp TruncDate TruncTimestamp TryAdd TryDivide TryElementAt
TryMakeInterval TryMod TryMultiply TryParseUrl TrySubtract TryToBinary TryToNumber TryUrlDecode TryValidateUTF8
UnBase64 UnaryMinus UnaryPositive Unhex UnixDate UnixMicros UnixMillis UnixSeconds Upper UrlDecode UrlEncode
ValidateUTF8 WeekDay WeekOfYear WidthBucket XxHash64 Year ZeroIfNull
"""
"""Functions and operators whose value depends on their arguments and the compared settings alone."""

_EXPRESSIONS = frozenset(f"{_STRUCTURE} {_WINDOWS} {_AGGREGATES} {_SCALARS}".split())
_METADATA_COLUMN = "__metadata_col"
"""The key in the metadata of an attribute that Spark sets for metadata columns such as Iceberg's `_file`."""


def class_name(node: Any) -> str:
    """Return the class of an operator or expression, without its package."""
    return str(node.getClass().getName()).rpartition(".")[2]


def unproven_part(plan: Any, operators: frozenset[str] = _OPERATORS_OF_QUERIES) -> str | None:
    """Return the class of an operator or expression in a plan or its subqueries that is not proven; None for none."""
    kind = class_name(plan)
    if kind not in operators:
        return kind
    if kind == RELATION:
        return next((str(item.name()) for item in scala_list(plan.output()) if _is_metadata_column(item)), None)
    for expression in scala_list(plan.expressions()):
        part = _unproven_expression(expression)
        if part is not None:
            return part
    for child in scala_list(plan.children()):
        part = unproven_part(child, operators)
        if part is not None:
            return part
    return None


def _unproven_expression(expression: Any) -> str | None:
    kind = class_name(expression)
    if kind not in _EXPRESSIONS:
        return kind
    if kind in ("ScalarSubquery", "Exists", "ListQuery"):
        part = unproven_part(expression.plan())
        if part is not None:
            return part
    for child in scala_list(expression.children()):
        part = _unproven_expression(child)
        if part is not None:
            return part
    return None


def _is_metadata_column(attribute: Any) -> bool:
    return bool(attribute.metadata().contains(_METADATA_COLUMN))
