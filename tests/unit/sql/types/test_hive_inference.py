"""Types of calls of Hive's functions."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.engine_tables.comparison import inferred, outcome
from tests.engine_tables.enumeration import HIVE_COLUMNS
from tests.unit.sql.hive_fixtures import load_cases
from tests.unit.sql.tables import Tables

TABLES = Tables({"t": {"b": "bigint", "d": "decimal(18,2)", "c": "char(12)", "z": "timestamp with local time zone"}})


def test_types_of_kept_calls_are_those_of_hive() -> None:
    """The calls were kept out of the sample that the table was learned from; Hive 4.1.0 gave the types."""
    tables = Tables({"t": HIVE_COLUMNS})
    outcomes = {sql: outcome(inferred(sql, tables, "hive"), kind) for sql, kind in load_cases("hive_types.jsonl")}
    counts = Counter(outcomes.values())

    assert [sql for sql, kind in outcomes.items() if kind == "different"] == []
    assert counts["equal"] > 400
    assert counts["unknown"] <= 0.02 * (counts["unknown"] + counts["equal"])


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("map(NULL, d)", "map<string,decimal(18,2)>"),
        ("map(b, NULL)", "map<bigint,string>"),
        ("array(NULL)", "array<string>"),
        ("array(NULL, b)", "array<bigint>"),
        ("greatest(b, z)", "string"),
        ("greatest(b, z, c)", "string"),
        ("least(c, b)", "double"),
    ],
)
def test_types_of_calls(expression: str, kind: str) -> None:
    """Measured on Hive 4.1.0."""
    assert inferred(expression, TABLES, "hive") == kind
