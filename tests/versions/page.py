"""The tables of docs/compatibility.md that state what the matrix ran, and with which result."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from tests.versions.combinations import COMBINATIONS, Combination, Table
from tests.versions.results import Result

PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"


def with_tables(text: str, results: Mapping[str, Result]) -> str:
    """Return a page with its generated tables replaced."""
    for table in Table:
        begin, end = f"<!-- versions:{table.value} -->", "<!-- versions:end -->"
        pattern = re.compile(rf"({re.escape(begin)}\n).*?({re.escape(end)})", re.DOTALL)
        text, count = pattern.subn(lambda match, table=table: match[1] + render(table, results) + match[2], text)  # type: ignore[misc]
        if count != 1:
            raise ValueError(f"the page has {count} places for the table {table.value}: mark one by {begin} and {end}")
    return text


def render(table: Table, results: Mapping[str, Result]) -> str:
    """Return a table in Markdown, one row per combination."""
    lines = [
        "| combination | versions | tests | passed | failed | skipped | time | date, commit |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for combination in COMBINATIONS:
        if combination.table is table:
            lines.append(_row(combination, results.get(combination.name)))
    return "\n".join(lines) + "\n"


def _row(combination: Combination, result: Result | None) -> str:
    tests = f"`make {combination.target}`" if combination.target else f"`{shlex.join(combination.tests)}`"
    if result is None:
        return f"| {combination.name} | | {tests} | *not tested* | | | | |"
    cells = (
        combination.name,
        ", ".join((f"Python {result.python}", *(f"{name} {version}" for name, version in result.versions.items()))),
        tests,
        *map(str, (result.passed, result.failed, result.skipped)),
        f"{result.seconds // 60} min {result.seconds % 60} s",
        f"{result.date}, {result.commit[:8]}",
    )
    return f"| {' | '.join(cells)} |"
