"""Directory listings through those of PyIceberg's FileIOs that can list."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import urlparse

from hive_views.errors import MetadataFileError
from hive_views.io.locations import HDFS_SCHEMES
from hive_views.io.metadata_files import MetadataFiles


class ListedEntry(NamedTuple):
    """A file or directory in a listing."""

    location: str
    """Its URI."""
    name: str
    """The last component of its path."""
    is_file: bool
    """Whether it is a file."""
    modified_ms: int | None
    """When it was last modified, in milliseconds since the epoch; None if the storage does not report it."""
    size: int
    """Its size in bytes."""


def list_entries(files: MetadataFiles, location: str, *, recursive: bool) -> Iterator[ListedEntry]:
    """Yield the entries of a directory; none if it does not exist or its FileIO is not PyArrow's."""
    # Imported here because these modules are large and few programs need them.
    from pyarrow.fs import FileSelector
    from pyiceberg.io.pyarrow import PyArrowFileIO

    io = files.io(location)
    if not isinstance(io, PyArrowFileIO):
        return
    scheme, netloc, path = io.parse_location(location)
    if scheme in HDFS_SCHEMES:
        prefix = f"{scheme}://{netloc}"
    else:
        prefix = f"{scheme}://" if netloc else ("file:" if urlparse(location).scheme else "")
    selector = FileSelector(path, allow_not_found=True, recursive=recursive)
    for info in io.fs_by_scheme(scheme, netloc).get_file_info(selector):
        uri = f"{prefix}{info.path}"
        modified_ms = None if info.mtime_ns is None else info.mtime_ns // 1_000_000
        yield ListedEntry(uri, info.base_name, info.is_file, modified_ms, info.size or 0)


def list_file_names(files: MetadataFiles, directory: str) -> list[str]:
    """Return the names of the files in a directory; raises MetadataFileError if it cannot be listed."""
    # Which of PyIceberg's two FileIOs is used depends on what is installed.
    try:
        with suppress(ImportError):
            from pyiceberg.io.pyarrow import PyArrowFileIO

            if isinstance(files.io(directory), PyArrowFileIO):
                return [entry.name for entry in list_entries(files, directory, recursive=False) if entry.is_file]
        with suppress(ImportError):
            from pyiceberg.io.fsspec import FsspecFileIO

            io = files.io(directory)
            if isinstance(io, FsspecFileIO):
                parsed = urlparse(directory)
                entries = io.get_fs(parsed.scheme or "file", parsed.hostname).ls(directory, detail=True)
                return [str(entry["name"]).rpartition("/")[2] for entry in entries if entry["type"] == "file"]
    except FileNotFoundError:
        return []
    except MetadataFileError:
        raise
    except Exception as error:  # FileIOs raise the exceptions of their storages' clients
        raise MetadataFileError(directory, f"it cannot be listed: {type(error).__name__}: {error}") from error
    raise MetadataFileError(directory, "its FileIO cannot list files")
