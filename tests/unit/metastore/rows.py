"""Rows as plain JSON values, to read golden files and to compare whole rows with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hive_views.metastore._thrift.hive_metastore import ttypes
from hive_views.spec.files import parse
from hive_views.spec.metadata import ViewMetadata

GOLDEN = Path(__file__).parent / "golden"

_STRUCTS = {
    "sd": ttypes.StorageDescriptor,
    "serdeInfo": ttypes.SerDeInfo,
    "skewedInfo": ttypes.SkewedInfo,
    "cols": ttypes.FieldSchema,
    "partitionKeys": ttypes.FieldSchema,
}


def golden_row(name: str) -> ttypes.Table:
    """The row of a golden file."""
    table: ttypes.Table = _struct(ttypes.Table, json.loads((GOLDEN / f"{name}.hms.json").read_text()))
    return table


def golden_metadata(name: str) -> ViewMetadata:
    """The metadata file of a golden row."""
    path = GOLDEN / f"{name}.metadata.json"
    return parse(path.read_bytes(), path.name)


def as_json(value: Any) -> Any:
    """A Thrift value as JSON values: structs are objects with all their fields, None where not set."""
    if hasattr(value, "thrift_spec"):
        return {field[2]: as_json(getattr(value, field[2])) for field in value.thrift_spec if field}
    if isinstance(value, list):
        return [as_json(item) for item in value]
    return value


def _struct(kind: Any, values: dict[str, Any]) -> Any:
    return kind(**{name: _value(name, value) for name, value in values.items()})


def _value(name: str, value: Any) -> Any:
    if name in _STRUCTS and isinstance(value, list):
        return [_struct(_STRUCTS[name], item) for item in value]
    if name in _STRUCTS and value is not None:
        return _struct(_STRUCTS[name], value)
    return value
