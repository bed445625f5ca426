"""Whether a materialized view's stored rows still are its definition's: a decision over values, with its reasons.

Nothing is read here. `decide` compares what a refresh recorded with what stands in the metastore now. It says FRESH
only where every deep child is the same object in the same state; whatever is not known makes it UNKNOWN, never FRESH.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from hive_views.identifiers import ViewName
from hive_views.materialized.state.refresh_state import NO_SNAPSHOT, RefreshState, SourceKind, SourceState
from hive_views.spec.session_settings import is_same_setting


class Verdict(Enum):
    """How fresh stored rows are."""

    FRESH = "fresh"
    """They are the rows that the definition gives now."""
    WITHIN_GRACE = "fresh within grace"
    """They are not, or that is not known, but they were so no longer ago than the view's `max staleness`."""
    STALE = "stale"
    """A source changed, or the definition did."""
    UNKNOWN = "unknown"
    """It cannot be told."""


class Cause(Enum):
    """Why stored rows are not fresh, or not known to be."""

    NEVER_REFRESHED = "it was never refreshed"
    DEFINITION = "its definition changed"
    OTHER_VIEW = "its storage belongs to another view"
    CHANGED = "a table changed"
    SCHEMA = "a table has other columns"
    VIEW_CHANGED = "a view that it reads changed"
    REPLACED = "another object has the name of one that it reads"
    GONE = "something that it reads is gone"
    ADDED = "it reads something that the refresh did not"
    REMOVED = "the refresh read something that it does not"
    NO_STATE = "what the refresh read is not known"
    NO_LINEAGE = "what it reads is not known"
    BEST_EFFORT = "a table of Hive's own has no state that can be trusted"
    UNREPEATABLE = "its definition may give other rows each time"
    SETTINGS = "its rows were computed under other settings than a view's own"
    STORAGE = "its storage cannot be read"


_HARD = frozenset(
    {
        Cause.NEVER_REFRESHED,
        Cause.DEFINITION,
        Cause.OTHER_VIEW,
        Cause.VIEW_CHANGED,
        Cause.SETTINGS,
        Cause.STORAGE,
    }
)
"""Causes for which age is no excuse: the rows are those of another query, or there are none."""

_UNKNOWN = frozenset({Cause.NO_STATE, Cause.NO_LINEAGE, Cause.BEST_EFFORT, Cause.UNREPEATABLE, Cause.STORAGE})


@dataclass(frozen=True)
class Reason:
    """One reason against freshness."""

    cause: Cause
    """What it is."""
    child: ViewName | None = None
    """Which child."""
    before: str | None = None
    """The state that the refresh read."""
    now: str | None = None
    """The state as it is."""
    detail: str | None = None
    """What else there is to say."""

    def __str__(self) -> str:
        what = f"{self.child}: {self.cause.value}" if self.child is not None else self.cause.value
        change = f", from {self.before} to {self.now}" if self.before is not None or self.now is not None else ""
        return what + change + (f" ({self.detail})" if self.detail else "")


@dataclass(frozen=True)
class ObservedSource:
    """An Iceberg table or view that the definition reads, however deep, as it is now."""

    kind: SourceKind
    """What it is."""
    name: ViewName
    """The name under which it stands."""
    uuid: str
    """Its identity."""
    id: int
    """The current snapshot of a table (`NO_SNAPSHOT` for none), the current version of a view."""
    schema_id: int | None = None
    """A table's current schema."""
    written_schema_id: int | None = None
    """The schema with which a table's current snapshot was written."""
    same_rows: frozenset[int] = frozenset()
    """Earlier snapshots of a table that have the same rows: only compactions lie between."""
    definition: str | None = None
    """The fingerprint of a view's definition."""


@dataclass(frozen=True)
class Observed:
    """A materialized view's definition and sources as they are now."""

    view_uuid: str
    """The view."""
    version_id: int
    """Its current version."""
    sources: tuple[ObservedSource, ...] = ()
    """Its deep children that are Iceberg's."""
    others: Mapping[ViewName, str] = field(default_factory=dict)
    """Its deep children that are not, with the best-effort state of each."""
    gone: tuple[ViewName, ...] = ()
    """Names that it reads, under which nothing stands, and whose object is nowhere else either."""
    unknown: Mapping[ViewName, str] = field(default_factory=dict)
    """Views below it whose children are not known, and why."""
    definition: str | None = None
    """The fingerprint of its definition."""
    settings: Mapping[ViewName, Mapping[str, str]] = field(default_factory=dict)
    """The engine's settings that it and views below it were defined under, where a version records them."""


@dataclass(frozen=True)
class Recorded:
    """What the storage says of the refresh that its current rows come from."""

    state: RefreshState | None
    """What the refresh read; None where there was none, or `problem` says why it is not known."""
    view_uuid: str | None = None
    """The view that the refresh was for; None where its writer did not say."""
    others: Mapping[ViewName, str] = field(default_factory=dict)
    """Best-effort states of children that are not Iceberg's."""
    unrepeatable: tuple[str, ...] = ()
    """Functions of the definition that may give other rows each time."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """The engine's settings that the rows depend on; empty where its writer did not say."""
    problem: Reason | None = None
    """Why the state is not known."""


@dataclass(frozen=True)
class Freshness:
    """The answer."""

    verdict: Verdict
    """How fresh the stored rows are."""
    reasons: tuple[Reason, ...] = ()
    """Why they are not simply fresh."""
    refreshed_ms: int | None = None
    """When the refresh that they come from started."""

    @property
    def is_fresh(self) -> bool:
        """Whether they are the definition's rows."""
        return self.verdict is Verdict.FRESH

    @property
    def usable(self) -> bool:
        """Whether they may answer a query that does not ask for stale rows."""
        return self.verdict in (Verdict.FRESH, Verdict.WITHIN_GRACE)

    def __str__(self) -> str:
        return self.verdict.value + (f": {'; '.join(map(str, self.reasons))}" if self.reasons else "")


def decide(recorded: Recorded, observed: Observed, *, now_ms: int, max_staleness_ms: int | None = None) -> Freshness:
    """Decide how fresh stored rows are."""
    state = recorded.state
    if state is None:
        reason = recorded.problem or Reason(Cause.NEVER_REFRESHED)
        return Freshness(Verdict.UNKNOWN if reason.cause in _UNKNOWN else Verdict.STALE, (reason,))
    reasons = tuple(_reasons(recorded, state, observed))
    if not reasons:
        return Freshness(Verdict.FRESH, (), state.started_ms)
    age = None if state.started_ms is None else now_ms - state.started_ms
    excused = max_staleness_ms is not None and age is not None and 0 <= age <= max_staleness_ms
    if excused and not any(reason.cause in _HARD for reason in reasons):
        return Freshness(Verdict.WITHIN_GRACE, reasons, state.started_ms)
    unknown = all(reason.cause in _UNKNOWN for reason in reasons)
    return Freshness(Verdict.UNKNOWN if unknown else Verdict.STALE, reasons, state.started_ms)


def changed_tables(freshness: Freshness) -> tuple[ViewName, ...] | None:
    """The tables that changed, where nothing but that keeps stored rows from being fresh."""
    if any(reason.cause is not Cause.CHANGED or reason.child is None for reason in freshness.reasons):
        return None
    return tuple(reason.child for reason in freshness.reasons if reason.child is not None)


def _reasons(recorded: Recorded, state: RefreshState, observed: Observed) -> list[Reason]:
    found = []
    if recorded.problem is not None:
        found.append(recorded.problem)
    if recorded.view_uuid is not None and recorded.view_uuid != observed.view_uuid:
        found.append(Reason(Cause.OTHER_VIEW, before=recorded.view_uuid, now=observed.view_uuid))
    if state.view_version_id != observed.version_id:
        before, now = f"version {state.view_version_id}", f"version {observed.version_id}"
        found.append(Reason(Cause.DEFINITION, before=before, now=now))
    elif _differ(state.definition, observed.definition):
        found.append(Reason(Cause.DEFINITION, detail=_SAME_NUMBER))
    found += [Reason(Cause.NO_LINEAGE, name, detail=why) for name, why in sorted(observed.unknown.items())]
    found += [Reason(Cause.GONE, name) for name in observed.gone]
    found += _source_reasons(state, observed)
    found += _other_reasons(recorded, observed)
    found += [
        Reason(Cause.SETTINGS, name, f"{key}={recorded.settings[key]}", f"{key}={wanted}")
        for name, key, wanted in other_settings(observed, recorded.settings)
    ]
    if recorded.unrepeatable:
        found.append(Reason(Cause.UNREPEATABLE, detail=", ".join(recorded.unrepeatable)))
    return found


def _source_reasons(state: RefreshState, observed: Observed) -> list[Reason]:
    found = []
    by_name = state.by_name()
    twins = Counter(source.uuid for source in observed.sources)
    met: set[SourceState] = set()
    for source in observed.sources:
        same_name = by_name.get(source.name)
        known = _known(state, source)
        if known is None and any(item.uuid == source.uuid for item in state.sources):
            found.append(Reason(Cause.NO_STATE, source.name, detail="more than one source has its UUID"))
            met |= {item for item in state.sources if item.uuid == source.uuid}
            continue
        if known is not None and same_name is not None and same_name.uuid not in (None, source.uuid):
            # Two children that changed their names with each other: the text reads each in the other's place.
            met |= {known, same_name}
            found.append(Reason(Cause.REPLACED, source.name, same_name.uuid, source.uuid))
            continue
        if known is not None and known.name != source.name and twins[source.uuid] > 1:
            met.add(known)
            found.append(Reason(Cause.NO_STATE, source.name, detail="more than one source has its UUID"))
            continue
        if known is None:
            if same_name is None:
                found.append(Reason(Cause.ADDED, source.name))
                continue
            if same_name.uuid is not None:
                met.add(same_name)
                found.append(Reason(Cause.REPLACED, source.name, same_name.uuid, source.uuid))
                continue
            # A writer whose layout has no place for UUIDs: snapshot ids are unique, but version ids are not. The same
            # definition gives the same rows, whichever view has it.
            known = same_name
            if source.kind is SourceKind.VIEW and (known.definition is None or source.definition is None):
                met.add(known)
                found.append(Reason(Cause.NO_STATE, source.name, detail="its identity was not recorded"))
                continue
        met.add(known)
        if known.ref is not None and known.ref != "main":
            found.append(Reason(Cause.NO_STATE, source.name, detail=f"the refresh read its branch {known.ref}"))
            continue
        reason = _difference(known, source)
        if reason is not None:
            found.append(reason)
    gone = set(observed.gone)
    found += [Reason(Cause.REMOVED, item.name) for item in state.sources if item not in met and item.name not in gone]
    return found


def _known(state: RefreshState, source: ObservedSource) -> SourceState | None:
    """The state of a source by its UUID; of several that have it, which only a table registered twice has, by name."""
    found = [item for item in state.sources if item.uuid == source.uuid]
    named = next((item for item in found if item.name == source.name), None)
    return named or (found[0] if len(found) == 1 else None)


_SAME_NUMBER = "another one has its number: versions were expired"


def _differ(before: str | None, now: str | None) -> bool:
    return before is not None and now is not None and before != now


def _difference(known: SourceState, source: ObservedSource) -> Reason | None:
    if known.kind is not None and known.kind is not source.kind:
        return Reason(Cause.REPLACED, source.name, known.kind.value, source.kind.value)
    if source.kind is SourceKind.VIEW:
        if known.id == source.id:
            changed = _differ(known.definition, source.definition)
            return Reason(Cause.VIEW_CHANGED, source.name, detail=_SAME_NUMBER) if changed else None
        return Reason(Cause.VIEW_CHANGED, source.name, f"version {known.id}", f"version {source.id}")
    if known.id != source.id and known.id not in source.same_rows:
        return Reason(Cause.CHANGED, source.name, _snapshot(known.id), _snapshot(source.id))
    if known.id == NO_SNAPSHOT:
        return None  # no rows, whatever its columns
    # A writer that did not record the schema read the one of its snapshot, unless the schema changed in between.
    schema = source.written_schema_id if known.schema_id is None else known.schema_id
    if schema != source.schema_id:
        return Reason(Cause.SCHEMA, source.name, f"schema {schema}", f"schema {source.schema_id}")
    return None


def _other_reasons(recorded: Recorded, observed: Observed) -> list[Reason]:
    found = []
    for name, now in sorted(observed.others.items()):
        before = recorded.others.get(name)
        if before is None:
            found.append(Reason(Cause.BEST_EFFORT, name, detail="the refresh recorded none"))
        elif before != now:
            found.append(Reason(Cause.CHANGED, name, before, now, "best effort"))
        else:
            found.append(Reason(Cause.BEST_EFFORT, name, detail=f"it looks unchanged: {now}"))
    gone = set(observed.gone)
    found += [
        Reason(Cause.REMOVED, name)
        for name in sorted(recorded.others)
        if name not in observed.others and name not in gone
    ]
    return found


def other_settings(observed: Observed, settings: Mapping[str, str]) -> list[tuple[ViewName, str, str]]:
    """Where an engine's settings are not those that a view was defined under, which hold wherever that is read."""
    return [
        (name, key, wanted)
        for name, own in sorted(observed.settings.items())
        for key, wanted in own.items()
        if key in settings and not is_same_setting(key, wanted, settings[key])
    ]


def _snapshot(number: int) -> str:
    return "no snapshot" if number == NO_SNAPSHOT else f"snapshot {number}"
