"""Commits and locks."""

from __future__ import annotations

from pyiceberg import exceptions as iceberg

from hive_views.errors.tree import HiveViewsError


class CommitFailedError(HiveViewsError, iceberg.CommitFailedException):
    """The commit was refused; nothing was changed. Load the view again and repeat the change."""

    def __init__(self, identifier: str, reason: str, *, expected: str | None = None, found: str | None = None) -> None:
        super().__init__(f"Cannot commit to {identifier}: {reason}")
        self.identifier = identifier
        self.reason = reason
        self.expected = expected
        self.found = found


class UnrecordedTextError(CommitFailedError):
    """The row holds a text of another program that no version of the view holds: the commit would lose it.

    Plain Spark's and Hive's ALTER VIEW … AS change the row and not the metadata file. `text` is the row's.
    """

    def __init__(self, identifier: str, text: str) -> None:
        super().__init__(
            identifier,
            "another program gave its row a text that is in no version (see view.drift); a commit would lose "
            "it. Make it a version with catalog.adopt_view, or discard it with catalog.repair_view",
        )
        self.text = text


class CommitStateUnknownError(HiveViewsError, iceberg.CommitStateUnknownException):
    """The metastore did not say whether the commit took place. Nothing was deleted.

    Load the view and compare its `metadata_location` with `metadata_location` here before trying again: trying
    blindly may apply the change twice, and deleting the file may destroy the view.
    """

    def __init__(self, identifier: str, metadata_location: str | None, reason: str) -> None:
        kept = f" The new metadata file {metadata_location} was kept." if metadata_location else ""
        super().__init__(
            f"Cannot tell whether the change to {identifier} was committed: {reason}.{kept} "
            "Load it again before you repeat the change"
        )
        self.identifier = identifier
        self.metadata_location = metadata_location
        self.reason = reason


class LockError(HiveViewsError):
    """The metastore's lock could not be taken, or was lost; `lock_id` is None where none was given."""

    def __init__(self, identifier: str, reason: str, *, lock_id: int | None = None) -> None:
        super().__init__(f"Lock on {identifier}: {reason}")
        self.identifier = identifier
        self.reason = reason
        self.lock_id = lock_id


class LockTimeoutError(LockError):
    """Somebody else held the lock all the time that we were willing to wait."""
