"""Views below a materialized view have their declared columns, also when their queries return others meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.errors import InvalidViewError, RefreshError
from hive_views.materialized.refresh.refresh import RefreshReport
from hive_views.spark import SparkEngine, ViewSession
from tests.integration.spark.spark_versions import IS_SPARK_3, needs_spark_4
from tests.suites import extended


@pytest.fixture
def refresh(spark: SparkSession, catalog: HiveViewCatalog, database: str) -> Callable[[], RefreshReport]:
    return lambda: catalog.materialized.load((database, "mv")).refresh(SparkEngine(spark, catalog))[-1]


def assert_rows(session: ViewSession, spark: SparkSession, query: str) -> None:
    """Check the stored rows against those that Spark alone computes."""
    stored = sorted(map(str, session.sql("SELECT * FROM mv").collect()))
    assert session.notes[0].from_storage
    assert stored == sorted(map(str, spark.sql(query).collect()))


AUTHORS = ["Spark", *extended("this package")]


def create_view(author: str, spark: SparkSession, session: ViewSession, name: str, query: str) -> None:
    (session if author == "this package" else spark).sql(f"CREATE VIEW {name} AS {query}")


@pytest.mark.parametrize("author", AUTHORS)
@pytest.mark.parametrize(
    ("declared", "later", "value", "query"),
    [
        ("DECIMAL(10, 2)", "DECIMAL(5, 1)", "3.5", "SELECT CAST(b AS STRING) AS s, count(*) AS n FROM v GROUP BY s"),
        ("DOUBLE", "FLOAT", "0.1", "SELECT a FROM v WHERE b = 0.1D"),
        *extended(
            ("DECIMAL(10, 2)", "DECIMAL(5, 1)", "3.5", "SELECT a, CAST(b AS STRING) AS s FROM v"),
            ("DOUBLE", "FLOAT", "0.1", "SELECT a, CAST(b AS STRING) AS s FROM v"),
            ("BIGINT", "INT", "2147483647", "SELECT a, b * 2147483647 AS c FROM v"),
            ("STRING", "INT", "10", "SELECT b, max(b) OVER () AS m FROM v"),
        ),
    ],
)
def test_column_with_a_narrower_type_since(
    spark: SparkSession,
    session: ViewSession,
    refresh: Callable[[], RefreshReport],
    author: str,
    declared: str,
    later: str,
    value: str,
    query: str,
) -> None:
    spark.sql(f"CREATE TABLE t (a INT, b {declared}) USING iceberg")
    spark.sql(f"INSERT INTO t VALUES (1, {value})")
    create_view(author, spark, session, "v", "SELECT a, b FROM t")
    session.sql(f"CREATE MATERIALIZED VIEW mv AS {query}")
    refresh()
    spark.sql("ALTER TABLE t DROP COLUMN b")
    spark.sql(f"ALTER TABLE t ADD COLUMN b {later}")
    for change in (f"INSERT INTO t VALUES (2, {value}), (3, 9)", "DELETE FROM t WHERE a = 3"):
        spark.sql(change)
        refresh()
        assert_rows(session, spark, query)


@pytest.mark.parametrize("author", AUTHORS)
def test_column_with_a_wider_type_since(
    spark: SparkSession, session: ViewSession, refresh: Callable[[], RefreshReport], author: str
) -> None:
    spark.sql("CREATE TABLE t (a INT, b FLOAT) USING iceberg")
    spark.sql("INSERT INTO t VALUES (1, 0.1)")
    create_view(author, spark, session, "v", "SELECT a, b FROM t")
    session.sql("CREATE MATERIALIZED VIEW mv AS SELECT CAST(b AS STRING) AS s FROM v")
    refresh()
    spark.sql("ALTER TABLE t ALTER COLUMN b TYPE DOUBLE")
    spark.sql("INSERT INTO t VALUES (2, 0.1)")
    with pytest.raises(
        RefreshError, match=r"the column b .* declared as float, .* returns double now: replace the view"
    ):
        refresh()


@needs_spark_4
@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, count(*) AS n FROM v GROUP BY k",
        *extended(
            "SELECT k, b FROM v WHERE k = 'a'",
            "SELECT x.k, y.b FROM v AS x JOIN v AS y ON x.k = y.k",
            "SELECT DISTINCT k FROM v",
        ),
    ],
)
def test_collation_of_a_view_ends_at_its_columns(
    spark: SparkSession, session: ViewSession, refresh: Callable[[], RefreshReport], query: str
) -> None:
    spark.sql("CREATE TABLE t (s STRING, b INT) USING iceberg")
    spark.sql("INSERT INTO t VALUES ('a', 1), ('A', 5)")
    spark.sql("CREATE VIEW v AS SELECT s COLLATE UTF8_LCASE AS k, b FROM t")
    session.sql(f"CREATE MATERIALIZED VIEW mv AS {query}")
    for change in (None, "INSERT INTO t VALUES ('a', 2), ('A', 2)", "DELETE FROM t WHERE b = 5"):
        if change is not None:
            spark.sql(change)
        refresh()
        stored = sorted(map(str, spark.sql("SELECT * FROM mv__storage").collect()))
        assert stored == sorted(map(str, spark.sql(query).collect()))


@pytest.mark.parametrize("author", AUTHORS)
@pytest.mark.parametrize(
    "definition",
    [
        "SELECT * FROM t",
        *extended("SELECT {db}.t.* FROM {db}.t WHERE {db}.t.a > 0", "SELECT * FROM (TABLE t) AS q"),
    ],
)
def test_star_over_a_table_that_grew(
    spark: SparkSession,
    session: ViewSession,
    refresh: Callable[[], RefreshReport],
    author: str,
    definition: str,
    database: str,
) -> None:
    spark.sql("CREATE TABLE t (a INT, b INT) USING iceberg")
    spark.sql("INSERT INTO t VALUES (1, 2)")
    create_view(author, spark, session, "v", definition.format(db=database))
    session.sql("CREATE MATERIALIZED VIEW mv AS SELECT * FROM v")
    refresh()
    spark.sql("ALTER TABLE t ADD COLUMN c STRING")
    for change in ("INSERT INTO t VALUES (3, 4, 'x')", "UPDATE t SET b = 5 WHERE a = 1"):
        spark.sql(change)
        refresh()
        assert_rows(session, spark, "SELECT * FROM v")


@pytest.mark.parametrize(
    "source",
    ["t WITH ('branch' = 'old') AS x", *extended("t WITH ('split-size' = '1')", "t VERSION AS OF 'old'")],
)
def test_options_and_time_travel_are_rejected(
    spark: SparkSession, session: ViewSession, refresh: Callable[[], RefreshReport], source: str
) -> None:
    if IS_SPARK_3 and " WITH (" in source:
        pytest.skip("Spark 3.5 does not parse options in FROM")
    spark.sql("CREATE TABLE t (a INT) USING iceberg")
    spark.sql("INSERT INTO t VALUES (1)")
    spark.sql("ALTER TABLE t CREATE BRANCH old")
    query = f"SELECT a FROM {source}"
    with pytest.raises(InvalidViewError, match=r"options|time travel"):
        session.sql(f"CREATE MATERIALIZED VIEW mv AS {query}")
    session.sql("CREATE MATERIALIZED VIEW mv AS SELECT a FROM t")
    with pytest.raises(InvalidViewError, match=r"options|time travel"):
        session.sql(f"ALTER MATERIALIZED VIEW mv AS {query}")
    spark.sql(f"CREATE VIEW v AS {query}")
    session.sql("CREATE MATERIALIZED VIEW above AS SELECT a FROM v")
    with pytest.raises(RefreshError, match=r"options|time travel"):
        session.sql("REFRESH MATERIALIZED VIEW above")
    refresh()
    assert session.sql("SELECT * FROM mv").count() == 1
