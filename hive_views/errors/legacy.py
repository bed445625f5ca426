"""The import of legacy views."""

from __future__ import annotations

from hive_views.errors.tree import HiveViewsError


class PlanError(HiveViewsError, ValueError):
    """A text that should be the plan of an import and is none, or one that does not fit what it is used for."""


class JournalError(HiveViewsError):
    """The journal of an import cannot be used: another run is writing it, or it is of another plan, or is broken."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"The journal {path}: {reason}")
        self.path = path
        self.reason = reason


class RevertError(HiveViewsError):
    """A view that cannot be given its legacy row back; nothing was changed."""

    def __init__(self, identifier: str, reason: str) -> None:
        super().__init__(f"Cannot revert {identifier}: {reason}")
        self.identifier = identifier
        self.reason = reason
