"""A run: the views of a plan imported one after another, each behind those that it reads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from hive_views.catalog.catalog import HiveViewCatalog
from hive_views.errors import HiveViewsError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.journal import Journal, Prepared
from hive_views.legacy_import.model import Reason
from hive_views.legacy_import.options import MOST_CALLS, Options, check_most_calls
from hive_views.legacy_import.outcome import Outcome, Status, planned
from hive_views.legacy_import.plan import Entry, Plan, Verdict
from hive_views.legacy_import.planner import planned_store, target_of
from hive_views.legacy_import.worker import Looked, Work
from hive_views.metastore.capabilities import honors_cas
from hive_views.metastore.store import MetastoreStore

Progress = Callable[[int, int, Outcome], None]
"""Told how many views are done, of how many, and the last one's outcome."""

_AHEAD = 3
"""Views that are worked out, and whose files are written, while the metastore is at work on another one."""
_HANDS = 2
"""How many of them at once: one reads and thinks while the other waits for the disk."""

_DONE = (Status.CONVERTED, Status.WOULD_CONVERT)


@dataclass(frozen=True)
class RunResult:
    """What a run did."""

    outcomes: tuple[Outcome, ...]
    """How each view of the plan ended, in the plan's order."""

    @property
    def complete(self) -> bool:
        """Whether every view that was ready is converted."""
        return not any(
            outcome.status in (Status.FAILED, Status.UNKNOWN, Status.PENDING) or outcome.reason is Reason.CHANGED
            for outcome in self.outcomes
        )


def work_for(plan: Plan, catalog: HiveViewCatalog, to: HiveViewCatalog | None = None, *, dry: bool = False) -> Work:
    """What the workers of a plan need to know.

    Args:
        plan: The plan.
        catalog: Where the legacy views are.
        to: Where the new views go; None is the same catalog.
        dry: Whether nothing is to be written.

    Raises:
        PlanError: If the plan is for another target.
    """
    plan.check_target(target_of(to))
    options: Options = plan.options
    return Work(
        catalog.name,
        dict(catalog.properties),
        options,
        {entry.name: entry.target for entry in plan.entries},
        None if to is None else to.name,
        None if to is None else dict(to.properties),
        dry,
        below=planned_store((to or catalog).store) if dry else None,
    )


def run_plan(
    plan: Plan,
    catalog: HiveViewCatalog,
    journal_path: Path,
    *,
    to: HiveViewCatalog | None = None,
    most_calls: int = MOST_CALLS,
    progress: Progress | None = None,
) -> RunResult:
    """Import the views of a plan. Run again after a crash, it goes on where it was.

    While the metastore is at work on one view, the next ones that do not read it are worked out, and their files are
    written: a run that is killed leaves the files of a few views more, and the next run knows of them.

    Args:
        plan: The plan.
        catalog: Where the legacy views are.
        journal_path: The journal's file; begun where it is not there.
        to: Where the new views go; None is the same catalog.
        most_calls: How many calls the metastore gets at once, at most; besides, a lock may be kept alive. More than
            three are never made.
        progress: Told after each view.

    Returns:
        How each view ended.

    Raises:
        PlanError: If the plan is for another target.
        JournalError: If the journal cannot be used. What happens to single views is in the outcomes.
        UsageError: If `most_calls` is not positive.
    """
    check_most_calls(most_calls)
    work = work_for(plan, catalog, to)
    # Each hand makes one call at a time, and so does this thread, which waits for them or is at work on a swap. With
    # one call alone they take turns.
    hands = min(_HANDS, most_calls - 1)
    ahead = _AHEAD if hands else 0
    with Journal(journal_path, plan) as journal, ThreadPoolExecutor(max(hands, 1), "hive-views-import") as pool:
        ledger = Ledger(plan, journal, (to or catalog).store, progress)
        # Level by level, so that neighbors seldom read each other.
        order = sorted(plan.entries, key=lambda entry: entry.level)
        begun: dict[ViewName, tuple[Future[Looked], bool]] = {}

        def begin(entry: Entry) -> None:
            patient = ledger.unfinished(entry)  # now: what `prepare` notes is our own
            begun[entry.name] = pool.submit(lambda: work.look(entry).prepare(journal.prepared)), patient

        try:
            for number, entry in enumerate(order):
                if not ledger.waits(entry):
                    continue
                for later in order[number : number + 1 + ahead]:
                    if later.name not in begun and (later is entry or ledger.may_begin(later)):
                        begin(later)
                future, patient = begun[entry.name]
                view = future.result()
                del begun[entry.name]
                ledger.done(entry, view.finish(patient=patient))
        finally:
            for future, _ in begun.values():
                if not future.cancel() and future.exception() is None:
                    future.result().forget()
        return ledger.result


def dry_run(
    plan: Plan, catalog: HiveViewCatalog, *, to: HiveViewCatalog | None = None, progress: Progress | None = None
) -> RunResult:
    """Look whether a plan could be run now, view by view. Writes nothing, in metastore, storage or journal.

    Each view is looked at as a run would look at it, on top of those that it reads as they would be by then; one that
    reads a view which would not be converted is blocked by that.

    Args:
        plan: The plan.
        catalog: Where the legacy views are.
        to: Where the new views would go.
        progress: Told after each view.

    Returns:
        How each view would end.

    Raises:
        PlanError: If the plan is for another target.
    """
    work = work_for(plan, catalog, to, dry=True)
    ended: dict[ViewName, Outcome] = {}
    for entry in plan.entries:
        outcome = planned(entry)
        if entry.verdict is Verdict.READY:
            outcome = blocked(entry, ended) or work.convert(entry, _nothing)
        ended[entry.name] = outcome
        if progress is not None:
            progress(len(ended), len(plan.entries), outcome)
    return RunResult(tuple(ended.values()))


class Ledger:
    """What a run knows and notes of its views, in whatever process those are converted."""

    def __init__(self, plan: Plan, journal: Journal, store: MetastoreStore, progress: Progress | None) -> None:
        """Begin, or go on where the journal ends.

        Args:
            plan: The plan.
            journal: Its journal, open.
            store: Where the new views go.
            progress: Told after each view.
        """
        self._plan = plan
        self._journal = journal
        self._store = store
        self._progress = progress
        self._names = frozenset(entry.name for entry in plan.entries)
        self._ended: dict[ViewName, Outcome] = {}
        # How the runs before this one left it.
        self._before = dict(journal.history.outcomes)

    def waits(self, entry: Entry) -> bool:
        """Whether a view is to be converted; if not, how it ends is noted. Those that it reads have ended.

        Args:
            entry: The view.
        """
        outcome = planned(entry)
        if entry.verdict is Verdict.READY:
            outcome = blocked(entry, self._ended) or outcome
        if outcome.status is Status.PENDING:
            return True
        if outcome != self._before.get(entry.name):
            self._journal.outcome(outcome)
        self._end(entry, outcome)
        return False

    def may_begin(self, entry: Entry) -> bool:
        """Whether a view whose turn comes later can be worked out now: it is ready, and those that it reads have ended.

        Args:
            entry: The view.
        """
        if entry.verdict is not Verdict.READY or blocked(entry, self._ended) is not None:
            return False
        return all(name in self._ended for name in entry.reads if name in self._names)

    def unfinished(self, entry: Entry) -> bool:
        """Whether somebody began to convert a view, and did not say how it ended."""
        history = self._journal.history
        before = history.outcomes.get(entry.name)
        return entry.name in history.prepared and (before is None or before.status is not Status.CONVERTED)

    def done(self, entry: Entry, outcome: Outcome) -> None:
        """Note how the conversion of a view ended.

        Args:
            entry: The view.
            outcome: How it ended.

        Raises:
            JournalError: If it cannot be noted.
        """
        before = self._before.get(entry.name)
        if outcome.found and before is not None and before.status is Status.CONVERTED:
            outcome = before
        else:
            self._journal.outcome(outcome)
        if outcome.status is Status.CONVERTED:
            tidy(self._store, self._journal, outcome)
            self._journal.forget(outcome.name)
        self._end(entry, outcome)

    @property
    def result(self) -> RunResult:
        """How each view ended, in the plan's order; the others are pending."""
        return RunResult(tuple(self._ended.get(entry.name, planned(entry)) for entry in self._plan.entries))

    def _end(self, entry: Entry, outcome: Outcome) -> None:
        self._ended[entry.name] = outcome
        if self._progress is not None:
            self._progress(len(self._ended), len(self._plan.entries), outcome)


def blocked(entry: Entry, ended: dict[ViewName, Outcome]) -> Outcome | None:
    """The outcome of a view that reads one which was not converted; None where it may go on.

    Args:
        entry: The view.
        ended: How those before it ended.
    """
    for name in entry.reads:
        below = ended.get(name)
        if below is not None and below.status not in _DONE:
            blocker = below.blocked_by or name
            return replace(
                planned(entry),
                status=Status.BLOCKED,
                reason=Reason.BLOCKED,
                text=f"it reads {name}, and {blocker} was not converted",
                blocked_by=blocker,
            )
    return None


def tidy(store: MetastoreStore, journal: Journal, outcome: Outcome) -> None:
    """Delete the files that a run which was killed had written for a view, once another file is the view's.

    A request of that run may still be on its way; where the server compares, it will refuse it, and where it does not
    the files stay.

    Args:
        store: Where the view is.
        journal: What was announced.
        outcome: The view, converted.
    """
    # Told by the backup, which belongs to one attempt: the view may have got newer metadata since.
    others = [item for item in journal.history.prepared.get(outcome.name, ()) if item.backup != outcome.backup]
    if not others:
        return
    try:
        if not honors_cas(store.client):
            return
    except HiveViewsError:
        return  # a kept file is cheap
    for item in others:
        store.files.delete(item.metadata_location)
        store.files.delete(item.backup)


def _nothing(item: Prepared) -> None:
    raise AssertionError(f"a dry run writes nothing, and wanted to write {item.metadata_location}")
