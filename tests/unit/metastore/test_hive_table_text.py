"""Statements that create Hive tables again."""

from __future__ import annotations

import pytest

from hive_views.errors import UndroppableTableError
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema, Order
from hive_views.metastore.hive_table_text import check_droppable, create_statement
from hive_views.metastore.rows.row import Row, read_row
from tests.integration.catalog.samples import hive_row

START = "CREATE EXTERNAL TABLE `d`.`t` (`id` bigint, `a``b` string COMMENT 'c')"
STORED = (
    "STORED AS INPUTFORMAT 'org.apache.hadoop.mapred.SequenceFileInputFormat' "
    "OUTPUTFORMAT 'org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat'"
)


def row(**parameters: str) -> Row:
    table = hive_row("d", "t", "MANAGED_TABLE", **parameters)
    table.createTime = 1
    table.sd.cols = [FieldSchema("id", "bigint", None), FieldSchema("a`b", "string", "c")]
    table.sd.location = "file:/t"
    return read_row(table)


def test_statement_keeps_settings_but_not_statistics() -> None:
    found = create_statement(row(numRows="1", transient_lastDdlTime="5", EXTERNAL="FALSE", a="b", comment="it's"))
    assert found == f"{START} COMMENT 'it\\'s' {STORED} LOCATION 'file:/t' TBLPROPERTIES ('a' = 'b')"


def test_statement_of_bucketed_table() -> None:
    table = row()
    table.table.sd.bucketCols, table.table.sd.numBuckets = ["id"], 4
    table.table.sd.sortCols = [Order("id", 1), Order("a`b", 0)]
    buckets = "CLUSTERED BY (`id`) SORTED BY (`id` ASC, `a``b` DESC) INTO 4 BUCKETS"
    assert create_statement(table) == f"{START} {buckets} {STORED} LOCATION 'file:/t'"


def test_statement_of_table_of_a_storage_handler() -> None:
    table = row(storage_handler="org.example.Handler")
    table.table.sd.serdeInfo.parameters = {"k": "v"}
    stored = "STORED BY 'org.example.Handler' WITH SERDEPROPERTIES ('k' = 'v')"
    assert create_statement(table) == f"{START} {stored} LOCATION 'file:/t'"


@pytest.mark.parametrize(("provider", "is_known"), [("parquet", True), ("ORC", True), ("csv", False), ("delta", False)])
def test_row_of_spark_table_implies_a_statement_only_if_hive_reads_it(provider: str, is_known: bool) -> None:
    found = create_statement(row(**{"spark.sql.sources.provider": provider, "spark.sql.sources.schema": "{}"}))
    assert found == (f"{START} {STORED} LOCATION 'file:/t'" if is_known else None)


def test_table_without_location_has_no_statement() -> None:
    table = row()
    table.table.sd.location = None
    assert create_statement(table) is None


def test_transactional_table_is_left_to_hive() -> None:
    check_droppable(row(transactional="false"))
    with pytest.raises(UndroppableTableError):
        check_droppable(row(transactional="TRUE"))
