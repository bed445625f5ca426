"""The journal of copies: a file with a line for each copy, which is on disk before the copy is made."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

from pydantic import TypeAdapter

from hive_views.errors import JournalError
from hive_views.io.private_files import private_opener, sync_directory
from hive_views.spec.json_text import parse_json


@dataclass(frozen=True)
class JournalEntry:
    """One copy."""

    view: str
    """The view's name, in both catalogs."""
    metadata_location: str
    """The metadata file of the copy."""
    fingerprint: str
    """What `hive_views.view_copy.metadata.fingerprint` returns for the copy."""
    target: str | None = None
    """The address of the target catalog; None in journals of earlier releases."""


_ENTRY = TypeAdapter(JournalEntry)

_LINE_START = b'{"view": '
"""The start of each line of a journal."""


class CopyJournal:
    """A journal open for writing, locked from the first entry on; a context manager."""

    def __init__(self, path: Path) -> None:
        """Open nothing yet: a run that copies nothing creates no file."""
        self._path = path
        self._file: IO[bytes] | None = None

    def __enter__(self) -> CopyJournal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._file is not None:
            # A failed write was reported when it failed; closing repeats it.
            with contextlib.suppress(OSError):
                self._file.close()

    def append(self, entry: JournalEntry) -> None:
        """Write an entry; it is on disk when this returns.

        Raises:
            JournalError: If the file is not a journal of copies, another run is writing it, or it cannot be written.
        """
        try:
            if self._file is None:
                self._file = self._open()
            self._file.write(json.dumps(asdict(entry)).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise JournalError(str(self._path), f"it cannot be written: {error}") from error

    def _open(self) -> IO[bytes]:
        is_new = not self._path.exists()
        file = open(self._path, "a+b", opener=private_opener)  # noqa: SIM115 -- Path.open has no opener
        try:
            self._lock(file)
            file.seek(0)
            content = file.read()
            if not content.startswith(_LINE_START[: len(content)]):
                raise JournalError(str(self._path), "it is not a journal of copies; name another file")
            # A line that a crash left incomplete belongs to a copy that was not made.
            file.truncate(content.rfind(b"\n") + 1)
            if is_new:
                sync_directory(self._path.parent)
        except BaseException:
            file.close()
            raise
        return file

    def _lock(self, file: IO[bytes]) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JournalError(str(self._path), "another run is writing it; wait until it ends") from None


def read_journal(path: Path) -> list[JournalEntry]:
    """Return the copies, oldest first.

    Raises:
        JournalError: If the file cannot be read, or is not a journal of copies.
    """
    try:
        complete, _, _ = path.read_bytes().rpartition(b"\n")
        return [_ENTRY.validate_python(parse_json(line)) for line in complete.splitlines()]
    except (OSError, ValueError, TypeError) as error:
        raise JournalError(str(path), f"it cannot be read: {error}") from error
