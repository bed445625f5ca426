"""Materialized views under other readers, and in sessions whose Iceberg catalog keeps tables in its cache."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyiceberg.catalog.hive import HiveCatalog
from pyiceberg.table import StaticTable, Table
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.spark import ViewSession
from hive_views.spark.refresh.engine import SparkEngine
from hive_views.spark.runtime import catalog_settings
from tests.integration.materialized.conftest import LAYOUTS
from tests.integration.spark.plain_reader import PlainReader, PlainSparkError


@pytest.fixture
def cached(spark: SparkSession, metastore) -> SparkSession:
    """A session as Iceberg's documentation configures one: its catalog `cached` keeps the tables that it has read."""
    session = spark.newSession()
    for key, value in catalog_settings(metastore.uri, metastore.warehouse, "cached").items():
        if key.startswith("spark.sql.catalog.") and not key.endswith(".cache-enabled"):
            session.conf.set(key, value)
    # For ever, and not for half a minute: no test is to hang on how quick this machine is.
    session.conf.set("spark.sql.catalog.cached.cache.expiration-interval-ms", "-1")
    return session


@pytest.fixture
def cached_catalog(metastore) -> Iterator[HiveViewCatalog]:
    with HiveViewCatalog("cached", uri=metastore.uri, warehouse=metastore.warehouse) as catalog:
        yield catalog


def test_refresh_with_caching_spark_catalog_reads_current_tables(spark, cached, catalog, cached_catalog, database):
    """Another program appends and refreshes: its rows are read, and a refresh here reads the tables as they are."""
    spark.sql(f"CREATE TABLE prod.{database}.sales (id BIGINT) USING iceberg")
    spark.sql(f"INSERT INTO prod.{database}.sales VALUES (1)")
    cached_catalog.materialized.create((database, "mv"), "SELECT id FROM sales")
    theirs, ours = SparkEngine(spark, catalog), SparkEngine(cached, cached_catalog)
    with ViewSession(cached, cached_catalog) as session:
        session.sql(f"USE cached.{database}")

        def read() -> list[int]:
            found = sorted(row.id for row in session.sql("SELECT id FROM mv").collect())
            assert [note.why for note in session.notes] == ["storage: fresh"]
            return found

        catalog.materialized.load((database, "mv")).refresh(theirs)
        assert read() == [1]
        assert cached.table(f"cached.{database}.sales").count() == 1
        spark.sql(f"INSERT INTO prod.{database}.sales VALUES (2)")
        assert cached.table(f"cached.{database}.sales").count() == 1, "it is kept: else this proves nothing"
        catalog.materialized.load((database, "mv")).refresh(theirs)
        assert read() == [1, 2]
        spark.sql(f"INSERT INTO prod.{database}.sales VALUES (3)")
        [report] = cached_catalog.materialized.load((database, "mv")).refresh(ours)
        assert (report.action, report.rows) == ("incremental", 3)
        assert read() == [1, 2, 3]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_unaware_readers(spark, plain: PlainReader, catalog, metastore, database, layout: str):
    """To Iceberg's Java catalog and plain Spark a plain view, or a plain table; its storage is any reader's table."""
    spark.sql(f"CREATE TABLE spark_catalog.{database}.visits (page STRING, n INT) USING parquet")
    spark.sql(f"INSERT INTO spark_catalog.{database}.visits VALUES ('x', 1), ('y', 2)")
    views = catalog.materialized
    views.create((database, "seen"), "SELECT page, n FROM visits", layout=layout)
    views.load((database, "seen")).refresh(SparkEngine(spark, catalog))
    spark.sql(f"INSERT INTO spark_catalog.{database}.visits VALUES ('z', 3)")
    java = sorted(tuple(row) for row in spark.table(f"prod.{database}.seen").collect())
    shown = [row.viewName for row in spark.sql(f"SHOW VIEWS IN prod.{database}").collect()]
    if layout == "table":
        assert (java, shown) == ([("x", 1), ("y", 2)], [])
        with pytest.raises(PlainSparkError):
            plain.sql(f"SELECT * FROM {database}.seen")  # as every Iceberg table
    else:
        assert (java, shown) == ([("x", 1), ("y", 2), ("z", 3)], ["seen"])
        assert sorted(plain.sql(f"SELECT * FROM {database}.seen")) == [("x", 1), ("y", 2), ("z", 3)]
    storage = views.load((database, "seen"))
    if layout == "attached":
        found: Table = StaticTable.from_metadata(storage.storage.metadata_location)
    else:
        found = HiveCatalog("any", uri=metastore.uri).load_table(storage.storage_name.identifier)
    assert found.scan().to_arrow().sort_by("n").to_pylist() == [{"page": "x", "n": 1}, {"page": "y", "n": 2}]
