"""The cost of imports, each in a new process, and a check that neither pyspark nor pyarrow is imported.

In CPU seconds the fastest of several runs counts: what a busy machine adds is not the import's. Where Valgrind is
installed, also the instructions of the whole process, which do not depend on the load. Modules are compiled before, as
`pip install` does, also where PYTHONDONTWRITEBYTECODE is set.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Result

RUNS, QUICK_RUNS = 9, 5
MAX_SECONDS = 0.35
MAX_RATIO = 1.1
_MEASURE = """
import sys, time
started = time.process_time()
{statement}
seconds = time.process_time() - started
heavy = [name for name in ("pyspark", "pyarrow", "pandas", "numpy") if name in sys.modules]
print(seconds, ",".join(heavy))
"""


def run(directory: Path, *, quick: bool = False) -> Iterator[Result]:
    """Measure `import hive_views`, its catalog, and the PyIceberg catalog that it extends, alternating."""
    statements = ("import hive_views", "from hive_views import HiveViewCatalog", "import pyiceberg.catalog.hive")
    seconds: dict[str, list[float]] = {statement: [] for statement in statements}
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(directory / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    for statement in statements:
        _import(statement, environment)
    for _ in range(QUICK_RUNS if quick else RUNS):
        for statement in statements:
            seconds[statement].append(_import(statement, environment))
    plain, catalog, peer = (min(seconds[statement]) for statement in statements)
    yield _result("import hive_views", plain, peer, f"<= {MAX_SECONDS} s", plain <= MAX_SECONDS)
    yield _result(
        "from hive_views import HiveViewCatalog", catalog, peer, f"<= {MAX_RATIO}x", catalog <= MAX_RATIO * peer
    )
    if shutil.which("valgrind") and not quick:
        _, ours, peers = (_million_instructions(statement, environment) for statement in statements)
        yield Result(
            "from hive_views import HiveViewCatalog",
            f"{ours:,.0f} M instructions",
            "import pyiceberg.catalog.hive",
            f"{peers:,.0f} M",
            f"{ours / peers:.3f}x",
            f"<= {MAX_RATIO}x",
            ours <= MAX_RATIO * peers,
        )


def _import(statement: str, environment: dict[str, str]) -> float:
    program = _MEASURE.format(statement=statement)
    output = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, env=environment
    ).stdout.split()
    if "hive_views" in statement and len(output) > 1:
        raise AssertionError(f"`{statement}` loads {output[1]}")
    return float(output[0])


def _million_instructions(statement: str, environment: dict[str, str]) -> float:
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, "-c", statement]
    environment = {**environment, "PYTHONHASHSEED": "0"}
    output = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stderr
    match = re.search(r"Collected : (\d+)", output)
    assert match is not None, output
    return int(match[1]) / 1e6


def _result(what: str, ours: float, peer: float, target: str, met: bool) -> Result:
    return Result(
        what,
        f"{ours:.3f} s",
        "import pyiceberg.catalog.hive",
        f"{peer:.3f} s",
        f"{ours / peer:.2f}x",
        target,
        met,
    )
