"""Replacing the definition or the properties of a materialized view.

The definition is replaced first, in one commit; from then on the stored rows, which are those of the old definition,
answer no query, unless the new definition is the same query, written differently. The storage table keeps the old
columns with the old rows until the next refresh, which is a full one and publishes new columns and new rows in one
commit. A reader of the storage table alone (any reader in the layout `table`) therefore always sees columns and rows
that match, and an interruption between the two commits loses nothing.
"""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.table.update import (
    AddSchemaUpdate,
    AssertTableUUID,
    RemovePropertiesUpdate,
    SetCurrentSchemaUpdate,
    SetPropertiesUpdate,
)
from pyiceberg.transforms import VoidTransform
from pyiceberg.types import NestedField

from hive_views.dependencies.graph import reject_cycle
from hive_views.dependencies.view_changes import check_same, commit_changes
from hive_views.errors import (
    CommitFailedError,
    DefinitionChangedError,
    HiveViewsError,
    InvalidPropertyError,
    NotMaterializedError,
    RefreshError,
    after_steps,
)
from hive_views.materialized.layouts.layout import Layout
from hive_views.materialized.layouts.table import AssociatedView
from hive_views.materialized.loading import (
    LoadedMaterializedView,
    column_mismatch,
    is_materialized,
    recorded_refresh,
)
from hive_views.materialized.properties import (
    FORMAT_VERSION,
    check_settings,
    is_storage_property,
    is_view_property,
    split_properties,
)
from hive_views.materialized.state.refresh_state import RefreshState, fingerprint
from hive_views.metastore.commit.view_properties import check_view_properties
from hive_views.metastore.queries import load_view
from hive_views.metastore.store import LoadedView
from hive_views.spec.changes import AddVersion, SetProperties, apply
from hive_views.spec.file_codec import new_location
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.staleness_policy import METADATA
from hive_views.spec.storage_link import link_of, with_link

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.update import TableUpdate

    from hive_views.dependencies.view_builder import ViewDefinition
    from hive_views.metastore.store import MetastoreStore
    from hive_views.spec.changes import Change

_MAX_ATTEMPTS = 10


def redefine(
    store: MetastoreStore,
    view: LoadedMaterializedView,
    definition: ViewDefinition,
    properties: Mapping[str, str],
) -> bool:
    """Replace the definition of a materialized view; returns whether anything changed."""
    check_settings(properties)
    if view.storage is not None and not _has_same_columns(view.metadata.current_schema(), definition.schema):
        next_storage_schema(str(view.name), view.storage.metadata, definition.schema)  # raises if there is none
    if view.layout is Layout.TABLE:
        return _redefine_table(store, view, definition, properties)
    loaded = load_current(store, view, definition=True)
    schema = _keep_schema(loaded.metadata, definition)
    changes: list[Change] = [
        AddVersion(schema, with_link(definition.version, link_of(loaded.metadata.current_version())))
    ]
    view_properties, storage_properties = split_properties(properties)
    if view_properties:
        check_view_properties(view_properties)
        changes.append(SetProperties(view_properties))
    is_changed = set_on_storage(view, SetProperties(storage_properties))
    with after_steps(*_storage_steps(view, is_changed)):
        committed = commit_changes(store, loaded, changes)
    return is_changed or committed.row.metadata_location != loaded.row.metadata_location


def load_current(store: MetastoreStore, view: LoadedMaterializedView, *, definition: bool = False) -> LoadedView:
    """Load the view of a materialized view that was loaded before.

    Args:
        store: Metastore and files.
        view: The materialized view as it was loaded, not of the layout `table`.
        definition: Whether the caller depends on its definition.

    Raises:
        NoSuchViewError: If it was dropped.
        NotMaterializedError: If it is a plain view now.
        DefinitionChangedError: If it is another view now or, with `definition`, has another definition.
    """
    current = load_view(store, view.name)
    check_same(LoadedView(view.row, view.metadata), current, definition=definition)
    if not is_materialized(current.metadata):
        raise NotMaterializedError(str(view.name), "it was made a plain view since it was loaded")
    return current


def _storage_steps(view: LoadedMaterializedView, is_changed: bool) -> list[str]:
    """Return the completed steps of an operation that changes the view after its storage table."""
    return [f"properties of the storage table of {view.name} were changed"] if is_changed else []


def _keep_schema(metadata: ViewMetadata, definition: ViewDefinition) -> Schema:
    """Return the schema of a new definition: the current one if the columns stay the same."""
    current = metadata.current_schema()
    return current if _has_same_columns(current, definition.schema) else definition.schema


def _redefine_table(
    store: MetastoreStore,
    view: LoadedMaterializedView,
    definition: ViewDefinition,
    properties: Mapping[str, str],
) -> bool:
    """Replace the definition in the layout `table`."""
    name = view.name
    metadata = apply(
        view.metadata,
        [AddVersion(_keep_schema(view.metadata, definition), definition.version)],
        identifier=str(name),
        now_ms=int(time.time() * 1000),
    )
    change = SetProperties(properties)
    if metadata == view.metadata:
        return _set_on_table(store, view, change)
    reject_cycle(store, name, metadata.current_version(), is_new=True)
    if store.config.strict and metadata.current_schema_id != view.metadata.current_schema_id:
        from hive_views.dependencies.impact import reject_breaking_definition  # imports sqlglot

        reject_breaking_definition(store, name, metadata)
    swap_definition(store, view, metadata, change)
    return True


def swap_definition(
    store: MetastoreStore,
    view: LoadedMaterializedView,
    metadata: ViewMetadata,
    change: SetProperties,
) -> None:
    """Write the view's new metadata file, and set it and the properties in one commit of the table."""
    name, table = view.name, view.readable_storage()
    before = AssociatedView.of(table.metadata.properties)
    location = new_location(metadata, before.associated_view_location, str(uuid.uuid4()))
    store.files.write(location, metadata)
    value = replace(before, associated_view_location=location).encode()
    updates = SetProperties({**change.updates, METADATA: value}, change.removals)
    for attempt in range(_MAX_ATTEMPTS):
        requirement = AssertStorage.of(table, view_location=before.associated_view_location)
        try:
            table.catalog.commit_table(table, (requirement,), _property_updates(updates, table))
            return
        except CommitFailedError as error:
            # Retry after a concurrent refresh; fail after a concurrent change of the definition.
            table = table.catalog.load_table(name.identifier)
            current = _view_location(table.metadata)
            if current == location:
                return
            if current != before.associated_view_location or attempt == _MAX_ATTEMPTS - 1:
                store.files.delete(location)
                raise CommitFailedError(
                    str(name),
                    f"its definition was not replaced: {error}",
                    expected=before.associated_view_location,
                    found=current,
                ) from error
        except HiveViewsError as error:
            if not error.may_take_effect:
                store.files.delete(location)
            raise
    raise AssertionError("unreachable: the loop either returns or raises")


def set_properties(store: MetastoreStore, view: LoadedMaterializedView, change: SetProperties) -> bool:
    """Set and remove properties where the layout stores them; returns whether anything changed."""
    check_settings(change.updates, change.removals)
    if FORMAT_VERSION in change.updates:
        raise InvalidPropertyError(FORMAT_VERSION, change.updates[FORMAT_VERSION], "it can be set at creation only")
    if view.layout is Layout.TABLE:
        return _set_on_table(store, view, change)
    loaded = load_current(store, view)
    updates, storage_updates = split_properties(change.updates)
    is_changed = set_on_storage(
        view, SetProperties(storage_updates, frozenset(filter(is_storage_property, change.removals)))
    )
    view_change = SetProperties(updates, frozenset(filter(is_view_property, change.removals)))
    with after_steps(*_storage_steps(view, is_changed)):
        committed = commit_changes(store, loaded, [view_change])
    return is_changed or committed.row.metadata_location != loaded.row.metadata_location


def _set_on_table(store: MetastoreStore, view: LoadedMaterializedView, change: SetProperties) -> bool:
    keys = change.updates.keys() | change.removals
    if keys & view.metadata.properties.keys():
        # An earlier release stored properties in the view's file, where they would reappear after a removal.
        cleaned = apply(
            view.metadata,
            [SetProperties(removals=frozenset(keys))],
            identifier=str(view.name),
            now_ms=int(time.time() * 1000),
        )
        swap_definition(store, view, cleaned, change)
        return True
    return set_on_storage(view, change)


def set_on_storage(view: LoadedMaterializedView, change: SetProperties) -> bool:
    """Set and remove properties of the storage table; returns whether anything changed."""
    if not change.updates and not change.removals:
        return False
    table = view.readable_storage()
    for attempt in range(_MAX_ATTEMPTS):
        current = table.metadata.properties
        if change.updates.items() <= current.items() and not change.removals & current.keys():
            return False
        try:
            table.catalog.commit_table(table, (AssertStorage.of(table),), _property_updates(change, table))
            return True
        except CommitFailedError:
            if attempt == _MAX_ATTEMPTS - 1:
                raise
            loaded, table = table, table.catalog.load_table(table.name())
            if table.metadata.table_uuid != loaded.metadata.table_uuid:
                raise DefinitionChangedError(
                    str(view.name),
                    "it was dropped and created again by another program",
                    expected=str(loaded.metadata.table_uuid),
                    found=str(table.metadata.table_uuid),
                ) from None
    raise AssertionError("unreachable: the loop either returns or raises")


def _property_updates(change: SetProperties, table: Table) -> tuple[TableUpdate, ...]:
    removals = sorted(change.removals & table.metadata.properties.keys())
    updates = (SetPropertiesUpdate(updates=dict(change.updates)),) if change.updates else ()
    return *updates, *((RemovePropertiesUpdate(removals=removals),) if removals else ())


def _view_location(metadata: TableMetadata) -> str | None:
    text = metadata.properties.get(METADATA)
    return None if text is None else AssociatedView.decode(text).associated_view_location


class AssertStorage(AssertTableUUID):
    """Requires that a storage table is the same, with the same schemas and the same view metadata file."""

    view_location: str | None = None
    """The view's metadata file, in the layout `table`; None accepts any."""
    schema_ids: tuple[int, ...] | None = None
    """Its schema IDs, the current one first; None accepts any."""
    last_column_id: int | None = None
    """The highest column ID that was ever assigned; None accepts any."""

    @classmethod
    def of(cls, table: Table, *, view_location: str | None = None, schemas: bool = False) -> AssertStorage:
        """Return the requirement that a table has not changed since it was loaded."""
        metadata = table.metadata
        ids, last = (_schema_ids(metadata), metadata.last_column_id) if schemas else (None, None)
        return cls(uuid=metadata.table_uuid, view_location=view_location, schema_ids=ids, last_column_id=last)

    def validate(self, base_metadata: TableMetadata | None) -> None:  # type: ignore[override]  # PyIceberg's own
        """Compare with the table's current metadata."""
        super().validate(base_metadata)
        assert base_metadata is not None, "the base class rejects a missing table"
        if self.view_location is not None and _view_location(base_metadata) != self.view_location:
            raise CommitFailedException("the definition was replaced concurrently")
        has_same_schemas = (_schema_ids(base_metadata), base_metadata.last_column_id) == (
            self.schema_ids,
            self.last_column_id,
        )
        if self.schema_ids is not None and not has_same_schemas:
            raise CommitFailedException("the columns of the storage were changed concurrently")


def _schema_ids(metadata: TableMetadata) -> tuple[int, ...]:
    return (metadata.current_schema_id, *(schema.schema_id for schema in metadata.schemas))


# -- Columns ----------------------------------------------------------------------------------------------------------


def new_storage_columns(view: LoadedMaterializedView) -> Schema | None:
    """Return the columns that a refresh gives to the storage table; None if the definition's columns did not change."""
    problem = column_mismatch(view)
    if problem is None:
        return None
    state = recorded_refresh(view, view.snapshot).state
    if state is not None and _is_state_of(state, view.metadata):
        raise RefreshError(str(view.name), f"{problem}: change them back, or drop it and create it again")
    try:
        return next_storage_schema(str(view.name), view.readable_storage().metadata, view.metadata.current_schema())
    except InvalidPropertyError as error:
        raise RefreshError(str(view.name), str(error)) from error


def _is_state_of(state: RefreshState, metadata: ViewMetadata) -> bool:
    """Return whether a refresh was of the current definition; the id of an expired version is reused."""
    has_same_fingerprint = state.definition is None or state.definition == fingerprint(metadata)
    return has_same_fingerprint and state.view_version_id == metadata.current_version_id


def schema_updates(schema: Schema) -> tuple[TableUpdate, ...]:
    """Return the updates that make a schema the current one of a storage table."""
    return AddSchemaUpdate(schema=schema), SetCurrentSchemaUpdate.model_validate({"schema-id": schema.schema_id})


def next_storage_schema(name: str, metadata: TableMetadata, wanted: Schema) -> Schema:
    """Return the next schema of a storage table, for another definition.

    A column with the same name and type keeps its id; every other gets an id that was never used, so that no row of an
    earlier refresh is read as one of that column.
    """
    current_fields = {field.name: field for field in metadata.schema().fields}
    new_ids = itertools.count(metadata.last_column_id + 1)
    fields: list[NestedField] = []
    for field in wanted.fields:
        stored = current_fields.get(field.name)
        if stored is None or not _has_same_type(stored, field):
            [stored] = assign_fresh_schema_ids(Schema(field), lambda: next(new_ids)).fields
        fields.append(stored.model_copy(update={"required": False, "doc": field.doc}))
    field_ids = {field.field_id for field in fields}
    partition_sources = [
        field.source_id for field in metadata.spec().fields if not isinstance(field.transform, VoidTransform)
    ]
    order = next((order for order in metadata.sort_orders if order.order_id == metadata.default_sort_order_id), None)
    for source_id in (*partition_sources, *(field.source_id for field in (order.fields if order is not None else ()))):
        if source_id not in field_ids:
            column = metadata.schema().find_column_name(source_id)
            raise InvalidPropertyError(
                "partitioned by",
                column,
                f"the rows of {name} are partitioned or sorted by this column, which the new definition does not have, "
                "or has with another type. Drop it and create it again",
            )
    return Schema(*fields, schema_id=max(schema.schema_id for schema in metadata.schemas) + 1)


def _has_same_type(field: NestedField, other: NestedField) -> bool:
    types = [assign_fresh_schema_ids(Schema(item)).fields[0].field_type for item in (field, other)]
    return bool(types[0] == types[1])


def _has_same_columns(schema: Schema, other: Schema) -> bool:
    """Return whether two schemas have the same column names and types, whatever their ids and comments."""
    columns = [
        [(field.name, field.field_type) for field in assign_fresh_schema_ids(item).fields] for item in (schema, other)
    ]
    return columns[0] == columns[1]
