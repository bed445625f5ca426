"""Statements written by hand and generated ones, with the answers of Hive 4.1.0 (see hive_oracle.py)."""

from __future__ import annotations

from typing import Any

import pytest

from hive_views.errors import SqlError
from hive_views.sql.parsing.ddl import parse_statement
from hive_views.sql.parsing.statements import CreateMaterializedView, CreateView
from hive_views.sql.writing.definition import ExpandedDefinition, define_view
from tests.suites import extended
from tests.unit.sql.hive_fixtures import FUNCTIONS, Warehouse, collapse_whitespace, load_cases

CASES = load_cases("hive_answers.jsonl")
WAREHOUSE = Warehouse()


def define(case: dict[str, Any], mode: str = "hive-exact") -> ExpandedDefinition:
    statement = parse_statement(case["ddl"])
    assert isinstance(statement, (CreateView, CreateMaterializedView))
    conf = dict(case.get("conf", ()))
    return define_view(statement, WAREHOUSE, database="sales", mode=mode, functions=FUNCTIONS, conf=conf)


def column_names(view: ExpandedDefinition) -> list[str]:
    return [column.name for column in (*view.columns, *view.partition_keys)]


def difference(case: dict[str, Any]) -> Any:
    """Our answer where it differs from Hive's: an error, a text or column names; None where it does not."""
    expanded = collapse_whitespace(case["expanded"]) if "expanded" in case else None
    try:
        view = define(case)
    except SqlError as error:
        return None if expanded is None else str(error)
    if collapse_whitespace(view.expanded) != expanded:
        return collapse_whitespace(view.expanded)
    stored_names = [column[0] for column in (*case["columns"], *case.get("partition_keys", ()))]
    return None if column_names(view) == stored_names else column_names(view)


@pytest.mark.parametrize("construct", sorted({case["construct"] for case in CASES}))
def test_answer_equals_answer_of_hive(construct: str) -> None:
    differences = [(case, difference(case)) for case in CASES if case["construct"] == construct]
    assert [(case["ddl"], answer) for case, answer in differences if answer is not None] == []


def test_known_differences_still_differ() -> None:
    """Hive's internal errors, names that its planner generates, type checks."""
    equal = [case["ddl"] for case in load_cases("hive_answers_different.jsonl") if difference(case) is None]
    assert equal == []  # move these into hive_answers.jsonl


def test_inferred_types_equal_stored_types() -> None:
    wrong_types = []
    inferred = total = 0
    for case in (case for case in CASES if "expanded" in case):
        for column, (_, stored_type) in zip(define(case).columns, case["columns"], strict=True):
            total += 1
            inferred += column.type is not None
            if column.type not in (None, stored_type):
                wrong_types.append((case["ddl"], column, stored_type))
    assert wrong_types == []
    assert inferred / total > 0.97


@pytest.mark.parametrize("step", [8, *extended(1)])
def test_portable_text_has_same_columns_in_another_database(step: int) -> None:
    for case in [case for case in CASES if "expanded" in case and case["construct"] not in ("dup", "star")][::step]:
        try:
            portable = define(case, "portable")
        except SqlError:
            continue  # an unused common table expression with an error, which Hive does not check
        again = parse_statement(f"create view again as {portable.expanded}")
        assert isinstance(again, CreateView)
        view = define_view(again, WAREHOUSE, database="nowhere", functions=FUNCTIONS)
        assert column_names(view) == column_names(portable), case["ddl"]
