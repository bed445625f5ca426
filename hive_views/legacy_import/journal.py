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
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from hive_views.errors import JournalError, PlanError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.outcome import Outcome
from hive_views.legacy_import.plan import Plan, plan_hook

FORMAT = 1
"""The number of the journal's form."""

_SIGN = b'{"event": "plan", "format": '
_BEGIN = _SIGN + f'{FORMAT}, "plan": '.encode()


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was announced for a view before its row was swapped."""

    name: ViewName
    """The legacy view."""
    target: ViewName
    """The Iceberg view."""
    row: str
    """The legacy row; see `hive_views.legacy_import.backup.unpacked`."""
    backup: str
    """URI of the file that holds it as well."""
    metadata_location: str
    """URI of the new metadata file."""
    storage: str | None = None
    """For a materialized view: what is done about its storage; see `hive_views.legacy_import.storage.Storage`."""


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
    size: int = field(default=0, compare=False)
    """How many bytes of the file were read: whole lines."""

    def take(self, event: dict[str, Any], *, rows: bool = True) -> None:
        """Take in one line after the first."""
        name = ViewName.from_text(event["name"])
        if event["event"] == "prepared":
            item = Prepared(
                name,
                ViewName.from_text(event["target"]),
                event["row"] if rows else "",
                event["backup"],
                event["metadata_location"],
                event.get("storage"),
            )
            self.announced(item)
        elif event["event"] == "outcome":
            self.ended(Outcome.from_json(event["outcome"]))
        elif event["event"] == "reverted":
            self.reverted[name] = event["result"]
        else:
            raise ValueError(f"an event {event['event']!r}")

    def announced(self, item: Prepared) -> None:
        """Take in what was announced."""
        self.prepared.setdefault(item.name, []).append(item)

    def ended(self, outcome: Outcome) -> None:
        """Take in how a view ended."""
        self.outcomes[outcome.name] = outcome
        self.reverted.pop(outcome.name, None)


class Journal:
    """A journal that is open for writing; a context manager. Its notes may be made by several threads."""

    def __init__(self, path: Path, plan: Plan | None = None) -> None:
        """Open a journal, or begin one."""
        self.path = path
        self._guard = threading.Lock()
        self._rows = plan is None
        if path.exists() and not path.is_file():
            raise JournalError(str(path), "it is no file; name one")
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
        history = _history(self.path, self._file, plan, rows=self._rows)
        if history is not None:
            self._file.truncate(history.size)  # without the line that a crash cut off
            return history
        if plan is None:
            raise JournalError(str(self.path), "it is empty")
        self._file.seek(0)
        if not _BEGIN.startswith(self._file.read(len(_BEGIN))):
            raise JournalError(str(self.path), "it is no journal of an import, and is left as it is")
        self._file.truncate(0)
        self._begin(plan)
        _sync_directory(self.path)
        return History(plan)

    def _begin(self, plan: Plan) -> None:
        # As one object in pieces: of thousands of views it is long.
        self._put(_BEGIN)
        for piece in plan.json_pieces(ensure_ascii=True):
            self._put(piece.encode())
        self._put(b"}\n")
        self._flush(sync=True)

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
            },
            lambda history: history.announced(item if self._rows else replace(item, row="")),
        )

    def outcome(self, outcome: Outcome) -> None:
        """Note how a view ended; on the disk with the next announcement: the view itself says it, too."""
        event = {"event": "outcome", "name": str(outcome.name), "outcome": outcome.to_json()}
        self._note(event, lambda history: history.ended(outcome), sync=False)

    def reverted(self, name: ViewName, result: str) -> None:
        """Note that a view's legacy row is back, or what became of it otherwise."""
        event = {"event": "reverted", "name": str(name), "result": result}
        self._note(event, lambda history: history.reverted.update({name: result}))

    def forget(self, name: ViewName) -> None:
        """Do not keep what was announced for a view: it is converted. The file keeps it."""
        with self._guard:
            self.history.prepared.pop(name, None)

    def _note(self, event: dict[str, Any], taken: Callable[[History], None], *, sync: bool = True) -> None:
        with self._guard:
            self._put(json.dumps({**event, "at": round(time.time(), 3)}, ensure_ascii=True).encode() + b"\n")
            self._flush(sync=sync)
            taken(self.history)

    def _put(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            raise JournalError(str(self.path), str(error)) from error

    def _flush(self, *, sync: bool) -> None:
        try:
            self._file.flush()
            if sync:
                os.fsync(self._file.fileno())
        except OSError as error:
            raise JournalError(str(self.path), str(error)) from error


def is_journal(path: Path) -> bool:
    """Whether a file is a journal, of whatever format, begun by a run: it holds the legacy rows."""
    try:
        with path.open("rb") as file:
            return file.read(len(_SIGN)) == _SIGN
    except OSError:
        return False


def read_journal(path: Path) -> History:
    """Read a journal, also while a run is writing it."""
    if path.exists() and not path.is_file():
        raise JournalError(str(path), "it is no file; name one")
    try:
        with path.open("rb") as file:
            history = _history(path, file, None, rows=True)
    except OSError as error:
        raise JournalError(str(path), str(error)) from error
    if history is None:
        raise JournalError(str(path), "it is no journal of an import: it has no line")
    return history


def known_history(path: Path, plan: Plan) -> History | None:
    """What the journal of a plan says that is to be run, or run on."""
    try:
        with path.open("rb") as file:
            return _history(path, file, plan, rows=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise JournalError(str(path), str(error)) from error


def _history(path: Path, file: IO[bytes], plan: Plan | None, *, rows: bool) -> History | None:
    """What a journal says, line by line; None without a whole line. The plan is the given one, if it is equal."""
    history = None
    try:
        for line in file:
            if not line.endswith(b"\n"):
                break  # cut off by a crash, or on its way
            if history is None:
                history = History(_plan(path, line, plan))
            else:
                history.take(json.loads(line), rows=rows)
            history.size += len(line)
    except (KeyError, ValueError, TypeError, AttributeError, PlanError) as error:
        raise JournalError(str(path), f"it is no journal of an import: {error!r}") from error
    return history


def _plan(path: Path, line: bytes, plan: Plan | None) -> Plan:
    first = json.loads(line, object_hook=plan_hook())
    if first["event"] != "plan" or first["format"] != FORMAT:
        raise ValueError("its first line is no plan of a format that this version reads")
    found = Plan.from_json(first["plan"])
    if plan is not None and found != plan:
        raise JournalError(str(path), "it is of another plan; give each plan a journal of its own")
    return plan or found


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
