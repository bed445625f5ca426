"""Storage of imported materialized views of Hive and Trino: planned, created and removed again.

Rows are never copied, and no file of the old storage is ever deleted or overwritten.

If the view is converted in place, an Iceberg table in the catalog (Trino's `storage_table`) is linked: the table gets
two more properties. An Iceberg table that only the legacy row names (Hive's STORED BY ICEBERG, Trino's
`metadata_location`) is registered: it gets a row of its own for the same metadata file. Any other storage, including an
Iceberg table with other columns, is left unchanged, and a new storage table is created. A copy under another name
or in another metastore also gets a new storage table, because the legacy view keeps its own.

The first refresh fills a new storage table. Whether existing rows are fresh is known only if Trino recorded exactly
what its last refresh read (`dependsOnTables`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.schema import Schema
from sqlglot import exp

from hive_views.catalog.catalog import HiveViewCatalog
from hive_views.errors import InvalidRefreshStateError, RevertError, SqlError, UnidentifiedError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.legacy_view import ConversionError, LegacyView, Reason, Writer
from hive_views.materialized import trino
from hive_views.materialized.drop import drop_unused_storage
from hive_views.materialized.freshness.cache import MetadataCache
from hive_views.materialized.layouts.layout import STAGED_WRITES, storage_name
from hive_views.materialized.properties import MAX_STALENESS_MS
from hive_views.materialized.state.refresh_state import (
    NO_SNAPSHOT,
    RefreshState,
    SourceKind,
    SourceState,
    summary_of,
)
from hive_views.metastore.rows.row import Row, RowKind
from hive_views.metastore.store import MetastoreStore
from hive_views.spec.json_text import compact_json, parse_json
from hive_views.spec.storage_link import STORAGE_OF
from hive_views.sql.parsing.parser import parse_query
from hive_views.sql.text.dialects import Dialect
from hive_views.text_enum import TextEnum

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

LEGACY_STORAGE = "hive-views.legacy-storage"
"""View property: the import's `StoragePlan` as text."""


class StorageAction(TextEnum):
    """What an import does with the storage of a materialized view."""

    LINKED = "linked"
    """The storage is a table of the catalog already, and is used as it is."""
    REGISTERED = "registered"
    """The storage gets a row of its own."""
    CREATED = "made"
    """A new, empty storage is created."""


@dataclass(frozen=True, kw_only=True)
class StoragePlan:
    """The planned storage of one materialized view."""

    action: StorageAction
    """What the import does."""
    table: ViewName
    """The name of the storage table."""
    view_uuid: str
    """The UUID of the view that it will belong to."""
    location: str | None = None
    """URI of the metadata file of an existing storage when it was planned."""
    snapshot_id: int | None = None
    """The storage's current snapshot when it was planned; None if it had none."""
    reason: str | None = None
    """Why an existing storage is not used; not part of the text."""

    def to_text(self) -> str:
        """Return the JSON text that journal and view record."""
        document = {
            "action": self.action.value,
            "table": str(self.table),
            "view-uuid": self.view_uuid,
            "metadata-location": self.location,
            "snapshot-id": self.snapshot_id,
        }
        return compact_json(document)

    @classmethod
    def from_text(cls, text: str) -> StoragePlan:
        """Parse what `to_text` returned; raises ValueError."""
        try:
            document = parse_json(text)
            return cls(
                action=StorageAction(document["action"]),
                table=ViewName.from_text(document["table"]),
                view_uuid=str(document["view-uuid"]),
                location=document["metadata-location"],
                snapshot_id=document["snapshot-id"],
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"it is not a storage plan: {error!r}") from None

    @property
    def sentence(self) -> str:
        """A sentence for the plan about what will be done."""
        if self.action is StorageAction.LINKED:
            return f"the storage is used as it is: {self.table} stays the table with the rows"
        if self.action is StorageAction.REGISTERED:
            return f"the storage is used as it is: its Iceberg table gets the name {self.table}, no file is moved"
        return (
            f"the storage is created by the first refresh, as {self.table}: {self.reason}. Until then queries compute "
            "the definition and do not read stored rows. The old storage's files stay where they are"
        )


@dataclass(frozen=True)
class StorageOwner:
    """The new materialized view to which a storage will belong."""

    name: ViewName
    uuid: str
    schema: Schema
    """Its columns."""


def plan_storage(
    catalog: HiveViewCatalog,
    store: MetastoreStore,
    row: Row,
    view: LegacyView,
    owner: StorageOwner,
    *,
    in_place: bool,
) -> tuple[StoragePlan, TableMetadata | None]:
    """Plan the storage of a view; also return the metadata of an existing storage that will be used. Writes nothing."""
    if not in_place:
        name = _free_name(catalog, store, owner)
        return StoragePlan(
            action=StorageAction.CREATED,
            table=name,
            view_uuid=owner.uuid,
            reason="the legacy view keeps its own storage",
        ), None
    if row.partition_keys:
        raise ConversionError(
            Reason.UNSUPPORTED,
            f"{row.name} is partitioned by Hive, and its row holds the partitions of its storage, which a view cannot "
            "have. Import it under another name (--to-database, --rename)",
        )
    table, location, reason = _find_storage(store, row, view)
    metadata = None
    if location is not None:
        try:
            metadata = MetadataCache(store).table_metadata(str(table or row.name), location)
            reason = _compare_columns(owner.schema, metadata)
        except UnidentifiedError as error:
            reason = f"its storage cannot be read ({error})"
    if metadata is None or reason is not None:
        name = _free_name(catalog, store, owner)
        return StoragePlan(action=StorageAction.CREATED, table=name, view_uuid=owner.uuid, reason=reason), None
    snapshot_id = metadata.current_snapshot_id
    if table is not None:
        return StoragePlan(
            action=StorageAction.LINKED, table=table, view_uuid=owner.uuid, location=location, snapshot_id=snapshot_id
        ), metadata
    name = _free_name(catalog, store, owner, metadata)
    return StoragePlan(
        action=StorageAction.REGISTERED, table=name, view_uuid=owner.uuid, location=location, snapshot_id=snapshot_id
    ), metadata


def _find_storage(store: MetastoreStore, row: Row, view: LegacyView) -> tuple[ViewName | None, str | None, str | None]:
    """Return the storage's name in the catalog, its metadata file, and the reason if there is neither."""
    if view.writer is Writer.TRINO and trino.STORAGE_TABLE in row.parameters:
        schema = row.parameters.get(trino.STORAGE_SCHEMA, row.name.database)
        table = ViewName.parse((schema, row.parameters[trino.STORAGE_TABLE]))
        table_row = store.get_row(table)
        if table_row is None or table_row.kind is not RowKind.ICEBERG_TABLE:
            return None, None, f"its storage table {table} no longer exists"
        return table, table_row.metadata_location, None
    if row.metadata_location is not None and (view.writer is Writer.TRINO or row.kind is RowKind.ICEBERG_TABLE):
        return None, row.metadata_location, None
    if view.writer is Writer.TRINO:
        return None, None, "its row names no storage"
    return None, None, "its rows are in Hive's own format, not in an Iceberg table"


def _compare_columns(schema: Schema, metadata: TableMetadata) -> str | None:
    """Return why the rows of a storage cannot be those of the view; None if they can."""
    view_columns = [(field.name.lower(), field.field_type) for field in schema.fields]
    stored_columns = [(field.name.lower(), field.field_type) for field in metadata.schema().fields]
    if [name for name, _ in view_columns] != [name for name, _ in stored_columns]:
        return f"its storage has the columns {', '.join(name for name, _ in stored_columns)}"
    for (name, view_type), (_, stored_type) in zip(view_columns, stored_columns, strict=True):
        if (view_type.is_primitive or stored_type.is_primitive) and view_type != stored_type:
            return f"the column {name} of its storage is of type {stored_type}, and the view's is of type {view_type}"
    return None


def _free_name(
    catalog: HiveViewCatalog, store: MetastoreStore, owner: StorageOwner, metadata: TableMetadata | None = None
) -> ViewName:
    """Return a free name for a storage table; one that a killed run created for this view counts as free."""
    return storage_name(owner.name, owner.uuid, lambda name: _is_free(catalog, store, name, owner.uuid, metadata))


def _is_free(
    catalog: HiveViewCatalog, store: MetastoreStore, name: ViewName, view_uuid: str, metadata: TableMetadata | None
) -> bool:
    row = store.get_row(name)
    if row is None:
        return True
    if row.kind is not RowKind.ICEBERG_TABLE:
        return False
    table = _load_table(catalog, name)
    if table is None or (metadata is not None and table.metadata.table_uuid != metadata.table_uuid):
        return False
    if metadata is None and table.metadata.current_snapshot_id is not None:
        return False
    return metadata is not None or _belongs_to(table, view_uuid)


# -- Freshness of the rows ---------------------------------------------------------------------------------------------


def staleness_properties(view: LegacyView) -> tuple[dict[str, str], str | None]:
    """Return the view property for Trino's grace period, and a sentence about it."""
    if view.writer is not Writer.TRINO:
        return {}, None
    try:
        grace = trino.grace_ms(view.storage.get("gracePeriod"))
    except InvalidRefreshStateError as error:
        return {}, f"its grace period is not kept: {error}"
    behavior = view.storage.get("whenStaleBehavior", "INLINE")
    fallback = "from now on queries read the definition when rows are stale"
    if behavior != "INLINE":
        fallback = f"its WHEN STALE {behavior} is not kept: {fallback}"
    if grace is None:
        return {}, f"Trino returns its rows at any age; {fallback}"
    kept = f"its grace period of {grace / 1000:g} s stays"
    note = kept if behavior == "INLINE" else f"{kept}; {fallback}"
    return ({MAX_STALENESS_MS: str(int(grace))} if grace > 0 else {}), note


def recorded_refresh_state(
    store: MetastoreStore,
    view: LegacyView,
    storage: TableMetadata,
    reads: tuple[ViewName, ...],
    fingerprint: str,
) -> tuple[RefreshState | None, str]:
    """Return the refresh state of the existing rows if Trino recorded it exactly, and a sentence about it."""
    snapshot = storage.current_snapshot()
    if snapshot is None:
        return None, "it has no rows yet"
    unknown = "queries compute its definition until the first refresh, because its rows may not be fresh: "
    if view.writer is not Writer.TRINO:
        return None, f"{unknown}Hive did not record exactly what it read"
    try:
        refresh = trino.refresh_of(summary_of(snapshot))
        may_depend_on_zone = _may_depend_on_time_zone(view.sql)
    except (InvalidRefreshStateError, SqlError) as error:
        return None, unknown + str(error)
    if refresh is None or refresh.started_ms is None:
        return None, f"{unknown}its current snapshot is not a refresh by Trino"
    if refresh.has_other_tables or refresh.unrepeatable or set(refresh.tables) != set(reads) or may_depend_on_zone:
        return None, f"{unknown}Trino recorded no snapshot for all that it reads"
    sources = []
    for name, snapshot_id in sorted(refresh.tables.items()):
        source = _source_state(store, name, snapshot_id)
        if source is None:
            return None, f"{unknown}{name} no longer has the snapshot that Trino read, or its columns changed since"
        sources.append(source)
    return RefreshState(1, tuple(sources), refresh.started_ms, fingerprint), "Trino recorded what its last refresh read"


def _source_state(store: MetastoreStore, name: ViewName, snapshot_id: int | None) -> SourceState | None:
    """Return the state of a table as Trino read it; None if it is not known exactly."""
    row = store.get_row(name)
    if row is None or row.kind is not RowKind.ICEBERG_TABLE or row.metadata_location is None:
        return None
    table = MetadataCache(store).table_state(str(name), row.metadata_location)
    latest_schema_id = max(table.columns)
    if snapshot_id is None:
        # Without a snapshot the table was empty, whatever its columns.
        return SourceState(SourceKind.TABLE, name, table.uuid, NO_SNAPSHOT) if not table.snapshots else None
    snapshot = table.snapshots.get(snapshot_id)
    # If a later schema than the snapshot's exists, Trino may have read the snapshot with that schema.
    if snapshot is None or snapshot.schema_id != latest_schema_id:
        return None
    return SourceState(SourceKind.TABLE, name, table.uuid, snapshot_id, schema_id=latest_schema_id)


def _may_depend_on_time_zone(sql: str) -> bool:
    """Return whether a text may convert a date to an instant, for which Trino uses its session's time zone."""
    return parse_query(sql, Dialect.TRINO).tree.find(exp.Cast) is not None


# -- Creating and removing a storage ----------------------------------------------------------------------------------


def create_storage(catalog: HiveViewCatalog, storage: StoragePlan, schema: Schema) -> None:
    """Create, register or link the storage of a view. A repetition changes nothing."""
    properties = {STORAGE_OF: storage.view_uuid, STAGED_WRITES: "true"}
    table = _load_table(catalog, storage.table)
    if storage.action is StorageAction.CREATED:
        if table is None:
            fields = [field.model_copy(update={"required": False}) for field in schema.model_copy(deep=True).fields]
            catalog.create_table(
                storage.table.identifier, Schema(*fields), properties={"format-version": "2", **properties}
            )
        return
    if table is None:
        assert storage.location is not None, "an existing storage was read when it was planned"
        table = catalog.register_table(storage.table.identifier, storage.location)
    missing = {key: value for key, value in properties.items() if table.metadata.properties.get(key) != value}
    if missing:
        with table.transaction() as transaction:
            transaction.set_properties(missing)


def check_unrefreshed(catalog: HiveViewCatalog, name: ViewName, storage: StoragePlan) -> None:
    """Raise RevertError if the storage was refreshed since the import."""
    table = _load_table(catalog, storage.table)
    if table is not None and table.metadata.current_snapshot_id != storage.snapshot_id:
        raise RevertError(str(name), "its rows were refreshed since the import; use force to lose them")


def check_restorable(store: MetastoreStore, name: ViewName, storage: StoragePlan) -> None:
    """Raise RevertError if the rows of a registered storage from before the import were expired."""
    if storage.action is not StorageAction.REGISTERED or storage.location is None:
        return
    try:
        snapshot = MetadataCache(store).table_metadata(str(name), storage.location).current_snapshot()
    except UnidentifiedError as error:
        problem = str(error)
    else:
        if snapshot is None or store.files.exists(snapshot.manifest_list):
            return
        problem = f"{snapshot.manifest_list} does not exist"
    raise RevertError(
        str(name),
        f"the rows that its storage had before the import were expired ({problem}), so the restored row could not be "
        "read. Drop the view, and create it again in its former engine",
    )


def remove_storage(
    catalog: HiveViewCatalog, storage: StoragePlan, *, force: bool = False, may_be_unmarked: bool = True
) -> None:
    """Undo `create_storage`. Files that existed before the import are kept; `force` drops refreshed rows.

    `may_be_unmarked` states whether a killed run may have registered the table without marking it as the view's
    storage. It is false for a converted view; then only a table with that mark is changed.
    """
    table = _load_table(catalog, storage.table)
    is_unmarked = (
        may_be_unmarked
        and table is not None
        and storage.action is StorageAction.REGISTERED
        and table.metadata_location == storage.location
    )
    if table is None or not (is_unmarked or _belongs_to(table, storage.view_uuid)):
        return
    is_refreshed = table.metadata.current_snapshot_id != storage.snapshot_id
    if storage.action is StorageAction.CREATED:
        if force or not is_refreshed:
            drop_unused_storage(catalog.store, catalog, storage.table, storage.view_uuid)
        return
    if storage.action is StorageAction.REGISTERED:
        catalog.remove_table(storage.table.identifier)
        if not is_refreshed and table.metadata_location != storage.location:
            catalog.store.files.delete(table.metadata_location)  # written by `create_storage`, and unused now
        return
    with table.transaction() as transaction:
        transaction.remove_properties(*(key for key in (STORAGE_OF, STAGED_WRITES) if key in table.metadata.properties))


def _load_table(catalog: HiveViewCatalog, name: ViewName) -> Table | None:
    try:
        return catalog.load_table(name.identifier)
    except NoSuchTableError:
        return None


def _belongs_to(table: Table, view_uuid: str) -> bool:
    return table.metadata.properties.get(STORAGE_OF, "").lower() == view_uuid.lower()
