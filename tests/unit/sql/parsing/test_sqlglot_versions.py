"""The texts, types and errors of a statement are the same on each version of sqlglot (`make test-sqlglot`).

The fixture has statements whose trees differ in sqlglot 30.8 to 30.30, with what this package makes of them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest

from hive_views.errors import SqlError
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.writing.expand import expand
from tests.unit.sql.hive_fixtures import load_cases
from tests.unit.sql.tables import Tables

TABLES = Tables({"t": {"i": "int", "s": "string", "d": "decimal(10,2)"}, "u": {"i": "int", "s": "string"}})


def outcome(sql: str, dialect: str, mode: str = "portable") -> dict[str, Any]:
    """Return the texts and columns of a statement, or its error."""
    try:
        expansion = expand(sql, TABLES, database="a", dialect=dialect, mode=mode)
        columns = [[column.name, column.type] for column in expansion.columns]
    except SqlError as error:
        return {"error": str(error)}
    return {"stored": expansion.stored, "expanded": expansion.expanded, "columns": columns}


CASES: dict[str, list[dict[str, Any]]] = defaultdict(list)
for row in load_cases("sqlglot_versions.jsonl"):
    CASES[row["sql"]].append(row)


@pytest.mark.parametrize("sql", CASES)
def test_outcome_is_the_same_on_each_version(sql: str) -> None:
    for case in CASES[sql]:
        expected = {key: value for key, value in case.items() if key not in ("sql", "dialect")}
        assert outcome(sql, case["dialect"]) == expected


@pytest.mark.parametrize(
    ("literal", "spark", "hive"),
    [
        ("10BD", "decimal(2,0)", "decimal(2,0)"),
        ("1.50BD", "decimal(3,2)", "decimal(2,1)"),
        ("1e-3BD", "decimal(3,3)", "decimal(3,3)"),
        ("1E3BD", "decimal(4,0)", "decimal(4,0)"),
        (".5BD", "decimal(1,1)", "decimal(1,1)"),
        ("0.00BD", "decimal(2,2)", "decimal(1,0)"),
        ("10bd", "decimal(2,0)", "decimal(2,0)"),
    ],
)
def test_type_of_exact_decimal_literals(literal: str, spark: str, hive: str) -> None:
    assert outcome(f"SELECT {literal} AS x", "spark")["columns"] == [["x", spark]]
    assert outcome(f"SELECT {literal} AS x", "hive")["columns"] == [["x", hive]]


def test_unnamed_literal_with_suffix_gets_a_name() -> None:
    assert outcome("SELECT 10BD", "spark")["expanded"] == "SELECT 10BD AS `10`"


def test_grouping_by_a_comparison_with_is_null_replaces_no_other_token() -> None:
    sql = "SELECT i = 1 IS NULL, count(*) AS c FROM t GROUP BY i = 1 IS NULL"
    assert outcome(sql, "hive", "hive-exact")["expanded"] == (
        "SELECT `t`.`i` = 1 IS NULL, count(*) AS `c` FROM `a`.`t` GROUP BY `t`.`i` = 1 IS NULL"
    )


@pytest.mark.parametrize(
    ("sql", "same"),
    [
        ("SELECT a + b % c", "SELECT a + (b % c)"),
        ("SELECT a % b * c - d % e", "SELECT ((a % b) * c) - (d % e)"),
        ("SELECT a * b % c / d", "SELECT ((a * b) % c) / d"),
        ("SELECT a - b - c % d + e", "SELECT ((a - b) - (c % d)) + e"),
        ("SELECT a || b + c", "SELECT (a || b) + c"),
        ("SELECT a - b || c - d * e", "SELECT ((a - b) || c) - (d * e)"),
        ("SELECT a || (b + c) || d", "SELECT (a || (b + c)) || d"),
        ("SELECT a | b ^ c & d || e", "SELECT a | (b ^ (c & (d || e)))"),
        ("SELECT f(a || b - c) || d + e", "SELECT (f((a || b) - c) || d) + e"),
        ("SELECT a = b IS NULL", "SELECT (a = b) IS NULL"),
        ("SELECT a < b IS NOT NULL AND c", "SELECT ((a < b) IS NOT NULL) AND c"),
        ("SELECT a = b IS DISTINCT FROM c", "SELECT (a = b) IS DISTINCT FROM c"),
        ("SELECT a UNION SELECT b INTERSECT SELECT c", "SELECT a UNION (SELECT b INTERSECT SELECT c)"),
        (
            "SELECT a INTERSECT SELECT b EXCEPT SELECT c INTERSECT SELECT d ORDER BY 1",
            "(SELECT a INTERSECT SELECT b) EXCEPT (SELECT c INTERSECT SELECT d) ORDER BY 1",
        ),
    ],
)
def test_operators_have_the_precedence_of_spark(sql: str, same: str) -> None:
    assert _shape(sql) == _shape(same)


def test_type_of_a_concatenation_and_a_sum() -> None:
    columns = {
        (dialect, text): outcome(f"SELECT {text} AS x FROM t", dialect)["columns"]
        for dialect in ("spark", "hive")
        for text in ("s || d + d", "(s || d) + d", "s || (d + d)")
    }
    assert columns["spark", "s || d + d"] == columns["spark", "(s || d) + d"] == [["x", "double"]]
    assert columns["hive", "s || d + d"] == columns["hive", "s || (d + d)"] == [["x", "string"]]


def _shape(sql: str) -> str:
    """Return the structure of a query without its parentheses."""

    def shown(node: Any) -> Any:
        if type(node).__name__ in ("Paren", "Subquery"):
            return shown(node.this)
        if isinstance(node, list):
            return [shown(item) for item in node]
        if hasattr(node, "args"):
            return [type(node).__name__, {key: shown(value) for key, value in sorted(node.args.items()) if value}]
        return str(node)

    return json.dumps(shown(parse_query(sql, "spark").tree))
