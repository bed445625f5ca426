"""What Hive and Spark answer to each other's texts, as measured on Hive 4.1.0 and Spark 4.1.4 (docs/readers.md).

Both tables have patterns of signatures (`hive_views.sql.analysis.constructs`). `RULES` has the constructs for which a
reader returns other rows, fails or refuses; `EQUAL` those for which both engines returned equal rows, with ANSI mode
of Spark on and off. A construct in neither was not measured, or only for some of its values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hive_views.sql.analysis.outcomes import Outcome

HIVE, SPARK = "hive", "spark"

MEASURED = "Hive 4.1.0, Spark 4.1.4"


@dataclass(frozen=True)
class ReaderRule:
    """What a reader does with a construct of another engine's text."""

    signature: str
    """Pattern of the whole signature."""
    author: str | None
    """The engine that the text was written for; None for both, so that the reader may be the author's engine."""
    reader: str
    """The engine that reads it."""
    outcome: Outcome
    """What happens."""
    reason: str
    """The construct and what differs, as shown to users."""
    version: str = MEASURED
    """The versions that were asked."""


_INTEGER = "(?:tinyint|smallint|int|bigint)"
_SHORT = "(?:tinyint|smallint|int)"
_EXACT = f"(?:{_INTEGER}|decimal)"
_NUMBER = f"(?:{_INTEGER}|decimal|double|float)"
_TEXT = "(?:string|varchar)"
_SIMPLE = "(?:tinyint|smallint|int|bigint|decimal|string|varchar|boolean|date|timestamp)"
"""Types whose values are compared, grouped and returned alike."""

_OTHER, _REFUSED, _MAY_FAIL = Outcome.OTHER_ROWS, Outcome.REFUSED, Outcome.MAY_FAIL


def _both(signature: str, reason: str, outcome: Outcome = _OTHER) -> Iterator[ReaderRule]:
    """Yield the rules of a construct for which both directions are alike."""
    yield ReaderRule(signature, SPARK, HIVE, outcome, reason)
    yield ReaderRule(signature, HIVE, SPARK, outcome, reason)


def _in_hive(signature: str, reason: str, outcome: Outcome = _OTHER) -> ReaderRule:
    """Return the rule for a text of Spark in Hive."""
    return ReaderRule(signature, SPARK, HIVE, outcome, reason)


def _in_spark(signature: str, reason: str, outcome: Outcome = _OTHER) -> ReaderRule:
    """Return the rule for a text of Hive in Spark."""
    return ReaderRule(signature, HIVE, SPARK, outcome, reason)


def _with_text(other: str) -> str:
    """Return the pattern of two operands of which one is a text."""
    return rf"\((?:{_TEXT},{other}|{other},{_TEXT})\)"


def _with(one: str, other: str) -> str:
    """Return the pattern of two operands in either order."""
    return rf"\((?:{one},{other}|{other},{one})\)"


_COMPARISON = "(?:=|<|<=>|between|in)"

RULES: tuple[ReaderRule, ...] = (
    # -- Refused by Hive, whoever wrote it
    ReaderRule("hint", HIVE, HIVE, _REFUSED, "a hint in a view"),
    ReaderRule(
        r"avg\(bigint(?: as double)?\)",
        HIVE,
        HIVE,
        Outcome.UNVERIFIED,
        "avg of BIGINT: the sum overflows in Hive, and the row's text is avg(CAST(… AS DOUBLE))",
    ),
    # -- The order of NULL
    *_both("limit; order: default nulls", "ORDER BY … LIMIT without NULLS FIRST or LAST: Hive sorts NULL last in "
           "ascending and first in descending order, Spark reversed"),
    *_both(r"over\(.*; order: default nulls.*\)", "a window with ORDER BY without NULLS FIRST or LAST: Hive sorts NULL "
           "last in ascending and first in descending order, Spark reversed"),
    # -- Comparisons
    *_both(rf"in\({_INTEGER},(?:decimal|double|float)\)", "integers in a list of decimals: NULL IN (…) is FALSE in Hive"),
    _in_hive(rf"{_COMPARISON}{_with_text('(?:bigint|decimal)')}", "a comparison of BIGINT or DECIMAL with a text "
             "(hive.strict.checks.type.safety)", _REFUSED),
    _in_hive(rf"{_COMPARISON}{_with('bigint', '(?:double|float)')}", "a comparison of BIGINT with DOUBLE or FLOAT "
             "(hive.strict.checks.type.safety)", _REFUSED),
    *_both(rf"{_COMPARISON}{_with_text(_NUMBER)}", "a comparison of a text with a number: Hive compares as DOUBLE, "
           "Spark casts the text to the number's type"),
    *_both(rf"{_COMPARISON}{_with_text('boolean')}", "a comparison of a text with a boolean: NULL or refused in Hive, "
           "a cast in Spark"),
    *_both(rf"{_COMPARISON}{_with_text('(?:date|timestamp)')}", "a comparison of a text with a date or timestamp: "
           "Hive and Spark read texts such as '2024-02' differently"),
    *_both(rf"(?:between|in)\(.*\bchar\b.*\)|{_COMPARISON}{_with('varchar', 'char')}", "a comparison of CHAR: Spark "
           "compares the blanks at its end"),
    *_both(rf"{_COMPARISON}{_with('float', '(?:decimal|double)')}", "FLOAT compared with DECIMAL or DOUBLE: compared "
           "as FLOAT or as DOUBLE"),
    _in_hive(r"quotient in a condition|is null\(quotient\)|coalesce of a quotient", "a quotient that IS NULL, "
             "coalesce, CASE, IF or a filter examines: Hive's optimizer takes it for a value though the divisor is 0"),
    _in_spark(r"(?:/|%) by value\(.*\)", "a quotient whose divisor may be 0: NULL in Hive, an error in Spark's ANSI "
              "mode", _MAY_FAIL),
    _in_spark("div by value.*", "DIV by 0: an error in Spark's ANSI mode", _MAY_FAIL),
    _in_hive("div by value.*", "DIV by 0, which Hive refuses", _MAY_FAIL),
    *_both(rf"[-+*%](?: by (?:constant|value))?{_with('float', '(?:tinyint|smallint|int|bigint|decimal|double)')}",
           "arithmetic of FLOAT with another type: FLOAT in Hive, DOUBLE in Spark"),
    *_both(r"[+\-*/%](?: by (?:constant|value))?\((?:string|varchar|char),.*\)|[+\-*/%](?: by (?:constant|value))?"
           r"\(.*,(?:string|varchar|char)\)", "arithmetic of a text: DOUBLE in Hive; in Spark the type depends on the "
           "other operand, and an invalid text is an error", _OTHER),
    _in_spark(rf"[+*-]\({_INTEGER},{_INTEGER}\)|negative\({_INTEGER}\)|abs\({_INTEGER}\)|sum\(bigint\)",
              "integers that overflow: wrapped in Hive, an error in Spark's ANSI mode", _MAY_FAIL),
    # -- Casts
    *_both(r"cast\((?:date|timestamp) as (?:tinyint|smallint|int|bigint|double|float|decimal)\)|"
           rf"cast\({_NUMBER} as (?:timestamp|date)\)", "a cast between a number and a date or timestamp "
           "(hive.strict.timestamp.conversion)", _REFUSED),
    *_both(r"cast\(boolean as (?:string|varchar|char)\)", "a cast of a boolean to a text: TRUE in Hive, true in Spark"),
    *_both(rf"cast\({_TEXT} as boolean\)", "a cast of a text to BOOLEAN: Hive takes every text except a few for true"),
    *_both(r"cast\(.* as (?:char|varchar)\)|cast\(char as .*\)", "a cast to CHAR or VARCHAR, or of CHAR: Spark does "
           "not cut the text, and keeps the blanks of CHAR"),
    *_both(r"cast\((?:array|map|struct)(?:<.*)? as .*\)", "a cast of an array, map or struct"),
    _in_spark(rf"cast\({_TEXT} as {_NUMBER}\)|cast\({_TEXT} as (?:date|timestamp)\)|"
              r"cast\((?:bigint|int|smallint|decimal|double|float) as (?:tinyint|smallint|int)\)|"
              r"cast\((?:decimal|double|float) as bigint\)|cast\(.* as decimal(?:\(.*\))?\)",
              "a cast of a value that the type cannot hold: NULL or other digits in Hive, an error in Spark's ANSI mode",
              _MAY_FAIL),
    *_both(r"cast\(decimal(?:\(.*\))? as (?:tinyint|smallint|int|bigint)\)", "a cast of a DECIMAL that the type cannot "
           "hold: NULL in Hive, other digits or an error in Spark"),
    _in_hive(rf"cast\({_TEXT} as (?:date|timestamp)\)", "a cast of a text to a date or timestamp: Hive and Spark read "
             "texts such as '2024-02' differently"),
    # -- Choices
    *_both(r"(?:greatest|least)\(.*\)", "greatest or least: NULL in Hive if an argument is NULL, ignored in Spark"),
    *_both(r"(?:union all|union distinct|except.*|intersect.*)\(different: .*\)", "a set operation of columns of "
           "different types: Hive does not widen a DECIMAL for integers"),
    *_both(r"(?:case|coalesce|nvl|ifnull)\(different: .*(?:string|varchar|char|float).*\)", "a choice between a text "
           "or FLOAT and another type: the type of the result differs"),
    # -- Functions
    *_both(r"over\((?:stddev|variance).*\)|(?:stddev|std|variance)\(.*\)", "stddev or variance: of the population in "
           "Hive, of the sample in Spark"),
    *_both(r"percentile_approx\(.*\)", "percentile_approx: interpolated in Hive"),
    *_both(r"(?:hash|soundex|initcap|ascii|array_contains|array_position|array_remove|array_append|array_join|map_keys|"
           r"map_values|str_to_map|add_months)\(.*\)", "a function whose result differs: hash, soundex, initcap, ascii, "
           "add_months, str_to_map, or one of arrays and maps with NULL"),
    *_both(r"concat_ws\(.*array.*\)", "concat_ws of an array with NULL: the text null in Hive"),
    *_both(r"(?:concat|\|\|)\(.*boolean.*\)", "a boolean in a text: TRUE in Hive, true in Spark"),
    *_both(r"pmod\(.*\)", "pmod with a negative divisor"),
    *_both(r"size\(.*\)", "size(NULL): -1 in Hive, NULL in Spark's ANSI mode"),
    *_both(r"sqrt\(.*\)|sign\((?:double|float)\)", "sqrt of a negative number or sign of NaN: NULL or a number in "
           "Hive, NaN in Spark"),
    *_both(r"(?:ln|log|log2|log10|exp|cbrt|tan|sin|cos|power|pow)\(.*\)", "a function of DOUBLE: NULL, NaN or the last "
           "digit differ"),
    *_both(r"round\(decimal,.*\)", "round of a DECIMAL to more digits than it has: the scale differs"),
    *_both(r"split\(.*,''\)", "split at an empty text: Hive returns an empty text at the end"),
    *_both(r"[lr]pad\(.*,''\)", "lpad or rpad with an empty text: NULL in Hive"),
    *_both(r"(?:length|char_length|character_length)\(char\)", "the length of CHAR: without the blanks at its end in "
           "Hive"),
    *_both(r"trunc\(.*,'(?:WEEK|week)'\)", "trunc to a week: NULL in Hive"),
    *_both(r"unix_timestamp\(.*\)|extract\(second from timestamp\)", "the fraction of a second: cut in one of them"),
    *_both(r"[+-]\(date,interval (?:day|hour|minute|second|week|\?)\)|\+\(interval .*,date\)|-\((?:date|timestamp),"
           r"(?:date|timestamp)\)", "a date plus or minus days: a timestamp in Hive, a date in Spark"),
    *_both(r"in query(?: not| value)\(.*\)", "IN (subquery) as a value, or NOT IN: NULL in the subquery or before IN"),
    _in_spark(r"\[\]\(array.*\)", "an element of an array: NULL in Hive beyond its end, an error in Spark's ANSI mode",
              _MAY_FAIL),
    # -- Refused by Hive
    _in_hive("hint", "a hint that Hive does not have", _REFUSED),
    _in_hive(r"to_date\(.*,.*\)", "to_date with a format", _REFUSED),
    _in_hive(r"sort_array\(.*,.*\)", "sort_array with an order", _REFUSED),
    _in_hive(r"split\(.*,.*,.*\)", "split with a limit", _REFUSED),
    _in_hive(r"decode\(.*,.*,.*\)", "decode with more than two arguments", _REFUSED),
    _in_hive(r"(?:floor|ceil|ceiling)\(.*,.*\)", "floor or ceil with a number of digits", _REFUSED),
    _in_hive(r"replace\(.*\)", "replace with two arguments, or of an empty text", _MAY_FAIL),
    _in_hive(r"(?:concat|\|\|)\(.*array.*\)", "concat of arrays", _REFUSED),
    _in_hive(rf"(?:length|char_length|character_length)\((?:{_NUMBER}|boolean|date|timestamp)\)", "the length of a "
             "value that is no text", _REFUSED),
    _in_hive(rf"concat_ws\(.*\b{_NUMBER}\b.*\)", "concat_ws of numbers", _REFUSED),
    _in_hive(r"percentile\((?:double|float|decimal),.*\)", "percentile of a value that is no integer", _REFUSED),
    _in_hive(r"from_unixtime\(.*\)", "from_unixtime of a value that is no integer, or in another time zone", _MAY_FAIL),
    _in_hive(r"(?:nvl2|field)\(.*\)", "a function that Hive has for other types", _REFUSED),
    _in_hive(r"date_trunc\(.*\)", "date_trunc", _REFUSED),
    _in_hive("unpivot|pivot", "PIVOT or UNPIVOT", _REFUSED),
    # -- CHAR
    *_both(r"column\(char\)|group by\(char\)|.*\bchar\b.*", "CHAR: Spark keeps the blanks at its end"),
)
"""The first rule whose pattern fits counts."""

EQUAL: tuple[str, ...] = (
    # -- Clauses
    *("(?:inner |cross |left |right |full |left outer |right outer |full outer )?join", "join", "exists"),
    *("left semi join", "left anti join", "semi join", "anti join"),
    rf"in query\((?:{_SIMPLE}),(?:{_SIMPLE})\)",
    rf"group by\({_SIMPLE}\)",
    rf"union (?:all|distinct)\({_SIMPLE}\)",
    r"lateral view (?:outer )?(?:explode|posexplode)",
    r"(?:explode|posexplode)\((?:array|map).*\)",
    "scalar subquery of an aggregate",
    "cast to its own type",
    # -- Conditions
    r"and\(boolean,boolean\)",
    r"not\(boolean\)",
    r"is null\((?:.*)\)",
    rf"(?:=|<|<=>)\({_EXACT},{_EXACT}\)",
    rf"(?:=|<|<=>)\({_TEXT},{_TEXT}\)",
    r"(?:=|<|<=>)\((date,date|timestamp,timestamp|boolean,boolean)\)",
    rf"in\((?:{_INTEGER},{_INTEGER}|decimal,{_EXACT}|{_TEXT},{_TEXT}|date,date|timestamp,timestamp|boolean,boolean)\)",
    rf"between\((?:{_INTEGER},{_INTEGER},{_INTEGER}|decimal,{_EXACT},{_EXACT}|{_TEXT},{_TEXT},{_TEXT}|date,date,date|"
    r"timestamp,timestamp,timestamp)\)",
    rf"r?like\({_TEXT},{_TEXT}\)",
    r"r?like pattern\(literal\)",
    # -- Numbers
    rf"[+*-]\({_INTEGER},{_INTEGER}\)",
    rf"negative\((?:{_NUMBER})\)",
    rf"[+-]\((?:decimal,{_EXACT}|{_EXACT},decimal)\)",
    rf"(?:/|%) by constant\({_SHORT},{_SHORT}\)",
    rf"abs\({_EXACT}\)|(?:floor|ceil|ceiling)\({_EXACT}\)",
    # -- Casts
    r"cast\(literal as .*\)",
    rf"cast\({_EXACT} as string\)",
    r"cast\((?:date|timestamp) as string\)",
    r"cast\(varchar as string\)",
    r"cast\(tinyint as (?:smallint|int|bigint|double)\)|cast\(smallint as (?:int|bigint|double)\)",
    r"cast\(int as (?:bigint|double)\)",
    r"cast\(timestamp as date\)|cast\(date as timestamp\)",
    # -- Choices
    rf"(?:case|coalesce|nvl|if|nullif)\({_SIMPLE}\)",
    # -- Functions
    rf"count\((?:distinct )?(?:\*|{_SIMPLE})\)",
    rf"sum\({_INTEGER}\)|sum\(decimal\)",
    rf"(?:min|max)\({_SIMPLE}\)",
    rf"avg\({_SHORT}\)",
    rf"(?:upper|lower|length|trim|ltrim|rtrim|reverse|char_length)\({_TEXT}\)",
    rf"(?:substr|substring)\({_TEXT},-?\d+(?:,\d+)?\)",
    rf"(?:concat|\|\|)\({_TEXT}(?:,{_TEXT})*\)",
    rf"instr\({_TEXT},{_TEXT}\)",
    rf"regexp_replace\({_TEXT},'[^\\]*','[^\\]*'\)",
    r"(?:year|month|day|dayofmonth|quarter)\((?:date|timestamp)\)",
    r"(?:hour|minute|second)\(timestamp\)",
    r"(?:to_date|date|last_day)\((?:date|timestamp)\)",
    r"date_(?:add|sub)\((?:date|timestamp),-?\d+\)",
    r"datediff\((?:date|timestamp),(?:date|timestamp)\)",
    r"date_format\((?:date|timestamp),'(?:yyyy|yyyy-MM|yyyy-MM-dd|yyyy-MM-dd HH:mm:ss|HH)'\)",
    r"trunc\((?:date|timestamp),'(?:MM|MONTH|YEAR|YYYY)'\)",
    rf"over\((?:count|sum|min|max)\)",
)
"""Equal rows in both engines."""
