"""`make test-matrix`: run the catalog tests on each server, and update docs/servers.md.

`python -m tests.integration.matrix 4.0.1/postgresql 3.1.3` runs only these servers and replaces their table rows.
"""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

from tests.integration.matrix.page import update_table

ROOT = Path(__file__).parents[3]
HEADING = "Test results by server"
RELEASES = ("3.1.3", "4.0.1", "4.1.0", "4.2.0", "4.2.1")
SERVERS = ("2.3.10", *(f"{release}{database}" for release in RELEASES for database in ("", "/postgresql", "/mysql")))
SUITES = ("tests/integration/metastore", "tests/conformance", "tests/integration/catalog", "tests/faults")
EXCLUDED = (
    *(f"tests/integration/metastore/{name}.py" for name in ("test_embedded", "test_security", "test_standalone")),
    *(f"tests/faults/{name}.py" for name in ("test_cluster", "test_evidence", "test_loss", "test_races")),
)
"""Tests that start their own metastores, independent of the server."""


def run(server: str) -> str:
    """Run the tests on a server, with one metastore per suite; returns the row of the table."""
    count = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    ignored = [f"--ignore={path}" for path in EXCLUDED]
    failed: set[str] = set()
    seconds = 0.0
    for suite in SUITES:
        report = ROOT / "build" / f"matrix-{server.replace('/', '-')}-{Path(suite).name}.xml"
        report.parent.mkdir(exist_ok=True)
        report.unlink(missing_ok=True)
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", f"--junit-xml={report}", *ignored, suite],
            cwd=ROOT,
            env={**os.environ, "HIVE_VIEWS_TEST_SERVER": server},
            check=False,
        )
        results = next(ElementTree.parse(report).iter("testsuite"))
        seconds += float(results.get("time", 0))
        for key in count:
            count[key] += int(results.get(key, 0))
        failed_cases = (case for case in results.iter("testcase") if case.find("failure") is not None)
        failed |= {case.get("name", "") for case in failed_cases}
    passed = count["tests"] - count["failures"] - count["errors"] - count["skipped"]
    names = ", ".join(f"`{name}`" for name in sorted(failed)[:5]) + (" …" if len(failed) > 5 else "")
    failure_count = count["failures"] + count["errors"]
    return (
        f"| {server} | {passed} | {count['skipped']} | {failure_count} | {names} | {seconds:.0f} s | {date.today()} |"
    )


def main() -> int:
    """Run the requested servers, or all of them."""
    failed = False
    for server in sys.argv[1:] or SERVERS:
        row = run(server)
        print(row)
        failed |= row.split(" | ")[3] != "0"
        update_table(HEADING, [row])
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
