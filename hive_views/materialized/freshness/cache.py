"""The metadata files that freshness checks read, cached because they never change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from cachetools import LRUCache
from pyiceberg.table import TableProperties
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.types import NestedField

from hive_views.errors import MetadataFileError, RefusedLocationError, UnidentifiedError
from hive_views.materialized.state.refresh_state import NO_SNAPSHOT, hash_text, row_count, summary_of
from hive_views.metastore.store import MetastoreStore
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.whole_numbers import whole_number


@dataclass(frozen=True, kw_only=True)
class SnapshotInfo:
    """The part of a snapshot that is known without reading its manifests."""

    parent: int | None
    operation: str
    """`append`, `replace`, `overwrite` or `delete`; `replace` also if it changed no file; empty if not recorded."""
    schema_id: int | None
    """The schema with which it was written."""
    has_delete_files: bool = True
    """Whether it may have manifests of delete files, also only of removed ones: Iceberg's changelog rejects them."""
    rows: int | None = None
    """The number of its rows; None if it is not recorded."""
    changed_rows: int | None = None
    """The rows in the files that it added and removed; None if they are not recorded."""
    deletes: int = 0
    """The entries of the delete files that it added and removed."""


@dataclass(frozen=True, kw_only=True)
class TableState:
    """The state of a table in one metadata file."""

    uuid: str
    snapshot_id: int
    """Its current snapshot; `NO_SNAPSHOT` for none."""
    schema_id: int
    """Its current schema."""
    snapshots: dict[int, SnapshotInfo]
    """Its snapshots by id, without the expired ones."""
    columns: Mapping[int, tuple[NestedField, ...]] = field(default_factory=dict)
    """The columns of each schema in order, by the schema's id."""
    name_mapping: str | None = None
    """The fingerprint of the mapping that finds its columns in files without column ids; None if it has none."""
    location: str = ""

    @property
    def written_schema_id(self) -> int | None:
        """The schema with which the current snapshot was written."""
        current = self.snapshots.get(self.snapshot_id)
        return None if current is None else current.schema_id

    def has_schema_of(self, snapshot_id: int) -> bool:
        """Return whether a snapshot was written with the table's current columns, and so is read with them."""
        snapshot = self.snapshots.get(snapshot_id)
        return snapshot_id == NO_SNAPSHOT or (snapshot is not None and snapshot.schema_id == self.schema_id)

    def columns_added_since(self, schema_id: int | None) -> frozenset[str] | None:
        """Return the names of the columns that were added to an earlier schema; None if it changed in another way."""
        before, now = self.columns.get(-1 if schema_id is None else schema_id), self.columns[self.schema_id]
        is_extended = before is not None and before == now[: len(before)]
        return frozenset(column.name for column in now[len(before or ()) :]) if is_extended else None

    def definition(self, schema_id: int | None) -> str | None:
        """The fingerprint of a schema's columns and of the name mapping: ids of expired schemas are used again."""
        columns = self.columns.get(-1 if schema_id is None else schema_id)
        return None if columns is None else hash_text(repr((list(map(str, columns)), self.name_mapping)))

    @cached_property
    def same_rows(self) -> Mapping[int, bool]:
        """The snapshots with the current rows, and whether each was written with the current columns.

        These are the current snapshot and those that only compactions followed.
        """
        snapshot_ids = {self.snapshot_id}
        for _, snapshot in self._history():
            if snapshot.operation != "replace" or snapshot.parent is None:
                break
            snapshot_ids.add(snapshot.parent)
        is_known = snapshot_ids & self.snapshots.keys() if self.name_mapping is None else ()
        return {number: number in is_known and self.has_schema_of(number) for number in snapshot_ids}

    def snapshots_since(self, snapshot_id: int) -> tuple[int, ...] | None:
        """Return the snapshots after another one, newest first; None if that is not in the history."""
        later: list[int] = []
        for current_id, snapshot in self._history():
            if current_id == snapshot_id:
                return tuple(later)
            later.append(current_id)
            if snapshot.parent is None:
                return tuple(later) if snapshot_id == NO_SNAPSHOT else None
        return () if snapshot_id == self.snapshot_id else None

    def has_changelog_since(self, snapshot_id: int) -> bool:
        """Whether Iceberg can list the changed rows since a snapshot, which it cannot if there are delete files."""
        for current_id, snapshot in self._history():
            if current_id == snapshot_id:
                return True  # never for NO_SNAPSHOT
            if snapshot.has_delete_files:
                return False
        return False

    @property
    def rows(self) -> int | None:
        """The number of its rows; None if it is not recorded."""
        return self._rows_of(self.snapshot_id)

    def compared_rows_since(self, snapshot_id: int, *, by_files: bool) -> int | None:
        """How many rows are compared to find those that changed since a snapshot; None if that is not recorded.

        Args:
            snapshot_id: The earlier snapshot.
            by_files: Whether the engine compares the files of both states if there is no changelog, and only the
                deleted rows of a file to which other delete files apply. Otherwise it compares all rows of both states.
        """
        later = self.snapshots_since(snapshot_id)
        counts: list[int | None]
        if later is not None and self.has_changelog_since(snapshot_id):
            snapshots = map(self.snapshots.__getitem__, later)
            counts = [item.changed_rows for item in snapshots if item.operation != Operation.REPLACE.value]
        elif later is not None and by_files and snapshot_id in self.snapshots:
            snapshots = map(self.snapshots.__getitem__, later)
            counts = [None if item.changed_rows is None else item.changed_rows + item.deletes for item in snapshots]
        else:
            counts = [self._rows_of(snapshot_id), self.rows]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def _rows_of(self, snapshot_id: int) -> int | None:
        if snapshot_id == NO_SNAPSHOT:
            return 0
        snapshot = self.snapshots.get(snapshot_id)
        return None if snapshot is None else snapshot.rows

    def only_grew_since(self, snapshot_id: int) -> bool:
        """Return whether rows were only added after a snapshot, none changed or deleted."""
        later = self.snapshots_since(snapshot_id)
        if later is None or (snapshot_id != NO_SNAPSHOT and snapshot_id not in self.snapshots):
            return False
        return {self.snapshots[number].operation for number in later} <= {"append", "replace"}

    def _history(self) -> Iterator[tuple[int, SnapshotInfo]]:
        snapshot_id: int | None = self.snapshot_id
        visited = set()
        while snapshot_id is not None and snapshot_id in self.snapshots and snapshot_id not in visited:
            visited.add(snapshot_id)
            yield snapshot_id, self.snapshots[snapshot_id]
            snapshot_id = self.snapshots[snapshot_id].parent


def table_state(metadata: TableMetadata, location: str) -> TableState:
    """Return the state of a table in a metadata file."""
    current = metadata.current_snapshot_id
    snapshots = {snapshot.snapshot_id: snapshot for snapshot in metadata.snapshots}
    mapping = metadata.properties.get(TableProperties.DEFAULT_NAME_MAPPING)
    return TableState(
        uuid=str(metadata.table_uuid),
        snapshot_id=NO_SNAPSHOT if current is None else current,
        schema_id=metadata.current_schema_id,
        snapshots={
            snapshot.snapshot_id: SnapshotInfo(
                parent=snapshot.parent_snapshot_id,
                operation=_operation(snapshot, snapshots.get(snapshot.parent_snapshot_id or 0)),
                schema_id=snapshot.schema_id,
                has_delete_files=_may_have_delete_files(summary_of(snapshot)),
                rows=row_count(summary_of(snapshot)),
                changed_rows=_changed_rows(summary_of(snapshot)),
                deletes=_deletes(summary_of(snapshot)),
            )
            for snapshot in metadata.snapshots
        },
        columns={schema.schema_id: schema.fields for schema in metadata.schemas},
        name_mapping=None if mapping is None else hash_text(mapping),
        location=location,
    )


_TOTALS = ("total-records", "total-data-files", "total-delete-files", "total-files-size")
_CHANGES = ("added-", "deleted-", "removed-", "changed-")


def _operation(snapshot: Snapshot, parent: Snapshot | None) -> str:
    """Return the operation of a snapshot.

    `replace` if its summary states that it changed no file, as a DELETE of no rows.
    """
    if snapshot.summary is None:
        return ""
    summary, before = summary_of(snapshot), summary_of(parent)
    has_same_files = all(key in summary and summary[key] == before.get(key) for key in _TOTALS)
    if has_same_files and all(summary[key] == "0" for key in summary if key.startswith(_CHANGES)):
        return Operation.REPLACE.value
    return snapshot.summary.operation.value


def _may_have_delete_files(summary: Mapping[str, str]) -> bool:
    """Return whether a snapshot may have manifests of delete files, also only of those that it removed."""
    return summary.get("total-delete-files") != "0" or summary.get("removed-delete-files", "0") != "0"


def _changed_rows(summary: Mapping[str, str]) -> int | None:
    """Return the rows in the files that a snapshot added and removed, by its summary: it omits counts that are 0."""
    counts = [whole_number(summary.get(key, "0")) for key in ("added-records", "deleted-records")]
    known = [count for count in counts if count is not None]
    return sum(known) if "total-records" in summary and len(known) == len(counts) else None


def _deletes(summary: Mapping[str, str]) -> int:
    """Return the entries of the delete files that a snapshot added and removed, by its summary."""
    keys = (f"{change}-{kind}-deletes" for change in ("added", "removed") for kind in ("position", "equality"))
    return sum(whole_number(summary.get(key)) or 0 for key in keys)


class BoundedCache:
    """A bounded cache for several threads; a value may be computed twice, and none is computed under the lock."""

    def __init__(self, maxsize: int, size_of: Callable[[Any], int] | None = None) -> None:
        """Make an empty cache; without `size_of`, each value has the size 1."""
        self._entries: LRUCache[Any, Any] = LRUCache(maxsize, size_of)
        self._lock = threading.Lock()

    def get(self, key: object, default: Any = None) -> Any:
        """Return the value of a key, else the default."""
        with self._lock:
            return self._entries.get(key, default)

    def put(self, key: object, value: Any) -> None:
        """Set the value of a key."""
        with self._lock, suppress(ValueError):  # larger than the cache
            self._entries[key] = value

    def compute(self, key: object, function: Callable[[], Any]) -> Any:
        """Return the value of a key, computed if it is absent. None is not cached."""
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
        # A listing reads the storage of each view; some tables have many thousand snapshots.
        self._tables = BoundedCache(20_000, lambda metadata: 1 + len(metadata.snapshots))
        self._views = BoundedCache(2_000)

    def table_state(self, name: str, location: str | None) -> TableState:
        """Return the state of a table."""
        key = location or ""
        state: TableState = self._states.compute(key, lambda: table_state(self.table_metadata(name, key), key))
        return state

    def table_metadata(self, name: str, location: str) -> TableMetadata:
        """Return the metadata of a table."""
        if not location:
            raise UnidentifiedError(name, "its row names no metadata file")

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
        """Return the metadata of a view."""
        metadata: ViewMetadata = self._views.compute(location, lambda: self._store.files.read(location))
        return metadata
