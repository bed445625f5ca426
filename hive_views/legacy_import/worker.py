"""The import of one view, as a function of a catalog's properties and an entry of a plan: what a worker does.

A `Work` can be pickled, so that it can be done in any process; everything that it needs to know besides is in the
metastore. Its steps, each safe to be cut off after:

1. the row is read: an Iceberg view with the entry's fingerprint is an earlier run's work, and done;
2. the new metadata is worked out from the row, and must be what the plan shows;
3. `note` is told the legacy row and the names of the files to be written (the journal);
4. the legacy row is written to a file next to the new metadata file, the storage of a materialized view is made or
   taken over, then the metadata file is written;
5. the row is swapped, compare-and-swap (`hive_views.metastore.commit.hive_view_commit`).

The first two need this process, the next two the disk, the last one the metastore: so `look` and `prepare` can be
called for the next view while `finish` is at work on the one before, if the next does not read that one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeVar

from hive_views.catalog.catalog import HiveViewCatalog
from hive_views.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    HiveViewsError,
    NoSuchViewError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from hive_views.identifiers import ViewName
from hive_views.legacy_import.backup import packed, write_backup
from hive_views.legacy_import.convert import RefusedError
from hive_views.legacy_import.journal import Prepared
from hive_views.legacy_import.model import Reason
from hive_views.legacy_import.options import Options
from hive_views.legacy_import.outcome import Outcome, Status
from hive_views.legacy_import.plan import Entry
from hive_views.legacy_import.planner import PlannedStore, planned_store, shown_row
from hive_views.legacy_import.readers.detection import is_legacy, read_view
from hive_views.legacy_import.row_conversion import LEGACY_FINGERPRINT, LEGACY_ROW, Converted, Place, convert
from hive_views.legacy_import.storage import provide, withdraw
from hive_views.metastore.commit.hive_view_commit import swap_row
from hive_views.metastore.commit.view_commit import commit
from hive_views.metastore.identities import identify
from hive_views.metastore.row_codec import HIVE_UUID, Row, RowKind, row_fingerprint
from hive_views.metastore.store import LoadedView, MetastoreStore

Note = Callable[[Prepared], None]
"""Told what will take a row's place, before it does."""

logger = logging.getLogger(__name__)

_T = TypeVar("_T")


@dataclass(frozen=True)
class Work:
    """What every view of a plan needs besides its own entry. Can be pickled."""

    name: str
    """The source catalog's name, and"""
    properties: Mapping[str, str]
    """its properties."""
    options: Options
    """How to import."""
    targets: Mapping[ViewName, ViewName]
    """The new names of the plan's views that are ready."""
    to_name: str | None = None
    """The target catalog's name, and"""
    to_properties: Mapping[str, str] | None = None
    """its properties; None is the source catalog."""
    dry: bool = False
    """Whether nothing is to be written."""
    locations: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    """Where the target's databases are, as far as it was asked for: once for each in a run."""
    below: PlannedStore | None = field(default=None, compare=False, repr=False)
    """For a dry run: the target as it would be by now, with the views that were looked at already."""

    def convert(self, entry: Entry, note: Note, *, patient: bool = False) -> Outcome:
        """Import one view: `look`, `prepare`, `finish`; see there."""
        return self.look(entry).prepare(note).finish(patient=patient)

    def look(self, entry: Entry) -> Looked:
        """The first two steps. The only rows written are those of Hive tables that get a UUID for lineage."""
        source = catalog_of(self.name, tuple(sorted(self.properties.items())))
        target = source
        if self.to_properties is not None:
            target = catalog_of(self.to_name or self.name, tuple(sorted(self.to_properties.items())))
        return Looked(self, source, target, entry)


@lru_cache(maxsize=8)
def catalog_of(name: str, properties: tuple[tuple[str, str], ...]) -> HiveViewCatalog:
    """A catalog of this process; the same for the same properties. It connects with its first call."""
    return HiveViewCatalog(name, **dict(properties))


class Looked:
    """One view on its way: worked out, and not yet written."""

    def __init__(self, work: Work, source: HiveViewCatalog, target: HiveViewCatalog, entry: Entry) -> None:
        """Look at the view; made by `Work.look`."""
        self._work = work
        self._source = source
        self._target = target
        self._entry = entry
        self._writing = 0.0
        self._todo: tuple[Row, Converted] | None = None
        started = time.perf_counter()
        self._end = self._guarded(self._look)
        self._looking = time.perf_counter() - started

    def prepare(self, note: Note) -> Looked:
        """The next two steps, where there is anything to do: what stands behind them is not named by anything yet."""
        if self._todo is not None:
            row, made = self._todo
            began = time.perf_counter()
            end = self._guarded(lambda: self._prepare(row, made, note))
            self._writing = time.perf_counter() - began
            if isinstance(end, Outcome):
                self._todo, self._end = None, end
        return self

    def finish(self, *, patient: bool = False) -> Outcome:
        """The last step, where there is anything to do."""
        outcome = self._end
        began = time.perf_counter()
        if self._todo is not None:
            row, made = self._todo
            outcome = self._guarded(lambda: self._write(row, made, patient))
        assert outcome is not None
        swapping = time.perf_counter() - began
        writing = self._writing + swapping
        return replace(outcome, seconds=self._looking + writing, writing=writing, swapping=swapping)

    def forget(self) -> None:
        """Take away what `prepare` made, where the run ends before the view's turn."""
        if self._todo is not None:
            _, made = self._todo
            self._forget(made, made.location, made.backup)

    def _guarded(self, step: Callable[[], _T]) -> _T | Outcome:
        try:
            return step()
        except RefusedError as error:
            return self._ended(Status.REFUSED, error.refusal.reason, error.refusal.text)
        except CommitStateUnknownError as error:
            return self._ended(Status.UNKNOWN, Reason.METASTORE, str(error))
        except (CommitFailedError, NoSuchViewError) as error:
            return self._ended(Status.REFUSED, Reason.CHANGED, str(error))
        except (ViewAlreadyExistsError, TableAlreadyExistsError) as error:
            return self._ended(Status.REFUSED, Reason.NAME_TAKEN, str(error))
        except HiveViewsError as error:
            return self._ended(Status.FAILED, Reason.METASTORE, str(error))

    def _look(self) -> Outcome | None:
        entry = self._entry
        row = self._source.store.get_row(entry.name)
        done = self._target.store.get_row(entry.target) if not self._in_place else row
        if done is not None and done.kind is RowKind.ICEBERG_VIEW:
            if done.parameters.get(LEGACY_FINGERPRINT) == entry.fingerprint:
                return replace(
                    self._ended(Status.CONVERTED, None, None),
                    metadata_location=done.metadata_location,
                    backup=done.parameters.get(LEGACY_ROW),
                    found=True,
                )
            if self._in_place:
                raise RefusedError(Reason.CHANGED, f"{entry.name} is an Iceberg view now, made by somebody else")
        if row is None:
            raise RefusedError(Reason.CHANGED, f"{entry.name} is gone")
        if not is_legacy(row) or row_fingerprint(row) != entry.fingerprint:
            raise RefusedError(Reason.CHANGED, f"the row of {entry.name} was changed since the plan; plan again")
        made = self._made(row, done)
        if made.text != entry.new_text or made.columns != entry.columns:
            raise RefusedError(
                Reason.CHANGED, f"what {entry.name} reads was changed since the plan, so its text would be another one"
            )
        if made.storage is not None and made.storage.action.value != entry.storage_plan:
            raise RefusedError(
                Reason.CHANGED, f"the storage of {entry.name} was changed since the plan: {made.storage.sentence}"
            )
        if self._work.dry:
            if self._work.below is not None:
                new = shown_row(made.row, read_view(row)) if self._in_place else made.row
                self._work.below.put(entry.target, LoadedView(new, made.metadata))
                self._work.below.pack(entry.target)
            return self._ended(Status.WOULD_CONVERT, None, None)
        self._todo = row, made
        return None

    @property
    def _in_place(self) -> bool:
        return self._target is self._source and self._entry.in_place

    def _made(self, row: Row, there: Row | None) -> Converted:
        # What a run reads is looked at anew for each view, what one view reads once.
        below = self._work.below
        seen = planned_store(self._target.store) if below is None else below
        seen.seen[self._entry.target] = there
        made = self._converted(row, seen)
        real = self._target.store
        if self._work.dry or not real.config.mark_hive_tables:
            return made
        unmarked = [
            child for name in made.made.reads if (child := seen.get_row(name)) is not None and _is_unmarked(child)
        ]
        if not unmarked:
            return made
        # Only now, because nothing is written for a view that is refused.
        for child in unmarked:
            identify(real, child)
            seen.seen.pop(child.name)
        return self._converted(row, seen)

    def _converted(self, row: Row, seen: PlannedStore) -> Converted:
        return convert(
            Place(self._target, seen, self._work.locations),
            row,
            read_view(row),
            self._entry.target,
            self._work.options,
            self._work.targets,
            here=self._target is self._source,
        )

    def _prepare(self, row: Row, made: Converted, note: Note) -> None:
        entry, store = self._entry, self._target.store
        storage = None if made.storage is None else made.storage.encode()
        # Before the files, so that a run which goes on after a kill knows of all of them.
        note(Prepared(entry.name, entry.target, packed(row), made.backup, made.location, storage))
        try:
            write_backup(store.files, made.backup, row)
            if made.storage is not None:
                provide(self._target, made.storage, made.made.definition.schema)
            if self._in_place:
                store.files.write(made.location, made.metadata)
        except HiveViewsError:
            self._forget(made, made.backup)
            raise

    def _write(self, row: Row, made: Converted, patient: bool) -> Outcome:
        store = _patience(self._target.store) if patient else self._target.store
        damages: tuple[str, ...] = ()
        location = made.location
        if self._in_place:
            hurt = swap_row(store, row, made.row, on_rejection=lambda: self._forget(made, location, made.backup))
            damages = tuple(item.field for item in hurt)
        else:
            location = self._committed(store, made) or location
        return replace(
            self._ended(Status.CONVERTED, None, None),
            metadata_location=location,
            backup=made.backup,
            damages=damages,
        )

    def _committed(self, store: MetastoreStore, made: Converted) -> str | None:
        try:
            return commit(store, self._entry.target, None, made.metadata).row.metadata_location
        except CommitStateUnknownError:
            raise
        except HiveViewsError:
            self._forget(made)
            raise

    def _forget(self, made: Converted, *locations: str) -> None:
        """Take away what was made for a view that will not name it."""
        if made.storage is not None:
            try:
                withdraw(self._target, made.storage)
            except HiveViewsError as error:
                logger.warning("%s is left behind: %s", made.storage.table, error)
        for location in locations:
            self._target.store.files.delete(location)

    def _ended(self, status: Status, reason: Reason | None, text: str | None) -> Outcome:
        return Outcome(self._entry.name, self._entry.target, status, reason, text)


def _is_unmarked(row: Row) -> bool:
    return row.kind in (RowKind.HIVE_TABLE, RowKind.HIVE_VIEW) and HIVE_UUID not in row.parameters


def _patience(store: MetastoreStore) -> MetastoreStore:
    """The same store, which waits for a lock as long as the server keeps one of a dead process."""
    lock = replace(store.config.lock, timeout_ms=max(store.config.lock.timeout_ms, _lock_life_ms(store)))
    return replace(store, config=replace(store.config, lock=lock))


def _lock_life_ms(store: MetastoreStore) -> int:
    """How long the server keeps a lock that nobody keeps alive, and a while."""
    text = store.client.config_value("hive.txn.timeout", "300s").strip().lower()
    digits = "".join(char for char in text if char.isdigit()) or "300"
    return int(digits) * (1 if text.endswith("ms") else 1000) + 60_000
