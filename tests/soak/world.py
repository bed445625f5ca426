"""What is really there while nobody does anything, seen with other eyes than ours: rows, and every metadata file."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.observer import Observer
from tests.integration.catalog.samples import path


@dataclass(frozen=True)
class File:
    """One metadata file of a view."""

    path: Path
    uuid: str
    number: int
    """The number in its name: one is spent on each commit."""
    texts: dict[str, int]
    """The version that has each text."""
    versions: int
    """How many versions it holds."""
    log: tuple[int, ...]
    """The versions in the order in which they were made current."""
    properties: dict[str, str]
    current: str
    """The text of the current version."""


@dataclass
class World:
    """A database at one moment."""

    rows: dict[str, dict[str, Any]]
    """The rows of the views, by their names."""
    files: dict[str, list[File]]
    """All metadata files, by the view's UUID."""
    strange: list[Path]
    """Files that are neither metadata nor data."""
    by_path: dict[Path, File] = field(default_factory=dict)

    def file(self, location: str) -> File | None:
        """The file at a location; None where it is not there."""
        return self.by_path.get(path(location))


class Eyes:
    """Looks at a database again and again; a file is read once, since it never changes.

    Args:
        observer: Looks at its rows.
        directories: Where its files are.
    """

    def __init__(self, observer: Observer, directories: list[Path]) -> None:
        self._observer = observer
        self._directories = directories
        self._known: dict[Path, File] = {}

    def look(self) -> World:
        """The database now."""
        rows, before = self._rows(), None
        while rows != before:
            # What a client sent before it was killed may arrive at this moment.
            rows, before = self._rows(), rows
        found = [each for top in self._directories for each in top.rglob("*") if each.is_file()]
        views, strange = {}, []
        for each in found:
            if each.name.endswith(".metadata.json"):
                file = self._known.get(each) or read(each)
                if file is not None:
                    views[each] = file
            elif each.suffix not in (".avro", ".parquet"):
                strange.append(each)
        self._known = views
        files: defaultdict[str, list[File]] = defaultdict(list)
        for file in views.values():
            files[file.uuid].append(file)
        return World(rows, dict(files), strange, views)

    def _rows(self) -> dict[str, dict[str, Any]]:
        rows = {name: self._observer.row(name) for name in self._observer.names()}
        return {name: row for name, row in rows.items() if row is not None and row["tableType"] == "VIRTUAL_VIEW"}


def read(place: Path) -> File | None:
    """A view's metadata file; None for that of a table."""
    data = place.read_bytes()
    document = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    if "view-uuid" not in document:
        return None
    texts = {version["version-id"]: version["representations"][0]["sql"] for version in document["versions"]}
    return File(
        place,
        document["view-uuid"],
        int(place.name.partition("-")[0]),
        {text: number for number, text in texts.items()},
        len(texts),
        tuple(entry["version-id"] for entry in document["version-log"]),
        document.get("properties", {}),
        texts[document["current-version-id"]],
    )
