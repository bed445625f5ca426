"""The estate that the older version builds: calls of `worker.py`, in order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.unit.sql.random_statements import FURTHER_TABLES, TABLES, TYPES

FIXTURES = Path(__file__).parents[1] / "unit" / "sql" / "fixtures"

Call = dict[str, Any]

SHOP = "shop"
"""The database of the views that are written by hand."""
REQUIRING_HIVE = f"{SHOP}.required"
"""A view over an Iceberg table that requires Hive, which the older version accepts."""
DATABASES = (SHOP, "lib")
"""The databases of the views."""

_HIVE_TABLES = {
    "orders": ([("id", "bigint"), ("cust", "int"), ("amount", "decimal(10,2)"), ("note", "varchar(20)")], []),
    "customers": ([("id", "int"), ("name", "string"), ("since", "timestamp"), ("vip", "boolean")], []),
    "days": ([("id", "bigint"), ("total", "bigint")], ["ds", "hr"]),
    "kinds": (
        [("t", "tinyint"), ("s", "smallint"), ("i", "int"), ("b", "bigint"), ("f", "float"), ("d", "double"),
         ("n", "decimal(12,3)"), ("c", "char(3)"), ("v", "varchar(9)"), ("x", "string"), ("dt", "date"),
         ("ts", "timestamp"), ("bin", "binary"), ("a", "array<int>"), ("m", "map<string,int>"),
         ("st", "struct<a:int,b:struct<c:string>>")], []),
    "odd": ([("größe", "int"), ("two words", "string"), ("select", "int"), ("a`b", "string")], []),
}  # fmt: skip
_ICEBERG_TABLES = {"sales": ["nid", "shop", "namount"], "shops": ["shop", "city"]}

_QUERIES = (
    "SELECT * FROM orders",
    "SELECT o.*, c.name AS customer FROM orders o JOIN customers c ON o.cust = c.id",
    "SELECT cust, count(*) AS n, sum(amount) AS total FROM orders GROUP BY cust HAVING count(*) > 1",
    "WITH big AS (SELECT id, amount FROM orders WHERE amount > 10) SELECT b.id, b.amount FROM big b",
    "SELECT id FROM orders UNION ALL SELECT id FROM customers",
    "SELECT id, CASE WHEN amount > 5 THEN 'much' ELSE 'little' END AS kind FROM orders",
    "SELECT id, row_number() OVER (PARTITION BY cust ORDER BY id) AS r FROM orders",
    "SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.cust = c.id)",
    "SELECT DISTINCT note FROM orders WHERE note LIKE '%x%'",
    "SELECT CAST(id AS varchar(10)) AS text, coalesce(note, 'none') AS note FROM orders",
    "SELECT t, s, i, b, f, d, n, c, v, x, dt, ts FROM kinds",
    "SELECT q.id, q.amount * 2 AS twice FROM (SELECT id, amount FROM orders) q",
)
"""Queries of every dialect."""

_SPARK = (
    "SELECT id + 1, amount * 2, upper(note) FROM orders",
    "SELECT 10BD, 2.50BD AS price, 1L, 'a' FROM orders",
    "SELECT a[0] AS first, m['k'] AS value, st.b.c, st.* FROM kinds",
    "SELECT i, e FROM kinds LATERAL VIEW explode(a) x AS e",
    "SELECT `größe`, `two words`, `select`, `a``b` FROM odd",
    "SELECT CAST('it''s' AS string), CAST(r'\\d' AS string), \"double\", 'ünïcode ☃' AS snow FROM orders",
    "SELECT * EXCEPT (note) FROM orders",
    "SELECT id, named_struct('a', 1, 'b', note) AS s FROM orders",
    "FROM orders |> WHERE amount > 1 |> SELECT id, note",
    "SELECT d.ds, d.hr, sum(d.total) AS total FROM days d GROUP BY d.ds, d.hr",
    "SELECT /* why */ id -- which\n FROM orders",
    "VALUES (1, 'a'), (2, 'b')",
    "SELECT id FROM orders ORDER BY id LIMIT 3",
    "SELECT CAST(ts AS date) AS day, date_format(ts, 'yyyy') AS year FROM kinds",
    "SELECT CAST(max_by(id, amount) AS bigint) AS most FROM orders",
    "SELECT regr_count(id) AS n FROM orders",
    "SELECT * FROM (SELECT id, cust FROM orders) PIVOT (count(id) FOR cust IN (1 AS one, 2 AS two))",
)
_HIVE = (
    "SELECT id + 1, amount * 2 FROM orders",
    "SELECT i, e FROM kinds LATERAL VIEW explode(a) x AS e",
    "SELECT `two words`, `select` FROM odd",
    "SELECT id FROM orders LIMIT 1, 2",
    "SELECT cust, amount FROM orders GROUP BY cust, amount WITH ROLLUP",
    "SELECT nvl(note, 'x') AS n, concat_ws('-', note, 'y') FROM orders",
    "SELECT o.id FROM orders o LEFT SEMI JOIN customers c ON o.cust = c.id",
    "SELECT st.b.c, m['k'] FROM kinds",
    "SELECT 10BD, 1.50BD FROM orders",
    "SELECT id = 1 IS NULL FROM orders",
)
_TRINO = (
    'SELECT "id", count(*) AS n FROM orders GROUP BY 1',
    "SELECT id, CAST(e AS integer) AS e FROM (SELECT i AS id, a FROM kinds) CROSS JOIN UNNEST(a) AS u (e)",
    "SELECT id, note || 'x' AS note FROM orders",
    "SELECT approx_distinct(id) AS n FROM orders",
    "TABLE orders",
    "SELECT x FROM (VALUES 1, 2) AS t (x)",
)
_ICEBERG = (
    "SELECT * FROM sales",
    "SELECT s.nid, h.city FROM sales s JOIN shops h ON s.shop = h.shop",
    "SELECT shop, sum(namount) AS total FROM sales GROUP BY shop",
    "SELECT shop FROM sales EXCEPT SELECT shop FROM shops",
    "SELECT nid, namount FROM sales WHERE namount > 1",
)
_SETTINGS = (("true", "UTC"), ("false", "Europe/Rome"))
_CORPUS = {"hostile_spark.jsonl": ("spark", 6), "hostile_hive.jsonl": ("hive", 4), "hostile_trino.jsonl": ("trino", 5)}
"""Measured texts (tests/unit/sql/fixtures): the dialect, and how many texts there are for each one that is taken.

The number in a view's name is that of its line, so that further lines change no name.
"""


def tables() -> Iterator[Call]:
    """The databases and tables."""
    for database in (*DATABASES, "a", "b", "s"):
        yield {"operation": "create_database", "name": database}
    for name, (columns, partitions) in _HIVE_TABLES.items():
        yield {"operation": "hive_table", "name": f"{SHOP}.{name}", "columns": columns, "partitions": partitions}
    for name, names in _ICEBERG_TABLES.items():
        yield {"operation": "iceberg_table", "name": f"{SHOP}.{name}", "columns": names}
    yield {"operation": "append", "name": f"{SHOP}.sales", "rows": [[1, "a", 10], [2, "b", 20], [3, "a", 5]]}
    yield {"operation": "append", "name": f"{SHOP}.shops", "rows": [["a", "Rome"], ["b", "Oslo"]]}
    for name, kinds in {**TABLES, **FURTHER_TABLES}.items():
        columns = [(column, TYPES[kind]) for column, kind in kinds.items()]
        yield {"operation": "hive_table", "name": name, "columns": columns, "partitions": []}


def views() -> Iterator[Call]:
    """The views: of every dialect, over both kinds of tables, over views, with several versions, renamed, dropped."""
    by_dialect = {
        "spark": (*_QUERIES, *_SPARK, *_ICEBERG),
        "hive": (*_QUERIES, *_HIVE),
        "trino": (*_QUERIES, *_TRINO, *_ICEBERG),
    }
    for dialect, queries in by_dialect.items():
        for number, sql in enumerate(queries):
            name = f"{SHOP}.{dialect}_{number}"
            yield {"operation": "create", "name": name, "sql": sql, "dialect": dialect, "properties": {"owner": "bi"}}
    yield from _nested()
    yield from _with_columns()
    yield from _with_settings()
    yield from _with_history()
    yield from _requiring_engines()
    yield from _partitioned()
    yield from _raw()
    for file, (dialect, step) in _CORPUS.items():
        cases = [json.loads(line) for line in (FIXTURES / file).read_text(encoding="utf-8").splitlines()]
        for number, case in enumerate(cases, 1):
            if number % step == 0 and "expanded" in case:
                name = f"lib.{dialect}_{number}"
                yield {"operation": "create", "name": name, "sql": case["sql"], "dialect": dialect, "database": "a"}


def _nested() -> Iterator[Call]:
    for base in ("spark_0", "spark_1", "spark_2", "hive_0", "hive_6", "trino_0", "spark_29", "spark_30"):
        dialect = base.partition("_")[0]
        for level, below in ((1, base), (2, f"{base}_l1"), (3, f"{base}_l2")):
            sql = f"SELECT * FROM {below}"
            yield {"operation": "create", "name": f"{SHOP}.{base}_l{level}", "sql": sql, "dialect": dialect}


def _with_columns() -> Iterator[Call]:
    for dialect in ("spark", "hive", "trino"):
        for number, (names, comments) in enumerate(
            (
                (["one", "two"], None),
                (["one", "two"], ["the first", None]),
                (["Größe" if dialect == "spark" else "SIZE", "Two Words"], ["ünïcode ☃", 'it\'s "quoted"']),
            )
        ):
            yield {
                "operation": "create",
                "name": f"{SHOP}.{dialect}_columns_{number}",
                "sql": "SELECT id, amount FROM orders",
                "dialect": dialect,
                "column_names": names,
                "column_comments": comments,
                "properties": {"comment": "a view's comment ☃"},
            }


def _with_settings() -> Iterator[Call]:
    for at, (ansi, zone) in enumerate(_SETTINGS):
        for number, sql in enumerate(("SELECT CAST(note AS int) AS n FROM orders", "SELECT hour(ts) AS h FROM kinds")):
            yield {
                "operation": "create",
                "name": f"{SHOP}.settings_{at}_{number}",
                "sql": sql,
                "summary": {
                    "hive-views.conf.spark.sql.ansi.enabled": ansi,
                    "hive-views.conf.spark.sql.session.timeZone": zone,
                    "engine-name": "spark",
                },
            }


def _with_history() -> Iterator[Call]:
    for number in range(6):
        name = f"{SHOP}.history_{number}"
        yield {"operation": "create", "name": name, "sql": "SELECT id FROM orders"}
        for version in range(2 + number):
            yield {"operation": "replace", "name": name, "sql": f"SELECT id, cust + {version} AS c FROM orders"}
        if number % 2:
            yield {"operation": "rollback", "name": name, "version": 1 + number // 2}
        if number % 3 == 0:
            yield {"operation": "rename", "name": name, "new_name": f"{SHOP}.renamed_{number}"}
            yield {"operation": "create", "name": f"{name}_over", "sql": f"SELECT * FROM renamed_{number}"}
    for number, purge in enumerate((True, False)):
        yield {"operation": "create", "name": f"{SHOP}.dropped_{number}", "sql": "SELECT id FROM orders"}
        yield {"operation": "create", "name": f"{SHOP}.invalid_{number}", "sql": f"SELECT * FROM dropped_{number}"}
        yield {"operation": "drop", "name": f"{SHOP}.dropped_{number}", "purge": purge}
    yield {"operation": "create", "name": f"{SHOP}.dropped_1", "sql": "SELECT id AS other FROM customers"}


def _requiring_engines() -> Iterator[Call]:
    yield {
        "operation": "create",
        "name": REQUIRING_HIVE,
        "sql": "SELECT * FROM sales",
        "properties": {"hive-views.require-engines": "hive,spark"},
    }


def _partitioned() -> Iterator[Call]:
    for number, columns in enumerate(("ds", "ds, hr")):
        sql = f"CREATE VIEW part_{number} PARTITIONED ON ({columns}) AS SELECT id, total, {columns} FROM days"
        yield {"operation": "execute", "sql": sql, "database": SHOP, "dialect": "hive"}
        for day in (1, 2, 3):
            values = f"ds = '2026-01-0{day}'" + (", hr = '7'" if number else "")
            sql = f"ALTER VIEW part_{number} ADD PARTITION ({values})"
            yield {"operation": "execute", "sql": sql, "database": SHOP, "dialect": "hive"}


def _raw() -> Iterator[Call]:
    texts = (
        {"spark": "SELECT id FROM shop.orders"},
        {"spark": "SELECT id FROM shop.orders", "trino": "SELECT id FROM shop.orders"},
        {"duckdb": "SELECT id FROM shop.orders"},
        {"spark": "SELECT id FROM other_catalog.shop.orders"},
        {"spark": "SELEC id FRM"},
    )
    for number, each in enumerate(texts):
        yield {"operation": "create_raw", "name": f"{SHOP}.raw_{number}", "texts": each, "columns": ["id"]}


MATERIALIZED_DATABASE = "mv"
LAYOUTS = ("registered", "attached", "table")
MATERIALIZED = {
    "plain": ("SELECT nid, shop, namount FROM sales WHERE namount > 3", {}),
    "groups": ("SELECT shop, count(*) AS n, sum(namount) AS total FROM sales GROUP BY shop", {}),
    "joined": ("SELECT s.nid, h.city FROM sales s JOIN shops h ON s.shop = h.shop", {}),
    "numbered": ("SELECT nid, shop FROM sales", {"hive-views.sequence-ids": "only"}),
    "over_view": ("SELECT nid, namount FROM large", {}),
}
"""Query and properties by name."""
STATES = {
    "fresh": tuple(MATERIALIZED),
    "appended": tuple(MATERIALIZED),
    "redefined": ("plain", "groups", "over_view"),
    "never": ("plain",),
}
"""The materialized views that are in each state."""


def materialized() -> Iterator[Call]:
    """Materialized views of each layout in each state, with a table and a view of their own for each state."""
    for state, kinds in STATES.items():
        database = f"{MATERIALIZED_DATABASE}_{state}"
        yield {"operation": "create_database", "name": database}
        yield {"operation": "iceberg_table", "name": f"{database}.sales", "columns": ["nid", "shop", "namount"]}
        yield {"operation": "iceberg_table", "name": f"{database}.shops", "columns": ["shop", "city"]}
        yield {"operation": "append", "name": f"{database}.sales", "rows": [[1, "a", 10], [2, "b", 20], [3, "a", 5]]}
        yield {"operation": "append", "name": f"{database}.shops", "rows": [["a", "Rome"], ["b", "Oslo"]]}
        yield {"operation": "create", "name": f"{database}.large", "sql": "SELECT * FROM sales WHERE namount > 8"}
        for layout in LAYOUTS:
            for name in kinds:
                sql, properties = MATERIALIZED[name]
                full = f"{database}.{name}_{layout}"
                options = {"layout": layout, "properties": properties}
                yield {"operation": "create_materialized", "name": full, "sql": sql, **options}
                if state != "never":
                    yield {"operation": "refresh", "name": full}
        if state == "appended":
            yield {"operation": "append", "name": f"{database}.sales", "rows": [[4, "b", 40], [5, "c", 1]]}
        if state == "redefined":
            sql = "SELECT * FROM sales WHERE namount > 9"
            yield {"operation": "replace", "name": f"{database}.large", "sql": sql}
            for layout in LAYOUTS:
                for name in ("plain", "groups"):
                    sql = MATERIALIZED[name][0].replace("FROM sales", "FROM sales WHERE nid > 1", 1)
                    sql = sql.replace("WHERE nid > 1 WHERE", "WHERE nid > 1 AND")
                    yield {"operation": "replace_materialized", "name": f"{database}.{name}_{layout}", "sql": sql}
