"""The second session of a Spark Connect client that has no method for it: before PySpark 4.1."""

from __future__ import annotations

import pytest

from hive_views.errors import SqlError
from hive_views.spark import ViewSession
from hive_views.spark.helper_session import other_connection


def test_it_is_opened_over_the_connection_of_the_first(connect_spark, catalog_of_speakers, database):
    other = other_connection(connect_spark)
    try:
        assert other.session_id != connect_spark.session_id
        connect_spark.sql("SELECT 1 AS mine").createOrReplaceTempView("mine")
        assert not other.catalog.tableExists("mine")
        with ViewSession(connect_spark, catalog_of_speakers, helper=other) as views:
            views.sql(f"CREATE TABLE spark_catalog.{database}.t (id INT) USING parquet")
            views.sql(f"CREATE VIEW prod.{database}.v AS SELECT id FROM spark_catalog.{database}.t")
            views.sql(f"ALTER VIEW prod.{database}.v AS SELECT id, id AS twice FROM spark_catalog.{database}.t")
            assert views.sql(f"SELECT * FROM prod.{database}.v VERSION AS OF 1").columns == ["id"]
    finally:
        other.stop()
    assert connect_spark.sql("SELECT mine FROM mine").collect()[0].mine == 1


def test_a_session_that_does_not_say_where_its_server_is(spark):
    with pytest.raises(SqlError, match="helper="):
        other_connection(spark)
