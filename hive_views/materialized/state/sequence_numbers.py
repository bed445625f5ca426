"""Lineage and refresh state keyed by sequence numbers, the alternative to UUIDs.

Source: "Materialized Views: Lineage and State Representation", section Sequence Numbers. The lineage is stored with the
view and maps every direct or transitive source to a number, starting at 1. The refresh state is stored with the storage
table's snapshot and maps the same numbers to states: the snapshot id of a table, the version id of a view. The state
can be interpreted with the lineage only.

Numbers are assigned at a refresh, which the proposal allows. A number is never reassigned to another name, so a state
that is older than the lineage (after a killed refresh, or a rollback of the storage table) keeps its meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from hive_views.errors import InvalidPropertyError, InvalidRefreshStateError
from hive_views.identifiers import ViewName
from hive_views.materialized.state.refresh_state import (
    DEFINITION,
    STARTED_MS,
    VERSION_ID,
    RefreshState,
    SourceKind,
    SourceState,
    optional,
    parse_name,
    parse_object,
    required,
    without_none,
)
from hive_views.spec.json_text import compact_json
from hive_views.spec.lineage_codec import SEQUENCE_LINEAGE
from hive_views.spec.whole_numbers import whole_number

SEQUENCE_IDS = "hive-views.sequence-ids"
"""View property: whether sources are recorded by sequence numbers; a value of `SequenceIds`."""

SEQUENCE_STATE = "hive-views.refresh-state-sequence"
"""Summary key: a JSON object of a number to a state, or (`SequenceIds.WITH_UUIDS`) to an object."""

SEQUENCE_DETAILS = "hive-views.refresh-state-sequence-details"
"""Summary key of this package: JSON of a number to a table's schema id or a view's definition fingerprint, for which
`SEQUENCE_STATE` has no field."""

_SCHEMA_ID = "schema-id"


class SequenceIds(Enum):
    """How a refresh identifies sources in its state."""

    NONE = "false"
    """By UUID."""
    WITH_UUIDS = "true"
    """By UUID, and also by number for other readers."""
    ONLY = "only"
    """By number alone; freshness is decided from these."""

    @staticmethod
    def of(properties: Mapping[str, str]) -> SequenceIds:
        """Parse a view's property; raises InvalidPropertyError."""
        text = properties.get(SEQUENCE_IDS, "false")
        try:
            return SequenceIds(text.lower())
        except ValueError:
            raise InvalidPropertyError(SEQUENCE_IDS, text, "it must be true, false or only") from None


# -- Lineage ----------------------------------------------------------------------------------------------------------


def decode_lineage(text: str | None) -> dict[str, int]:
    """Decode a lineage: source names and their numbers."""
    numbers = parse_object(text or "{}", SEQUENCE_LINEAGE)
    for name, number in numbers.items():
        if type(number) is not int or number < 1:
            raise InvalidRefreshStateError(f"{SEQUENCE_LINEAGE}.{name}", f"numbers start at 1, not {number!r}")
    if len(set(numbers.values())) != len(numbers):
        raise InvalidRefreshStateError(SEQUENCE_LINEAGE, "two sources have the same number")
    return numbers


def encode_lineage(numbers: Mapping[str, int]) -> str:
    """Encode a lineage."""
    return compact_json(numbers)


def assign_numbers(numbers: Mapping[str, int], names: Iterable[ViewName], highest_used: int = 0) -> dict[str, int]:
    """Add numbers for new sources to a lineage, above all numbers that were ever used."""
    assigned = dict(numbers)
    last = max([highest_used, *assigned.values()])
    for name in names:
        if str(name) not in assigned:
            last += 1
            assigned[str(name)] = last
    return assigned


def highest_number(summary: Mapping[str, object]) -> int:
    """Return the highest number in the refresh state of a snapshot's summary; 0 for none."""
    text = summary.get(SEQUENCE_STATE)
    keys = () if text is None else parse_object(str(text), SEQUENCE_STATE)
    return max((whole_number(key) or 0 for key in keys), default=0)


# -- State ------------------------------------------------------------------------------------------------------------


def encode_with_uuids(state: RefreshState, numbers: Mapping[str, int]) -> dict[str, str]:
    """Summary entries of a state by number that accompanies a state by UUID."""
    entries = {
        _number_of(source, numbers): {"type": _kind_of(source).value, "id": source.id, "uuid": source.uuid}
        for source in state.sources
    }
    return {SEQUENCE_STATE: compact_json(entries), VERSION_ID: str(state.view_version_id)}


def encode_numbers_only(state: RefreshState, numbers: Mapping[str, int]) -> dict[str, str]:
    """Summary entries of a state by number alone."""
    details = {
        _number_of(source, numbers): detail
        for source in state.sources
        if (detail := without_none({_SCHEMA_ID: source.schema_id, DEFINITION: source.definition}))
    }
    return without_none(
        {
            SEQUENCE_STATE: compact_json({_number_of(source, numbers): source.id for source in state.sources}),
            VERSION_ID: str(state.view_version_id),
            SEQUENCE_DETAILS: compact_json(details) if details else None,
            DEFINITION: state.definition,
            STARTED_MS: None if state.started_ms is None else str(state.started_ms),
        }
    )


def has_numbers_only(summary: Mapping[str, str]) -> bool:
    """Return whether a snapshot's state is by number alone; a state without entries does not count."""
    entries = parse_object(summary.get(SEQUENCE_STATE, "{}"), SEQUENCE_STATE)
    return bool(entries) and not any(isinstance(entry, dict) for entry in entries.values())


def decode_by_number(summary: Mapping[str, str], numbers: Mapping[str, int]) -> RefreshState:
    """Decode a refresh state that is keyed by sequence numbers."""
    version = whole_number(summary.get(VERSION_ID))
    if version is None:
        raise InvalidRefreshStateError(VERSION_ID, f"it must be a number, not {summary.get(VERSION_ID)!r}")
    names = {str(number): name for name, number in numbers.items()}
    details = parse_object(summary.get(SEQUENCE_DETAILS, "{}"), SEQUENCE_DETAILS)
    sources = []
    for key, entry in sorted(parse_object(summary.get(SEQUENCE_STATE, ""), SEQUENCE_STATE).items()):
        if key not in names:
            raise InvalidRefreshStateError(key, "the lineage has no source with this number")
        database, _, table = names[key].partition(".")
        sources.append(_decode_source(parse_name((database, table), key), key, entry, details.get(key)))
    return RefreshState(version, tuple(sources), whole_number(summary.get(STARTED_MS)), summary.get(DEFINITION))


def _decode_source(name: ViewName, key: str, entry: object, details: object) -> SourceState:
    if type(entry) is int:
        detail = details if isinstance(details, dict) else {}
        schema_id = optional(detail, _SCHEMA_ID, int, key)
        definition = optional(detail, DEFINITION, str, key)
        return SourceState(None, name, None, entry, schema_id=schema_id, definition=definition)
    if not isinstance(entry, dict):
        raise InvalidRefreshStateError(key, f"a state must be a snapshot or version id, not {entry!r}")
    kind = required(entry, "type", str, key)
    if kind not in ("table", "view"):
        raise InvalidRefreshStateError(f"{key}.type", f"unknown source type {kind!r}")
    return SourceState(SourceKind(kind), name, optional(entry, "uuid", str, key), required(entry, "id", int, key))


def _number_of(source: SourceState, numbers: Mapping[str, int]) -> str:
    number = numbers.get(str(source.name))
    if number is None:
        raise InvalidRefreshStateError(str(source.name), "the lineage has no number for it")
    return str(number)


def _kind_of(source: SourceState) -> SourceKind:
    assert source.kind is not None, "a refresh knows the kinds of its sources"
    return source.kind
