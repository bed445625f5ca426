"""Settings of a Spark session, and the substitution of `${name}` in a statement by their values.

Spark replaces `${name}` by a setting's value before it parses a text, a view's text included. A view that contained the
variable would have another meaning in each session. Therefore variables are replaced before a statement is parsed, as
Spark does when it creates a view, and definitions are analyzed without substitution.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from hive_views.spark.session.source_text import RewrittenText, apply_edits
from hive_views.spark.sessions import spark_exceptions
from hive_views.spark.text_settings import SUBSTITUTE
from hive_views.spark.versions import spark_line
from hive_views.spec.session_settings import ANSI, TIME_ZONE
from hive_views.sql.parsing.parser_settings import CASE_SENSITIVE
from hive_views.sql.text.positions import error_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

APPLIED_BY_EXECUTION = {
    key: re.compile(pattern, re.IGNORECASE)
    for key, pattern in {
        "spark.sql.columnNameOfCorruptRecord": r"_(json|csv|xml)\b",
        "spark.sql.crossJoin.enabled": r"\bjoin\b|,",
        "spark.sql.icu.caseMappings.enabled": r"\b(initcap|upper|ucase|lower|lcase|ilike)\b",
        "spark.sql.json.enablePartialResults": r"_json\b",
        "spark.sql.jsonGenerator.ignoreNullFields": r"\bto_json\b",
        "spark.sql.legacy.allowHashOnMapType": r"hash",
        "spark.sql.legacy.castComplexTypesToString.enabled": r"\b(try_)?cast\b|\bstring\b|::",
        "spark.sql.legacy.csv.enableDateTimeParsingFallback": r"_csv\b",
        "spark.sql.legacy.histogramNumericPropagateInputType": r"\bhistogram_numeric\b",
        "spark.sql.legacy.json.allowEmptyString.enabled": r"_json\b",
        "spark.sql.legacy.json.enableDateTimeParsingFallback": r"_json\b",
        "spark.sql.legacy.nullValueWrittenAsQuotedEmptyStringCsv": r"\bto_csv\b",
        "spark.sql.legacy.timeParserPolicy": (
            r"\b(try_)?to_(date|timestamp)|\b(to_|from_)?unix_?time|\b(date_format|to_(var)?char)\b|_(json|csv|xml)\b"
        ),
        "spark.sql.mapKeyDedupPolicy": r"\bmap|_map\b|\btransform_keys\b|_json\b",
        "spark.sql.variant.allowDuplicateKeys": r"_json\b",
    }.items()
}
"""Settings that Spark reads when it computes rows, and the parts of a text that they apply to (measured with 4.1.4)."""
_MORE_APPLIED_BY_EXECUTION = {
    line: {
        "spark.sql.decimalOperations.allowPrecisionLoss": re.compile(
            r"[-+*/%]|\b(avg|div|mean|mod|sum)\b", re.IGNORECASE
        )
    }
    for line in ("3.5", "4.0")
}
"""Those of older versions of Spark (measured with 3.5.9 and 4.0.5), which read them from a view since 4.1."""


def applied_by_execution(spark: SparkSession) -> dict[str, re.Pattern[str]]:
    """Return the settings that a session reads when it computes rows, and the parts of a text that they apply to."""
    return {**APPLIED_BY_EXECUTION, **_MORE_APPLIED_BY_EXECUTION.get(spark_line(spark.version), {})}


_LEGACY = "spark.sql.legacy."
_NOT_APPLIED_TO_VIEWS = {
    "3.5": {f"{_LEGACY}setopsPrecedence.enabled": re.compile(r"\bintersect\b", re.IGNORECASE)},
}
"""Settings that are on, and that Spark does not apply to views, not to its own either (measured with 3.5.9)."""


def not_applied_to_views(spark: SparkSession) -> Mapping[str, re.Pattern[str]]:
    """Return the settings that this Spark ignores in views if they are on, and the texts that they would change."""
    return _NOT_APPLIED_TO_VIEWS.get(spark_line(spark.version), {})


APPLIED_BY_ANALYSIS = frozenset(
    {
        *(ANSI, TIME_ZONE, CASE_SENSITIVE, "spark.sql.timestampType"),
        *("spark.sql.orderByOrdinal", "spark.sql.groupByOrdinal", "spark.sql.groupByAliases"),
        *("spark.sql.decimalOperations.allowPrecisionLoss", "spark.sql.function.concatBinaryAsString"),
        *("spark.sql.function.eltOutputAsString", f"{_LEGACY}consecutiveStringLiterals.enabled"),
        *(f"{_LEGACY}allowNullComparisonResultInArraySort", "spark.sql.chunkBase64String.enabled"),
        *(f"{_LEGACY}codingErrorAction", f"{_LEGACY}followThreeValuedLogicInArrayExists"),
        *(f"{_LEGACY}createEmptyCollectionUsingStringType", f"{_LEGACY}exponentLiteralAsDecimal.enabled"),
        *(f"{_LEGACY}integerGroupingId", f"{_LEGACY}interval.enabled", f"{_LEGACY}javaCharsets"),
        *(f"{_LEGACY}decimal.retainFractionDigitsOnTruncate", f"{_LEGACY}literal.pickMinimumPrecision"),
        f"{_LEGACY}percentileDiscCalculation",
        *(f"{_LEGACY}lpadRpadAlwaysReturnString", f"{_LEGACY}negativeIndexInArrayInsert"),
        *(f"{_LEGACY}setopsPrecedence.enabled", f"{_LEGACY}sizeOfNull", f"{_LEGACY}statisticalAggregate"),
        f"{_LEGACY}typeCoercion.datetimeToString.enabled",
    }
)
"""Settings whose values Spark takes from a temporary view (4.1.4; tests/integration/spark/test_settings_matrix.py)."""


_VARIABLE = re.compile(r"\$\{(?:(?P<prefix>\w+?):)?(?P<name>\S+?)\}", re.ASCII)
"""Matches `${name}` and `${prefix:name}`, as `ConfigReader.REF_RE` in Spark."""
_NON_BLANK_RUN = re.compile(r"\S+", re.ASCII)
_SETTING_PREFIXES = (None, "spark", "sparkconf", "hivevar", "hiveconf")
_JAVA_METHODS = {"env": "getenv", "system": "getProperty"}


def substitute_variables(spark: SparkSession, text: str) -> RewrittenText:
    """Return a statement with its variables replaced, as Spark would parse it."""
    variables = list(find_variables(text))
    if not variables or str(spark.conf.get(SUBSTITUTE, "true")).lower() != "true":
        return RewrittenText.unchanged(text)
    first_uses = {variable.group(): variable for variable in reversed(variables)}
    values = {name: _value_or_error(spark, first, text, first.start()) for name, first in first_uses.items()}
    rewritten = apply_edits(
        text,
        [
            (variable.start(), variable.end(), values[variable.group()])
            for variable in variables
            if values[variable.group()] != variable.group()
        ],
    )
    for variable in find_variables(rewritten.text):
        # Variables without a value are kept. `$${a}` becomes a new variable if the value of a is `{b}`.
        name, start = variable.group(), rewritten.offset(variable.start())
        if values.get(name) != name and _value_or_error(spark, variable, text, start) != name:
            reason = f"substitution results in {name}, which Spark would substitute again: write the value directly"
            raise error_at(text, start, reason)
    return rewritten


def find_variables(text: str) -> Iterator[re.Match[str]]:
    """The variables in a text, in linear time: the search ends at the last closing bracket of a run of non-blanks."""
    for run in _NON_BLANK_RUN.finditer(text):
        yield from _VARIABLE.finditer(text, run.start(), text.rfind("}", *run.span()) + 1)


def _value_or_error(spark: SparkSession, variable: re.Match[str], text: str, start: int) -> str:
    """Return the value that Spark substitutes; raises SqlError at an offset of the user's text if Spark has none."""
    try:
        return _value(spark, variable, ())
    except spark_exceptions() as error:
        reason = str(error).split("\n", 1)[0]
    except _CircularValueError:
        reason = "its value refers to itself"
    raise error_at(text, start, f"{variable.group()} has no value: {reason}")


class _CircularValueError(Exception):
    """A value contains its own variable."""


def _value(spark: SparkSession, variable: re.Match[str], enclosing: tuple[str, ...]) -> str:
    """The value that Spark substitutes, with the variables in it substituted; the variable itself if it has none.

    `conf.get` with an empty default gives the same values and the same errors as Spark's own VariableSubstitution
    (measured with 4.1.4). A value is never inserted into a statement in order to evaluate it: a quote in the value
    would change that statement.
    """
    prefix, name = variable["prefix"], variable["name"]
    if prefix in _SETTING_PREFIXES:
        value = str(spark.conf.get(name, ""))
    elif prefix in _JAVA_METHODS:
        java_value = _java_value(spark, prefix, name)
        if java_value is None:
            return variable.group()
        value = java_value
    else:
        return variable.group()
    if variable.group() in enclosing:
        raise _CircularValueError
    enclosing = (*enclosing, variable.group())
    edits = [(inner.start(), inner.end(), _value(spark, inner, enclosing)) for inner in find_variables(value)]
    return apply_edits(value, edits).text


def _java_value(spark: SparkSession, prefix: str, name: str) -> str | None:
    """Return a variable of the driver's environment or one of Java's system properties; None if it is not set."""
    from pyspark.sql import functions

    arguments = [functions.lit(argument) for argument in ("java.lang.System", _JAVA_METHODS[prefix], name)]
    [row] = spark.sql("SELECT 1").select(functions.java_method(*arguments)).collect()
    if row[0] is not None and str(row[0]) != "null":
        return str(row[0])
    # java_method returns 'null' for an unset variable. Only substitution tells an unset one from the value "null".
    return "null" if "`" not in name and spark.sql(f"SELECT 1 AS `${{{prefix}:{name}}}`").columns == ["null"] else None
