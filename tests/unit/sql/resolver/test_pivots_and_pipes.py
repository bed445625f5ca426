"""PIVOT, UNPIVOT and pipe operators of dialect `spark`: columns, expanded texts, and what tables that grow change.

Each text was compared with the author's text in Spark 4.1.4 by `random_check`; `hostile_spark.jsonl` has more of them.
"""

from __future__ import annotations

import pytest

from hive_views.sql.writing.expand import expand
from tests.unit.sql.text_cases import TextCase, read_cases, read_tables

NOW, GROWN = read_tables("pivots_and_pipes.txt"), read_tables("pivots_and_pipes.txt", more="z int")
"""The tables, and the same with a column more."""


def expanded(sql: str, *, grown: bool = False) -> str:
    return expand(sql, GROWN if grown else NOW, database="d", dialect="spark").expanded.replace("`", "")


CASES = read_cases("pivots_and_pipes.txt")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_expanded_text_lists_the_columns(case: TextCase) -> None:
    text = expanded(case.sql)
    assert text.replace("  ", " ") == case.expanded
    stored = expand(case.sql, NOW, database="d", dialect="spark").expanded
    assert expanded(stored) == text


@pytest.mark.parametrize("case", [case for case in CASES if not case.sql.startswith("values")], ids=str)
def test_columns_and_text_stay_when_tables_get_columns(case: TextCase) -> None:
    expansion = expand(case.sql, NOW, database="d", dialect="spark")
    for text, database in ((expansion.expanded, "elsewhere"), (expansion.stored, "d")):
        grown = expand(text, GROWN, database=database, dialect="spark")
        assert grown.names == expansion.names
        assert grown.expanded == expansion.expanded


@pytest.mark.parametrize("dialect", ["hive", "trino"])
def test_other_dialects_refuse_pivots(dialect: str) -> None:
    with pytest.raises(ValueError, match="PIVOT"):
        expand("select * from t pivot (max(v) for k in (1))", NOW, database="d", dialect=dialect)
