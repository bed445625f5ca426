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
    SOME_VALUES = "other rows for some values"
    """The view returns its author's rows, except where a table has values that rarely occur, which the finding names,
    for example NaN. It is a note: no engine requirement and no strict import rejects a view for it."""

    @property
    def is_note(self) -> bool:
        """Whether no engine requirement and no strict import rejects a view for it."""
        return self is Outcome.SOME_VALUES
