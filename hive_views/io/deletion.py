"""Deleting all metadata files of a dropped view (what Iceberg's Java catalog leaves behind: Iceberg #9433).

A metadata file does not name the one before it, so directories are listed where that can be done (PyIceberg's own
FileIOs, a user who may list): the one for new files, and those of the two files that the row names. Only a file that
says itself that it belongs to the view, by its uuid, is deleted.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import suppress
from urllib.parse import urlparse

from pyiceberg.io import FileIO

from hive_views.errors import InvalidPropertyError, MetadataFileError
from hive_views.io.metadata_files import MetadataFiles
from hive_views.spec.file_codec import metadata_directory
from hive_views.spec.metadata import ViewMetadata

logger = logging.getLogger(__name__)


def purge(files: MetadataFiles, known: Iterable[str | None], metadata: ViewMetadata) -> list[str]:
    """Delete a dropped view's metadata files."""
    candidates = {location for location in known if location}
    # A view whose location changed has left files behind: where its row pointed, we know.
    directories = {location.rpartition("/")[0] for location in candidates}
    try:
        directories.add(metadata_directory(metadata))
    except InvalidPropertyError as error:
        logger.warning("Cannot tell where metadata files go: %s", error)
    for directory in directories:
        try:
            candidates.update(_listed(files, directory))
        except (OSError, ValueError) as error:
            logger.warning("Cannot list the metadata files in %s: %s", directory, error)
    return sorted(
        location for location in candidates if _belongs(files, location, metadata.view_uuid) and files.delete(location)
    )


def _belongs(files: MetadataFiles, location: str, view_uuid: str) -> bool:
    try:
        return files.read(location).view_uuid == view_uuid
    except MetadataFileError:
        return False


def _listed(files: MetadataFiles, directory: str) -> Iterator[str]:
    io = files.io(directory)
    for name in _names(io, directory):
        if name.endswith((".metadata.json", ".metadata.json.gz")):
            yield f"{directory}/{name}"


def _names(io: FileIO, directory: str) -> list[str]:
    """The names of the files in a directory; none where the FileIO is one that cannot tell."""
    # Heavy imports that only a purge needs. Which of PyIceberg's two is there depends on what is installed.
    with suppress(ImportError):
        from pyarrow.fs import FileSelector
        from pyiceberg.io.pyarrow import PyArrowFileIO

        if isinstance(io, PyArrowFileIO):
            scheme, netloc, path = io.parse_location(directory)
            found = io.fs_by_scheme(scheme, netloc).get_file_info(FileSelector(path, allow_not_found=True))
            return [info.base_name for info in found if info.is_file]
    with suppress(ImportError):
        from pyiceberg.io.fsspec import FsspecFileIO

        if isinstance(io, FsspecFileIO):
            parsed = urlparse(directory)
            with suppress(FileNotFoundError):
                found = io.get_fs(parsed.scheme or "file", parsed.hostname).ls(directory, detail=True)
                return [str(item["name"]).rpartition("/")[2] for item in found if item["type"] == "file"]
    return []
