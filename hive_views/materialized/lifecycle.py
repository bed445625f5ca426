"""Creating and converting materialized views: the definition and its storage, in an order that is safe.

An interrupted operation leaves at most an orphaned storage table or orphaned files
(`hive_views.materialized.maintenance.abandoned` lists them), never a view without its storage.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.schema import Schema

from hive_views.dependencies.graph import reject_cycle
from hive_views.dependencies.view_builder import ViewDefinition
from hive_views.dependencies.view_changes import commit_changes
from hive_views.errors import (
    CommitStateUnknownError,
    HiveViewsError,
    InvalidPropertyError,
    InvalidViewError,
    NotMaterializedError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from hive_views.identifiers import ViewName
from hive_views.materialized.drop import drop_storage
from hive_views.materialized.layouts.layouts import METADATA, AssociatedView, AttachedView, Layout
from hive_views.materialized.layouts.storage_tables import STAGED_WRITES, new_attached
from hive_views.materialized.loading import MaterializedView, is_materialized, storage_link
from hive_views.materialized.partitioning import partition_spec
from hive_views.materialized.properties import check_settings
from hive_views.metastore.commit.view_commit import commit
from hive_views.metastore.queries import load_view
from hive_views.spec.changes import AddVersion, Change, SetProperties, create
from hive_views.spec.file_codec import new_location
from hive_views.spec.staleness_policy import ALLOW_STALE_DATA, synchronize_properties
from hive_views.spec.storage_link import STORAGE_OF, STORAGE_TABLE_COPY, StorageLink, with_link

if TYPE_CHECKING:
    from hive_views.catalog.catalog import HiveViewCatalog

SUFFIX = "__storage"
"""Stands behind a view's name in its storage table's."""

DEFINITION_OF = "hive-views.definition-of"
"""Property of a definition in the layout `table`: the table that it was made for. It tells its file from a view's."""

DETACHED = "hive-views.detached-storage-table"
"""Property of a plain view that was a materialized one: the JSON of its storage table, for the way back."""

DETACHED_METADATA = "hive-views.detached-materialized-view-metadata"
"""The same for the attached layout: what its property was."""

_LONGEST = 110
"""Characters of a view's name that its storage table's name keeps: metastores hold 128 or 256."""


@dataclass(frozen=True)
class Request:
    """A materialized view that is to be."""

    name: ViewName
    """Its name."""
    definition: ViewDefinition
    """Its columns and texts."""
    layout: Layout
    """Where it keeps its rows."""
    properties: Mapping[str, str]
    """Its properties: the view's, or in the layout `table` the table's."""
    partitioned_by: Sequence[str] = ()
    """How its rows are divided."""
    storage_properties: Mapping[str, str] | None = None
    """Properties of its storage table."""
    location: str | None = None
    """Its base location."""


def create_materialized(catalog: HiveViewCatalog, request: Request) -> None:
    """Create a materialized view, without rows."""
    name = request.name.check_writable()
    check_settings(request.properties)
    row = catalog.store.get_row(name)
    if row is not None:
        raise (ViewAlreadyExistsError if row.kind.is_view else TableAlreadyExistsError)(str(name))
    {Layout.REGISTERED: _registered, Layout.ATTACHED: _attached, Layout.TABLE: _table}[_ours(request.layout)](
        catalog, request
    )


def _ours(layout: Layout) -> Layout:
    if layout is Layout.TRINO:
        raise InvalidPropertyError("layout", layout.value, "Trino's materialized views are read only")
    return layout


def _registered(catalog: HiveViewCatalog, request: Request) -> None:
    view_uuid = str(uuid.uuid4())
    table = free_storage_name(catalog, request.name)
    properties = _storage_properties(request, view_uuid)
    _create_storage(catalog, table, request, properties)
    try:
        link = StorageLink((table.database,), table.name)
        version = with_link(request.definition.version, link)
        _create_view(catalog, request, version, view_uuid, {STORAGE_TABLE_COPY: link.encode()})
    except CommitStateUnknownError:
        raise  # the view may be there
    except HiveViewsError:  # a refusal: what else ends it may come after the metastore's change
        drop_storage(catalog, table, view_uuid)
        raise


def _attached(catalog: HiveViewCatalog, request: Request) -> None:
    view_uuid = str(uuid.uuid4())
    version = (request.storage_properties or {}).get("format-version", "2")
    if version == "1":
        # Its refreshes are told from each other by the sequence numbers of their snapshots.
        raise InvalidPropertyError("format-version", version, "snapshots of version 1 have no sequence numbers: use 2")
    location = catalog._location(request.name, request.location)
    schema = _storage_schema(request.definition.schema)
    spec = partition_spec(schema, request.partitioned_by)
    storage = new_attached(
        catalog.store.files,
        f"{location}/storage-{view_uuid[:8]}",
        schema,
        spec,
        _storage_properties(request, view_uuid),
    )
    attached = AttachedView(storage)
    try:
        _create_view(catalog, request, request.definition.version, view_uuid, {METADATA: attached.encode()}, location)
    except CommitStateUnknownError:
        raise
    except HiveViewsError:  # a refusal: what else ends it may come after the metastore's change
        catalog.store.files.delete(storage)
        raise


def _table(catalog: HiveViewCatalog, request: Request) -> None:
    store, name = catalog.store, request.name
    view_uuid = str(uuid.uuid4())
    metadata = create(
        uuid=view_uuid,
        # Beside the table's directory: within, whoever removes the table's orphan files would remove the definition.
        location=f"{catalog._location(name, request.location)}__view",
        schema=request.definition.schema,
        version=request.definition.version,
        # What the user sets are properties of the table, which every engine shows and changes.
        properties=catalog._view_properties({DEFINITION_OF: str(name)}),
        now_ms=int(time.time() * 1000),
        identifier=str(name),
    )
    reject_cycle(store, name, metadata.current_version())
    location = new_location(metadata, None, str(uuid.uuid4()))
    store.files.write(location, metadata)
    stored = {**request.properties, **(request.storage_properties or {})}
    properties = _storage_properties(replace(request, storage_properties=stored), view_uuid)
    properties[METADATA] = AssociatedView(location).encode()
    try:
        _create_storage(catalog, name, request, properties)
    except CommitStateUnknownError:
        raise
    except HiveViewsError:  # a refusal: what else ends it may come after the metastore's change
        store.files.delete(location)
        raise


def _create_view(
    catalog: HiveViewCatalog,
    request: Request,
    version: object,
    view_uuid: str,
    more: Mapping[str, str],
    location: str | None = None,
) -> None:
    metadata = create(
        uuid=view_uuid,
        location=location or catalog._location(request.name, request.location),
        schema=request.definition.schema,
        version=version,  # type: ignore[arg-type]
        properties=catalog._view_properties({**request.properties, **more}),
        now_ms=int(time.time() * 1000),
        identifier=str(request.name),
    )
    precondition = reject_cycle(catalog.store, request.name, metadata.current_version())
    commit(catalog.store, request.name, None, metadata, precondition=precondition)


def _create_storage(catalog: HiveViewCatalog, table: ViewName, request: Request, properties: Mapping[str, str]) -> None:
    schema = _storage_schema(request.definition.schema)
    spec = partition_spec(schema, request.partitioned_by)
    catalog.create_table(table.identifier, schema, partition_spec=spec, properties=dict(properties))


def _storage_schema(schema: Schema) -> Schema:
    """The columns of a storage: the view's, all optional."""
    document = schema.model_copy(deep=True)
    fields = [field.model_copy(update={"required": False}) for field in document.fields]
    return Schema(*fields)


def _storage_properties(request: Request, view_uuid: str) -> dict[str, str]:
    return {
        "format-version": "2",
        **(request.storage_properties or {}),
        STORAGE_OF: view_uuid,
        STAGED_WRITES: "true",
    }


def free_storage_name(catalog: HiveViewCatalog, view: ViewName) -> ViewName:
    """A name for a new storage table: `<view>__storage`, or with a number of its own where that is taken."""
    return storage_name(view, uuid.uuid4().hex, lambda plain: catalog.store.get_row(plain) is None)


def storage_name(view: ViewName, mark: str, is_free: Callable[[ViewName], bool]) -> ViewName:
    """The name of a view's storage table."""
    plain = ViewName(view.database, f"{view.name[:_LONGEST]}{SUFFIX}")
    if len(view.name) <= _LONGEST and is_free(plain):
        return plain
    return ViewName(view.database, f"{plain.name}_{mark[:8]}")


# -- Plain view and back ----------------------------------------------------------------------------------------------


def to_plain_view(catalog: HiveViewCatalog, view: MaterializedView) -> None:
    """Make a materialized view a plain one; its storage stays, so that the way back copies nothing."""
    if view.layout is Layout.TABLE:
        raise NotMaterializedError(str(view.name), "it is a table with a view attached: there is no view to keep")
    loaded = load_view(catalog.store, view.name)
    changes: list[Change]
    if view.layout is Layout.REGISTERED:
        link = storage_link(loaded.metadata)
        assert link is not None, "the layout is told by the link"
        metadata = loaded.metadata
        plain = with_link(metadata.current_version(), None)
        raw = metadata.raw_schema(metadata.current_schema_id)
        assert raw is not None, "every version's schema is there"
        changes = [
            AddVersion(raw, plain, may_lose_dialects=True),
            SetProperties({DETACHED: link.encode()}, frozenset({STORAGE_TABLE_COPY})),
        ]
    else:
        settled = synchronize_properties(loaded.metadata.properties, loaded.metadata.properties)
        kept = {key: settled[key] for key in (ALLOW_STALE_DATA,) if key in settled}
        changes = [SetProperties({DETACHED_METADATA: settled[METADATA], **kept}, frozenset({METADATA}))]
    commit_changes(catalog.store, loaded, changes)


def to_materialized(catalog: HiveViewCatalog, name: ViewName, partitioned_by: Sequence[str] = ()) -> None:
    """Make a plain view a materialized one: with the storage that it had, or with a new one."""
    loaded = load_view(catalog.store, name)
    metadata = loaded.metadata
    if is_materialized(metadata):
        raise InvalidViewError(str(name), "it is a materialized view already")
    if DETACHED_METADATA in metadata.properties:
        text = metadata.properties[DETACHED_METADATA]
        AttachedView.decode(text)
        commit_changes(catalog.store, loaded, [SetProperties({METADATA: text}, frozenset({DETACHED_METADATA}))])
        return
    raw = metadata.raw_schema(metadata.current_schema_id)
    assert raw is not None, "every version's schema is there"
    link = StorageLink.decode(metadata.properties.get(DETACHED))
    made = None
    if link is None or not _is_storage_of(catalog, link, metadata.view_uuid):
        version = metadata.current_version()
        definition = ViewDefinition(metadata.current_schema(), version, ())
        request = Request(name, definition, Layout.REGISTERED, {}, partitioned_by)
        made = free_storage_name(catalog, name)
        _create_storage(catalog, made, request, _storage_properties(request, metadata.view_uuid))
        link = StorageLink((made.database,), made.name)
    version = with_link(metadata.current_version(), link)
    changes: list[Change] = [
        AddVersion(raw, version, may_lose_dialects=True),
        SetProperties({STORAGE_TABLE_COPY: link.encode()}, frozenset({DETACHED})),
    ]
    try:
        commit_changes(catalog.store, loaded, changes)
    except CommitStateUnknownError:
        raise
    except HiveViewsError:  # a refusal: what else ends it may come after the metastore's change
        if made is not None:
            drop_storage(catalog, made, metadata.view_uuid)
        raise


def _is_storage_of(catalog: HiveViewCatalog, link: StorageLink, view_uuid: str) -> bool:
    try:
        table = catalog.load_table(ViewName.parse((*link.namespace, link.name)).identifier)
    except NoSuchTableError:
        return False
    return table.metadata.properties.get(STORAGE_OF, "").lower() == view_uuid.lower()
