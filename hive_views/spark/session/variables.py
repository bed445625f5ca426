"""`${name}` in a statement: Spark puts a setting's value there before it reads any text, also a view's.

A view that kept the variable would mean something else to each session that reads it. So values are put in before a
statement is read here, as Spark does where it defines a view, and a definition is analyzed as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hive_views.errors import SqlError
from hive_views.spark.session.failures import failures
from hive_views.spark.session.rewrite import Rewritten, substitute
from hive_views.spark.session.settings import SUBSTITUTE
from hive_views.sql.parsing.lexer import error_at, line_and_column

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_VARIABLE = re.compile(r"\$\{(?:(?P<prefix>\w+?):)?(?P<name>\S+?)\}", re.ASCII)
"""Spark's ConfigReader.REF_RE."""
_RUN = re.compile(r"\S+", re.ASCII)
"""In one of which a variable stands."""
_SETTINGS = (None, "spark", "sparkconf", "hivevar", "hiveconf")
_JAVA = {"env": "getenv", "system": "getProperty"}


def with_values(spark: SparkSession, text: str) -> Rewritten:
    """A statement as Spark reads it."""
    found = list(_variables(text))
    if not found or str(spark.conf.get(SUBSTITUTE, "true")).lower() != "true":
        return Rewritten(text, text)
    first = {each.group(): each for each in reversed(found)}
    known = {name: _told(spark, each, text, each.start()) for name, each in first.items()}
    edits = [(each.start(), each.end(), known[each.group()]) for each in found]
    written = substitute(text, [edit for edit, each in zip(edits, found, strict=True) if edit[2] != each.group()])
    for each in _variables(written.text):
        # What is left has no value, and stays so; `$${a}` whose value is `{b}` is another variable now.
        at = written.offset(each.start())
        if known.get(each.group()) != each.group() and _told(spark, each, text, at) != each.group():
            line, column = line_and_column(text, at)
            reason = f"the values make {each.group()} of it, in which Spark would put a value again: write it otherwise"
            raise SqlError(reason, line=line, column=column)
    return written


def _variables(text: str) -> Iterator[re.Match[str]]:
    """The variables of a text; where no bracket follows that closes one, none is looked for."""
    for run in _RUN.finditer(text):
        yield from _VARIABLE.finditer(text, run.start(), text.rfind("}", *run.span()) + 1)


def _told(spark: SparkSession, variable: re.Match[str], text: str, at: int) -> str:
    """What Spark writes for a variable; an error at a place of the user's text where Spark has nothing to write."""
    try:
        return _value(spark, variable, ())
    except failures() as error:
        reason = str(error).split("\n", 1)[0]
    except _CircleError:
        reason = "its value leads to itself"
    raise error_at(text, at, f"{variable.group()} has no value: {reason}")


class _CircleError(Exception):
    """A value that holds its own variable."""


def _value(spark: SparkSession, variable: re.Match[str], above: tuple[str, ...]) -> str:
    """What Spark writes for a variable: the value to the letter, with those of the variables in it; else itself.

    Measured on 4.1.4: `conf.get` with an empty default does what Spark's own VariableSubstitution does, also where
    that fails. A value is never made part of a text to be read here: a quote in it would make it another one.
    """
    prefix, name = variable["prefix"], variable["name"]
    if prefix in _SETTINGS:
        found = str(spark.conf.get(name, ""))
    elif prefix in _JAVA:
        known = _of_java(spark, prefix, name)
        if known is None:
            return variable.group()
        found = known
    else:
        return variable.group()
    if variable.group() in above:
        raise _CircleError
    inside = (*above, variable.group())
    edits = [(each.start(), each.end(), _value(spark, each, inside)) for each in _variables(found)]
    return substitute(found, edits).text


def _of_java(spark: SparkSession, prefix: str, name: str) -> str | None:
    """A value of the driver's environment, or of Java's properties; None where there is none."""
    from pyspark.sql import functions

    arguments = [functions.lit(each) for each in ("java.lang.System", _JAVA[prefix], name)]
    [row] = spark.sql("SELECT 1").select(functions.java_method(*arguments)).collect()
    if row[0] is not None and str(row[0]) != "null":
        return str(row[0])
    # Spark writes 'null' for none. Whether it is a value the substitution says, whose answer is this word or nothing.
    return "null" if "`" not in name and spark.sql(f"SELECT 1 AS `${{{prefix}:{name}}}`").columns == ["null"] else None
