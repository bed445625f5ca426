"""Whole numbers in texts that any program may have written: properties, parameters of rows, summaries of snapshots."""

from __future__ import annotations

_MOST_DIGITS = 18
"""All such numbers fit into 64 bits; `int` rejects texts of more than 4,300 digits."""


def whole_number(text: object) -> int | None:
    """Return the number that a text of at most 18 ASCII digits writes; None for any other value."""
    if not isinstance(text, str) or not text.isascii() or not text.isdecimal() or len(text) > _MOST_DIGITS:
        return None
    return int(text)
