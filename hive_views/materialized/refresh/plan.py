"""Planning: decides how a refresh computes the rows. Nothing is read or written here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from pyiceberg.types import DecimalType, DoubleType, FloatType

from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.verdict import Freshness, RecordedRefresh, changed_tables
from hive_views.spec.session_settings import differing_settings
from hive_views.sql.analysis.incremental import Aggregate, IncrementalQuery, NotIncrementalError, RowSelection

if TYPE_CHECKING:
    from pyiceberg.schema import Schema

    from hive_views.materialized.freshness.cache import TableState
    from hive_views.materialized.state.refresh_state import RefreshState


class Mode(Enum):
    """How a refresh computes rows."""

    AUTO = "auto"
    """From added rows if possible, else in full; not at all if the stored rows are fresh."""
    FULL = "full"
    """In full, even if the stored rows are fresh."""
    INCREMENTAL = "incremental"
    """From added rows; an error if that is not possible."""


@dataclass(frozen=True)
class RefreshPlan:
    """How the rows will be computed."""

    action: str
    """`full`, `incremental` or `partitions`."""
    why: str
    """The reason."""
    selections: tuple[Mapping[int, RowSelection], ...] = ()
    """For `incremental`: one entry per query to run, with the rows that it reads of each leaf, by the leaf's number."""
    aggregate: Aggregate | None = None
    """For `incremental`: how new rows are merged with the stored ones; None appends them."""
    where: str | None = None
    """For `partitions`: the condition that selects them."""


PartitionCondition = Callable[[int, int], str]
"""TableLeaf and snapshot to the condition for the partitions that changed since; raises `NotIncrementalError`."""


@dataclass(frozen=True)
class PlanInput:
    """What a plan is based on."""

    recorded: RecordedRefresh
    """The refresh that wrote the stored rows."""
    freshness: Freshness
    """Their freshness."""
    tables: Mapping[ViewName, TableState]
    """The Iceberg tables among the sources."""
    leaves: IncrementalQuery
    """The definition over tables alone."""
    schema: Schema
    """The columns of the storage table after the refresh."""
    is_repeatable: bool
    """Whether the definition is deterministic."""
    settings: Mapping[str, str]
    """The engine's settings."""


def plan_refresh(given: PlanInput, changed_partitions: PartitionCondition) -> RefreshPlan:
    """Decide how to compute rows that are not fresh, or that were computed under other settings."""
    recorded, freshness = given.recorded, given.freshness
    state = recorded.state
    changed = changed_tables(freshness)
    if state is None or changed is None:
        return RefreshPlan("full", "; ".join(map(str, freshness.reasons)))
    differing = differing_settings(recorded.settings, given.settings)
    if differing:
        return RefreshPlan("full", f"its rows were computed with {format_settings(recorded.settings, differing)}")
    if not freshness.reasons:
        return RefreshPlan("full", "it was requested")
    if not given.is_repeatable:
        return RefreshPlan("full", "its definition may give other rows each time")
    if not state.has_unique_uuids:
        return RefreshPlan("full", "more than one of its sources has the same UUID")
    rewritten = []
    for name in changed:
        since = _recorded_snapshot(state, given.tables, name)
        if since is None:
            return RefreshPlan("full", f"the earlier state of {name} is not known")
        if not given.tables[name].only_grew_since(since):
            rewritten.append(name)
    for leaf in given.leaves.leaves:
        name = ViewName(*leaf.name)
        since = _recorded_snapshot(state, given.tables, name)
        if since is None:
            return RefreshPlan("full", f"the earlier state of {name} is not known")
        table = given.tables[name]
        if not (table.has_schema_of(table.snapshot_id) and table.has_schema_of(since)):
            return RefreshPlan("full", f"{name} has other columns than it had")
    if rewritten:
        why = f"rows of {', '.join(map(str, rewritten))} were changed or deleted"
        return _plan_partitions(given, state, changed, why, changed_partitions)
    changed_leaves = [number for number, leaf in enumerate(given.leaves.leaves) if ViewName(*leaf.name) in changed]
    try:
        aggregate = given.leaves.aggregate(_decimal_precisions(given.schema), _are_floats(given.schema))
        selections = given.leaves.added(changed_leaves, grouped=aggregate is not None)
    except NotIncrementalError as error:
        why = f"its definition cannot be updated from added rows: {error}"
        return _plan_partitions(given, state, changed, why, changed_partitions)
    return RefreshPlan(
        "incremental", f"rows were added to {', '.join(map(str, sorted(set(changed))))}", selections, aggregate
    )


def format_settings(settings: Mapping[str, str], keys: Iterable[str]) -> str:
    """Format some settings for messages."""
    return ", ".join(f"{key}={settings.get(key, 'its default')}" for key in keys)


def _recorded_snapshot(state: RefreshState, tables: Mapping[ViewName, TableState], name: ViewName) -> int | None:
    """The snapshot of a table that the last refresh read; None if it is not known."""
    table = tables.get(name)
    recorded = None if table is None else state.source(name, table.uuid)
    return None if recorded is None else recorded.id


def _plan_partitions(
    given: PlanInput,
    state: RefreshState,
    changed: tuple[ViewName, ...],
    why: str,
    changed_partitions: PartitionCondition,
) -> RefreshPlan:
    """Recompute only some partitions, if one table changed and the affected partitions can be determined."""
    changed_leaves = [number for number, leaf in enumerate(given.leaves.leaves) if ViewName(*leaf.name) in changed]
    if len(changed) != 1 or len(changed_leaves) != 1:
        return RefreshPlan("full", why)
    since = _recorded_snapshot(state, given.tables, changed[0])
    assert since is not None, "the caller checks that the snapshot is known"
    try:
        where = changed_partitions(changed_leaves[0], since)
    except NotIncrementalError as error:
        return RefreshPlan("full", f"{why}; partitions: {error}")
    return RefreshPlan("partitions", f"{why}, where {where}", where=where)


def _decimal_precisions(schema: Schema) -> list[int | None]:
    types = [field.field_type for field in schema.fields]
    return [field_type.precision if isinstance(field_type, DecimalType) else None for field_type in types]


def _are_floats(schema: Schema) -> list[bool]:
    return [isinstance(field.field_type, (FloatType, DoubleType)) for field in schema.fields]
