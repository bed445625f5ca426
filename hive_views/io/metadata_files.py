"""Reading, writing and deleting view metadata files, through PyIceberg's FileIO: local disk, S3, memory and others.

A metadata file is written once under a name that nobody else uses, and never overwritten. Nothing here relies on
renaming or on listing, which object stores do not promise.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import urlparse

from pyiceberg.io import FileIO, load_file_io
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from hive_views.config import METADATA_SCHEMES, is_local, metadata_schemes
from hive_views.errors import (
    MetadataFileError,
    MetadataFileNotFoundError,
    MetadataWriteError,
    RefusedLocationError,
)
from hive_views.spec.file_codec import (
    MAX_BYTES,
    MAX_TABLE_BYTES,
    compression_codec,
    parse,
    parse_table,
    serialize,
    table_text,
)
from hive_views.spec.metadata import ViewMetadata

logger = logging.getLogger(__name__)

_PART = 256 * 1024
"""How much of a file is read at once, in bytes; nearly every file is shorter."""

READ_ATTEMPTS = 3
"""How often a file is read before a failing storage is reported. A file that is not there is reported at once."""

GOOGLE_RETRIES = timedelta(seconds=15)
"""How long Google's client asks again, for a token or for a file, where nobody answers."""

_GOOGLE = ("gs", "gcs")


class MetadataFiles:
    """View metadata files of one catalog.

    Safe to share between threads.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Remember how to reach the storage."""
        self._properties = dict(properties)
        self._schemes = metadata_schemes(properties)
        self._local = is_local(properties)
        self._ios: dict[tuple[str, str], FileIO] = {}
        self._guard = threading.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @property
    def properties(self) -> dict[str, str]:
        """The properties by which the storage is reached."""
        return dict(self._properties)

    def io(self, location: str) -> FileIO:
        """PyIceberg's FileIO for a location; one for each kind of storage is kept."""
        self.check(location)
        parsed = urlparse(location)
        key = (parsed.scheme, parsed.netloc)
        io = self._ios.get(key)
        if io is None:
            with self._guard:
                io = self._ios.setdefault(key, _impatient(load_file_io(self._properties, location), *key))
        return io

    def check(self, location: str) -> None:
        """Refuse a place that this catalog does not trust."""
        try:
            scheme = urlparse(location).scheme.lower() or "file"
        except ValueError as error:
            raise RefusedLocationError(location, "", f"it is no URI: {error}") from None
        if self._schemes is None:
            if scheme != "file" or self._local:
                return
            reason = (
                "it is a path on this machine, and the metastore that names it is on another one. If both see the same "
                f"files there, set {METADATA_SCHEMES} to a list with `file`"
            )
        elif scheme in self._schemes:
            return
        else:
            reason = f"{METADATA_SCHEMES} is {', '.join(sorted(self._schemes))}, and this is {scheme}"
        raise RefusedLocationError(location, scheme, reason)

    def read(self, location: str) -> ViewMetadata:
        """Read and check a metadata file."""
        return parse(self._attempt(location, self._read_bytes), location)

    def read_table(self, location: str) -> dict[str, Any]:
        """Read a table's metadata file, unchecked."""
        return parse_table(self._attempt(location, partial(self._read_bytes, most=MAX_TABLE_BYTES)), location)

    def read_table_text(self, location: str) -> str:
        """Read a table's metadata file as PyIceberg does, but for its length: errors of the storage are its own."""
        return table_text(self._read_bytes(location, MAX_TABLE_BYTES), location)

    def write(self, location: str, metadata: ViewMetadata) -> None:
        """Write a new metadata file; a local one is on the disk, not only in a cache, when this returns."""
        data = serialize(metadata, codec=compression_codec(metadata.properties))
        begun = False
        try:
            # Elsewhere the look whether it is there needs the right to list; the name has a UUID, nobody else's has it.
            overwrite = not _is_local(location)
            with self.io(location).new_output(location).create(overwrite=overwrite) as stream:
                begun = True
                stream.write(data)
            _sync_local(location)
        except RefusedLocationError as error:
            raise MetadataWriteError(location, error.reason) from None
        except Exception as error:  # FileIOs are of others, and raise what their storages' clients do
            if begun:
                self.delete(location)  # what a full disk took of it
            raise MetadataWriteError(location, _why(error, location)) from error

    def delete(self, location: str) -> bool:
        """Delete a metadata file that nothing names any more."""
        return self.remove(location) is None

    def remove(self, location: str) -> str | None:
        """Delete a file, and say why where that fails; this is logged as well."""
        try:
            self.io(location).delete(location)
        except FileNotFoundError:
            return None
        except Exception as error:  # noqa: BLE001 -- as in `write`
            why = _why(error, location)
            logger.warning("Could not delete the file %s: %s", location, why)
            return why
        return None

    def _read_bytes(self, location: str, most: int = MAX_BYTES) -> bytes:
        try:
            return self._read_some(location, most)
        except (OSError, ValueError, MetadataFileError):
            raise
        except Exception as error:  # as in `write`
            raise MetadataFileError(location, _why(error, location)) from error

    def _read_some(self, location: str, most: int) -> bytes:
        parts = []
        length = 0
        with self.io(location).new_input(location).open(seekable=False) as stream:
            # One byte too many is enough for the refusal of a file that would fill the memory.
            while length <= most and (part := stream.read(_PART)):
                parts.append(part)
                length += len(part)
        return b"".join(parts)

    def _attempt(self, location: str, read: Callable[[str], bytes]) -> bytes:
        try:
            return read(location)
        except FileNotFoundError:
            raise MetadataFileNotFoundError(location) from None
        except OSError as error:
            if urlparse(location).scheme in _GOOGLE:
                raise MetadataFileError(location, str(error)) from error  # which has tried again by itself
            logger.debug("Reading %s failed; trying again", location, exc_info=True)
        except ValueError as error:
            raise MetadataFileError(location, str(error)) from error
        try:
            for attempt in Retrying(
                retry=retry_if_exception(_is_transient),
                stop=stop_after_attempt(READ_ATTEMPTS - 1),
                wait=wait_random_exponential(multiplier=0.1, max=2),
                reraise=True,
            ):
                with attempt:
                    return read(location)
        except FileNotFoundError:
            raise MetadataFileNotFoundError(location) from None
        except OSError as error:
            raise MetadataFileError(location, str(error)) from error
        raise AssertionError("unreachable: a retry either returns or raises")


def _impatient(io: Any, scheme: str, bucket: str) -> FileIO:
    """A FileIO that gives up in time: PyIceberg sets no limit for Google's client, whose own are minutes."""
    if scheme in _GOOGLE and hasattr(io, "fs_by_scheme"):
        rebuild, (options,) = io.fs_by_scheme(scheme, bucket).__reduce__()
        limited = rebuild({**options, "retry_time_limit": GOOGLE_RETRIES})
        io.fs_by_scheme = lambda *_: limited
    limited_io: FileIO = io
    return limited_io


def _why(error: Exception, location: str) -> str:
    """What a FileIO said, in words that name what is missing."""
    if isinstance(error, ImportError):
        return f"what reads {urlparse(location).scheme}: is not installed ({error})"
    known = isinstance(error, (OSError, ValueError, MetadataFileError)) and str(error)
    return str(error) if known else f"{type(error).__name__}: {error}"


def _is_local(location: str) -> bool:
    return urlparse(location).scheme in ("", "file")


def _is_transient(error: BaseException) -> bool:
    return isinstance(error, OSError) and not isinstance(error, (FileNotFoundError, PermissionError))


def _sync_local(location: str) -> None:
    """Force a local file, and its name in the directory, to the disk: the metastore's row will name it for good."""
    if not _is_local(location):
        return
    parsed = urlparse(location)
    path = parsed.path if parsed.scheme == "file" else location
    for target in (path, os.path.dirname(path)):  # noqa: PTH120 -- the location is a plain string
        with suppress(FileNotFoundError):
            descriptor = os.open(target, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
