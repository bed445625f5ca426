"""Refresh state: the state of a materialized view's sources at a refresh, and its JSON in a snapshot's summary.

Source: the open specification of materialized views (Iceberg PR 11041, `refresh-state`) and the proposal "Materialized
Views: Lineage and State Representation" for states keyed by UUID. `hive_views.materialized.state.sequence_numbers` has
the encoding keyed by sequence number.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from hive_views.errors import InvalidIdentifierError, InvalidRefreshStateError
from hive_views.identifiers import ViewName
from hive_views.spec.json_text import compact_json, parse_json
from hive_views.spec.metadata import ViewMetadata, ViewVersion
from hive_views.spec.session_settings import author_settings
from hive_views.spec.version_texts import HIVE, sql_texts
from hive_views.spec.whole_numbers import whole_number
from hive_views.sql.text.dialects import Dialect

if TYPE_CHECKING:
    from pyiceberg.table.snapshots import Snapshot

REFRESH_STATE = "refresh-state"
"""Summary key of a storage table's snapshot: the state of the refresh that wrote it."""

HIVE_SOURCE_STATES = "hive-views.other-states"
"""Summary key: states of sources that are not Iceberg objects, as JSON of `database.name` to a text. These states are
best effort: Hive need not change a table's parameters when it changes the table's rows."""

UNREPEATABLE = "hive-views.unrepeatable-functions"
"""Summary key: comma-separated nondeterministic functions of the definition."""

ACTION = "hive-views.refresh-action"
"""Summary key: how a refresh computed the rows: `full`, `incremental`, `partitions` or `keys`."""

REASON = "hive-views.refresh-reason"
"""Summary key: why it computed them in this way, at most 1,000 characters."""

VIEW_UUID = "hive-views.view-uuid"
"""Summary key: the view that was refreshed."""

REFRESH_ID = "hive-views.refresh-id"
"""Summary key: identifies one refresh attempt."""

SESSION_SETTINGS = "hive-views.session-settings"
"""Summary key: JSON of the engine settings that the rows depend on, e.g. the session's time zone."""

TABLE_ROWS = "hive-views.refresh-table-rows"
"""Summary key: how many rows the tables had that the definition reads."""

COMPARED_ROWS = "hive-views.refresh-compared-rows"
"""Summary key: how many rows a refresh by keys compared to find the affected keys."""

STARTED_MS = "hive-views.refresh-start-timestamp-ms"
"""Key of this package, for layouts whose drafts have none: when the refresh started, in epoch milliseconds."""

VERSION_ID = "version-id"
"""Summary key: the view version that was evaluated (layout `table`, and states keyed by sequence number)."""

DEFINITION = "hive-views.definition"
"""Key of this package: the fingerprint of a definition (`fingerprint` below); in the summaries of all layouts, too."""

NO_SNAPSHOT = -1
"""The snapshot id of a table without snapshots, as Iceberg writes it."""

_SCHEMA_ID = "hive-views.schema-id"
"""Key of this package in a source state: the table's current schema. Dropping a column and adding another one of the
same name changes query results without creating a snapshot."""


def summary_of(snapshot: Snapshot | None) -> Mapping[str, str]:
    """Return the summary of a snapshot; empty if there is no snapshot, or if it has none."""
    return {} if snapshot is None or snapshot.summary is None else snapshot.summary.additional_properties


def row_count(summary: Mapping[str, str]) -> int | None:
    """Return the number of rows of a snapshot by its summary, without those in delete files.

    None if it is not recorded.
    """
    records = whole_number(summary.get("total-records"))
    deleted = whole_number(summary.get("total-position-deletes", "0"))
    if records is None or deleted is None or summary.get("total-equality-deletes", "0") != "0":
        return None
    return max(0, records - deleted)


class SourceKind(Enum):
    """The kind of an Iceberg source of a materialized view."""

    TABLE = "table"
    """An Iceberg table; its state is a snapshot id."""
    VIEW = "view"
    """An Iceberg view; its state is a version id."""


@dataclass(frozen=True)
class SourceState:
    """The recorded state of one direct or transitive source."""

    kind: SourceKind | None
    """Table or view; None if the encoding does not record it (sequence numbers)."""
    name: ViewName
    """Its name at the refresh."""
    uuid: str | None
    """Its UUID in lower case; None if the encoding does not record it."""
    id: int
    """The snapshot id of a table (`NO_SNAPSHOT` for none), the version id of a view."""
    catalog: str | None = None
    """Its catalog; None for the catalog of the materialized view."""
    ref: str | None = None
    """The branch of a table that was read; None for main."""
    schema_id: int | None = None
    """The current schema of a table; None if not recorded."""
    definition: str | None = None
    """The fingerprint of a view's definition, or of a table's columns and name mapping; None if not recorded."""


@dataclass(frozen=True)
class RefreshState:
    """What a refresh read: the state of every source, and the version of the view itself."""

    view_version_id: int
    """The version of the materialized view that was evaluated."""
    sources: tuple[SourceState, ...]
    """One entry for each direct or transitive source."""
    started_ms: int | None
    """When the refresh started, in epoch milliseconds; None if the encoding does not record it."""
    definition: str | None = None
    """The fingerprint of the definition that was evaluated; None if not recorded."""

    @property
    def has_unique_uuids(self) -> bool:
        """Whether all sources have different UUIDs; a table that is registered twice has one UUID under two names."""
        uuids = [source.uuid for source in self.sources if source.uuid is not None]
        return len(set(uuids)) == len(uuids)

    def source(self, name: ViewName, uuid: str) -> SourceState | None:
        """Return the state of a source: by UUID, or by name if its UUID was not recorded."""
        state = self.by_uuid().get(uuid)
        if state is not None:
            return state
        same_name = self.by_name().get(name)
        return same_name if same_name is not None and same_name.uuid is None else None

    def by_uuid(self) -> dict[str, SourceState]:
        """Return the sources with a recorded UUID, by UUID."""
        return {source.uuid: source for source in self.sources if source.uuid is not None}

    def by_name(self) -> dict[ViewName, SourceState]:
        """Return the sources by their names at the refresh."""
        return {source.name: source for source in self.sources}


def encode(state: RefreshState) -> str:
    """Encode the `refresh-state` JSON."""
    document = {
        "view-version-id": state.view_version_id,
        "source-states": [_encode_source(source) for source in state.sources],
        "refresh-start-timestamp-ms": state.started_ms,
        DEFINITION: state.definition,
    }
    return compact_json(without_none(document))


def decode(text: str) -> RefreshState:
    """Decode a `refresh-state` JSON of any writer; unknown keys are ignored."""
    document = parse_object(text, REFRESH_STATE)
    sources = required(document, "source-states", list, "")
    return RefreshState(
        required(document, "view-version-id", int, ""),
        tuple(_decode_source(item, f"source-states[{index}]") for index, item in enumerate(sources)),
        required(document, "refresh-start-timestamp-ms", int, ""),
        optional(document, DEFINITION, str, ""),
    )


def _encode_source(source: SourceState) -> dict[str, Any]:
    assert source.kind is not None, "a refresh knows the kinds of its sources"
    return without_none(
        {
            "type": source.kind.value,
            "name": source.name.name,
            "namespace": [source.name.database],
            "uuid": source.uuid,
            "catalog": source.catalog,
            DEFINITION: source.definition,
            "version-id" if source.kind is SourceKind.VIEW else "snapshot-id": source.id,
            "ref": source.ref,
            _SCHEMA_ID: source.schema_id,
        }
    )


def _decode_source(value: object, path: str) -> SourceState:
    if not isinstance(value, dict):
        raise InvalidRefreshStateError(path, "it must be an object")
    kind_text = required(value, "type", str, path)
    try:
        kind = SourceKind(kind_text)
    except ValueError:
        # Ignoring an unknown source would make the view appear to depend on less.
        raise InvalidRefreshStateError(f"{path}.type", f"unknown source type {kind_text!r}") from None
    namespace = required(value, "namespace", list, path)
    if len(namespace) != 1 or not isinstance(namespace[0], str):
        raise InvalidRefreshStateError(f"{path}.namespace", "it must have one level: the database")
    return SourceState(
        kind,
        parse_name((namespace[0], required(value, "name", str, path)), f"{path}.name"),
        required(value, "uuid", str, path).lower(),
        required(value, "version-id" if kind is SourceKind.VIEW else "snapshot-id", int, path),
        optional(value, "catalog", str, path),
        optional(value, "ref", str, path),
        optional(value, _SCHEMA_ID, int, path),
        optional(value, DEFINITION, str, path),
    )


# -- JSON -------------------------------------------------------------------------------------------------------------


def without_none(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries that have a value."""
    return {key: value for key, value in entries.items() if value is not None}


def parse_object(text: str, path: str) -> dict[str, Any]:
    """Parse a text that must be a JSON object."""
    try:
        document = parse_json(text)
    except ValueError as error:
        raise InvalidRefreshStateError(path, f"invalid JSON: {error}") from None
    if not isinstance(document, dict):
        raise InvalidRefreshStateError(path, "it must be a JSON object")
    return document


def required(document: Mapping[str, Any], key: str, kind: type, path: str) -> Any:
    """Return a required value of an object, checked to have exactly the given type."""
    value = document.get(key)
    if type(value) is not kind:
        key_path = f"{path}.{key}" if path else key
        problem = "it is missing" if value is None else f"it must be of type {kind.__name__}, not {value!r}"
        raise InvalidRefreshStateError(key_path, problem)
    return value


def optional(document: Mapping[str, Any], key: str, kind: type, path: str) -> Any:
    """Return an optional value of an object, None if it is absent or null; otherwise as `required`."""
    return None if document.get(key) is None else required(document, key, kind, path)


def parse_name(parts: tuple[str, ...], path: str) -> ViewName:
    """Parse the name of a source."""
    try:
        return ViewName.parse(parts)
    except InvalidIdentifierError as error:
        raise InvalidRefreshStateError(path, error.reason) from None


# -- Fingerprints of view definitions ----------------------------------------------------------------------------------
#
# Version ids are reused: a new version gets the highest known id plus one (as in Iceberg's Java library), so after a
# rollback and an expiration it may get the id of an expired version. A refresh therefore records a fingerprint of the
# definition in addition to its version id.


def fingerprint(metadata: ViewMetadata) -> str:
    """Hash the current definition: its SQL texts, default catalog and namespace, and columns."""
    return fingerprint_of_version(metadata, metadata.current_version())


def fingerprint_of_version(metadata: ViewMetadata, version: ViewVersion) -> str:
    """Hash a version of a definition in the same way."""
    document = [
        sorted(sql_texts(version).items()),
        version.default_catalog,
        list(version.default_namespace),
        _columns(metadata, version),
    ]
    return hash_text(json.dumps(document, sort_keys=True, ensure_ascii=True))


def has_same_rows(metadata: ViewMetadata, before: ViewVersion, after: ViewVersion) -> bool:
    """Return whether two versions of a definition have the same columns and are the same query, written differently."""
    from hive_views.sql.analysis.same_text import is_same_text  # sqlglot takes 0.1 s to import

    if (before.default_catalog, tuple(before.default_namespace)) != (
        after.default_catalog,
        tuple(after.default_namespace),
    ):
        return False
    if author_settings(before.summary) != author_settings(after.summary):
        return False
    if _columns(metadata, before) != _columns(metadata, after):
        return False
    old, new = sql_texts(before), sql_texts(after)
    if HIVE in old and HIVE in new and HIVE in before.generated_dialects and HIVE in after.generated_dialects:
        # Expanded from the author's text; refreshes run it.
        return is_same_text(old[HIVE], new[HIVE], Dialect.SPARK if "spark" in new else Dialect.HIVE, is_expanded=True)
    return old.keys() == new.keys() and all(
        dialect in tuple(Dialect) and is_same_text(old[dialect], new[dialect], Dialect(dialect)) for dialect in old
    )


def _columns(metadata: ViewMetadata, version: ViewVersion) -> list[list[object]]:
    schema = metadata.raw_schema(version.schema_id) or {}
    return [[field.get("name"), field.get("type")] for field in schema.get("fields", ())]


def hash_text(text: str) -> str:
    """Hash a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:24]


# -- The refresh state of rows that another program computed and a view has adopted, kept in a view property -----------
#
# A snapshot's summary is written once, by the program that made the rows. When the sources of these rows are known from
# elsewhere (Trino's `dependsOnTables`), the adopting view records them in a property that is valid for one snapshot of
# its storage table.

ADOPTED_REFRESH = "hive-views.taken-over-refresh"
"""View property: JSON of a snapshot of the storage table and the `refresh-state` of its rows."""

_SNAPSHOT = "snapshot-id"


def encode_adopted_state(snapshot_id: int, state: RefreshState) -> str:
    """Encode the property's value."""
    return compact_json({_SNAPSHOT: snapshot_id, REFRESH_STATE: encode(state)})


def adopted_state_of(properties: Mapping[str, str], snapshot_id: int) -> RefreshState | None:
    """Return the refresh state that the view properties record for a snapshot; None if they record none."""
    text = properties.get(ADOPTED_REFRESH)
    if text is None:
        return None
    document = parse_object(text, ADOPTED_REFRESH)
    if required(document, _SNAPSHOT, int, ADOPTED_REFRESH) != snapshot_id:
        return None
    return decode(required(document, REFRESH_STATE, str, ADOPTED_REFRESH))
