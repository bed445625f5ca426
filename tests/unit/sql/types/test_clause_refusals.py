"""Clauses that Spark refuses for the types in them.

The fixture has each clause with each type, and whether Spark 4.1.4 refuses it
(`tests/integration/spark/test_refused_queries.py`).
"""

from __future__ import annotations

import pytest

from hive_views.errors import SqlError
from hive_views.sql.types.clause_refusals import has_one_of
from hive_views.sql.types.spark_inference import ANSI
from hive_views.sql.writing.expand import AuthorContext, expand
from tests.unit.sql.hive_fixtures import load_cases
from tests.unit.sql.tables import Tables

TABLES = Tables({"o": {"a": "int", "b": "string"}, "u": {"a": "int", "c": "string"}})
CASES = load_cases("refused_clauses.jsonl")
MOST_MISSED = 32
"""CLUSTER BY of maps, IN with several elements and queries, collect_set of structs, and computed numbers of rows."""


def refused(sql: str) -> bool:
    author = AuthorContext(conf={ANSI: "true"})
    try:
        expansion = expand(sql, TABLES, database="d", dialect="spark", author=author)
    except SqlError:
        return True
    return expansion.resolution.refusal() is not None


def test_clauses_are_refused_as_by_spark() -> None:
    found = {case["sql"] for case in CASES if refused(case["sql"])}
    expected = {case["sql"] for case in CASES if case["refused"]}
    assert found - expected == set()
    assert len(expected - found) <= MOST_MISSED


@pytest.mark.parametrize(
    ("kind", "is_found"),
    [
        ("map<int,int>", True),
        ("struct<map:int,variant:string>", False),
        ("struct<a:array<variant>>", True),
        ("array<interval>", True),
        ("interval day to second", False),
        ("array<interval year to month>", False),
        ("interval", True),
    ],
)
def test_types_inside_of_others_are_found(kind: str, is_found: bool) -> None:
    assert has_one_of(kind, frozenset({"map", "variant", "interval"})) is is_found


@pytest.mark.parametrize(
    ("join", "is_refused"),
    [
        ("JOIN (SELECT DATE'2020-01-01' AS a) y USING (a)", True),
        ("NATURAL JOIN (SELECT DATE'2020-01-01' AS a) y", True),
        ("LEFT SEMI JOIN (SELECT DATE'2020-01-01' AS a) y USING (a)", True),
        ("JOIN (SELECT '1' AS a) y USING (a)", False),
        ("NATURAL JOIN (SELECT 2L AS a) y", False),
    ],
)
def test_keys_of_joins_are_compared(join: str, is_refused: bool) -> None:
    assert refused(f"SELECT b FROM o {join}") is is_refused


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("(SELECT 1 k) x FULL JOIN (SELECT '1' k) y USING (k)", "bigint"),
        ("(SELECT 1 k) x NATURAL FULL JOIN (SELECT 2L k) y", "bigint"),
        ("(SELECT 1 k) x FULL JOIN (SELECT 2.5 k) y USING (k)", "decimal(11,1)"),
        ("(SELECT 1 k) x FULL JOIN (SELECT 2.5 k) y USING (k) FULL JOIN (SELECT '7' k) z USING (k)", "double"),
        ("(SELECT DATE'2020-01-01' k) x FULL JOIN (SELECT timestamp'2020-01-01' k) y USING (k)", "timestamp"),
    ],
)
def test_key_of_a_full_join_has_the_common_type(query: str, kind: str) -> None:
    """The types are those of Spark 4.1.4."""
    author = AuthorContext(conf={ANSI: "true"})
    expansion = expand(f"SELECT k FROM {query}", TABLES, database="d", dialect="spark", author=author)
    assert [column.type for column in expansion.columns] == [kind]
