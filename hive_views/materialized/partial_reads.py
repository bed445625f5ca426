"""Which partitions of a stale materialized view are fresh, and how a query reads the others.

After a refresh by partitions, the rows outside of the changed partitions are those that were stored before, and the
others are those of the definition. A query on a stale view reads the same rows, and stores none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hive_views.errors import HiveViewsError
from hive_views.materialized.freshness.verdict import changed_tables
from hive_views.materialized.refresh.partition_changes import PartitionSelection, partition_columns, stored_values
from hive_views.materialized.refresh.plan import ByPartitions
from hive_views.materialized.refresh.prepare import Observation, PreparedRefresh, observe, prepare
from hive_views.materialized.refresh.request import Inputs, StagingRequest, StagingTarget, staging_request

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

    from hive_views.identifiers import ViewName
    from hive_views.materialized.freshness.verdict import Freshness
    from hive_views.materialized.loading import LoadedMaterializedView
    from hive_views.materialized.refresh.scope import RefreshScope


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


@dataclass(frozen=True, kw_only=True)
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


def may_have_fresh_partitions(view: LoadedMaterializedView, freshness: Freshness) -> bool:
    """Return whether some partitions of a stale materialized view may be fresh. Nothing is read."""
    is_partitioned = view.storage is not None and view.snapshot is not None and bool(partition_columns(view.storage))
    return is_partitioned and bool(changed_tables(freshness))


@dataclass(frozen=True)
class _PartitionPlan:
    """The plan of a refresh by partitions, and what it is based on."""

    observation: Observation
    prepared: PreparedRefresh
    plan: ByPartitions
    storage: Table
    snapshot: Snapshot


def stale_partitions(scope: RefreshScope) -> StalePartitions | None:
    """Return the stale partitions; None if all rows are fresh, or any may be stale."""
    planned = _plan_by_partitions(scope)
    if planned is None:
        return None
    selection = planned.plan.partitions
    stored = stored_values(planned.storage, planned.snapshot, selection.column)
    total = None if stored is None else len(stored | set(selection.values))
    return StalePartitions(selection.column, selection.condition, len(selection.values), total)


def partial_reading(scope: RefreshScope) -> PartialReading | None:
    """How a query reads the fresh partitions of a stale view; None if it cannot, or if all rows are fresh."""
    planned = _plan_by_partitions(scope)
    if planned is None:
        return None
    view, observation, prepared = scope.view, planned.observation, planned.prepared
    inputs = Inputs(view, observation.recorded, observation.sources)
    target = StagingTarget.unwritten(view)
    request = staging_request(target, inputs, prepared.maintained, planned.plan, prepared.schema)
    if any(item.live or not item.iceberg for item in request.inputs):
        return None  # what it reads is not fixed: a writer could move rows between partitions meanwhile
    return PartialReading(
        stale=planned.plan.partitions,
        request=request,
        storage=view.storage_name,
        metadata_location=planned.storage.metadata_location,
        snapshot_id=planned.snapshot.snapshot_id,
        freshness=observation.freshness,
    )


def _plan_by_partitions(scope: RefreshScope) -> _PartitionPlan | None:
    """Return the plan of a refresh by partitions; None if there is none, or if what is needed for it cannot be read."""
    view = scope.view
    if view.storage is None or view.snapshot is None or not partition_columns(view.storage):
        return None
    try:
        observation = observe(scope)
        if not changed_tables(observation.freshness):
            return None
        prepared = prepare(scope, observation)
        if prepared.columns is not None:
            return None  # the definition has other columns than the stored rows
        plan = next((plan for plan in prepared.plans if isinstance(plan, ByPartitions)), None)
    except (HiveViewsError, OSError):
        return None  # a refresh reports it
    return None if plan is None else _PartitionPlan(observation, prepared, plan, view.storage, view.snapshot)
