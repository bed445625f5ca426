"""What an examination finds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from hive_views.errors import MetastoreError


class Level(str, Enum):
    """How bad it is."""

    OK = "ok"
    """Nothing to do."""
    WARNING = "warning"
    """It works, with a restriction that the advice names."""
    PROBLEM = "problem"
    """Something will fail, or lose data."""
    SKIPPED = "skipped"
    """Not examined, because it was not asked for."""


@dataclass(frozen=True)
class Finding:
    """One result."""

    check: str
    """What was examined: a name that does not change, e.g. `compare-and-swap`."""
    level: Level
    """How bad it is."""
    subject: str
    """What it is about: a URI, a database, a view …"""
    message: str
    """What was found."""
    advice: str | None = None
    """What to do; None where nothing is."""
    details: Mapping[str, object] = field(default_factory=dict)
    """What was measured."""


@dataclass(frozen=True)
class Report:
    """All results."""

    level: Level
    """The worst of them: `ok`, `warning` or `problem`."""
    findings: tuple[Finding, ...]
    """The results, in the order in which they were found."""


def guarded(check: str, subject: str, findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings of one check; a failure that it did not expect ends it, and is a finding itself."""
    try:
        yield from findings
    except MetastoreError as error:
        yield Finding(check, Level.PROBLEM, subject, str(error), "Look into the server's log")


def short(text: str) -> str:
    """A text of somebody else's in one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= 200 else f"{line[:199]}…"
