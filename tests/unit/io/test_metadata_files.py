"""Unreadable locations: every exception of a FileIO becomes an error that names the file."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.io import FileIO, InputFile, OutputFile
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import SortOrder

import hive_views
from hive_views.errors import (
    InvalidMetadataError,
    InvalidPropertyError,
    MetadataFileError,
    MetadataWriteError,
    RefusedLocationError,
)
from hive_views.io.metadata_files import GOOGLE_RETRIES, READ_ATTEMPTS, MetadataFiles, parse_table_metadata
from tests.unit.metastore.rows import metadata_of_a_view

ERRORS: dict[str, Exception] = {
    "missing": ModuleNotFoundError("No module named 'adlfs'"),
    "type": TypeError("__init__() takes at least 1 positional argument (0 given)"),
    "own": type("HttpError", (Exception,), {})("403"),
    "value": ValueError("no bucket"),
    "denied": PermissionError("not yours"),
    "key": KeyError("region"),
    "busy": OSError("slow down"),
}
INPUTS: list[str] = []
"""The locations that were opened for reading."""


class Failing(FileIO):
    """A FileIO whose location determines how it fails."""

    def new_input(self, location: str) -> InputFile:
        INPUTS.append(location)
        raise ERRORS[location.rpartition("/")[2]]

    def new_output(self, location: str) -> OutputFile:
        raise ERRORS[location.rpartition("/")[2]]

    def delete(self, location: Any) -> None:
        raise ERRORS[str(location).rpartition("/")[2]]


FILES = MetadataFiles({"py-io-impl": f"{__name__}.Failing"})


@pytest.mark.parametrize("case", ERRORS)
def test_storage_client_error_is_converted(case: str) -> None:
    location = f"strange://b/{case}"
    for read in (FILES.read, FILES.read_table):
        with pytest.raises(MetadataFileError, match=location):
            read(location)
    with pytest.raises((MetadataFileError, OSError, ValueError)):
        FILES.read_table_text(location)
    with pytest.raises(MetadataWriteError, match=location):
        FILES.write(location, metadata_of_a_view())
    assert FILES.remove(location)


@pytest.mark.parametrize(
    ("location", "attempts"),
    [("strange://b/busy", READ_ATTEMPTS), ("gs://b/busy", 1), ("strange://b/denied", 1), ("strange://b/value", 1)],
)
def test_transient_errors_are_retried_unless_the_client_does_so(location: str, attempts: int) -> None:
    INPUTS.clear()
    with pytest.raises(MetadataFileError, match=location):
        FILES.read(location)
    assert [location] * attempts == INPUTS


def test_missing_package_is_named() -> None:
    with pytest.raises(MetadataFileError, match=r"that reads strange: is not installed \(No module named 'adlfs'\)"):
        FILES.read("strange://b/missing")


@pytest.mark.parametrize("location", ["viewfs:///x", "hdfs:///x", "strange://x/y", "s3:///x", "s3://[/x", "file://[x"])
def test_location_without_file_io(location: str) -> None:
    """No network is used: Hadoop is missing, and the bucket name is invalid."""
    files = MetadataFiles({})
    with pytest.raises(MetadataFileError, match="Cannot read the metadata file") as caught:
        files.read(location)
    assert caught.value.location == location


def test_invalid_uri_is_rejected() -> None:
    with pytest.raises(RefusedLocationError, match="it is not a URI"):
        MetadataFiles({}).check("s3://[/x")


def test_empty_location_is_not_the_working_directory() -> None:
    files = MetadataFiles({})
    for read in (files.read, files.read_table, files.read_table_metadata):
        with pytest.raises(MetadataFileError, match="no location is given"):
            read("")


def test_google_client_has_time_limit() -> None:
    given = {
        "gcs.oauth2.token": "t",
        "gcs.oauth2.token-expires-at": "9999999999999",
        "gcs.default-bucket-location": "EU",
    }
    io: Any = MetadataFiles(given).io("gs://b/x")
    _, (options,) = io.fs_by_scheme("gs", "b").__reduce__()
    assert options["retry_time_limit"] == GOOGLE_RETRIES
    assert (options["access_token"], options["default_bucket_location"]) == ("t", "EU")


LOCAL = MetadataFiles({})
READERS: dict[str, Callable[[str], object]] = {
    "view": LOCAL.read,
    "table": LOCAL.read_table,
    "table metadata": LOCAL.read_table_metadata,
}
OVERSIZED = {
    "bytes": lambda: gzip.compress(b" " * (257 * 1024 * 1024), 1),
    "symbols": lambda: gzip.compress(b'{"x": [' + b"1," * 5_000_001 + b"1]}", 1),
    "depth": lambda: b"[" * 100_000 + b"]" * 100_000,
    "depth of an object": lambda: b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
}


@pytest.mark.parametrize(
    "content",
    [pytest.param(OVERSIZED[key], id=key, marks=pytest.mark.extended if key == "bytes" else ()) for key in OVERSIZED],
)
def test_oversized_file_is_rejected_by_each_reader(content: Callable[[], bytes], tmp_path: Path) -> None:
    file = tmp_path / "x.metadata.json"
    file.write_bytes(content())
    for read in READERS.values():
        with pytest.raises(InvalidMetadataError):
            read(file.as_uri())


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_special_file_is_not_opened(read: Callable[[str], object], tmp_path: Path) -> None:
    fifo = tmp_path / "00000-x.metadata.json"
    os.mkfifo(fifo)
    link = tmp_path / "link"
    link.symlink_to("/dev/zero")
    for location in (fifo.as_uri(), str(fifo), link.as_uri(), "file:/dev/zero", "FILE:/dev/zero"):
        with pytest.raises(RefusedLocationError, match="neither a file nor a directory"):
            read(location)


def test_special_file_in_manifest_is_not_opened(tmp_path: Path) -> None:
    """PyIceberg opens what a manifest or a table's metadata names."""
    os.mkfifo(tmp_path / "fifo")
    io = LOCAL.io(tmp_path.as_uri())
    for location in (str(tmp_path / "fifo"), (tmp_path / "fifo").as_uri(), "/dev/zero"):
        for guarded in (io, pickle.loads(pickle.dumps(io))):
            with pytest.raises(RefusedLocationError, match="neither a file nor a directory"):
                guarded.new_input(location)


@pytest.mark.parametrize("location", ["x.parquet", "warehouse/t/x.parquet", "file:x", "", "./x", "../x"])
def test_no_file_is_created_at_relative_path(location: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidPropertyError, match="a relative path"):
        LOCAL.io(tmp_path.as_uri()).new_output(location)


def table_with_parents(parents: dict[int, int | None]) -> str:
    """The metadata of a table with these snapshots and their parents, as JSON."""
    snapshots = [
        {
            "snapshot-id": snapshot_id,
            "parent-snapshot-id": parent,
            "sequence-number": 1,
            "timestamp-ms": 1,
            "manifest-list": "file:/x",
            "summary": {"operation": "replace"},
            "schema-id": 0,
        }
        for snapshot_id, parent in parents.items()
    ]
    table = new_table_metadata(Schema(), PartitionSpec(), SortOrder(), "file:/t", {}).model_dump(by_alias=True)
    return json.dumps({**table, "snapshots": snapshots, "current-snapshot-id": next(iter(parents), None)}, default=str)


@pytest.mark.parametrize("parents", [{1: 1}, {1: 2, 2: 1}, {1: 2, 2: 3, 3: 4, 4: 2}])
def test_snapshot_that_is_its_own_ancestor_is_rejected(parents: dict[int, int | None]) -> None:
    with pytest.raises(InvalidMetadataError, match="is its own ancestor"):
        parse_table_metadata(table_with_parents(parents), "file:/x")


@pytest.mark.parametrize("parents", [{}, {1: None}, {1: 2, 2: 9}, {3: 2, 2: 1, 1: None, 4: 2, 5: 3}])
def test_histories_without_cycle_are_read(parents: dict[int, int | None]) -> None:
    metadata = parse_table_metadata(table_with_parents(parents), "file:/x")
    assert {snapshot.snapshot_id: snapshot.parent_snapshot_id for snapshot in metadata.snapshots} == parents


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_local_file_without_content_is_not_opened(read: Callable[[str], object], tmp_path: Path) -> None:
    """Reading /proc/kmsg waits for the next message of the kernel."""
    (tmp_path / "x.metadata.json").touch()
    for location in ((tmp_path / "x.metadata.json").as_uri(), "/proc/kmsg", "/proc/self/status"):
        if os.path.exists(location.removeprefix("file://")):  # noqa: PTH110 -- some systems have no procfs
            with pytest.raises(InvalidMetadataError, match="it is empty"):
                read(location)


def test_local_file_has_no_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyArrow would read `file://v/x` below the working directory."""
    (tmp_path / "v").mkdir()
    LOCAL.write((tmp_path / "v" / "x").as_uri(), metadata_of_a_view())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RefusedLocationError, match="a local file has no host"):
        LOCAL.read("file://v/x")


def test_files_are_read_by_the_limited_readers_only() -> None:
    """PyIceberg's FromInputFile limits neither sizes nor decompression."""
    package = Path(hive_views.__file__).parent
    opening = [
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if ".new_input(" in path.read_text() or "FromInputFile" in path.read_text()
    ]
    # The doctor reads back a file that it has written.
    assert sorted(opening) == ["doctor/environment.py", "io/metadata_files.py"]


def test_missing_file_io_is_not_logged_if_another_one_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "pyiceberg.io.pyarrow", None)  # as in an installation without PyArrow
    io = MetadataFiles({"warehouse": tmp_path.as_uri()}).io(f"{tmp_path.as_uri()}/v.metadata.json")
    assert type(io).__name__ == "FsspecFileIO"
    assert caplog.records == []
