"""Reverting an import: legacy rows are restored byte for byte, from the journal or from backup files."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchViewError

from hive_views.catalog.catalog import HiveViewCatalog
from hive_views.dependencies.drop import drop_view
from hive_views.errors import (
    CatalogUnavailableError,
    HiveViewsError,
    MetadataFileError,
    MetadataFileNotFoundError,
    RevertError,
)
from hive_views.identifiers import ViewName
from hive_views.io.locations import directory_of
from hive_views.io.table_files import is_collected
from hive_views.legacy_import.backup import read_backup, row_from_text
from hive_views.legacy_import.convert import LEGACY_FINGERPRINT, LEGACY_ROW, row_after_import
from hive_views.legacy_import.journal import History, ImportStatus, Journal, RevertStatus
from hive_views.legacy_import.plan import PlanEntry
from hive_views.legacy_import.run import rejects_late_requests
from hive_views.legacy_import.storage import (
    LEGACY_STORAGE,
    StoragePlan,
    check_restorable,
    check_unrefreshed,
    remove_storage,
)
from hive_views.legacy_import.targets import target_address
from hive_views.metastore.commit.hive_view_commit import swap_row
from hive_views.metastore.drift import find_drift
from hive_views.metastore.queries import load_view
from hive_views.metastore.rows.codec import renamed_row
from hive_views.metastore.rows.row import PREVIOUS_METADATA_LOCATION, Row, RowKind, read_row
from hive_views.metastore.rows.serialization import row_fingerprint
from hive_views.metastore.shared_files import FileOwner, purge_view_files
from hive_views.metastore.store import MetastoreStore
from hive_views.metastore.trino_encoding import is_encoded
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.session_settings import is_row_setting
from hive_views.view_copy.catalogs import CATALOG_ERRORS, errors_of, is_unchanged
from hive_views.view_copy.catalogs import drop_view as drop_view_of
from hive_views.view_copy.catalogs import load_view as load_view_of

_LATE_REQUESTS_S = 3600
"""The age of a conversion, in seconds, after which none of its requests can still arrive at the metastore."""
_BACKUP_NAME = re.compile(r"/legacy-[0-9a-f-]{36}\.json\Z")

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RevertOutcome:
    """How the revert of one view ended."""

    name: ViewName
    """The legacy view."""
    status: RevertStatus
    """How it ended."""
    text: str | None = None
    """Why it was not reverted, or which storage tables remain."""


RevertProgress = Callable[[int, int, RevertOutcome], None]
"""Called with the number of finished views, the number of all views, and the last outcome."""


def revert_run(
    catalog: HiveViewCatalog,
    journal_path: Path,
    *,
    names: Sequence[ViewName] = (),
    force: bool = False,
    to: Catalog | None = None,
    progress: RevertProgress | None = None,
) -> tuple[RevertOutcome, ...]:
    """Restore the legacy rows of the views that a run converted, each before the views that it reads.

    Args:
        catalog: The catalog of the legacy views.
        journal_path: The run's journal.
        names: Only these views; empty for all. A name that is not in the run's plan gets an outcome with that reason.
        force: Discard changes since the import, instead of refusing to revert such a view.
        to: The catalog of the new views, on a metastore or PyIceberg's REST catalog; None for `catalog`.
        progress: Called after each view.

    Returns:
        The outcome of each view. Problems of single views are outcomes, not exceptions.

    Raises:
        JournalError: If the journal cannot be used.
        PlanError: If the run was for another target.
    """
    outcomes: list[RevertOutcome] = []
    with Journal(journal_path) as journal:
        history = journal.history
        history.plan.check_target(target_address(to))
        selected = [name for name in _converted_names(history) if not names or name in names]
        for name in selected:
            outcome = _outcome(name, partial(_revert, catalog, to, history, name, force))
            journal.record_revert(name, outcome.status)
            outcomes.append(outcome)
            if progress is not None:
                progress(len(outcomes), len(selected), outcome)
        outcomes += [_unconverted_outcome(history, name, journal_path) for name in names if name not in selected]
    return tuple(outcomes)


def revert_views(
    catalog: HiveViewCatalog, names: Iterable[ViewName], *, force: bool = False
) -> tuple[RevertOutcome, ...]:
    """Restore the legacy rows of views that were converted in place, from their backup files, without a journal.

    Args:
        catalog: The catalog of the views.
        names: The views.
        force: Discard changes since the import, instead of refusing to revert such a view.

    Returns:
        The outcome of each view. Problems of single views are outcomes, not exceptions.
    """
    return tuple(_outcome(name, partial(_revert_from_backup, catalog, name, force)) for name in names)


def _revert_from_backup(catalog: HiveViewCatalog, name: ViewName, force: bool) -> RevertOutcome:
    store = catalog.store
    row = store.get_row(name)
    if row is None or row.kind is not RowKind.ICEBERG_VIEW or LEGACY_ROW not in row.parameters:
        raise RevertError(str(name), "it is not an imported view: its row names no legacy row")
    legacy = read_backup(store.files, row.parameters[LEGACY_ROW], str(name))
    original = None if legacy.name == name else store.get_row(legacy.name)
    if original is not None and row_fingerprint(original) == row.parameters.get(LEGACY_FINGERPRINT):
        raise RevertError(str(name), f"it is a copy of {legacy.name}, which still exists; drop {name} instead")
    return _restore(catalog, row, legacy, force, has_journal=False)


def _converted_names(history: History) -> list[ViewName]:
    """List the views that may be converted, last first. A killed run may have converted any view that it announced."""
    may_be_converted = (ImportStatus.CONVERTED, ImportStatus.UNKNOWN, ImportStatus.FAILED)
    names = []
    for entry in reversed(history.plan.entries):
        outcome = history.outcomes.get(entry.name)
        is_converted = outcome is not None and outcome.status is ImportStatus.CONVERTED
        if is_converted or (
            entry.name in history.announcements and (outcome is None or outcome.status in may_be_converted)
        ):
            names.append(entry.name)
    return names


def _unconverted_outcome(history: History, name: ViewName, journal: Path) -> RevertOutcome:
    """Return the outcome for a view that the user named but the run did not convert."""
    if name in history.plan.by_name:
        return RevertOutcome(name, RevertStatus.ALREADY, "the run did not convert it")
    return RevertOutcome(name, RevertStatus.REFUSED, f"the import of {journal} has no legacy view of this name")


def _outcome(name: ViewName, revert: Callable[[], RevertOutcome]) -> RevertOutcome:
    try:
        return revert()
    except RevertError as error:
        return RevertOutcome(name, RevertStatus.REFUSED, str(error))
    except HiveViewsError as error:
        return RevertOutcome(name, RevertStatus.FAILED, str(error))


def _revert(
    catalog: HiveViewCatalog, to: Catalog | None, history: History, name: ViewName, force: bool
) -> RevertOutcome:
    entry = history.plan.by_name[name]
    if to is not None and not isinstance(to, HiveViewCatalog):
        return _drop_from_rest(to, history, entry, force)
    if to is not None or not entry.in_place:
        return _drop_copy(to or catalog, history, entry, force)
    store = catalog.store
    row = store.get_row(name)
    if row is None:
        files = ", ".join(announcement.metadata_location for announcement in history.announcements.get(name, ()))
        raise RevertError(
            str(name),
            "it no longer exists. If it was renamed, revert it by its new name (--view) without the journal; if it was "
            f"dropped, restore it with `hive-views register` ({files}) first",
        )
    if row_fingerprint(row) == entry.fingerprint:
        _remove_storages(catalog, _announced_storages(history, name), force)  # left by a killed run or revert
        return RevertOutcome(name, RevertStatus.ALREADY)
    if row.kind is not RowKind.ICEBERG_VIEW:
        raise RevertError(str(name), "it is not an Iceberg view any more")
    return _restore(catalog, row, _legacy_row(store, row, history, name, entry.fingerprint), force, has_journal=True)


def _legacy_row(store: MetastoreStore, row: Row, history: History, name: ViewName, fingerprint: str) -> Row:
    backup = row.parameters.get(LEGACY_ROW)
    if backup is None:
        _check_imported(store, row, history)
    for announcement in history.announcements.get(name, ()):
        if backup in (None, announcement.backup):
            try:
                return row_from_text(announcement.row)
            except ValueError as error:
                raise RevertError(str(name), f"its legacy row in the journal is broken: {error}") from error
    if backup is None:
        raise RevertError(str(name), "neither the journal nor the view names its legacy row")
    legacy = read_backup(store.files, backup, str(name))
    if row_fingerprint(legacy) != fingerprint:
        raise RevertError(
            str(name),
            f"it was imported from another row ({legacy.name}); revert it with --view and without the journal",
        )
    return legacy


def _check_imported(store: MetastoreStore, row: Row, history: History) -> None:
    """Raise RevertError unless a row that names no legacy row belongs to the imported view."""
    announcements = history.announcements.get(row.name, ())
    for announcement in announcements:
        with suppress(HiveViewsError):
            if store.files.read(announcement.metadata_location).view_uuid.lower() == (row.uuid or "").lower():
                return
    files = ", ".join(announcement.metadata_location for announcement in announcements)
    raise RevertError(
        str(row.name),
        f"another view has this name now. Rename or drop it; `hive-views register` restores the imported one ({files})",
    )


def _restore(catalog: HiveViewCatalog, row: Row, legacy: Row, force: bool, *, has_journal: bool) -> RevertOutcome:
    name, store = row.name, catalog.store
    storages = _storages(row)
    fingerprint = row_fingerprint(legacy)
    for storage in storages:
        check_restorable(store, name, storage)
    if legacy.name != name:  # the view was renamed since the import
        legacy = read_row(renamed_row(legacy, name))
    if not force:
        _check_untouched(store, row, legacy, fingerprint)
        for storage in storages:
            check_unrefreshed(catalog, name, storage)
    try:
        metadata = store.files.read(row.metadata_location or "")
    except HiveViewsError:
        if not force:
            raise
        metadata = None
    backup = row.parameters.get(LEGACY_ROW)
    # Any program can write the parameter, so it must not make a view that was not imported pass for one.
    if metadata is not None and backup is not None and metadata.properties.get(LEGACY_ROW) != backup:
        raise RevertError(str(name), f"its row names the legacy row {backup}, and its metadata file does not")
    swap_row(store, row, legacy)
    # After the swap: the view needs the new storage table, the legacy row does not.
    outcome = _remove_unused_storages(catalog, name, storages, force)
    if outcome.text is None and metadata is not None:
        _delete_files(store, row, metadata, has_journal=has_journal)
    return outcome


def _delete_files(store: MetastoreStore, row: Row, metadata: ViewMetadata, *, has_journal: bool) -> None:
    """Delete the metadata files and the backup file of a reverted view, so that its location can be used again."""
    if not is_collected(metadata.properties):
        return
    # A late request of a killed run can convert the view again; the journal must hold the legacy row then.
    is_settled = time.time() * 1000 - metadata.current_version().timestamp_ms > _LATE_REQUESTS_S * 1000
    if not (has_journal or is_settled) or not rejects_late_requests(store):
        return
    locations = tuple(filter(None, (row.metadata_location, row.previous_metadata_location)))
    backup = row.parameters.get(LEGACY_ROW, "")
    # Any program can write the parameter: delete only a file with the location and name of a backup.
    is_ours = directory_of(backup) == directory_of(row.metadata_location or "") and _BACKUP_NAME.search(backup)
    owner = FileOwner(metadata.view_uuid, locations, row.name)
    purge_view_files(store, owner, metadata, (backup,) if is_ours else ())


def _check_untouched(store: MetastoreStore, row: Row, legacy: Row, fingerprint: str) -> None:
    """Raise RevertError if the view has commits since its import, or another program changed its row."""
    name = str(row.name)
    if row.parameters.get(PREVIOUS_METADATA_LOCATION):
        raise RevertError(
            name, "the view was changed since its import, or imported by another run; use force to lose the changes"
        )
    if row.parameters.get(LEGACY_FINGERPRINT) != fingerprint:
        raise RevertError(name, "the view replaced another row; use force to restore this one")
    if row.owner != legacy.owner or row.create_time != legacy.create_time:
        raise RevertError(name, "its owner was changed since its import; use force to lose the change")
    try:
        metadata = store.files.read(row.metadata_location or "")
    except MetadataFileNotFoundError as error:
        raise RevertError(
            name,
            f"{error.location} does not exist, so its row cannot be compared with it; use force to restore the legacy "
            "row all the same",
        ) from error
    keeps_encoding = is_encoded(row.texts.original)
    expected = row_after_import(store, legacy, metadata, row.metadata_location or "", keeps_encoding=keeps_encoding)
    if not any(map(is_row_setting, row.parameters)):
        # Older releases write no settings of the author into the row (decision 0068).
        others = {key: value for key, value in expected.parameters.items() if not is_row_setting(key)}
        expected = expected.with_parameters(others)
    if row_fingerprint(expected) != row_fingerprint(row):
        raise RevertError(name, "its row was changed since its import; use force to lose the changes")


def _drop_copy(catalog: HiveViewCatalog, history: History, entry: PlanEntry, force: bool) -> RevertOutcome:
    store, name, target = catalog.store, entry.name, entry.target
    row = store.get_row(target)
    if row is None:
        _remove_storages(catalog, _announced_storages(history, name), force)
        return RevertOutcome(name, RevertStatus.ALREADY)
    if row.kind is not RowKind.ICEBERG_VIEW or row.parameters.get(LEGACY_FINGERPRINT) != entry.fingerprint:
        raise RevertError(str(target), f"it is not the view that was imported from {name}")
    if row.parameters.get(PREVIOUS_METADATA_LOCATION) and not force:
        raise RevertError(
            str(target),
            "the view was changed since its import, or imported by another run; use force to lose the changes",
        )
    storages = _storages(row)
    if not force:
        _check_undrifted(store, target)
        for storage in storages:
            check_unrefreshed(catalog, target, storage)
    drop_view(store, target, expected=row.metadata_location)
    return _remove_unused_storages(catalog, name, storages, force)


def _drop_from_rest(rest: Catalog, history: History, entry: PlanEntry, force: bool) -> RevertOutcome:
    """Drop an imported view from a REST catalog, whose drop has no condition: the check is the request before it."""
    name, target = entry.name, entry.target.identifier
    with errors_of(rest):
        view = load_view_of(rest, target)
    if view is None:
        return RevertOutcome(name, RevertStatus.ALREADY)
    if view.properties.get(LEGACY_FINGERPRINT) != entry.fingerprint:
        raise RevertError(str(entry.target), f"it is not the view that was imported from {name}")
    announcements = history.announcements.get(name, ())
    if not force and not any(
        is_unchanged(view, item.metadata_location, item.fingerprint) for item in announcements if item.fingerprint
    ):
        raise RevertError(
            str(entry.target),
            "the view was changed since its import, or imported by another run; use force to lose the changes",
        )
    try:
        drop_view_of(rest, target, view)
    except NoSuchViewError:
        return RevertOutcome(name, RevertStatus.ALREADY)
    except CATALOG_ERRORS as error:
        raise CatalogUnavailableError(rest.name, f"it did not confirm the drop of {entry.target}: {error}") from error
    return RevertOutcome(name, RevertStatus.REVERTED)


def _check_undrifted(store: MetastoreStore, target: ViewName) -> None:
    """Raise RevertError if another program changed the row of a copy, or its metadata file cannot be read."""
    try:
        loaded = load_view(store, target)
    except MetadataFileError as error:
        raise RevertError(str(target), f"{error}; use force to drop its row all the same") from error
    drift = find_drift(loaded.row, loaded.metadata, store.config)
    if drift:
        fields = ", ".join(difference.field for difference in drift)
        raise RevertError(
            str(target), f"its row was changed since its import ({fields}); use force to lose the changes"
        )


def _storages(row: Row) -> list[StoragePlan]:
    """Return the storage plan that the row of a view records; empty for a view without storage."""
    text = row.parameters.get(LEGACY_STORAGE)
    if text is None:
        return []
    try:
        storage = StoragePlan.from_text(text)
    except ValueError as error:
        raise RevertError(str(row.name), f"its property {LEGACY_STORAGE} cannot be read: {error}") from error
    # Any program can write the parameter, so it must not name the storage of another view.
    if not row.uuid or storage.view_uuid.lower() != row.uuid.lower():
        raise RevertError(
            str(row.name), f"its property {LEGACY_STORAGE} is about another view ({storage.view_uuid}): correct it"
        )
    return [storage]


def _announced_storages(history: History, name: ViewName) -> list[StoragePlan]:
    announcements = history.announcements.get(name, ())
    texts = dict.fromkeys(item.storage for item in announcements if item.storage is not None)
    try:
        return [StoragePlan.from_text(text) for text in texts]
    except ValueError as error:
        raise RevertError(str(name), f"its storage in the journal cannot be read: {error}") from error


def _remove_unused_storages(
    catalog: HiveViewCatalog, name: ViewName, storages: Sequence[StoragePlan], force: bool
) -> RevertOutcome:
    """Remove the storage tables of a reverted view; the returned outcome names those that remain."""
    try:
        _remove_storages(catalog, storages, force, may_be_unmarked=False)
    except HiveViewsError as error:
        tables = ", ".join(str(storage.table) for storage in storages)
        return RevertOutcome(name, RevertStatus.REVERTED, f"its storage table could not be removed ({tables}): {error}")
    return RevertOutcome(name, RevertStatus.REVERTED)


def _remove_storages(
    catalog: HiveViewCatalog, storages: Iterable[StoragePlan], force: bool, *, may_be_unmarked: bool = True
) -> None:
    for storage in storages:
        remove_storage(catalog, storage, force=force, may_be_unmarked=may_be_unmarked)
