"""An import spread over the executors of a Spark: reading, parsing, expanding and writing.

Each worker is a partition, opens the catalogs from their properties, and takes views from the driver's desk
(`hive_views.spark.legacy_import.work_queue`) by the very functions that a run of one process calls; plan and journal
are the driver's. So plan, rows and journal are those of one process, but for the order of the journal's lines.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hive_views.errors import HiveViewsError, UsageError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.journal import Journal, Prepared
from hive_views.legacy_import.options import MOST_CALLS, Options, check_most_calls
from hive_views.legacy_import.outcome import Outcome
from hive_views.legacy_import.plan import Entry, Plan, Verdict
from hive_views.legacy_import.planner import Found, Order, Planner, look, order_of, target_of, wanted_views, with_all
from hive_views.legacy_import.planner import Progress as Planned
from hive_views.legacy_import.readers.detection import is_legacy
from hive_views.legacy_import.run import Ledger, Progress, RunResult, work_for
from hive_views.legacy_import.worker import Work, catalog_of
from hive_views.metastore.queries import read_rows
from hive_views.metastore.row_codec import Row
from hive_views.metastore.store import LoadedView
from hive_views.spark.legacy_import.verification import Checked
from hive_views.spark.legacy_import.verified_run import CheckedRun, run_verified
from hive_views.spark.legacy_import.work_queue import Announce, Desk, Job, Perform, attend
from hive_views.spark.sessions import spark_exceptions

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from hive_views.catalog.catalog import HiveViewCatalog

logger = logging.getLogger(__name__)

_NAMES = 50
"""Rows that a worker reads in one request."""


class ImportJobError(HiveViewsError):
    """Spark gave an import up: workers died. What was done is in the journal; run again, and it goes on there."""


class SparkImport:
    """Plans and runs imports on a Spark."""

    def __init__(self, spark: SparkSession, catalog: HiveViewCatalog, *, most_calls: int = MOST_CALLS) -> None:
        """Nothing is run yet.

        Args:
            spark: A classic session, whose executors have this package installed, and reach the metastore under the
                catalog's properties, the files, and this process.
            catalog: Where the legacy views are.
            most_calls: How many calls the metastore gets at once from all executors together, at most; besides, each
                may keep a lock alive. No more workers than this are at work, and none makes two calls at once.

        Raises:
            UsageError: If the session is one of Spark Connect, or the number is not positive.
        """
        if not hasattr(spark, "_jsparkSession"):
            raise UsageError(
                "--spark",
                "Spark Connect has no way from its executors to this process, whose journal must be written before a "
                "row is; import in one process, or with a classic session on a machine of the cluster",
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
        options: Options | None = None,
        to: HiveViewCatalog | None = None,
        progress: Planned | None = None,
    ) -> Plan:
        """Plan an import; see `hive_views.legacy_import.planner.plan_import`, whose plan is the same.

        Args:
            databases: The views' databases.
            names: Views, besides those of the databases.
            options: How to import.
            to: Where the new views go; None is the same catalog.
            progress: Told how far it is, from another thread.

        Returns:
            The plan.

        Raises:
            ImportJobError: If Spark gives up, or the metastore cannot be reached from the executors.
            NoSuchNamespaceError: If a database does not exist, of the views or where they are to go.
            NoSuchViewError: If one of `names` is no legacy view.
            MetastoreError: If the metastore cannot list the views.
        """
        options = options or Options()
        wanted = wanted_views(self._catalog, databases, names, options, to)
        batches = [wanted[start : start + _NAMES] for start in range(0, len(wanted), _NAMES)]
        work = work_for(Plan((), options, to=target_of(to)), self._catalog, to)
        reading = _Reading(batches)
        self._do(reading, dict.fromkeys(reading.batches, ()), partial(_look, work))
        order = order_of(item for name in reading.batches for item in reading.found[name])
        planning = _Planning(order, progress)
        places = {name: number for number, name in enumerate(order.found)}
        needs = {name: [child for child in order.below[name] if places[child] < places[name]] for name in order.found}
        self._do(planning, needs, partial(_plan, work, secrets.token_hex(8)))
        entries = tuple(planning.done_entries[name] for name in order.found)
        return with_all(Plan(entries, options, order.cycles, target_of(to)), self._catalog, names)

    def run(
        self,
        plan: Plan,
        journal_path: Path,
        *,
        to: HiveViewCatalog | None = None,
        verify: str | None = None,
        progress: Progress | None = None,
        told: Checked | None = None,
    ) -> CheckedRun:
        """Run a plan. The journal is that of `hive_views.legacy_import.run.run_plan`: each can resume the other's.

        Spark's analyzer is asked about each definition, before and after, with no row read, unless `verify` says other.

        Args:
            plan: The plan.
            journal_path: The journal's file, of this process.
            to: Where the new views go; None is the same catalog.
            verify: `columns`, what Spark's analyzer says; `rows`, how many rows each view has and their checksum as
                well; `none`. None is `columns`, or `none` where one Spark cannot read the legacy and the new views:
                those go to another metastore, or to a catalog that is named spark_catalog.
            progress: Told after each view, from another thread.
            told: Told how many views Spark was asked about, before and after the run.

        Returns:
            How each view ended, and what Spark says of each.

        Raises:
            ImportJobError: If Spark gives up. Run again.
            PlanError: If the plan is for another target.
            JournalError: If the journal cannot be used.
            UsageError: If what is wanted cannot be compared, or the session's own catalog knows nothing of the views.
        """
        work = work_for(plan, self._catalog, to)

        def run() -> RunResult:
            return self._run(work, plan, journal_path, to, progress)

        return run_verified(self._spark, plan, self._catalog, journal_path, run, to=to, verify=verify, told=told)

    def _run(
        self, work: Work, plan: Plan, journal_path: Path, to: HiveViewCatalog | None, progress: Progress | None
    ) -> RunResult:
        with Journal(journal_path, plan) as journal:
            ledger = Ledger(plan, journal, (to or self._catalog).store, progress)
            before: set[ViewName] = set()
            needs = {}
            for entry in plan.entries:
                needs[entry.name] = [name for name in dict.fromkeys(entry.reads) if name in before]
                before.add(entry.name)
            self._do(_Running(plan, journal, ledger), needs, partial(_convert, work))
            return ledger.result

    def _do(self, job: Job, needs: Mapping[ViewName, Sequence[ViewName]], perform: Perform) -> None:
        if not needs:
            return
        context = self._spark.sparkContext
        workers = min(self._most_calls, len(needs))
        # The address at which executors reach the driver is known to Spark.
        with Desk(job, needs, context.getConf().get("spark.driver.host") or "127.0.0.1") as desk:
            try:
                partitions = context.parallelize(range(workers), workers)
                with _this_python(context):
                    counts = partitions.mapPartitions(partial(attend, desk.address, desk.key, perform)).collect()
            except spark_exceptions() as error:
                if desk.failure is not None:
                    raise desk.failure from None
                reason = str(getattr(error, "java_exception", None) or error).strip()
                raise ImportJobError(
                    f"Spark gave up, {desk.left} views are left; run again. It says: {reason}"
                ) from error
            logger.debug("%d workers did %s", workers, counts)
            if desk.failure is not None:
                raise desk.failure


@contextlib.contextmanager
def _this_python(context: SparkContext) -> Iterator[None]:
    """Local workers run with this process' Python, which has this package, unless the user names another."""
    given = context.pythonExec
    if context.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable
    try:
        yield
    finally:
        context.pythonExec = given


# -- In the driver ----------------------------------------------------------------------------------------------------


class _Reading:
    """Rows are read and looked at."""

    def __init__(self, batches: Sequence[list[ViewName]]) -> None:
        # A batch goes by the name of its first.
        self.batches = {batch[0]: batch for batch in batches}
        self.found: dict[ViewName, list[Found]] = {}

    def task(self, name: ViewName) -> object | None:
        return self.batches[name]

    def announced(self, item: Any) -> None:
        raise AssertionError(f"a plan writes nothing: {item}")

    def done(self, name: ViewName, result: Any) -> None:
        self.found[name] = _given(result)


@dataclass
class _Planning:
    """What each view becomes is worked out."""

    order: Order
    progress: Planned | None
    done_entries: dict[ViewName, Entry] = field(default_factory=dict)
    loaded: dict[ViewName, LoadedView] = field(default_factory=dict)

    def task(self, name: ViewName) -> object | None:
        below: dict[ViewName, None] = {}
        waiting = [name]
        while waiting:
            for child in self.order.below[waiting.pop()]:
                if child not in below and child != name:
                    below[child] = None
                    waiting.append(child)
        return _View(
            self.order.found[name],
            self.order.below[name],
            self.order.circle(name),
            tuple(self.order.found[child] for child in below),
            {child: self.done_entries[child] for child in below if child in self.done_entries},
            {self.done_entries[child].target: self.loaded[child] for child in below if child in self.loaded},
        )

    def announced(self, item: Any) -> None:
        raise AssertionError(f"a plan writes nothing: {item}")

    def done(self, name: ViewName, result: Any) -> None:
        entry, loaded = _given(result)
        self.done_entries[name] = entry
        if loaded is not None:
            self.loaded[name] = loaded
        if self.progress is not None:
            self.progress(len(self.done_entries), len(self.order.found))


class _Running:
    """Views are converted."""

    def __init__(self, plan: Plan, journal: Journal, ledger: Ledger) -> None:
        self._entries = {entry.name: entry for entry in plan.entries}
        self._journal = journal
        self._ledger = ledger

    def task(self, name: ViewName) -> object | None:
        entry = self._entries[name]
        return (entry, self._ledger.unfinished(entry)) if self._ledger.waits(entry) else None

    def announced(self, item: Prepared) -> None:
        self._journal.prepared(item)

    def done(self, name: ViewName, result: Outcome) -> None:
        self._ledger.done(self._entries[name], result)


@dataclass(frozen=True)
class _View:
    """A view to be planned, and what the plan says of those below it."""

    item: Found
    children: tuple[ViewName, ...]
    circle: tuple[ViewName, ...] | None
    below: tuple[Found, ...]
    entries: Mapping[ViewName, Entry]
    loaded: Mapping[ViewName, LoadedView]


# -- In the executors -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Failed:
    """What a worker could not do, so that nothing can be done."""

    text: str


def _given(result: Any) -> Any:
    if isinstance(result, _Failed):
        raise ImportJobError(result.text)
    return result


def _told(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except HiveViewsError as error:
        return _Failed(f"A worker of the import: {error}")


def _catalogs(work: Work) -> tuple[HiveViewCatalog, HiveViewCatalog | None]:
    """The catalogs of this worker's process; they stay open for its next task."""
    source = catalog_of(work.name, tuple(sorted(work.properties.items())))
    if work.to_properties is None:
        return source, None
    return source, catalog_of(work.to_name or work.name, tuple(sorted(work.to_properties.items())))


def _look(work: Work, names: list[ViewName], _: Announce) -> Any:
    source, _to = _catalogs(work)
    return _told(
        lambda: [look(row, work.options) for row in read_rows(source.store, names, most_calls=1) if is_legacy(row)]
    )


@lru_cache(maxsize=1)
def _others(plan: str) -> dict[ViewName, Row | None]:
    """The tables' rows that this worker's process read for a plan: each once, as a plan of one process does."""
    return {}


def _plan(work: Work, plan: str, view: _View, _: Announce) -> Any:
    def entry() -> tuple[Entry, LoadedView | None]:
        planner = Planner(*_catalogs(work), work.options)
        planner.know(_others(plan))
        for item in (*view.below, view.item):
            planner.add(item)
        for target, loaded in view.loaded.items():
            planner.put(target, loaded)
        found = planner.entry(view.item, view.children, view.entries, view.circle)
        _others(plan).update(planner.others)
        return found, planner.planned(found.target) if found.verdict is Verdict.READY else None

    return _told(entry)


def _convert(work: Work, task: tuple[Entry, bool], announce: Announce) -> Outcome:
    entry, unfinished = task
    return work.convert(entry, announce, patient=unfinished)
