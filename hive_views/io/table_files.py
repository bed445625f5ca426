"""The files that an Iceberg table references, and which of them a purge deletes.

Manifests contain complete URIs, and a table may reference foreign files: files added by `add_files` or Spark's
`snapshot`, or entered into a manifest by hand. So a purge deletes only files below the table's own directories, and
does not read locations that the catalog does not allow.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pyiceberg.table import Table

from hive_views.errors import MetadataFileError
from hive_views.io.empty_directories import remove_empty_tree
from hive_views.io.locations import directory_of, is_below, parts
from hive_views.io.metadata_files import MetadataFiles

logger = logging.getLogger(__name__)

GC_ENABLED = "gc.enabled"
"""Property of tables and views (Iceberg's TableProperties): `false` keeps all files in a purge."""

NOT_COLLECTED = f"its property {GC_ENABLED} is false"
"""The reason for keeping files, for messages."""

_LOCATION_PROPERTIES = (
    "write.data.path",
    "write.metadata.path",
    "write.object-storage.path",
    "write.folder-storage.path",
)
"""Table properties that name further directories (Iceberg's TableProperties; the last two are older names)."""

METADATA_FILE_SUFFIXES = (".metadata.json", ".metadata.json.gz")
"""The suffixes of metadata file names, also of older Iceberg releases."""

_MAX_LISTED = 3
"""The maximum number of files in a warning."""


@dataclass(frozen=True)
class TableFiles:
    """The files that a table references."""

    own: tuple[str, ...]
    """The files below the table's directories, sorted."""
    foreign: tuple[str, ...]
    """The files in other directories, sorted."""
    directories: tuple[str, ...]
    """The table's location, and the directories in its properties."""


def all_files(table: Table, files: MetadataFiles) -> set[str]:
    """Return every file that a table references, including its metadata files."""
    metadata = table.metadata
    locations = {table.metadata_location, *(entry.metadata_file for entry in metadata.metadata_log)}
    locations |= {entry.statistics_path for entry in (*metadata.statistics, *metadata.partition_statistics)}
    read_manifests = set()
    for snapshot in metadata.snapshots:
        locations.add(snapshot.manifest_list)
        files.check(snapshot.manifest_list)
        with _read_errors(snapshot.manifest_list):
            manifests = snapshot.manifests(table.io)
        for manifest in manifests:
            if manifest.manifest_path in read_manifests:
                continue
            read_manifests.add(manifest.manifest_path)
            locations.add(manifest.manifest_path)
            files.check(manifest.manifest_path)
            with _read_errors(manifest.manifest_path):
                entries = manifest.fetch_manifest_entry(table.io, discard_deleted=False)
            locations.update(entry.data_file.file_path for entry in entries)
    return locations


def files_to_purge(table: Table, files: MetadataFiles) -> TableFiles | None:
    """Return the files that a table references, or None if a purge keeps them; call this before the drop."""
    if not is_collected(table.metadata.properties):
        return None
    properties = table.metadata.properties
    candidates = (table.metadata.location, *(properties.get(key, "") for key in _LOCATION_PROPERTIES))
    directories = tuple(dict.fromkeys(directory for directory in candidates if parts(directory)[1:]))
    locations = sorted(all_files(table, files))
    own = tuple(location for location in locations if any(is_below(location, item) for item in directories))
    return TableFiles(own, tuple(sorted(set(locations) - set(own))), directories)


def is_collected(properties: Mapping[str, str]) -> bool:
    """Return whether a purge may delete the files of a table or view with these properties (`gc.enabled`)."""
    return properties.get(GC_ENABLED, "true").lower() != "false"


def delete_files(name: object, table_files: TableFiles, files: MetadataFiles) -> tuple[str, ...]:
    """Delete a dropped table's own files and the directories that they leave empty on local storage.

    Returns the files that could not be deleted, and logs the foreign files.
    """
    # Metadata files last: after an interruption they show which table the remaining files belong to.
    own = sorted(table_files.own, key=lambda file: file.endswith(METADATA_FILE_SUFFIXES))
    remaining = tuple(location for location in own if not files.delete(location))
    for directory in sorted({directory_of(location) for location in own}):
        for last in table_files.directories:
            remove_empty_tree(files, directory, last)
    if table_files.foreign:
        logger.warning(
            "%d files of %s are left, because they are not below its directories (%s): %s",
            len(table_files.foreign),
            name,
            ", ".join(table_files.directories) or "none known",
            _shorten(table_files.foreign),
        )
    return remaining


def _shorten(locations: Sequence[str]) -> str:
    return ", ".join(locations[:_MAX_LISTED]) + (" …" if len(locations) > _MAX_LISTED else "")


@contextmanager
def _read_errors(location: str) -> Iterator[None]:
    """Convert errors of a read to MetadataFileError with the file's location."""
    try:
        yield
    except FileNotFoundError:
        raise MetadataFileError(location, "it does not exist") from None
    except (OSError, ValueError, EOFError) as error:
        raise MetadataFileError(location, str(error)) from error
