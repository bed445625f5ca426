"""Comparison of locations: `is_below` and `path_of`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_views.io.locations import is_below, path_of


@pytest.mark.parametrize(
    ("location", "directory", "below"),
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
        ("hdfs:///wh/t/a.parquet", "hdfs://name:8020/wh/t", False),
        ("hdfs://name/wh/t/a.parquet", "hdfs://name:8020/wh/t", False),
        ("s3://bucket/t/%2e%2E/u/a.parquet", "s3://bucket/t", False),
        ("s3://bucket/t/a%2F..%2f..%2Fu", "s3://bucket/t", False),
        ("s3://bucket/a%20b/x.parquet", "s3://bucket/a b", False),
        ("s3://bucket/t/p=a#b/x.parquet", "s3://bucket/t/p=a#b", True),
        ("file:/wh/t/a.parquet", "file:/wh/u/../t", False),
    ],
)
def test_location_is_below_directory(location: str, directory: str, below: bool) -> None:
    assert is_below(location, directory) is below


NAMES = st.sampled_from(["a", "b", "..", ".", "", "ab"])


@given(st.lists(NAMES, max_size=5), st.lists(NAMES, max_size=7))
def test_is_below_agrees_with_the_file_system(directory: list[str], location: list[str]) -> None:
    """Resolve a path like a file system."""
    import posixpath

    above = posixpath.normpath("/wh/" + "/".join(directory).replace("..", "up"))
    path: Any = f"{above}/" + "/".join(location)
    if is_below(f"file:{path}", f"file:{above}"):
        assert posixpath.normpath(path).startswith(f"{above}/")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("hdfs:///wh/t", "hdfs://name:8020/wh/t/", True),
        ("hdfs://name/wh/t", "viewfs://cluster/wh//t", True),
        ("/wh/t", "file:///wh/./t", True),
        ("s3://bucket/a%20b", "s3a://bucket/a b", True),
        ("file:/wh/u/../t", "/wh/t", True),
        ("file:////wh/t", "/wh/t", True),
        ("s3://bucket/t", "s3://bucket/T", False),
        ("s3://bucket/p=a#b", "s3://bucket/p=a", False),
        ("s3://bucket", "s3://bucket/", True),
        ("file:/wh/t", "file:/wh/t2", False),
    ],
)
def test_path_of_equivalent_locations(one: str, other: str, same: bool) -> None:
    assert (path_of(one) == path_of(other)) is same


@given(st.lists(NAMES, max_size=5), st.sampled_from(["file:", "file://", "hdfs://name:1", "s3a://bucket"]))
def test_is_below_rejects_ambiguous_paths(names: list[str], start: str) -> None:
    directory = f"{start}/wh/{'/'.join(names)}"
    for location in (f"{directory}/a", f"{start}/wh/a", f"{directory}/../a"):
        if is_below(location, directory):
            assert path_of(location).startswith(f"{path_of(directory)}/")
