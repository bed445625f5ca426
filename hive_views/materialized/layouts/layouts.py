"""Where a materialized view keeps its rows, in three layouts, field by field.

- *registered* (the open specification, Iceberg PR 11041): the view's version names a table of the catalog.
- *attached* (Iceberg Materialized View Concept, Design 1): a property of the view names the storage table's metadata
  file, which no catalog knows; the refreshes are listed in a property of that table.
- *table* (the same document, Design 2): a table of the catalog whose property names the view's metadata file; what a
  refresh read is in the summary of the snapshot that it made.

A reader that knows nothing of it sees a plain view (the first two) or a plain table (the last).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from hive_views.errors import InvalidRefreshStateError, UnsupportedMaterializedViewError
from hive_views.identifiers import ViewName
from hive_views.materialized.state.refresh_state import (
    DEFINITION,
    RefreshState,
    SourceKind,
    SourceState,
    get,
    maybe,
    name_of,
    parse_object,
)
from hive_views.spec.staleness_policy import METADATA as METADATA  # the draft's JSON: attached, table
from hive_views.spec.storage_link import StorageLink as StorageLink  # the registered layout's, in the version itself

FORMAT_VERSION = 1
"""The draft's only version; a higher one must be refused."""

VERSION_ID = "version-id"
BASE_TABLES = "base-tables"
"""Summary keys of a snapshot in the layout `table`."""

STARTED_MS = "hive-views.refresh-start-timestamp-ms"
"""Key of ours where the drafts have none: when the refresh started."""

_ICEBERG_TABLE = "iceberg-metastore"
_ICEBERG_VIEW = "iceberg-metastore-view"
"""Types of a base table: the draft's, and ours for a view that the definition reads, with its version as reference."""


class Layout(Enum):
    """Where a materialized view keeps its rows."""

    REGISTERED = "registered"
    """A table of the catalog, named by the view's version."""
    ATTACHED = "attached"
    """A table that only the view knows."""
    TABLE = "table"
    """The materialized view is a table, and its definition a metadata file that only the table knows."""
    TRINO = "trino"
    """Trino's own; it is read, and never written."""


# -- Attached: the view's property ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AttachedView:
    """What the view's property holds."""

    storage_table_location: str
    """The metadata file of the storage table."""
    allow_stale_data: bool | None = None
    """Whether rows that are not fresh may answer a query; None is False."""
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Keys that are not known, which are written back."""

    def encode(self) -> str:
        """The property's text."""
        document = {"format-version": FORMAT_VERSION, "storage-table-location": self.storage_table_location}
        if self.allow_stale_data is not None:
            document["allow-stale-data"] = self.allow_stale_data
        return _text({**document, **self.extra})

    @staticmethod
    def decode(text: str) -> AttachedView:
        """Read the property."""
        document = _checked(text)
        return AttachedView(
            get(document, "storage-table-location", str, METADATA),
            maybe(document, "allow-stale-data", bool, METADATA),
            _rest(document, "format-version", "storage-table-location", "allow-stale-data"),
        )


# -- Attached: the storage table's property ---------------------------------------------------------------------------


@dataclass(frozen=True)
class BaseTable:
    """One record of what a refresh read."""

    identifier: str
    """Its name in the query: `database.name`."""
    snapshot_reference: int
    """Its snapshot; the version of a view."""
    properties: Mapping[str, str] | None = None
    """The draft's string to string map; ours holds the UUID and the table's schema."""
    type: str = _ICEBERG_TABLE
    """`iceberg-metastore`, or another type that says what it is."""
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Keys that are not known."""

    def document(self) -> dict[str, Any]:
        """The record as JSON."""
        found: dict[str, Any] = {
            "type": self.type,
            "identifier": self.identifier,
            "snapshot-reference": self.snapshot_reference,
        }
        if self.properties is not None:
            found["properties"] = dict(self.properties)
        return {**found, **self.extra}


@dataclass(frozen=True)
class Refresh:
    """One refresh operation."""

    refresh_id: int | str
    """Its id."""
    version_id: int
    """The view's version that was evaluated."""
    base_tables: tuple[BaseTable, ...]
    """What it read."""
    sequence_number: int | None = None
    """The sequence number of the snapshot that holds the refreshed rows."""
    started_ms: int | None = None
    """When it started (a key of ours)."""
    definition: str | None = None
    """The fingerprint of the definition that was evaluated (a key of ours)."""
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Keys that are not known."""

    def document(self) -> dict[str, Any]:
        """The record as JSON."""
        found: dict[str, Any] = {
            "refresh-id": self.refresh_id,
            "version-id": self.version_id,
            "base-tables": [table.document() for table in self.base_tables],
        }
        if self.sequence_number is not None:
            found["sequence-number"] = self.sequence_number
        if self.started_ms is not None:
            found[STARTED_MS] = self.started_ms
        if self.definition is not None:
            found[DEFINITION] = self.definition
        return {**found, **self.extra}

    def state(self, database: str | None = None) -> RefreshState:
        """What it read, as every layout has it."""
        return RefreshState(
            self.version_id,
            tuple(_source(table, f"base-tables[{index}]", database) for index, table in enumerate(self.base_tables)),
            self.started_ms,
            self.definition,
        )


@dataclass(frozen=True)
class AttachedStorage:
    """What the storage table's property holds: the refreshes, and which of them is current."""

    refreshes: tuple[Refresh, ...] = ()
    """One, or with time travel one for each refresh, oldest first."""
    current_refresh_id: int | str | None = None
    """The refresh that readers get; None for a storage table that was never refreshed."""
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Keys that are not known."""

    @property
    def current(self) -> Refresh | None:
        """The refresh that readers get."""
        return next((item for item in self.refreshes if item.refresh_id == self.current_refresh_id), None)

    def with_refresh(self, state: RefreshState, *, sequence_number: int | None, keep: bool) -> AttachedStorage:
        """This, after another refresh."""
        numbers = [item.refresh_id for item in self.refreshes if isinstance(item.refresh_id, int)]
        number = max(numbers, default=0) + 1
        tables = tuple(_record(source) for source in state.sources)
        made = Refresh(number, state.view_version_id, tables, sequence_number, state.started_ms, state.definition)
        return replace(self, refreshes=(*(self.refreshes if keep else ()), made), current_refresh_id=number)

    def encode(self) -> str:
        """The property's text."""
        return _text(
            {
                "format-version": FORMAT_VERSION,
                "refreshes": [item.document() for item in self.refreshes],
                "current-refresh-id": self.current_refresh_id,
                **self.extra,
            }
        )

    @staticmethod
    def is_text(text: str) -> bool:
        """Whether a table's property is that of an attached storage, and not of a table that is the view itself."""
        try:
            return "refreshes" in _checked(text)
        except InvalidRefreshStateError:
            return False

    @staticmethod
    def decode(text: str) -> AttachedStorage:
        """Read the property."""
        document = _checked(text)
        items = get(document, "refreshes", list, METADATA)
        current = document.get("current-refresh-id")
        if current is not None and not _is_id(current):
            raise InvalidRefreshStateError("current-refresh-id", f"it must be an id, not {current!r}")
        found = AttachedStorage(
            tuple(_refresh(item, f"refreshes[{index}]") for index, item in enumerate(items)),
            current,
            _rest(document, "format-version", "refreshes", "current-refresh-id"),
        )
        if found.current is None and (current is not None or found.refreshes):
            raise InvalidRefreshStateError("current-refresh-id", f"there is no refresh {current!r}")
        return found


def _refresh(value: object, path: str) -> Refresh:
    if not isinstance(value, dict):
        raise InvalidRefreshStateError(path, "it must be an object")
    if not _is_id(value.get("refresh-id")):
        raise InvalidRefreshStateError(f"{path}.refresh-id", f"it must be an id, not {value.get('refresh-id')!r}")
    tables = get(value, "base-tables", list, path)
    return Refresh(
        value["refresh-id"],
        get(value, "version-id", int, path),
        tuple(_base_table(item, f"{path}.base-tables[{index}]") for index, item in enumerate(tables)),
        maybe(value, "sequence-number", int, path),
        maybe(value, STARTED_MS, int, path),
        maybe(value, DEFINITION, str, path),
        _rest(value, "refresh-id", "version-id", "base-tables", "sequence-number", STARTED_MS, DEFINITION),
    )


def _base_table(value: object, path: str) -> BaseTable:
    if not isinstance(value, dict):
        raise InvalidRefreshStateError(path, "it must be an object")
    properties = maybe(value, "properties", dict, path)
    if properties is not None and not all(isinstance(item, str) for item in properties.values()):
        raise InvalidRefreshStateError(f"{path}.properties", "it must be an object of strings")
    return BaseTable(
        get(value, "identifier", str, path),
        get(value, "snapshot-reference", int, path),
        properties,
        get(value, "type", str, path),
        _rest(value, "type", "identifier", "snapshot-reference", "properties"),
    )


def _record(source: SourceState) -> BaseTable:
    properties = {} if source.uuid is None else {"uuid": source.uuid}
    if source.schema_id is not None:
        properties["schema-id"] = str(source.schema_id)
    if source.definition is not None:
        properties[DEFINITION] = source.definition
    kind = _ICEBERG_VIEW if source.kind is SourceKind.VIEW else _ICEBERG_TABLE
    return BaseTable(str(source.name), source.id, properties or None, kind)


def _source(table: BaseTable, path: str, database: str | None) -> SourceState:
    kinds = {_ICEBERG_TABLE: SourceKind.TABLE, _ICEBERG_VIEW: SourceKind.VIEW}
    if table.type not in kinds:
        raise InvalidRefreshStateError(f"{path}.type", f"{table.type!r} is no type of base table that is known")
    properties = table.properties or {}
    schema = properties.get("schema-id", "")
    return SourceState(
        kinds[table.type],
        _identifier(table.identifier, f"{path}.identifier", database),
        properties.get("uuid"),
        table.snapshot_reference,
        schema_id=int(schema) if schema.isdigit() else None,
        definition=properties.get(DEFINITION),
    )


# -- Table with an attached view --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AssociatedView:
    """What the table's property holds."""

    associated_view_location: str
    """The current metadata file of the view."""
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Keys that are not known, which are written back."""

    def encode(self) -> str:
        """The property's text."""
        document = {"format-version": FORMAT_VERSION, "associated-view-location": self.associated_view_location}
        return _text({**document, **self.extra})

    @staticmethod
    def decode(text: str) -> AssociatedView:
        """Read the property."""
        document = _checked(text)
        return AssociatedView(
            get(document, "associated-view-location", str, METADATA),
            _rest(document, "format-version", "associated-view-location"),
        )


def encode_summary(state: RefreshState) -> dict[str, str]:
    """What a snapshot's summary holds of a refresh in the layout `table`."""
    records = []
    for source in state.sources:
        record: dict[str, Any] = {"identifier": str(source.name), "snapshot-id": source.id}
        if source.kind is SourceKind.VIEW:
            record["type"] = "view"
        if source.uuid is not None:
            record["uuid"] = source.uuid
        if source.schema_id is not None:
            record["schema-id"] = source.schema_id
        if source.definition is not None:
            record[DEFINITION] = source.definition
        records.append(record)
    found = {VERSION_ID: str(state.view_version_id), BASE_TABLES: _text(records)}
    if state.definition is not None:
        found[DEFINITION] = state.definition
    return found if state.started_ms is None else {**found, STARTED_MS: str(state.started_ms)}


def decode_summary(summary: Mapping[str, str], database: str | None = None) -> RefreshState:
    """Read what `encode_summary` wrote, or another writer of that layout."""
    version, started = summary.get(VERSION_ID, ""), summary.get(STARTED_MS, "")
    if not version.isdigit():
        raise InvalidRefreshStateError(VERSION_ID, f"it must be a number, not {version!r}")
    records = parse_object(f'{{"base-tables":{summary.get(BASE_TABLES, "null")}}}', BASE_TABLES)["base-tables"]
    if not isinstance(records, list):
        raise InvalidRefreshStateError(BASE_TABLES, "it must be a list")
    sources = []
    for index, record in enumerate(records):
        path = f"{BASE_TABLES}[{index}]"
        if not isinstance(record, dict):
            raise InvalidRefreshStateError(path, "it must be an object")
        sources.append(
            SourceState(
                SourceKind.VIEW if record.get("type") == "view" else SourceKind.TABLE,
                _identifier(get(record, "identifier", str, path), f"{path}.identifier", database),
                maybe(record, "uuid", str, path),
                get(record, "snapshot-id", int, path),
                schema_id=maybe(record, "schema-id", int, path),
                definition=maybe(record, DEFINITION, str, path),
            )
        )
    started_ms = int(started) if started.isdigit() else None
    return RefreshState(int(version), tuple(sources), started_ms, summary.get(DEFINITION))


# -- JSON -------------------------------------------------------------------------------------------------------------


def _checked(text: str) -> dict[str, Any]:
    document = parse_object(text, METADATA)
    version = get(document, "format-version", int, METADATA)
    if version > FORMAT_VERSION:
        raise UnsupportedMaterializedViewError(METADATA, version, FORMAT_VERSION)
    if version < FORMAT_VERSION:
        raise InvalidRefreshStateError(f"{METADATA}.format-version", f"it must be {FORMAT_VERSION}, not {version}")
    return document


def _rest(document: Mapping[str, Any], *known: str) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in known}


def _text(document: Any) -> str:
    return json.dumps(document, separators=(",", ":"))


def _is_id(value: object) -> bool:
    return type(value) in (int, str)


def _identifier(text: str, path: str, database: str | None) -> ViewName:
    """The name of an "identifier in the SQL expression": with or without a database, a catalog and quotes."""
    if not _IDENTIFIER.fullmatch(text):
        raise InvalidRefreshStateError(path, f"{text!r} is no name of a table")
    parts = tuple(next(filter(None, found)) for found in _PART.findall(text))
    return name_of(parts[-2:] if len(parts) > 1 or database is None else (database, *parts), path)


_QUOTED_OR_PLAIN = r"""`[^`]+`|"[^"]+"|[^.`"]+"""
_IDENTIFIER = re.compile(rf"(?:{_QUOTED_OR_PLAIN})(?:\.(?:{_QUOTED_OR_PLAIN}))*")
_PART = re.compile(r"""`([^`]+)`|"([^"]+)"|([^.`"]+)""")
