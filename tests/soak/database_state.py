"""The state of a database while all clients are idle, read without hive_views: rows and metadata files."""

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
    """A metadata file of a view."""

    path: Path
    uuid: str
    number: int
    """The number in its name; each commit increments it."""
    texts: dict[str, int]
    """Version IDs by text."""
    versions: int
    """The number of versions."""
    log: tuple[int, ...]
    """Version IDs in the order in which they became current."""
    properties: dict[str, str]
    current: str
    """The text of the current version."""


@dataclass
class DatabaseState:
    """The rows and files of a database."""

    rows: dict[str, dict[str, Any]]
    """Rows of views by name."""
    files: dict[str, list[File]]
    """All metadata files by view UUID."""
    unexpected_files: list[Path]
    """Files that are neither metadata files nor data files."""
    files_by_path: dict[Path, File] = field(default_factory=dict)

    def file(self, location: str) -> File | None:
        """The file at a location; None if it does not exist."""
        return self.files_by_path.get(path(location))


class StateReader:
    """Reads the state of a database repeatedly; each file is read once, since files never change.

    Args:
        observer: Reads the rows.
        directories: The directories of the files.
    """

    def __init__(self, observer: Observer, directories: list[Path]) -> None:
        self._observer = observer
        self._directories = directories
        self._files: dict[Path, File] = {}

    def read(self) -> DatabaseState:
        """The current state."""
        rows, before = self._rows(), None
        while rows != before:
            # Requests of killed clients may still arrive.
            rows, before = self._rows(), rows
        paths = [item for directory in self._directories for item in directory.rglob("*") if item.is_file()]
        view_files, unexpected_files = {}, []
        for file_path in paths:
            if file_path.name.endswith(".metadata.json"):
                file = self._files.get(file_path) or read_metadata_file(file_path)
                if file is not None:
                    view_files[file_path] = file
            elif file_path.suffix not in (".avro", ".parquet"):
                unexpected_files.append(file_path)
        self._files = view_files
        files: defaultdict[str, list[File]] = defaultdict(list)
        for file in view_files.values():
            files[file.uuid].append(file)
        return DatabaseState(rows, dict(files), unexpected_files, view_files)

    def _rows(self) -> dict[str, dict[str, Any]]:
        rows = {name: self._observer.row(name) for name in self._observer.names()}
        return {name: row for name, row in rows.items() if row is not None and row["tableType"] == "VIRTUAL_VIEW"}


def read_metadata_file(file_path: Path) -> File | None:
    """Read the metadata file of a view; None for a file of a table."""
    data = file_path.read_bytes()
    document = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    if "view-uuid" not in document:
        return None
    texts = {version["version-id"]: version["representations"][0]["sql"] for version in document["versions"]}
    return File(
        file_path,
        document["view-uuid"],
        int(file_path.name.partition("-")[0]),
        {text: number for number, text in texts.items()},
        len(texts),
        tuple(entry["version-id"] for entry in document["version-log"]),
        document.get("properties", {}),
        texts[document["current-version-id"]],
    )
