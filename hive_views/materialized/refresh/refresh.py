"""Refreshing a materialized view: check the sources, plan, stage, publish.

The sources' snapshots are fixed before the rows are computed, so the recorded state is the state that was read. An
engine writes the rows as an unpublished snapshot. Publishing makes it current in one commit together with its refresh
state, if the storage table did not change since. A killed refresh therefore leaves the old rows and, at most, an
unpublished snapshot; of two concurrent refreshes, one succeeds.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hive_views.errors import CommitFailedError, HiveViewsError, RefreshConflictError, RefreshError
from hive_views.identifiers import ViewName
from hive_views.materialized.layouts.layout import Layout
from hive_views.materialized.layouts.loading import lineage_numbers_of
from hive_views.materialized.layouts.table import encode_summary
from hive_views.materialized.properties import TIME_TRAVEL
from hive_views.materialized.refresh.plan import Mode
from hive_views.materialized.refresh.prepare import observe, prepare
from hive_views.materialized.refresh.publish import discard_snapshot, publish
from hive_views.materialized.refresh.stage import Engine, Inputs, StagingRequest, staging_request, staging_table
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
from hive_views.spec.staleness_policy import is_true
from hive_views.spec.whole_numbers import whole_number

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

    from hive_views.materialized.freshness.checker import FreshnessChecker
    from hive_views.materialized.freshness.sources import Sources
    from hive_views.materialized.layouts.loading import MaterializedView
    from hive_views.materialized.table_operations import TableOperations
    from hive_views.metastore.store import MetastoreStore

_MAX_ATTEMPTS = 10
_MAX_REASON = 1_000


@dataclass(frozen=True)
class RefreshReport:
    """What a refresh did."""

    name: ViewName
    """The materialized view."""
    action: str
    """`unchanged`, `full`, `incremental`, `partitions` or `keys`."""
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
    store: MetastoreStore,
    tables: TableOperations,
    view: MaterializedView,
    checker: FreshnessChecker,
    engine: Engine,
    mode: Mode = Mode.AUTO,
    progress: Callable[[str], None] | None = None,
) -> RefreshReport:
    """Refresh one materialized view, and none of its sources."""
    started = time.monotonic()
    report_progress = progress or (lambda _: None)
    started_ms = int(time.time() * 1000)
    observation = observe(view, checker, engine)
    if observation.is_unchanged and mode is not Mode.FULL:
        report_progress(f"{view.name}: unchanged: its rows are fresh")
        return _report(view, "unchanged", "its rows are fresh", view.snapshot, started)
    sources, recorded = observation.sources, observation.recorded
    prepared = prepare(store, tables, view, observation, checker, engine, mode)
    columns = prepared.columns
    failures: list[str] = []
    for plan in prepared.plans:
        if mode is Mode.INCREMENTAL and plan.action == "full":
            reason = f"it cannot be refreshed incrementally: {plan.why}"
            raise RefreshError(str(view.name), "; ".join([reason, *failures]))
        why = "; ".join([plan.why, *failures])
        report_progress(f"{view.name}: {plan.action} refresh: {why}")
        refresh_id = uuid.uuid4().hex
        state = _refresh_state(view, sources, started_ms)
        summary, properties = _summary(
            store, view, sources, state, prepared.functions, observation.settings, refresh_id
        )
        summary |= {ACTION: plan.action, REASON: why[:_MAX_REASON], STARTED_MS: str(started_ms)}
        if sources.observed.definition is not None:
            summary[DEFINITION] = sources.observed.definition
        if not failures and not plan.reads_stored_rows:  # otherwise the time is not that of this plan over the tables
            counts = {TABLE_ROWS: prepared.table_rows, COMPARED_ROWS: plan.compared_rows}
            summary |= {key: str(count) for key, count in counts.items() if count is not None}
        with staging_table(store, tables, view, refresh_id, columns) as target:
            inputs = Inputs(view, recorded, sources, prepared.storages)
            query = prepared.query_of(plan)
            request = staging_request(target, view, inputs, query, plan, prepared.schema, summary, refresh_id)
            try:
                staged_id = engine.stage(request)
            except RefreshError as error:
                if mode is not Mode.AUTO or (plan.action == "full" and not plan.reads_stored_rows):
                    # The engine names the staging table.
                    raise RefreshError(str(view.name), error.reason) from error
                # The next plan relies on less: the last one needs neither stored rows nor the history of the sources.
                failures.append(f"the {plan.action} refresh failed ({' '.join(error.reason.split())[:300]})")
                continue
            report_progress(f"{view.name}: rows computed in {time.monotonic() - started:.1f} s; publishing them")
            staged = tables.load_table(target.identifier)
            snapshot = _staged_snapshot(staged.metadata, staged_id, refresh_id)
            if snapshot is None:
                raise RefreshError(str(view.name), "the engine wrote no snapshot")
            problem = _reason_to_discard(store, view, sources, request, snapshot)
            if problem is not None:
                discard_snapshot(store, view, staged, snapshot, is_separate=columns is not None)
                raise problem
            keep = is_true(view.properties, TIME_TRAVEL)
            publish(store, view, staged, snapshot, state, properties, keep=keep, columns=columns)
        report = _report(view, plan.action, why, snapshot, started)
        report_progress(f"{view.name}: {report.written} row(s) written in {report.seconds:.1f} s")
        return report
    raise AssertionError("unreachable: the last plan computes everything, and its failure is raised")


# -- Checks -----------------------------------------------------------------------------------------------------------


def _reason_to_discard(
    store: MetastoreStore, view: MaterializedView, sources: Sources, request: StagingRequest, snapshot: Snapshot
) -> HiveViewsError | None:
    """Why a staged snapshot cannot be published: another refresh, or a change of a table read in its current state."""
    if snapshot.parent_snapshot_id != view.readable_storage().metadata.current_snapshot_id:
        return RefreshConflictError(str(view.name), "another refresh finished first. Refresh it again if it is stale")
    changed = []
    for item in request.inputs:
        row = store.get_row(item.table) if item.live else None
        if item.live and (row is None or row.metadata_location != sources.tables[item.table].location):
            changed.append(str(item.table))
    if changed:
        return RefreshError(str(view.name), f"{', '.join(changed)} changed while it was read; refresh it again")
    return None


def _staged_snapshot(metadata: TableMetadata, snapshot_id: int | None, refresh_id: str) -> Snapshot | None:
    """Return the snapshot that the engine wrote."""
    if snapshot_id is not None:
        return metadata.snapshot_by_id(snapshot_id)
    for snapshot in reversed(metadata.snapshots):
        if summary_of(snapshot).get(REFRESH_ID) == refresh_id:
            return snapshot
    return None


def _report(view: MaterializedView, action: str, why: str, snapshot: Snapshot | None, started: float) -> RefreshReport:
    summary = summary_of(snapshot)
    is_written = action != "unchanged"
    return RefreshReport(
        view.name,
        action,
        why,
        None if snapshot is None else snapshot.snapshot_id,
        row_count(summary) if is_written else None,
        (whole_number(summary.get("added-records")) or 0) if is_written else None,
        time.monotonic() - started,
    )


# -- The recorded state -----------------------------------------------------------------------------------------------


def _refresh_state(view: MaterializedView, sources: Sources, started_ms: int) -> RefreshState:
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
            for source in sources.observed.sources
        ),
        started_ms,
        sources.observed.definition,
    )


def _summary(
    store: MetastoreStore,
    view: MaterializedView,
    sources: Sources,
    state: RefreshState,
    functions: tuple[str, ...],
    settings: Mapping[str, str],
    refresh_id: str,
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the entries of the snapshot's summary, and properties that the storage table gets in the same commit."""
    entries = {
        VIEW_UUID: view.metadata.view_uuid.lower(),
        REFRESH_ID: refresh_id,
        UNREPEATABLE: ",".join(functions),
    }
    hive_states = {str(name): text for name, text in sorted(sources.observed.hive_sources.items())}
    if hive_states:
        entries[HIVE_SOURCE_STATES] = compact_json(hive_states)
    ids = SequenceIds.of(view.properties)
    if view.layout is Layout.TABLE:
        entries |= encode_summary(state)
    elif view.layout is Layout.REGISTERED and ids is not SequenceIds.ONLY:
        entries[REFRESH_STATE] = encode(state)
    properties: dict[str, str] = {}
    if ids is not SequenceIds.NONE:
        names = sorted({*(source.name for source in state.sources), *sources.observed.hive_sources})
        numbers, properties = _number_sources(store, view, names)
        entries |= (encode_numbers_only if ids is SequenceIds.ONLY else encode_with_uuids)(state, numbers)
    if settings:
        entries[SESSION_SETTINGS] = compact_json(settings, sort_keys=True)
    return entries, properties


def _number_sources(
    store: MetastoreStore, view: MaterializedView, names: Iterable[ViewName]
) -> tuple[dict[str, int], dict[str, str]]:
    """Assign sequence numbers to all sources, and store them before a refresh state refers to them.

    In the layout `table` they are returned as properties for the commit that publishes the rows.
    """
    # The lineage may have been lost since: numbers of recorded states are not reused.
    snapshots = () if view.storage is None else view.storage.metadata.snapshots
    highest_used = max((highest_number(summary_of(snapshot)) for snapshot in snapshots), default=0)
    names = tuple(names)
    if view.layout is Layout.TABLE:
        before = view.lineage_numbers()
        numbers = assign_numbers(before, names, highest_used)
        return numbers, {} if numbers == before else {SEQUENCE_LINEAGE: encode_lineage(numbers)}
    for _ in range(_MAX_ATTEMPTS):
        base = load_view(store, view.name)
        before = lineage_numbers_of(base.metadata)
        numbers = assign_numbers(before, names, highest_used)
        if numbers == before:
            return numbers, {}
        changes = [SetProperties({SEQUENCE_LINEAGE: encode_lineage(numbers)})]
        metadata = apply(base.metadata, changes, now_ms=int(time.time() * 1000), identifier=str(view.name))
        try:
            commit(store, view.name, base, metadata)
        except CommitFailedError:
            continue  # a concurrent commit may have assigned the same numbers to other sources
        return numbers, {}
    raise RefreshConflictError(str(view.name), "concurrent changes prevented numbering its sources; try again")
