"""All that stands in a database, rows and metadata documents, as text that is the same whenever the same was done.

Names that are new each time (UUIDs, snapshot ids, times, the database's own) are replaced by labels in the order in
which they turn up, so an identity that changes shows.
"""

from __future__ import annotations

import gzip
import json
import re
from typing import Any

from tests.faults.observer import Observer
from tests.integration.catalog.samples import path

Picture = dict[str, str]
"""A text for each row, by name."""

_IDENTITY = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}|(?<![\w.-])\d{15,19}(?![\w.-])",
    re.IGNORECASE,
)
_TIME = re.compile(r"(?<![\w.-])\d{10,13}(?![\w.-])")
_OF_THE_SERVER = {"id", "writeId", "txnId"}
"""Numbers that a server gives to each new row."""
_COUNTED = {"numFiles", "totalSize", "numFilesErasureCoded"}
"""Parameters of a table's row in which a server counts the files below its location, also those that nothing names."""


class Labels:
    """Which label stands for which identity."""

    def __init__(self, known: dict[str, str] | None = None) -> None:
        self._known = dict(known or {})

    def copy(self) -> Labels:
        """The same labels; new ones are given apart from now on."""
        return Labels(self._known)

    def applied_to(self, text: str) -> str:
        """The text with labels in place of identities, and `T` in place of times."""
        labeled = _IDENTITY.sub(lambda found: self._known.setdefault(found[0].lower(), f"#{len(self._known)}"), text)
        return _TIME.sub("T", labeled)


def picture(observer: Observer, location: str, labels: Labels) -> Picture:
    """What stands in a database."""
    return {name: labels.applied_to(_canonical(observer, location, name)) for name in sorted(observer.names())}


def _canonical(observer: Observer, location: str, name: str) -> str:
    row = observer.row(name)
    assert row is not None, f"{name} is listed and cannot be read"
    pointer = row["parameters"].get("metadata_location")
    document: Any = None
    if pointer is not None:
        data = path(pointer).read_bytes()
        document = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    shown = {key: value for key, value in row.items() if key not in _OF_THE_SERVER}
    shown["parameters"] = {key: _opened(value) for key, value in row["parameters"].items() if key not in _COUNTED}
    text = json.dumps({"row": shown, "document": document}, sort_keys=True, default=str, indent=1)
    place = re.compile("(file:/*)?/" + re.escape(str(path(location)).strip("/")))
    return place.sub("LOCATION", text).replace(observer.database, "DATABASE")


def _opened(value: str) -> Any:
    """A parameter that holds JSON as what it says, so that the order of its keys does not count."""
    try:
        return json.loads(value) if value[:1] in "{[" else value
    except ValueError:
        return value
