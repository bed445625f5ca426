"""Selection of the views of a plan by name, database, owner, and the reason why a view is not converted."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from hive_views.errors import UsageError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.legacy_view import Reason
from hive_views.legacy_import.plan import ImportPlan
from hive_views.metastore.rows.row import Row

_OWNER, _REASON = "owner:", "reason:"


@dataclass(frozen=True)
class ViewPattern:
    """A pattern: a glob of `database.view` or of a database, `owner:GLOB`, or `reason:REASON`."""

    text: str

    @classmethod
    def parse(cls, text: str, option: str) -> ViewPattern:
        """Check a pattern that a user typed."""
        reasons = sorted(reason.value for reason in Reason)
        if text.startswith(_REASON) and text.removeprefix(_REASON) not in reasons:
            raise UsageError(option, f"{text!r} names none of the reasons {', '.join(reasons)}")
        if not text.removeprefix(_OWNER):
            raise UsageError(option, f"{text!r} is empty: write DATABASE, DATABASE.VIEW, owner:NAME or reason:REASON")
        return cls(text)

    @property
    def is_reason(self) -> bool:
        """Whether it can be matched only against a finished plan."""
        return self.text.startswith(_REASON)

    def matches_row(self, row: Row) -> bool:
        """Return whether the row of a view matches; a pattern with a reason never does."""
        if self.text.startswith(_OWNER):
            return fnmatchcase(row.owner or "", self.text.removeprefix(_OWNER))
        name = str(row.name) if "." in self.text else row.name.database
        return not self.is_reason and fnmatchcase(name, self.text.lower())

    def matches_reason(self, reason: Reason | None) -> bool:
        """Return whether a plan entry's reason matches."""
        return self.is_reason and reason is not None and reason.value == self.text.removeprefix(_REASON)


@dataclass(frozen=True)
class ViewSelection:
    """The views that match one of the patterns of `select` and none of `exclude`.

    Patterns with a reason are a separate group: if `select` has both kinds, a view must match one pattern of each kind.
    """

    select: tuple[ViewPattern, ...] = ()
    exclude: tuple[ViewPattern, ...] = ()

    def names(self, rows: Iterable[Row]) -> list[ViewName]:
        """Return the views to plan.

        Patterns with a reason do not apply, since reasons are not known before planning.
        """
        by_row = [pattern for pattern in self.select if not pattern.is_reason]
        return [
            row.name
            for row in rows
            if (not by_row or any(pattern.matches_row(row) for pattern in by_row))
            and not any(pattern.matches_row(row) for pattern in self.exclude)
        ]

    def unmatched(self, rows: Collection[Row]) -> list[ViewPattern]:
        """Return the patterns of `select` that match none of the views; those with a reason do not apply."""
        return [
            pattern
            for pattern in self.select
            if not pattern.is_reason and not any(pattern.matches_row(row) for row in rows)
        ]

    def plan(self, plan: ImportPlan) -> ImportPlan:
        """Return the plan with the entries whose reasons match."""
        by_reason = [pattern for pattern in self.select if pattern.is_reason]

        def is_selected(reason: Reason | None) -> bool:
            return (not by_reason or any(pattern.matches_reason(reason) for pattern in by_reason)) and not any(
                pattern.matches_reason(reason) for pattern in self.exclude
            )

        entries = (entry for entry in plan.entries if is_selected(entry.problem.reason if entry.problem else None))
        return replace(plan, entries=tuple(entries))
