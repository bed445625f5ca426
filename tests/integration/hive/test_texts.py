"""Views of this package, read by Hive's own driver: some by a fetch task, some by MapReduce."""

from __future__ import annotations

import pytest

from hive_views import HiveViewCatalog
from tests.integration.hive.reader import HiveReader

TABLES = (
    "CREATE DATABASE IF NOT EXISTS h",
    "CREATE EXTERNAL TABLE h.orders (id INT, customer STRING, total DECIMAL(10,2)) STORED AS PARQUET",
    "INSERT INTO h.orders VALUES (1, 'ann', 1.50), (2, 'bob', 2.25), (3, 'ann', NULL)",
)
VIEWS = {
    "SELECT * FROM orders WHERE id > 1": ["2\tbob\t2.25", "3\tann\tNULL"],
    "SELECT id / 2 AS half, 'it\\'s' AS s FROM orders WHERE id < 3": ["0.5\tit's", "1.0\tit's"],
    "SELECT customer, sum(total) AS s, count(*) AS n FROM orders GROUP BY customer": ["ann\t1.50\t2", "bob\t2.25\t1"],
    "SELECT a.id, b.total FROM orders a JOIN orders b ON a.id = b.id WHERE b.total > 2": ["2\t2.25"],
    "SELECT id FROM orders WHERE id = 1 UNION ALL SELECT 9": ["1", "9"],
    "SELECT id FROM orders WHERE total > (SELECT avg(total) FROM orders)": ["2"],
}
"""Queries and their rows as Hive prints them."""


@pytest.fixture(scope="module")
def tables(hive: HiveReader) -> None:
    for statement in TABLES:
        hive.query(statement)


@pytest.mark.parametrize("query", VIEWS)
def test_hive_reads_the_row(hive: HiveReader, catalog: HiveViewCatalog, tables: None, query: str):
    name = f"h.view_{list(VIEWS).index(query)}"
    catalog.execute(f"CREATE VIEW {name} AS {query}", database="h", dialect="hive")
    assert sorted(hive.query(f"SELECT * FROM {name}")) == VIEWS[query]
