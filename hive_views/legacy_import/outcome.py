"""How the import of one view ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from hive_views.identifiers import ViewName
from hive_views.legacy_import.model import Reason
from hive_views.legacy_import.plan import Entry, Verdict


class Status(str, Enum):
    """How the import of a view ended."""

    CONVERTED = "converted"
    """It is an Iceberg view now."""
    WOULD_CONVERT = "would-convert"
    """It would be; nothing was written."""
    REFUSED = "refused"
    """It cannot be converted, and is as it was."""
    BLOCKED = "blocked"
    """It reads a view that was not converted, and is as it was."""
    REPORTED = "reported"
    """A materialized view: as it was."""
    FAILED = "failed"
    """The metastore or the storage failed; it is as it was. Run again."""
    UNKNOWN = "unknown"
    """The metastore never said whether it was converted. Run again: that finds out."""
    PENDING = "pending"
    """Its turn has not come."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the import of one view ended."""

    name: ViewName
    """The legacy view."""
    target: ViewName
    """The Iceberg view."""
    status: Status
    """How it ended."""
    reason: Reason | None = None
    """The kind of reason, if it was not converted."""
    text: str | None = None
    """The reason in words."""
    blocked_by: ViewName | None = None
    """The view in its way."""
    seconds: float = 0.0
    """How long it took, and"""
    writing: float = 0.0
    """how much of that were the metastore's and the storage's writes."""
    swapping: float = 0.0
    """Of that, the time of the swap's step by the clock: lock, reads, comparisons, alter, unlock, with all waiting for
    them and for this process' turn. More than the metastore's own work."""
    metadata_location: str | None = None
    """URI of the metadata file."""
    backup: str | None = None
    """URI of the file with the legacy row."""
    found: bool = False
    """Whether an earlier run had converted it."""
    damages: tuple[str, ...] = ()
    """What the metastore's database changed in the row that it was given."""

    def to_json(self) -> dict[str, Any]:
        """As a JSON object; see `from_json`."""
        return {
            "name": str(self.name),
            "target": str(self.target),
            "status": self.status.value,
            "reason": None if self.reason is None else self.reason.value,
            "text": self.text,
            "blocked_by": None if self.blocked_by is None else str(self.blocked_by),
            "seconds": round(self.seconds, 4),
            "writing": round(self.writing, 4),
            "swapping": round(self.swapping, 4),
            "metadata_location": self.metadata_location,
            "backup": self.backup,
            "found": self.found,
            "damages": list(self.damages),
        }

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> Outcome:
        """Read what `to_json` gave."""
        return cls(
            name=ViewName.from_text(item["name"]),
            target=ViewName.from_text(item["target"]),
            status=Status(item["status"]),
            reason=None if item["reason"] is None else Reason(item["reason"]),
            text=item["text"],
            blocked_by=None if item["blocked_by"] is None else ViewName.from_text(item["blocked_by"]),
            seconds=float(item["seconds"]),
            writing=float(item["writing"]),
            swapping=float(item.get("swapping", 0)),
            metadata_location=item["metadata_location"],
            backup=item["backup"],
            found=bool(item["found"]),
            damages=tuple(item["damages"]),
        )


_VERDICTS = {
    Verdict.READY: Status.PENDING,
    Verdict.REFUSED: Status.REFUSED,
    Verdict.BLOCKED: Status.BLOCKED,
    Verdict.REPORTED: Status.REPORTED,
}


def planned(entry: Entry) -> Outcome:
    """What a plan alone says of a view's end."""
    refusal = entry.refusal
    return Outcome(
        entry.name,
        entry.target,
        _VERDICTS[entry.verdict],
        reason=None if refusal is None else refusal.reason,
        text=None if refusal is None else refusal.text,
        blocked_by=entry.blocked_by,
    )
