"""Creates 10,000 views in one database: rows as commits write them, and files without waiting for the disk.

With `plain`, every second view is a plain Hive view instead.
"""

from __future__ import annotations

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hive_views import HiveViewCatalog
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema, SerDeInfo, StorageDescriptor, Table
from hive_views.metastore.rows.codec import new_row
from hive_views.spec.changes import create
from hive_views.spec.file_codec import compression_codec, new_location, serialize
from hive_views.spec.lineage_codec import file_id
from hive_views.spec.metadata import ViewVersion
from hive_views.spec.version_texts import row_texts

DATABASE = "many"
VIEWS, QUICK_VIEWS = 10_000, 2_000
_CONNECTIONS = 4
FACTS, DIMENSIONS = 500, 20
"""Each view joins one of 500 fact tables and one of 20 dimensions: 20 and 500 dependents each among 10,000 views."""


def fill(catalog: HiveViewCatalog, directory: Path, views: int = VIEWS, *, plain: bool = False) -> None:
    """Create the tables and views; with `plain`, every second view is one of Hive's own."""
    client = catalog.store.client
    catalog.create_namespace(DATABASE, {"location": directory.as_uri()})
    names = [*(f"fact_{number}" for number in range(FACTS)), *(f"dim_{number}" for number in range(DIMENSIONS))]
    with ThreadPoolExecutor(_CONNECTIONS) as pool:
        list(pool.map(lambda name: client.create_table(_table(name, directory)), names))
    definitions = {}
    for number in range(FACTS):
        tables = f"fact_{number} f JOIN dim_{number % DIMENSIONS} d ON f.id = d.id"
        sql = f"SELECT f.*, d.name AS label FROM {tables} WHERE f.total > {number}"
        definitions[number] = catalog.author(f"{DATABASE}.v", sql)

    def create_one(number: int) -> None:
        name, definition = ViewName(DATABASE, f"v_{number:05d}"), definitions[number % FACTS]
        if plain and number // FACTS % 2:
            client.create_table(_plain_view(name, definition.version))
            return
        metadata = create(
            uuid=str(uuid.uuid4()),
            location=(directory / name.name).as_uri(),
            schema=definition.schema,
            version=definition.version,
            properties={},
            now_ms=int(time.time() * 1000),
            identifier=str(name),
        )
        location = new_location(metadata, None, file_id(metadata.current_version()))
        path = Path(location.removeprefix("file://"))
        path.parent.mkdir(parents=True)
        path.write_bytes(serialize(metadata, codec=compression_codec(metadata.properties)))
        client.create_table(new_row(name, metadata, location, catalog.store.config, now_s=int(time.time())))

    with ThreadPoolExecutor(_CONNECTIONS) as pool:
        list(pool.map(create_one, range(views)))


def _plain_view(name: ViewName, version: ViewVersion) -> Table:
    row = _table(name.name, Path("/"))
    row.sd.cols = [*row.sd.cols, FieldSchema("label", "string", None)]
    row.sd.location = None
    row.tableType, row.parameters = "VIRTUAL_VIEW", {}
    texts = row_texts(version)
    row.viewOriginalText, row.viewExpandedText = texts.original, texts.expanded
    return row


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
