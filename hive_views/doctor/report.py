"""The results of an examination."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from hive_views.errors import MetastoreError
from hive_views.text_enum import TextEnum

ProgressDisplay = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
"""Displays the progress of a step, whose name it is given: the function that the context manager yields is called with
the numbers of finished and of all views. No finding is reported before the context manager is left."""


def show_nothing(_step: str) -> AbstractContextManager[Callable[[int, int], None]]:
    """Return a `ProgressDisplay` that displays nothing."""
    return nullcontext(lambda _finished, _all: None)


class Level(TextEnum):
    """The severity of a finding."""

    OK = "ok"
    """Nothing to do."""
    WARNING = "warning"
    """It works with a restriction; see the advice."""
    PROBLEM = "problem"
    """Something will fail, or lose data."""
    SKIPPED = "skipped"
    """Not examined, because not requested."""


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    check: str
    """The stable name of the check, e.g. `compare-and-swap`."""
    level: Level
    """The severity."""
    subject: str
    """What was examined: a URI, a database, a view …"""
    message: str
    """What was found."""
    advice: str | None = None
    """What to do; None if there is nothing to do."""
    details: Mapping[str, object] = field(default_factory=dict)
    """The measured values."""


@dataclass(frozen=True)
class DoctorReport:
    """The results of all checks."""

    level: Level
    """The worst level: `ok`, `warning` or `problem`."""
    findings: tuple[Finding, ...]
    """The findings, in the order of the checks."""


def report_failure(check: str, subject: str, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings of a check; report an unexpected metastore error as a finding."""
    try:
        yield from findings
    except MetastoreError as error:
        yield Finding(check, Level.PROBLEM, subject, str(error), "Look into the server's log")


def abbreviate(text: str) -> str:
    """Return an external text in one line of at most 200 characters."""
    line = " ".join(text.split())
    return line if len(line) <= 200 else f"{line[:199]}…"
