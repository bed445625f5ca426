"""The directories of storages: what is in them, and what of it could be deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlparse

from hive_views.io.locations import base_of, path_of
from hive_views.io.table_files import METADATA_FILES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyarrow.fs import FileInfo

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
    wanted = sorted(locations, key=lambda file: (file.endswith(METADATA_FILES), file))
    for location in wanted:
        why = files.remove(location)
        if why is not None:
            refused[location] = why
    gone = tuple(sorted(location for location in wanted if location not in refused))
    return gone, tuple(Kept(location, why) for location, why in refused.items())


def without_tables_of_others(listed: Iterable[FoundFile], location: str) -> list[FoundFile]:
    """Files of a directory but for those of tables that have their own directories in it."""
    files = list(listed)
    bases = {path_of(base_of(file.location)) for file in files if file.location.endswith(METADATA_FILES)}
    bases -= {path_of(location), path_of(f"{location}/metadata")}
    return [file for file in files if not any(f"{path_of(file.location)}/".startswith(f"{base}/") for base in bases)]


def files_below(files: MetadataFiles, location: str, *, deep: bool = True) -> list[FoundFile]:
    """The files below a location."""
    return [
        FoundFile(uri, info.mtime_ns // 1_000_000, info.size or 0)
        for uri, info in _listed(files, location, deep)
        if info.is_file and info.mtime_ns is not None and not info.base_name.endswith(".crc")
    ]


def directories_in(files: MetadataFiles, location: str) -> list[str]:
    """The directories in a directory."""
    return [uri.rstrip("/") for uri, info in _listed(files, location, False) if not info.is_file]


def _listed(files: MetadataFiles, location: str, deep: bool) -> Iterator[tuple[str, FileInfo]]:
    from pyarrow.fs import FileSelector
    from pyiceberg.io.pyarrow import PyArrowFileIO

    io = files.io(location)
    if not isinstance(io, PyArrowFileIO):
        return
    scheme, netloc, path = io.parse_location(location)
    selector = FileSelector(path, allow_not_found=True, recursive=deep)
    for info in io.fs_by_scheme(scheme, netloc).get_file_info(selector):
        uri = f"{scheme}://{info.path}" if netloc else (f"file:{info.path}" if urlparse(location).scheme else info.path)
        yield uri, info
