"""A corpus of legacy views made by real writers: Hive's own texts, and Trino's encoding of Trino's texts.

Spark's are made by plain Spark in the test itself. Hive's come from what a real Hive 4.1.0 answered (the fixtures of
the SQL tests); their original texts are the statements' queries without backticks, as Hive's lexer leaves them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hive_views.errors import SqlError
from hive_views.metastore._thrift.hive_metastore.ttypes import Table
from hive_views.sql.parsing.ddl import parse_statement
from hive_views.sql.parsing.statements import CreateView
from hive_views.sql.text.dialects import Dialect
from tests.integration.legacy_import.rows import fields, hive_view_row, table_row, trino_view_row

FIXTURES = Path(__file__).parents[2] / "unit" / "sql" / "fixtures"
DATABASES = ("sales", "hr", "web")
_EVERY = {"generated": 80, "type": 16, "typeagg": 8, "split": 15, "expr": 10, "group": 10, "lateral": 10}
_OTHERS = 3
_CHANGING = re.compile(r"(?i)\b(uuid|rand|unix_timestamp)\s*\(|\bcurrent_(timestamp|date)\b")
_BACKTICKS = re.compile(r"`((?:[^`]|``)*)`")


def warehouse() -> Iterator[Table]:
    """Return the tables that the Hive views read, including two views."""
    tables = json.loads((FIXTURES / "hive_oracle_warehouse.json").read_text())["tables"]
    for name, described in tables.items():
        database, _, table = name.partition(".")
        if described.get("original"):  # two views, of which only the columns are known, are replaced by tables
            yield hive_view_row(
                database, table, described["original"], described["expanded"], [tuple(c) for c in described["columns"]]
            )
            continue
        row = table_row(database, table, [tuple(column) for column in described["columns"]])
        row.partitionKeys = fields([tuple(column) for column in described["partition_keys"]])
        yield row


def hive_views() -> Iterator[tuple[str, Table]]:
    """Yield views of a real Hive: the tested construct and the row."""
    seen: dict[str, int] = {}
    for line in (FIXTURES / "hive_answers.jsonl").read_text().splitlines():
        answer: dict[str, Any] = json.loads(line)
        construct = answer["construct"]
        if not answer.get("expanded") or not answer.get("columns"):
            continue
        seen[construct] = seen.get(construct, 0) + 1
        if seen[construct] % _EVERY.get(construct, _OTHERS) != 1:
            continue
        query = _query(answer["ddl"])
        if query is None or _CHANGING.search(query):
            continue
        columns = [(name, kind) for name, kind, *_ in answer["columns"]]
        name = f"h_{construct}_{seen[construct]}"
        yield construct, hive_view_row("sales", name, _BACKTICKS.sub(_bare, query), answer["expanded"], columns)


def golden_views() -> Iterator[tuple[str, Table]]:
    """The views of the golden file of a real Hive, with the original texts that it stored."""
    for line in (FIXTURES / "hive_oracle.jsonl").read_text().splitlines():
        answer: dict[str, Any] = json.loads(line)
        if (
            "partitioned on" in answer["ddl"].lower()
            or answer["refused"]
            or answer["database"] != "sales"
            or not answer["expanded"]
            or answer["construct"] == "mv"
        ):
            continue
        columns = [tuple(column) for column in answer["columns"]]
        name = f"h_golden_{answer['id']}"
        yield answer["construct"], hive_view_row("sales", name, answer["original"], answer["expanded"], columns)


def _query(ddl: str) -> str | None:
    try:
        statement = parse_statement(ddl, Dialect.HIVE)
    except SqlError:
        return None
    if not isinstance(statement, CreateView) or statement.partitioned_on:
        return None
    return statement.query.sql


def _bare(match: re.Match[str]) -> str:
    return match[1].replace("``", "`")


TRINO_TABLES = {
    "customers": [("id", "bigint"), ("name", "varchar"), ("country", "varchar")],
    "orders": [("order_id", "bigint"), ("cust_id", "bigint"), ("amount", "decimal(12,2)")],
    "regions": [("region", "varchar"), ("manager", "varchar"), ("country", "varchar")],
}
_CATALOGS = ("", "sales.", "hive.sales.", "iceberg.sales.")
_PORTABLE = (
    "SELECT {a}, {b} FROM {t}",
    'SELECT "{a}" AS "first", {b} FROM {t} x WHERE {a} IS NOT NULL',
    "SELECT x.* FROM (SELECT {a}, {b} FROM {t}) x WHERE {b} IN (SELECT {b} FROM {t})",
    "SELECT {b}, count(*) AS n, max({a}) AS m FROM {t} GROUP BY {b} HAVING count(*) > 0",
    "WITH q AS (SELECT {a} FROM {t}) SELECT q.{a} AS a1 FROM q UNION ALL SELECT {a} FROM {t}",
    "SELECT l.{a}, r.{b} FROM {t} l JOIN {t} r ON l.{a} = r.{a}",
    "SELECT CASE WHEN {a} IS NULL THEN 'none' ELSE 'some' END AS kind, coalesce({b}, {b}) c FROM {t}",
)
_OTHER = (
    "SELECT {a} FROM {t} ORDER BY {a} LIMIT 3",
    "SELECT approx_distinct({a}) AS n FROM {t}",
    "SELECT row_number() OVER (PARTITION BY {a} ORDER BY {b}) AS n FROM {t}",
    "SELECT CAST({a} AS varchar) AS s FROM {t}",
    "SELECT {a} || 'x' AS s FROM {t}",
    "SELECT x FROM UNNEST(ARRAY[1, 2]) AS u (x)",
    "SELECT try({a}) AS v FROM {t}",
)


def trino_views() -> Iterator[tuple[bool, str, Table]]:
    """Yield views of Trino and Athena: whether the text is portable, the text for Spark, and the row."""
    number = 0
    for texts, alike in ((_PORTABLE, True), (_OTHER, False)):
        for text in texts:
            for catalog in _CATALOGS:
                for table, columns in TRINO_TABLES.items():
                    number += 1
                    (first, _), (second, _) = columns[0], columns[1]
                    sql = text.format(a=first, b=second, t=catalog + table)
                    names = _names(text, first, second)
                    kinds = dict(columns)
                    declared = [(name, _kind(name, kinds, first)) for name in names]
                    plain = text.format(a=first, b=second, t=f"spark_catalog.sales.{table}").replace('"', "`")
                    yield alike, plain, trino_view_row("sales", f"t_{number}", sql, declared, athena=number % 5 == 0)


def _names(text: str, first: str, second: str) -> list[str]:
    fixed = {
        "first": ["first", second],
        " AS n, max": [second, "n", "m"],
        "a1": ["a1"],
        "l.{a}": [first, second],
        "kind": ["kind", "c"],
        "LIMIT": [first],
        "approx": ["n"],
        "row_number": ["n"],
        " AS s ": ["s"],
        "UNNEST": ["x"],
        "try": ["v"],
    }
    return next((names for sign, names in fixed.items() if sign in text), [first, second])


def _kind(name: str, kinds: dict[str, str], first: str) -> str:
    if name in kinds:
        return kinds[name]
    return {"n": "bigint", "kind": "varchar(4)", "s": "varchar", "x": "integer"}.get(name) or (
        kinds[first] if name in ("first", "a1", "m", "v") else list(kinds.values())[1]
    )


SPARK_QUERIES = (
    "SELECT * FROM customers",
    "SELECT ID, Name AS CustomerName FROM customers WHERE id > 0",
    "SELECT c.*, o.amount FROM customers c JOIN orders o ON c.id = o.cust_id",
    "SELECT country, count(*) AS n, max(created) AS last FROM customers GROUP BY country",
    "WITH q AS (SELECT id, name FROM customers) SELECT * FROM q",
    "SELECT id, p FROM customers LATERAL VIEW explode(phones) x AS p",
    "SELECT id, addr.city, addr.geo.lat AS lat, attrs['a'] AS a FROM customers",
    "SELECT id, row_number() OVER (PARTITION BY country ORDER BY id) AS r FROM customers",
    "SELECT id FROM customers UNION ALL SELECT cust_id FROM orders",
    "SELECT CAST(amount AS INT) AS whole, amount / 3 AS third, amount * 2 AS twice FROM orders",
    "SELECT * FROM orders -- the star, and a comment",
    "SELECT coalesce(note, 'none') AS note, length(note) AS l FROM orders",
    "SELECT `order_id`, ds, region FROM sales.orders WHERE ds >= '2024'",
    "SELECT name, salary + 0.5 AS more, hired FROM hr.employees",
    "SELECT d.title, e.name FROM hr.departments d LEFT JOIN hr.employees e ON d.dept = e.dept",
    "SELECT region FROM regions WHERE country IN (SELECT country FROM customers)",
    "SELECT sku, CASE WHEN price > 1 THEN 'dear' ELSE 'cheap' END AS kind, tags[0] AS tag FROM products",
    "SELECT DISTINCT country FROM customers",
    "SELECT array(1, 2) AS a, map('k', 1.5) AS m, named_struct('x', 1) AS s",
    "SELECT CAST('12' AS INT) AS n, upper(name) AS u, substr(name, 1, 2) AS s, date_add(hired, 1) AS d "
    "FROM hr.employees",
)
"""Queries of plain Spark's views; written in more than one way by the test."""
