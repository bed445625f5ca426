"""Which partitions of a stale materialized view are fresh, and how a query reads the others.

After a refresh by partitions, the rows outside of the changed partitions are those that were stored before, and the
others are those of the definition. A query on a stale view reads the same rows, and stores none.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hive_views.errors import HiveViewsError
from hive_views.materialized.freshness.verdict import changed_tables
from hive_views.materialized.refresh.partition_changes import PartitionSelection, partition_columns, stored_values
from hive_views.materialized.refresh.prepare import Observation, PreparedRefresh, observe, prepare
from hive_views.materialized.refresh.stage import Engine, Inputs, StagingRequest, staging_request

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

    from hive_views.identifiers import ViewName
    from hive_views.materialized.freshness.checker import FreshnessChecker
    from hive_views.materialized.freshness.verdict import Freshness
    from hive_views.materialized.layouts.loading import MaterializedView
    from hive_views.materialized.refresh.plan import RefreshPlan
    from hive_views.materialized.table_operations import TableOperations
    from hive_views.metastore.store import MetastoreStore


@dataclass(frozen=True)
class StalePartitions:
    """The partitions of the stored rows that are stale. All other stored rows are those of the definition."""

    column: str
    """The column by which the rows are partitioned."""
    where: str
    """The condition for the stale partitions."""
    stale: int
    """How many partitions are stale; some of them may have no stored rows yet."""
    partitions: int | None
    """How many there are, with the stale ones; None if some stored rows are not partitioned by the column."""

    def __str__(self) -> str:
        total = "" if self.partitions is None else f" of {self.partitions}"
        return f"{self.stale}{total} partition(s) are stale, where {self.where}"


@dataclass(frozen=True)
class PartialReading:
    """How a query reads a materialized view of which some partitions are stale."""

    stale: PartitionSelection
    request: StagingRequest
    """Computes their rows by the definition; no table is written."""
    storage: ViewName | None
    """The storage table's name in the catalog; None if it is in no catalog."""
    metadata_location: str
    """The storage table's metadata file."""
    snapshot_id: int
    """The snapshot with the stored rows."""
    freshness: Freshness


def may_have_fresh_partitions(view: MaterializedView, freshness: Freshness) -> bool:
    """Return whether some partitions of a stale materialized view may be fresh. Nothing is read."""
    is_partitioned = view.storage is not None and view.snapshot is not None and bool(partition_columns(view.storage))
    return is_partitioned and bool(changed_tables(freshness))


def stale_partitions(
    store: MetastoreStore, tables: TableOperations, view: MaterializedView, checker: FreshnessChecker
) -> StalePartitions | None:
    """Return the stale partitions; None if all rows are fresh, or any may be stale."""
    planned = _plan_by_partitions(store, tables, view, checker, None)
    if planned is None:
        return None
    _, _, plan, storage, snapshot = planned
    assert plan.partitions is not None, "it is a plan by partitions"
    selection = plan.partitions
    stored = stored_values(storage, snapshot, selection.column)
    total = None if stored is None else len(stored | set(selection.values))
    return StalePartitions(selection.column, selection.condition, len(selection.values), total)


def partial_reading(
    store: MetastoreStore, tables: TableOperations, view: MaterializedView, checker: FreshnessChecker, engine: Engine
) -> PartialReading | None:
    """How a query reads the fresh partitions of a stale view; None if it cannot, or if all rows are fresh."""
    planned = _plan_by_partitions(store, tables, view, checker, engine)
    if planned is None:
        return None
    observation, prepared, plan, storage, snapshot = planned
    assert plan.partitions is not None, "it is a plan by partitions"
    inputs = Inputs(view, observation.recorded, observation.sources)
    request = staging_request(
        view.storage_name or view.name, view, inputs, prepared.maintained, plan, prepared.schema, {}, uuid.uuid4().hex
    )
    if any(item.live or not item.iceberg for item in request.inputs):
        return None  # what it reads is not fixed: a writer could move rows between partitions meanwhile
    location = storage.metadata_location
    freshness = observation.freshness
    return PartialReading(plan.partitions, request, view.storage_name, location, snapshot.snapshot_id, freshness)


def _plan_by_partitions(
    store: MetastoreStore,
    tables: TableOperations,
    view: MaterializedView,
    checker: FreshnessChecker,
    engine: Engine | None,
) -> tuple[Observation, PreparedRefresh, RefreshPlan, Table, Snapshot] | None:
    """Return the plan of a refresh by partitions; None if there is none, or if what is needed for it cannot be read."""
    if view.storage is None or view.snapshot is None or not partition_columns(view.storage):
        return None
    try:
        observation = observe(view, checker, engine)
        if not changed_tables(observation.freshness):
            return None
        prepared = prepare(store, tables, view, observation, checker, engine)
        if prepared.columns is not None:
            return None  # the definition has other columns than the stored rows
        plan = next((plan for plan in prepared.plans if plan.action == "partitions"), None)
    except (HiveViewsError, OSError):
        return None  # a refresh reports it
    return None if plan is None else (observation, prepared, plan, view.storage, view.snapshot)
