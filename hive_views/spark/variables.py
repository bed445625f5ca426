"""`${name}` in a statement: Spark puts a setting's value there before it reads any text, also a view's.

A view that kept the variable would mean something else to each session that reads it. So values are put in before a
statement is read here, as Spark does where it defines a view, and a definition is analyzed as it stands.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hive_views.spark.failures import failures
from hive_views.spark.names import quoted
from hive_views.spark.rewrite import Rewritten, substitute
from hive_views.spark.settings import SUBSTITUTE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_VARIABLE = re.compile(r"\$\{(?:\w+?:)?\S+?\}")
"""Spark's ConfigReader.REF_RE."""


def with_values(spark: SparkSession, text: str) -> Rewritten:
    """A statement as Spark reads it.

    Args:
        spark: The user's session.
        text: What the user typed.

    Returns:
        The text with the values of its variables; the very text where none has one, or Spark leaves them alone.
    """
    found = list(_VARIABLE.finditer(text))
    if not found or str(spark.conf.get(SUBSTITUTE, "true")).lower() != "true":
        return Rewritten(text, text)
    values = {each.group(): _value(spark, each.group()) for each in found}
    edits = [(each.start(), each.end(), values[each.group()]) for each in found]
    return substitute(text, [edit for edit, each in zip(edits, found, strict=True) if edit[2] != each.group()])


def _value(spark: SparkSession, variable: str) -> str:
    """What Spark writes for a variable: it is asked, since it knows settings, the environment and Java's properties."""
    try:
        return str(spark.sql(f"SELECT 1 AS {quoted(variable)}").columns[0])
    except failures():
        # A value with a backtick in it; as a string it may have one.
        return str(spark.sql(f"SELECT r'{variable}' AS value").collect()[0].value)
