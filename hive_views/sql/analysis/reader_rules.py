"""What Hive and Spark answer to each other's texts, as measured on Hive 4.1.0 and Spark 4.1.4.

Both tables have patterns of signatures (`hive_views.sql.analysis.constructs`). `RULES` has the constructs for which a
reader returns other rows, fails or refuses; `EQUAL` those for which both engines returned equal rows, with ANSI mode
of Spark on and off. A construct in neither was not measured, or not for enough values. The measured texts are in
tests/unit/sql/fixtures/hive_spark_texts.jsonl.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from hive_views.sql.analysis.outcomes import Outcome
from hive_views.sql.text.dialects import Dialect

HIVE, SPARK = Dialect.HIVE, Dialect.SPARK

MEASURED = "Hive 4.1.0, Spark 4.1.4"


@dataclass(frozen=True)
class ReaderRule:
    """What a reader does with a construct of another engine's text."""

    signature: str
    """Pattern of the whole signature."""
    author: Dialect | None
    """The engine that the text was written for; None for both, so that the reader may be the author's engine."""
    reader: Dialect
    """The engine that reads it."""
    outcome: Outcome
    """What happens."""
    reason: str
    """The construct and what differs, as shown to users."""
    ansi: bool = False
    """Whether it holds only where Spark reads the text in ANSI mode."""
    if_not_measured: bool = False
    """Whether the table of answers decides where it has the construct."""
    version: str = MEASURED
    """The versions of the engines that were measured."""


_INTEGER = "(?:tinyint|smallint|int|bigint)"
_SHORT = "(?:tinyint|smallint|int)"
_EXACT = f"(?:{_INTEGER}|decimal)"
_NUMBER = f"(?:{_INTEGER}|decimal|double|float)"
_TEXT = "(?:string|varchar)"
_ANY_TEXT = "(?:string|varchar|char)"
_TEXTS = r"(?:,?(?:string|varchar\(\d+\)))+"
_DAY = "(?:date|timestamp)"
_SIMPLE = "(?:tinyint|smallint|int|bigint|decimal|string|varchar|boolean|date|timestamp)"
"""Types whose values are compared, grouped and returned alike. FLOAT and DOUBLE are not: 0.0, -0.0 and NaN."""


def _either(one: str, other: str) -> str:
    """Return the pattern of two operands in either order."""
    return rf"\((?:{one},{other}|{other},{one})\)"


_COMPARED = "(?:=|<|<=>|in)"


def _compared(one: str, other: str) -> str:
    """Return the pattern of comparisons of two types."""
    operand = rf"(?:{one}|{other})"
    between = rf"between(?: constants)?\((?=.*\b{one}\b)(?=.*\b{other}\b){operand},{operand},{operand}\)"
    return rf"{_COMPARED}{_either(one, other)}|{between}"


_PLAIN_PATTERN = r"(?:[A-Za-z0-9 -]|\[[A-Za-z-]+\])+"
"""A regular expression that matches no empty text and that both engines read alike."""

_ARITHMETIC = r"(?:[-+*/%]|div)(?: by (?:constant|value))?"

_ODD_DATES = "texts such as '2024', '2024-02', '24-02-29' and '2024-02-29abc'"
_ODD_TIMES = "texts such as '2024', '2024-02-29 12:00' and '2024-02-29 12:00:00+01:00' differ"
"""Texts for which the result differs; texts that are no date, and those with `T` or blanks around them, do not."""

_OTHER, _REFUSED, _MAY_FAIL, _UNVERIFIED, _SOME_VALUES = (
    Outcome.OTHER_ROWS,
    Outcome.REFUSED,
    Outcome.MAY_FAIL,
    Outcome.UNVERIFIED,
    Outcome.SOME_VALUES,
)

_BY_ANYONE = (
    ReaderRule("hint", HIVE, HIVE, _REFUSED, "a hint: Hive cannot read it in a view"),
    ReaderRule(r"avg\(bigint(?: as double)?\)", HIVE, HIVE, _UNVERIFIED, "avg of BIGINT: its sum overflows in Hive"),
    ReaderRule("catalog .*", None, HIVE, _REFUSED, "a name of a table with its catalog"),
    ReaderRule("catalog (?!spark_catalog).*", None, SPARK, _REFUSED, "a name of a table with its catalog"),
)
"""What an engine does whoever wrote the text."""

_IN_BOTH = (
    # -- The order of NULL
    ("limit; order: default nulls(?:; ties)?", _OTHER, "ORDER BY with LIMIT, without NULLS FIRST or LAST: NULL comes "
     "last in Hive and first in Spark, with DESC reversed"),
    (r"over\(.*; order: default nulls.*\)", _OTHER, "a window with ORDER BY without NULLS FIRST or LAST: NULL comes "
     "last in Hive and first in Spark, with DESC reversed"),
    ("limit", _UNVERIFIED, "LIMIT without ORDER BY"),
    ("limit; order: explicit nulls; ties", _UNVERIFIED, "LIMIT, if rows are equal in the order"),
    # -- Comparisons
    (_compared(_TEXT, "boolean"), _OTHER, "a boolean compared with a text: NULL in Hive"),
    (_compared(_TEXT, _DAY), _OTHER, "a date or timestamp compared with a text: texts such as '2024-02' differ"),
    (_compared(_TEXT, _NUMBER), _OTHER, "a number compared with a text: Hive compares them as DOUBLE"),
    (_compared("float", "(?:decimal|double)"), _OTHER, "FLOAT compared with another type: as FLOAT or as DOUBLE"),
    (rf"in\({_INTEGER},(?:decimal|double|float)\)", _OTHER, "an integer in a list of other numbers: NULL IN (…) is "
     "false in Hive"),
    (r"in query(?: not| value)\(.*\)", _OTHER, "IN (subquery) as a value, or NOT IN (subquery): NULL IN (…) is false "
     "in Hive"),
    # -- Arithmetic
    ("(?:arithmetic|sum|avg) beyond 38 digits", _OTHER, "a DECIMAL that needs more than 38 digits"),
    ("decimal literal with trailing zeros", _OTHER, "a decimal literal with zeros at its end: Hive removes them"),
    # -- Casts
    (rf"cast\({_DAY} as {_NUMBER}\)|cast\({_NUMBER} as {_DAY}\)", _REFUSED, "a cast between a number and a date or "
     "timestamp (hive.strict.timestamp.conversion)"),
    (rf"cast\({_ANY_TEXT} as (?:double|float)\)", _OTHER, "a cast of a text to DOUBLE or FLOAT: the texts nan and inf "
     "are NULL in Hive"),
    (rf"cast\(boolean as {_ANY_TEXT}\)", _OTHER, "a cast of a boolean to a text: TRUE in Hive, true in Spark"),
    (rf"cast\({_TEXT} as boolean\)", _OTHER, "a cast of a text to BOOLEAN: Hive takes most texts for true"),
    (r"cast\((?:array|map|struct).* as .*\)", _OTHER, "a cast of an array, map or struct"),
    (r"cast\(decimal.* as (?:int|bigint)\)", _SOME_VALUES, "a cast of a DECIMAL to an integer, only of numbers beyond "
     "its range: NULL in Hive"),
    (r"cast\(decimal.* as (?:tinyint|smallint)\)", _OTHER, "a cast of a DECIMAL to a short integer: NULL in Hive if it "
     "does not fit"),
    (rf"cast\({_TEXT} as date\)", _SOME_VALUES, f"a cast of a text to DATE, only of {_ODD_DATES}"),
    (rf"cast\({_TEXT} as timestamp\)", _OTHER, f"a cast of a text to TIMESTAMP: {_ODD_TIMES}"),
    (rf"cast\(string literal as {_DAY}\)", _OTHER, "a date or timestamp that does not exist, or is not written "
     "as yyyy-MM-dd or yyyy-MM-dd HH:mm:ss with up to six digits of a second"),
    (r"cast\(decimal with small digits as string\)|(?:concat|\|\|)\(.*small digits.*\)", _OTHER, "a DECIMAL with more "
     "than six digits behind its point in a text: Spark writes 1E-7"),
    # -- Precedence
    (r"\|\| with a sum without parentheses", _OTHER, "|| with + or -, without parentheses: + and - are computed "
     "first in Hive, from left to right with || in Spark"),
    ("comparison of a comparison without parentheses", _UNVERIFIED, "a comparison of a comparison, without "
     "parentheses: the precedence of LIKE, IN, BETWEEN and < differs"),
    # -- Choices and set operations
    (r"(?:greatest|least)\(.*\)", _OTHER, "greatest or least: NULL in Hive if an argument is NULL"),
    (r"(?:union|except|intersect).*\(different: .*\)", _OTHER, "a set operation of columns of different types: Hive "
     "does not widen a DECIMAL for integers"),
    # -- Functions
    (r"(?:stddev|std|variance)\(.*\)", _OTHER, "stddev or variance: of the population in Hive, of the sample in "
     "Spark"),
    (r"percentile_approx\(.*\)", _OTHER, "percentile_approx: interpolated in Hive"),
    (r"hash\(.*\)|soundex\(.*\)|ascii\(.*\)|add_months\(.*\)|str_to_map\(.*\)", _OTHER,
     "hash, soundex, ascii, add_months or str_to_map"),
    (r"concat_ws\(.*array.*\)", _OTHER, "concat_ws of an array: NULL becomes the text null in Hive"),
    (rf"(?:substr|substring)\({_TEXT},-\d+(?:,.*)?\)", _OTHER, "substr from the end: shorter texts differ"),
    (r"rlike pattern\(''\)", _OTHER, "RLIKE with an empty pattern: false in Hive"),
    (r"pmod\((?!\w+,n\)).*\)", _OTHER, "pmod with a negative divisor"),
    (r"split\((?:.*,)?''(?:,.*)?\)", _OTHER, "split at an empty text: a further empty text in Hive"),
    (r"[lr]pad\((?:.*,)?''(?:,.*)?\)", _OTHER, "lpad or rpad with an empty text: NULL in Hive"),
    (r"(?:length|char_length|character_length)\(char\)", _OTHER, "the length of CHAR: without blanks at the end in "
     "Hive"),
    (r"trunc\((?:.*'(?:WEEK|week)'.*|week from .*)\)", _OTHER, "trunc to a week: NULL in Hive"),
    (rf"(?:year|month|day|dayofmonth|dayofweek|weekofyear|quarter|to_date|datediff|last_day|date_add|date_sub|next_day)"
     rf"\(.*\b{_TEXT}\b.*\)|trunc\(.*\b{_TEXT}\b.*\)|date_format\({_TEXT},'fields of dates'\)", _SOME_VALUES,
     f"a function of dates of a text, only of {_ODD_DATES}"),
    (rf"(?:hour|minute|second|months_between|from_utc_timestamp|to_utc_timestamp)\(.*\b{_TEXT}\b.*\)|"
     rf"unix_timestamp\({_TEXT}\)|date_format\({_TEXT},(?!'fields of dates').*\)", _OTHER,
     f"a function of times of a text: {_ODD_TIMES}"),
    (r"(?:avg|sum)\((?:double|float)\)", _SOME_VALUES, "sum or avg of DOUBLE or FLOAT: the last digits depend on the "
     "order of the rows, in each engine"),
    (r"(?:min|max)\((?:double|float)\)", _SOME_VALUES, "min or max of DOUBLE or FLOAT, only with NaN: vectorized "
     "execution of Hive"),
    (r"avg\(bigint(?: as double)?\)", _UNVERIFIED, "avg of BIGINT: its sum overflows in Hive"),
    (_compared("char", _TEXT), _OTHER, "CHAR compared with a text: Spark and Hive compare blanks at the end "
     "differently"),
    (_compared("(?:double|float)", f"(?:{_NUMBER}|number of FLOAT)"), _SOME_VALUES, "DOUBLE or FLOAT compared with a "
     "number, only for NaN and -0.0: vectorized execution and joins of Hive"),
    (r"round\(decimal,.*\)", _UNVERIFIED, "round of a DECIMAL: the scale differs with more digits than it has"),
    (r"unix_timestamp\((?:date|timestamp)(?:,.*)?\)", _SOME_VALUES, "unix_timestamp, only of fractions of seconds "
     "before 1970"),
    (r"extract\(second from timestamp\)", _OTHER, "fractions of seconds"),
    (rf"-\({_DAY},{_DAY}\)", _OTHER, "the difference of two dates: an interval, and other days before 1582"),
    (r"date_format\(.*'.*[Eu].*'\)", _SOME_VALUES, "the day of the week, only of dates before 1582-10-15"),
    (r"unhex\(.*\)", _OTHER, "unhex of a text that is no hexadecimal number"),
    (r"(?:union|intersect|except) distinct\((?:double|float)\)", _UNVERIFIED, "different rows of DOUBLE or FLOAT: NaN "
     "and -0.0"),
    (rf"[-+]\({_DAY},interval month\)|\+\(interval month,{_DAY}\)", _SOME_VALUES, "months or years added to a date, "
     "only of dates before 1582-10-15"),
    (rf"weekofyear\({_DAY}\)", _SOME_VALUES, "weekofyear, only of dates before 1582-10-15"),
    (r"column\(map\)", _OTHER, "a map from Parquet files: NULL becomes an empty map in vectorized execution of Hive"),
    (r"column\(array of texts\)", _SOME_VALUES, "an array of texts from Parquet files, only of one empty text: an "
     "empty array in vectorized execution of Hive"),
    (rf"abs\({_INTEGER}\)", _SOME_VALUES, "abs, only of the smallest integer of the type"),
    (rf"cast\({_TEXT} as {_INTEGER}\)", _SOME_VALUES, "a cast of a text to an integer, only for numbers with blanks "
     "around them: NULL in vectorized execution of Hive"),
    (r"bround\((?:double|float)(?:,.*)?\)", _SOME_VALUES, "bround, only of NaN: NULL in vectorized execution of Hive"),
    ("quotient by a possible 0", _SOME_VALUES, "a quotient, only for a divisor of 0, if another view or query compares "
     "the column with NULL: Hive's optimizer does not take it for NULL"),
    ("quotient by a possible 0 in a subquery", _UNVERIFIED, "a quotient by a possible 0 that the query around it, or "
     "an aggregate, may compare with NULL"),
    (r"cast\(\w+ literal as (?!string).*\)", _UNVERIFIED, "a cast of a number that is no value of the type"),
    (r"group by\((?:double|float)\)", _SOME_VALUES, "DOUBLE or FLOAT in GROUP BY or DISTINCT, only for -0.0"),
    ("grouping sets", _SOME_VALUES, "ROLLUP, CUBE or GROUPING SETS, only if a filter or a view below gives a key one "
     "value in all rows: Hive returns it in place of NULL"),
    ("grouping sets; constant", _OTHER, "ROLLUP, CUBE or GROUPING SETS with a key that may have one value in all rows, "
     "by a filter or in a subquery: Hive returns it in place of NULL"),
    ("a virtual column", _REFUSED, "a virtual column, which only one of the engines has"),
    ("condition over both sides of a lateral view", _OTHER, "a condition on columns of a LATERAL VIEW and of what is "
     "in front of it: Hive may ignore it (hive.optimize.ppd)"),
    ("one table, read with a filter and without", _OTHER, "a LEFT JOIN, FULL JOIN or set operation of a table with a "
     "filtered subquery of the same table: Hive's MapReduce filters both (hive.optimize.index.filter)"),
    ("tablesample", _OTHER, "TABLESAMPLE: each engine samples other rows"),
)  # fmt: skip

_IN_BOTH_IF_NOT_MEASURED = (
    (r"[-+]\(date,interval (?:day|hour|minute|second|week|\?)\)|\+\(interval .*,date\)", _OTHER,
     "days added to or subtracted from a date: a timestamp in Hive"),
    (rf"{_ARITHMETIC}{_either('float', _NUMBER)}", _OTHER, "arithmetic of FLOAT: FLOAT or DOUBLE"),
    (rf"{_ARITHMETIC}(?:\({_ANY_TEXT},.*\)|\(.*,{_ANY_TEXT}\))", _OTHER, "arithmetic of a text: DOUBLE in Hive"),
    (r"cast\(.* as (?:char|varchar)\)|cast\(char as .*\)", _OTHER, "a cast to CHAR or VARCHAR, or of CHAR: Spark "
     "neither cuts texts nor removes blanks"),
    (r"(?:array_contains|array_position|array_remove|array_append|array_join|map_keys|map_values)\(.*\)", _OTHER,
     "a function of an array or map: NULL differs"),
    (r"(?:concat|\|\|)\(.*boolean.*\)", _OTHER, "a boolean in a text: TRUE in Hive, true in Spark"),
    (r"size\(.*\)", _OTHER, "size(NULL): -1 in Hive, NULL in Spark's ANSI mode"),
    (r"sqrt\(.*\)|sign\((?:double|float)\)", _OTHER, "sqrt of a negative number or sign of NaN"),
    (r"(?:ln|log|log2|log10|exp|cbrt|tan|sin|cos|power|pow)\(.*\)", _OTHER, "a function of DOUBLE: NULL, NaN or the "
     "last digit"),
)  # fmt: skip

_IN_HIVE = (
    (rf"(?:case|coalesce|nvl|ifnull)\(different: (?!{_TEXTS}\)).*(?:string|varchar|char|float).*\)", _OTHER,
     "a choice between a text or FLOAT and another type: the type differs"),
    (_compared(rf"(?:{_TEXT}|'integer'|'fraction')", "(?:bigint|decimal)"), _REFUSED, "BIGINT or DECIMAL compared with "
     "a text (hive.strict.checks.type.safety)"),
    (_compared("bigint", "(?:double|float)"), _REFUSED, "BIGINT compared with DOUBLE or FLOAT "
     "(hive.strict.checks.type.safety)"),
    (r"quotient in a condition|is null\(quotient\)|coalesce of a quotient", _OTHER, "a quotient in IS NULL, coalesce, "
     "CASE, IF or a filter: Hive's optimizer does not take it for NULL where the divisor is 0"),
    ("div by value.*", _MAY_FAIL, "DIV by 0"),
    ("derived table without alias", _REFUSED, "a derived table without alias"),
    ("subquery alias with column names", _REFUSED, "column names in the alias of a derived table"),
    ("a name of a type that only Spark has", _REFUSED, "the types LONG, SHORT and BYTE"),
    ("hint", _REFUSED, "a hint"),
    (r"sort_array with order", _REFUSED, "sort_array with an order"),
    (r"nvl2\(.*\)|date_trunc\(.*\)", _REFUSED, "nvl2 or date_trunc"),
    ("values|pivot|unpivot|table with pivots", _REFUSED, "VALUES, PIVOT or UNPIVOT"),
)  # fmt: skip

_IN_HIVE_IF_NOT_MEASURED = (
    (r"to_date\(.*,.*\)", _REFUSED, "to_date with a format"),
    (r"split\(.*,.*,.*\)", _REFUSED, "split with a limit"),
    (r"decode\(.*,.*,.*\)", _REFUSED, "decode of more than two arguments"),
    (r"(?:floor|ceil|ceiling)\(.*,.*\)", _REFUSED, "floor or ceil with a number of digits"),
    (r"replace\(.*\)", _MAY_FAIL, "replace with two arguments, or of an empty text"),
    (r"(?:concat|\|\|)\(.*array.*\)", _REFUSED, "concat of arrays"),
    (rf"(?:length|char_length|character_length)\((?:{_NUMBER}|boolean|date|timestamp)\)", _REFUSED, "length of a value "
     "that is no text"),
    (rf"concat_ws\(.*\b{_NUMBER}\b.*\)", _REFUSED, "concat_ws of numbers"),
    (r"percentile\((?:double|float|decimal|string|varchar).*\)", _REFUSED, "percentile of values that are no "
     "integers"),
    (r"from_unixtime\(.*\)", _MAY_FAIL, "from_unixtime of a value that is no integer"),
)  # fmt: skip

_IN_ANSI_MODE = (
    (r"(?:rounded )?(?:/|%|div) by value.*", "a divisor of 0", "NULL"),
    (rf"[-+*]\({_INTEGER},{_INTEGER}\)|negative\({_INTEGER}\)|abs\({_INTEGER}\)|sum\(bigint\)",
     "integers that overflow", None),
    (rf"cast\({_TEXT} as (?:{_NUMBER}|{_DAY})\)", "a cast of a text that is no value of the type", "NULL"),
    (rf"cast\({_NUMBER} as (?:tinyint|smallint|int)\)|cast\((?:double|float) as bigint\)|"
     r"cast\((?!decimal as decimal with fewer digits).* as decimal.*\)",
     "a cast of a number that the type cannot hold", None),
    (r"\[\]\(array.*\)", "an element beyond the end of an array", "NULL"),
)  # fmt: skip
"""Constructs that fail in Spark's ANSI mode, with the cause, and the value that they have without it, if it is one."""


def _ansi_reason(cause: str, value: str | None, place: str = "") -> str:
    return f"{cause}: {f'{value}{place}, ' if value else ''}an error in Spark's ANSI mode"


ANSI_ERRORS = tuple((signature, _ansi_reason(cause, value)) for signature, cause, value in _IN_ANSI_MODE)
"""Patterns of constructs that only Spark's ANSI mode fails on, with the reasons."""

_IN_SPARK_IF_NOT_MEASURED = (
    (rf"(?:case|coalesce|nvl|ifnull)\(different: (?!{_TEXTS}\)).*(?:string|varchar|char|float).*\)", _OTHER,
     "a choice between a text or FLOAT and another type: the type differs"),
)  # fmt: skip

_IN_SPARK = (
    (r"over\(\w+ distinct.*\)", _REFUSED, "DISTINCT in a function with OVER"),
    ("hint", _UNVERIFIED, "a hint"),
    ("qualify", _REFUSED, "QUALIFY: filter the window function in an outer query"),
    (
        "windows",
        _MAY_FAIL,
        "a WINDOW clause, which Iceberg's catalog cannot read (plain Spark and a ViewSession can): "
        "write the window after OVER",
    ),
    ("tablesample with on|tablesample of bytes", _REFUSED, "TABLESAMPLE of buckets of a column, or of bytes"),
)


def _of(
    author: Dialect, reader: Dialect, *entries: Iterable[tuple[str, Outcome, str]], if_not_measured: bool = False
) -> Iterator[ReaderRule]:
    for signature, outcome, reason in chain(*entries):
        yield ReaderRule(signature, author, reader, outcome, reason, if_not_measured=if_not_measured)


RULES: tuple[ReaderRule, ...] = (
    *_BY_ANYONE,
    *_of(SPARK, HIVE, _IN_HIVE),
    *_of(SPARK, HIVE, _IN_HIVE_IF_NOT_MEASURED, if_not_measured=True),
    *_of(SPARK, HIVE, _IN_BOTH),
    *_of(SPARK, HIVE, _IN_BOTH_IF_NOT_MEASURED, if_not_measured=True),
    *(
        ReaderRule(signature, HIVE, SPARK, _MAY_FAIL, _ansi_reason(cause, value, " in Hive"), ansi=True)
        for signature, cause, value in _IN_ANSI_MODE
    ),
    *_of(HIVE, SPARK, _IN_SPARK, _IN_BOTH),
    *_of(HIVE, SPARK, _IN_SPARK_IF_NOT_MEASURED, _IN_BOTH_IF_NOT_MEASURED, if_not_measured=True),
)
"""The first rule whose pattern fits counts."""

EQUAL: tuple[str, ...] = (
    # -- Clauses
    "(?:inner |cross |left |right |full |left outer |right outer |full outer )?join",
    "(?:left )?semi join",
    "exists",
    rf"in query\((?:{_EXACT},{_EXACT}|{_TEXT},{_TEXT}|date,date|timestamp,timestamp)\)",
    rf"group by\({_SIMPLE}\)",
    rf"union (?:all|distinct)\({_SIMPLE}\)",
    r"lateral view (?:outer )?(?:explode|posexplode)",
    r"(?:explode|posexplode)\((?:array|map).*\)",
    "scalar subquery of an aggregate",
    r"column\((?:char|map|array of texts)\)|field",
    r"limit; order: explicit nulls",
    # -- Conditions
    r"and\(boolean,boolean\)|not\(boolean\)|is true\(boolean\)",
    r"(?:is null|isnull|isnotnull)\(.*\)",
    rf"{_COMPARED}\({_EXACT},{_EXACT}\)",
    "quotient by a possible 0.*",
    rf"{_COMPARED}\({_TEXT},{_TEXT}\)",
    rf"{_COMPARED}\((?:date,date|timestamp,timestamp|boolean,boolean)\)",
    rf"between constants\((?:{_EXACT},{_EXACT},{_EXACT}|{_TEXT},{_TEXT},{_TEXT})\)",
    r"between constants\((?:date,date,date|timestamp,timestamp,timestamp)\)",
    rf"r?like\({_TEXT},{_TEXT}\)",
    r"like pattern\('.+'\)",
    rf"rlike pattern\('\^?{_PLAIN_PATTERN}'\)",
    # -- Numbers
    rf"[-+*]\((?:{_EXACT}|double),(?:{_EXACT}|double)\)",
    rf"negative\({_NUMBER}\)|abs\((?:decimal|double)\)",
    rf"/ by constant\((?:double|{_INTEGER}),(?:double|{_INTEGER})\)|% by constant\({_INTEGER},{_INTEGER}\)",
    rf"(?:floor|ceil|ceiling)\({_EXACT}\)|b?round\(decimal\) to fewer digits",
    # -- Casts
    "cast to its own type",
    rf"cast\(literal as (?:{_NUMBER}|{_DAY}|string)\)|cast\(part of a date as (?:int|string)\)",
    rf"cast\((?:{_EXACT}|{_DAY}|varchar) as string\)",
    r"cast\(tinyint as (?:smallint|int|bigint|double)\)|cast\(smallint as (?:int|bigint|double)\)",
    r"cast\((?:int|bigint) as (?:bigint|double)\)",
    r"cast\(timestamp as date\)|cast\(date as timestamp\)",
    # -- Choices
    rf"(?:case|coalesce|nvl|nullif)\((?:{_SIMPLE}|double)\)",
    rf"(?:case|coalesce|nvl)\(different: (?:,?(?:decimal\([\d,]+\)|{_INTEGER}|double))+\)",
    rf"(?:case|coalesce|nvl)\(different: {_TEXTS}\)",
    r"\[\]\(map,(?:string|int)\)",
    # -- Aggregates
    rf"count\((?:distinct )?(?:\*|{_SIMPLE})\)|count\((?:char|double|float|array|map|struct)\)",
    rf"sum\({_EXACT}\)|(?:min|max)\({_SIMPLE}\)|avg\({_SHORT}(?: as double)?\)|avg\(decimal\)",
    r"over\((?:count|sum|min|max|avg)\)",
    # -- Texts
    rf"(?:upper|lower|length|trim|ltrim|rtrim|reverse|char_length)\({_TEXT}\)",
    rf"(?:substr|substring)\({_TEXT},[1-9]\d*(?:,\d+)?\)",
    rf"(?:concat|\|\|)\((?:,?(?:{_TEXT}|{_EXACT}|date))+\)",
    rf"instr\({_TEXT},{_TEXT}\)|[-+] of a length\(int,int\)|(?:substr|substring)\({_TEXT},1,int\)",
    rf"regexp_replace\({_TEXT},'(?:{_PLAIN_PATTERN}|\({_PLAIN_PATTERN}\))+','[\w $-]*'\)",
    # -- Dates
    rf"(?:year|month|day|dayofmonth|quarter|to_date|date|last_day)\({_DAY}\)",
    r"(?:hour|minute|second)\(timestamp\)",
    rf"date_(?:add|sub)\({_DAY},-?\d+(?: \* -1)?\)",
    rf"datediff\({_DAY},{_DAY}\)|extract\((?:year|month) from {_DAY}\)",
    rf"date_format\({_DAY},'(?:yyyy|yyyy-MM|yyyy-MM-dd|yyyy-MM-dd HH:mm:ss|HH)'\)",
    rf"trunc\((?:mm|month|year|yyyy) from {_DAY}\)",
    rf"trunc\((?:{_DAY},)?'(?:MM|MONTH|YEAR|YYYY)'(?:,{_DAY})?\)",
)
"""Equal rows in both engines."""
