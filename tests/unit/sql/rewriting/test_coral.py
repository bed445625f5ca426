"""Texts of the metastore's row, rewritten for Trino's Hive connector: each rule, and what a rule leaves alone."""

from __future__ import annotations

import re

import pytest

from hive_views.sql.rewriting.coral import RULES, row_text
from hive_views.sql.rewriting.definition import hive_text
from hive_views.sql.rewriting.expand import expand
from tests.unit.sql.analysis.test_trino_translation import CASES, Tables

YEAR = "CAST(substr(CAST(orders.day AS STRING), 1, length(CAST(orders.day AS STRING)) - 6) AS INT)"

# Rule, query, text of the row without backticks.
REWRITTEN = [
    (
        "join_conditions",
        "SELECT o.id FROM orders o CROSS JOIN events e",
        "SELECT o.id FROM h.orders o JOIN h.events e ON true",
    ),
    ("join_conditions", "SELECT o.id FROM orders o, events e", "SELECT o.id FROM h.orders o JOIN h.events e ON true"),
    (
        "using_joins",
        "SELECT c.city FROM customers c LEFT JOIN (SELECT name FROM customers) d USING (name)",
        "SELECT c.city FROM h.customers c LEFT JOIN (SELECT customers.name FROM h.customers) d ON c.name = d.name",
    ),
    (
        "semi_joins",
        "SELECT o.id FROM orders o LEFT ANTI JOIN events e ON o.id = e.order_id WHERE o.ok OR o.qty > 1",
        "SELECT o.id FROM h.orders o WHERE NOT EXISTS (SELECT 1 FROM h.events e WHERE o.id = e.order_id) "
        "AND (o.ok OR o.qty > 1)",
    ),
    (
        "scalar_subqueries",
        "SELECT id FROM orders WHERE qty = (SELECT max(qty) FROM orders)",
        "SELECT orders.id FROM h.orders JOIN (SELECT max(orders.qty) AS value FROM h.orders) scalar ON true "
        "WHERE orders.qty = scalar.value",
    ),
    (
        "timestamp_literals",
        "SELECT id FROM orders WHERE placed > TIMESTAMP '2024-02-01 00:00:00'",
        "SELECT orders.id FROM h.orders WHERE orders.placed > CAST('2024-02-01 00:00:00' AS TIMESTAMP)",
    ),
    (
        "null_safe_comparisons",
        "SELECT id FROM orders WHERE note <=> NULL OR qty <=> 3",
        "SELECT orders.id FROM h.orders WHERE (orders.note IS NULL) OR (orders.qty IS NOT NULL AND orders.qty = 3)",
    ),
    (
        "integer_divisions",
        "SELECT qty / 2 AS x FROM orders",
        "SELECT CAST(orders.qty AS DOUBLE) / 2 AS x FROM h.orders",
    ),
    (
        "decimal_averages",
        "SELECT customer, avg(total) AS x FROM orders GROUP BY customer",
        "SELECT orders.customer, CAST(CAST(sum(orders.total) AS DECIMAL(24,6)) / count(orders.total) AS DECIMAL(14,6)) "
        "AS x FROM h.orders GROUP BY orders.customer",
    ),
    (
        "decimal_quotients",
        "SELECT total / 3 AS x FROM orders",
        "SELECT CAST(orders.total / 3 AS DECIMAL(14,6)) AS x FROM h.orders",
    ),
    (
        "decimal_sums",
        "SELECT sum(total) AS x FROM orders",
        "SELECT CAST(sum(orders.total) AS DECIMAL(20,2)) AS x FROM h.orders",
    ),
    (
        "dates",
        "SELECT date_sub(day, 1) AS x FROM orders",
        "SELECT CAST(date_sub(orders.day, 1) AS DATE) AS x FROM h.orders",
    ),
    ("date_parts", "SELECT year(day) AS x FROM orders", f"SELECT {YEAR} AS x FROM h.orders"),
    (
        "distinct_sizes",
        "SELECT ok, size(collect_set(qty)) AS x FROM orders GROUP BY ok",
        "SELECT orders.ok, CAST(count(DISTINCT orders.qty) AS INT) AS x FROM h.orders GROUP BY orders.ok",
    ),
    ("string_escapes", r"SELECT 'a\\b' AS x", "SELECT concat('a', chr(92), 'b') AS x"),
    (
        "unions",
        "SELECT id FROM orders UNION ALL SELECT qty FROM orders",
        "SELECT branches.id FROM (SELECT orders.id FROM h.orders "
        "UNION ALL SELECT CAST(orders.qty AS bigint) AS id FROM h.orders) branches",
    ),
    (
        "intersections",
        "SELECT id FROM orders EXCEPT SELECT order_id FROM events",
        "SELECT branches.id FROM (SELECT orders.id, 1 AS branch_number FROM h.orders "
        "UNION ALL SELECT events.order_id AS id, 2 AS branch_number FROM h.events) branches "
        "GROUP BY branches.id HAVING max(branches.branch_number) = 1",
    ),
]

UNCHANGED = {
    "a comma before RIGHT JOIN": "SELECT a.id FROM orders a, orders b RIGHT JOIN orders c ON b.id = c.id",
    "a comma before USING": "SELECT c.city FROM orders a, customers b JOIN customers c USING (name)",
    "a lateral view between joins": (
        "SELECT o.id FROM orders o CROSS JOIN customers c LATERAL VIEW explode(c.tags) t AS tag"
    ),
    "another condition of a semi join": "SELECT o.id FROM orders o LEFT SEMI JOIN events e ON o.id < e.order_id",
    "a field in the condition of a semi join": (
        "SELECT upper(c.city) AS u FROM customers c LEFT SEMI JOIN events e ON c.addr.zip = e.order_id ORDER BY c.name"
    ),
    "an average of an expression": "SELECT id FROM orders WHERE total > (SELECT avg(total + 1) FROM orders)",
    "an average of a value that may change between calls": (
        "SELECT avg(IF(rand() > 0.5, total, NULL)) AS a FROM orders"
    ),
    "an average of distinct decimals": "SELECT avg(DISTINCT total) AS a FROM orders",
    "an average of a window": "SELECT avg(total) OVER (PARTITION BY customer) AS a FROM orders",
    "an average whose quotient has too few digits in Hive": (
        "SELECT avg(t) AS a FROM (SELECT avg(total) AS t FROM orders GROUP BY id) q"
    ),
    "a subquery that names the outer query": (
        "SELECT o.id FROM orders o WHERE o.qty = (SELECT max(p.qty) FROM orders p WHERE p.customer = o.customer)"
    ),
    "a subquery that may return no row": (
        "SELECT id FROM orders WHERE qty = (SELECT max(qty) FROM orders HAVING count(1) > 9)"
    ),
    "a timestamp with more digits than Trino keeps": (
        "SELECT id FROM orders WHERE placed > TIMESTAMP '2024-02-01 00:00:00.123456'"
    ),
    "a comparison of two columns": "SELECT id FROM orders WHERE note <=> customer",
    "a comparison with a literal of another type": "SELECT id FROM orders WHERE qty <=> 'abc'",
    "a comparison of a string and a number": "SELECT id FROM orders WHERE NOT (note <=> 1)",
    "an alias of a branch in HAVING": (
        "SELECT id AS n, count(1) AS c FROM orders GROUP BY id UNION ALL "
        "SELECT id AS c, count(1) AS n FROM orders GROUP BY id HAVING n > 1"
    ),
    "an alias of a branch of EXCEPT in HAVING": (
        "SELECT id AS n, count(1) AS c FROM orders GROUP BY id EXCEPT "
        "SELECT id AS c, count(1) AS n FROM orders GROUP BY id HAVING n > 1"
    ),
    "an alias of a subquery that the query around it has": (
        "SELECT max(id) AS n FROM orders WHERE qty < (SELECT max(qty) AS n FROM orders) HAVING n > 1"
    ),
    "a struct of a branch in HAVING": (
        "SELECT addr AS s, count(1) AS n FROM customers GROUP BY addr HAVING s.zip > 1 "
        "UNION ALL SELECT addr, order_id FROM customers JOIN events ON name = kind"
    ),
    "a divisor that may be 0": "SELECT id / qty AS x FROM orders",
    "a pattern": r"SELECT id FROM orders WHERE note LIKE 'a\\_%'",
    "types that engines unify in different ways": "SELECT id FROM orders UNION ALL SELECT note FROM orders",
    "the order of a set operation": "SELECT id FROM orders UNION ALL SELECT qty FROM orders ORDER BY id LIMIT 2",
    "duplicates": "SELECT id FROM orders INTERSECT ALL SELECT order_id FROM events",
    "floating point keys": "SELECT price FROM orders INTERSECT SELECT price FROM orders",
    "a cast under GROUP BY": "SELECT year(day) AS y, count(1) AS n FROM orders GROUP BY year(day)",
}


def row(query: str) -> tuple[str | None, str | None]:
    """The row's text before and after the rules."""
    expansion = expand(query, Tables(), database="h", dialect="spark")
    before = hive_text("spark", expansion, Tables(), database="h")
    return before, row_text("spark", expansion, Tables(), database="h")


@pytest.mark.parametrize(("rule", "query", "expected"), REWRITTEN, ids=[case[0] for case in REWRITTEN])
def test_text_is_rewritten(rule: str, query: str, expected: str):
    assert str(row(query)[1]).replace("`", "") == expected


def test_each_rule_has_an_example():
    assert {case[0] for case in REWRITTEN} == {rule.__name__ for rule, _ in RULES}


@pytest.mark.parametrize("query", UNCHANGED.values(), ids=UNCHANGED)
def test_text_is_left_alone(query: str):
    before, after = row(query)
    assert after == before


@pytest.mark.parametrize("case", [case for case in CASES if "text" in case], ids=lambda case: case["name"])
def test_rows_of_measured_texts(case):
    columns = case.get("columns")
    expansion = expand(
        case["text"],
        Tables(),
        database="h",
        dialect="spark",
        column_names=None if columns is None else tuple(columns),
        view_name=case["name"],
    )
    assert row_text("spark", expansion, Tables(), database="h") == case.get("rewritten", case["expanded"])


def test_rewritten_text_is_not_rewritten_again():
    for case in CASES:
        if "rewritten" in case:
            assert row(case["rewritten"])[1] == case["rewritten"]


def test_comments_and_spaces_outside_of_a_construct_are_kept():
    query = "SELECT  o.id /* key */ , 1 AS x -- one\n FROM orders o  CROSS JOIN events e"
    after = str(row(query)[1])
    assert re.sub("`", "", after) == "SELECT  o.id /* key */ , 1 AS x -- one\n FROM h.orders o  JOIN h.events e ON true"
