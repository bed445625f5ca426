"""Dropping materialized views with their storage tables, without deleting files that other rows reference.

What to drop and delete is planned before anything changes: the definition's files, the storage table's row, and the
storage table's files, each only if nothing else references it. What is kept is logged with the reason. An interruption
leaves at most a storage table or files without a view, which garbage collection finds.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyiceberg.table import Table

from hive_views.dependencies.drop import (
    DropBehavior,
    DropReport,
    DropStep,
    drop_object,
    drop_view,
    reject_dependents,
    view_owner,
)
from hive_views.dependencies.graph import DependentFinder
from hive_views.dependencies.lineage import LineageReader
from hive_views.errors import (
    CommitFailedError,
    HiveViewsError,
    MetastoreError,
    MetastoreRefusedError,
    NoSuchTableError,
    after_steps,
)
from hive_views.identifiers import ViewName
from hive_views.io.deletion import delete_view_files
from hive_views.io.table_files import NOT_COLLECTED, TableFiles, delete_files, files_to_purge, is_collected
from hive_views.materialized.layouts.layout import Layout
from hive_views.materialized.layouts.table import AssociatedView
from hive_views.metastore.queries import load_view
from hive_views.metastore.rows.row import Row, RowKind
from hive_views.metastore.shared_files import FileOwner, SharingRow, files_locked, find_rows_sharing_files, table_owner
from hive_views.metastore.store import LoadedView
from hive_views.spec.lineage_codec import ObjectKind
from hive_views.spec.storage_link import STORAGE_OF, is_staging_name

if TYPE_CHECKING:
    from hive_views.materialized.loading import LoadedMaterializedView
    from hive_views.materialized.table_operations import TableOperations
    from hive_views.metastore.store import MetastoreStore

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Plan:
    """What to drop and delete with a materialized view."""

    storage_row: ViewName | None
    """The storage table's row to drop; None if it is kept, or there is none."""
    storage_files: TableFiles | None = None
    """The storage table's files to delete."""
    keep_storage: str | None = None
    """Why the storage table's files are kept."""
    keep_definition: str | None = None
    """Why the definition's files are kept."""


def drop_materialized(
    store: MetastoreStore,
    tables: TableOperations,
    view: LoadedMaterializedView,
    *,
    behavior: DropBehavior | str = DropBehavior.NONE,
    purge: bool,
) -> DropReport:
    """Drop a materialized view and its storage table."""
    lineage_reader = LineageReader(store)
    behavior = DropBehavior.of(behavior, strict=store.config.strict)
    plan = _plan(store, view, purge)

    def remove(check: Callable[[], None]) -> DropStep:
        check()
        return _remove(store, tables, view, plan, purge)

    storage_row = plan.storage_row
    # The definitions of dependents that CASCADE drops are kept, because they could not be restored.
    if storage_row is None or storage_row == view.name or behavior is DropBehavior.NONE:
        return drop_object(lineage_reader, view.name, behavior, remove)
    finder = DependentFinder(lineage_reader)
    if behavior is DropBehavior.RESTRICT:
        reject_dependents(finder, view.name, storage_row)
    storage_steps: list[DropStep] = []

    def remove_with_storage_dependents(check: Callable[[], None]) -> DropStep:
        check()
        report = drop_object(lineage_reader, storage_row, behavior, remove, finder=finder)
        storage_steps.extend(report.steps)
        return next(step for step in report.steps if step.name == view.name)

    report = drop_object(lineage_reader, view.name, behavior, remove_with_storage_dependents, finder=finder)
    steps = [item for step in report.steps for item in (storage_steps if step.name == view.name else [step])]
    return replace(report, steps=tuple(steps))


def discard_new_storage(
    store: MetastoreStore, tables: TableOperations, table: ViewName, view_uuid: str, error: HiveViewsError
) -> None:
    """Drop the storage table of a view that could not be created; if that fails as well, `error` reports it."""
    if error.may_take_effect:
        return
    try:
        drop_unused_storage(store, tables, table, view_uuid)
    except HiveViewsError as failure:
        error.add_completed_steps(
            f"the storage table {table} was created, and could not be removed ({failure}); `mv abandoned` removes it"
        )


def drop_unused_storage(store: MetastoreStore, tables: TableOperations, table: ViewName, view_uuid: str) -> None:
    """Drop a storage table whose view was not created, with the files that only it references."""
    try:
        storage = tables.load_table(table.identifier)
    except NoSuchTableError:
        return
    if _view_uuid_of(storage) != view_uuid.lower():
        logger.warning("%s is not dropped: it is not the storage of view %s", table, view_uuid)
        return
    try:
        _, other_tables = _sharing_rows(store, table_owner(storage, table))
        keep = _registered_reason(other_tables)
    except MetastoreRefusedError as error:
        keep = _undetermined_reason(error)
    files = None if keep else files_to_purge(storage, store.files)
    tables.remove_table(table.identifier)
    keep = keep or _reason_to_keep_now(store, table_owner(storage, None))
    if files is not None and keep is None:
        delete_files(table, files, store.files)
    else:
        logger.warning("The files of %s are kept, because %s", table, keep or NOT_COLLECTED)


def rows_sharing_storage(store: MetastoreStore, view: LoadedMaterializedView) -> list[SharingRow]:
    """Other rows that reference files of a materialized view's storage table, without staging tables."""
    owners = [table_owner(view.readable_storage(), view.storage_name)]
    if view.layout is Layout.ATTACHED:
        owners.append(view_owner(LoadedView(view.row, view.metadata)))
    views, tables = _sharing_rows(store, *owners)
    return [*views, *tables]


# -- The plan ---------------------------------------------------------------------------------------------------------


def _plan(store: MetastoreStore, view: LoadedMaterializedView, purge: bool) -> _Plan:
    storage, view_uuid = view.storage, view.metadata.view_uuid.lower()
    row = None if view.storage_name is None else store.get_row(view.storage_name)
    if view.layout is Layout.REGISTERED and (row is None or not _is_storage_row(row, storage, view_uuid)):
        if row is not None:
            logger.warning("%s is not dropped: it is not the storage of view %s", row.name, view_uuid)
        row, storage = None, None
    storage_row = None if row is None else row.name
    if not purge and view.layout is not Layout.REGISTERED:
        return _Plan(storage_row)
    try:
        shared_with_view, shared_with_table = _sharing_reasons(store, view, storage)
        undetermined = None
    except MetastoreRefusedError as error:
        shared_with_view, shared_with_table, undetermined = None, None, _undetermined_reason(error)
    if shared_with_view is not None and view.layout is Layout.REGISTERED and storage_row is not None:
        logger.warning("%s is not dropped: %s", storage_row, shared_with_view)
        return _Plan(None, keep_definition=shared_with_view)
    if not purge:
        return _Plan(storage_row)
    keep_definition, keep_storage = shared_with_view or undetermined, shared_with_table or undetermined
    if view.layout is Layout.ATTACHED:
        keep_storage = shared_with_view or keep_storage or _reason_not_own(view, view_uuid)
    elif storage is None and storage_row is not None:
        keep_storage = keep_storage or view.problem
    if storage is not None and not is_collected(storage.metadata.properties):
        keep_storage = keep_storage or NOT_COLLECTED
    if view.layout is Layout.TABLE:
        keep_definition = keep_definition or keep_storage
    # Listed before the view is dropped: a file that cannot be read is an error while nothing has changed.
    storage_files = None
    if storage is not None and keep_storage is None:
        storage_files = files_to_purge(storage, store.files)
    return _Plan(storage_row, storage_files, keep_storage, keep_definition)


def _sharing_reasons(
    store: MetastoreStore, view: LoadedMaterializedView, storage: Table | None
) -> tuple[str | None, str | None]:
    """Why other rows need files of the definition, and of the storage table."""
    definition = view_owner(LoadedView(view.row, view.metadata))
    if view.layout is Layout.TABLE:
        definition = FileOwner(definition.uuid, _definition_files(view))
    owners = [definition] if storage is None else [definition, table_owner(storage, view.storage_name)]
    views, tables = _sharing_rows(store, *owners)
    return _registered_reason(views), _registered_reason(tables)


def _sharing_rows(store: MetastoreStore, *owners: FileOwner) -> tuple[list[SharingRow], list[SharingRow]]:
    """Return the views and the tables that reference files of some owners, without staging tables."""
    sharing_rows = [
        sharing for sharing in find_rows_sharing_files(store, *owners) if not is_staging_name(sharing.row.name.name)
    ]
    views = [sharing for sharing in sharing_rows if sharing.row.kind is RowKind.ICEBERG_VIEW]
    return views, [sharing for sharing in sharing_rows if sharing not in views]


def _reason_to_keep_now(store: MetastoreStore, owner: FileOwner) -> str | None:
    """Why files of a dropped row are kept: another row may have been registered since the plan."""
    try:
        views, tables = _sharing_rows(store, owner)
    except MetastoreError as error:
        return _undetermined_reason(error)
    return _registered_reason([*views, *tables])


def _registered_reason(sharing_rows: Sequence[SharingRow]) -> str | None:
    if not sharing_rows:
        return None
    return f"{', '.join(map(str, sharing_rows))} was registered from one of them, and needs them"


def _undetermined_reason(error: MetastoreError) -> str:
    return f"could not determine whether other rows reference them ({error})"


def _reason_not_own(view: LoadedMaterializedView, view_uuid: str) -> str | None:
    """Why the files of an attached storage table do not belong to the view."""
    if view.storage is None:
        return view.problem
    return None if _view_uuid_of(view.storage) == view_uuid else f"its property {STORAGE_OF} does not name this view"


def _is_storage_row(row: Row, storage: Table | None, view_uuid: str) -> bool:
    """Return whether a row is a view's storage table: by the table, or by the row if the table cannot be read."""
    owner = row.parameters.get(STORAGE_OF, "").lower() if storage is None else _view_uuid_of(storage)
    return row.kind is RowKind.ICEBERG_TABLE and owner == view_uuid


def _view_uuid_of(storage: Table) -> str:
    """Return the UUID of the view that a storage table belongs to."""
    return str(storage.metadata.properties.get(STORAGE_OF, "")).lower()


def _definition_files(view: LoadedMaterializedView) -> tuple[str, ...]:
    return (AssociatedView.of(view.readable_storage().metadata.properties).associated_view_location,)


# -- The steps --------------------------------------------------------------------------------------------------------


def _remove(
    store: MetastoreStore, tables: TableOperations, view: LoadedMaterializedView, plan: _Plan, purge: bool
) -> DropStep:
    """Drop the view, which readers use, then the storage table's row, then delete files."""
    name = view.name
    if view.layout is Layout.TABLE:
        dropped = _drop_row(store, tables, view.row, name)
        step = DropStep(name=name, kind=ObjectKind.TABLE, metadata_location=dropped.metadata_location)
        metadata, definition = view.metadata, FileOwner(view.metadata.view_uuid, _definition_files(view))
        collect_definition = True  # the plan has checked `gc.enabled` of the table
    else:
        loaded = load_view(store, name)
        if loaded.metadata.view_uuid.lower() != view.metadata.view_uuid.lower():
            raise CommitFailedError(str(name), "another view has this name now. It was not dropped")
        step = drop_view(store, name, expected=loaded.row.metadata_location)
        metadata, definition = loaded.metadata, replace(view_owner(loaded), name=None)
        collect_definition = is_collected(metadata.properties)
        if plan.storage_row is not None:
            plan = _check_again(store, view, plan, definition)
        with after_steps(
            f"the view {name} was dropped ({step.metadata_location}); what remains is its storage table "
            f"{plan.storage_row}, which `mv abandoned` removes"
        ):
            row = None if plan.storage_row is None else store.get_row(plan.storage_row)
            if row is not None and row.parameters.get(STORAGE_OF, "").lower() == view.metadata.view_uuid.lower():
                with suppress(NoSuchTableError):
                    _drop_row(store, tables, row, row.name)
    if not purge:
        return step
    with (
        after_steps(f"{name} was dropped; what remains are its files"),
        files_locked(store, definition) as check_current,
    ):
        if plan.storage_files is not None or (collect_definition and plan.keep_definition is None):
            plan = _check_again(store, view, replace(plan, storage_row=None), definition)
            check_current()
        remaining: list[str] = []
        if plan.storage_files is not None:
            remaining += delete_files(f"the storage of {name}", plan.storage_files, store.files)
        purges_definition = collect_definition and plan.keep_definition is None
        if purges_definition:
            # Files of earlier versions are recognized by the view's UUID.
            remaining += delete_view_files(store.files, definition.metadata_locations, metadata)
    is_purged = plan.storage_files is not None if view.layout is Layout.TABLE else purges_definition
    location = None if is_purged and step.metadata_location not in remaining else step.metadata_location
    step = replace(step, metadata_location=location, remaining_files=tuple(remaining))
    for part, reason in (("definition", plan.keep_definition), ("storage", plan.keep_storage)):
        if reason is not None:
            logger.warning("The files of %s's %s are kept, because %s", name, part, reason)
    return step


def _check_again(store: MetastoreStore, view: LoadedMaterializedView, plan: _Plan, definition: FileOwner) -> _Plan:
    """Return the plan without what other rows were registered from since it was made; the view is dropped already."""
    owners = [definition]
    if view.storage is not None and (plan.storage_row is not None or plan.storage_files is not None):
        owners.append(table_owner(view.storage, plan.storage_row))
    try:
        views, tables = _sharing_rows(store, *owners)
    except MetastoreError as error:
        reason = _undetermined_reason(error)
        return _Plan(plan.storage_row, None, plan.keep_storage or reason, plan.keep_definition or reason)
    shared_with_view, shared_with_table = _registered_reason(views), _registered_reason(tables)
    keep_definition = plan.keep_definition or shared_with_view
    keep_storage = plan.keep_storage or shared_with_view or shared_with_table
    if shared_with_view is not None and plan.storage_row is not None:
        logger.warning("%s is not dropped: %s", plan.storage_row, shared_with_view)
        return _Plan(None, None, keep_storage, keep_definition)
    if view.layout is Layout.TABLE:
        keep_definition = keep_definition or keep_storage
    return _Plan(plan.storage_row, plan.storage_files if keep_storage is None else None, keep_storage, keep_definition)


def _drop_row(store: MetastoreStore, tables: TableOperations, expected: Row, name: ViewName) -> Row:
    row = store.get_row(name)
    if row is None:
        raise NoSuchTableError(str(name), "dropped concurrently")
    if row.uuid != expected.uuid:
        raise CommitFailedError(str(name), "another table has this name now. It was not dropped")
    tables.remove_table(name.identifier)
    return row
