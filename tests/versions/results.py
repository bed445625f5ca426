"""The results of the matrix: values, and the JSON document that keeps the last one of each combination."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

RECORDED = Path(__file__).with_name("results.json")
"""The results that docs/compatibility.md shows; part of the repository."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What the tests of one combination returned."""

    name: str
    python: str
    versions: Mapping[str, str]
    """The versions of the packages that the table names."""
    commit: str
    """The commit whose code was tested."""
    date: str
    """The day of the run, ISO 8601."""
    passed: int
    failed: int
    skipped: int
    seconds: int

    @property
    def is_complete(self) -> bool:
        """Whether the tests ran and none failed."""
        return self.passed > 0 and self.failed == 0


_LONGEST_TURN = 12 * 60
"""In seconds, so that a landing ends within an hour."""


def is_short(result: Result | None) -> bool:
    """Return whether a combination passed and is short enough to be run at a landing."""
    return result is not None and result.is_complete and result.seconds <= _LONGEST_TURN


@dataclass(frozen=True)
class Counts:
    """The outcomes of a run of pytest."""

    passed: int
    failed: int
    skipped: int


def read_counts(report: Path) -> Counts:
    """Return the counts in a JUnit report; a missing report, or one of no test, counts as one failure."""
    if not report.exists():
        return Counts(0, 1, 0)
    suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
    total = sum(int(suite.get("tests", 0)) for suite in suites)
    failed = sum(int(suite.get(key, 0)) for suite in suites for key in ("failures", "errors"))
    skipped = sum(int(suite.get("skipped", 0)) for suite in suites)
    return Counts(total - failed - skipped, failed, skipped) if total else Counts(0, 1, 0)


def read_results(path: Path = RECORDED) -> dict[str, Result]:
    """Return the recorded results by the name of their combination."""
    if not path.exists():
        return {}
    return {entry["name"]: Result(**entry) for entry in json.loads(path.read_text())}


def write_results(results: Iterable[Result], path: Path = RECORDED) -> None:
    """Write results, one per line, sorted by name."""
    lines = [json.dumps(asdict(result)) for result in sorted(results, key=lambda result: result.name)]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")
