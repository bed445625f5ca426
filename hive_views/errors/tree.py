"""The base class of all errors, and the warnings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class HiveViewsError(Exception):
    """The base class of all errors of this package.

    `line` and `column` (from 1) are the position in the SQL statement that the error is about; None if it is not about
    a statement, or about all of it.
    """

    line: int | None = None
    column: int | None = None
    _may_take_effect = False
    completed_steps: tuple[str, ...] = ()
    """What an operation of several steps changed before it failed; empty if the error concerns all of it."""

    def point_at(self, line: int, column: int) -> None:
        """Set the position in the statement, also in the message, unless the error has one.

        Args:
            line: Line, from 1.
            column: Column, from 1.
        """
        if self.line is None:
            self.line, self.column = line, column
            self.args = (f"line {line}:{column} {self}",)

    @property
    def may_take_effect(self) -> bool:
        """Whether the change that failed may still be carried out, so that the files it refers to must be kept."""
        return self._may_take_effect

    @may_take_effect.setter
    def may_take_effect(self, value: bool) -> None:
        self._may_take_effect = value

    def add_completed_steps(self, *steps: str) -> None:
        """Record what was changed before the failure, also in the message.

        Args:
            steps: The completed steps, each as a clause, e.g. `the view s.v was dropped`.
        """
        if steps:
            self.completed_steps = (*self.completed_steps, *steps)
            self.args = (f"{self}. Before that: {'; '.join(steps)}",)


@contextmanager
def after_steps(*steps: str) -> Iterator[None]:
    """Add the completed steps of an operation to the errors of the rest of it."""
    try:
        yield
    except HiveViewsError as error:
        error.add_completed_steps(*steps)
        raise


class DamagedRowWarning(UserWarning):
    """The metastore's database damaged a row (latin1 columns, truncated comments); the metadata file is correct."""


class SessionSettingsWarning(UserWarning):
    """A view was defined under other settings than those of the session that reads it, which may change its rows."""


class ViewDriftWarning(UserWarning):
    """A view's row differs from its metadata file; the metadata file was used (see `HiveView.drift`)."""
