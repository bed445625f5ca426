"""The decision what a query on a materialized view reads: its stored rows or its definition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hive_views.materialized.partial_reads import may_have_fresh_partitions
from hive_views.materialized.properties import when_stale
from hive_views.materialized.results import Reading

if TYPE_CHECKING:
    from hive_views.materialized.loading import LoadedMaterializedView
    from hive_views.materialized.services import MaterializedServices
    from hive_views.metastore.queries import RowCache


@dataclass(frozen=True)
class StalenessLimits:
    """Which rows that are not fresh a reader accepts; None takes the view's setting."""

    allow_stale_data: bool | None = None
    """Whether rows that are not fresh are accepted."""
    max_staleness_ms: int | None = None
    """How long after a refresh its rows are accepted in any case, in milliseconds."""
    now_ms: int | None = None
    """The current time in epoch milliseconds; None reads the clock."""


def decide_reading(
    services: MaterializedServices,
    view: LoadedMaterializedView,
    rows: RowCache | None = None,
    limits: StalenessLimits | None = None,
) -> Reading:
    """Return what a query on a materialized view reads; `rows` are not read again."""
    limits = limits or StalenessLimits()
    freshness = services.checker.check(view, rows, limits.now_ms, limits.max_staleness_ms)[1]
    allow_stale = view.allow_stale_data if limits.allow_stale_data is None else limits.allow_stale_data
    snapshot = view.snapshot
    is_allowed = freshness.usable or (allow_stale and not freshness.has_other_rows)
    if snapshot is None or view.storage is None or not is_allowed:
        return Reading(
            from_storage=False,
            why=f"definition: {freshness}",
            freshness=freshness,
            when_stale=when_stale(view.properties),
            may_have_fresh_partitions=not freshness.has_other_rows and may_have_fresh_partitions(view, freshness),
        )
    return Reading(
        from_storage=True,
        why=f"storage: {freshness}" + ("" if freshness.usable else " (stale rows are allowed)"),
        freshness=freshness,
        storage=view.storage_name,
        metadata_location=view.storage.metadata_location,
        snapshot_id=snapshot.snapshot_id,
        settings=view.last_refresh().settings,
        when_stale=when_stale(view.properties),
    )
