"""What happens when an engine reads a construct or a table that another engine's author wrote."""

from __future__ import annotations

from enum import Enum


class Outcome(str, Enum):
    """What happens when an engine reads a view."""

    REFUSED = "refused"
    """The view cannot be read."""
    OTHER_ROWS = "other rows"
    """The view returns other rows than in its author's engine, without an error."""
    MAY_FAIL = "may fail"
    """A query fails on values for which the author's engine returns a result."""
    UNVERIFIED = "not verified"
    """It was not measured that the view returns its author's rows."""
