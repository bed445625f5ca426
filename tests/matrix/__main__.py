"""`make test-matrix`: the tests of the catalog on every server, one after the other; docs/servers.md gets the result.

Named servers (`python -m tests.matrix 4.0.1/postgresql`) are run alone, and their rows of the table replaced.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

from tests.matrix.page import put

ROOT = Path(__file__).parent.parent.parent
HEADING = "The tests on each"
RELEASES = ("3.1.3", "4.0.1", "4.1.0", "4.2.0")
SERVERS = ("2.3.10", *(f"{release}{place}" for release in RELEASES for place in ("", "/postgresql", "/mysql")))
SUITES = ("tests/metastore", "tests/conformance", "tests/catalog", "tests/faults")
# They start metastores of their own, whichever server the run is for.
APART = ("test_embedded.py", "test_security.py", "test_standalone.py")


def run(server: str) -> str:
    """Run the tests on one server; its row of the table."""
    report = ROOT / "build" / f"matrix-{server.replace('/', '-')}.xml"
    report.parent.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    apart = [f"--ignore=tests/metastore/{name}" for name in APART]
    started = time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", f"--junit-xml={report}", *apart, *SUITES, *sys.argv[2:]],
        cwd=ROOT,
        env={**os.environ, "HIVE_VIEWS_TEST_SERVER": server},
        check=False,
    )
    took = time.monotonic() - started
    suite = next(ElementTree.parse(report).iter("testsuite"))
    count = {key: int(suite.get(key, 0)) for key in ("tests", "failures", "errors", "skipped")}
    passed = count["tests"] - count["failures"] - count["errors"] - count["skipped"]
    failed = sorted({case.get("name", "") for case in suite.iter("testcase") if case.find("failure") is not None})
    said = ", ".join(f"`{name}`" for name in failed[:5]) + (" …" if len(failed) > 5 else "")
    bad = count["failures"] + count["errors"]
    return f"| {server} | {passed} | {count['skipped']} | {bad} | {said} | {took:.0f} s | {date.today()} |"


def main() -> int:
    """Run what was asked for, and write the page."""
    wanted = [sys.argv[1]] if len(sys.argv) > 1 else list(SERVERS)
    failed = False
    for server in wanted:
        row = run(server)
        print(row)
        failed |= row.split(" | ")[3] != "0"
        put(HEADING, [row])
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
