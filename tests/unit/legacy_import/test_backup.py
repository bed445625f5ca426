"""Files that hold legacy rows; whatever such a file contains, reading it returns the row or raises RevertError."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hive_views.errors import RevertError
from hive_views.io.metadata_files import MetadataFiles
from hive_views.legacy_import.backup import read_backup, row_from_text, row_to_text, write_backup
from hive_views.metastore.rows.row import Row, read_row
from hive_views.metastore.rows.serialization import encode_row
from tests.unit.metastore.rows import golden_row

FILES = MetadataFiles({})
ROW: Row = read_row(golden_row("created_plain_new"))
OTHER_ROW = row_to_text(ROW.with_parameters({"other": "row"}))


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    path = tmp_path / "legacy-row.json"
    write_backup(FILES, path.as_uri(), ROW)
    return path


def test_backup_returns_the_row(backup: Path) -> None:
    assert row_to_text(read_backup(FILES, backup.as_uri(), "db.v")) == row_to_text(ROW)


def changed(**values: Any) -> Callable[[bytes], bytes]:
    return lambda data: json.dumps({**json.loads(data), **values}).encode()


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda _: b"", id="empty"),
        pytest.param(lambda data: data[:-10], id="cut off"),
        pytest.param(lambda _: b"[1]", id="not an object"),
        pytest.param(lambda _: b"{}", id="no keys"),
        pytest.param(lambda _: b'{"thrift":' * 100_000 + b"1" + b"}" * 100_000, id="nested too deeply"),
        pytest.param(lambda _: gzip.compress(b'{"x": [' + b"1," * 5_000_001 + b"1]}", 1), id="too many symbols"),
        pytest.param(changed(format=2), id="other format"),
        pytest.param(changed(fingerprint="0" * 64), id="other fingerprint"),
        pytest.param(changed(thrift=OTHER_ROW), id="other row"),
        pytest.param(changed(thrift="%"), id="not base64"),
        pytest.param(changed(thrift=7), id="not a text"),
        pytest.param(changed(thrift=base64.b64encode(b"\x0c\x00\x01" * 100_000).decode()), id="nested structs"),
        pytest.param(changed(thrift=base64.b64encode(b"\x0d\x00\x09\x0b\x0b\x7f\xff\xff\xff").decode()), id="long map"),
    ],
)
def test_damaged_backup_is_rejected(backup: Path, damage: Callable[[bytes], bytes]) -> None:
    backup.write_bytes(damage(backup.read_bytes()))
    with pytest.raises(RevertError, match="its legacy row cannot be read from"):
        read_backup(FILES, backup.as_uri(), "db.v")


@pytest.mark.parametrize("golden", ["spark_iceberg_orders", "spark_session_hive_t", "spark_iceberg_v_spark"])
def test_backup_of_no_legacy_view_is_rejected(golden: str, tmp_path: Path) -> None:
    """A revert would otherwise turn the view into a second name of a table, and DROP TABLE would delete its files."""
    location = (tmp_path / "legacy-row.json").as_uri()
    write_backup(FILES, location, read_row(golden_row(golden)))
    with pytest.raises(RevertError, match="which is not a legacy view"):
        read_backup(FILES, location, "db.v")


ENCODED = encode_row(ROW)


@given(st.integers(0, len(ENCODED) - 1), st.binary(max_size=6), st.integers(0, 6))
@example(0, b"\x0b\x00\x01\xff\xff\xff\xff", 0)
def test_damaged_thrift_bytes_are_a_value_error(position: int, inserted: bytes, removed: int) -> None:
    data = ENCODED[:position] + inserted + ENCODED[position + removed :]
    with suppress(ValueError):
        row_from_text(base64.b64encode(data).decode())
