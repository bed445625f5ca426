"""The Spark settings that the result of a view depends on, recorded in the summary of its version."""

from __future__ import annotations

from collections.abc import Mapping

PREFIX = "hive-views.conf."
"""Prefix of the summary keys; Spark's key follows."""

ANSI = "spark.sql.ansi.enabled"
"""Whether invalid casts and overflows raise errors, or return NULL and wrapped numbers."""
TIME_ZONE = "spark.sql.session.timeZone"
"""The time zone of timestamps without one, and of timestamps as text."""
RECORDED = (ANSI, TIME_ZONE)
"""The settings that are recorded when a view is defined, and applied when it is read."""


def encode(settings: Mapping[str, str]) -> dict[str, str]:
    """Encode settings as summary entries."""
    return {PREFIX + key: value for key, value in settings.items()}


def recorded_settings(summary: Mapping[str, str]) -> dict[str, str]:
    """The recorded settings of a version, from its summary."""
    return {key: summary[PREFIX + key] for key in RECORDED if PREFIX + key in summary}


def is_same_setting(key: str, one: str, other: str) -> bool:
    """Whether two values of a setting are equivalent."""
    return one.lower() == other.lower() if key == ANSI else one == other
