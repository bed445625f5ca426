"""Removal of the empty directories that deleted files leave on local storage.

Spark refuses to create a table in an existing directory with entries (LOCATION_ALREADY_EXISTS). Other storages have no
directories, or cannot remove a directory only if it is still empty.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from urllib.parse import urlparse

from hive_views.io.locations import path_of


def remove_empty_directories(directory: str) -> None:
    """Remove a local directory and, if it is a `metadata` directory, the one around it, if they are empty."""
    path = _local_path(directory)
    if path is None:
        return
    with suppress(OSError):
        path.rmdir()
        if path.name == "metadata":
            path.parent.rmdir()


def remove_empty_tree(directory: str, last: str) -> None:
    """Remove a local directory and those around it up to and including `last`, as far as they are empty."""
    path, end = _local_path(directory), _local_path(last)
    if path is None or end is None or not path.is_relative_to(end):
        return
    with suppress(OSError):
        for parent in (path, *path.parents):
            parent.rmdir()
            if parent == end:
                return


def _local_path(directory: str) -> Path | None:
    return Path(path_of(directory)) if urlparse(directory).scheme in ("", "file") else None
