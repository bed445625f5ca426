"""Times in the configuration of a metastore."""

from __future__ import annotations

import pytest

from hive_views.metastore.hive_times import milliseconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("300", 300_000),
        ("300s", 300_000),
        (" 5 MIN ", 300_000),
        ("1h", 3_600_000),
        ("2day", 172_800_000),
        ("250ms", 250),
        ("250msec", 250),
        ("10us", 0.01),
        ("", None),
        ("-1s", None),
    ],
)
def test_times_are_parsed(text: str, expected: float | None) -> None:
    assert milliseconds(text) == expected
