"""Storage tables: those of the catalog, and those that only their view knows, as PyIceberg tables alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.serializers import ToOutputFile
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.locations import load_location_provider
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import update_table_metadata

from hive_views.errors import CommitFailedError
from hive_views.io.metadata_files import MetadataFiles
from hive_views.materialized.layouts.layouts import METADATA, AttachedView
from hive_views.metastore.commit.view_commit import commit
from hive_views.metastore.queries import load_view
from hive_views.metastore.store import LoadedView
from hive_views.spec.changes import SetProperties, apply

if TYPE_CHECKING:
    from pyiceberg.table.update import TableRequirement, TableUpdate

    from hive_views.identifiers import ViewName
    from hive_views.metastore.store import MetastoreStore

STAGED_WRITES = "write.wap.enabled"
"""Property of a storage table (Iceberg's TableProperties): a write of Spark's may stay unseen until it is published."""

_ATTEMPTS = 10


class AttachedCatalog(NoopCatalog):
    """Commits to a storage table that only its view knows: a new metadata file, then the swap of the view's pointer.

    Source: Iceberg Materialized View Concept, Design 1: the commit succeeds with the second step only.
    """

    def __init__(self, store: MetastoreStore, view: ViewName, now_ms: Callable[[], int]) -> None:
        """Make the catalog of one view's storage."""
        super().__init__("attached", **store.files.properties)
        self._store = store
        self._view = view
        self._now_ms = now_ms

    def load_table(self, identifier: object = None) -> Table:
        """The storage table as it is now."""
        return open_attached(self, load_view(self._store, self._view), self._store.files)

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Commit changes to the storage table; see PyIceberg."""
        for requirement in requirements:
            requirement.validate(table.metadata)
        metadata = update_table_metadata(table.metadata, updates, metadata_location=table.metadata_location)
        location = write_metadata(self._store.files, metadata, _number(table.metadata_location) + 1)
        try:
            swap_storage(self._store, self._view, table.metadata_location, location, self._now_ms)
        except CommitFailedError:
            self._store.files.delete(location)
            raise
        return CommitTableResponse.model_validate({"metadata": metadata, "metadata-location": location})


def swap_storage(
    store: MetastoreStore, view: ViewName, expected: str, location: str, now_ms: Callable[[], int]
) -> LoadedView:
    """Make a view point to another metadata file of its storage, if it still points to the expected one."""
    refused: CommitFailedError | None = None
    for attempt in range(_ATTEMPTS + 1):
        base = load_view(store, view)
        attached = AttachedView.decode(base.metadata.properties.get(METADATA, "{}"))
        if refused is not None and location in _history(store, attached.storage_table_location):
            return base  # the server had made the change before it refused its own second try
        if attached.storage_table_location != expected:
            raise CommitFailedError(
                str(view),
                "its storage was changed by somebody else",
                expected=expected,
                found=attached.storage_table_location,
            )
        if refused is not None and attempt == _ATTEMPTS:
            raise refused
        changed = AttachedView(location, attached.allow_stale_data, attached.extra)
        metadata = apply(
            base.metadata, [SetProperties({METADATA: changed.encode()})], now_ms=now_ms(), identifier=str(view)
        )
        try:
            return commit(store, view, base, metadata)
        except CommitFailedError as error:
            # Somebody changed another property of the view; the storage is looked at again.
            refused = error
    raise AssertionError("unreachable: the loop either returns or raises")


def _history(store: MetastoreStore, location: str) -> list[str]:
    """The metadata files that a storage has and had, by the newest one."""
    log = store.files.read_table(location).get("metadata-log", ())
    return [location, *(str(entry.get("metadata-file")) for entry in log)]


def open_attached(catalog: AttachedCatalog, view: LoadedView, files: MetadataFiles) -> Table:
    """A view's own storage table."""
    from pyiceberg.serializers import FromInputFile

    location = AttachedView.decode(view.metadata.properties.get(METADATA, "{}")).storage_table_location
    io = files.io(location)
    name = view.row.name
    return Table(
        (name.database, f"{name.name}__storage"),
        FromInputFile.table_metadata(io.new_input(location)),
        location,
        io,
        catalog,
    )


def new_attached(
    files: MetadataFiles,
    location: str,
    schema: Schema,
    spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC,
    properties: Mapping[str, str] | None = None,
) -> str:
    """Write the first metadata file of a storage table that only its view will know."""
    metadata = new_table_metadata(schema, spec, UNSORTED_SORT_ORDER, location, dict(properties or {}))
    return write_metadata(files, metadata, 0)


def write_metadata(files: MetadataFiles, metadata: TableMetadata, number: int) -> str:
    """Write a table's metadata file under a name of its own."""
    provider = load_location_provider(metadata.location, metadata.properties)
    location = provider.new_table_metadata_file_location(number)
    ToOutputFile.table_metadata(metadata, files.io(location).new_output(location), overwrite=False)
    return location


def _number(location: str) -> int:
    head = location.rpartition("/")[2].partition("-")[0]
    return int(head) if head.isdigit() else -1
