"""`make demo` runs, and the README shows its pictures."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import CACHE

ROOT = Path(__file__).parents[3]
PICTURES = {f"demo-{name}.svg" for name in ("views", "materialized", "import")}


@pytest.mark.extended
def test_demo_runs_and_draws_its_pictures(tmp_path):
    command = [sys.executable, "-m", "examples.demo", "--directory", tmp_path / "demo", "--pictures", tmp_path]
    done = subprocess.run([*command, "--cache", CACHE], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.glob("*.svg")} == PICTURES
    assert [line for line in done.stderr.splitlines() if "WARN " in line or "log4j" in line] == []


def test_readme_shows_the_pictures_of_the_demo():
    shown = set(re.findall(r"\]\(docs/([^)]+\.svg)\)", (ROOT / "README.md").read_text()))
    assert shown == PICTURES == {path.name for path in (ROOT / "docs").glob("*.svg")}
