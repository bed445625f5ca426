"""Deletion of all metadata files of a dropped view, which Iceberg's Java catalog leaves behind (Iceberg #9433).

A metadata file does not name its predecessor, so the files are found by listing directories, if the FileIO can list:
the directory of new files, and those of the current and the previous metadata file. Only files that contain the view's
UUID are deleted.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from hive_views.errors import (
    InvalidMetadataError,
    InvalidPropertyError,
    MetadataFileError,
    MetadataFileNotFoundError,
)
from hive_views.io.empty_directories import remove_empty_directories
from hive_views.io.listing import list_file_names
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
        remove_empty_directories(files, directory)
    return sorted(remaining)


def _belongs(files: MetadataFiles, location: str, view_uuid: str) -> bool | None:
    """Return whether a file belongs to a view; None if it exists but cannot be read."""
    try:
        return files.read(location).view_uuid.lower() == view_uuid.lower()
    except (MetadataFileNotFoundError, InvalidMetadataError):
        return False
    except MetadataFileError as error:
        logger.warning("Could not determine whether %s is a file of the view: %s", location, error)
        return None
