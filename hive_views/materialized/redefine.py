"""Replacing the definition of a materialized view, and its storage's columns with it.

The definition is replaced first, in one commit; the stored rows then are those of another query, and answer no more.
The storage keeps the old columns with the old rows until the next refresh, which is a full one and brings the new
columns and the new rows in one commit. So whoever reads the storage alone (a plain reader in the layout `table`) never
finds the one without the other, and a kill between the two commits loses nothing.
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
from hive_views.dependencies.view_changes import commit_changes
from hive_views.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    HiveViewsError,
    InvalidPropertyError,
    RefreshError,
)
from hive_views.materialized.layouts.layouts import METADATA, AssociatedView, Layout
from hive_views.materialized.loading import MaterializedView, columns_problem, recorded
from hive_views.materialized.properties import check_settings
from hive_views.materialized.state.fingerprint import fingerprint
from hive_views.materialized.state.refresh_state import RefreshState
from hive_views.metastore.queries import load_view
from hive_views.spec.changes import AddVersion, SetProperties, apply
from hive_views.spec.file_codec import new_location
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.storage_link import link_of, with_link

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.update import TableUpdate

    from hive_views.catalog.catalog import HiveViewCatalog
    from hive_views.dependencies.view_builder import ViewDefinition

_ATTEMPTS = 10


def redefine(
    catalog: HiveViewCatalog, view: MaterializedView, definition: ViewDefinition, properties: Mapping[str, str]
) -> bool:
    """Give a materialized view another definition; its stored rows answer no query until the next refresh."""
    check_settings(properties)
    if view.storage is not None and not _same_columns(view.metadata.current_schema(), definition.schema):
        following(str(view.name), view.storage.metadata, definition.schema)
    if view.layout is Layout.TABLE:
        return _redefine_table(catalog, view, definition, properties)
    loaded = catalog.load_view(view.name.identifier)
    schema = loaded.schema() if _same_columns(loaded.schema(), definition.schema) else definition.schema
    version = with_link(definition.version, link_of(loaded.current_version()))
    update = loaded.update().replace_version(version, schema)
    after = (update.set_properties(properties) if properties else update).commit()
    return after.metadata_location != loaded.metadata_location


def _redefine_table(
    catalog: HiveViewCatalog, view: MaterializedView, definition: ViewDefinition, properties: Mapping[str, str]
) -> bool:
    """First the view's new metadata file, which nobody knows yet, then the swap of the pointer in the table."""
    store, name = catalog.store, view.name
    assert view.storage is not None, "a view that only its table names was found by that table"
    columns = view.metadata.current_schema()
    schema = columns if _same_columns(columns, definition.schema) else definition.schema
    metadata = apply(
        view.metadata,
        [AddVersion(schema, definition.version)],
        identifier=str(name),
        now_ms=int(time.time() * 1000),
    )
    changed = SetProperties(properties)
    if metadata == view.metadata:
        return _set_on_table(catalog, view, changed)
    reject_cycle(store, name, metadata.current_version())
    if store.config.strict and metadata.current_schema_id != view.metadata.current_schema_id:
        from hive_views.dependencies.impact import reject_breaking_definition  # imports sqlglot

        reject_breaking_definition(store, name, metadata)
    _swap_definition(catalog, view, metadata, changed)
    return True


def _swap_definition(
    catalog: HiveViewCatalog, view: MaterializedView, metadata: ViewMetadata, changed: SetProperties
) -> None:
    """Write the view's new metadata file, and make the table name it; its properties change in the same commit."""
    store, name, table = catalog.store, view.name, view.storage
    assert table is not None, "a view that only its table names was found by that table"
    known = AssociatedView.decode(table.metadata.properties[METADATA])
    location = new_location(metadata, known.associated_view_location, str(uuid.uuid4()))
    store.files.write(location, metadata)
    text = replace(known, associated_view_location=location).encode()
    wanted = SetProperties({**changed.updates, METADATA: text}, changed.removals)
    for attempt in range(_ATTEMPTS):
        expected = AssertStorage.of(table, pointer=known.associated_view_location)
        try:
            catalog.commit_table(table, (expected,), _property_updates(wanted, table))
            return
        except CommitStateUnknownError:
            raise  # the table may name the new file
        except CommitFailedError as error:
            # A refresh was faster, which has nothing to do with the definition; or another definition was.
            table = catalog.load_table(name.identifier)
            now = _pointer(table.metadata)
            if now == location:
                return
            if now != known.associated_view_location or attempt == _ATTEMPTS - 1:
                store.files.delete(location)
                raise CommitFailedError(
                    str(name),
                    f"its definition was not replaced: {error}",
                    expected=known.associated_view_location,
                    found=now,
                ) from error
        except HiveViewsError:  # a refusal: what else ends it may come after the table's change
            store.files.delete(location)
            raise
    raise AssertionError("unreachable: the loop either returns or raises")


def set_properties(catalog: HiveViewCatalog, view: MaterializedView, changed: SetProperties) -> bool:
    """Set and remove properties of a materialized view, its settings among them, where its layout keeps them."""
    check_settings(changed.updates, changed.removals)
    if view.layout is Layout.TABLE:
        return _set_on_table(catalog, view, changed)
    loaded = load_view(catalog.store, view.name)
    after = commit_changes(catalog.store, loaded, [changed])
    return after.row.metadata_location != loaded.row.metadata_location


def _set_on_table(catalog: HiveViewCatalog, view: MaterializedView, changed: SetProperties) -> bool:
    assert view.storage is not None, "a view that only its table names was found by that table"
    keys = changed.updates.keys() | changed.removals
    if keys & view.metadata.properties.keys():
        # An earlier release kept properties in the view's file: there they would show again when the table's go.
        rest = apply(
            view.metadata,
            [SetProperties(removals=frozenset(keys))],
            identifier=str(view.name),
            now_ms=int(time.time() * 1000),
        )
        _swap_definition(catalog, view, rest, changed)
        return True
    table = view.storage
    for attempt in range(_ATTEMPTS):
        known = table.metadata.properties
        if changed.updates.items() <= known.items() and not changed.removals & known.keys():
            return False
        try:
            catalog.commit_table(table, (AssertStorage.of(table),), _property_updates(changed, table))
            return True
        except CommitFailedError:
            if attempt == _ATTEMPTS - 1:
                raise
            table = catalog.load_table(view.name.identifier)
    raise AssertionError("unreachable: the loop either returns or raises")


def _property_updates(changed: SetProperties, table: Table) -> tuple[TableUpdate, ...]:
    removals = sorted(changed.removals & table.metadata.properties.keys())
    set_ = (SetPropertiesUpdate(updates=dict(changed.updates)),) if changed.updates else ()
    return *set_, *((RemovePropertiesUpdate(removals=removals),) if removals else ())


def _pointer(metadata: TableMetadata) -> str | None:
    text = metadata.properties.get(METADATA)
    return None if text is None else AssociatedView.decode(text).associated_view_location


class AssertStorage(AssertTableUUID):
    """A storage is the table that it was, with the schemas and the view's metadata file that it had."""

    pointer: str | None = None
    """The view's metadata file, in the layout `table`; None for any."""
    schema_ids: tuple[int, ...] | None = None
    """Its schemas, the current one first; None for any."""
    last_column_id: int | None = None
    """The highest id of a column; None for any."""

    @classmethod
    def of(cls, table: Table, *, pointer: str | None = None, schemas: bool = False) -> AssertStorage:
        """What a table is now."""
        metadata = table.metadata
        ids, last = (_schema_ids(metadata), metadata.last_column_id) if schemas else (None, None)
        return cls(uuid=metadata.table_uuid, pointer=pointer, schema_ids=ids, last_column_id=last)

    def validate(self, base_metadata: TableMetadata | None) -> None:  # type: ignore[override]  # PyIceberg's own
        """Compare."""
        super().validate(base_metadata)
        assert base_metadata is not None, "without a table there is no UUID"
        if self.pointer is not None and _pointer(base_metadata) != self.pointer:
            raise CommitFailedException("somebody else replaced the definition")
        same = (_schema_ids(base_metadata), base_metadata.last_column_id) == (self.schema_ids, self.last_column_id)
        if self.schema_ids is not None and not same:
            raise CommitFailedException("somebody else changed the columns of the storage")


def _schema_ids(metadata: TableMetadata) -> tuple[int, ...]:
    return (metadata.current_schema_id, *(schema.schema_id for schema in metadata.schemas))


# -- Columns ----------------------------------------------------------------------------------------------------------


def columns_to_be(view: MaterializedView) -> Schema | None:
    """The columns that a refresh has to give a storage, whose definition was replaced since its rows were stored."""
    problem = columns_problem(view)
    if problem is None:
        return None
    assert view.storage is not None, "the caller has looked"
    state = recorded(view, view.snapshot).state
    if state is not None and _is_of(state, view.metadata):
        raise RefreshError(str(view.name), f"{problem}: change them back, or drop it and create it again")
    try:
        return following(str(view.name), view.storage.metadata, view.metadata.current_schema())
    except InvalidPropertyError as error:
        raise RefreshError(str(view.name), str(error)) from error


def _is_of(state: RefreshState, metadata: ViewMetadata) -> bool:
    """Whether a refresh was of the definition that is current; the number of a version that expired is given again."""
    same = state.definition is None or state.definition == fingerprint(metadata)
    return same and state.view_version_id == metadata.current_version_id


def schema_updates(schema: Schema) -> tuple[TableUpdate, ...]:
    """What makes a schema a storage's current one."""
    return AddSchemaUpdate(schema=schema), SetCurrentSchemaUpdate.model_validate({"schema-id": schema.schema_id})


def following(name: str, metadata: TableMetadata, wanted: Schema) -> Schema:
    """The next schema of a storage, for another definition.

    A column keeps its id where name and type stay; every other gets an id that no column ever had, so that no row of
    an earlier refresh is ever read as one of it.
    """
    known = {field.name: field for field in metadata.schema().fields}
    fresh = itertools.count(metadata.last_column_id + 1)
    fields: list[NestedField] = []
    for field in wanted.fields:
        there = known.get(field.name)
        if there is None or not _same_type(there, field):
            [there] = assign_fresh_schema_ids(Schema(field), lambda: next(fresh)).fields
        fields.append(there.model_copy(update={"required": False, "doc": field.doc}))
    kept = {field.field_id for field in fields}
    divided = [item.source_id for item in metadata.spec().fields if not isinstance(item.transform, VoidTransform)]
    order = next((one for one in metadata.sort_orders if one.order_id == metadata.default_sort_order_id), None)
    for source in (*divided, *(item.source_id for item in (order.fields if order is not None else ()))):
        if source not in kept:
            column = metadata.schema().find_column_name(source)
            raise InvalidPropertyError(
                "partitioned by",
                column,
                f"the rows of {name} are divided or sorted by this column, which the new definition does not have, or "
                "has with another type. Drop it and create it again",
            )
    return Schema(*fields, schema_id=max(schema.schema_id for schema in metadata.schemas) + 1)


def _same_type(one: NestedField, other: NestedField) -> bool:
    first, second = (assign_fresh_schema_ids(Schema(field)).fields[0].field_type for field in (one, other))
    return bool(first == second)


def _same_columns(one: Schema, other: Schema) -> bool:
    """Whether two definitions have the same columns, whatever their ids and comments."""
    first, second = (
        [(field.name, field.field_type) for field in assign_fresh_schema_ids(schema).fields] for schema in (one, other)
    )
    return first == second
