"""Findings about ordinary views, written before anybody looked at the table of answers, compared with engines.

tests/reader_tables/ordinary.py has the tables. Hive ran the 600 texts in its fetch task and in vectorized execution.
HIVE_VIEWS_WRITE_DOCS=1 writes the counts, here and of the table of answers, into docs/hive.md.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest

from hive_views.config import RowTextForms
from hive_views.errors import SqlError
from hive_views.sql.analysis.outcomes import Outcome
from hive_views.sql.analysis.reader_findings import Reader, reader_findings
from hive_views.sql.analysis.row_text import row_text
from hive_views.sql.engines.answers import Direction
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.writing.expand import expand
from tests.unit.sql.tables import Tables

FIXTURE = json.loads((Path(__file__).parents[1] / "fixtures" / "ordinary_texts.json").read_text("utf-8"))
TABLES = Tables({f"{FIXTURE['database']}.{name}": columns for name, columns in FIXTURE["tables"].items()})
PAGE = Path(__file__).parents[4] / "docs" / "hive.md"
DIRECTIONS = {
    Direction.SPARK_READS_HIVE: ("spark", "hive", Reader(Dialect.SPARK, ansi=False)),
    Direction.SPARK_READS_HIVE_IN_ANSI_MODE: ("spark-ansi", "hive", Reader(Dialect.SPARK)),
    Direction.HIVE_READS_SPARK: ("hive", "spark", Reader(Dialect.HIVE)),
}


def found(text: str, author: str, reader: Reader) -> str:
    """Return `finding`, `note` or `nothing`."""
    try:
        database = FIXTURE["database"]
        findings = reader_findings(text, TABLES, database=database, author=Dialect(author), readers=[reader])
    except SqlError:
        return "finding"
    outcomes = {finding.outcome for finding in findings[reader.engine]}
    return "nothing" if not outcomes else "note" if all(outcome.is_note for outcome in outcomes) else "finding"


@cache
def counts(direction: Direction) -> Counter[tuple[str, str]]:
    """Return the number of texts by what the reader does, and by what is found."""
    key, author, reader = DIRECTIONS[direction]
    cases = [case for case in FIXTURE["texts"] if case["author"] == author and case[key][0] != "invalid"]
    return Counter((case[key][0], found(case["text"], author, reader)) for case in cases)


@pytest.mark.parametrize("direction", Direction)
def test_no_difference_is_without_a_word(direction: Direction) -> None:
    assert {outcome: number for (outcome, word), number in counts(direction).items() if word == "nothing"} == {
        "equal": counts(direction)["equal", "nothing"]
    }
    assert not [outcome for outcome, word in counts(direction) if word == "note" and outcome in ("refused", "may fail")]


@pytest.mark.parametrize("direction", [Direction.SPARK_READS_HIVE, Direction.HIVE_READS_SPARK])
def test_few_equal_texts_have_a_finding_if_they_are_explicit(direction: Direction) -> None:
    key, author, reader = DIRECTIONS[direction]
    texts = [case["text"] for case in FIXTURE["texts"] if case["author"] == author and case[key][0] == "equal"]
    words = Counter(found(explicit(text, Dialect(author)), author, reader) for text in texts)
    assert words["finding"] <= 0.05 * len(texts), words


def explicit(text: str, author: Dialect) -> str:
    """Return the text of the row with `hive-views.explicit-row-text`."""
    try:
        expansion = expand(text, TABLES, database=FIXTURE["database"], dialect=author)
    except SqlError:
        return text
    forms = RowTextForms(explicit=True)
    written = row_text(author, expansion, TABLES, database=FIXTURE["database"], forms=forms)
    return text if written is None else written.sql


def row(direction: Direction) -> str:
    """Return the direction's row of the documentation."""
    document = json.loads(files("hive_views.sql.engines").joinpath("data/answers.json").read_text("utf-8"))
    table, texts = document[direction.value], counts(direction)
    equal = sum(map(len, table["equal"].values()))
    noted = sum(outcome == Outcome.SOME_VALUES.value for outcome, _ in table["different"].values())
    constructs = equal + len(table["different"])
    ran = sum(texts.values())
    same = sum(number for (outcome, _), number in texts.items() if outcome == "equal")
    other = ran - same
    numbers = (
        f"{constructs:,}",
        f"{equal:,}",
        f"{noted:,}",
        f"{same} of {ran}",
        *(str(texts["equal", word]) for word in ("nothing", "note", "finding")),
        str(sum(number for (outcome, word), number in texts.items() if outcome != "equal" and word == "finding")),
        str(sum(number for (outcome, word), number in texts.items() if outcome != "equal" and word == "note")),
        str(sum(number for (outcome, word), number in texts.items() if outcome != "equal" and word == "nothing")),
    )
    assert other == sum(map(int, numbers[-3:]))
    return f"| {direction.value} | {' | '.join(numbers)} |"


def test_page_has_the_counts() -> None:
    block = "".join(f"{row(direction)}\n" for direction in Direction)
    pattern = re.compile(r"(?:^\| (?:spark reads hive|hive reads spark).*\n)+", re.MULTILINE)
    text = PAGE.read_text("utf-8")
    if "HIVE_VIEWS_WRITE_DOCS" in os.environ:
        PAGE.write_text(pattern.sub(block, text), "utf-8")
        return
    assert pattern.findall(text) == [block]
