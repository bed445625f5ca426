"""`make test-matrix`: the tests of the catalog on every server, one after the other; docs/servers.md gets the result.

`python -m tests.integration.matrix 4.0.1/postgresql 3.1.3` runs only these servers and replaces their table rows.
"""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

from tests.integration.matrix.page import put

ROOT = Path(__file__).parents[3]
HEADING = "Test results by server"
RELEASES = ("3.1.3", "4.0.1", "4.1.0", "4.2.0")
SERVERS = ("2.3.10", *(f"{release}{place}" for release in RELEASES for place in ("", "/postgresql", "/mysql")))
SUITES = ("tests/integration/metastore", "tests/conformance", "tests/integration/catalog", "tests/faults")
APART = (
    *(f"tests/integration/metastore/{name}.py" for name in ("test_embedded", "test_security", "test_standalone")),
    *(f"tests/faults/{name}.py" for name in ("test_cluster", "test_evidence", "test_loss", "test_races")),
)
"""They start metastores of their own, whichever server the run is for."""


def run(server: str) -> str:
    """Run the tests on one server, each suite with a metastore of its own; its row of the table."""
    count = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    apart = [f"--ignore={path}" for path in APART]
    failed: set[str] = set()
    took = 0.0
    for suite in SUITES:
        report = ROOT / "build" / f"matrix-{server.replace('/', '-')}-{Path(suite).name}.xml"
        report.parent.mkdir(exist_ok=True)
        report.unlink(missing_ok=True)
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", f"--junit-xml={report}", *apart, suite],
            cwd=ROOT,
            env={**os.environ, "HIVE_VIEWS_TEST_SERVER": server},
            check=False,
        )
        told = next(ElementTree.parse(report).iter("testsuite"))
        took += float(told.get("time", 0))
        for key in count:
            count[key] += int(told.get(key, 0))
        bad = (case for case in told.iter("testcase") if case.find("failure") is not None)
        failed |= {case.get("name", "") for case in bad}
    passed = count["tests"] - count["failures"] - count["errors"] - count["skipped"]
    said = ", ".join(f"`{name}`" for name in sorted(failed)[:5]) + (" …" if len(failed) > 5 else "")
    wrong = count["failures"] + count["errors"]
    return f"| {server} | {passed} | {count['skipped']} | {wrong} | {said} | {took:.0f} s | {date.today()} |"


def main() -> int:
    """Run what was asked for, and write the page."""
    failed = False
    for server in sys.argv[1:] or SERVERS:
        row = run(server)
        print(row)
        failed |= row.split(" | ")[3] != "0"
        put(HEADING, [row])
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
