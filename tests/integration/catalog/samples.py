"""Test data of the catalog: schemas, definitions, and rows as other programs write them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField, StringType
from pyiceberg.view.metadata import SQLViewRepresentation, ViewRepresentation, ViewVersion

from hive_views import HiveViewCatalog
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore.ttypes import FieldSchema, SerDeInfo, StorageDescriptor, Table
from hive_views.metastore.rows.row import Row
from hive_views.metastore.rows.serialization import encode_row

SCHEMA = Schema(
    NestedField(3, "id", IntegerType(), required=True, doc="unique ID"),
    NestedField(4, "data", StringType(), required=True),
    schema_id=5,
)
"""The columns of most views here, with the ids that Iceberg's own tests use: none of them is what will be stored."""

OTHER_SCHEMA = Schema(NestedField(1, "some_id", IntegerType(), required=True), schema_id=7)
"""Other columns."""

QUERY = "select * from ns.tbl"
"""The text of most views here."""


def version(namespace: str | Sequence[str], *texts: tuple[str, str], default_catalog: str | None = None) -> ViewVersion:
    """A definition in PyIceberg's own class, as a user who knows only PyIceberg makes it."""
    return ViewVersion.model_validate(
        {
            "schema-id": 0,
            "representations": [
                ViewRepresentation(SQLViewRepresentation(type="sql", dialect=dialect, sql=sql))
                for dialect, sql in texts or [("spark", QUERY)]
            ],
            "default-catalog": default_catalog,
            "default-namespace": (namespace,) if isinstance(namespace, str) else tuple(namespace),
        }
    )


def texts(view_version: ViewVersion) -> list[tuple[str, str]]:
    """Dialect and SQL of each text of a version, in their order."""
    return [(item.root.dialect, item.root.sql) for item in view_version.representations]


def hive_row(database: str, name: str, kind: str, **parameters: str) -> Table:
    """A row that Hive itself would write: a Hive view or a Hive table, by its tableType."""
    return Table(
        dbName=database,
        tableName=name,
        owner="hive",
        tableType=kind,
        parameters=dict(parameters),
        partitionKeys=[],
        viewOriginalText="select 1 as one" if kind == "VIRTUAL_VIEW" else None,
        viewExpandedText="select 1 as `one`" if kind == "VIRTUAL_VIEW" else None,
        sd=StorageDescriptor(
            cols=[FieldSchema(name="one", type="int", comment="")],
            inputFormat="org.apache.hadoop.mapred.SequenceFileInputFormat",
            outputFormat="org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat",
            serdeInfo=SerDeInfo(parameters={}),
            compressed=False,
            numBuckets=-1,
            bucketCols=[],
            sortCols=[],
            parameters={},
        ),
    )


def path(uri: str) -> Path:
    """The local path of a `file:` URI."""
    return Path(uri.removeprefix("file://").removeprefix("file:"))


def files_below(directory: str | os.PathLike[str]) -> set[Path]:
    """All files below a directory (a path or a `file:` URI), whatever their depth; none if it is not there."""
    top = path(os.fspath(directory))
    return {found for found in top.rglob("*") if found.is_file()} if top.exists() else set()


def row_of(catalog: HiveViewCatalog, name: ViewName) -> Row:
    """Return a row that exists."""
    row = catalog.store.get_row(name)
    assert row is not None, name
    return row


def row_bytes(catalog: HiveViewCatalog, name: ViewName) -> bytes:
    """Return all fields of a row that exists, to compare them."""
    return encode_row(row_of(catalog, name))
