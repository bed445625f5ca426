"""Refreshes recompute only the partitions whose sources changed; the rows equal those of a full refresh."""

from __future__ import annotations

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import IdentityTransform

from hive_views import HiveViewCatalog
from tests.integration.materialized.conftest import SALES, SHOPS, rows
from tests.integration.materialized.duck_engine import DuckEngine, bag, query


@pytest.fixture
def partitioned(catalog: HiveViewCatalog, database: str) -> str:
    """The database with `sales`, partitioned by shop, and `shops`."""
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "shop"))
    table = catalog.create_table((database, "sales"), SALES, partition_spec=spec)
    table.append(rows((1, "a", 10), (2, "b", 20), (3, "a", 5), (4, "c d", 1), (5, None, 2)))
    catalog.create_table((database, "shops"), SHOPS).append(rows(("a", "Rome"), ("b", "Oslo"), schema=SHOPS))
    return database


QUERIES = [
    "SELECT shop, avg(amount) AS mean, count(*) AS n FROM sales GROUP BY shop",
    "SELECT s.id, s.shop, h.city FROM sales s LEFT JOIN shops h ON s.shop = h.shop",
    "SELECT DISTINCT shop FROM sales",
    "SELECT shop, id FROM sales WHERE amount > 1",
    "SELECT h.shop, s.id FROM shops h LEFT JOIN sales s ON s.shop = h.shop",
]


@pytest.mark.parametrize(
    ("text", "layout"),
    [*((text, "registered") for text in QUERIES), (QUERIES[0], "attached"), (QUERIES[0], "table")],
)
def test_partition_refresh_equals_recomputation(catalog, partitioned, text, layout):
    views, engine = catalog.materialized, DuckEngine(catalog)
    views.create((partitioned, "mv"), text, layout=layout, partitioned_by=("shop",))
    views.load((partitioned, "mv")).refresh(engine)
    changes = [
        lambda: catalog.load_table((partitioned, "sales")).delete("id = 1"),
        lambda: catalog.load_table((partitioned, "sales")).delete("shop = 'b'"),
        lambda: catalog.load_table((partitioned, "sales")).overwrite(
            rows((9, "c d", 9), (8, None, 8)), "shop = 'a' or shop is null"
        ),
    ]
    for change in changes:
        change()
        report = views.load((partitioned, "mv")).refresh(engine)[-1]
        assert report.action == "partitions", report.why
        tables = {"sales": f"{partitioned}.sales", "shops": f"{partitioned}.shops"}
        stored = views.load((partitioned, "mv")).storage.scan().to_arrow().to_pylist()
        assert bag([tuple(row.values()) for row in stored]) == query(catalog, text, tables)
        assert views.freshness((partitioned, "mv")).is_fresh


@pytest.mark.parametrize(
    "text",
    [
        "SELECT upper(shop) AS shop, id FROM sales",
        "SELECT max(shop) AS shop, amount FROM sales GROUP BY amount",
        "SELECT s.shop, h.shop AS other FROM shops h LEFT JOIN sales s ON s.shop = h.shop",
        "SELECT shop, row_number() OVER (ORDER BY id) AS n FROM sales",
        "SELECT a.shop, b.id FROM sales a JOIN sales b ON a.shop = b.shop",
        "SELECT shop, id FROM sales UNION ALL SELECT shop, amount AS id FROM sales",
    ],
)
def test_undetermined_partitions_cause_full_refresh(catalog, partitioned, text):
    views, engine = catalog.materialized, DuckEngine(catalog)
    views.create((partitioned, "mv"), text, partitioned_by=("shop",), properties={"hive-views.repeatable": "true"})
    views.load((partitioned, "mv")).refresh(engine)
    catalog.load_table((partitioned, "sales")).delete("id = 1")
    assert views.load((partitioned, "mv")).refresh(engine)[-1].action == "full"
    tables = {"sales": f"{partitioned}.sales", "shops": f"{partitioned}.shops"}
    stored = views.load((partitioned, "mv")).storage.scan().to_arrow().to_pylist()
    assert bag([tuple(row.values()) for row in stored]) == query(catalog, text, tables)
