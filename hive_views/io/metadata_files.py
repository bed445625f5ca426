"""Reading, writing and deleting view metadata files, through PyIceberg's FileIO: local disk, S3, memory and others.

A metadata file is written once under a unique name and never overwritten. Nothing here relies on renaming or listing,
which object stores do not guarantee.
"""

from __future__ import annotations

import logging
import os
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import urlparse

from pyiceberg.exceptions import ValidationError
from pyiceberg.io import PY_IO_IMPL, FileIO, InputFile, InputStream, OutputFile, load_file_io
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from tenacity import Retrying, before_sleep_log, retry_if_exception, stop_after_attempt, wait_random_exponential

from hive_views.config import METADATA_SCHEMES, SECRETS, is_local, metadata_schemes
from hive_views.errors import (
    InvalidMetadataError,
    InvalidPropertyError,
    MetadataFileError,
    MetadataFileNotFoundError,
    MetadataWriteError,
    RefusedLocationError,
)
from hive_views.io.locations import HDFS_SCHEMES, is_absolute, split
from hive_views.io.unanswered import UnansweredStorages
from hive_views.spec.file_codec import (
    TABLE_LIMITS,
    VIEW_LIMITS,
    compression_codec,
    parse,
    parse_table,
    serialize,
    table_text,
)
from hive_views.spec.metadata import ViewMetadata

logger = logging.getLogger(__name__)

files_logger = logging.getLogger("hive_views.files")
"""Logs each metadata file that is read, at the level DEBUG."""

_CHUNK = 256 * 1024
"""The number of bytes that are read at once; nearly all files are shorter."""

READ_ATTEMPTS = 3
"""The number of attempts to read before an error of the storage is raised; a missing file is reported at once."""

GOOGLE_RETRIES = timedelta(seconds=15)
"""For how long Google's client retries requests for a token or a file without an answer."""

_GOOGLE = ("gs", "gcs")

EXTRA_HDFS = "hive_views[hdfs]"
"""The extra with hdfs-native and PyArrow."""


def _is_no_fallback_warning(record: logging.LogRecord) -> bool:
    return not str(record.msg).startswith("Could not initialize FileIO")


@contextmanager
def _without_fallback_warnings() -> Iterator[None]:
    """Suppress PyIceberg's warning about each FileIO that is not installed; it tries the next FileIO, or raises."""
    logger = logging.getLogger("pyiceberg.io")
    logger.addFilter(_is_no_fallback_warning)
    try:
        yield
    finally:
        logger.removeFilter(_is_no_fallback_warning)


class MetadataFiles:
    """The metadata files of one catalog; thread-safe."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Create the object; `properties` are the catalog's properties, which configure PyIceberg's FileIO."""
        # A FileIO can be a class of others (`py-io-impl`), and it is pickled: it gets no secret of the metastore.
        self._properties = {key: value for key, value in properties.items() if key not in SECRETS}
        self._schemes = metadata_schemes(properties)
        self._local = is_local(properties)
        self._ios: dict[tuple[str, str], FileIO] = {}
        self._unanswered = UnansweredStorages()
        self._mutex = threading.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @property
    def properties(self) -> dict[str, str]:
        """The properties that configure the storage, without secrets of the metastore."""
        return dict(self._properties)

    def io(self, location: str) -> FileIO:
        """Return PyIceberg's FileIO for a location; one per scheme and host is cached."""
        self.check(location)
        parsed = urlparse(location)
        key = (parsed.scheme, parsed.netloc)
        io = self._ios.get(key)
        if io is None:
            with self._mutex, _without_fallback_warnings():
                loaded = _with_time_limit(_load(self._properties, location), *key)
                io = self._ios.setdefault(key, _guarded(loaded))
        return io

    def check(self, location: str) -> None:
        """Raise RefusedLocationError for a location that the catalog's properties do not allow."""
        if not location:
            # PyArrow takes it for the working directory.
            raise MetadataFileError(location, "no location is given")
        try:
            parsed = urlparse(location)
        except ValueError as error:
            raise RefusedLocationError(location, "", f"it is not a URI: {error}") from None
        scheme = parsed.scheme.lower() or "file"
        if self._schemes is not None and scheme not in self._schemes:
            reason = f"{METADATA_SCHEMES} is {', '.join(sorted(self._schemes))}, and this is {scheme}"
            raise RefusedLocationError(location, scheme, reason)
        if self._schemes is None and scheme == "file" and not self._local:
            reason = (
                "it is a path on this machine, but the metastore that names it is on another one. If both see the "
                f"same files there, set {METADATA_SCHEMES} to a list with `file`"
            )
            raise RefusedLocationError(location, scheme, reason)
        if scheme == "file" and parsed.scheme and parsed.netloc:
            # PyArrow takes the host for a directory below the working directory; fsspec ignores it.
            raise RefusedLocationError(location, scheme, "a local file has no host: write file:/dir or /dir")
        check_no_special_file(location)

    def read(self, location: str) -> ViewMetadata:
        """Read and validate a view's metadata file."""
        return parse(self._attempt(location, self._read_bytes), location)

    def read_table(self, location: str) -> dict[str, Any]:
        """Read a table's metadata file as JSON, without validation."""
        return parse_table(self._attempt(location, partial(self._read_bytes, max_bytes=TABLE_LIMITS.bytes)), location)

    def read_table_metadata(self, location: str) -> TableMetadata:
        """Read a table's metadata file as PyIceberg does, with limits of its size and depth."""
        data = self._attempt(location, partial(self._read_bytes, max_bytes=TABLE_LIMITS.bytes))
        return parse_table_metadata(table_text(data, location), location)

    def read_table_text(self, location: str) -> str:
        """Read a table's metadata file as PyIceberg does, with a size limit and without converting storage errors."""
        return table_text(self._read_bytes(location, TABLE_LIMITS.bytes), location)

    def write(self, location: str, metadata: ViewMetadata) -> None:
        """Write a new metadata file; a local file is synchronized to disk before this method returns."""
        data = serialize(metadata, codec=compression_codec(metadata.properties))
        is_created = False
        try:
            # On other storages a check for an existing file requires the permission to list; names have a unique UUID.
            overwrite = not _is_local(location)
            with self.io(location).new_output(location).create(overwrite=overwrite) as stream:
                is_created = True
                stream.write(data)
            sync_local_file(location)
        except MetadataFileError as error:
            raise MetadataWriteError(location, error.reason) from None
        except Exception as error:  # FileIOs raise the exceptions of their storages' clients
            if is_created and not isinstance(error, TimeoutError):  # it would not answer the deletion either
                self.delete(location)  # an incomplete file, e.g. on a full disk
            raise MetadataWriteError(location, _describe(error, location)) from error

    def open_data(self, location: str) -> InputStream:
        """Open a data file, of which only parts are read; raises the errors of the storage."""
        return self.io(location).new_input(location).open()

    def exists(self, location: str) -> bool:
        """Return whether a file exists; raises the errors of the storage."""
        with self._unanswered.request(location):
            return self.io(location).new_input(location).exists()

    def delete(self, location: str) -> bool:
        """Delete a metadata file that is not referenced any more; return whether it is gone."""
        return self.remove(location) is None

    def remove(self, location: str) -> str | None:
        """Delete a file; if that fails, log and return the reason."""
        try:
            self.io(location).delete(location)
        except FileNotFoundError:
            return None
        except Exception as error:  # noqa: BLE001 -- as in `write`
            reason = _describe(error, location)
            logger.warning("Could not delete the file %s: %s", location, reason)
            return reason
        return None

    def remove_empty_directory(self, location: str) -> bool:
        """Remove a directory of HDFS if it is empty; return whether it was removed. Other FileIOs cannot."""
        with suppress(MetadataFileError):  # a location that is not allowed
            remove = getattr(self.io(location), "remove_empty_directory", None)
            return remove is not None and remove(location)
        return False

    def _read_bytes(self, location: str, max_bytes: int = VIEW_LIMITS.bytes) -> bytes:
        files_logger.debug("read %s", location)
        try:
            return self._read_chunks(location, max_bytes)
        except (OSError, ValueError, MetadataFileError):
            raise
        except Exception as error:  # as in `write`
            raise MetadataFileError(location, _describe(error, location)) from error

    def _read_chunks(self, location: str, max_bytes: int) -> bytes:
        chunks = []
        length = 0
        with self._unanswered.request(location):
            file = self.io(location).new_input(location)
            if _is_empty_local_file(location):
                raise InvalidMetadataError(location, "", "it is empty")
            with file.open(seekable=False) as stream:
                # One byte over the limit is enough to reject a file that would fill the memory.
                while length <= max_bytes and (chunk := stream.read(_CHUNK)):
                    chunks.append(chunk)
                    length += len(chunk)
        return b"".join(chunks)

    def _attempt(self, location: str, read: Callable[[str], bytes]) -> bytes:
        is_retried = location.partition(":")[0] not in _GOOGLE  # Google's client retries by itself

        def is_transient(error: BaseException) -> bool:
            # A client that waited in vain has retried by itself.
            return _is_transient(error) and not self._unanswered.has_failed(location)

        try:
            return (
                _RETRIES.copy(retry=retry_if_exception(is_transient))(read, location) if is_retried else read(location)
            )
        except FileNotFoundError:
            raise MetadataFileNotFoundError(location) from None
        except (OSError, ValueError) as error:
            raise MetadataFileError(location, str(error)) from error


def _load(properties: dict[str, str], location: str) -> FileIO:
    """Return the FileIO for a location: one of PyIceberg's, or for HDFS the one with hdfs-native if it is installed."""
    scheme, host, _ = split(location)
    if scheme not in HDFS_SCHEMES or PY_IO_IMPL in properties:
        return load_file_io(properties, location)
    try:
        from hive_views.io.hdfs import HdfsFileIO
    except ImportError:
        io = load_file_io(properties, location)
        with _missing_hdfs_client(location):
            if hasattr(io, "fs_by_scheme"):
                io.fs_by_scheme(scheme, host)  # connects with libhdfs
        return io
    return HdfsFileIO(properties)


@contextmanager
def _missing_hdfs_client(location: str) -> Iterator[None]:
    """Convert PyArrow's error if there is no libhdfs or JVM."""
    try:
        yield
    except (OSError, ImportError) as error:
        if "Unable to load" not in str(error):
            raise
        raise MetadataFileError(
            location,
            f"there is no client of HDFS. Install one: pip install '{EXTRA_HDFS}'. Hadoop's native library is not "
            f"usable either ({str(error).partition(chr(10))[0]})",
        ) from error


def _is_transient(error: BaseException) -> bool:
    return isinstance(error, OSError) and not isinstance(error, (FileNotFoundError, PermissionError))


_RETRIES = Retrying(
    stop=stop_after_attempt(READ_ATTEMPTS),
    wait=wait_random_exponential(multiplier=0.1, max=2),
    before_sleep=before_sleep_log(logger, logging.DEBUG),
    reraise=True,
)


def _with_time_limit(io: Any, scheme: str, bucket: str) -> FileIO:
    """Limit the retries of Google's client, which by default take several minutes; PyIceberg sets no limit."""
    if scheme in _GOOGLE and hasattr(io, "fs_by_scheme"):
        rebuild, (options,) = io.fs_by_scheme(scheme, bucket).__reduce__()
        limited = rebuild({**options, "retry_time_limit": GOOGLE_RETRIES})
        io.fs_by_scheme = lambda *_: limited
    limited_io: FileIO = io
    return limited_io


def _guarded(io: FileIO) -> FileIO:
    """Make a FileIO reject some locations: PyIceberg uses any location in a table's metadata and manifests.

    Special files are not read, and no file is created at a relative path, which depends on the process.
    """
    # The methods are replaced in this instance only, by partial functions, because these can be pickled with it.
    io.new_input = partial(_new_input, io)  # type: ignore[method-assign]
    io.new_output = partial(_new_output, io)  # type: ignore[method-assign]
    return io


def _new_input(io: FileIO, location: str) -> InputFile:
    check_no_special_file(location)
    return type(io).new_input(io, location)


def _new_output(io: FileIO, location: str) -> OutputFile:
    if not is_absolute(location):
        raise InvalidPropertyError(
            "location", location, "a relative path; change the location in the metadata, or write.data.path"
        )
    return type(io).new_output(io, location)


def _describe(error: Exception, location: str) -> str:
    """Describe an exception of a FileIO for an error message."""
    if isinstance(error, ImportError):
        return f"the package that reads {urlparse(location).scheme}: is not installed ({error})"
    is_descriptive = isinstance(error, (OSError, ValueError, MetadataFileError)) and str(error)
    return str(error) if is_descriptive else f"{type(error).__name__}: {error}"


def _is_local(location: str) -> bool:
    return urlparse(location).scheme in ("", "file")


def parse_table_metadata(text: str, location: str) -> TableMetadata:
    """Parse the JSON of a table's metadata file into PyIceberg's classes; raises InvalidMetadataError."""
    try:
        metadata = TableMetadataUtil.parse_raw(text)
    except (ValidationError, ValueError) as error:
        raise InvalidMetadataError(location, "", str(error)) from error
    _check_ancestors(metadata, location)
    return metadata


def _check_ancestors(metadata: TableMetadata, location: str) -> None:
    """Reject a snapshot that is its own ancestor: a loop over the parents of a snapshot would never end."""
    parents = {snapshot.snapshot_id: snapshot.parent_snapshot_id for snapshot in metadata.snapshots}
    checked: set[int | None] = set()
    for snapshot_id in parents:
        descendants: set[int | None] = set()
        current: int | None = snapshot_id
        while current in parents and current not in checked:
            if current in descendants:
                raise InvalidMetadataError(location, "snapshots", f"the snapshot {current} is its own ancestor")
            descendants.add(current)
            current = parents[current]
        checked |= descendants


def _local_path(location: str) -> str:
    parsed = urlparse(location)
    return parsed.path if parsed.scheme.lower() == "file" else location


def check_no_special_file(location: str) -> None:
    """Raise RefusedLocationError for a FIFO, a socket or a device.

    Opening a FIFO blocks until another program writes to it; a device may never end.
    """
    if not _is_local(location):
        return
    try:
        mode = os.stat(_local_path(location)).st_mode  # noqa: PTH116 -- a path as text
    except (OSError, ValueError):
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise RefusedLocationError(location, "file", "it is neither a file nor a directory")


def _is_empty_local_file(location: str) -> bool:
    """Whether a local file has the size 0. Files of procfs have it too, and reading one (/proc/kmsg) may never end."""
    with suppress(OSError, ValueError):
        return _is_local(location) and os.stat(_local_path(location)).st_size == 0  # noqa: PTH116
    return False


def sync_local_file(location: str) -> None:
    """Synchronize a local file and its directory entry to disk, because the metastore's row will reference it."""
    if not _is_local(location):
        return
    path = _local_path(location)
    for target in (path, os.path.dirname(path)):  # noqa: PTH120 -- the location is a plain string
        with suppress(FileNotFoundError):
            descriptor = os.open(target, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
