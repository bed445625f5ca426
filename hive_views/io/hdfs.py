"""HDFS through hdfs-native, a client without Java and Hadoop's native library (the extra `hdfs`).

Like Hadoop's clients it reads `core-site.xml` and `hdfs-site.xml` in HADOOP_CONF_DIR, else in HADOOP_HOME: name
services, mount tables of `viewfs`, Kerberos. Imported only where a location is on HDFS, because PyArrow is large.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from functools import lru_cache, partial
from itertools import islice
from typing import Any, TypeVar

from hdfs_native import Client, FileReader, FileStatus, FileWriter, WriteOptions
from pyarrow import PythonFile
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileSystemHandler, FileType, PyFileSystem
from pyiceberg.io import HDFS_HOST, HDFS_PORT
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.typedef import EMPTY_DICT, Properties

from hive_views.config import KEYTAB_FILE, KEYTAB_PRINCIPAL
from hive_views.errors import InvalidPropertyError
from hive_views.io.locations import HDFS_SCHEMES, split

REQUEST_TIMEOUT = "hdfs.request-timeout"
"""Property of the FileIO: seconds to wait for the reply to one request, including all that hdfs-native does to get it:
it tries each NameNode of a name service several times. hdfs-native 0.14.7 itself waits forever."""

DEFAULT_TIMEOUT_S = 60.0

DEFAULT_PORT = 8020
"""The port of a NameNode that a location names without one, as for Hadoop's clients."""

_SINGLE_NAMENODE = {"dfs.client.failover.max.attempts": "3"}
"""A NameNode that refuses connections is tried again for 5 to 10 s, as by Hadoop's clients (10 s); with hdfs-native's
default, which is for name services, for 3 minutes (0.14.7)."""

_BATCH = 1000
"""The number of entries of a listing for which one reply is waited for; a NameNode sends as many at once."""

# Errors are recognized by their texts: besides FileNotFoundError, FileExistsError, IsADirectoryError and
# TrashNotEnabledError, hdfs-native 0.14.7 has no classes of errors, and no attributes.
_ERROR = re.compile(r'\w+\((?:GssMajorCodes .*, \d+, |"(?P<kind>[\w.$]+)", )?"(?P<message>.*)"\)', re.DOTALL)
"""The text of hdfs-native's RuntimeError; `kind` is the class of the NameNode's exception, if it is one."""

_STACK_TRACE = re.compile(r"(\\n|\n)(\\t|\t)at .*", re.DOTALL)

_DENIED = (
    "org.apache.hadoop.security.AccessControlException",
    "org.apache.hadoop.security.authorize.AuthorizationException",
)

_CONFIGURATION = (
    "Set HADOOP_CONF_DIR to the directory of core-site.xml and hdfs-site.xml, or name a host in the location"
)
_ADVICE = {
    "fs.defaultFS": _CONFIGURATION,
    "No NameNode hosts": _CONFIGURATION,
    "must contain a host": _CONFIGURATION,
    "Kerberos credentials": f"Get a ticket with kinit, or set {KEYTAB_FILE} and {KEYTAB_PRINCIPAL}",
    "icket expired": f"Get a new ticket with kinit, or set {KEYTAB_FILE} and {KEYTAB_PRINCIPAL}",
    "fallback mount": "hdfs-native needs fs.viewfs.mounttable.NAME.linkFallback, which Hadoop's client does not",
}
"""What to do about an error, by a part of its message."""

Result = TypeVar("Result")


class HdfsFileIO(PyArrowFileIO):
    """PyIceberg's FileIO over PyArrow, with hdfs-native for `hdfs:` and `viewfs:`; it can be pickled."""

    def __init__(self, properties: Properties = EMPTY_DICT) -> None:
        """Create the object; no connection is made."""
        super().__init__(properties)
        self._add_hdfs()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled object."""
        super().__setstate__(state)
        self._add_hdfs()

    def remove_empty_directory(self, location: str) -> bool:
        """Remove a directory if it is empty; return whether it was removed."""
        scheme, host, path = self.parse_location(location, self.properties)
        handler = self.fs_by_scheme(scheme, host).handler
        with suppress(OSError):  # e.g. PathIsNotEmptyDirectoryException
            [info] = handler.get_file_info([path])
            # The request would delete a file as well.
            return info.type is FileType.Directory and handler.delete(path, recursive=False)
        return False

    def _add_hdfs(self) -> None:
        other = self.fs_by_scheme

        def by_scheme(scheme: str, host: str | None = None) -> FileSystem:
            if scheme in HDFS_SCHEMES:
                return PyFileSystem(HdfsHandler(_url(scheme, host, self.properties), self.properties))
            return other(scheme, host)

        self.fs_by_scheme = lru_cache(by_scheme)


class HdfsHandler(FileSystemHandler):  # type: ignore[misc]
    """The operations that PyArrow needs of a file system, on one NameNode, name service or mount table."""

    def __init__(self, url: str, properties: Properties) -> None:
        """Create the object for a URL without a path; raises OSError if it cannot be resolved."""
        self._url = url
        self._timeout_s = _timeout_s(properties)
        self._client = _connect(url, properties.get(KEYTAB_FILE), properties.get(KEYTAB_PRINCIPAL))

    def __eq__(self, other: object) -> bool:
        """Whether both are the same file system."""
        return self._url == other._url if isinstance(other, HdfsHandler) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def get_type_name(self) -> str:
        """Return a name for messages."""
        return "hdfs-native"

    def normalize_path(self, path: str) -> str:
        """Return the path."""
        return path

    def get_file_info(self, paths: Sequence[str]) -> list[FileInfo]:
        """Return what each path is."""
        return [self._info(path) for path in paths]

    def get_file_info_selector(self, selector: FileSelector) -> list[FileInfo]:
        """Return the entries of a directory."""
        entries = iter(self._client.list_status(selector.base_dir, selector.recursive))
        infos: list[FileInfo] = []
        try:
            while batch := self.wait(lambda: list(islice(entries, _BATCH))):
                infos.extend(_file_info(status) for status in batch)
        except FileNotFoundError:
            if not selector.allow_not_found:
                raise
        return infos

    def create_dir(self, path: str, recursive: bool) -> None:
        """Create a directory."""
        self.wait(partial(self._client.mkdirs, path, create_parent=recursive))

    def delete_dir(self, path: str) -> None:
        """Delete a directory with its contents."""
        if not self.delete(path, recursive=True):
            raise FileNotFoundError(path)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool) -> None:
        """Raise NotImplementedError: nothing in this package or PyIceberg needs it."""
        raise NotImplementedError("delete_dir_contents")

    def delete_root_dir_contents(self) -> None:
        """Raise NotImplementedError, as `delete_dir_contents`."""
        raise NotImplementedError("delete_root_dir_contents")

    def delete_file(self, path: str) -> None:
        """Delete a file."""
        if not self.delete(path, recursive=False):
            raise FileNotFoundError(path)

    def delete(self, path: str, *, recursive: bool) -> bool:
        """Delete a file or directory, one with contents only if `recursive`; return whether it existed."""
        return self.wait(partial(self._client.delete, path, recursive))

    def move(self, src: str, dest: str) -> None:
        """Rename a file or directory."""
        self.wait(partial(self._client.rename, src, dest, overwrite=True))

    def copy_file(self, src: str, dest: str) -> None:
        """Raise NotImplementedError, as `delete_dir_contents`."""
        raise NotImplementedError("copy_file")

    def open_input_stream(self, path: str) -> PythonFile:
        """Open a file for reading."""
        return self.open_input_file(path)

    def open_input_file(self, path: str) -> PythonFile:
        """Open a file for reading."""
        return PythonFile(_Reader(self, self.wait(partial(self._client.read, path))), mode="r")

    def open_output_stream(self, path: str, metadata: object) -> PythonFile:
        """Create or replace a file; its directories are created with it."""
        create = partial(self._client.create, path, WriteOptions(overwrite=True))
        return PythonFile(_Writer(self, self.wait(create)), mode="w")

    def open_append_stream(self, path: str, metadata: object) -> PythonFile:
        """Open a file to append to it."""
        return PythonFile(_Writer(self, self.wait(partial(self._client.append, path))), mode="w")

    def wait(self, request: Callable[[], Result]) -> Result:
        """Return the reply to a request; raises OSError, and TimeoutError if there is none in time."""
        reply: Future[Result] = Future()
        # hdfs-native blocks its thread until the reply, which Ctrl-C cannot interrupt. (The methods of its AsyncClient
        # panic when they repeat a request, 0.14.7.) A daemon thread does not delay the end of the program. To start
        # one takes 0.1 ms, of a request's 10 ms; threads of a pool would have to survive forks and requests that hang.
        threading.Thread(target=_send, args=(request, reply), daemon=True).start()
        try:
            return reply.result(self._timeout_s)
        except FutureTimeoutError:
            if reply.done():
                raise
            raise TimeoutError(
                f"{self._url} did not answer within {self._timeout_s:g} s ({REQUEST_TIMEOUT}). A request that it has "
                "received may still be carried out"
            ) from None
        except (RuntimeError, OSError, NotImplementedError) as error:
            raise _os_error(error, self._url) from error

    def _info(self, path: str) -> FileInfo:
        try:
            return _file_info(self.wait(partial(self._client.get_file_info, path)), path)
        except FileNotFoundError:
            return FileInfo(path, FileType.NotFound)


class _Reader:
    """A file that is read, as PyArrow's PythonFile needs it."""

    def __init__(self, handler: HdfsHandler, file: FileReader) -> None:
        self._handler, self._file = handler, file
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        return self._handler.wait(partial(self._file.read, size))

    def seek(self, offset: int, whence: int = 0) -> int:
        self._file.seek(offset, whence)
        return self._file.tell()

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self.closed = True


class _Writer:
    """A file that is written, as PyArrow's PythonFile needs it."""

    def __init__(self, handler: HdfsHandler, file: FileWriter) -> None:
        self._handler, self._file = handler, file
        self._length = 0
        self._timeout: TimeoutError | None = None
        self.closed = False

    def write(self, data: bytes) -> int:
        length = self._wait(partial(self._file.write, data))
        self._length += length
        return length

    def tell(self) -> int:
        return self._length

    def flush(self) -> None:
        """Do nothing: the file is complete when it is closed."""

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._wait(self._file.close)

    def _wait(self, request: Callable[[], Result]) -> Result:
        if self._timeout is not None:
            raise self._timeout  # the file is still in use by the thread of that request
        try:
            return self._handler.wait(request)
        except TimeoutError as error:
            self._timeout = error
            raise


def _send(request: Callable[[], Result], reply: Future[Result]) -> None:
    """Send a request and hand over its reply."""
    try:
        reply.set_result(request())
    except BaseException as error:  # noqa: BLE001 -- it is raised in the thread that waits
        reply.set_exception(error)


def _connect(url: str, keytab: str | None, principal: str | None) -> Client:
    scheme, host, _ = split(url)
    has_port = ":" in host
    try:
        return Client(url, _SINGLE_NAMENODE if has_port else None, kerberos_principal=principal, kerberos_keytab=keytab)
    except RuntimeError as error:
        # Not a name service of the configuration, hence a host.
        if scheme == "hdfs" and host and not has_port and "No NameNode hosts found" in str(error):
            return _connect(f"{url}:{DEFAULT_PORT}", keytab, principal)
        raise _os_error(error, url) from error


def _url(scheme: str, host: str | None, properties: Properties) -> str:
    if not host and scheme == "hdfs" and properties.get(HDFS_HOST):
        host = ":".join(filter(None, (properties[HDFS_HOST], properties.get(HDFS_PORT))))
    return f"{scheme}://{host or ''}"


def _timeout_s(properties: Properties) -> float:
    value = properties.get(REQUEST_TIMEOUT, DEFAULT_TIMEOUT_S)
    with suppress(ValueError):
        if 0 < float(value) <= 86400:
            return float(value)
    raise InvalidPropertyError(REQUEST_TIMEOUT, value, "it must be a number of seconds above 0, at most 86400")


def _file_info(status: FileStatus, path: str | None = None) -> FileInfo:
    kind = FileType.Directory if status.isdir else FileType.File
    size = None if status.isdir else status.length
    return FileInfo(path or status.path, kind, size=size, mtime_ns=status.modification_time * 1_000_000)


def _os_error(error: Exception, url: str) -> OSError:
    """Convert an error of hdfs-native, without the stack trace of the NameNode."""
    match = _ERROR.fullmatch(str(error))
    kind, text = (match["kind"] or "", match["message"].replace('\\"', '"')) if match else ("", str(error))
    message = " ".join(_STACK_TRACE.sub("", text).replace("\\n", " ").split())
    if kind in _DENIED:
        return PermissionError(message)
    if isinstance(error, FileNotFoundError | FileExistsError | IsADirectoryError):
        return type(error)(message)
    simple_name = f"{kind.rpartition('.')[2]}: " if kind else ""
    advice = next((f". {advice}" for pattern, advice in _ADVICE.items() if pattern in message), "")
    return OSError(f"{url}: {simple_name}{message}{advice}")
