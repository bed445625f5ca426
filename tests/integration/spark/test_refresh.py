"""Materialized views refreshed on a real Spark: rows, snapshots, and what Spark's own catalog makes of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.errors import RefreshError, StaleRowsError
from hive_views.materialized.freshness.verdict import Cause
from hive_views.spark import ViewSession
from hive_views.spark.refresh.engine import SparkEngine
from hive_views.spark.sessions import SPARK_LINE
from tests.integration.materialized.conftest import LAYOUTS, SALES, rows
from tests.integration.materialized.duck_engine import ConcurrentWriterEngine
from tests.integration.spark.conftest import CACHE
from tests.integration.spark.spark_versions import BY_KEYS
from tests.suites import extended

Rows = list[tuple]
QUERY = "SELECT s.id, s.amount, h.city FROM sales s JOIN shops h ON s.shop = h.shop WHERE s.amount > 1"
TOTALS = (
    "SELECT h.city, count(*) AS n, sum(s.amount) AS total, max(s.id) AS last "
    "FROM sales s JOIN shops h ON s.shop = h.shop GROUP BY h.city"
)


@pytest.fixture
def market(spark: SparkSession, database: str) -> str:
    spark.sql(f"CREATE TABLE prod.{database}.sales (id BIGINT, shop STRING, amount BIGINT) USING iceberg")
    spark.sql(f"CREATE TABLE prod.{database}.shops (shop STRING, city STRING) USING iceberg")
    spark.sql(f"INSERT INTO prod.{database}.sales VALUES (1, 'a', 10), (2, 'b', 20), (3, 'a', 5), (4, 'c', 1)")
    spark.sql(f"INSERT INTO prod.{database}.shops VALUES ('a', 'Rome'), ('b', 'Oslo')")
    return database


@pytest.fixture
def defined(spark: SparkSession, catalog: HiveViewCatalog, market: str) -> Callable[[str], Rows]:
    """The rows of a view's definition as Spark computes them now."""

    def rows(name: str) -> Rows:
        view = catalog.materialized.load((market, name))
        text = next(item.root.sql for item in view.version.representations if item.root.dialect == "spark")
        spark.sql(f"USE prod.{market}")
        try:
            return sorted(tuple(row) for row in spark.sql(text).collect())
        finally:
            spark.sql("USE spark_catalog.default")

    return rows


def stored(catalog: HiveViewCatalog, market: str, name: str) -> Rows:
    storage = catalog.materialized.load((market, name)).storage
    assert storage is not None
    return sorted(tuple(row.values()) for row in storage.scan().to_arrow().to_pylist())


@pytest.mark.parametrize("layout", ["registered", *extended("attached", "table")])
def test_full_then_incremental_then_full(spark, catalog, market, defined, layout: str):
    views, engine = catalog.materialized, SparkEngine(spark, catalog)
    for name, text in (("details", QUERY), ("totals", TOTALS)):
        views.create((market, name), text, layout=layout)
    for name in ("details", "totals"):
        assert views.load((market, name)).refresh(engine)[-1].action == "full"
    spark.sql(f"INSERT INTO prod.{market}.sales VALUES (5, 'b', 7), (6, 'd', 8)")
    spark.sql(f"INSERT INTO prod.{market}.shops VALUES ('c', 'Bern'), ('d', 'Oslo')")
    for name in ("details", "totals"):
        assert not views.freshness((market, name)).is_fresh
        assert views.load((market, name)).refresh(engine)[-1].action == "incremental"
        assert stored(catalog, market, name) == defined(name)
        assert views.freshness((market, name)).is_fresh
    spark.sql(f"DELETE FROM prod.{market}.sales WHERE id = 1")
    report = views.load((market, "details")).refresh(engine)[-1]
    assert report.action == BY_KEYS and "changed or deleted" in report.why
    assert stored(catalog, market, "details") == defined("details")


def test_refresh_session_has_settings_of_caller(spark, catalog):
    secret, zone = "spark.sql.catalog.prod.client.secret-key", "spark.sql.session.timeZone"
    before = spark.conf.get(zone)
    assert spark.conf.get(secret, None) is None and before != "Asia/Tokyo"
    try:
        spark.conf.set(secret, "hidden value")
        spark.conf.set(zone, "Asia/Tokyo")
        session = SparkEngine(spark, catalog).open_session()
    finally:
        spark.conf.unset(secret)
        spark.conf.set(zone, before)
    assert (session.conf.get(secret), session.conf.get(zone)) == ("hidden value", "Asia/Tokyo")


def test_refresh_session_ignores_static_settings(spark, catalog):
    there = spark.newSession()
    # What `getOrCreate` with other settings does to the session that it finds.
    there._jsparkSession.sessionState().conf().setConfString("spark.jars", "other.jar")
    there.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    session = SparkEngine(there, catalog).open_session()
    assert session.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"


@pytest.mark.extended
def test_empty_result_is_committed(spark, catalog, market):
    views, engine = catalog.materialized, SparkEngine(spark, catalog)
    views.create((market, "details"), QUERY)
    views.load((market, "details")).refresh(engine)
    spark.sql(f"DELETE FROM prod.{market}.sales WHERE id > 0")
    before = views.load((market, "details")).snapshot
    report = views.load((market, "details")).refresh(engine)[-1]
    assert (report.action, report.rows) == (BY_KEYS, 0)
    assert before is not None and report.snapshot_id != before.snapshot_id
    assert stored(catalog, market, "details") == []
    assert views.freshness((market, "details")).is_fresh


@pytest.mark.extended
def test_rows_stay_fresh_after_compaction_of_a_source(spark, catalog, market):
    views = catalog.materialized
    views.create((market, "details"), QUERY)
    views.load((market, "details")).refresh(SparkEngine(spark, catalog))
    spark.sql(f"INSERT INTO prod.{market}.sales VALUES (7, 'a', 70)")
    views.load((market, "details")).refresh(SparkEngine(spark, catalog))
    spark.sql(
        f"CALL prod.system.rewrite_data_files(table => '{market}.sales', options => map('rewrite-all', 'true'))"
    ).collect()
    table = catalog.load_table((market, "sales"))
    assert table.metadata.current_snapshot().summary.operation.value == "replace"
    assert views.freshness((market, "details")).is_fresh


def test_storage_link_survives_a_change_by_the_java_catalog(spark, catalog, market):
    views = catalog.materialized
    views.create((market, "details"), QUERY)
    views.load((market, "details")).refresh(SparkEngine(spark, catalog))
    spark.sql(f"ALTER VIEW prod.{market}.details SET TBLPROPERTIES ('team' = 'bi')")
    version = catalog.load_view((market, "details")).current_version()
    assert "storage-table" not in (version.model_extra or {}), "Java drops the field: else this proves nothing"
    assert views.freshness((market, "details")).is_fresh
    assert spark.sql(f"SELECT * FROM prod.{market}.details").count() == 3, "a plain view to Iceberg's Spark catalog"
    catalog.load_view((market, "details")).update().set_properties(more="1").commit()
    version = catalog.load_view((market, "details")).current_version()
    assert (version.model_extra or {})["storage-table"] == {"namespace": [market], "name": "details__storage"}


@pytest.mark.extended
@pytest.mark.parametrize("layout", LAYOUTS)
def test_recorded_state_is_the_state_that_was_read(spark, catalog, market, layout: str):
    """Another program appends after the refresh has chosen the snapshots, and once more before it commits."""
    views, name, sales = catalog.materialized, (market, "last"), (market, "sales")

    def append(number: int) -> None:
        catalog.load_table(sales).append(rows((number, "z", number)))

    query = "SELECT shop, count(*) AS n, max(id) AS last FROM sales WHERE shop = 'z' GROUP BY shop"
    views.create(name, query, layout=layout)
    engine = SparkEngine(spark, catalog)
    for first, action in ((1, "full"), (4, "incremental")):
        append(first)
        chosen = catalog.load_table(sales).metadata.current_snapshot_id
        slow = ConcurrentWriterEngine(engine, before=lambda: append(first + 1), after=lambda: append(first + 2))  # noqa: B023 -- called in this iteration
        assert views.load(name).refresh(slow)[-1].action == action
        [source] = views.load(name).refreshes()[-1].state.sources
        assert source.id == chosen
        assert stored(catalog, market, "last") == [("z", first, first)]
        [reason] = views.freshness(name).reasons
        assert str(chosen) in str(reason) and not views.load(name).reading().from_storage
    assert views.load(name).refresh(engine)[-1].action == "incremental"
    assert stored(catalog, market, "last") == [("z", 6, 6)] and views.freshness(name).is_fresh


@pytest.mark.extended
def test_refresh_fails_if_table_read_without_snapshot_id_changes(spark, catalog, market):
    """Its columns changed after the last snapshot: Spark reads no snapshot with them, so writes are skipped."""
    views, name = catalog.materialized, (market, "prices")
    with catalog.load_table((market, "sales")).update_schema() as update:
        update.rename_column("amount", "price")
    views.create(name, "SELECT id, price FROM sales")
    engine = SparkEngine(spark, catalog)
    slow = ConcurrentWriterEngine(engine, before=lambda: spark.sql(f"DELETE FROM prod.{market}.sales WHERE id = 1"))
    with pytest.raises(RefreshError, match="changed while it was read"):
        views.load(name).refresh(slow)
    assert views.load(name).snapshot is None and views.load(name).orphans(older_than_ms=0).snapshots == ()
    views.load(name).refresh(engine)
    assert stored(catalog, market, "prices") == [(2, 20), (3, 5), (4, 1)] and views.freshness(name).is_fresh


def test_view_over_hive_table_is_never_fresh(spark, catalog, market):
    spark.sql(f"CREATE TABLE spark_catalog.{market}.visits (page STRING, n INT) USING parquet")
    spark.sql(f"INSERT INTO spark_catalog.{market}.visits VALUES ('x', 1)")
    views = catalog.materialized
    views.create((market, "seen"), "SELECT page, n FROM visits")
    views.load((market, "seen")).refresh(SparkEngine(spark, catalog))
    assert stored(catalog, market, "seen") == [("x", 1)]
    freshness = views.freshness((market, "seen"))
    assert not freshness.is_fresh and [reason.cause for reason in freshness.reasons] == [Cause.BEST_EFFORT]


@pytest.mark.parametrize("layout", ["table", *extended("registered", "attached")])
def test_session_reads_stored_rows_only_if_fresh(spark, session, catalog, market, layout: str):
    views = catalog.materialized
    views.create((market, "details"), QUERY, layout=layout)
    catalog.execute("CREATE VIEW plain AS SELECT id FROM details", database=market)
    for statement in ("SELECT id FROM details", "SELECT * FROM plain"):
        assert session.sql(statement).count() == 3
        [note] = session.notes
        assert not note.from_storage and "never refreshed" in note.why
    views.load((market, "details")).refresh(SparkEngine(spark, catalog))
    for statement in ("SELECT id FROM details", "SELECT * FROM plain", "SELECT details.city FROM details"):
        frame = session.sql(statement)
        [note] = session.notes
        assert note.from_storage and note.why == "storage: fresh"
        assert frame.count() == 3
        assert "sales" not in frame._jdf.queryExecution().executedPlan().toString()
    spark.sql(f"INSERT INTO prod.{market}.sales VALUES (9, 'b', 90)")
    assert session.sql("SELECT id FROM details").count() == 4
    assert "a table changed" in session.notes[0].why
    views.load((market, "details")).set_properties({"hive-views.when-stale": "fail"})
    for statement in ("SELECT id FROM details", "SELECT * FROM plain"):
        with pytest.raises(StaleRowsError, match="a table changed"):
            session.sql(statement)
    views.load((market, "details")).refresh(SparkEngine(spark, catalog))
    assert session.sql("SELECT id FROM details").count() == 4 and session.notes[0].from_storage


def test_query_refreshes_stale_rows(spark, session, catalog, market):
    views = catalog.materialized
    views.create((market, "details"), QUERY, properties={"hive-views.when-stale": "refresh"})
    catalog.execute("CREATE VIEW plain AS SELECT id FROM details", database=market)
    session.sql("EXPLAIN SELECT * FROM details").collect()
    assert not session.notes[0].from_storage and views.load((market, "details")).snapshot is None
    assert session.sql("SELECT id FROM details").count() == 3 and session.notes[0].from_storage
    spark.sql(f"INSERT INTO prod.{market}.sales VALUES (9, 'b', 90)")
    assert session.sql("SELECT * FROM plain").count() == 4 and session.notes[0].why == "storage: fresh"
    assert [item.action for item in views.load((market, "details")).refreshes()] == ["full", "incremental"]
    # Rows of the definition, if they cannot be refreshed.
    spark.sql(f"INSERT INTO prod.{market}.sales VALUES (10, 'b', 90)")
    storage = views.load((market, "details")).storage
    with storage.transaction() as transaction:
        transaction.set_properties({"hive-views.storage-of": "00000000-0000-0000-0000-000000000000"})
    assert session.sql("SELECT id FROM details").count() == 5 and not session.notes[0].from_storage


@pytest.mark.extended
def test_sorted_storage_keeps_its_order(spark, catalog, market):
    views, engine = catalog.materialized, SparkEngine(spark, catalog)
    name = (market, "ordered")
    views.create(name, "SELECT shop, id, amount FROM sales", sorted_by=("amount DESC NULLS LAST", "id"))
    for values in ("(7, 'a', NULL)", "(8, 'a', 15), (9, 'c', 30), (6, 'd', 30)"):
        spark.sql(f"INSERT INTO prod.{market}.sales VALUES {values}")
        views.load(name).refresh(engine)
    for task in views.load(name).storage.scan().plan_files():
        table = pq.read_table(task.file.file_path.removeprefix("file:"))
        found = list(zip(table["amount"].to_pylist(), table["id"].to_pylist(), strict=True))
        assert found == sorted(found, key=lambda row: (row[0] is None, -(row[0] or 0), row[1]))
    assert [item.action for item in views.load(name).refreshes()] == ["full", "incremental"]
    assert sum(task.file.record_count for task in views.load(name).storage.scan().plan_files()) == 8


@pytest.mark.extended
@pytest.mark.parametrize("layout", ["registered", "attached"])
def test_refresh_on_spark_connect(spark, connect_spark, catalog, market, defined, layout: str):
    views = catalog.materialized
    with ViewSession(connect_spark, catalog) as session:
        session.sql(f"USE prod.{market}")
        connect_spark.sql("SELECT 1 AS id").createOrReplaceTempView("sales")
        views.create((market, "details"), QUERY, layout=layout)
        try:
            assert session.sql("REFRESH MATERIALIZED VIEW details").collect()[0][1] == "full"
            spark.sql(f"INSERT INTO prod.{market}.sales VALUES (9, 'b', 90)")
            explained = session.sql("EXPLAIN REFRESH MATERIALIZED VIEW details").collect()
            assert ".details: incremental refresh: rows were added to" in explained[0].plan
            assert session.sql("REFRESH MATERIALIZED VIEW details").collect()[0][1] == "incremental"
            assert stored(catalog, market, "details") == defined("details")
            assert session.sql("SELECT * FROM details").count() == 4
            assert session.notes[0].why == "storage: fresh"
        finally:
            session.sql("USE spark_catalog.default")
    assert not [key for key in connect_spark.conf.getAll if key.startswith("spark.wap.")]
    assert [row.viewName for row in connect_spark.sql("SHOW VIEWS").collect() if row.isTemporary] == ["sales"]


def test_statements_about_materialized_views(spark, session, catalog, market):
    session.sql(
        "CREATE MATERIALIZED VIEW totals PARTITIONED BY (shop) "
        "AS SELECT shop, avg(amount) AS mean FROM sales GROUP BY shop"
    )
    assert session.sql("REFRESH MATERIALIZED VIEW totals").collect()[0][1] == "full"
    [row] = session.sql("SHOW MATERIALIZED VIEWS").collect()
    assert (row[1], row[3]) == ("totals", "fresh")
    assert session.sql("SELECT * FROM totals").count() == 3
    assert session.notes[0].from_storage
    session.sql("DROP MATERIALIZED VIEW totals")


@pytest.mark.extended
def test_redefinition_of_table_layout(spark, session, catalog, market):
    """Spark's own catalog finds old columns with old rows, or new ones with new ones."""
    session.sql("CREATE MATERIALIZED VIEW mv TBLPROPERTIES ('hive-views.layout' = 'table') "
                "AS SELECT id, amount FROM sales")  # fmt: skip
    session.sql("REFRESH MATERIALIZED VIEW mv")
    [before] = session.sql("SELECT snapshot_id FROM mv.refreshes").collect()
    session.sql("ALTER MATERIALIZED VIEW mv AS SELECT shop, sum(amount) AS amount FROM sales GROUP BY shop")
    assert spark.table(f"prod.{market}.mv").columns == ["id", "amount"]
    assert session.sql("SELECT shop FROM mv").count() == 3
    assert not session.notes[0].from_storage
    assert session.sql("REFRESH MATERIALIZED VIEW mv").collect()[0][1] == "full"
    found = sorted(tuple(row) for row in spark.table(f"prod.{market}.mv").collect())
    assert found == [("a", 15), ("b", 20), ("c", 1)]
    assert session.sql("SELECT shop FROM mv").count() == 3 and session.notes[0].from_storage
    old = session.sql(f"SELECT * FROM mv VERSION AS OF {before.snapshot_id}")
    assert old.columns == ["id", "amount"] and old.count() == 4


def test_only_the_partitions_that_changed_are_written(spark, catalog, market, defined):
    spark.sql(f"CREATE TABLE prod.{market}.parts (id BIGINT, shop STRING) USING iceberg PARTITIONED BY (shop)")
    spark.sql(f"INSERT INTO prod.{market}.parts VALUES (1, 'a'), (2, 'b'), (3, 'a'), (4, NULL)")
    views, engine = catalog.materialized, SparkEngine(spark, catalog)
    views.create((market, "by_shop"), "SELECT shop, count(*) AS n FROM parts GROUP BY shop", partitioned_by=("shop",))
    views.load((market, "by_shop")).refresh(engine)
    spark.sql(f"DELETE FROM prod.{market}.parts WHERE id IN (1, 4)")
    report = views.load((market, "by_shop")).refresh(engine)[-1]
    assert (report.action, report.written) == ("partitions", 1), report.why
    assert stored(catalog, market, "by_shop") == defined("by_shop")
    assert views.freshness((market, "by_shop")).is_fresh


def run_command(words, metastore):
    environment = {**os.environ, "HIVE_VIEWS_URI": metastore.uri, "HIVE_VIEWS_WAREHOUSE": metastore.warehouse}
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False, env=environment)


@pytest.mark.extended
def test_refresh_command_creates_its_session(catalog, market, metastore):
    catalog.materialized.create((market, "details"), QUERY)
    words = [
        sys.executable, "-m", "hive_views", "mv", "refresh", f"{market}.details", "--cache", str(CACHE), "--json",
        "--spark", "local[1]", "--conf", "spark.sql.ansi.enabled=false", "--time-zone", "Asia/Tokyo",
    ]  # fmt: skip
    done = run_command(words, metastore)
    assert done.returncode == 0, done.stderr
    [refreshed] = json.loads(done.stdout)["refreshed"]
    assert (refreshed["action"], refreshed["written"]) == ("full", 3)
    assert catalog.materialized.freshness((market, "details")).is_fresh
    settings = catalog.materialized.load((market, "details")).reading().settings
    settings.pop(SPARK_LINE, None)
    assert settings == {"spark.sql.session.timeZone": "Asia/Tokyo", "spark.sql.ansi.enabled": "false"}


@pytest.mark.extended
def test_refresh_command_of_several_views(catalog, market, metastore):
    def refreshed(*options, code=0):
        words = [sys.executable, "-m", "hive_views", "mv", "refresh", "--database", market, "--json", *options]
        done = run_command([*words, "--cache", str(CACHE), "--spark", "local[1]", "--time-zone", "UTC"], metastore)
        assert done.returncode == code, done.stderr
        return {item["view"].partition(".")[2]: item["action"] for item in json.loads(done.stdout)["refreshed"]}

    views = catalog.materialized
    catalog.create_table((market, "gone"), SALES)
    for name, query in {
        "totals": "SELECT shop, count(*) AS n FROM sales GROUP BY shop",
        "top": "SELECT shop FROM totals WHERE n > 1",
        "broken": "SELECT id FROM gone",
        "above_broken": "SELECT id FROM broken",
    }.items():
        # Otherwise the time of the first refreshes decides about the next ones.
        views.create((market, name), query, properties={"hive-views.max-keys-time-percent": "1000000"})
    catalog.drop_table((market, "gone"))
    all_views = refreshed("--parallel", "2", code=1)
    assert all_views == {"totals": "full", "top": "full", "broken": "failed", "above_broken": "skipped"}
    assert refreshed("--select", "t*", "--stale") == {}
    assert refreshed("--due") == {}, "no view has a target lag"
    catalog.load_table((market, "sales")).append(rows((9, "b", 1)))
    assert refreshed("--select", "totals", "--stale", "--downstream") == {"totals": "incremental", "top": BY_KEYS}
    views.load((market, "top")).set_properties({"hive-views.target-lag": "1 second"})
    catalog.load_table((market, "sales")).append(rows((10, "c", 1)))
    time.sleep(1.1)
    assert refreshed("--due", "--upstream") == {"totals": "incremental", "top": BY_KEYS}
    assert views.freshness((market, "top")).is_fresh


@pytest.mark.extended
def test_refresh_command_without_a_session(catalog, market, metastore):
    catalog.materialized.create((market, "mv"), "SELECT id FROM sales")
    words = [sys.executable, "-m", "hive_views", "mv", "refresh", f"{market}.mv", "--cache", str(CACHE)]
    done = run_command([*words, "--spark", "nonsense"], metastore)
    assert done.returncode == 2
    assert "--spark, --conf: Spark does not start with these settings: " in done.stderr
    assert "Traceback" not in done.stderr.partition("hive-views: ")[2]
