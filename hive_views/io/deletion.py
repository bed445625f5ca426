"""Deletion of all metadata files of a dropped view, which Iceberg's Java catalog leaves behind (Iceberg #9433).

A metadata file does not name its predecessor, so directories are listed where the FileIO can list: that of new files,
and those of the current and the previous metadata file. Only files that contain the view's UUID are deleted.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from hive_views.errors import InvalidPropertyError, MetadataFileError
from hive_views.io.listing import list_file_names
from hive_views.io.metadata_files import MetadataFiles
from hive_views.io.table_files import METADATA_FILE_SUFFIXES
from hive_views.spec.file_codec import metadata_directory
from hive_views.spec.metadata import ViewMetadata

logger = logging.getLogger(__name__)


def delete_view_files(
    files: MetadataFiles, metadata_locations: Iterable[str | None], metadata: ViewMetadata
) -> list[str]:
    """Delete a dropped view's metadata files and return the locations of those that could not be deleted."""
    candidates = {location for location in metadata_locations if location}
    # A view whose location was changed has files in the directories of its earlier metadata files.
    directories = {location.rpartition("/")[0] for location in candidates}
    try:
        directories.add(metadata_directory(metadata))
    except InvalidPropertyError as error:
        logger.warning("Could not determine the directory of metadata files: %s", error)
    for directory in directories:
        try:
            names = list_file_names(files, directory)
        except (OSError, ValueError) as error:
            logger.warning("Cannot list the metadata files in %s: %s", directory, error)
        else:
            candidates.update(f"{directory}/{name}" for name in names if name.endswith(METADATA_FILE_SUFFIXES))
    return sorted(
        location
        for location in candidates
        if _belongs(files, location, metadata.view_uuid) and not files.delete(location)
    )


def _belongs(files: MetadataFiles, location: str, view_uuid: str) -> bool:
    try:
        return files.read(location).view_uuid == view_uuid
    except MetadataFileError:
        return False
