"""An import on Spark's executors: they read, convert and swap views; the driver has the plan and writes the journal.

Views are processed in batches whose views do not read each other. Each batch takes two stages. The first stage reads
the rows, and parses and expands the texts. Then the driver announces all files of the batch in the journal on its disk,
and the second stage writes the files and swaps the rows. Executors call the same functions as a run in one process, so
the plan, the rows and the journal are the same except for the order of the journal's lines. A run on Spark can resume a
run in one process, and the reverse.

Spark may run a task twice, because an executor died or by speculative execution. The second attempt finds that the row
names the announced metadata file, and reports the view as converted. Executors never delete files that two attempts may
share.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hive_views.config import with_token
from hive_views.errors import HiveViewsError, MetastoreRefusedError, UsageError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.journal import ImportOutcome, ImportStatus, Journal
from hive_views.legacy_import.options import MOST_CALLS, ImportOptions, check_most_calls
from hive_views.legacy_import.plan import (
    ImportPlan,
    PlanEntry,
    Planner,
    PlanOrder,
    PlanProgress,
    check_all_planned,
    list_candidates,
    order_views,
    scan_row,
    with_unreadable,
)
from hive_views.legacy_import.planned_store import ScannedView
from hive_views.legacy_import.readers.detection import is_legacy
from hive_views.legacy_import.run import (
    Importer,
    PendingImport,
    RestImporter,
    RunProgress,
    RunResult,
    RunState,
    importer_for,
    rejects_late_requests,
)
from hive_views.legacy_import.targets import target_address
from hive_views.metastore.queries import read_rows, unreadable_row
from hive_views.metastore.rows.row import Row
from hive_views.metastore.store import LoadedView
from hive_views.spark.analyzer import typed_columns
from hive_views.spark.jvm import is_classic
from hive_views.spark.legacy_import.verified_run import CheckedRun, CheckProgress, SparkCheck, run_verified
from hive_views.spark.sessions import spark_exceptions
from hive_views.spark.versions import check_session_version

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from hive_views.catalog.catalog import HiveViewCatalog

_T = TypeVar("_T")
_R = TypeVar("_R")

_ROWS_PER_TASK = 50
"""Number of rows that a task reads in one request."""

_VIEWS_PER_TASK = 100
"""Number of views in a task. A larger number needs fewer stages; a smaller one reports progress more often."""


class ImportJobError(HiveViewsError):
    """Spark cancelled an import because executors failed. The journal records what is complete; run again to resume."""


class SparkImport:
    """Plans and runs imports on Spark's executors."""

    def __init__(self, spark: SparkSession, catalog: HiveViewCatalog, *, most_calls: int = MOST_CALLS) -> None:
        """Create an import job. Nothing runs yet.

        Args:
            spark: A classic session. Its executors must have this package installed, and must be able to reach the
                metastore and the storage with the catalog's properties.
            catalog: The catalog of the legacy views.
            most_calls: Maximum number of concurrent metastore calls of all executors together, besides heartbeats of
                locks. It is also the maximum number of concurrent tasks; each makes one call at a time.

        Raises:
            UnsupportedSparkError: If this release does not run on that version of Spark.
            UsageError: If the session is a Spark Connect session, or the number is not positive.
        """
        check_session_version(spark)
        if not is_classic(spark):
            raise UsageError(
                "--spark",
                "a Spark Connect session cannot run an import on its executors; import in one process, or use a "
                "classic session on a machine of the cluster",
            )
        check_most_calls(most_calls)
        self._spark = spark
        self._catalog = catalog
        self._most_calls = most_calls

    def plan(
        self,
        *,
        databases: Sequence[str] = (),
        names: Sequence[ViewName] = (),
        options: ImportOptions | None = None,
        to: HiveViewCatalog | None = None,
        progress: PlanProgress | None = None,
    ) -> ImportPlan:
        """Plan an import; the plan equals that of `hive_views.legacy_import.plan_import`.

        Args:
            databases: Databases whose legacy views are all planned.
            names: Further views.
            options: Options of the import.
            to: The catalog for the new views; None for the catalog of the legacy views.
            progress: Called for each view of a batch when the batch is planned.

        Returns:
            The plan.

        Raises:
            ImportJobError: If Spark cancels the job, or an executor cannot reach the metastore.
            NoSuchNamespaceError: If a database of the views, or the database of the option `to_database`, does not
                exist.
            NoSuchViewError: If one of `names` is not a legacy view.
            MetastoreError: If the metastore cannot list the views.
        """
        options = options or ImportOptions()
        candidates = list_candidates(self._catalog, databases, names, options, to)
        importer = self._importer(ImportPlan((), options, to=target_address(to)), to)
        name_lists = [candidates[start : start + _ROWS_PER_TASK] for start in range(0, len(candidates), _ROWS_PER_TASK)]
        scanned = list(self._run_stage(importer, name_lists, _scan))
        files = {name for part in scanned for view in part.views for name in view.files}
        if files:
            options = replace(options, file_columns=self._columns_of_files(files))
            importer = self._importer(ImportPlan((), options, to=target_address(to)), to)
        order = order_views(view for part in scanned for view in part.views)
        entries: dict[ViewName, PlanEntry] = {}
        loaded: dict[ViewName, LoadedView] = {}
        read_views = order.read_views
        plan_id = secrets.token_hex(8)
        for batch in self._batches(_levels(order)):
            tasks = [_plan_task(order, part, entries, loaded, read_views) for part in self._split(batch)]
            for results in self._run_stage(importer, tasks, partial(_plan, plan_id=plan_id)):
                for entry, future_view in results:
                    entries[entry.name] = entry
                    if future_view is not None:
                        loaded[entry.name] = future_view
                    if progress is not None:
                        progress(len(entries), len(order.views))
        plan = ImportPlan(tuple(entries[name] for name in order.views), options, order.cycles, target_address(to))
        plan = with_unreadable(plan, {name: text for part in scanned for name, text in part.unreadable.items()})
        check_all_planned(plan, self._catalog, names)
        return plan

    def run(
        self,
        plan: ImportPlan,
        journal_path: Path,
        *,
        to: HiveViewCatalog | None = None,
        verify: str | None = None,
        progress: RunProgress | None = None,
        check_progress: CheckProgress | None = None,
    ) -> CheckedRun:
        """Run a plan. The journal is that of `hive_views.legacy_import.run_plan`: each can resume the other's run.

        By default Spark's analyzer checks each definition before and after the run, without reading rows.

        Args:
            plan: The plan.
            journal_path: The journal's file, written by this process.
            to: The catalog for the new views; None for the catalog of the legacy views.
            verify: `columns` compares the columns that Spark's analyzer returns; `rows` also compares the number and
                the checksum of each view's rows; `none` compares nothing. None means `columns`, or `none` if the same
                Spark cannot read both the legacy and the new views, because the new views go to another metastore or to
                a catalog named spark_catalog.
            progress: Called for each view of a batch when the batch ends.
            check_progress: Called while Spark checks the views before and after the run.

        Returns:
            The outcome of each view, and the results of the checks.

        Raises:
            ImportJobError: If Spark cancels the job. Run again.
            PlanError: If the plan is for another target.
            JournalError: If the journal cannot be used.
            UsageError: If `verify` is not possible, or the views are not in the session catalog.
        """
        check = SparkCheck(self._spark, verify, check_progress)
        return self.run_checked(plan, journal_path, check, to=to, progress=progress)

    def run_checked(
        self,
        plan: ImportPlan,
        journal_path: Path,
        check: SparkCheck,
        *,
        to: HiveViewCatalog | None = None,
        progress: RunProgress | None = None,
    ) -> CheckedRun:
        """Run a plan as `run`, with the checks in place of `verify` and `check_progress`."""
        importer = self._importer(plan, to)

        def run() -> RunResult:
            return self._run(importer, plan, journal_path, to, progress)

        return run_verified(check, plan, self._catalog, journal_path, run, to=to)

    def _columns_of_files(self, names: Iterable[str]) -> dict[str, tuple[tuple[str, str], ...]]:
        """Return the columns of files by the name of the files; without those that Spark cannot read."""
        known = {}
        for name in sorted(names):
            with contextlib.suppress(*spark_exceptions()):
                known[name] = typed_columns(self._spark.table(name).schema)
        return known

    def _importer(self, plan: ImportPlan, to: HiveViewCatalog | None) -> Importer:
        importer = importer_for(plan, self._catalog, to)
        if isinstance(importer, RestImporter):
            raise UsageError("to", "Spark cannot import to a REST catalog; import in one process")
        return importer

    def _run(
        self,
        importer: Importer,
        plan: ImportPlan,
        journal_path: Path,
        to: HiveViewCatalog | None,
        progress: RunProgress | None,
    ) -> RunResult:
        with Journal(journal_path, plan) as journal:
            state = RunState(plan, journal, to or self._catalog, progress)
            levels: dict[int, list[PlanEntry]] = {}
            for entry in plan.entries:
                levels.setdefault(entry.level, []).append(entry)
            for batch in self._batches(levels[level] for level in sorted(levels)):
                entries = [entry for entry in batch if state.must_convert(entry)]
                self._convert(importer, entries, journal, state)
            return state.result

    def _convert(self, importer: Importer, entries: list[PlanEntry], journal: Journal, state: RunState) -> None:
        """Convert views that do not read each other."""
        unfinished = {entry.name for entry in entries if state.is_unfinished(entry)}
        pending: list[PendingImport] = []
        for steps in self._run_stage(importer, self._split(entries), _compute):
            for step in steps:
                if isinstance(step, PendingImport):
                    pending.append(step)
                else:
                    state.record(step)
        journal.announce(step.announcement for step in pending)
        tasks = self._split([(step, step.entry.name in unfinished) for step in pending])
        for task, outcomes in zip(tasks, self._run_stage(importer, tasks, _swap), strict=True):
            for (step, _), outcome in zip(task, outcomes, strict=True):
                if outcome.status is ImportStatus.REFUSED and rejects_late_requests(importer.target.store):
                    # Another program changed the row, so this server rejects a late request of a lost executor.
                    importer.discard(step)
                state.record(outcome)

    def _batches(self, levels: Iterable[Sequence[_T]]) -> Iterator[Sequence[_T]]:
        """Cut levels, whose views do not read each other, into the batches of a stage."""
        size = self._most_calls * _VIEWS_PER_TASK
        for level in levels:
            for start in range(0, len(level), size):
                yield level[start : start + size]

    def _split(self, batch: Sequence[_T]) -> list[list[_T]]:
        """Distribute a batch over the tasks of a stage."""
        count = min(self._most_calls, len(batch))
        return [list(batch[number::count]) for number in range(count)]

    def _run_stage(self, importer: Importer, tasks: Sequence[_T], function: Callable[[Importer, _T], _R]) -> list[_R]:
        """Run a function on the executors, at most `most_calls` tasks at once, and return the results in order."""
        if not tasks:
            return []
        context = self._spark.sparkContext
        on_executors = importer if _are_local(context) else _with_tokens(importer, self._catalog)
        try:
            with _this_python(context):
                tasks_rdd = context.parallelize(tasks, min(self._most_calls, len(tasks)))
                results = tasks_rdd.map(partial(_run_task, function, on_executors)).collect()
        except spark_exceptions() as error:
            reason = str(getattr(error, "java_exception", None) or error).strip()
            raise ImportJobError(
                f"Spark cancelled the import; run again to resume it. Spark reports: {reason}"
            ) from error
        completed: list[_R] = []
        for result in results:
            if isinstance(result, _TaskFailure):
                raise ImportJobError(f"An executor could not continue the import: {result.text}")
            completed.append(result)
        return completed


def _are_local(context: SparkContext) -> bool:
    """Return whether the executors run in the driver's process, and so have its tickets."""
    master: str = context.master
    return master == "local" or master.startswith("local[")


def _with_tokens(importer: Importer, source: HiveViewCatalog) -> Importer:
    """Return an importer that authenticates by tokens of the driver's user where the driver uses Kerberos."""
    target = None if importer.to_properties is None else _with_token(importer.target)
    return replace(importer, properties=_with_token(source), to_properties=target)


def _with_token(catalog: HiveViewCatalog) -> Mapping[str, str]:
    delegated = catalog.store.client.delegation_token()
    return catalog.properties if delegated is None else with_token(catalog.properties, *delegated)


@contextlib.contextmanager
def _this_python(context: SparkContext) -> Iterator[None]:
    """Let local workers use the Python of this process, which has this package, unless the user has set another one."""
    python = context.pythonExec
    if context.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable
    try:
        yield
    finally:
        context.pythonExec = python


def _levels(order: PlanOrder) -> list[list[ViewName]]:
    """Group views by the length of their longest chain of sources. In a cycle, sources that come later are ignored."""
    level_of: dict[ViewName, int] = {}
    levels: list[list[ViewName]] = []
    for name in order.views:
        level = max((level_of[source] + 1 for source in order.sources[name] if source in level_of), default=0)
        level_of[name] = level
        if level == len(levels):
            levels.append([])
        levels[level].append(name)
    return levels


# -- On the executors --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _TaskFailure:
    """An error that ends the job; returned, because Spark retries a task that raises."""

    text: str


def _run_task(function: Callable[[Importer, _T], _R], importer: Importer, task: _T) -> _R | _TaskFailure:
    try:
        return function(importer, task)
    except HiveViewsError as error:
        return _TaskFailure(str(error))


@dataclass(frozen=True)
class _ScannedViews:
    """The legacy views among some names, and why the rows of others cannot be read."""

    views: list[ScannedView]
    unreadable: dict[ViewName, str]


def _scan(importer: Importer, names: list[ViewName]) -> _ScannedViews:
    unreadable: dict[ViewName, str] = {}

    def on_refused(name: ViewName, error: MetastoreRefusedError) -> None:
        unreadable[name] = unreadable_row(error)

    rows = read_rows(importer.source.store, names, most_calls=1, on_refused=on_refused)
    return _ScannedViews([scan_row(row, importer.options) for row in rows if is_legacy(row)], unreadable)


@dataclass(frozen=True, kw_only=True)
class _PlanTask:
    """Views to plan, and the plan entries of their direct and transitive sources."""

    views: tuple[ScannedView, ...]
    sources: Mapping[ViewName, tuple[ViewName, ...]]
    cycles: Mapping[ViewName, tuple[ViewName, ...] | None]
    transitive_sources: tuple[ScannedView, ...]
    entries: Mapping[ViewName, PlanEntry]
    loaded: Mapping[ViewName, LoadedView]
    has_readers: frozenset[ViewName]


def _plan_task(
    order: PlanOrder,
    names: Sequence[ViewName],
    entries: Mapping[ViewName, PlanEntry],
    loaded: Mapping[ViewName, LoadedView],
    read_views: frozenset[ViewName],
) -> _PlanTask:
    transitive_sources: dict[ViewName, None] = {}
    waiting = list(names)
    while waiting:
        for source in order.sources[waiting.pop()]:
            if source not in transitive_sources:
                transitive_sources[source] = None
                waiting.append(source)
    return _PlanTask(
        views=tuple(order.views[name] for name in names),
        sources={name: order.sources[name] for name in names},
        cycles={name: order.cycle_of(name) for name in names},
        transitive_sources=tuple(order.views[name] for name in transitive_sources if name not in names),
        entries={name: entries[name] for name in transitive_sources if name in entries},
        loaded={name: loaded[name] for name in transitive_sources if name in loaded},
        has_readers=read_views.intersection(names),
    )


@lru_cache(maxsize=1)
def _fetched_rows(plan_id: str) -> dict[ViewName, Row | None]:
    """Return the rows that this process read for a plan, kept for its next task."""
    return {}


def _plan(importer: Importer, task: _PlanTask, *, plan_id: str) -> list[tuple[PlanEntry, LoadedView | None]]:
    target = None if importer.to_properties is None else importer.target
    planner = Planner(importer.source, target, importer.options, _fetched_rows(plan_id))
    for view in (*task.transitive_sources, *task.views):
        planner.add(view)
    for name, loaded in task.loaded.items():
        planner.add_planned(task.entries[name].target, loaded)
    planner.fetch_sources(task.views, most_calls=1)
    results = []
    for view in task.views:
        entry = planner.plan(view, task.sources[view.name], task.entries, task.cycles[view.name])
        results.append((entry, planner.planned(entry.target) if view.name in task.has_readers else None))
    return results


def _compute(importer: Importer, entries: list[PlanEntry]) -> list[PendingImport | ImportOutcome]:
    rows = importer.read_rows(entries)
    return [importer.compute(entry, rows) for entry in entries]


def _swap(importer: Importer, tasks: list[tuple[PendingImport, bool]]) -> list[ImportOutcome]:
    from pyspark import TaskContext

    context = TaskContext.get()
    is_retry = context is not None and context.attemptNumber() > 0
    steps = []
    for pending, is_unfinished in tasks:
        step = importer.write_files(pending, is_shared=True)
        if isinstance(step, PendingImport):
            step = importer.swap(step, wait_for_dead_lock=is_unfinished or is_retry, is_shared=True)
        steps.append((pending, step))
    return importer.prove_all(steps)
