"""Which files of a table a purge deletes: those below its own places, and nobody else's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_views.table_files import _is_below


@pytest.mark.parametrize(
    ("location", "place", "below"),
    [
        ("file:/wh/t/data/a.parquet", "file:///wh/t", True),
        ("/wh/t/data/a.parquet", "file:/wh/t/", True),
        ("file:///wh//t/./data/a.parquet", "/wh/t", True),
        ("s3a://bucket/t/data/a.parquet", "s3://bucket/t", True),
        ("S3://bucket/t/data/a.parquet", "s3n://bucket/t", True),
        ("file:/wh/t", "file:/wh/t", False),
        ("file:/wh/t2/data/a.parquet", "file:/wh/t", False),
        ("file:/wh/a.parquet", "file:/wh/t", False),
        ("file:/wh/t/../u/a.parquet", "file:/wh/t", False),
        ("file:/wh/t/../t/a.parquet", "file:/wh/t", False),
        ("file://host/wh/t/a.parquet", "file:/wh/t", False),
        ("s3://other/t/a.parquet", "s3://bucket/t", False),
        ("s3://bucket/T/a.parquet", "s3://bucket/t", False),
        ("gs://bucket/t/a.parquet", "s3://bucket/t", False),
        ("file:/bucket/t/a.parquet", "s3://bucket/t", False),
        ("", "file:/wh/t", False),
    ],
)
def test_what_is_below(location: str, place: str, below: bool) -> None:
    assert _is_below(location, place) is below


NAMES = st.sampled_from(["a", "b", "..", ".", "", "ab"])


@given(st.lists(NAMES, max_size=5), st.lists(NAMES, max_size=7))
def test_nothing_below_is_outside_for_a_disk(place: list[str], location: list[str]) -> None:
    """As a file system reads paths."""
    import posixpath

    above = posixpath.normpath("/wh/" + "/".join(place).replace("..", "up"))
    path: Any = f"{above}/" + "/".join(location)
    if _is_below(f"file:{path}", f"file:{above}"):
        assert posixpath.normpath(path).startswith(f"{above}/")
