"""All rows of a metastore as values that can be compared and recorded: databases, tables, partitions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any
from zlib import crc32

from hive_views.metastore._thrift.hive_metastore.ThriftHiveMetastore import Client
from hive_views.metastore._thrift.hive_metastore.ttypes import (
    ClientCapabilities,
    ClientCapability,
    GetTablesRequest,
)

Row = dict[str, Any]

CAPABILITIES = ClientCapabilities(values=[ClientCapability.INSERT_ONLY_TABLES])
_BATCH = 500

MAX_TEXT = 600
"""Longer texts are recorded by their beginning, length and checksum."""

_COUNTS = re.compile(r"(returns other rows each time) \(\d+ rows before, \d+ after\)")
"""The counts of a view over a random sample."""
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b")
_NUMBER = re.compile(r"\b\d{9,}\b")
_VOLATILE = ("createTime", "lastAccessTime", "writeId", "id")
_VOLATILE_PARAMETERS = re.compile(
    r"transient_lastDdlTime|totalSize|rawDataSize|total-(files|data)-?.*|.*snapshot-(id|timestamp-ms|summary)|"
    r"last_(modified_time|commit_time)|uuid|trino_query_id|materialized.*|COLUMN_STATS_ACCURATE|spark\.app\.id|.*timestamp.*"
)


def read_all(client: Client, sampled: str | None = None, each: int = 100) -> dict[str, Row]:
    """Return all rows, by a name such as `database.table`; databases end with `.`, partitions have a `/`.

    Of the database `sampled`, whose rows take the server 10 ms each, it reads one in `each`, and the names.
    """
    rows: dict[str, Row] = {}
    for database in sorted(client.get_all_databases()):
        row = client.get_database(database)
        rows[f"{database}."] = _value(row)
        if row.type == 2 or _is_remote(row):
            continue
        names = sorted(client.get_all_tables(database))
        if database == sampled:
            rows |= {f"{database}.{name}": {} for name in names}
            names = names[::each]
        for name, table in _tables(client, database, names):
            rows[f"{database}.{name}"] = _value(table)
            if table.partitionKeys and table.tableType != "VIRTUAL_VIEW":
                for partition in client.get_partitions(database, name, -1):
                    rows[f"{database}.{name}/{'/'.join(partition.values)}"] = _value(partition)
    return rows


def _is_remote(row: Any) -> bool:
    return "connector.remoteDbName" in (row.parameters or {})


def _tables(client: Client, database: str, names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    for start in range(0, len(names), _BATCH):
        request = GetTablesRequest(dbName=database, tblNames=names[start : start + _BATCH], capabilities=CAPABILITIES)
        for table in sorted(client.get_table_objects_by_name_req(request).tables, key=lambda item: item.tableName):
            yield table.tableName, table


def _value(item: Any) -> Any:
    """A Thrift value as JSON: structures are objects without their empty fields."""
    if isinstance(item, (list, tuple, set)):
        return [_value(part) for part in item]
    if isinstance(item, dict):
        # The values of skewed columns are keys as tuples.
        keys = {key: "/".join(key) if isinstance(key, tuple) else key for key in sorted(item, key=str)}
        return {name: _value(item[key]) for key, name in keys.items()}
    if hasattr(type(item), "thrift_spec"):
        fields = [spec[2] for spec in type(item).thrift_spec if spec]
        values = {name: _value(getattr(item, name)) for name in fields}
        return {name: value for name, value in values.items() if value not in (None, [], {})}
    return item


def stable(row: Row) -> Row:
    """A row without what differs between two builds: times, UUIDs, identifiers of snapshots, sizes, random counts."""
    result = {key: value for key, value in _without_volatile(row).items() if key not in _VOLATILE}
    text = _UUID.sub("<uuid>", json.dumps(result, ensure_ascii=False, sort_keys=True))
    text = _COUNTS.sub(r"\1", text)
    value: Row = _cut(json.loads(_NUMBER.sub("999999999", text)))
    return value


def _without_volatile(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_volatile(item) for item in value]
    if not isinstance(value, dict):
        return value
    is_row = "parameters" in value
    result = {key: _without_volatile(item) for key, item in value.items() if not (is_row and key in _VOLATILE)}
    if is_row:
        parameters = value["parameters"].items()
        result["parameters"] = {key: item for key, item in parameters if not _VOLATILE_PARAMETERS.fullmatch(key)}
    return result


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _cut(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_cut(item) for item in value]
    if isinstance(value, str) and len(value) > MAX_TEXT:
        return f"{value[:200]}… {len(value)} characters, {crc32(value.encode()):08x}"
    return value


def dumps(value: Any) -> str:
    """A value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def loads(text: str) -> Any:
    """A value from its JSON."""
    return json.loads(text)
