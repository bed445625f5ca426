"""The deletion of a view's metadata files reports everything that may be left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.io import FileIO, InputFile, OutputFile
from pyiceberg.io.pyarrow import PyArrowFileIO

from hive_views.io.deletion import delete_view_files
from hive_views.io.metadata_files import MetadataFiles
from hive_views.spec.json_codec import read_document, write_document
from hive_views.spec.metadata import ViewMetadata
from tests.unit.metastore.rows import metadata_of_a_view

UUID = metadata_of_a_view().view_uuid


def metadata_with(**fields: str) -> ViewMetadata:
    """Return a view's metadata with other values of some fields."""
    return read_document({**write_document(metadata_of_a_view()), **fields}, "file:/v")


class Undeletable(PyArrowFileIO):
    """A storage that keeps the files of version 0."""

    def delete(self, location: Any) -> None:
        if "/00000-" in str(location):
            raise PermissionError("not yours")
        super().delete(location)


class Unreadable(PyArrowFileIO):
    """A storage whose client raises errors of its own when the file of version 0 is read."""

    def new_input(self, location: str) -> Any:
        if "/00000-" in location:
            raise RuntimeError("403")
        return super().new_input(location)


class Unlistable(FileIO):
    """A storage that cannot list directories."""

    _files = PyArrowFileIO()

    def new_input(self, location: str) -> InputFile:
        return self._files.new_input(location)

    def new_output(self, location: str) -> OutputFile:
        return self._files.new_output(location)

    def delete(self, location: Any) -> None:
        self._files.delete(location)


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Write the metadata of a view with a UUID into a file."""
    directory = tmp_path / "v" / "metadata"
    directory.mkdir(parents=True)

    def write(name: str, uuid: str = UUID) -> Path:
        file = directory / name
        MetadataFiles({}).write(file.as_uri(), metadata_with(**{"view-uuid": uuid}))
        return file

    return write


@pytest.mark.parametrize(
    ("storage", "remaining"),
    [
        (None, ()),
        (Undeletable, ("00000-a.metadata.json",)),
        (Unreadable, ("00000-a.metadata.json",)),
        (Unlistable, ("",)),
    ],
)
def test_remaining_files_are_reported(
    storage: type[FileIO] | None, remaining: tuple[str, ...], written: Callable[..., Path]
) -> None:
    first, current = written("00000-a.metadata.json"), written("00001-b.metadata.json", UUID.upper())
    foreign = written("00000-c.metadata.json", "00000000-0000-4000-8000-000000000000")
    if storage is Unreadable:
        foreign.unlink()  # it might belong to the view, too
    properties = {} if storage is None else {"py-io-impl": f"{__name__}.{storage.__name__}"}
    metadata = metadata_with(location=current.parent.parent.as_uri())
    left = delete_view_files(MetadataFiles(properties), [current.as_uri()], metadata)
    directory = current.parent.as_uri()
    assert left == [f"{directory}/{name}".rstrip("/") for name in remaining]
    assert not current.exists()
    assert first.exists() == bool(remaining)
    assert foreign.exists() == (storage is not Unreadable)
