"""Reports of fault matrix cases: each as a subtest, and optionally as a line of JSON for docs/servers.md."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.faults.fault_matrix import Result

ALL_CASES = os.environ.get("HIVE_VIEWS_WHOLE_FAULTS") == "1"
"""Whether to run all cases instead of a sample."""

RESULTS = os.environ.get("HIVE_VIEWS_FAULT_RESULTS")
"""A file to which a line of JSON is appended for each case."""


def report(results: list[Result], subtests: pytest.Subtests) -> None:
    """Report the results of cases."""
    for result in results:
        if RESULTS:
            line = {
                "operation": result.case.operation.name,
                "fault": result.case.fault.name,
                "outcome": result.outcome.value if result.outcome else None,
                "wrong": result.problems,
                "left lock": result.left_lock,
                "error": result.error_text,
                "case": str(result.case),
                "seconds": round(result.seconds, 2),
            }
            with Path(RESULTS).open("a") as out:
                out.write(json.dumps(line) + "\n")
        with subtests.test(str(result.case)):
            assert not result.problems, f"{result.outcome} {result.error_text}\n" + "\n".join(result.problems)
