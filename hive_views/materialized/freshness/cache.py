"""What metadata files of tables and views say about their state, remembered: a metadata file never changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from pydantic import ValidationError
from pyiceberg.serializers import FromInputFile
from pyiceberg.table.metadata import TableMetadata

from hive_views.errors import UnidentifiedError
from hive_views.materialized.state.fingerprint import fingerprint
from hive_views.materialized.state.refresh_state import NO_SNAPSHOT
from hive_views.metastore.store import MetastoreStore
from hive_views.spec.metadata import ViewMetadata

_K = TypeVar("_K")
_T = TypeVar("_T")
_REMEMBERED = 2_000
_WHOLE = 64


@dataclass(frozen=True)
class SnapshotFact:
    """What is known of one snapshot without reading its manifests."""

    parent: int | None
    """The snapshot before."""
    operation: str
    """`append`, `replace`, `overwrite`, `delete`; empty where its writer did not say."""
    schema_id: int | None
    """The schema with which it was written."""


@dataclass(frozen=True)
class TableFacts:
    """The state of a table, as one metadata file has it."""

    uuid: str
    """The table."""
    snapshot_id: int
    """Its current snapshot; `NO_SNAPSHOT` for none."""
    schema_id: int
    """Its current schema."""
    snapshots: dict[int, SnapshotFact]
    """Those that have not expired, by id."""

    @property
    def written_schema_id(self) -> int | None:
        """The schema of the current snapshot."""
        known = self.snapshots.get(self.snapshot_id)
        return None if known is None else known.schema_id

    def has_schema_of(self, snapshot_id: int) -> bool:
        """Whether a snapshot was written with the columns that the table has now; so it is read with them."""
        known = self.snapshots.get(snapshot_id)
        return snapshot_id == NO_SNAPSHOT or (known is not None and known.schema_id == self.schema_id)

    @cached_property
    def same_rows(self) -> frozenset[int]:
        """The snapshots before the current one that have its rows: only compactions lie between."""
        found = set()
        for _, known in self._back():
            if known.operation != "replace" or known.parent is None:
                break
            found.add(known.parent)
        return frozenset(found)

    def operations_since(self, snapshot_id: int) -> tuple[str, ...] | None:
        """What happened to a table since one of its snapshots."""
        operations: list[str] = []
        for snapshot, known in self._back():
            if snapshot == snapshot_id:
                return tuple(operations)
            operations.append(known.operation)
            if known.parent is None:
                return tuple(operations) if snapshot_id == NO_SNAPSHOT else None
        return () if snapshot_id == self.snapshot_id else None

    def only_grew_since(self, snapshot_id: int) -> bool:
        """Whether rows were added since a snapshot, and none changed or deleted."""
        operations = self.operations_since(snapshot_id)
        if operations is None or (snapshot_id != NO_SNAPSHOT and snapshot_id not in self.snapshots):
            return False
        return set(operations) <= {"append", "replace"}

    def _back(self) -> Iterator[tuple[int, SnapshotFact]]:
        at: int | None = self.snapshot_id
        seen = set()
        while at is not None and at in self.snapshots and at not in seen:
            seen.add(at)
            yield at, self.snapshots[at]
            at = self.snapshots[at].parent


class FactReader:
    """Reads metadata files and remembers them. Safe for threads."""

    def __init__(self, store: MetastoreStore) -> None:
        """Make a reader."""
        self._store = store
        self._tables: OrderedDict[str, TableFacts] = OrderedDict()
        self._whole: OrderedDict[str, TableMetadata] = OrderedDict()
        self._views: OrderedDict[str, ViewMetadata] = OrderedDict()
        self._definitions: OrderedDict[int, tuple[ViewMetadata, str]] = OrderedDict()
        self._guard = threading.Lock()

    def table(self, name: str, location: str | None) -> TableFacts:
        """The state of a table."""
        if location is None:
            raise UnidentifiedError(name, "its row names no metadata file")
        known = self._tables.get(location)
        if known is None:
            known = facts_of(self.table_metadata(name, location))
            self._remember(self._tables, location, known)
        return known

    def table_metadata(self, name: str, location: str) -> TableMetadata:
        """All that a table's metadata file holds."""
        known = self._whole.get(location)
        if known is None:
            try:
                known = FromInputFile.table_metadata(self._store.files.io(location).new_input(location))
            except (OSError, ValueError, ValidationError) as error:
                raise UnidentifiedError(name, str(error)) from error
            self._remember(self._whole, location, known, _WHOLE)
        return known

    def view(self, location: str) -> ViewMetadata:
        """The metadata of a view."""
        known = self._views.get(location)
        if known is None:
            known = self._store.files.read(location)
            self._remember(self._views, location, known)
        return known

    def definition(self, metadata: ViewMetadata) -> str:
        """The fingerprint of a view's current definition."""
        known = self._definitions.get(id(metadata))
        if known is None or known[0] is not metadata:
            known = (metadata, fingerprint(metadata))
            self._remember(self._definitions, id(metadata), known)
        return known[1]

    def _remember(self, known: OrderedDict[_K, _T], location: _K, value: _T, most: int = _REMEMBERED) -> None:
        with self._guard:
            known[location] = value
            while len(known) > most:
                known.popitem(last=False)


def facts_of(metadata: TableMetadata) -> TableFacts:
    """What a table's metadata says about its state."""
    current = metadata.current_snapshot_id
    return TableFacts(
        str(metadata.table_uuid),
        NO_SNAPSHOT if current is None else current,
        metadata.current_schema_id,
        {
            snapshot.snapshot_id: SnapshotFact(
                snapshot.parent_snapshot_id,
                "" if snapshot.summary is None else snapshot.summary.operation.value,
                snapshot.schema_id,
            )
            for snapshot in metadata.snapshots
        },
    )
