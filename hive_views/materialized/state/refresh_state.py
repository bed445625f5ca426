"""S, the state of a view's sources at a refresh: as a value, and as the JSON that a snapshot of the storage carries.

Source: the open specification of materialized views (Iceberg PR 11041, `refresh-state`), and the proposal
"Materialized Views: Lineage and State Representation" for S by UUID. By number:
`hive_views.materialized.state.sequence_numbers`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from hive_views.errors import InvalidIdentifierError, InvalidRefreshStateError
from hive_views.identifiers import ViewName

REFRESH_STATE = "refresh-state"
"""Summary key of a storage table's snapshot: the state of the refresh that made it."""

OTHER_STATES = "hive-views.other-states"
"""Summary key: states of children that are not Iceberg's, JSON of `database.name` to a text. They are best effort: what
Hive keeps of a table need not change when its rows do."""

UNREPEATABLE = "hive-views.unrepeatable-functions"
"""Summary key: comma-separated functions of the definition that may give other rows each time."""

VIEW_UUID = "hive-views.view-uuid"
"""Summary key: the view that the refresh was for."""

REFRESH_ID = "hive-views.refresh-id"
"""Summary key: what tells one attempt to refresh from another."""

NO_SNAPSHOT = -1
"""The snapshot id of a table that has none, as Iceberg writes it."""

SESSION_SETTINGS = "hive-views.session-settings"
"""Summary key: JSON of the engine's settings that the rows depend on, e.g. the time zone of the session."""

DEFINITION = "hive-views.definition"
"""Key of ours in a state: the fingerprint of a definition; see `hive_views.materialized.state.fingerprint`."""

_SCHEMA_ID = "hive-views.schema-id"
"""Key of ours in a source state: the table's current schema. Dropping a column and adding one of the same name changes
what a query returns, and makes no snapshot."""


class SourceKind(Enum):
    """What a source of a materialized view is."""

    TABLE = "table"
    """An Iceberg table; its state is a snapshot."""
    VIEW = "view"
    """An Iceberg view; its state is a version."""


@dataclass(frozen=True)
class SourceState:
    """The state of one deep child."""

    kind: SourceKind | None
    """What it is; None where the writer's layout has no place for it (sequence numbers)."""
    name: ViewName
    """Its name at the refresh."""
    uuid: str | None
    """Its identity, in lower case; None where the writer's layout has no place for it."""
    id: int
    """The snapshot of a table (`NO_SNAPSHOT` for none), the version of a view."""
    catalog: str | None = None
    """Its catalog; None is the materialized view's."""
    ref: str | None = None
    """The branch of a table that was read; None is main."""
    schema_id: int | None = None
    """The current schema of a table; None where the writer did not say."""
    definition: str | None = None
    """The fingerprint of a view's definition; None where the writer did not say."""


@dataclass(frozen=True)
class RefreshState:
    """What a refresh read: S, and the version of the view itself."""

    view_version_id: int
    """The version of the materialized view that was evaluated."""
    sources: tuple[SourceState, ...]
    """One entry for each deep child."""
    started_ms: int | None
    """When the refresh started, in milliseconds from the epoch; None where the layout has no place for it."""
    definition: str | None = None
    """The fingerprint of the definition that was evaluated; None where the writer did not say."""

    @property
    def is_told_apart(self) -> bool:
        """Whether no two sources have the same UUID: a table that was registered twice has one for both."""
        known = [source.uuid for source in self.sources if source.uuid is not None]
        return len(set(known)) == len(known)

    def of(self, name: ViewName, uuid: str) -> SourceState | None:
        """The state of a source."""
        known = self.by_uuid().get(uuid)
        if known is not None:
            return known
        named = self.by_name().get(name)
        return named if named is not None and named.uuid is None else None

    def by_uuid(self) -> dict[str, SourceState]:
        """S: the sources that have a UUID, by it."""
        return {source.uuid: source for source in self.sources if source.uuid is not None}

    def by_name(self) -> dict[ViewName, SourceState]:
        """The sources by the names that they had."""
        return {source.name: source for source in self.sources}


def encode(state: RefreshState) -> str:
    """The text of `refresh-state`."""
    document = {
        "view-version-id": state.view_version_id,
        "source-states": [_source_document(source) for source in state.sources],
        "refresh-start-timestamp-ms": state.started_ms,
    }
    if state.definition is not None:
        document[DEFINITION] = state.definition
    return json.dumps(document, separators=(",", ":"))


def decode(text: str) -> RefreshState:
    """Read a `refresh-state`, whoever wrote it; keys that are not known are passed over."""
    document = parse_object(text, REFRESH_STATE)
    sources = get(document, "source-states", list, "")
    return RefreshState(
        get(document, "view-version-id", int, ""),
        tuple(_source(item, f"source-states[{index}]") for index, item in enumerate(sources)),
        get(document, "refresh-start-timestamp-ms", int, ""),
        maybe(document, DEFINITION, str, ""),
    )


def _source_document(source: SourceState) -> dict[str, Any]:
    assert source.kind is not None, "a refresh has seen what its sources are"
    document: dict[str, Any] = {
        "type": source.kind.value,
        "name": source.name.name,
        "namespace": [source.name.database],
        "uuid": source.uuid,
    }
    if source.catalog is not None:
        document["catalog"] = source.catalog
    if source.kind is SourceKind.VIEW:
        document["version-id"] = source.id
        return document if source.definition is None else {**document, DEFINITION: source.definition}
    document["snapshot-id"] = source.id
    if source.ref is not None:
        document["ref"] = source.ref
    if source.schema_id is not None:
        document[_SCHEMA_ID] = source.schema_id
    return document


def _source(value: object, path: str) -> SourceState:
    if not isinstance(value, dict):
        raise InvalidRefreshStateError(path, "it must be an object")
    kind_text = get(value, "type", str, path)
    try:
        kind = SourceKind(kind_text)
    except ValueError:
        # A source that is not understood must not be left out: the view would seem to depend on less.
        raise InvalidRefreshStateError(f"{path}.type", f"{kind_text!r} is no type of source that is known") from None
    namespace = get(value, "namespace", list, path)
    if len(namespace) != 1 or not isinstance(namespace[0], str):
        raise InvalidRefreshStateError(f"{path}.namespace", "it must be one name: the database")
    return SourceState(
        kind,
        name_of((namespace[0], get(value, "name", str, path)), f"{path}.name"),
        get(value, "uuid", str, path).lower(),
        get(value, "version-id" if kind is SourceKind.VIEW else "snapshot-id", int, path),
        maybe(value, "catalog", str, path),
        maybe(value, "ref", str, path),
        maybe(value, _SCHEMA_ID, int, path),
        maybe(value, DEFINITION, str, path),
    )


# -- Reading JSON -----------------------------------------------------------------------------------------------------


def parse_object(text: str, what: str) -> dict[str, Any]:
    """Parse a text that must be a JSON object."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRefreshStateError(what, f"it is no JSON: {error}") from None
    if not isinstance(document, dict):
        raise InvalidRefreshStateError(what, "it must be a JSON object")
    return document


def get(document: Mapping[str, Any], key: str, kind: type, path: str) -> Any:
    """A required value of an object."""
    value = document.get(key)
    if type(value) is not kind:
        where = f"{path}.{key}" if path else key
        problem = "it is missing" if value is None else f"it must be of type {kind.__name__}, not {value!r}"
        raise InvalidRefreshStateError(where, problem)
    return value


def maybe(document: Mapping[str, Any], key: str, kind: type, path: str) -> Any:
    """An optional value of an object, None where it is absent or null; otherwise as `get`."""
    return None if document.get(key) is None else get(document, key, kind, path)


def name_of(parts: tuple[str, ...], path: str) -> ViewName:
    """A name in a state."""
    try:
        return ViewName.parse(parts)
    except InvalidIdentifierError as error:
        raise InvalidRefreshStateError(path, error.reason) from None
