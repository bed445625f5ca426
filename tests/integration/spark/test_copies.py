"""Several storages behind one view: a query reads the fresh copy that suits its filters, and the same rows always."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame

from hive_views.errors import DependentsError
from hive_views.spark import ViewSession


@pytest.fixture
def views(session: ViewSession, database: str) -> ViewSession:
    """A session with a materialized view and two copies."""
    session.sql("CREATE TABLE t (id BIGINT, day DATE, shop STRING) USING iceberg")
    session.sql("INSERT INTO t VALUES (1, DATE '2026-01-01', 'a'), (2, DATE '2026-01-02', 'b'), (3, NULL, NULL)")
    session.sql("CREATE MATERIALIZED VIEW mv AS SELECT id, day, shop FROM t")
    session.sql("CREATE MATERIALIZED VIEW mv_by_day PARTITIONED BY (month(day)) AS SELECT * FROM mv")
    session.sql("CREATE MATERIALIZED VIEW mv_by_shop SORTED BY (shop) AS SELECT * FROM mv")
    for name in ("mv", "mv_by_day", "mv_by_shop"):
        session.sql(f"REFRESH MATERIALIZED VIEW {name}")
    copies = f"mv_by_day, {database}.mv_by_shop"
    session.sql(f"ALTER MATERIALIZED VIEW mv SET TBLPROPERTIES ('hive-views.copies' = '{copies}')")
    return session


def read(views: ViewSession, text: str) -> tuple[list[str], str]:
    """Return the rows of a statement, and what the statement read instead of the view."""
    frame: DataFrame = views.sql(text)
    rows = sorted(map(str, frame.collect()))
    [note] = views.notes
    return rows, note.why


FROM_DAY, FROM_SHOP, OWN = "mv_by_day: fresh", "mv_by_shop: fresh", "storage: fresh"


CHOICES = (
    ("SELECT * FROM mv", OWN),
    ("SELECT id FROM mv WHERE id = 1", OWN),
    ("SELECT id FROM mv WHERE day = DATE '2026-01-02'", FROM_DAY),
    ("SELECT id FROM mv AS m WHERE m.shop > 'a'", FROM_SHOP),
    ("SELECT id FROM mv WHERE shop = 'b' AND day IS NOT NULL", FROM_DAY),
    ("SELECT count(*) AS n FROM (SELECT * FROM mv) AS q WHERE q.shop IS NULL", FROM_SHOP),
    ("SELECT a.id FROM mv AS a JOIN (SELECT 'a' AS s) AS b ON a.shop = b.s", FROM_SHOP),
    ("EXPLAIN SELECT * FROM mv WHERE shop = 'a'", FROM_SHOP),
)
"""Queries, and the storage that each one reads."""


def test_filters_choose_the_storage(spark, views):
    for query, storage in CHOICES:
        rows, why = read(views, query)
        assert why.endswith(storage), (query, why)
        if not query.startswith("EXPLAIN"):
            assert rows == sorted(map(str, spark.sql(query.replace("mv", "t")).collect())), query


def test_only_fresh_copies_are_read(spark, catalog, database, views):
    query = "SELECT id, shop FROM mv WHERE shop IS NOT NULL"
    plain = "SELECT id, shop FROM t WHERE shop IS NOT NULL"
    spark.sql("INSERT INTO t VALUES (4, NULL, 'c')")
    rows, why = read(views, query)
    assert why.startswith("definition: stale") and rows == sorted(map(str, spark.sql(plain).collect()))
    views.sql("REFRESH MATERIALIZED VIEW mv")
    rows, why = read(views, query)
    assert why == OWN and len(rows) == 3
    views.sql("REFRESH MATERIALIZED VIEW mv_by_shop")
    assert read(views, query) == (rows, f"storage of {database}.{FROM_SHOP}")
    spark.sql("DELETE FROM t WHERE id = 4")
    views.sql("REFRESH MATERIALIZED VIEW mv_by_day")  # a fresh copy of a stale view answers
    rows, why = read(views, query)
    assert why.endswith(FROM_DAY) and rows == sorted(map(str, spark.sql(plain).collect()))
    refreshed = catalog.materialized.select([database], pattern="mv", downstream=True)
    assert {item.name for item in refreshed} == {"mv", "mv_by_day", "mv_by_shop"}


def test_copies_are_dropped_with_the_view(spark, catalog, database, views):
    with pytest.raises(DependentsError):
        views.sql("DROP MATERIALIZED VIEW mv RESTRICT")
    views.sql("DROP MATERIALIZED VIEW mv_by_day")
    assert read(views, "SELECT id FROM mv WHERE day IS NULL")[1] == OWN
    views.sql("DROP MATERIALIZED VIEW mv CASCADE")
    assert catalog.materialized.listing(database) == []
