"""Loading a materialized view of any layout: its definition, its storage table and the state of its last refresh."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation

from hive_views.errors import (
    InvalidMetadataError,
    InvalidRefreshStateError,
    MetadataFileError,
    NoSuchViewError,
    NotMaterializedError,
    RefreshError,
    UnidentifiedError,
)
from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.verdict import Cause, RecordedRefresh, StalenessReason
from hive_views.materialized.layouts.attached import AttachedCatalog, AttachedStorage, AttachedView, RefreshEntry
from hive_views.materialized.layouts.layout import Layout, storage_link_of
from hive_views.materialized.layouts.table import AssociatedView, decode_summary
from hive_views.materialized.properties import allows_stale_data, effective_properties, max_staleness_ms
from hive_views.materialized.state.refresh_state import (
    HIVE_SOURCE_STATES,
    REFRESH_STATE,
    SESSION_SETTINGS,
    UNREPEATABLE,
    VERSION_ID,
    VIEW_UUID,
    RefreshState,
    adopted_state_of,
    decode,
    fingerprint,
    fingerprint_of_version,
    has_same_rows,
    parse_name,
    parse_object,
)
from hive_views.materialized.state.sequence_numbers import (
    SEQUENCE_STATE,
    decode_by_number,
    decode_lineage,
    has_numbers_only,
)
from hive_views.materialized.trino import is_materialized_view
from hive_views.metastore import trino_encoding
from hive_views.metastore.queries import RowCache, load_view
from hive_views.metastore.rows.row import Row, RowKind
from hive_views.metastore.store import LoadedView, MetastoreStore
from hive_views.spec.json_text import parse_json
from hive_views.spec.lineage_codec import SEQUENCE_LINEAGE
from hive_views.spec.metadata import ViewMetadata, ViewVersion
from hive_views.spec.staleness_policy import METADATA
from hive_views.spec.storage_link import STORAGE_TABLE_COPY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyiceberg.schema import Schema
    from pyiceberg.table.snapshots import Snapshot

    from hive_views.materialized.freshness.cache import MetadataCache
    from hive_views.materialized.table_operations import TableOperations
    from hive_views.spec.storage_link import StorageLink


@dataclass(frozen=True, kw_only=True)
class LoadedMaterializedView:
    """A materialized view at one moment."""

    name: ViewName
    """Its name."""
    layout: Layout
    """Where it keeps its rows."""
    row: Row
    """Its row: a view's, or a table's in the layout `table`."""
    metadata: ViewMetadata
    """Its definition."""
    storage_name: ViewName | None
    """The storage table's name in the catalog; None if it is in no catalog."""
    storage: Table | None
    """The storage table; None if it cannot be read."""
    problem: str | None = None
    """Why the storage table cannot be read."""

    def readable_storage(self) -> Table:
        """Return the storage table; raises RefreshError if it cannot be read."""
        if self.storage is None:
            raise RefreshError(str(self.name), self.problem or "its storage cannot be read")
        return self.storage

    @property
    def version(self) -> ViewVersion:
        """The current version of the definition."""
        return self.metadata.current_version()

    @property
    def properties(self) -> Mapping[str, str]:
        """The effective properties: the view's; in the layout `table` the table's take precedence."""
        return effective_properties(self.layout, self.metadata, self.storage)

    @property
    def allow_stale_data(self) -> bool:
        """Whether rows that are not fresh may answer a query."""
        return allows_stale_data(self.layout, self.properties)

    @property
    def max_staleness_ms(self) -> int | None:
        """How long after a refresh the rows may answer queries in any case, in milliseconds; None for not at all."""
        return max_staleness_ms(self.properties)

    @property
    def snapshot(self) -> Snapshot | None:
        """The current snapshot of the storage table; None if it was never refreshed or cannot be read."""
        return None if self.storage is None else self.storage.metadata.current_snapshot()

    def lineage_numbers(self) -> dict[str, int]:
        """Return the sequence numbers of its sources."""
        if self.layout is Layout.TABLE and self.storage is not None:
            text = self.storage.metadata.properties.get(SEQUENCE_LINEAGE)
            return decode_lineage(text if text is not None else self.version.summary.get(SEQUENCE_LINEAGE))
        return lineage_numbers_of(self.metadata)

    def last_refresh(self) -> RecordedRefresh:
        """Return the recorded refresh that wrote the current rows."""
        if self.storage is None:
            return RecordedRefresh(None, problem=StalenessReason(Cause.STORAGE, detail=self.problem))
        refresh = self._of_current_definition(recorded_refresh(self, self.snapshot))
        problem = None if refresh.state is None else self._columns_changed()
        return refresh if problem is None else replace(refresh, problem=StalenessReason(Cause.STORAGE, detail=problem))

    def _of_current_definition(self, refresh: RecordedRefresh) -> RecordedRefresh:
        """Return a refresh of an earlier version as one of the current version, if that is the same query."""
        state = refresh.state
        if state is None or state.definition is None or state.view_version_id == self.metadata.current_version_id:
            return refresh
        version = self.metadata.version(state.view_version_id)
        if version is None or state.definition != fingerprint_of_version(self.metadata, version):
            return refresh  # it was expired, and another one may have its number
        if not has_same_rows(self.metadata, version, self.version):
            return refresh
        current = replace(
            state, view_version_id=self.metadata.current_version_id, definition=fingerprint(self.metadata)
        )
        return replace(refresh, state=current)

    def _columns_changed(self) -> str | None:
        """How the storage table's columns differ from those of the last refresh; None if they do not."""
        metadata, snapshot = self.readable_storage().metadata, self.snapshot
        schema_id = None if snapshot is None else snapshot.schema_id
        written = next((schema for schema in metadata.schemas if snapshot and schema.schema_id == schema_id), None)
        if written is not None and _columns_by_id(metadata.schema()) != _columns_by_id(written):
            return "columns of its storage table were changed since the refresh"
        return column_mismatch(self)


def _columns_by_id(schema: Schema) -> dict[int, tuple[str, object]]:
    return {field.field_id: (field.name, field.field_type) for field in schema.fields}


def lineage_numbers_of(metadata: ViewMetadata) -> dict[str, int]:
    """Return the sequence numbers of sources in a view's properties, or in the summary of its version."""
    text = metadata.properties.get(SEQUENCE_LINEAGE)
    return decode_lineage(text if text is not None else metadata.current_version().summary.get(SEQUENCE_LINEAGE))


def column_mismatch(view: LoadedMaterializedView) -> str | None:
    """Why the storage table cannot hold the rows of the definition; None if it can."""
    try:
        wanted = [(field.name.lower(), field.field_type) for field in view.metadata.current_schema().fields]
    except InvalidMetadataError as error:
        return str(error)
    stored = [(field.name.lower(), field.field_type) for field in view.readable_storage().schema().fields]
    if [name for name, _ in wanted] != [name for name, _ in stored]:
        stored_names = ", ".join(name for name, _ in stored)
        return f"its columns are {', '.join(name for name, _ in wanted)}, and those of its storage are {stored_names}"
    for (name, wanted_type), (_, stored_type) in zip(wanted, stored, strict=True):
        if (wanted_type.is_primitive or stored_type.is_primitive) and wanted_type != stored_type:
            return f"its column {name} is of type {wanted_type}, and that of its storage is of type {stored_type}"
    return None


# -- Loading ----------------------------------------------------------------------------------------------------------


def is_materialized(metadata: ViewMetadata) -> bool:
    """Return whether a view is a materialized one, in the layout `registered` or `attached`."""
    return storage_link_of(metadata) is not None or METADATA in metadata.properties


def layout_of_row(row: Row) -> Layout | None:
    """Return the layout of an object whose metadata file cannot be read, by its row; None for a plain view.

    A row does not show that another program made a view a materialized one; without its file it counts as plain.
    """
    if METADATA in row.parameters:
        return Layout.TABLE if row.kind is RowKind.ICEBERG_TABLE else Layout.ATTACHED
    if is_materialized_view(row.parameters):
        return Layout.TRINO
    return Layout.REGISTERED if STORAGE_TABLE_COPY in row.parameters else None


def load_materialized(
    store: MetastoreStore, tables: TableOperations, name: ViewName, cache: MetadataCache, rows: RowCache
) -> LoadedMaterializedView:
    """Load a materialized view of any layout that this package writes."""
    row = rows.get(name)
    if row is None:
        raise NoSuchViewError(str(name))
    try:
        if row.kind is RowKind.ICEBERG_TABLE:
            return _load_table_layout(tables, row, cache)
        if row.kind is RowKind.ICEBERG_VIEW:
            view = _load_view(store, row, cache)
            link = storage_link_of(view.metadata)
            if link is not None:
                return _load_registered(tables, view, link, cache, rows)
            if METADATA in view.metadata.properties:
                return _load_attached(store, view, cache)
            raise NotMaterializedError(str(name), "it is a plain view")
    except InvalidRefreshStateError as error:
        raise error.of(str(name)) from error.__cause__
    is_trinos = trino_encoding.is_materialized(row.texts.original or "")
    if is_trinos or row.table_type == "MATERIALIZED_VIEW":
        advice = f"`hive-views import plan --view {shlex.quote(str(name))}` plans its import"
        author = "Trino" if is_trinos else "Hive"
        raise NotMaterializedError(str(name), f"it is a materialized view of {author}. {advice}")
    raise NotMaterializedError(str(name), f"it is a {row.kind.value}")


def _load_view(store: MetastoreStore, row: Row, cache: MetadataCache) -> LoadedView:
    """Return the view of a row; `load_view` reports whatever is wrong with it."""
    try:
        metadata = cache.view(row.metadata_location or "")
    except MetadataFileError:
        return load_view(store, row.name)
    if row.uuid is not None and row.uuid.lower() != metadata.view_uuid.lower():
        return load_view(store, row.name)
    return LoadedView(row, metadata)


def _load_registered(
    tables: TableOperations, view: LoadedView, link: StorageLink, cache: MetadataCache, rows: RowCache
) -> LoadedMaterializedView:
    storage_name, storage, problem = None, None, None
    if link.catalog not in (None, tables.name) or len(link.namespace) != 1:
        identifier = ".".join(filter(None, (link.catalog, *link.namespace, link.name)))
        problem = f"its storage {identifier} is in no database of this catalog"
    else:
        storage_name = ViewName.parse((*link.namespace, link.name))
        row = rows.get(storage_name)
        if row is None or row.kind is not RowKind.ICEBERG_TABLE or row.metadata_location is None:
            problem = f"its storage table {storage_name} is gone"
        else:
            try:
                storage = _open_table(tables, row, cache)
            except UnidentifiedError as error:
                problem = f"its storage table {storage_name} cannot be read: {error}"
    return LoadedMaterializedView(
        name=view.row.name,
        layout=Layout.REGISTERED,
        row=view.row,
        metadata=view.metadata,
        storage_name=storage_name,
        storage=storage,
        problem=problem,
    )


def _load_attached(store: MetastoreStore, view: LoadedView, cache: MetadataCache) -> LoadedMaterializedView:
    name = view.row.name
    location = AttachedView.of(view.metadata.properties).storage_table_location
    problem, storage = None, None
    try:
        metadata = cache.table_metadata(str(name), location)
        storage = AttachedCatalog(store, name).open_table(metadata, location)
    except UnidentifiedError as error:
        problem = f"its storage table cannot be read: {error}"
    if storage is not None:
        AttachedStorage.of(storage.metadata.properties)  # raises if the list of refreshes is invalid
    return LoadedMaterializedView(
        name=name,
        layout=Layout.ATTACHED,
        row=view.row,
        metadata=view.metadata,
        storage_name=None,
        storage=storage,
        problem=problem,
    )


def _load_table_layout(tables: TableOperations, row: Row, cache: MetadataCache) -> LoadedMaterializedView:
    name = row.name
    table = _open_table(tables, row, cache)
    text = table.metadata.properties.get(METADATA)
    if text is None:
        raise NotMaterializedError(str(name), "it is a plain table")
    if AttachedStorage.is_text(text):
        raise NotMaterializedError(str(name), "it is the staging table of a refresh")
    location = AssociatedView.decode(text).associated_view_location
    try:
        metadata = cache.view(location)
    except MetadataFileError as error:
        raise InvalidRefreshStateError(f"{METADATA}.associated-view-location", str(error)) from error
    return LoadedMaterializedView(
        name=name, layout=Layout.TABLE, row=row, metadata=metadata, storage_name=name, storage=table
    )


def _open_table(tables: TableOperations, row: Row, cache: MetadataCache) -> Table:
    location = row.metadata_location or ""
    return tables.open_table(row.name, cache.table_metadata(str(row.name), location), location)


# -- The recorded refresh ---------------------------------------------------------------------------------------------


def recorded_refresh(view: LoadedMaterializedView, snapshot: Snapshot | None) -> RecordedRefresh:
    """Return the recorded refresh that computed the rows of a snapshot of the storage table."""
    metadata = view.readable_storage().metadata
    if snapshot is None:
        return RecordedRefresh(None, problem=StalenessReason(Cause.NEVER_REFRESHED))
    # A compaction (operation `replace`) has the rows of its parent.
    origin: Snapshot | None = snapshot
    while origin is not None and origin.summary is not None and origin.summary.operation is Operation.REPLACE:
        origin = None if origin.parent_snapshot_id is None else metadata.snapshot_by_id(origin.parent_snapshot_id)
    if origin is None or origin.summary is None:
        return _unknown_state("the snapshot of the last refresh has expired")
    summary = {key: str(value) for key, value in origin.summary.additional_properties.items()}
    try:
        state = _decode_state(view, origin, snapshot, summary)
        if state is None and view.layout is Layout.REGISTERED:
            state = adopted_state_of(view.metadata.properties, origin.snapshot_id)
        hive_states = {
            parse_name(tuple(key.split(".", 1)), HIVE_SOURCE_STATES): str(value)
            for key, value in parse_object(summary.get(HIVE_SOURCE_STATES, "{}"), HIVE_SOURCE_STATES).items()
        }
    except InvalidRefreshStateError as error:
        return _unknown_state(str(error))
    if state is None:
        return _unknown_state(f"another program wrote snapshot {origin.snapshot_id} of its storage table")
    unrepeatable = tuple(filter(None, summary.get(UNREPEATABLE, "").split(",")))
    return RecordedRefresh(state, summary.get(VIEW_UUID), hive_states, unrepeatable, session_settings(summary))


def _unknown_state(detail: str) -> RecordedRefresh:
    return RecordedRefresh(None, problem=StalenessReason(Cause.NO_STATE, detail=detail))


def session_settings(summary: Mapping[str, str]) -> dict[str, str]:
    """Return the engine settings that a snapshot's rows depend on; empty if the writer did not record them."""
    try:
        settings = parse_json(summary.get(SESSION_SETTINGS, "{}"))
    except ValueError:
        return {}
    return {key: str(value) for key, value in settings.items()} if isinstance(settings, dict) else {}


def _decode_state(
    view: LoadedMaterializedView, origin: Snapshot, snapshot: Snapshot, summary: dict[str, str]
) -> RefreshState | None:
    """Return the refresh state of `origin`, the snapshot that wrote the rows of `snapshot`; None if it has none."""
    if has_numbers_only(summary):
        return decode_by_number(summary, view.lineage_numbers())
    if view.layout is Layout.TABLE:
        if VERSION_ID not in summary:
            return None
        return decode_summary(summary, _default_database(view, summary[VERSION_ID]))
    if view.layout is Layout.ATTACHED:
        entry = _refresh_entry(view, origin, snapshot)
        return None if entry is None else entry.state(_default_database(view, entry.version_id))
    if REFRESH_STATE in summary:
        return decode(summary[REFRESH_STATE])
    return decode_by_number(summary, view.lineage_numbers()) if SEQUENCE_STATE in summary else None


def _refresh_entry(view: LoadedMaterializedView, origin: Snapshot, snapshot: Snapshot) -> RefreshEntry | None:
    """The entry of the refresh that wrote a snapshot, from the list in the properties of an attached storage table."""
    metadata = view.readable_storage().metadata
    listed = AttachedStorage.of(metadata.properties)
    # By sequence number: a snapshot of another writer does not have the rows of a listed refresh. In format version 1
    # all snapshots have the number 0.
    if origin.sequence_number:
        for entry in listed.refreshes:
            if entry.sequence_number == origin.sequence_number:
                return entry
    # The draft does not require the number; without it, the current refresh wrote the current rows.
    if snapshot.snapshot_id == metadata.current_snapshot_id and listed.current is not None:
        return listed.current if listed.current.sequence_number is None else None
    return None


def _default_database(view: LoadedMaterializedView, version_id: object) -> str:
    """Return the database of unqualified names in a version of the definition."""
    evaluated = next(
        (version for version in view.metadata.versions if str(version.version_id) == str(version_id)), None
    )
    namespace = () if evaluated is None else tuple(evaluated.default_namespace)
    return namespace[0].lower() if len(namespace) == 1 else view.name.database
