"""Lineage under Iceberg's Java catalog and Spark's own ALTER TABLE: what survives, and what is found out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import SparkSession

from hive_views import HiveView, HiveViewCatalog
from hive_views.dependencies.lineage import LineageOrigin, LineageReader
from hive_views.identifiers import ViewName
from hive_views.metastore.rows.row import HIVE_UUID
from hive_views.spark.analyzer import schema_of
from hive_views.spec.lineage_codec import FILE_NODE, ROW_LINEAGE, lineage_of_version
from hive_views.sql.analysis.validity import Validity
from tests.integration.metastore.rpc import connect

Create = Callable[..., HiveView]


@pytest.fixture
def shop(spark: SparkSession, catalog: HiveViewCatalog, database: str) -> Iterator[Create]:
    """Iceberg tables `orders` and `refunds`, a parquet table `plain`; makes views over them."""
    for table in ("orders", "refunds"):
        spark.sql(f"CREATE TABLE prod.{database}.{table} (id BIGINT, total BIGINT) USING iceberg")
    spark.sql(f"CREATE TABLE spark_catalog.{database}.plain (id BIGINT, total BIGINT) STORED AS PARQUET")
    spark.sql(f"INSERT INTO spark_catalog.{database}.plain VALUES (1, 2)")

    def make(name: str, sql: str, home: str = "prod") -> HiveView:
        def analyzer(query: str):
            spark.sql(f"USE {home}.{database}")
            return schema_of(spark, query)

        made = catalog.author(f"{database}.{name}", sql, analyzer=analyzer)
        return catalog.create_or_replace_view(f"{database}.{name}", made.schema, made.version)

    yield make
    spark.sql("USE spark_catalog.default")
    for table in ("prod.{}.orders", "prod.{}.refunds", "spark_catalog.{}.plain"):
        spark.sql(f"DROP TABLE IF EXISTS {table.format(database)}")


def test_iceberg_s_java_catalog_keeps_the_lineage_of_a_version(spark, catalog, metastore, database, shop):
    made = shop("top", "SELECT * FROM orders")
    table = catalog.load_table(f"{database}.orders")
    assert [child.uuid for child in lineage_of_version(made.current_version())] == [str(table.metadata.table_uuid)]
    assert FILE_NODE in made.metadata_location

    spark.sql(f"ALTER VIEW prod.{database}.top SET TBLPROPERTIES ('note' = 'by java')")
    after = catalog.load_view(f"{database}.top")
    assert after.metadata.properties["note"] == "by java"
    assert FILE_NODE not in after.metadata_location
    assert lineage_of_version(after.current_version()) == lineage_of_version(made.current_version())
    with connect(metastore.port) as raw:
        assert ROW_LINEAGE in raw.get_table(database, "top").parameters
    row = catalog.store.get_row(ViewName(database, "top"))
    assert LineageReader(catalog.store).read(row).origin is LineageOrigin.VERSION
    assert [
        name.name for name in catalog.dependencies.dependents(f"{database}.orders", namespaces=[database]).views
    ] == ["top"]
    assert catalog.dependencies.check_view(f"{database}.top").validity is Validity.VALID


def test_lineage_follows_replace_by_java_catalog(spark, catalog, database, shop):
    shop("top", "SELECT id, total FROM orders")
    spark.sql(f"USE prod.{database}")
    spark.sql(f"CREATE OR REPLACE VIEW prod.{database}.top AS SELECT id FROM refunds")
    row = catalog.store.get_row(ViewName(database, "top"))
    lineage = LineageReader(catalog.store).read(row)
    assert lineage.origin is LineageOrigin.TEXT
    assert [child.name.name for child in lineage.dependencies] == ["refunds"]
    assert catalog.dependencies.dependents(f"{database}.orders", namespaces=[database]).views == ()
    assert [
        name.name for name in catalog.dependencies.dependents(f"{database}.refunds", namespaces=[database]).views
    ] == ["top"]


def test_spark_keeps_the_mark_of_a_table_and_reads_it_as_before(spark, catalog, metastore, database, shop):
    with connect(metastore.port) as raw:
        before = raw.get_table(database, "plain")
        shop("top", "SELECT id FROM plain", home="spark_catalog")
        after = raw.get_table(database, "plain")
        mark = after.parameters.pop(HIVE_UUID)
        assert after == before
        spark.sql(f"ALTER TABLE spark_catalog.{database}.plain ADD COLUMNS (note STRING)")
        spark.sql(f"ALTER TABLE spark_catalog.{database}.plain SET TBLPROPERTIES ('a' = 'b')")
        spark.sql(f"INSERT INTO spark_catalog.{database}.plain VALUES (3, 4, 'x')")
        assert spark.table(f"spark_catalog.{database}.plain").count() == 2
        spark.sql(f"ALTER TABLE spark_catalog.{database}.plain RENAME TO {database}.plain2")
        assert raw.get_table(database, "plain2").parameters[HIVE_UUID] == mark
        (found,) = catalog.dependencies.lineage(f"{database}.top").dependencies
        assert (found.dependency.name.name, found.state.value) == ("plain2", "renamed")
        spark.sql(f"USE spark_catalog.{database}")
        spark.sql(f"CREATE TABLE {database}.copied LIKE {database}.plain2")
        assert HIVE_UUID not in raw.get_table(database, "copied").parameters
        spark.sql(f"DROP TABLE spark_catalog.{database}.plain2")
        spark.sql(f"DROP TABLE spark_catalog.{database}.copied")
