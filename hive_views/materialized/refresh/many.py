"""Refreshing several materialized views: each after those that it reads, independent ones concurrently."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hive_views.errors import HiveViewsError, RefreshConflictError, RefreshError, SqlError
from hive_views.identifiers import ViewName
from hive_views.materialized.loading import is_materialized
from hive_views.materialized.refresh.actions import Action, Mode
from hive_views.materialized.refresh.failures import record_failure
from hive_views.materialized.refresh.refresh import RefreshReport, refresh
from hive_views.materialized.refresh.scope import RefreshScope
from hive_views.metastore.queries import RowCache
from hive_views.metastore.rows.row import RowKind
from hive_views.spec.staleness_policy import METADATA

if TYPE_CHECKING:
    from hive_views.materialized.refresh.request import Engine
    from hive_views.materialized.services import MaterializedServices


class SourceGraph:
    """Follows the sources of views down to tables; each row is read once.

    Attributes:
        ordered: The materialized views that were visited, each after those that it reads.
    """

    def __init__(self, services: MaterializedServices, rows: RowCache) -> None:
        self._services = services
        self._checker = services.checker
        self._rows = rows
        self._visited: dict[ViewName, set[ViewName]] = {}
        self.ordered: list[ViewName] = []

    def materialized_sources(self, name: ViewName) -> set[ViewName]:
        """Return the materialized views among the direct and transitive sources of a view."""
        return self._visit(name) - {name}

    def _visit(self, name: ViewName) -> set[ViewName]:
        """Return the materialized views among a name and its sources."""
        if name in self._visited:
            return self._visited[name]
        self._visited[name] = set()  # ends a cycle
        try:
            sources, has_stored_rows = self._direct_sources(name)
        except HiveViewsError:
            return self._visited[name]  # a refresh of it reports what is wrong
        result = {item for source in sources for item in self._visit(source)}
        if has_stored_rows:
            result.add(name)
            self.ordered.append(name)
        self._visited[name] = result
        return result

    def _direct_sources(self, name: ViewName) -> tuple[list[ViewName], bool]:
        """Return the sources of an object, and whether it is a materialized view."""
        row = self._rows.get(name)
        if row is None:
            return [], False
        if row.kind is RowKind.ICEBERG_TABLE:
            if METADATA not in row.parameters:
                return [], False
            rows = self._rows.shared()
            observed = self._checker.sources(self._services.load(name, rows), rows).observed
            return [source.name for source in observed.sources], True
        if not row.kind.is_view:
            return [], False
        is_stored = row.kind is RowKind.ICEBERG_VIEW and is_materialized(
            self._checker.metadata_cache.view(row.metadata_location or "")
        )
        return [item.name for item in self._checker.lineage_reader.read(row, self._rows.get).dependencies], is_stored


def materialized_sources(services: MaterializedServices, name: ViewName) -> list[ViewName]:
    """Return the materialized views among the sources of a view, each before those of them that read it."""
    graph = SourceGraph(services, services.checker.rows())
    needed = graph.materialized_sources(name)
    return [item for item in graph.ordered if item in needed]


def sources_among(
    services: MaterializedServices, names: Sequence[ViewName], rows: RowCache
) -> dict[ViewName, set[ViewName]]:
    """Return the materialized views among the sources of each view, in the order of their dependencies."""
    graph = SourceGraph(services, rows)
    sources = {name: graph.materialized_sources(name) for name in names}
    ordered = [*(name for name in graph.ordered if name in sources), *names]  # names that are gone come last
    return {name: sources[name] for name in ordered}


@dataclass(frozen=True)
class RefreshOutcome:
    """The outcome for one of several materialized views: a report, an error, or neither if it was skipped."""

    name: ViewName
    """The materialized view."""
    report: RefreshReport | None = None
    """What its refresh did."""
    error: HiveViewsError | None = None
    """Why its refresh failed."""
    skipped_for: ViewName | None = None
    """The view that it reads and whose refresh failed, so that this one was not tried."""

    @property
    def action(self) -> Action:
        """The report's action, FAILED or SKIPPED."""
        if self.report is not None:
            return self.report.action
        return Action.FAILED if self.error is not None else Action.SKIPPED

    @property
    def why(self) -> str:
        """The reason for the action."""
        if self.report is not None:
            return self.report.why
        return str(self.error) if self.error is not None else f"the refresh of {self.skipped_for} failed"


def refresh_views(
    services: MaterializedServices,
    names: Sequence[ViewName],
    engine: Engine,
    *,
    mode: Mode = Mode.AUTO,
    parallel: int = 1,
    progress: Callable[[str], None] | None = None,
) -> list[RefreshOutcome]:
    """Refresh several materialized views, each once and after those among them that it reads."""
    sources = sources_among(services, names, services.checker.rows()) if len(names) > 1 else {}
    numbers = itertools.count(1)

    def refresh_one(name: ViewName) -> RefreshReport:
        item_progress = progress
        if progress is not None and len(names) > 1:
            item_progress = _with_prefix(progress, f"[{next(numbers)}/{len(names)}] ")
        view, started_ms, started = services.load(name), int(time.time() * 1000), time.monotonic()
        scope = RefreshScope(services.store, services.tables, view, services.checker, engine)
        try:
            return refresh(scope, mode, item_progress)
        except (RefreshError, SqlError) as error:
            record_failure(services.store, view, started_ms, time.monotonic() - started, error.reason)
            raise

    return refresh_in_order([*filter(names.__contains__, sources)] or names, sources, refresh_one, parallel)


def completed_reports(outcomes: Sequence[RefreshOutcome]) -> list[RefreshReport]:
    """Return the reports of refreshes that belong together; raises the error of the one that failed."""
    reports = [outcome.report for outcome in outcomes if outcome.report is not None]
    for outcome in outcomes:
        if outcome.error is not None:
            if isinstance(outcome.error, (RefreshError, RefreshConflictError)):
                outcome.error.completed = tuple(f"{report.name}: {report.action}" for report in reports)
            outcome.error.add_completed_steps(
                *(f"{report.name} was refreshed" for report in reports if report.action is not Action.UNCHANGED)
            )
            raise outcome.error
    return reports


def refresh_in_order(
    names: Sequence[ViewName],
    sources: Mapping[ViewName, Collection[ViewName]],
    refresh_one: Callable[[ViewName], RefreshReport],
    parallel: int = 1,
) -> list[RefreshOutcome]:
    """Refresh views, each once and after its sources among them; a failure skips only the views that depend on it."""
    waiting = {name: {item for item in sources.get(name, ()) if item in set(names)} for name in dict.fromkeys(names)}
    outcomes: dict[ViewName, RefreshOutcome] = {}
    running: dict[Future[RefreshReport], ViewName] = {}
    with ThreadPoolExecutor(parallel) if parallel > 1 else nullcontext() as pool:
        while waiting or running:
            for name, needed in list(waiting.items()):
                failed = sorted(item for item in needed if item in outcomes and outcomes[item].report is None)
                if failed:
                    outcomes[name] = RefreshOutcome(name, skipped_for=outcomes[failed[0]].skipped_for or failed[0])
                    del waiting[name]
                elif len(running) < max(1, parallel) and needed <= outcomes.keys():
                    running[_submit(pool, refresh_one, name)] = name
                    del waiting[name]
            if not running:
                continue  # what remains depends on views that were skipped just now
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                name = running.pop(future)
                try:
                    outcomes[name] = RefreshOutcome(name, future.result())
                except HiveViewsError as error:
                    outcomes[name] = RefreshOutcome(name, error=error)
    return list(outcomes.values())


def _submit(
    pool: ThreadPoolExecutor | None, refresh_one: Callable[[ViewName], RefreshReport], name: ViewName
) -> Future[RefreshReport]:
    """Start a refresh in the pool; without one, run it in this thread, which an interrupt then ends at once."""
    if pool is not None:
        return pool.submit(refresh_one, name)
    future: Future[RefreshReport] = Future()
    try:
        future.set_result(refresh_one(name))
    except HiveViewsError as error:
        future.set_exception(error)
    return future


def _with_prefix(progress: Callable[[str], None], prefix: str) -> Callable[[str], None]:
    return lambda line: progress(f"{prefix}{line}")
