"""Run the whole fault matrix on each server: `python -m tests.integration.matrix.faults [release/database …]`.

docs/servers.md gets a row for each kind of fault. See `tests.faults.fault_matrix` for what a case is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from datetime import date
from pathlib import Path
from typing import Any

from hive_views.local_metastore.distributions import DEFAULT
from tests.conftest import SERVER
from tests.integration.matrix.__main__ import ROOT
from tests.integration.matrix.page import put

HEADING = "Faults"
SUITE = "tests/faults/test_fault_matrix.py"
CLUSTER = "tests/faults/test_cluster.py"
"""Of the default release on PostgreSQL only."""


def results_of(server: str) -> Path:
    """The file that gets a line of JSON for each case."""
    return ROOT / "build" / f"faults-{server.replace('/', '-')}.jsonl"


def run(server: str) -> int:
    """Run all cases on one server."""
    results = results_of(server)
    results.parent.mkdir(exist_ok=True)
    results.write_text("")
    whole = {"HIVE_VIEWS_TEST_SERVER": server, "HIVE_VIEWS_WHOLE_FAULTS": "1", "HIVE_VIEWS_FAULT_RESULTS": str(results)}
    suites = [SUITE, CLUSTER] if server == f"{DEFAULT}/postgresql" else [SUITE]
    command = [sys.executable, "-m", "pytest", "-q", *suites]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **whole}, check=False).returncode


def rows_of(server: str) -> list[str]:
    """The rows of the table that a run's results make, one for each kind of fault."""
    by_fault: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in results_of(server).read_text().splitlines():
        case = json.loads(line)
        by_fault[case["fault"]].append(case)
    rows = []
    for fault, cases in by_fault.items():
        told = [sum(case["outcome"] == outcome for case in cases) for outcome in ("done", "refused", "unknown")]
        left, wrong = (sum(bool(case[key]) for case in cases) for key in ("left lock", "wrong"))
        numbers = " | ".join(map(str, [len(cases), *told, wrong, left]))
        rows.append(f"| {server} | {fault} | {numbers} | {date.today()} |")
    return rows


def main() -> int:
    """Run the servers that are named, or the one for this run, and write the page."""
    failed = False
    for server in sys.argv[1:] or [SERVER]:
        failed |= bool(run(server))
        rows = rows_of(server)
        print("\n".join(rows), flush=True)
        if rows:
            put(HEADING, rows)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
