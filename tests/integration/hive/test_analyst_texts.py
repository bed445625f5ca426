"""Rewritten texts of rows return the rows of the expanded text in Hive."""

from __future__ import annotations

from tests.integration.analyst_tables import hive_statements
from tests.integration.hive.reader import HiveError, HiveReader
from tests.unit.sql.analysis.test_analyst_texts import CASES, DATABASE, texts


def rows(hive: HiveReader, query: str) -> list[str] | str:
    try:
        return sorted(hive.query(query))
    except HiveError:
        return "refused"


def test_rewritten_texts_return_the_same_rows(hive: HiveReader):
    for statement in hive_statements():
        hive.query(statement)
    hive.query(f"USE {DATABASE}")
    different = {}
    for case in CASES:
        expanded, row = texts(case["text"])
        if expanded == row:
            continue
        before, after = rows(hive, str(expanded)), rows(hive, str(row))
        if before != after:
            different[case["name"]] = before, after
    assert different == {}
