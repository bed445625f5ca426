"""Views of Iceberg's own Spark catalogs, read through a `ViewSession`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.errors import SqlError
from hive_views.local_metastore.embedded import EmbeddedMetastore
from hive_views.spark import ViewSession
from hive_views.spark.runtime import catalog_settings
from tests.integration.spark.session_kinds import SessionClient


@pytest.fixture
def home(spark: SparkSession, database: str) -> Iterator[str]:
    """A database with a Hive table `h` and an Iceberg table `i`, with columns a and b."""
    spark.sql(f"CREATE TABLE spark_catalog.{database}.h (a INT, b INT) STORED AS PARQUET")
    spark.sql(f"CREATE TABLE prod.{database}.i (a INT, b INT) USING iceberg")
    for table in (f"spark_catalog.{database}.h", f"prod.{database}.i"):
        spark.sql(f"INSERT INTO {table} VALUES (1, 2)")
    yield database


@pytest.mark.extended
@pytest.mark.parametrize(("columns", "expected"), [("b, a", (1, 2)), ("x, y", (1, 2)), ("a, b", (1, 2))])
def test_columns_are_bound_by_position(
    columns: str, expected: tuple[int, int], client: SessionClient, spark: SparkSession, home: str
) -> None:
    spark.sql(f"CREATE VIEW prod.{home}.v ({columns}) AS SELECT a, b FROM spark_catalog.{home}.h")
    for name in (f"spark_catalog.{home}.v", f"prod.{home}.v"):
        assert client.columns(f"SELECT * FROM {name}") == columns.split(", ")
        assert client.rows(f"SELECT * FROM {name}") == [expected]
        assert client.rows(f"SELECT {columns} FROM {name}") == [expected]
    spark.sql(f"DROP VIEW prod.{home}.v")


@pytest.fixture
def replaced(
    spark: SparkSession, metastore: EmbeddedMetastore, session_catalog: HiveViewCatalog
) -> Iterator[ViewSession]:
    """A session whose session catalog is Iceberg's SparkSessionCatalog."""
    session = spark.newSession()
    session.conf.set("spark.sql.catalog.spark_catalog", "org.apache.iceberg.spark.SparkSessionCatalog")
    session.conf.set("spark.sql.catalog.spark_catalog.type", "hive")
    session.conf.set("spark.sql.catalog.spark_catalog.uri", metastore.uri)
    with ViewSession(session, session_catalog) as views:
        yield views


@pytest.mark.extended
@pytest.mark.parametrize(("table", "time_zone"), [("h", "Asia/Tokyo"), ("h", "UTC"), ("i", "UTC"), ("i", "Asia/Tokyo")])
def test_session_catalog_of_iceberg(
    table: str, time_zone: str, replaced: ViewSession, session_catalog: HiveViewCatalog, home: str
) -> None:
    replaced.sql(f"USE spark_catalog.{home}")
    replaced.spark.sql(f"CREATE VIEW native (b, a) AS SELECT a, b FROM {table}")  # default-catalog is absent
    assert session_catalog.load_view((home, "native")).current_version().default_catalog is None
    replaced.sql(f"CREATE VIEW ours AS SELECT b, a, hour(timestamp_seconds(0)) AS h FROM {table}")
    hour = replaced.sql("SELECT h FROM ours").collect()[0].h
    replaced.sql("CREATE VIEW top AS SELECT b FROM native")
    replaced.sql(f"SET spark.sql.session.timeZone={time_zone}")
    for prefix in ("", f"{home}.", f"spark_catalog.{home}."):
        for suffix in ("", " VERSION AS OF 1"):
            assert replaced.sql(f"SELECT b, a FROM {prefix}native{suffix}").collect() == [(1, 2)]
            assert replaced.sql(f"SELECT a, b, h FROM {prefix}ours{suffix}").collect() == [(1, 2, hour)]
            assert replaced.sql(f"SELECT * FROM {prefix}top{suffix}").collect() == [(1,)]


@pytest.mark.extended
@pytest.mark.parametrize("name", ["my-lake", "lake"])
def test_other_catalog_on_the_same_metastore(
    name: str, spark: SparkSession, metastore: EmbeddedMetastore, session_catalog: HiveViewCatalog, home: str
) -> None:
    session = spark.newSession()
    for key, value in catalog_settings(metastore.uri, metastore.warehouse, name).items():
        if key != "spark.sql.extensions":
            session.conf.set(key, value)
    with ViewSession(session, session_catalog) as views:
        views.sql("SET spark.sql.session.timeZone=Asia/Tokyo")
        views.sql(f"CREATE VIEW prod.{home}.v AS SELECT hour(timestamp_seconds(0)) AS h FROM prod.{home}.i")
        views.sql("SET spark.sql.session.timeZone=UTC")
        assert views.sql(f"SELECT h FROM `{name}`.{home}.v").collect() == [(9,)]
        views.sql(f"USE `{name}`.{home}")
        assert views.sql("SELECT h FROM v VERSION AS OF 1").collect() == [(9,)]
        assert views.sql("SELECT version_id FROM v.versions").collect() == [(1,)]
        views.sql("CREATE VIEW top AS SELECT h + 0 AS h FROM v")
        views.sql("SET spark.sql.session.timeZone=Asia/Tokyo")
        assert (
            views.sql(f"SELECT h FROM prod.{home}.top").collect() == views.sql("SELECT h FROM top").collect() == [(9,)]
        )
        with pytest.raises(SqlError, match="use DROP VIEW"):
            views.sql(f"DROP TABLE `{name}`.{home}.v")
        views.sql("DROP VIEW top")
        views.sql(f"DROP VIEW `{name}`.{home}.v")
        assert session_catalog.list_views(home) == []
