"""Creates 10,000 views in one database: rows as commits write them, and files without waiting for the disk."""

from __future__ import annotations

import time
import uuid
from pathlib import Path

from hive_views import HiveViewCatalog
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema, SerDeInfo, StorageDescriptor, Table
from hive_views.metastore.row_codec import new_row
from hive_views.spec.changes import create
from hive_views.spec.file_codec import compression_codec, new_location, serialize
from hive_views.spec.lineage_codec import file_id

DATABASE = "many"
VIEWS = 10_000
FACTS, DIMENSIONS = 500, 20
"""Each view joins one of 500 fact tables (20 dependents each) and one of 20 dimensions (500 dependents each)."""


def fill(catalog: HiveViewCatalog, directory: Path, views: int = VIEWS) -> None:
    """Create the tables and views."""
    client = catalog.store.client
    catalog.create_namespace(DATABASE, {"location": directory.as_uri()})
    for name in [*(f"fact_{number}" for number in range(FACTS)), *(f"dim_{number}" for number in range(DIMENSIONS))]:
        client.create_table(_table(name, directory))
    definitions = {}
    for number in range(views):
        pair = number % FACTS, number % DIMENSIONS
        if pair not in definitions:
            tables = f"fact_{pair[0]} f JOIN dim_{pair[1]} d ON f.id = d.id"
            sql = f"SELECT f.*, d.name AS label FROM {tables} WHERE f.total > {pair[0]}"
            definitions[pair] = catalog.author(f"{DATABASE}.v", sql)
        name = ViewName(DATABASE, f"v_{number:05d}")
        metadata = create(
            uuid=str(uuid.uuid4()),
            location=(directory / name.name).as_uri(),
            schema=definitions[pair].schema,
            version=definitions[pair].version,
            properties={},
            now_ms=int(time.time() * 1000),
            identifier=str(name),
        )
        location = new_location(metadata, None, file_id(metadata.current_version()))
        path = Path(location.removeprefix("file://"))
        path.parent.mkdir(parents=True)
        path.write_bytes(serialize(metadata, codec=compression_codec(metadata.properties)))
        client.create_table(new_row(name, metadata, location, catalog.store.config, now_s=int(time.time())))


def _table(name: str, directory: Path) -> Table:
    columns = [FieldSchema(column, kind, None) for column, kind in _COLUMNS]
    return Table(
        tableName=name,
        dbName=DATABASE,
        owner="bench",
        createTime=0,
        lastAccessTime=0,
        retention=0,
        sd=StorageDescriptor(
            cols=columns,
            location=(directory / name).as_uri(),
            compressed=False,
            numBuckets=0,
            serdeInfo=SerDeInfo(parameters={}),
            bucketCols=[],
            sortCols=[],
            parameters={},
        ),
        partitionKeys=[],
        parameters={"EXTERNAL": "TRUE"},
        tableType="EXTERNAL_TABLE",
    )


_COLUMNS = (("id", "bigint"), ("name", "string"), ("total", "decimal(10,2)"), ("placed", "bigint"))
