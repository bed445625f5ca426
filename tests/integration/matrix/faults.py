"""Run the complete fault matrix on servers: `python -m tests.integration.matrix.faults [release/database …]`.

It writes a row for each kind of fault into docs/servers.md. `tests.faults.fault_matrix` describes the cases.
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
from tests.integration.matrix.page import update_table
from tests.versions.environments import REPOSITORY

HEADING = "Faults"
SUITE = "tests/faults/test_fault_matrix.py"
CLUSTER = "tests/faults/test_cluster.py"
"""Run for the default release on PostgreSQL only."""


def results_path(server: str) -> Path:
    """The file with a line of JSON per case."""
    return REPOSITORY / "build" / f"faults-{server.replace('/', '-')}.jsonl"


def run(server: str) -> int:
    """Run all cases on a server; returns the exit code of pytest."""
    results = results_path(server)
    results.parent.mkdir(exist_ok=True)
    results.write_text("")
    variables = {
        "HIVE_VIEWS_TEST_SERVER": server,
        "HIVE_VIEWS_WHOLE_FAULTS": "1",
        "HIVE_VIEWS_FAULT_RESULTS": str(results),
    }
    suites = [SUITE, CLUSTER] if server == f"{DEFAULT}/postgresql" else [SUITE]
    command = [sys.executable, "-m", "pytest", "-q", *suites]
    return subprocess.run(command, cwd=REPOSITORY, env={**os.environ, **variables}, check=False).returncode


def table_rows(server: str) -> list[str]:
    """The rows of the table, one for each kind of fault."""
    by_fault: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in results_path(server).read_text().splitlines():
        case = json.loads(line)
        by_fault[case["fault"]].append(case)
    rows = []
    for fault, cases in by_fault.items():
        outcomes = [sum(case["outcome"] == outcome for case in cases) for outcome in ("done", "refused", "unknown")]
        leftover_locks, failures = (sum(bool(case[key]) for case in cases) for key in ("left lock", "wrong"))
        numbers = " | ".join(map(str, [len(cases), *outcomes, failures, leftover_locks]))
        rows.append(f"| {server} | {fault} | {numbers} | {date.today()} |")
    return rows


def main() -> int:
    """Run the requested servers, or the server of HIVE_VIEWS_TEST_SERVER."""
    failed = False
    for server in sys.argv[1:] or [SERVER]:
        failed |= bool(run(server))
        rows = table_rows(server)
        print("\n".join(rows), flush=True)
        if rows:
            update_table(HEADING, rows)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
