"""Layout `attached`: a view property names the metadata file of a storage table that is in no catalog.

Source: Iceberg Materialized View Concept, Design 1. A property of the storage table lists the refreshes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER, SortOrder
from pyiceberg.table.update import update_table_metadata

from hive_views.errors import CommitFailedError, HiveViewsError, InvalidRefreshStateError
from hive_views.identifiers import ViewName
from hive_views.io.metadata_files import MetadataFiles
from hive_views.materialized.layouts.layout import (
    FORMAT_VERSION,
    parse_document,
    parse_identifier,
    unknown_keys,
    write_table_metadata,
)
from hive_views.materialized.state.refresh_state import (
    DEFINITION,
    STARTED_MS,
    RefreshState,
    SourceKind,
    SourceState,
    optional,
    required,
    without_none,
)
from hive_views.metastore.commit.view_commit import commit
from hive_views.metastore.queries import load_view
from hive_views.metastore.store import LoadedView, MetastoreStore
from hive_views.spec.changes import SetProperties, apply
from hive_views.spec.json_text import compact_json
from hive_views.spec.staleness_policy import METADATA
from hive_views.spec.storage_link import STORAGE_SUFFIX
from hive_views.spec.whole_numbers import whole_number

if TYPE_CHECKING:
    from pyiceberg.table.update import TableRequirement, TableUpdate

DETACHED_METADATA = "hive-views.detached-materialized-view-metadata"
"""Property of a plain view that was a materialized one: the value of `METADATA`, for the conversion back."""

_ICEBERG_TABLE = "iceberg-metastore"
_ICEBERG_VIEW = "iceberg-metastore-view"
"""Types of a base table: the draft's, and that of this package for a view, whose version id is the reference."""

_MAX_ATTEMPTS = 10


@dataclass(frozen=True)
class AttachedView:
    """The view's property."""

    storage_table_location: str
    """The current metadata file of the storage table."""
    allow_stale_data: bool | None = None
    """Whether rows that are not fresh may answer a query; None is False."""
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Unknown keys, which are written back."""

    def encode(self) -> str:
        """Encode the property's value."""
        document = {
            "format-version": FORMAT_VERSION,
            "storage-table-location": self.storage_table_location,
            "allow-stale-data": self.allow_stale_data,
        }
        return compact_json({**without_none(document), **self.extra})

    @staticmethod
    def decode(text: str) -> AttachedView:
        """Decode the property's value."""
        document = parse_document(text)
        return AttachedView(
            required(document, "storage-table-location", str, METADATA),
            optional(document, "allow-stale-data", bool, METADATA),
            unknown_keys(document, "format-version", "storage-table-location", "allow-stale-data"),
        )

    @staticmethod
    def of(properties: Mapping[str, str]) -> AttachedView:
        """Decode the property of a view."""
        return AttachedView.decode(properties.get(METADATA, "{}"))


# -- The storage table's property -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RefreshEntry:
    """One refresh in the storage table's list: its JSON object, whose unknown keys are written back."""

    document: Mapping[str, Any]

    @property
    def refresh_id(self) -> int | str:
        """Its id."""
        refresh_id: int | str = self.document["refresh-id"]
        return refresh_id

    @property
    def version_id(self) -> int:
        """The view version that was evaluated."""
        return int(self.document["version-id"])

    @property
    def sequence_number(self) -> int | None:
        """The sequence number of the snapshot that holds the refreshed rows."""
        return self.document.get("sequence-number")

    def state(self, database: str | None = None) -> RefreshState:
        """Return the refresh state; `database` qualifies names without one."""
        return RefreshState(
            self.version_id,
            tuple(
                _source_state(record, f"base-tables[{index}]", database)
                for index, record in enumerate(self.document["base-tables"])
            ),
            self.document.get(STARTED_MS),
            self.document.get(DEFINITION),
        )

    @staticmethod
    def of(refresh_id: int, state: RefreshState, sequence_number: int | None) -> RefreshEntry:
        """Make the entry of a refresh by this package."""
        document = {
            "refresh-id": refresh_id,
            "version-id": state.view_version_id,
            "base-tables": [_base_table(source) for source in state.sources],
            "sequence-number": sequence_number,
            STARTED_MS: state.started_ms,
            DEFINITION: state.definition,
        }
        return RefreshEntry(without_none(document))

    @staticmethod
    def decode(document: object, path: str) -> RefreshEntry:
        """Check an entry of any writer."""
        if not isinstance(document, dict):
            raise InvalidRefreshStateError(path, "it must be an object")
        if not _is_id(document.get("refresh-id")):
            raise InvalidRefreshStateError(
                f"{path}.refresh-id", f"it must be an id, not {document.get('refresh-id')!r}"
            )
        required(document, "version-id", int, path)
        for index, record in enumerate(required(document, "base-tables", list, path)):
            _check_base_table(record, f"{path}.base-tables[{index}]")
        for key, kind in (("sequence-number", int), (STARTED_MS, int), (DEFINITION, str)):
            optional(document, key, kind, path)
        return RefreshEntry(document)


@dataclass(frozen=True)
class AttachedStorage:
    """The storage table's property: the list of refreshes, and which of them is current."""

    refreshes: tuple[RefreshEntry, ...] = ()
    """The current refresh, or with time travel all of them, oldest first."""
    current_refresh_id: int | str | None = None
    """The refresh whose rows readers get; None for a storage table that was never refreshed."""
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Unknown keys."""

    @property
    def current(self) -> RefreshEntry | None:
        """The refresh whose rows readers get."""
        return next((entry for entry in self.refreshes if entry.refresh_id == self.current_refresh_id), None)

    def with_refresh(self, state: RefreshState, *, sequence_number: int | None, keep: bool) -> AttachedStorage:
        """Add a refresh; `keep` retains the earlier ones."""
        refresh_ids = [entry.refresh_id for entry in self.refreshes if isinstance(entry.refresh_id, int)]
        refresh_id = max(refresh_ids, default=0) + 1
        entry = RefreshEntry.of(refresh_id, state, sequence_number)
        return replace(self, refreshes=(*(self.refreshes if keep else ()), entry), current_refresh_id=refresh_id)

    def encode(self) -> str:
        """Encode the property's value."""
        return compact_json(
            {
                "format-version": FORMAT_VERSION,
                "refreshes": [entry.document for entry in self.refreshes],
                "current-refresh-id": self.current_refresh_id,
                **self.extra,
            }
        )

    @staticmethod
    def is_text(text: str) -> bool:
        """Return whether a table's property is that of an attached storage table, not of the layout `table`."""
        try:
            return "refreshes" in parse_document(text)
        except InvalidRefreshStateError:
            return False

    @staticmethod
    def of(properties: Mapping[str, str]) -> AttachedStorage:
        """Decode the property of a storage table; without it, there were no refreshes."""
        return AttachedStorage() if METADATA not in properties else AttachedStorage.decode(properties[METADATA])

    @staticmethod
    def decode(text: str) -> AttachedStorage:
        """Decode the property's value."""
        document = parse_document(text)
        items = required(document, "refreshes", list, METADATA)
        current = document.get("current-refresh-id")
        if current is not None and not _is_id(current):
            raise InvalidRefreshStateError("current-refresh-id", f"it must be an id, not {current!r}")
        storage = AttachedStorage(
            tuple(RefreshEntry.decode(item, f"refreshes[{index}]") for index, item in enumerate(items)),
            current,
            unknown_keys(document, "format-version", "refreshes", "current-refresh-id"),
        )
        if storage.current is None and (current is not None or storage.refreshes):
            raise InvalidRefreshStateError("current-refresh-id", f"there is no refresh {current!r}")
        return storage


def _is_id(value: object) -> bool:
    return type(value) in (int, str)


def _check_base_table(record: object, path: str) -> None:
    """Check the recorded state of one source."""
    if not isinstance(record, dict):
        raise InvalidRefreshStateError(path, "it must be an object")
    properties = optional(record, "properties", dict, path)
    if properties is not None and not all(isinstance(item, str) for item in properties.values()):
        raise InvalidRefreshStateError(f"{path}.properties", "it must be an object of strings")
    for key, kind in (("identifier", str), ("snapshot-reference", int), ("type", str)):
        required(record, key, kind, path)


def _base_table(source: SourceState) -> dict[str, Any]:
    """Return the state of a source as JSON; the draft's string-to-string map has its UUID and schema."""
    schema_id = None if source.schema_id is None else str(source.schema_id)
    properties = without_none({"uuid": source.uuid, "schema-id": schema_id, DEFINITION: source.definition})
    record = {
        "type": _ICEBERG_VIEW if source.kind is SourceKind.VIEW else _ICEBERG_TABLE,
        "identifier": str(source.name),
        "snapshot-reference": source.id,
        "properties": properties or None,
    }
    return without_none(record)


def _source_state(record: Mapping[str, Any], path: str, database: str | None) -> SourceState:
    kinds = {_ICEBERG_TABLE: SourceKind.TABLE, _ICEBERG_VIEW: SourceKind.VIEW}
    if record["type"] not in kinds:
        raise InvalidRefreshStateError(f"{path}.type", f"unknown base table type {record['type']!r}")
    properties = record.get("properties") or {}
    return SourceState(
        kinds[record["type"]],
        parse_identifier(record["identifier"], f"{path}.identifier", database),
        properties.get("uuid"),
        record["snapshot-reference"],
        schema_id=whole_number(properties.get("schema-id")),
        definition=properties.get(DEFINITION),
    )


# -- The storage table ------------------------------------------------------------------------------------------------


class AttachedCatalog(NoopCatalog):
    """Commits to an attached storage table: writes a new metadata file, then swaps the location in the view.

    Source: Iceberg Materialized View Concept, Design 1: the commit succeeds with the second step only.
    """

    def __init__(self, store: MetastoreStore, view: ViewName) -> None:
        """Make the catalog of one view's storage table."""
        super().__init__("attached", **store.files.properties)
        self._store = store
        self._view = view

    def load_table(self, identifier: object = None) -> Table:
        """Load the current state of the storage table."""
        location = AttachedView.of(load_view(self._store, self._view).metadata.properties).storage_table_location
        metadata = self._store.files.read_table_metadata(location)
        return self.open_table(metadata, location)

    def open_table(self, metadata: TableMetadata, location: str) -> Table:
        """Make a PyIceberg table of metadata that was read already."""
        name = (self._view.database, f"{self._view.name}{STORAGE_SUFFIX}")
        return Table(name, metadata, location, self._store.files.io(location), self)

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Commit changes to the storage table; see PyIceberg."""
        for requirement in requirements:
            requirement.validate(table.metadata)
        metadata = update_table_metadata(table.metadata, updates, metadata_location=table.metadata_location)
        location = write_table_metadata(self._store.files, metadata, _file_number(table.metadata_location) + 1)
        try:
            _swap_location(self._store, self._view, table.metadata_location, location)
        except HiveViewsError as error:
            if not error.may_take_effect:
                self._store.files.delete(location)
            raise
        return CommitTableResponse.model_validate({"metadata": metadata, "metadata-location": location})


def create_attached_storage(
    files: MetadataFiles,
    location: str,
    schema: Schema,
    spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC,
    order: SortOrder = UNSORTED_SORT_ORDER,
    properties: Mapping[str, str] | None = None,
) -> str:
    """Write the first metadata file of an attached storage table."""
    metadata = new_table_metadata(schema, spec, order, location, dict(properties or {}))
    return write_table_metadata(files, metadata, 0)


def _swap_location(store: MetastoreStore, view: ViewName, expected: str, location: str) -> LoadedView:
    """Set the storage table's metadata file in the view, if it still is the expected one."""
    rejection: CommitFailedError | None = None
    may_take_effect = False
    for attempt in range(_MAX_ATTEMPTS + 1):
        base = load_view(store, view)
        attached = AttachedView.of(base.metadata.properties)
        if rejection is not None and location in _metadata_history(store, attached.storage_table_location):
            return base  # the server applied the change before it rejected its own second attempt
        if attached.storage_table_location != expected:
            conflict = CommitFailedError(
                str(view),
                "its storage table was changed by another writer",
                expected=expected,
                found=attached.storage_table_location,
            )
            conflict.may_take_effect = may_take_effect
            raise conflict
        if rejection is not None and attempt == _MAX_ATTEMPTS:
            raise rejection
        value = AttachedView(location, attached.allow_stale_data, attached.extra).encode()
        now_ms = int(time.time() * 1000)
        metadata = apply(base.metadata, [SetProperties({METADATA: value})], now_ms=now_ms, identifier=str(view))
        try:
            return commit(store, view, base, metadata)
        except CommitFailedError as error:
            # Another property of the view may have changed: load it again and compare the location.
            rejection = error
            may_take_effect = error.may_take_effect = may_take_effect or error.may_take_effect
    raise AssertionError("unreachable: the loop either returns or raises")


def _metadata_history(store: MetastoreStore, location: str) -> list[str]:
    """Return a storage table's metadata file and the earlier ones that it lists."""
    log = store.files.read_table(location).get("metadata-log", ())
    return [location, *(str(entry.get("metadata-file")) for entry in log)]


def _file_number(location: str) -> int:
    head = location.rpartition("/")[2].partition("-")[0]
    return int(head) if head.isdigit() else -1
