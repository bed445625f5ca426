"""What freshness checks read: metadata files, cached because they never change, and rows of the metastore.

Rows are never reused between checks. A row costs the server about a dozen sequential database queries, so the rows that
a view needed at its last check are fetched together at the start of the next one, in batches over several connections.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from cachetools import LRUCache
from pyiceberg.table import TableProperties
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.types import NestedField

from hive_views.errors import MetadataFileError, RefusedLocationError, UnidentifiedError
from hive_views.identifiers import ViewName
from hive_views.materialized.state.fingerprint import fingerprint, hash_text
from hive_views.materialized.state.refresh_state import NO_SNAPSHOT
from hive_views.metastore.queries import read_database_rows
from hive_views.metastore.row_codec import Row
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.transport.client import BATCH_SIZE
from hive_views.spec.metadata import ViewMetadata


@dataclass(frozen=True)
class SnapshotInfo:
    """The part of a snapshot that is known without reading its manifests."""

    parent: int | None
    """The parent snapshot."""
    operation: str
    """`append`, `replace`, `overwrite` or `delete`; `replace` also if it changed no file; empty if not recorded."""
    schema_id: int | None
    """The schema with which it was written."""
    has_delete_files: bool = True
    """Whether it may have delete files."""


@dataclass(frozen=True)
class TableState:
    """The state of a table in one metadata file."""

    uuid: str
    """The table's UUID."""
    snapshot_id: int
    """Its current snapshot; `NO_SNAPSHOT` for none."""
    schema_id: int
    """Its current schema."""
    snapshots: dict[int, SnapshotInfo]
    """Its snapshots by id, without the expired ones."""
    columns: Mapping[int, frozenset[NestedField]] = field(default_factory=dict)
    """The columns of each schema, by the schema's id."""
    name_mapping: str | None = None
    """The fingerprint of the mapping that finds its columns in files without column ids; None if it has none."""

    @property
    def written_schema_id(self) -> int | None:
        """The schema with which the current snapshot was written."""
        current = self.snapshots.get(self.snapshot_id)
        return None if current is None else current.schema_id

    def has_schema_of(self, snapshot_id: int) -> bool:
        """Whether a snapshot was written with the table's current columns, and so is read with them."""
        snapshot = self.snapshots.get(snapshot_id)
        return snapshot_id == NO_SNAPSHOT or (snapshot is not None and snapshot.schema_id == self.schema_id)

    def columns_added_since(self, schema_id: int | None) -> frozenset[str] | None:
        """The names of the columns that were added to an earlier schema; None if it changed in another way."""
        before, now = self.columns.get(-1 if schema_id is None else schema_id), self.columns[self.schema_id]
        return None if before is None or not before <= now else frozenset(column.name for column in now - before)

    @cached_property
    def same_rows(self) -> frozenset[int]:
        """The earlier snapshots with the current rows: only compactions followed them."""
        snapshot_ids = set()
        for _, snapshot in self._history():
            if snapshot.operation != "replace" or snapshot.parent is None:
                break
            snapshot_ids.add(snapshot.parent)
        return frozenset(snapshot_ids)

    def operations_since(self, snapshot_id: int) -> tuple[str, ...] | None:
        """The operations after a snapshot, newest first; None if it is not in the history."""
        operations: list[str] = []
        for current_id, snapshot in self._history():
            if current_id == snapshot_id:
                return tuple(operations)
            operations.append(snapshot.operation)
            if snapshot.parent is None:
                return tuple(operations) if snapshot_id == NO_SNAPSHOT else None
        return () if snapshot_id == self.snapshot_id else None

    def has_changelog_since(self, snapshot_id: int) -> bool:
        """Whether Iceberg can list the changed rows since a snapshot, which it cannot if there are delete files."""
        for current_id, snapshot in self._history():
            if current_id == snapshot_id:
                return True  # never for NO_SNAPSHOT
            if snapshot.has_delete_files:
                return False
        return False

    def only_grew_since(self, snapshot_id: int) -> bool:
        """Whether rows were only added after a snapshot, none changed or deleted."""
        operations = self.operations_since(snapshot_id)
        if operations is None or (snapshot_id != NO_SNAPSHOT and snapshot_id not in self.snapshots):
            return False
        return set(operations) <= {"append", "replace"}

    def _history(self) -> Iterator[tuple[int, SnapshotInfo]]:
        snapshot_id: int | None = self.snapshot_id
        visited = set()
        while snapshot_id is not None and snapshot_id in self.snapshots and snapshot_id not in visited:
            visited.add(snapshot_id)
            yield snapshot_id, self.snapshots[snapshot_id]
            snapshot_id = self.snapshots[snapshot_id].parent


def table_state(metadata: TableMetadata) -> TableState:
    """The state of a table by its metadata."""
    current = metadata.current_snapshot_id
    snapshots = {snapshot.snapshot_id: snapshot for snapshot in metadata.snapshots}
    mapping = metadata.properties.get(TableProperties.DEFAULT_NAME_MAPPING)
    return TableState(
        str(metadata.table_uuid),
        NO_SNAPSHOT if current is None else current,
        metadata.current_schema_id,
        {
            snapshot.snapshot_id: SnapshotInfo(
                snapshot.parent_snapshot_id,
                _operation(snapshot, snapshots.get(snapshot.parent_snapshot_id or 0)),
                snapshot.schema_id,
                snapshot.summary is None or snapshot.summary.additional_properties.get("total-delete-files") != "0",
            )
            for snapshot in metadata.snapshots
        },
        {schema.schema_id: frozenset(schema.fields) for schema in metadata.schemas},
        None if mapping is None else hash_text(mapping),
    )


_TOTALS = ("total-records", "total-data-files", "total-delete-files", "total-files-size")
_CHANGES = ("added-", "deleted-", "removed-", "changed-")


def _operation(snapshot: Snapshot, parent: Snapshot | None) -> str:
    """The operation of a snapshot; `replace` if its summary states that it changed no file, as a DELETE of no rows."""
    if snapshot.summary is None:
        return ""
    summary = snapshot.summary.additional_properties
    before = parent.summary.additional_properties if parent is not None and parent.summary is not None else {}
    has_same_files = all(key in summary and summary[key] == before.get(key) for key in _TOTALS)
    if has_same_files and all(summary[key] == "0" for key in summary if key.startswith(_CHANGES)):
        return Operation.REPLACE.value
    return snapshot.summary.operation.value


class BoundedCache:
    """A bounded cache for several threads; a value may be computed twice, and none is computed under the lock."""

    def __init__(self, maxsize: int) -> None:
        """Make an empty cache."""
        self._entries: LRUCache[Any, Any] = LRUCache(maxsize)
        self._lock = threading.Lock()

    def get(self, key: object, default: Any = None) -> Any:
        """The value of a key, else the default."""
        with self._lock:
            return self._entries.get(key, default)

    def put(self, key: object, value: Any) -> None:
        """Set the value of a key."""
        with self._lock:
            self._entries[key] = value

    def compute(self, key: object, function: Callable[[], Any]) -> Any:
        """The value of a key, computed if it is absent. None is not cached."""
        value = self.get(key)
        if value is None:
            value = function()
            self.put(key, value)
        return value


class MetadataCache:
    """Reads and caches metadata files of tables and views. Safe for threads."""

    def __init__(self, store: MetastoreStore) -> None:
        """Make an empty cache."""
        self._store = store
        self._states = BoundedCache(2_000)
        self._tables = BoundedCache(64)
        self._views = BoundedCache(2_000)
        self._fingerprints = BoundedCache(2_000)

    def table_state(self, name: str, location: str | None) -> TableState:
        """The state of a table."""
        if location is None:
            raise UnidentifiedError(name, "its row names no metadata file")
        state: TableState = self._states.compute(location, lambda: table_state(self.table_metadata(name, location)))
        return state

    def table_metadata(self, name: str, location: str) -> TableMetadata:
        """The metadata of a table."""

        def read() -> TableMetadata:
            try:
                return self._store.files.read_table_metadata(location)
            except RefusedLocationError:
                raise
            except MetadataFileError as error:
                raise UnidentifiedError(name, str(error)) from error

        metadata: TableMetadata = self._tables.compute(location, read)
        return metadata

    def view(self, location: str) -> ViewMetadata:
        """The metadata of a view."""
        metadata: ViewMetadata = self._views.compute(location, lambda: self._store.files.read(location))
        return metadata

    def fingerprint(self, metadata: ViewMetadata) -> str:
        """The fingerprint of a view's current definition."""
        # By object, which a comparison would take longer for; the entry holds it, so its id is not reused.
        entry = self._fingerprints.get(id(metadata))
        if entry is None or entry[0] is not metadata:
            entry = (metadata, fingerprint(metadata))
            self._fingerprints.put(id(metadata), entry)
        text: str = entry[1]
        return text


# -- Rows -------------------------------------------------------------------------------------------------------------

_MAX_REQUESTS = 3
"""Concurrent requests. A fourth was no faster (measured on two cores with 27 rows)."""

_MIN_ROWS_PER_REQUEST = 4
"""Rows that justify a further request with its thread and connection."""


class RowReader:
    """Reads each row of the metastore once, for one freshness check. Not safe for threads."""

    def __init__(self, store: MetastoreStore, expected: Collection[ViewName] = ()) -> None:
        """Fetch the rows that are expected to be needed."""
        self._store = store
        self._rows: dict[ViewName, Row | None] = {}
        self._requested: set[ViewName] = set()
        self._fetch(expected)

    @property
    def requested(self) -> frozenset[ViewName]:
        """The names that were requested so far, whether expected or not."""
        return frozenset(self._requested)

    def shared(self) -> RowReader:
        """A reader for the check of another view that shares the fetched rows."""
        reader = RowReader(self._store)
        reader._rows = self._rows
        return reader

    def get(self, name: ViewName) -> Row | None:
        """The row of a name; None if it does not exist."""
        self._requested.add(name)
        if name not in self._rows:
            self._rows[name] = self._store.get_row(name)
        return self._rows[name]

    def get_all(self, names: Iterable[ViewName]) -> Mapping[ViewName, Row | None]:
        """The rows of several names, and those fetched before."""
        requested = tuple(names)
        self._requested.update(requested)
        self._fetch(requested)
        return self._rows

    def _fetch(self, names: Collection[ViewName]) -> None:
        missing = [name for name in dict.fromkeys(names) if name not in self._rows]
        if len(missing) == 1:
            self._rows[missing[0]] = self._store.get_row(missing[0])
        elif missing:
            # No more requests than the pool keeps connections: others would connect anew each time.
            max_requests = min(_MAX_REQUESTS, self._store.config.connection.pool_size)
            batches = _batches(missing, max_requests)
            if min(len(batches), max_requests) == 1:
                fetched = [read_database_rows(self._store, *batch) for batch in batches]
            else:
                fetched = self._fetch_concurrently(batches, max_requests)
            self._rows.update(dict.fromkeys(missing))
            self._rows.update((row.name, row) for rows in fetched for row in rows)

    def _fetch_concurrently(self, batches: list[tuple[str, list[str]]], max_requests: int) -> list[list[Row]]:
        # A new pool each time: the threads of a kept one would not survive a fork.
        with ThreadPoolExecutor(max_requests - 1) as pool:
            futures = [pool.submit(read_database_rows, self._store, *batch) for batch in batches[1:]]
            return [read_database_rows(self._store, *batches[0]), *(future.result() for future in futures)]


def _batches(names: list[ViewName], max_requests: int) -> list[tuple[str, list[str]]]:
    """Names by database, in requests of about the same size."""
    requests = max(1, min(max_requests, len(names) // _MIN_ROWS_PER_REQUEST))
    size = min(BATCH_SIZE, -(-len(names) // requests))
    by_database: dict[str, list[str]] = {}
    for name in names:
        by_database.setdefault(name.database, []).append(name.name)
    return [
        (database, tables[start : start + size])
        for database, tables in by_database.items()
        for start in range(0, len(tables), size)
    ]
