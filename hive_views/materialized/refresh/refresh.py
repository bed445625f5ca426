"""Refreshing a materialized view: check the sources, plan, stage, publish.

The sources' snapshots are fixed before the rows are computed, so the recorded state is the state that was read. An
engine writes the rows as an unpublished snapshot. Publishing makes it current in one commit together with its refresh
state, if the storage table did not change since. A killed refresh therefore leaves the old rows and, at most, an
unpublished snapshot; of two concurrent refreshes, one succeeds.
"""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hive_views.errors import CommitFailedError, HiveViewsError, RefreshConflictError, RefreshError
from hive_views.identifiers import ViewName
from hive_views.materialized.layouts.layout import Layout
from hive_views.materialized.layouts.table import encode_summary
from hive_views.materialized.loading import lineage_numbers_of
from hive_views.materialized.refresh.actions import Action, Mode
from hive_views.materialized.refresh.plan import ByKeys, Full
from hive_views.materialized.refresh.prepare import observe, prepare
from hive_views.materialized.refresh.publish import StagedRows, discard_snapshot, publish
from hive_views.materialized.refresh.request import Inputs, StagingTarget, staging_request
from hive_views.materialized.refresh.staging_table import staging_table
from hive_views.materialized.state.refresh_state import (
    ACTION,
    COMPARED_ROWS,
    DEFINITION,
    HIVE_SOURCE_STATES,
    REASON,
    REFRESH_ID,
    REFRESH_STATE,
    SESSION_SETTINGS,
    STARTED_MS,
    TABLE_ROWS,
    UNREPEATABLE,
    VIEW_UUID,
    RefreshState,
    SourceState,
    encode,
    row_count,
    summary_of,
)
from hive_views.materialized.state.sequence_numbers import (
    SequenceIds,
    assign_numbers,
    encode_lineage,
    encode_numbers_only,
    encode_with_uuids,
    highest_number,
)
from hive_views.metastore.commit.view_commit import commit
from hive_views.metastore.queries import load_view
from hive_views.spec.changes import SetProperties, apply
from hive_views.spec.json_text import compact_json
from hive_views.spec.lineage_codec import SEQUENCE_LINEAGE
from hive_views.spec.whole_numbers import whole_number

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

    from hive_views.materialized.freshness.verdict import ObservedState
    from hive_views.materialized.loading import LoadedMaterializedView
    from hive_views.materialized.refresh.plan import RefreshPlan
    from hive_views.materialized.refresh.prepare import Observation, PreparedRefresh
    from hive_views.materialized.refresh.request import StagingRequest
    from hive_views.materialized.refresh.scope import RefreshScope
    from hive_views.metastore.store import MetastoreStore

_MAX_ATTEMPTS = 10
_MAX_REASON = 1_000


@dataclass(frozen=True, kw_only=True)
class RefreshReport:
    """What a refresh did."""

    name: ViewName
    """The materialized view."""
    action: Action
    """How the rows were computed."""
    why: str
    """The reason for the action."""
    snapshot_id: int | None
    """The storage table's snapshot that readers get now."""
    rows: int | None
    """Number of stored rows, if the engine reports it."""
    written: int | None
    """Number of rows that were written, if the engine reports it."""
    seconds: float
    """Duration in seconds."""


def refresh(
    scope: RefreshScope, mode: Mode = Mode.AUTO, progress: Callable[[str], None] | None = None
) -> RefreshReport:
    """Refresh one materialized view, and none of its sources."""
    view, steps = scope.view, _Progress(scope.view, progress)
    observation = observe(scope)
    if observation.is_unchanged and mode is not Mode.FULL:
        steps.report("unchanged: its rows are fresh")
        return _report(view, Action.UNCHANGED, "its rows are fresh", view.snapshot, steps.seconds)
    prepared = prepare(scope, observation, mode)
    plans = iter(prepared.plans)
    first = next(plans)
    if mode is Mode.INCREMENTAL and isinstance(first, Full):
        raise RefreshError(str(view.name), f"it cannot be refreshed incrementally: {first.why}")
    numbers = number_sources(scope.store, view, observation.sources.observed)
    attempts = _Attempts(scope, observation, prepared, numbers, steps)
    failures: list[str] = []
    for plan in itertools.chain((first,), plans):
        why = "; ".join([plan.why, *failures])
        steps.report(f"{plan.action} refresh: {why}")
        outcome = attempts.stage_and_publish(plan, why, is_first=not failures)
        if isinstance(outcome, RefreshError):
            if mode is not Mode.AUTO or (isinstance(plan, Full) and not plan.reads_stored_rows):
                # The engine names the staging table.
                raise RefreshError(str(view.name), outcome.reason) from outcome
            # The next plan relies on less: the last one needs neither stored rows nor the history of the sources.
            failures.append(f"the {plan.action} refresh failed ({' '.join(outcome.reason.split())[:300]})")
            continue
        report = _report(view, plan.action, why, outcome, steps.seconds)
        steps.report(f"{report.written} row(s) written in {report.seconds:.1f} s")
        return report
    raise AssertionError("unreachable: the last plan computes everything, and its failure is raised")


class _Progress:
    """Reports the steps of a refresh, and measures its time."""

    def __init__(self, view: LoadedMaterializedView, progress: Callable[[str], None] | None) -> None:
        self.started_ms = int(time.time() * 1000)
        self._name = view.name
        self._progress = progress
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def report(self, text: str) -> None:
        if self._progress is not None:
            self._progress(f"{self._name}: {text}")


def _report(
    view: LoadedMaterializedView, action: Action, why: str, snapshot: Snapshot | None, seconds: float
) -> RefreshReport:
    summary = summary_of(snapshot)
    is_written = action is not Action.UNCHANGED
    return RefreshReport(
        name=view.name,
        action=action,
        why=why,
        snapshot_id=None if snapshot is None else snapshot.snapshot_id,
        rows=row_count(summary) if is_written else None,
        written=(whole_number(summary.get("added-records")) or 0) if is_written else None,
        seconds=seconds,
    )


# -- The numbers of the sources ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SourceNumbers:
    """The sequence numbers of the sources; empty if refresh states of the view have none."""

    numbers: Mapping[str, int] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    """Properties that the storage table gets in the commit that publishes the rows."""


def number_sources(store: MetastoreStore, view: LoadedMaterializedView, observed: ObservedState) -> SourceNumbers:
    """Assign sequence numbers to all sources, and store them before a refresh state refers to them.

    They are stored in the view; in the layout `table`, the commit that publishes the rows stores them.
    """
    if SequenceIds.of(view.properties) is SequenceIds.NONE:
        return SourceNumbers()
    names = tuple(sorted({*(source.name for source in observed.sources), *observed.hive_sources}))
    # The lineage may have been lost since: numbers of recorded states are not reused.
    snapshots = () if view.storage is None else view.storage.metadata.snapshots
    highest_used = max((highest_number(summary_of(snapshot)) for snapshot in snapshots), default=0)
    if view.layout is Layout.TABLE:
        before = view.lineage_numbers()
        numbers = assign_numbers(before, names, highest_used)
        return SourceNumbers(numbers, {} if numbers == before else {SEQUENCE_LINEAGE: encode_lineage(numbers)})
    for _ in range(_MAX_ATTEMPTS):
        base = load_view(store, view.name)
        before = lineage_numbers_of(base.metadata)
        numbers = assign_numbers(before, names, highest_used)
        if numbers == before:
            return SourceNumbers(numbers)
        changes = [SetProperties({SEQUENCE_LINEAGE: encode_lineage(numbers)})]
        metadata = apply(base.metadata, changes, now_ms=int(time.time() * 1000), identifier=str(view.name))
        try:
            commit(store, view.name, base, metadata)
        except CommitFailedError:
            continue  # a concurrent commit may have assigned the same numbers to other sources
        return SourceNumbers(numbers)
    raise RefreshConflictError(str(view.name), "concurrent changes prevented numbering its sources; try again")


# -- The attempts -----------------------------------------------------------------------------------------------------


class _Attempts:
    """The attempts of one refresh, each with another plan, and what all of them record."""

    def __init__(
        self,
        scope: RefreshScope,
        observation: Observation,
        prepared: PreparedRefresh,
        numbers: SourceNumbers,
        steps: _Progress,
    ) -> None:
        self._scope = scope
        self._observation = observation
        self._prepared = prepared
        self._numbers = numbers
        self._steps = steps
        self._state = _refresh_state(scope.view, observation.sources.observed, steps.started_ms)

    def stage_and_publish(self, plan: RefreshPlan, why: str, *, is_first: bool) -> Snapshot | RefreshError:
        """Compute the rows by a plan and publish them; returns the error if the engine could not compute them."""
        scope, view, columns = self._scope, self._scope.view, self._prepared.columns
        assert scope.engine is not None, "an engine computes the rows"
        refresh_id = uuid.uuid4().hex
        with staging_table(scope, refresh_id, columns) as table:
            summary = self._summary(refresh_id) | self._summary_of_plan(plan, why, is_first=is_first)
            request = self._request(StagingTarget(table=table, refresh_id=refresh_id, summary=summary), plan)
            try:
                staged_id = scope.engine.stage(request)
            except RefreshError as error:
                return error
            self._steps.report(f"rows computed in {self._steps.seconds:.1f} s; publishing them")
            target = scope.tables.load_table(table.identifier)
            snapshot = _staged_snapshot(target.metadata, staged_id, refresh_id)
            if snapshot is None:
                raise RefreshError(str(view.name), "the engine wrote no snapshot")
            staged = StagedRows(target, snapshot, columns)
            problem = self._reason_to_discard(request, snapshot)
            if problem is not None:
                discard_snapshot(scope.store, view, staged)
                raise problem
            publish(scope.store, view, staged, self._state, self._numbers.properties)
        return snapshot

    def _request(self, target: StagingTarget, plan: RefreshPlan) -> StagingRequest:
        observation, prepared = self._observation, self._prepared
        inputs = Inputs(self._scope.view, observation.recorded, observation.sources, prepared.storages)
        return staging_request(target, inputs, prepared.query_of(plan), plan, prepared.schema)

    def _reason_to_discard(self, request: StagingRequest, snapshot: Snapshot) -> HiveViewsError | None:
        """Why a staged snapshot cannot be published: another refresh, or a change of a table read as it is now."""
        view, tables = self._scope.view, self._observation.sources.tables
        if snapshot.parent_snapshot_id != view.readable_storage().metadata.current_snapshot_id:
            reason = "another refresh finished first. Refresh it again if it is stale"
            return RefreshConflictError(str(view.name), reason)
        changed = []
        for item in request.inputs:
            row = self._scope.store.get_row(item.table) if item.live else None
            if item.live and (row is None or row.metadata_location != tables[item.table].location):
                changed.append(str(item.table))
        if changed:
            return RefreshError(str(view.name), f"{', '.join(changed)} changed while it was read; refresh it again")
        return None

    def _summary(self, refresh_id: str) -> dict[str, str]:
        """Return the entries of the snapshot's summary that do not depend on the plan."""
        view, observed, settings = self._scope.view, self._observation.sources.observed, self._observation.settings
        entries = {
            VIEW_UUID: view.metadata.view_uuid.lower(),
            REFRESH_ID: refresh_id,
            UNREPEATABLE: ",".join(self._prepared.functions),
        }
        hive_states = {str(name): text for name, text in sorted(observed.hive_sources.items())}
        if hive_states:
            entries[HIVE_SOURCE_STATES] = compact_json(hive_states)
        ids = SequenceIds.of(view.properties)
        if view.layout is Layout.TABLE:
            entries |= encode_summary(self._state)
        elif view.layout is Layout.REGISTERED and ids is not SequenceIds.ONLY:
            entries[REFRESH_STATE] = encode(self._state)
        if ids is not SequenceIds.NONE:
            encode_with_numbers = encode_numbers_only if ids is SequenceIds.ONLY else encode_with_uuids
            entries |= encode_with_numbers(self._state, self._numbers.numbers)
        if settings:
            entries[SESSION_SETTINGS] = compact_json(settings, sort_keys=True)
        return entries

    def _summary_of_plan(self, plan: RefreshPlan, why: str, *, is_first: bool) -> dict[str, str]:
        """Return the entries of the snapshot's summary about a plan."""
        observed = self._observation.sources.observed
        started_ms = str(self._steps.started_ms)
        entries = {ACTION: plan.action.value, REASON: why[:_MAX_REASON], STARTED_MS: started_ms}
        if observed.definition is not None:
            entries[DEFINITION] = observed.definition
        if is_first and not (isinstance(plan, Full) and plan.reads_stored_rows):
            # Otherwise the time is not that of this plan over the tables.
            compared_rows = plan.compared_rows if isinstance(plan, ByKeys) else None
            counts = {TABLE_ROWS: self._prepared.table_rows, COMPARED_ROWS: compared_rows}
            entries |= {key: str(count) for key, count in counts.items() if count is not None}
        return entries


def _staged_snapshot(metadata: TableMetadata, snapshot_id: int | None, refresh_id: str) -> Snapshot | None:
    """Return the snapshot that the engine wrote."""
    if snapshot_id is not None:
        return metadata.snapshot_by_id(snapshot_id)
    for snapshot in reversed(metadata.snapshots):
        if summary_of(snapshot).get(REFRESH_ID) == refresh_id:
            return snapshot
    return None


def _refresh_state(view: LoadedMaterializedView, observed: ObservedState, started_ms: int) -> RefreshState:
    """Return the state that a refresh records."""
    has_uuids = SequenceIds.of(view.properties) is not SequenceIds.ONLY
    return RefreshState(
        view.metadata.current_version_id,
        tuple(
            SourceState(
                source.kind,
                source.name,
                source.uuid if has_uuids else None,
                source.id,
                schema_id=source.schema_id,
                definition=source.definition,
            )
            for source in observed.sources
        ),
        started_ms,
        observed.definition,
    )
