"""Reads the cases of texts in `texts`: a query in a dialect, and its expanded text or the error.

    table d.t (k int, s struct<a:int>)

    # What the cases below it are about.
    spark | select s.a from t
      ~ the stored text, if the query has a star
      = the expanded text
    spark | select nope from t
      ! a part of the error's message

A table is known to all cases of its file. Tests state what is left out of a text, such as quotes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.unit.sql.tables import Tables

DIRECTORY = Path(__file__).parent / "texts"


@dataclass(frozen=True)
class TextCase:
    """A query with what is expected of it."""

    dialect: str
    sql: str
    expanded: str | None = None
    stored: str | None = None
    error: str | None = None

    def __str__(self) -> str:
        return f"{self.dialect} {self.sql}"


_ANSWERS = {"~": "stored", "=": "expanded", "!": "error"}


def read_cases(name: str) -> list[TextCase]:
    """The cases of a file, in their order."""
    cases: list[TextCase] = []
    for number, line in enumerate(_lines(name), 1):
        mark, _, text = line.strip().partition(" ")
        if not mark or mark in ("#", "table"):
            continue
        if line.startswith("  "):
            assert mark in _ANSWERS and text, f"{name}:{number}"
            cases[-1] = replace(cases[-1], **{_ANSWERS[mark]: text})
        else:
            separator, _, sql = text.partition(" ")
            assert separator == "|" and sql, f"{name}:{number}"
            cases.append(TextCase(mark, sql))
    for case in cases:
        assert (case.expanded is None) != (case.error is None), f"{name}: {case}"
    return cases


def read_tables(name: str, *, more: str = "") -> Tables:
    """The tables of a file, each with more columns."""
    tables = {}
    for line in _lines(name):
        if line.startswith("table "):
            table, _, columns = line.removeprefix("table ").rstrip(")").partition(" (")
            tables[table] = dict(column.split(" ", 1) for column in _columns(f"{columns}, {more}"))
    return Tables(tables)


def each_case(name: str) -> pytest.MarkDecorator:
    """Run a test with each case of a file, as its argument `case`."""
    return pytest.mark.parametrize("case", read_cases(name), ids=str)


def _lines(name: str) -> list[str]:
    return (DIRECTORY / name).read_text(encoding="utf-8").splitlines()


def _columns(text: str) -> list[str]:
    """Split at the commas outside of angle brackets and parentheses."""
    columns, depth = [""], 0
    for character in text:
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            columns.append("")
        else:
            columns[-1] += character
    return [column.strip() for column in columns if column.strip()]
