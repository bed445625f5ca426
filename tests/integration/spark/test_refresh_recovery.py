"""Refreshes after changes that a plan cannot handle: another plan is used, and the report says why."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.errors import InvalidPropertyError, RefreshError, SqlError
from hive_views.materialized.refresh.refresh import RefreshReport
from hive_views.spark import SparkEngine, ViewSession
from tests.integration.spark.spark_versions import BY_KEYS, needs_spark_4

FAR = "older_than => TIMESTAMP '2099-01-01 00:00:00', retain_last => 1"


@pytest.fixture
def refresh(spark: SparkSession, catalog: HiveViewCatalog, database: str) -> Callable[..., RefreshReport]:
    return lambda name, **more: catalog.materialized.load((database, name)).refresh(
        SparkEngine(spark, catalog), **more
    )[-1]


def is_fresh(catalog: HiveViewCatalog, database: str, name: str = "mv") -> bool:
    return catalog.materialized.freshness((database, name)).is_fresh


def assert_rows(session: ViewSession, spark: SparkSession, query: str) -> None:
    stored = sorted(map(str, session.sql("SELECT * FROM mv").collect()))
    assert session.notes[0].from_storage and stored == sorted(map(str, spark.sql(query).collect()))


def test_join_with_null_partition(spark, session, refresh):
    """Spark's filter by the partitions of the other side fails in Iceberg 1.11 if one of them is NULL."""
    query = "SELECT t.k, t.v, u.y FROM t JOIN u ON t.k = u.x WHERE u.y > 1"
    spark.sql("CREATE TABLE t (k STRING, v BIGINT) USING iceberg PARTITIONED BY (k)")
    spark.sql("INSERT INTO t VALUES ('a', 1), ('b', 2), (NULL, 3), ('c', 4)")
    spark.sql("CREATE TABLE u (x STRING, y BIGINT) USING iceberg")
    spark.sql("INSERT INTO u VALUES ('a', 1), ('b', 2), (NULL, 3)")
    session.sql(f"CREATE MATERIALIZED VIEW mv AS {query}")
    assert refresh("mv").rows == 1
    spark.sql("UPDATE u SET y = 5 WHERE x = 'a'")
    refresh("mv")
    assert sorted(map(tuple, session.sql("SELECT * FROM mv").collect())) == [("a", 1, 5), ("b", 2, 2)]
    assert session.notes[0].from_storage


@pytest.mark.parametrize("version", [2, pytest.param(3, marks=needs_spark_4)])
def test_files_that_are_removed_with_their_delete_files(spark, session, refresh, version):
    """Iceberg's changelog rejects the snapshot, although the table has no delete files afterwards."""
    query = "SELECT v, avg(n) AS m FROM t GROUP BY v"
    modes = f"'format-version' = '{version}', 'write.delete.mode' = 'merge-on-read'"
    spark.sql(f"CREATE TABLE t (k STRING, v BIGINT, n BIGINT) USING iceberg PARTITIONED BY (k) TBLPROPERTIES ({modes})")
    spark.sql("INSERT INTO t VALUES ('a', 1, 1), ('a', 2, 2), ('b', 1, 3), ('b', 2, 4)")
    session.sql(f"CREATE MATERIALIZED VIEW mv AS {query}")
    spark.sql("DELETE FROM t WHERE k = 'a' AND v = 1")
    refresh("mv")
    spark.sql("DELETE FROM t WHERE k = 'a'")
    report = refresh("mv")
    assert report.action == BY_KEYS and "failed" not in report.why
    assert_rows(session, spark, query)


@needs_spark_4
@pytest.mark.parametrize("query", ["SELECT v, avg(m['a']) AS a FROM t GROUP BY v", "SELECT v, m, l FROM t WHERE v > 0"])
def test_tables_with_maps_are_compared(spark, session, refresh, query):
    """Spark groups by maps, but rejects them in EXCEPT."""
    modes = "'write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read'"
    columns = "v BIGINT, m MAP<STRING, DOUBLE>, l ARRAY<MAP<STRING, INT>>"
    spark.sql(f"CREATE TABLE t ({columns}) USING iceberg TBLPROPERTIES ({modes})")
    spark.sql(
        "INSERT INTO t VALUES (1, map('a', 0.0D, 'b', NULL), array(map('x', 1))), (2, NULL, NULL), (3, map(), array())"
    )
    session.sql(
        f"CREATE MATERIALIZED VIEW mv TBLPROPERTIES ('hive-views.max-keys-time-percent' = '1000000') AS {query}"
    )
    refresh("mv")
    for change in (
        "UPDATE t SET m = map('a', -0.0D) WHERE v = 1",
        "UPDATE t SET l = array(map('x', 2)) WHERE v = 1",
        "DELETE FROM t WHERE v = 3",
    ):
        spark.sql(change)
        report = refresh("mv")
        assert (report.action, "failed" in report.why) == (BY_KEYS, False), report.why
        assert_rows(session, spark, query)


def test_storage_partitioned_later_falls_back_to_another_plan(spark, catalog, database, session, refresh):
    query = "SELECT k, v FROM t"
    spark.sql("CREATE TABLE t (k STRING, v BIGINT) USING iceberg PARTITIONED BY (k)")
    spark.sql("INSERT INTO t VALUES ('a', 1), ('a', 2), ('b', 3)")
    session.sql(f"CREATE MATERIALIZED VIEW mv AS {query}")
    refresh("mv")
    spark.sql("ALTER TABLE mv__storage ADD PARTITION FIELD k")
    spark.sql("DELETE FROM t WHERE v = 1")
    with pytest.raises(RefreshError, match="Cannot delete file where some, but not all, rows match"):
        refresh("mv", mode="incremental")
    report = refresh("mv")
    assert report.action in ("keys", "full") and "the partitions refresh failed (Spark: " in report.why
    assert "Cannot delete file where some, but not all, rows match" in report.why
    assert is_fresh(catalog, database)
    assert_rows(session, spark, query)


def test_plain_spark_view_with_star_over_table_that_grew(spark, session, refresh, database):
    spark.sql(f"USE spark_catalog.{database}")
    spark.sql("CREATE TABLE h (a BIGINT, b STRING) USING parquet")
    spark.sql("INSERT INTO h VALUES (1, 'x')")
    spark.sql("CREATE VIEW plain (q, w) AS SELECT * FROM h")
    spark.sql(f"USE prod.{database}")
    session.sql("CREATE MATERIALIZED VIEW mv AS SELECT q, w FROM plain")
    refresh("mv")
    spark.sql(f"ALTER TABLE spark_catalog.{database}.h ADD COLUMNS (c INT)")
    spark.sql(f"INSERT INTO spark_catalog.{database}.h VALUES (2, 'y', 5)")
    assert refresh("mv").rows == 2
    assert sorted(spark.sql("SELECT q, w FROM mv__storage").collect()) == [(1, "x"), (2, "y")]


@pytest.mark.parametrize("layout", ["registered", "table"])
def test_state_survives_compaction_and_expiration_by_spark(spark, catalog, database, session, refresh, layout):
    spark.sql("CREATE TABLE t (id BIGINT) USING iceberg")
    spark.sql("INSERT INTO t VALUES (1), (2)")
    session.sql(f"CREATE MATERIALIZED VIEW mv TBLPROPERTIES ('hive-views.layout' = '{layout}') AS SELECT id FROM t")
    refresh("mv")
    spark.sql("INSERT INTO t VALUES (3)")
    refresh("mv")
    storage = f"{database}.mv" + ("__storage" if layout == "registered" else "")
    spark.sql(f"CALL prod.system.rewrite_data_files(table => '{storage}', options => map('rewrite-all', 'true'))")
    spark.sql(f"CALL prod.system.expire_snapshots(table => '{storage}', {FAR})")
    assert is_fresh(catalog, database)
    spark.sql("INSERT INTO t VALUES (4)")
    assert refresh("mv").action == "incremental"
    assert_rows(session, spark, "SELECT id FROM t")


@pytest.mark.parametrize(
    ("query", "column", "action"),
    [
        ("SELECT id, s FROM t", "z", "incremental"),
        ("SELECT s AS x, count(*) AS n FROM t GROUP BY s", "z", "incremental"),
        ("SELECT upper(s) AS x, avg(id) AS n FROM t GROUP BY s", "z", "incremental"),
        # A column takes precedence over an alias of the same name.
        ("SELECT id, s AS x FROM t", "x", "full"),
    ],
)
def test_added_column(spark, catalog, database, session, refresh, query, column, action):
    spark.sql("CREATE TABLE t (id BIGINT, s STRING) USING iceberg")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    session.sql(f"CREATE MATERIALIZED VIEW mv AS {query}")
    refresh("mv")
    spark.sql(f"ALTER TABLE t ADD COLUMN {column} INT")
    assert not is_fresh(catalog, database)
    report = refresh("mv")
    assert report.action == action and is_fresh(catalog, database)
    assert report.written == (0 if action == "incremental" else 2)
    spark.sql("INSERT INTO t VALUES (3, 'a', 1)")
    expected = "full" if "avg" in query or action == "full" else "incremental"
    assert refresh("mv").action == expected
    assert_rows(session, spark, query)


def test_delete_of_no_rows_leaves_rows_fresh(spark, catalog, database, session, refresh):
    spark.sql("CREATE TABLE t (id BIGINT, s STRING) USING iceberg")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    session.sql("CREATE MATERIALIZED VIEW mv AS SELECT id FROM t")
    refresh("mv")
    before = catalog.load_table((database, "t")).metadata.current_snapshot_id
    for statement in ("DELETE FROM t WHERE id = 77", "DELETE FROM t WHERE id > 1 AND s = 'a'"):
        spark.sql(statement)
        assert is_fresh(catalog, database)
    assert catalog.load_table((database, "t")).metadata.current_snapshot_id != before
    spark.sql("DELETE FROM t WHERE id = 1")
    assert not is_fresh(catalog, database)


def test_expired_history_is_named(spark, session, refresh, database):
    spark.sql("CREATE TABLE t (id BIGINT) USING iceberg")
    spark.sql("INSERT INTO t VALUES (1)")
    session.sql("CREATE MATERIALIZED VIEW mv AS SELECT id FROM t")
    refresh("mv")
    spark.sql("INSERT INTO t VALUES (2)")
    spark.sql(f"CALL prod.system.expire_snapshots(table => '{database}.t', {FAR})")
    report = refresh("mv")
    assert report.action == "full" and report.why == f"the history of {database}.t since the last refresh has expired"


def test_properties_of_the_storage(spark, catalog, database, session, refresh):
    spark.sql("CREATE TABLE t (id BIGINT) USING iceberg")
    spark.sql("INSERT INTO t VALUES (1)")
    for layout in ("registered", "attached", "table"):
        name = f"mv_{layout}"
        properties = f"'hive-views.layout' = '{layout}', 'write.format.default' = 'orc', 'team' = 'bi'"
        session.sql(f"CREATE MATERIALIZED VIEW {name} TBLPROPERTIES ({properties}) AS SELECT id FROM t")
        for expected in ("ORC", "PARQUET", "AVRO"):
            refresh(name, mode="full")
            view = catalog.materialized.load((database, name))
            [file] = [task.file for task in view.storage.scan().plan_files()]
            assert file.file_format.name == expected and view.properties["team"] == "bi"
            if expected == "ORC":
                session.sql(f"ALTER MATERIALIZED VIEW {name} SET TBLPROPERTIES ('write.format.default' = 'parquet')")
            elif expected == "PARQUET":
                properties = "TBLPROPERTIES ('write.format.default' = 'avro')"
                session.sql(f"CREATE OR REPLACE MATERIALIZED VIEW {name} {properties} AS SELECT id FROM t WHERE id > 0")
    with pytest.raises(SqlError, match="format-version"):
        session.sql("ALTER MATERIALIZED VIEW mv_registered SET TBLPROPERTIES ('format-version' = '3')")
    with pytest.raises(InvalidPropertyError, match="when-stale"):
        session.sql("CREATE MATERIALIZED VIEW no TBLPROPERTIES ('hive-views.when-stale' = 'wait') AS SELECT id FROM t")


V2 = "USING iceberg TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read')"
NUMBERS = f"CREATE TABLE t (a INT, b INT) {V2}; INSERT INTO t VALUES (1, 10), (2, 20)"
TEXTS = f"CREATE TABLE a (k STRING) {V2}; INSERT INTO a VALUES ('01'), ('1'), ('2'), (NULL)"
EXPIRE = f"CALL prod.system.expire_snapshots(table => 'DATABASE.t', {FAR}, clean_expired_metadata => true)"
WINDOW = "session_window(x, '5 minutes')"

SCENARIOS = [  # what a refresh must notice: query, partitions, tables, changes, action
    # Keys are equal as numbers, and their texts differ.
    ("SELECT a.k, t.v FROM a LEFT JOIN t ON a.k = t.k", "",
     f"{TEXTS}; CREATE TABLE t (k INT, v INT) {V2}; INSERT INTO t VALUES (1, 10), (2, 20)",
     "UPDATE t SET v = 11 WHERE k = 1", "full"),
    ("SELECT a.k, s.v FROM a LEFT JOIN (SELECT b.k, t.v FROM b JOIN t ON b.k = t.k) AS s ON a.k = s.k", "",
     f"{TEXTS}; CREATE TABLE b (k INT) {V2}; INSERT INTO b VALUES (1); "
     f"CREATE TABLE t (k STRING, v INT) {V2}; INSERT INTO t VALUES ('01', 10)",
     "UPDATE t SET v = 11", "full"),
    # Columns are bound by position.
    ("SELECT a, b FROM v", "", f"{NUMBERS}; CREATE VIEW v AS SELECT * FROM t",
     "ALTER TABLE t ALTER COLUMN b FIRST", "full"),
    ("SELECT x.b, x.a FROM t AS x (b, a)", "PARTITIONED BY (a)",
     "CREATE TABLE t (a INT, b INT) USING iceberg PARTITIONED BY (a); INSERT INTO t VALUES (1, 2), (2, 1), (3, 9)",
     "UPDATE t SET b = 7 WHERE a = 1", "full"),
    ("SELECT count(DISTINCT *) AS n FROM t", "", NUMBERS, "ALTER TABLE t ADD COLUMN z INT", "full"),
    # The columns of a table without rows determine types and names.
    ("SELECT CAST(x AS STRING) AS x FROM (SELECT x FROM t UNION ALL SELECT x FROM u) AS s", "",
     f"CREATE TABLE t (x FLOAT) {V2}; INSERT INTO t VALUES (0.1); CREATE TABLE u (x FLOAT) {V2}",
     "ALTER TABLE u ALTER COLUMN x TYPE DOUBLE", "full"),
    # The id of the expired schema is that of the new one.
    ("SELECT a, x FROM t", "", f"{NUMBERS}; ALTER TABLE t ADD COLUMN c INT; ALTER TABLE t RENAME COLUMN b TO x",
     f"ALTER TABLE t RENAME COLUMN x TO b; {EXPIRE}; ALTER TABLE t RENAME COLUMN c TO x", "full"),
    (f"SELECT {WINDOW} AS w, count(*) AS n FROM t GROUP BY {WINDOW}", "",
     f"CREATE TABLE t (x TIMESTAMP) {V2}; INSERT INTO t VALUES (TIMESTAMP '2024-01-01 10:00:00')",
     "INSERT INTO t VALUES (TIMESTAMP '2024-01-01 10:03:00')", "full"),
    # Both states of a table with delete files are compared by the columns that they have in common.
    ("SELECT a, max(b) AS b FROM t GROUP BY a", "", f"{NUMBERS}; INSERT INTO t VALUES (1, 30), (2, 5)",
     "ALTER TABLE t ADD COLUMN z INT; DELETE FROM t WHERE b = 30", BY_KEYS),
]  # fmt: skip


def test_changes_that_only_look_incremental(spark, catalog, database, session, refresh):
    def run(statements: str) -> None:
        for statement in statements.replace("DATABASE", database).split("; "):
            spark.sql(statement)

    for query, partitions, tables, changes, action in SCENARIOS:
        run(tables)
        session.sql(f"CREATE MATERIALIZED VIEW mv {partitions} AS {query}")
        refresh("mv")
        assert is_fresh(catalog, database), query
        run(changes)
        assert not is_fresh(catalog, database), query
        report = refresh("mv")
        assert report.action == action, (query, report.why)
        assert_rows(session, spark, query)
        spark.conf.set("spark.wap.branch", "audit")
        session.sql("SELECT * FROM mv")
        assert not session.notes[0].from_storage and "spark.wap.branch" in session.notes[0].why
        spark.conf.unset("spark.wap.branch")
        run("; ".join(["DROP VIEW IF EXISTS v", *(f"DROP TABLE IF EXISTS {name}" for name in "abtu")]))
        session.sql("DROP MATERIALIZED VIEW mv")


def test_changed_view_of_plain_spark_is_computed_in_full(spark, session, refresh, database):
    spark.sql("CREATE TABLE t (id INT) USING iceberg")
    spark.sql("INSERT INTO t VALUES (1)")
    plain = f"spark_catalog.{database}.plain"
    spark.sql(f"CREATE VIEW {plain} AS SELECT id + 1 AS id FROM prod.{database}.t")
    session.sql("CREATE MATERIALIZED VIEW mv AS SELECT id FROM plain")
    refresh("mv")
    spark.sql(f"ALTER VIEW {plain} AS SELECT id + 2 AS id FROM prod.{database}.t")
    report = refresh("mv")
    assert report.action == "full" and "a view that it reads changed" in report.why
    assert [row.id for row in spark.sql("SELECT id FROM mv__storage").collect()] == [3]
