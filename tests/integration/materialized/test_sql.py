"""SQL statements about materialized views, and the order of cascading refreshes."""

from __future__ import annotations

import pytest

from hive_views.errors import DependentsError, NotMaterializedError, RefreshError, SqlError
from hive_views.materialized import overview_page
from hive_views.materialized.layouts.layout import Layout
from hive_views.materialized.properties import may_answer_other_queries
from tests.integration.materialized.conftest import LAYOUTS, rows
from tests.integration.materialized.duck_engine import DuckEngine


def test_create_refresh_show_drop(run, catalog, market):
    run("CREATE MATERIALIZED VIEW totals COMMENT 'by shop' PARTITIONED BY (shop) TBLPROPERTIES ('team' = 'bi') "
        "AS SELECT shop, sum(amount) AS total FROM sales GROUP BY shop")  # fmt: skip
    view = catalog.materialized.load((market, "totals"))
    assert view.layout is Layout.REGISTERED
    assert view.metadata.properties["comment"] == "by shop" and view.metadata.properties["team"] == "bi"
    assert view.storage is not None and [field.name for field in view.storage.spec().fields] == ["shop"]
    assert run("SHOW MATERIALIZED VIEWS").rows == ((market, "totals", "registered", "stale", "it was never refreshed"),)
    done = run("REFRESH MATERIALIZED VIEW totals")
    assert done.kind == "refreshed" and done.rows[0][1] == "full"
    assert run("REFRESH MATERIALIZED VIEW totals").kind == "unchanged"
    assert run("REFRESH MATERIALIZED VIEW totals FULL").rows[0][1] == "full"
    assert run("ALTER MATERIALIZED VIEW totals REBUILD").kind == "unchanged"
    assert run("SHOW MATERIALIZED VIEWS LIKE 'tot*'").rows == ((market, "totals", "registered", "fresh", None),)
    catalog.load_table((market, "sales")).append(rows((9, "a", 1)))
    explained = run("EXPLAIN REFRESH MATERIALIZED VIEW totals")
    assert explained.columns == ("plan",)
    assert explained.rows[0] == (f"{market}.totals: incremental refresh: rows were added to {market}.sales",)
    assert run("REFRESH MATERIALIZED VIEW totals INCREMENTAL").rows[0][1] == "incremental"
    run("DROP MATERIALIZED VIEW totals")
    assert catalog.list_tables(market) == [(market, "sales"), (market, "shops")]
    assert run("DROP MATERIALIZED VIEW IF EXISTS totals").kind == "absent"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout_property_selects_layout(run, catalog, market, layout):
    run(f"CREATE MATERIALIZED VIEW mv TBLPROPERTIES ('hive-views.layout' = '{layout}') AS SELECT id FROM sales")
    assert catalog.materialized.load((market, "mv")).layout.value == layout
    run("CREATE MATERIALIZED VIEW IF NOT EXISTS mv AS SELECT shop FROM sales")
    assert catalog.materialized.load((market, "mv")).layout.value == layout
    run("DROP MATERIALIZED VIEW mv")
    assert catalog.list_views(market) == []
    assert catalog.list_tables(market) == [(market, "sales"), (market, "shops")]


def test_or_replace_keeps_storage_but_not_freshness(run, catalog, market):
    run("CREATE MATERIALIZED VIEW mv AS SELECT id, amount FROM sales")
    run("REFRESH MATERIALIZED VIEW mv")
    run("CREATE OR REPLACE MATERIALIZED VIEW mv AS SELECT id, amount FROM sales WHERE amount > 7")
    assert catalog.materialized.load((market, "mv")).storage_name.name == "mv__storage"
    reading = catalog.materialized.load((market, "mv")).reading(allow_stale_data=True, max_staleness_ms=10**9)
    assert not reading.from_storage and "definition changed" in reading.why
    run("REFRESH MATERIALIZED VIEW mv")
    assert catalog.materialized.load((market, "mv")).storage.scan().to_arrow().num_rows == 2


@pytest.mark.parametrize("layout", LAYOUTS)
def test_disabled_rewrite_is_a_property(run, catalog, market, layout):
    properties = f"TBLPROPERTIES ('hive-views.layout' = '{layout}')"
    run(f"CREATE MATERIALIZED VIEW one DISABLE REWRITE {properties} AS SELECT id FROM sales")
    run(f"CREATE MATERIALIZED VIEW two {properties} AS SELECT id FROM sales")
    assert run("ALTER MATERIALIZED VIEW two DISABLE REWRITE").kind == "changed"
    assert run("ALTER MATERIALIZED VIEW two DISABLE REWRITE").kind == "unchanged"
    for name in ("one", "two"):
        view = catalog.materialized.load((market, name))
        assert not may_answer_other_queries(view.properties)
    run("ALTER MATERIALIZED VIEW two UNSET TBLPROPERTIES ('hive-views.rewrite-queries')")
    assert may_answer_other_queries(catalog.materialized.load((market, "two")).properties)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("CREATE MATERIALIZED VIEW mv ENABLE REWRITE AS SELECT id FROM sales", "ENABLE REWRITE"),
        ("CREATE MATERIALIZED VIEW mv STORED AS ORC AS SELECT id FROM sales", "STORED AS"),
        ("CREATE MATERIALIZED VIEW mv TBLPROPERTIES ('hive-views.layout' = 'odd') AS SELECT id FROM sales", "odd"),
        ("CREATE MATERIALIZED VIEW mv AS SELECT nothing FROM sales", "nothing"),
    ],
)
def test_unsupported_clauses_are_rejected_without_effect(run, catalog, market, text, what):
    with pytest.raises(SqlError, match=what):
        run(text)
    assert catalog.list_tables(market) == [(market, "sales"), (market, "shops")]
    assert catalog.list_views(market) == []


def test_plain_view_is_not_materialized(run, catalog, market):
    catalog.execute("CREATE VIEW plain AS SELECT id FROM sales", database=market)
    for text in ("REFRESH MATERIALIZED VIEW plain", "DROP MATERIALIZED VIEW plain",
                 "ALTER MATERIALIZED VIEW plain SET TBLPROPERTIES ('a' = 'b')"):  # fmt: skip
        with pytest.raises(NotMaterializedError):
            run(text)
    with pytest.raises(SqlError, match="needs Spark"):
        catalog.execute("REFRESH MATERIALIZED VIEW plain", database=market)


def test_cascade_refreshes_each_once_in_order(run, catalog, market):
    run("CREATE MATERIALIZED VIEW base AS SELECT id, shop, amount FROM sales WHERE amount > 1")
    catalog.execute("CREATE VIEW between_them AS SELECT * FROM base", database=market)
    run("CREATE MATERIALIZED VIEW one AS SELECT shop, count(*) AS n FROM between_them GROUP BY shop")
    run("CREATE MATERIALIZED VIEW top AS SELECT o.shop, o.n, b.id FROM one o JOIN base b ON o.shop = b.shop")
    done = run("REFRESH MATERIALIZED VIEW top CASCADE")
    assert [row[0] for row in done.rows] == [f"{market}.{name}" for name in ("base", "one", "top")]
    for name in ("base", "one", "top"):
        assert catalog.materialized.freshness((market, name)).is_fresh
    catalog.load_table((market, "sales")).append(rows((9, "b", 9)))
    assert run("REFRESH MATERIALIZED VIEW top").rows[0][0] == f"{market}.top"
    assert catalog.materialized.freshness((market, "top")).is_fresh
    assert not catalog.materialized.freshness((market, "base")).is_fresh, "without CASCADE only the one that is named"
    with pytest.raises(DependentsError):
        run("DROP MATERIALIZED VIEW base RESTRICT")
    progress_lines: list[str] = []
    catalog.materialized.load((market, "top")).refresh(
        DuckEngine(catalog), cascade=True, progress=progress_lines.append
    )
    assert [line.partition(":")[0] for line in progress_lines if "refresh:" in line or "unchanged" in line] == [
        f"[{number}/3] {market}.{name}" for number, name in enumerate(("base", "one", "top"), start=1)
    ]


def test_impossible_incremental_refresh_reports_reason(run, catalog, market):
    run("CREATE MATERIALIZED VIEW mv AS SELECT DISTINCT shop FROM sales")
    run("REFRESH MATERIALIZED VIEW mv")
    catalog.load_table((market, "sales")).append(rows((9, "d", 1)))
    with pytest.raises(RefreshError, match="DISTINCT"):
        run("REFRESH MATERIALIZED VIEW mv INCREMENTAL")
    assert run("REFRESH MATERIALIZED VIEW mv").rows[0][1] == "full"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_show_create_creates_the_view_again(run, catalog, market, layout):
    run(
        "CREATE MATERIALIZED VIEW mv (shop COMMENT 'which', total) COMMENT 'it''s' "
        "PARTITIONED BY (bucket(8, shop), truncate(2, shop), shop) SORTED BY (total DESC, bucket(4, shop) NULLS LAST) "
        f"TBLPROPERTIES ('team' = 'bi', 'hive-views.max-staleness-ms' = '5', 'hive-views.layout' = '{layout}') "
        "STORAGE PROPERTIES ('write.parquet.compression-codec' = 'gzip', 'team.owner' = 'me') "
        "AS SELECT shop, sum(amount) AS total FROM sales GROUP BY shop"
    )
    before = catalog.materialized.load((market, "mv"))
    [(text,)] = run("SHOW CREATE MATERIALIZED VIEW mv").rows
    assert text.startswith("-- ") and "CREATE MATERIALIZED VIEW" in text and "'team' = 'bi'" in text
    if layout != "table":
        assert run("SHOW CREATE VIEW mv").rows == ((text,),)
    run("DROP MATERIALIZED VIEW mv")
    run(text)
    after = catalog.materialized.load((market, "mv"))
    assert (after.layout, after.storage.spec()) == (before.layout, before.storage.spec())
    assert after.storage.sort_order() == before.storage.sort_order()
    assert [str(field) for field in after.metadata.current_schema().fields] == [
        str(field) for field in before.metadata.current_schema().fields
    ]
    assert (
        after.storage.properties["write.parquet.compression-codec"] == "gzip"
        and after.storage.properties["team.owner"] == "me"
    )
    for key in ("team", "comment", "hive-views.max-staleness-ms"):
        assert after.properties[key] == before.properties[key]
    assert run("SHOW CREATE MATERIALIZED VIEW mv").rows == ((text,),)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_comment_on_view(run, catalog, market, layout):
    run(f"CREATE MATERIALIZED VIEW mv TBLPROPERTIES ('hive-views.layout' = '{layout}') AS SELECT id FROM sales")
    assert run("COMMENT ON MATERIALIZED VIEW mv IS 'all of them'").kind == "changed"
    assert catalog.materialized.load((market, "mv")).properties["comment"] == "all of them"
    assert run("COMMENT ON MATERIALIZED VIEW mv IS NULL").kind == "changed"
    assert "comment" not in catalog.materialized.load((market, "mv")).properties
    catalog.execute("CREATE VIEW plain AS SELECT id FROM sales", database=market)
    run("COMMENT ON VIEW plain IS 'plain'")
    assert catalog.load_view((market, "plain")).properties["comment"] == "plain"


def test_history_and_overview(run, catalog, market):
    run("CREATE MATERIALIZED VIEW low TBLPROPERTIES ('hive-views.target-lag' = '1 hour') AS SELECT id, shop FROM sales")
    run("CREATE MATERIALIZED VIEW top AS SELECT shop, count(*) AS n FROM low GROUP BY shop")
    run("REFRESH MATERIALIZED VIEW top CASCADE")
    catalog.load_table((market, "sales")).append(rows((9, "b", 9)))
    run("REFRESH MATERIALIZED VIEW low")
    first, second = catalog.materialized.load((market, "low")).refreshes()
    assert (first.action, first.why, first.rows, first.written) == ("full", "it was never refreshed", 3, 3)
    assert (second.action, second.rows, second.written) == ("incremental", 4, 1)
    assert second.why == f"rows were added to {market}.sales"
    assert second.seconds is not None and second.seconds >= 0 and second.bytes
    low, top = catalog.materialized.overview([market])
    assert (str(low.freshness), low.last, low.target_lag, low.reads) == ("fresh", second, "1 hour", ())
    assert not top.freshness.is_fresh and top.reads == (low.name,) and top.last.action == "full"
    text = overview_page([low, top])
    assert text.count("<rect") == 2 and text.count("<line") == 1 and f"{market}.sales: a table changed" in text
