"""Rows of golden files, a sample row, and rows as plain JSON values for comparisons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, NestedField, StringType

from hive_views.config import CatalogConfig
from hive_views.identifiers import ViewName
from hive_views.metastore._thrift.hive_metastore import ttypes
from hive_views.metastore.rows.codec import new_row
from hive_views.spec.changes import create
from hive_views.spec.file_codec import parse
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.version_texts import define

URI = {"uri": "thrift://localhost:9083"}
CONFIG = CatalogConfig.from_properties(URI)
HIVE3 = CatalogConfig.from_properties({**URI, "hive.hive2-compatible": "false"})
NAME = ViewName("sales", "v")
SCHEMA = Schema(NestedField(1, "id", IntegerType(), doc="key"), NestedField(2, "name", StringType()))

GOLDEN = Path(__file__).parent / "golden"

_STRUCTS = {
    "sd": ttypes.StorageDescriptor,
    "serdeInfo": ttypes.SerDeInfo,
    "skewedInfo": ttypes.SkewedInfo,
    "cols": ttypes.FieldSchema,
    "partitionKeys": ttypes.FieldSchema,
}


def golden_row(name: str) -> ttypes.Table:
    """Return the row of a golden file."""
    table: ttypes.Table = _struct(ttypes.Table, json.loads((GOLDEN / f"{name}.hms.json").read_text()))
    return table


def golden_metadata(name: str) -> ViewMetadata:
    """Return the metadata file of a golden row."""
    path = GOLDEN / f"{name}.metadata.json"
    return parse(path.read_bytes(), path.name)


def as_json(value: Any) -> Any:
    """Convert a Thrift value to JSON values: structs are objects with all fields, None if not set."""
    if hasattr(value, "thrift_spec"):
        return {field[2]: as_json(getattr(value, field[2])) for field in value.thrift_spec if field}
    if isinstance(value, list):
        return [as_json(item) for item in value]
    return value


def metadata_of_a_view(expanded: str = "select 1", **properties: str) -> ViewMetadata:
    return create(
        identifier=str(NAME),
        uuid="6f7d2b0e-3b1c-4e0a-9a62-1f4f5b2f0a11",
        location="file:/v",
        schema=SCHEMA,
        version=define("select * from t", dialect="spark", default_namespace=("sales",), expanded=expanded),
        properties=properties,
        now_ms=1,
    )


def row_and_metadata() -> tuple[ttypes.Table, ViewMetadata]:
    metadata = metadata_of_a_view()
    return new_row(NAME, metadata, "file:/v/0.metadata.json", CONFIG, now_s=1), metadata


def plain_row(**fields: Any) -> ttypes.Table:
    table, _ = row_and_metadata()
    for field, value in fields.items():
        setattr(table, field, value)
    return table


def _struct(kind: Any, values: dict[str, Any]) -> Any:
    return kind(**{name: _value(name, value) for name, value in values.items()})


def _value(name: str, value: Any) -> Any:
    if name in _STRUCTS and isinstance(value, list):
        return [_struct(_STRUCTS[name], item) for item in value]
    if name in _STRUCTS and value is not None:
        return _struct(_STRUCTS[name], value)
    return value
