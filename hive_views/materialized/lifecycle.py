"""Creating and converting materialized views.

The order of the steps is such that an interruption leaves at most a storage table or files without a view, which
garbage collection finds (`hive_views.materialized.maintenance.garbage_collection`), never a view without its storage.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.schema import Schema

from hive_views.dependencies.graph import reject_cycle
from hive_views.dependencies.view_builder import ViewDefinition
from hive_views.dependencies.view_changes import check_required_engines, commit_changes
from hive_views.errors import (
    HiveViewsError,
    InvalidPropertyError,
    InvalidViewError,
    NotMaterializedError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from hive_views.identifiers import ViewName
from hive_views.materialized.drop import discard_new_storage
from hive_views.materialized.layouts.attached import DETACHED_METADATA, AttachedView, create_attached_storage
from hive_views.materialized.layouts.layout import (
    DEFAULT_MERGE_MODE,
    DETACHED,
    MERGE_MODE,
    STAGED_WRITES,
    Layout,
    storage_link_of,
    storage_name,
)
from hive_views.materialized.layouts.table import DEFINITION_OF, AssociatedView
from hive_views.materialized.loading import LoadedMaterializedView, is_materialized
from hive_views.materialized.properties import check_settings, split_properties
from hive_views.materialized.redefine import load_current
from hive_views.materialized.storage_layout import partition_spec, sort_order
from hive_views.metastore.commit.view_commit import commit
from hive_views.metastore.commit.view_properties import configured_properties, new_view_location
from hive_views.metastore.names import check_new_table
from hive_views.metastore.queries import load_view
from hive_views.spec.changes import AddVersion, Change, SetProperties, create
from hive_views.spec.file_codec import new_location
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.staleness_policy import ALLOW_STALE_DATA, METADATA, synchronize_properties
from hive_views.spec.storage_link import STORAGE_OF, STORAGE_TABLE_COPY, StorageLink, with_link

if TYPE_CHECKING:
    from pyiceberg.view.metadata import ViewVersion

    from hive_views.materialized.table_operations import TableOperations
    from hive_views.metastore.store import MetastoreStore


@dataclass(frozen=True, kw_only=True)
class CreateRequest:
    """A materialized view to create."""

    name: ViewName
    definition: ViewDefinition
    layout: Layout
    properties: Mapping[str, str]
    """Its properties: the view's, or in the layout `table` the table's."""
    partitioned_by: Sequence[str] = ()
    """Columns and transforms that partition its rows."""
    sorted_by: Sequence[str] = ()
    """Columns and transforms, with directions, that sort the rows of its files."""
    storage_properties: Mapping[str, str] | None = None
    location: str | None = None
    """Its base location; None puts it below the database's."""


def create_materialized(store: MetastoreStore, tables: TableOperations, request: CreateRequest) -> None:
    """Create a materialized view without rows."""
    name = check_new_table(store.client, request.name)
    check_settings(request.properties)
    row = store.get_row(name)
    if row is not None:
        raise (ViewAlreadyExistsError if row.kind.is_view else TableAlreadyExistsError)(str(name))
    if request.layout is not Layout.TABLE:
        view_properties, storage_properties = split_properties(request.properties)
        storage_properties = {**storage_properties, **(request.storage_properties or {})}
        request = replace(request, properties=view_properties, storage_properties=storage_properties)
    if request.layout is Layout.REGISTERED:
        _create_registered(store, tables, request)
    elif request.layout is Layout.ATTACHED:
        _create_attached(store, request)
    elif request.layout is Layout.TABLE:
        _create_table_layout(store, tables, request)
    else:
        raise InvalidPropertyError("layout", request.layout.value, "Trino's materialized views are read-only")


def _create_registered(store: MetastoreStore, tables: TableOperations, request: CreateRequest) -> None:
    view_uuid = str(uuid.uuid4())
    table = _free_storage_name(store, request.name)
    _create_storage(tables, table, request, view_uuid)
    try:
        link = StorageLink((table.database,), table.name)
        version = with_link(request.definition.version, link)
        location = new_view_location(store, request.name, request.location)
        _commit_view(store, request, version, view_uuid, location, {STORAGE_TABLE_COPY: link.encode()})
    except HiveViewsError as error:
        discard_new_storage(store, tables, table, view_uuid, error)
        raise


def _create_attached(store: MetastoreStore, request: CreateRequest) -> None:
    view_uuid = str(uuid.uuid4())
    version = (request.storage_properties or {}).get("format-version", "2")
    if version == "1":
        # The sequence numbers of snapshots identify the refreshes.
        raise InvalidPropertyError("format-version", version, "snapshots of version 1 have no sequence numbers: use 2")
    location = new_view_location(store, request.name, request.location)
    schema = _storage_schema(request.definition.schema)
    storage = create_attached_storage(
        store.files,
        f"{location}/storage-{view_uuid[:8]}",
        schema,
        partition_spec(schema, request.partitioned_by),
        sort_order(schema, request.sorted_by),
        _storage_properties(request.storage_properties, view_uuid),
    )
    try:
        properties = {METADATA: AttachedView(storage).encode()}
        _commit_view(store, request, request.definition.version, view_uuid, location, properties)
    except HiveViewsError as error:
        if not error.may_take_effect:
            store.files.delete(storage)
        raise


def _create_table_layout(store: MetastoreStore, tables: TableOperations, request: CreateRequest) -> None:
    view_uuid = str(uuid.uuid4())
    # Next to the table's directory: inside it, a removal of the table's orphan files would delete the definition. What
    # the user sets becomes properties of the table, which every engine shows and changes.
    location = f"{new_view_location(store, request.name, request.location)}__view"
    metadata = _new_metadata(
        store, request, request.definition.version, view_uuid, location, {DEFINITION_OF: str(request.name)}
    )
    reject_cycle(store, request.name, metadata.current_version(), is_new=True)
    metadata_location = new_location(metadata, None, str(uuid.uuid4()))
    store.files.write(metadata_location, metadata)
    properties = {**request.properties, **(request.storage_properties or {})}
    link = {METADATA: AssociatedView(metadata_location).encode()}
    try:
        _create_storage(tables, request.name, replace(request, storage_properties=properties), view_uuid, link)
    except HiveViewsError as error:
        if not error.may_take_effect:
            store.files.delete(metadata_location)
        raise


def _new_metadata(
    store: MetastoreStore,
    request: CreateRequest,
    version: ViewVersion,
    view_uuid: str,
    location: str,
    properties: Mapping[str, str],
) -> ViewMetadata:
    return create(
        uuid=view_uuid,
        location=location,
        schema=request.definition.schema,
        version=version,
        properties=configured_properties(store.config, properties),
        now_ms=int(time.time() * 1000),
        identifier=str(request.name),
    )


def _commit_view(
    store: MetastoreStore,
    request: CreateRequest,
    version: ViewVersion,
    view_uuid: str,
    location: str,
    link: Mapping[str, str],
) -> None:
    metadata = _new_metadata(store, request, version, view_uuid, location, {**request.properties, **link})
    precondition = reject_cycle(store, request.name, metadata.current_version(), is_new=True)
    check_required_engines(store, request.name, metadata)
    commit(store, request.name, None, metadata, precondition=precondition)


def _create_storage(
    tables: TableOperations,
    table: ViewName,
    request: CreateRequest,
    view_uuid: str,
    link: Mapping[str, str] | None = None,
) -> None:
    schema = _storage_schema(request.definition.schema)
    properties = {**_storage_properties(request.storage_properties, view_uuid), **(link or {})}
    tables.create_table(
        table.identifier,
        schema,
        partition_spec=partition_spec(schema, request.partitioned_by),
        sort_order=sort_order(schema, request.sorted_by),
        properties=properties,
    )


def _storage_schema(schema: Schema) -> Schema:
    """Return the columns of a storage table: the view's, all optional."""
    fields = schema.model_copy(deep=True).fields
    return Schema(*(field.model_copy(update={"required": False}) for field in fields))


def _storage_properties(properties: Mapping[str, str] | None, view_uuid: str) -> dict[str, str]:
    given = {"format-version": "2", **(properties or {})}
    if given["format-version"] != "1":
        given.setdefault(MERGE_MODE, DEFAULT_MERGE_MODE)
    return {**given, STORAGE_OF: view_uuid, STAGED_WRITES: "true"}


def _free_storage_name(store: MetastoreStore, view: ViewName) -> ViewName:
    return storage_name(view, uuid.uuid4().hex, lambda name: store.get_row(name) is None)


# -- Conversion to a plain view and back ------------------------------------------------------------------------------


def to_plain_view(store: MetastoreStore, view: LoadedMaterializedView) -> None:
    """Make a materialized view a plain one; its storage table is kept for the conversion back."""
    if view.layout is Layout.TABLE:
        raise NotMaterializedError(str(view.name), "it is a table with a view attached: there is no view to keep")
    loaded = load_current(store, view)
    metadata = loaded.metadata
    changes: list[Change]
    if view.layout is Layout.REGISTERED:
        link = storage_link_of(metadata)
        assert link is not None, "a view of the layout `registered` has a link"
        changes = [
            _add_version(metadata, None),
            SetProperties({DETACHED: link.encode()}, frozenset({STORAGE_TABLE_COPY})),
        ]
    else:
        properties = synchronize_properties(metadata.properties, metadata.properties)
        settings = {key: properties[key] for key in (ALLOW_STALE_DATA,) if key in properties}
        changes = [SetProperties({DETACHED_METADATA: properties[METADATA], **settings}, frozenset({METADATA}))]
    commit_changes(store, loaded, changes)


def to_materialized(
    store: MetastoreStore, tables: TableOperations, name: ViewName, partitioned_by: Sequence[str] = ()
) -> None:
    """Make a plain view a materialized one: with the storage table that it had, or with a new one."""
    loaded = load_view(store, name)
    metadata = loaded.metadata
    if is_materialized(metadata):
        raise InvalidViewError(str(name), "it is a materialized view already")
    if DETACHED_METADATA in metadata.properties:
        text = metadata.properties[DETACHED_METADATA]
        AttachedView.decode(text)
        commit_changes(store, loaded, [SetProperties({METADATA: text}, frozenset({DETACHED_METADATA}))])
        return
    link = StorageLink.decode(metadata.properties.get(DETACHED))
    new_table = None
    if link is None or not _is_storage_of(tables, link, metadata.view_uuid):
        definition = ViewDefinition(metadata.current_schema(), metadata.current_version(), ())
        request = CreateRequest(
            name=name, definition=definition, layout=Layout.REGISTERED, properties={}, partitioned_by=partitioned_by
        )
        new_table = _free_storage_name(store, name)
        _create_storage(tables, new_table, request, metadata.view_uuid)
        link = StorageLink((new_table.database,), new_table.name)
    changes: list[Change] = [
        _add_version(metadata, link),
        SetProperties({STORAGE_TABLE_COPY: link.encode()}, frozenset({DETACHED})),
    ]
    try:
        commit_changes(store, loaded, changes)
    except HiveViewsError as error:
        if new_table is not None:
            discard_new_storage(store, tables, new_table, metadata.view_uuid, error)
        raise


def _add_version(metadata: ViewMetadata, link: StorageLink | None) -> AddVersion:
    """Return the current version with another storage table."""
    schema = metadata.raw_schema(metadata.current_schema_id)
    assert schema is not None, "the metadata was validated when it was read"
    return AddVersion(schema, with_link(metadata.current_version(), link), may_lose_dialects=True)


def _is_storage_of(tables: TableOperations, link: StorageLink, view_uuid: str) -> bool:
    try:
        table = tables.load_table(ViewName.parse((*link.namespace, link.name)).identifier)
    except NoSuchTableError:
        return False
    return table.metadata.properties.get(STORAGE_OF, "").lower() == view_uuid.lower()
