"""The settings of a session that a view's rows depend on, as a version's summary keeps them: keys, and no Spark."""

from __future__ import annotations

from collections.abc import Mapping

PREFIX = "hive-views.conf."
"""Begins the summary keys of settings; Spark's own key follows."""

ANSI = "spark.sql.ansi.enabled"
"""Whether a cast that fails is an error or NULL, an overflow an error or another number."""
TIME_ZONE = "spark.sql.session.timeZone"
"""What a timestamp without a zone, and a timestamp as text, mean."""
RECORDED = (ANSI, TIME_ZONE)
"""The settings that are recorded where a view is defined, and hold wherever it is read."""


def encode(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings as entries of a version's summary."""
    return {PREFIX + key: value for key, value in settings.items()}


def recorded(summary: Mapping[str, str]) -> dict[str, str]:
    """The settings that a version was defined under."""
    return {key: summary[PREFIX + key] for key in RECORDED if PREFIX + key in summary}


def same(key: str, one: str, other: str) -> bool:
    """Whether two values of a setting mean the same."""
    return one.lower() == other.lower() if key == ANSI else one == other
