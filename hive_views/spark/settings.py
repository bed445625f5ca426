"""The settings of a session that a view's rows depend on, as a version's summary keeps them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIX = "hive-views.conf."
"""Begins the summary keys of settings; Spark's own key follows."""

ANSI = "spark.sql.ansi.enabled"
"""Whether a cast that fails is an error or NULL, an overflow an error or another number."""
TIME_ZONE = "spark.sql.session.timeZone"
"""What a timestamp without a zone, and a timestamp as text, mean."""
RECORDED = (ANSI, TIME_ZONE)
"""The settings that are recorded where a view is defined, and hold wherever it is read."""


def encode(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings as entries of a version's summary.

    Args:
        settings: By Spark's keys.

    Returns:
        The entries.
    """
    return {PREFIX + key: value for key, value in settings.items()}


def recorded(summary: Mapping[str, str]) -> dict[str, str]:
    """The settings that a version was defined under.

    Args:
        summary: Its summary.

    Returns:
        By Spark's keys; empty for a version that was not defined in a `ViewSession`.
    """
    return {key: summary[PREFIX + key] for key in RECORDED if PREFIX + key in summary}


def same(key: str, one: str, other: str) -> bool:
    """Whether two values of a setting mean the same.

    Args:
        key: Spark's key.
        one: A value.
        other: Another.
    """
    return one.lower() == other.lower() if key == ANSI else one == other


def all_of(spark: SparkSession) -> dict[str, str]:
    """All settings of a session, as `spark.conf.getAll` gives them, in one piece.

    PySpark's own goes over a map of the JVM entry by entry, and ends with an exception that it asks a dozen questions
    about: some 150 round trips, 60 ms of a refresh's 200 (4.1.4, classic, measured on a busy machine).

    Args:
        spark: A session, classic or Connect.

    Returns:
        The settings by key.
    """
    classic = getattr(spark.conf, "_jconf", None)
    if classic is None or spark._jvm is None:
        return dict(spark.conf.getAll)
    # Jackson is part of Spark.
    text = spark._jvm.com.fasterxml.jackson.databind.ObjectMapper().writeValueAsString(classic.getAllAsJava())
    return {str(key): str(value) for key, value in json.loads(text).items()}
