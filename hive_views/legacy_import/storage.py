"""What becomes of the stored rows of a materialized view of Hive's or Trino's: planned, made, and taken back.

Rows are never copied, and no file of the old storage is ever deleted or overwritten.

In place, an Iceberg table that the catalog knows (Trino's `storage_table`) stays the table that it is, with two
properties more; one that only the legacy row names (Hive's STORED BY ICEBERG, Trino's `metadata_location`) gets a row
of its own, from the same metadata file. Anything else, an Iceberg table with other columns among it, stays where it is,
and the view gets a new storage. So does a view that is made elsewhere, because the legacy one keeps its own.

A new storage gets its rows from the first refresh. Whether rows that are taken over are fresh is known only where Trino
recorded exactly what its last refresh read (`dependsOnTables`); nothing is concluded from anything else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.schema import Schema
from sqlglot import exp

from hive_views.catalog.catalog import HiveViewCatalog
from hive_views.errors import InvalidRefreshStateError, RevertError, SqlError, UnidentifiedError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.convert import RefusedError
from hive_views.legacy_import.model import LegacyView, Reason, Writer
from hive_views.materialized import trino
from hive_views.materialized.drop import drop_storage
from hive_views.materialized.freshness.cache import FactReader, facts_of
from hive_views.materialized.layouts.storage_tables import STAGED_WRITES
from hive_views.materialized.lifecycle import storage_name
from hive_views.materialized.properties import MAX_STALENESS_MS
from hive_views.materialized.state.refresh_state import NO_SNAPSHOT, RefreshState, SourceKind, SourceState
from hive_views.metastore.row_codec import Row, RowKind
from hive_views.metastore.store import MetastoreStore
from hive_views.spec.storage_link import STORAGE_OF
from hive_views.sql.parsing.parser import parse_query

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

LEGACY_STORAGE = "hive-views.legacy-storage"
"""View property: what the import did about the storage, as JSON; see `Storage.encode`."""


class Action(str, Enum):
    """What is done about a storage."""

    LINKED = "linked"
    """The storage is a table of the catalog already, and stays it."""
    REGISTERED = "registered"
    """The storage gets a row of its own."""
    MADE = "made"
    """A new storage is made, without rows."""


@dataclass(frozen=True)
class Storage:
    """What is done about the storage of one materialized view."""

    action: Action
    """What is done."""
    table: ViewName
    """The storage table's name."""
    view_uuid: str
    """The view that it will belong to."""
    location: str | None = None
    """The metadata file of a storage that is taken over, as it was found."""
    snapshot_id: int | None = None
    """Its current snapshot then; None for none."""
    why: str | None = None
    """Why nothing is taken over."""

    def encode(self) -> str:
        """The text that journal and view keep of it."""
        document = {
            "action": self.action.value,
            "table": str(self.table),
            "view-uuid": self.view_uuid,
            "metadata-location": self.location,
            "snapshot-id": self.snapshot_id,
        }
        return json.dumps(document, separators=(",", ":"))

    @staticmethod
    def decode(text: str) -> Storage:
        """Read what `encode` gave."""
        try:
            item = json.loads(text)
            return Storage(
                Action(item["action"]),
                ViewName.from_text(item["table"]),
                str(item["view-uuid"]),
                item["metadata-location"],
                item["snapshot-id"],
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"it says nothing of a storage: {error!r}") from None

    @property
    def sentence(self) -> str:
        """What will be done, for people."""
        if self.action is Action.LINKED:
            return f"the storage is taken over as it is: {self.table} stays the table with its rows"
        if self.action is Action.REGISTERED:
            return f"the storage is taken over as it is: its Iceberg table gets the name {self.table}, no file is moved"
        return (
            f"the storage is made by the first refresh, as {self.table}: {self.why}. The old storage's files stay "
            "where they are"
        )


def planned_storage(
    catalog: HiveViewCatalog,
    store: MetastoreStore,
    row: Row,
    view: LegacyView,
    target: ViewName,
    schema: Schema,
    view_uuid: str,
    *,
    in_place: bool,
) -> tuple[Storage, TableMetadata | None]:
    """Work out what becomes of a storage. Nothing is written."""
    if not in_place:
        made = Storage(Action.MADE, _free(catalog, store, target, view_uuid), view_uuid, why=_COPY)
        return made, None
    if row.table.partitionKeys:
        raise RefusedError(
            Reason.UNSUPPORTED,
            f"{row.name} is partitioned by Hive, and its row holds the partitions of its storage, which a view cannot "
            "have. Import it to another place (--to-database, --rename)",
        )
    table, location, why = _found(store, row, view)
    metadata = None
    if location is not None:
        try:
            metadata = FactReader(store).table_metadata(str(table or row.name), location)
            why = _other_columns(schema, metadata)
        except UnidentifiedError as error:
            why = f"its storage cannot be read ({error})"
    if metadata is None or why is not None:
        made = Storage(Action.MADE, _free(catalog, store, target, view_uuid), view_uuid, why=why)
        return made, None
    snapshot = metadata.current_snapshot_id
    if table is not None:
        return Storage(Action.LINKED, table, view_uuid, location, snapshot), metadata
    free = _free(catalog, store, target, view_uuid, metadata)
    return Storage(Action.REGISTERED, free, view_uuid, location, snapshot), metadata


_COPY = "the legacy one keeps its own"


def _found(store: MetastoreStore, row: Row, view: LegacyView) -> tuple[ViewName | None, str | None, str | None]:
    """The storage's name in the catalog, its metadata file, and why there is neither."""
    if view.writer is Writer.TRINO and trino.STORAGE_TABLE in row.parameters:
        schema = row.parameters.get(trino.STORAGE_SCHEMA, row.name.database)
        table = ViewName.parse((schema, row.parameters[trino.STORAGE_TABLE]))
        there = store.get_row(table)
        if there is None or there.kind is not RowKind.ICEBERG_TABLE:
            return None, None, f"its storage table {table} is gone"
        return table, there.metadata_location, None
    if row.metadata_location is not None and (view.writer is Writer.TRINO or row.kind is RowKind.ICEBERG_TABLE):
        return None, row.metadata_location, None
    if view.writer is Writer.TRINO:
        return None, None, "its row names no storage"
    return None, None, "its rows are in Hive's own format, not in an Iceberg table"


def _other_columns(schema: Schema, metadata: TableMetadata) -> str | None:
    """Why the rows of a storage cannot be those of the view; None where they can."""
    wanted = [(field.name.lower(), field.field_type) for field in schema.fields]
    there = [(field.name.lower(), field.field_type) for field in metadata.schema().fields]
    if [name for name, _ in wanted] != [name for name, _ in there]:
        return f"its storage has the columns {', '.join(name for name, _ in there)}"
    for (name, kind), (_, stored) in zip(wanted, there, strict=True):
        if (kind.is_primitive or stored.is_primitive) and kind != stored:
            return f"the column {name} of its storage is of type {stored}, and the view's is of type {kind}"
    return None


def _free(
    catalog: HiveViewCatalog,
    store: MetastoreStore,
    target: ViewName,
    view_uuid: str,
    metadata: TableMetadata | None = None,
) -> ViewName:
    """A name for a storage's row: one that a run which was killed has made for this very view is taken again."""
    return storage_name(target, view_uuid, lambda plain: _is_free(catalog, store, plain, view_uuid, metadata))


def _is_free(
    catalog: HiveViewCatalog, store: MetastoreStore, name: ViewName, view_uuid: str, metadata: TableMetadata | None
) -> bool:
    row = store.get_row(name)
    if row is None:
        return True
    if row.kind is not RowKind.ICEBERG_TABLE:
        return False
    table = _table(catalog, name)
    if table is None or (metadata is not None and table.metadata.table_uuid != metadata.table_uuid):
        return False
    if metadata is None and table.metadata.current_snapshot_id is not None:
        return False
    return metadata is not None or _is_of(table, view_uuid)


# -- What is kept in the view -----------------------------------------------------------------------------------------


def staleness(view: LegacyView) -> tuple[dict[str, str], str | None]:
    """The view property that stands for Trino's grace period, and what is to be said of it."""
    if view.writer is not Writer.TRINO:
        return {}, None
    text = view.storage.get("gracePeriod")
    try:
        grace = trino.grace_ms(text)
    except InvalidRefreshStateError as error:
        return {}, f"its grace period is not kept: {error}"
    if grace is None:
        return (
            {},
            "Trino shows its rows however old they are; from now on stale rows do not answer, the definition does",
        )
    return ({MAX_STALENESS_MS: str(int(grace))} if grace > 0 else {}), f"its grace period of {text} stays"


def recorded_state(
    store: MetastoreStore,
    view: LegacyView,
    storage: TableMetadata,
    reads: tuple[ViewName, ...],
    fingerprint: str,
) -> tuple[RefreshState | None, str]:
    """What Trino's last refresh read, where what it recorded says so exactly."""
    snapshot = storage.current_snapshot()
    if snapshot is None:
        return None, "it has no rows yet"
    unknown = "whether its rows are fresh is unknown until the first refresh: "
    if view.writer is not Writer.TRINO:
        return None, f"{unknown}Hive did not record exactly what it read"
    summary = {} if snapshot.summary is None else snapshot.summary.additional_properties
    try:
        made = trino.refresh_of({key: str(value) for key, value in summary.items()})
        zoned = _may_depend_on_zone(view.sql)
    except (InvalidRefreshStateError, SqlError) as error:
        return None, unknown + str(error)
    if made is None or made.started_ms is None:
        return None, f"{unknown}its current snapshot is no refresh of Trino's"
    if made.others or made.unrepeatable or set(made.tables) != set(reads) or zoned:
        return None, f"{unknown}Trino recorded no snapshot for all that it reads"
    sources = []
    for name, number in sorted(made.tables.items()):
        source = _source(store, name, number)
        if source is None:
            return None, f"{unknown}{name} has not the snapshot any more that Trino read, or had other columns since"
        sources.append(source)
    return RefreshState(
        1, tuple(sources), made.started_ms, fingerprint
    ), "what its last refresh read is known from Trino"


def _source(store: MetastoreStore, name: ViewName, number: int | None) -> SourceState | None:
    """The state of a table as Trino read it; None where that cannot be told exactly."""
    row = store.get_row(name)
    if row is None or row.kind is not RowKind.ICEBERG_TABLE or row.metadata_location is None:
        return None
    metadata = FactReader(store).table_metadata(str(name), row.metadata_location)
    facts = facts_of(metadata)
    latest = max(schema.schema_id for schema in metadata.schemas)
    if number is None:
        # Without a snapshot there is no row, whatever its columns.
        return SourceState(SourceKind.TABLE, name, facts.uuid, NO_SNAPSHOT) if not facts.snapshots else None
    known = facts.snapshots.get(number)
    # A schema that is younger than the snapshot may have been the current one when Trino read it.
    if known is None or known.schema_id != latest:
        return None
    return SourceState(SourceKind.TABLE, name, facts.uuid, number, schema_id=latest)


def _may_depend_on_zone(sql: str) -> bool:
    """Whether a text compares with a date, which Trino turns into an instant in its session's time zone."""
    return parse_query(sql, "trino").tree.find(exp.Cast) is not None


# -- Doing it, and taking it back -------------------------------------------------------------------------------------


def provide(catalog: HiveViewCatalog, storage: Storage, schema: Schema) -> None:
    """Make the storage what the view will name. Done again, it changes nothing."""
    properties = {STORAGE_OF: storage.view_uuid, STAGED_WRITES: "true"}
    table = _table(catalog, storage.table)
    if storage.action is Action.MADE:
        if table is None:
            fields = [field.model_copy(update={"required": False}) for field in schema.model_copy(deep=True).fields]
            catalog.create_table(
                storage.table.identifier, Schema(*fields), properties={"format-version": "2", **properties}
            )
        return
    if table is None:
        assert storage.location is not None, "a storage that is taken over was read"
        table = catalog.register_table(storage.table.identifier, storage.location)
    wanted = {key: value for key, value in properties.items() if table.metadata.properties.get(key) != value}
    if wanted:
        with table.transaction() as transaction:
            transaction.set_properties(wanted)


def check_unrefreshed(catalog: HiveViewCatalog, name: ViewName, storage: Storage) -> None:
    """Refuse a storage that has other rows than when it was taken over."""
    table = _table(catalog, storage.table)
    if table is not None and table.metadata.current_snapshot_id != storage.snapshot_id:
        raise RevertError(str(name), "its rows were refreshed since its import; force it to lose them")


def withdraw(catalog: HiveViewCatalog, storage: Storage, *, force: bool = False) -> None:
    """Take back what `provide` did. Files of a storage that was taken over stay, whatever `force` says."""
    table = _table(catalog, storage.table)
    # One that was killed in between has made the row, and not yet said in it whose it is.
    bare = table is not None and storage.action is Action.REGISTERED and table.metadata_location == storage.location
    if table is None or not (bare or _is_of(table, storage.view_uuid)):
        return
    refreshed = table.metadata.current_snapshot_id != storage.snapshot_id
    if storage.action is Action.MADE:
        if force or not refreshed:
            drop_storage(catalog, storage.table, storage.view_uuid)
        return
    if storage.action is Action.REGISTERED:
        catalog.remove_table(storage.table.identifier)
        if not refreshed and table.metadata_location != storage.location:
            catalog.store.files.delete(table.metadata_location)  # written by `provide`, and named by nothing now
        return
    with table.transaction() as transaction:
        transaction.remove_properties(*(key for key in (STORAGE_OF, STAGED_WRITES) if key in table.metadata.properties))


def _table(catalog: HiveViewCatalog, name: ViewName) -> Table | None:
    try:
        return catalog.load_table(name.identifier)
    except NoSuchTableError:
        return None


def _is_of(table: Table, view_uuid: str) -> bool:
    return table.metadata.properties.get(STORAGE_OF, "").lower() == view_uuid.lower()
