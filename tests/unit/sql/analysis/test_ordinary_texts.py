"""Findings about ordinary views, written before anybody looked at the table of answers, compared with engines.

tests/reader_tables/ordinary.py has the tables. Of its 600 texts the fixture has those that both engines ran: all 300 of
Hive, and 103 of Spark. Hive ran them with its usual settings only.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from hive_views.errors import SqlError
from hive_views.sql.analysis.reader_findings import Reader, reader_findings
from hive_views.sql.text.dialects import Dialect
from tests.unit.sql.tables import Tables

FIXTURE = json.loads((Path(__file__).parents[1] / "fixtures" / "ordinary_texts.json").read_text("utf-8"))
TABLES = Tables({f"{FIXTURE['database']}.{name}": columns for name, columns in FIXTURE["tables"].items()})


def outcomes(text: str, author: str, reader: Reader) -> set[str]:
    try:
        database = FIXTURE["database"]
        findings = reader_findings(text, TABLES, database=database, author=Dialect(author), readers=[reader])
    except SqlError:
        return {"not verified"}
    return {finding.outcome.value for finding in findings[reader.engine]}


@pytest.mark.parametrize(
    ("key", "author", "reader", "counts"),
    [
        ("spark", "hive", Reader(Dialect.SPARK, ansi=False), {"equal": 166, "flagged": 111, "missed": 0}),
        ("spark-ansi", "hive", Reader(Dialect.SPARK), {"equal": 147, "flagged": 115, "missed": 0}),
        ("hive", "spark", Reader(Dialect.HIVE), {"equal": 46, "flagged": 35, "missed": 0}),
    ],
)
def test_findings_about_ordinary_texts(key: str, author: str, reader: Reader, counts: dict[str, int]) -> None:
    counted: Counter[str] = Counter()
    for case in FIXTURE["texts"]:
        if case["author"] != author or case[key][0] == "invalid":
            continue
        found = outcomes(case["text"], author, reader)
        if case[key][0] == "equal":
            counted["flagged" if found else "equal"] += 1
        elif not found:
            counted["missed"] += 1
    assert {name: counted[name] for name in counts} == counts
