"""Deletion of all metadata files of a dropped view, which Iceberg's Java catalog leaves behind (Iceberg #9433).

A metadata file does not name its predecessor, so the files are found by listing directories, if the FileIO can list:
the directory of new files, and those of the current and the previous metadata file. Only files that contain the view's
UUID are deleted.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlparse

from hive_views.errors import (
    InvalidMetadataError,
    InvalidPropertyError,
    MetadataFileError,
    MetadataFileNotFoundError,
)
from hive_views.io.listing import list_file_names
from hive_views.io.locations import path_of
from hive_views.io.metadata_files import MetadataFiles
from hive_views.io.table_files import METADATA_FILE_SUFFIXES
from hive_views.spec.file_codec import metadata_directory
from hive_views.spec.metadata import ViewMetadata

logger = logging.getLogger(__name__)


def delete_view_files(
    files: MetadataFiles, metadata_locations: Iterable[str | None], metadata: ViewMetadata
) -> list[str]:
    """Delete a dropped view's metadata files.

    Returns the locations of files that could not be deleted or may belong to the view, and of directories that could
    not be listed.
    """
    candidates = {location for location in metadata_locations if location}
    # A view whose location was changed has files in the directories of its earlier metadata files.
    directories = {location.rpartition("/")[0] for location in candidates}
    remaining = set()
    try:
        directories.add(metadata_directory(metadata))
    except InvalidPropertyError as error:
        logger.warning("Could not determine the directory of metadata files: %s", error)
    for directory in directories:
        try:
            names = list_file_names(files, directory)
        except MetadataFileError as error:
            logger.warning("Not all metadata files of the view were found: %s", error)
            remaining.add(directory)
        else:
            candidates.update(f"{directory}/{name}" for name in names if name.endswith(METADATA_FILE_SUFFIXES))
    for location in candidates:
        belongs = _belongs(files, location, metadata.view_uuid)
        if belongs is None or (belongs and not files.delete(location)):
            remaining.add(location)
    for directory in directories:
        _remove_empty_directories(directory)
    return sorted(remaining)


def _remove_empty_directories(directory: str) -> None:
    """Remove a local directory and the view's directory around it, if they are empty.

    Spark refuses to create a table in an existing directory with entries (LOCATION_ALREADY_EXISTS). Other storages have
    no directories, or cannot remove a directory only if it is still empty.
    """
    if urlparse(directory).scheme not in ("", "file"):
        return
    path = Path(path_of(directory))
    with suppress(OSError):
        path.rmdir()
        if path.name == "metadata":
            path.parent.rmdir()


def _belongs(files: MetadataFiles, location: str, view_uuid: str) -> bool | None:
    """Return whether a file belongs to a view; None if it exists but cannot be read."""
    try:
        return files.read(location).view_uuid.lower() == view_uuid.lower()
    except (MetadataFileNotFoundError, InvalidMetadataError):
        return False
    except MetadataFileError as error:
        logger.warning("Could not determine whether %s is a file of the view: %s", location, error)
        return None
