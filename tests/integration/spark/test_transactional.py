"""Transactional tables of Hive in a `ViewSession`: Spark returns no rows of them, without an error."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from hive_views.catalog.catalog import HiveViewCatalog
from hive_views.errors import RefreshError, UnreadableTableError, UnreadableTableWarning
from hive_views.local_metastore.process import MetastoreProcess
from hive_views.spark.session.session import ViewSession
from tests.integration.legacy_import.rows import alter
from tests.integration.metastore.rpc import connect
from tests.integration.transactional.tables import ACID, ORC, table


def make_transactional(metastore: MetastoreProcess, database: str, name: str) -> None:
    """Change a table's row as Hive's ALTER TABLE … SET TBLPROPERTIES ('transactional'='true') does."""
    with connect(metastore.port) as raw:
        row = raw.get_table(database, name)
        row.tableType = "MANAGED_TABLE"
        row.parameters = {key: value for key, value in row.parameters.items() if key != "EXTERNAL"} | ACID
        alter(raw, row)


@pytest.fixture
def acid(metastore: MetastoreProcess, spark: SparkSession, database: str) -> Iterator[str]:
    """A full ACID table with three rows in a directory of Hive's, which Spark reads as empty.

    On Hive 2 such a table is bucketed.
    """
    with connect(metastore.port) as raw:
        row = table(database, "acid", ORC, {})
        row.sd.bucketCols, row.sd.numBuckets = ["id"], 1
        raw.create_table(row)
        location = raw.get_table(database, "acid").sd.location
    spark.range(3).selectExpr("CAST(id AS INT) id", "'x' name").coalesce(1).write.orc(
        f"{location}/delta_0000001_0000001_0000"
    )
    make_transactional(metastore, database, "acid")
    yield f"{database}.acid"


def test_reads_warn(session: ViewSession, catalog: HiveViewCatalog, acid: str, database: str) -> None:
    with pytest.warns(UnreadableTableWarning, match=rf"{database}\.v: spark: other rows: it reads {acid},"):
        session.sql(f"CREATE VIEW {database}.v AS SELECT id FROM spark_catalog.{acid}")
    for query in (f"SELECT * FROM spark_catalog.{acid}", f"SELECT * FROM prod.{database}.v"):
        with pytest.warns(UnreadableTableWarning, match=rf"Spark returns other rows .*: it reads {acid},"):
            assert session.sql(query).collect() == []


def test_reads_of_other_tables_do_not_warn(session: ViewSession, spark: SparkSession, database: str) -> None:
    spark.sql(f"CREATE TABLE spark_catalog.{database}.plain (id INT) STORED AS ORC")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert session.sql(f"SELECT * FROM spark_catalog.{database}.plain").collect() == []
    spark.sql(f"DROP TABLE spark_catalog.{database}.plain")


def test_materialized_views_are_refused(session: ViewSession, acid: str, database: str) -> None:
    with pytest.raises(UnreadableTableError, match=rf"it reads {acid},"):
        session.sql(f"CREATE MATERIALIZED VIEW {database}.m AS SELECT id FROM spark_catalog.{acid}")


def test_refreshes_are_refused(
    session: ViewSession, metastore: MetastoreProcess, spark: SparkSession, database: str
) -> None:
    with connect(metastore.port) as raw:
        row = table(database, "later", ORC, {})
        row.sd.bucketCols, row.sd.numBuckets = ["id"], 1
        raw.create_table(row)
        location = raw.get_table(database, "later").sd.location
    spark.range(3).selectExpr("CAST(id AS INT) id", "'x' name").coalesce(1).write.mode("append").orc(location)
    session.sql(f"CREATE MATERIALIZED VIEW {database}.m AS SELECT id FROM spark_catalog.{database}.later")
    session.sql(f"REFRESH MATERIALIZED VIEW {database}.m")
    assert session.sql(f"SELECT count(*) FROM {database}.m").collect()[0][0] == 3
    make_transactional(metastore, database, "later")
    for statement in ("REFRESH MATERIALIZED VIEW {}.m", "REFRESH MATERIALIZED VIEW {}.m FULL"):
        with pytest.raises(RefreshError, match=rf"it reads {database}\.later, a transactional"):
            session.sql(statement.format(database))
    assert session.view_catalog.materialized.load(f"{database}.m").snapshot is not None
