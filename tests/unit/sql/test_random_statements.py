"""Random and recorded statements on Spark: the expanded and the stored text return what the author's text returns.

`random_check` describes the comparison and its outcomes. The recorded statements are those that differed once, reduced,
and those of `test_hostile_texts`, with their outcomes now. HIVE_VIEWS_RANDOM_STATEMENTS is the number of random
statements.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest

from tests.unit.sql.hive_fixtures import load_cases
from tests.unit.sql.random_check import SparkCheck, run, spark_session
from tests.unit.sql.random_statements import Generator

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def check() -> Any:
    session = spark_session()
    yield SparkCheck(session)
    session.stop()


@pytest.mark.parametrize(
    ("fixture", "part", "parts"),
    [
        ("random_spark.jsonl", 0, 1),
        *(pytest.param("hostile_spark.jsonl", part, 4, marks=pytest.mark.extended) for part in range(4)),
    ],
)
def test_recorded_statements_have_their_outcomes(check: SparkCheck, fixture: str, part: int, parts: int) -> None:
    cases = load_cases(fixture)[part::parts]
    outcomes = {case["sql"]: check.check(case["sql"]) for case in cases}
    assert [
        (case["sql"], outcomes[case["sql"]]) for case in cases if outcomes[case["sql"]].kind != case["outcome"]
    ] == []


def test_random_statements_return_the_same_rows(check: SparkCheck) -> None:
    generator = Generator(20, "spark")
    count = int(os.environ.get("HIVE_VIEWS_RANDOM_STATEMENTS", "150"))
    counts: Counter[str] = Counter()
    failures = list(run(check.check, (generator.statement() for _ in range(count)), counts, attempts=60))
    print(dict(counts))
    assert [failure for failure in failures if failure[1].kind != "we refuse"] == []
    assert counts["equal"] > count / 3
