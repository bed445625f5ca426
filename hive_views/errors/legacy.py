"""Errors of the import of legacy views."""

from __future__ import annotations

from hive_views.errors.tree import HiveViewsError


class PlanError(HiveViewsError, ValueError):
    """An import plan that is invalid, or does not fit the operation."""


class JournalError(HiveViewsError):
    """The journal of an import is in use by another run, belongs to another plan, or is invalid."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"The journal {path}: {reason}")
        self.path = path
        self.reason = reason


class RevertError(HiveViewsError):
    """A view whose legacy row cannot be restored; nothing was changed."""

    def __init__(self, identifier: str, reason: str) -> None:
        super().__init__(f"Cannot revert {identifier}: {reason}")
        self.identifier = identifier
        self.reason = reason
