"""Locations and properties that are not stored, and the retry properties of a view, which any writer may have set."""

from __future__ import annotations

import time

import pytest

from hive_views.errors import InvalidPropertyError
from hive_views.metastore.commit.view_properties import check_location, check_view_properties, commit_retries

DAY = str(86_400_000)


@pytest.mark.parametrize("location", ["", "a/b", "./v", "~/v", "/", "file:", "file:///", "s3://", "s3:", "C:\\v", 1])
def test_relative_location_is_rejected(location: object) -> None:
    with pytest.raises(InvalidPropertyError, match="URI") as caught:
        check_location(location, "key")
    assert (caught.value.key, caught.value.value) == ("key", location)


@pytest.mark.parametrize(
    "properties",
    [
        {"metadata_location": "s3://elsewhere/x.metadata.json"},
        {"table_type": "ICEBERG"},
        {"uuid": "00000000-0000-0000-0000-000000000000"},
        {"k" * 257: "v"},
        {"": "v"},
        {"k": None},
        {"k": 1},
        # Also those that only a later commit would read: that one could no longer be made.
        {"write.metadata.path": ""},
        {"write.metadata.path": "relative/dir"},
        {"commit.retry.num-retries": "-1"},
        {"commit.retry.min-wait-ms": "86400001"},
        {"commit.retry.total-timeout-ms": "1.5"},
    ],
    ids=lambda properties: next(iter(properties))[:30],
)
def test_unstorable_property_is_rejected(properties: dict[str, str]) -> None:
    with pytest.raises(InvalidPropertyError) as caught:
        check_view_properties({"good": "1", **properties})
    assert {caught.value.key: caught.value.value} == properties


def test_retries_end_within_the_total_timeout() -> None:
    properties = {
        "commit.retry.num-retries": DAY,
        "commit.retry.min-wait-ms": DAY,
        "commit.retry.max-wait-ms": "9" * 400,
        "commit.retry.total-timeout-ms": "100",
    }
    started = time.monotonic()
    with pytest.raises(KeyError):
        commit_retries(properties, lambda _: True)({}.__getitem__, "none")
    assert time.monotonic() - started < 5
