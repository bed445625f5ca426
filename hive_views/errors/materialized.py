"""Materialized views: what they are not, and refreshes that fail."""

from __future__ import annotations

from collections.abc import Sequence

from hive_views.errors.commits import CommitFailedError
from hive_views.errors.objects import NoSuchViewError
from hive_views.errors.tree import HiveViewsError


class NotMaterializedError(NoSuchViewError):
    """The name belongs to a plain view or table, which has no storage to refresh or to read."""

    def __init__(self, identifier: str, detail: str) -> None:
        HiveViewsError.__init__(self, f"Not a materialized view: {identifier} ({detail})")
        self.identifier = identifier
        self.detail = detail


class InvalidRefreshStateError(HiveViewsError, ValueError):
    """What is recorded about a materialized view's storage or refreshes breaks the format; `path` says where.

    `identifier` is the materialized view, once that is known.
    """

    identifier: str | None = None

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"Invalid materialized view metadata: {path}: {reason}")
        self.path = path
        self.reason = reason

    def of(self, identifier: str) -> InvalidRefreshStateError:
        """Say whose it is, unless that is known.

        Args:
            identifier: The materialized view.

        Returns:
            This error.
        """
        if self.identifier is None:
            self.identifier = identifier
            self.args = (f"{identifier}: {self}",)
        return self


class UnsupportedMaterializedViewError(InvalidRefreshStateError):
    """A materialized view of a later format than this package knows: it is neither read nor written."""

    def __init__(self, path: str, found: int, supported: int) -> None:
        HiveViewsError.__init__(
            self,
            f"{path}: format-version {found} is later than {supported}, the latest that this release knows. Use a "
            "later release of hive_views",
        )
        self.path = f"{path}.format-version"
        self.reason = f"format-version {found} is not supported"
        self.found = found
        self.supported = supported


class NoSuchRefreshError(HiveViewsError, ValueError):
    """Stored rows (by snapshot, tag or time) that a materialized view's storage does not hold."""

    def __init__(self, identifier: str, wanted: str, available: Sequence[int]) -> None:
        shown = ", ".join(map(str, available)) or "none yet"
        super().__init__(
            f"The storage of {identifier} has no rows of {wanted}; it holds these snapshots: {shown} (older ones "
            f"expire). catalog.materialized.refreshes({identifier!r}) says what each is"
        )
        self.identifier = identifier
        self.wanted = wanted
        self.available = tuple(available)


class RefreshError(HiveViewsError):
    """A materialized view that could not be refreshed; what readers get is unchanged."""

    def __init__(self, identifier: str, reason: str) -> None:
        super().__init__(f"Cannot refresh {identifier}: {reason}. Its stored rows are what they were")
        self.identifier = identifier
        self.reason = reason


class RefreshConflictError(CommitFailedError):
    """Another refresh of the same materialized view was faster; its rows are there, and ours were given up."""


class DefinitionChangedError(CommitFailedError):
    """Somebody else gave the view another definition meanwhile, or dropped it and created it again."""
