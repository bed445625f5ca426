"""The content of a database, rows and metadata documents, as text that is reproducible.

Generated values (UUIDs, snapshot ids, times, the database's name) are replaced by labels in the order of their first
occurrence, so that a changed identity is visible.
"""

from __future__ import annotations

import gzip
import json
import re
from typing import Any

from tests.faults.observer import Observer
from tests.integration.catalog.samples import path

DatabaseContent = dict[str, str]
"""A text for each row, by name."""

_IDENTITY = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}|(?<![\w.-])\d{15,19}(?![\w.-])",
    re.IGNORECASE,
)
_TIME = re.compile(r"(?<![\w.-])\d{10,13}(?![\w.-])")
_SERVER_NUMBERS = {"id", "writeId", "txnId"}
"""Row fields that the server numbers."""
_FILE_COUNTS = {"numFiles", "totalSize", "numFilesErasureCoded"}
"""Row parameters of tables by which a server counts files."""


class Labels:
    """Labels by identity."""

    def __init__(self, labels: dict[str, str] | None = None) -> None:
        self._labels = dict(labels or {})

    def copy(self) -> Labels:
        """Return a copy with the same labels."""
        return Labels(self._labels)

    def applied_to(self, text: str) -> str:
        """Replace identities by labels and times by `T`."""
        labeled = _IDENTITY.sub(lambda match: self._labels.setdefault(match[0].lower(), f"#{len(self._labels)}"), text)
        return _TIME.sub("T", labeled)


def read_content(observer: Observer, location: str, labels: Labels) -> DatabaseContent:
    """Return the content of a database, by name."""
    return {name: labels.applied_to(_canonical(observer, location, name)) for name in sorted(observer.names())}


def _canonical(observer: Observer, location: str, name: str) -> str:
    row = observer.row(name)
    assert row is not None, f"{name} is listed and cannot be read"
    location_in_row = row["parameters"].get("metadata_location")
    document: Any = None
    if location_in_row is not None:
        data = path(location_in_row).read_bytes()
        document = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    shown = {key: value for key, value in row.items() if key not in _SERVER_NUMBERS}
    shown["parameters"] = {
        key: _parse_json(value) for key, value in row["parameters"].items() if key not in _FILE_COUNTS
    }
    text = json.dumps({"row": shown, "document": document}, sort_keys=True, default=str, indent=1)
    location_pattern = re.compile("(file:/*)?/" + re.escape(str(path(location)).strip("/")))
    return location_pattern.sub("LOCATION", text).replace(observer.database, "DATABASE")


def _parse_json(value: str) -> Any:
    """Parse a parameter with JSON, so that the order of its keys does not matter."""
    try:
        return json.loads(value) if value[:1] in "{[" else value
    except ValueError:
        return value
