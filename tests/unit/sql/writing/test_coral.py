"""Texts of the metastore's row, rewritten for Trino's Hive connector: each rule, and what a rule leaves alone."""

from __future__ import annotations

import re

import pytest

from hive_views.config import RowTextForms
from hive_views.sql.analysis.row_text import row_text
from hive_views.sql.writing.coral import RULES, RewrittenText, apply_rules
from hive_views.sql.writing.definition import hive_text
from hive_views.sql.writing.expand import AuthorContext, expand
from tests.unit.sql.analysis.test_trino_translation import CASES, TABLES

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
        "join_conditions",
        "SELECT o.id FROM orders o JOIN events e JOIN customers c ON o.customer = c.name",
        "SELECT o.id FROM h.orders o JOIN h.events e ON true JOIN h.customers c ON o.customer = c.name",
    ),
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
        "grouped_functions",
        "SELECT substr(note, 1, 1) AS x, max(length(customer)) AS y FROM orders WHERE ok GROUP BY substr(note, 1, 1)",
        "SELECT computed.value_1 AS x, max(computed.value_2) AS y FROM ("
        "SELECT substr(orders.note, 1, 1) AS value_1, length(orders.customer) AS value_2 FROM h.orders WHERE orders.ok "
        "UNION ALL SELECT substr(orders.note, 1, 1) AS value_1, length(orders.customer) AS value_2 FROM h.orders "
        "WHERE false) computed GROUP BY computed.value_1",
    ),
    (
        "grouped_functions",
        "SELECT n, count(1) AS x FROM (SELECT substr(note, 1, 1) AS n FROM orders WHERE ok) q GROUP BY n",
        "SELECT q.n, count(1) AS x FROM (SELECT substr(orders.note, 1, 1) AS n FROM h.orders WHERE orders.ok "
        "UNION ALL SELECT substr(orders.note, 1, 1) AS n FROM h.orders WHERE false) q GROUP BY q.n",
    ),
    (
        "grouped_functions",
        "SELECT max(n) AS x FROM (SELECT count(1) AS n FROM orders WHERE qty > 1 GROUP BY ok) q",
        "SELECT max(q.n) AS x FROM (SELECT count(1) AS n FROM h.orders WHERE orders.qty > 1 GROUP BY orders.ok "
        "UNION ALL SELECT count(1) AS n FROM h.orders WHERE false GROUP BY orders.ok) q",
    ),
    (
        "date_parts",
        "SELECT minute(placed) AS x FROM orders",
        "SELECT CAST(substr(CAST(orders.placed AS STRING), 15, 2) AS INT) AS x FROM h.orders",
    ),
    (
        "null_safe_comparisons",
        "SELECT id FROM orders WHERE note <=> customer",
        "SELECT orders.id FROM h.orders WHERE ((orders.note = orders.customer AND orders.note IS NOT NULL AND "
        "orders.customer IS NOT NULL) OR (orders.note IS NULL AND orders.customer IS NULL))",
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
        "date_parts",
        "SELECT date_format(placed, 'dd/MM/yyyy HH:mm') AS x FROM orders",
        "SELECT CAST(concat(substr(CAST(orders.placed AS STRING), 9, 2), '/', "
        "substr(CAST(orders.placed AS STRING), 6, 2), '/', substr(CAST(orders.placed AS STRING), 1, 4), ' ', "
        "substr(CAST(orders.placed AS STRING), 12, 5)) AS STRING) AS x FROM h.orders",
    ),
    (
        "date_parts",
        "SELECT date_format(day, 'yyyyMM') AS x FROM orders",
        "SELECT CAST(concat(substr(CAST(orders.day AS STRING), 1, 4), substr(CAST(orders.day AS STRING), 6, 2)) "
        "AS STRING) AS x FROM h.orders",
    ),
    (
        "scalar_subqueries",
        "SELECT round(price - (SELECT 2 * avg(price) FROM orders), 1) AS x FROM orders WHERE ok",
        "SELECT round(orders.price - scalar.value, 1) AS x FROM h.orders "
        "JOIN (SELECT 2 * avg(orders.price) AS value FROM h.orders) scalar ON true WHERE orders.ok",
    ),
    (
        "scalar_subqueries",
        "SELECT customer FROM orders GROUP BY customer HAVING sum(qty) > (SELECT max(order_id) FROM events)",
        "SELECT orders.customer FROM h.orders JOIN (SELECT max(events.order_id) AS value FROM h.events) scalar ON true "
        "GROUP BY orders.customer HAVING sum(orders.qty) > max(scalar.value)",
    ),
    (
        "integer_divisions",
        "SELECT ok, sum(qty) / count(*) AS x FROM orders GROUP BY ok",
        "SELECT orders.ok, CAST(sum(orders.qty) AS DOUBLE) / count(*) AS x FROM h.orders GROUP BY orders.ok",
    ),
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
    "an interval in the calendar of Hive 2 and 3": (
        "SELECT id FROM orders WHERE day < DATE '1500-03-01' - INTERVAL '1' DAY"
    ),
    "a pattern with the full name of the month": "SELECT date_format(placed, 'dd MMMM yyyy') AS x FROM orders",
    "a pattern with more digits than a field has": "SELECT date_format(day, 'yyyyyyyy') AS x FROM orders",
    "a comparison of a column with one of the outer query": (
        "SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM events e WHERE e.order_id <=> o.id)"
    ),
    "distinct aggregates without GROUP BY, which have one row": "SELECT DISTINCT max(length(note)) AS x FROM orders",
    "a partition whose only key is a BOOLEAN, by which Hive 3 cannot order": (
        "SELECT sum(qty) OVER (PARTITION BY ok) AS x FROM orders"
    ),
    "a comma before RIGHT JOIN": "SELECT a.id FROM orders a, orders b RIGHT JOIN orders c ON b.id = c.id",
    "a comma before USING": "SELECT c.city FROM orders a, customers b JOIN customers c USING (name)",
    "an outer join without a condition": "SELECT a.id FROM orders a LEFT JOIN events e",
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
        "SELECT avg(t) AS a FROM (SELECT total * total AS t FROM orders) q"
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
    "a comparison of columns of two tables": "SELECT a.id FROM orders a JOIN orders b ON a.note <=> b.note",
    "a comparison of columns of two types": "SELECT id FROM orders WHERE note <=> qty",
    "a comparison with a literal of another type": "SELECT id FROM orders WHERE qty <=> 'abc'",
    "a comparison of a string and a number": "SELECT id FROM orders WHERE NOT (note <=> 1)",
    "a null-safe comparison as a value, which Hive 4.1 cannot plan": "SELECT id, qty <=> 3 AS x FROM orders",
    "the opposite of a null-safe comparison with a literal": "SELECT id FROM orders WHERE NOT (qty <=> 3)",
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
    "a count that may be 0": "SELECT ok, sum(qty) / count(note) AS x FROM orders GROUP BY ok",
    "a time of a date": "SELECT date_format(day, 'yyyy-MM-dd HH:mm') AS x FROM orders",
    "a pattern with the name of the month": "SELECT date_format(day, 'dd MMM yyyy') AS x FROM orders",
    "a subquery in the list of a block with HAVING": (
        "SELECT (SELECT max(qty) FROM orders) AS x FROM orders HAVING count(*) > 1"
    ),
    "a subquery in the list of a grouped block": "SELECT max(qty) + (SELECT max(qty) FROM orders) AS x FROM orders",
    "a pattern": r"SELECT id FROM orders WHERE note LIKE 'a\\_%'",
    "types that engines unify in different ways": "SELECT id FROM orders UNION ALL SELECT note FROM orders",
    "the order of a set operation": "SELECT id FROM orders UNION ALL SELECT qty FROM orders ORDER BY id LIMIT 2",
    "duplicates": "SELECT id FROM orders INTERSECT ALL SELECT order_id FROM events",
    "floating point keys": "SELECT price FROM orders INTERSECT SELECT price FROM orders",
    "a window function of grouped rows": (
        "SELECT substr(note, 1, 1) AS n, rank() OVER (ORDER BY count(1)) AS r FROM orders GROUP BY substr(note, 1, 1)"
    ),
    "a common table expression whose rows are computed before they are grouped": (
        "WITH q AS (SELECT note FROM orders) SELECT count(1) AS n FROM q GROUP BY substr(note, 1, 1)"
    ),
    "a column that is no key of its group": (
        "SELECT concat(note, count(1)) AS n FROM orders GROUP BY substr(note, 1, 1), note ORDER BY length(note)"
    ),
    "an interval added to a date that is not compared": "SELECT DATE '2024-01-31' + INTERVAL '1' MONTH AS d",
    "an interval added to a date that is compared with a string": (
        "SELECT id FROM orders WHERE note < DATE '2024-01-31' + INTERVAL '1' MONTH"
    ),
    "a grouped subquery that names the outer query": (
        "SELECT o.id FROM orders o WHERE o.note IN (SELECT substr(e.kind, 1, 1) FROM events e WHERE e.order_id = o.id)"
    ),
    "an average of distinct integers": "SELECT avg(DISTINCT qty) AS a FROM orders",
    "a sum over all rows": "SELECT sum(qty) OVER () AS s FROM orders",
    "a sum over partitions by an expression": "SELECT sum(qty) OVER (PARTITION BY price) AS s FROM orders",
    "a chain of operators beyond the recursion limit": f"SELECT DATE '2020-01-01'{' + INTERVAL 1 DAY' * 2000} AS d",
    "a string with characters beyond Latin-1, which people read in the row": "SELECT 'ż' AS s",
}


def row(query: str) -> tuple[str | None, str | None]:
    """The row's text before and after the rules."""
    expansion = expand(query, TABLES, database="h", dialect="spark")
    before = hive_text("spark", expansion, TABLES, database="h")
    rewritten = row_text("spark", expansion, TABLES, database="h", forms=RowTextForms(for_trino=True))
    return before, None if rewritten is None else rewritten.sql


@pytest.mark.parametrize(("rule", "query", "expected"), REWRITTEN, ids=[case[0] for case in REWRITTEN])
def test_text_is_rewritten(rule: str, query: str, expected: str):
    assert str(row(query)[1]).replace("`", "") == expected


def test_each_rule_has_an_example():
    assert {case[0] for case in REWRITTEN} == {rule.__name__ for rule, _ in RULES}


@pytest.mark.parametrize("query", UNCHANGED.values(), ids=UNCHANGED)
def test_text_without_equivalent_for_trino_is_unchanged(query: str):
    before, after = row(query)
    assert after == before


@pytest.mark.parametrize("case", [case for case in CASES if "text" in case], ids=lambda case: case["name"])
def test_rows_of_measured_texts(case):
    columns = case.get("columns")
    expansion = expand(
        case["text"],
        TABLES,
        database="h",
        dialect="spark",
        author=AuthorContext(column_names=None if columns is None else tuple(columns), view_name=case["name"]),
    )
    rewritten = row_text("spark", expansion, TABLES, database="h", forms=RowTextForms(for_trino=True))
    assert rewritten is not None
    assert rewritten.sql == case.get("rewritten", case["expanded"])
    assert bool(rewritten.rules) == ("rewritten" in case)


def test_rewritten_text_is_not_rewritten_again():
    for case in CASES:
        if "rewritten" in case:
            assert row(case["rewritten"])[1] == case["rewritten"]


def test_comments_and_spaces_outside_of_a_construct_are_kept():
    query = "SELECT  o.id /* key */ , 1 AS x -- one\n FROM orders o  CROSS JOIN events e"
    after = str(row(query)[1])
    assert re.sub("`", "", after) == "SELECT  o.id /* key */ , 1 AS x -- one\n FROM h.orders o  JOIN h.events e ON true"


def test_function_of_a_grouping_key_stays_in_its_block():
    text = "SELECT `orders`.`ok`, cast(`orders`.`ok` AS string) AS `t`, max(length(`orders`.`note`)) AS `l` "
    text += "FROM `h`.`orders` GROUP BY `orders`.`ok`"
    assert apply_rules(text, TABLES, database="h", dialect="spark") == RewrittenText(text)


@pytest.mark.parametrize("clause", ["CLUSTER BY", "DISTRIBUTE BY", "SORT BY", "ORDER BY"])
def test_subquery_behind_from_is_unchanged(clause: str):
    text = f"SELECT `orders`.`ok` FROM `h`.`orders` {clause} (SELECT min(`o`.`ok`) FROM `h`.`orders` `o`)"
    assert apply_rules(text, TABLES, database="h", dialect="spark") == RewrittenText(text)


def test_random_values_are_not_merged():
    value = "max(rand() * length(note))"
    query = f"SELECT ok, sum(qty) / 2 AS h, max(length(note)) AS l, {value} AS a, {value} AS b FROM orders GROUP BY ok"
    assert "computed" not in str(row(query)[1])


@pytest.mark.parametrize(
    "query",
    [
        "SELECT DISTINCT length(note) AS x, 1 / 2 AS z, some(ok) AS y FROM orders",
        "SELECT 1 / 2 AS z, some(ok) AS y, (SELECT max(qty) FROM orders) AS x FROM orders",
    ],
)
def test_function_that_may_be_an_aggregate_stays_in_its_block(query: str):
    assert not {"computed", "scalar"} & set(re.findall(r"\w+", str(row(query)[1])))
