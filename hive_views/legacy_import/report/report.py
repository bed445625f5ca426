"""The report of an import: each view with its plan entry, its outcome and the difference of its texts.

The results of checks by Spark are kept in a file next to the journal (`read_check_results`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from hive_views.config import ENGINES
from hive_views.errors import JournalError
from hive_views.identifiers import ViewName
from hive_views.io.private_files import write_private_text
from hive_views.legacy_import.journal import History, ImportOutcome, ImportStatus, RevertStatus, planned_outcome
from hive_views.legacy_import.options import READERS
from hive_views.legacy_import.plan import ImportPlan, PlanEntry, PlanStatus
from hive_views.rendering.escaping import escape, escape_optional
from hive_views.rendering.html_page import page, part
from hive_views.spec.json_text import parse_json
from hive_views.sql.analysis.outcomes import Outcome

DiffPiece = tuple[str, str]
"""A piece of a difference: `=`, `-` (only in the old text) or `+` (only in the new text), and the piece's text."""

_WORDS = re.compile(r"\s+|\w+|`(?:[^`]|``)*`|.", re.DOTALL)


_WINDOW = 256
"""The number of words that are compared at a time: SequenceMatcher takes cubic time for words that repeat."""


def diff_texts(old: str, new: str) -> tuple[DiffPiece, ...]:
    """Compare two texts word by word, because SQL is often one long line. Takes linear time."""
    pieces: list[DiffPiece] = []
    for mark, words in _compare(_WORDS.findall(old), _WORDS.findall(new)):
        if pieces and pieces[-1][0] == mark:
            pieces[-1] = (mark, pieces[-1][1] + "".join(words))
        elif words:
            pieces.append((mark, "".join(words)))
    return tuple(pieces)


def _compare(old: list[str], new: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield words that are equal, only in the old list and only in the new list."""
    old_start = new_start = 0
    while old_start < len(old) or new_start < len(new):
        old_window, new_window = old[old_start : old_start + _WINDOW], new[new_start : new_start + _WINDOW]
        is_last = old_start + _WINDOW >= len(old) and new_start + _WINDOW >= len(new)
        codes = SequenceMatcher(None, old_window, new_window, autojunk=False).get_opcodes()
        equal_ends = [max(code[2], code[4]) for code in codes if code[0] == "equal"]
        if not is_last and equal_ends and equal_ends[-1] > _WINDOW // 4:
            # Words after the last equal ones may equal words after the window, so they are compared again.
            while codes[-1][0] != "equal":
                codes.pop()
        for kind, old_from, old_to, new_from, new_to in codes:
            if kind == "equal":
                yield "=", old_window[old_from:old_to]
            else:
                yield "-", old_window[old_from:old_to]
                yield "+", new_window[new_from:new_to]
        old_start, new_start = old_start + codes[-1][2], new_start + codes[-1][4]


_COLUMNS = "whether Spark can read each view, with its columns (import plan --spark, import run --verify columns)"
_ROWS = (
    "whether each view has the same rows as before (import run --verify rows); of a table's files, one directory and "
    "the footer of one file were looked at, where the storage can be read, and no values"
)


def unchecked_promises(*, has_columns: bool, has_rows: bool) -> tuple[str, ...]:
    """Return what Spark did not check of the columns and the rows of the converted views."""
    return (*(() if has_columns else (_COLUMNS,)), *(() if has_rows else (_ROWS,)))


def shown_status(status: str) -> str:
    """Return the status of a view as people read it: a view that can be converted is `ready`, as in its plan.

    JSON documents have `pending` for it, which programs rely on.
    """
    return PlanStatus.READY.value if status == ImportStatus.PENDING.value else status


@dataclass(frozen=True)
class ReportEntry:
    """One view of a report."""

    entry: PlanEntry
    """Its entry in the plan."""
    outcome: ImportOutcome
    """Its outcome; pending if it was not processed yet."""
    reverted: RevertStatus | None = None
    """The status of its revert."""

    @property
    def name(self) -> ViewName:
        """The name of the legacy view."""
        return self.entry.name

    @property
    def status(self) -> str:
        """The status of its last revert if that restored the legacy view, or else of its outcome."""
        if self.reverted is not None and self.reverted.is_restored:
            return self.reverted.value
        return self.outcome.status.value

    def diff(self) -> tuple[DiffPiece, ...]:
        """Compare the old text of the plan entry with the new one; empty if they are equal or one is missing."""
        old, new = self.entry.old_text, self.entry.new_text
        return () if old is None or new is None or old == new else diff_texts(old, new)

    def to_json(self) -> dict[str, Any]:
        """Return the view as a JSON object."""
        return {
            **self.outcome.to_json(),
            "status": self.status,
            "kind": "materialized view" if self.entry.materialized else "view",
            "writer": self.entry.writer.value,
            "dialect": self.entry.dialect,
            "level": self.entry.level,
            "changes": list(self.entry.changes),
            "engines": list(self.entry.engines),
            "old_original": self.entry.old_original,
            "old_text": self.entry.old_text,
            "new_text": self.entry.new_text,
            "difference": [list(piece) for piece in self.diff()],
        }


@dataclass(frozen=True, kw_only=True)
class ImportReport:
    """What an import did, or will do."""

    entries: tuple[ReportEntry, ...]
    """The views, each after the views that it reads."""
    cycles: tuple[tuple[str, ...], ...]
    """Groups of views that read each other."""
    file: str | None = None
    """The file that was written: the plan's, or the journal."""
    complete: bool = True
    """Whether nothing remains to be done, and no view is known to return other columns or rows than before."""
    check_results: Mapping[ViewName, str] | None = None
    """The results of Spark's checks by view, if they were read."""
    differing: tuple[str, ...] = ()
    """Views that Spark read before and cannot read now, or that have other columns or rows."""
    unchecked: tuple[str, ...] = ()
    """What only Spark can check, and did not."""
    readers: str = READERS[0].capitalize()
    """The engines of which the views have the findings, for people."""

    @property
    def counts(self) -> dict[str, int]:
        """The number of views by status."""
        return dict(sorted(Counter(entry.status for entry in self.entries).items()))

    @property
    def reasons(self) -> dict[str, int]:
        """The number of views by the reason for which they were not converted, the most frequent first."""
        reasons = (entry.outcome.reason for entry in self.entries)
        return dict(Counter(reason.value for reason in reasons if reason is not None).most_common())

    @property
    def engines(self) -> dict[str, dict[str, int]]:
        """For each engine, the number of convertible views by its worst outcome for them."""
        counts = {engine: Counter[str]() for engine in ENGINES}
        for entry in self.entries:
            if entry.outcome.reason is None and entry.entry.problem is None:
                for engine, outcome in _worst_outcomes(entry.entry.engines).items():
                    counts[engine][outcome] += 1
        return {engine: dict(sorted(numbers.items())) for engine, numbers in counts.items() if numbers}

    @property
    def with_findings(self) -> int:
        """The number of convertible views with a finding for one of the readers that is more than a note."""
        return sum(
            entry.entry.has_findings
            for entry in self.entries
            if entry.outcome.reason is None and entry.entry.problem is None
        )

    @property
    def convertible(self) -> int:
        """The number of views that are converted or can be."""
        return sum(entry.outcome.reason is None and entry.entry.problem is None for entry in self.entries)

    def example(self, reason: str) -> ReportEntry:
        """Return the first view that is not converted for a reason of `reasons`."""
        return next(e for e in self.entries if e.outcome.reason is not None and e.outcome.reason.value == reason)

    @property
    def seconds(self) -> float:
        """The time of all views, in seconds."""
        return sum(entry.outcome.seconds for entry in self.entries)

    @property
    def writing(self) -> float:
        """The part of `seconds` spent in writes."""
        return sum(entry.outcome.writing for entry in self.entries)

    @property
    def swapping(self) -> float:
        """The part of `writing` spent in swaps (see `ImportOutcome.swapping`), during which other files are written."""
        return sum(entry.outcome.swapping for entry in self.entries)

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            "counts": self.counts,
            "reasons": self.reasons,
            "engines": self.engines,
            "seconds": round(self.seconds, 3),
            "writing": round(self.writing, 3),
            "cycles": [list(cycle) for cycle in self.cycles],
            "views": [self._view_to_json(entry) for entry in self.entries],
            "file": self.file,
            "complete": self.complete,
            "differing": list(self.differing),
            "unchecked": list(self.unchecked),
        }

    def _view_to_json(self, entry: ReportEntry) -> dict[str, Any]:
        document = entry.to_json()
        if self.check_results is not None:
            document["rows"] = self.check_results.get(entry.name)
        return document


_FROM_WORST = tuple(
    outcome.value
    for outcome in (Outcome.REFUSED, Outcome.OTHER_ROWS, Outcome.MAY_FAIL, Outcome.UNVERIFIED, Outcome.SOME_VALUES)
)


def _worst_outcomes(findings: Iterable[str]) -> dict[str, str]:
    """Return the worst outcome for each engine of findings such as `spark: other rows: …`."""
    worst: dict[str, str] = {}
    for finding in findings:
        engine, outcome, *_ = (*finding.split(": ", 2), "")
        if engine in ENGINES and outcome in _FROM_WORST:
            worst[engine] = min(worst.get(engine, outcome), outcome, key=_FROM_WORST.index)
    return worst


def report_plan(plan: ImportPlan) -> ImportReport:
    """Return the report of a plan that was not run."""
    return _report(plan, {}, {})


def report_outcomes(plan: ImportPlan, outcomes: Iterable[ImportOutcome]) -> ImportReport:
    """Return the report of a run from its outcomes."""
    return _report(plan, {outcome.name: outcome for outcome in outcomes}, {})


def report_run(history: History) -> ImportReport:
    """Return the report of a run from its journal; views that were not processed yet are pending."""
    return _report(history.plan, history.outcomes, history.reverted)


def _report(
    plan: ImportPlan, outcomes: Mapping[ViewName, ImportOutcome], reverted: Mapping[ViewName, RevertStatus]
) -> ImportReport:
    entries = (
        ReportEntry(entry, outcomes.get(entry.name) or planned_outcome(entry), reverted.get(entry.name))
        for entry in plan.entries
    )
    cycles = tuple(tuple(map(str, cycle)) for cycle in plan.cycles)
    return ImportReport(entries=tuple(entries), cycles=cycles, readers=plan.options.reader_names)


def _check_results_file(journal: Path) -> Path:
    return journal.with_name(f"{journal.name}.verified")


def write_check_results(journal: Path, results: Mapping[ViewName, str]) -> None:
    """Write the results of a check by Spark next to a journal, replacing earlier ones; raises JournalError."""
    path = _check_results_file(journal)
    try:
        write_private_text(path, json.dumps({str(name): text for name, text in results.items()}, indent=1))
    except OSError as error:
        raise JournalError(str(path), str(error)) from error


def read_check_results(journal: Path) -> dict[ViewName, str]:
    """Read the results of the last check by Spark next to a journal; raises JournalError if they are damaged."""
    path = _check_results_file(journal)
    try:
        results = parse_json(path.read_text())
        return {ViewName.from_text(name): str(text) for name, text in results.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError) as error:
        raise JournalError(str(path), f"it does not hold the results of a check: {error}") from error


_PACKAGE = "hive_views.legacy_import.report"


def render_report_page(report: ImportReport, title: str) -> str:
    """Return a report as an HTML page."""
    return page(
        title,
        style=part(_PACKAGE, "page.css"),
        body=part(_PACKAGE, "page.html"),
        script=part(_PACKAGE, "page.js"),
        data=report_data(report, title),
    )


def report_data(report: ImportReport, title: str) -> dict[str, Any]:
    """Return the data for the page's script."""
    check_results = report.check_results or {}
    return {
        "title": escape(title),
        "seconds": round(report.seconds, 3),
        "writing": round(report.writing, 3),
        "cycles": [[escape(name) for name in cycle] for cycle in report.cycles],
        "engines": report.engines,
        "views": [_view_data(view, check_results.get(view.entry.name)) for view in report.entries],
    }


def _view_data(view: ReportEntry, check_result: str | None) -> dict[str, Any]:
    entry, outcome = view.entry, view.outcome
    pieces = view.diff()
    return {
        "database": escape(entry.name.database),
        "name": escape(entry.name.name),
        "target": None if entry.in_place else escape(str(entry.target)),
        "status": shown_status(view.status),
        "reason": None if outcome.reason is None else outcome.reason.value,
        "text": escape_optional(outcome.text),
        "blocker": None if outcome.blocked_by is None else escape(str(outcome.blocked_by)),
        "writer": f"{entry.writer.value} as a materialized view" if entry.materialized else entry.writer.value,
        "dialect": escape(entry.dialect),
        "level": entry.level,
        "reads": [escape(str(name)) for name in entry.reads],
        "changes": [escape(change, lines=True) for change in entry.changes],
        "engines": [escape(item, lines=True) for item in entry.engines],
        "damages": [escape(item, lines=True) for item in outcome.damages],
        "rows": escape_optional(check_result),
        # The difference holds both texts.
        "pieces": [[kind, escape(text, lines=True)] for kind, text in pieces],
        "old": None if pieces else escape_optional(entry.old_text),
        "new": None if pieces or entry.new_text == entry.old_text else escape_optional(entry.new_text),
        "same": entry.old_text is not None and entry.old_text == entry.new_text,
        "original": None if entry.old_original == entry.old_text else escape_optional(entry.old_original),
        "seconds": round(outcome.seconds, 4),
        "writing": round(outcome.writing, 4),
        "file": escape_optional(outcome.metadata_location),
        "backup": escape_optional(outcome.backup),
    }
