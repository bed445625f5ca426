"""Names, properties and errors of HDFS; what a server does is in tests/integration/hdfs."""

from __future__ import annotations

import pytest
from pyarrow.fs import FileInfo

from hive_views.errors import InvalidPropertyError
from hive_views.io.hdfs import HdfsFileIO
from hive_views.io.locations import split


@pytest.mark.parametrize("value", ["", "0", "-1", "soon", "nan", "inf"])
def test_invalid_timeout_is_rejected(value: str) -> None:
    with pytest.raises(InvalidPropertyError, match=r"hdfs\.request-timeout"):
        HdfsFileIO({"hdfs.request-timeout": value}).new_input("hdfs://localhost:1/x")


def test_other_schemes_are_those_of_pyarrow(tmp_path) -> None:
    (tmp_path / "file").write_text("content")
    io = HdfsFileIO({})
    info: FileInfo = io.fs_by_scheme("file", "").get_file_info(str(tmp_path / "file"))
    assert info.size == 7
    assert io.new_input(f"file:{tmp_path}/file").open().read() == b"content"


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("HDFS://Host:8020/a//b", ("hdfs", "Host:8020", "/a//b")),
        ("hdfs:///a", ("hdfs", "", "/a")),
        ("hdfs:/a", ("hdfs", "", "/a")),
        ("viewfs://c/a%20b", ("viewfs", "c", "/a%20b")),
        ("/a", ("", "", "/a")),
    ],
)
def test_location_is_split(location: str, expected: tuple[str, str, str]) -> None:
    assert split(location) == expected
