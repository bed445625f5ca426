"""Running a plan: each view is converted after the views that it reads.

The conversion of one view has these steps. The process can safely be killed after any of them:

1. `Importer.compute` reads the row. If it is an Iceberg view with the entry's fingerprint, an earlier run converted it,
   and nothing remains to be done. Otherwise it converts the row in memory; the result must equal the plan's.
2. The journal announces the legacy row and the names of the files that will be written.
3. `Importer.write_files` writes the legacy row to a backup file, creates or links the storage of a materialized view,
   and, in place, writes the metadata file.
4. `Importer.swap` replaces the row by compare-and-swap (`hive_views.metastore.commit.hive_view_commit`), or commits a
   new view if the plan gives it another name or metastore, or registers it in a REST catalog (`RestImporter`).
5. `Importer.prove` reads the new view back, and restores the legacy row if that fails.

An `Importer` and its `PendingImport`s can be pickled, so that any process can do these steps
(`hive_views.spark.legacy_import.job`); the journal is always written by the process that runs the plan.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import ClassVar

from pyiceberg.catalog import Catalog

from hive_views.catalog.catalog import HiveViewCatalog
from hive_views.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    HiveViewsError,
    MetadataWriteError,
    MetastoreError,
    NoSuchViewError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from hive_views.identifiers import ViewName
from hive_views.io.metadata_files import MetadataFiles
from hive_views.legacy_import.backup import read_backup, row_to_text, write_backup
from hive_views.legacy_import.convert import (
    LEGACY_FINGERPRINT,
    LEGACY_ROW,
    Conversion,
    ConvertedView,
    convert,
)
from hive_views.legacy_import.journal import Announcement, ImportOutcome, ImportStatus, Journal, planned_outcome
from hive_views.legacy_import.legacy_view import ConversionError, Reason
from hive_views.legacy_import.options import MOST_CALLS, ImportOptions, check_most_calls
from hive_views.legacy_import.plan import (
    ImportPlan,
    PlanEntry,
    PlanStatus,
)
from hive_views.legacy_import.planned_store import PlannedStore, planned_store, row_with_view_columns
from hive_views.legacy_import.readers.detection import is_legacy, read_view
from hive_views.legacy_import.storage import create_storage, remove_storage
from hive_views.legacy_import.targets import (
    RestStore,
    check_registered,
    import_target,
    register_view,
    store_of_target,
    target_address,
)
from hive_views.metastore.capabilities import honors_cas
from hive_views.metastore.commit.hive_view_commit import swap_row
from hive_views.metastore.commit.view_commit import commit
from hive_views.metastore.hive_times import milliseconds
from hive_views.metastore.identities import identify
from hive_views.metastore.queries import load_view, read_rows
from hive_views.metastore.rows.row import HIVE_UUID, Row, RowKind
from hive_views.metastore.rows.serialization import row_fingerprint
from hive_views.metastore.store import LoadedView, MetastoreStore
from hive_views.spec.version_texts import HIVE, sql_texts
from hive_views.view_copy.catalogs import errors_of, files_of, load_metadata
from hive_views.view_copy.metadata import fingerprint

RunProgress = Callable[[int, int, ImportOutcome], None]
"""Called with the number of finished views, the number of all views, and the last outcome."""

_AHEAD = 3
"""Number of views that are computed, and whose files are written, while another view is swapped; also the number of
swapped views that may still have to be read back."""
_ROWS_OF = 100
"""Number of views whose rows, and those of the tables that they read, are read together."""
_THREADS = 2
"""Number of threads that compute views, write files and read views back; one computes while the other waits for I/O."""
_SWITCH_INTERVAL_S = 0.0005
"""How long a thread may compute, in seconds, while the thread that swaps rows waits for Python's interpreter lock."""

_CONVERTED = (ImportStatus.CONVERTED, ImportStatus.WOULD_CONVERT)

logger = logging.getLogger(__name__)


# -- A run in one process ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunResult:
    """The result of a run."""

    outcomes: tuple[ImportOutcome, ...]
    """The outcome of each view, in the plan's order."""

    @property
    def complete(self) -> bool:
        """Whether every ready view is converted, so that a further run has nothing to do."""
        return not any(
            outcome.status in (ImportStatus.FAILED, ImportStatus.UNKNOWN, ImportStatus.PENDING)
            or outcome.reason is Reason.CHANGED
            for outcome in self.outcomes
        )


def run_plan(
    plan: ImportPlan,
    catalog: HiveViewCatalog,
    journal_path: Path,
    *,
    to: Catalog | None = None,
    most_calls: int = MOST_CALLS,
    progress: RunProgress | None = None,
) -> RunResult:
    """Import the views of a plan. A second call with the same journal resumes the run.

    While one view is swapped, the next views that do not read it are computed and their files are written, and the
    views swapped last are read back. A killed run leaves the files of a few unconverted views, and a few converted
    views without a recorded outcome; the next run finds both in the journal.

    Args:
        plan: The plan.
        catalog: The catalog of the legacy views.
        journal_path: The journal's file; created if it does not exist.
        to: The catalog for the new views, on a metastore or PyIceberg's REST catalog; None for `catalog`.
        most_calls: Maximum number of concurrent metastore calls, besides lock heartbeats; a run makes at most three,
            and one if the new views go to a REST catalog.
        progress: Called after each view.

    Returns:
        The outcome of each view. Problems of single views are outcomes, not exceptions.

    Raises:
        PlanError: If the plan is for another target.
        JournalError: If the journal cannot be used.
        UsageError: If `most_calls` is not positive.
    """
    check_most_calls(most_calls)
    importer = importer_for(plan, catalog, to)
    # Each thread makes one call at a time, and so does this one, which swaps rows. If only one call is allowed, this
    # thread waits for the other one before it swaps.
    threads = min(_THREADS, most_calls - 1) if importer.is_concurrent else 0
    ahead = _AHEAD if threads else 0
    with (
        Journal(journal_path, plan) as journal,
        ThreadPoolExecutor(max(threads, 1), "hive-views-import") as pool,
        _frequent_thread_switches(),
    ):
        state = RunState(plan, journal, to or catalog, progress)
        # Sorted by level, so that views next to each other seldom read each other.
        entries = sorted(plan.entries, key=lambda entry: entry.level)
        started: dict[ViewName, tuple[Future[PendingImport | ImportOutcome], bool]] = {}
        swapped: deque[Future[ImportOutcome]] = deque()
        rows = SharedRows()

        def prepare(entry: PlanEntry) -> PendingImport | ImportOutcome:
            step = importer.compute(entry, rows)
            if isinstance(step, PendingImport):
                journal.announce([step.announcement])
                step = importer.write_files(step)
            return step

        def start(entry: PlanEntry) -> None:
            is_unfinished = state.is_unfinished(entry)  # before this run announces the view itself
            started[entry.name] = pool.submit(prepare, entry), is_unfinished

        def record_swapped(most_left: int) -> None:
            while len(swapped) > most_left:
                state.record(swapped.popleft().result())

        try:
            for number, entry in enumerate(entries):
                if number and entry.level != entries[number - 1].level:
                    record_swapped(0)  # later levels read these views
                if number % _ROWS_OF == 0:
                    rows = importer.read_rows(entries[number : number + _ROWS_OF + ahead])
                if not state.must_convert(entry):
                    continue
                for later in entries[number : number + 1 + ahead]:
                    if later.name not in started and (later is entry or state.can_start(later)):
                        start(later)
                future, is_unfinished = started[entry.name]
                step = future.result()
                del started[entry.name]
                if isinstance(step, PendingImport):
                    outcome = importer.swap(step, wait_for_dead_lock=is_unfinished)
                    swapped.append(pool.submit(importer.prove, step, outcome))
                    record_swapped(ahead)
                else:
                    state.record(step)
            record_swapped(0)
        finally:
            for future, _ in started.values():
                if not future.cancel() and future.exception() is None:
                    step = future.result()
                    if isinstance(step, PendingImport):
                        importer.discard(step)
        return state.result


@contextmanager
def _frequent_thread_switches() -> Iterator[None]:
    """Let the thread that swaps rows continue when a reply arrives, while others compute.

    By default Python lets it wait for up to 5 ms after each reply, and each view needs several replies.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, _SWITCH_INTERVAL_S))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def dry_run(
    plan: ImportPlan,
    catalog: HiveViewCatalog,
    *,
    to: Catalog | None = None,
    progress: RunProgress | None = None,
) -> RunResult:
    """Check whether a plan can be run now. Writes nothing to metastore, storage or journal.

    Each view is computed as in a run, as if the views that it reads were converted already. A view is blocked if it
    reads one that would not be converted.

    Args:
        plan: The plan.
        catalog: The catalog of the legacy views.
        to: The catalog for the new views; None for `catalog`.
        progress: Called after each view.

    Raises:
        PlanError: If the plan is for another target.
    """
    importer = importer_for(plan, catalog, to, is_dry_run=True)
    outcomes: dict[ViewName, ImportOutcome] = {}
    for entry in plan.entries:
        outcome = planned_outcome(entry)
        if entry.status is PlanStatus.READY:
            step = blocked_outcome(entry, outcomes) or importer.compute(entry)
            assert isinstance(step, ImportOutcome), "a dry run never has a pending import"
            outcome = step
        outcomes[entry.name] = outcome
        if progress is not None:
            progress(len(outcomes), len(plan.entries), outcome)
    return RunResult(tuple(outcomes.values()))


class RunState:
    """The outcomes of a run so far, its journal, and which views can be converted next."""

    def __init__(self, plan: ImportPlan, journal: Journal, target: Catalog, progress: RunProgress | None) -> None:
        """Start, or resume from the journal; `target` is the catalog for the new views."""
        self._plan = plan
        self._journal = journal
        self._target = target
        self._progress = progress
        self._names = frozenset(entry.name for entry in plan.entries)
        self._outcomes: dict[ViewName, ImportOutcome] = {}
        self._earlier_outcomes = dict(journal.history.outcomes)

    def must_convert(self, entry: PlanEntry) -> bool:
        """Return whether to convert a view, and record its outcome otherwise; its sources must have an outcome."""
        outcome = planned_outcome(entry)
        if entry.status is PlanStatus.READY:
            outcome = blocked_outcome(entry, self._outcomes) or outcome
        if outcome.status is ImportStatus.PENDING:
            return True
        if outcome != self._earlier_outcomes.get(entry.name):
            self._journal.record_outcome(outcome)
        self._finish(outcome)
        return False

    def can_start(self, entry: PlanEntry) -> bool:
        """Return whether a later view can be computed now: it is ready, and all its sources have an outcome."""
        if entry.status is not PlanStatus.READY or blocked_outcome(entry, self._outcomes) is not None:
            return False
        return all(name in self._outcomes for name in entry.reads if name in self._names)

    def is_unfinished(self, entry: PlanEntry) -> bool:
        """Return whether a view was announced but has no outcome with the status converted."""
        history = self._journal.history
        outcome = history.outcomes.get(entry.name)
        return entry.name in history.announcements and (outcome is None or outcome.status is not ImportStatus.CONVERTED)

    def record(self, outcome: ImportOutcome) -> None:
        """Record the outcome of a conversion; raises JournalError."""
        earlier = self._earlier_outcomes.get(outcome.name)
        if outcome.was_converted_before and earlier is not None and earlier.status is ImportStatus.CONVERTED:
            outcome = earlier
        else:
            self._journal.record_outcome(outcome)
        if outcome.status is ImportStatus.CONVERTED:
            delete_unused_files(self._target, self._journal, outcome)
            self._journal.forget_announcements(outcome.name)
        self._finish(outcome)

    @property
    def result(self) -> RunResult:
        """The outcome of each view in the plan's order; views that were not processed are pending."""
        return RunResult(tuple(self._outcomes.get(entry.name, planned_outcome(entry)) for entry in self._plan.entries))

    def _finish(self, outcome: ImportOutcome) -> None:
        self._outcomes[outcome.name] = outcome
        if self._progress is not None:
            self._progress(len(self._outcomes), len(self._plan.entries), outcome)


def blocked_outcome(entry: PlanEntry, outcomes: Mapping[ViewName, ImportOutcome]) -> ImportOutcome | None:
    """Return the outcome of a view that is blocked by an unconverted source; None if it is not blocked."""
    for name in entry.reads:
        outcome = outcomes.get(name)
        if outcome is not None and outcome.status not in _CONVERTED:
            blocker = outcome.blocked_by or name
            return replace(
                planned_outcome(entry),
                status=ImportStatus.BLOCKED,
                reason=Reason.BLOCKED,
                text=f"it reads {name}, and {blocker} was not converted",
                blocked_by=blocker,
            )
    return None


def delete_unused_files(target: Catalog, journal: Journal, outcome: ImportOutcome) -> None:
    """Delete the files of earlier attempts that did not convert a view, after its conversion.

    They are kept if a late request of a killed run could still refer to them; see `rejects_late_requests`.
    """
    # An attempt is identified by its backup: the view may have newer metadata by now. The view of an earlier attempt
    # that converted it may have another name by now.
    announcements = journal.history.announcements.get(outcome.name, ())
    used = {outcome.backup, *journal.history.converted.get(outcome.name, ())}
    unused = [announcement for announcement in announcements if announcement.backup not in used]
    # A REST server reads the file that it registers, so it rejects a late request for a deleted one.
    if unused and (not isinstance(target, HiveViewCatalog) or rejects_late_requests(target.store)):
        files = files_of(target)
        for announcement in unused:
            files.delete(announcement.metadata_location)
            files.delete(announcement.backup)


def rejects_late_requests(store: MetastoreStore) -> bool:
    """Return whether the server supports compare-and-swap, and so rejects a late request for a row that changed."""
    try:
        return honors_cas(store.client)
    except HiveViewsError:
        return False


# -- One view ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SharedRows:
    """Rows that were read together for several views."""

    legacy: dict[ViewName, Row] = field(default_factory=dict)
    """The rows of the views themselves. Each is used once: a second attempt has to read the row again."""
    tables: dict[ViewName, Row] = field(default_factory=dict)
    """The rows of the tables that the views read; rows of other views are left out, since imports change them."""


@dataclass(frozen=True, kw_only=True)
class PendingImport:
    """A view that is computed but not yet swapped. Can be pickled."""

    entry: PlanEntry
    """The view."""
    row: Row
    """Its legacy row."""
    converted: ConvertedView
    """The new row and the content of the new files."""
    seconds: float
    """Time spent on the view so far, in seconds."""
    writing: float = 0.0
    """The part of `seconds` spent in writing files."""
    definition_fingerprint: str | None = None
    """For a view of a REST catalog: the fingerprint of its definition."""

    @property
    def announcement(self) -> Announcement:
        """The journal's announcement of its files."""
        return Announcement(
            name=self.entry.name,
            target=self.entry.target,
            row=row_to_text(self.row),
            backup=self.converted.backup,
            metadata_location=self.converted.location,
            storage=None if self.converted.storage is None else self.converted.storage.to_text(),
            fingerprint=self.definition_fingerprint,
        )


@dataclass(frozen=True)
class Importer:
    """Converts single views of a plan. Can be pickled, except for a dry run."""

    catalog_name: str
    """Name of the catalog of the legacy views."""
    properties: Mapping[str, str]
    """Its properties."""
    options: ImportOptions
    """Options of the import."""
    targets: Mapping[ViewName, ViewName]
    """The new names of the plan's views."""
    to_name: str | None = None
    """Name of the target catalog."""
    to_properties: Mapping[str, str] | None = None
    """Its properties; None for the catalog of the legacy views."""
    database_locations: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    """Base locations of the target's databases, read once per run."""
    dry_run_store: PlannedStore | None = field(default=None, compare=False, repr=False)
    """For a dry run: the target metastore as it will be, with the views that were computed already."""

    is_concurrent: ClassVar[bool] = True
    """Whether several threads can use it."""

    @property
    def _to(self) -> Catalog | None:
        """The catalog for the new views if it is on no metastore."""
        return None

    @cached_property
    def _target_names(self) -> frozenset[ViewName]:
        return frozenset(self.targets.values())

    @property
    def source(self) -> HiveViewCatalog:
        """The catalog of the legacy views, opened once per process."""
        return open_catalog(self.catalog_name, tuple(sorted(self.properties.items())))

    @property
    def target(self) -> HiveViewCatalog:
        """The catalog for the new views, opened once per process."""
        if self.to_properties is None:
            return self.source
        return open_catalog(self.to_name or self.catalog_name, tuple(sorted(self.to_properties.items())))

    @property
    def files(self) -> MetadataFiles:
        """The metadata files of the new views."""
        return self.target.store.files

    def is_in_place(self, entry: PlanEntry) -> bool:
        """Return whether the Iceberg view replaces the legacy row."""
        return self.to_properties is None and entry.in_place

    def read_rows(self, entries: Sequence[PlanEntry]) -> SharedRows:
        """Read the rows of some views and of the tables that they read, in batches, for `compute`."""
        ready = [entry for entry in entries if entry.status is PlanStatus.READY]
        store = planned_store(self.target.store)
        try:
            names = [entry.name for entry in ready]
            legacy = read_rows(self.source.store, names, most_calls=1, on_refused=lambda *_: None)
            shared = SharedRows({row.name: row for row in legacy})
            store.fetch({name for entry in ready for name in entry.reads} - self.targets.keys(), most_calls=1)
        except MetastoreError as error:
            logger.info("Rows are read one by one: %s", error)
            return SharedRows()
        tables = {name: row for name, row in store.fetched.items() if row is not None and not row.kind.is_view}
        return replace(shared, tables=tables)

    def compute(self, entry: PlanEntry, rows: SharedRows | None = None) -> PendingImport | ImportOutcome:
        """Convert a view in memory; return its outcome instead if there is nothing to swap.

        The only rows written are those of Hive tables that get a UUID for lineage; `rows` is updated with them.
        """
        started = time.perf_counter()
        try:
            step = self._compute(entry, rows or SharedRows())
        except HiveViewsError as error:
            step = _outcome_of_error(entry, error)
        return replace(step, seconds=time.perf_counter() - started)

    def write_files(self, pending: PendingImport, *, is_shared: bool = False) -> PendingImport | ImportOutcome:
        """Write the announced files of a view and create its storage. A repetition changes nothing.

        `is_shared` states that other attempts may write the same files; then a failure deletes none of them. The
        metadata file of a copy is written when `swap` commits the copy.
        """
        started = time.perf_counter()
        files, converted, row = self.files, pending.converted, pending.row
        try:
            _write_once(
                lambda: write_backup(files, converted.backup, row),
                lambda: row_to_text(read_backup(files, converted.backup, str(row.name))) == row_to_text(row),
            )
            if converted.storage is not None:
                create_storage(self.target, converted.storage, converted.definition.definition.schema)
            if self.is_in_place(pending.entry):
                _write_once(
                    lambda: files.write(converted.location, converted.metadata),
                    lambda: files.read(converted.location) == converted.metadata,
                )
        except HiveViewsError as error:
            if not is_shared:
                self._delete(converted, converted.backup)
            seconds = time.perf_counter() - started
            outcome = _outcome_of_error(pending.entry, error)
            return replace(outcome, seconds=pending.seconds + seconds, writing=seconds)
        seconds = time.perf_counter() - started
        return replace(pending, seconds=pending.seconds + seconds, writing=seconds)

    def swap(
        self, pending: PendingImport, *, wait_for_dead_lock: bool = False, is_shared: bool = False
    ) -> ImportOutcome:
        """Replace the row, or create the new view. A repetition finds the row replaced and reports it as converted.

        With `wait_for_dead_lock` it waits until the server drops the lock of a dead process. For `is_shared` see
        `write_files`.
        """
        started = time.perf_counter()
        try:
            outcome = self._swap(pending, wait_for_dead_lock=wait_for_dead_lock, is_shared=is_shared)
        except HiveViewsError as error:
            outcome = self._converted_meanwhile(pending, error) or _outcome_of_error(pending.entry, error)
        swapping = time.perf_counter() - started
        return replace(
            outcome, seconds=pending.seconds + swapping, writing=pending.writing + swapping, swapping=swapping
        )

    def prove(self, pending: PendingImport, outcome: ImportOutcome, row: Row | None = None) -> ImportOutcome:
        """Read a new view back from the metastore after its swap. If that fails, restore the legacy row.

        `row` is the view's row as read after the swap; None reads it.
        """
        if outcome.status is not ImportStatus.CONVERTED or outcome.was_converted_before:
            return outcome
        started = time.perf_counter()
        try:
            self._prove_readable(pending, row)
        except ConversionError as error:
            outcome = _outcome_of_error(pending.entry, error)
        except HiveViewsError as error:
            outcome = _unread_outcome(pending.entry, error)
        seconds = time.perf_counter() - started
        return replace(outcome, seconds=outcome.seconds + seconds)

    def prove_all(self, swapped: Sequence[tuple[PendingImport, ImportOutcome]]) -> list[ImportOutcome]:
        """Read new views back, as `prove` does, with their rows in batches."""
        names = [pending.entry.target for pending, outcome in swapped if outcome.status is ImportStatus.CONVERTED]
        try:
            read = read_rows(self.target.store, names, most_calls=1, on_refused=lambda *_: None)
            rows = {row.name: row for row in read}
        except MetastoreError:
            rows = {}
        return [self.prove(pending, outcome, rows.get(pending.entry.target)) for pending, outcome in swapped]

    def discard(self, pending: PendingImport) -> None:
        """Delete the files and the storage of a view that will not be swapped."""
        self._delete(pending.converted, pending.converted.location, pending.converted.backup)

    def _compute(
        self, entry: PlanEntry, rows: SharedRows, *, is_second_read: bool = False
    ) -> PendingImport | ImportOutcome:
        row = rows.legacy.pop(entry.name, None) or self.source.store.get_row(entry.name)
        target_row = row if self.is_in_place(entry) else self._target_row(entry.target)
        if target_row is not None and target_row.kind is RowKind.ICEBERG_VIEW:
            outcome = _converted_outcome(entry, target_row)
            if outcome is not None:
                try:
                    self._check_converted(entry)
                except HiveViewsError as error:
                    return _unread_outcome(entry, error)
                return outcome
            if self.is_in_place(entry):
                raise ConversionError(Reason.CHANGED, f"{entry.name} is an Iceberg view now, made by another program")
        if row is None:
            raise ConversionError(Reason.CHANGED, f"{entry.name} no longer exists")
        if not is_legacy(row) or row_fingerprint(row) != entry.fingerprint:
            if not is_second_read:
                # The server reads a row with several queries, so it may mix old and new during another run's swap.
                return self._compute(entry, rows, is_second_read=True)
            raise ConversionError(Reason.CHANGED, f"the row of {entry.name} changed since the plan; plan again")
        converted = self._convert_and_mark(entry, row, target_row, rows.tables)
        if converted.text != entry.new_text or converted.columns != entry.columns:
            raise ConversionError(
                Reason.CHANGED,
                f"tables or views that {entry.name} reads changed since the plan, or another version of hive_views "
                "made the plan, so its text would differ; plan again",
            )
        if converted.storage is not None and converted.storage.action.value != entry.storage_plan:
            raise ConversionError(
                Reason.CHANGED,
                f"the storage of {entry.name} changed since the plan: {converted.storage.sentence}; plan again",
            )
        if self.dry_run_store is not None:
            new_row = row_with_view_columns(converted.row, read_view(row)) if entry.in_place else converted.row
            self.dry_run_store.put(entry.target, LoadedView(new_row, converted.metadata))
            return ImportOutcome(name=entry.name, target=entry.target, status=ImportStatus.WOULD_CONVERT)
        return PendingImport(entry=entry, row=row, converted=converted, seconds=0.0)

    def _target_row(self, name: ViewName) -> Row | None:
        return self.target.store.get_row(name)

    def _check_converted(self, entry: PlanEntry) -> None:
        """Read a view that an earlier run converted."""
        load_view(self.target.store, entry.target)

    def _convert_and_mark(
        self, entry: PlanEntry, row: Row, target_row: Row | None, tables: dict[ViewName, Row]
    ) -> ConvertedView:
        store = self.target.store
        # For each view, the rows of other views are read again, but each of them only once.
        view_store = self.dry_run_store or planned_store(
            store, {name: tables[name] for name in entry.reads if name in tables}
        )
        view_store.fetched[entry.target] = target_row
        converted = self._convert(entry, row, view_store)
        if self.dry_run_store is not None or not store.config.mark_hive_tables:
            return converted
        sources = [view_store.get_row(name) for name in converted.definition.reads]
        unmarked = [source for source in sources if source is not None and _is_unmarked(source)]
        if not unmarked:
            return converted
        # Done after the conversion, so that nothing is written for a view that cannot be converted.
        for source in unmarked:
            identify(store, source)
            view_store.fetched.pop(source.name)
            marked = view_store.get_row(source.name)
            if marked is not None and source.name in tables:
                tables[source.name] = marked
        return self._convert(entry, row, view_store)

    def _convert(self, entry: PlanEntry, row: Row, view_store: PlannedStore) -> ConvertedView:
        conversion = Conversion(
            import_target(self.target, self._to, view_store, self.database_locations),
            self.options,
            self.targets,
            self._target_names,
            self.to_properties is None and self._to is None,
        )
        return convert(conversion, row, read_view(row), entry.target)

    def _swap(self, pending: PendingImport, *, wait_for_dead_lock: bool, is_shared: bool) -> ImportOutcome:
        entry, converted, store = pending.entry, pending.converted, self.target.store
        if wait_for_dead_lock:
            store = _store_with_long_lock_timeout(store)
        damages: tuple[str, ...] = ()
        location = converted.location
        if self.is_in_place(entry):
            on_rejection = None if is_shared else lambda: self.discard(pending)
            damages = tuple(
                difference.field
                for difference in swap_row(store, pending.row, converted.row, on_rejection=on_rejection)
            )
        else:
            try:
                location = commit(store, entry.target, None, converted.metadata).row.metadata_location or location
            except HiveViewsError as error:
                if not is_shared and not error.may_take_effect:
                    self._delete(converted)
                raise
        return ImportOutcome(
            name=entry.name,
            target=entry.target,
            status=ImportStatus.CONVERTED,
            metadata_location=location,
            backup=converted.backup,
            damages=damages,
        )

    def _prove_readable(self, pending: PendingImport, row: Row | None) -> None:
        """Read a new view back from the metastore. If that fails, restore the legacy row and raise ConversionError."""
        entry, converted, store = pending.entry, pending.converted, self.target.store
        try:
            load_view(store, entry.target, row)
        except MetastoreError:
            raise  # whether it is readable is unknown: the next run reads it
        except HiveViewsError as error:
            reason = f"the new view of {entry.name} cannot be read back: {error}"
            row = store.get_row(entry.target)
            if not self.is_in_place(entry) or row is None or row_fingerprint(row) != row_fingerprint(converted.row):
                raise ConversionError(Reason.UNREADABLE, reason) from error
            swap_row(store, row, pending.row)
            self.discard(pending)
            raise ConversionError(Reason.UNREADABLE, f"{reason}. The legacy row was restored") from error

    def _converted_meanwhile(self, pending: PendingImport, error: HiveViewsError) -> ImportOutcome | None:
        """Return the outcome if another attempt or run converted the view between `compute` and `swap`."""
        if not isinstance(error, (CommitFailedError, ViewAlreadyExistsError)):
            return None
        try:
            row = self._target_row(pending.entry.target)
        except HiveViewsError:
            return None
        return None if row is None else _converted_outcome(pending.entry, row, pending.converted.backup)

    def _delete(self, converted: ConvertedView, *locations: str) -> None:
        if converted.storage is not None:
            try:
                remove_storage(self.target, converted.storage)
            except HiveViewsError as error:
                logger.warning("Could not remove the storage table %s: %s", converted.storage.table, error)
        for location in locations:
            self.files.delete(location)


@dataclass(frozen=True)
class RestImporter(Importer):
    """Imports single views of a plan to a REST catalog. Cannot be pickled."""

    rest: Catalog = field(kw_only=True)
    """The catalog for the new views."""

    is_concurrent: ClassVar[bool] = False
    """PyIceberg's REST catalog has one HTTP session, which requests does not promise to be safe for threads."""

    @cached_property
    def files(self) -> MetadataFiles:
        """The metadata files of the REST catalog."""
        return files_of(self.rest)

    def is_in_place(self, entry: PlanEntry) -> bool:
        """Return False: the legacy view stays, whatever the name of the new one."""
        return False

    @property
    def _to(self) -> Catalog:
        return self.rest

    def _new_store(self, rows: dict[ViewName, Row | None]) -> RestStore:
        store = self.dry_run_store or store_of_target(self.source, self.rest, self._target_names, rows)
        assert isinstance(store, RestStore)
        return store

    def _target_row(self, name: ViewName) -> Row | None:
        return self._new_store({}).rest_row(name)

    def _check_converted(self, entry: PlanEntry) -> None:
        with errors_of(self.rest):
            metadata = load_metadata(self.rest, entry.target.identifier)
        if metadata is None or all(sql_texts(version).get(HIVE) != entry.new_text for version in metadata.versions):
            raise ConversionError(Reason.UNREADABLE, f"no version of {entry.target} in {self.rest.name} has its text")

    def _compute(
        self, entry: PlanEntry, rows: SharedRows, *, is_second_read: bool = False
    ) -> PendingImport | ImportOutcome:
        step = super()._compute(entry, rows, is_second_read=is_second_read)
        if isinstance(step, PendingImport):
            return replace(step, definition_fingerprint=fingerprint(step.converted.metadata))
        return step

    def _convert_and_mark(
        self, entry: PlanEntry, row: Row, target_row: Row | None, tables: dict[ViewName, Row]
    ) -> ConvertedView:
        """Convert a view. No row of the metastore is marked, since the import changes none."""
        store = self._new_store({name: tables[name] for name in entry.reads if name in tables})
        store.rest_rows[entry.target] = target_row
        converted = self._convert(entry, row, store)
        if set(converted.changes) != set(entry.changes):
            # For example, a table is not in the REST catalog any more, and names would be resolved in another one.
            raise ConversionError(Reason.CHANGED, f"{entry.name} would be converted in another way now; plan again")
        return converted

    def _swap(self, pending: PendingImport, *, wait_for_dead_lock: bool, is_shared: bool) -> ImportOutcome:
        entry, converted = pending.entry, pending.converted
        try:
            self.files.write(converted.location, converted.metadata)
            register_view(self.rest, entry.target, converted)
        except HiveViewsError as error:
            if not error.may_take_effect:
                self.discard(pending)
            raise
        return ImportOutcome(
            name=entry.name,
            target=entry.target,
            status=ImportStatus.CONVERTED,
            metadata_location=converted.location,
            backup=converted.backup,
        )

    def _prove_readable(self, pending: PendingImport, row: Row | None) -> None:
        """Read a new view back; if the server returns another definition, drop it and raise ConversionError."""
        name, expected = pending.entry.target, pending.converted.metadata
        try:
            check_registered(self.rest, name, expected)
        except ConversionError as error:
            with errors_of(self.rest):
                registered = load_metadata(self.rest, name.identifier)
                if registered is None or registered.view_uuid != expected.view_uuid:
                    raise
                self.rest.drop_view(name.identifier)
            self.discard(pending)
            raise ConversionError(Reason.UNREADABLE, f"{error.problem.text}. It was dropped again") from error


def importer_for(
    plan: ImportPlan, catalog: HiveViewCatalog, to: Catalog | None = None, *, is_dry_run: bool = False
) -> Importer:
    """Return the importer of a plan's views; raises PlanError if the plan is for another target."""
    plan.check_target(target_address(to))
    targets = {entry.name: entry.target for entry in plan.entries}
    arguments = (catalog.name, dict(catalog.properties), plan.options, targets)
    store = store_of_target(catalog, to, frozenset(targets.values())) if is_dry_run else None
    if to is None:
        return Importer(*arguments, dry_run_store=store)
    if isinstance(to, HiveViewCatalog):
        return Importer(*arguments, to.name, dict(to.properties), dry_run_store=store)
    return RestImporter(*arguments, dry_run_store=store, rest=to)


@lru_cache(maxsize=8)
def open_catalog(name: str, properties: tuple[tuple[str, str], ...]) -> HiveViewCatalog:
    """Return the catalog for these properties, one per process. It connects on its first call."""
    return HiveViewCatalog(name, **dict(properties))


def _converted_outcome(entry: PlanEntry, row: Row, backup: str | None = None) -> ImportOutcome | None:
    """Return the outcome of a converted view from its row; None if the row was not converted from the entry's row."""
    if row.kind is not RowKind.ICEBERG_VIEW or row.parameters.get(LEGACY_FINGERPRINT) != entry.fingerprint:
        return None
    row_backup = row.parameters.get(LEGACY_ROW)
    return ImportOutcome(
        name=entry.name,
        target=entry.target,
        status=ImportStatus.CONVERTED,
        metadata_location=row.metadata_location,
        backup=row_backup,
        was_converted_before=backup is None or row_backup != backup,
    )


def _outcome_of_error(entry: PlanEntry, error: HiveViewsError) -> ImportOutcome:
    status, reason = ImportStatus.FAILED, Reason.METASTORE
    if isinstance(error, ConversionError):
        reason, text = error.problem.reason, error.problem.text
        if reason is Reason.UNREADABLE_TABLE:
            # The plan does not have it: the table changed, or an older release planned. See `plan.FORMATS`.
            reason, text = Reason.CHANGED, f"{text}, and plan again"
        return ImportOutcome(
            name=entry.name, target=entry.target, status=ImportStatus.REFUSED, reason=reason, text=text
        )
    if isinstance(error, CommitStateUnknownError):
        status = ImportStatus.UNKNOWN
    elif isinstance(error, (CommitFailedError, NoSuchViewError)):
        status, reason = ImportStatus.REFUSED, Reason.CHANGED
    elif isinstance(error, (ViewAlreadyExistsError, TableAlreadyExistsError)):
        status, reason = ImportStatus.REFUSED, Reason.NAME_TAKEN
    return ImportOutcome(name=entry.name, target=entry.target, status=status, reason=reason, text=str(error))


def _unread_outcome(entry: PlanEntry, error: HiveViewsError) -> ImportOutcome:
    """Return the outcome of a view whose row was replaced but whose readability is unknown."""
    text = f"its row was replaced, and the new view could not be read back: {error}"
    return ImportOutcome(
        name=entry.name, target=entry.target, status=ImportStatus.UNKNOWN, reason=Reason.METASTORE, text=text
    )


def _write_once(write: Callable[[], object], is_equal: Callable[[], bool]) -> None:
    """Write a file; if an earlier attempt wrote it, it must have the same content."""
    try:
        write()
    except MetadataWriteError:
        try:
            is_written = is_equal()
        except HiveViewsError:
            is_written = False
        if not is_written:
            raise


def _is_unmarked(row: Row) -> bool:
    return row.kind in (RowKind.HIVE_TABLE, RowKind.HIVE_VIEW) and HIVE_UUID not in row.parameters


def _store_with_long_lock_timeout(store: MetastoreStore) -> MetastoreStore:
    """Return a store that waits for a lock as long as the server keeps the lock of a dead process."""
    timeout_ms = max(store.config.lock.timeout_ms, _dead_lock_lifetime_ms(store))
    return replace(store, config=store.config._replace(lock=store.config.lock._replace(timeout_ms=timeout_ms)))


def _dead_lock_lifetime_ms(store: MetastoreStore) -> int:
    """Return how long the server keeps a lock without heartbeats, plus a minute."""
    lifetime = milliseconds(store.client.config_value("hive.txn.timeout", "300s"))
    return 60_000 + int(300_000 if lifetime is None else lifetime)
