"""The older version, and processes of both versions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
OLD_COMMIT = "8a358dc181f5eb18f8a07b09a20ef13d93c57ea9"
"""The last commit before sqlglot 30.8 and Spark 4.2 were accepted."""


def unpack_old(directory: Path) -> Path:
    """Unpack the package and the tests of the older version from git; skip the test in a clone without history."""
    archive = directory / "old.tar"
    command = ["git", "-C", str(REPOSITORY), "archive", f"--output={archive}", OLD_COMMIT, "hive_views", "tests"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        message = f"commit {OLD_COMMIT[:8]} is not in this clone: {result.stderr.strip()}"
        shallow = subprocess.run(
            ["git", "-C", str(REPOSITORY), "rev-parse", "--is-shallow-repository"],
            capture_output=True,
            text=True,
            check=False,
        )
        has_history = shallow.stdout.strip() == "false"
        pytest.fail(message) if has_history and "CI" in os.environ else pytest.skip(message)
    with tarfile.open(archive) as content:
        content.extractall(directory / "old", filter="data")
    return directory / "old"


class WorkerError(Exception):
    """An error of the package in a worker."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind


class WorkerKilledError(Exception):
    """The worker killed itself."""


class Worker:
    """A process of one version; a context manager. `call` runs one of the `on_…` functions of `worker.py`."""

    def __init__(self, tree: Path, properties: dict[str, str]) -> None:
        self.tree = tree
        command = [sys.executable, str(Path(__file__).parent / "worker.py"), json.dumps(properties)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree)},
        )

    def __enter__(self) -> Worker:
        assert self.call("origin") == str(self.tree)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=60)

    def start(self, operation: str, **arguments: Any) -> None:
        """Send a call."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"operation": operation, **arguments}) + "\n")
        self._process.stdin.flush()

    def result(self) -> Any:
        """Wait for the answer to the call that was sent; raises WorkerError."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise WorkerKilledError(f"exit code {self._process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise WorkerError(answer["error"], answer["text"])
        return answer["result"]

    def call(self, operation: str, **arguments: Any) -> Any:
        """Run an operation and return its result; raises WorkerError."""
        self.start(operation, **arguments)
        return self.result()
