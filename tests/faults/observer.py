"""An independent view of the metastore: hmsclient's stubs for rows and locks, json for metadata files."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from hmsclient import HMSClient
from hmsclient.genthrift.hive_metastore.ttypes import (
    GetTableRequest,
    NoSuchObjectException,
    ShowLocksRequest,
    UnlockRequest,
)

from tests.integration.catalog.samples import files_below, path


class ObservedServer(Protocol):
    """What an observer needs to know of a metastore."""

    @property
    def port(self) -> int:
        """Its port."""

    @property
    def warehouse(self) -> str:
        """The URI of its warehouse."""


@dataclass(frozen=True)
class ObservedView:
    """The state of one view."""

    row: dict[str, Any]
    """The complete row, as plain values."""
    metadata: dict[str, Any]
    """The content of its metadata file."""

    @property
    def pointer(self) -> str:
        """The row's metadata_location."""
        return str(self.row["parameters"]["metadata_location"])

    @property
    def commits(self) -> int:
        """The number of commits, from the sequence number of its metadata file."""
        return int(self.pointer.rpartition("/")[2].partition("-")[0]) + 1

    @property
    def log(self) -> list[int]:
        """The version log, as version ids."""
        return [entry["version-id"] for entry in self.metadata["version-log"]]

    @property
    def version_ids(self) -> list[int]:
        """The ids of all versions, sorted."""
        return sorted(version["version-id"] for version in self.metadata["versions"])

    @property
    def queries(self) -> list[str]:
        """The first text of each version, by version id."""
        versions = sorted(self.metadata["versions"], key=lambda version: int(version["version-id"]))
        return [version["representations"][0]["sql"] for version in versions]

    @property
    def properties(self) -> dict[str, str]:
        """The view's properties, from the file."""
        return dict(self.metadata.get("properties", {}))


class Observer:
    """Reads one database of a metastore without a proxy."""

    def __init__(self, metastore: ObservedServer, database: str) -> None:
        self._metastore = metastore
        self.database = database

    @contextmanager
    def _client(self) -> Iterator[HMSClient]:
        with HMSClient(host="127.0.0.1", port=self._metastore.port) as client:
            yield client

    def row(self, name: str) -> dict[str, Any] | None:
        """Return a row with all fields as plain values, or None."""
        with self._client() as client:
            try:
                # Hive 4 has no `get_table` any more.
                return plain(client.get_table_req(GetTableRequest(self.database, name)).table)
            except NoSuchObjectException:
                return None

    def view(self, name: str) -> ObservedView:
        """Return an existing view with its metadata file."""
        row = self.row(name)
        assert row is not None, f"{name} is not there"
        data = path(row["parameters"]["metadata_location"]).read_bytes()
        return ObservedView(row, json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data))

    def names(self) -> set[str]:
        """Return the names of all rows."""
        with self._client() as client:
            return set(client.get_all_tables(self.database))

    def locks(self) -> list[Any]:
        """Return all held and requested locks of the database."""
        with self._client() as client:
            return list(client.show_locks(ShowLocksRequest(dbname=self.database)).locks)

    def expire_locks(self) -> None:
        """Release all locks of the database, as the server does after `hive.txn.timeout` without heartbeats."""
        with self._client() as client:
            for lock in self.locks():
                client.unlock(UnlockRequest(lockid=lock.lockid))

    def files(self) -> set[Path]:
        """Return all files below the location of the database."""
        return files_below(f"{self._metastore.warehouse}/{self.database}.db")


def until(condition: Callable[[], object], *, seconds: float = 120.0) -> None:
    """Wait until a condition holds; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true"
        time.sleep(0.01)


def plain(value: Any) -> Any:
    """Convert a Thrift value to dicts, lists and scalars."""
    if hasattr(value, "thrift_spec"):
        return {key: plain(item) for key, item in vars(value).items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value
