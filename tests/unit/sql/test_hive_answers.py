"""Our own corpus: statements, written by hand and made up, with what Hive 4.1.0 answered (see hive_oracle.py)."""

from __future__ import annotations

from typing import Any

import pytest

from hive_views.errors import SqlError
from hive_views.sql.parsing.ddl import parse_statement
from hive_views.sql.parsing.statements import CreateMaterializedView, CreateView
from hive_views.sql.rewriting.definition import ViewDefinition, define_view
from tests.unit.sql.answers import FUNCTIONS, Warehouse, folded, lines

CASES = lines("hive_answers.jsonl")
WAREHOUSE = Warehouse()


def define(case: dict[str, Any], mode: str = "hive-exact") -> ViewDefinition:
    statement = parse_statement(case["ddl"])
    assert isinstance(statement, (CreateView, CreateMaterializedView))
    conf = dict(case.get("conf", ()))
    return define_view(statement, WAREHOUSE, database="sales", mode=mode, functions=FUNCTIONS, conf=conf)


def names(found: ViewDefinition) -> list[str]:
    return [column.name for column in (*found.columns, *found.partition_keys)]


def stored_names(case: dict[str, Any]) -> list[str]:
    return [column[0] for column in (*case["columns"], *case.get("partition_keys", ()))]


@pytest.mark.parametrize("construct", sorted({case["construct"] for case in CASES}))
def test_hive_answers(construct: str) -> None:
    different = []
    for case in (case for case in CASES if case["construct"] == construct):
        wanted = folded(case["expanded"]) if "expanded" in case else None
        try:
            found = define(case)
        except SqlError as error:
            if wanted is not None:
                different.append((case["ddl"], wanted, str(error)))
            continue
        if folded(found.expanded) != wanted:
            different.append((case["ddl"], wanted or case["error"], folded(found.expanded)))
        elif names(found) != stored_names(case):
            different.append((case["ddl"], case["columns"], found.columns))
    assert different == []


def test_types_are_those_that_hive_stored_or_unknown() -> None:
    wrong = []
    known = asked = 0
    for case in (case for case in CASES if "expanded" in case):
        for column, (_, wanted) in zip(define(case).columns, case["columns"], strict=True):
            asked += 1
            known += column.type is not None
            if column.type not in (None, wanted):
                wrong.append((case["ddl"], column, wanted))
    assert wrong == []
    assert known / asked > 0.97


def test_the_portable_text_is_a_text_that_hive_expands_to_itself() -> None:
    """Portable texts are complete: expanding one again, with another current database, changes no name in it."""
    for case in (case for case in CASES if "expanded" in case and case["construct"] not in ("dup", "star")):
        try:
            portable = define(case, "portable")
        except SqlError:
            continue  # a common table expression that is never used, and wrong: Hive does not look, we do
        again = parse_statement(f"create view again as {portable.expanded}")
        assert isinstance(again, CreateView)
        found = define_view(again, WAREHOUSE, database="nowhere", functions=FUNCTIONS)
        assert names(found) == names(portable), case["ddl"]


def test_known_differences_are_still_different() -> None:
    """What Hive answers and we do not: its own internal errors, names that its planner makes up, type checks."""
    agreed = []
    for case in lines("hive_answers_different.jsonl"):
        wanted = folded(case["expanded"]) if "expanded" in case else None
        try:
            found = define(case)
        except SqlError:
            if wanted is None:
                agreed.append(case["ddl"])
            continue
        if folded(found.expanded) == wanted and names(found) == stored_names(case):
            agreed.append(case["ddl"])
    assert agreed == []  # move these into hive_answers.jsonl
