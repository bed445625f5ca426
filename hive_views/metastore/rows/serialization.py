"""Rows as bytes, as JSON and as digests."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TException
from thrift.transport.TTransport import TMemoryBuffer

from hive_views.metastore._thrift.hive_metastore.ttypes import Table
from hive_views.metastore.rows.row import CHANGE_TIME, HIVE_UUID, Row, read_row

_FINGERPRINT_EXCLUDED = frozenset({CHANGE_TIME, HIVE_UUID})


def encode_row(row: Row) -> bytes:
    """Serialize a row with all fields in Thrift's binary protocol."""
    buffer = TMemoryBuffer()
    # The order of maps in a server's answer is arbitrary.
    _sorted(copy.deepcopy(row.table)).write(TBinaryProtocol(buffer))
    return bytes(buffer.getvalue())


def decode_row(data: bytes) -> Row:
    """Deserialize a row; raises ValueError if the data are not a row."""
    table = Table()
    try:
        table.read(TBinaryProtocol(TMemoryBuffer(data)))
    except (TException, EOFError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not a row: {error}") from error
    if not table.dbName or not table.tableName:
        raise ValueError("not a row: it has no name")
    return read_row(table)


def row_as_json(row: Row) -> dict[str, Any]:
    """Return a row as a JSON object with all fields that are set."""
    document = _as_json(row.table)
    assert isinstance(document, dict)
    return document


def row_fingerprint(row: Row) -> str:
    """Return a digest of a row, to detect changes.

    The digest excludes the order of parameters, the time of the last change, the UUID assigned to Hive's tables, and
    the parts of the location's spelling that a server changes in alter_table.
    """
    document = row_as_json(row)
    if row.location is not None:
        document["sd"]["location"] = _normalized_location(row.location)
    parameters = document.get("parameters", {})
    document["parameters"] = {key: value for key, value in parameters.items() if key not in _FINGERPRINT_EXCLUDED}
    document.pop("privileges", None)
    # The server inserts the current rows of the source tables here.
    document.get("creationMetadata", {}).pop("sourceTables", None)
    data = json.dumps(document, sort_keys=True, ensure_ascii=True).encode()
    return hashlib.sha256(data).hexdigest()


def _normalized_location(location: str) -> str:
    """Return a location as alter_table of a server stores it: `file:/x` for `file:///x/` (Hadoop's Path.toString)."""
    scheme, separator, path = location.partition("://" if not location.startswith("file:/") else ":")
    if not separator:
        return location
    return f"{scheme}{separator}{re.sub('/{2,}', '/', path).rstrip('/')}"


def _sorted(value: Any) -> Any:
    """Sort the maps of a Thrift value by key, in place, and return it."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(value)  # only `CreationMetadata.tablesUsed`, of strings
    for field in getattr(value, "thrift_spec", None) or ():
        if field is not None:
            setattr(value, field[2], _sorted(getattr(value, field[2])))
    return value


def _as_json(value: Any) -> Any:
    """Convert a Thrift value to JSON values, without fields that are not set."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (set, frozenset)):
        return sorted(map(_as_json, value))  # the iteration order of a set of strings differs between processes
    if isinstance(value, (list, tuple)):
        return [_as_json(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _as_json(item) for key, item in value.items()}
    spec = getattr(value, "thrift_spec", None)
    if spec is None:
        return value
    fields = ((item[2], getattr(value, item[2])) for item in spec if item is not None)
    return {name: _as_json(item) for name, item in fields if item is not None}
