"""All settings of a Spark session in one piece."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUBSTITUTE = "spark.sql.variable.substitute"
"""Whether Spark puts settings in place of `${name}` before it reads a text, which is its default."""

PARSER = {
    "spark.sql.parser.escapedStringLiterals": "\\",
    "spark.sql.parser.quotedRegexColumnNames": "`",
    "spark.sql.ansi.doubleQuotedIdentifiers": '"',
}
"""Settings, off by default, that change what a text says, and the character that each is about."""

READING = {SUBSTITUTE: "${", **PARSER}
"""All that make Spark read a text otherwise than it stands. A view's text is always read with them off."""


def all_of(spark: SparkSession) -> dict[str, str]:
    """All settings of a session, as `spark.conf.getAll` gives them, in one piece.

    PySpark's own goes over a map of the JVM entry by entry, and ends with an exception that it asks a dozen questions
    about: some 150 round trips, 60 ms of a refresh's 200 (4.1.4, classic, measured on a busy machine).
    """
    classic = getattr(spark.conf, "_jconf", None)
    if classic is None or spark._jvm is None:
        return dict(spark.conf.getAll)
    # Jackson is part of Spark.
    text = spark._jvm.com.fasterxml.jackson.databind.ObjectMapper().writeValueAsString(classic.getAllAsJava())
    return {str(key): str(value) for key, value in json.loads(text).items()}
