"""Removal of the empty directories that deleted files leave on local storage and on HDFS.

Spark refuses to create a table in an existing directory with entries (LOCATION_ALREADY_EXISTS). Other storages have no
directories, or cannot remove a directory only if it is still empty.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlparse

from hive_views.io.locations import directory_of, is_below, parts, path_of
from hive_views.io.metadata_files import MetadataFiles


def remove_empty_directories(files: MetadataFiles, directory: str) -> None:
    """Remove a directory and, if it is a `metadata` directory, the one around it, if they are empty."""
    directory = directory.rstrip("/")
    if _remove(files, directory) and parts(directory)[-1] == "metadata":
        _remove(files, directory_of(directory))


def remove_empty_tree(files: MetadataFiles, directory: str, last: str) -> None:
    """Remove a directory and those around it up to and including `last`, as far as they are empty."""
    directory = directory.rstrip("/")
    while is_below(directory, last) and _remove(files, directory):
        directory = directory_of(directory)
    if parts(directory) == parts(last):
        _remove(files, directory)


def _remove(files: MetadataFiles, directory: str) -> bool:
    """Remove a directory if it is empty; return whether it was removed."""
    if urlparse(directory).scheme in ("", "file"):
        try:
            Path(path_of(directory)).rmdir()
        except OSError:
            return False
        return True
    return files.remove_empty_directory(directory)
