"""The table of answers: its form, and some answers that were read in the engines' documentation or sources, too."""

from __future__ import annotations

import json
import re
from importlib.resources import files

import pytest

from hive_views.sql.analysis.outcomes import Outcome
from hive_views.sql.engines.answers import Direction, answer

DOCUMENT = json.loads(files("hive_views.sql.engines").joinpath("data/answers.json").read_text("utf-8"))
EQUAL = None
NOT_MEASURED = "not measured"
_WRITTEN = re.compile(r"'[^']*'")
"""A literal in a signature."""


@pytest.mark.parametrize("direction", Direction)
def test_each_answer_has_an_outcome_and_a_reason(direction: Direction) -> None:
    known = {outcome.value for outcome in Outcome}
    different = DOCUMENT[direction.value]["different"]
    assert len(different) > 500
    assert all(outcome in known and reason for outcome, reason in different.values())
    equal = {f"{name}{types}" for name, listed in DOCUMENT[direction.value]["equal"].items() for types in listed}
    assert len(equal) > 1500
    assert not equal & set(different)
    assert not [item for item in (*equal, *different) if "?" in _WRITTEN.sub("", item.partition("(")[2])]


@pytest.mark.parametrize(
    ("signature", "outcomes"),
    [
        # Hive returns NULL if an argument is NULL; Spark skips it.
        ("greatest(int)", ("other rows", "other rows", "other rows")),
        ("upper(string)", (EQUAL, EQUAL, EQUAL)),
        # Spark fails in ANSI mode; a view of Spark that fails has no rows to compare.
        ("cast(string as int)", (EQUAL, "may fail", EQUAL)),
        ("cast(boolean as string)", ("other rows", "other rows", "other rows")),
        ("+(int,int)", (EQUAL, "may fail", EQUAL)),
        ("no_function(int)", (NOT_MEASURED,) * 3),
    ],
)
def test_answer_of_each_direction(signature: str, outcomes: tuple[str | None, ...]) -> None:
    answers = [answer(direction, signature) for direction in Direction]
    assert tuple(NOT_MEASURED if item is None else item.outcome for item in answers) == outcomes


def test_reason_shows_what_both_engines_return() -> None:
    measured = answer(Direction.SPARK_READS_HIVE, "greatest(int)")
    assert measured is not None
    assert " in Hive and " in measured.reason
    assert measured.reason.endswith(" in Spark")


@pytest.mark.parametrize("target", ["decimal", "varchar", "char"])
@pytest.mark.parametrize("source", ["boolean", "tinyint", "int", "bigint", "float", "double", "string"])
def test_casts_to_types_with_a_size_were_measured(source: str, target: str) -> None:
    for direction in Direction:
        assert answer(direction, f"cast({source} as {target})") is not None, direction
