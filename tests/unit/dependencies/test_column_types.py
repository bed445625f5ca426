"""Types that Hive declares and Spark computes for the same texts: each that Spark refuses to cast has a finding."""

from __future__ import annotations

from collections import Counter

import pytest

from hive_views.dependencies.column_findings import type_findings
from hive_views.errors import SqlError
from hive_views.sql.analysis.outcomes import Outcome
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.resolver.resolver import resolve
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.types.spark_inference import ANSI
from hive_views.sql.types.upcasts import can_upcast, row_type_as_read
from tests.reader_tables.declared import COLUMNS, TABLE
from tests.unit.sql.hive_fixtures import load_cases
from tests.unit.sql.tables import Tables

TABLES = Tables({TABLE: COLUMNS})
CASES = load_cases("declared_types.jsonl")
"""Queries with the type that Hive 4.1.0 declares and the type that Spark 4.1.4 computes without ANSI mode."""


def outcome(query: str, declared: str) -> str:
    try:
        resolution = resolve(parse_query(query, Dialect.SPARK), TABLES, "k", conf={ANSI: "false"})
    except SqlError:
        return "not resolved"
    findings = list(type_findings([("r", declared, None)], [resolution.columns[0][1].type]))
    return findings[0].outcome.value if findings else "no finding"


@pytest.mark.parametrize("part", range(8))
def test_each_type_that_spark_does_not_cast_has_a_finding(part: int) -> None:
    counts: Counter[tuple[bool, str]] = Counter()
    missed = []
    for query, declared, computed in CASES[part::8]:
        if computed is None:
            continue
        is_cast = computed == declared or can_upcast(row_type_as_read(computed), row_type_as_read(declared))
        found = outcome(query, declared)
        counts[is_cast, found] += 1
        if not is_cast and found == "no finding":
            missed.append((query, declared, computed))
    assert missed == []
    assert counts[True, Outcome.REFUSED.value] == 0
    assert counts[True, "not resolved"] == 0
    assert counts[True, Outcome.UNVERIFIED.value] < counts[True, "no finding"] / 8
    assert counts[False, Outcome.REFUSED.value] > 50
