"""The journal of copies: a file with a line for each copy, which is on disk before the copy is made."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from pydantic import TypeAdapter

from hive_views.errors import JournalError
from hive_views.io.json_lines import LockedLines, read_documents


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
        self._lines: LockedLines | None = None

    def __enter__(self) -> CopyJournal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._lines is not None:
            self._lines.close()

    def append(self, entry: JournalEntry) -> None:
        """Write an entry; it is on disk when this returns.

        Raises:
            JournalError: If the file is not a journal of copies, another run is writing it, or it cannot be written.
        """
        try:
            if self._lines is None:
                self._lines = self._open()
            self._lines.append([asdict(entry)])
        except OSError as error:
            raise JournalError(str(self._path), f"it cannot be written: {error}") from error

    def _open(self) -> LockedLines:
        lines = LockedLines(self._path)
        try:
            content = lines.file.read()
            if not content.startswith(_LINE_START[: len(content)]):
                raise JournalError(str(self._path), "it is not a journal of copies; name another file")
            # A line that a crash left incomplete belongs to a copy that was not made.
            lines.truncate(content.rfind(b"\n") + 1)
        except BaseException:
            lines.close()
            raise
        return lines


def read_journal(path: Path) -> list[JournalEntry]:
    """Return the copies, oldest first.

    Raises:
        JournalError: If the file cannot be read, or is not a journal of copies.
    """
    try:
        return [_ENTRY.validate_python(document) for document in read_documents(path)]
    except (OSError, ValueError, TypeError) as error:
        raise JournalError(str(path), f"it cannot be read: {error}") from error
