"""From one legacy row to the row and the files that will take its place: the same for a plan and for a run."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hive_views.catalog.catalog import HiveViewCatalog
from hive_views.dependencies.graph import reject_cycle
from hive_views.dependencies.view_builder import ViewDefinition
from hive_views.identifiers import ViewName
from hive_views.legacy_import.convert import LEGACY_WRITER, Made, RefusedError, changed_types, make, prepared
from hive_views.legacy_import.materialized_rows import detached
from hive_views.legacy_import.model import LegacyView, Reason, Writer
from hive_views.legacy_import.mojibake import demangled
from hive_views.legacy_import.options import Options
from hive_views.legacy_import.readers import spark
from hive_views.legacy_import.readers.detection import read_view
from hive_views.legacy_import.readers.trino import rights
from hive_views.legacy_import.storage import LEGACY_STORAGE, Storage, planned_storage, recorded_state, staleness
from hive_views.materialized.state.adopted_state import TAKEN_OVER, encode_taken_over
from hive_views.materialized.state.fingerprint import fingerprint as definition_fingerprint
from hive_views.metastore.identities import identify
from hive_views.metastore.row_codec import (
    CHANGE_TIME,
    HIVE_UUID,
    MAX_KEY_LENGTH,
    OWNER_PROPERTY,
    Row,
    RowKind,
    converted_row,
    new_row,
    read_row,
    row_fingerprint,
    view_columns,
)
from hive_views.metastore.store import LoadedView, MetastoreStore
from hive_views.spec.changes import create
from hive_views.spec.file_codec import METADATA_PATH, new_location
from hive_views.spec.lineage_codec import file_id
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.storage_link import STORAGE_TABLE_COPY, StorageLink, with_link
from hive_views.spec.version_texts import HIVE, sql_texts

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

LEGACY_ROW = "hive-views.legacy-row"
"""View property: URI of the file that holds the row which the view replaced."""

LEGACY_FINGERPRINT = "hive-views.legacy-fingerprint"
"""View property: that row's fingerprint, by which a repeated import knows its own work."""

__all__ = ["LEGACY_FINGERPRINT", "LEGACY_ROW", "LEGACY_WRITER", "Converted", "Place", "convert"]

_NOT_PROPERTIES = frozenset(
    {
        CHANGE_TIME,
        HIVE_UUID,
        "EXTERNAL",
        "COLUMN_STATS_ACCURATE",
        "DO_NOT_UPDATE_STATS",
        "STATS_GENERATED",
        "STATS_GENERATED_VIA_STATS_TASK",
        "bucketing_version",
        "last_modified_by",
        "last_modified_time",
        "numFiles",
        "numFilesErasureCoded",
        "numPartitions",
        "numRows",
        "rawDataSize",
        "totalSize",
        "presto_view",
        "presto_version",
        "presto_query_id",
        "trino_created_by",
        "trino_version",
        "trino_query_id",
        "table_type",
        "metadata_location",
        "previous_metadata_location",
        "uuid",
        "current-schema",
    }
)
_PLAIN = re.compile(r"\w+", re.ASCII)
_PREFIXES = ("spark.sql.", "view.", "hive_views_")


@dataclass(frozen=True)
class Place:
    """Where new views go, and what is known of it already."""

    catalog: HiveViewCatalog
    """The catalog."""
    store: MetastoreStore
    """Its metastore and files, or those with a plan's views in them."""
    locations: dict[str, str] = field(default_factory=dict)
    """The base location of each database, as far as it was asked for."""

    def location(self, name: ViewName) -> str:
        """Where the files of a new view go."""
        if self.catalog._config.unique_location:
            return self.catalog._location(name, None)
        if name.database not in self.locations:
            self.locations[name.database] = self.catalog._location(ViewName(name.database, "x"), None)[:-1]
        plain = _PLAIN.fullmatch(name.name) is not None
        return self.locations[name.database] + (name.name if plain else f"view-{uuid.uuid4().hex}")


@dataclass(frozen=True)
class Converted:
    """What one view becomes: nothing of it is written."""

    row: Row
    """The row to put in place; in another place than the legacy one's it is made anew at the commit."""
    metadata: ViewMetadata
    """The content of the metadata file."""
    location: str
    """URI of that file."""
    backup: str
    """URI of the file for the legacy row."""
    made: Made
    """Its definition."""
    changes: tuple[str, ...]
    """What is not as it was, in words."""
    storage: Storage | None = None
    """For a materialized view: what is done about its storage."""

    @property
    def text(self) -> str | None:
        """The text for Hive and plain Spark."""
        return sql_texts(self.metadata.current_version()).get(HIVE)

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Name and type of each column of the row, partition columns last."""
        return tuple((name, kind) for name, kind, _ in self.row.columns)

    @property
    def loaded(self) -> LoadedView:
        """The view as it will be, for those that read it."""
        return LoadedView(self.row, self.metadata)


def convert(
    place: Place,
    row: Row,
    view: LegacyView,
    target: ViewName,
    options: Options,
    targets: Mapping[ViewName, ViewName],
    *,
    here: bool,
) -> Converted:
    """Work out what a legacy view becomes."""
    view = prepared(view, options)
    store = place.store
    made = make(store, place.catalog.name, view, target, options, targets)
    in_place = here and target == row.name
    moved = set(targets.values())
    if any(_is_foreign_view(store, name) for name in made.reads if name not in moved):
        # Cycles among the plan's own views are found in the plan.
        reject_cycle(store, target, made.definition.version)
    location = place.location(target.check_writable() if not in_place else target)
    if not in_place and store.get_row(target) is not None:
        raise RefusedError(Reason.NAME_TAKEN, f"{target} is there already")
    # Views that read the legacy view know it by this UUID; it stays the same view.
    identity = identify(store, row, mark=False).uuid if in_place else str(uuid.uuid4())
    storage, stored = None, None
    if view.materialized:
        # Beside the rows: within, whoever removes a table's orphan files would remove the definition.
        location = f"{location}__view"
        identity = _identity(store, row, target, in_place=in_place)
        schema = made.definition.schema
        storage, stored = planned_storage(place.catalog, store, row, view, target, schema, identity, in_place=in_place)
        made = replace(made, definition=_linked(made.definition, storage), changes=(*made.changes, storage.sentence))
    security = rights(view, row.owner, in_place=in_place)
    if security is not None:
        made = replace(made, changes=(*made.changes, security))
    properties = place.catalog._view_properties(_properties(view, detached(row, view)))
    backup = f"{properties.get(METADATA_PATH, f'{location}/metadata').rstrip('/')}/legacy-{uuid.uuid4()}.json"
    properties |= {LEGACY_ROW: backup, LEGACY_FINGERPRINT: row_fingerprint(row)}
    if not in_place and (row.owner or view.owner):
        properties[OWNER_PROPERTY] = str(row.owner or view.owner)
    if storage is not None:
        link = StorageLink((storage.table.database,), storage.table.name)
        properties |= {STORAGE_TABLE_COPY: link.encode(), LEGACY_STORAGE: storage.encode()}
    definition = made.definition
    metadata = create(
        uuid=identity,
        location=location,
        schema=definition.schema,
        version=definition.version,
        properties=properties,
        now_ms=int(time.time() * 1000),
        identifier=str(target),
    )
    if storage is not None:
        more, said = _freshness(store, view, made, metadata, stored)
        if in_place and row.table.creationMetadata is not None:
            said = (*said, _SOURCES_KEPT)
        metadata = metadata.model_copy(update={"properties": {**metadata.properties, **more}})
        made = replace(made, changes=(*made.changes, *said))
    file = new_location(metadata, None, file_id(metadata.current_version()))
    if in_place:
        new = row_as_converted(store, row, metadata, file)
    else:
        new = read_row(new_row(target, metadata, file, store.config, now_s=int(time.time())))
    types = tuple(view_columns(target, metadata, store.config))
    kept = bool(row.table.partitionKeys) and in_place
    changes = (*made.changes, *(() if kept else changed_types(view, store.config, types)))
    return Converted(new, metadata, file, backup, made, changes, storage)


_SOURCES_KEPT = (
    "Hive's server keeps the record of what its view read, and drops none of these tables before the import is "
    "reverted and Hive's own view dropped"
)


def _identity(store: MetastoreStore, row: Row, target: ViewName, *, in_place: bool) -> str:
    """The UUID of a materialized view that is to be: the same at each attempt, so that its storage is known again."""
    known = identify(store, row, mark=False).uuid
    if not in_place:
        return str(uuid.uuid5(uuid.UUID(known), f"copy {target}"))
    # Of an Iceberg table it is the table's own, which stays the storage's.
    return str(uuid.uuid5(uuid.UUID(known), "view")) if row.kind is RowKind.ICEBERG_TABLE else known


def _linked(definition: ViewDefinition, storage: Storage) -> ViewDefinition:
    link = StorageLink((storage.table.database,), storage.table.name)
    return replace(definition, version=with_link(definition.version, link))


def _freshness(
    store: MetastoreStore, view: LegacyView, made: Made, metadata: ViewMetadata, stored: TableMetadata | None
) -> tuple[dict[str, str], tuple[str, ...]]:
    """View properties that say how fresh the rows are, and what is to be said of it."""
    properties, grace = staleness(view)
    said = [] if grace is None else [grace]
    if stored is not None:
        state, sentence = recorded_state(store, view, stored, made.reads, definition_fingerprint(metadata))
        said.append(sentence)
        if state is not None and stored.current_snapshot_id is not None:
            properties[TAKEN_OVER] = encode_taken_over(stored.current_snapshot_id, state)
    return properties, tuple(said)


def row_as_converted(store: MetastoreStore, legacy: Row, metadata: ViewMetadata, location: str) -> Row:
    """The row that takes a legacy row's place."""
    writer = Writer(metadata.current_version().summary[LEGACY_WRITER])
    legacy = detached(legacy, read_view(legacy))
    comment = metadata.properties.get("comment")
    if (
        writer is not Writer.TRINO
        and comment is not None
        and comment == demangled(legacy.parameters.get("comment", ""))
    ):
        legacy = legacy.with_parameters({**legacy.parameters, "comment": comment})
    return converted_row(
        store.config,
        legacy,
        metadata,
        location,
        is_dropped=lambda key: writer is Writer.SPARK and not spark.outlives(key),
        # Trino finds its views by their text and flags alone, and reads no Iceberg view of this metastore.
        view_texts=(legacy.texts.original, legacy.texts.expanded) if writer is Writer.TRINO else None,
    )


def _is_foreign_view(store: MetastoreStore, name: ViewName) -> bool:
    row = store.get_row(name)
    return row is not None and row.kind is RowKind.ICEBERG_VIEW


def _properties(view: LegacyView, row: Row) -> dict[str, str]:
    """The view properties that the row's parameters are: those that a user may have set."""
    found = {
        key: value
        for key, value in row.parameters.items()
        if key not in _NOT_PROPERTIES and not key.startswith(_PREFIXES) and 0 < len(key) <= MAX_KEY_LENGTH
    }
    # Of a view of Trino's the row's parameter says `Presto View`; of another it may have been repaired.
    found.pop("comment", None)
    if view.comment is not None:
        found["comment"] = view.comment
    return {key: value for key, value in found.items() if value is not None}
