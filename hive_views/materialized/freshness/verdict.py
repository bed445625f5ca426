"""The freshness decision: compares the recorded refresh state with the current state of the sources.

Nothing is read here. `decide` returns FRESH only if every direct or transitive source is the same object in the same
state; whatever is not known makes the result UNKNOWN, never FRESH.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from hive_views.identifiers import ViewName
from hive_views.materialized.state.refresh_state import NO_SNAPSHOT, RefreshState, SourceKind, SourceState
from hive_views.rendering import html_table
from hive_views.spec.session_settings import can_change_results, is_same_setting


class Verdict(Enum):
    """How fresh stored rows are."""

    FRESH = "fresh"
    """They are the rows that the definition returns now."""
    WITHIN_GRACE = "fresh within grace"
    """They are stale or unknown, but the refresh started no longer ago than the view's `max staleness`."""
    STALE = "stale"
    """A source or the definition changed."""
    UNKNOWN = "unknown"
    """Freshness cannot be determined."""


class Cause(Enum):
    """Why stored rows are stale, or of unknown freshness."""

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


_NEVER_WITHIN_GRACE = frozenset(
    {
        Cause.NEVER_REFRESHED,
        Cause.DEFINITION,
        Cause.OTHER_VIEW,
        Cause.VIEW_CHANGED,
        Cause.SETTINGS,
        Cause.STORAGE,
    }
)
"""Causes that no grace period excuses: there are no rows, or they are those of another query."""

_OTHER_ROWS = frozenset(
    {
        Cause.NEVER_REFRESHED,
        Cause.DEFINITION,
        Cause.OTHER_VIEW,
        Cause.STORAGE,
        Cause.NO_STATE,
        Cause.SETTINGS,
    }
)
"""Causes for which stored rows are not even stale rows of the view."""

_UNKNOWN = frozenset({Cause.NO_STATE, Cause.NO_LINEAGE, Cause.BEST_EFFORT, Cause.UNREPEATABLE, Cause.STORAGE})


@dataclass(frozen=True)
class StalenessReason:
    """One reason why stored rows are not fresh."""

    cause: Cause
    """The kind of reason."""
    source: ViewName | None = None
    """The source it is about; None if it is about the view itself."""
    before: str | None = None
    """The state that the refresh read."""
    now: str | None = None
    """The current state."""
    detail: str | None = None

    def __str__(self) -> str:
        text = f"{self.source}: {self.cause.value}" if self.source is not None else self.cause.value
        change = f", from {self.before} to {self.now}" if self.before is not None or self.now is not None else ""
        return text + change + (f" ({self.detail})" if self.detail else "")


@dataclass(frozen=True)
class ObservedSource:
    """The current state of an Iceberg table or view that the definition reads directly or transitively."""

    kind: SourceKind
    """Table or view."""
    name: ViewName
    uuid: str
    """Its UUID in lower case."""
    id: int
    """The current snapshot of a table (`NO_SNAPSHOT` for none), the current version of a view."""
    schema_id: int | None = None
    """A table's current schema."""
    same_rows: Mapping[int, bool] = field(default_factory=dict)
    """The snapshots of a table with the current rows, and whether each was written with the current columns."""
    definition: str | None = None
    """The fingerprint of a view's definition, or of a table's columns and name mapping."""


@dataclass(frozen=True)
class ObservedState:
    """The current state of a materialized view's definition and sources."""

    view_uuid: str
    version_id: int
    """Its current version."""
    sources: tuple[ObservedSource, ...] = ()
    """Its direct and transitive Iceberg sources."""
    hive_sources: Mapping[ViewName, str] = field(default_factory=dict)
    """Its sources that are not Iceberg objects, with the best-effort state of each."""
    missing: tuple[ViewName, ...] = ()
    """Names that it reads and that do not exist, and whose objects were not renamed either."""
    unreadable: Mapping[ViewName, str] = field(default_factory=dict)
    """Views among its sources whose own sources cannot be determined, and why."""
    definition: str | None = None
    """The fingerprint of its definition."""
    settings: Mapping[ViewName, Mapping[str, str]] = field(default_factory=dict)
    """The engine settings under which it and the views among its sources were defined, if recorded."""
    hive_views: frozenset[ViewName] = frozenset()
    """Those of `hive_sources` that are views."""


@dataclass(frozen=True)
class RecordedRefresh:
    """What the storage table records about the refresh that wrote its current rows."""

    state: RefreshState | None
    """The refresh state; None if there was no refresh, or if `problem` says why it is not known."""
    view_uuid: str | None = None
    """The view that was refreshed; None if not recorded."""
    hive_sources: Mapping[ViewName, str] = field(default_factory=dict)
    """Best-effort states of sources that are not Iceberg objects."""
    unrepeatable: tuple[str, ...] = ()
    """Nondeterministic functions of the definition."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """The engine settings that the rows depend on; empty if not recorded."""
    problem: StalenessReason | None = None
    """Why the state is not known."""


@dataclass(frozen=True)
class Freshness:
    """The result of a freshness check."""

    verdict: Verdict
    """How fresh the stored rows are."""
    reasons: tuple[StalenessReason, ...] = ()
    """Why they are not fresh; empty if they are."""
    refreshed_ms: int | None = None
    """When the refresh that wrote them started, in epoch milliseconds."""

    @property
    def is_fresh(self) -> bool:
        """Whether the stored rows are those that the definition returns now."""
        return self.verdict is Verdict.FRESH

    @property
    def usable(self) -> bool:
        """Whether they may answer a query that does not accept stale rows."""
        return self.verdict in (Verdict.FRESH, Verdict.WITHIN_GRACE)

    @property
    def has_other_rows(self) -> bool:
        """Whether the stored rows are not even stale rows of the view."""
        return any(reason.cause in _OTHER_ROWS for reason in self.reasons)

    def _repr_html_(self) -> str:
        """Return the verdict with its reasons as a table, for notebooks."""
        rows = ((each.source, each.cause.value, each.before, each.now, each.detail) for each in self.reasons)
        return html_table(self.verdict.value, rows, ("source", "reason", "before", "now", "detail"))

    def __str__(self) -> str:
        return self.verdict.value + (f": {'; '.join(map(str, self.reasons))}" if self.reasons else "")


def decide(
    recorded: RecordedRefresh, observed: ObservedState, *, now_ms: int, max_staleness_ms: int | None = None
) -> Freshness:
    """Decide how fresh stored rows are."""
    state = recorded.state
    if state is None:
        reason = recorded.problem or StalenessReason(Cause.NEVER_REFRESHED)
        return Freshness(Verdict.UNKNOWN if reason.cause in _UNKNOWN else Verdict.STALE, (reason,))
    reasons = tuple(_reasons(recorded, state, observed))
    if not reasons:
        return Freshness(Verdict.FRESH, (), state.started_ms)
    age_ms = None if state.started_ms is None else now_ms - state.started_ms
    is_recent = max_staleness_ms is not None and age_ms is not None and 0 <= age_ms <= max_staleness_ms
    if is_recent and not any(reason.cause in _NEVER_WITHIN_GRACE for reason in reasons):
        return Freshness(Verdict.WITHIN_GRACE, reasons, state.started_ms)
    is_unknown = all(reason.cause in _UNKNOWN for reason in reasons)
    return Freshness(Verdict.UNKNOWN if is_unknown else Verdict.STALE, reasons, state.started_ms)


def changed_tables(freshness: Freshness) -> tuple[ViewName, ...] | None:
    """Return the tables whose rows changed; None if anything else but a table's columns makes the stored rows stale."""
    if any(reason.cause not in (Cause.CHANGED, Cause.SCHEMA) or reason.source is None for reason in freshness.reasons):
        return None
    return tuple(
        reason.source for reason in freshness.reasons if reason.cause is Cause.CHANGED and reason.source is not None
    )


def conflicting_settings(observed: ObservedState, settings: Mapping[str, str]) -> list[tuple[ViewName, str, str]]:
    """View, key and wanted value of each setting that differs from the one under which a view was defined."""
    return [
        (name, key, wanted)
        for name, defined_settings in sorted(observed.settings.items())
        for key, wanted in defined_settings.items()
        if key in settings and can_change_results(key) and not is_same_setting(key, wanted, settings[key])
    ]


_REUSED_NUMBER = "another one has its number: versions were expired"


def _reasons(recorded: RecordedRefresh, state: RefreshState, observed: ObservedState) -> list[StalenessReason]:
    reasons = []
    if recorded.problem is not None:
        reasons.append(recorded.problem)
    if recorded.view_uuid is not None and recorded.view_uuid != observed.view_uuid:
        reasons.append(StalenessReason(Cause.OTHER_VIEW, before=recorded.view_uuid, now=observed.view_uuid))
    if state.view_version_id != observed.version_id:
        before, now = f"version {state.view_version_id}", f"version {observed.version_id}"
        reasons.append(StalenessReason(Cause.DEFINITION, before=before, now=now))
    elif _differ(state.definition, observed.definition):
        reasons.append(StalenessReason(Cause.DEFINITION, detail=_REUSED_NUMBER))
    reasons += [
        StalenessReason(Cause.NO_LINEAGE, name, detail=why) for name, why in sorted(observed.unreadable.items())
    ]
    reasons += [StalenessReason(Cause.GONE, name) for name in observed.missing]
    reasons += _source_reasons(state, observed)
    reasons += _hive_source_reasons(recorded, observed)
    reasons += [
        StalenessReason(Cause.SETTINGS, name, f"{key}={recorded.settings[key]}", f"{key}={wanted}")
        for name, key, wanted in conflicting_settings(observed, recorded.settings)
    ]
    if recorded.unrepeatable:
        reasons.append(StalenessReason(Cause.UNREPEATABLE, detail=", ".join(recorded.unrepeatable)))
    return reasons


def _source_reasons(state: RefreshState, observed: ObservedState) -> list[StalenessReason]:
    reasons = []
    by_name = state.by_name()
    names_per_uuid = Counter(source.uuid for source in observed.sources)
    matched: set[SourceState] = set()
    for source in observed.sources:
        same_name = by_name.get(source.name)
        recorded = _recorded_state(state, source)
        if recorded is None and any(item.uuid == source.uuid for item in state.sources):
            reasons.append(StalenessReason(Cause.NO_STATE, source.name, detail="more than one source has its UUID"))
            matched |= {item for item in state.sources if item.uuid == source.uuid}
            continue
        if recorded is not None and same_name is not None and same_name.uuid not in (None, source.uuid):
            # Two sources exchanged their names: the SQL text now reads each in place of the other.
            matched |= {recorded, same_name}
            reasons.append(StalenessReason(Cause.REPLACED, source.name, same_name.uuid, source.uuid))
            continue
        if recorded is not None and recorded.name != source.name and names_per_uuid[source.uuid] > 1:
            matched.add(recorded)
            reasons.append(StalenessReason(Cause.NO_STATE, source.name, detail="more than one source has its UUID"))
            continue
        if recorded is None:
            if same_name is None:
                reasons.append(StalenessReason(Cause.ADDED, source.name))
                continue
            if same_name.uuid is not None:
                matched.add(same_name)
                reasons.append(StalenessReason(Cause.REPLACED, source.name, same_name.uuid, source.uuid))
                continue
            # The encoding records no UUIDs. Snapshot ids are unique across tables, but version ids are not unique
            # across views. The same definition returns the same rows, whichever view has it.
            recorded = same_name
            if source.kind is SourceKind.VIEW and (recorded.definition is None or source.definition is None):
                matched.add(recorded)
                reasons.append(StalenessReason(Cause.NO_STATE, source.name, detail="its identity was not recorded"))
                continue
        matched.add(recorded)
        if recorded.ref is not None and recorded.ref != "main":
            detail = f"the refresh read its branch {recorded.ref}"
            reasons.append(StalenessReason(Cause.NO_STATE, source.name, detail=detail))
            continue
        reason = _difference(recorded, source)
        if reason is not None:
            reasons.append(reason)
    missing = set(observed.missing)
    reasons += [
        StalenessReason(Cause.REMOVED, item.name)
        for item in state.sources
        if item not in matched and item.name not in missing
    ]
    return reasons


def _recorded_state(state: RefreshState, source: ObservedSource) -> SourceState | None:
    """Return the recorded state of a source by UUID; if a table is registered under several names, also by name."""
    candidates = [item for item in state.sources if item.uuid == source.uuid]
    same_name = next((item for item in candidates if item.name == source.name), None)
    return same_name or (candidates[0] if len(candidates) == 1 else None)


def _differ(before: str | None, now: str | None) -> bool:
    return before is not None and now is not None and before != now


def _difference(recorded: SourceState, source: ObservedSource) -> StalenessReason | None:
    if recorded.kind is not None and recorded.kind is not source.kind:
        return StalenessReason(Cause.REPLACED, source.name, recorded.kind.value, source.kind.value)
    if source.kind is SourceKind.VIEW:
        if recorded.id != source.id:
            return StalenessReason(Cause.VIEW_CHANGED, source.name, f"version {recorded.id}", f"version {source.id}")
        if _differ(recorded.definition, source.definition):
            return StalenessReason(Cause.VIEW_CHANGED, source.name, detail=_REUSED_NUMBER)
        return None
    if recorded.id != source.id and recorded.id not in source.same_rows:
        return StalenessReason(Cause.CHANGED, source.name, _snapshot_text(recorded.id), _snapshot_text(source.id))
    is_same = recorded.definition == source.definition
    if recorded.definition is None:
        # Another writer, or an earlier release. The id of a schema is not used again while one of its snapshots exists.
        is_same = source.same_rows.get(recorded.id, False) and recorded.schema_id in (None, source.schema_id)
    if is_same:
        return None
    if recorded.schema_id in (None, source.schema_id):
        detail = "its columns are not known to be those of the refresh, or its name mapping changed"
        return StalenessReason(Cause.SCHEMA, source.name, detail=detail)
    return StalenessReason(Cause.SCHEMA, source.name, f"schema {recorded.schema_id}", f"schema {source.schema_id}")


def _hive_source_reasons(recorded: RecordedRefresh, observed: ObservedState) -> list[StalenessReason]:
    reasons = []
    for name, now in sorted(observed.hive_sources.items()):
        before = recorded.hive_sources.get(name)
        if before is None:
            reasons.append(StalenessReason(Cause.BEST_EFFORT, name, detail="the refresh recorded no state"))
        elif before != now:
            cause = Cause.VIEW_CHANGED if name in observed.hive_views else Cause.CHANGED
            reasons.append(StalenessReason(cause, name, before, now, "best effort"))
        else:
            reasons.append(StalenessReason(Cause.BEST_EFFORT, name, detail=f"its state appears unchanged: {now}"))
    missing = set(observed.missing)
    reasons += [
        StalenessReason(Cause.REMOVED, name)
        for name in sorted(recorded.hive_sources)
        if name not in observed.hive_sources and name not in missing
    ]
    return reasons


def _snapshot_text(snapshot_id: int) -> str:
    return "no snapshot" if snapshot_id == NO_SNAPSHOT else f"snapshot {snapshot_id}"
