"""Expressions that Spark refuses for the types in them are refused in every clause, and nothing else.

The answers are those of Spark 4.1.4; `tests/integration/spark/test_refused_types.py` compares the conditions with the
installed Spark.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from hive_views.errors import SqlError
from hive_views.sql.engines.builtin_functions import SPARK_AGGREGATES, SPARK_GENERATORS
from hive_views.sql.writing.expand import AuthorContext, UnknownTypeError, expand, typed_columns
from tests.engine_tables.comparison import ANSI
from tests.engine_tables.enumeration import COLUMNS, OPERAND_COLUMNS
from tests.unit.sql.tables import Tables
from tests.unit.sql.types.conditions import CONDITIONS, OPERANDS, is_accepted

FIXTURES = Path(__file__).parents[1] / "fixtures"


def refusal(sql: str, setting: str | None, columns: dict[str, str] = OPERAND_COLUMNS) -> SqlError | None:
    author = AuthorContext(conf={ANSI: setting} if setting is not None else {})
    return expand(sql, Tables({"t": columns}), database="d", dialect="spark", author=author).resolution.refusal()


@pytest.mark.parametrize("setting", ["true", "false"])
@pytest.mark.parametrize("form", CONDITIONS)
def test_conditions_of_each_type_are_refused_as_by_spark(form: str, setting: str) -> None:
    accepted = {operand: refusal(CONDITIONS[form].format(operand), setting) is None for operand in OPERANDS}
    assert accepted == {operand: is_accepted(form, kind, setting) for operand, kind in OPERANDS.items()}


@pytest.mark.parametrize(("position", "setting"), [(1, "true"), (2, "false")])
@pytest.mark.parametrize(
    ("name", "columns", "least"), [("spark_types", COLUMNS, 0.15), ("spark_operands", OPERAND_COLUMNS, 0.3)]
)
def test_only_what_spark_refuses_is_refused(
    name: str, columns: dict[str, str], least: float, position: int, setting: str
) -> None:
    """The fixtures have calls, operators and casts with Spark's types; `!` for those that it refuses."""
    counts: Counter[str] = Counter()
    wrong = []
    for line in (FIXTURES / f"{name}.jsonl").read_text("utf-8").splitlines()[position::2]:
        expression, *answers = json.loads(line)
        is_valid = answers[position - 1] != "!"
        if expression.partition("(")[0] in SPARK_GENERATORS:
            continue
        try:
            # Aggregates and window functions cannot be in WHERE, and functions that produce rows in neither.
            is_selected = expression.partition("(")[0] in SPARK_AGGREGATES or " OVER (" in expression
            clause = "SELECT {} AS c FROM t" if is_selected else "SELECT 1 AS c FROM t WHERE {}"
            found = refusal(clause.format(f"coalesce({expression}) IS NULL"), setting, columns)
        except SqlError:
            continue
        counts["valid" if is_valid else "found" if found is not None else "missed"] += 1
        if is_valid and found is not None:
            wrong.append((expression, str(found)))
    assert wrong == []
    assert counts["valid"] > 350
    assert counts["found"] >= least * (counts["found"] + counts["missed"])


@pytest.mark.parametrize(
    ("sql", "column", "reason"),
    [
        ("SELECT 1 AS c FROM t WHERE INTERVAL '1' DAY = 1", 28, "no comparison for INTERVAL DAY and INT"),
        ("SELECT INTERVAL '1' DAY = 1 AS c FROM t", 8, "no comparison for INTERVAL DAY and INT"),
        ("SELECT i FROM t GROUP BY i HAVING DATE '2020-01-01' = i", 35, "no comparison for DATE and INT"),
        ("SELECT i FROM t WHERE i + 1", 23, "refuses a condition of type INT"),
        ("SELECT t.i FROM t JOIN t u ON t.i", 31, "refuses a condition of type INT"),
        ("SELECT CASE WHEN i THEN 1 END AS c FROM t", 18, "refuses a condition of type INT"),
        ("SELECT count(*) FILTER (WHERE s) AS c FROM t", 31, "refuses a condition of type STRING"),
        ("SELECT i FROM t ORDER BY CAST(dt AS BINARY)", 26, "does not cast DATE to BINARY"),
        ("SELECT i FROM t WHERE i > 0 AND year(true) = 1", 33, "does not call year"),
        ("SELECT i FROM t WHERE EXISTS (SELECT 1 FROM t u WHERE u.i)", 55, "refuses a condition of type INT"),
        ("WITH c AS (SELECT i FROM t WHERE i) SELECT i FROM c", 34, "refuses a condition of type INT"),
    ],
)
def test_refusal_names_the_expression_and_its_position(sql: str, column: int, reason: str) -> None:
    tables = Tables({"t": {"i": "int", "s": "string", "dt": "date"}})
    with pytest.raises(SqlError, match=reason) as error:
        typed_columns(expand(sql, tables, database="d", dialect="spark"))

    assert not isinstance(error.value, UnknownTypeError)  # a CAST around the column would not help
    assert (error.value.line, error.value.column) == (1, column)


@pytest.mark.parametrize(
    "condition",
    [
        "d.f(i)",
        "INTERVAL '1' DAY = d.f(i)",
        "exists(a, x -> x = 1) AND forall(a, x -> x)",
        "i IN (DATE '2020-01-01', 'a')",
        "i BETWEEN '1' AND 2.5",
        "a = m['k']",
        "(i, s) = (1, 'a')",
        "(SELECT true)",
    ],
)
def test_what_is_not_known_is_accepted(condition: str) -> None:
    columns = {"i": "int", "s": "string", "a": "array<int>", "m": "map<string,array<int>>"}
    assert refusal(f"SELECT 1 AS c FROM t WHERE {condition}", None, columns) is None


def test_a_mode_that_accepts_the_text_is_enough() -> None:
    """`'a' AND true` is a condition in ANSI mode only, a DATE as a number without it only."""
    for sql, on, off in (
        ("SELECT 1 AS c FROM t WHERE s8 AND true", True, False),
        ("SELECT 1 AS c FROM t WHERE CAST(s10 AS INT) = 1", False, True),
    ):
        columns = {"s8": "string", "s10": "date"}
        modes = [refusal(sql, setting, columns) is None for setting in ("true", "false", None)]
        assert modes == [on, off, True]
