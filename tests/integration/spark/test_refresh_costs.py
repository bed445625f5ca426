"""The choice between the affected keys and all rows, by what the last refreshes took."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from hive_views import HiveViewCatalog
from hive_views.identifiers import ViewName
from hive_views.materialized.refresh.actions import Mode
from hive_views.materialized.refresh.costs import measured_refreshes
from hive_views.materialized.state.refresh_state import fingerprint
from hive_views.spark import SparkEngine
from tests.integration.spark.spark_versions import needs_spark_4
from tests.suites import extended

LIMIT = "hive-views.max-keys-time-percent"


def recorded(catalog: HiveViewCatalog, name: ViewName) -> list[tuple[str, int | None, int | None]]:
    """The actions and numbers of the refreshes, newest first."""
    view = catalog.materialized.load(name)
    refreshes = measured_refreshes(view.readable_storage().metadata, fingerprint(view.metadata))
    return [(item.action, item.table_rows, item.compared_rows) for item in refreshes]


@needs_spark_4
@pytest.mark.parametrize("layout", ["registered", *extended("attached", "table")])
def test_keys_are_not_searched_if_that_took_longer_than_everything(
    spark: SparkSession, catalog: HiveViewCatalog, database: str, layout: str
) -> None:
    table, engine = f"prod.{database}.t", SparkEngine(spark, catalog)
    spark.sql(f"CREATE TABLE {table} (a BIGINT, b BIGINT) USING iceberg")
    spark.sql(f"INSERT INTO {table} SELECT id DIV 10, id FROM range(100)")
    query = "SELECT a, avg(b) AS m FROM t GROUP BY a"
    name = catalog.materialized.create((database, "mv"), query, database=database, layout=layout).name
    catalog.materialized.load(name).refresh(engine)

    def refreshed(limit: int, mode: Mode = Mode.AUTO) -> tuple[str, str]:
        spark.sql(f"UPDATE {table} SET b = b + 1 WHERE a = 3")
        catalog.materialized.load(name).set_properties({LIMIT: str(limit)})
        expected = catalog.materialized.load(name).explain(engine).plans[0].action
        [report] = catalog.materialized.load(name).refresh(engine, mode=mode)
        assert mode is not Mode.AUTO or report.action == expected
        spark.catalog.refreshTable(table)
        rows = spark.sql(f"SELECT a, avg(b) AS m FROM {table} GROUP BY a").collect()
        stored = catalog.materialized.load(name).scan().to_arrow().to_pylist()
        assert sorted((row["a"], row["m"]) for row in stored) == sorted(map(tuple, rows))
        return report.action, report.why

    assert refreshed(0)[0] == "keys"  # no earlier one
    action, why = refreshed(0)
    assert action == "full" and "the last refresh by keys, which compared 100, took " in why
    assert refreshed(0, Mode.INCREMENTAL)[0] == "keys"
    assert refreshed(1_000_000)[0] == "keys"
    assert recorded(catalog, name) == [
        ("keys", 100, 100),
        ("keys", 100, 100),
        ("full", 100, None),
        ("keys", 100, 100),
        ("full", 100, None),
    ]
    catalog.materialized.load(name).replace("SELECT a, avg(b) + 1 AS m FROM t GROUP BY a", database=database)
    catalog.materialized.load(name).refresh(engine)
    spark.sql(f"UPDATE {table} SET b = b + 1 WHERE a = 3")
    catalog.materialized.load(name).set_properties({LIMIT: "0"})
    assert catalog.materialized.load(name).refresh(engine)[0].action == "keys"  # the first of this definition


@needs_spark_4
def test_only_the_time_of_a_plan_that_succeeded_at_once_is_used(
    spark: SparkSession, catalog: HiveViewCatalog, database: str
) -> None:
    table, engine = f"prod.{database}.t", SparkEngine(spark, catalog)
    spark.sql(f"CREATE TABLE {table} (a BIGINT, b BIGINT) USING iceberg")
    spark.sql(f"INSERT INTO {table} SELECT id, id FROM range(1100)")
    query = "SELECT a, avg(b) AS m FROM t GROUP BY a"
    name = catalog.materialized.create((database, "mv"), query, database=database).name
    catalog.materialized.load(name).refresh(engine)
    spark.sql(f"UPDATE {table} SET b = b + 1")
    [report] = catalog.materialized.load(name).refresh(engine)
    assert report.action == "full" and "the keys refresh failed (1100 keys changed" in report.why
    assert recorded(catalog, name) == [("full", None, None), ("full", 1100, None)]
