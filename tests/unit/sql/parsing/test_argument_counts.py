"""Calls with each number of arguments that an engine accepts are read, whatever sqlglot knows of the function."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hive_views.errors import SqlError
from hive_views.sql.engines.builtin_functions import HIVE_FUNCTIONS, SPARK_FUNCTIONS
from hive_views.sql.engines.tables import hive_argument_counts, spark_argument_counts
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.text.dialects import Dialect

ARGUMENTS = "abcdefghij"
IN_PAIRS = "map"
"""It takes an even number of arguments, which the tables do not say."""


@pytest.mark.parametrize(
    ("dialect", "functions", "counts_of"),
    [
        (Dialect.SPARK, SPARK_FUNCTIONS, spark_argument_counts),
        (Dialect.HIVE, HIVE_FUNCTIONS, hive_argument_counts),
    ],
)
def test_accepted_numbers_of_arguments_are_read(
    dialect: Dialect,
    functions: frozenset[str],
    counts_of: Callable[[str], tuple[frozenset[int], bool] | None],
) -> None:
    refused = {}
    for name in sorted(functions - {IN_PAIRS}):
        numbers, takes_more = counts_of(name) or (frozenset(), False)
        for count in [*sorted(numbers), *([max(numbers) + 1] if takes_more and numbers else [])]:
            call = f"{name}({', '.join(ARGUMENTS[:count])})"
            try:
                parse_query(f"SELECT {call} AS x FROM t", dialect)
            except SqlError as error:
                refused[call] = str(error)
    assert refused == {}


def test_many_calls_of_one_text_are_read() -> None:
    calls = ", ".join(f"last_value(a{number}, false) OVER (ORDER BY b) AS x{number}" for number in range(200))
    assert len(parse_query(f"SELECT {calls} FROM t", Dialect.SPARK).tree.expressions) == 200
