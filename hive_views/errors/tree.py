"""The root of the tree, and what is warned of."""

from __future__ import annotations


class HiveViewsError(Exception):
    """The root of all errors of this package.

    `line` and `column` count from 1 and say where in a statement stands what the error is about; both are None where
    there was no statement, or where it does not name that.
    """

    line: int | None = None
    column: int | None = None

    def point_at(self, line: int, column: int) -> None:
        """Say where in a statement it stands, unless that is known: in the attributes, and before the message.

        Args:
            line: From 1.
            column: From 1.
        """
        if self.line is None:
            self.line, self.column = line, column
            self.args = (f"line {line}:{column} {self}",)


class DamagedRowWarning(UserWarning):
    """The metastore's database changed the row that it was given (latin1, cut comments); the metadata file is whole."""


class ViewDriftWarning(UserWarning):
    """A view's row disagrees with its metadata file, which is what was read (see `HiveView.drift`)."""
