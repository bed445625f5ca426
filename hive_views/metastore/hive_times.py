"""Times in the configuration of a Hive Metastore, such as `300s` (Hive's `HiveConf.toTime`)."""

from __future__ import annotations

import re

_UNITS_MS = {"": 1000.0, "us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0, "h": 3_600_000.0, "d": 86_400_000.0}


def milliseconds(text: str) -> float | None:
    """Parse a time to milliseconds; a number without a unit is in seconds. None if it is invalid."""
    match = re.fullmatch(r"(\d+)\s*(us|ms|s|m|h|d)?[a-z]*", text.strip().lower())
    return float(match[1]) * _UNITS_MS[match[2] or ""] if match else None
