"""Column lineage, direct and to tables."""

from __future__ import annotations

import pytest

from hive_views.errors import NoSuchViewError, SqlError
from tests.integration.catalog.samples import version
from tests.integration.dependencies.test_graph import COLUMNS


def short(sources):
    return {column: [f"{item.table.name}.{item.column}" for item in items] for column, items in sources.items()}


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM orders", {"id": ["orders.id"], "total": ["orders.total"]}),
        ("SELECT id + total AS both FROM orders", {"both": ["orders.id", "orders.total"]}),
        ("SELECT 1 AS one, id FROM orders WHERE total > 3", {"one": [], "id": ["orders.id"]}),
        ("SELECT o.id, r.total AS t FROM orders o, refunds r", {"id": ["orders.id"], "t": ["refunds.total"]}),
        ("SELECT id FROM orders UNION ALL SELECT total FROM refunds", {"id": ["orders.id", "refunds.total"]}),
        ("WITH w AS (SELECT max(total) AS m FROM orders) SELECT m FROM w", {"m": ["orders.total"]}),
        ("SELECT (SELECT max(total) FROM refunds) AS most FROM orders", {"most": ["refunds.total"]}),
        ("SELECT q FROM orders LATERAL VIEW explode(array(id, total)) e AS q", {"q": ["orders.id", "orders.total"]}),
        ("SELECT sum(total) OVER (PARTITION BY id) AS s FROM orders", {"s": ["orders.id", "orders.total"]}),
    ],
)  # fmt: skip
def test_column_lineage_of_expressions(catalog, database, hive_table, view, sql, expected):
    hive_table("orders")
    hive_table("refunds")
    view("top", sql)
    assert short(catalog.dependencies.column_lineage(f"{database}.top")) == expected


def test_deep_column_lineage_reaches_tables(catalog, database, hive_table, hive_view, view):
    hive_table("orders")
    hive_view("old", f"select `o`.`total` as `id`, `o`.`id` as `total` from `{database}`.`orders` `o`")
    view("middle", "SELECT id, id + total AS total FROM old")
    view("top", "SELECT total AS x, 2 AS y FROM middle")
    assert short(catalog.dependencies.column_lineage(f"{database}.top")) == {"x": ["middle.total"], "y": []}
    assert short(catalog.dependencies.column_lineage(f"{database}.top", deep=True)) == {
        "x": ["orders.id", "orders.total"],
        "y": [],
    }
    assert short(catalog.dependencies.column_lineage(f"{database}.old")) == {
        "id": ["orders.total"],
        "total": ["orders.id"],
    }


def test_column_lineage_of_other_engines_view_is_positional(catalog, database, hive_table):
    hive_table("orders", "a", "b")
    catalog.create_view(f"{database}.top", COLUMNS, version(database, ("spark", "select a, a + b from orders")))
    assert short(catalog.dependencies.column_lineage(f"{database}.top")) == {
        "id": ["orders.a"],
        "total": ["orders.a", "orders.b"],
    }


def test_column_lineage_rejects_tables_and_unresolvable_views(catalog, raw, database, hive_table, view):
    hive_table("orders")
    view("top", "SELECT id FROM orders")
    raw.drop_table(database, "orders", False)
    with pytest.raises(SqlError, match="orders"):
        catalog.dependencies.column_lineage(f"{database}.top")
    with pytest.raises(NoSuchViewError):
        catalog.dependencies.column_lineage(f"{database}.orders")
