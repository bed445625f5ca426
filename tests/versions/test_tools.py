"""This package in one environment with other tools, from its wheel: `make test-tools`."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.versions.environments import DIRECTORY, REPOSITORY

pytestmark = [
    pytest.mark.extended,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not os.environ.get("HIVE_VIEWS_TEST_TOOLS"), reason="make test-tools builds the wheel"),
]


@dataclass(frozen=True)
class Tool:
    """A tool that users install beside this package."""

    name: str
    requirements: tuple[str, ...]
    command: tuple[str, ...]
    """What shows that it starts."""


TOOLS = (
    # pip cannot build the parser of dbt-core 1.12 (1.12.6, 2026-11-28), also without this package.
    Tool("dbt", ("dbt-core<1.12", "dbt-spark"), ("dbt", "--version")),
    # Without a version, pip chooses sqlmesh 0.2.6.
    Tool("sqlmesh", ("sqlmesh>=0.236",), ("sqlmesh", "--version")),
    Tool("great-expectations", ("great-expectations",), ("python", "-c", "import great_expectations")),
    Tool("airflow", ("apache-airflow",), ("airflow", "version")),
)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_tool_and_package_start_in_one_environment(tool: Tool) -> None:
    home = DIRECTORY / f"with-{tool.name}"
    programs = home / "bin"
    [wheel] = (REPOSITORY / "dist").glob("hive_views-*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
    variables = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}

    def run(*command: str | Path) -> str:
        done = subprocess.run(
            [programs / command[0], *command[1:]], cwd=home, env=variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    run("python", "-m", "pip", "install", "--quiet", wheel, *tool.requirements)
    assert "No broken requirements" in run("python", "-m", "pip", "check")
    run(*tool.command)
    assert "is installed completely" in run("python", "-I", REPOSITORY / "tests" / "installation.py")
