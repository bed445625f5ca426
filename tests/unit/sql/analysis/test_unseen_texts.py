"""Findings about views that were written without sight of rules, tables and other texts, compared with the engines.

tests/reader_tables/ordinary.py ran them in Hive, Spark and Trino. docs/hive.md and docs/trino.md have the counts of
their findings, and of those before anything was changed for these texts (`BEFORE`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from functools import cache
from pathlib import Path

import pytest

from hive_views.errors import SqlError
from hive_views.sql.analysis.outcomes import Outcome
from hive_views.sql.analysis.reader_findings import Reader, reader_findings
from hive_views.sql.analysis.trino_translation import trino_findings
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.writing.definition import hive_text
from hive_views.sql.writing.expand import expand
from tests.unit.sql.tables import Tables

COLLECTIONS = {
    name: json.loads((Path(__file__).parents[1] / "fixtures" / f"{name}_texts.json").read_text("utf-8"))
    for name in ("unseen", "further")
}
DATABASE = COLLECTIONS["unseen"]["database"]
TABLES = Tables({f"{DATABASE}.{name}": columns for name, columns in COLLECTIONS["unseen"]["tables"].items()})
DOCS = Path(__file__).parents[4] / "docs"
PAGES = {
    "Hive → Spark": "hive.md",
    "Hive → Spark, ANSI": "hive.md",
    "Spark → Hive": "hive.md",
    "Spark → Trino": "trino.md",
}

READERS = {
    "Hive → Spark": ("hive", "spark"),
    "Hive → Spark, ANSI": ("hive", "spark-ansi"),
    "Spark → Hive": ("spark", "hive"),
    "Spark → Trino": ("spark", "trino"),
}
"""The author and the key of the fixture by direction."""
BEFORE = {
    ("unseen", "Hive → Spark"): (0, 0, 12, 1),
    ("unseen", "Hive → Spark, ANSI"): (0, 0, 17, 1),
    ("unseen", "Spark → Hive"): (0, 0, 20, 4),
    ("unseen", "Spark → Trino"): (3, 1, 11, 3),
    ("further", "Hive → Spark"): (0, 0, 25, 7),
    ("further", "Hive → Spark, ANSI"): (0, 0, 31, 7),
    ("further", "Spark → Hive"): (0, 0, 33, 11),
}
"""The last four numbers of each row, as they were when the texts were written."""


def found(text: str, author: str, reader: str) -> str:
    """Return `nothing`, `note`, `not verified` (and nothing else), or `finding`."""
    try:
        outcomes = _outcomes(text, Dialect(author), reader)
    except SqlError:
        return "not verified"
    outcomes = {outcome for outcome in outcomes if not outcome.is_note} or outcomes
    if not outcomes or outcomes == {Outcome.SOME_VALUES}:
        return "note" if outcomes else "nothing"
    return "not verified" if outcomes == {Outcome.UNVERIFIED} else "finding"


def _outcomes(text: str, author: Dialect, reader: str) -> Collection[Outcome]:
    if reader == "trino":
        row = hive_text(author, expand(text, TABLES, database=DATABASE, dialect=author), TABLES, database=DATABASE)
        return (
            {Outcome.REFUSED}
            if row is None
            else {finding.outcome for finding in trino_findings(row, TABLES, database=DATABASE)}
        )
    engine = Reader(Dialect(reader.removesuffix("-ansi")), ansi=reader != "spark")
    findings = reader_findings(text, TABLES, database=DATABASE, author=author, readers=[engine])
    return {finding.outcome for finding in findings[engine.engine]}


@cache
def counts(collection: str, direction: str) -> Counter[tuple[str, str]]:
    """Return the number of texts by what the reader does, and by what is found."""
    author, reader = READERS[direction]
    cases = [case for case in COLLECTIONS[collection]["texts"] if case["author"] == author]
    listed = [case for case in cases if case[reader][0] not in ("invalid", "not defined")]
    return Counter((case[reader][0], found(case["text"], author, reader)) for case in listed)


@pytest.mark.parametrize(("collection", "direction"), BEFORE)
def test_no_difference_is_without_a_word(collection: str, direction: str) -> None:
    texts = counts(collection, direction)
    silent = {outcome: number for (outcome, word), number in texts.items() if word == "nothing"}
    assert set(silent) == {"equal"}
    assert not [outcome for outcome, word in texts if word == "note" and outcome in ("refused", "may fail")]


@pytest.mark.parametrize(("collection", "direction"), BEFORE)
def test_page_has_the_counts(collection: str, direction: str) -> None:
    assert row(collection, direction) in (DOCS / PAGES[direction]).read_text("utf-8").splitlines()


def row(collection: str, direction: str) -> str:
    """Return the direction's row of the documentation: numbers of texts, before and now where they may change."""
    found = counts(collection, direction)
    equal = {word: number for (outcome, word), number in found.items() if outcome == "equal"}
    now = (
        found["other rows", "nothing"],
        found["refused", "nothing"] + found["may fail", "nothing"],
        equal.get("finding", 0) + equal.get("not verified", 0),
        equal.get("not verified", 0),
    )
    changes = (f"{before} → {after}" for before, after in zip(BEFORE[collection, direction], now, strict=True))
    return f"| {direction} | {sum(found.values())} | {sum(equal.values())} | {' | '.join(changes)} |"
