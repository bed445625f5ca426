"""Errors of materialized views."""

from __future__ import annotations

from collections.abc import Sequence

from hive_views.errors.commits import CommitFailedError
from hive_views.errors.objects import NoSuchViewError
from hive_views.errors.tree import HiveViewsError


class NotMaterializedError(NoSuchViewError):
    """The name belongs to a plain view or table, not to a materialized view."""

    def __init__(self, identifier: str, detail: str) -> None:
        HiveViewsError.__init__(self, f"Not a materialized view: {identifier} ({detail})")
        self.identifier = identifier
        self.detail = detail


class InvalidRefreshStateError(HiveViewsError, ValueError):
    """The recorded storage or refresh state of a materialized view violates the format; `path` is the position.

    `identifier` is the materialized view, None if it is not known.
    """

    identifier: str | None = None

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"Invalid materialized view metadata: {path}: {reason}")
        self.path = path
        self.reason = reason

    def of(self, identifier: str) -> InvalidRefreshStateError:
        """Set the materialized view, also in the message, unless the error has one; returns this error."""
        if self.identifier is None:
            self.identifier = identifier
            self.args = (f"{identifier}: {self}",)
        return self


class UnsupportedMaterializedViewError(InvalidRefreshStateError):
    """A materialized view in a later format than this release supports; it is neither read nor written."""

    def __init__(self, path: str, found: int, supported: int) -> None:
        HiveViewsError.__init__(
            self,
            f"{path}: format-version {found} is later than {supported}, the latest that this release supports. Use a "
            "later release of hive_views",
        )
        self.path = f"{path}.format-version"
        self.reason = f"format-version {found} is not supported"
        self.found = found
        self.supported = supported


class NoSuchRefreshError(HiveViewsError, ValueError):
    """A refresh (by snapshot, tag or time) that is not in the storage of a materialized view."""

    def __init__(self, identifier: str, wanted: str, available: Sequence[int]) -> None:
        shown = ", ".join(map(str, available)) or "none yet"
        super().__init__(
            f"The storage of {identifier} has no rows of {wanted}; it has these snapshots: {shown} (older ones "
            f"expire). List them with catalog.materialized.refreshes({identifier!r})"
        )
        self.identifier = identifier
        self.wanted = wanted
        self.available = tuple(available)


class RefreshError(HiveViewsError):
    """A refresh that failed; the stored rows are unchanged.

    Attributes:
        completed: The views that a refresh with CASCADE had refreshed before, and how.
    """

    completed: tuple[str, ...] = ()

    def __init__(self, identifier: str, reason: str) -> None:
        super().__init__(f"Cannot refresh {identifier}: {reason}. Its stored rows are unchanged")
        self.identifier = identifier
        self.reason = reason


class RefreshConflictError(CommitFailedError):
    """A concurrent refresh of the same materialized view was published first; this one was discarded."""

    completed: tuple[str, ...] = ()


class DefinitionChangedError(CommitFailedError):
    """The view was redefined concurrently, or dropped and created again."""
