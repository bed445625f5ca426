"""Explaining a refresh before it runs: how it would compute the rows, and which changes of the sources it found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyiceberg.table.snapshots import Operation

from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.verdict import Freshness
from hive_views.materialized.refresh.actions import Action
from hive_views.materialized.refresh.plan import ByKeys, ByPartitions, Full, Incremental, RefreshPlan
from hive_views.materialized.refresh.prepare import observe, prepare
from hive_views.materialized.refresh.request import stored_row_count
from hive_views.materialized.state.refresh_state import NO_SNAPSHOT, row_count, summary_of
from hive_views.spec.whole_numbers import whole_number
from hive_views.sql.analysis.incremental import IncrementalQuery, RowSelection

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

    from hive_views.materialized.freshness.cache import TableState
    from hive_views.materialized.refresh.scope import RefreshScope


@dataclass(frozen=True)
class SourceChange:
    """What happened to one table since the last refresh, by the summaries of its snapshots."""

    name: ViewName
    """The table."""
    rows: int | None = None
    """Its rows now; None if its snapshot does not record them, and for Hive tables."""
    snapshots: int | None = None
    """The snapshots since the last refresh, without compactions; None if its state then is not known any more."""
    added: int | None = None
    """The rows in files that were added in these snapshots. Copy-on-write adds the rows that stay, too."""
    removed: int | None = None
    """The rows in files that were removed, and the deleted positions; None also if there are equality deletes."""

    def __str__(self) -> str:
        now = "" if self.rows is None else f"; {self.rows:,} row(s) now"
        if self.snapshots is None:
            return f"{self.name}: its state at the last refresh is not known{now}"
        if not self.snapshots:
            return f"{self.name}: unchanged{now}"
        added, removed = (
            "an unknown number of rows" if rows is None else f"{rows:,} row(s)" for rows in (self.added, self.removed)
        )
        return f"{self.name}: {self.snapshots} snapshot(s) since, added {added}, removed {removed}{now}"


@dataclass(frozen=True, kw_only=True)
class RefreshExplanation:
    """How a refresh in the mode `auto` would compute the rows."""

    name: ViewName
    """The materialized view."""
    freshness: Freshness
    """How fresh its stored rows are."""
    plans: tuple[RefreshPlan, ...]
    """The plans in the order of preference: each is tried if the one before fails. Empty if the rows are fresh. The
    reason of a plan contains why the modes that would cost less are impossible."""
    changes: tuple[SourceChange, ...]
    """The tables that it reads."""
    stored_rows: int
    """The number of stored rows."""
    max_rows_read: int | None
    """At most this number of rows is read by the first plan; None if it is not known."""

    @property
    def action(self) -> Action:
        """What the refresh would do."""
        return self.plans[0].action if self.plans else Action.UNCHANGED

    def lines(self) -> Iterator[str]:
        """Yield the explanation as text."""
        if not self.plans:
            yield f"{self.name}: unchanged: its rows are fresh"
        for number, plan in enumerate(self.plans):
            yield f"{self.name if number == 0 else 'if that fails'}: {plan.action} refresh: {plan.why}"
        for change in self.changes:
            yield str(change)
        if self.plans and self.max_rows_read is not None:
            yield f"reads at most {self.max_rows_read:,} row(s); {self.stored_rows:,} row(s) are stored"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as JSON values."""
        return {
            "view": self.name,
            "freshness": self.freshness.verdict,
            "reasons": tuple(map(str, self.freshness.reasons)),
            "action": self.action,
            "plans": [{"action": plan.action, "why": plan.why, "where": _condition(plan)} for plan in self.plans],
            "sources": self.changes,
            "stored_rows": self.stored_rows,
            "max_rows_read": self.max_rows_read,
        }


def explain(scope: RefreshScope) -> RefreshExplanation:
    """Explain how a materialized view would be refreshed. Nothing is computed or written."""
    view, observation = scope.view, observe(scope)
    sources, state = observation.sources, observation.recorded.state
    changes = {name: SourceChange(name) for name in sources.hive_tables}
    rows_before: dict[ViewName, int | None] = {}
    for name, table in sources.tables.items():
        source = None if state is None else state.source(name, table.uuid)
        metadata = scope.checker.metadata_cache.table_metadata(str(name), table.location)
        changes[name] = _change(name, table, metadata, None if source is None else source.id)
        rows_before[name] = None if source is None else _total_rows(metadata, source.id)
    plans: tuple[RefreshPlan, ...] = ()
    rows_read = None
    if not observation.is_unchanged:
        prepared = prepare(scope, observation)
        plans = tuple(prepared.plans)
        if not (isinstance(plans[0], Full) and plans[0].reads_stored_rows):
            rows_read = _max_rows_read(prepared.maintained, plans[0], changes, rows_before, stored_row_count(view))
    listed = tuple(changes[name] for name in sorted(changes))
    return RefreshExplanation(
        name=view.name,
        freshness=observation.freshness,
        plans=plans,
        changes=listed,
        stored_rows=stored_row_count(view),
        max_rows_read=rows_read,
    )


def _condition(plan: RefreshPlan) -> str | None:
    """Return the condition that selects the partitions of a plan."""
    return plan.partitions.condition if isinstance(plan, ByPartitions) else None


def _total_rows(metadata: TableMetadata, snapshot_id: int | None) -> int | None:
    """Return the number of rows of a snapshot, by its summary."""
    if snapshot_id is None or snapshot_id == NO_SNAPSHOT:
        return 0
    snapshot = metadata.snapshot_by_id(snapshot_id)
    return row_count(summary_of(snapshot))


def _change(name: ViewName, table: TableState, metadata: TableMetadata, since: int | None) -> SourceChange:
    """Sum the summaries of the snapshots since another one."""
    rows = _total_rows(metadata, metadata.current_snapshot_id)
    later = None if since is None else table.snapshots_since(since)
    if later is None:
        return SourceChange(name, rows)
    changing = [number for number in later if table.snapshots[number].operation != Operation.REPLACE.value]
    snapshots = [snapshot for snapshot in metadata.snapshots if snapshot.snapshot_id in changing]
    summaries = [summary_of(snapshot) for snapshot in snapshots if snapshot.summary]
    if len(summaries) < len(changing):
        return SourceChange(name, rows, len(changing))

    def total(*keys: str) -> int:
        return sum(whole_number(summary.get(key)) or 0 for summary in summaries for key in keys)

    removed = None if total("added-equality-deletes") else total("deleted-records", "added-position-deletes")
    return SourceChange(name, rows, len(changing), total("added-records"), removed)


def _max_rows_read(
    leaves: IncrementalQuery,
    plan: RefreshPlan,
    changes: Mapping[ViewName, SourceChange],
    rows_before: Mapping[ViewName, int | None],
    rows_stored: int,
) -> int | None:
    """Return the rows of the tables, or of the parts of tables, that the queries of a plan name.

    None if one is not known.
    """
    everything: Mapping[int, RowSelection] = dict.fromkeys(range(len(leaves.leaves)), RowSelection.NOW)
    is_merged = isinstance(plan, Incremental) and plan.aggregate is not None
    counts: list[int | None] = [rows_stored if is_merged else 0]
    for selection in plan.selections if isinstance(plan, Incremental) else (everything,):
        for number, part in selection.items():
            name = ViewName(*leaves.leaves[number].name)
            change = changes[name]
            by_part = {
                RowSelection.NOW: change.rows,
                RowSelection.BEFORE: rows_before.get(name),
                RowSelection.ADDED: change.added,
                RowSelection.NONE: 0,
            }
            counts.append(by_part[part])
    for number in plan.keys if isinstance(plan, ByKeys) else ():
        change = changes[ViewName(*leaves.leaves[number].name)]
        counts += [change.added, change.removed]
    return None if None in counts else sum(count for count in counts if count is not None)
