"""Errors of upgrades of a metastore's database."""

from __future__ import annotations

from collections.abc import Sequence

from hive_views.errors.tree import HiveViewsError


class UpgradeError(HiveViewsError):
    """An upgrade that cannot be planned, applied or rolled back; `place` is the database."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}" if place else reason)
        self.place = place
        self.reason = reason


class DatabaseError(UpgradeError):
    """The database could not be reached, or rejected a statement. `statement` is the SQL, without values."""

    def __init__(self, place: str, reason: str, *, statement: str | None = None) -> None:
        super().__init__(place, f"{reason} [{statement}]" if statement else reason)
        self.reason = reason
        self.statement = statement


class NotAMetastoreError(UpgradeError):
    """The database has no metastore schema (no table TBLS)."""


class MetastoreRunningError(UpgradeError):
    """Other programs are connected to the database; `sessions` describes them."""

    def __init__(self, place: str, sessions: Sequence[str]) -> None:
        super().__init__(
            place,
            f"{len(sessions)} other session(s) use it: {'; '.join(sessions)}. Stop their metastore, or allow it to run "
            "meanwhile (--while-running): then schema changes wait for its transactions, and it waits for them",
        )
        self.sessions = tuple(sessions)


class BlockedStepsError(UpgradeError):
    """Steps that would fail; nothing was changed. `steps` has the ID of each step and the reason with its remedy."""

    def __init__(self, place: str, steps: Sequence[tuple[str, str]]) -> None:
        listed = "; ".join(f"{step}: {reason}" for step, reason in steps)
        super().__init__(
            place,
            f"{len(steps)} step(s) would fail, so nothing was changed: {listed}. Remove the cause, or leave steps out "
            "(--skip STEP)",
        )
        self.steps = tuple(steps)


class PlanChangedError(UpgradeError):
    """The database changed since the plan was created; nothing was changed by the plan."""

    def __init__(self, place: str, differences: Sequence[str]) -> None:
        super().__init__(place, f"it changed since the plan was created: {'; '.join(differences)}. Plan again")
        self.differences = tuple(differences)


class InvalidPlanError(UpgradeError):
    """A plan that is invalid, or belongs to another database."""

    def __init__(self, reason: str) -> None:
        super().__init__("", f"The plan cannot be used: {reason}")
        self.reason = reason
