"""What the clients of a soak were told, written down by themselves: an append-only file of JSON lines a client.

An entry is written before a call and one after it. A line reaches the operating system before the call begins, so a
client that is killed leaves what it tried.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

FOREVER = 1 << 62
"""The end of what never ended: its request may still arrive."""


class Outcome(Enum):
    """What a client was told."""

    DONE = "done"
    """It was made."""
    REFUSED = "refused"
    """It failed and changed nothing."""
    UNKNOWN = "unknown"
    """Nobody can tell."""
    CUT_SHORT = "cut short"
    """Nothing: the client was killed."""

    @property
    def is_doubtful(self) -> bool:
        """Whether it may have been made or not."""
        return self in (Outcome.UNKNOWN, Outcome.CUT_SHORT)


class Ledger:
    """Where one process writes; each of its clients has a file of its own.

    Args:
        directory: The directory of all ledgers.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files: dict[int, int] = {}
        self._guard = threading.Lock()

    def note(self, client: int, number: int, **entry: Any) -> None:
        """Write one entry about an attempt."""
        with self._guard:
            if client not in self._files:
                path = self._directory / f"{client}.jsonl"
                self._files[client] = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        line = json.dumps({"client": client, "number": number, "at": time.monotonic_ns(), **entry}) + "\n"
        os.write(self._files[client], line.encode())

    @contextmanager
    def attempt(self, client: int, number: int, operation: str, **what: Any) -> Iterator[dict[str, Any]]:
        """Write down that an operation is begun, and that it is done; the caller writes down how else it ends."""
        self.note(client, number, event="try", operation=operation, **what)
        learned: dict[str, Any] = {}
        yield learned
        self.note(client, number, event=Outcome.DONE.value, **learned)


@dataclass
class Attempt:
    """One operation of one client."""

    client: int
    number: int
    operation: str
    start: int
    """When it was begun, in nanoseconds of the machine's monotonic clock."""
    end: int = FOREVER
    """When the client was told."""
    outcome: Outcome = Outcome.CUT_SHORT
    known: dict[str, Any] = field(default_factory=dict)
    """What was written down about it."""

    def get(self, key: str) -> Any:
        """What was written down; None where nothing was."""
        return self.known.get(key)

    def __str__(self) -> str:
        return f"{self.operation} {self.client}/{self.number} ({self.outcome.value}): {self.known}"


def read_ledgers(directory: Path) -> list[Attempt]:
    """All attempts of all clients, by the time at which they were begun."""
    attempts: dict[tuple[int, int], Attempt] = {}
    outcomes = {outcome.value: outcome for outcome in Outcome}
    for path in directory.glob("*.jsonl"):
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            key = entry.pop("client"), entry.pop("number")
            at, event = entry.pop("at"), entry.pop("event")
            if event == "try":
                attempts[key] = Attempt(*key, entry.pop("operation"), at)
            attempt = attempts[key]
            attempt.known.update(entry)
            if event in outcomes:
                attempt.outcome, attempt.end = outcomes[event], at
    return sorted(attempts.values(), key=lambda attempt: attempt.start)
