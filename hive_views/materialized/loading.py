"""Finding a materialized view: its definition, its storage and what the storage says of its last refresh."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyiceberg.table import Table

from hive_views.errors import (
    InvalidMetadataError,
    InvalidRefreshStateError,
    MetadataFileError,
    NoSuchViewError,
    NotMaterializedError,
    UnidentifiedError,
)
from hive_views.identifiers import ViewName
from hive_views.materialized.freshness.cache import FactReader
from hive_views.materialized.freshness.row_cache import Rows
from hive_views.materialized.freshness.verdict import Cause, Reason, Recorded
from hive_views.materialized.layouts.layouts import (
    METADATA,
    VERSION_ID,
    AssociatedView,
    AttachedStorage,
    AttachedView,
    Layout,
    Refresh,
    decode_summary,
)
from hive_views.materialized.layouts.storage_tables import AttachedCatalog
from hive_views.materialized.properties import allows_stale_data, max_staleness_ms, settings
from hive_views.materialized.state.adopted_state import taken_over_state
from hive_views.materialized.state.refresh_state import (
    OTHER_STATES,
    REFRESH_STATE,
    SESSION_SETTINGS,
    UNREPEATABLE,
    VIEW_UUID,
    RefreshState,
    decode,
    name_of,
    parse_object,
)
from hive_views.materialized.state.sequence_numbers import SEQUENCE_STATE, decode_sequence, is_alone, lineage_of
from hive_views.metastore.queries import load_view
from hive_views.metastore.row_codec import Row, RowKind
from hive_views.metastore.store import LoadedView, MetastoreStore
from hive_views.spec.metadata import ViewMetadata, ViewVersion
from hive_views.spec.storage_link import STORAGE_TABLE_COPY, StorageLink, link_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyiceberg.table.snapshots import Snapshot

    from hive_views.catalog.catalog import HiveViewCatalog


def columns_problem(view: MaterializedView) -> str | None:
    """Why the rows of a definition cannot stand in its storage; None where they can."""
    assert view.storage is not None, "the caller has looked"
    try:
        wanted = [(field.name.lower(), field.field_type) for field in view.metadata.current_schema().fields]
    except InvalidMetadataError as error:
        return str(error)
    there = [(field.name.lower(), field.field_type) for field in view.storage.schema().fields]
    if [name for name, _ in wanted] != [name for name, _ in there]:
        names = ", ".join(name for name, _ in there)
        return f"its columns are {', '.join(name for name, _ in wanted)}, and those of its storage are {names}"
    for (name, kind), (_, stored) in zip(wanted, there, strict=True):
        if (kind.is_primitive or stored.is_primitive) and kind != stored:
            return f"its column {name} is of type {kind}, and that of its storage is of type {stored}"
    return None


@dataclass(frozen=True)
class MaterializedView:
    """A materialized view as it was at one moment."""

    name: ViewName
    """Its name."""
    layout: Layout
    """Where it keeps its rows."""
    row: Row
    """Its row: a view's, or a table's in the layout `table`."""
    metadata: ViewMetadata
    """Its definition."""
    storage_name: ViewName | None
    """The storage table's name in the catalog; None where no catalog knows it."""
    storage: Table | None
    """The storage table; None where it cannot be read."""
    problem: str | None = None
    """Why it cannot."""

    @property
    def version(self) -> ViewVersion:
        """The current definition."""
        return self.metadata.current_version()

    @property
    def properties(self) -> Mapping[str, str]:
        """Its properties as they hold: the view's; in the layout `table` the table's go before."""
        return settings(self.layout, self.metadata, self.storage)

    @property
    def allow_stale_data(self) -> bool:
        """Whether rows that are not fresh may answer a query."""
        return allows_stale_data(self.layout, self.properties)

    @property
    def max_staleness_ms(self) -> int | None:
        """For how long after a refresh its rows are fresh enough; None for not at all."""
        return max_staleness_ms(self.properties)

    @property
    def snapshot(self) -> Snapshot | None:
        """The snapshot of the storage that readers get; None where it was never refreshed or cannot be read."""
        return None if self.storage is None else self.storage.metadata.current_snapshot()

    def recorded(self) -> Recorded:
        """What the storage says of the refresh that its current rows come from."""
        if self.storage is None:
            return Recorded(None, problem=Reason(Cause.STORAGE, detail=self.problem))
        found = recorded(self, self.snapshot)
        problem = None if found.state is None else self._other_columns()
        return found if problem is None else replace(found, problem=Reason(Cause.STORAGE, detail=problem))

    def _other_columns(self) -> str | None:
        """What is wrong where the storage's columns are not those that the rows were written for."""
        assert self.storage is not None, "there is a state only of a storage that can be read"
        metadata, snapshot = self.storage.metadata, self.snapshot
        now = {field.field_id: (field.name, field.field_type) for field in metadata.schema().fields}
        written = next((one for one in metadata.schemas if snapshot and one.schema_id == snapshot.schema_id), None)
        if written is not None and now != {field.field_id: (field.name, field.field_type) for field in written.fields}:
            return "columns of its storage were changed since the refresh"
        return columns_problem(self)


def is_materialized(metadata: ViewMetadata) -> bool:
    """Whether a view's metadata says that its rows are stored somewhere (layouts `registered` and `attached`)."""
    return storage_link(metadata) is not None or METADATA in metadata.properties


def load_materialized(
    catalog: HiveViewCatalog, name: ViewName, facts: FactReader, rows: Rows | None = None
) -> MaterializedView:
    """Load a materialized view of any of our layouts."""
    store = catalog.store
    rows = rows or Rows(store)
    row = rows.one(name)
    if row is None:
        raise NoSuchViewError(str(name))
    try:
        if row.kind is RowKind.ICEBERG_TABLE:
            return _of_table(catalog, row, facts)
        if row.kind is RowKind.ICEBERG_VIEW:
            return _of_view(catalog, _loaded(store, row, facts), facts, rows)
    except InvalidRefreshStateError as error:
        raise error.of(str(name)) from error.__cause__
    raise NotMaterializedError(str(name), f"it is a {row.kind.value}")


def _of_view(catalog: HiveViewCatalog, view: LoadedView, facts: FactReader, rows: Rows) -> MaterializedView:
    name = view.row.name
    link = storage_link(view.metadata)
    if link is not None:
        if link.catalog not in (None, catalog.name) or len(link.namespace) != 1:
            place = ".".join(filter(None, (link.catalog, *link.namespace, link.name)))
            elsewhere = f"its storage {place} is in no database of this catalog"
            return MaterializedView(name, Layout.REGISTERED, view.row, view.metadata, None, None, elsewhere)
        storage_name = ViewName.parse((*link.namespace, link.name))
        storage, problem = _open(catalog, storage_name, facts, rows)
        return MaterializedView(name, Layout.REGISTERED, view.row, view.metadata, storage_name, storage, problem)
    if METADATA in view.metadata.properties:
        return _attached(catalog.store, view, facts)
    raise NotMaterializedError(str(name), "it is a plain view")


def storage_link(metadata: ViewMetadata) -> StorageLink | None:
    """The storage table of a view in the registered layout."""
    return link_of(metadata.current_version()) or StorageLink.decode(metadata.properties.get(STORAGE_TABLE_COPY))


def recorded(view: MaterializedView, snapshot: Snapshot | None) -> Recorded:
    """What a snapshot of the storage says of the refresh that its rows come from."""
    assert view.storage is not None, "there is a snapshot only of a storage that can be read"
    metadata = view.storage.metadata
    if snapshot is None:
        return Recorded(None, problem=Reason(Cause.NEVER_REFRESHED))
    at: Snapshot | None = snapshot
    while at is not None and at.summary is not None and at.summary.operation.value == "replace":
        at = None if at.parent_snapshot_id is None else metadata.snapshot_by_id(at.parent_snapshot_id)
    if at is None or at.summary is None:
        return Recorded(None, problem=Reason(Cause.NO_STATE, detail="the snapshot of the last refresh has expired"))
    summary = {key: str(value) for key, value in at.summary.additional_properties.items()}
    try:
        state = _state(view, at, snapshot, summary)
        if state is None and view.layout is Layout.REGISTERED:
            state = taken_over_state(view.metadata.properties, at.snapshot_id)
        others = {
            name_of(tuple(key.split(".", 1)), OTHER_STATES): str(value)
            for key, value in parse_object(summary.get(OTHER_STATES, "{}"), OTHER_STATES).items()
        }
    except InvalidRefreshStateError as error:
        return Recorded(None, problem=Reason(Cause.NO_STATE, detail=str(error)))
    if state is None:
        detail = f"another program made snapshot {at.snapshot_id} of its storage"
        return Recorded(None, problem=Reason(Cause.NO_STATE, detail=detail))
    unrepeatable = tuple(filter(None, summary.get(UNREPEATABLE, "").split(",")))
    return Recorded(state, summary.get(VIEW_UUID), others, unrepeatable, settings_of(summary))


def settings_of(summary: Mapping[str, str]) -> dict[str, str]:
    """The engine's settings that a snapshot's rows depend on."""
    try:
        found = json.loads(summary.get(SESSION_SETTINGS, "{}"))
    except (ValueError, RecursionError):
        return {}
    return {key: str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def _state(view: MaterializedView, made: Snapshot, snapshot: Snapshot, summary: dict[str, str]) -> RefreshState | None:
    """What a refresh read: `made` is its snapshot, `snapshot` the one that is looked at, with the same rows."""
    if is_alone(summary):
        return decode_sequence(summary, lineage_of(view))
    if view.layout is Layout.TABLE:
        return decode_summary(summary, _home(view, summary.get(VERSION_ID))) if VERSION_ID in summary else None
    if view.layout is Layout.ATTACHED:
        found = _listed_refresh(view, made, snapshot)
        return None if found is None else found.state(_home(view, found.version_id))
    if REFRESH_STATE in summary:
        return decode(summary[REFRESH_STATE])
    return decode_sequence(summary, lineage_of(view)) if SEQUENCE_STATE in summary else None


def _listed_refresh(view: MaterializedView, made: Snapshot, snapshot: Snapshot) -> Refresh | None:
    """The refresh in an attached storage's list that made a snapshot."""
    assert view.storage is not None, "only a storage that can be read has snapshots"
    listed = AttachedStorage.decode(view.storage.metadata.properties.get(METADATA, "{}"))
    # Told by the sequence number: a snapshot of somebody else does not have the rows of the refresh in the list.
    # Of format version 1 all have none.
    if made.sequence_number:
        for item in listed.refreshes:
            if item.sequence_number == made.sequence_number:
                return item
    # The format does not ask for the number: then the refresh that it calls the current one made the current rows.
    if snapshot.snapshot_id == view.storage.metadata.current_snapshot_id and listed.current is not None:
        return listed.current if listed.current.sequence_number is None else None
    return None


def _home(view: MaterializedView, version_id: object) -> str:
    """The database that a definition's names without one are in."""
    evaluated = next((item for item in view.metadata.versions if str(item.version_id) == str(version_id)), None)
    namespace = () if evaluated is None else tuple(evaluated.default_namespace)
    return namespace[0].lower() if len(namespace) == 1 else view.name.database


def _loaded(store: MetastoreStore, row: Row, facts: FactReader) -> LoadedView:
    """The view of a row; whatever is odd about it is left to `load`."""
    try:
        metadata = facts.view(row.metadata_location or "")
    except MetadataFileError:
        return load_view(store, row.name)
    if row.uuid is not None and row.uuid.lower() != metadata.view_uuid.lower():
        return load_view(store, row.name)
    return LoadedView(row, metadata)


def _open(catalog: HiveViewCatalog, name: ViewName, facts: FactReader, rows: Rows) -> tuple[Table | None, str | None]:
    row = rows.one(name)
    if row is None or row.kind is not RowKind.ICEBERG_TABLE or row.metadata_location is None:
        return None, f"its storage table {name} is gone"
    try:
        return _table(catalog, row, facts), None
    except UnidentifiedError as error:
        return None, f"its storage table {name} cannot be read: {error}"


def _table(catalog: HiveViewCatalog, row: Row, facts: FactReader) -> Table:
    location = row.metadata_location or ""
    metadata = facts.table_metadata(str(row.name), location)
    return Table(row.name.identifier, metadata, location, catalog.store.files.io(location), catalog)


def _attached(store: MetastoreStore, view: LoadedView, facts: FactReader) -> MaterializedView:
    name = view.row.name
    location = AttachedView.decode(view.metadata.properties[METADATA]).storage_table_location
    problem, storage = None, None
    try:
        metadata = facts.table_metadata(str(name), location)
        catalog = AttachedCatalog(store, name, lambda: int(time.time() * 1000))
        storage = Table((name.database, f"{name.name}__storage"), metadata, location, store.files.io(location), catalog)
    except UnidentifiedError as error:
        problem = f"its storage table cannot be read: {error}"
    if storage is not None:
        AttachedStorage.decode(storage.metadata.properties.get(METADATA, '{"format-version":1,"refreshes":[]}'))
    return MaterializedView(name, Layout.ATTACHED, view.row, view.metadata, None, storage, problem)


def _of_table(catalog: HiveViewCatalog, row: Row, facts: FactReader) -> MaterializedView:
    name = row.name
    table = _table(catalog, row, facts)
    text = table.metadata.properties.get(METADATA)
    if text is None:
        raise NotMaterializedError(str(name), "it is a plain table")
    if AttachedStorage.is_text(text):
        raise NotMaterializedError(str(name), "it is an attached storage, which has a row while it is refreshed")
    location = AssociatedView.decode(text).associated_view_location
    try:
        metadata = facts.view(location)
    except MetadataFileError as error:
        raise InvalidRefreshStateError(f"{METADATA}.associated-view-location", str(error)) from error
    return MaterializedView(name, Layout.TABLE, row, metadata, name, table)
