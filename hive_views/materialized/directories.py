"""Listing directories of storages: files with the time of their last change, and paths that can be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyarrow.fs import FileInfo

    from hive_views.metadata_files import MetadataFiles


class FoundFile(NamedTuple):
    """A file that was listed."""

    location: str
    """Its URI."""
    changed_ms: int
    """When it was changed, in milliseconds from the epoch."""
    size: int
    """How many bytes it has."""


def files_below(files: MetadataFiles, location: str, *, deep: bool = True) -> list[FoundFile]:
    """The files below a location.

    Args:
        files: Where it is.
        location: URI of a directory.
        deep: Whether those of its directories are meant, too.

    Returns:
        The files; none where the storage cannot list.
    """
    return [
        FoundFile(uri, info.mtime_ns // 1_000_000, info.size or 0)
        for uri, info in _listed(files, location, deep)
        if info.is_file and info.mtime_ns is not None and not info.base_name.endswith(".crc")
    ]


def directories_in(files: MetadataFiles, location: str) -> list[str]:
    """The directories in a directory.

    Args:
        files: Where it is.
        location: URI of the directory.

    Returns:
        URIs without a slash at their end; none where the storage cannot list.
    """
    return [uri.rstrip("/") for uri, info in _listed(files, location, False) if not info.is_file]


def path_of(location: str) -> str:
    """What is the same for every way in which a place is written (`file:/x`, `file:///x`, `/x`).

    Args:
        location: A URI or path.

    Returns:
        Host and path.
    """
    parsed = urlparse(location)
    return parsed.path if parsed.scheme in ("", "file") else f"{parsed.netloc}{parsed.path}"


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
