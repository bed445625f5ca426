"""Refreshing several materialized views: each after those that it reads, independent ones concurrently."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass

from hive_views.errors import HiveViewsError
from hive_views.identifiers import ViewName
from hive_views.materialized.refresh.refresh import RefreshReport


@dataclass(frozen=True)
class RefreshOutcome:
    """What became of one of several materialized views: a report, an error, or neither if it was skipped."""

    name: ViewName
    """The materialized view."""
    report: RefreshReport | None = None
    """What its refresh did."""
    error: HiveViewsError | None = None
    """Why its refresh failed."""
    skipped_for: ViewName | None = None
    """The view that it reads and whose refresh failed, so that this one was not tried."""

    @property
    def action(self) -> str:
        """The report's action, `failed` or `skipped`."""
        if self.report is not None:
            return self.report.action
        return "failed" if self.error is not None else "skipped"

    @property
    def why(self) -> str:
        """The reason for the action."""
        if self.report is not None:
            return self.report.why
        return str(self.error) if self.error is not None else f"the refresh of {self.skipped_for} failed"


def refresh_in_order(
    names: Sequence[ViewName],
    sources: Mapping[ViewName, Collection[ViewName]],
    refresh_one: Callable[[ViewName], RefreshReport],
    parallel: int = 1,
) -> list[RefreshOutcome]:
    """Refresh views, each once and after its sources among them; a failure skips only the views that depend on it.

    Args:
        names: The views.
        sources: The direct and transitive sources of each; names that are not to be refreshed are ignored.
        refresh_one: Refreshes one view.
        parallel: How many views to refresh at the same time.

    Returns:
        One outcome for each view, in the order in which they ended.
    """
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
