"""Values that compare oddly, sessions that differ, types that do not fit: stored rows still are the definition's."""

from __future__ import annotations

import math

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import FixedType, LongType, NestedField, UUIDType
from pyspark.sql import SparkSession

from hive_views.dependencies.view_builder import ViewDefinition
from hive_views.errors import RefreshError
from hive_views.materialized.freshness.verdict import Cause
from hive_views.spark.refresh.engine import SparkEngine
from hive_views.spark.sessions import all_settings
from hive_views.sql.engines.builtin_functions import SPARK_AGGREGATES, SPARK_WINDOW_FUNCTIONS
from hive_views.sql.types.spark_types import spark_type
from tests.integration.spark.spark_versions import BY_KEYS
from tests.suites import extended

QUERY = (
    "SELECT d, count(*) AS n, count(p) AS known, max(f) AS high, min(t) AS first, sum(p) AS total FROM odd GROUP BY d"
)
ROWS = (
    "(double('NaN'), float('NaN'), 999999999999999999.99, timestamp '2026-03-29 02:30:00')",
    "(double('NaN'), float('Infinity'), NULL, NULL)",
    "(double('-0.0'), float('-0.0'), 0.01, timestamp '1969-12-31 23:59:59.999999')",
    "(double('0.0'), float('0.0'), -0.01, timestamp '2026-10-25 02:30:00')",
    "(NULL, NULL, NULL, NULL)",
    "(NULL, float('NaN'), 1, timestamp '2026-01-01 00:00:00')",
)


def comparable(rows: list) -> list[tuple]:
    """Rows in an order of their own; NaN is equal to itself."""

    def value(item: object) -> object:
        return "NaN" if isinstance(item, float) and math.isnan(item) else item

    return sorted(
        (tuple(value(item) for item in row) for row in rows), key=lambda row: repr(row).replace("-0.0", "0.0")
    )


@pytest.fixture
def odd(spark: SparkSession, database: str) -> str:
    spark.sql(
        f"CREATE TABLE prod.{database}.odd (d DOUBLE, f FLOAT, p DECIMAL(20, 2), t TIMESTAMP) USING iceberg "
        "TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read')"
    )
    return database


def test_refresh_with_special_values_and_merge_on_read_deletes(spark, session, catalog, odd):
    spark.sql(f"INSERT INTO prod.{odd}.odd VALUES {', '.join(ROWS[::2])}")
    session.sql(f"CREATE MATERIALIZED VIEW mv AS {QUERY}")
    for change, action in (
        (None, "full"),
        (f"INSERT INTO prod.{odd}.odd VALUES {', '.join(ROWS)}", "incremental"),
        (f"INSERT INTO prod.{odd}.odd VALUES {', '.join(ROWS[1::2])}", "incremental"),
        (f"DELETE FROM prod.{odd}.odd WHERE p < 0", BY_KEYS),
    ):
        if change is not None:
            spark.sql(change)
            assert not catalog.materialized.freshness((odd, "mv")).is_fresh
        done = session.sql("REFRESH MATERIALIZED VIEW mv").collect()
        assert done[0][1] == action, done
        stored = session.sql("SELECT * FROM mv").collect()
        assert session.notes[0].from_storage
        assert comparable(stored) == comparable(spark.sql(QUERY).collect())
    files = spark.sql(f"SELECT content FROM prod.{odd}.odd.delete_files").collect()
    assert files, "the delete was no merge-on-read: this proves nothing"


def test_rows_of_another_time_zone_are_not_used(spark, session, catalog, odd):
    spark.sql(f"INSERT INTO prod.{odd}.odd VALUES {ROWS[0]}")
    key = "spark.sql.session.timeZone"
    before = spark.conf.get(key)
    try:
        spark.conf.set(key, "UTC")
        session.sql("CREATE MATERIALIZED VIEW mv AS SELECT cast(t AS STRING) AS shown FROM odd")
        session.sql("REFRESH MATERIALIZED VIEW mv")
        [utc] = session.sql("SELECT shown FROM mv").collect()
        assert session.notes[0].from_storage
        spark.conf.set(key, "Asia/Tokyo")
        [tokyo] = session.sql("SELECT shown FROM mv").collect()
        assert not session.notes[0].from_storage and "timeZone=UTC" in session.notes[0].why
        assert tokyo[0] != utc[0], "else this proves nothing"
        spark.sql(f"INSERT INTO prod.{odd}.odd VALUES {ROWS[0]}")
        [report] = catalog.materialized.load((odd, "mv")).refresh(SparkEngine(spark, catalog))
        assert report.action == "full" and "timeZone=UTC" in report.why, "rows of two zones would be mixed"
        assert session.sql("SELECT DISTINCT shown FROM mv").count() == 2 and session.notes[0].from_storage
    finally:
        spark.conf.set(key, before)


def test_query_type_unlike_storage_column_is_rejected(spark, catalog, odd):
    spark.sql(f"INSERT INTO prod.{odd}.odd VALUES (1.75, 1, 1, NULL)")
    made = catalog.author((odd, "mv"), "SELECT d AS n FROM odd")
    wrong = ViewDefinition(Schema(NestedField(1, "n", LongType())), made.version, ())
    catalog.materialized.create((odd, "mv"), wrong)
    with pytest.raises(RefreshError, match="column n is of type bigint, and the query returns double"):
        catalog.materialized.load((odd, "mv")).refresh(SparkEngine(spark, catalog))
    assert [reason.cause for reason in catalog.materialized.freshness((odd, "mv")).reasons] == [Cause.NEVER_REFRESHED]


@pytest.mark.parametrize(
    ("group", "known"),
    [
        ("agg_funcs", SPARK_AGGREGATES),
        ("window_funcs", SPARK_WINDOW_FUNCTIONS),
    ],
)
def test_all_aggregates_and_window_functions_of_spark_are_recognized(spark, group, known):
    registry = spark._jsparkSession.sessionState().functionRegistry()
    names = registry.listFunction().iterator()
    functions = set()
    while names.hasNext():
        name = names.next()
        if registry.lookupFunction(name).get().getGroup() == group:
            functions.add(name.funcName())
    assert functions and functions <= known


def test_type_names_equal_those_of_spark(spark, catalog, database):
    kinds = ["BOOLEAN", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "STRING", "BINARY",
             "DECIMAL(9, 2)", "DECIMAL(38, 0)", "STRUCT<a: ARRAY<INT>, B: MAP<STRING, TIMESTAMP>>"]  # fmt: skip
    columns = ", ".join(f"c{number} {kind}" for number, kind in enumerate(kinds))
    spark.sql(f"CREATE TABLE prod.{database}.kinds ({columns}) USING iceberg")
    with catalog.load_table((database, "kinds")).update_schema() as update:
        update.add_column("uuid", UUIDType()).add_column("fixed", FixedType(4))
    fields = catalog.load_table((database, "kinds")).schema().fields
    spark.sql(f"REFRESH TABLE prod.{database}.kinds")
    names = [column.dataType.simpleString() for column in spark.table(f"prod.{database}.kinds").schema.fields]
    assert [spark_type(field.field_type) for field in fields] == names
    spark.sql(f"DROP TABLE prod.{database}.kinds")


def test_all_settings_equal_those_of_pyspark(spark, connect_spark):
    for session in (spark, connect_spark):
        assert all_settings(session) == session.conf.getAll and "spark.sql.catalog.prod" in all_settings(session)


@pytest.mark.extended
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_small_integers_of_views_have_the_declared_type(spark, session, database, ansi):
    """Iceberg has no TINYINT: a column is declared with INT, and read so by the definition and in stored rows."""
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        spark.sql("CREATE TABLE t (a INT, s STRUCT<k: INT>) USING iceberg")
        spark.sql("INSERT INTO t VALUES (100, struct(1)), (NULL, NULL)")
        session.sql("CREATE VIEW small AS SELECT CAST(a AS TINYINT) AS b, array(smallint(s.k)) AS list, a FROM t")
        session.sql("CREATE MATERIALIZED VIEW lower AS SELECT * FROM small")
        query = "SELECT b + b AS twice, typeof(b) AS kind, typeof(list) AS type, a FROM {}"
        for number, view in enumerate(("small", "lower")):
            session.sql(f"CREATE MATERIALIZED VIEW upper{number} AS {query.format(view)}")
        rows = comparable(spark.sql(query.format("small")).collect())
        assert rows[0][0] == 200
        for change in ("", "INSERT INTO t VALUES (7, struct(2))", "UPDATE t SET a = 8 WHERE a = 7"):
            if change:
                spark.sql(change)
                rows = comparable(spark.sql(query.format("small")).collect())
            assert comparable(session.sql(query.format("lower")).collect()) == rows
            assert not session.notes[0].from_storage
            for name in ("lower", "upper0", "upper1"):
                session.sql(f"REFRESH MATERIALIZED VIEW {name}")
            assert comparable(session.sql(query.format("lower")).collect()) == rows
            for name in ("upper0", "upper1"):
                assert comparable(session.sql(f"SELECT * FROM {name}").collect()) == rows
                assert session.notes[0].from_storage
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "true")


@pytest.mark.extended
def test_small_integers_of_registered_functions_have_the_declared_type(spark, session, catalog, database):
    """A function of a user may return a TINYINT, which its text does not show."""
    function = f"spark_catalog.{database}.as_byte"
    spark.sql(f"CREATE FUNCTION {function} AS 'org.apache.hadoop.hive.ql.udf.UDFToByte'")
    try:
        spark.sql("CREATE TABLE t (a INT) USING iceberg")
        spark.sql("INSERT INTO t VALUES (100)")
        session.sql(f"CREATE VIEW small AS SELECT {function}(a) AS b FROM t")
        session.sql("CREATE MATERIALIZED VIEW upper AS SELECT b + b AS twice FROM small")
        assert session.sql("SELECT b + b FROM small").collect() == [(200,)]
        session.sql("REFRESH MATERIALIZED VIEW upper")
        stored = catalog.materialized.load((database, "upper")).storage.scan().to_arrow()
        assert stored.column("twice").to_pylist() == [200]
    finally:
        spark.sql(f"DROP FUNCTION {function}")


@pytest.mark.parametrize("mode", ["merge-on-read", *extended("copy-on-write")])
def test_one_of_three_equal_rows_is_deleted(spark, session, catalog, database, mode):
    spark.sql(
        f"CREATE TABLE t (id INT, a STRING, d DOUBLE) USING iceberg TBLPROPERTIES ('write.delete.mode' = '{mode}')"
    )
    spark.sql(
        "INSERT INTO t VALUES (1, 'x', double('NaN')), (2, 'x', double('NaN')), (3, 'x', double('NaN')), (4, 'y', 1)"
    )
    session.sql(
        "CREATE MATERIALIZED VIEW mv TBLPROPERTIES ('hive-views.max-keys-time-percent' = '1000000') "
        "AS SELECT a, d FROM t"
    )
    session.sql("REFRESH MATERIALIZED VIEW mv")
    for deleted, left in ((2, 2), (3, 1), (1, 0)):
        spark.sql(f"DELETE FROM t WHERE id = {deleted}")
        assert session.sql("REFRESH MATERIALIZED VIEW mv").collect()[0][1] == BY_KEYS
        assert session.sql("SELECT * FROM mv WHERE a = 'x'").count() == left
        assert session.notes[0].from_storage
        assert session.sql("SELECT * FROM mv WHERE a = 'y'").count() == 1


def test_advice_after_a_widened_column_works(spark, session, catalog, database):
    spark.sql("CREATE TABLE t (id INT, a INT) USING iceberg")
    spark.sql("INSERT INTO t VALUES (1, 1)")
    session.sql("CREATE MATERIALIZED VIEW mv AS SELECT id, a FROM t")
    session.sql("REFRESH MATERIALIZED VIEW mv")
    spark.sql("ALTER TABLE t ALTER COLUMN a TYPE BIGINT")
    spark.sql("INSERT INTO t VALUES (2, 5000000000)")
    with pytest.raises(
        RefreshError, match=r"column a is of type int, and the query returns bigint.*ALTER MATERIALIZED"
    ):
        catalog.materialized.load((database, "mv")).refresh(SparkEngine(spark, catalog))
    session.sql("ALTER MATERIALIZED VIEW mv AS SELECT id, a FROM t")
    session.sql("REFRESH MATERIALIZED VIEW mv")
    assert sorted(session.sql("SELECT * FROM mv").collect()) == [(1, 1), (2, 5_000_000_000)]
    assert session.notes[0].from_storage


def test_groups_whose_stored_type_is_wider_are_merged(spark, session, catalog, database):
    """The query returns an INT, which is stored in a BIGINT: equal numbers of both types are the same group."""
    spark.sql("CREATE TABLE t (a INT) USING iceberg")
    spark.sql("INSERT INTO t VALUES (1), (2), (NULL)")
    query = "SELECT a, count(*) AS n FROM t GROUP BY a"
    defined = catalog.author((database, "mv"), query, database=database, dialect="spark")
    schema = Schema(NestedField(1, "a", LongType()), NestedField(2, "n", LongType()))
    definition = ViewDefinition(schema, defined.version, defined.tables)
    catalog.materialized.create((database, "mv"), definition, properties={"hive-views.merge-from-rows": "1"})
    session.sql("REFRESH MATERIALIZED VIEW mv")
    for _ in range(2):
        spark.sql("INSERT INTO t VALUES (1), (3), (NULL)")
        assert session.sql("REFRESH MATERIALIZED VIEW mv").collect()[0][1] == "incremental"
        stored = sorted(map(str, spark.sql("SELECT * FROM mv__storage").collect()))
        assert stored == sorted(map(str, spark.sql(query).collect()))
