"""Logs of the operations of clients and their outcomes: an append-only file of JSON lines per client.

Entries are written before and after each operation. An entry reaches the operating system before the operation begins,
so the logs of killed clients contain it.
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
"""The end of an operation that did not end; its request may still arrive."""


class Outcome(Enum):
    """The outcome of an operation for its client."""

    APPLIED = "applied"
    """The operation succeeded."""
    REJECTED = "rejected"
    """The operation failed and changed nothing."""
    UNKNOWN = "unknown"
    """The client raised CommitStateUnknownException."""
    INTERRUPTED = "interrupted"
    """The client was killed."""

    @property
    def is_undetermined(self) -> bool:
        """Whether the operation may have been applied or not."""
        return self in (Outcome.UNKNOWN, Outcome.INTERRUPTED)


class Ledger:
    """Writes the logs of the clients of one process, one file per client.

    Args:
        directory: The directory of all ledgers.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files: dict[int, int] = {}
        self._guard = threading.Lock()

    def note(self, client: int, number: int, **entry: Any) -> None:
        """Write an entry about an operation."""
        with self._guard:
            if client not in self._files:
                path = self._directory / f"{client}.jsonl"
                self._files[client] = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        line = json.dumps({"client": client, "number": number, "at": time.monotonic_ns(), **entry}) + "\n"
        os.write(self._files[client], line.encode())

    @contextmanager
    def attempt(self, client: int, number: int, operation: str, **arguments: Any) -> Iterator[dict[str, Any]]:
        """Write that an operation begins, and that it was applied; the caller writes other outcomes."""
        self.note(client, number, event="try", operation=operation, **arguments)
        result: dict[str, Any] = {}
        yield result
        self.note(client, number, event=Outcome.APPLIED.value, **result)


@dataclass
class Attempt:
    """One operation of one client."""

    client: int
    number: int
    operation: str
    start: int
    """The start time in nanoseconds of the monotonic clock."""
    end: int = FOREVER
    """The time of the outcome."""
    outcome: Outcome = Outcome.INTERRUPTED
    details: dict[str, Any] = field(default_factory=dict)
    """The arguments and results of the operation."""

    def get(self, key: str) -> Any:
        """An argument or a result; None if it was not written."""
        return self.details.get(key)

    def __str__(self) -> str:
        return f"{self.operation} {self.client}/{self.number} ({self.outcome.value}): {self.details}"


def read_ledgers(directory: Path) -> list[Attempt]:
    """The operations of all clients by start time."""
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
            attempt.details.update(entry)
            if event in outcomes:
                attempt.outcome, attempt.end = outcomes[event], at
    return sorted(attempts.values(), key=lambda attempt: attempt.start)
