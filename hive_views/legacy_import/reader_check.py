"""A run for other readers than its plan: the findings for them, and the views that `--strict` then refuses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pyiceberg.catalog import Catalog

from hive_views.catalog.catalog import HiveViewCatalog
from hive_views.legacy_import.journal import read_journal
from hive_views.legacy_import.options import MOST_CALLS
from hive_views.legacy_import.plan import (
    ImportPlan,
    PlanEntry,
    PlanStatus,
    plan_views,
    read_legacy_rows,
    scan_row,
)
from hive_views.metastore.queries import warn_of_refused


def plan_for_readers(
    plan: ImportPlan,
    catalog: HiveViewCatalog,
    *,
    journal: Path,
    readers: Sequence[str] | None = None,
    strict: bool = False,
    to: Catalog | None = None,
    most_calls: int = MOST_CALLS,
) -> ImportPlan:
    """Return a plan as for other readers. Writes nothing.

    Args:
        plan: The plan.
        catalog: The catalog of the legacy views.
        journal: The journal of the run. If it has a run for the same readers, the plan of that run is returned,
            because converted views are no legacy views any more.
        readers: The engines that are to read the new views; None for those of the plan.
        strict: Whether to refuse views with a finding for one of them, even if the plan does not.
        to: The catalog for the new views; None for `catalog`.
        most_calls: Maximum number of concurrent metastore calls.

    Raises:
        UsageError: If a reader is unknown.
        JournalError: If the journal cannot be read.
        MetastoreUnavailableError: If the metastore cannot be reached.
        CatalogUnavailableError: If the REST catalog cannot be read.
    """
    wanted = tuple(plan.options.readers if readers is None else readers)
    options = replace(plan.options, readers=wanted, strict=strict or plan.options.strict)
    if options == plan.options:
        return plan
    recorded = read_journal(journal, with_rows=False).plan if journal.is_file() and journal.stat().st_size else None
    if recorded is not None and recorded.options == options and _has_rows_of(recorded, plan):
        return recorded
    names = [entry.name for entry in plan.entries]
    rows = read_legacy_rows(catalog, names, most_calls=most_calls, on_refused=warn_of_refused)
    views = (scan_row(row, options) for row in rows)
    again = plan_views(views, catalog, options, to=to, most_calls=most_calls).by_name
    entries = tuple(_checked(entry, again.get(entry.name)) for entry in plan.entries)
    return replace(plan, options=options, entries=entries)


def _has_rows_of(recorded: ImportPlan, plan: ImportPlan) -> bool:
    return [(entry.name, entry.fingerprint) for entry in recorded.entries] == [
        (entry.name, entry.fingerprint) for entry in plan.entries
    ]


def _checked(entry: PlanEntry, again: PlanEntry | None) -> PlanEntry:
    """Return an entry with what was found for other readers; unchanged if its row or conversion changed meanwhile."""
    if again is None or again.fingerprint != entry.fingerprint or entry.status is not PlanStatus.READY:
        return entry
    if again.status is not PlanStatus.READY:
        return replace(entry, status=again.status, problem=again.problem, blocked_by=again.blocked_by, engines=())
    return replace(entry, engines=again.engines) if again.new_text == entry.new_text else entry
