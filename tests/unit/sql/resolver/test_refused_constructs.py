"""The constructs that docs/sql.md lists as refused: each is refused with a position."""

from __future__ import annotations

import pytest

from hive_views.errors import SqlError
from hive_views.sql.writing.expand import expand
from tests.unit.sql.text_cases import TextCase, each_case, read_tables

TABLES = read_tables("refused_constructs.txt")


@each_case("refused_constructs.txt")
def test_construct_is_refused_with_a_position(case: TextCase) -> None:
    with pytest.raises(SqlError) as error:
        expand(case.sql, TABLES, database="d", dialect=case.dialect)
    assert case.error is not None and case.error in str(error.value)
    assert error.value.line == 1
    assert error.value.column is not None


def test_many_pipe_operators_are_refused() -> None:
    with pytest.raises(SqlError, match="More than 100 pipe operators"):
        expand("from t" + " |> where k > 1" * 101, TABLES, database="d", dialect="spark")
