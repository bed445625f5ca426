"""The directories of storages: what is in them, and what of it could be deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hive_views.io.listing import list_entries
from hive_views.io.locations import base_of, path_of
from hive_views.io.table_files import METADATA_FILE_SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hive_views.io.metadata_files import MetadataFiles


class FoundFile(NamedTuple):
    """A file that was listed."""

    location: str
    """Its URI."""
    changed_ms: int
    """When it was changed, in milliseconds from the epoch."""
    size: int
    """How many bytes it has."""


class Kept(NamedTuple):
    """Something that was to be removed and is there."""

    what: str
    """A file, a table, or the view whose files they are."""
    why: str
    """The reason, for people."""

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


def delete_all(files: MetadataFiles, locations: Iterable[str]) -> tuple[tuple[str, ...], tuple[Kept, ...]]:
    """Delete files, those last that tell whose the others are."""
    refused = {}
    wanted = sorted(locations, key=lambda file: (file.endswith(METADATA_FILE_SUFFIXES), file))
    for location in wanted:
        why = files.remove(location)
        if why is not None:
            refused[location] = why
    gone = tuple(sorted(location for location in wanted if location not in refused))
    return gone, tuple(Kept(location, why) for location, why in refused.items())


def without_tables_of_others(listed: Iterable[FoundFile], location: str) -> list[FoundFile]:
    """Files of a directory but for those of tables that have their own directories in it."""
    files = list(listed)
    bases = {path_of(base_of(file.location)) for file in files if file.location.endswith(METADATA_FILE_SUFFIXES)}
    bases -= {path_of(location), path_of(f"{location}/metadata")}
    return [file for file in files if not any(f"{path_of(file.location)}/".startswith(f"{base}/") for base in bases)]


def files_below(files: MetadataFiles, location: str, *, deep: bool = True) -> list[FoundFile]:
    """Return the files below a location whose modification times the storage tells, without checksum files."""
    return [
        FoundFile(entry.location, entry.modified_ms, entry.size)
        for entry in list_entries(files, location, recursive=deep)
        if entry.is_file and entry.modified_ms is not None and not entry.name.endswith(".crc")
    ]


def directories_in(files: MetadataFiles, location: str) -> list[str]:
    """Return the directories in a directory."""
    entries = list_entries(files, location, recursive=False)
    return [entry.location.rstrip("/") for entry in entries if not entry.is_file]
