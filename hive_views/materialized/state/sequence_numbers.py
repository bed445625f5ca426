"""Sequence numbers: the other mode of lineage L and state S, in which a child is known by a number of its view's own.

Source: "Materialized Views: Lineage and State Representation", section Sequence Numbers. L stands on the view and holds
every child, however deep, with a number from 1; S stands on the storage's snapshot and holds a state by the same
number: the snapshot of a table, the version of a view. L and S together tell what a refresh read; S without L tells
nothing.

The numbers are given at a refresh, which the proposal allows. A number, once given, keeps its name and is never given
again: an S that is older than L, as after a refresh that was killed or a storage that was rolled back, is then read
as it was meant.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any

from hive_views.errors import (
    CommitFailedError,
    InvalidPropertyError,
    InvalidRefreshStateError,
    RefreshConflictError,
)
from hive_views.identifiers import ViewName
from hive_views.materialized.layouts.layouts import STARTED_MS, VERSION_ID, Layout
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
from hive_views.metastore.commit.view_commit import commit
from hive_views.metastore.queries import load_view
from hive_views.spec.changes import SetProperties, apply
from hive_views.spec.lineage_codec import SEQUENCE_LINEAGE

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.materialized.loading import MaterializedView

SEQUENCE_IDS = "hive-views.sequence-ids"
"""View property: whether sources are recorded by sequence numbers; a value of `SequenceIds`."""

SEQUENCE_STATE = "hive-views.refresh-state-sequence"
"""Summary key: S by numbers, a JSON object of a number to a state, or (`SequenceIds.BESIDE`) to an object."""

SEQUENCE_DETAILS = "hive-views.refresh-state-sequence-details"
"""Summary key of ours: JSON of a number to what S has no place for: a table's schema, a view's definition."""

_SCHEMA_ID = "schema-id"
_ATTEMPTS = 10


class SequenceIds(Enum):
    """Which ids S is written with."""

    NONE = "false"
    """UUIDs."""
    BESIDE = "true"
    """UUIDs; numbers stand beside them for other readers."""
    ONLY = "only"
    """Numbers alone, from which freshness then is decided."""

    @staticmethod
    def of(properties: Mapping[str, str]) -> SequenceIds:
        """What a view's properties say."""
        text = properties.get(SEQUENCE_IDS, "false")
        try:
            return SequenceIds(text.lower())
        except ValueError:
            raise InvalidPropertyError(SEQUENCE_IDS, text, "it is true, false or only") from None


# -- L ----------------------------------------------------------------------------------------------------------------


def numbers_of(text: str | None) -> dict[str, int]:
    """Read L."""
    found = parse_object(text or "{}", SEQUENCE_LINEAGE)
    for name, number in found.items():
        if type(number) is not int or number < 1:
            raise InvalidRefreshStateError(f"{SEQUENCE_LINEAGE}.{name}", f"a number begins at 1, not {number!r}")
    if len(set(found.values())) != len(found):
        raise InvalidRefreshStateError(SEQUENCE_LINEAGE, "two children have the same number")
    return found


def extended(numbers: Mapping[str, int], names: Iterable[ViewName], behind: int = 0) -> dict[str, int]:
    """L with numbers for more children."""
    found = dict(numbers)
    last = max([behind, *found.values()])
    for name in names:
        if str(name) not in found:
            last += 1
            found[str(name)] = last
    return found


def lineage_of(view: MaterializedView) -> dict[str, int]:
    """L of a materialized view."""
    if view.layout is Layout.TABLE and view.storage is not None:
        text = view.storage.metadata.properties.get(SEQUENCE_LINEAGE)
    else:
        text = view.metadata.properties.get(SEQUENCE_LINEAGE)
    return numbers_of(text if text is not None else view.version.summary.get(SEQUENCE_LINEAGE))


def prepare_lineage(
    catalog: HiveViewCatalog, view: MaterializedView, names: Iterable[ViewName]
) -> tuple[dict[str, int], dict[str, str]]:
    """Give numbers to all children of a view, before a refresh writes S with them."""
    names, behind = tuple(names), _last_used(view)
    if view.layout is Layout.TABLE:
        known = lineage_of(view)
        numbers = extended(known, names, behind)
        return numbers, {} if numbers == known else {SEQUENCE_LINEAGE: _text(numbers)}
    for _ in range(_ATTEMPTS):
        base = load_view(catalog.store, view.name)
        text = base.metadata.properties.get(SEQUENCE_LINEAGE)
        if text is None:
            text = base.metadata.current_version().summary.get(SEQUENCE_LINEAGE)
        known = numbers_of(text)
        numbers = extended(known, names, behind)
        if numbers == known:
            return numbers, {}
        now_ms = int(time.time() * 1000)
        changes = [SetProperties({SEQUENCE_LINEAGE: _text(numbers)})]
        try:
            commit(
                catalog.store, view.name, base, apply(base.metadata, changes, now_ms=now_ms, identifier=str(view.name))
            )
        except CommitFailedError:
            continue  # whoever was faster may have given the same numbers to others
        return numbers, {}
    raise RefreshConflictError(str(view.name), "others go on changing it: its children could not be numbered")


def _last_used(view: MaterializedView) -> int:
    """The highest number of an S that the storage still has: L may have been lost since."""
    last = 0
    for snapshot in () if view.storage is None else view.storage.metadata.snapshots:
        summary = {} if snapshot.summary is None else snapshot.summary.additional_properties
        text = summary.get(SEQUENCE_STATE)
        if text is not None:
            keys = parse_object(str(text), SEQUENCE_STATE)
            last = max([last, *(int(key) for key in keys if key.isdecimal())])
    return last


# -- S ----------------------------------------------------------------------------------------------------------------


def encode_beside(state: RefreshState, numbers: Mapping[str, int]) -> dict[str, str]:
    """S by numbers, beside S by UUIDs."""
    entries = {
        _number(source, numbers): {"type": _kind(source).value, "id": source.id, "uuid": source.uuid}
        for source in state.sources
    }
    return {SEQUENCE_STATE: _text(entries), VERSION_ID: str(state.view_version_id)}


def encode_only(state: RefreshState, numbers: Mapping[str, int]) -> dict[str, str]:
    """S by numbers alone."""
    found = {
        SEQUENCE_STATE: _text({_number(source, numbers): source.id for source in state.sources}),
        VERSION_ID: str(state.view_version_id),
    }
    details: dict[str, dict[str, Any]] = {}
    for source in state.sources:
        said: dict[str, Any] = {}
        if source.schema_id is not None:
            said[_SCHEMA_ID] = source.schema_id
        if source.definition is not None:
            said[DEFINITION] = source.definition
        if said:
            details[_number(source, numbers)] = said
    if details:
        found[SEQUENCE_DETAILS] = _text(details)
    if state.definition is not None:
        found[DEFINITION] = state.definition
    return found if state.started_ms is None else {**found, STARTED_MS: str(state.started_ms)}


def is_alone(summary: Mapping[str, str]) -> bool:
    """Whether a snapshot's S is by numbers alone; one without entries says nothing."""
    entries = parse_object(summary.get(SEQUENCE_STATE, "{}"), SEQUENCE_STATE)
    return bool(entries) and not any(isinstance(entry, dict) for entry in entries.values())


def decode_sequence(summary: Mapping[str, str], numbers: Mapping[str, int]) -> RefreshState:
    """Read S by numbers, of either form."""
    version, started = summary.get(VERSION_ID, ""), summary.get(STARTED_MS, "")
    if not version.isdecimal():
        raise InvalidRefreshStateError(VERSION_ID, f"it must be a number, not {version!r}")
    names = {str(number): name for name, number in numbers.items()}
    details = parse_object(summary.get(SEQUENCE_DETAILS, "{}"), SEQUENCE_DETAILS)
    sources = []
    for key, entry in sorted(parse_object(summary.get(SEQUENCE_STATE, ""), SEQUENCE_STATE).items()):
        if key not in names:
            raise InvalidRefreshStateError(key, "the lineage has no child of that number")
        database, _, rest = names[key].partition(".")
        sources.append(_source(name_of((database, rest), key), key, entry, details.get(key)))
    started_ms = int(started) if started.isdecimal() else None
    return RefreshState(int(version), tuple(sources), started_ms, summary.get(DEFINITION))


def _source(name: ViewName, key: str, entry: object, details: object) -> SourceState:
    if type(entry) is int:
        said = details if isinstance(details, dict) else {}
        schema_id = maybe(said, _SCHEMA_ID, int, key)
        return SourceState(None, name, None, entry, schema_id=schema_id, definition=maybe(said, DEFINITION, str, key))
    if not isinstance(entry, dict):
        raise InvalidRefreshStateError(key, f"a state is a snapshot or a version, not {entry!r}")
    kind = get(entry, "type", str, key)
    if kind not in ("table", "view"):
        raise InvalidRefreshStateError(f"{key}.type", f"{kind!r} is no type of source that is known")
    return SourceState(SourceKind(kind), name, maybe(entry, "uuid", str, key), get(entry, "id", int, key))


def _number(source: SourceState, numbers: Mapping[str, int]) -> str:
    number = numbers.get(str(source.name))
    if number is None:
        raise InvalidRefreshStateError(str(source.name), "the lineage has no number for it")
    return str(number)


def _kind(source: SourceState) -> SourceKind:
    assert source.kind is not None, "a refresh has seen what its sources are"
    return source.kind


def _text(document: object) -> str:
    return json.dumps(document, separators=(",", ":"))
