"""Files with one JSON document per line, to which a run appends, and from which the next one goes on.

A crash can leave an incomplete last line. It is not read, and is removed before the next line is written.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from hive_views.errors import JournalError
from hive_views.io.private_files import private_opener, sync_directory
from hive_views.spec.json_text import parse_json


def complete_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file, without one that a crash cut off or that is being written."""
    for line in file:
        if line.endswith(b"\n"):
            yield line


def read_documents(path: Path) -> list[Any]:
    """Return the documents of a file; raises OSError and ValueError."""
    with path.open("rb") as file:
        return [parse_json(line) for line in complete_lines(file)]


def resume_documents(path: Path) -> list[Any]:
    """Return the documents of a file, and remove a line that a crash cut off; raises OSError and ValueError."""
    with path.open("rb") as file:
        lines = list(complete_lines(file))
    complete = sum(map(len, lines))
    if complete < path.stat().st_size:
        os.truncate(path, complete)
    return [parse_json(line) for line in lines]


def append_documents(path: Path, documents: Iterable[Any]) -> None:
    """Append documents to a file; a new one is readable by its owner only. Raises OSError."""
    with open(path, "ab", opener=private_opener) as file:
        file.write(_encoded(documents))


class LockedLines:
    """A file of JSON lines that is open for writing, by one process at a time."""

    def __init__(self, path: Path) -> None:
        """Open or create the file; raises OSError, and JournalError if another run is writing it."""
        is_new = not path.exists()
        self._file = open(path, "a+b", opener=private_opener)  # noqa: SIM115 -- Path.open has no opener
        try:
            self._lock(path)
            if is_new:
                sync_directory(path.parent)
        except BaseException:
            self._file.close()
            raise

    def _lock(self, path: Path) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JournalError(str(path), "another run is writing it; wait until it ends") from None

    @property
    def file(self) -> IO[bytes]:
        """The file, at its beginning."""
        self._file.seek(0)
        return self._file

    def truncate(self, size: int) -> None:
        """Remove what follows the first bytes; raises OSError."""
        self._file.truncate(size)

    def append(self, documents: Iterable[Any], *, sync: bool = True) -> None:
        """Write documents; with `sync` they are on disk when this returns. Raises OSError."""
        self._file.write(_encoded(documents))
        self._file.flush()
        if sync:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        # A failed write was reported when it failed; closing repeats it.
        with contextlib.suppress(OSError):
            self._file.close()


def _encoded(documents: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(document).encode() + b"\n" for document in documents)
