"""The journal of a run: one JSON object per line. A line that announces a change is on disk before the change is made.

The first line holds the plan. A `prepared` line, written before a row is swapped, holds the legacy row and the names
of the files that will be written; an `outcome` line records how the conversion ended, and a `reverted` line how a
revert ended. A crash can leave an incomplete last line, which is removed when the journal is opened again. Only one
process at a time writes a journal.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import IO, Annotated, Any

from pydantic import Field, PlainSerializer, TypeAdapter
from typing_extensions import assert_never

from hive_views.errors import JournalError, PlanError
from hive_views.identifiers import ViewName
from hive_views.io.json_lines import LockedLines, complete_lines
from hive_views.legacy_import.legacy_view import Reason
from hive_views.legacy_import.options import NameText
from hive_views.legacy_import.plan import ImportPlan, PlanEntry, PlanStatus
from hive_views.spec.json_text import parse_json
from hive_views.text_enum import TextEnum

FORMAT = 1
"""Version of the journal's format."""

_SIGNATURE = b'{"event": "plan", "format": '


class ImportStatus(TextEnum):
    """How the import of a view ended."""

    CONVERTED = "converted"
    """It is an Iceberg view now."""
    WOULD_CONVERT = "would-convert"
    """A dry run: it would be converted."""
    REFUSED = "refused"
    """It cannot be converted; the legacy view is unchanged."""
    BLOCKED = "blocked"
    """It reads a view that was not converted; it is unchanged."""
    REPORTED = "reported"
    """It is a materialized view that the options leave unchanged."""
    FAILED = "failed"
    """The metastore or the storage failed; it is unchanged. Run again."""
    UNKNOWN = "unknown"
    """The metastore did not report whether it was converted, or it was converted and could not be read back. Run again:
    the next run reads the row."""
    PENDING = "pending"
    """It is not processed yet."""


class RevertStatus(TextEnum):
    """How the revert of a view ended."""

    REVERTED = "reverted"
    """Its legacy row is restored; a copy under another name is dropped."""
    ALREADY = "already"
    """Nothing to do: the legacy row is in place, the copy does not exist, or the run did not convert the view."""
    REFUSED = "refused"
    """It cannot be reverted, e.g. because it was changed since the import; `force` discards such changes."""
    FAILED = "failed"
    """The metastore or the storage failed."""

    @property
    def is_restored(self) -> bool:
        """Whether the legacy view is in place now."""
        return self in (RevertStatus.REVERTED, RevertStatus.ALREADY)


class EventKind(TextEnum):
    """What a line of the journal records."""

    PLAN = "plan"
    PREPARED = "prepared"
    OUTCOME = "outcome"
    REVERTED = "reverted"


_Seconds = Annotated[float, PlainSerializer(lambda seconds: round(seconds, 4))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOutcome:
    """How the import of one view ended."""

    name: NameText
    """The legacy view."""
    target: NameText
    """The Iceberg view."""
    status: ImportStatus
    """How it ended."""
    reason: Reason | None = None
    """The kind of problem, if it was not converted."""
    text: str | None = None
    """A sentence about the problem."""
    blocked_by: NameText | None = None
    """The view that blocks it."""
    seconds: _Seconds = 0.0
    """Time spent on the view, in seconds."""
    writing: _Seconds = 0.0
    """The part of `seconds` spent in writes to the metastore and the storage."""
    swapping: _Seconds = 0.0
    """The part of `writing` spent in the swap of the row: lock, reads, comparison, alter and unlock. It includes waits
    for locks and for other threads of this process, so it exceeds the time that the metastore itself needs."""
    metadata_location: str | None = None
    """URI of the metadata file."""
    backup: str | None = None
    """URI of the file with the legacy row."""
    was_converted_before: Annotated[bool, Field(alias="found")] = False
    """Whether an earlier or a concurrent run converted it."""
    damages: tuple[str, ...] = ()
    """Fields of the row that the metastore's database damaged."""

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as a JSON object."""
        document: dict[str, Any] = _OUTCOME.dump_python(self, mode="json", by_alias=True)
        return document


_OUTCOME = TypeAdapter(ImportOutcome)

_STATUS_BEFORE_RUN = {
    PlanStatus.READY: ImportStatus.PENDING,
    PlanStatus.REFUSED: ImportStatus.REFUSED,
    PlanStatus.BLOCKED: ImportStatus.BLOCKED,
    PlanStatus.REPORTED: ImportStatus.REPORTED,
}


def planned_outcome(entry: PlanEntry) -> ImportOutcome:
    """Return the outcome of a view before a run; it is pending if the view is ready."""
    problem = entry.problem
    return ImportOutcome(
        name=entry.name,
        target=entry.target,
        status=_STATUS_BEFORE_RUN[entry.status],
        reason=None if problem is None else problem.reason,
        text=None if problem is None else problem.text,
        blocked_by=entry.blocked_by,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """The files of a view, announced before they are written and before the row is swapped."""

    name: NameText
    """The legacy view."""
    target: NameText
    """The Iceberg view."""
    row: str
    """The legacy row as `hive_views.legacy_import.backup.row_to_text` writes it."""
    backup: str
    """URI of the backup file for the legacy row."""
    metadata_location: str
    """URI of the new metadata file."""
    storage: str | None = None
    """For a materialized view: its `hive_views.legacy_import.storage.StoragePlan` as text."""
    fingerprint: str | None = None
    """For a view of a REST catalog: what `hive_views.view_copy.metadata.fingerprint` returns for it."""

    def to_json(self) -> dict[str, Any]:
        """Return the journal event."""
        return {"event": EventKind.PREPARED.value, **_ANNOUNCEMENT.dump_python(self, mode="json", exclude_none=True)}


_ANNOUNCEMENT = TypeAdapter(Announcement)


@dataclass(kw_only=True)
class History:
    """The content of a journal."""

    plan: ImportPlan
    """The plan of the run."""
    announcements: dict[ViewName, list[Announcement]] = field(default_factory=dict)
    """Announcements by view, in order."""
    outcomes: dict[ViewName, ImportOutcome] = field(default_factory=dict)
    """The last outcome of each view."""
    converted: dict[ViewName, set[str]] = field(default_factory=dict)
    """The backups of all attempts that converted a view: their files may be in use under another name."""
    reverted: dict[ViewName, RevertStatus] = field(default_factory=dict)
    """The status of the last revert of each view, `refused` and `failed` included, since the view's last outcome."""
    size: int = field(default=0, compare=False)
    """Length of the complete lines, in bytes."""

    def add_event(self, event: dict[str, Any], *, with_rows: bool = True) -> None:
        """Add the event of a line after the first; without `with_rows`, legacy rows are left out to save memory."""
        name = ViewName.from_text(event["name"])
        kind = EventKind(event["event"])
        if kind is EventKind.PREPARED:
            self.add_announcement(_ANNOUNCEMENT.validate_python(event if with_rows else {**event, "row": ""}))
        elif kind is EventKind.OUTCOME:
            self.add_outcome(_OUTCOME.validate_python(event["outcome"]))
        elif kind is EventKind.REVERTED:
            self.reverted[name] = RevertStatus(event["result"])
        elif kind is EventKind.PLAN:
            raise ValueError("a second plan")
        else:
            assert_never(kind)

    def add_announcement(self, announcement: Announcement) -> None:
        """Add an announcement."""
        self.announcements.setdefault(announcement.name, []).append(announcement)

    def add_outcome(self, outcome: ImportOutcome) -> None:
        """Replace the outcome of a view."""
        self.outcomes[outcome.name] = outcome
        if outcome.status is ImportStatus.CONVERTED and outcome.backup is not None:
            self.converted.setdefault(outcome.name, set()).add(outcome.backup)
        self.reverted.pop(outcome.name, None)


class Journal:
    """A journal open for writing; a context manager, safe to share between threads."""

    def __init__(self, path: Path, plan: ImportPlan | None = None) -> None:
        """Open a journal, or create it for a plan; raises JournalError if it is locked, damaged or of another plan."""
        self.path = path
        self._lock = threading.Lock()
        self._with_rows = plan is None
        if path.exists() and not path.is_file():
            raise JournalError(str(path), "it is not a file; name a file")
        if plan is None and not path.exists():
            raise JournalError(str(path), "there is no such file; name the journal of a run")
        try:
            self._lines = LockedLines(path)
        except OSError as error:
            raise JournalError(str(path), str(error)) from error
        try:
            self.history = self._open(plan)
        except BaseException:
            self._lines.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._lines.close()

    def _open(self, plan: ImportPlan | None) -> History:
        history = _read_history(self.path, self._lines.file, plan, with_rows=self._with_rows)
        if history is not None:
            self._lines.truncate(history.size)  # removes a line that a crash cut off
            return history
        if plan is None:
            raise JournalError(str(self.path), "it is empty; name the journal of a run")
        if not _SIGNATURE.startswith(self._lines.file.read(len(_SIGNATURE))):
            raise JournalError(str(self.path), "it is not a journal of an import; name another file")
        self._lines.truncate(0)
        self._write([{"event": EventKind.PLAN.value, "format": FORMAT, "plan": plan.to_json()}], sync=True)
        return History(plan=plan)

    def announce(self, announcements: Iterable[Announcement]) -> None:
        """Record the files and rows of coming conversions; the lines are on disk when this returns."""
        announcements = tuple(announcements)
        if not announcements:
            return

        def update(history: History) -> None:
            for announcement in announcements:
                history.add_announcement(announcement if self._with_rows else replace(announcement, row=""))

        self._append([announcement.to_json() for announcement in announcements], update)

    def record_outcome(self, outcome: ImportOutcome) -> None:
        """Record how the import of a view ended.

        The line is on disk only after the next announcement or revert; until then, a crash can lose it, and only the
        row shows the conversion.
        """
        event = {"event": EventKind.OUTCOME.value, "name": str(outcome.name), "outcome": outcome.to_json()}
        self._append([event], lambda history: history.add_outcome(outcome), sync=False)

    def record_revert(self, name: ViewName, status: RevertStatus) -> None:
        """Record how the revert of a view ended; the line is on disk when this returns."""
        event = {"event": EventKind.REVERTED.value, "name": str(name), "result": status.value}
        self._append([event], lambda history: history.reverted.update({name: status}))

    def forget_announcements(self, name: ViewName) -> None:
        """Drop the announcements of a converted view from memory; the file keeps them."""
        with self._lock:
            self.history.announcements.pop(name, None)

    def _append(self, events: list[dict[str, Any]], update: Callable[[History], None], *, sync: bool = True) -> None:
        at = round(time.time(), 3)
        with self._lock:
            self._write([{**event, "at": at} for event in events], sync=sync)
            update(self.history)

    def _write(self, documents: list[dict[str, Any]], *, sync: bool) -> None:
        try:
            self._lines.append(documents, sync=sync)
        except OSError as error:
            raise JournalError(str(self.path), str(error)) from error


def is_journal(path: Path) -> bool:
    """Return whether a file is the journal of an import, of any format version."""
    try:
        with path.open("rb") as file:
            return file.read(len(_SIGNATURE)) == _SIGNATURE
    except OSError:
        return False


def read_journal(path: Path, *, with_rows: bool = True) -> History:
    """Read a journal, even while a run is writing it.

    Args:
        path: The journal's file.
        with_rows: Whether to read the legacy rows, which are most of a journal; a report does not need them.

    Raises:
        JournalError: If the file cannot be read or is not a journal.
    """
    if path.exists() and not path.is_file():
        raise JournalError(str(path), "it is not a file; name a file")
    try:
        with path.open("rb") as file:
            history = _read_history(path, file, None, with_rows=with_rows)
    except OSError as error:
        raise JournalError(str(path), str(error)) from error
    if history is None:
        raise JournalError(str(path), "it is not a journal of an import: it has no complete line")
    return history


def read_journal_of(path: Path, plan: ImportPlan) -> History | None:
    """Read the journal of a plan without its rows; None if the file does not exist or is empty. Raises JournalError."""
    try:
        with path.open("rb") as file:
            return _read_history(path, file, plan, with_rows=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise JournalError(str(path), str(error)) from error


def _read_history(path: Path, file: IO[bytes], plan: ImportPlan | None, *, with_rows: bool) -> History | None:
    """Read a journal line by line; None if it has no complete line. A given plan must equal the recorded one."""
    history = None
    try:
        for line in complete_lines(file):
            if history is None:
                history = History(plan=_read_plan_line(path, line, plan))
            else:
                history.add_event(parse_json(line), with_rows=with_rows)
            history.size += len(line)
    except (KeyError, ValueError, TypeError, AttributeError, PlanError) as error:
        raise JournalError(str(path), f"it is not a journal of an import: {error!r}") from error
    return history


def _read_plan_line(path: Path, line: bytes, plan: ImportPlan | None) -> ImportPlan:
    event = parse_json(line)
    if event["event"] != EventKind.PLAN or event["format"] != FORMAT:
        raise ValueError("its first line is not a plan of a format that this version reads")
    recorded_plan = ImportPlan.from_json(event["plan"])
    if plan is not None and recorded_plan != plan:
        raise JournalError(str(path), "it is of another plan; give each plan its own journal")
    return plan or recorded_plan
