"""Rows of transactional tables and of tables with a storage handler, as Hive 4.1.0 writes them."""

from __future__ import annotations

from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema, SerDeInfo, StorageDescriptor, Table
from tests.integration.catalog.samples import hive_row

ORC = (
    "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
    "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
    "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
)
PARQUET = (
    "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
    "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
    "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
)
TEXT = (
    "org.apache.hadoop.mapred.TextInputFormat",
    "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
    "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
)
ACID = {"transactional": "true", "transactional_properties": "default"}
INSERT_ONLY = {"transactional": "true", "transactional_properties": "insert_only"}
HANDLER = {"storage_handler": "org.apache.hadoop.hive.hbase.HBaseStorageHandler", "EXTERNAL": "TRUE"}


def table(database: str, name: str, formats: tuple[str, str, str], parameters: dict[str, str]) -> Table:
    """A table with the columns `id int, name string`."""
    kind = "EXTERNAL_TABLE" if "EXTERNAL" in parameters else "MANAGED_TABLE"
    row = hive_row(database, name, kind, **parameters)
    columns = [FieldSchema(name="id", type="int"), FieldSchema(name="name", type="string")]
    row.sd = StorageDescriptor(
        cols=columns,
        inputFormat=formats[0],
        outputFormat=formats[1],
        serdeInfo=SerDeInfo(serializationLib=formats[2], parameters={}),
        compressed=False,
        numBuckets=-1,
        bucketCols=[],
        sortCols=[],
        parameters={},
    )
    return row


def create_tables(raw: Client, database: str) -> None:
    """Create one table of each kind, and a plain one."""
    raw.create_table(table(database, "plain", ORC, {}))
    raw.create_table(table(database, "acid", ORC, ACID))
    raw.create_table(table(database, "insert_only", TEXT, INSERT_ONLY))
    raw.create_table(table(database, "insert_only_orc", ORC, INSERT_ONLY))
    raw.create_table(table(database, "handler", ("", "", "org.apache.hadoop.hive.hbase.HBaseSerDe"), HANDLER))
