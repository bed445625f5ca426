"""Whole numbers in texts of any program."""

from __future__ import annotations

import pytest

from hive_views.spec.whole_numbers import whole_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("007", 7),
        ("9" * 18, 10**18 - 1),
        ("9" * 19, None),
        ("9" * 5_000, None),
        ("", None),
        ("-1", None),
        ("+1", None),
        (" 1", None),
        ("1e3", None),
        ("²", None),
        ("٣", None),
        (None, None),
        (7, None),
        (True, None),
    ],
)
def test_whole_number(text: object, number: int | None) -> None:
    assert whole_number(text) == number
