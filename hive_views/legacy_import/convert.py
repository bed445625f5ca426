"""Conversion of a legacy row to the new row and the content of the new files, in memory; used by plans and runs."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from hive_views.catalog.catalog import HiveViewCatalog
from hive_views.config import CatalogConfig
from hive_views.dependencies.graph import reject_cycle
from hive_views.dependencies.table_findings import EngineFinding, spark_findings
from hive_views.dependencies.view_builder import ViewDefinition
from hive_views.dependencies.view_changes import check_required_engines
from hive_views.errors import EngineRequirementError
from hive_views.identifiers import ViewName
from hive_views.legacy_import.definition import (
    LEGACY_WRITER,
    LegacyDefinition,
    check_convertible,
    define_view,
)
from hive_views.legacy_import.legacy_view import ConversionError, LegacyView, Reason, Writer, decode_mojibake
from hive_views.legacy_import.options import ImportOptions, TrinoRowMode
from hive_views.legacy_import.readers import spark
from hive_views.legacy_import.readers.detection import read_view
from hive_views.legacy_import.readers.trino import trino_notes
from hive_views.legacy_import.storage import (
    LEGACY_STORAGE,
    StorageOwner,
    StoragePlan,
    plan_storage,
    recorded_refresh_state,
    staleness_properties,
)
from hive_views.materialized.state.refresh_state import ADOPTED_REFRESH, encode_adopted_state
from hive_views.materialized.state.refresh_state import fingerprint as definition_fingerprint
from hive_views.metastore import trino_encoding
from hive_views.metastore.commit.view_properties import configured_properties, new_view_location
from hive_views.metastore.identities import identify
from hive_views.metastore.names import check_new_table
from hive_views.metastore.queries import view_exists
from hive_views.metastore.rows.codec import converted_row, new_row, row_as_plain_view
from hive_views.metastore.rows.row import (
    CURRENT_SCHEMA,
    METADATA_LOCATION,
    OWNER_PROPERTY,
    PREVIOUS_METADATA_LOCATION,
    TABLE_TYPE,
    TRINO_PARAMETERS,
    UUID,
    Row,
    RowKind,
    is_user_parameter,
    read_row,
)
from hive_views.metastore.rows.serialization import row_fingerprint
from hive_views.metastore.rows.types import MAX_COMMENT_LENGTH, row_comment, view_columns
from hive_views.metastore.store import MetastoreStore
from hive_views.spec.changes import create
from hive_views.spec.file_codec import METADATA_PATH, new_location
from hive_views.spec.lineage_codec import file_id
from hive_views.spec.metadata import ViewMetadata
from hive_views.spec.storage_link import STORAGE_TABLE_COPY, StorageLink, with_link
from hive_views.spec.version_texts import HIVE, row_texts, sql_texts

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table.metadata import TableMetadata

LEGACY_ROW = "hive-views.legacy-row"
"""View property: URI of the backup file with the legacy row that the view replaced."""

LEGACY_FINGERPRINT = "hive-views.legacy-fingerprint"
"""View property: fingerprint of the legacy row, by which a repeated import recognizes a view that it converted."""

_STORAGE_PARAMETERS = frozenset(
    {
        TABLE_TYPE,
        METADATA_LOCATION,
        PREVIOUS_METADATA_LOCATION,
        UUID,
        CURRENT_SCHEMA,
        "storage_schema",
        "storage_table",
        "storage_handler",
        "snapshot-count",
        "default-partition-spec",
        "default-sort-order",
        "format-version",
        "gc.enabled",
        # On a view, it would make a drop delete the directory with the metadata files.
        "external.table.purge",
    }
)
_STORAGE_PREFIXES = (
    "write.",
    "read.",
    "commit.",
    "history.",
    "engine.hive.",
    "iceberg.",
    "current-snapshot-",
    "storage.",
)
"""Row parameters of an Iceberg table: its catalogs copy the table's properties into its row."""

_PLAIN_NAME = re.compile(r"\w+", re.ASCII)

_CREATION_METADATA_NOTE = (
    "Hive's server keeps the record of what its view read, and drops none of these tables before the import is "
    "reverted and Hive's own view dropped"
)


@dataclass(frozen=True)
class ImportTarget:
    """The catalog for new views: a catalog on a metastore, or, in a subclass, another one."""

    catalog: HiveViewCatalog
    """The catalog on the metastore in which names are resolved."""
    store: MetastoreStore
    """Its metastore and files, or a `PlannedStore` on top of them."""
    database_locations: dict[str, str] = field(default_factory=dict)
    """Base locations of databases that were read already."""

    is_metastore: ClassVar[bool] = True
    """Whether the new views are rows of a metastore."""

    def is_taken(self, name: ViewName) -> bool:
        """Return whether the catalog has a table or view of this name."""
        return self.store.get_row(name) is not None

    def check_sources(self, definition: LegacyDefinition) -> tuple[str, ...]:
        """Return sentences about how readers resolve the names of a definition; raises ConversionError."""
        return ()

    def view_location(self, name: ViewName) -> str:
        """Return the directory for the files of a new view."""
        if self.store.config.unique_location:
            return new_view_location(self.catalog.store, name, None)
        if name.database not in self.database_locations:
            self.database_locations[name.database] = self._database_location(name.database)
        directory = name.name if _PLAIN_NAME.fullmatch(name.name) else f"view-{uuid.uuid4().hex}"
        return f"{self.database_locations[name.database]}/{directory}"

    def _database_location(self, database: str) -> str:
        return new_view_location(self.catalog.store, ViewName(database, "x"), None).removesuffix("/x")


@dataclass(frozen=True, kw_only=True)
class ConvertedView:
    """A converted view in memory, of which nothing is written yet."""

    row: Row
    """The row that replaces the legacy row. The row of a copy is created when the copy is committed."""
    metadata: ViewMetadata
    """The content of the metadata file."""
    location: str
    """URI of the metadata file."""
    backup: str
    """URI of the backup file for the legacy row."""
    definition: LegacyDefinition
    """The view's definition."""
    changes: tuple[str, ...]
    """Sentences about differences from the legacy view."""
    storage: StoragePlan | None = None
    """For a materialized view: the plan for its storage."""

    @property
    def text(self) -> str | None:
        """The text for Hive and plain Spark."""
        return sql_texts(self.metadata.current_version()).get(HIVE)

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Name and type of each column of the row, partition columns last."""
        return tuple((name, type_text) for name, type_text, _ in self.row.columns)


@dataclass(frozen=True)
class Conversion:
    """What the conversions of all views of an import have in common."""

    target: ImportTarget
    """The catalog for the new views."""
    options: ImportOptions
    targets: Mapping[ViewName, ViewName]
    """The name of the new view by the name of the legacy one."""
    target_names: Collection[ViewName]
    """The names of the new views."""
    is_same_catalog: bool
    """Whether the new views are in the catalog of the legacy views."""


def convert(conversion: Conversion, row: Row, view: LegacyView, target_name: ViewName) -> ConvertedView:
    """Convert a legacy view. Raises ConversionError."""
    target, options = conversion.target, conversion.options
    view = check_convertible(view, options)
    store = target.store
    definition = define_view(
        store, target.catalog.name, view, target_name, options, conversion.targets, keeps_catalogs=target.is_metastore
    )
    # A plan has checked the tables behind views as well; these rows are read already.
    sources = (source for name in definition.reads if (source := store.get_row(name)) is not None)
    accepted = check_readable(view.name, spark_findings(sources), options)
    definition = replace(definition, changes=(*definition.changes, *accepted))
    in_place = conversion.is_same_catalog and target_name == row.name
    if any(view_exists(store, name) for name in definition.reads if name not in conversion.target_names):
        # Cycles among the import's own views are found when it is planned.
        reject_cycle(store, target_name, definition.definition.version)
    location = target.view_location(target_name if in_place else check_new_table(store.client, target_name))
    if not in_place and target.is_taken(target_name):
        raise ConversionError(Reason.NAME_TAKEN, f"{target_name} exists already")
    # In place, the view keeps its UUID, which lineages of other views may contain.
    view_uuid = identify(store, row, mark=False).uuid if in_place else str(uuid.uuid4())
    storage, storage_metadata = None, None
    if view.materialized and target.is_metastore:
        # Not within the storage table's directory, where a removal of orphan files would delete the view's metadata.
        location = f"{location}__view"
        view_uuid = _materialized_view_uuid(store, row, target_name, in_place=in_place)
        storage, storage_metadata = plan_storage(
            target.catalog,
            store,
            row,
            view,
            StorageOwner(target_name, view_uuid, definition.definition.schema),
            in_place=in_place,
        )
        definition = replace(
            definition,
            definition=_with_storage_link(definition.definition, storage),
            changes=(*definition.changes, storage.sentence),
        )
    keeps_encoding = in_place and view.writer is Writer.TRINO and options.trino_rows is TrinoRowMode.KEEP
    notes: tuple[str, ...] = ()
    if target.is_metastore:
        notes = (
            *trino_notes(view, row.owner, in_place=in_place, keeps_encoding=keeps_encoding),
            *_shortened_comments(definition.definition.schema),
        )
    definition = replace(definition, changes=(*definition.changes, *notes, *target.check_sources(definition)))
    if not target.is_metastore:
        definition = replace(definition, changes=(*definition.changes, *_metastore_only(view)))
    properties = configured_properties(store.config, _user_properties(view, row_without_storage(row, view)))
    metadata_directory = properties.get(METADATA_PATH, f"{location}/metadata").rstrip("/")
    backup = f"{metadata_directory}/legacy-{uuid.uuid4()}.json"
    properties |= {LEGACY_ROW: backup, LEGACY_FINGERPRINT: row_fingerprint(row)}
    if not in_place and (row.owner or view.owner):
        properties[OWNER_PROPERTY] = str(row.owner or view.owner)
    if storage is not None:
        link = StorageLink((storage.table.database,), storage.table.name)
        properties |= {STORAGE_TABLE_COPY: link.encode(), LEGACY_STORAGE: storage.to_text()}
    metadata = create(
        uuid=view_uuid,
        location=location,
        schema=definition.definition.schema,
        version=definition.definition.version,
        properties=properties,
        now_ms=int(time.time() * 1000),
        identifier=str(target_name),
    )
    if storage is not None:
        freshness_properties, notes = _freshness_properties(store, view, definition, metadata, storage_metadata)
        if in_place and row.has_creation_metadata:
            notes = (*notes, _CREATION_METADATA_NOTE)
        metadata = metadata.model_copy(update={"properties": {**metadata.properties, **freshness_properties}})
        definition = replace(definition, changes=(*definition.changes, *notes))
    metadata_file = new_location(metadata, None, file_id(metadata.current_version()))
    if in_place:
        converted = row_after_import(store, row, metadata, metadata_file, keeps_encoding=keeps_encoding)
    else:
        owner = store.client.authenticated_user()
        table = new_row(target_name, metadata, metadata_file, store.config, owner=owner, now_s=int(time.time()))
        converted = read_row(table)
    try:
        check_required_engines(store, target_name, metadata, is_encoded=keeps_encoding)
    except EngineRequirementError as error:
        raise ConversionError(Reason.ENGINES, error.reason) from error
    keeps_types = in_place and bool(row.partition_keys)
    columns = view_columns(target_name, metadata, store.config)
    type_changes = () if keeps_types else _type_changes(view, store.config, columns)
    return ConvertedView(
        row=converted,
        metadata=metadata,
        location=metadata_file,
        backup=backup,
        definition=definition,
        changes=(*definition.changes, *type_changes),
        storage=storage,
    )


def check_readable(view: ViewName, findings: Sequence[EngineFinding], options: ImportOptions) -> tuple[str, ...]:
    """Raise ConversionError if Spark does not read the tables behind a view, unless the options accept that.

    Returns sentences about what they accept.
    """
    accepted = {str(name) for name in options.accept_unreadable}
    reasons = [item.text for item in findings if not {str(view), item.table} & accepted]
    if reasons:
        raise ConversionError(
            Reason.UNREADABLE_TABLE,
            f"{'; '.join(reasons)}. To import it nevertheless, name the view with --accept-unreadable, or the table, "
            "which accepts all views that read it",
        )
    return tuple(f"accepted: {item.text}" for item in findings)


def _shortened_comments(schema: Schema) -> Iterator[str]:
    """Yield a sentence about the comments of columns that are longer than a row's can be."""
    names = [field.name for field in schema.fields if row_comment(field.doc) != field.doc]
    if names:
        yield (
            f"the comment of {', '.join(names)} is cut to {MAX_COMMENT_LENGTH} characters in the row; the metadata "
            "file keeps it whole"
        )


def _metastore_only(view: LegacyView) -> Iterator[str]:
    """Return sentences about what only a metastore holds."""
    if view.materialized:
        yield "its stored rows are not imported: the new view is a plain view"
    if view.partitioned:
        yield "the new view has no partitions: its partition columns are columns"
    if view.writer is Writer.TRINO and not view.run_as_invoker:
        yield "its owner, with whose rights Trino runs it, is not imported"


def row_after_import(
    store: MetastoreStore, legacy: Row, metadata: ViewMetadata, location: str, *, keeps_encoding: bool
) -> Row:
    """Return the row that replaces a legacy row in place; `keeps_encoding` keeps the encoded text of a Trino row."""
    writer = Writer(metadata.current_version().summary[LEGACY_WRITER])
    legacy = row_without_storage(legacy, read_view(legacy))
    if writer is Writer.TRINO and not keeps_encoding:
        legacy = _released_row(legacy, metadata)
    comment = metadata.properties.get("comment")
    legacy_comment = legacy.parameters.get("comment", "")
    if writer is not Writer.TRINO and comment is not None and comment == decode_mojibake(legacy_comment):
        legacy = legacy.with_parameters({**legacy.parameters, "comment": comment})
    return converted_row(
        store.config,
        legacy,
        metadata,
        location,
        is_dropped=lambda key: (
            (writer is Writer.SPARK and not spark.is_kept_parameter(key))
            or (key == trino_encoding.FLAG and not keeps_encoding)
        ),
        # Trino recognizes its views only by their text and flags, and does not read Iceberg views in this metastore.
        view_texts=(legacy.texts.original, legacy.texts.expanded) if keeps_encoding else None,
    )


def _released_row(row: Row, metadata: ViewMetadata) -> Row:
    """Return a Trino row with the new texts and without the parameters and flags that mark it as Trino's."""
    parameters = {key: value for key, value in row.parameters.items() if key not in TRINO_PARAMETERS | {"comment"}}
    if "comment" in metadata.properties:
        parameters["comment"] = metadata.properties["comment"]
    return row_as_plain_view(row, parameters, row_texts(metadata.current_version()))


def row_without_storage(row: Row, view: LegacyView) -> Row:
    """Return the row of a materialized view as that of a view, without the parameters of its storage.

    Trino recognizes a materialized view by its text and comment, and then expects the `metadata_location` of a table.
    In the new row that parameter names a view's metadata file. The text is therefore replaced by that of a Trino view
    with the same query and columns, so that Trino still answers queries, from the definition.
    """
    if not view.materialized:
        return row
    parameters = {
        key: value
        for key, value in row.parameters.items()
        if key not in _STORAGE_PARAMETERS and not key.startswith(_STORAGE_PREFIXES)
    }
    texts = row.texts
    if view.writer is Writer.TRINO:
        document = {**trino_encoding.decode(texts.original), "owner": row.owner, "runAsInvoker": False}
        for key in ("gracePeriod", "whenStaleBehavior"):
            document.pop(key, None)
        texts = trino_encoding.encode(document)
        parameters["comment"] = trino_encoding.VIEW_COMMENT
    return row_as_plain_view(row, parameters, texts)


def _materialized_view_uuid(store: MetastoreStore, row: Row, target: ViewName, *, in_place: bool) -> str:
    """Return a UUID that is equal in all attempts, so that each recognizes a storage table of an earlier one."""
    row_uuid = identify(store, row, mark=False).uuid
    if not in_place:
        return str(uuid.uuid5(uuid.UUID(row_uuid), f"copy {target}"))
    # The UUID of an Iceberg table remains that of the storage table.
    return str(uuid.uuid5(uuid.UUID(row_uuid), "view")) if row.kind is RowKind.ICEBERG_TABLE else row_uuid


def _with_storage_link(definition: ViewDefinition, storage: StoragePlan) -> ViewDefinition:
    link = StorageLink((storage.table.database,), storage.table.name)
    return replace(definition, version=with_link(definition.version, link))


def _freshness_properties(
    store: MetastoreStore,
    view: LegacyView,
    definition: LegacyDefinition,
    metadata: ViewMetadata,
    storage_metadata: TableMetadata | None,
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return view properties about the freshness of the stored rows, and notes for the plan."""
    properties, note = staleness_properties(view)
    notes = [] if note is None else [note]
    if storage_metadata is not None:
        state, note = recorded_refresh_state(
            store, view, storage_metadata, definition.reads, definition_fingerprint(metadata)
        )
        notes.append(note)
        if state is not None and storage_metadata.current_snapshot_id is not None:
            properties[ADOPTED_REFRESH] = encode_adopted_state(storage_metadata.current_snapshot_id, state)
    return properties, tuple(notes)


def _user_properties(view: LegacyView, row: Row) -> dict[str, str]:
    """Return the row parameters that a user may have set, as view properties."""
    properties = {key: value for key, value in row.parameters.items() if is_user_parameter(key)}
    # The row's comment is `Presto View` for a Trino view, and may be mojibake for others.
    properties.pop("comment", None)
    if view.comment is not None:
        properties["comment"] = view.comment
    return {key: value for key, value in properties.items() if value is not None}


def _type_changes(view: LegacyView, config: CatalogConfig, columns: list[tuple[str, str]]) -> tuple[str, ...]:
    """Return sentences about declared types that Iceberg does not have."""
    sentences = []
    for legacy_column, (_, new_type) in zip(view.columns, columns, strict=True):
        old_type = legacy_column.type.lower().replace(" ", "")
        old_type = {"timestamp_ntz": "timestamp", "timestampwithlocaltimezone": "timestamp"}.get(old_type, old_type)
        if old_type != new_type.lower().replace(" ", "") and config.hive2_compatible:
            sentences.append(f"column {legacy_column.name}: {legacy_column.type} becomes {new_type}")
    return tuple(sentences)
