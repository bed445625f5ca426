"""docs/conformance.md says what is here, all of it, and nothing else."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "conformance.md"

SUITES = {
    "ViewCatalogTests": 50,
    "TestHiveViewCatalog": 8,
    "TestHiveViewCommits": 12,
    "TestHiveViewCatalog, added after that commit": 1,
}
"""How many tests Iceberg's suites have at the commit that the page names."""


@dataclass(frozen=True)
class Line:
    suite: str
    java: str
    ours: str
    relation: str
    why: str


def lines() -> list[Line]:
    tables = []
    suite = ""
    for text in PAGE.read_text().splitlines():
        if text.startswith("## "):
            suite = text.removeprefix("## ")
        cells = [cell.strip() for cell in text.strip("|").split("|")]
        if text.startswith("|") and len(cells) == 4 and cells[0] not in ("Java", "---"):
            tables.append(Line(suite, cells[0], cells[1].strip("`"), cells[2], cells[3]))
    return tables


LINES = lines()


def ours_here() -> list[str]:
    return [
        node.name
        for path in sorted(HERE.glob("test_*.py"))
        if path != Path(__file__)
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


def test_every_java_test_is_listed_once() -> None:
    assert {suite: sum(line.suite == suite for line in LINES) for suite in SUITES} == SUITES
    assert {line.suite for line in LINES} == SUITES.keys()
    names = [line.java for line in LINES]
    assert len(names) == len(set(names))


def test_every_test_of_ours_is_listed_once() -> None:
    assert sorted(ours_here()) == sorted(line.ours for line in LINES if line.ours)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.java)
def test_documentation_line_is_complete(line: Line) -> None:
    assert line.relation in ("same", "stricter", "differs", "does not apply")
    assert bool(line.ours) is (line.relation != "does not apply")
    assert line.why or line.relation == "same"
    if line.ours:
        bare = re.sub(r"^test(?=[A-Z])", "", line.java)
        words = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", bare).lower()
        assert line.ours == f"test_{words}"
