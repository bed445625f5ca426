"""Files of JSON lines: what a crash cut off, two writers, and who may read a new file."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from hive_views.errors import JournalError
from hive_views.io.json_lines import LockedLines, append_documents, read_documents, resume_documents

CUT = b'{"a": 1}\n{"b": "x\\ry"}\n{"c": '


def test_line_that_a_crash_cut_off_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(CUT)
    assert read_documents(path) == [{"a": 1}, {"b": "x\ry"}]
    assert path.read_bytes() == CUT


def test_resumed_file_goes_on_after_the_complete_lines(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(CUT)
    assert resume_documents(path) == [{"a": 1}, {"b": "x\ry"}]
    append_documents(path, [{"d": "é"}])
    assert read_documents(path) == [{"a": 1}, {"b": "x\ry"}, {"d": "é"}]


@pytest.mark.parametrize("content", [b"[1, 2\n", b"\xff\n", b"\n"])
def test_other_file_is_rejected(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ValueError):
        resume_documents(path)


def test_second_writer_is_rejected_until_the_first_ends(tmp_path: Path) -> None:
    path = tmp_path / "file"
    first = LockedLines(path)
    first.append([{"a": 1}])
    with pytest.raises(JournalError, match="another run is writing it"):
        LockedLines(path)
    assert read_documents(path) == [{"a": 1}]
    first.close()
    second = LockedLines(path)
    second.append([{"a": 2}], sync=False)
    second.close()
    assert read_documents(path) == [{"a": 1}, {"a": 2}]


def test_new_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    append_documents(tmp_path / "appended", [1])
    LockedLines(tmp_path / "locked").close()
    for name in ("appended", "locked"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
