"""A materialized view whose files are on HDFS, refreshed by Spark, which reads and writes with Hadoop's own client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hive_views.metastore._thrift.hive_metastore.ttypes import Database
from hive_views.spark.refresh.engine import SparkEngine
from tests.integration.hdfs.cluster import Hdfs, hdfs

pytestmark = pytest.mark.extended


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with hdfs(tmp_path_factory.mktemp("hdfs")) as running:
        running.make_directory("/warehouse")
        yield running


@pytest.fixture
def market(raw, spark, cluster: Hdfs, database: str) -> str:
    """The database on HDFS, with a table."""
    raw.drop_database(database, True, True)
    raw.create_database(Database(name=database, locationUri=f"{cluster.uri}/warehouse/{database}.db"))
    spark.sql(f"CREATE TABLE prod.{database}.sales (id BIGINT, shop STRING) USING iceberg")
    spark.sql(f"INSERT INTO prod.{database}.sales VALUES (1, 'a'), (2, 'b')")
    return database


def test_spark_refreshes_and_reads_on_hdfs(spark, catalog, cluster, market):
    views, engine, name = catalog.materialized, SparkEngine(spark, catalog), (market, "counts")
    views.create(name, "SELECT shop, count(*) AS n FROM sales GROUP BY shop", database=market)
    assert views.load(name).refresh(engine)[-1].action == "full"
    spark.sql(f"INSERT INTO prod.{market}.sales VALUES (3, 'a')")
    assert views.load(name).refresh(engine)[-1].action == "incremental"
    assert views.freshness(name).is_fresh
    stored = views.load(name).storage
    assert stored.metadata_location.startswith(f"{cluster.uri}/warehouse/{market}.db/")
    assert sorted(row["n"] for row in stored.scan().to_arrow().to_pylist()) == [1, 2]
    assert sorted(row.n for row in spark.table(f"prod.{stored.name()[0]}.{stored.name()[1]}").collect()) == [1, 2]
    catalog.create_view_from_sql((market, "big"), "SELECT id FROM sales WHERE id > 1", database=market)
    assert sorted(row.id for row in spark.sql(f"SELECT id FROM prod.{market}.big").collect()) == [2, 3]
    views.load(name).drop()
    catalog.drop_view((market, "big"), purge_files=True)
    assert {path.split("/")[3] for path in cluster.files(f"/warehouse/{market}.db")} == {"sales"}
