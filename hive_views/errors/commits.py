"""Errors of commits and locks."""

from __future__ import annotations

from collections.abc import Sequence

from pyiceberg import exceptions as iceberg

from hive_views.errors.tree import HiveViewsError


class CommitFailedError(HiveViewsError, iceberg.CommitFailedException):
    """The commit was rejected; nothing was changed. Load the view again and repeat the change."""

    def __init__(self, identifier: str, reason: str, *, expected: str | None = None, found: str | None = None) -> None:
        super().__init__(f"Cannot commit to {identifier}: {reason}")
        self.identifier = identifier
        self.reason = reason
        self.expected = expected
        self.found = found


class SourceDroppedError(CommitFailedError):
    """Something that the view reads was dropped or renamed since the view was defined; nothing was changed."""

    def __init__(self, identifier: str, sources: Sequence[str]) -> None:
        super().__init__(
            identifier,
            f"{', '.join(sources)}, which it reads, was dropped or renamed meanwhile. Define the view again",
        )
        self.sources = tuple(sources)


class UnrecordedTextError(CommitFailedError):
    """The row has a text that another program wrote, and that is in no version of the view: a commit would lose it.

    ALTER VIEW … AS in plain Spark and Hive changes the row but not the metadata file. `text` is the text of the row.
    """

    def __init__(self, identifier: str, text: str) -> None:
        super().__init__(
            identifier,
            "another program wrote a text into its row that is in no version (see view.drift); a commit would lose it. "
            "Make it a version with catalog.adopt_view, or discard it with catalog.repair_view",
        )
        self.text = text


class CommitStateUnknownError(HiveViewsError, iceberg.CommitStateUnknownException):
    """The metastore did not reply, or failed without proof that nothing was changed. No file was deleted.

    Before a retry, load the view and compare its `metadata_location` with the one of this error: a retry may apply the
    change twice, and deleting the file may destroy the view.
    """

    _may_take_effect = True

    def __init__(self, identifier: str, metadata_location: str | None, reason: str) -> None:
        file_note = f" The new metadata file {metadata_location} was kept." if metadata_location else ""
        super().__init__(
            f"Cannot tell whether the change to {identifier} was committed: {reason}.{file_note} "
            "Load it again before you repeat the change"
        )
        self.identifier = identifier
        self.metadata_location = metadata_location
        self.reason = reason


class LockError(HiveViewsError):
    """The metastore's lock could not be acquired, or was lost; `lock_id` is None if there was no lock yet."""

    def __init__(self, identifier: str, reason: str, *, lock_id: int | None = None) -> None:
        super().__init__(f"Lock on {identifier}: {reason}")
        self.identifier = identifier
        self.reason = reason
        self.lock_id = lock_id


class LockTimeoutError(LockError):
    """Another client held the lock until the time limit."""
