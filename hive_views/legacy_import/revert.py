"""The way back: a legacy row put where it stood, to the byte, from the journal or from the file next to the view."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from hive_views.catalog.catalog import HiveViewCatalog
from hive_views.dependencies.drop import drop_view
from hive_views.errors import HiveViewsError, RevertError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.backup import read_backup, unpacked
from hive_views.legacy_import.journal import History, Journal
from hive_views.legacy_import.outcome import Status
from hive_views.legacy_import.plan import Entry
from hive_views.legacy_import.planner import target_of
from hive_views.legacy_import.row_conversion import LEGACY_FINGERPRINT, LEGACY_ROW, row_as_converted
from hive_views.legacy_import.storage import LEGACY_STORAGE, Storage, check_unrefreshed, withdraw
from hive_views.metastore.commit.hive_view_commit import swap_row
from hive_views.metastore.row_codec import PREVIOUS_METADATA_LOCATION, Row, RowKind, row_fingerprint
from hive_views.metastore.store import MetastoreStore


class Reverted(str, Enum):
    """What became of a view."""

    REVERTED = "reverted"
    """Its legacy row is back; an imported copy in another place is dropped."""
    ALREADY = "already"
    """The legacy row stands there; nothing was to do."""
    REFUSED = "refused"
    """It was changed since the import; `force` loses the changes."""
    FAILED = "failed"
    """The metastore or the storage failed."""


@dataclass(frozen=True)
class RevertOutcome:
    """What became of one view."""

    name: ViewName
    """The legacy view."""
    result: Reverted
    """What became of it."""
    text: str | None = None
    """Why it was not reverted."""


Progress = Callable[[int, int, RevertOutcome], None]
"""Told how many views are done, of how many, and the last one."""


def revert_run(
    catalog: HiveViewCatalog,
    journal_path: Path,
    *,
    names: Sequence[ViewName] = (),
    force: bool = False,
    to: HiveViewCatalog | None = None,
    progress: Progress | None = None,
) -> tuple[RevertOutcome, ...]:
    """Give the views that a run converted their legacy rows back, those that read others first.

    Args:
        catalog: Where the legacy views were.
        journal_path: The run's journal.
        names: Only these views; none is all. One that the run's plan does not have is refused.
        force: Whether changes that were made since the import may be lost.
        to: Where the new views went; None is the same catalog.
        progress: Told after each view.

    Returns:
        What became of each view.

    Raises:
        JournalError: If the journal cannot be used.
        PlanError: If the run was for another target.
    """
    outcomes: list[RevertOutcome] = []
    with Journal(journal_path) as journal:
        history = journal.history
        history.plan.check_target(target_of(to))
        wanted = [name for name in _converted(history) if not names or name in names]
        for name in wanted:
            outcome = _guarded(name, lambda name=name: _revert(catalog, to, history, name, force))  # type: ignore[misc]
            journal.reverted(name, outcome.result.value)
            outcomes.append(outcome)
            if progress is not None:
                progress(len(outcomes), len(wanted), outcome)
        outcomes += [_unconverted(history, name, journal_path) for name in names if name not in wanted]
    return tuple(outcomes)


def revert_views(
    catalog: HiveViewCatalog, names: Iterable[ViewName], *, force: bool = False
) -> tuple[RevertOutcome, ...]:
    """Give views that were converted in place their legacy rows back without a journal: from the files next to them.

    Args:
        catalog: Where they are.
        names: The views.
        force: Whether changes that were made since the import may be lost.

    Returns:
        What became of each view.
    """
    store = catalog.store

    def back(name: ViewName) -> RevertOutcome:
        row = store.get_row(name)
        if row is None or row.kind is not RowKind.ICEBERG_VIEW or LEGACY_ROW not in row.parameters:
            raise RevertError(str(name), "no import made it: its row names no legacy row")
        legacy = read_backup(store.files, row.parameters[LEGACY_ROW], str(name))
        if legacy.name != name:
            raise RevertError(
                str(name), f"it was imported from {legacy.name}, which still stands there: drop it instead"
            )
        return _put_back(catalog, row, legacy, force)

    return tuple(_guarded(name, lambda name=name: back(name)) for name in names)  # type: ignore[misc]


def _converted(history: History) -> list[ViewName]:
    """What the journal says may be converted, the last one first; also what a killed run had only announced."""
    order = [entry.name for entry in history.plan.entries]
    found = []
    for name in reversed(order):
        outcome = history.outcomes.get(name)
        if (
            name in history.prepared
            and (outcome is None or outcome.status in (Status.CONVERTED, Status.UNKNOWN, Status.FAILED))
        ) or (outcome is not None and outcome.status is Status.CONVERTED):
            found.append(name)
    return found


def _unconverted(history: History, name: ViewName, journal: Path) -> RevertOutcome:
    """What is to be said of a view that somebody names and the run did not convert."""
    if any(entry.name == name for entry in history.plan.entries):
        return RevertOutcome(name, Reverted.ALREADY, "the run did not convert it")
    return RevertOutcome(name, Reverted.REFUSED, f"the import of {journal} has no legacy view of this name")


def _guarded(name: ViewName, revert: Callable[[], RevertOutcome]) -> RevertOutcome:
    try:
        return revert()
    except RevertError as error:
        return RevertOutcome(name, Reverted.REFUSED, str(error))
    except HiveViewsError as error:
        return RevertOutcome(name, Reverted.FAILED, str(error))


def _revert(
    catalog: HiveViewCatalog, to: HiveViewCatalog | None, history: History, name: ViewName, force: bool
) -> RevertOutcome:
    entry = next(entry for entry in history.plan.entries if entry.name == name)
    if to is not None or not entry.in_place:
        return _drop_copy(to or catalog, history, entry, force)
    store = catalog.store
    row = store.get_row(name)
    if row is None:
        raise RevertError(str(name), "it is gone")
    if row_fingerprint(row) == entry.fingerprint:
        _withdraw(catalog, _announced(history, name), force)  # of a run or a revert that was killed
        return RevertOutcome(name, Reverted.ALREADY)
    if row.kind is not RowKind.ICEBERG_VIEW:
        raise RevertError(str(name), "something else stands there now")
    return _put_back(catalog, row, _legacy(store, row, history, name), force)


def _legacy(store: MetastoreStore, row: Row, history: History, name: ViewName) -> Row:
    backup = row.parameters.get(LEGACY_ROW)
    for item in history.prepared.get(name, ()):
        if backup in (None, item.backup):
            try:
                return unpacked(item.row)
            except ValueError as error:
                raise RevertError(str(name), f"its legacy row in the journal is broken: {error}") from error
    if backup is None:
        raise RevertError(str(name), "neither the journal nor the view knows its legacy row")
    return read_backup(store.files, backup, str(name))


def _put_back(catalog: HiveViewCatalog, row: Row, legacy: Row, force: bool) -> RevertOutcome:
    name, store = legacy.name, catalog.store
    storages = _storages(row)
    if not force:
        _check_untouched(store, row, legacy)
        for storage in storages:
            check_unrefreshed(catalog, name, storage)
    swap_row(store, row, legacy)
    # Only now: a legacy row without these is whole, a view without its storage is not.
    _withdraw(catalog, storages, force)
    return RevertOutcome(name, Reverted.REVERTED)


def _check_untouched(store: MetastoreStore, row: Row, legacy: Row) -> None:
    """Refuse a view that was committed to since its import, or whose row another program changed."""
    name = str(row.name)
    if row.parameters.get(PREVIOUS_METADATA_LOCATION):
        raise RevertError(name, "the view was changed since its import; force it to lose the changes")
    if row.parameters.get(LEGACY_FINGERPRINT) != row_fingerprint(legacy):
        raise RevertError(name, "the view says that it took another row's place; force it if this one is meant")
    if row.owner != legacy.owner or row.create_time != legacy.create_time:
        raise RevertError(name, "its owner was changed since its import; force it to lose the change")
    metadata = store.files.read(row.metadata_location or "")
    expected = row_as_converted(store, legacy, metadata, row.metadata_location or "")
    if row_fingerprint(expected) != row_fingerprint(row):
        raise RevertError(name, "its row was changed since its import; force it to lose the changes")


def _drop_copy(catalog: HiveViewCatalog, history: History, entry: Entry, force: bool) -> RevertOutcome:
    store, name, target = catalog.store, entry.name, entry.target
    row = store.get_row(target)
    if row is None:
        _withdraw(catalog, _announced(history, name), force)
        return RevertOutcome(name, Reverted.ALREADY)
    if row.kind is not RowKind.ICEBERG_VIEW or row.parameters.get(LEGACY_FINGERPRINT) != entry.fingerprint:
        raise RevertError(str(target), f"it is not the view that was imported from {name}")
    if row.parameters.get(PREVIOUS_METADATA_LOCATION) and not force:
        raise RevertError(str(target), "the view was changed since its import; force it to lose the changes")
    storages = _storages(row)
    if not force:
        for storage in storages:
            check_unrefreshed(catalog, target, storage)
    drop_view(store, target, expected=row.metadata_location)
    _withdraw(catalog, storages, force)
    return RevertOutcome(name, Reverted.REVERTED)


def _storages(row: Row) -> list[Storage]:
    """What the import did about the storage of a view."""
    text = row.parameters.get(LEGACY_STORAGE)
    try:
        return [] if text is None else [Storage.decode(text)]
    except ValueError as error:
        raise RevertError(str(row.name), f"what it says of its storage cannot be read: {error}") from error


def _announced(history: History, name: ViewName) -> list[Storage]:
    found = dict.fromkeys(item.storage for item in history.prepared.get(name, ()) if item.storage is not None)
    try:
        return [Storage.decode(text) for text in found]
    except ValueError as error:
        raise RevertError(str(name), f"what the journal says of its storage cannot be read: {error}") from error


def _withdraw(catalog: HiveViewCatalog, storages: Iterable[Storage], force: bool) -> None:
    for storage in storages:
        withdraw(catalog, storage, force=force)
