"""Materialized views as Hive and Trino create them: the row, the storage, and its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from hive_views import HiveViewCatalog
from hive_views.local_metastore.embedded import EMBEDDED_VERSION
from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import CreationMetadata, SourceTable, Table
from tests.conftest import SERVER
from tests.integration.catalog.samples import files_below, hive_row, path
from tests.integration.legacy_import.rows import fields, trino_view_row

COLUMNS = [("id", "bigint"), ("amount", "bigint")]
ROWS = pa.table({"id": [1, 3], "amount": [10, 5]})
"""The initial rows of the definition."""
STARTED = "2026-01-01T00:00:00.123456789Z"


@dataclass(frozen=True)
class Old:
    """A materialized view of Hive or Trino."""

    name: str
    """`database.name`."""
    directory: str
    """The location of its rows."""

    def files(self) -> dict[Path, bytes]:
        """Return the data files and the initial metadata."""
        return {file: file.read_bytes() for file in files_below(self.directory) if not file.name.endswith(".crc")}


def definition(database: str) -> str:
    """Return Hive's text of the definition."""
    return f"SELECT `sales`.`id`, `sales`.`amount` FROM `{database}`.`sales` WHERE `sales`.`shop` = 'a'"


def trino(
    catalog: HiveViewCatalog,
    raw: Client,
    database: str,
    name: str,
    *,
    visible: bool,
    sql: str = "SELECT id, amount FROM sales WHERE shop = 'a'",
    summary: dict[str, str] | None = None,
    rows: pa.Table | None = ROWS,
    **document: Any,
) -> Old:
    """As Trino's Iceberg connector writes it (TrinoHiveCatalog): storage as a table, or known to the row alone."""
    sales = catalog.load_table((database, "sales"))
    storage = catalog.create_table((database, f"st_{name}"), sales.schema().select("id", "amount"))
    if rows is not None:
        if summary is None:
            summary = {"dependsOnTables": f"{database}.sales={sales.metadata.current_snapshot_id}"}
        storage.append(rows, snapshot_properties={"trino-query-start-time": STARTED, **summary})
    if visible:
        storage_parameters = {"storage_schema": database, "storage_table": f"st_{name}"}
    else:
        storage_parameters = {"metadata_location": storage.metadata_location}
        raw.drop_table(database, f"st_{name}", False)
    defaults: dict[str, Any] = {
        "catalog": "iceberg", "owner": None, "runAsInvoker": None, "comment": "of shop a", "path": []
    }  # fmt: skip
    row = trino_view_row(
        database,
        name,
        sql,
        COLUMNS,
        materialized=True,
        parameters={**storage_parameters, "trino_created_by": "Trino Iceberg connector"},
        **(defaults | document),
    )
    row.owner = "analyst"
    raw.create_table(row)
    return Old(f"{database}.{name}", storage.metadata.location)


def hive_iceberg(catalog: HiveViewCatalog, raw: Client, database: str, name: str, **parameters: str) -> Old:
    """As Hive 4 writes CREATE MATERIALIZED VIEW … STORED BY ICEBERG: one row, which is view and table."""
    sales = catalog.load_table((database, "sales"))
    storage = catalog.create_table((database, name), sales.schema().select("id", "amount"))
    storage.append(ROWS)
    made = raw.get_table(database, name)
    raw.drop_table(database, name, False)
    row = _hive(raw, database, name)
    row.sd = made.sd
    row.parameters = {
        **made.parameters,
        "EXTERNAL": "TRUE",
        "external.table.purge": "TRUE",
        "storage_handler": "org.apache.iceberg.mr.hive.HiveIcebergStorageHandler",
        "engine.hive.enabled": "true",
        "table_type": "ICEBERG",
        "current-snapshot-id": str(storage.metadata.current_snapshot_id),
        **parameters,
    }
    raw.create_table(row)
    return Old(f"{database}.{name}", storage.metadata.location)


def hive_native(raw: Client, warehouse: str, database: str, name: str, **parameters: str) -> Old:
    """Create one in Hive's own format."""
    row = _hive(raw, database, name)
    row.sd.cols = fields(COLUMNS)
    row.sd.location = f"{warehouse}/{database}.db/{name}"
    row.sd.inputFormat = "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat"
    row.sd.outputFormat = "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat"
    row.sd.serdeInfo.serializationLib = "org.apache.hadoop.hive.ql.io.orc.OrcSerde"
    row.parameters = {"rewriting.time.window": "0min", **parameters}
    directory = path(row.sd.location)
    directory.mkdir(parents=True)
    (directory / "000000_0").write_bytes(b"ORC and so on")
    raw.create_table(row)
    return Old(f"{database}.{name}", row.sd.location)


def _hive(raw: Client, database: str, name: str) -> Table:
    row = hive_row(database, name, "MATERIALIZED_VIEW")
    row.creationMetadata = _creation(raw, database, name)
    row.viewOriginalText = "SELECT id, amount FROM sales WHERE shop = 'a'"
    row.viewExpandedText = definition(database)
    row.rewriteEnabled = True
    return row


def _creation(raw: Client, database: str, name: str) -> CreationMetadata | None:
    """Return Hive's record of the sources (Hive 3 and 4); Hive 2 has another field with that number."""
    if SERVER == EMBEDDED_VERSION:
        return None
    source = SourceTable(table=raw.get_table(database, "sales"), insertedCount=0, updatedCount=0, deletedCount=0)
    return CreationMetadata("hive", database, name, {f"{database}.sales"}, sourceTables=[source])
