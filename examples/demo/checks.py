"""What stops the demo."""

from __future__ import annotations


class DemoFailedError(Exception):
    """Two readers of one view disagree."""


def check(condition: bool, failure: str) -> None:
    """Stop the demo if a condition does not hold."""
    if not condition:
        raise DemoFailedError(failure)
