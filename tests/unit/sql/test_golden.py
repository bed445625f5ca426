"""Hive's own texts, and a real Hive's answers: the golden files."""

from __future__ import annotations

import re
from typing import Any

import pytest

from hive_views.sql.rewriting.expand_request import expand_request
from tests.unit.sql.answers import FUNCTIONS, folded, lines

PAIRS = [*lines("hive_view_expansion.jsonl"), *lines("hive_oracle.jsonl")]
ACCEPTED = [case for case in PAIRS if not case.get("refused")]
REFUSED = [case for case in PAIRS if case.get("refused")]


def name(case: dict[str, Any]) -> str:
    return f"{case.get('source', case.get('construct'))}-{case['id']}"


@pytest.mark.parametrize("case", ACCEPTED, ids=name)
def test_a_view_is_expanded_as_hive_expands_it(case: dict[str, Any]) -> None:
    answer = expand_request(case, functions=FUNCTIONS)

    assert answer["error"] is None
    assert folded(answer["expanded"]) == folded(case["expanded"])
    original = case["original"]
    if "source" in case:  # Hive's test outputs keep the quotes, every real Hive drops them
        original = original.replace("`", "")
    assert folded(answer["original"]) == folded(original)
    if "columns" in case:
        assert answer["columns"] == case["columns"]
        assert answer["partition_keys"] == case.get("partition_keys", [])


@pytest.mark.parametrize("case", REFUSED, ids=name)
def test_what_hive_refuses_is_refused_with_its_place(case: dict[str, Any]) -> None:
    answer = expand_request(case, functions=FUNCTIONS)

    assert answer["expanded"] is None
    assert re.match(r"line \d+:\d+ \S", answer["error"])
