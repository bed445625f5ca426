"""Dropping materialized views with their storages, and keeping what others have.

What goes and what stays is settled before anything is changed: the definition's files, the storage's row and the
storage's files each go if they are this view's alone. What stays is told in the log, with its reason. A kill leaves at
most a storage or files that are nobody's (`hive_views.materialized.maintenance.abandoned` lists them).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyiceberg.table import Table

from hive_views.catalog.tables import table_owner
from hive_views.dependencies.drop import (
    DropBehavior,
    DropReport,
    DropStep,
    drop_object,
    drop_view,
    plan_drop,
    view_owner,
)
from hive_views.errors import (
    CommitFailedError,
    DependentsError,
    MetastoreError,
    MetastoreRefusedError,
    NoSuchTableError,
)
from hive_views.identifiers import ViewName
from hive_views.io.deletion import delete_view_files
from hive_views.io.table_files import NOT_COLLECTED, TableFiles, delete_files, files_to_purge, is_collected
from hive_views.materialized.layouts.layouts import METADATA, AssociatedView, Layout
from hive_views.materialized.refresh.publish import is_staging
from hive_views.metastore.queries import load_view
from hive_views.metastore.row_codec import Row, RowKind
from hive_views.metastore.shared_files import FileOwner, SharingRow, find_rows_sharing_files
from hive_views.metastore.store import LoadedView
from hive_views.spec.lineage_codec import ObjectKind
from hive_views.spec.storage_link import STORAGE_OF

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.materialized.loading import MaterializedView

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Plan:
    """What goes with a materialized view."""

    row: ViewName | None
    """The storage's row; None where it stays, or there is none."""
    files: TableFiles | None = None
    """The storage's files that go."""
    storage_stays: str | None = None
    """Why the storage's files stay."""
    definition_stays: str | None = None
    """Why the definition's files stay."""


def drop_materialized(
    catalog: HiveViewCatalog, view: MaterializedView, *, restrict: bool, cascade: bool, purge: bool
) -> DropReport:
    """Drop a materialized view and its storage."""
    behavior = catalog._behavior(restrict, cascade)
    plan = _plan(catalog, view, purge)
    # The definitions of views that go with it by CASCADE stay: nobody could write them again.
    if plan.row is None or plan.row == view.name or behavior is DropBehavior.NONE:
        return catalog._drop(view.name, behavior, lambda: _remove(catalog, view, plan, purge))
    before = plan_drop(catalog._lineages, plan.row, behavior)
    if before.is_rejected:
        raise DependentsError(str(view.name), "drop", [str(item) for item in before.dependents])
    with_storage: list[DropStep] = []

    def remove() -> DropStep:
        assert plan.row is not None, "looked at above"
        inner = drop_object(catalog._lineages, plan.row, behavior, lambda: _remove(catalog, view, plan, purge))
        with_storage.extend(inner.steps)
        return next(step for step in inner.steps if step.name == view.name)

    report = catalog._drop(view.name, behavior, remove)
    steps = [item for step in report.steps for item in (with_storage if step.name == view.name else [step])]
    return replace(report, steps=tuple(steps))


def drop_storage(catalog: HiveViewCatalog, table: ViewName, view_uuid: str) -> None:
    """Drop a storage table that was made for a view which did not come to be, with the files that are its alone."""
    try:
        found = catalog.load_table(table.identifier)
    except NoSuchTableError:
        return
    if _owner(found) != view_uuid.lower():
        logger.warning("%s is not dropped: it is not the storage of view %s", table, view_uuid)
        return
    try:
        others = _also(_named(catalog, table_owner(found, table))[1])
    except MetastoreRefusedError as error:
        others = _unknown(error)
    files = None if others else files_to_purge(found, catalog.store.files)
    catalog.remove_table(table.identifier)
    others = others or _also_now(catalog, table_owner(found, None))
    if others:
        logger.warning("The files of %s are left, because %s", table, others)
    else:
        delete_files(table, files, catalog.store.files)


def shared(catalog: HiveViewCatalog, view: MaterializedView) -> list[SharingRow]:
    """Others that have files of a materialized view's storage; rows that a refresh makes for itself are none."""
    assert view.storage is not None, "the caller has looked"
    owners = [table_owner(view.storage, view.storage_name)]
    if view.layout is Layout.ATTACHED:
        owners.append(view_owner(LoadedView(view.row, view.metadata)))
    views, tables = _named(catalog, *owners)
    return [*views, *tables]


# -- What goes --------------------------------------------------------------------------------------------------------


def _plan(catalog: HiveViewCatalog, view: MaterializedView, purge: bool) -> _Plan:
    storage, uuid = view.storage, view.metadata.view_uuid.lower()
    row = None if view.storage_name is None else catalog.store.get_row(view.storage_name)
    if view.layout is Layout.REGISTERED and (row is None or not _is_storage_row(row, storage, uuid)):
        if row is not None:
            logger.warning("%s is not dropped: it is not the storage of view %s", row.name, uuid)
        row, storage = None, None
    name = None if row is None else row.name
    if not purge and view.layout is not Layout.REGISTERED:
        return _Plan(name)
    try:
        of_view, of_table = _others(catalog, view, storage)
        unknown = None
    except MetastoreRefusedError as error:
        of_view, of_table, unknown = None, None, _unknown(error)
    if of_view is not None and view.layout is Layout.REGISTERED and name is not None:
        logger.warning("%s is not dropped: %s", name, of_view)
        return _Plan(None, definition_stays=of_view)
    if not purge:
        return _Plan(name)
    definition_stays, storage_stays = of_view or unknown, of_table or unknown
    if view.layout is Layout.ATTACHED:
        storage_stays = of_view or storage_stays or _not_own(view, uuid)
    elif storage is None and name is not None:
        storage_stays = storage_stays or view.problem
    if storage is not None and not is_collected(storage.metadata.properties):
        storage_stays = storage_stays or NOT_COLLECTED
    if view.layout is Layout.TABLE:
        definition_stays = definition_stays or storage_stays
    # Read before the view is gone: what cannot be read is refused, and nothing has happened.
    going = storage is not None and storage_stays is None
    files = files_to_purge(storage, catalog.store.files) if storage is not None and going else None
    return _Plan(name, files, storage_stays, definition_stays)


def _others(catalog: HiveViewCatalog, view: MaterializedView, storage: Table | None) -> tuple[str | None, str | None]:
    """Why files of the definition, and of the storage, are others' too."""
    definition = view_owner(LoadedView(view.row, view.metadata))
    if view.layout is Layout.TABLE:
        definition = FileOwner(definition.uuid, _definition_files(view))
    owners = [definition] if storage is None else [definition, table_owner(storage, view.storage_name)]
    views, tables = _named(catalog, *owners)
    return _also(views), _also(tables)


def _named(catalog: HiveViewCatalog, *owners: FileOwner) -> tuple[list[SharingRow], list[SharingRow]]:
    """The views and the tables that have files of some owners; rows that a refresh makes for itself are none."""
    found = [twin for twin in find_rows_sharing_files(catalog.store, *owners) if not is_staging(twin.row.name.name)]
    views = [twin for twin in found if twin.row.kind is RowKind.ICEBERG_VIEW]
    return views, [twin for twin in found if twin not in views]


def _also_now(catalog: HiveViewCatalog, owner: FileOwner) -> str | None:
    """Why files stay of what has just been dropped: another name may have got them since the plan."""
    try:
        views, tables = _named(catalog, owner)
    except MetastoreError as error:
        return _unknown(error)
    return _also([*views, *tables])


def _also(found: Sequence[SharingRow]) -> str | None:
    return f"{', '.join(map(str, found))} was registered from one of them, and needs them" if found else None


def _unknown(error: MetastoreError) -> str:
    return f"could not determine whether other rows reference them ({error})"


def _not_own(view: MaterializedView, uuid: str) -> str | None:
    """Why the files of an attached storage are not the view's to delete."""
    if view.storage is None:
        return view.problem
    return None if _owner(view.storage) == uuid else "it does not say that it is this view's"


def _is_storage_row(row: Row, storage: Table | None, uuid: str) -> bool:
    """Whether a row is the storage of a view, by the table itself or, where that cannot be read, by the row."""
    said = row.parameters.get(STORAGE_OF, "").lower() if storage is None else _owner(storage)
    return row.kind is RowKind.ICEBERG_TABLE and said == uuid


def _owner(storage: Table) -> str:
    """The UUID of the view that a storage says it is of."""
    return str(storage.metadata.properties.get(STORAGE_OF, "")).lower()


def _definition_files(view: MaterializedView) -> tuple[str, ...]:
    assert view.storage is not None, "the view was found by its table"
    return (AssociatedView.decode(view.storage.metadata.properties[METADATA]).associated_view_location,)


# -- The steps --------------------------------------------------------------------------------------------------------


def _remove(catalog: HiveViewCatalog, view: MaterializedView, plan: _Plan, purge: bool) -> DropStep:
    """Readers find the view first, so it goes first; then the storage's row, then files."""
    store, name = catalog.store, view.name
    if view.layout is Layout.TABLE:
        _drop_row(catalog, view.row, name)
        step = DropStep(name, ObjectKind.TABLE)
        metadata, definition = view.metadata, FileOwner(view.metadata.view_uuid, _definition_files(view))
        collected = True  # the storage's properties say so: the plan has looked
    else:
        loaded = load_view(store, name)
        if loaded.metadata.view_uuid.lower() != view.metadata.view_uuid.lower():
            raise CommitFailedError(str(name), "another view has the name by now. It was not dropped")
        step = drop_view(store, name, expected=loaded.row.metadata_location)
        metadata, definition = loaded.metadata, replace(view_owner(loaded), name=None)
        collected = is_collected(metadata.properties)
        if plan.row is not None:
            plan = _looked_again(catalog, view, plan, definition)
        there = None if plan.row is None else store.get_row(plan.row)
        if there is not None and there.parameters.get(STORAGE_OF, "").lower() == view.metadata.view_uuid.lower():
            with suppress(NoSuchTableError):
                _drop_row(catalog, there, there.name)
    if not purge:
        return step
    if plan.files is not None or (collected and plan.definition_stays is None):
        plan = _looked_again(catalog, view, replace(plan, row=None), definition)
    if plan.files is not None:
        delete_files(f"the storage of {name}", plan.files, store.files)
    if collected and plan.definition_stays is None:
        # Those of earlier definitions are told by the view's UUID.
        delete_view_files(store.files, definition.metadata_locations, metadata)
        step = replace(step, metadata_location=None)
    for what, why in (("definition", plan.definition_stays), ("storage", plan.storage_stays)):
        if why is not None:
            logger.warning("The files of %s's %s are left, because %s", name, what, why)
    return step


def _looked_again(catalog: HiveViewCatalog, view: MaterializedView, plan: _Plan, definition: FileOwner) -> _Plan:
    """What still goes, now that the view is gone: others may have registered what is left of it since the plan."""
    owners = [definition]
    if view.storage is not None and (plan.row is not None or plan.files is not None):
        owners.append(table_owner(view.storage, plan.row))
    try:
        views, tables = _named(catalog, *owners)
    except MetastoreError as error:
        unknown = _unknown(error)
        return _Plan(plan.row, None, plan.storage_stays or unknown, plan.definition_stays or unknown)
    of_view, of_table = _also(views), _also(tables)
    definition_stays, storage_stays = plan.definition_stays or of_view, plan.storage_stays or of_view or of_table
    if of_view is not None and plan.row is not None:
        logger.warning("%s is not dropped: %s", plan.row, of_view)
        return _Plan(None, None, storage_stays, definition_stays)
    if view.layout is Layout.TABLE:
        definition_stays = definition_stays or storage_stays
    return _Plan(plan.row, plan.files if storage_stays is None else None, storage_stays, definition_stays)


def _drop_row(catalog: HiveViewCatalog, seen: Row, name: ViewName) -> None:
    now = catalog.store.get_row(name)
    if now is not None and now.uuid != seen.uuid:
        raise CommitFailedError(str(name), "another table has the name by now. It was not dropped")
    catalog.remove_table(name.identifier)
