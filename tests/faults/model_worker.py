"""Clients that may be killed: `python -m tests.faults.model_worker` imports everything once and forks one per order.

An order is a line of JSON, see `Order`; the answer is the new process's id. The process executes its change, writes
the outcome to a file, and exits; the test may kill it at any moment.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from hive_views import HiveViewCatalog
from tests.faults.observer import until
from tests.integration.catalog.samples import SCHEMA, version


@dataclass(frozen=True)
class Change:
    """One change of a view."""

    kind: str
    """`create`, `replace`, `create or replace`, `color`, `roll back`, `rename`, `drop` or `register`."""
    name: str
    text: str = ""
    """The new text."""
    color: str = ""
    """The new value of the property `color`."""
    new: str = ""
    """The new name."""
    location: str = ""
    """The metadata file to register."""


def make(catalog: HiveViewCatalog, database: str, change: Change) -> object:
    """Execute a change."""
    at = (database, change.name)
    texts = version(database, ("spark", change.text))
    match change.kind:
        case "create":
            return catalog.create_view(at, SCHEMA, texts)
        case "replace":
            return catalog.replace_view(at, SCHEMA, texts)
        case "create or replace":
            return catalog.create_or_replace_view(at, SCHEMA, texts)
        case "color":
            return catalog.load_view(at).update().set_properties(color=change.color).commit()
        case "roll back":
            return catalog.load_view(at).update().rollback(version_id=1).commit()
        case "rename":
            return catalog.rename_view(at, (database, change.new))
        case "drop":
            return catalog.drop_view(at)
        case "register":
            return catalog.register_view(at, change.location)
    raise AssertionError(change.kind)


@dataclass(frozen=True)
class Order:
    """The order for one process."""

    properties: dict[str, str]
    database: str
    change: Change
    note: str
    """The file for the outcome; missing until the end."""


class Mortal:
    """A process that executes a change."""

    def __init__(self, pid: int, note: Path) -> None:
        self._pid = pid
        self._note = note

    @property
    def ended(self) -> bool:
        """Return whether it has ended."""
        return self._note.exists()

    def kill(self) -> str | None:
        """Kill it and wait; return the outcome if it had ended before."""
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        until(lambda: not Path(f"/proc/{self._pid}").exists())
        return self._note.read_text() if self.ended else None


class Worker:
    """The process that forks the others, as a context manager.

    Args:
        directory: Where their notes are.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._count = 0
        self._process: subprocess.Popen[str] | None = None

    def begin(self, properties: dict[str, str], database: str, change: Change) -> Mortal:
        """Execute a change in a new process."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        self._count += 1
        note = self._directory / f"{self._count}.txt"
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(Order(properties, database, change, str(note)))) + "\n")
        self._process.stdin.flush()
        return Mortal(int(self._process.stdout.readline()), note)

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.communicate(timeout=60)


def serve() -> None:
    """Fork a process for each order."""
    # No process waits for the children; ignoring SIGCHLD avoids zombies.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        given = json.loads(line)
        order = Order(**{**given, "change": Change(**given["change"])})
        pid = os.fork()
        if pid == 0:
            obey(order)
        print(pid, flush=True)


def obey(order: Order) -> None:
    """Execute the change and exit."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    outcome = "done"
    try:
        make(HiveViewCatalog("prod", **order.properties), order.database, order.change)
    except BaseException as error:  # noqa: BLE001 -- whatever it is, the test judges it
        outcome = f"{type(error).__name__}: {error}"
    finally:
        # Atomically: a partial outcome would be misread.
        part = Path(f"{order.note}.part")
        part.write_text(outcome)
        part.rename(order.note)
        os._exit(0)


if __name__ == "__main__":
    serve()
