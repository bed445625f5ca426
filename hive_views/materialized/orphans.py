"""What refreshes that were killed left behind: snapshots that nobody sees, rows for staging, files of nobody."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from hive_views.identifiers import ViewName
from hive_views.materialized.directories import files_below, path_of
from hive_views.materialized.layout import METADATA, AssociatedView, Layout
from hive_views.materialized.publish import STAGING, give_up, published
from hive_views.materialized.state import REFRESH_ID
from hive_views.table_files import all_files
from hive_views.tables import TableCatalog

if TYPE_CHECKING:
    from hive_views.catalog import HiveViewCatalog
    from hive_views.materialized.loading import MaterializedView

OLDER_THAN_MS = 3 * 24 * 3600 * 1000
"""How old a file must be before it counts as an orphan: a refresh that is running has files that nothing names yet.
Iceberg's remove_orphan_files has the same default."""


@dataclass(frozen=True)
class Orphans:
    """What is left of refreshes that did not end."""

    snapshots: tuple[int, ...]
    """Snapshots of the storage that were never published."""
    rows: tuple[ViewName, ...]
    """Rows of the metastore for a refresh of an attached storage, or of one that was to get other columns."""
    files: tuple[str, ...]
    """Files below the storage's location that none of its snapshots names."""


def find_orphans(catalog: HiveViewCatalog, view: MaterializedView, *, older_than_ms: int = OLDER_THAN_MS) -> Orphans:
    """List what refreshes of a materialized view left behind.

    Args:
        catalog: Where it is.
        view: It.
        older_than_ms: How old, in milliseconds, a snapshot, row or file must be.

    Returns:
        What was found; a running refresh's is among it if it is that old.
    """
    if view.storage is None:
        return Orphans((), (), ())
    now_ms = int(time.time() * 1000)
    metadata = view.storage.metadata
    seen = published(view.storage)
    snapshots = tuple(
        snapshot.snapshot_id
        for snapshot in metadata.snapshots
        if snapshot.snapshot_id not in seen
        and snapshot.summary is not None
        and REFRESH_ID in snapshot.summary.additional_properties
        and now_ms - snapshot.timestamp_ms >= older_than_ms
    )
    begins = f"{view.name.name[:200]}{STAGING}"
    tables = catalog.list_tables(view.name.database)
    names = (ViewName(database, name) for database, name in tables if _is_staging(name, begins))
    rows = tuple(name for name in names if _age_ms(catalog, name, view.storage, now_ms) >= older_than_ms)
    named = {path_of(location) for location in all_files(view.storage, catalog._store.files)}
    named.add(path_of(view.row.metadata_location or ""))
    if view.layout is Layout.TABLE:
        # Ours is beside the table; another program's definition may be within.
        named.add(path_of(AssociatedView.decode(metadata.properties[METADATA]).associated_view_location))
    listed = [
        item
        for part in ("data", "metadata")
        for item in files_below(catalog._store.files, f"{metadata.location.rstrip('/')}/{part}")
    ]
    # Where not one file in use is among them, the storage spells paths otherwise than the listing: nothing is known.
    alike = any(path_of(location) in named for location, _, _ in listed)
    files = tuple(
        sorted(
            location
            for location, modified_ms, _ in listed
            if alike and path_of(location) not in named and now_ms - modified_ms >= older_than_ms
        )
    )
    return Orphans(snapshots, rows, files)


def remove_orphans(catalog: HiveViewCatalog, view: MaterializedView, *, older_than_ms: int = OLDER_THAN_MS) -> Orphans:
    """Remove what `find_orphans` lists.

    Args:
        catalog: Where the view is.
        view: It.
        older_than_ms: As in `find_orphans`.

    Returns:
        What was removed.
    """
    found = find_orphans(catalog, view, older_than_ms=older_than_ms)
    for row in found.rows:
        try:
            TableCatalog.drop_table(catalog, row.identifier)
        except NoSuchTableError:
            continue
    for number in found.snapshots:
        assert view.storage is not None, "its snapshots were listed"
        staged = view.storage if view.storage_name is None else catalog.load_table(view.storage_name.identifier)
        snapshot = staged.metadata.snapshot_by_id(number)
        if snapshot is not None:
            give_up(catalog, view, staged, snapshot)
    for location in found.files:
        catalog._store.files.delete(location)
    return found


def _is_staging(name: str, begins: str) -> bool:
    """Whether a name is one that a refresh gives, and none that a user may give to a table of his own."""
    return name.startswith(begins) and re.fullmatch("[0-9a-f]{32}", name[len(begins) :]) is not None


def _age_ms(catalog: HiveViewCatalog, name: ViewName, storage: Table, now_ms: int) -> int:
    """How old a row of a refresh is; negative for what is none of this storage's."""
    row = catalog._store.row(name)
    if row is None or row.metadata_location is None:
        return -1
    # By the place: the file may be gone, where a refresh was killed between the two.
    begins = f"{path_of(storage.metadata.location).rstrip('/')}/"
    if not path_of(row.metadata_location).startswith(begins):
        try:
            if catalog.load_table(name.identifier).metadata.table_uuid != storage.metadata.table_uuid:
                return -1
        except (NoSuchTableError, OSError, ValueError):
            return -1
    # The server keeps seconds: a row is taken for as old as the end of its second.
    return max(now_ms - row.create_time * 1000, 0)
