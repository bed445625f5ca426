"""How cases of the fault matrix are reported: each as a test of its own, and as a line for docs/servers.md."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.faults.every_call import Result

WHOLE = os.environ.get("HIVE_VIEWS_WHOLE_FAULTS") == "1"
"""Whether all cases are to be run."""

RESULTS = os.environ.get("HIVE_VIEWS_FAULT_RESULTS")
"""A file that gets a line of JSON for each case."""


def report(results: list[Result], subtests: pytest.Subtests) -> None:
    """Say how cases ended."""
    for result in results:
        if RESULTS:
            line = {
                "deed": result.case.deed.name,
                "fault": result.case.fault.name,
                "outcome": result.outcome.value if result.outcome else None,
                "wrong": result.wrong,
                "left lock": result.left_lock,
                "told": result.told,
                "case": str(result.case),
                "seconds": round(result.seconds, 2),
            }
            with Path(RESULTS).open("a") as out:
                out.write(json.dumps(line) + "\n")
        with subtests.test(str(result.case)):
            assert not result.wrong, f"{result.outcome} {result.told}\n" + "\n".join(result.wrong)
