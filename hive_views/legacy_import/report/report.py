"""What an import did, view by view, as data: for JSON, for the terminal, for a page."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from hive_views.legacy_import.journal import History
from hive_views.legacy_import.outcome import Outcome, planned
from hive_views.legacy_import.plan import Entry, Plan

Piece = tuple[str, str]
"""A piece of a difference: `=`, `-` (only in the old text) or `+` (only in the new one), and its text."""

_WORDS = re.compile(r"\s+|\w+|`(?:[^`]|``)*`|.", re.DOTALL)


def difference(old: str, new: str) -> tuple[Piece, ...]:
    """The difference of two texts, word by word: SQL is often one long line."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    pieces: list[Piece] = []
    for kind, start, end, to_start, to_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            pieces.append(("=", "".join(before[start:end])))
            continue
        if end > start:
            pieces.append(("-", "".join(before[start:end])))
        if to_end > to_start:
            pieces.append(("+", "".join(after[to_start:to_end])))
    return tuple(pieces)


@dataclass(frozen=True)
class Line:
    """One view of a report."""

    entry: Entry
    """What was planned."""
    outcome: Outcome
    """How it ended, as far as it has."""
    reverted: str | None = None
    """What became of it when the import was reverted."""

    @property
    def status(self) -> str:
        """In one word how the view stands."""
        return self.reverted or self.outcome.status.value

    def pieces(self) -> tuple[Piece, ...]:
        """The difference of the text that its readers ran and the one that they run now; empty where there is none."""
        old, new = self.entry.old_text, self.entry.new_text
        return () if old is None or new is None or old == new else difference(old, new)

    def to_json(self) -> dict[str, Any]:
        """The line as a JSON object."""
        return {
            **self.outcome.to_json(),
            "status": self.status,
            "kind": "materialized view" if self.entry.materialized else "view",
            "writer": self.entry.writer.value,
            "dialect": self.entry.dialect,
            "level": self.entry.level,
            "changes": list(self.entry.changes),
            "old_original": self.entry.old_original,
            "old_text": self.entry.old_text,
            "new_text": self.entry.new_text,
            "difference": [list(piece) for piece in self.pieces()],
        }


@dataclass(frozen=True)
class Report:
    """What an import did, or would do."""

    lines: tuple[Line, ...]
    """The views, each behind those that it reads."""
    cycles: tuple[tuple[str, ...], ...]
    """Views that read each other."""

    @property
    def counts(self) -> dict[str, int]:
        """How many views stand in which way."""
        return dict(sorted(Counter(line.status for line in self.lines).items()))

    @property
    def reasons(self) -> dict[str, int]:
        """How many views were not converted for which reason."""
        found = Counter(line.outcome.reason.value for line in self.lines if line.outcome.reason is not None)
        return dict(found.most_common())

    @property
    def seconds(self) -> float:
        """How long the views took together, in seconds."""
        return sum(line.outcome.seconds for line in self.lines)

    @property
    def writing(self) -> float:
        """How much of that were writes."""
        return sum(line.outcome.writing for line in self.lines)

    @property
    def swapping(self) -> float:
        """How much of that the swaps took, see `Outcome.swapping`; other writes are done during the swaps of others."""
        return sum(line.outcome.swapping for line in self.lines)

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return {
            "counts": self.counts,
            "reasons": self.reasons,
            "seconds": round(self.seconds, 3),
            "writing": round(self.writing, 3),
            "swapping": round(self.swapping, 3),
            "cycles": [list(cycle) for cycle in self.cycles],
            "views": [line.to_json() for line in self.lines],
        }


def report_of_plan(plan: Plan) -> Report:
    """The report of a plan that was not run."""
    return Report(tuple(Line(entry, planned(entry)) for entry in plan.entries), _cycles(plan))


def report_of(history: History) -> Report:
    """The report of a run, as its journal tells it; views whose turn has not come are pending."""
    plan = history.plan
    return Report(
        tuple(
            Line(entry, history.outcomes.get(entry.name, planned(entry)), history.reverted.get(entry.name))
            for entry in plan.entries
        ),
        _cycles(plan),
    )


def _cycles(plan: Plan) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(map(str, cycle)) for cycle in plan.cycles)
