"""The table of answers: its form, and some answers that were read in the engines' documentation or sources, too."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from hive_views.sql.analysis.outcomes import Outcome
from hive_views.sql.engines.answers import (
    HIVE_READS_SPARK,
    SPARK_READS_HIVE,
    SPARK_READS_HIVE_IN_ANSI_MODE,
    answer,
)

DOCUMENT = json.loads(files("hive_views.sql.engines").joinpath("data/answers.json").read_text("utf-8"))
DIRECTIONS = (SPARK_READS_HIVE, SPARK_READS_HIVE_IN_ANSI_MODE, HIVE_READS_SPARK)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_each_answer_has_an_outcome_and_a_reason(direction: str) -> None:
    known = {outcome.value for outcome in Outcome}
    different = DOCUMENT[direction]["different"]
    assert len(different) > 500
    assert all(outcome in known and reason for outcome, reason in different.values())
    equal = {f"{name}{types}" for name, listed in DOCUMENT[direction]["equal"].items() for types in listed}
    assert len(equal) > 1500
    assert not equal & set(different)
    assert not [item for item in (*equal, *different) if "?" in item.partition("(")[2]]


@pytest.mark.parametrize(
    ("signature", "outcomes"),
    [
        # Hive returns NULL if an argument is NULL; Spark skips it.
        ("greatest(int)", ("other rows", "other rows", "other rows")),
        ("upper(string)", ("equal", "equal", "equal")),
        # Spark fails in ANSI mode; a view of Spark that fails has no rows to compare.
        ("cast(string as int)", ("equal", "may fail", "equal")),
        ("cast(boolean as string)", ("other rows", "other rows", "other rows")),
        ("+(int,int)", ("equal", "may fail", "equal")),
        ("no_function(int)", (None, None, None)),
    ],
)
def test_answer_of_each_direction(signature: str, outcomes: tuple[str | None, ...]) -> None:
    told = [answer(direction, signature) for direction in DIRECTIONS]
    assert tuple(None if item is None else item.outcome for item in told) == outcomes


def test_reason_shows_what_both_engines_return() -> None:
    told = answer(SPARK_READS_HIVE, "greatest(int)")
    assert told is not None
    assert " in Hive and " in told.reason
    assert told.reason.endswith(" in Spark")
