"""The second session of a Spark Connect client that has no method for it: before PySpark 4.1."""

from __future__ import annotations

import pytest
from pyspark.sql.connect.client.reattach import ExecutePlanResponseReattachableIterator

from hive_views.errors import SqlError
from hive_views.spark import ViewSession
from hive_views.spark.sessions import end_session, open_connect_session


def test_it_is_opened_over_the_connection_of_the_first(connect_spark, session_catalog, database):
    other = open_connect_session(connect_spark)
    try:
        assert other.session_id != connect_spark.session_id
        connect_spark.sql("SELECT 1 AS mine").createOrReplaceTempView("mine")
        assert not other.catalog.tableExists("mine")
        with ViewSession(connect_spark, session_catalog, helper=other) as views:
            views.sql(f"CREATE TABLE spark_catalog.{database}.t (id INT) USING parquet")
            views.sql(f"CREATE VIEW prod.{database}.v AS SELECT id FROM spark_catalog.{database}.t")
            views.sql(f"ALTER VIEW prod.{database}.v AS SELECT id, id AS twice FROM spark_catalog.{database}.t")
            assert views.sql(f"SELECT * FROM prod.{database}.v VERSION AS OF 1").columns == ["id"]
        assert not other.client.is_closed  # it is its giver's
    finally:
        end_session(other)
    assert connect_spark.sql("SELECT mine FROM mine").collect()[0].mine == 1


def test_session_without_server_address_is_rejected(spark):
    with pytest.raises(SqlError, match="helper="):
        open_connect_session(spark)


def test_close_ends_opened_session_before_garbage_collection(connect_spark, session_catalog, database):
    connect_spark.sql(f"USE spark_catalog.{database}")
    with ViewSession(connect_spark, session_catalog) as views:
        views.sql("CREATE VIEW v AS SELECT 1 AS x")
        assert views.sql("SELECT x FROM v VERSION AS OF 1").collect()
        opened = views._helper._open()
        client = opened.client
        assert not client.is_closed
    assert client.is_closed
    # What PySpark's `__del__` of it would stop is shared by all sessions of this process.
    pool = ExecutePlanResponseReattachableIterator._get_or_create_release_thread_pool()
    opened.__del__()
    assert ExecutePlanResponseReattachableIterator._get_or_create_release_thread_pool() is pool
    # The user's own goes on.
    assert connect_spark.sql("SELECT 1 AS x").collect()
