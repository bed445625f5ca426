"""The golden files: the texts of Hive's own tests, and the texts that Hive 4.1.0 stored."""

from __future__ import annotations

import re
from typing import Any

import pytest

from hive_views.sql.writing.expand_request import expand_request
from tests.unit.sql.hive_fixtures import FUNCTIONS, collapse_whitespace, load_cases

CASES = [*load_cases("hive_view_expansion.jsonl"), *load_cases("hive_oracle.jsonl")]
ACCEPTED = [case for case in CASES if not case.get("refused")]
REJECTED = [case for case in CASES if case.get("refused")]


def case_id(case: dict[str, Any]) -> str:
    return f"{case.get('source', case.get('construct'))}-{case['id']}"


@pytest.mark.parametrize("case", ACCEPTED, ids=case_id)
def test_expansion_equals_text_stored_by_hive(case: dict[str, Any]) -> None:
    answer = expand_request(case, functions=FUNCTIONS)

    assert answer["error"] is None
    assert collapse_whitespace(answer["expanded"]) == collapse_whitespace(case["expanded"])
    original = case["original"]
    if "source" in case:  # Hive's test outputs keep the quotes, a real Hive drops them
        original = original.replace("`", "")
    assert collapse_whitespace(answer["original"]) == collapse_whitespace(original)
    if "columns" in case:
        assert answer["columns"] == case["columns"]
        assert answer["partition_keys"] == case.get("partition_keys", [])


@pytest.mark.parametrize("case", REJECTED, ids=case_id)
def test_statement_rejected_by_hive_is_rejected_with_position(case: dict[str, Any]) -> None:
    answer = expand_request(case, functions=FUNCTIONS)

    assert answer["expanded"] is None
    assert re.match(r"line \d+:\d+ \S", answer["error"])
