"""Upgrades of a metastore's database."""

from __future__ import annotations

from collections.abc import Sequence

from hive_views.errors.tree import HiveViewsError


class UpgradeError(HiveViewsError):
    """An upgrade of a metastore's database that cannot be planned, applied or taken back; `place` is the database."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}" if place else reason)
        self.place = place
        self.reason = reason


class DatabaseError(UpgradeError):
    """The database could not be reached, or refused a statement. `statement` is its SQL, without values."""

    def __init__(self, place: str, reason: str, *, statement: str | None = None) -> None:
        super().__init__(place, f"{reason} [{statement}]" if statement else reason)
        self.reason = reason
        self.statement = statement


class NotAMetastoreError(UpgradeError):
    """The database holds no metastore: there is no table TBLS where it was looked for."""


class MetastoreRunningError(UpgradeError):
    """Other programs are connected to the database; `sessions` says which."""

    def __init__(self, place: str, sessions: Sequence[str]) -> None:
        super().__init__(
            place,
            f"{len(sessions)} other session(s) use it: {'; '.join(sessions)}. Stop the metastore that they belong to, "
            "or say that it may run meanwhile (--while-running): then changes of the schema wait for it, and it for "
            "them",
        )
        self.sessions = tuple(sessions)


class PlanChangedError(UpgradeError):
    """The database is not as it was when the plan was made; nothing was changed. Plan again."""

    def __init__(self, place: str, differences: Sequence[str]) -> None:
        super().__init__(place, f"it changed since the plan was made: {'; '.join(differences)}. Plan again")
        self.differences = tuple(differences)


class InvalidPlanError(UpgradeError):
    """A plan that cannot be read, or is for another database."""

    def __init__(self, reason: str) -> None:
        super().__init__("", f"The plan cannot be used: {reason}")
        self.reason = reason
