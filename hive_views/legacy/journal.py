"""The journal of a run: one JSON object a line; what announces a change is on the disk before that is made.

The first line holds the plan. `prepared` says which files were written, and holds the legacy row, before the row is
swapped; `outcome` says how it ended; `reverted` that the legacy row is back. A line that was cut off by a crash is the
last one, and is taken away when the journal is opened again. One process at a time writes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from hive_views.errors import JournalError, PlanError
from hive_views.identifiers import ViewName
from hive_views.legacy.outcome import Outcome
from hive_views.legacy.plan import Plan, read_plan

FORMAT = 1
"""The number of the journal's form."""


@dataclass(frozen=True)
class Prepared:
    """What was announced for a view before its row was swapped."""

    name: ViewName
    """The legacy view."""
    target: ViewName
    """The Iceberg view."""
    row: str
    """The legacy row; see `hive_views.legacy.backup.unpacked`."""
    backup: str
    """URI of the file that holds it as well."""
    metadata_location: str
    """URI of the new metadata file."""
    storage: str | None = None
    """For a materialized view: what is done about its storage; see `hive_views.legacy.storage.Storage`."""


@dataclass
class History:
    """What a journal says."""

    plan: Plan
    """The plan that is run."""
    prepared: dict[ViewName, list[Prepared]] = field(default_factory=dict)
    """Announcements by name, in order."""
    outcomes: dict[ViewName, Outcome] = field(default_factory=dict)
    """The last outcome by name."""
    reverted: dict[ViewName, str] = field(default_factory=dict)
    """Views whose legacy row was put back since: the outcome's word for it."""

    def take(self, event: dict[str, Any], *, rows: bool = True) -> None:
        """Take in one line after the first.

        Args:
            event: The line.
            rows: Whether the legacy row is kept, which only a revert needs.

        Raises:
            KeyError, ValueError, TypeError: If it is none of a journal's.
        """
        name = ViewName.parse(event["name"])
        if event["event"] == "prepared":
            item = Prepared(
                name,
                ViewName.parse(event["target"]),
                event["row"] if rows else "",
                event["backup"],
                event["metadata_location"],
                event.get("storage"),
            )
            self.prepared.setdefault(name, []).append(item)
        elif event["event"] == "outcome":
            self.outcomes[name] = Outcome.from_json(event["outcome"])
            self.reverted.pop(name, None)
        elif event["event"] == "reverted":
            self.reverted[name] = event["result"]
        else:
            raise ValueError(f"an event {event['event']!r}")


class Journal:
    """A journal that is open for writing; a context manager. Its notes may be made by several threads."""

    def __init__(self, path: Path, plan: Plan | None = None) -> None:
        """Open a journal, or begin one.

        Args:
            path: Its file.
            plan: The plan to run; needed to begin one. One that is there must be of the same plan. The legacy rows
                are not kept in memory then.

        Raises:
            JournalError: If another process writes it, it is of another plan, or broken.
        """
        self.path = path
        self._guard = threading.Lock()
        self._rows = plan is None
        try:
            self._file = path.open("a+b")
        except OSError as error:
            raise JournalError(str(path), str(error)) from error
        try:
            self.history = self._open(plan)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # What could not be written was said when it was: closing tries again.
        with contextlib.suppress(OSError):
            self._file.close()

    def _open(self, plan: Plan | None) -> History:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise JournalError(str(self.path), "another run is writing it; wait for its end") from None
        self._file.seek(0)
        data = self._file.read()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            self._file.truncate(whole)  # the line that a crash cut off
        if whole:
            history = _history(self.path, data[:whole], rows=self._rows)
            if plan is not None:
                _check_plan(self.path, history, plan)
            return history
        if plan is None:
            raise JournalError(str(self.path), "it is empty")
        self._write({"event": "plan", "format": FORMAT, "plan": plan.to_json()})
        _sync_directory(self.path)
        return History(plan)

    def prepared(self, item: Prepared) -> None:
        """Announce what will take a row's place; on the disk when this returns."""
        self._note(
            {
                "event": "prepared",
                "name": str(item.name),
                "target": str(item.target),
                "backup": item.backup,
                "metadata_location": item.metadata_location,
                "row": item.row,
                **({} if item.storage is None else {"storage": item.storage}),
            }
        )

    def outcome(self, outcome: Outcome) -> None:
        """Note how a view ended; on the disk with the next announcement: the view itself says it, too."""
        self._note({"event": "outcome", "name": str(outcome.name), "outcome": outcome.to_json()}, sync=False)

    def reverted(self, name: ViewName, result: str) -> None:
        """Note that a view's legacy row is back, or what became of it otherwise."""
        self._note({"event": "reverted", "name": str(name), "result": result})

    def _note(self, event: dict[str, Any], *, sync: bool = True) -> None:
        with self._guard:
            self._write({**event, "at": round(time.time(), 3)}, sync=sync)
            self.history.take(event, rows=self._rows)

    def _write(self, event: dict[str, Any], *, sync: bool = True) -> None:
        data = json.dumps(event, ensure_ascii=True).encode() + b"\n"
        try:
            self._file.write(data)
            self._file.flush()
            if sync:
                os.fsync(self._file.fileno())
        except OSError as error:
            raise JournalError(str(self.path), str(error)) from error


def read_journal(path: Path) -> History:
    """Read a journal, also while a run is writing it.

    Args:
        path: Its file.

    Returns:
        What it says.

    Raises:
        JournalError: If it cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise JournalError(str(path), str(error)) from error
    return _history(path, data[: data.rfind(b"\n") + 1])


def known_history(path: Path, plan: Plan) -> History | None:
    """What the journal of a plan says that is to be run, or run on.

    Args:
        path: Its file.
        plan: The plan.

    Returns:
        What it says, without the legacy rows; None where it was not begun, or that was cut off.

    Raises:
        JournalError: If it cannot be read, or is of another plan.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise JournalError(str(path), str(error)) from error
    whole = data.rfind(b"\n") + 1
    if not whole:
        return None
    history = _history(path, data[:whole], rows=False)
    _check_plan(path, history, plan)
    return history


def _check_plan(path: Path, history: History, plan: Plan) -> None:
    if history.plan != plan:
        raise JournalError(str(path), "it is of another plan; give each plan a journal of its own")


def _history(path: Path, data: bytes, *, rows: bool = True) -> History:
    lines = data.splitlines()
    try:
        first = json.loads(lines[0])
        if first["event"] != "plan" or first["format"] != FORMAT:
            raise ValueError("its first line is no plan of a format that this version reads")
        history = History(read_plan(json.dumps(first["plan"])))
        for line in lines[1:]:
            history.take(json.loads(line), rows=rows)
    except (IndexError, KeyError, ValueError, TypeError, PlanError) as error:
        raise JournalError(str(path), f"it is no journal of an import: {error!r}") from error
    return history


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
