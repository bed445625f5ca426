"""Plans, journals and databases hold definitions: other users cannot read them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from hive_views.io.private_files import private_opener, write_private_text
from hive_views.local_metastore.directory import MetastoreDirectory


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_new_files_are_private(tmp_path: Path) -> None:
    write_private_text(tmp_path / "plan", "first")
    write_private_text(tmp_path / "plan", "second")
    assert ((tmp_path / "plan").read_text(), mode(tmp_path / "plan")) == ("second", 0o600)
    with open(tmp_path / "journal", "a+b", opener=private_opener) as file:
        file.write(b"x")
    assert mode(tmp_path / "journal") == 0o600


def test_derby_directory_is_private(tmp_path: Path) -> None:
    directory = MetastoreDirectory(tmp_path)
    (tmp_path / directory.database_name).mkdir()
    directory.finish_database()
    assert mode(tmp_path / directory.database_name) == 0o700
