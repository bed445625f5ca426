"""Views that Spark reads through Iceberg REST catalogs: those of the metastore, and copies."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.errors import UsageError
from hive_views.legacy_import import PlanStatus, RevertStatus, plan_import, revert_run, run_plan
from hive_views.spark import SparkImport, compare_copies
from hive_views.view_copy import CopyStatus, copy_views
from tests.integration.view_copy.conftest import metastore_over_rest, rest, rest_server

__all__ = ["metastore_over_rest", "rest", "rest_server"]


pytestmark = pytest.mark.extended


def with_rest_catalog(spark: SparkSession, name: str, address: str) -> SparkSession:
    session = spark.newSession()
    session.conf.set(f"spark.sql.catalog.{name}", "org.apache.iceberg.spark.SparkCatalog")
    session.conf.set(f"spark.sql.catalog.{name}.type", "rest")
    session.conf.set(f"spark.sql.catalog.{name}.uri", address)
    return session


@pytest.fixture
def views(spark: SparkSession, catalog: HiveViewCatalog, database: str) -> Iterator[list[str]]:
    """A view of an Iceberg table, and one of that view."""
    spark.sql(f"CREATE TABLE prod.{database}.t (a INT, m MAP<STRING, DOUBLE>) USING iceberg")
    spark.sql(f"INSERT INTO prod.{database}.t VALUES (1, map('x', -0.0D)), (2, NULL), (2, NULL)")
    catalog.create_view_from_sql(f"{database}.v", f"SELECT a, m, a + 1 AS b FROM {database}.t", dialect="spark")
    catalog.create_view_from_sql(
        f"{database}.w", f"SELECT a, count(*) AS n FROM {database}.v GROUP BY a", dialect="spark"
    )
    yield [f"{database}.v", f"{database}.w"]
    spark.sql(f"DROP TABLE prod.{database}.t PURGE")


def test_spark_reads_views_of_the_metastore_through_rest(
    spark: SparkSession, metastore_over_rest: str, views: list[str]
) -> None:
    session = with_rest_catalog(spark, "over", metastore_over_rest)
    assert sorted(map(tuple, session.sql(f"SELECT * FROM over.{views[1]}").collect())) == [(1, 1), (2, 2)]
    compared = compare_copies(session, "prod", "over", views)
    assert [(each.name, each.is_equal, each.text) for each in compared] == [
        (views[0], True, "the same 3 rows"),
        (views[1], True, "the same 2 rows"),
    ]


def test_copies_are_compared_by_rows(
    spark: SparkSession,
    catalog: HiveViewCatalog,
    rest: RestCatalog,
    rest_server: str,
    views: list[str],
    database: str,
    tmp_path,
) -> None:
    session = with_rest_catalog(spark, "lake", rest_server)
    copied = copy_views(catalog, rest, views, journal=tmp_path / "copy.jsonl")
    assert {view.status for view in copied} == {CopyStatus.COPIED}
    missing = compare_copies(session, "prod", "lake", views)
    assert all(not each.is_equal and "cannot read it in the target" in each.text for each in missing)
    rest.register_table(f"{database}.t", catalog.load_table(f"{database}.t").metadata_location)
    assert all(each.is_equal for each in compare_copies(session, "prod", "lake", views))
    spark.sql(f"INSERT INTO prod.{database}.t VALUES (3, NULL)")  # only the metastore's table has it
    other = compare_copies(session, "prod", "lake", views)
    assert [each.text for each in other] == [
        "other rows: 4 rows in the source, 3 in the target",
        "other rows: 3 rows in the source, 2 in the target",
    ]
    session.sql(f"CREATE OR REPLACE VIEW lake.{views[1]} AS SELECT a FROM lake.{database}.t")
    assert "other columns: a, n and a" in compare_copies(session, "prod", "lake", views[1:])[0].text


def test_imported_views_return_the_rows_of_the_legacy_views(
    spark: SparkSession,
    catalog: HiveViewCatalog,
    rest: RestCatalog,
    rest_server: str,
    database: str,
    tmp_path,
) -> None:
    spark.sql(f"CREATE TABLE spark_catalog.{database}.hive_t (id INT, s STRING) USING parquet")
    spark.sql(f"INSERT INTO spark_catalog.{database}.hive_t VALUES (1, 'ü'), (2, NULL)")
    spark.sql(f"CREATE TABLE spark_catalog.{database}.moved (id INT, at TIMESTAMP) USING parquet")
    spark.sql(f"INSERT INTO spark_catalog.{database}.moved VALUES (1, TIMESTAMP '2026-01-01 00:00:00')")
    session = with_rest_catalog(spark, "lake", rest_server)
    session.sql(f"CREATE TABLE lake.{database}.moved (id INT, at TIMESTAMP) USING iceberg")
    session.sql(f"INSERT INTO lake.{database}.moved VALUES (2, TIMESTAMP '2026-01-01 00:00:00')")
    texts = {
        "of_hive": f"SELECT id, s FROM {database}.hive_t",
        "over_view": f"SELECT count(*) AS n FROM {database}.of_hive",
        "of_moved": f"SELECT id, at FROM {database}.moved",
        "named": f"SELECT id + 1 AS `ï d` FROM spark_catalog.{database}.moved",
    }
    for name, text in texts.items():
        spark.sql(f"CREATE VIEW spark_catalog.{database}.{name} AS {text}")
    try:
        plan = plan_import(catalog, databases=[database], to=rest)
        assert {entry.status for entry in plan.entries} == {PlanStatus.READY}, [entry.problem for entry in plan.entries]
        assert run_plan(plan, catalog, tmp_path / "journal", to=rest).complete
        names = [f"{database}.of_hive", f"{database}.over_view"]
        compared = compare_copies(session, "spark_catalog", "lake", names)
        assert [each.text for each in compared] == ["the same 2 rows", "the same 1 rows"]
        with pytest.raises(UsageError, match="in one process"):
            SparkImport(spark, catalog).plan(databases=[database], to=rest)  # type: ignore[arg-type]
        moved = session.sql(f"SELECT id, string(at) FROM lake.{database}.of_moved").collect()
        assert [tuple(row) for row in moved] == [(2, "2026-01-01 00:00:00")]
        named = session.sql(f"SELECT * FROM lake.{database}.named")
        assert (named.columns, [tuple(row) for row in named.collect()]) == (["ï d"], [(3,)])
        outcomes = revert_run(catalog, tmp_path / "journal", to=rest)
        assert {outcome.status for outcome in outcomes} == {RevertStatus.REVERTED}
        assert session.sql(f"SELECT * FROM spark_catalog.{database}.of_hive").count() == 2
    finally:
        for name in texts:
            spark.sql(f"DROP VIEW spark_catalog.{database}.{name}")
        for name in ("hive_t", "moved"):
            spark.sql(f"DROP TABLE spark_catalog.{database}.{name}")
