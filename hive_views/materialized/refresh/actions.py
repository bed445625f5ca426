"""The words for refreshes: what a caller requests, and what was done."""

from __future__ import annotations

from enum import Enum

from hive_views.text_enum import TextEnum


class Mode(Enum):
    """How a refresh computes rows."""

    AUTO = "auto"
    """In the first of the ways `incremental`, `partitions`, `keys` and `full` that is possible; not at all if the
    stored rows are fresh."""
    FULL = "full"
    """In full, even if the stored rows are fresh."""
    INCREMENTAL = "incremental"
    """As AUTO, but an error instead of a full refresh."""


class Action(TextEnum):
    """What a refresh does or did; its value is the word in summaries of snapshots, reports and JSON documents."""

    UNCHANGED = "unchanged"
    """Nothing: the stored rows were fresh."""
    FULL = "full"
    """All rows were computed."""
    INCREMENTAL = "incremental"
    """The rows of added rows were computed."""
    PARTITIONS = "partitions"
    """The rows of some partitions were computed."""
    KEYS = "keys"
    """The rows with some keys were computed."""
    FAILED = "failed"
    """Nothing, because of an error."""
    SKIPPED = "skipped"
    """Nothing, because the refresh of a source failed."""

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)
