"""Texts written by hand whose names collide, with their expansions and what the real engine did with both texts.

`outcome` is a class of `random_check`: rows, names and types on Spark 4.1.4, rows and names of the stored text on Trino
483, texts, names and types on Hive 4.1.0. No text returned other rows. Versions of sqlglot before `sqlglot` cannot read
the text. A changed expansion has to be compared again: `test_random_statements` does it for Spark.
"""

from __future__ import annotations

from typing import Any

import pytest
import sqlglot
from packaging.version import Version

from hive_views.errors import SqlError
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.text.dialects import Dialect
from hive_views.sql.writing.expand import Expansion
from tests.unit.sql.hive_fixtures import load_cases
from tests.unit.sql.random_check import expansion_of

CASES = [(dialect, case) for dialect in ("spark", "hive", "trino") for case in load_cases(f"hostile_{dialect}.jsonl")]


@pytest.mark.parametrize("dialect", ["spark", "hive", "trino"])
def test_expansion_equals_recorded_expansion(dialect: str) -> None:
    different: list[tuple[str, Any]] = []
    for case in load_cases(f"hostile_{dialect}.jsonl"):
        if Version(sqlglot.__version__) < Version(case.get("sqlglot", "0")):
            continue
        result = expansion_of(case["sql"], dialect)
        text = result.expanded if isinstance(result, Expansion) else None
        if text != case.get("expanded"):
            different.append((case["sql"], result if text is None else text))
    assert different == []


@pytest.mark.parametrize("dialect", ["spark", "hive", "trino"])
def test_refused_text_has_a_position(dialect: str) -> None:
    refused = [case["sql"] for case in load_cases(f"hostile_{dialect}.jsonl") if "expanded" not in case]
    results = {sql: expansion_of(sql, dialect) for sql in refused}
    assert [sql for sql, result in results.items() if not str(getattr(result, "detail", "")).startswith("line ")] == []


def test_text_is_refused_with_older_versions_of_sqlglot() -> None:
    later = [case for _, case in CASES if "sqlglot" in case]
    for case in later:
        if Version(sqlglot.__version__) < Version(case["sqlglot"]):
            with pytest.raises(SqlError, match="Cannot read the text"):
                parse_query(case["sql"], Dialect.SPARK)
    assert later


def test_no_text_returns_other_rows() -> None:
    assert {case["outcome"] for _, case in CASES} <= {"equal", "both refuse", "we accept", "we refuse"}
