"""The files of an Iceberg table: which its metadata names, and which of them go when it is purged.

Manifests name files by their whole URIs, and a table may name files that are not its own: those that `add_files` or
Spark's `snapshot` took over, or whatever somebody wrote into a manifest. So only what is below the table's own places
is deleted, and a pointer to a place that the catalog does not trust is not even read.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pyiceberg.table import Table

from hive_views.errors import MetadataFileError
from hive_views.io.locations import is_below, parts
from hive_views.io.metadata_files import MetadataFiles

logger = logging.getLogger(__name__)

GC_ENABLED = "gc.enabled"
"""Property of tables and views (Iceberg's TableProperties): `false` keeps every file of one that is purged."""

NOT_COLLECTED = f"its property {GC_ENABLED} is false"
"""Why files of one stay, for people."""

_PLACES = ("write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path")
"""Properties (Iceberg's TableProperties, the last two their older names) that name a table's places beside its own."""

METADATA_FILES = (".metadata.json", ".metadata.json.gz")
"""How the names of metadata files end, those of older releases of Iceberg among them."""
_SHOWN = 3
"""How many files a warning names."""


@dataclass(frozen=True)
class TableFiles:
    """The files that a table's metadata names."""

    own: tuple[str, ...]
    """Those below its places, sorted."""
    others: tuple[str, ...]
    """Those elsewhere, sorted."""
    places: tuple[str, ...]
    """Its location, and the directories that its properties name."""


def all_files(table: Table, files: MetadataFiles) -> set[str]:
    """Every file that a table's metadata names, and its metadata files."""
    metadata = table.metadata
    found = {table.metadata_location, *(entry.metadata_file for entry in metadata.metadata_log)}
    found |= {entry.statistics_path for entry in (*metadata.statistics, *metadata.partition_statistics)}
    seen = set()
    for snapshot in metadata.snapshots:
        found.add(snapshot.manifest_list)
        files.check(snapshot.manifest_list)
        with _reading(snapshot.manifest_list):
            manifests = snapshot.manifests(table.io)
        for manifest in manifests:
            if manifest.manifest_path in seen:
                continue
            seen.add(manifest.manifest_path)
            found.add(manifest.manifest_path)
            files.check(manifest.manifest_path)
            with _reading(manifest.manifest_path):
                entries = manifest.fetch_manifest_entry(table.io, discard_deleted=False)
            found.update(entry.data_file.file_path for entry in entries)
    return found


def files_to_purge(table: Table, files: MetadataFiles) -> TableFiles | None:
    """The files that a table's metadata names, told apart by where they are; to be asked for before it is dropped."""
    if not is_collected(table.metadata.properties):
        return None
    named = (table.metadata.location, *(table.metadata.properties.get(key, "") for key in _PLACES))
    places = tuple(dict.fromkeys(place for place in named if parts(place)[1:]))
    found = sorted(all_files(table, files))
    own = tuple(location for location in found if any(is_below(location, place) for place in places))
    return TableFiles(own, tuple(sorted(set(found) - set(own))), places)


def is_collected(properties: Mapping[str, str]) -> bool:
    """Whether a purge may delete the files of a table or view with such properties (`gc.enabled`)."""
    return properties.get(GC_ENABLED, "true").lower() != "false"


def delete_files(name: object, found: TableFiles | None, files: MetadataFiles) -> None:
    """Delete the files of a table that is dropped; what is not deleted is logged."""
    if found is None:
        logger.warning("The files of %s are left, because %s", name, NOT_COLLECTED)
        return
    # What tells whose the others are goes last, for whoever looks at what a killed process left.
    for location in sorted(found.own, key=lambda file: file.endswith(METADATA_FILES)):
        files.delete(location)
    if found.others:
        logger.warning(
            "%d files of %s are left, because they are not below its places (%s): %s",
            len(found.others),
            name,
            ", ".join(found.places) or "none can be told",
            _some(found.others),
        )


def _some(locations: Iterable[str]) -> str:
    listed = list(locations)
    return ", ".join(listed[:_SHOWN]) + (" …" if len(listed) > _SHOWN else "")


@contextmanager
def _reading(location: str) -> Iterator[None]:
    """Says which file it was that could not be read."""
    try:
        yield
    except FileNotFoundError:
        raise MetadataFileError(location, "it does not exist") from None
    except (OSError, ValueError, EOFError) as error:
        raise MetadataFileError(location, str(error)) from error
