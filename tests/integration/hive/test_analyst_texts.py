"""Rewritten texts of rows return the rows of the expanded text in Hive."""

from __future__ import annotations

from tests.integration.analyst_tables import hive_statements
from tests.integration.hive.reader import HiveError, HiveReader
from tests.unit.sql.analysis.test_analyst_texts import CASES, DATABASE, texts

RULES = {
    "GROUP BY a function": (
        "SELECT substr(country, 1, 1) AS c, max(length(email)) AS m FROM users GROUP BY substr(country, 1, 1)"
    ),
    "DISTINCT function": "SELECT DISTINCT length(country) AS c FROM users",
    "<=> of columns": "SELECT id FROM users WHERE email <=> country",
    "subquery in HAVING": "SELECT country FROM users GROUP BY country HAVING max(age) > (SELECT avg(score) FROM users)",
    "parts of dates": "SELECT id, quarter(signup) AS q, dayofmonth(signup) AS d, minute(updated_at) AS m FROM users",
    "aggregate of counts": "SELECT max(n) AS m FROM (SELECT country, count(1) AS n FROM users GROUP BY country) t",
    "number of distinct values": "SELECT size(collect_set(country)) AS n FROM users",
}
"""A query for each rule of `hive_views.sql.writing.coral` that the analysts' queries do not need."""


def rows(hive: HiveReader, query: str) -> list[str] | str:
    try:
        return sorted(hive.query(query))
    except HiveError:
        return "refused"


def test_rewritten_texts_return_the_same_rows(hive: HiveReader):
    for statement in hive_statements():
        hive.query(statement)
    hive.query(f"USE {DATABASE}")
    different = {}
    for name, query in [*((case["name"], case["text"]) for case in CASES), *RULES.items()]:
        expanded, row = texts(query)
        if expanded == row:
            continue
        before, after = rows(hive, str(expanded)), rows(hive, str(row))
        if before != after:
            different[name] = before, after
    assert different == {}
